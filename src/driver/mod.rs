//! The merge loop: threads, turns, failures, restarts, progress and cancellation. All families share it.
//!
//! Threads take inputs one by one. The work of a merge on an input before its turn runs in parallel, its work with the
//! merger runs in the order of the inputs, and its work after it passed its turn runs in parallel again. So the result
//! and all messages are those of one thread.

#[cfg(feature = "families")]
pub(crate) mod check;
#[cfg(feature = "families")]
pub mod diff;
#[cfg(feature = "families")]
pub mod diff_gates;
pub(crate) mod distribution;
mod facts;
pub mod info;
mod merge;
#[cfg(feature = "families")]
mod outliers;
pub(crate) mod output_form;
mod overwrite;
pub(crate) mod report;
#[cfg(feature = "families")]
mod sections;
pub(crate) mod trace;
mod turn;

pub(crate) use facts::functions_in_words;
pub use facts::{Facts, FactsRequest, Minimums};
#[cfg(feature = "families")]
pub(crate) use outliers::FEWEST_FILES;
#[cfg(feature = "families")]
pub use outliers::find_outliers;
pub use overwrite::{Written, require_earlier_output};
pub use report::{FailedMerge, FailureMode, InputOutcome, InputReport, InputVersion};

#[cfg(test)]
pub(crate) use merge::run_once;
pub(crate) use merge::{Merged, merge};
pub(crate) use report::{RunOptions, inputs_failed};
pub(crate) use turn::InputTurn;

use crate::error::Result;
use crate::input::Input;

/// A merge. All threads share it; the state that changes in the order of the inputs is in its [`Merger`](Self::Merger).
pub(crate) trait Merge: Sync + Sized {
    /// The state to which inputs are added one after the other.
    type Merger: Send;
    /// Buffers that a thread reuses from one input to the next.
    type Worker: Default;
    /// The result of the merge.
    type Output;

    /// The number of inputs per thread that justifies starting it.
    const INPUTS_PER_THREAD: usize = 2;

    /// Creates a merger without inputs.
    fn merger(&self) -> Self::Merger;

    /// Merges one input.
    fn add_input(
        &self,
        worker: &mut Self::Worker,
        input: &Input,
        turn: &mut InputTurn<'_, Self::Merger>,
        report: &mut InputReport,
    ) -> Result<()>;

    /// Returns true if only [`Attempt::Exact`] can merge the inputs correctly. Called after each input, in its turn.
    ///
    /// # Errors
    ///
    /// Errors that make every further input pointless, such as an incomplete merger after memory ran out.
    fn needs_restart(&self, merger: &Self::Merger) -> Result<bool>;

    /// Creates the result.
    fn finish(self, merger: Self::Merger) -> Result<Self::Output>;
}

/// The context of a merge when it starts.
pub(crate) struct MergeJob<'a> {
    pub(crate) inputs: &'a [Input],
    pub(crate) attempt: Attempt,
    /// The number of threads that take inputs.
    pub(crate) workers: usize,
    /// The number of threads that can work on one input, including the one that took it.
    pub(crate) threads_per_input: usize,
}

/// Whether a merge may take shortcuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// It can, and reports if one of them was wrong.
    Fast,
    /// It cannot; one thread takes all inputs.
    Exact,
}

/// A callback with the number of finished inputs and the number of all inputs.
pub type OnProgress<'p> = &'p mut (dyn FnMut(usize, usize) + Send);
