//! Options of a run that all families share.

use crate::cancel::Cancel;
use crate::error::{Error, ErrorKind, Result};
use crate::hint::Hint;
use std::num::NonZeroUsize;

/// When bad inputs make the whole merge fail (`--failure-mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FailureMode {
    /// One bad input is enough.
    #[default]
    Any,
    /// Only when every input is bad.
    All,
    /// Never; bad inputs are warned about.
    Warn,
}

impl FailureMode {
    /// Returns whether a merge may continue after `failures` of its `inputs` failed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InputsFailed`] if too many failed.
    pub(crate) fn verdict(self, failures: usize, inputs: usize) -> Result<()> {
        let failed = match self {
            Self::Any => failures > 0,
            Self::All => failures > 0 && failures == inputs,
            Self::Warn => false,
        };
        if !failed {
            return Ok(());
        }
        let error = Error::new(ErrorKind::InputsFailed { failed: failures as u64, inputs: inputs as u64 });
        Err(if failures < inputs { error.with_hint(Hint::AllowFailures) } else { error })
    }
}

/// How a merge runs, whatever the family.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunOptions {
    /// Threads; `None` asks the machine. The result does not depend on it.
    pub(crate) threads: Option<NonZeroUsize>,
    /// Whether a damaged input must leave nothing behind.
    pub(crate) whole_inputs: bool,
    /// Ends the run early.
    pub(crate) cancel: Cancel,
}
