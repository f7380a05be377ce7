//! Who is told of a merge while it goes on.

use crate::input::WeightedInput;
use crate::instr::SoftError;

/// Hears of what happens while it happens.
pub trait MergeObserver: Send {
    /// A record was not, or not wholly, merged; `first` says whether this kind
    /// of soft error is new in the run.
    fn soft_error(&mut self, input: &WeightedInput, function: &[u8], error: SoftError, first: bool);

    /// So many inputs are done.
    fn progress(&mut self, done: usize, total: usize);

    /// Whether the merge shall end without a result. Asked after each input.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// An observer that says nothing, of a merge of any family.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl MergeObserver for Silent {
    fn soft_error(&mut self, _: &WeightedInput, _: &[u8], _: SoftError, _: bool) {}
    fn progress(&mut self, _: usize, _: usize) {}
}
