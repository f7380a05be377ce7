//! The outcome of each input.

use crate::error::{Error, Warning};
use crate::input::Input;
use crate::model::ProfileKind;

/// The outcome of one input.
#[derive(Debug)]
#[non_exhaustive]
pub enum InputOutcome {
    /// Merged.
    Used,
    /// No bytes; skipped, as LLVM does.
    Empty,
    /// Not a profile: skipped, because it was found in a directory and not named.
    NotAProfile,
    /// Could not be read to its end; records before the fault may be in the result.
    Failed(Error),
    /// Not merged, because an error ended the merge before.
    NotReached,
}

/// Format and version of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputVersion {
    /// Raw, of that version; of a file of several profiles that of the first.
    Raw(u64),
    /// Indexed, of that version.
    Indexed(u64),
    /// Text, which has no version.
    Text {
        /// See [`has_colon_names`](crate::text::has_colon_names).
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
}

impl InputReport {
    /// Returns true if a readable input has nothing to merge: no bytes, or no record and no memory profile.
    pub fn is_empty(&self) -> bool {
        let has_memory = self.kind.is_some_and(|kind| kind.contains(ProfileKind::MEMPROF));
        match self.outcome {
            InputOutcome::Empty => true,
            InputOutcome::Used => self.records == 0 && !has_memory,
            _ => false,
        }
    }

    pub(crate) fn new(input: &Input, outcome: InputOutcome) -> Self {
        Self { input: input.clone(), outcome, version: None, records: 0, kind: None, warnings: Vec::new() }
    }
}
