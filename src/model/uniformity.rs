//! How evenly the waves of a GPU ran through the blocks of a function.

/// Of one record: how often each block was entered by a whole wave, or what
/// is left of that in files. Programs of a host have neither (LLVM 23 on).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Uniformity {
    /// How often each block was entered with all lanes of the wave: one number
    /// for each counter. Only raw files have them.
    pub counts: Vec<u64>,
    /// One bit for each counter, the lowest bit of a byte first: set when the
    /// block is mostly entered with all lanes. Only indexed files have them.
    pub bits: Vec<u8>,
}

pub(super) static NO_UNIFORMITY: Uniformity = Uniformity { counts: Vec::new(), bits: Vec::new() };

impl Uniformity {
    /// Whether nothing is known.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.bits.is_empty()
    }

    /// Forgets everything and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.counts.clear();
        self.bits.clear();
    }

    /// The bits that follow from the counts, for a record with these counters:
    /// a block is uniform when at most a tenth of its entries, rounded down,
    /// were not. None when the numbers of counts differ, as with the
    /// timestamps of temporal profiles.
    ///
    /// Bits behind the last counter are set, as LLVM writes them.
    ///
    /// ```
    /// use profbridge::instr::Uniformity;
    ///
    /// let uniformity = Uniformity { counts: vec![90, 89, 0], bits: vec![] };
    /// assert_eq!(uniformity.derived_bits(&[100, 100, 0]), [0b1111_1101]);
    /// ```
    #[must_use]
    pub fn derived_bits(&self, counters: &[u64]) -> Vec<u8> {
        if self.counts.len() != counters.len() {
            return Vec::new();
        }
        let mut bits = vec![0xff; counters.len().div_ceil(8)];
        for (at, (uniform, count)) in self.counts.iter().zip(counters).enumerate() {
            if *uniform < count - count / 10 {
                bits[at / 8] &= !(1 << (at % 8));
            }
        }
        bits
    }

    /// Whether the block of a counter is uniform; `true` where the bits do not
    /// reach, `None` when there are none.
    pub fn is_uniform(&self, counter: usize) -> Option<bool> {
        let byte = self.bits.get(counter / 8).copied().unwrap_or(0xff);
        (!self.bits.is_empty()).then_some(byte >> (counter % 8) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_entries_may_diverge() {
        let cases = [(100, 90, true), (100, 89, false), (9, 9, true), (9, 8, false), (19, 18, true), (0, 0, true)];
        for (count, uniform, expected) in cases {
            let mut uniformity = Uniformity { counts: vec![uniform], bits: Vec::new() };
            uniformity.bits = uniformity.derived_bits(&[count]);
            assert_eq!(uniformity.is_uniform(0), Some(expected), "{uniform} of {count}");
        }
        let largest = Uniformity { counts: vec![u64::MAX - u64::MAX / 10], bits: Vec::new() };
        assert_eq!(largest.derived_bits(&[u64::MAX]), [0xff]);
    }

    #[test]
    fn bits_are_stored_lowest_first_and_padded_with_ones() {
        // U U D U D D U U D
        let counts = [10, 10, 0, 10, 0, 0, 10, 10, 0];
        let mut uniformity = Uniformity { counts: counts.to_vec(), bits: Vec::new() };
        uniformity.bits = uniformity.derived_bits(&[10; 9]);
        assert_eq!(uniformity.bits, [0xcb, 0xfe]);
        assert_eq!((uniformity.is_uniform(8), uniformity.is_uniform(9)), (Some(false), Some(true)));
        assert_eq!(uniformity.is_uniform(1000), Some(true));
        assert_eq!(Uniformity::default().is_uniform(0), None);
    }

    #[test]
    fn other_numbers_of_counts_are_not_uniformity() {
        let uniformity = Uniformity { counts: vec![1, 2], bits: Vec::new() };
        assert!(uniformity.derived_bits(&[1]).is_empty());
    }
}
