//! Many files into one profile.
//!
//! Inputs are merged in order. Several threads read them at a time, and each
//! input is taken over, or given back when it is bad, in its turn; so the bytes
//! and the messages are those of one thread always.

pub mod iprof;
mod iprof_inputs;
pub mod mixed;

pub use crate::driver::{Facts, FactsRequest, Minimums};
pub use crate::instr::file_merge::MergeOptions;
pub use crate::instr::file_merge::merge_files;
pub use crate::instr::file_merge::merge_for_output;
pub use crate::instr::file_merge::{MergeReport, RecordError};

pub use crate::driver::{FailureMode, InputOutcome, InputReport, InputVersion};

/// An observer that does nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;
