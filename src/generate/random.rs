//! The random numbers of generated profiles.

/// A generator of random numbers, the same on every machine and in every release.
///
/// The algorithm is SplitMix64 of Steele, Lea and Flood: a 64-bit state grows by the constant
/// `0x9e3779b97f4a7c15`, and each number is a mixed copy of it. It is part of the promise that
/// one seed gives one file, so it never changes.
///
/// ```
/// use profbridge::generate::Random;
///
/// let mut random = Random::new(0);
/// assert_eq!(random.next_number(), 0xe220_a839_7b1d_cdaf);
/// assert!(random.below(10) < 10);
/// ```
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

impl Random {
    /// Makes a generator that begins with this state.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Makes a generator for one thing among others, for example one function of one file. So a function does not
    /// depend on the functions before it.
    pub fn of(parts: &[u64]) -> Self {
        Self { state: parts.iter().fold(0, |state: u64, part| mix(state.wrapping_add(STEP) ^ part)) }
    }

    /// Returns a number of 64 random bits.
    pub fn next_number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// Returns a number from 0 to `limit - 1`; 0 if the limit is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        // The upper half of the product is below the limit.
        ((u128::from(self.next_number()) * u128::from(limit)) >> 64) as u64
    }

    /// Returns true in this percentage of all calls.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns a count: often 0 or small, rarely up to 2^36.
    pub(super) fn count(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => {
                let bits = self.below(30);
                self.next_number() >> (28 + bits)
            }
            _ => self.below(1000),
        }
    }

    /// Returns a position in a list of this length; 0 if it is empty.
    pub(super) fn position(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_algorithm() {
        let mut random = Random::new(1_234_567);
        let first = [0; 3].map(|_| random.next_number());
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn a_limit_bounds_numbers() {
        let mut random = Random::new(7);
        assert!((0..1000).all(|_| random.below(3) < 3));
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn parts_give_independent_numbers() {
        let first = |parts: &[u64]| Random::of(parts).next_number();
        assert_ne!(first(&[1, 2]), first(&[2, 1]));
        assert_ne!(first(&[1]), first(&[1, 0]));
        assert_eq!(first(&[1, 2, 3]), first(&[1, 2, 3]));
    }
}
