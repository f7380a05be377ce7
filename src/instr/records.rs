//! Merging one record into another, or adding a first one: counters, bitmaps, value sites.

use crate::instr::add_counters;
use crate::instr::merger::Merger;
use crate::instr::rules::{AddOutcome, SoftError, Weights};
use crate::instr::sites::{SiteMerger, TakenSites, exceeds, sort_sites};
use crate::model::{FunctionId, PseudoCount, RecordId, RecordView, ValueKind, ValueSites};

impl Merger {
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
            saturated = add_counters::scale(counters, weights.counters, self.rules.max_count);
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
        let saturated = weight != 1 && add_counters::scale_values(sites.values_mut(), weight);
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
        let saturated = add_counters::add_weighted(counters, source.counters, weights.counters, self.rules.max_count);
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
        let saturated = add_counters::add_weighted(sums, counters.into(), weight, self.rules.max_count);
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
        let saturated = weight != 1 && add_counters::scale(counts, weight, self.rules.max_count);
        self.derive_uniformity(record);
        saturated
    }

    /// Adds the uniformity of `source` to a record whose counters were already added. Returns true if a count reached
    /// its maximum.
    pub(super) fn merge_uniformity(&mut self, target: RecordId, source: RecordView<'_>, weight: u64) -> bool {
        let ours = self.profile.functions.uniformity_mut(target);
        let theirs = source.uniformity;
        if !ours.counts.is_empty() && ours.counts.len() == theirs.counts.len() {
            let saturated =
                add_counters::add_weighted(&mut ours.counts, (&theirs.counts).into(), weight, self.rules.max_count);
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
