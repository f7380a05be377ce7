//! What a family has to answer.

use crate::error::Result;
use crate::input::{Family, Format, Input};
use crate::instr::description::Description;
use crate::iprof::ReadOptions;
use crate::limits::Limits;
use crate::pipeline::check::FileCheck;
use crate::pipeline::diff::FileDiff;
use crate::pipeline::pictures::drawing::Drawn;
use crate::pipeline::pictures::memprof::MemoryOptions;
use crate::pipeline::read::stacks::StackOptions;
use crate::report::diff::DiffOptions;
use crate::stacks::model::Selection;

/// What there is to do with the files of one family.
pub(in crate::pipeline) struct Driver {
    /// The family.
    pub(in crate::pipeline) family: Family,
    /// Finds what is wrong with a file; the input is read for the last time.
    pub(in crate::pipeline) check: fn(Input, &ReadOptions) -> Result<FileCheck>,
    /// Says what inflated bytes of one of the family's formats are made of.
    pub(in crate::pipeline) describe: fn(&[u8], Format, &Limits) -> Description,
    /// Other families whose files can be compared with one of this family.
    pub(in crate::pipeline) compared_with: &'static [Family],
    /// Compares two files, of which at least one is of this family.
    pub(in crate::pipeline) diff: fn(&Input, &Input, &DiffOptions) -> Result<FileDiff>,
    /// Whether the memory profile is what is drawn of a file.
    pub(in crate::pipeline) draws_memory: fn(&Input, &MemoryOptions, &Limits) -> Result<bool>,
    /// Reads files, one or more, for reports and flame graphs.
    pub(in crate::pipeline) draw: fn(&[Input], &StackOptions, &Selection) -> Result<Drawn>,
}
