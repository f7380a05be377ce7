//! Merging files of a family, or of LLVM and iprof together.
//!
//! Inputs are merged in order. Several threads read them, and each input is added in its turn, so the bytes and the
//! messages are those of one thread.

mod documents;
pub mod iprof;
pub mod mixed;

pub use crate::driver::{Facts, FactsRequest, Minimums};
pub use crate::instr::file_merge::MergeOptions;
pub use crate::instr::file_merge::merge_files;
pub use crate::instr::file_merge::merge_for_output;
pub use crate::instr::file_merge::{MergeReport, RecordError};

pub use crate::driver::{FailedMerge, FailureMode, InputOutcome, InputReport, InputVersion};
