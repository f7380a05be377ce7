//! Which records of an LLVM profile a compiler of the new build uses.
//!
//! The compiler looks each of its functions up by name: as it spells it, and in
//! LLVM 18 and later, for local functions of IR profiles, as earlier releases
//! spelled it where the first is not there. Then it wants the FuncHash.

use super::class::{Class, ProgramClass};
use super::hashes::{HashMatch, HashRules};
use super::program::{Program, ProgramFunction};
use super::successors::{Candidate, Successor, find_successors};
use crate::instr::cross_release::colon_form;
use crate::model::{FunctionId, FunctionRecord, FunctionView, NameRef, Profile, RecordId, RecordView, name_ref};
use std::collections::{BTreeMap, HashMap};

/// A record of the profile and what becomes of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordFit {
    /// The record.
    pub record: RecordId,
    /// Its function.
    pub function: FunctionId,
    /// What becomes of it.
    pub class: Class,
    /// The function of the new build that it is, or was, about; a position in
    /// [`Program::functions`].
    pub successor: Option<usize>,
    /// Sum of its counters; 0 for a record whose counters are a mark.
    pub count: u128,
}

/// How a profile and a new build go together.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordsFit {
    /// All records of the profile, in its order.
    pub records: Vec<RecordFit>,
    /// What each function of the program finds, in the program's order.
    pub program: Vec<ProgramClass>,
    /// Groups of functions that are too large to guess which were renamed.
    pub unguessed: u64,
}

/// Compares a profile that is read as an indexed file of `version` with a program.
pub fn compare(profile: &Profile, version: u32, program: &Program) -> RecordsFit {
    let rules = HashRules::new(&profile.functions, profile.kind.is_ir(), version, program);
    let mut comparison = Comparison::new(profile, program, rules);
    comparison.look_up_all();
    comparison.find_successors();
    comparison.finish()
}

struct Comparison<'a> {
    profile: &'a Profile,
    program: &'a Program,
    rules: HashRules,
    /// Class and function of the new build of each record, by its position.
    records: HashMap<RecordId, (Class, Option<usize>)>,
    program_classes: Vec<ProgramClass>,
    /// Functions of the profile whose names are of the other form, by that form.
    other_form: HashMap<NameRef, FunctionId>,
    /// Whether the program lists functions of the first, and of the second,
    /// context-sensitive pass.
    passes: [bool; 2],
    unguessed: u64,
}

impl<'a> Comparison<'a> {
    fn new(profile: &'a Profile, program: &'a Program, rules: HashRules) -> Self {
        let other_form = if profile.kind.is_ir() {
            let forms = profile
                .functions
                .iter()
                .filter_map(|function| Some((name_ref(&colon_form(function.name())?), function.id())));
            forms.collect()
        } else {
            HashMap::new()
        };
        let program_classes = vec![ProgramClass::Unprofiled; program.functions().len()];
        let of_pass = |second| program.functions().iter().any(|own| is_second_pass(own.func_hash) == second);
        let passes = [of_pass(false) || program.functions().is_empty(), of_pass(true)];
        Self { profile, program, rules, records: HashMap::new(), program_classes, other_form, passes, unguessed: 0 }
    }

    /// Looks every function of the program up as its compiler does.
    fn look_up_all(&mut self) {
        // A profile's names by their hash: a coverage map may have no names.
        let by_hash: HashMap<NameRef, FunctionId> =
            self.profile.functions.iter().map(|function| (function.name_ref(), function.id())).collect();
        for (at, function) in self.program.functions().iter().enumerate() {
            let has_records = |id: &FunctionId| self.profile.functions.function(*id).record_ids().next().is_some();
            let own = by_hash.get(&function.name_ref).copied().filter(has_records);
            // Compilers of LLVM 18 and later also know the name of before.
            let former = || {
                let form = colon_form(self.program.name(function)?)?;
                by_hash.get(&name_ref(&form)).copied().filter(has_records)
            };
            let is_ir = self.profile.kind.is_ir();
            if let Some(found) = own.or_else(|| if is_ir { former() } else { None }) {
                self.program_classes[at] = self.look_up(at, function, found, Class::Used);
                // Both forms of one name: the compiler looks at the first only.
                if let Some(second) = former().filter(|second| is_ir && *second != found) {
                    self.look_up(at, function, second, Class::OtherRelease);
                }
            } else if let Some(later) = self.other_form.get(&function.name_ref).copied().filter(has_records) {
                self.program_classes[at] = self.look_up(at, function, later, Class::OtherRelease);
            }
        }
    }

    /// Classes the records of a function of the profile that is that of the
    /// program; what is equal becomes `best`.
    fn look_up(&mut self, at: usize, own: &ProgramFunction, found: FunctionId, best: Class) -> ProgramClass {
        let function = self.profile.functions.function(found);
        let mut class = ProgramClass::Changed;
        let records: Vec<(RecordId, RecordView<'_>)> = function.record_ids().zip(function.records()).collect();
        for (id, record) in records {
            if self.is_of_other_pass(own, record) {
                continue;
            }
            let class_of_record = match self.rules.compare(function.name(), record.func_hash, own.func_hash) {
                HashMatch::Equal => best,
                HashMatch::OtherAlgorithm => Class::OtherRelease,
                HashMatch::Different => Class::Changed,
                HashMatch::Unknown => Class::NotCompared,
            };
            class = class.min(match class_of_record {
                Class::Used => ProgramClass::Used,
                Class::OtherRelease => ProgramClass::OtherRelease,
                _ => ProgramClass::Changed,
            });
            let known = self.records.get(&id).map(|(class, _)| *class);
            if known.is_none_or(|known| class_of_record < known) {
                self.records.insert(id, (class_of_record, Some(at)));
            }
        }
        class
    }

    /// Whether a record and a function belong to different passes of
    /// instrumentation, whose hashes have nothing to do with each other.
    fn is_of_other_pass(&self, own: &ProgramFunction, record: RecordView<'_>) -> bool {
        self.profile.kind.is_ir() && is_second_pass(own.func_hash) != record.is_context_sensitive()
    }

    fn is_compared(&self, record: RecordView<'_>) -> bool {
        let [first_pass, second_pass] = self.passes;
        !self.profile.kind.is_ir() || if record.is_context_sensitive() { second_pass } else { first_pass }
    }

    /// Finds what functions without a namesake have become.
    fn find_successors(&mut self) {
        let mut lost = Vec::new();
        for function in self.profile.functions.iter() {
            for (id, record) in function.record_ids().zip(function.records()) {
                if !self.records.contains_key(&id) && self.is_compared(record) {
                    lost.push((id, function, record));
                }
            }
        }
        if lost.is_empty() {
            return;
        }
        let free: Vec<Candidate<'_>> = (0..self.program.functions().len())
            .filter(|at| self.program_classes[*at] == ProgramClass::Unprofiled)
            .filter_map(|at| {
                let function = &self.program.functions()[at];
                Some(Candidate { at, name: self.program.name(function)?, function: *function })
            })
            .collect();
        let rules = self.rules;
        let equal = |name: &[u8], hash: u64, own: u64| rules.compare(name, hash, own) == HashMatch::Equal;
        let rows: Vec<_> = lost.iter().map(|(id, function, record)| (*id, function.name(), *record)).collect();
        let (found, unguessed) = find_successors(&rows, &free, &equal);
        self.unguessed = unguessed;
        for (id, successor) in found {
            let (class, at, program_class) = match successor {
                Successor::Moved(at) => (Class::Moved, at, Some(ProgramClass::Moved)),
                Successor::Renamed(at) => (Class::Renamed, at, Some(ProgramClass::Renamed)),
                Successor::MovedAndChanged(at) => (Class::Changed, at, None),
            };
            self.records.insert(id, (class, Some(at)));
            if let Some(class) = program_class {
                self.program_classes[at] = class;
            }
        }
    }

    fn finish(self) -> RecordsFit {
        let Self { profile, records, program_classes, unguessed, .. } = &self;
        let row = |function: FunctionView<'_>, id: RecordId, record: RecordView<'_>| {
            let unknown = if self.is_compared(record) { Class::Gone } else { Class::NotCompared };
            let (class, successor) = records.get(&id).copied().unwrap_or((unknown, None));
            RecordFit { record: id, function: function.id(), class, successor, count: sum_of(record) }
        };
        let all = profile.functions.iter().flat_map(|function| {
            function.record_ids().zip(function.records()).map(move |(id, record)| (function, id, record))
        });
        let mut rows: Vec<RecordFit> = all.map(|(function, id, record)| row(function, id, record)).collect();
        rows.sort_by_key(|row| row.record);
        RecordsFit { records: rows, program: program_classes.clone(), unguessed: *unguessed }
    }
}

/// Whether the hash is of the second, context-sensitive pass of IR instrumentation.
fn is_second_pass(hash: u64) -> bool {
    hash & FunctionRecord::CONTEXT_SENSITIVE_HASH != 0
}

/// Sum of the counters of a record; a mark in their place counts nothing.
fn sum_of(record: RecordView<'_>) -> u128 {
    if record.pseudo_count().is_some() {
        return 0;
    }
    record.counters.iter().map(u128::from).sum()
}

/// Functions of the profile that have none in common with the program by name,
/// `main` aside, which every program has.
pub(super) fn has_nothing_in_common(profile: &Profile, fit: &RecordsFit) -> bool {
    let is_main = |function: FunctionId| profile.functions.name(function) == b"main";
    let mut others = fit.records.iter().filter(|row| row.class != Class::NotCompared && !is_main(row.function));
    let mut any = false;
    let common = others.any(|row| {
        any = true;
        !matches!(row.class, Class::Gone | Class::Renamed)
    });
    any && !common
}

/// Old and new names of functions that were renamed or moved, in the order of
/// the old ones.
pub fn new_names(profile: &Profile, program: &Program, fit: &RecordsFit) -> BTreeMap<Vec<u8>, (Vec<u8>, Class)> {
    let changed = fit.records.iter().filter(|row| matches!(row.class, Class::Renamed | Class::Moved));
    let pairs = changed.filter_map(|row| {
        let function = program.functions().get(row.successor?)?;
        let old = profile.functions.name(row.function).to_vec();
        Some((old, (program.name(function)?.to_vec(), row.class)))
    });
    pairs.collect()
}
