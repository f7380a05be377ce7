//! How a change of shares is coloured: on a scale that is the same in every
//! picture, and not at all where it may be chance.

use super::percent;

/// Percentage points from which a colour is full.
pub(super) const FULL_POINTS: f64 = 10.0;

/// Standard deviations within which a difference says nothing.
const NOISE: f64 = 2.0;

/// What the shares of a picture are of.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// All hits, bytes or nanoseconds.
    pub sum: u64,
    /// How many independent samples that is worth. Every hit is one; bytes and
    /// nanoseconds come in lumps, so they are worth (sum)² / (sum of squares) of
    /// what the stacks have: as many as there are stacks where all weigh alike,
    /// and one where one stack has all.
    pub samples: f64,
}

impl Totals {
    /// The totals of weights by stack, whose unit says whether each hit is a sample.
    pub(super) fn new(weights: impl Iterator<Item = u64>, unit: &str) -> Self {
        let (mut sum, mut squares) = (0u128, 0f64);
        for weight in weights {
            sum += u128::from(weight);
            squares += weight as f64 * weight as f64;
        }
        let is_lumpy = matches!(unit, "bytes" | "ns" | "millionths");
        let samples = if is_lumpy && squares > 0.0 { sum as f64 * (sum as f64 / squares) } else { sum as f64 };
        Self { sum: u64::try_from(sum).unwrap_or(u64::MAX), samples }
    }
}

/// From −1 (lost ten points or more) to 1 (gained as many); 0 for a difference
/// within twice the standard deviation that so many samples have.
/// The square root lets small changes be seen. `assets/flame.js` does the same.
pub(super) fn intensity(value: u64, all: &Totals, base: u64, base_all: &Totals) -> f64 {
    if all.sum == 0 || base_all.sum == 0 {
        return 0.0;
    }
    let (now, before) = (percent(value.into(), all.sum.into()), percent(base.into(), base_all.sum.into()));
    let variance = |share: f64, all: &Totals| share * (100.0 - share) / all.samples.max(1.0);
    let change = now - before;
    if change.abs() <= NOISE * (variance(now, all) + variance(before, base_all)).sqrt() {
        return 0.0;
    }
    change.signum() * (change.abs() / FULL_POINTS).min(1.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::Totals;

    fn intensity(value: u64, total: u64, base: u64, base_total: u64) -> f64 {
        let all = |sum: u64| Totals { sum, samples: sum as f64 };
        super::intensity(value, &all(total), base, &all(base_total))
    }

    #[test]
    fn bytes_are_worth_as_many_samples_as_there_are_lumps() {
        let even = Totals::new([4096; 50].into_iter(), "bytes");
        assert_eq!((even.sum, even.samples), (204_800, 50.0));
        let lump = Totals::new([1_000_000, 1, 1].into_iter(), "bytes");
        assert!(lump.samples < 1.1);
        assert_eq!(Totals::new([7, 3].into_iter(), "hits").samples, 10.0);
        assert_eq!(Totals::new([].into_iter(), "ns"), Totals::default());
        // Ten points more of fifty lumps may be chance, of fifty thousand they are none.
        let many = Totals { sum: 204_800_000, samples: 50_000.0 };
        assert_eq!(super::intensity(40_960, &even, 20_480, &even), 0.0);
        assert_eq!(super::intensity(40_960_000, &many, 20_480_000, &many), 1.0);
    }

    #[test]
    fn a_spike_of_one_hit_is_noise_and_a_hot_loop_is_not() {
        assert_eq!(intensity(1, 1000, 0, 1000), 0.0);
        assert_eq!(intensity(120, 1000, 100, 1000), 0.0);
        assert!((intensity(125_000, 1_000_000, 100_000, 1_000_000) - 0.5).abs() < 1e-12);
        assert_eq!(intensity(400, 1000, 100, 1000), 1.0);
        assert_eq!(intensity(0, 1000, 300, 1000), -1.0);
        assert_eq!((intensity(1, 0, 1, 5), intensity(5, 5, 5, 5)), (0.0, 0.0));
    }
}
