//! The trait that connects a family with the commands.

use crate::call_chains::Selection;
use crate::driver::check::FileCheck;
use crate::driver::diff::{DiffOptions, DiffReport, write_text};
use crate::error::{Result, Warning, WithWarnings};
use crate::families::any_profile::AnyProfile;
use crate::families::content::Drawn;
use crate::families::memory::MemoryOptions;
use crate::families::stack_files::StackOptions;
use crate::input::{Family, Format, Input};
use crate::instr::cross_release::Followed;
use crate::instr::open::ReadOptions;
use crate::iprof::ReadOptions as IprofReadOptions;
use crate::iprof::compare::{self, Fit};
use crate::limits::Limits;
use crate::model::description::Description;
use serde::Serialize;
use std::fmt;

/// The operations on the files of one family.
pub(super) trait Commands: Sync {
    /// Reads a file.
    fn read(&self, input: &Input, options: &ReadOptions) -> Result<WithWarnings<AnyProfile>>;

    /// Finds the faults of a file. The input is not read again.
    fn check(&self, input: Input, options: &IprofReadOptions) -> Result<FileCheck>;

    /// Describes decompressed bytes of one of the family's formats.
    fn describe(&self, data: &[u8], format: Format, limits: &Limits) -> Description;

    /// Describes a file that is not compressed without reading it into memory; `None` for formats that need all bytes.
    fn describe_stream(&self, _input: &Input, _format: Format, _limits: &Limits) -> Result<Option<Description>> {
        Ok(None)
    }

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

/// The result of comparing two files.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct FileDiff {
    /// The differences.
    #[serde(flatten)]
    pub report: DiffReport,
    /// How well the first fits the program of the second; `None` for LLVM profiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
    /// Functions of LLVM profiles that were compared although their names or hashes differ between releases.
    pub followed: Vec<Followed>,
    /// Warnings about the files.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

impl FileDiff {
    pub(crate) fn new(report: DiffReport) -> Self {
        Self { report, fit: None, followed: Vec::new(), warnings: Vec::new() }
    }

    /// Writes everything as text.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn write_text(&self, out: &mut impl fmt::Write) -> fmt::Result {
        write_text(out, &self.report)?;
        self.fit.as_ref().map_or(Ok(()), |found| compare::write_text(out, found))
    }
}
