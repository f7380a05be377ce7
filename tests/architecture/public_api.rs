//! Lists the items that other crates can name, one per line, so that a review shows changes of the interface.
//!
//! An item has its shortest public path. Its other public paths are lines with `pub use`.

use crate::graph::Found;
use crate::sources::{Crate, Import, Module, Segments, is_hidden};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use syn::{Attribute, Fields, ImplItem, Item, Signature, TraitItem, Visibility};

/// Returns the sorted lines.
pub fn listing(library: &Crate) -> BTreeSet<String> {
    let public = Public::new(library);
    let mut lines = BTreeSet::new();
    lines.extend(public.further_paths());
    for module in library.modules.values() {
        if module.is_public && !module.is_hidden {
            lines.extend(other_reexports(library, module));
        }
        for item in &module.code {
            public.list(module, item, &mut lines);
        }
    }
    lines
}

/// The re-exports of modules, of macros, and of everything in a module.
fn other_reexports(library: &Crate, module: &Module) -> Vec<String> {
    let is_public = |import: &&Import| import.is_public && !import.is_hidden;
    let target = |import: &Import| library.at_root(&module.path, import.target.clone());
    let named = module.imports.iter().filter(|(_, import)| is_public(import)).filter_map(|(name, import)| {
        let target = target(import);
        let is_listed = target.last().and_then(|last| defined(library, &target, last)).is_some();
        (!is_listed).then(|| format!("pub use {} = {}", joined(&module.path, name), target.join("::")))
    });
    let globs = module.globs.iter().filter(is_public);
    let globs = globs.map(|import| format!("pub use {} = {}::*", joined(&module.path, "*"), target(import).join("::")));
    named.chain(globs).collect()
}

/// The items that other crates can name.
struct Public<'a> {
    library: &'a Crate,
    /// The public paths of each item, the shortest first, by the path of its definition.
    paths: BTreeMap<String, Vec<String>>,
}

impl<'a> Public<'a> {
    fn new(library: &'a Crate) -> Self {
        let mut paths = BTreeMap::<String, Vec<String>>::new();
        for module in library.modules.values().filter(|module| module.is_public && !module.is_hidden) {
            for name in module.code.iter().filter_map(public_name) {
                let path = joined(&module.path, &name);
                paths.entry(path.clone()).or_default().push(path);
            }
            for (name, import) in module.imports.iter().filter(|(_, import)| import.is_public && !import.is_hidden) {
                let target = library.at_root(&module.path, import.target.clone());
                if let Some(definition) = target.last().and_then(|last| defined(library, &target, last)) {
                    paths.entry(definition).or_default().push(joined(&module.path, name));
                }
            }
        }
        for names in paths.values_mut() {
            names.sort_by_key(|path| (path.matches("::").count(), path.clone()));
        }
        Self { library, paths }
    }

    /// Returns the shortest public path of an item.
    fn path(&self, definition: &str) -> Option<&String> {
        self.paths.get(definition)?.first()
    }

    fn further_paths(&self) -> impl Iterator<Item = String> + '_ {
        self.paths.values().flat_map(|paths| paths[1..].iter().map(|path| format!("pub use {path} = {}", paths[0])))
    }

    fn list(&self, module: &Module, item: &Item, lines: &mut BTreeSet<String>) {
        if let Item::Impl(block) = item {
            return self.list_impl(module, block, lines);
        }
        let Some(name) = public_name(item) else { return };
        let Some(path) = self.path(&joined(&module.path, &name)) else { return };
        let derived = derived(item);
        if !derived.is_empty() {
            lines.insert(format!("impl {} for {path}", derived.join(" + ")));
        }
        let mut add = |line: String| {
            lines.insert(line);
        };
        match item {
            Item::Const(item) => add(format!("pub const {path}: {}", text(&item.ty))),
            Item::Static(item) => add(format!("pub static {path}: {}", text(&item.ty))),
            Item::Type(item) => add(format!("pub type {path}{} = {}", text(&item.generics), text(&item.ty))),
            Item::Fn(item) => add(signature(path, &item.sig)),
            Item::Struct(item) => {
                add(format!("pub struct {path}{}{}", text(&item.generics), openness(&item.attrs)));
                fields(path, &item.fields, false, &mut add);
            }
            Item::Enum(item) => {
                add(format!("pub enum {path}{}{}", text(&item.generics), openness(&item.attrs)));
                for variant in &item.variants {
                    let path = format!("{path}::{}", variant.ident);
                    add(format!("pub {path}{}", openness(&variant.attrs)));
                    fields(&path, &variant.fields, true, &mut add);
                }
            }
            Item::Trait(item) => {
                let bounds = text(&item.supertraits);
                let colon = if bounds.is_empty() { "" } else { ": " };
                add(format!("pub trait {path}{}{colon}{bounds}", text(&item.generics)));
                for method in &item.items {
                    if let TraitItem::Fn(method) = method {
                        let name = format!("{path}::{}", method.sig.ident);
                        let given = if method.default.is_some() { " { .. }" } else { "" };
                        add(format!("{}{given}", signature(&name, &method.sig)));
                    }
                }
            }
            _ => {}
        }
    }

    fn list_impl(&self, module: &Module, block: &syn::ItemImpl, lines: &mut BTreeSet<String>) {
        let whole = text(&block.self_ty);
        let name = whole.trim_start_matches('&').split(['<', ' ']).next().unwrap_or_default();
        let segments: Segments = name.split("::").map(str::to_owned).collect();
        let last = segments.last().cloned().unwrap_or_default();
        let found = match module.items.contains_key(name) {
            true => Some(joined(&module.path, name)),
            false => self
                .library
                .find_mentioned(&module.path, module, &segments)
                .filter(|found| !found.is_module)
                .map(|found| joined(&found.module.path, &last)),
        };
        let Some(path) = found.and_then(|definition| self.path(&definition)) else { return };
        if let Some((_, of, _)) = &block.trait_ {
            lines.insert(format!("impl {} for {}", text(of), whole.replacen(name, path, 1)));
            return;
        }
        for item in &block.items {
            match item {
                ImplItem::Fn(method) if is_public(&method.vis) && !is_hidden(&method.attrs) => {
                    lines.insert(signature(&format!("{path}::{}", method.sig.ident), &method.sig));
                }
                ImplItem::Const(item) if is_public(&item.vis) => {
                    lines.insert(format!("pub const {path}::{}: {}", item.ident, text(&item.ty)));
                }
                _ => {}
            }
        }
    }
}

/// Returns the path that defines the target. `None` for modules and other crates.
fn defined(library: &Crate, target: &[String], name: &str) -> Option<String> {
    let is_shown = |found: &Found| !found.is_module && found.module.items.get(name) != Some(&true);
    let found = library.find(target).filter(is_shown)?;
    Some(joined(&found.module.path, name))
}

/// Returns the name of an item that is public and documented.
fn public_name(item: &Item) -> Option<String> {
    let (vis, attributes, name) = match item {
        Item::Const(item) => (&item.vis, &item.attrs, &item.ident),
        Item::Enum(item) => (&item.vis, &item.attrs, &item.ident),
        Item::Fn(item) => (&item.vis, &item.attrs, &item.sig.ident),
        Item::Static(item) => (&item.vis, &item.attrs, &item.ident),
        Item::Struct(item) => (&item.vis, &item.attrs, &item.ident),
        Item::Trait(item) => (&item.vis, &item.attrs, &item.ident),
        Item::Type(item) => (&item.vis, &item.attrs, &item.ident),
        _ => return None,
    };
    (is_public(vis) && !is_hidden(attributes)).then(|| name.to_string())
}

fn is_public(vis: &Visibility) -> bool {
    matches!(vis, Visibility::Public(_))
}

fn joined(path: &[String], name: &str) -> String {
    path.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("::")
}

fn openness(attributes: &[Attribute]) -> &'static str {
    if attributes.iter().any(|attribute| attribute.path().is_ident("non_exhaustive")) {
        " (non-exhaustive)"
    } else {
        ""
    }
}

/// Returns the traits that an item derives, sorted.
fn derived(item: &Item) -> Vec<String> {
    let attributes: &[Attribute] = match item {
        Item::Enum(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        _ => &[],
    };
    let lists = attributes.iter().filter(|attribute| attribute.path().is_ident("derive"));
    let tokens = lists.filter_map(|attribute| attribute.meta.require_list().ok()).map(|list| text(&list.tokens));
    let mut names: Vec<String> =
        tokens.flat_map(|list| list.split(',').map(|name| name.trim().to_owned()).collect::<Vec<_>>()).collect();
    names.retain(|name| !name.is_empty());
    names.sort();
    names
}

fn fields(path: &str, fields: &Fields, all: bool, add: &mut impl FnMut(String)) {
    for (at, field) in fields.iter().enumerate() {
        if all || is_public(&field.vis) {
            let name = field.ident.as_ref().map_or_else(|| at.to_string(), ToString::to_string);
            add(format!("pub {path}::{name}: {}", text(&field.ty)));
        }
    }
}

/// Returns the line of a function, with its full path as the name.
fn signature(path: &str, signature: &Signature) -> String {
    let line = text(signature);
    format!("pub {}", line.replacen(&format!("fn {}", signature.ident), &format!("fn {path}"), 1))
}

/// Formats tokens like source code.
fn text(tokens: &impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string().replace('\n', " ");
    for (from, to) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" ::", "::"),
        (" < ", "<"),
        ("< ", "<"),
        (" >", ">"),
        ("& ", "&"),
        ("? ", "?"),
        (" : ", ": "),
        (" ,", ","),
        (" ;", ";"),
        (",)", ")"),
        (", )", ")"),
        (",>", ">"),
    ] {
        text = text.replace(from, to);
    }
    let mut tidy = String::with_capacity(text.len());
    for c in text.chars() {
        // No space between a name and an opening parenthesis, as in `Fn(u8)`.
        let close =
            c == '(' && tidy.ends_with(' ') && tidy.trim_end().ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if close {
            tidy.truncate(tidy.trim_end().len());
        }
        tidy.push(c);
    }
    tidy
}
