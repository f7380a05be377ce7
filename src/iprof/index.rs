//! A hash index of numbers whose keys are kept elsewhere.

use std::hint::black_box;

/// From hashes to numbers, usually positions in a list that holds the keys.
///
/// Each slot keeps 32 bits of the hash beside the number: few numbers of other
/// keys are ever looked at, and growing touches nothing but the slots.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    /// The upper half is part of the hash, the lower one the number plus one, or 0; a power of two of them.
    slots: Vec<u64>,
    len: usize,
}

const FEWEST_SLOTS: usize = 16;

impl Index {
    /// The number of this hash for which `same` is true.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut same: impl FnMut(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len().wrapping_sub(1);
        let tag = hash >> 32;
        let mut at = tag as usize & mask;
        // An index without slots has none to look at; any other has an empty one.
        while let Some(slot) = self.slots.get(at).filter(|slot| **slot != 0) {
            if slot >> 32 == tag {
                let number = (*slot as u32).wrapping_sub(1);
                if same(number) {
                    return Some(number);
                }
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// Brings the slots of hashes that will soon be asked for near: waiting for
    /// all of them at once takes hardly longer than waiting for one.
    #[inline]
    pub(crate) fn fetch(&self, hashes: impl Iterator<Item = u64>) {
        let mask = self.slots.len().wrapping_sub(1);
        let slot = |hash: u64| self.slots.get((hash >> 32) as usize & mask).copied().unwrap_or(0);
        black_box(hashes.fold(0, |sum, hash| sum ^ slot(hash)));
    }

    /// Adds a number that is not there.
    ///
    /// # Panics
    ///
    /// With 2^32 - 1, the one number that has no successor.
    #[inline]
    pub(crate) fn insert(&mut self, hash: u64, number: u32) {
        if 4 * self.len >= 3 * self.slots.len() {
            self.grow();
        }
        let stored = number.checked_add(1).expect("fewer than 2^32 - 1 elements");
        self.len += 1;
        place(&mut self.slots, hash >> 32 << 32 | u64::from(stored));
    }

    fn grow(&mut self) {
        let mut slots = vec![0; (2 * self.slots.len()).max(FEWEST_SLOTS)];
        self.slots.iter().filter(|slot| **slot != 0).for_each(|slot| place(&mut slots, *slot));
        self.slots = slots;
    }
}

/// Puts a filled slot where it belongs, or behind that.
#[inline]
fn place(slots: &mut [u64], filled: u64) {
    let mask = slots.len() - 1;
    let mut at = (filled >> 32) as usize & mask;
    while slots[at] != 0 {
        at = (at + 1) & mask;
    }
    slots[at] = filled;
}

/// A set of keys that are evenly spread already, such as hashes.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeySet {
    /// The key 0 is kept as 1; 0 is a slot without a key. A power of two of them.
    slots: Vec<u128>,
    len: usize,
}

impl KeySet {
    /// Brings the slots of keys that will soon be added near, as [`Index::fetch`] does.
    #[inline]
    pub(crate) fn fetch(&self, keys: &[u128]) {
        let mask = self.slots.len().wrapping_sub(1);
        let slot = |key: u128| self.slots.get(key as usize & mask).copied().unwrap_or(0);
        black_box(keys.iter().fold(0, |sum, key| sum ^ slot(*key)));
    }

    /// Adds a key; false when it was there.
    #[inline]
    pub(crate) fn insert(&mut self, key: u128) -> bool {
        if 8 * self.len >= 7 * self.slots.len() {
            let mut slots = vec![0; (2 * self.slots.len()).max(FEWEST_SLOTS)];
            for slot in self.slots.iter().filter(|slot| **slot != 0) {
                find_or_insert(&mut slots, *slot);
            }
            self.slots = slots;
        }
        let added = find_or_insert(&mut self.slots, key.max(1));
        self.len += usize::from(added);
        added
    }
}

/// Finds a key its slot; false when it has one already.
#[inline]
fn find_or_insert(slots: &mut [u128], key: u128) -> bool {
    let mask = slots.len() - 1;
    let mut at = key as usize & mask;
    while slots[at] != 0 {
        if slots[at] == key {
            return false;
        }
        at = (at + 1) & mask;
    }
    slots[at] = key;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_added_once() {
        let mut keys = KeySet::default();
        let key = |number: u128| (number % 7) << 120 | number << 3;
        assert!((0..1000).all(|number| keys.insert(key(number))));
        assert!(!(0..1000).any(|number| keys.insert(key(number))));
        assert!(keys.insert(1 << 127));
    }

    #[test]
    fn numbers_are_found_by_hash_and_key() {
        let mut index = Index::default();
        assert_eq!(index.find(7, |_| true), None);
        // Hashes that begin alike, and many that are equal.
        let hash = |number: u32| u64::from(number % 100) << 33;
        for number in 0..1000 {
            index.insert(hash(number), number);
        }
        for number in 0..1000 {
            assert_eq!(index.find(hash(number), |found| found == number), Some(number));
        }
        assert_eq!(index.find(hash(5), |found| found == 6), None);
        assert_eq!(index.find(1 << 32, |_| true), None);
    }
}
