//! Where items are that are kept in a list, by their hashes.
//!
//! A hash table of positions alone would have to ask for the hash of every item
//! again when it grows, and look at items that merely share a few bits of it.
//! Here half of each hash stands beside the position.

use crate::memory::TryReserve;
use hashbrown::HashTable;

/// Positions of items by the items' hashes.
#[derive(Debug, Clone, Default)]
pub(crate) struct HashIndex(HashTable<Slot>);

#[derive(Debug, Clone, Copy)]
struct Slot {
    tag: u32,
    at: u32,
}

impl Slot {
    /// For the table, which takes bits from both ends.
    #[inline]
    fn hash(&self) -> u64 {
        spread(self.tag)
    }
}

/// The half of a hash that is kept.
#[inline]
fn tag(hash: u64) -> u32 {
    (hash ^ (hash >> 32)) as u32
}

#[inline]
fn spread(tag: u32) -> u64 {
    u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl HashIndex {
    /// How many positions there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The position of an item of this hash that is the one.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_same: impl FnMut(u32) -> bool) -> Option<u32> {
        let tag = tag(hash);
        self.0.find(spread(tag), |slot| slot.tag == tag && is_same(slot.at)).map(|slot| slot.at)
    }

    /// Adds the position of an item that is not there.
    pub(crate) fn insert(&mut self, hash: u64, at: u32) {
        let tag = tag(hash);
        self.0.insert_unique(spread(tag), Slot { tag, at }, Slot::hash);
    }
}

impl TryReserve for HashIndex {
    #[inline]
    fn try_reserve_more(&mut self, more: usize) -> bool {
        self.0.try_reserve(more, Slot::hash).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Hashes that are spread, and that are the same in one half or in both.
    fn hash() -> impl Strategy<Value = u64> {
        prop_oneof![4 => any::<u64>(), 1 => 0u64..3, 1 => (0u64..3).prop_map(|high| high << 32)]
    }

    proptest! {
        #[test]
        fn only_added_entries_are_found(
            hashes in prop::collection::vec(hash(), 0..300),
            others in prop::collection::vec(hash(), 0..20),
            announced in prop::collection::vec(0usize..400, 0..4),
        ) {
            let mut index = HashIndex::default();
            for (at, hash) in (0u32..).zip(&hashes) {
                if at % 64 == 0 && let Some(more) = announced.get(at as usize / 64) {
                    prop_assert!(index.try_reserve_more(*more));
                }
                index.insert(*hash, at);
            }
            prop_assert_eq!(index.len(), hashes.len());
            for (at, hash) in (0u32..).zip(&hashes) {
                prop_assert_eq!(index.find(*hash, |found| found == at), Some(at));
            }
            for hash in others {
                let mut asked = Vec::new();
                prop_assert_eq!(index.find(hash, |at| { asked.push(at); false }), None);
                asked.sort_unstable();
                let same: Vec<u32> = (0u32..).zip(&hashes).filter(|(_, one)| tag(**one) == tag(hash)).map(|(at, _)| at).collect();
                prop_assert_eq!(asked, same);
            }
        }
    }

    #[test]
    fn failed_reservations_are_reported() {
        assert!(!HashIndex::default().try_reserve_more(usize::MAX / 64));
    }
}
