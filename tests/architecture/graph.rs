//! Finds the files that a file uses. Names are followed through imports and re-exports to the file that defines them.

use crate::sources::{Crate, Import, Module, Segments, absolute};
use std::collections::{BTreeMap, BTreeSet};

/// The files that each file uses, except itself.
pub type Uses = BTreeMap<String, BTreeSet<String>>;

/// The paths that count as a use. Naming a module does not use its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    Items,
    ItemsAndModules,
}

/// The maximum length of a chain of re-exports.
const DEEPEST: usize = 16;

/// The target of a path.
#[derive(Clone)]
pub struct Found<'a> {
    pub module: &'a Module,
    /// Whether the path names the module itself and not an item in it.
    pub is_module: bool,
    /// Whether the target, or a part of the path, is hidden from the documentation.
    pub is_hidden: bool,
}

impl Crate {
    /// Follows a path from the root to the module that defines its last segment.
    pub fn find(&self, path: &[String]) -> Option<Found<'_>> {
        self.find_within(path, DEEPEST)
    }

    fn find_within(&self, path: &[String], depth: usize) -> Option<Found<'_>> {
        let mut at = Segments::new();
        let mut module = self.modules.get(&at)?;
        let mut is_hidden = false;
        for (index, segment) in path.iter().enumerate() {
            let rest = &path[index + 1..];
            if module.children.contains(segment) {
                at.push(segment.clone());
                module = self.modules.get(&at)?;
                is_hidden |= module.is_hidden;
            } else if let Some(item_is_hidden) = module.items.get(segment) {
                return Some(Found { module, is_module: false, is_hidden: is_hidden | item_is_hidden });
            } else {
                return self.find_imported(module, &at, segment, rest, depth.checked_sub(1)?).map(|mut found| {
                    found.is_hidden |= is_hidden;
                    found
                });
            }
        }
        Some(Found { module, is_module: true, is_hidden })
    }

    /// Finds the target of `segment` and `rest` in a module that imports it.
    fn find_imported(
        &self,
        module: &Module,
        at: &[String],
        segment: &String,
        rest: &[String],
        depth: usize,
    ) -> Option<Found<'_>> {
        let follow = |import: &Import, last: Option<&String>| {
            let target: Segments = import.target.iter().chain(last).chain(rest).cloned().collect();
            let found = self.find_within(&self.at_root(at, target.clone()), depth)?;
            // A re-export shows an item of a hidden module, unless the item itself is hidden.
            let own = target.last().and_then(|name| found.module.items.get(name)).filter(|_| !found.is_module);
            Some(Found { is_hidden: own.copied().unwrap_or(found.is_hidden) | import.is_hidden, ..found })
        };
        match module.imports.get(segment) {
            Some(import) => follow(import, None),
            None => module.globs.iter().find_map(|glob| follow(glob, Some(segment))),
        }
    }

    /// Returns a path in a module as a path from the root. The path may start with a child of the module.
    pub fn at_root(&self, at: &[String], path: Segments) -> Segments {
        let is_child =
            path.first().is_some_and(|first| self.modules.get(at).is_some_and(|m| m.children.contains(first)));
        if is_child { at.iter().cloned().chain(path).collect() } else { path }
    }

    /// Returns the files that each file uses. Items that a module only re-exports from its children do not count.
    pub fn uses(&self, ends: Ends) -> Uses {
        let mut uses = Uses::new();
        for (path, module) in &self.modules {
            let used = uses.entry(module.file.clone()).or_default();
            used.extend(self.used_by(path, module, ends).into_iter().filter(|file| *file != module.file));
        }
        uses
    }

    fn used_by(&self, at: &[String], module: &Module, ends: Ends) -> Vec<String> {
        let find = |import: &Import| {
            let target = self.at_root(at, import.target.clone());
            self.find(&target).filter(|_| !import.is_reexport || !target.starts_with(at))
        };
        let imported = module.imports.values().filter_map(find);
        let mentioned = module.mentions.iter().filter_map(|mention| self.find_mentioned(at, module, mention));
        imported
            .chain(mentioned)
            .filter(|found| !found.is_module || ends == Ends::ItemsAndModules)
            .chain(module.globs.iter().filter_map(find))
            .map(|found| found.module.file.clone())
            .collect()
    }

    /// Returns the target of a path in a module's code, if it is in this crate.
    pub fn find_mentioned(&self, at: &[String], module: &Module, mention: &[String]) -> Option<Found<'_>> {
        if let Some(path) = absolute(at, mention) {
            return self.find(&path);
        }
        let (first, rest) = mention.split_first()?;
        if module.items.contains_key(first) {
            return None;
        }
        if module.children.contains(first) {
            return self.find(&self.at_root(at, mention.to_vec()));
        }
        self.find_imported(module, at, first, rest, DEEPEST)
    }
}

/// Returns groups of files in which each file uses each other file directly or through others of the group. A use
/// counts if `counts` returns true for the two files.
pub fn circles(uses: &Uses, counts: impl Fn(&str, &str) -> bool) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        uses.keys().map(|file| (file.as_str(), reachable(uses, file, &counts))).collect();
    let mut found = BTreeSet::new();
    for (file, others) in &reached {
        let circle: BTreeSet<String> = others
            .iter()
            .filter(|other| reached.get(*other).is_some_and(|back| back.contains(file)))
            .map(|other| (*other).to_owned())
            .collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    found.into_iter().collect()
}

/// Returns the files that can be reached from a file by at least one use.
fn reachable<'a>(uses: &'a Uses, from: &'a str, counts: &impl Fn(&str, &str) -> bool) -> BTreeSet<&'a str> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(file) = open.pop() {
        for next in uses.get(file).into_iter().flatten() {
            if counts(file, next) && reached.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    reached
}
