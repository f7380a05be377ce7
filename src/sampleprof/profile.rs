//! A sample profile in memory, and its summary.

use super::merge_record::{RecordFault, merge_record, rename};
use super::options::{Encoding, Rules, SymbolList, Threshold, WriteOptions};
use super::record::{Frame, FunctionName, FunctionRecord, NameId, Names, attributes};
use crate::error::{Error, Result};
use crate::model::summary::cutoffs;
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// The kind of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Kind {
    /// Functions have calling contexts.
    pub context_sensitive: bool,
    /// Line locations are pseudo-probes, and functions have checksums.
    pub probe_based: bool,
    /// A pre-inliner marked contexts.
    pub preinlined: bool,
    /// Discriminators have bits of flow-sensitive passes.
    pub flow_sensitive: bool,
    /// Names are hashes.
    pub hashed: bool,
    /// Only part of the program was profiled.
    pub partial: bool,
}

/// The kind that a file states. LLVM keeps it in variables of the process, so what a file does not state stays as the
/// file before it stated it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StatedKind {
    /// See [`Kind::context_sensitive`].
    pub context_sensitive: Option<bool>,
    /// See [`Kind::probe_based`].
    pub probe_based: Option<bool>,
    /// See [`Kind::preinlined`].
    pub preinlined: Option<bool>,
    /// See [`Kind::flow_sensitive`].
    pub flow_sensitive: Option<bool>,
    /// See [`Kind::hashed`].
    pub hashed: bool,
    /// See [`Kind::partial`].
    pub partial: bool,
}

impl Kind {
    /// Updates the kind by what a file states.
    pub(crate) fn learn(&mut self, stated: StatedKind) {
        self.context_sensitive = stated.context_sensitive.unwrap_or(self.context_sensitive);
        self.probe_based = stated.probe_based.unwrap_or(self.probe_based);
        self.preinlined = stated.preinlined.unwrap_or(self.preinlined);
        self.flow_sensitive = stated.flow_sensitive.unwrap_or(self.flow_sensitive);
        self.hashed = stated.hashed;
    }

    /// Returns the kind of a file that is read alone.
    pub fn of(stated: StatedKind) -> Self {
        let mut kind = Self { partial: stated.partial, ..Self::default() };
        kind.learn(stated);
        kind
    }
}

/// A sample profile.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SampleProfile {
    /// The names of all functions that occur.
    pub names: Names,
    /// The records, in the order in which they were read or made.
    pub functions: Vec<FunctionRecord>,
    /// The kind that the file states.
    pub stated: StatedKind,
    /// The profile symbol list; `None` if there is none.
    pub symbols: Option<SymbolList>,
    /// The summary that the file stores; text and GCC's files store none.
    pub summary: Option<Summary>,
}

/// Equal if both have the same records in the same order, and the same properties. The numbers of names may differ.
impl PartialEq for SampleProfile {
    fn eq(&self, other: &Self) -> bool {
        let Self { names, functions, stated, symbols, summary } = self;
        if (stated, symbols, summary, functions.len())
            != (&other.stated, &other.symbols, &other.summary, other.functions.len())
        {
            return false;
        }
        let mut names = names.clone();
        let numbers: Vec<NameId> = other.names.iter().map(|name| names.insert(name)).collect();
        let same_order = numbers.is_sorted();
        functions.iter().zip(&other.functions).all(|(own, other)| {
            let mut other = other.clone();
            rename(&mut other, &numbers, same_order);
            *own == other
        })
    }
}

impl SampleProfile {
    /// Returns the kind of the profile if it is read alone.
    pub fn kind(&self) -> Kind {
        Kind::of(self.stated)
    }

    /// Returns true if there are hashes instead of some names.
    pub(super) fn has_hashes(&self) -> bool {
        self.names.iter().any(|name| matches!(name, FunctionName::Hash(_)))
    }

    /// Returns the encoding that the target release writes by default. A plain binary cannot store contexts, checksums,
    /// hashes of names and some properties, whether the profile has them or the options request them.
    pub fn default_encoding(&self, options: &WriteOptions) -> Encoding {
        let kind = self.kind();
        let has_flags = kind.context_sensitive || kind.probe_based || kind.flow_sensitive || kind.partial;
        let needs_sections = has_flags || self.has_hashes() || options.needs_sections().is_some();
        let rules = options.rules;
        match rules.writes_extensible_by_default() || needs_sections {
            true if self.has_hashes() && !rules.has_hashes_of_names() && rules.reads(Encoding::CompactBinary) => {
                Encoding::CompactBinary
            }
            // Options for sections are an error in other encodings.
            true if rules.reads(Encoding::ExtBinary) || options.needs_sections().is_some() => Encoding::ExtBinary,
            _ => Encoding::Binary,
        }
    }

    /// Returns the name with the given number.
    pub fn name(&self, id: NameId) -> FunctionName<'_> {
        self.names.get(id)
    }

    /// Returns the name of a function, or its context without brackets: `main:2 @ foo`.
    pub fn title(&self, record: &FunctionRecord) -> Vec<u8> {
        let mut text = Vec::new();
        push_title(&mut text, &self.names, record);
        text
    }
}

/// Appends the title of a record; see [`SampleProfile::title`].
pub(super) fn push_title(text: &mut Vec<u8>, names: &Names, record: &FunctionRecord) {
    match &record.context {
        Some(frames) => push_context(text, names, frames),
        None => names.get(record.name).push_to(text),
    }
}

/// Appends frames; the location of the last one is not shown.
pub(crate) fn push_context(text: &mut Vec<u8>, names: &Names, frames: &[Frame]) {
    for (at, frame) in frames.iter().enumerate() {
        names.get(frame.function).push_to(text);
        if at + 1 < frames.len() {
            text.extend_from_slice(format!(":{} @ ", frame.location).as_bytes());
        }
    }
}

pub use super::options::{COLD_CUTOFF, HOT_CUTOFF};
pub use crate::model::summary::CUTOFFS;

/// A row of a summary: the number of counts, largest first, that make up a share of the samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SummaryRow {
    /// The share in millionths.
    pub cutoff: u32,
    /// The smallest of these counts.
    pub min_count: u64,
    /// The number of these counts.
    pub counts: u64,
}

/// The totals of a profile.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Summary {
    /// Sum of all counts, modulo 2^64 as LLVM computes it.
    pub total: u64,
    /// The largest count.
    pub max: u64,
    /// The largest number of samples of a function entry.
    pub max_head: u64,
    /// Number of counts.
    pub counts: u64,
    /// Number of functions, inlined callees not counted.
    pub functions: u64,
    /// Rows, by rising cutoff.
    pub rows: Vec<SummaryRow>,
}

impl Summary {
    /// Computes the summary of records in which each function occurs once.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a FunctionRecord>, rules: Rules) -> Self {
        let mut counts = Vec::new();
        let mut summary = Self::default();
        for record in records {
            summary.functions += 1;
            summary.max_head = summary.max_head.max(record.head);
            collect(record, rules, &mut counts);
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        summary.total = counts.iter().fold(0, |sum: u64, count| sum.wrapping_add(*count));
        summary.max = counts.first().copied().unwrap_or_default();
        summary.counts = counts.len() as u64;
        summary.rows = rows(&counts, summary.total, cutoffs(rules.release()));
        summary
    }

    /// Returns the smallest count of a cutoff, such as [`HOT_CUTOFF`]; `None` if the summary has no such row.
    pub fn threshold(&self, cutoff: u32) -> Option<u64> {
        self.rows.iter().find(|row| row.cutoff >= cutoff).map(|row| row.min_count)
    }

    /// Returns the count of a threshold; 0 if the summary has no rows.
    ///
    /// # Errors
    ///
    /// Usage, if the cutoff is larger than those of all summaries.
    pub(crate) fn count_of(&self, threshold: Threshold) -> Result<u64> {
        let row = self.threshold(threshold.cutoff);
        if row.is_none() && threshold.cutoff > COLD_CUTOFF {
            return Err(Error::usage("Desired percentile exceeds the maximum cutoff"));
        }
        Ok(threshold.count.or(row).unwrap_or_default())
    }
}

/// Returns the sum of all counts, like [`Summary::total`], but without a limit.
pub(crate) fn total_count(records: &[&FunctionRecord], rules: Rules) -> u128 {
    let mut counts = Vec::new();
    records.iter().for_each(|record| collect(record, rules, &mut counts));
    counts.into_iter().map(u128::from).sum()
}

fn collect(record: &FunctionRecord, rules: Rules, counts: &mut Vec<u64>) {
    counts.extend(record.body.iter().map(|entry| entry.samples));
    let counted: &[_] = if rules.summarizes_inlined_callees() { &record.call_sites } else { &[] };
    for site in counted {
        let is_duplicate = site.callee.attributes & attributes::DUPLICATED_INTO_BASE != 0;
        if !(is_duplicate && rules.minds_duplicates()) {
            collect(&site.callee, rules, counts);
        }
    }
}

/// Walks the counts from the largest to the smallest; equal counts belong to the same row.
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

/// Computes the summary of records in LLVM's order. The contexts of a function are merged first.
pub(crate) fn summarize<'a>(
    records: impl IntoIterator<Item = &'a FunctionRecord>,
    names: &Names,
    kind: Kind,
    rules: Rules,
) -> Summary {
    if !rules.merges_contexts_for_summary(kind.context_sensitive) {
        return Summary::of(records, rules);
    }
    Summary::of(&fold_contexts(records, names).0, rules)
}

/// Returns true if another order of the records can change their summary: contexts of a function with different checksums
/// are not added up, and the first one counts.
pub(super) fn summary_depends_on_order(records: &[FunctionRecord], names: &Names) -> bool {
    // If a checksum is 0, only one of the two directions notices it.
    fold_contexts(records, names).1 || fold_contexts(records.iter().rev(), names).1
}

/// Merges the contexts of each function. Returns true if some do not fit because of their checksums.
fn fold_contexts<'a>(
    records: impl IntoIterator<Item = &'a FunctionRecord>,
    names: &Names,
) -> (Vec<FunctionRecord>, bool) {
    let mut functions: HashMap<u64, usize, RandomState> = HashMap::default();
    let mut folded: Vec<FunctionRecord> = Vec::new();
    let mut differs = false;
    for record in records {
        let at = *functions.entry(names.get(record.name).hash()).or_insert_with(|| {
            folded.push(FunctionRecord::new(record.name));
            folded.len() - 1
        });
        differs |= merge_record(&mut folded[at], record.clone(), 1) == Some(RecordFault::HashMismatch);
    }
    (folded, differs)
}
