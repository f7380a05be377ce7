//! Classifies allocations as hot or cold, like a compiler.

use crate::memprof::fields::{Field, MemInfoBlock};
use crate::memprof::model::{CallStacks, Frame, FrameHandle, MemoryProfile};
use foldhash::HashMap;
use std::fmt;

/// The allocation type that a compiler infers for a context (`getAllocType` in `MemoryProfileInfo.cpp`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[cfg_attr(feature = "cli", value(rename_all = "lower"))]
#[non_exhaustive]
pub enum Hotness {
    /// Long-lived and rarely accessed.
    Cold,
    /// Neither cold nor hot.
    NotCold,
    /// Frequently accessed.
    ///
    /// A compiler only uses this class with `-memprof-use-hot-hints`; otherwise these allocations are `NotCold`.
    Hot,
}

/// The thresholds of the classes, which LLVM's options `--memprof-*` change.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct HotnessThresholds {
    /// Accesses per byte and second below which long-lived allocations are cold.
    pub cold_density: f32,
    /// Seconds from which an allocation is long-lived.
    pub cold_lifetime: u32,
    /// Accesses per byte and second above which an allocation is hot.
    pub hot_density: u32,
    /// Whether allocations can be hot. Otherwise these are `NotCold`.
    pub hot_hints: bool,
}

impl Default for HotnessThresholds {
    fn default() -> Self {
        Self { cold_density: 0.05, cold_lifetime: 200, hot_density: 1000, hot_hints: false }
    }
}

impl HotnessThresholds {
    /// Returns the class of a block. Without allocations, LLVM divides by zero too.
    pub(crate) fn class_of(&self, info: &MemInfoBlock) -> Hotness {
        let count = info.alloc_count() as f32;
        // Densities are stored in hundredths.
        let density = info.value(Field::TotalLifetimeAccessDensity) as f32 / count / 100.0;
        let lifetime = info.value(Field::TotalLifetime) as f32 / count;
        // Lifetimes are stored in milliseconds. LLVM's product has 32 bits.
        if density < self.cold_density && lifetime >= self.cold_lifetime.wrapping_mul(1000) as f32 {
            Hotness::Cold
        } else if self.hot_hints && density > self.hot_density as f32 {
            Hotness::Hot
        } else {
            Hotness::NotCold
        }
    }
}

impl Hotness {
    /// Returns the class of a block by LLVM's default thresholds, with hot hints.
    pub fn of(info: &MemInfoBlock) -> Self {
        HotnessThresholds { hot_hints: true, ..HotnessThresholds::default() }.class_of(info)
    }

    /// Returns `cold`, `notcold` or `hot`, as in the compiler's attributes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::NotCold => "notcold",
            Self::Hot => "hot",
        }
    }
}

impl fmt::Display for Hotness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// LLVM's summary of a whole profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct MemProfSummary {
    /// The number of different call stacks of allocations.
    pub contexts: u64,
    /// The number of cold contexts.
    pub cold_contexts: u64,
    /// The number of hot contexts.
    pub hot_contexts: u64,
    /// Maximum bytes of a cold context.
    pub max_cold_total_size: u64,
    /// Maximum bytes of a context that is neither hot nor cold.
    pub max_warm_total_size: u64,
    /// Maximum bytes of a hot context.
    pub max_hot_total_size: u64,
}

/// The identity of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContextKey {
    /// All data of the frames.
    Frames,
    /// Function, line and column of the frames.
    Places,
}

impl MemProfSummary {
    /// Computes the summary that indexed profiles store.
    pub fn of(profile: &MemoryProfile, thresholds: &HotnessThresholds) -> Self {
        Self::by(profile, ContextKey::Frames, thresholds)
    }

    /// Computes the summary of contexts that are distinguished by `key`.
    pub(super) fn by(profile: &MemoryProfile, key: ContextKey, thresholds: &HotnessThresholds) -> Self {
        let mut summary = Self::default();
        let places = match key {
            ContextKey::Frames => None,
            ContextKey::Places => common_places(profile.stacks.frames()),
        };
        let mut seen = vec![false; profile.stacks.len()];
        let (mut known, mut stack) = (CallStacks::new(), Vec::new());
        for site in profile.alloc_sites() {
            if std::mem::replace(&mut seen[site.stack.index()], true) {
                continue;
            }
            if let Some(places) = &places {
                stack.clear();
                stack.extend(profile.stacks.stack(site.stack).iter().map(|frame| places[frame.index()]));
                let before = known.len();
                known.intern(&stack);
                if known.len() == before {
                    continue;
                }
            }
            summary.add(&site.info, thresholds.class_of(&site.info));
        }
        summary
    }

    fn add(&mut self, info: &MemInfoBlock, class: Hotness) {
        self.contexts += 1;
        let largest = match class {
            Hotness::Cold => {
                self.cold_contexts += 1;
                &mut self.max_cold_total_size
            }
            Hotness::NotCold => &mut self.max_warm_total_size,
            Hotness::Hot => {
                self.hot_contexts += 1;
                &mut self.max_hot_total_size
            }
        };
        *largest = (*largest).max(info.total_size());
    }

    /// Returns the six numbers in the order of files.
    pub(super) fn numbers(&self) -> [u64; 6] {
        let Self { contexts, cold_contexts, hot_contexts, .. } = *self;
        let Self { max_cold_total_size, max_warm_total_size, max_hot_total_size, .. } = *self;
        [contexts, cold_contexts, hot_contexts, max_cold_total_size, max_warm_total_size, max_hot_total_size]
    }

    pub(super) fn from_numbers(numbers: [u64; 6]) -> Self {
        let [contexts, cold_contexts, hot_contexts, max_cold_total_size, max_warm_total_size, max_hot_total_size] =
            numbers;
        Self { contexts, cold_contexts, hot_contexts, max_cold_total_size, max_warm_total_size, max_hot_total_size }
    }
}

/// Returns for each frame the first one with the same function, line and column. Returns `None` if no two frames share
/// these, which is the usual case.
fn common_places(frames: &[Frame]) -> Option<Vec<FrameHandle>> {
    let mut first = HashMap::default();
    let place = |(frame, at): (&Frame, u32)| {
        let place = (frame.function, frame.line_offset, frame.column);
        *first.entry(place).or_insert(FrameHandle::from_index(at))
    };
    let places: Vec<FrameHandle> = frames.iter().zip(0..).map(place).collect();
    (first.len() < frames.len()).then_some(places)
}

// Random lifetimes and densities, for tests of compilers.

/// Makes every allocation site hot or cold randomly, with the same random numbers as `llvm-profdata
/// --memprof-random-hotness` on Linux, which uses the C library.
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

/// `rand` of glibc: each number is the sum of the numbers 3 and 31 positions before it.
struct Random {
    state: [u32; 31],
    at: usize,
}

impl Random {
    fn new(seed: u32) -> Self {
        let mut state = [0; 31];
        // The first numbers come from Lehmer's generator.
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

    fn info(count: u64, lifetime: u64, density: u64) -> MemInfoBlock {
        let mut info = MemInfoBlock::default();
        info.set(Field::AllocCount, count);
        info.set(Field::TotalLifetime, lifetime);
        info.set(Field::TotalLifetimeAccessDensity, density);
        info
    }

    #[test]
    fn long_lived_and_rarely_accessed_memory_is_cold() {
        for (block, expected) in [
            (info(2, 400_000, 0), Hotness::Cold),
            (info(2, 399_998, 0), Hotness::NotCold),
            (info(2, 400_000, 10), Hotness::NotCold),
            (info(2, 400_000, 9), Hotness::Cold),
            (info(0, 400_000, 0), Hotness::NotCold),
            (info(1, 1, 100_000), Hotness::NotCold),
            (info(1, 1, 100_001), Hotness::Hot),
        ] {
            assert_eq!(Hotness::of(&block), expected, "{block:?}");
        }
    }

    #[test]
    fn thresholds_change_the_class() {
        let defaults = HotnessThresholds::default();
        for (thresholds, block, expected) in [
            (defaults, info(1, 1, 100_001), Hotness::NotCold),
            (HotnessThresholds { hot_hints: true, hot_density: 0, ..defaults }, info(2, 0, 1), Hotness::Hot),
            (HotnessThresholds { hot_hints: true, ..defaults }, info(0, 0, 1), Hotness::Hot),
            (HotnessThresholds { cold_lifetime: 4, ..defaults }, info(2, 8000, 0), Hotness::Cold),
            (HotnessThresholds { cold_lifetime: 4, ..defaults }, info(2, 7998, 0), Hotness::NotCold),
            (HotnessThresholds { cold_lifetime: 4_294_968, ..defaults }, info(1, 704, 0), Hotness::Cold),
            (HotnessThresholds { cold_density: 0.5, ..defaults }, info(1, 200_000, 49), Hotness::Cold),
        ] {
            assert_eq!(thresholds.class_of(&block), expected, "{thresholds:?}, {block:?}");
        }
    }

    #[test]
    fn numbers_are_those_of_glibc() {
        let mut random = Random::new(1);
        assert_eq!([random.next(), random.next(), random.next()], [1_804_289_383, 846_930_886, 1_681_692_777]);
    }
}
