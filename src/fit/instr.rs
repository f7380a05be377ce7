//! Compares LLVM instrumentation profiles with a new build: finds the records that its compiler uses.
//!
//! The compiler looks up each of its functions by name. For local functions of IR profiles,
//! LLVM 18 and later also try the name that earlier releases used. Then the FuncHash must match.

use super::hashes::{self, HashMatch, HashRules};
use super::names::{Candidate, RemappingFile, Successor, find_successors, write_remapping};
use super::program::{Program, ProgramFunction};
use super::report::{Class, FitReport, Head, ProgramClass, Pruned, ReleaseFinding, Releases, Row, summarize};
use crate::digits::number_of;
use crate::error::{Error, ErrorKind, Result};
use crate::instr::cross_release::Finding;
use crate::instr::cross_release::apply::require_comparable;
use crate::model::release::reads_memory_version;
use crate::model::symbols::NameRefMap;
use crate::model::{
    FunctionId, FunctionRecord, FunctionView, NameRef, Profile, ProfileKind, RecordId, RecordView, Release,
    SymbolTable, ValueCount, ValueKind, ValueSites, name_ref,
};
use crate::names::colon_form;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A profile as the new build's compiler reads it.
#[derive(Debug)]
pub struct InstrInput {
    /// The records.
    pub profile: Profile,
    /// Names of values, in addition to those of functions.
    pub symbols: SymbolTable,
    /// The version of the indexed file, or of the file that a merge would write.
    pub indexed_version: u32,
    /// Whether it is already an indexed file.
    pub is_indexed: bool,
    /// The version of the memory profile in an indexed file.
    pub memory_version: Option<u32>,
    /// The release of the compiler, and the source of this information.
    pub reader: Option<(Release, &'static str)>,
    /// Findings about names and hashes of other releases.
    pub findings: Vec<Finding>,
    /// The old names of functions that were renamed for this release, by their new names.
    pub former_names: HashMap<Vec<u8>, Vec<u8>>,
    /// The description of the profile.
    pub description: String,
}

/// Why a record cannot be used.
const CUT_HASH: &str = "its hash lacks four bits that this compiler computes";
const OTHER_IR_HASH: &str = "LLVM 12 changed the hashes of IR profiles";

/// An LLVM profile compared with a new build.
#[derive(Debug)]
#[non_exhaustive]
pub struct InstrFit {
    /// The profile.
    pub input: InstrInput,
    /// The new build.
    pub program: Program,
    /// The status of each record and of each function.
    pub records: RecordsFit,
}

/// Compares a profile with a new build.
///
/// # Errors
///
/// Nothing to compare if they have different kinds of counters, such as those of IR and of the front end, if either has
/// no functions, or if they have no functions in common.
pub(crate) fn compare_instr(input: InstrInput, program: Program) -> Result<InstrFit> {
    check_kinds(&input, &program)?;
    let mut records = compare(&input.profile, input.indexed_version, &program);
    if has_nothing_in_common(&input.profile, &program, &records) {
        return Err(nothing_in_common(&input.profile, &program));
    }
    if !is_readable(&input) {
        // The compiler rejects the whole file.
        for row in records.records.iter_mut().filter(|row| row.class == Class::Used) {
            row.class = Class::OtherRelease;
        }
        for class in records.program.iter_mut().filter(|class| **class == ProgramClass::Used) {
            *class = ProgramClass::OtherRelease;
        }
    }
    Ok(InstrFit { input, program, records })
}

fn check_kinds(input: &InstrInput, program: &Program) -> Result<()> {
    let unable =
        |detail: String, hint: &'static str| Err(Error::new(ErrorKind::UnableToCompare { detail }).with_hint(hint));
    if input.profile.functions.is_empty() {
        return unable(
            "the profile has no functions".to_string(),
            "run the program to its normal end, and merge its profile again",
        );
    }
    if program.functions().is_empty() {
        return unable(
            format!("the {} has no functions", program.source().words()),
            "pass an instrumented program, or a profile that it wrote",
        );
    }
    if input.profile.kind.contains(ProfileKind::FUNCTION_ENTRY_ONLY) {
        return unable(
            "the profile has function entries only, which no compiler optimizes with".to_string(),
            "use it for coverage, and record another profile without -pgo-function-entry-coverage",
        );
    }
    program.kind.map_or(Ok(()), |built| require_comparable(input.profile.kind, built))
}

fn nothing_in_common(profile: &Profile, program: &Program) -> Error {
    let main = name_ref(MAIN);
    let has_main = profile.functions.find(MAIN).is_some() && program.functions().iter().any(|own| own.name_ref == main);
    let detail = format!(
        "none of the {} of the profile{} is among the {} of the new build",
        number_of(profile.functions.len(), "function"),
        if has_main { ", except main," } else { "" },
        program.functions().len()
    );
    Error::new(ErrorKind::UnableToCompare { detail }).with_hint(
        "pass the program or library that has the functions of the profile; if it is a Rust program, \
         use the same compiler, because function names depend on it",
    )
}

/// Returns true if the compiler can read the version of the file, and that of its memory profile.
fn is_readable(input: &InstrInput) -> bool {
    let Some((reader, _)) = input.reader else { return true };
    reader.indexed_version().is_none_or(|newest| input.indexed_version <= newest)
        && input.memory_version.is_none_or(|version| reads_memory_version(reader, version))
}

impl InstrFit {
    /// Returns the comparison as a report. `topn` is the length of its lists.
    pub fn report(&self, topn: usize) -> FitReport {
        let Self { input, program, records } = self;
        let unusable = if input.profile.kind.is_ir() { OTHER_IR_HASH } else { CUT_HASH };
        let rows = records.records.iter().map(|row| {
            // Reports name only lost functions.
            if !row.class.is_lost() {
                return Row { name: Vec::new(), class: row.class, count: row.count, now: None, detail: None };
            }
            let name = input.profile.functions.name(row.function);
            let now = row.successor.and_then(|at| program.name(program.functions().get(at)?));
            Row {
                name: self.former_name(name).to_vec(),
                class: row.class,
                count: row.count,
                now: now.filter(|now| *now != name).map(<[u8]>::to_vec),
                detail: (row.class == Class::Unusable).then(|| unusable.to_string()),
            }
        });
        let named =
            |class: ProgramClass, function| if class == ProgramClass::Used { None } else { program.name(function) };
        let listed: Vec<_> = records
            .program
            .iter()
            .zip(program.functions())
            .map(|(class, function)| (*class, named(*class, function)))
            .collect();
        let head = Head {
            family: "instr",
            counted: "counts",
            profile_is: input.description.clone(),
            program_is: self.program_words(),
        };
        let mut report = summarize(head, rows.collect(), &listed, topn);
        report.targets = hashes::compare(self.compared(), &input.profile, &input.symbols, program, topn);
        report.releases = Some(self.releases());
        report.notes.extend(self.notes());
        report
    }

    /// Returns the records that are compared. The build of one instrumentation pass says nothing about the targets that
    /// the other one recorded.
    fn compared(&self) -> impl Iterator<Item = RecordView<'_>> {
        let rows = self.records.records.iter().filter(|row| row.class != Class::NotCompared);
        rows.map(|row| self.input.profile.functions.record(row.record))
    }

    fn program_words(&self) -> String {
        let Self { program, .. } = self;
        let built = program.release.map(|release| format!(", built by LLVM {}", release.0)).unwrap_or_default();
        format!("{}, {}{built}", program.source().words(), number_of(program.functions().len(), "function"))
    }

    fn former_name<'a>(&'a self, name: &'a [u8]) -> &'a [u8] {
        self.input.former_names.get(name).map_or(name, Vec::as_slice)
    }

    fn releases(&self) -> Releases {
        let finding = |finding: &Finding| {
            let advice = finding.kind.advice().map(|advice| format!(" ({advice})")).unwrap_or_default();
            ReleaseFinding {
                kind: finding.kind.word(),
                is_loss: finding.kind.is_loss(),
                functions: finding.functions,
                share: finding.share(),
                text: format!("{finding}{advice}"),
            }
        };
        let input = &self.input;
        Releases {
            reader: input.reader.map(|(release, _)| release.0),
            reader_from: input.reader.map(|(_, from)| from),
            indexed_version: input.indexed_version,
            is_indexed: input.is_indexed,
            is_readable: is_readable(input),
            findings: input.findings.iter().map(finding).collect(),
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let has = |class: Class| self.records.records.iter().any(|row| row.class == class);
        let is_of_second_pass = self.program.functions().iter().any(|own| is_second_pass(own.func_hash));
        if has(Class::NotCompared) && (is_of_second_pass || self.input.profile.kind.is_context_sensitive()) {
            notes.push(
                "records of one of the two instrumentation passes are not compared, because the new build has \
                 only those of the other pass"
                    .to_string(),
            );
        }
        if self.input.indexed_version <= 5 && has(Class::NotCompared) {
            notes.push("hashes of LLVM 10 and earlier cannot be compared with those of a newer build".to_string());
        }
        if self.program.source() == super::program::ProgramSource::Profile {
            notes.push("a sparse profile has only functions that ran; all others count as gone".to_string());
        }
        if self.program.is_ir().is_none() && self.program.source() != super::program::ProgramSource::Profile {
            notes.push("the new build is stripped, so its kind of instrumentation is unknown".to_string());
        }
        if self.records.unguessed > 0 {
            notes.push(format!(
                "{} groups of functions with the same hash are too large to find renamed functions",
                self.records.unguessed
            ));
        }
        notes
    }

    /// Returns a remapping file for renamed and moved functions.
    pub fn remapping(&self) -> RemappingFile {
        let names = new_names(&self.input.profile, &self.program, &self.records);
        write_remapping(&names.into_iter().map(|(old, new)| (self.former_name(&old).to_vec(), new)).collect())
    }

    /// Returns the profile without records that the new build does not use, and without targets that no longer exist.
    /// With `keep_renamed`, it keeps functions that a [remapping](Self::remapping) renames.
    pub fn pruned(&self, keep_renamed: bool) -> (Profile, Pruned) {
        let stays = |class: Class| match class {
            Class::Used | Class::OtherRelease | Class::Unusable | Class::NotCompared => true,
            Class::Renamed | Class::Moved => keep_renamed,
            Class::Changed | Class::Gone => false,
        };
        let kept: HashMap<RecordId, Class> =
            self.records.records.iter().filter(|row| stays(row.class)).map(|row| (row.record, row.class)).collect();
        let profile = &self.input.profile;
        let gone = hashes::gone_targets(self.compared(), profile, &self.input.symbols, &self.program);
        let mut pruned = Pruned::default();
        let mut copy = Profile { functions: Default::default(), ..profile.clone() };
        for function in profile.functions.iter() {
            let mut id = None;
            for (record_id, record) in function.record_ids().zip(function.records()) {
                let Some(class) = kept.get(&record_id) else {
                    pruned.records += 1;
                    continue;
                };
                let id = *id.get_or_insert_with(|| copy.functions.intern_hashed(function.name(), function.name_ref()));
                let mut record = record.to_record();
                let is_compared = *class != Class::NotCompared;
                for kind in ValueKind::EACH.into_iter().filter(|kind| is_compared && kind.is_name()) {
                    let (sites, dropped) = without(record.sites(kind), &gone);
                    if dropped > 0 {
                        *record.sites_mut(kind) = sites;
                        pruned.values += dropped;
                    }
                }
                copy.functions.push_record(id, &record);
            }
        }
        let names: HashSet<NameRef> = copy.functions.iter().map(|function| function.name_ref()).collect();
        for trace in &mut copy.temporal.traces {
            let before = trace.functions.len();
            trace.functions.retain(|function| names.contains(function));
            pruned.traced += (before - trace.functions.len()) as u64;
        }
        copy.temporal.traces.retain(|trace| !trace.functions.is_empty());
        (copy, pruned)
    }
}

/// Returns the sites without these targets, and the number of dropped values.
fn without(sites: &ValueSites, gone: &HashSet<NameRef>) -> (ValueSites, u64) {
    let (mut kept, mut dropped) = (ValueSites::new(), 0);
    for site in sites.iter() {
        let values: Vec<ValueCount> = site.iter().filter(|value| !gone.contains(&value.value)).copied().collect();
        dropped += (site.len() - values.len()) as u64;
        kept.push_site(&values);
    }
    (kept, dropped)
}

/// A record of the profile and its status.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordFit {
    /// The record.
    pub record: RecordId,
    /// The function of the record.
    pub function: FunctionId,
    /// The status.
    pub class: Class,
    /// The function of the new build that it belongs to, or belonged to, as an index of [`Program::functions`].
    pub successor: Option<usize>,
    /// Sum of its counters; 0 for a pseudo count.
    pub count: u128,
}

/// The comparison of a profile with a new build.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecordsFit {
    /// All records, in the order of the profile.
    pub records: Vec<RecordFit>,
    /// The status of each function of the program, in the program's order.
    pub program: Vec<ProgramClass>,
    /// The number of groups of functions that are too large for guessing renames.
    pub unguessed: u64,
}

/// Compares a profile, read as an indexed file of `version`, with a program.
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
    /// The class of each record, by its index, and its function of the new build.
    records: Vec<Option<(Class, Option<usize>)>>,
    program_classes: Vec<ProgramClass>,
    /// Functions whose names have the other form, by that form.
    other_form: NameRefMap<FunctionId>,
    /// Whether the program lists functions of the first and of the second, context-sensitive, pass.
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
            NameRefMap::default()
        };
        let program_classes = vec![ProgramClass::Unprofiled; program.functions().len()];
        let of_pass = |second| program.functions().iter().any(|own| is_second_pass(own.func_hash) == second);
        let passes = [of_pass(false) || program.functions().is_empty(), of_pass(true)];
        let records = vec![None; profile.functions.records_len()];
        Self { profile, program, rules, records, program_classes, other_form, passes, unguessed: 0 }
    }

    /// Looks up every function of the program like its compiler.
    fn look_up_all(&mut self) {
        // The profile's names by their hash, because a coverage map may have no names.
        let by_hash: NameRefMap<FunctionId> =
            self.profile.functions.iter().map(|function| (function.name_ref(), function.id())).collect();
        for (at, function) in self.program.functions().iter().enumerate() {
            let has_records = |id: &FunctionId| self.profile.functions.function(*id).record_ids().next().is_some();
            let own = by_hash.get(&function.name_ref).copied().filter(has_records);
            // Compilers of LLVM 18 and later also look up the old name.
            let former = || {
                let form = colon_form(self.program.name(function)?)?;
                by_hash.get(&name_ref(&form)).copied().filter(has_records)
            };
            let is_ir = self.profile.kind.is_ir();
            if let Some(found) = own.or_else(|| if is_ir { former() } else { None }) {
                self.program_classes[at] = self.look_up(at, function, found, Class::Used);
                // If both forms of a name exist, the compiler uses the first.
                if is_ir && let Some(second) = former().filter(|second| *second != found) {
                    self.look_up(at, function, second, Class::OtherRelease);
                }
            } else if let Some(later) = self.other_form.get(&function.name_ref).copied().filter(has_records) {
                self.program_classes[at] = self.look_up(at, function, later, Class::OtherRelease);
            }
        }
    }

    /// Classifies the records of a function that the program also has. Equal records get the class `best`.
    fn look_up(&mut self, at: usize, own: &ProgramFunction, found: FunctionId, best: Class) -> ProgramClass {
        let function = self.profile.functions.function(found);
        // If all records are of the other pass, the function was not profiled in this one.
        let mut class = ProgramClass::Unprofiled;
        for (id, record) in function.record_ids().zip(function.records()) {
            if self.is_of_other_pass(own, record) {
                continue;
            }
            let class_of_record = match self.rules.compare(function.name(), record.func_hash, own.func_hash) {
                HashMatch::Equal | HashMatch::OtherAlgorithm if has_other_counters(own, record) => Class::Changed,
                // The compiler looks for the whole hash, if the version of the file has it.
                HashMatch::Equal if self.rules.has_whole_twin(function, record.func_hash) => Class::OtherRelease,
                HashMatch::Equal => best,
                HashMatch::OtherAlgorithm => Class::OtherRelease,
                HashMatch::Unrecoverable => Class::Unusable,
                HashMatch::Different => Class::Changed,
                HashMatch::Unknown => Class::NotCompared,
            };
            class = class.min(match class_of_record {
                Class::Used => ProgramClass::Used,
                Class::OtherRelease => ProgramClass::OtherRelease,
                _ => ProgramClass::Changed,
            });
            let known = &mut self.records[id.index()];
            if known.is_none_or(|(known, _)| class_of_record < known) {
                *known = Some((class_of_record, Some(at)));
            }
        }
        class
    }

    /// Returns true if a record and a function belong to different instrumentation passes, whose hashes cannot be
    /// compared.
    fn is_of_other_pass(&self, own: &ProgramFunction, record: RecordView<'_>) -> bool {
        self.profile.kind.is_ir() && is_second_pass(own.func_hash) != record.is_context_sensitive()
    }

    fn is_compared(&self, record: RecordView<'_>) -> bool {
        let [first_pass, second_pass] = self.passes;
        !self.profile.kind.is_ir() || if record.is_context_sensitive() { second_pass } else { first_pass }
    }

    /// Finds successors of functions whose name no longer exists.
    fn find_successors(&mut self) {
        let mut lost = Vec::new();
        for function in self.profile.functions.iter() {
            for (id, record) in function.record_ids().zip(function.records()) {
                if self.records[id.index()].is_none() && self.is_compared(record) {
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
                Successor::Moved(at) => (Class::Moved, at, ProgramClass::Moved),
                Successor::Renamed(at) => (Class::Renamed, at, ProgramClass::Renamed),
                Successor::MovedAndChanged(at) => (Class::Changed, at, ProgramClass::Changed),
            };
            self.records[id.index()] = Some((class, Some(at)));
            self.program_classes[at] = program_class;
        }
    }

    fn finish(self) -> RecordsFit {
        let Self { profile, records, program_classes, unguessed, .. } = &self;
        let row = |function: FunctionView<'_>, id: RecordId, record: RecordView<'_>| {
            let unknown = if self.is_compared(record) { Class::Gone } else { Class::NotCompared };
            let (class, successor) = records[id.index()].unwrap_or((unknown, None));
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

/// Returns true if a function has another number of counters than a record, with which its compiler rejects the record.
fn has_other_counters(own: &ProgramFunction, record: RecordView<'_>) -> bool {
    let found = record.counters.iter().len();
    record.pseudo_count().is_none() && own.num_counters.is_some_and(|count| count as usize != found)
}

/// Returns true if the hash belongs to the second, context-sensitive pass of IR instrumentation.
fn is_second_pass(hash: u64) -> bool {
    hash & FunctionRecord::CONTEXT_SENSITIVE_HASH != 0
}

/// Returns the sum of a record's counters; 0 for a pseudo count.
fn sum_of(record: RecordView<'_>) -> u128 {
    if record.pseudo_count().is_some() {
        return 0;
    }
    record.counters.iter().map(u128::from).sum()
}

/// The function that most programs have.
const MAIN: &[u8] = b"main";

/// Returns true if the profile and the program have no function in common except [`MAIN`], not even by another name.
fn has_nothing_in_common(profile: &Profile, program: &Program, fit: &RecordsFit) -> bool {
    let has_only_main = program.functions().len() == 1;
    let is_main = |function: FunctionId| profile.functions.name(function) == MAIN && !has_only_main;
    let mut others = fit.records.iter().filter(|row| row.class != Class::NotCompared && !is_main(row.function));
    let mut any = false;
    let common = others.any(|row| {
        any = true;
        row.class != Class::Gone
    });
    any && !common
}

/// Returns old and new names of renamed and moved functions, ordered by the old names.
pub fn new_names(profile: &Profile, program: &Program, fit: &RecordsFit) -> BTreeMap<Vec<u8>, (Vec<u8>, Class)> {
    let changed = fit.records.iter().filter(|row| matches!(row.class, Class::Renamed | Class::Moved));
    let pairs = changed.filter_map(|row| {
        let function = program.functions().get(row.successor?)?;
        let old = profile.functions.name(row.function).to_vec();
        Some((old, (program.name(function)?.to_vec(), row.class)))
    });
    pairs.collect()
}
