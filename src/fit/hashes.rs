//! Comparing FuncHashes of a profile with those of the new build, and counting call targets
//! that no longer exist.
//!
//! IR hashes are equal or not, but LLVM 12 changed all of them. The front end of clang computes a hash with an algorithm
//! that depends on the indexed version: version 3 until indexed version 12; version 4 since 13, which is version 3 with
//! its four highest bits cleared. The new build has hashes of its own release.

use super::program::Program;
use crate::instr::cross_release::front_end_hashes::{
    FIRST_THIRD_VERSION, FOURTH_MASK, FOURTH_VERSION, SECOND_VERSION, is_of_clang, is_small,
};
use crate::instr::cross_release::ir_hashes::are_of_both_algorithms;
use crate::model::symbols::NameRefMap;
use crate::model::{
    FunctionTable, FunctionView, NameRef, Profile, RecordView, Release, SymbolTable, ValueKind, name_ref,
};
use crate::names::colon_form;
use foldhash::HashSet as FastSet;
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};

/// The first release whose front end computes hash version 4.
const FOURTH_RELEASE: Release = Release(22);
/// If more large hashes than this lack the four bits, this is not a coincidence.
const COINCIDENCES: usize = 4;

/// The result of comparing two hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HashMatch {
    /// The compiler finds it.
    Equal,
    /// The compiler would find it in a file of another version.
    OtherAlgorithm,
    /// The profile's hash lacks bits that the compiler computes, or LLVM 12 changed it.
    Unrecoverable,
    /// The hashes belong to different functions.
    Different,
    /// Unknown: the profile's hashes are older than all known algorithms.
    Unknown,
}

/// How hashes are compared.
#[derive(Debug, Clone, Copy)]
pub(super) struct HashRules {
    is_ir: bool,
    /// Whether the program's hashes may have all 64 bits.
    program_is_third: bool,
    /// The version of the file that the compiler reads, which determines the algorithm.
    version: u32,
    /// Whether the profile's hashes lack the four bits although the version requires them.
    profile_is_fourth: bool,
}

impl HashRules {
    /// Creates the rules for a profile that is read as an indexed file of `version`.
    pub(super) fn new(functions: &FunctionTable, is_ir: bool, version: u32, program: &Program) -> Self {
        let large = |hash: u64| !is_small(hash);
        let of_program = program.functions().iter().filter(|function| {
            let is_of_clang = |name| is_of_clang(name, function.func_hash);
            large(function.func_hash) && program.name(function).is_none_or(is_of_clang)
        });
        let whole = of_program.clone().any(|function| function.func_hash > FOURTH_MASK);
        let program_is_third = match program.release {
            Some(release) => release < FOURTH_RELEASE,
            None => whole,
        };
        let (mut third, mut fourth) = (0usize, 0usize);
        for function in functions.iter() {
            let hashes = function.records().map(|record| record.func_hash);
            for hash in hashes.filter(|hash| large(*hash) && is_of_clang(function.name(), *hash)) {
                if hash > FOURTH_MASK { third += 1 } else { fourth += 1 }
            }
        }
        Self { is_ir, program_is_third, version, profile_is_fourth: third == 0 && fourth > COINCIDENCES }
    }

    /// Returns true if another record of the function has the same hash with the bits that this one lacks, and the
    /// compiler uses that.
    pub(super) fn has_whole_twin(&self, function: FunctionView<'_>, found: u64) -> bool {
        let is_whole = |other: RecordView<'_>| other.func_hash != found && other.func_hash & FOURTH_MASK == found;
        !self.is_ir && self.version < FOURTH_VERSION && !is_small(found) && function.records().any(is_whole)
    }

    /// Returns whether a record with the hash `found` is used for a function with the hash `own` in the new build.
    pub(super) fn compare(&self, name: &[u8], found: u64, own: u64) -> HashMatch {
        if self.is_ir || !is_of_clang(name, found) {
            return match found == own {
                true => HashMatch::Equal,
                false if self.is_ir && are_of_both_algorithms(found, own) => HashMatch::Unrecoverable,
                false => HashMatch::Different,
            };
        }
        if self.version < SECOND_VERSION || (self.version < FIRST_THIRD_VERSION && !is_small(found)) {
            return HashMatch::Unknown;
        }
        if found & FOURTH_MASK != own & FOURTH_MASK {
            return HashMatch::Different;
        }
        if self.program_is_third && found <= FOURTH_MASK && own > FOURTH_MASK {
            return HashMatch::Unrecoverable;
        }
        let equal = if self.version >= FOURTH_VERSION {
            found <= FOURTH_MASK
        } else if self.program_is_third {
            found == own
        } else {
            // The four bits cannot be recovered, and few hashes lack all of them.
            found > FOURTH_MASK || is_small(found) || !self.profile_is_fourth
        };
        match equal {
            true => HashMatch::Equal,
            // If both have 64 bits, different hashes belong to different functions.
            false if found > FOURTH_MASK && own > FOURTH_MASK && found != own => HashMatch::Different,
            false => HashMatch::OtherAlgorithm,
        }
    }
}

/// The status of the call targets and vtables that a profile recorded.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TargetsFit {
    /// Distinct recorded targets.
    pub targets: u64,
    /// The number of times they were recorded.
    pub count: u128,
    /// Targets that exist in the new build.
    pub there: u64,
    /// The number of times these were recorded.
    pub there_count: u128,
    /// Targets that the profile names and that do not exist in the new build.
    pub gone: u64,
    /// The number of times these were recorded.
    pub gone_count: u128,
    /// Targets without a known name, such as functions of libraries.
    pub unknown: u64,
    /// The number of times these were recorded.
    pub unknown_count: u128,
    /// The missing targets with the highest counts.
    pub top: Vec<MissingTarget>,
}

/// A target that does not exist in the new build.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MissingTarget {
    /// The escaped name.
    pub target: String,
    /// The number of times it was recorded.
    pub count: u128,
}

/// Compares the targets of `records`, which are some of `profile`, with the names of a program. `None` if they have no
/// targets. `symbols` are names in addition to those of functions.
pub(super) fn compare<'a>(
    records: impl Iterator<Item = RecordView<'a>>,
    profile: &Profile,
    symbols: &SymbolTable,
    program: &Program,
    topn: usize,
) -> Option<TargetsFit> {
    let mut seen: BTreeMap<NameRef, u128> = BTreeMap::new();
    let is_ir = profile.kind.is_ir();
    for record in records {
        for kind in kinds(program) {
            for value in record.sites(kind).values() {
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
        if there.contains(&target) || name.is_some_and(|name| is_there_in_old_form(&there, name, is_ir)) {
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
    ValueKind::EACH.into_iter().filter(move |kind| kind.is_name() && (has_vtables || *kind != ValueKind::VTableTarget))
}

/// Returns the hashes of the names in a program, with both forms of local names.
fn there(program: &Program, is_ir: bool) -> FastSet<NameRef> {
    let mut there: FastSet<NameRef> = program.name_refs().collect();
    if is_ir {
        there.extend(program.names().filter_map(|name| Some(name_ref(&colon_form(name)?))));
    }
    there
}

/// Returns true if a program of an older release has the function, whose name has another form there.
fn is_there_in_old_form(there: &FastSet<NameRef>, name: &[u8], is_ir: bool) -> bool {
    is_ir && colon_form(name).is_some_and(|form| there.contains(&name_ref(&form)))
}

/// The names in the profile, by their hash.
struct Names<'a> {
    functions: NameRefMap<&'a [u8]>,
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

/// Returns the call targets and vtables of `records` that the profile names and that the program does not have.
pub(super) fn gone_targets<'a>(
    records: impl Iterator<Item = RecordView<'a>>,
    profile: &Profile,
    symbols: &SymbolTable,
    program: &Program,
) -> HashSet<NameRef> {
    let is_ir = profile.kind.is_ir();
    let there = there(program, is_ir);
    let values = records.flat_map(|record| {
        kinds(program).flat_map(move |kind| record.sites(kind).values().iter().map(|value| value.value))
    });
    let names = Names::new(profile, symbols);
    let is_gone = |target: &NameRef| {
        !there.contains(target) && names.find(*target).is_some_and(|name| !is_there_in_old_form(&there, name, is_ir))
    };
    values.filter(|value| *value != 0 && is_gone(value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: u64 = 0x4c09_d3f6_8c42_3a76;
    const CLEARED: u64 = 0x0c09_d3f6_8c42_3a76;

    fn rules(version: u32, program_is_third: bool, profile_is_fourth: bool) -> HashRules {
        HashRules { is_ir: false, program_is_third, version, profile_is_fourth }
    }

    #[test]
    fn ir_hashes_of_both_algorithms_are_of_one_function() {
        let rules = HashRules { is_ir: true, ..rules(12, false, false) };
        // A function of rustc 1.51 and 1.95.
        let (early, later) = (0x0100_0006_cd39_8548, 0x0d14_0a68_bd39_8548);
        for (found, own, expected) in [
            (early, later, HashMatch::Unrecoverable),
            (later, early, HashMatch::Unrecoverable),
            (early, early, HashMatch::Equal),
            (early, later ^ 1, HashMatch::Different),
            (later ^ 1 << 40, later, HashMatch::Different),
        ] {
            assert_eq!(rules.compare(b"f", found, own), expected, "{found:#x} {own:#x}");
        }
    }

    #[test]
    fn the_version_of_the_file_chooses_the_algorithm() {
        use HashMatch::{Different, Equal, OtherAlgorithm, Unknown, Unrecoverable};
        for (version, is_third, is_fourth, found, own, expected) in [
            // clang 19 and its own file.
            (12, true, false, WHOLE, WHOLE, Equal),
            (12, true, false, CLEARED, WHOLE, Unrecoverable),
            (13, true, true, CLEARED, WHOLE, Unrecoverable),
            (12, true, false, WHOLE ^ 1 << 63, WHOLE, Different),
            // clang 22: its own file, an old file, old hashes in a new file, new hashes in an old file.
            (13, false, true, CLEARED, CLEARED, Equal),
            (12, false, false, WHOLE, CLEARED, Equal),
            (13, false, false, WHOLE, CLEARED, OtherAlgorithm),
            (12, false, true, CLEARED, CLEARED, OtherAlgorithm),
            (12, false, false, 0x18, 0x18, Equal),
            (13, false, true, 0x18, 0x18, Equal),
            (13, false, true, CLEARED ^ 2, CLEARED, Different),
            // Hash version 1: small hashes are equal only since version 2.
            (5, true, false, WHOLE, WHOLE, Unknown),
            (5, true, false, 0x18, 0x18, Equal),
        ] {
            let found = rules(version, is_third, is_fourth).compare(b"f", found, own);
            assert_eq!(found, expected, "version {version}, {is_third}, {is_fourth}");
        }
    }

    #[test]
    fn hashes_of_rust_and_of_ir_are_equal_or_not() {
        let rust = b"_RNvCs1234_7mycrate3foo";
        assert_eq!(rules(13, false, false).compare(rust, WHOLE, WHOLE), HashMatch::Equal);
        assert_eq!(rules(13, false, false).compare(rust, WHOLE, CLEARED), HashMatch::Different);
        let ir = HashRules { is_ir: true, ..rules(13, false, false) };
        assert_eq!(ir.compare(b"f", WHOLE, CLEARED), HashMatch::Different);
        assert_eq!(ir.compare(b"f", WHOLE, WHOLE), HashMatch::Equal);
    }
}
