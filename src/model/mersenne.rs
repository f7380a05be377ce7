//! The random numbers that LLVM draws: the 32-bit Mersenne Twister MT19937
//! (Matsumoto and Nishimura, 1998) and the distributions of the GNU C++ library.
//!
//! Merging samples traces with it, ordering functions skips moves.

const LEN: usize = 624;
const SHIFT: usize = 397;

/// `std::mt19937`; equal seeds give equal numbers.
#[derive(Debug, Clone)]
pub(crate) struct Mersenne {
    state: Box<[u32; LEN]>,
    next: usize,
}

impl Mersenne {
    /// The seed that C++ takes by default.
    pub(crate) const DEFAULT_SEED: u32 = 5489;

    /// A generator at the beginning of its sequence.
    pub(crate) fn new(seed: u32) -> Self {
        let mut state = Box::new([0u32; LEN]);
        let mut word = seed;
        for (slot, at) in state.iter_mut().zip(1u32..) {
            *slot = word;
            word = (word ^ (word >> 30)).wrapping_mul(1_812_433_253).wrapping_add(at);
        }
        Self { state, next: LEN }
    }

    /// The next 32 random bits.
    pub(crate) fn draw(&mut self) -> u32 {
        if self.next == LEN {
            self.refill();
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    fn refill(&mut self) {
        for at in 0..LEN {
            let mixed = (self.state[at] & 0x8000_0000) | (self.state[(at + 1) % LEN] & 0x7fff_ffff);
            let twist = if mixed & 1 == 0 { 0 } else { 0x9908_b0df };
            self.state[at] = self.state[(at + SHIFT) % LEN] ^ (mixed >> 1) ^ twist;
        }
        self.next = 0;
    }

    /// A number from 0 to `high`, as libstdc++'s `uniform_int_distribution`
    /// makes it for ranges below 32 bits.
    pub(crate) fn uniform(&mut self, high: u32) -> u32 {
        let Some(range) = high.checked_add(1) else { return self.draw() };
        let mut product = u64::from(self.draw()) * u64::from(range);
        if (product as u32) < range {
            let threshold = range.wrapping_neg() % range;
            while (product as u32) < threshold {
                product = u64::from(self.draw()) * u64::from(range);
            }
        }
        (product >> 32) as u32
    }

    /// A number from 0 up to but not including 1, from one draw, as
    /// libstdc++'s `uniform_real_distribution<float>` makes it.
    pub(crate) fn unit_f32(&mut self) -> f32 {
        let value = self.draw() as f32 / 4_294_967_296.0;
        // The largest draws round up to 1, which lies outside.
        if value >= 1.0 { 1.0f32.next_down() } else { value }
    }

    /// Shuffles as LLVM's `shuffle` of `STLExtras.h`.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        let len = items.len();
        for at in 0..len.saturating_sub(1) {
            let left = (len - at) as u64;
            let offset = u64::from(self.draw()) % left;
            items.swap(at, at + offset as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ten_thousandth_number_is_the_one_of_the_standard() {
        let mut twister = Mersenne::new(Mersenne::DEFAULT_SEED);
        let last = (0..10_000).map(|_| twister.draw()).last();
        // ISO C++ requires this value of a default-constructed mt19937.
        assert_eq!(last, Some(4_123_659_995));
    }

    #[test]
    fn uniform_numbers_stay_in_range() {
        let mut twister = Mersenne::new(Mersenne::DEFAULT_SEED);
        for high in [0, 1, 2, 99, u32::MAX - 1, u32::MAX] {
            assert!((0..100).all(|_| twister.uniform(high) <= high));
        }
    }

    #[test]
    fn fractions_are_those_of_libstdcxx() {
        let mut twister = Mersenne::new(1);
        let drawn = [(); 4].map(|()| twister.unit_f32());
        assert_eq!(drawn, [0.417_022, 0.997_184_8, 0.720_324_5, 0.932_557_34]);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&twister.unit_f32())));
    }
}
