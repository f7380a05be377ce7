//! The merge of LLVM instrumentation profiles: which inputs are read early, and how raw profiles of one program add
//! their counters outside their turn.

#[cfg(all(test, feature = "correlate"))]
mod fault_tests;
pub(crate) mod files;
mod input_merge;
pub(crate) mod options;
pub(crate) mod report;
mod single_file;
mod staged;
mod state;
#[cfg(all(test, feature = "families"))]
mod tests;
#[cfg(all(test, feature = "families"))]
mod thread_tests;

pub use files::{leave_in_file, merge_files};
pub use options::MergeOptions;
pub use report::{MergeReport, RecordError};

pub(in crate::instr) use input_merge::MANY_RECORDS;
pub(in crate::instr) use staged::read_ahead;
pub(crate) use state::{FileMerge, MergedFiles};
