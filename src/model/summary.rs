//! The profile summary: totals, and how few counters hold most of the counts.
//!
//! As LLVM's `ProfileSummaryBuilder` computes it; stored in indexed files from
//! version 4.

use super::record::FunctionRecord;

/// Cutoffs of the stored summary, in parts per million.
pub const CUTOFFS: [u32; 16] = [
    10_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000, 950_000, 990_000, 999_000,
    999_900, 999_990, 999_999,
];

/// One row of the detailed summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummaryRow {
    /// Share of the total count, parts per million.
    pub cutoff: u32,
    /// The smallest count among the counters that reach the cutoff.
    pub min_count: u64,
    /// How many counters reach it.
    pub num_counts: u64,
}

/// Totals and detailed rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProfileSummary {
    /// Records counted; wraps at 2^32, as in LLVM.
    pub num_functions: u32,
    /// Counters; wraps at 2^32, as in LLVM.
    pub num_counts: u32,
    /// Largest first counter.
    pub max_function_count: u64,
    /// Largest counter.
    pub max_count: u64,
    /// Largest counter that is not a record's first.
    pub max_internal_count: u64,
    /// Sum of all counters; wraps at 2^64, as in LLVM.
    pub total_count: u64,
    /// Rows in order of the cutoffs asked for.
    pub rows: Vec<SummaryRow>,
}

/// How counts enter the summary; it changed with LLVM 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SummaryRules {
    /// LLVM 13 to 15: a counter of `u64::MAX` is passed over.
    BeforePseudoCounts,
    /// LLVM 16 on: a record with a pseudo count is passed over.
    #[default]
    PseudoCounts,
}

/// Adds up records.
#[derive(Debug, Clone, Default)]
pub struct SummaryBuilder {
    rules: SummaryRules,
    summary: ProfileSummary,
    /// How often each small count occurred.
    small: Vec<u32>,
    /// All other counts, one by one, sorted at the end.
    large: Vec<u64>,
}

/// Counts below this are tallied in a table instead of being sorted.
const SMALL: u64 = 4096;

impl SummaryBuilder {
    /// An empty builder.
    pub fn new(rules: SummaryRules) -> Self {
        Self { rules, small: vec![0; SMALL as usize], ..Self::default() }
    }

    /// Adds a record's counters.
    #[inline]
    pub fn add_record(&mut self, record: &FunctionRecord) {
        self.add_counters(&record.counters);
    }

    /// Adds the counters of one record.
    pub fn add_counters(&mut self, counters: &[u64]) {
        let Some((&first, internal)) = counters.split_first() else {
            // LLVM would read a counter that is not there; count the record only.
            self.summary.num_functions = self.summary.num_functions.wrapping_add(1);
            return;
        };
        if self.rules == SummaryRules::PseudoCounts && first >= u64::MAX - 1 {
            return;
        }
        self.summary.num_functions = self.summary.num_functions.wrapping_add(1);
        if self.account(first) {
            self.summary.max_function_count = self.summary.max_function_count.max(first);
        }
        for &count in internal {
            if self.account(count) {
                self.summary.max_internal_count = self.summary.max_internal_count.max(count);
            }
        }
    }

    #[inline]
    fn account(&mut self, count: u64) -> bool {
        if self.rules == SummaryRules::BeforePseudoCounts && count == u64::MAX {
            return false;
        }
        self.summary.total_count = self.summary.total_count.wrapping_add(count);
        self.summary.num_counts = self.summary.num_counts.wrapping_add(1);
        match self.small.get_mut(count as usize) {
            Some(seen) if count < SMALL => *seen = seen.wrapping_add(1),
            _ => self.large.push(count),
        }
        true
    }

    /// The summary with a row for each of `cutoffs`, which must ascend.
    pub fn finish(mut self, cutoffs: &[u32]) -> ProfileSummary {
        if !cutoffs.is_empty() {
            self.large.sort_unstable();
        }
        if let Some(&largest) = self.large.iter().max() {
            self.summary.max_count = largest;
        } else if let Some(largest) = self.small.iter().rposition(|seen| *seen != 0) {
            self.summary.max_count = largest as u64;
        }
        let total = u128::from(self.summary.total_count);
        let mut groups = Groups { large: &self.large, small: &self.small };
        let (mut sum, mut seen, mut count) = (0u64, 0u32, 0u64);
        for &cutoff in cutoffs {
            let desired = (total * u128::from(cutoff) / 1_000_000) as u64;
            while sum < desired {
                let Some((value, frequency)) = groups.next() else { break };
                count = value;
                sum = sum.wrapping_add(value.wrapping_mul(u64::from(frequency)));
                seen = seen.wrapping_add(frequency);
            }
            self.summary.rows.push(SummaryRow { cutoff, min_count: count, num_counts: u64::from(seen) });
        }
        self.summary
    }
}

/// Distinct counts from the largest down, with how often each occurred.
struct Groups<'a> {
    large: &'a [u64],
    small: &'a [u32],
}

impl Iterator for Groups<'_> {
    type Item = (u64, u32);

    fn next(&mut self) -> Option<(u64, u32)> {
        if let Some(&value) = self.large.last() {
            let start = self.large.iter().rposition(|other| *other != value).map_or(0, |at| at + 1);
            let frequency = (self.large.len() - start) as u32;
            self.large = &self.large[..start];
            return Some((value, frequency));
        }
        let at = self.small.iter().rposition(|seen| *seen != 0)?;
        let frequency = self.small[at];
        self.small = &self.small[..at];
        Some((at as u64, frequency))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_follow_the_documented_walk() {
        let mut builder = SummaryBuilder::new(SummaryRules::PseudoCounts);
        builder.add_counters(&[10, 20, 0]);
        builder.add_counters(&[0, 900]);
        builder.add_counters(&[0]);
        builder.add_counters(&[u64::MAX, 5]);
        let summary = builder.finish(&CUTOFFS);
        assert_eq!((summary.num_functions, summary.num_counts, summary.total_count), (3, 6, 930));
        assert_eq!((summary.max_function_count, summary.max_internal_count, summary.max_count), (10, 900, 900));
        let row = |cutoff| summary.rows.iter().find(|r| r.cutoff == cutoff).map(|r| (r.min_count, r.num_counts));
        assert_eq!(row(10_000), Some((900, 1)));
        assert_eq!(row(990_000), Some((20, 2)));
        assert_eq!(row(999_000), Some((10, 3)));
    }

    #[test]
    fn an_empty_profile_has_rows_of_zeros() {
        let summary = SummaryBuilder::new(SummaryRules::PseudoCounts).finish(&CUTOFFS);
        assert_eq!(summary.rows.len(), 16);
        assert!(summary.rows.iter().all(|r| r.min_count == 0 && r.num_counts == 0));
    }

    #[test]
    fn older_releases_pass_over_the_largest_value_only() {
        let mut builder = SummaryBuilder::new(SummaryRules::BeforePseudoCounts);
        builder.add_counters(&[u64::MAX, u64::MAX - 1]);
        let summary = builder.finish(&[]);
        assert_eq!((summary.num_functions, summary.num_counts), (1, 1));
        assert_eq!(summary.max_internal_count, u64::MAX - 1);
        assert_eq!(summary.max_function_count, 0);
    }
}
