//! How a change of shares is coloured: on a scale that is the same in every
//! picture, and not at all where it may be chance.

use super::percent;

/// Percentage points from which a colour is full.
pub(super) const FULL_POINTS: f64 = 10.0;

/// Standard deviations within which a difference says nothing.
const NOISE: f64 = 2.0;

/// From −1 (lost ten points or more) to 1 (gained as many); 0 for a difference
/// within twice the standard deviation that samples of these numbers have.
/// The square root lets small changes be seen. `assets/flame.js` does the same.
pub(super) fn intensity(value: u64, total: u64, base: u64, base_total: u64) -> f64 {
    if total == 0 || base_total == 0 {
        return 0.0;
    }
    let (now, before) = (percent(value.into(), total.into()), percent(base.into(), base_total.into()));
    let variance = |share: f64, total: u64| share * (100.0 - share) / total as f64;
    let change = now - before;
    if change.abs() <= NOISE * (variance(now, total) + variance(before, base_total)).sqrt() {
        return 0.0;
    }
    change.signum() * (change.abs() / FULL_POINTS).min(1.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::intensity;

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
