//! Merging the values of value sites.
//!
//! LLVM sorts both sides by value, merges them, sorts the result by descending
//! count and cuts it to 255 values, for every record added. Only the last of
//! these orders can be seen, so sites stay sorted by value from one merge to
//! the next, unless equal values or more than 255 of them make the orders in
//! between matter too. [`SiteOrder`] remembers which it is.

use super::introsort;
use crate::instr::value::MAX_VALUES_PER_SITE;
use crate::instr::{ValueCount, ValueSites};

/// How the sites of one kind in one record are ordered at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum SiteOrder {
    /// As the only record so far had them; no site exceeds 255 values.
    #[default]
    AsInserted,
    /// Ascending by value, no value twice in a site.
    ByValue,
    /// As LLVM keeps them between merges: descending by count.
    ByCount,
}

/// What happened while sites were merged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SiteOutcome {
    /// A count reached its maximum.
    pub(super) saturated: bool,
    /// A site had more than 255 values.
    pub(super) cut: bool,
}

/// What the merging needs besides the two sides.
#[derive(Debug)]
pub(super) struct SiteMerger {
    /// See [`MergeRules::stable_value_sort`](super::MergeRules).
    pub(super) stable_sort: bool,
    scratch: Vec<ValueCount>,
    merged: ValueSites,
}

impl SiteMerger {
    pub(super) fn new(stable_sort: bool) -> Self {
        Self { stable_sort, scratch: Vec::new(), merged: ValueSites::new() }
    }

    /// Cuts sites of more than 255 values that were just taken over from an
    /// input. Returns whether there were such.
    pub(super) fn take_over(&mut self, sites: &mut ValueSites, order: &mut SiteOrder) -> bool {
        let cut = exceeds(sites);
        *order = if cut { SiteOrder::ByCount } else { SiteOrder::AsInserted };
        if cut {
            sort_sites(sites);
        }
        cut
    }

    /// Adds `source`, whose counts weigh `weight`, to `target`. Both have the
    /// same number of sites.
    pub(super) fn merge(
        &mut self,
        target: &mut ValueSites,
        order: &mut SiteOrder,
        source: &ValueSites,
        weight: u64,
    ) -> SiteOutcome {
        // Most functions of a run are not called: then there is nothing to merge.
        if source.values_len() == 0 && *order == SiteOrder::ByValue {
            return SiteOutcome::default();
        }
        if *order == SiteOrder::AsInserted {
            if self.repeats(target) {
                sort_sites(target);
                *order = SiteOrder::ByCount;
            } else {
                sort_all_by_value(target);
                *order = SiteOrder::ByValue;
            }
        }
        let outcome = self.merge_into_scratch(target, *order, source, weight);
        std::mem::swap(target, &mut self.merged);
        // Only an incoming site that repeats a value can make the result do so.
        let repeated = *order == SiteOrder::ByValue && source.values_len() != 0 && !target.iter().all(is_ascending);
        if outcome.cut || repeated || *order == SiteOrder::ByCount {
            sort_sites(target);
            *order = SiteOrder::ByCount;
        }
        outcome
    }

    /// As [`merge`](Self::merge), unless the outcome would depend on what other
    /// inputs came before: then nothing is changed but the order of values in
    /// sites that repeat none, and `None` is returned.
    pub(super) fn merge_unless_sensitive(
        &mut self,
        target: &mut ValueSites,
        order: &mut SiteOrder,
        source: &ValueSites,
        weight: u64,
    ) -> Option<SiteOutcome> {
        let weighted = weight != 1 && source.values_len() != 0;
        if weighted || *order == SiteOrder::ByCount {
            return None;
        }
        if *order == SiteOrder::AsInserted {
            if self.repeats(target) {
                return None;
            }
            sort_all_by_value(target);
            *order = SiteOrder::ByValue;
        }
        if source.values_len() == 0 {
            return Some(SiteOutcome::default());
        }
        let outcome = self.merge_into_scratch(target, *order, source, weight);
        if outcome.cut || !self.merged.iter().all(is_ascending) {
            return None;
        }
        std::mem::swap(target, &mut self.merged);
        Some(outcome)
    }

    fn merge_into_scratch(
        &mut self,
        target: &mut ValueSites,
        order: SiteOrder,
        source: &ValueSites,
        weight: u64,
    ) -> SiteOutcome {
        self.merged.clear();
        let mut outcome = SiteOutcome::default();
        for (index, incoming) in source.iter().enumerate() {
            let site = target.site_mut(index);
            if order == SiteOrder::ByCount {
                sort_by_value(site, self.stable_sort);
            }
            let incoming = if is_ascending(incoming) {
                incoming
            } else {
                if self.has_repeats(incoming) {
                    // Only equal values show in which order LLVM's sort leaves them.
                    self.scratch.clear();
                    self.scratch.extend_from_slice(incoming);
                    sort_by_value(&mut self.scratch, self.stable_sort);
                }
                &self.scratch
            };
            outcome.saturated |= merge_site(site, incoming, weight, &mut self.merged);
            outcome.cut |= self.merged.site(index).len() > MAX_VALUES_PER_SITE;
        }
        outcome
    }

    /// Whether some site has a value twice.
    fn repeats(&mut self, sites: &ValueSites) -> bool {
        sites.iter().any(|site| !is_ascending(site) && self.has_repeats(site))
    }

    /// Whether a value stands twice at a site, which is sorted into `scratch`.
    fn has_repeats(&mut self, site: &[ValueCount]) -> bool {
        self.scratch.clear();
        self.scratch.extend_from_slice(site);
        self.scratch.sort_unstable_by_key(|v| v.value);
        !is_ascending(&self.scratch)
    }
}

/// Whether some site has more values than are kept.
pub(super) fn exceeds(sites: &ValueSites) -> bool {
    sites.values_len() > MAX_VALUES_PER_SITE && sites.iter().any(|site| site.len() > MAX_VALUES_PER_SITE)
}

/// Whether equal values may end in an order that only LLVM's sort knows.
pub(super) fn is_long(sites: &ValueSites) -> bool {
    sites.values_len() > introsort::THRESHOLD && sites.iter().any(|site| site.len() > introsort::THRESHOLD)
}

fn sort_all_by_value(sites: &mut ValueSites) {
    for index in 0..sites.len() {
        sites.site_mut(index).sort_unstable_by_key(|v| v.value);
    }
}

/// Whether values ascend strictly: sorted, none twice.
fn is_ascending(site: &[ValueCount]) -> bool {
    site.windows(2).all(|pair| pair[0].value < pair[1].value)
}

fn sort_by_value(site: &mut [ValueCount], stable: bool) {
    if stable || site.len() <= introsort::THRESHOLD {
        site.sort_by_key(|v| v.value);
    } else {
        introsort::sort_by_value(site);
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
            site.sort_by_key(|v| std::cmp::Reverse(v.count));
        }
    }
    if cut {
        *sites = sites.iter().map(|site| &site[..site.len().min(MAX_VALUES_PER_SITE)]).collect();
    }
}

/// Appends to `merged` the union of two sites that ascend by value.
///
/// A value on both sides gets both counts; one entry meets one entry, so that
/// a value that repeats on the incoming side more often stays repeated. Values
/// new to the site come without the weight, as in every release so far.
fn merge_site(site: &[ValueCount], incoming: &[ValueCount], weight: u64, merged: &mut ValueSites) -> bool {
    let mut saturated = false;
    let mut rest = site.iter().peekable();
    for new in incoming {
        while let Some(old) = rest.next_if(|old| old.value < new.value) {
            merged.push_value(*old);
        }
        let Some(old) = rest.next_if(|old| old.value == new.value) else {
            merged.push_value(*new);
            continue;
        };
        let count = new.count.checked_mul(weight).and_then(|product| product.checked_add(old.count));
        saturated |= count.is_none();
        merged.push_value(ValueCount { value: old.value, count: count.unwrap_or(u64::MAX) });
    }
    rest.for_each(|old| merged.push_value(*old));
    merged.end_site();
    saturated
}
