//! The read of a profile's records that all outputs of `show` share.

use crate::error::{Error, Result};
use crate::instr::show::ShowOptions;
use crate::model::summary::{CUTOFFS, SummaryRow, SummaryRules};
use crate::model::{
    FunctionRecord, ProfileKind, ProfileReader, ProfileSummary, RecordRef, RecordView, SummaryBuilder, SymbolTable,
    ValueKind,
};
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

/// A record to show, and its form.
pub(super) enum Event<'a> {
    /// A record of the text format.
    Text { name: &'a [u8], record: RecordView<'a>, symbols: &'a SymbolTable },
    /// The name of a function that ran.
    Covered { name: &'a [u8] },
    /// The details of a function. `symbols` is empty unless the names of values are needed.
    Details { name: &'a [u8], record: RecordView<'a>, symbols: &'a SymbolTable },
    /// The name and totals of a function below the cutoff.
    BelowCutoff { name: &'a [u8], max: u64, sum: u128 },
}

/// The totals of the pass.
pub(super) struct Totals {
    /// Variant bits after the last record.
    pub(super) kind: ProfileKind,
    /// Totals and the rows of the detailed summary.
    pub(super) summary: ProfileSummary,
    /// Sum of all counters, at most 2^64 - 1. That of the summary wraps, as in LLVM.
    pub(super) total: u64,
    /// The number of functions that match the requested name, shown or not.
    pub(super) selected: u64,
    /// The number of functions with details.
    pub(super) shown: u64,
    /// The number of functions below the cutoff.
    pub(super) below_cutoff: u64,
    /// The requested number of functions with the largest counters, in descending order; ties in file order.
    pub(super) maxima: Vec<(Vec<u8>, u64)>,
    /// Value sites of the functions shown, by kind.
    pub(super) sites: [SiteCounts; ValueKind::COUNT],
}

/// The numbers of value sites of one kind.
#[derive(Default)]
pub(super) struct SiteCounts {
    pub(super) sites: u64,
    pub(super) with_values: u64,
    pub(super) values: u64,
    /// Maps a number of values to the number of sites with this number; has no entry for 0.
    pub(super) histogram: BTreeMap<usize, u64>,
}

impl SiteCounts {
    fn add(&mut self, record: RecordView<'_>, kind: ValueKind) {
        for site in record.sites(kind).iter() {
            self.sites += 1;
            if !site.is_empty() {
                self.with_values += 1;
                self.values += site.len() as u64;
                *self.histogram.entry(site.len()).or_default() += 1;
            }
        }
    }
}

/// The action for one record.
enum Plan {
    Skip,
    Text,
    Covered,
    Details,
    BelowCutoff { max: u64, sum: u128 },
}

/// Reads all records and passes those that are shown to `each`, in file order.
///
/// # Errors
///
/// The errors of the reader and of `each`.
pub(super) fn scan(
    reader: &mut dyn ProfileReader,
    options: &ShowOptions,
    each: &mut dyn FnMut(Event<'_>) -> Result<()>,
) -> Result<Totals> {
    let mut cutoffs = options.cutoffs.clone();
    if cutoffs.is_empty() && (options.detailed_summary || options.hot_functions) {
        cutoffs = CUTOFFS.to_vec();
    }
    cutoffs.sort_unstable();
    let mut builder = match cutoffs.is_empty() {
        true => SummaryBuilder::without_rows(SummaryRules::PseudoCounts),
        false => SummaryBuilder::new(SummaryRules::PseudoCounts),
    };
    let mut totals = Totals {
        kind: reader.kind(),
        summary: ProfileSummary::default(),
        total: 0,
        selected: 0,
        shown: 0,
        below_cutoff: 0,
        maxima: Vec::new(),
        sites: Default::default(),
    };
    // The hot functions are known only at the end.
    let mut largest = Largest::new(if options.hot_functions { usize::MAX } else { options.top });
    let nameless = SymbolTable::new();
    let (mut name, mut record) = (Vec::new(), FunctionRecord::default());
    while let Some(read) = reader.next_record()? {
        // A reader cannot answer questions while it lends a record, so the record is copied first if a question is
        // needed.
        let is_other_sort = read.record.is_context_sensitive() != options.context_sensitive;
        if !is_other_sort {
            let plan = totals.plan(read.name, read.record, options, &mut builder, &mut largest);
            if !plan.needs_symbols(options) {
                plan.emit(read.name, read.record, &nameless, each)?;
                continue;
            }
            copy(read, &mut name, &mut record);
            plan.emit(&name, record.view(), reader.symbols()?, each)?;
            continue;
        }
        copy(read, &mut name, &mut record);
        // Only IR profiles contain both plain and context-sensitive records; in others the bit is part of the hash.
        if !reader.kind().is_ir() {
            let plan = totals.plan(&name, record.view(), options, &mut builder, &mut largest);
            let symbols = if plan.needs_symbols(options) { reader.symbols()? } else { &nameless };
            plan.emit(&name, record.view(), symbols, each)?;
        }
    }
    totals.kind = reader.kind();
    totals.total = builder.saturated_total();
    totals.summary = builder.finish(&cutoffs);
    totals.maxima = largest.into_sorted();
    Ok(totals)
}

fn copy(read: RecordRef<'_>, name: &mut Vec<u8>, record: &mut FunctionRecord) {
    name.clear();
    name.extend_from_slice(read.name);
    record.copy_from(read.record);
}

impl Plan {
    fn needs_symbols(&self, options: &ShowOptions) -> bool {
        matches!(self, Self::Text) || (matches!(self, Self::Details) && options.shows_names())
    }

    fn emit(
        self,
        name: &[u8],
        record: RecordView<'_>,
        symbols: &SymbolTable,
        each: &mut dyn FnMut(Event<'_>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Skip => Ok(()),
            Self::Text => each(Event::Text { name, record, symbols }),
            Self::Covered => each(Event::Covered { name }),
            Self::Details => each(Event::Details { name, record, symbols }),
            Self::BelowCutoff { max, sum } => each(Event::BelowCutoff { name, max, sum }),
        }
    }
}

impl Totals {
    /// Adds a record to the totals and decides how it is shown.
    ///
    /// The steps depend on each other as in llvm-profdata: records printed as text are in no total, with `covered` only
    /// the summary is computed, and pseudo records are ignored by cutoffs and maxima.
    fn plan(
        &mut self,
        name: &[u8],
        record: RecordView<'_>,
        options: &ShowOptions,
        builder: &mut SummaryBuilder,
        largest: &mut Largest,
    ) -> Plan {
        let selected = options.selects(name);
        self.selected += u64::from(selected);
        if selected && options.text {
            return Plan::Text;
        }
        builder.add_record(record);
        if options.covered {
            return if record.counters.iter().any(|count| count != 0) { Plan::Covered } else { Plan::Skip };
        }
        if record.pseudo_count().is_some() {
            self.shown += u64::from(selected);
            return if selected { Plan::Details } else { Plan::Skip };
        }
        let max = record.max_counter();
        if max < options.value_cutoff {
            self.below_cutoff += 1;
            let sum = record.counters.iter().map(u128::from).sum();
            return if options.only_below_cutoff { Plan::BelowCutoff { max, sum } } else { Plan::Skip };
        }
        if options.only_below_cutoff {
            return Plan::Skip;
        }
        largest.add(name, max);
        if !selected {
            return Plan::Skip;
        }
        self.shown += 1;
        for kind in ValueKind::EACH.into_iter().filter(|kind| options.shows(*kind)) {
            self.sites[kind as usize].add(record, kind);
        }
        Plan::Details
    }

    /// Returns the minimum count of a hot function.
    ///
    /// # Errors
    ///
    /// A usage error if no cutoff of the detailed summary is as large as the hot one.
    pub(super) fn hot_threshold(&self, options: &ShowOptions) -> Result<u64> {
        if let Some(count) = options.hot_count {
            return Ok(count);
        }
        let row: Option<&SummaryRow> = self.summary.rows.iter().find(|row| row.cutoff >= options.hot_cutoff);
        row.map(|row| row.min_count).ok_or_else(|| {
            Error::usage("Desired percentile exceeds the maximum cutoff")
                .with_hint(format!("the hot list needs a cutoff of at least {}", options.hot_cutoff))
        })
    }
}

// The functions with the largest counters.

/// Keeps a number of functions with the largest counters; of equal ones the first.
pub(super) struct Largest {
    limit: usize,
    /// The number of functions so far.
    met: usize,
    /// A heap with the next function to drop on top.
    kept: BinaryHeap<Reverse<Maximum>>,
}

/// A function and its largest counter.
struct Maximum {
    max: u64,
    place: usize,
    name: Vec<u8>,
}

impl Maximum {
    /// Ranks larger counters above smaller ones, and earlier functions above later ones.
    fn rank(&self) -> (u64, Reverse<usize>) {
        (self.max, Reverse(self.place))
    }
}

impl PartialEq for Maximum {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Maximum {}

impl PartialOrd for Maximum {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Maximum {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl Largest {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, met: 0, kept: BinaryHeap::new() }
    }

    pub(super) fn add(&mut self, name: &[u8], max: u64) {
        let place = self.met;
        self.met += 1;
        if self.kept.len() < self.limit {
            self.kept.push(Reverse(Maximum { max, place, name: name.to_vec() }));
        } else if let Some(mut least) = self.kept.peek_mut().filter(|least| least.0.max < max) {
            least.0.max = max;
            least.0.place = place;
            least.0.name.clear();
            least.0.name.extend_from_slice(name);
        }
    }

    /// Returns names and counters, in descending order.
    pub(super) fn into_sorted(self) -> Vec<(Vec<u8>, u64)> {
        self.kept.into_sorted_vec().into_iter().map(|Reverse(kept)| (kept.name, kept.max)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_are_the_first_of_all_in_falling_order(
            maxima in prop::collection::vec(0u64..8, 0..60),
            limit in 0usize..70,
        ) {
            let mut all: Vec<(Vec<u8>, u64)> =
                maxima.iter().enumerate().map(|(place, max)| (place.to_string().into_bytes(), *max)).collect();
            let mut largest = Largest::new(limit);
            all.iter().for_each(|(name, max)| largest.add(name, *max));
            all.sort_by_key(|(_, max)| Reverse(*max));
            all.truncate(limit);
            prop_assert_eq!(largest.into_sorted(), all);
        }
    }
}
