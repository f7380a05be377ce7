//! Value data: what was called, and whether it still exists.

use super::program::Program;
use crate::instr::cross_release::colon_form;
use crate::model::{NameRef, Profile, SymbolTable, ValueKind, name_ref};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What became of the targets of calls, and of the vtables, that a profile saw.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TargetsFit {
    /// Different targets that were seen.
    pub targets: u64,
    /// How often they were seen.
    pub count: u128,
    /// Targets that the new build has.
    pub there: u64,
    /// How often those were seen.
    pub there_count: u128,
    /// Targets whose names the profile knows and that the new build lacks.
    pub gone: u64,
    /// How often those were seen.
    pub gone_count: u128,
    /// Targets that neither knows by name, such as functions of libraries.
    pub unknown: u64,
    /// How often those were seen.
    pub unknown_count: u128,
    /// The targets that are gone and were seen most often.
    pub top: Vec<MissingTarget>,
}

/// A target that the new build lacks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MissingTarget {
    /// Its name, escaped.
    pub target: String,
    /// How often it was seen.
    pub count: u128,
}

/// Compares the targets of a profile with the names of a program; `None` where
/// the profile has no targets. `symbols` are names beside those of functions.
pub fn compare(profile: &Profile, symbols: &SymbolTable, program: &Program, topn: usize) -> Option<TargetsFit> {
    let mut seen: BTreeMap<NameRef, u128> = BTreeMap::new();
    let is_ir = profile.kind.is_ir();
    for record in profile.functions.iter().flat_map(|function| function.records()) {
        for kind in kinds(program) {
            for value in record.sites(kind).values().iter().filter(|value| value.value != 0) {
                *seen.entry(value.value).or_default() += u128::from(value.count);
            }
        }
    }
    if seen.is_empty() {
        return None;
    }
    let there = there(program, is_ir);
    let names = Names::new(profile, symbols);
    let mut fit = TargetsFit {
        targets: seen.len() as u64,
        count: seen.values().sum(),
        there: 0,
        there_count: 0,
        gone: 0,
        gone_count: 0,
        unknown: 0,
        unknown_count: 0,
        top: Vec::new(),
    };
    let mut gone = Vec::new();
    for (target, count) in seen {
        let name = names.find(target);
        if there.contains(&target) {
            fit.there += 1;
            fit.there_count += count;
        } else if let Some(name) = name {
            fit.gone += 1;
            fit.gone_count += count;
            gone.push((name, count));
        } else {
            fit.unknown += 1;
            fit.unknown_count += count;
        }
    }
    gone.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let row = |(name, count): (&[u8], u128)| MissingTarget { target: name.escape_ascii().to_string(), count };
    fit.top = gone.into_iter().take(topn).map(row).collect();
    Some(fit)
}

/// Kinds of values that can be looked up in the program.
fn kinds(program: &Program) -> impl Iterator<Item = ValueKind> {
    let has_vtables = program.has_vtables;
    ValueKind::ALL.into_iter().filter(move |kind| kind.is_name() && (has_vtables || *kind != ValueKind::VTableTarget))
}

/// Hashes of the names in a program, in both forms of local ones.
fn there(program: &Program, is_ir: bool) -> HashSet<NameRef> {
    let mut there: HashSet<NameRef> = program.name_refs().collect();
    if is_ir {
        there.extend(program.names().filter_map(|name| Some(name_ref(&colon_form(name)?))));
    }
    there
}

/// Names that the profile knows, by their hash.
struct Names<'a> {
    functions: HashMap<NameRef, &'a [u8]>,
    symbols: &'a SymbolTable,
}

impl<'a> Names<'a> {
    fn new(profile: &'a Profile, symbols: &'a SymbolTable) -> Self {
        let functions = profile.functions.iter().map(|function| (function.name_ref(), function.name())).collect();
        Self { functions, symbols }
    }

    fn find(&self, target: NameRef) -> Option<&'a [u8]> {
        self.functions.get(&target).copied().or_else(|| self.symbols.name(target))
    }
}

/// Values of calls and vtables that the program lacks and the profile names.
pub(super) fn gone_targets(profile: &Profile, symbols: &SymbolTable, program: &Program) -> HashSet<NameRef> {
    let there = there(program, profile.kind.is_ir());
    let records = profile.functions.iter().flat_map(|function| function.records());
    let values = records.flat_map(|record| {
        kinds(program).flat_map(move |kind| record.sites(kind).values().iter().map(|value| value.value))
    });
    let names = Names::new(profile, symbols);
    values.filter(|value| *value != 0 && !there.contains(value) && names.find(*value).is_some()).collect()
}
