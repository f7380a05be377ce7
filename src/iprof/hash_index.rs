//! Where items are that are kept in a list, by their hashes.
//!
//! A hash table of numbers alone would have to ask for the hash of every item
//! again when it grows, and look at items that merely share a few bits of it.
//! Here half of each hash stands beside the number, and slots are in its order:
//! growing is copying from front to back, and looking for what is not there
//! mostly touches one line of memory.

use crate::memory::Growing;
use std::hint::black_box;
use std::mem;

/// Half of a hash in the upper half, a position in the lower one.
type Slot = u64;

/// A free slot; greater than any other.
const FREE: Slot = Slot::MAX;
/// Slots of the smallest table.
const FEWEST: usize = 16;

/// Positions of items by the items' hashes: open addressing with linear probing, each slot where its hash is in
/// proportion to all hashes, or as soon behind as those before it allow.
#[derive(Debug, Clone, Default)]
pub(crate) struct HashIndex {
    slots: Vec<Slot>,
    /// Slots over which hashes are spread. A few follow for those that the last ones do not take.
    spread: usize,
    len: usize,
}

/// The half of a hash that is kept.
#[inline]
fn tag(hash: u64) -> u64 {
    (hash ^ (hash >> 32)) & u64::from(u32::MAX)
}

/// The first slot for what has this half of a hash.
#[inline]
fn home(tag: u64, spread: usize) -> usize {
    ((u128::from(tag) * spread as u128) >> 32) as usize
}

impl HashIndex {
    /// How many positions there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The position of an item of this hash that is the one.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_same: impl FnMut(u32) -> bool) -> Option<u32> {
        let tag = tag(hash);
        let slots = self.slots.get(home(tag, self.spread)..)?;
        let near = slots.iter().take_while(|slot| **slot >> 32 <= tag && **slot != FREE);
        near.filter(|slot| **slot >> 32 == tag).map(|slot| *slot as u32).find(|at| is_same(*at))
    }

    /// Brings what [`find`](Self::find) will look at near the processor.
    #[inline]
    pub(crate) fn fetch(&self, hash: u64) {
        black_box(self.slots.get(home(tag(hash), self.spread)).copied());
    }

    /// Adds the position of an item that is not there.
    ///
    /// # Panics
    ///
    /// With the position 2^32 - 1.
    pub(crate) fn insert(&mut self, hash: u64, at: u32) {
        assert_ne!(at, u32::MAX, "fewer than 2^32 items");
        if self.len >= self.most() {
            let grown = self.slots_for(self.len + 1);
            self.spread_over(grown, Vec::with_capacity(Self::memory_for(grown)));
        }
        let tag = tag(hash);
        let start = home(tag, self.spread);
        let behind = self.slots[start..].iter().position(|slot| *slot >> 32 > tag || *slot == FREE);
        let place = behind.map_or(self.slots.len(), |behind| start + behind);
        let mut moved = tag << 32 | u64::from(at);
        // What follows without a gap makes way.
        for slot in &mut self.slots[place..] {
            moved = mem::replace(slot, moved);
            if moved == FREE {
                break;
            }
        }
        if moved != FREE {
            self.slots.push(moved);
        }
        self.len += 1;
    }
}

impl HashIndex {
    /// How many positions the slots may hold: seven eighths, beyond which looking takes long.
    fn most(&self) -> usize {
        self.spread / 8 * 7
    }

    /// Slots for so many positions, and half as many again as there are.
    fn slots_for(&self, len: usize) -> usize {
        FEWEST.max(self.spread / 2 * 3).max(len.div_ceil(7) * 8)
    }

    /// Slots of which there is memory: those behind the last one as well.
    fn memory_for(spread: usize) -> usize {
        spread + spread / 64 + FEWEST
    }

    /// Moves everything to more slots, for which there is memory.
    fn spread_over(&mut self, spread: usize, mut slots: Vec<Slot>) {
        for slot in self.slots.iter().filter(|slot| **slot != FREE) {
            let home = home(slot >> 32, spread);
            if slots.len() < home {
                slots.resize(home, FREE);
            }
            slots.push(*slot);
        }
        slots.resize(spread.max(slots.len()), FREE);
        (self.slots, self.spread) = (slots, spread);
    }
}

impl Growing for HashIndex {
    #[inline]
    fn try_grow(&mut self, more: usize) -> bool {
        if self.len + more <= self.most() {
            return true;
        }
        let grown = self.slots_for(self.len + more);
        let mut slots = Vec::new();
        let has_room = slots.try_grow(Self::memory_for(grown));
        if has_room {
            self.spread_over(grown, slots);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hashes that are spread, that share their slots, and that belong to the last slot.
    fn hash() -> impl Strategy<Value = u64> {
        prop_oneof![4 => any::<u64>(), 1 => 0u64..3, 1 => (0u64..3).prop_map(|low| u64::from(u32::MAX) - low)]
    }

    proptest! {
        #[test]
        fn what_was_added_is_found_and_nothing_else(
            hashes in prop::collection::vec(hash(), 0..300),
            others in prop::collection::vec(hash(), 0..20),
            announced in prop::collection::vec(0usize..400, 0..4),
        ) {
            let mut index = HashIndex::default();
            for (at, hash) in (0u32..).zip(&hashes) {
                if at % 64 == 0 && let Some(more) = announced.get(at as usize / 64) {
                    prop_assert!(index.try_grow(*more));
                }
                index.fetch(*hash);
                index.insert(*hash, at);
            }
            prop_assert_eq!(index.len(), hashes.len());
            for (at, hash) in (0u32..).zip(&hashes) {
                prop_assert_eq!(index.find(*hash, |found| found == at), Some(at));
            }
            for hash in others {
                let mut asked = Vec::new();
                prop_assert_eq!(index.find(hash, |at| { asked.push(at); false }), None);
                let same: Vec<u32> = (0u32..).zip(&hashes).filter(|(_, one)| tag(**one) == tag(hash)).map(|(at, _)| at).collect();
                // In the order in which they were added.
                prop_assert_eq!(asked, same);
            }
        }
    }

    #[test]
    fn slots_that_are_asked_for_are_enough() {
        let mut index = HashIndex::default();
        assert!(index.try_grow(1000));
        let slots = index.slots.as_ptr();
        (0..1000).for_each(|at| index.insert(u64::from(at) << 50, at));
        assert_eq!((index.slots.as_ptr(), index.len()), (slots, 1000));
        assert!(!index.try_grow(usize::MAX / 64));
        assert_eq!(index.find(7 << 50, |at| at == 7), Some(7));
    }
}
