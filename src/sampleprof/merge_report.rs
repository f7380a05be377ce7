//! Options and results of merging files that are sample profiles.

use super::finish::Merged;
use super::merge_record::RecordFault;
use super::merger::Merger;
use super::options::{MergeOptions, ReadOptions, WriteOptions};
use super::profile::{SampleProfile, total_count};
use super::writer;
use crate::cancel::Cancel;
use crate::compat::Compat;
use crate::driver::{Facts, FactsRequest, FailureMode, InputOutcome, InputReport, RunOptions};
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::input::Input;
use foldhash::HashSet;
use std::num::NonZeroUsize;

/// Options of merging files.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FileMergeOptions {
    /// How inputs are read. Its rules also apply to the merge, and so do its bits of discriminators if it is like that of
    /// llvm-profdata.
    pub read: ReadOptions,
    /// How they are merged.
    pub merge: MergeOptions,
    /// Whether to merge like llvm-profdata.
    pub compat: Compat,
    /// When to fail because of unreadable inputs.
    pub failure_mode: FailureMode,
    /// Whether to keep the records before the error of an unreadable input. LLVM does not.
    pub salvage: bool,
    /// Count a profile twice that occurs in a partial merge and in another input.
    pub allow_duplicates: bool,
    /// The number of threads; `None` uses one per processor. The result does not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// Ends the merge early.
    pub cancel: Cancel,
}

impl FileMergeOptions {
    /// Returns the options of the merger.
    pub(super) fn merge_options(&self) -> MergeOptions {
        let is_llvm = self.compat.is_llvm();
        let mut options = MergeOptions {
            rules: self.read.rules,
            discriminator_bits: is_llvm.then_some(self.read.discriminator_bits),
            inherits_kinds: is_llvm,
            ..self.merge.clone()
        };
        if options.rules.folds_to_one_frame() {
            options.cold.frames = options.cold.frames.min(1);
        }
        options
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
        // LLVM fails at the first unreadable input, or not at all.
        if !options.compat.is_llvm()
            && let Err(error) = options.failure_mode.verdict(&self.reports)
        {
            return Err(FailedMerge { error, inputs: self });
        }
        let records = || self.reports.iter().map(|report| report.records).filter(|records| *records > 0);
        let shares_nothing = records().count() > 1 && records().sum::<u64>() == merger.len() as u64;
        match merger.into_merged() {
            Ok(Merged { profile, filtered }) => {
                let keeps_hashes = options.compat.is_llvm();
                let profile = if keeps_hashes { profile } else { profile.with_known_names(options.read.rules) };
                Ok(MergeReport { profile, filtered, inputs: self, shares_nothing })
            }
            Err(error) => Err(FailedMerge { error, inputs: self }),
        }
    }
}

impl FaultReport {
    /// Returns the fault as a warning about an input.
    pub fn warning(&self, input: &Input) -> Warning {
        Warning::of_loss(self.fault.to_string()).in_file(&input.path).in_function(self.title.as_slice())
    }
}

impl MergeReport {
    /// Returns the report of a profile that is not from a merge of files.
    pub(crate) fn of(profile: SampleProfile) -> Self {
        Self { profile, filtered: None, inputs: InputReports::default(), shares_nothing: false }
    }

    /// Counts the functions or contexts in the output, and their samples.
    ///
    /// # Errors
    ///
    /// The errors of [`write`](super::write()) with a size limit.
    pub fn facts(&self, write: &WriteOptions, wanted: FactsRequest) -> Result<Facts> {
        let records = writer::written(&self.profile, write)?;
        let total = wanted.total_count.then(|| total_count(&records, write.rules));
        let functions = match records.iter().any(|record| record.context.is_some()) {
            true => records.iter().map(|record| record.name).collect::<HashSet<_>>().len(),
            false => records.len(),
        };
        let mut facts = Facts::new(functions, total);
        facts.records = Some(records.len() as u64);
        facts.lack = records.is_empty().then(|| match self.filtered {
            Some((1.., _)) => "no functions are left".into(),
            _ => "the inputs have no functions".into(),
        });
        Ok(facts.of_inputs(self.inputs.used()))
    }
}
