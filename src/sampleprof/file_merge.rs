//! Merges files that are sample profiles: inputs are read in parallel, and added to one [`Merger`] in their order.

use super::files::open_input;
use super::finish::Merged;
use super::merge_record::RecordFault;
use super::merger::Merger;
use super::options::{MergeOptions, ReadOptions, WriteOptions, is_text_fault};
use super::partial_files::{finish_partial, has_partial, merge_partially};
use super::profile::SampleProfile;
use super::{reader, writer};
use crate::cancel::Cancel;
use crate::compat::Compat;
use crate::driver::{
    self, Facts, FactsRequest, FailureMode, InputOutcome, InputReport, InputTurn, Merge, OnProgress, RunOptions,
};
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::input::Input;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

/// Options of merging files.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FileMergeOptions {
    /// How inputs are read. Its rules and its bits of discriminators also apply to the merge.
    pub read: ReadOptions,
    /// How they are merged.
    pub merge: MergeOptions,
    /// Whether to merge like llvm-profdata.
    pub compat: Compat,
    /// When to fail because of unreadable inputs.
    pub failure_mode: FailureMode,
    /// Whether to keep the records before the error of an unreadable input. LLVM does not.
    pub salvage: bool,
    /// The number of threads; `None` uses one per processor. The result does not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// Ends the merge early.
    pub cancel: Cancel,
}

impl FileMergeOptions {
    /// Returns the options of the merger.
    pub(super) fn merge_options(&self) -> MergeOptions {
        let discriminator_bits = Some(self.read.discriminator_bits);
        MergeOptions { rules: self.read.rules, discriminator_bits, ..self.merge.clone() }
    }

    /// Returns the options of the merge loop.
    pub(super) fn run(&self) -> RunOptions {
        RunOptions { threads: self.threads, whole_inputs: false, cancel: self.cancel.clone() }
    }
}

/// The result of a merge of files.
#[derive(Debug)]
#[non_exhaustive]
pub struct MergeReport {
    /// The merged profile.
    pub profile: SampleProfile,
    /// The number of functions before the filter, and the number that it dropped; `None` without a filter.
    pub filtered: Option<(usize, usize)>,
    /// The inputs.
    pub inputs: InputReports,
    /// Whether several inputs have functions, and no function is in two of them.
    pub shares_nothing: bool,
}

/// The inputs of a merge and their outcomes, in order. The inputs of a partial merge are listed one by one.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct InputReports {
    /// One report per input.
    pub reports: Vec<InputReport>,
    /// The records that were not added unchanged, in the order of the inputs.
    pub faults: Vec<FaultReport>,
}

/// A record that was not added unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FaultReport {
    /// The position of the input.
    pub input: usize,
    /// The name or context of the record.
    pub title: Vec<u8>,
    /// The fault.
    pub fault: RecordFault,
}

/// A merge that failed.
#[derive(Debug)]
#[non_exhaustive]
pub struct FailedMerge {
    /// The error.
    pub error: Error,
    /// The inputs.
    pub inputs: InputReports,
}

impl From<Error> for FailedMerge {
    fn from(error: Error) -> Self {
        Self { error, inputs: InputReports::default() }
    }
}

impl From<FailedMerge> for Error {
    fn from(failed: FailedMerge) -> Self {
        failed.error
    }
}

/// A message about an input.
#[derive(Debug)]
pub enum InputMessage<'a> {
    /// The input was skipped because of this error.
    Skipped(&'a Error),
    /// The input is empty, and was skipped.
    Empty(Error),
    /// A record was not added unchanged.
    Fault(&'a FaultReport),
}

impl InputReports {
    pub(super) fn push_fault(&mut self, input: usize, title: &[u8], fault: RecordFault) {
        self.faults.push(FaultReport { input, title: title.to_vec(), fault });
    }

    /// Calls `each` with the position and report of each input and its messages, in order.
    pub fn each_message(&self, each: &mut dyn FnMut(usize, &InputReport, &InputMessage<'_>)) {
        let mut faults = self.faults.iter().peekable();
        for (at, report) in self.reports.iter().enumerate() {
            match &report.outcome {
                InputOutcome::Failed(error) => each(at, report, &InputMessage::Skipped(error)),
                InputOutcome::Empty => {
                    let error = Error::new(ErrorKind::EmptyProfile).in_file(&report.input.path);
                    each(at, report, &InputMessage::Empty(error));
                }
                _ => {}
            }
            while let Some(fault) = faults.next_if(|fault| fault.input == at) {
                each(at, report, &InputMessage::Fault(fault));
            }
        }
    }

    /// Returns the number of inputs that were used.
    pub fn used(&self) -> usize {
        self.reports.iter().filter(|report| matches!(report.outcome, InputOutcome::Used)).count()
    }

    /// Ends a merge: applies the failure mode, and finishes the profile.
    pub(super) fn finish(self, merger: Merger, options: &FileMergeOptions) -> Result<MergeReport, FailedMerge> {
        let failures = self.reports.iter().filter(|report| matches!(report.outcome, InputOutcome::Failed(_))).count();
        // LLVM fails at the first unreadable input, or not at all.
        if !options.compat.is_llvm()
            && let Err(error) = options.failure_mode.verdict(failures, self.reports.len())
        {
            return Err(FailedMerge { error, inputs: self });
        }
        let records = || self.reports.iter().map(|report| report.records).filter(|records| *records > 0);
        let shares_nothing = records().count() > 1 && records().sum::<u64>() == merger.len() as u64;
        match merger.finish() {
            Ok(Merged { profile, filtered }) => Ok(MergeReport { profile, filtered, inputs: self, shares_nothing }),
            Err(error) => Err(FailedMerge { error, inputs: self }),
        }
    }
}

impl FaultReport {
    /// Returns the fault as a warning about an input.
    pub fn warning(&self, input: &Input) -> Warning {
        Warning::new(self.fault.to_string()).in_file(&input.path).in_function(self.title.as_slice())
    }
}

impl MergeReport {
    /// Returns the numbers of what is written: functions or contexts, and their samples.
    ///
    /// # Errors
    ///
    /// The errors of [`write`](super::write()) with a size limit.
    pub fn facts(&self, write: &WriteOptions, wanted: FactsRequest) -> Result<Facts> {
        let records = writer::written(&self.profile, write)?;
        let total = wanted.total_count.then(|| records.iter().map(|record| u128::from(record.total)).sum());
        let mut facts = Facts::new(records.len(), total);
        facts.lack = records.is_empty().then(|| "the inputs hold no functions".into());
        Ok(facts.of_inputs(self.inputs.used()))
    }
}

/// Merges files that are sample profiles, in order. In profbridge mode they may be partial merges.
///
/// # Errors
///
/// Unreadable inputs, if the failure mode does not allow them; a kind conflict between inputs; cancelled; usage for
/// salvaging next to a partial merge, and for cold contexts that cannot be merged.
pub fn merge_files(
    inputs: &[Input],
    options: &FileMergeOptions,
    progress: OnProgress<'_>,
) -> Result<MergeReport, FailedMerge> {
    if options.compat.is_llvm() {
        return merge_profiles(inputs, options, progress);
    }
    let has_partial = has_partial(inputs, &options.read.limits);
    if matches!(has_partial, Ok(true)) {
        if options.salvage {
            let detail = "records of unreadable inputs cannot be kept in a merge of partial merges of sample profiles";
            return Err(Error::usage(detail)
                .with_hint("salvage the damaged inputs first, each in a merge of its own")
                .into());
        }
        return finish_partial(&merge_partially(inputs, options, progress)?, options);
    }
    let report = merge_profiles(inputs, options, progress)?;
    match has_partial {
        // The input could be read after all, and may have been a partial merge.
        Err(error) if options.failure_mode == FailureMode::Any || report.inputs.used() == inputs.len() => {
            Err(FailedMerge { error, inputs: report.inputs })
        }
        _ => Ok(report),
    }
}

/// Merges inputs that are not partial merges.
fn merge_profiles(
    inputs: &[Input],
    options: &FileMergeOptions,
    progress: OnProgress<'_>,
) -> Result<MergeReport, FailedMerge> {
    let start = |_: &driver::MergeJob<'_>| FileMerge { options, is_over: AtomicBool::new(false) };
    let driver::Merged { output: state, inputs: mut reports } = driver::merge(inputs, &options.run(), start, progress)?;
    let State { merger, faults, fatal } = state;
    match fatal {
        Some((place, error)) => {
            reports[place..].iter_mut().for_each(|report| report.outcome = InputOutcome::NotReached);
            Err(FailedMerge { error, inputs: InputReports { reports, faults: faults.faults } })
        }
        None => InputReports { reports, ..faults }.finish(merger, options),
    }
}

/// The merge of profiles in the merge loop.
struct FileMerge<'a> {
    options: &'a FileMergeOptions,
    /// An error ended the merge, so further inputs need not be read.
    is_over: AtomicBool,
}

/// What inputs are added to in their order.
struct State {
    merger: Merger,
    faults: InputReports,
    /// The error that ended the merge, and the position of its input.
    fatal: Option<(usize, Error)>,
}

impl Merge for FileMerge<'_> {
    type Merger = State;
    type Worker = ();
    type Output = State;

    /// Reading an input takes longer than adding it.
    const INPUTS_PER_THREAD: usize = 1;

    fn merger(&self) -> State {
        State { merger: Merger::new(&self.options.merge_options()), faults: InputReports::default(), fatal: None }
    }

    fn add_input(
        &self,
        (): &mut (),
        input: &Input,
        turn: &mut InputTurn<'_, State>,
        report: &mut InputReport,
    ) -> Result<()> {
        if self.is_over.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (compat, mut profile) = (self.options.compat, SampleProfile::default());
        let read = open_input(input, &self.options.read, compat)
            .and_then(|bytes| reader::read_into(&bytes, &self.options.read, &mut profile));
        let read = read.map_err(|error| error.in_file(&input.path));
        let place = turn.place();
        let state = turn.wait()?;
        if state.fatal.is_some() {
            return Ok(());
        }
        if read.is_ok() && profile.functions.is_empty() && profile.symbols.is_none() && !compat.is_llvm() {
            return Err(ErrorKind::EmptyProfile.into());
        }
        if let Err(error) = &read {
            state.merger.learn_failed(profile.stated);
            if self.is_fatal(error) {
                return self.end(state, place, read);
            }
        }
        if read.is_ok() || self.options.salvage {
            report.records = profile.functions.len() as u64;
            let faults = &mut state.faults;
            let on_fault = &mut |title: &[u8], fault| faults.push_fault(place, title, fault);
            if (read.is_ok() || report.records > 0)
                && let Err(error) = state.merger.add(profile, input.weight.get(), on_fault)
            {
                let error = if compat.is_llvm() { error } else { error.in_file(&input.path) };
                return self.end(state, place, Err(error));
            }
        }
        read
    }

    fn needs_restart(&self, _: &State) -> Result<bool> {
        Ok(false)
    }

    fn finish(self, state: State) -> Result<State> {
        Ok(state)
    }
}

impl FileMerge<'_> {
    /// Returns true if an unreadable input ends the merge at once, as in LLVM. In profbridge mode, all inputs are read to
    /// report every unreadable one.
    fn is_fatal(&self, error: &Error) -> bool {
        self.options.compat.is_llvm() && (self.options.failure_mode == FailureMode::Any || is_text_fault(error))
    }

    /// Ends the merge with the error of an input.
    fn end(&self, state: &mut State, place: usize, failed: Result<()>) -> Result<()> {
        state.fatal = failed.err().map(|error| (place, error));
        self.is_over.store(true, Ordering::Relaxed);
        Ok(())
    }
}
