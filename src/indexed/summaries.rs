//! The stored summaries: the plain one, and that of context-sensitive records.

use super::dialect::Dialect;
use super::layout::since;
use super::payload::written_records;
use crate::bytes::{Endian, Sink};
use crate::error::Result;
use crate::model::{FunctionView, ProfileSummary, RecordView, Release, SummaryBuilder};

/// Adds both summaries up.
pub(super) struct Summaries {
    plain: SummaryBuilder,
    sensitive: SummaryBuilder,
    /// Whether the release tells the two apart.
    separates: bool,
}

impl Summaries {
    pub(super) fn new(dialect: Dialect) -> Self {
        let builder = || SummaryBuilder::new(dialect.summary_rules());
        Self { plain: builder(), sensitive: builder(), separates: dialect.release >= Release(9) }
    }

    /// Adds the records of a function that are written.
    pub(super) fn add_function(&mut self, dialect: Dialect, function: FunctionView<'_>) -> Result<()> {
        if dialect.has(since::RECORD_COUNTS) {
            function.records().for_each(|record| self.add(record));
        } else {
            written_records(dialect, function)?.into_iter().for_each(|record| self.add(record));
        }
        Ok(())
    }

    /// Bit 60 of the hash decides, whatever the kind of the profile: a record
    /// that has it is missing from the summary of a plain profile, as in LLVM.
    fn add(&mut self, record: RecordView<'_>) {
        let sensitive = self.separates && record.is_context_sensitive();
        let builder = if sensitive { &mut self.sensitive } else { &mut self.plain };
        builder.add_record(record);
    }

    /// Does now what [`finish`](Self::finish) would have to do.
    pub(super) fn sort(&mut self) {
        self.plain.sort();
        self.sensitive.sort();
    }

    /// Adds the records of another part of the functions.
    pub(super) fn absorb(&mut self, other: Self) {
        self.plain.absorb(other.plain);
        self.sensitive.absorb(other.sensitive);
    }

    pub(super) fn finish(self, cutoffs: &[u32]) -> Result<(ProfileSummary, ProfileSummary)> {
        Ok((self.plain.try_finish(cutoffs)?, self.sensitive.try_finish(cutoffs)?))
    }
}

/// Two sizes, six totals, three words for each cutoff.
pub(super) fn summary_size(cutoffs: &[u32]) -> usize {
    8 * (2 + 6 + 3 * cutoffs.len())
}

pub(super) fn summary_bytes(summary: &ProfileSummary) -> Vec<u8> {
    let mut sink = Sink::new(Endian::Little);
    sink.u64s(&[6, summary.rows.len() as u64]);
    sink.u64s(&[u64::from(summary.num_functions), u64::from(summary.num_counts)]);
    sink.u64s(&[summary.max_function_count, summary.max_count, summary.max_internal_count, summary.total_count]);
    for row in &summary.rows {
        sink.u64s(&[u64::from(row.cutoff), row.min_count, row.num_counts]);
    }
    sink.into_bytes()
}
