//! Random lifetimes and densities, for tests of compilers.

use super::fields::Field;
use super::model::MemoryProfile;

/// Makes every allocation site hot or cold by chance: the same chance as
/// `llvm-profdata --memprof-random-hotness` on Linux, which asks the C library.
pub fn random_hotness(profile: &mut MemoryProfile, seed: u32) {
    let mut random = Random::new(seed);
    let sites = profile.records_mut().iter_mut().flat_map(|record| &mut record.alloc_sites);
    for site in sites {
        let cold = random.next() % 2 == 1;
        let (lifetime, density) = if cold { (u64::MAX, 0) } else { (0, u64::MAX) };
        site.info.set(Field::TotalLifetime, lifetime);
        site.info.set(Field::TotalLifetimeAccessDensity, density);
    }
}

/// `rand` of glibc: each number is the sum of those 3 and 31 before it.
struct Random {
    state: [u32; 31],
    at: usize,
}

impl Random {
    fn new(seed: u32) -> Self {
        let mut state = [0; 31];
        // The first numbers are those of Lehmer's generator.
        let mut word = i64::from(seed.max(1) as i32);
        for slot in &mut state {
            *slot = word as u32;
            word = word * 16807 % 2_147_483_647;
            if word < 0 {
                word += 2_147_483_647;
            }
        }
        let mut random = Self { state, at: 3 };
        (0..310).for_each(|_| {
            random.next();
        });
        random
    }

    fn next(&mut self) -> u32 {
        let three_before = self.state[(self.at + 28) % 31];
        let slot = &mut self.state[self.at];
        *slot = slot.wrapping_add(three_before);
        self.at = (self.at + 1) % 31;
        *slot >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_glibc() {
        let mut random = Random::new(1);
        assert_eq!([random.next(), random.next(), random.next()], [1_804_289_383, 846_930_886, 1_681_692_777]);
    }
}
