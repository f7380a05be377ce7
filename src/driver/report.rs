//! The outcome of each input.

use crate::cancel::Cancel;
use crate::error::{Error, ErrorKind, Result, StoredError, Warning};
use crate::hint::Hint;
use crate::input::Input;
use crate::model::ProfileKind;
use crate::partial::InputState;
use std::num::NonZeroUsize;

/// The outcome of one input.
#[derive(Debug)]
#[non_exhaustive]
pub enum InputOutcome {
    /// Merged.
    Used,
    /// No bytes; skipped, as LLVM does.
    Empty,
    /// Not a profile: skipped, because it was found in a directory and not given by name.
    NotAProfile,
    /// Could not be read to its end; records before the fault may be in the result.
    Failed(Error),
    /// Not merged: an error ended the merge before, or it is a recording without branch records next to others that have
    /// them.
    NotReached,
}

/// Format and version of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputVersion {
    /// A raw profile of this version; for several profiles in one file that of the first.
    Raw(u64),
    /// An indexed profile of this version.
    Indexed(u64),
    /// A text profile, which has no version.
    Text {
        /// See `has_colon_names`.
        has_colon_names: bool,
    },
}

/// One input and its outcome.
#[derive(Debug)]
#[non_exhaustive]
pub struct InputReport {
    /// The input.
    pub input: Input,
    /// Its outcome.
    pub outcome: InputOutcome,
    /// Its format and version, once the header was read.
    pub version: Option<InputVersion>,
    /// Records read from it.
    pub records: u64,
    /// Its kind, if it could be opened.
    pub kind: Option<ProfileKind>,
    /// Warnings about it.
    pub warnings: Vec<Warning>,
    /// The versions of later profiles in the same raw file.
    pub(crate) later_versions: Vec<u64>,
}

impl InputReport {
    /// Returns true if a readable input has nothing to merge: no bytes, or no records and no memory profile.
    pub fn is_empty(&self) -> bool {
        let has_memory = self.kind.is_some_and(|kind| kind.contains(ProfileKind::MEMPROF));
        match self.outcome {
            InputOutcome::Empty => true,
            InputOutcome::Used => self.records == 0 && !has_memory,
            _ => false,
        }
    }

    pub(crate) fn new(input: &Input, outcome: InputOutcome) -> Self {
        Self {
            input: input.clone(),
            outcome,
            version: None,
            records: 0,
            kind: None,
            warnings: Vec::new(),
            later_versions: Vec::new(),
        }
    }
}

/// A merge that failed, and the outcome of each input.
#[derive(Debug)]
#[non_exhaustive]
pub struct FailedMerge {
    /// The error that ended the merge.
    pub error: Error,
    /// The inputs and their outcomes, in order; empty if none was read.
    pub inputs: Vec<InputReport>,
}

impl FailedMerge {
    /// Returns the error of the first input that failed; otherwise the error of the merge.
    pub fn into_first_failure(self) -> Error {
        let failed = self.inputs.into_iter().find_map(|report| match report.outcome {
            InputOutcome::Failed(error) => Some(error),
            _ => None,
        });
        failed.unwrap_or(self.error)
    }
}

impl From<Error> for FailedMerge {
    fn from(error: Error) -> Self {
        Self { error, inputs: Vec::new() }
    }
}

impl From<FailedMerge> for Error {
    fn from(failed: FailedMerge) -> Self {
        failed.error
    }
}

/// Returns [`ErrorKind::InputsFailed`] if at least one input failed.
pub(crate) fn inputs_failed<'r>(inputs: impl IntoIterator<Item = &'r InputReport>) -> Option<Error> {
    let (mut failed, mut all, mut first) = (0, 0, None);
    for report in inputs {
        all += 1;
        if let InputOutcome::Failed(error) = &report.outcome {
            failed += 1;
            first.get_or_insert_with(|| error.clone().in_file(&report.input.path));
        }
    }
    Some(Error::new(ErrorKind::InputsFailed { failed, inputs: all }).caused_by(first?))
}

/// Returns the error of the first input whose kind conflicts with earlier ones.
pub(crate) fn kind_conflict<'r>(inputs: impl IntoIterator<Item = &'r InputReport>) -> Option<Error> {
    inputs.into_iter().find_map(|report| {
        let InputOutcome::Failed(error) = &report.outcome else { return None };
        let ErrorKind::KindConflict { detail } = error.kind() else { return None };
        let conflict = Error::kind_conflict(detail.clone()).in_file(&report.input.path);
        Some(match error.hint() {
            Some(hint) => conflict.with_hint(hint.clone()),
            None => conflict,
        })
    })
}

// Options of a run that all families share.

/// When damaged inputs make the whole merge fail (`--failure-mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum FailureMode {
    /// If at least one input is unreadable.
    #[default]
    Any,
    /// If all inputs are unreadable.
    All,
    /// If a file is missing, or the result would be empty; unreadable inputs only cause warnings.
    Warn,
}

impl FailureMode {
    /// Checks that a merge can use its result despite failed inputs.
    ///
    /// # Errors
    ///
    /// The first kind conflict if one failed input is too many; otherwise [`ErrorKind::InputsFailed`].
    pub(crate) fn judge<'r>(self, inputs: impl IntoIterator<Item = &'r InputReport>) -> Result<()> {
        let inputs: Vec<&InputReport> = inputs.into_iter().collect();
        match kind_conflict(inputs.iter().copied()).filter(|_| self == Self::Any) {
            Some(conflict) => Err(conflict),
            None => self.verdict(inputs.iter().copied()),
        }
    }

    /// Checks that a merge may continue although some of its inputs failed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InputsFailed`] if too many failed.
    pub(crate) fn verdict<'r>(self, inputs: impl IntoIterator<Item = &'r InputReport> + Clone) -> Result<()> {
        let all_failed = inputs.clone().into_iter().all(|report| matches!(report.outcome, InputOutcome::Failed(_)));
        match inputs_failed(inputs) {
            Some(error) if all_failed && self != Self::Warn => Err(error),
            Some(error) if self == Self::Any => Err(error.with_hint(Hint::AllowFailures)),
            _ => Ok(()),
        }
    }
}

/// Options of a merge that all families share.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunOptions {
    /// Threads; `None` uses the number of processors. The result does not depend on it.
    pub(crate) threads: Option<NonZeroUsize>,
    /// Whether a damaged input must contribute nothing.
    pub(crate) whole_inputs: bool,
    /// Cancels the run.
    pub(crate) cancel: Cancel,
}

// The stored form of failed inputs.

/// Returns the state of a failed input, which is reported again when the merge ends.
pub(crate) fn failed(error: &Error) -> InputState {
    InputState::Failed(Box::new(error.into()))
}

/// Returns the error with which an input failed.
pub(crate) fn remembered(state: &InputState) -> Option<Error> {
    let InputState::Failed(error) = state else { return None };
    Some(Error::from(&**error))
}

/// Returns the error of an input whose message was not stored.
pub(crate) fn unknown_failure() -> Error {
    Error::from(&StoredError::new("the input could not be read"))
}

pub(crate) fn no_weight() -> Error {
    Error::usage("a partial merge cannot have a weight").with_hint("pass weights when you write the partial merge")
}
