//! A hash index of numbers whose keys are kept elsewhere.

use std::hint::black_box;

/// From hashes to numbers, which are positions in a list that holds the keys.
///
/// Each slot keeps what the number leaves of 32 bits for a part of the hash: few
/// numbers of other keys are ever looked at.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    /// The lower bits are the number plus one, or 0, the upper ones part of the hash; a power of two of them.
    slots: Vec<u32>,
}

const FEWEST_SLOTS: usize = 16;

impl Index {
    /// Where a key of this hash is looked for first.
    #[inline]
    fn first_slot(&self, hash: u64) -> usize {
        (hash >> 32) as usize & self.slots.len().wrapping_sub(1)
    }

    /// How many bits of a slot are the number's: all numbers are below the number of slots.
    #[inline]
    fn number_bits(&self) -> u32 {
        self.slots.len().trailing_zeros()
    }

    /// The number of this hash for which `same` is true.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut same: impl FnMut(u32) -> bool) -> Option<u32> {
        let (mask, bits) = (self.slots.len().wrapping_sub(1), self.number_bits());
        let mut at = self.first_slot(hash);
        // An index without slots has none to look at; any other has an empty one.
        while let Some(slot) = self.slots.get(at).map(|slot| u64::from(*slot)).filter(|slot| *slot != 0) {
            if slot >> bits == u64::from(hash as u32) >> bits {
                let number = ((slot & ((1 << bits) - 1)) as u32).wrapping_sub(1);
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
        let slot = |hash: u64| self.slots.get(self.first_slot(hash)).copied().unwrap_or(0);
        black_box(hashes.fold(0, |sum, hash| sum ^ slot(hash)));
    }

    /// Adds a number whose key is not there. `hashes` are those of all lower numbers, or none
    /// of numbers that were not added.
    ///
    /// # Panics
    ///
    /// With a number of more than 2^31, for which there is no room.
    #[inline]
    pub(crate) fn insert<H: Iterator<Item = Option<u64>>>(
        &mut self,
        hash: u64,
        number: u32,
        hashes: impl FnOnce() -> H,
    ) {
        // Numbers that were not added count, too: the higher they are, the more bits they need.
        if 4 * u64::from(number) + 4 > 3 * self.slots.len() as u64 {
            let slots = (u64::from(number) + 2).next_power_of_two() * 2;
            let slots =
                usize::try_from(slots).ok().filter(|slots| slots.ilog2() <= 32).expect("fewer than 2^31 elements");
            self.slots = vec![0; slots.max(FEWEST_SLOTS)];
            for (number, hash) in (0..number).zip(hashes()) {
                hash.into_iter().for_each(|hash| self.place(hash, number));
            }
        }
        self.place(hash, number);
    }

    /// Puts a number where it belongs, or behind that.
    #[inline]
    fn place(&mut self, hash: u64, number: u32) {
        let (mask, bits) = (self.slots.len() - 1, self.number_bits());
        let mut at = self.first_slot(hash);
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = (u64::from(hash as u32) >> bits << bits) as u32 | (number + 1);
    }
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
        // Hashes that begin alike, and many that are equal; every tenth number is left out.
        let hash = |number: u32| u64::from(number % 100) * ((1 << 33) + (1 << 25));
        let is_left_out = |number: u32| number % 10 == 3;
        for number in (0..1000).filter(|number| !is_left_out(*number)) {
            index.insert(hash(number), number, || (0..).map(|number| (!is_left_out(number)).then(|| hash(number))));
        }
        for number in 0..1000 {
            let expected = (!is_left_out(number)).then_some(number);
            assert_eq!(index.find(hash(number), |found| found == number), expected);
        }
        assert_eq!(index.find(hash(5), |found| found == 6), None);
        assert_eq!(index.find(1 << 24, |_| true), None);
    }
}
