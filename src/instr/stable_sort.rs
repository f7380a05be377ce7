//! Sorting that keeps the order of equal values and asks for no memory: the sites of most functions are short,
//! but a hostile one is as long as its file, and what asks for memory then ends the process where there is none.

use crate::model::ValueCount;

/// Up to so many values are sorted on the stack.
const SHORT: usize = 128;

/// Sorts values by a key; equal ones stay as they stand.
pub(super) fn sort_by_key<K: Ord>(values: &mut [ValueCount], key: impl Fn(&ValueCount) -> K + Copy) {
    if values.len() <= SHORT {
        values.sort_by_key(key);
        return;
    }
    let middle = values.len() / 2;
    sort_by_key(&mut values[..middle], key);
    sort_by_key(&mut values[middle..], key);
    merge(values, middle, key);
}

/// Merges two sorted halves in place: the middle of the longer one says what goes where, and what is on the wrong
/// side changes places with what is before it.
fn merge<K: Ord>(values: &mut [ValueCount], middle: usize, key: impl Fn(&ValueCount) -> K + Copy) {
    let len = values.len();
    if middle == 0 || middle == len || key(&values[middle - 1]) <= key(&values[middle]) {
        return;
    }
    if len == 2 {
        values.swap(0, 1);
        return;
    }
    let (before, after) = values.split_at(middle);
    let (first, second) = if middle > len - middle {
        let pivot = key(&before[middle / 2]);
        (middle / 2, middle + after.partition_point(|value| key(value) < pivot))
    } else {
        let pivot = key(&after[after.len() / 2]);
        (before.partition_point(|value| key(value) <= pivot), middle + after.len() / 2)
    };
    values[first..second].rotate_left(middle - first);
    let between = first + second - middle;
    merge(&mut values[..between], first, key);
    merge(&mut values[between..], second - between, key);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;

    proptest! {
        #[test]
        fn long_sites_are_sorted_as_short_ones(
            counts in proptest::collection::vec(0u64..40, 0..1500),
            many_differ in proptest::bool::ANY,
        ) {
            let count = |(at, count): (u64, &u64)| if many_differ { count * 1000 + at % 997 } else { *count };
            let mut values: Vec<ValueCount> =
                (0..).zip(&counts).map(|pair| ValueCount { value: pair.0, count: count(pair) }).collect();
            let mut expected = values.clone();
            expected.sort_by_key(|v| Reverse(v.count));
            sort_by_key(&mut values, |v| Reverse(v.count));
            prop_assert_eq!(values, expected);
        }
    }
}
