//! Reads a crate's source as a tree of modules with their items, imports and mentioned names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Item, ItemMod, Pat, Token, UseTree, Visibility};

/// The segments of a path from the crate's root.
pub type Segments = Vec<String>;

/// The texts of a crate's files by their path below `src`, such as `raw/header.rs`.
pub type Texts = BTreeMap<String, String>;

/// A `use` declaration, public or not.
#[derive(Debug, Clone)]
pub struct Import {
    /// The target, as a path from the root of this or another crate.
    pub target: Segments,
    /// Whether the module re-exports the name.
    pub is_reexport: bool,
    /// Whether other crates can use the name.
    pub is_public: bool,
    pub is_hidden: bool,
}

/// A module: a file, or a block in one.
#[derive(Default)]
pub struct Module {
    /// The path from the crate's root.
    pub path: Segments,
    /// The file that contains it.
    pub file: String,
    /// Whether the module and all its parents are public.
    pub is_public: bool,
    /// The items, without tests.
    pub code: Vec<Item>,
    pub is_hidden: bool,
    /// The defined items, and whether they are hidden from the documentation.
    pub items: BTreeMap<String, bool>,
    pub children: BTreeSet<String>,
    pub imports: BTreeMap<String, Import>,
    /// Glob imports.
    pub globs: Vec<Import>,
    /// The paths in the code, as written.
    pub mentions: BTreeSet<Segments>,
    /// The names of called methods.
    pub calls: BTreeSet<String>,
    /// The functions of `impl` blocks, and whether they are hidden from the documentation.
    pub methods: BTreeMap<String, bool>,
}

/// A crate, read from its files without the code for tests.
#[derive(Default)]
pub struct Crate {
    pub modules: BTreeMap<Segments, Module>,
}

impl Crate {
    /// Reads the modules that can be reached from `root`, which is `lib.rs` or `main.rs`.
    pub fn new(texts: &Texts, root: &str) -> Self {
        let mut made = Self::default();
        let folder = root.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let module = Module { file: root.to_owned(), is_public: true, ..Module::default() };
        made.read_file(texts, &folder, module);
        made
    }

    /// Reads a file. `folder` is the directory of the child modules: empty, or ending in `/`.
    fn read_file(&mut self, texts: &Texts, folder: &str, module: Module) {
        let file = &module.file;
        let text = texts.get(file).unwrap_or_else(|| panic!("{file} is declared and not there"));
        let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
        self.read_items(texts, parsed.items, folder, module);
    }

    fn read_items(&mut self, texts: &Texts, mut items: Vec<Item>, folder: &str, mut module: Module) {
        items.retain(|item| !is_for_tests(attributes(item)));
        let path = module.path.clone();
        let mut reader = ItemReader { module: &mut module, path: &path };
        items.iter().for_each(|item| reader.visit_item(item));
        for item in &items {
            if let Item::Mod(child) = item {
                self.read_child(texts, child, folder, &module);
            }
        }
        module.code = items;
        self.modules.insert(path, module);
    }

    fn read_child(&mut self, texts: &Texts, child: &ItemMod, folder: &str, parent: &Module) {
        let name = child.ident.to_string();
        let below = format!("{folder}{name}/");
        let mut module = Module {
            path: parent.path.iter().cloned().chain([name.clone()]).collect(),
            file: parent.file.clone(),
            is_public: parent.is_public && matches!(child.vis, Visibility::Public(_)),
            is_hidden: is_hidden(&child.attrs),
            ..Module::default()
        };
        if let Some((_, items)) = &child.content {
            return self.read_items(texts, items.clone(), &below, module);
        }
        let (single, own) = (format!("{folder}{name}.rs"), format!("{folder}{name}/mod.rs"));
        module.file = if texts.contains_key(&single) { single } else { own };
        self.read_file(texts, &below, module);
    }
}

/// Returns the texts of all `.rs` files below a directory.
pub fn texts_below(root: &Path) -> Texts {
    let (mut texts, mut folders) = (Texts::new(), vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("folder is readable") {
            let path = entry.expect("folder is readable").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root).expect("it is below").to_string_lossy().replace('\\', "/");
                texts.insert(name, std::fs::read_to_string(&path).expect("source is readable"));
            }
        }
    }
    texts
}

/// Collects the items, imports and paths of one module.
struct ItemReader<'a> {
    module: &'a mut Module,
    path: &'a [String],
}

impl ItemReader<'_> {
    /// Reads `use` trees. `from` has the segments before, `how` all properties except the target.
    fn import(&mut self, tree: &UseTree, mut from: Segments, how: &Import) {
        match tree {
            UseTree::Path(path) => {
                from.push(path.ident.to_string());
                self.import(&path.tree, from, how);
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.import(tree, from.clone(), how)),
            UseTree::Glob(_) => {
                let target = self.absolute(from);
                self.module.globs.push(Import { target, ..how.clone() });
            }
            UseTree::Name(name) => self.import_as(from, &name.ident.to_string(), None, how),
            UseTree::Rename(rename) => {
                self.import_as(from, &rename.ident.to_string(), Some(rename.rename.to_string()), how);
            }
        }
    }

    fn import_as(&mut self, mut from: Segments, item: &str, name: Option<String>, how: &Import) {
        if item != "self" {
            from.push(item.to_owned());
        }
        let last = from.last().cloned().unwrap_or_default();
        let target = self.absolute(from);
        // A block can import a name again; each import counts.
        let mut name = name.unwrap_or(last);
        while self.module.imports.contains_key(&name) {
            name.push('\'');
        }
        self.module.imports.insert(name, Import { target, ..how.clone() });
    }

    /// Returns the path from the root. Paths into other crates stay unchanged.
    fn absolute(&self, segments: Segments) -> Segments {
        absolute(self.path, &segments).unwrap_or(segments)
    }

    fn mention(&mut self, segments: Segments) {
        self.module.mentions.insert(segments);
    }

    fn define(&mut self, name: String, attributes: &[Attribute]) {
        self.module.items.insert(name, is_hidden(attributes));
    }
}

/// Returns a path that starts with `crate`, `self` or `super` as a path from the root.
pub fn absolute(module: &[String], segments: &[String]) -> Option<Segments> {
    let mut base = match segments.first()?.as_str() {
        "crate" => Vec::new(),
        "self" | "super" => module.to_vec(),
        _ => return None,
    };
    for segment in segments {
        match segment.as_str() {
            "crate" | "self" => {}
            "super" => {
                base.pop();
            }
            _ => base.push(segment.clone()),
        }
    }
    Some(base)
}

impl<'ast> Visit<'ast> for ItemReader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Mod(child) => {
                self.module.children.insert(child.ident.to_string());
                return;
            }
            Item::Use(import) => {
                let how = Import {
                    target: Vec::new(),
                    is_reexport: !matches!(import.vis, Visibility::Inherited),
                    is_public: matches!(import.vis, Visibility::Public(_)),
                    is_hidden: is_hidden(&import.attrs),
                };
                self.import(&import.tree, Vec::new(), &how);
                return;
            }
            Item::Const(item) => self.define(item.ident.to_string(), &item.attrs),
            Item::Enum(item) => self.define(item.ident.to_string(), &item.attrs),
            Item::Fn(item) => self.define(item.sig.ident.to_string(), &item.attrs),
            Item::Static(item) => self.define(item.ident.to_string(), &item.attrs),
            Item::Struct(item) => self.define(item.ident.to_string(), &item.attrs),
            Item::Trait(item) => self.define(item.ident.to_string(), &item.attrs),
            Item::Type(item) => self.define(item.ident.to_string(), &item.attrs),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if is_for_tests(&function.attrs) {
            return;
        }
        self.module.methods.insert(function.sig.ident.to_string(), is_hidden(&function.attrs));
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.module.calls.insert(call.method.to_string());
        visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.mention(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    /// The arguments of a macro are tokens. Those that parse as expressions or a pattern count.
    fn visit_macro(&mut self, invoked: &'ast syn::Macro) {
        self.visit_path(&invoked.path);
        if let Ok(list) = invoked.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated) {
            list.iter().for_each(|expression| self.visit_owned(expression));
        } else if let Ok((value, pattern, guard)) = invoked.parse_body_with(arguments_of_matches) {
            self.visit_owned(&value);
            ItemReader { module: self.module, path: self.path }.visit_pat(&pattern);
            guard.iter().for_each(|guard| self.visit_owned(guard));
        } else if let Ok((value, count)) = invoked.parse_body_with(arguments_of_vec) {
            self.visit_owned(&value);
            self.visit_owned(&count);
        }
    }
}

impl ItemReader<'_> {
    /// Visits an expression that is not borrowed from the file.
    fn visit_owned(&mut self, expression: &Expr) {
        ItemReader { module: self.module, path: self.path }.visit_expr(expression);
    }
}

/// Parses `value, pattern if guard`, the arguments of `matches!`.
fn arguments_of_matches(input: ParseStream) -> syn::Result<(Expr, Pat, Option<Expr>)> {
    let value = input.parse()?;
    input.parse::<Token![,]>()?;
    let pattern = Pat::parse_multi_with_leading_vert(input)?;
    let guard = if input.parse::<Option<Token![if]>>()?.is_some() { Some(input.parse()?) } else { None };
    input.parse::<Option<Token![,]>>()?;
    Ok((value, pattern, guard))
}

/// Parses `value; count`, the arguments of `vec!`.
fn arguments_of_vec(input: ParseStream) -> syn::Result<(Expr, Expr)> {
    let value = input.parse()?;
    input.parse::<Token![;]>()?;
    Ok((value, input.parse()?))
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| {
                list.tokens
                    .to_string()
                    .split(|c: char| !c.is_alphabetic())
                    .any(|word| ["doctest", "test"].contains(&word))
            })
    })
}

pub fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("doc")
            && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "hidden")
    })
}
