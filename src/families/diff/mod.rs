//! Comparing two files: what it gives, whatever they are, and how each family does it.

pub(super) mod iprof;
pub mod stacks;

use crate::driver::diff::{DiffReport, write_text};
use crate::instr::cross_release::Followed;
use crate::iprof::compare;
use crate::iprof::compare::Fit;
use serde::Serialize;
use std::fmt;

/// The result of a comparison of two files.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct FileDiff {
    /// How they differ.
    #[serde(flatten)]
    pub report: DiffReport,
    /// How far the first fits the program of the second; `None` for LLVM profiles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fit>,
    /// Functions of LLVM profiles that were compared although their names or hashes differ between releases.
    pub followed: Vec<Followed>,
}

impl FileDiff {
    pub(crate) fn new(report: DiffReport) -> Self {
        Self { report, fit: None, followed: Vec::new() }
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
