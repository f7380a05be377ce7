//! One record into another.

use crate::error::Result;
use crate::memory::{self, HOLD_RECORDS};
use crate::sampleprof::names::NameId;
use crate::sampleprof::record::{BodyEntry, CallSite, FunctionRecord, VtableEntry, add_saturating};
use crate::sampleprof::targets::CallTarget;
use std::fmt;

/// Why a record was not added as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordFault {
    /// A sum was too large and stays at the largest number.
    CounterOverflow,
    /// The checksums differ: the record, or the inlined callee, was left out.
    HashMismatch,
}

impl RecordFault {
    /// What llvm-profdata prints.
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
            Self::CounterOverflow => "counts are too large and stay at 2^64 - 1",
            Self::HashMismatch => "another checksum of the control flow graph; left out",
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

/// Adds `from` with a weight; says what went wrong first.
///
/// # Errors
///
/// Out of memory, as an I/O error: the record is of no use any more.
pub(crate) fn merge_record(
    into: &mut FunctionRecord,
    from: FunctionRecord,
    weight: u64,
) -> Result<Option<RecordFault>> {
    let mut faults = Faults::default();
    merge(into, from, weight, &mut faults)?;
    Ok(faults.0)
}

fn merge(into: &mut FunctionRecord, from: FunctionRecord, weight: u64, faults: &mut Faults) -> Result<()> {
    if into.checksum == 0 {
        into.checksum = from.checksum;
    } else if into.checksum != from.checksum {
        faults.add(true, RecordFault::HashMismatch);
        return Ok(());
    }
    faults.overflow(add_weighted(&mut into.total, from.total, weight));
    faults.overflow(add_weighted(&mut into.head, from.head, weight));
    let add_entry = |into: &mut BodyEntry, from: BodyEntry, faults: &mut Faults| {
        faults.overflow(add_weighted(&mut into.samples, from.samples, weight));
        if !from.targets.is_empty() {
            merge_targets(into.targets.list_mut(), from.targets.into_list(), weight, faults)?;
        }
        Ok(())
    };
    let scale_entry = |entry: &mut BodyEntry, faults: &mut Faults| {
        faults.overflow(scale(&mut entry.samples, weight));
        scale_targets(&mut entry.targets, weight, faults);
    };
    merge_sorted(&mut into.body, from.body, |entry| entry.location, faults, add_entry, scale_entry)?;
    merge_sorted(
        &mut into.call_sites,
        from.call_sites,
        |site: &CallSite| (site.location, site.callee.name),
        faults,
        |into, from, faults| merge(&mut into.callee, from.callee, weight, faults),
        |site, faults| scale_record(&mut site.callee, weight, faults),
    )?;
    merge_sorted(
        &mut into.vtables,
        from.vtables,
        |entry: &VtableEntry| entry.location,
        faults,
        |into, from, faults| merge_targets(&mut into.tables, from.tables, weight, faults),
        |entry, faults| scale_targets(&mut entry.tables, weight, faults),
    )
}

fn merge_targets(into: &mut Vec<CallTarget>, from: Vec<CallTarget>, weight: u64, faults: &mut Faults) -> Result<()> {
    merge_sorted(
        into,
        from,
        |target: &CallTarget| -> NameId { target.callee },
        faults,
        |into, from, faults| {
            faults.overflow(add_weighted(&mut into.samples, from.samples, weight));
            Ok(())
        },
        |target, faults| faults.overflow(scale(&mut target.samples, weight)),
    )
}

/// Adds the elements of one sorted list to those of another with the same key;
/// the others are changed by `scale` and put where they belong.
fn merge_sorted<T, K: Ord>(
    into: &mut Vec<T>,
    from: Vec<T>,
    key: impl Fn(&T) -> K,
    faults: &mut Faults,
    mut add: impl FnMut(&mut T, T, &mut Faults) -> Result<()>,
    mut scale: impl FnMut(&mut T, &mut Faults),
) -> Result<()> {
    let (mut at, mut new) = (0, Vec::new());
    let known = into.len();
    for mut element in from {
        let wanted = key(&element);
        while at < known && key(&into[at]) < wanted {
            at += 1;
        }
        if at < known && key(&into[at]) == wanted {
            add(&mut into[at], element, faults)?;
        } else {
            scale(&mut element, faults);
            memory::push(&mut new, element, HOLD_RECORDS)?;
        }
    }
    join_sorted(into, new, key)
}

/// Puts the elements of one sorted list where they belong among those of another, which have other keys.
fn join_sorted<T, K: Ord>(into: &mut Vec<T>, new: Vec<T>, key: impl Fn(&T) -> K) -> Result<()> {
    if into.is_empty() {
        *into = new;
        return Ok(());
    }
    let Some(first) = new.first().map(&key) else { return Ok(()) };
    let stays = into.partition_point(|element| key(element) < first);
    let mut moved = Vec::new();
    memory::reserve(&mut moved, into.len() - stays, HOLD_RECORDS)?;
    memory::reserve(into, new.len(), HOLD_RECORDS)?;
    moved.extend(into.drain(stays..));
    let mut moved = moved.into_iter().peekable();
    for element in new {
        let at = key(&element);
        while let Some(before) = moved.next_if(|known| key(known) < at) {
            into.push(before);
        }
        into.push(element);
    }
    into.extend(moved);
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn two_sorted_lists_become_one(all in proptest::collection::btree_map(0u32..200, proptest::bool::ANY, 0..60)) {
            let of = |wanted: bool| all.iter().filter(|(_, is_new)| **is_new == wanted).map(|(key, _)| *key).collect();
            let mut into: Vec<u32> = of(false);
            join_sorted(&mut into, of(true), |key| *key).unwrap();
            prop_assert_eq!(into, all.keys().copied().collect::<Vec<_>>());
        }
    }
}
