//! Many files into one profile.
//!
//! Inputs are merged in order. Several threads read them at a time, and each
//! input is taken over, or given back when it is bad, in its turn; so the bytes
//! and the messages are those of one thread always.

mod facts;
mod files;
mod for_output;
pub mod iprof;
mod iprof_inputs;
pub mod memprof;
pub mod mixed;
mod observer;
mod options;
mod report;
pub mod sampleprof;
mod single_file;
pub mod stacks;

pub use facts::{Facts, FactsRequest, Minimums};
pub use files::merge_files;
pub use for_output::merge_for_output;
pub use observer::{MergeObserver, Silent};
pub use options::MergeOptions;
pub use report::MergeReport;

pub use crate::driver::{FailureMode, InputOutcome, InputReport, InputVersion};
