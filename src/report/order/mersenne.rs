//! The random numbers that balanced partitioning draws: the Mersenne twister
//! MT19937 (Matsumoto and Nishimura, 1998), 32 bits.

const LEN: usize = 624;
const SHIFT: usize = 397;
const UPPER: u32 = 0x8000_0000;

/// A generator; equal seeds give equal sequences.
pub(super) struct Mersenne {
    state: [u32; LEN],
    at: usize,
}

impl Mersenne {
    /// Seeds with Knuth's multiplicative rule.
    pub(super) fn new(seed: u32) -> Self {
        let mut state = [seed; LEN];
        for index in 1..LEN {
            let before = state[index - 1];
            state[index] = (before ^ (before >> 30)).wrapping_mul(1_812_433_253).wrapping_add(index as u32);
        }
        Self { state, at: LEN }
    }

    /// The next number.
    pub(super) fn next_u32(&mut self) -> u32 {
        if self.at == LEN {
            self.twist();
        }
        let mut value = self.state[self.at];
        self.at += 1;
        value ^= value >> 11;
        value ^= (value << 7) & 0x9d2c_5680;
        value ^= (value << 15) & 0xefc6_0000;
        value ^ (value >> 18)
    }

    /// A number in [0, 1), from one draw: what `uniform_real_distribution<float>`
    /// gives with the GNU C++ library.
    pub(super) fn next_f32(&mut self) -> f32 {
        let value = self.next_u32() as f32 / 4_294_967_296.0;
        // The largest draws round up to 1, which lies outside.
        if value >= 1.0 { 1.0f32.next_down() } else { value }
    }

    fn twist(&mut self) {
        for index in 0..LEN {
            let joined = (self.state[index] & UPPER) | (self.state[(index + 1) % LEN] & !UPPER);
            let mixed = (joined >> 1) ^ if joined & 1 == 0 { 0 } else { 0x9908_b0df };
            self.state[index] = self.state[(index + SHIFT) % LEN] ^ mixed;
        }
        self.at = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ten_thousandth_number_is_the_published_one() {
        // The C++ standard requires it of `mt19937` seeded with 5489.
        let mut generator = Mersenne::new(5489);
        let last = (0..10_000).map(|_| generator.next_u32()).last();
        assert_eq!(last, Some(4_123_659_995));
    }

    #[test]
    fn floats_stay_below_one() {
        let mut generator = Mersenne::new(1);
        assert!((0..1000).map(|_| generator.next_f32()).all(|value| (0.0..1.0).contains(&value)));
    }
}
