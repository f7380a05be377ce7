//! Addition of counter arrays with an upper limit.

use crate::model::{Counters, ValueCount};

/// Adds `source` times `weight` to `target`, counter by counter.
///
/// A product or sum that does not fit in 64 bits, or a result above `max`, becomes `max` (`InstrProfRecord::merge` in
/// LLVM). Returns true if that happened. Both sides have the same number of counters.
#[inline]
pub(super) fn add_weighted(target: &mut [u64], source: Counters<'_>, weight: u64, max: u64) -> bool {
    debug_assert_eq!(target.len(), source.len());
    let mut saturated = false;
    if weight == 1 {
        source.zip_with(target, |target, count| {
            let sum = target.wrapping_add(count);
            let over = (sum < count) | (sum > max);
            *target = if over { max } else { sum };
            saturated |= over;
        });
    } else {
        source.zip_with(target, |target, count| {
            let sum = count.checked_mul(weight).and_then(|product| product.checked_add(*target));
            let over = sum.is_none_or(|sum| sum > max);
            *target = sum.unwrap_or(max).min(max);
            saturated |= over;
        });
    }
    saturated
}

/// Multiplies every counter by `weight`, with the same upper limit.
pub(super) fn scale(counters: &mut [u64], weight: u64, max: u64) -> bool {
    let mut saturated = false;
    for counter in counters {
        let product = counter.checked_mul(weight);
        saturated |= product.is_none_or(|product| product > max);
        *counter = product.unwrap_or(max).min(max);
    }
    saturated
}

/// Multiplies the counts of values by `weight`. Value counts can use all 64 bits.
pub(super) fn scale_values(values: &mut [ValueCount], weight: u64) -> bool {
    let mut saturated = false;
    for value in values {
        let product = value.count.checked_mul(weight);
        saturated |= product.is_none();
        value.count = product.unwrap_or(u64::MAX);
    }
    saturated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_saturate_with_an_error() {
        let max = u64::MAX - 2;
        let mut target = [1, max - 1, max, u64::MAX];
        assert!(!add_weighted(&mut target[..2], (&[2, 1][..]).into(), 1, max));
        assert_eq!(target[..2], [3, max]);
        assert!(add_weighted(&mut target[2..], (&[1, 0][..]).into(), 1, max));
        assert_eq!(target[2..], [max, max]);
        let mut target = [5, 5];
        assert!(add_weighted(&mut target, (&[u64::MAX / 2, 7][..]).into(), 3, max));
        assert_eq!(target, [max, 26]);
    }

    #[test]
    fn older_releases_fill_all_64_bits() {
        let mut target = [u64::MAX - 1];
        assert!(!add_weighted(&mut target, (&[1][..]).into(), 1, u64::MAX));
        assert!(add_weighted(&mut target, (&[1][..]).into(), 1, u64::MAX));
        assert_eq!(target, [u64::MAX]);
    }

    #[test]
    fn a_weight_destroys_a_pseudo_count() {
        let mut counters = [u64::MAX, 4];
        assert!(scale(&mut counters, 2, u64::MAX - 2));
        assert_eq!(counters, [u64::MAX - 2, 8]);
    }
}
