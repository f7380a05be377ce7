//! A hash index of numbers whose keys are kept elsewhere.

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

#[cfg(test)]
mod tests {
    use super::*;

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
