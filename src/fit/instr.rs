//! LLVM instrumentation profiles: the whole comparison.

use super::class::Class;
use super::program::Program;
use super::records::{RecordsFit, compare, has_nothing_in_common, new_names};
use super::remapping::{RemappingFile, write_remapping};
use super::report::{FitReport, Head, Pruned, ReleaseFinding, Releases, Row, summarize};
use super::targets;
use crate::digits::number_of;
use crate::error::{Error, ErrorKind, Result};
use crate::instr::cross_release::Finding;
use crate::model::{FunctionId, NameRef, Profile, RecordId, Release, SymbolTable, ValueCount, ValueKind, ValueSites};
use std::collections::{HashMap, HashSet};

/// A profile as the compiler of the new build will read it.
#[derive(Debug)]
pub struct InstrInput {
    /// The records.
    pub profile: Profile,
    /// Names of what values point to, beside the functions.
    pub symbols: SymbolTable,
    /// The version of the indexed file that it is, or becomes by a merge.
    pub indexed_version: u32,
    /// Whether it is an indexed file already.
    pub is_indexed: bool,
    /// The release that reads it, and who said so.
    pub reader: Option<(Release, &'static str)>,
    /// What of it is as another release has it.
    pub findings: Vec<Finding>,
    /// Names that functions had before the merge for that reader, by their
    /// names now; only those that were renamed.
    pub former_names: HashMap<Vec<u8>, Vec<u8>>,
    /// What it is, in words.
    pub description: String,
}

/// An LLVM profile compared with a new build.
#[derive(Debug)]
#[non_exhaustive]
pub struct InstrFit {
    /// The profile.
    pub input: InstrInput,
    /// The new build.
    pub program: Program,
    /// What becomes of each record and each function.
    pub records: RecordsFit,
}

/// Compares a profile with a new build.
///
/// # Errors
///
/// Nothing to compare when one was instrumented in IR and the other in the front
/// end, when either has no functions, or when they have none in common.
pub fn compare_instr(input: InstrInput, program: Program) -> Result<InstrFit> {
    check_kinds(&input, &program)?;
    let mut records = compare(&input.profile, input.indexed_version, &program);
    if has_nothing_in_common(&input.profile, &records) {
        return Err(nothing_in_common(&input.profile, &program));
    }
    if !is_readable(&input) {
        // The compiler refuses the whole file.
        for row in records.records.iter_mut().filter(|row| row.class == Class::Used) {
            row.class = Class::OtherRelease;
        }
        for class in records.program.iter_mut().filter(|class| **class == super::class::ProgramClass::Used) {
            *class = super::class::ProgramClass::OtherRelease;
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
            "was the program that wrote it ever run to its end?",
        );
    }
    if program.functions().is_empty() {
        return unable(format!("the {} has no functions", program.source().words()), "is it the right file?");
    }
    let words =
        |is_ir: bool| if is_ir { "in IR (-fprofile-generate)" } else { "in the front end (-fprofile-instr-generate)" };
    let is_ir = input.profile.kind.is_ir();
    match program.is_ir() {
        Some(other) if other != is_ir => unable(
            format!("the profile was instrumented {}, the new build {}", words(is_ir), words(other)),
            "their names and hashes have nothing in common: build with the kind of instrumentation that the profile has",
        ),
        _ => Ok(()),
    }
}

fn nothing_in_common(profile: &Profile, program: &Program) -> Error {
    let detail = format!(
        "none of the {} of the profile is among the {} of the new build",
        number_of(profile.functions.len(), "function"),
        program.functions().len()
    );
    Error::new(ErrorKind::UnableToCompare { detail }).with_hint(
        "is it another program? A profile of several images fits the one that has its functions: give that program or \
         library; profiles of Rust programs do not survive a new compiler, whose names differ",
    )
}

/// Whether the release that reads takes files of that version.
fn is_readable(input: &InstrInput) -> bool {
    let newest = input.reader.and_then(|(reader, _)| reader.indexed_version());
    newest.is_none_or(|newest| input.indexed_version <= newest)
}

impl InstrFit {
    /// The comparison as a report; `topn` is the length of its lists.
    pub fn report(&self, topn: usize) -> FitReport {
        let Self { input, program, records } = self;
        let rows = records.records.iter().map(|row| {
            let name = input.profile.functions.name(row.function);
            let now = row.successor.and_then(|at| program.name(program.functions().get(at)?));
            Row {
                name: self.former_name(name).to_vec(),
                class: row.class,
                count: row.count,
                now: now.filter(|now| *now != name && row.class != Class::Used).map(<[u8]>::to_vec),
                detail: None,
            }
        });
        let listed: Vec<_> = records
            .program
            .iter()
            .zip(program.functions())
            .map(|(class, function)| (*class, program.name(function)))
            .collect();
        let head = Head {
            family: "instr",
            counted: "counts",
            profile_is: input.description.clone(),
            program_is: self.program_words(),
        };
        let mut report = summarize(head, rows.collect(), &listed, topn);
        report.targets = targets::compare(&input.profile, &input.symbols, program, topn);
        report.releases = Some(self.releases());
        report.notes = self.notes();
        report
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
        if has(Class::NotCompared) && self.input.profile.kind.is_context_sensitive() {
            notes.push(
                "records of one of the two passes of instrumentation are not compared: the new build lists those of \
                 the other one only"
                    .to_string(),
            );
        }
        if self.input.indexed_version <= 5 && has(Class::NotCompared) {
            notes.push("hashes of LLVM 10 and earlier cannot be compared with those of a newer build".to_string());
        }
        if self.program.source() == super::program::ProgramSource::Profile {
            notes.push("a sparse profile lists only what ran: what it leaves out counts as gone".to_string());
        }
        if self.program.is_ir().is_none() && self.program.source() != super::program::ProgramSource::Profile {
            notes.push(
                "the new build is stripped: whether IR or the front end was instrumented is not known".to_string(),
            );
        }
        if self.records.unguessed > 0 {
            notes.push(format!(
                "{} groups of functions with one hash are too large to guess which of them were renamed",
                self.records.unguessed
            ));
        }
        notes
    }

    /// A remapping file for functions that were renamed or moved.
    pub fn remapping(&self) -> RemappingFile {
        let names = new_names(&self.input.profile, &self.program, &self.records);
        write_remapping(&names.into_iter().map(|(old, new)| (self.former_name(&old).to_vec(), new)).collect())
    }

    /// The profile without records that the new build does not use and without
    /// targets that no longer exist. With `keep_renamed`, functions stay that a
    /// [remapping](Self::remapping) gives their new names.
    pub fn pruned(&self, keep_renamed: bool) -> (Profile, Pruned) {
        let stays = |class: Class| match class {
            Class::Used | Class::OtherRelease | Class::NotCompared => true,
            Class::Renamed | Class::Moved => keep_renamed,
            Class::Changed | Class::Gone => false,
        };
        let kept: HashMap<RecordId, FunctionId> =
            self.records.records.iter().filter(|row| stays(row.class)).map(|row| (row.record, row.function)).collect();
        let profile = &self.input.profile;
        let gone = targets::gone_targets(profile, &self.input.symbols, &self.program);
        let mut pruned = Pruned::default();
        let mut copy = Profile { functions: Default::default(), ..profile.clone() };
        for function in profile.functions.iter() {
            let mut id = None;
            for (record_id, record) in function.record_ids().zip(function.records()) {
                if !kept.contains_key(&record_id) {
                    pruned.records += 1;
                    continue;
                }
                let id = *id.get_or_insert_with(|| copy.functions.intern_hashed(function.name(), function.name_ref()));
                let mut record = record.to_record();
                for kind in ValueKind::ALL.into_iter().filter(|kind| kind.is_name()) {
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
            trace.functions.retain(|function| names.contains(function));
        }
        copy.temporal.traces.retain(|trace| !trace.functions.is_empty());
        (copy, pruned)
    }
}

/// Sites without those targets, and how many were left out.
fn without(sites: &ValueSites, gone: &HashSet<NameRef>) -> (ValueSites, u64) {
    let (mut kept, mut dropped) = (ValueSites::new(), 0);
    for site in sites.iter() {
        let values: Vec<ValueCount> = site.iter().filter(|value| !gone.contains(&value.value)).copied().collect();
        dropped += (site.len() - values.len()) as u64;
        kept.push_site(&values);
    }
    (kept, dropped)
}
