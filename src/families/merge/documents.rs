//! The merge of iprof files in the merge loop.
//!
//! An input is streamed into the merger in its turn, so no file is in memory as a whole. Three kinds of inputs are read
//! before their turn: small files, because threads can read them in parallel; inputs that may be left out if they are
//! damaged, because nothing of them may be added; and all inputs if one of them carries LLVM's records (the member
//! `llvm`). These merge as LLVM merges, so each document is split into LLVM's records and the rest. Whether an input
//! carries such records is known only at its end: the merge then starts again.

use crate::bridge::{self, MEMBER, Parts, ToIprofOptions, Trust};
use crate::cancel::Cancel;
use crate::driver::{FailureMode, InputOutcome, InputReport, InputTurn, Merge, MergeJob, RunOptions};
use crate::error::{Error, Level, Result, Warning};
use crate::hint::Hint;
use crate::input::{Format, Input};
use crate::instr::Merger as LlvmMerger;
use crate::instr::file_merge::MergeOptions;
use crate::iprof::{
    self, BranchClash, Code, Document, Finding, Findings, Merger, Reader, SectionKind, SectionTotals, SectionWeights,
    Weight,
};
use crate::memory::{self, HOLD_SUMS};
use crate::model::{Loss, Losses, Profile};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Options for merging iprof files, alone or with LLVM profiles.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct IprofMergeOptions {
    /// How inputs are read. Its threads and its token to cancel also apply to the merge.
    pub read: iprof::ReadOptions,
    /// The factor for all counts of the result, so that counts of several inputs are rounded once. Default: 1.
    pub scale: Weight,
    /// Scale every input to equal totals of each section first.
    pub normalize: bool,
    /// When to fail because of damaged inputs.
    pub failure_mode: FailureMode,
    /// Keep the valid entries of damaged inputs if the merge continues.
    pub salvage: bool,
    /// Accept inputs of which none has content. Default: `false`, they are an error.
    pub accepts_nothing: bool,
    /// Inputs that were found in a directory: JSON files that are not iprof are skipped.
    pub found: BTreeSet<PathBuf>,
    /// How LLVM profiles, and LLVM's records in iprof files, are merged.
    pub llvm: MergeOptions,
    /// Which side is right if a document contradicts its LLVM records.
    pub trust: Option<Trust>,
    /// How contradictory branch lists are resolved, and how LLVM's records are written.
    pub to_iprof: ToIprofOptions,
}

impl IprofMergeOptions {
    /// Returns true if a damaged input may be left out, so that it must not be added before it was read to its end.
    fn continues_after_error(&self) -> bool {
        self.failure_mode != FailureMode::Any
    }

    fn salvages(&self) -> bool {
        self.salvage && self.continues_after_error()
    }

    /// Returns the options for the merge loop. Whole inputs are read before they are added.
    pub(super) fn run(&self) -> RunOptions {
        RunOptions { threads: self.read.threads, whole_inputs: false, cancel: self.read.cancel.clone() }
    }

    /// Returns the options for reading a whole input.
    fn read_whole(&self) -> iprof::ReadOptions {
        let mut read = self.read.clone();
        read.salvage |= self.salvages();
        read
    }

    /// Returns the factors of each input.
    ///
    /// # Errors
    ///
    /// Cancelled.
    pub(super) fn weights(&self, inputs: &[Input]) -> Result<Vec<SectionWeights>> {
        let weight = |input: &Input| Weight::ratio(input.weight.get(), 1).unwrap_or_default();
        let weights = inputs.iter().map(weight);
        if !self.normalize {
            return Ok(weights.map(SectionWeights::uniform).collect());
        }
        let mut read = self.read_whole();
        read.accept_errors |= self.continues_after_error();
        // The merge reports inputs that cannot be read.
        let total =
            |input| open_iprof(input).and_then(|stream| SectionTotals::read_from(stream, &read)).unwrap_or_default();
        let totals: Vec<(Weight, SectionTotals)> =
            inputs.iter().zip(weights).map(|(input, weight)| (weight, total(input))).collect();
        self.read.cancel.check()?;
        Ok(SectionWeights::normalized(&totals))
    }
}

/// Files of at most this many bytes are read before their turn.
const SMALL_BYTES: u64 = 1 << 20;

/// The merge of iprof files in the merge loop.
pub(super) struct DocumentMerge<'a> {
    options: &'a IprofMergeOptions,
    /// The factors of each input, unless LLVM's records are merged, which have whole weights.
    weights: &'a [SectionWeights],
    /// The merger that the loop begins with.
    first: Mutex<Option<Sum>>,
    splits: bool,
    /// Whether LLVM's records in an input restart the merge.
    restarts: bool,
    is_parallel: bool,
    /// Part of a damaged input was added, so further inputs are only checked.
    is_incomplete: AtomicBool,
}

/// The sum of the inputs.
pub(super) enum Sum {
    /// Documents without records of LLVM, or a single one that does not change.
    Documents(Box<Merger>),
    /// Documents that were split.
    Parts(Box<PartsMerger>),
}

/// The merger of the loop.
pub(super) struct State {
    pub(super) sum: Sum,
    /// The findings of each input, with its position.
    pub(super) findings: Vec<(usize, Finding)>,
    /// The first input that carries LLVM's records.
    carrier: Option<PathBuf>,
}

impl<'a> DocumentMerge<'a> {
    /// Creates a merge without LLVM's records. With `restarts`, it restarts if an input carries them.
    pub(super) fn of_documents(
        options: &'a IprofMergeOptions,
        weights: &'a [SectionWeights],
        restarts: bool,
        job: &MergeJob<'_>,
    ) -> Self {
        let mut merge = iprof::MergeOptions::default();
        merge.branch_clash = options.to_iprof.branch_clash;
        merge.cancel = options.read.cancel.clone();
        Self { restarts, ..Self::new(options, weights, Sum::Documents(Box::new(Merger::new(merge))), job) }
    }

    /// Creates a merge that continues with `parts`.
    pub(super) fn of_parts(options: &'a IprofMergeOptions, parts: PartsMerger, job: &MergeJob<'_>) -> Self {
        Self::new(options, &[], Sum::Parts(Box::new(parts)), job)
    }

    fn new(options: &'a IprofMergeOptions, weights: &'a [SectionWeights], sum: Sum, job: &MergeJob<'_>) -> Self {
        let splits = matches!(sum, Sum::Parts(_));
        let (first, is_incomplete) = (Mutex::new(Some(sum)), AtomicBool::new(false));
        Self { options, weights, first, splits, restarts: false, is_parallel: job.workers > 1, is_incomplete }
    }

    /// Returns true if an input is read before its turn.
    fn reads_whole(&self, input: &Input, place: usize) -> bool {
        let is_small = || std::fs::metadata(&input.path).is_ok_and(|found| found.len() <= SMALL_BYTES);
        // The first input has its turn at once.
        let is_ahead = || self.is_parallel && place > 0 && !input.is_pipe() && is_small();
        self.splits || self.options.continues_after_error() || is_ahead()
    }

    /// Reads an input to its end, and adds it in its turn.
    fn add_whole(&self, input: &Input, turn: &mut InputTurn<'_, State>, report: &mut InputReport) -> Result<()> {
        let (place, read) = (turn.place(), self.options.read_whole());
        let found = Reader::new(open_iprof(input)?, &read).examine();
        read.cancel.check()?;
        let refusal = found.refusal().filter(|_| found.document.is_none() || !read.accept_errors);
        let document = found.document.filter(|_| refusal.is_none() || self.options.salvages());
        let is_split = self.splits && document.is_some();
        report.records = document.as_ref().map_or(0, records_of);
        let split = document.as_ref().filter(|_| is_split).map(|document| bridge::split(document, self.options.trust));
        let split = split.transpose()?;
        let state = turn.wait()?;
        state.note(place, &found.findings, report);
        let added = match (&mut state.sum, split, document) {
            (Sum::Parts(sum), Some(parts), _) => sum.add(parts, input),
            (Sum::Documents(merger), _, Some(document)) if !self.is_incomplete.load(Ordering::Relaxed) => {
                let added = merger.add(&document, self.weights[place]);
                state.note_carrier(input);
                added
            }
            _ => Ok(()),
        };
        if let Err(error) = added {
            report.records = 0;
            return Err(error);
        }
        refusal.map_or(Ok(()), Err)
    }

    /// Adds an input while it is read, in its turn.
    fn add_stream(&self, input: &Input, turn: &mut InputTurn<'_, State>, report: &mut InputReport) -> Result<()> {
        let (place, stream, read) = (turn.place(), open_iprof(input)?, &self.options.read);
        let state = turn.wait()?;
        let Sum::Documents(merger) = &mut state.sum else { return self.add_whole(input, turn, report) };
        if self.is_incomplete.load(Ordering::Relaxed) {
            SectionTotals::read_from(stream, read)?;
            report.outcome = InputOutcome::NotReached;
            return Ok(());
        }
        let added = merger.add_from(Reader::new(stream, read), self.weights[place]);
        // Nothing of an empty or foreign input was added.
        let is_incomplete = added.as_ref().is_err_and(|error| !is_skipped(error));
        self.is_incomplete.fetch_or(is_incomplete, Ordering::Relaxed);
        let added = added?;
        report.records = added.records;
        state.note(place, &added.findings, report);
        state.note_carrier(input);
        Ok(())
    }
}

fn is_skipped(error: &Error) -> bool {
    matches!(Code::of(error), Some(Code::EmptyFile | Code::NotAnIprof))
}

/// Returns the number of entries and of unknown members. A document without any does not count.
fn records_of(document: &Document) -> u64 {
    let entries = SectionKind::EACH.iter().map(|kind| document.sections.entries_count(*kind)).sum::<usize>();
    (entries + document.members().count()) as u64
}

impl State {
    /// Records the findings of an input.
    fn note(&mut self, place: usize, findings: &Findings, report: &mut InputReport) {
        let path = &report.input.path;
        let warning = |finding: &Finding| Warning::new(finding.to_string()).in_file(path);
        report.warnings = findings.iter().filter(|found| found.level != Level::Info).map(warning).collect();
        self.findings.extend(findings.iter().map(|finding| (place, finding.clone())));
    }

    /// Records that an input was added.
    fn note_carrier(&mut self, input: &Input) {
        let carries = matches!(&self.sum, Sum::Documents(merger) if merger.has_seen_member(MEMBER));
        if carries && self.carrier.is_none() {
            self.carrier = Some(input.path.clone());
        }
    }
}

impl Merge for DocumentMerge<'_> {
    type Merger = State;
    type Worker = ();
    type Output = State;

    fn merger(&self) -> State {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        State { sum: first.unwrap_or(Sum::Documents(Box::default())), findings: Vec::new(), carrier: None }
    }

    fn add_input(
        &self,
        (): &mut (),
        input: &Input,
        turn: &mut InputTurn<'_, State>,
        report: &mut InputReport,
    ) -> Result<()> {
        let added = match self.reads_whole(input, turn.place()) {
            true => self.add_whole(input, turn, report),
            false => self.add_stream(input, turn, report),
        };
        let Err(error) = added else { return Ok(()) };
        report.outcome = match Code::of(&error) {
            Some(Code::EmptyFile) => InputOutcome::Empty,
            Some(Code::NotAnIprof) if self.options.found.contains(&input.path) => InputOutcome::NotAProfile,
            _ => return Err(error),
        };
        Ok(())
    }

    fn needs_restart(&self, state: &State) -> Result<bool> {
        if matches!(&state.sum, Sum::Parts(parts) if parts.llvm.is_out_of_memory()) {
            return Err(memory::refused(HOLD_SUMS));
        }
        let Some(carrier) = state.carrier.as_ref().filter(|_| self.restarts) else { return Ok(false) };
        if self.options.normalize || self.options.scale != Weight::ONE {
            let error = Error::usage("it contains LLVM records, which require integer weights");
            return Err(error.in_file(carrier).with_hint(Hint::WholeWeights));
        }
        Ok(true)
    }

    fn finish(self, state: State) -> Result<State> {
        Ok(state)
    }
}

/// Opens an input that must be an iprof.
fn open_iprof(input: &Input) -> Result<Box<dyn Read + Send>> {
    match input.format()? {
        format @ (Format::Raw { .. } | Format::Indexed | Format::Jfr | Format::Pprof) => {
            let detail = format!("{format} among iprof files");
            Err(Error::kind_conflict(detail).in_file(&input.path).with_hint(Hint::ConvertToIprofFirst))
        }
        _ => input.stream(),
    }
}

/// Merges documents that were split: LLVM's records as LLVM merges, the rest as iprof merges.
pub(super) struct PartsMerger {
    pub(super) rests: Merger,
    pub(super) llvm: LlvmMerger,
    pub(super) llvm_options: MergeOptions,
    pub(super) losses: Losses,
}

impl PartsMerger {
    pub(super) fn new(llvm: &MergeOptions, cancel: &Cancel) -> Self {
        // LLVM's side keeps contradictory branch lists; the conversion to iprof resolves them.
        let mut options = iprof::MergeOptions::default();
        (options.branch_clash, options.cancel) = (BranchClash::Keep, cancel.clone());
        let mut rests = Merger::new(options);
        // Without documents the rest is an empty one. A cancelled run has no result.
        let _ = rests.add(&Document::new(), 1);
        let merger = LlvmMerger::new(llvm.merger_options());
        Self { rests, llvm: merger, llvm_options: llvm.clone(), losses: Losses::new() }
    }

    /// Adds a document that was split. Nothing is added of one whose kind differs from the inputs before it.
    fn add(&mut self, (parts, lost): (Parts, Vec<Loss>), input: &Input) -> Result<()> {
        let has_entries = || SectionKind::EACH.iter().any(|kind| parts.rest.sections.entries_count(*kind) > 0);
        if parts.profile.functions.records_len() == 0 && has_entries() {
            self.llvm.begin_counts(&input.path)?;
        }
        self.llvm.add_named_profile(&parts.profile, input.weight.get(), Some(&input.path))?;
        lost.iter().for_each(|loss| self.losses.add(loss.kind, loss.count));
        self.rests.add(&parts.rest, input.weight.get())
    }

    pub(super) fn finish(self) -> Result<(Parts, iprof::MergeReport, Losses)> {
        let (rest, merged) = self.rests.finish_with_report()?;
        Ok((Parts { rest, profile: finish_llvm(self.llvm, &self.llvm_options)? }, merged, self.losses))
    }
}

/// Ends a merge of LLVM profiles.
pub(super) fn finish_llvm(merger: LlvmMerger, options: &MergeOptions) -> Result<Profile> {
    Ok(options.memprof.finish(merger, options.release, options.read.compat)?.0)
}
