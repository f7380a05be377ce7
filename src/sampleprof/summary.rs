//! Totals of a profile, and how few counts hold most of the samples.

use super::record::{FunctionRecord, attributes};
use super::rules::Rules;
use crate::error::Result;
use crate::memory::{self, HOLD_RECORDS};

/// Millionths of the total for which a summary has rows.
pub const CUTOFFS: [u32; 16] = [
    10_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000, 950_000, 990_000, 999_000,
    999_900, 999_990, 999_999,
];

/// The cutoff that tells hot counts.
pub const HOT_CUTOFF: u32 = 990_000;
/// The cutoff that tells cold counts.
pub const COLD_CUTOFF: u32 = 999_999;

/// How many counts, largest first, hold a share of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SummaryRow {
    /// The share in millionths.
    pub cutoff: u32,
    /// The smallest of these counts.
    pub min_count: u64,
    /// How many they are.
    pub counts: u64,
}

/// Totals of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Summary {
    /// Sum of all counts, modulo 2^64 as LLVM computes it.
    pub total: u64,
    /// The largest count.
    pub max: u64,
    /// The largest number of samples of an entry.
    pub max_head: u64,
    /// Number of counts.
    pub counts: u64,
    /// Number of functions, inlined ones apart.
    pub functions: u64,
    /// Rows by rising cutoff.
    pub rows: Vec<SummaryRow>,
}

impl Summary {
    /// The summary of records, each function of which occurs once.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a FunctionRecord>, rules: Rules) -> Result<Self> {
        let mut counts = Vec::new();
        let mut summary = Self::default();
        for record in records {
            summary.functions += 1;
            summary.max_head = summary.max_head.max(record.head);
            collect(record, rules, &mut counts)?;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        summary.total = counts.iter().fold(0, |sum: u64, count| sum.wrapping_add(*count));
        summary.max = counts.first().copied().unwrap_or_default();
        summary.counts = counts.len() as u64;
        summary.rows = rows(&counts, summary.total, &CUTOFFS);
        Ok(summary)
    }

    /// The smallest count that is hot, or what another cutoff gives; `None`
    /// without such a row.
    pub fn threshold(&self, cutoff: u32) -> Option<u64> {
        self.rows.iter().find(|row| row.cutoff >= cutoff).map(|row| row.min_count)
    }
}

fn collect(record: &FunctionRecord, rules: Rules, counts: &mut Vec<u64>) -> Result<()> {
    memory::reserve(counts, record.body.len(), HOLD_RECORDS)?;
    counts.extend(record.body.iter().map(|entry| entry.samples));
    for site in &record.call_sites {
        let is_duplicate = site.callee.attributes & attributes::DUPLICATED_INTO_BASE != 0;
        if !(is_duplicate && rules.minds_duplicates()) {
            collect(&site.callee, rules, counts)?;
        }
    }
    Ok(())
}

/// Walks the counts from the largest on; equal ones are taken together.
fn rows(counts: &[u64], total: u64, cutoffs: &[u32]) -> Vec<SummaryRow> {
    let (mut seen, mut sum, mut last) = (0, 0u64, 0);
    let mut rows = Vec::with_capacity(cutoffs.len());
    for &cutoff in cutoffs {
        let wanted = (u128::from(total) * u128::from(cutoff) / 1_000_000) as u64;
        while sum < wanted && seen < counts.len() {
            last = counts[seen];
            let equal = counts[seen..].iter().take_while(|count| **count == last).count();
            sum = sum.wrapping_add(last.wrapping_mul(equal as u64));
            seen += equal;
        }
        rows.push(SummaryRow { cutoff, min_count: last, counts: seen as u64 });
    }
    rows
}
