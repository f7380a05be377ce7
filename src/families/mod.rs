//! The commands on files of any family.
//!
//! The file of each family (`instr.rs`, `sampleprof.rs`, `memprof.rs`, `iprof.rs`, `stacks.rs`) implements the trait in
//! `commands.rs` by calling the family's folder; `table.rs` lists the five.

mod any_profile;
mod commands;
mod content;
mod describe;
#[doc(hidden)]
pub mod draw;
mod files;
#[cfg(feature = "correlate")]
#[doc(hidden)]
pub mod fit;
#[doc(hidden)]
pub mod inputs;
mod instr;
mod iprof;
pub mod memory;
pub mod memprof;
pub mod merge;
mod merged;
mod merging;
pub mod partial;
#[doc(hidden)]
pub mod plan;
#[cfg(feature = "correlate")]
mod probes;
#[cfg(feature = "correlate")]
mod program;
#[cfg(feature = "correlate")]
mod recordings;
mod report;
mod same_names;
mod sampleprof;
mod settings;
#[doc(hidden)]
pub mod stack_files;
#[doc(hidden)]
pub mod stack_output;
pub mod stacks;
mod table;
#[doc(hidden)]
pub mod watch;
mod whole;

pub use crate::driver::check::{CheckFinding, FileCheck};
pub use crate::driver::diff::{Change, Changes, DiffOptions, DiffReport, FunctionList, Move, SectionDiff};
pub use crate::driver::output_form::OutputForm;
#[cfg(feature = "tracing-counters")]
pub use crate::driver::trace::{WorkerTrace, predicted, take_traces};
pub use crate::driver::{Facts, FactsRequest, FailedMerge, FailureMode, InputOutcome, InputReport, InputVersion};
#[doc(hidden)]
pub use crate::driver::{Minimums, Written, find_outliers, require_earlier_output};
pub use crate::instr::encode::{Encoded, OutputFormat, Saved, WriteOptions, encode, write_file};
#[doc(hidden)]
pub use crate::instr::file_merge::leave_in_file;
pub use crate::instr::file_merge::{MergeOptions, MergeReport, RecordError, merge_files};
pub use crate::instr::open::{ReadOptions, open_reader};
pub use crate::instr::target::{Evidence, Reason, Target, TargetRequest, TargetSource};
pub use any_profile::AnyProfile;
pub use commands::FileDiff;
pub use files::{check_file, describe, describe_input, diff_files};
pub use merged::{MergeFailure, Merged, MergedInputs, MergedProfile};
#[doc(hidden)]
pub use merging::target_of_used;
pub use merging::{finish_converted, gcc_version, merge};
#[cfg(feature = "correlate")]
pub use probes::{ProbeOptions, list_probes};
#[cfg(feature = "correlate")]
pub use program::{ProgramReport, report_program};
#[cfg(feature = "correlate")]
pub use recordings::{MergedRecordings, merge_recordings};
pub use report::{Comparison, collect_file, iprof_statistics, order_file, overlap_files, show_file};
pub use settings::{MergeSettings, WriteSettings};
pub use stack_files::{StackOptions, read_stacks};
pub use stack_output::{EncodedStacks, NoStacks, StackWriteOptions};
