//! Adds one record to another, and gives a record the names of another profile.

use super::record::{
    BodyEntry, CallSite, CallTarget, FunctionName, FunctionRecord, LineLocation, NameId, Names, VtableEntry,
    add_saturating, add_target,
};
use crate::model::Remapping;
use std::fmt;

/// Why a record was not added unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordFault {
    /// A sum was too large and saturated.
    CounterOverflow,
    /// The checksums differ: the record, or the inlined callee, was dropped.
    HashMismatch,
}

impl RecordFault {
    /// Returns the message of llvm-profdata.
    pub fn llvm_message(self) -> &'static str {
        match self {
            Self::CounterOverflow => "Counter overflow",
            Self::HashMismatch => "Function hash mismatch",
        }
    }
}

impl fmt::Display for RecordFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CounterOverflow => "counts are too large and were set to 2^64 - 1",
            Self::HashMismatch => "the checksum of the control flow graph differs; dropped",
        })
    }
}

/// Remembers the first fault.
#[derive(Debug, Default)]
struct Faults(Option<RecordFault>);

impl Faults {
    fn add(&mut self, found: bool, fault: RecordFault) {
        if found {
            self.0.get_or_insert(fault);
        }
    }

    fn overflow(&mut self, found: bool) {
        self.add(found, RecordFault::CounterOverflow);
    }
}

/// Adds `from` with a weight. Returns the first fault.
pub(crate) fn merge_record(into: &mut FunctionRecord, from: FunctionRecord, weight: u64) -> Option<RecordFault> {
    let mut faults = Faults::default();
    merge(into, from, weight, &mut faults);
    faults.0
}

fn merge(into: &mut FunctionRecord, from: FunctionRecord, weight: u64, faults: &mut Faults) {
    if into.checksum == 0 {
        into.checksum = from.checksum;
    } else if into.checksum != from.checksum {
        faults.add(true, RecordFault::HashMismatch);
        return;
    }
    faults.overflow(add_weighted(&mut into.total, from.total, weight));
    faults.overflow(add_weighted(&mut into.head, from.head, weight));
    let add_entry = |into: &mut BodyEntry, from: BodyEntry, faults: &mut Faults| {
        faults.overflow(add_weighted(&mut into.samples, from.samples, weight));
        if !from.targets.is_empty() {
            merge_targets(into.targets.list_mut(), from.targets.into_list(), weight, faults);
        }
    };
    let scale_entry = |entry: &mut BodyEntry, faults: &mut Faults| {
        faults.overflow(scale(&mut entry.samples, weight));
        scale_targets(&mut entry.targets, weight, faults);
    };
    merge_sorted(&mut into.body, from.body, |entry| entry.location, faults, add_entry, scale_entry);
    merge_sorted(
        &mut into.call_sites,
        from.call_sites,
        |site: &CallSite| (site.location, site.callee.name),
        faults,
        |into, from, faults| merge(&mut into.callee, from.callee, weight, faults),
        |site, faults| scale_record(&mut site.callee, weight, faults),
    );
    merge_sorted(
        &mut into.vtables,
        from.vtables,
        |entry: &VtableEntry| entry.location,
        faults,
        |into, from, faults| merge_targets(&mut into.tables, from.tables, weight, faults),
        |entry, faults| scale_targets(&mut entry.tables, weight, faults),
    );
}

fn merge_targets(into: &mut Vec<CallTarget>, from: Vec<CallTarget>, weight: u64, faults: &mut Faults) {
    merge_sorted(
        into,
        from,
        |target: &CallTarget| -> NameId { target.callee },
        faults,
        |into, from, faults| faults.overflow(add_weighted(&mut into.samples, from.samples, weight)),
        |target, faults| faults.overflow(scale(&mut target.samples, weight)),
    );
}

/// Merges one sorted list into another. `add` adds an element to the one with the same key; `scale` changes an element
/// that is new.
fn merge_sorted<T, K: Ord>(
    into: &mut Vec<T>,
    from: Vec<T>,
    key: impl Fn(&T) -> K,
    faults: &mut Faults,
    mut add: impl FnMut(&mut T, T, &mut Faults),
    mut scale: impl FnMut(&mut T, &mut Faults),
) {
    let (mut at, mut new) = (0, Vec::new());
    let known = into.len();
    for mut element in from {
        let wanted = key(&element);
        while at < known && key(&into[at]) < wanted {
            at += 1;
        }
        if at < known && key(&into[at]) == wanted {
            add(&mut into[at], element, faults);
        } else {
            scale(&mut element, faults);
            new.push(element);
        }
    }
    join_sorted(into, new, key);
}

/// Inserts the elements of one sorted list into another. No key occurs in both.
fn join_sorted<T, K: Ord>(into: &mut Vec<T>, new: Vec<T>, key: impl Fn(&T) -> K) {
    if into.is_empty() {
        *into = new;
        return;
    }
    let Some(first) = new.first().map(&key) else { return };
    let stays = into.partition_point(|element| key(element) < first);
    let mut moved = into.split_off(stays).into_iter().peekable();
    into.reserve(moved.len() + new.len());
    for element in new {
        let at = key(&element);
        while let Some(before) = moved.next_if(|known| key(known) < at) {
            into.push(before);
        }
        into.push(element);
    }
    into.extend(moved);
}

fn scale_record(record: &mut FunctionRecord, weight: u64, faults: &mut Faults) {
    if weight == 1 {
        return;
    }
    faults.overflow(scale(&mut record.total, weight));
    faults.overflow(scale(&mut record.head, weight));
    for entry in &mut record.body {
        faults.overflow(scale(&mut entry.samples, weight));
        scale_targets(&mut entry.targets, weight, faults);
    }
    record.call_sites.iter_mut().for_each(|site| scale_record(&mut site.callee, weight, faults));
    record.vtables.iter_mut().for_each(|entry| scale_targets(&mut entry.tables, weight, faults));
}

fn scale_targets(targets: &mut [CallTarget], weight: u64, faults: &mut Faults) {
    targets.iter_mut().for_each(|target| faults.overflow(scale(&mut target.samples, weight)));
}

fn scale(count: &mut u64, weight: u64) -> bool {
    let (product, overflowed) = count.overflowing_mul(weight);
    *count = if overflowed { u64::MAX } else { product };
    overflowed
}

fn add_weighted(sum: &mut u64, mut more: u64, weight: u64) -> bool {
    let overflowed = scale(&mut more, weight);
    add_saturating(sum, more) || overflowed
}

/// Returns the record under its new names as llvm-profdata does it: its context, checksums, attributes and vtables are
/// lost, and hashes stay unchanged. Discriminators in the body keep only the bits of `mask`.
pub(super) fn remap(
    record: &FunctionRecord,
    names: &mut Names,
    remapping: &Remapping,
    mask: u32,
    fault: &mut Option<RecordFault>,
) -> FunctionRecord {
    let mut remapped = FunctionRecord::new(new_name(record.name, names, remapping));
    (remapped.total, remapped.head) = (record.total, record.head);
    for entry in &record.body {
        let discriminator = entry.location.discriminator & mask;
        let new = remapped.body_at(LineLocation { discriminator, ..entry.location });
        let mut overflowed = add_saturating(&mut new.samples, entry.samples);
        for target in &entry.targets {
            let callee = new_name(target.callee, names, remapping);
            overflowed |= add_target(new.targets.list_mut(), callee, target.samples);
        }
        if overflowed {
            fault.get_or_insert(RecordFault::CounterOverflow);
        }
    }
    for site in &record.call_sites {
        let callee = remap(&site.callee, names, remapping, mask, fault);
        let at = remapped.call_site_at(site.location, callee.name);
        if let Some(found) = merge_record(&mut remapped.call_sites[at].callee, callee, 1) {
            fault.get_or_insert(found);
        }
    }
    remapped
}

fn new_name(id: NameId, names: &mut Names, remapping: &Remapping) -> NameId {
    let FunctionName::Text(old) = names.get(id) else { return id };
    let new = remapping.apply(old);
    if new == old {
        return id;
    }
    let new = new.to_vec();
    names.insert(FunctionName::Text(&new))
}

/// Replaces every name by its number in another profile. `same_order` means that the new numbers rise with the old
/// ones, so lists stay sorted.
pub(super) fn rename(record: &mut FunctionRecord, numbers: &[NameId], same_order: bool) {
    record.name = numbers[record.name.index()];
    if let Some(frames) = &mut record.context {
        frames.iter_mut().for_each(|frame| frame.function = numbers[frame.function.index()]);
    }
    for entry in &mut record.body {
        rename_targets(&mut entry.targets, numbers, same_order);
    }
    for entry in &mut record.vtables {
        rename_targets(&mut entry.tables, numbers, same_order);
    }
    for site in &mut record.call_sites {
        rename(&mut site.callee, numbers, same_order);
    }
    if !same_order && record.call_sites.len() > 1 {
        record.call_sites.sort_unstable_by_key(|site| (site.location, site.callee.name));
    }
}

fn rename_targets(targets: &mut [CallTarget], numbers: &[NameId], same_order: bool) {
    targets.iter_mut().for_each(|target| target.callee = numbers[target.callee.index()]);
    if !same_order && targets.len() > 1 {
        targets.sort_unstable_by_key(|target| target.callee);
    }
}

/// Replaces every name by its number in another profile, and joins what has the same name then. Returns the first fault.
pub(super) fn rename_and_join(record: &mut FunctionRecord, numbers: &[NameId]) -> Option<RecordFault> {
    let mut faults = Faults::default();
    rename(record, numbers, false);
    join(record, &mut faults);
    faults.0
}

fn join(record: &mut FunctionRecord, faults: &mut Faults) {
    for entry in record.body.iter_mut().filter(|entry| !entry.targets.is_empty()) {
        join_targets(entry.targets.list_mut(), faults);
    }
    record.vtables.iter_mut().for_each(|entry| join_targets(&mut entry.tables, faults));
    record.call_sites.dedup_by(|site, kept| {
        let is_same = (site.location, site.callee.name) == (kept.location, kept.callee.name);
        if is_same {
            let callee = std::mem::replace(&mut site.callee, FunctionRecord::new(kept.callee.name));
            merge(&mut kept.callee, callee, 1, faults);
        }
        is_same
    });
    record.call_sites.iter_mut().for_each(|site| join(&mut site.callee, faults));
}

fn join_targets(targets: &mut Vec<CallTarget>, faults: &mut Faults) {
    targets.dedup_by(|target, kept| {
        let is_same = target.callee == kept.callee;
        if is_same {
            faults.overflow(add_saturating(&mut kept.samples, target.samples));
        }
        is_same
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn two_sorted_lists_become_one(all in proptest::collection::btree_map(0u32..200, proptest::bool::ANY, 0..60)) {
            let of = |wanted: bool| all.iter().filter(|(_, is_new)| **is_new == wanted).map(|(key, _)| *key).collect();
            let mut into: Vec<u32> = of(false);
            join_sorted(&mut into, of(true), |key| *key);
            prop_assert_eq!(into, all.keys().copied().collect::<Vec<_>>());
        }
    }
}
