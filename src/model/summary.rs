//! The profile summary: totals, and how few counters hold most of the counts.
//!
//! As LLVM's `ProfileSummaryBuilder` computes it; stored in indexed files from
//! version 4.

use crate::model::record::RecordView;
use crate::model::release::Release;
use std::fmt;

/// Cutoffs of the stored summary, in parts per million.
pub const CUTOFFS: &[u32] = &[
    10_000, 100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000, 900_000, 950_000, 990_000, 999_000,
    999_900, 999_990, 999_999,
];

/// Cutoffs of the stored summary in LLVM 3.9 to 6, which list two of them twice.
const EARLY_CUTOFFS: &[u32] = &[
    10_000, 100_000, 200_000, 300_000, 400_000, 500_000, 500_000, 600_000, 600_000, 700_000, 800_000, 900_000, 950_000,
    990_000, 999_000, 999_900, 999_990, 999_999,
];

/// Returns the cutoffs of the summary that a release stores.
pub(crate) fn cutoffs(release: Release) -> &'static [u32] {
    if release <= Release(6) { EARLY_CUTOFFS } else { CUTOFFS }
}

/// One row of the detailed summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SummaryRow {
    /// Share of the total count, parts per million.
    pub cutoff: u32,
    /// The smallest count among the counters that reach the cutoff.
    pub min_count: u64,
    /// The number of counters that reach it.
    pub num_counts: u64,
}

/// Totals and detailed rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
#[non_exhaustive]
pub enum SummaryRules {
    /// LLVM 13 to 15: a counter of `u64::MAX` is skipped.
    BeforePseudoCounts,
    /// LLVM 16 and later: a record with a pseudo count is skipped.
    #[default]
    PseudoCounts,
}

/// Adds up records.
#[derive(Debug, Clone, Default)]
pub struct SummaryBuilder {
    rules: SummaryRules,
    /// The caller needs no rows, so single counts are not stored.
    has_no_rows: bool,
    summary: ProfileSummary,
    /// Whether the total has wrapped.
    wraps: bool,
    /// The frequency of each small count.
    small: Tally,
    /// All other counts, one by one.
    large: Vec<u64>,
    /// The number of large counts at which equal ones are counted next.
    next_count: usize,
    /// Large counts of which many were equal: the distinct ones in ascending order, with how often each occurred.
    counted: Vec<Vec<(u64, u32)>>,
    /// Large counts of parts that were sorted.
    runs: Vec<Vec<u64>>,
    /// A buffer for counters that are stored in 32 bits.
    widened: Vec<u64>,
}

/// Counts below this are tallied in a table instead of being sorted.
const SMALL: u64 = 4096;

/// Equal large counts are first counted when there are this many: 2 MiB.
const FIRST_COUNT: usize = 1 << 18;

/// Counters for small counts at even and odd positions. Equal counts are often adjacent, and adding to one number twice
/// in a row would stall.
#[derive(Clone)]
struct Tally(Box<[[u32; 2]; SMALL as usize]>);

impl Default for Tally {
    fn default() -> Self {
        Self(Box::new([[0; 2]; SMALL as usize]))
    }
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.largest_first()).finish()
    }
}

impl Tally {
    /// The counts that occurred, with how often they did.
    fn largest_first(&self) -> impl Iterator<Item = (u64, u32)> {
        let seen = self.0.iter().enumerate().rev();
        seen.map(|(count, [even, odd])| (count as u64, even.wrapping_add(*odd))).filter(|(_, seen)| *seen != 0)
    }

    fn absorb(&mut self, other: &Self) {
        for (ours, theirs) in self.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened()) {
            *ours = ours.wrapping_add(*theirs);
        }
    }
}

impl SummaryBuilder {
    /// An empty builder.
    pub fn new(rules: SummaryRules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// An empty builder for a summary without rows, which is [finished](Self::finish) without cutoffs.
    pub(crate) fn without_rows(rules: SummaryRules) -> Self {
        Self { has_no_rows: true, ..Self::new(rules) }
    }

    /// Adds a record's counters.
    #[inline]
    pub fn add_record(&mut self, record: RecordView<'_>) {
        match record.counters.as_words() {
            Some(counters) => self.add_counters(counters),
            None => {
                let mut counters = std::mem::take(&mut self.widened);
                counters.clear();
                record.counters.append_to(&mut counters);
                self.add_counters(&counters);
                self.widened = counters;
            }
        }
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
        if self.rules == SummaryRules::BeforePseudoCounts && counters.contains(&u64::MAX) {
            self.add_known(first, internal);
            return;
        }
        self.summary.max_function_count = self.summary.max_function_count.max(first);
        self.summary.max_internal_count = internal.iter().fold(self.summary.max_internal_count, |a, b| a.max(*b));
        self.account(counters);
    }

    /// Adds the counters that are not of the largest value.
    #[cold]
    fn add_known(&mut self, first: u64, internal: &[u64]) {
        let known = |count: &u64| *count != u64::MAX;
        if known(&first) {
            self.summary.max_function_count = self.summary.max_function_count.max(first);
            self.account(&[first]);
        }
        for count in internal.iter().copied().filter(known) {
            self.summary.max_internal_count = self.summary.max_internal_count.max(count);
            self.account(&[count]);
        }
    }

    fn account(&mut self, counters: &[u64]) {
        let total = counters.iter().fold(0, |sum: u64, count| sum.wrapping_add(*count));
        self.add_total(total);
        let largest = self.summary.max_function_count.max(self.summary.max_internal_count);
        if largest.checked_mul(counters.len() as u64).is_none() {
            self.wraps |= counters.iter().map(|count| u128::from(*count)).sum::<u128>() > u64::MAX.into();
        }
        self.summary.num_counts = self.summary.num_counts.wrapping_add(counters.len() as u32);
        if self.has_no_rows {
            return;
        }
        let (tally, large) = (&mut self.small.0, &mut self.large);
        let mut add = |count: u64, parity: usize| match tally.get_mut(count as usize) {
            Some(seen) if count < SMALL => seen[parity] = seen[parity].wrapping_add(1),
            _ => large.push(count),
        };
        let (pairs, last) = counters.as_chunks::<2>();
        for [even, odd] in pairs {
            add(*even, 0);
            add(*odd, 1);
        }
        last.iter().for_each(|count| add(*count, 0));
        if self.large.len() >= self.next_count.max(FIRST_COUNT) {
            self.count_equal();
        }
    }

    fn add_total(&mut self, total: u64) {
        let (sum, wraps) = self.summary.total_count.overflowing_add(total);
        (self.summary.total_count, self.wraps) = (sum, self.wraps | wraps);
    }

    /// Returns the sum of all counters so far, at most 2^64 - 1.
    pub fn saturated_total(&self) -> u64 {
        if self.wraps { u64::MAX } else { self.summary.total_count }
    }

    /// Counts equal large counts, if this saves much memory: most profiles have far fewer distinct counts than counters.
    #[cold]
    fn count_equal(&mut self) {
        sort(&mut self.large);
        let distinct = 1 + self.large.windows(2).filter(|pair| pair[0] != pair[1]).count();
        if distinct <= self.large.len() / 4 {
            let known = self.counted.pop().unwrap_or_default();
            self.counted.push(counted(known, &self.large));
            self.large.clear();
        }
        // The lists grow by a factor, so the work is in proportion to the number of counters.
        let kept = self.large.len().max(self.counted.last().map_or(0, Vec::len));
        self.next_count = kept.saturating_mul(4);
    }

    /// Does now what [`finish`](Self::finish) would have to do for the counters
    /// so far: for parts that several threads add up.
    pub fn sort(&mut self) {
        let mut run = std::mem::take(&mut self.large);
        if !run.is_empty() {
            sort(&mut run);
            self.runs.push(run);
        }
    }

    /// Adds what another builder of the same rules added up.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.add_total(other.summary.total_count);
        self.wraps |= other.wraps;
        let (ours, theirs) = (&mut self.summary, other.summary);
        ours.num_functions = ours.num_functions.wrapping_add(theirs.num_functions);
        ours.num_counts = ours.num_counts.wrapping_add(theirs.num_counts);
        ours.max_function_count = ours.max_function_count.max(theirs.max_function_count);
        ours.max_internal_count = ours.max_internal_count.max(theirs.max_internal_count);
        self.small.absorb(&other.small);
        self.large.extend(other.large);
        self.counted.extend(other.counted);
        self.runs.extend(other.runs);
    }

    /// The summary with a row for each of `cutoffs`, which must ascend.
    pub fn finish(mut self, cutoffs: &[u32]) -> ProfileSummary {
        self.summary.max_count = self.summary.max_function_count.max(self.summary.max_internal_count);
        if cutoffs.is_empty() {
            return self.summary;
        }
        self.sort();
        let total = u128::from(self.summary.total_count);
        let mut groups = LargestFirst { runs: self.runs, counted: self.counted }.chain(self.small.largest_first());
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

/// Up to this many counts are sorted by digits, which is faster, but takes as much memory again: 8 MiB.
const SORTED_BY_DIGITS: usize = 1 << 20;

fn sort(counts: &mut [u64]) {
    if counts.len() <= SORTED_BY_DIGITS { radsort::sort(counts) } else { counts.sort_unstable() }
}

/// Adds sorted counts to distinct ones.
fn counted(known: Vec<(u64, u32)>, sorted: &[u64]) -> Vec<(u64, u32)> {
    let mut all = Vec::with_capacity(known.len());
    let mut known = known.into_iter().peekable();
    for equal in sorted.chunk_by(|one, next| one == next) {
        let count = equal[0];
        all.extend(std::iter::from_fn(|| known.next_if(|(smaller, _)| *smaller < count)));
        let seen = known.next_if(|(same, _)| *same == count).map_or(0, |(_, seen)| seen);
        all.push((count, seen.wrapping_add(equal.len() as u32)));
    }
    all.extend(known);
    all
}

/// Distinct counts of sorted lists, with how often each occurred.
struct LargestFirst {
    /// Lists of counts that may repeat.
    runs: Vec<Vec<u64>>,
    /// Lists of distinct counts with their frequencies.
    counted: Vec<Vec<(u64, u32)>>,
}

impl Iterator for LargestFirst {
    type Item = (u64, u32);

    fn next(&mut self) -> Option<(u64, u32)> {
        let last_of_runs = self.runs.iter().filter_map(|run| run.last()).copied();
        let last_counted = self.counted.iter().filter_map(|list| list.last()).map(|(count, _)| *count);
        let value = last_of_runs.chain(last_counted).max()?;
        let mut frequency = 0u32;
        for list in &mut self.counted {
            let seen = list.pop_if(|(last, _)| *last == value).map_or(0, |(_, seen)| seen);
            frequency = frequency.wrapping_add(seen);
        }
        for run in &mut self.runs {
            while run.pop_if(|last| *last == value).is_some() {
                frequency = frequency.wrapping_add(1);
            }
        }
        Some((value, frequency))
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
        let summary = builder.finish(CUTOFFS);
        assert_eq!((summary.num_functions, summary.num_counts, summary.total_count), (3, 6, 930));
        assert_eq!((summary.max_function_count, summary.max_internal_count, summary.max_count), (10, 900, 900));
        let row = |cutoff| summary.rows.iter().find(|r| r.cutoff == cutoff).map(|r| (r.min_count, r.num_counts));
        assert_eq!(row(10_000), Some((900, 1)));
        assert_eq!(row(990_000), Some((20, 2)));
        assert_eq!(row(999_000), Some((10, 3)));
    }

    #[test]
    fn rows_do_not_depend_on_how_counts_are_stored() {
        let rules = SummaryRules::PseudoCounts;
        // A count repeats this often.
        for repeats in [1, 2, 50] {
            let len = 3 * FIRST_COUNT;
            let distinct = (len / repeats) as u64;
            let counts: Vec<u64> = (0..len as u64).map(|at| SMALL + at * 7919 % distinct * 3).collect();
            let (mut whole, mut parts) = (SummaryBuilder::new(rules), [(); 2].map(|()| SummaryBuilder::new(rules)));
            for (at, counters) in counts.chunks(100).enumerate() {
                whole.add_counters(counters);
                parts[at % 2].add_counters(counters);
            }
            assert_eq!(whole.large.len() < FIRST_COUNT, repeats == 50, "{repeats}");
            let [mut one, mut other] = parts;
            other.sort();
            one.absorb(other);
            let cutoffs = [10_000, 500_000, 999_999];
            let summary = whole.finish(&cutoffs);
            assert_eq!(one.finish(&cutoffs), summary);
            // The walk over all counts, one by one.
            let mut sorted = counts;
            sorted.sort_unstable_by(|a, b| b.cmp(a));
            let total: u64 = sorted.iter().sum();
            for (row, cutoff) in summary.rows.iter().zip(cutoffs) {
                let desired = (u128::from(total) * u128::from(cutoff) / 1_000_000) as u64;
                let mut sum = 0;
                let reached = sorted.iter().position(|count| {
                    sum += count;
                    sum >= desired
                });
                let min_count = sorted[reached.unwrap()];
                let num_counts = sorted.iter().filter(|count| **count >= min_count).count() as u64;
                assert_eq!((row.min_count, row.num_counts), (min_count, num_counts), "{repeats} {cutoff}");
            }
        }
    }

    #[test]
    fn without_rows_the_totals_are_the_same() {
        let rules = [SummaryRules::PseudoCounts, SummaryRules::BeforePseudoCounts];
        for rules in rules {
            let finished = |mut builder: SummaryBuilder| {
                for counters in [&[10, 20, 0][..], &[], &[0, 900_000], &[u64::MAX, 5], &[7, u64::MAX]] {
                    builder.add_counters(counters);
                }
                builder.finish(&[])
            };
            assert_eq!(finished(SummaryBuilder::without_rows(rules)), finished(SummaryBuilder::new(rules)));
        }
    }

    #[test]
    fn an_empty_profile_has_rows_of_zeros() {
        let summary = SummaryBuilder::new(SummaryRules::PseudoCounts).finish(CUTOFFS);
        assert_eq!(summary.rows.len(), 16);
        assert!(summary.rows.iter().all(|r| r.min_count == 0 && r.num_counts == 0));
    }

    #[test]
    fn older_releases_skip_only_the_largest_value() {
        let mut builder = SummaryBuilder::new(SummaryRules::BeforePseudoCounts);
        builder.add_counters(&[u64::MAX, u64::MAX - 1]);
        let summary = builder.finish(&[]);
        assert_eq!((summary.num_functions, summary.num_counts), (1, 1));
        assert_eq!(summary.max_internal_count, u64::MAX - 1);
        assert_eq!(summary.max_function_count, 0);
    }
}
