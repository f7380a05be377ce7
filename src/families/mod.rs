//! The module that knows every format: it opens inputs with the right reader,
//! hands files to workers, drives merging and chooses the writer.

pub(crate) mod check;
pub(crate) mod describe;
pub mod diff;
pub mod directories;
mod dispatch;
pub mod drawings;
#[cfg(feature = "correlate")]
pub mod fit;
pub mod input_totals;
pub mod merge;
pub mod partial;
pub mod plan;
#[cfg(feature = "correlate")]
pub mod probes;
pub mod read;
pub mod report;
pub mod same_program;
mod table;

pub use crate::driver::check::{CheckFinding, FileCheck};
pub use crate::driver::output_form::OutputForm;
pub use crate::driver::require_earlier_output;
#[cfg(feature = "tracing-counters")]
pub use crate::driver::trace::{WorkerTrace, predicted, take_traces};
pub use crate::instr::encode::{Encoded, OutputFormat, Saved, WriteOptions, encode, write_file};
pub use crate::instr::open::{ReadOptions, open_reader};
pub use crate::instr::target::{Evidence, Reason, Target, TargetRequest, TargetSource};
#[cfg(feature = "correlate")]
pub use describe::program::{ProgramReport, report_program};
pub use diff::FileDiff;
pub use dispatch::{check_file, describe, diff_files};
pub use merge::{
    Facts, FactsRequest, FailureMode, InputOutcome, InputReport, InputVersion, MergeOptions, MergeReport, Minimums,
    RecordError, Silent, merge_files, merge_for_output,
};
#[cfg(feature = "correlate")]
pub use probes::{ProbeOptions, list_probes};
pub use report::{
    Comparison, ReportWithWarnings, collect_file, iprof_statistics, order_file, overlap_files, show_file,
};
