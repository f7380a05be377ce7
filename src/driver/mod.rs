//! The merge loop: threads, turns, failures, restarts, progress and cancellation. It is written once and knows no family.
//!
//! Threads take inputs one by one. What a merge does with an input before its turn runs in parallel, what it does with
//! the merger runs in the order of the inputs, and what it does after it passed its turn runs in parallel again. So the
//! result and every message are those of one thread.

pub mod check;
pub mod diff;
pub mod diff_gates;
mod facts;
pub mod info;
mod merge;
pub mod output_form;
mod overwrite;
pub(crate) mod report;
mod sections;
pub(crate) mod trace;
mod turn;

pub use facts::{Facts, FactsRequest, Minimums};
pub use overwrite::require_earlier_output;
pub use report::FailureMode;
pub use report::{InputOutcome, InputReport, InputVersion};

#[cfg(test)]
pub(crate) use merge::run_once;
pub(crate) use merge::{Merged, merge};
pub(crate) use report::RunOptions;
pub(crate) use turn::InputTurn;

use crate::error::Result;
use crate::input::Input;

/// One merge. All threads share it; what changes in the order of the inputs is its [`Merger`](Self::Merger).
pub(crate) trait Merge: Sync + Sized {
    /// What inputs are added to, one after the other.
    type Merger: Send;
    /// Buffers that a thread reuses from one input to the next.
    type Worker: Default;
    /// What the merge results in.
    type Output;

    /// The number of inputs from which one more thread is worth its start.
    const INPUTS_PER_THREAD: usize = 2;

    /// Makes a merger without inputs.
    fn merger(&self) -> Self::Merger;

    /// Merges one input.
    fn add_input(
        &self,
        worker: &mut Self::Worker,
        input: &Input,
        turn: &mut InputTurn<'_, Self::Merger>,
        report: &mut InputReport,
    ) -> Result<()>;

    /// Returns true if something was found that only [`Attempt::Exact`] gets right. Asked after each input, in its turn.
    ///
    /// # Errors
    ///
    /// What makes every further input pointless, such as an incomplete merger after memory ran out.
    fn needs_restart(&self, merger: &Self::Merger) -> Result<bool>;

    /// Makes the result.
    fn finish(self, merger: Self::Merger) -> Result<Self::Output>;
}

/// What a merge knows when it starts.
pub(crate) struct MergeJob<'a> {
    pub(crate) inputs: &'a [Input],
    pub(crate) attempt: Attempt,
    /// Threads that take inputs.
    pub(crate) workers: usize,
    /// Threads that may work on one input, the one that took it included.
    pub(crate) threads_per_input: usize,
}

/// Whether a merge may take shortcuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// It may, and says if one of them was wrong.
    Fast,
    /// It may not; one thread takes all inputs.
    Exact,
}

/// Called with the number of inputs that are done and the number of all inputs.
pub type OnProgress<'p> = &'p mut (dyn FnMut(usize, usize) + Send);
