//! Adding up how evenly the waves of a GPU ran (LLVM 23 on).
//!
//! Counts, which only raw files have, are evidence that adds up. Bits, which
//! are all that an indexed file keeps of it, can only be and-ed: a block stays
//! uniform when every input says so. Inputs without either change nothing.

use crate::instr::add_counters;
use crate::instr::merger::Merger;
use crate::model::{RecordId, RecordView};

impl Merger {
    /// Makes a new record's uniformity what a merge leaves of it.
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

    /// Adds the uniformity of `source` to a record whose counters were added
    /// up already. Returns whether a count reached its maximum.
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

    /// Makes the bits those that follow from the counts.
    fn derive_uniformity(&mut self, record: RecordId) {
        let functions = &mut self.profile.functions;
        let view = functions.record(record);
        let bits = view.uniformity.derived_bits(&view.counters.to_words());
        functions.uniformity_mut(record).bits = bits;
    }
}

/// Leaves the bits that both have; none when the lengths differ. Who has none
/// knows nothing.
fn and_bits(ours: &mut Vec<u8>, theirs: &[u8]) {
    match (ours.len(), theirs.len()) {
        (_, 0) => {}
        (0, _) => ours.extend_from_slice(theirs),
        (a, b) if a == b => ours.iter_mut().zip(theirs).for_each(|(all, byte)| *all &= byte),
        _ => ours.clear(),
    }
}
