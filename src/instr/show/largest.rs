//! The functions with the largest counters.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Keeps so many of the functions met; of equal ones those met first.
pub(super) struct Largest {
    limit: usize,
    /// Functions met.
    met: usize,
    /// The one to give way is on top.
    kept: BinaryHeap<Reverse<Maximum>>,
}

/// A function and its largest counter.
struct Maximum {
    max: u64,
    place: usize,
    name: Vec<u8>,
}

impl Maximum {
    /// Larger counters rank above smaller ones, and earlier functions above later ones.
    fn rank(&self) -> (u64, Reverse<usize>) {
        (self.max, Reverse(self.place))
    }
}

impl PartialEq for Maximum {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for Maximum {}

impl PartialOrd for Maximum {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Maximum {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl Largest {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, met: 0, kept: BinaryHeap::new() }
    }

    pub(super) fn add(&mut self, name: &[u8], max: u64) {
        let place = self.met;
        self.met += 1;
        if self.kept.len() < self.limit {
            self.kept.push(Reverse(Maximum { max, place, name: name.to_vec() }));
        } else if let Some(mut least) = self.kept.peek_mut().filter(|least| least.0.max < max) {
            least.0.max = max;
            least.0.place = place;
            least.0.name.clear();
            least.0.name.extend_from_slice(name);
        }
    }

    /// Names and counters, falling.
    pub(super) fn into_sorted(self) -> Vec<(Vec<u8>, u64)> {
        self.kept.into_sorted_vec().into_iter().map(|Reverse(kept)| (kept.name, kept.max)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_are_the_first_of_all_in_falling_order(
            maxima in prop::collection::vec(0u64..8, 0..60),
            limit in 0usize..70,
        ) {
            let mut all: Vec<(Vec<u8>, u64)> =
                maxima.iter().enumerate().map(|(place, max)| (place.to_string().into_bytes(), *max)).collect();
            let mut largest = Largest::new(limit);
            all.iter().for_each(|(name, max)| largest.add(name, *max));
            all.sort_by_key(|(_, max)| Reverse(*max));
            all.truncate(limit);
            prop_assert_eq!(largest.into_sorted(), all);
        }
    }
}
