//! Merging the values of value sites.
//!
//! LLVM sorts both sides by value, merges them, sorts the result by descending
//! count and cuts it to 255 values, for every record added. Only the last of
//! these orders can be seen, so sites stay sorted by value from one merge to
//! the next: what the order by count was follows from it.

use crate::error::Result;
use crate::instr::rules::SoftError;
use crate::instr::sort;
use crate::instr::sort::{PLACES, arrange};
use crate::memory::{self, HOLD_RECORDS};
use crate::model::record::MAX_VALUES_PER_SITE;
use crate::model::{RecordId, ValueCount, ValueKind, ValueSites};
use std::cmp::Reverse;
use std::hint::select_unpredictable;

/// How the sites of one kind in one record are ordered at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SiteOrder {
    /// As the only record so far had them; no site exceeds 255 values.
    #[default]
    AsInserted,
    /// Ascending by value, and equal values descending by count.
    ByValue,
}

/// The orders of all records, by kind. Most records have no value sites, so the
/// list reaches only as far as the last one that has some.
#[derive(Debug, Default)]
pub(super) struct SiteOrders {
    orders: Vec<[SiteOrder; ValueKind::COUNT]>,
    of_none: [SiteOrder; ValueKind::COUNT],
    is_out_of_memory: bool,
}

impl SiteOrders {
    /// The orders of a record.
    pub(super) fn of(&self, record: RecordId) -> [SiteOrder; ValueKind::COUNT] {
        self.orders.get(record.index()).copied().unwrap_or_default()
    }

    /// The orders of a record, to be changed. Without memory for them,
    /// [`is_out_of_memory`](Self::is_out_of_memory) is true from then on.
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

    /// Whether the orders of some record are unknown because memory ran out.
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
    /// Bytes of the values.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(self.sites.values())
    }
}

/// Merges sites, and keeps its memory from one to the next.
#[derive(Debug)]
pub(crate) struct SiteMerger {
    /// See [`MergeRules::stable_value_sort`](crate::instr::MergeRules).
    stable_sort: bool,
    incoming: Vec<ValueCount>,
    union: Vec<ValueCount>,
    counts: Vec<u64>,
    merged: ValueSites,
    is_out_of_memory: bool,
}

impl SiteMerger {
    pub(super) fn new(stable_sort: bool) -> Self {
        let (incoming, union, counts) = (Vec::new(), Vec::new(), Vec::new());
        Self { stable_sort, incoming, union, counts, merged: ValueSites::new(), is_out_of_memory: false }
    }

    /// Whether sites were not merged, for they did not fit the memory.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.is_out_of_memory
    }

    /// Adds `source`, whose counts weigh `weight`, to sites of a merger.
    pub(crate) fn add(&mut self, target: &mut TakenSites, source: &ValueSites, weight: u64) -> Option<SoftError> {
        if target.sites.len() != source.len() {
            return Some(SoftError::ValueSiteCountMismatch);
        }
        let saturated = self.merge(&mut target.sites, &mut target.order, source, weight);
        saturated.then_some(SoftError::CounterOverflow)
    }

    /// Adds `source`, whose counts weigh `weight`, to `target`. Both have the
    /// same number of sites. Returns whether a count reached its maximum.
    pub(super) fn merge(
        &mut self,
        target: &mut ValueSites,
        order: &mut SiteOrder,
        source: &ValueSites,
        weight: u64,
    ) -> bool {
        // Most functions of a run are not called: then there is nothing to merge.
        if source.values_len() == 0 && *order == SiteOrder::ByValue {
            return false;
        }
        let united = self.unite_sites(target, *order, source, weight);
        *order = SiteOrder::ByValue;
        // Not swapped: the memory of large sites would go from record to record.
        if united.is_ok() {
            target.copy_from(&self.merged);
        }
        self.is_out_of_memory |= united.is_err();
        united.unwrap_or_default()
    }

    /// Makes the sum of both in `merged`; of `target` the order is changed, to
    /// that by value. Returns whether a count reached its maximum.
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
            // Two sides that repeat nothing have a sum that repeats nothing.
            if !(old_differ && new_differ) {
                sort_equal_by_count(union);
            }
            merged.push_site(union);
        }
        Ok(saturated)
    }
}

/// The values of an incoming site in ascending order, in `scratch` unless they
/// ascend already, and whether all differ.
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
    // Only equal values show in which order LLVM's sort leaves them.
    sort_by_value(scratch, stable);
    Ok((scratch, false))
}

/// Sorts a site of a record that was alone so far as LLVM does before the first
/// merge: by count, as all records are kept, and then by value. Returns whether
/// all values differ.
fn sort_inserted(site: &mut [ValueCount], stable: bool) -> Result<bool> {
    if repeats_value(site)? {
        sort_by_count(site);
        sort_by_value(site, stable);
        return Ok(false);
    }
    Ok(sort_distinct(site))
}

/// Puts equal values of a merged site into the order in which LLVM's sort finds
/// them, where an incoming value meets one of them. Returns whether all values differ.
fn sort_repeated(site: &mut [ValueCount], incoming: &[ValueCount], stable: bool) -> bool {
    if is_ascending(site) {
        return true;
    }
    if stable || site.len() <= sort::THRESHOLD {
        return false;
    }
    // Of equal counts nobody can tell which one was first.
    let differ = |pair: &&[ValueCount]| pair[0].value == pair[1].value && pair[0].count != pair[1].count;
    let mut repeated = site.windows(2).filter(differ).map(|pair| pair[0].value);
    if repeated.any(|value| incoming.binary_search_by_key(&value, |v| v.value).is_ok()) {
        sort_by_falling_count(site);
        sort::sort_by_value(site);
    }
    false
}

/// Sorts by value, equal values anyhow. Returns whether all differ.
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

/// Sorts values that ascend by falling count, equal counts as they stand.
fn sort_by_falling_count(site: &mut [ValueCount]) {
    const LARGEST: u64 = u64::MAX >> 8;
    if site.len() <= PLACES && site.iter().all(|v| v.count <= LARGEST) {
        arrange(site, |v| (LARGEST - v.count) << 8);
    } else {
        site.sort_unstable_by_key(|v| (Reverse(v.count), v.value));
    }
}

/// Leaves 255 values, those with the largest counts and of equal ones the
/// smaller values, in the order in which they are.
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
    // Without a branch on what nobody can predict.
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

/// Sorts equal values, which stand together, by descending count.
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

/// Whether some site has more values than are kept.
pub(super) fn exceeds(sites: &ValueSites) -> bool {
    sites.values_len() > MAX_VALUES_PER_SITE && sites.iter().any(|site| site.len() > MAX_VALUES_PER_SITE)
}

/// Whether values ascend strictly: sorted, none twice.
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

/// Sorts every site by descending count, ties as they stand, and cuts it to
/// 255 values: the order that files show.
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
/// A value on both sides gets both counts; one entry meets one entry, so that
/// a value that repeats on the incoming side more often stays repeated. Values
/// new to the site come without the weight, as in every release so far.
fn unite(site: &[ValueCount], incoming: &[ValueCount], weight: u64, union: &mut Vec<ValueCount>) -> bool {
    if weight == 1 {
        // A product with one cannot be too large.
        return unite_with(site, incoming, union, |count, _| (count, false));
    }
    unite_with(site, incoming, union, |count, is_known| count.overflowing_mul(if is_known { weight } else { 1 }))
}

/// As [`unite`], where `weigh` is given an incoming count, and whether its value
/// is known to the site.
#[inline(never)]
fn unite_with(
    site: &[ValueCount],
    incoming: &[ValueCount],
    union: &mut Vec<ValueCount>,
    weigh: impl Fn(u64, bool) -> (u64, bool),
) -> bool {
    let (mut saturated, mut old_at, mut new_at) = (false, 0, 0);
    // Which side is next nobody can predict: no branch depends on it.
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
