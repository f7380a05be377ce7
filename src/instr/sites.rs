//! Merging the values of value sites.
//!
//! For every added record, LLVM sorts both sides by value, merges them, sorts the result by descending count and cuts
//! it to 255 values. Only the last of these orders is visible, so sites stay sorted by value between merges; the order
//! by count can be derived from it.

use crate::error::Result;
use crate::instr::rules::{MergeRules, SoftError};
use crate::instr::sort;
use crate::instr::sort::{PLACES, arrange};
use crate::memory::{self, HOLD_RECORDS};
use crate::model::record::MAX_VALUES_PER_SITE;
use crate::model::{RecordId, ValueCount, ValueKind, ValueSites};
use std::cmp::Reverse;
use std::hint::select_unpredictable;

/// The current order of the sites of one kind in one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SiteOrder {
    /// The order of the only record so far; no site exceeds 255 values.
    #[default]
    AsInserted,
    /// Ascending by value; equal values descending by count.
    ByValue,
}

/// The orders of all records, by kind. Most records have no value sites, so the list ends at the last one that has
/// some.
#[derive(Debug, Default)]
pub(super) struct SiteOrders {
    orders: Vec<[SiteOrder; ValueKind::COUNT]>,
    of_none: [SiteOrder; ValueKind::COUNT],
    is_out_of_memory: bool,
}

impl SiteOrders {
    /// Returns the orders of a record.
    pub(super) fn of(&self, record: RecordId) -> [SiteOrder; ValueKind::COUNT] {
        self.orders.get(record.index()).copied().unwrap_or_default()
    }

    /// Returns the orders of a record for changing. If memory for them is refused,
    /// [`is_out_of_memory`](Self::is_out_of_memory) returns true from then on.
    pub(super) fn of_mut(&mut self, record: RecordId) -> &mut [SiteOrder; ValueKind::COUNT] {
        let len = record.index() + 1;
        if self.orders.len() < len {
            if self.orders.try_reserve(len - self.orders.len()).is_err() {
                self.is_out_of_memory = true;
                return &mut self.of_none;
            }
            self.orders.resize(len, Default::default());
        }
        &mut self.orders[record.index()]
    }

    /// Returns true if the orders of some record are unknown because memory was refused.
    pub(super) fn is_out_of_memory(&self) -> bool {
        self.is_out_of_memory
    }
}

/// The sites of one kind of a record, taken out of a merger.
#[derive(Debug, Default)]
pub(crate) struct TakenSites {
    pub(super) sites: ValueSites,
    pub(super) order: SiteOrder,
}

impl TakenSites {
    /// Returns the size of the values in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.sites.values())
    }
}

/// Merges sites, and reuses its buffers.
#[derive(Debug)]
pub(crate) struct SiteMerger {
    /// See [`MergeRules::stable_value_sort`](crate::instr::MergeRules).
    stable_sort: bool,
    /// See [`MergeRules::weighs_new_values`](crate::instr::MergeRules).
    weighs_new: bool,
    incoming: Vec<ValueCount>,
    union: Vec<ValueCount>,
    counts: Vec<u64>,
    merged: ValueSites,
    is_out_of_memory: bool,
}

impl SiteMerger {
    pub(super) fn new(rules: &MergeRules) -> Self {
        Self {
            stable_sort: rules.stable_value_sort,
            weighs_new: rules.weighs_new_values,
            incoming: Vec::new(),
            union: Vec::new(),
            counts: Vec::new(),
            merged: ValueSites::new(),
            is_out_of_memory: false,
        }
    }

    /// Returns true if sites were not merged because they did not fit in memory.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.is_out_of_memory
    }

    /// Adds `source`, with counts multiplied by `weight`, to sites of a merger.
    pub(crate) fn add(&mut self, target: &mut TakenSites, source: &ValueSites, weight: u64) -> Option<SoftError> {
        if target.sites.len() != source.len() {
            return Some(SoftError::ValueSiteCountMismatch);
        }
        let saturated = self.merge(&mut target.sites, &mut target.order, source, weight);
        saturated.then_some(SoftError::CounterOverflow)
    }

    /// Adds `source`, with counts multiplied by `weight`, to `target`. Both have the same number of sites. Returns true
    /// if a count reached its maximum.
    pub(super) fn merge(
        &mut self,
        target: &mut ValueSites,
        order: &mut SiteOrder,
        source: &ValueSites,
        weight: u64,
    ) -> bool {
        // Most functions are not called in a run, so there is nothing to merge.
        if source.values_len() == 0 && *order == SiteOrder::ByValue {
            return false;
        }
        let united = match weight {
            2.. if self.weighs_new => {
                let mut weighted = source.clone();
                let saturated = scale_values(weighted.values_mut(), weight);
                self.unite_sites(target, *order, &weighted, 1).map(|united| united | saturated)
            }
            _ => self.unite_sites(target, *order, source, weight),
        };
        *order = SiteOrder::ByValue;
        // Copied instead of swapped: otherwise the memory of large sites would move from record to record.
        if united.is_ok() {
            target.copy_from(&self.merged);
        }
        self.is_out_of_memory |= united.is_err();
        united.unwrap_or_default()
    }

    /// Merges both sides into `merged`, and sorts `target` by value. Returns true if a count reached its maximum.
    fn unite_sites(
        &mut self,
        target: &mut ValueSites,
        order: SiteOrder,
        source: &ValueSites,
        weight: u64,
    ) -> Result<bool> {
        let Self { stable_sort, incoming, union, counts, merged, .. } = self;
        merged.clear();
        let mut saturated = false;
        for (index, values) in source.iter().enumerate() {
            let site = target.site_mut(index);
            let (values, new_differ) = sorted(values, incoming, *stable_sort)?;
            let old_differ = match order {
                SiteOrder::AsInserted => sort_inserted(site, *stable_sort)?,
                SiteOrder::ByValue => sort_repeated(site, values, *stable_sort),
            };
            union.clear();
            memory::reserve(union, site.len() + values.len(), HOLD_RECORDS)?;
            saturated |= unite(site, values, weight, union);
            keep_largest(union, counts)?;
            // If neither side repeats a value, the result does not either.
            if !(old_differ && new_differ) {
                sort_equal_by_count(union);
            }
            merged.push_site(union);
        }
        Ok(saturated)
    }
}

/// Returns the values of an incoming site in ascending order, in `scratch` unless they are already sorted, and whether
/// all differ.
fn sorted<'a>(
    site: &'a [ValueCount],
    scratch: &'a mut Vec<ValueCount>,
    stable: bool,
) -> Result<(&'a [ValueCount], bool)> {
    if is_ascending(site) {
        return Ok((site, true));
    }
    scratch.clear();
    memory::extend(scratch, site, HOLD_RECORDS)?;
    let has_unknown_targets = site.iter().filter(|v| v.value == 0).nth(1).is_some();
    if !has_unknown_targets {
        if sort_distinct(scratch) {
            return Ok((scratch, true));
        }
        scratch.copy_from_slice(site);
    }
    // LLVM's sort order is visible only for equal values.
    sort_by_value(scratch, stable);
    Ok((scratch, false))
}

/// Sorts a site of a record that was alone so far as LLVM does before the first merge: by count, like all stored
/// records, and then by value. Returns true if all values differ.
fn sort_inserted(site: &mut [ValueCount], stable: bool) -> Result<bool> {
    if repeats_value(site)? {
        sort_by_count(site);
        sort_by_value(site, stable);
        return Ok(false);
    }
    Ok(sort_distinct(site))
}

/// Sorts equal values of a merged site into the order that LLVM's sort receives, if an incoming value equals one of
/// them. Returns true if all values differ.
fn sort_repeated(site: &mut [ValueCount], incoming: &[ValueCount], stable: bool) -> bool {
    if is_ascending(site) {
        return true;
    }
    if stable || site.len() <= sort::THRESHOLD {
        return false;
    }
    // The order of equal counts is not visible.
    let differ = |pair: &&[ValueCount]| pair[0].value == pair[1].value && pair[0].count != pair[1].count;
    let mut repeated = site.windows(2).filter(differ).map(|pair| pair[0].value);
    if repeated.any(|value| incoming.binary_search_by_key(&value, |v| v.value).is_ok()) {
        sort_by_falling_count(site);
        sort::sort_by_value(site);
    }
    false
}

/// Sorts by value, with equal values in any order. Returns true if all differ.
fn sort_distinct(site: &mut [ValueCount]) -> bool {
    if (sort::THRESHOLD + 1..=PLACES).contains(&site.len()) {
        // Call targets are hashes and nearly always differ above the lowest byte.
        arrange(site, |v| v.value);
        if is_ascending(site) {
            return true;
        }
    }
    site.sort_unstable_by_key(|v| v.value);
    is_ascending(site)
}

/// Sorts ascending values by descending count; equal counts keep their order.
fn sort_by_falling_count(site: &mut [ValueCount]) {
    const LARGEST: u64 = u64::MAX >> 8;
    if site.len() <= PLACES && site.iter().all(|v| v.count <= LARGEST) {
        arrange(site, |v| (LARGEST - v.count) << 8);
    } else {
        site.sort_unstable_by_key(|v| (Reverse(v.count), v.value));
    }
}

/// Keeps the 255 values with the largest counts, of equal counts those with the smaller values, in their current order.
fn keep_largest(values: &mut Vec<ValueCount>, counts: &mut Vec<u64>) -> Result<()> {
    if values.len() <= MAX_VALUES_PER_SITE {
        return Ok(());
    }
    counts.clear();
    memory::reserve(counts, values.len(), HOLD_RECORDS)?;
    counts.extend(values.iter().map(|v| v.count));
    let (larger, least, _) = counts.select_nth_unstable_by_key(MAX_VALUES_PER_SITE - 1, |count| Reverse(*count));
    let least = *least;
    let mut room = MAX_VALUES_PER_SITE - larger.iter().filter(|count| **count > least).count();
    // Avoids an unpredictable branch.
    let mut kept = 0;
    for at in 0..values.len() {
        let v = values[at];
        let fits = (v.count == least) & (room > 0);
        room -= usize::from(fits);
        values[kept] = v;
        kept += usize::from((v.count > least) | fits);
    }
    values.truncate(kept);
    Ok(())
}

/// Sorts equal values, which are adjacent, by descending count.
fn sort_equal_by_count(values: &mut [ValueCount]) {
    if !is_ascending(values) {
        values.chunk_by_mut(|a, b| a.value == b.value).for_each(sort_by_count);
    }
}

fn repeats_value(site: &[ValueCount]) -> Result<bool> {
    if is_ascending(site) {
        return Ok(false);
    }
    let mut values = Vec::new();
    memory::reserve(&mut values, site.len(), HOLD_RECORDS)?;
    values.extend(site.iter().map(|v| v.value));
    values.sort_unstable();
    Ok(values.windows(2).any(|pair| pair[0] == pair[1]))
}

/// Returns true if some site has more values than the maximum.
pub(super) fn exceeds(sites: &ValueSites) -> bool {
    sites.values_len() > MAX_VALUES_PER_SITE && sites.iter().any(|site| site.len() > MAX_VALUES_PER_SITE)
}

/// Returns true if values are strictly ascending.
fn is_ascending(site: &[ValueCount]) -> bool {
    site.is_sorted_by(|a, b| a.value < b.value)
}

fn sort_by_count(site: &mut [ValueCount]) {
    sort::sort_by_key(site, |v| Reverse(v.count));
}

fn sort_by_value(site: &mut [ValueCount], stable: bool) {
    if stable || site.len() <= sort::THRESHOLD {
        sort::sort_by_key(site, |v| v.value);
    } else {
        sort::sort_by_value(site);
    }
}

/// Sorts every site by descending count, with ties unchanged, and cuts it to 255 values. This is the order of files.
pub(super) fn sort_sites(sites: &mut ValueSites) {
    let mut cut = false;
    for index in 0..sites.len() {
        let site = sites.site_mut(index);
        cut |= site.len() > MAX_VALUES_PER_SITE;
        if !site.is_sorted_by(|a, b| a.count >= b.count) {
            sort_by_count(site);
        }
    }
    if cut {
        sites.truncate_sites(MAX_VALUES_PER_SITE);
    }
}

/// Appends to `union` two sites that ascend by value.
///
/// A value on both sides gets the sum of both counts. Entries are paired one by one, so a value that the incoming side
/// repeats more often stays repeated. Values that are new to the site are not weighted, as in every release so far.
fn unite(site: &[ValueCount], incoming: &[ValueCount], weight: u64, union: &mut Vec<ValueCount>) -> bool {
    if weight == 1 {
        // A product with 1 cannot overflow.
        return unite_with(site, incoming, union, |count, _| (count, false));
    }
    unite_with(site, incoming, union, |count, is_known| count.overflowing_mul(if is_known { weight } else { 1 }))
}

/// Like [`unite`], but `weigh` gets an incoming count and whether the site has its value.
#[inline(never)]
fn unite_with(
    site: &[ValueCount],
    incoming: &[ValueCount],
    union: &mut Vec<ValueCount>,
    weigh: impl Fn(u64, bool) -> (u64, bool),
) -> bool {
    let (mut saturated, mut old_at, mut new_at) = (false, 0, 0);
    // Avoids unpredictable branches: the next side is random.
    while let (Some(old), Some(new)) = (site.get(old_at), incoming.get(new_at)) {
        let (takes_old, takes_new) = (old.value <= new.value, new.value <= old.value);
        let (weighed, overflows) = weigh(select_unpredictable(takes_new, new.count, 0), takes_old);
        let (sum, carries) = select_unpredictable(takes_old, old.count, 0).overflowing_add(weighed);
        let is_too_large = carries | overflows;
        saturated |= is_too_large;
        union.push(ValueCount {
            value: select_unpredictable(takes_old, old.value, new.value),
            count: if is_too_large { u64::MAX } else { sum },
        });
        old_at += usize::from(takes_old);
        new_at += usize::from(takes_new);
    }
    union.extend_from_slice(&site[old_at..]);
    union.extend_from_slice(&incoming[new_at..]);
    saturated
}

/// Multiplies the counts of values by `weight`. Value counts can use all 64 bits.
pub(super) fn scale_values(values: &mut [ValueCount], weight: u64) -> bool {
    let mut saturated = false;
    for value in values {
        let product = value.count.checked_mul(weight);
        saturated |= product.is_none();
        value.count = product.unwrap_or(u64::MAX);
    }
    saturated
}
