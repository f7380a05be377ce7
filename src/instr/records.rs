//! Merging one record into another, or adding a first one: counters, bitmaps, value sites.

use crate::instr::merger::Merger;
use crate::instr::rules::{AddOutcome, SoftError, Weights};
use crate::instr::sites::{SiteMerger, TakenSites, exceeds, scale_values, sort_sites};
use crate::model::{Counters, FunctionId, PseudoCount, RecordId, RecordRef, RecordView, ValueKind, ValueSites};

impl Merger {
    /// Adds a record with only counters to the expected next record, with the result of
    /// [`add_record`](Self::add_record). Most records of files of one program are of this kind.
    #[inline]
    pub(super) fn add_to_expected(&mut self, incoming: &RecordRef<'_>, weight: u64) -> Option<AddOutcome> {
        let (name_ref, source) = (incoming.name_ref?, incoming.record);
        let (record, counters) = self.profile.functions.find_next_counters(incoming.name, name_ref, source)?;
        let firsts = [counters.first().copied(), source.counters.first()];
        if self.rules.pseudo_counts
            && firsts.into_iter().flatten().any(|first| PseudoCount::from_counter(first).is_some())
        {
            return None;
        }
        let saturated = add_weighted(counters, source.counters, weight, self.rules.max_count);
        let error = saturated.then_some(SoftError::CounterOverflow);
        Some(AddOutcome { record, is_new: false, error })
    }

    /// Adds a record to a function of this merger.
    pub(super) fn add_to_function(
        &mut self,
        function: FunctionId,
        incoming: RecordView<'_>,
        weights: Weights,
    ) -> AddOutcome {
        match self.profile.functions.find_record(function, incoming.func_hash) {
            Some(record) => AddOutcome { record, is_new: false, error: self.merge_record(record, incoming, weights) },
            None => self.push_record(function, incoming, weights),
        }
    }

    /// Creates a record of a function. The FuncHash must be new to it.
    fn push_record(&mut self, function: FunctionId, record: RecordView<'_>, weights: Weights) -> AddOutcome {
        let id = self.profile.functions.push_record(function, record);
        let mut saturated = false;
        // Unchanged counters can stay in the file.
        if weights.counters != 1 {
            let counters = self.profile.functions.counters_mut(id);
            saturated = scale(counters, weights.counters, self.rules.max_count);
        }
        if !record.uniformity.is_empty() {
            saturated |= self.take_over_uniformity(id, weights.values);
        }
        for kind in ValueKind::EACH.into_iter().filter(|kind| !record.sites(*kind).is_empty()) {
            saturated |= self.take_over_sites(id, kind, weights.values);
        }
        let error = saturated.then_some(SoftError::CounterOverflow);
        AddOutcome { record: id, is_new: true, error }
    }

    /// Applies to copied sites what a merge does to the first sites of a record. Returns true if a count reached its
    /// maximum.
    fn take_over_sites(&mut self, id: RecordId, kind: ValueKind, weight: u64) -> bool {
        let sites = self.profile.functions.sites_mut(id, kind);
        let saturated = weight != 1 && scale_values(sites.values_mut(), weight);
        if exceeds(sites) {
            sort_sites(sites);
        }
        saturated
    }

    /// Adds to an existing record: counters and bitmaps, then values kind by kind.
    fn merge_record(&mut self, target: RecordId, source: RecordView<'_>, weights: Weights) -> Option<SoftError> {
        let functions = &mut self.profile.functions;
        let record = functions.record(target);
        let (same_bitmap, has_sites) = (record.bitmap.len() == source.bitmap.len(), record.has_value_sites());
        let has_uniformity = !record.uniformity.is_empty() || !source.uniformity.is_empty();
        if record.counters.len() != source.counters.len() {
            return Some(SoftError::CountMismatch);
        }
        if functions.make_own(target).is_err() {
            self.is_out_of_memory = true;
            return None;
        }
        let record = functions.record(target);
        if self.rules.pseudo_counts {
            match (record.pseudo_count(), source.pseudo_count()) {
                (None, None) => {}
                (Some(a), Some(b)) => {
                    let hot = a == PseudoCount::Hot || b == PseudoCount::Hot;
                    let pseudo = if hot { PseudoCount::Hot } else { PseudoCount::Warm };
                    functions.counters_mut(target)[0] = pseudo.counter();
                    return None;
                }
                _ => return Some(SoftError::CountMismatch),
            }
        }
        let counters = functions.counters_mut(target);
        let saturated = add_weighted(counters, source.counters, weights.counters, self.rules.max_count);
        let mut error = saturated.then_some(SoftError::CounterOverflow);
        if has_uniformity {
            let saturated = self.merge_uniformity(target, source, weights.values);
            error = error.or(saturated.then_some(SoftError::CounterOverflow));
        }
        let functions = &mut self.profile.functions;
        if !same_bitmap {
            return error.or(Some(SoftError::BitmapMismatch));
        }
        functions.bitmap_mut(target).iter_mut().zip(source.bitmap).for_each(|(a, b)| *a |= b);
        if has_sites || source.has_value_sites() {
            for kind in ValueKind::EACH {
                error = error.or(self.merge_sites(target, kind, source.sites(kind), weights.values));
            }
        }
        error
    }

    /// Adds the value sites of one kind to an existing record.
    pub(crate) fn merge_sites(
        &mut self,
        target: RecordId,
        kind: ValueKind,
        source: &ValueSites,
        weight: u64,
    ) -> Option<SoftError> {
        if self.profile.functions.record(target).sites(kind).len() != source.len() {
            return Some(SoftError::ValueSiteCountMismatch);
        }
        if source.is_empty() {
            return None;
        }
        let sites = self.profile.functions.sites_mut(target, kind);
        let order = &mut self.orders.of_mut(target)[kind as usize];
        let saturated = self.sites.merge(sites, order, source, weight);
        saturated.then_some(SoftError::CounterOverflow)
    }

    /// Adds counters to an existing record, for many files of one image whose records were found once.
    ///
    /// Neither side may have a pseudo count if the rules know them. The caller checks the first counter and calls
    /// [`merge_record`](Self::merge_record) then.
    pub(crate) fn merge_counters(&mut self, target: RecordId, counters: &[u64], weight: u64) -> Option<SoftError> {
        let sums = self.profile.functions.counters_mut(target);
        if sums.len() != counters.len() {
            return Some(SoftError::CountMismatch);
        }
        let saturated = add_weighted(sums, counters.into(), weight, self.rules.max_count);
        saturated.then_some(SoftError::CounterOverflow)
    }

    /// Adds bitmap bytes to an existing record, which must have the same number of them.
    pub(crate) fn merge_bitmap(&mut self, target: RecordId, bitmap: &[u8]) -> Option<SoftError> {
        let sums = self.profile.functions.bitmap_mut(target);
        if sums.len() != bitmap.len() {
            return Some(SoftError::BitmapMismatch);
        }
        sums.iter_mut().zip(bitmap).for_each(|(all, byte)| *all |= byte);
        None
    }

    /// Takes the sites of one kind out of a record, so that they can be changed elsewhere. The record has none until
    /// they are put back.
    pub(crate) fn take_sites(&mut self, record: RecordId, kind: ValueKind) -> TakenSites {
        if self.profile.functions.record(record).sites(kind).is_empty() {
            return TakenSites::default();
        }
        let order = self.orders.of(record)[kind as usize];
        TakenSites { sites: std::mem::take(self.profile.functions.sites_mut(record, kind)), order }
    }

    /// Puts sites back into a record.
    pub(crate) fn put_back_sites(&mut self, record: RecordId, kind: ValueKind, taken: TakenSites) {
        if !taken.sites.is_empty() {
            self.orders.of_mut(record)[kind as usize] = taken.order;
            *self.profile.functions.sites_mut(record, kind) = taken.sites;
        }
    }

    /// Returns a merger for sites that were taken out.
    pub(crate) fn site_merger(&self) -> SiteMerger {
        SiteMerger::new(&self.rules)
    }
}

// Addition of counter arrays with an upper limit.

/// Adds `source` times `weight` to `target`, counter by counter.
///
/// A product or sum that does not fit in 64 bits, or a result above `max`, becomes `max` (`InstrProfRecord::merge` in
/// LLVM). Returns true if that happened. Both sides have the same number of counters.
#[inline]
pub(super) fn add_weighted(target: &mut [u64], source: Counters<'_>, weight: u64, max: u64) -> bool {
    debug_assert_eq!(target.len(), source.len());
    let mut saturated = false;
    if weight == 1 {
        source.zip_with(target, |target, count| {
            let sum = target.wrapping_add(count);
            let over = (sum < count) | (sum > max);
            *target = if over { max } else { sum };
            saturated |= over;
        });
    } else {
        source.zip_with(target, |target, count| {
            let sum = count.checked_mul(weight).and_then(|product| product.checked_add(*target));
            let over = sum.is_none_or(|sum| sum > max);
            *target = sum.unwrap_or(max).min(max);
            saturated |= over;
        });
    }
    saturated
}

/// Multiplies every counter by `weight`, with the same upper limit.
pub(super) fn scale(counters: &mut [u64], weight: u64, max: u64) -> bool {
    let mut saturated = false;
    for counter in counters {
        let product = counter.checked_mul(weight);
        saturated |= product.is_none_or(|product| product > max);
        *counter = product.unwrap_or(max).min(max);
    }
    saturated
}

// GPU wave uniformity (LLVM 23 and later).
//
// Counts, which only raw files contain, can be added. The bits, which are all that an indexed file stores, can only be
// combined with AND: a block stays uniform if all inputs agree. Inputs without either change nothing.

impl Merger {
    /// Derives the uniformity of a new record as a merge leaves it.
    pub(super) fn take_over_uniformity(&mut self, record: RecordId, weight: u64) -> bool {
        let functions = &mut self.profile.functions;
        if functions.record(record).uniformity.counts.is_empty() {
            return false;
        }
        let counts = &mut functions.uniformity_mut(record).counts;
        let saturated = weight != 1 && scale(counts, weight, self.rules.max_count);
        self.derive_uniformity(record);
        saturated
    }

    /// Adds the uniformity of `source` to a record whose counters were already added. Returns true if a count reached
    /// its maximum.
    pub(super) fn merge_uniformity(&mut self, target: RecordId, source: RecordView<'_>, weight: u64) -> bool {
        let ours = self.profile.functions.uniformity_mut(target);
        let theirs = source.uniformity;
        if !ours.counts.is_empty() && ours.counts.len() == theirs.counts.len() {
            let saturated = add_weighted(&mut ours.counts, (&theirs.counts).into(), weight, self.rules.max_count);
            self.derive_uniformity(target);
            return saturated;
        }
        if !ours.counts.is_empty() && !theirs.counts.is_empty() {
            ours.clear();
            return false;
        }
        ours.counts.clear();
        let derived;
        let their_bits = match theirs.counts.is_empty() {
            true => &theirs.bits,
            false => {
                derived = theirs.derived_bits(&source.counters.to_words());
                &derived
            }
        };
        and_bits(&mut ours.bits, their_bits);
        false
    }

    /// Derives the bits from the counts.
    fn derive_uniformity(&mut self, record: RecordId) {
        let functions = &mut self.profile.functions;
        let view = functions.record(record);
        let bits = view.uniformity.derived_bits(&view.counters.to_words());
        functions.uniformity_mut(record).bits = bits;
    }
}

/// Combines the bits of both sides; clears them if the lengths differ. A side without bits has no effect.
fn and_bits(ours: &mut Vec<u8>, theirs: &[u8]) {
    match (ours.len(), theirs.len()) {
        (_, 0) => {}
        (0, _) => ours.extend_from_slice(theirs),
        (a, b) if a == b => ours.iter_mut().zip(theirs).for_each(|(all, byte)| *all &= byte),
        _ => ours.clear(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_saturate_with_an_error() {
        let max = u64::MAX - 2;
        let mut target = [1, max - 1, max, u64::MAX];
        assert!(!add_weighted(&mut target[..2], (&[2, 1][..]).into(), 1, max));
        assert_eq!(target[..2], [3, max]);
        assert!(add_weighted(&mut target[2..], (&[1, 0][..]).into(), 1, max));
        assert_eq!(target[2..], [max, max]);
        let mut target = [5, 5];
        assert!(add_weighted(&mut target, (&[u64::MAX / 2, 7][..]).into(), 3, max));
        assert_eq!(target, [max, 26]);
    }

    #[test]
    fn older_releases_fill_all_64_bits() {
        let mut target = [u64::MAX - 1];
        assert!(!add_weighted(&mut target, (&[1][..]).into(), 1, u64::MAX));
        assert!(add_weighted(&mut target, (&[1][..]).into(), 1, u64::MAX));
        assert_eq!(target, [u64::MAX]);
    }

    #[test]
    fn a_weight_destroys_a_pseudo_count() {
        let mut counters = [u64::MAX, 4];
        assert!(scale(&mut counters, 2, u64::MAX - 2));
        assert_eq!(counters, [u64::MAX - 2, 8]);
    }
}
