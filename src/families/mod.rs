//! The commands on files of any family.
//!
//! [`Commands`] is what a family implements for `check`, `info`, `diff`, `report` and `flamegraph`; [`commands`] is the
//! only table of families. The file of a family connects it with the commands by calling its folder.

mod describe;
pub mod draw;
mod files;
#[cfg(feature = "correlate")]
pub mod fit;
pub mod inputs;
mod instr;
mod iprof;
pub mod memprof;
pub mod merge;
pub mod partial;
pub mod plan;
#[cfg(feature = "correlate")]
pub mod probes;
pub mod report;
mod sampleprof;
pub mod stack_files;
pub mod stacks;

pub use crate::driver::check::{CheckFinding, FileCheck};
pub use crate::driver::output_form::OutputForm;
pub use crate::driver::require_earlier_output;
#[cfg(feature = "tracing-counters")]
pub use crate::driver::trace::{WorkerTrace, predicted, take_traces};
pub use crate::instr::encode::{Encoded, OutputFormat, Saved, WriteOptions, encode, write_file};
pub use crate::instr::open::{ReadOptions, open_reader};
pub use crate::instr::target::{Evidence, Reason, Target, TargetRequest, TargetSource};
pub use files::{FileDiff, check_file, describe, diff_files};
pub use merge::{
    Facts, FactsRequest, FailureMode, InputOutcome, InputReport, InputVersion, MergeOptions, MergeReport, Minimums,
    RecordError, Silent, merge_files, merge_for_output,
};
#[cfg(feature = "correlate")]
pub use probes::{ProbeOptions, list_probes};
pub use report::{
    Comparison, ReportWithWarnings, collect_file, iprof_statistics, order_file, overlap_files, show_file,
};

use crate::call_chains::Selection;
use crate::driver::diff::DiffOptions;
use crate::error::Result;
use crate::input::{Family, Format, Input};
use crate::iprof::ReadOptions as IprofReadOptions;
use crate::limits::Limits;
use crate::model::description::Description;
use draw::Drawn;
use memprof::MemoryOptions;
use stack_files::StackOptions;

/// What commands do with the files of one family.
trait Commands: Sync {
    /// Finds the faults of a file. The input is not read again.
    fn check(&self, input: Input, options: &IprofReadOptions) -> Result<FileCheck>;

    /// Describes decompressed bytes of one of the family's formats.
    fn describe(&self, data: &[u8], format: Format, limits: &Limits) -> Description;

    /// Returns the other families whose files this family compares with its own.
    fn compares_with(&self) -> &'static [Family] {
        &[]
    }

    /// Compares two files; at least one of them is of this family.
    fn diff(&self, first: &Input, second: &Input, options: &DiffOptions) -> Result<FileDiff>;

    /// Returns true if reports and flame graphs of a file show its memory profile.
    fn draws_memory(&self, _input: &Input, options: &MemoryOptions, _limits: &Limits) -> Result<bool> {
        Ok(options.asked_for)
    }

    /// Reads files for reports and flame graphs.
    fn draw(&self, inputs: &[Input], options: &StackOptions, selection: &Selection) -> Result<Drawn>;
}

/// Returns the commands of a family.
fn commands(family: Family) -> &'static dyn Commands {
    match family {
        Family::Instr => &instr::Instr,
        Family::SampleProf => &sampleprof::SampleProf,
        Family::MemProf => &memprof::MemProf,
        Family::Iprof => &iprof::Iprof,
        Family::Stacks => &stacks::Stacks,
    }
}
