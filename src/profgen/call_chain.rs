//! The call chain of a sample as addresses of the program.

use super::counters::EXTERNAL;
use super::program::Program;
use foldhash::fast::RandomState;
use hashbrown::HashSet;

/// Gathers the frames of one sample after another.
#[derive(Debug, Default)]
pub(super) struct CallChain {
    /// The sampled address, then the calls that lead to it, innermost first.
    pub(super) frames: Vec<u64>,
    /// Samples whose innermost frame is outside of the program.
    pub(super) external_leaves: u64,
    /// Addresses that no call is before.
    pub(super) invalid_returns: HashSet<u64, RandomState>,
}

impl CallChain {
    /// Adds an address of a frame; returns false if the address does not follow a call.
    pub(super) fn push(&mut self, program: &Program<'_>, address: u64) -> bool {
        if !program.code.is_instruction(address) {
            self.external_leaves += u64::from(self.frames.is_empty());
            if self.frames.last() != Some(&EXTERNAL) {
                self.frames.push(EXTERNAL);
            }
            return true;
        }
        if self.frames.is_empty() {
            self.frames.push(address);
            return true;
        }
        match program.call_before(address) {
            Some(call) => self.frames.push(call),
            None => {
                self.invalid_returns.insert(address);
                return false;
            }
        }
        true
    }

    /// Completes a sample. Returns true if the call chain probably lacks frames.
    pub(super) fn is_incomplete(&mut self, program: &Program<'_>) -> bool {
        if self.frames.len() > 1 {
            self.frames.pop_if(|outermost| *outermost == EXTERNAL);
        }
        self.frames.first().is_none_or(|leaf| program.is_in_prolog_or_epilog(*leaf))
    }
}
