//! The rules. Each takes sources and returns the faults that it found.

use crate::graph::{Ends, Uses, circles};
use crate::sources::{Crate, Segments};
use std::collections::BTreeSet;

/// A module and the other modules that it may use.
pub type Row<'a> = (&'a str, &'a [&'a str]);

/// Returns the module of the crate that a file belongs to: `raw` for `raw/header.rs`, `error` for `error.rs`.
pub fn module_of(file: &str) -> &str {
    file.split(['/', '.']).next().unwrap_or(file)
}

/// Returns uses that the table of modules does not allow. All modules may use `base`.
pub fn forbidden_uses(made: &Crate, base: &[&str], table: &[Row]) -> Vec<String> {
    let mut faults = Vec::new();
    for (file, used) in made.uses(Ends::ItemsAndModules) {
        let module = module_of(&file);
        let Some((_, allowed)) = table.iter().find(|(name, _)| *name == module) else { continue };
        for other in used.iter().map(|used| module_of(used)).collect::<BTreeSet<_>>() {
            if other != module && !base.contains(&other) && !allowed.contains(&other) {
                faults.push(format!("{file} uses {other}, which {module} may not"));
            }
        }
    }
    faults
}

/// Returns modules of the table that use each other, and names in it that are not modules.
pub fn faults_of_table(base: &[&str], table: &[Row]) -> Vec<String> {
    let uses: Uses = table
        .iter()
        .map(|(name, allowed)| ((*name).to_owned(), allowed.iter().map(|used| (*used).to_owned()).collect()))
        .collect();
    let names = uses.values().flatten().map(String::as_str).chain(base.iter().copied());
    let mut faults: Vec<String> =
        names.filter(|name| !uses.contains_key(*name)).map(|name| format!("{name} has no row in the table")).collect();
    faults.extend(circles(&uses, |_, _| true).iter().map(|circle| format!("a circle in the table: {circle:?}")));
    faults
}

/// Returns circular uses among the files of a module.
pub fn circles_in_modules(made: &Crate) -> Vec<BTreeSet<String>> {
    circles(&made.uses(Ends::Items), |from, to| module_of(from) == module_of(to))
}

/// Formats each circle as a fault.
pub fn faults_of_circles(found: &[BTreeSet<String>]) -> Vec<String> {
    found.iter().map(|circle| format!("files use each other in a circle: {circle:?}")).collect()
}

/// Returns faults of the program: a library item that is not listed or not documented, and a listed name that the
/// program does not use. The modules of `support` are hidden and exist for the program.
pub fn faults_of_program(
    program: &Crate,
    library: &Crate,
    name: &str,
    listed: &[&str],
    support: &[&str],
) -> Vec<String> {
    let hidden = hidden_methods(library);
    let (mut faults, mut used) = (Vec::new(), BTreeSet::new());
    for module in program.modules.values() {
        let imported = module.imports.values().chain(&module.globs).map(|import| &import.target);
        for path in imported.chain(&module.mentions).filter(|path| path.first().is_some_and(|first| first == name)) {
            let path: Segments = path[1..].to_vec();
            let Some(first) = path.first() else { continue };
            used.insert(first.clone());
            if !listed.contains(&first.as_str()) {
                faults.push(format!("{} uses {first}, which is not on the program's list", module.file));
            }
            let text = path.join("::");
            let is_support = support.iter().any(|module| text == *module || text.starts_with(&format!("{module}::")));
            if !is_support && library.find(&path).is_some_and(|found| found.is_hidden) {
                faults.push(format!("{} uses {}, which is hidden", module.file, text));
            }
        }
        for call in module.calls.intersection(&hidden) {
            faults.push(format!("{} calls {call}, which is hidden", module.file));
        }
    }
    let idle = listed.iter().filter(|name| !used.contains(**name));
    faults.extend(idle.map(|name| format!("the program does not use {name}, strike it from its list")));
    faults
}

/// Returns methods that are hidden from the documentation.
fn hidden_methods(library: &Crate) -> BTreeSet<String> {
    let methods = || library.modules.values().flat_map(|module| &module.methods);
    let shown: BTreeSet<&String> = methods().filter(|(_, hidden)| !**hidden).map(|(name, _)| name).collect();
    methods().filter(|(name, hidden)| **hidden && !shown.contains(name)).map(|(name, _)| name.clone()).collect()
}
