//! The module that knows every format: it opens inputs with the right reader,
//! hands files to workers, drives merging and chooses the writer.

mod ask;
mod check;
pub mod cross_release;
mod describe;
pub mod diff;
pub mod encode;
mod families;
#[cfg(all(test, feature = "correlate"))]
mod fault_tests;
mod file_merge;
#[cfg(feature = "correlate")]
pub mod fit;
pub mod folders;
mod format_text;
pub mod input_totals;
pub mod merge;
pub mod open;
pub mod output_form;
mod overwrite;
pub mod partial;
pub mod pictures;
pub mod plan;
#[cfg(feature = "correlate")]
pub mod probes;
mod profile;
pub mod read;
pub mod report;
pub mod same_program;
pub mod target;
#[cfg(test)]
mod thread_tests;

#[cfg(feature = "tracing-counters")]
pub use crate::driver::trace::{WorkerTrace, predicted, take_traces};
pub use ask::{check_file, describe, diff_files};
pub use check::{CheckFinding, FileCheck};
pub use diff::FileDiff;
pub use encode::{Encoded, OutputFormat, Saved, WriteOptions, encode, write_file};
pub use merge::{
    Facts, FactsRequest, FailureMode, InputOutcome, InputReport, InputVersion, MergeObserver, MergeOptions,
    MergeReport, Minimums, Silent, merge_files, merge_for_output,
};
pub use open::{ReadOptions, open_reader};
pub use output_form::OutputForm;
pub use overwrite::require_earlier_output;
#[cfg(feature = "correlate")]
pub use probes::{ProbeOptions, list_probes};
pub use report::{
    Comparison, ReportWithWarnings, collect_file, iprof_statistics, order_file, overlap_files, show_file,
};
pub use target::{Evidence, Reason, Target, TargetRequest, TargetSource};
