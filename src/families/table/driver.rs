//! The operations of a family.

use crate::call_chains::Selection;
use crate::driver::check::FileCheck;
use crate::driver::diff::DiffOptions;
use crate::error::Result;
use crate::families::diff::FileDiff;
use crate::families::drawings::content::Drawn;
use crate::families::drawings::memprof::MemoryOptions;
use crate::families::read::stacks::StackOptions;
use crate::input::{Family, Format, Input};
use crate::iprof::ReadOptions;
use crate::limits::Limits;
use crate::model::description::Description;

/// The operations on the files of one family.
pub(crate) struct Driver {
    /// The family.
    pub(crate) family: Family,
    /// Finds what is wrong with a file; the input is read for the last time.
    pub(crate) check: fn(Input, &ReadOptions) -> Result<FileCheck>,
    /// Describes inflated bytes of a format of the family.
    pub(crate) describe: fn(&[u8], Format, &Limits) -> Description,
    /// Other families whose files can be compared with one of this family.
    pub(crate) compared_with: &'static [Family],
    /// Compares two files, of which at least one is of this family.
    pub(crate) diff: fn(&Input, &Input, &DiffOptions) -> Result<FileDiff>,
    /// Whether the memory profile is what is drawn of a file.
    pub(crate) draws_memory: fn(&Input, &MemoryOptions, &Limits) -> Result<bool>,
    /// Reads files, one or more, for reports and flame graphs.
    pub(crate) draw: fn(&[Input], &StackOptions, &Selection) -> Result<Drawn>,
}
