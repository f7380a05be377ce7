//! Sums of whole sections, by which inputs are scaled.

use crate::error::Result;
use crate::iprof::reader::{Entry, ReadOptions, Sink, read_stream};
use crate::iprof::sections::SectionKind;
use crate::iprof::tables::Tables;
use std::io::Read;

/// The sum of all counts, by section.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SectionTotals([u128; SectionKind::ALL.len()]);

impl SectionTotals {
    /// The sum of a section's counts.
    pub fn of(&self, kind: SectionKind) -> u128 {
        self.0[kind.index()]
    }

    /// The totals of a file that is read but not kept.
    ///
    /// # Errors
    ///
    /// As [`read_from`](crate::iprof::read_from).
    pub fn read_from(stream: impl Read, options: &ReadOptions) -> Result<Self> {
        let mut totals = Self::default();
        read_stream(stream, options, &mut totals).accepted(options)?;
        Ok(totals)
    }
}

impl Sink for SectionTotals {
    fn entry(&mut self, _: &Tables, entry: Entry<'_>) {
        self.0[entry.kind.index()] += entry.records.events();
    }
}
