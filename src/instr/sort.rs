//! The order in which an unstable sort leaves equal values.
//!
//! Release 19 and later sort the values of a site with `std::sort`, and the common builds use libstdc++. If a site of
//! more than 16 values contains equal ones (several unknown call targets, all 0), the steps of that algorithm are
//! visible in the file: a median of three, a partition that swaps equal keys, a heap if the partitions degenerate, an
//! insertion sort of the nearly sorted rest. This module takes the same steps, so it produces the same bytes.

use crate::model::ValueCount;

/// The maximum length of a part that is left to the insertion sort.
pub(super) const THRESHOLD: usize = 16;

/// An element to sort.
trait Element: Copy {
    /// Returns the sort key.
    fn key(self) -> u64;

    /// Moves elements up to `pivot` before those of at least `pivot`. The first element must not be larger and another
    /// one not smaller. Returns the start of the right part.
    fn partition(v: &mut [Self], pivot: u64) -> usize {
        let (mut left, mut right) = (1, v.len());
        loop {
            while v[left].key() < pivot {
                left += 1;
            }
            right -= 1;
            while pivot < v[right].key() {
                right -= 1;
            }
            if left >= right {
                return left;
            }
            v.swap(left, right);
            left += 1;
        }
    }
}

impl Element for ValueCount {
    #[inline]
    fn key(self) -> u64 {
        self.value
    }
}

/// A word of [`places`](crate::instr::sort): the value except for its lowest byte. Call targets are hashes, which
/// nearly always differ above that byte.
impl Element for u64 {
    #[inline]
    fn key(self) -> u64 {
        self >> 8
    }

    /// Makes the same swaps without a branch per element, half of which would be mispredicted: first finds all
    /// candidates from both ends.
    fn partition(v: &mut [Self], pivot: u64) -> usize {
        let (mut lefts, mut rights) = ([0u8; PLACES], [0u8; PLACES]);
        let (mut lefts_len, mut rights_len) = (0, 0);
        for (element, at) in v[1..].iter().zip(1..=u8::MAX) {
            (lefts[lefts_len % PLACES], rights[rights_len % PLACES]) = (at, at);
            lefts_len += usize::from(element.key() >= pivot);
            rights_len += usize::from(element.key() <= pivot);
        }
        // The last swapped element ends the next walk from the other end.
        let mut swapped = v.len();
        let ends = rights[..rights_len].iter().rev().copied().chain(std::iter::repeat(0));
        for (&left, right) in lefts[..lefts_len].iter().zip(ends) {
            let (left, right) = (usize::from(left), usize::from(right));
            if left >= right {
                return left.min(swapped);
            }
            v.swap(left, right);
            swapped = right;
        }
        swapped
    }
}

/// Sorts by value, with equal values in the order of libstdc++.
pub(super) fn sort_by_value(values: &mut [ValueCount]) {
    if !sort_packed(values) {
        sort(values);
    }
}

/// Sorts like [`sort_by_value`] if no value except 0, the unknown target, repeats with different counts, and all others
/// differ above their lowest byte. Otherwise returns false and changes nothing.
fn sort_packed(values: &mut [ValueCount]) -> bool {
    if values.len() > PLACES {
        return false;
    }
    let mut packed = [0; PLACES];
    let packed = &mut packed[..values.len()];
    for (at, (packed, v)) in packed.iter_mut().zip(&*values).enumerate() {
        *packed = v.value & !0xff | at as u64;
    }
    let depth = depth_of(packed);
    sort_around_zeros(packed, depth);
    let value = |packed: u64| values[usize::from(packed as u8)];
    let is_told = |pair: &[u64]| {
        let (a, b) = (value(pair[0]), value(pair[1]));
        pair[0].key() != pair[1].key() || (a.value | b.value) == 0 || a == b
    };
    if !packed.windows(2).all(is_told) {
        return false;
    }
    let mut sorted = [ValueCount::default(); PLACES];
    sorted.iter_mut().zip(&*packed).for_each(|(sorted, packed)| *sorted = value(*packed));
    values.copy_from_slice(&sorted[..values.len()]);
    true
}

/// Like [`sort`], but parts without 0 are sorted the fastest way, by value and then by position.
fn sort_around_zeros(mut values: &mut [u64], mut depth: u32) {
    while values.len() > THRESHOLD {
        if depth == 0 {
            heap_sort(values);
            return;
        }
        depth -= 1;
        let cut = partition_around_median(values);
        let (left, right) = values.split_at_mut(cut);
        if right.iter().any(|packed| packed.key() == 0) {
            sort_around_zeros(right, depth);
        } else {
            right.sort_unstable();
        }
        values = left;
    }
    (1..values.len()).for_each(|at| sink_left(values, at));
}

/// Returns the number of partitions before the heap takes over.
fn depth_of<T>(values: &[T]) -> u32 {
    2 * values.len().checked_ilog2().unwrap_or(0)
}

fn sort<T: Element>(values: &mut [T]) {
    let depth = depth_of(values);
    partition_until_small(values, depth);
    // The parts are in order, and no element leaves its part.
    (1..values.len()).for_each(|at| sink_left(values, at));
}

fn partition_until_small<T: Element>(mut values: &mut [T], mut depth: u32) {
    while values.len() > THRESHOLD {
        if depth == 0 {
            heap_sort(values);
            return;
        }
        depth -= 1;
        let cut = partition_around_median(values);
        let (left, right) = values.split_at_mut(cut);
        partition_until_small(right, depth);
        values = left;
    }
}

/// Moves the median of three to the front and partitions the rest around it. Returns the start of the right part.
fn partition_around_median<T: Element>(v: &mut [T]) -> usize {
    let (x, y, z) = (1, v.len() / 2, v.len() - 1);
    let less = |a: usize, b: usize| v[a].key() < v[b].key();
    let median = match (less(x, y), less(y, z), less(x, z)) {
        (true, true, _) => y,
        (true, false, true) => z,
        (true, false, false) => x,
        (false, _, true) => x,
        (false, true, false) => z,
        (false, false, false) => y,
    };
    v.swap(0, median);
    let pivot = v[0].key();
    T::partition(v, pivot)
}

/// Moves the element at `at` left past all greater ones.
#[inline]
fn sink_left<T: Element>(values: &mut [T], mut at: usize) {
    let moved = values[at];
    while at > 0 && values[at - 1].key() > moved.key() {
        values[at] = values[at - 1];
        at -= 1;
    }
    values[at] = moved;
}

fn heap_sort<T: Element>(v: &mut [T]) {
    for parent in (0..v.len() / 2).rev() {
        let value = v[parent];
        sift(v, parent, value);
    }
    for last in (1..v.len()).rev() {
        let value = v[last];
        v[last] = v[0];
        sift(&mut v[..last], 0, value);
    }
}

/// Inserts `value` into the heap at the hole `top`: down along the greater children to the bottom, then up to its
/// position.
fn sift<T: Element>(v: &mut [T], top: usize, value: T) {
    let len = v.len();
    let mut hole = top;
    let mut child = top;
    while child < (len - 1) / 2 {
        child = 2 * (child + 1);
        if v[child].key() < v[child - 1].key() {
            child -= 1;
        }
        v[hole] = v[child];
        hole = child;
    }
    if len.is_multiple_of(2) && child == (len - 2) / 2 {
        child = 2 * child + 1;
        v[hole] = v[child];
        hole = child;
    }
    while hole > top {
        let parent = (hole - 1) / 2;
        if v[parent].key() >= value.key() {
            break;
        }
        v[hole] = v[parent];
        hole = parent;
    }
    v[hole] = value;
}

// A stable sort that allocates no memory. The sites of most functions are short, but a hostile one is as long as its
// file, and a failed allocation would end the process.

/// The maximum number of values that are sorted on the stack.
const SHORT: usize = 128;

/// Sorts values by a key. Equal ones keep their order.
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

/// Merges two sorted halves in place: the middle of the longer half divides both, and the parts on the wrong sides are
/// rotated.
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

// Sorting the values of one site as words of eight bytes.
//
// A word contains the sort key and, in its lowest byte, the position of the value: half as much data to move as a value
// with its count, and no two words are equal.

/// The number of positions that fit in the lowest byte of a word.
pub(super) const PLACES: usize = 1 << 8;

/// Sorts at most [`PLACES`] values by the key from `word_of`, whose lowest byte is ignored.
pub(super) fn arrange(values: &mut [ValueCount], word_of: impl Fn(&ValueCount) -> u64) {
    let (mut words, mut before) = ([0; PLACES], [ValueCount::default(); PLACES]);
    let (words, before) = (&mut words[..values.len()], &mut before[..values.len()]);
    before.copy_from_slice(values);
    for (at, (word, v)) in words.iter_mut().zip(&*before).enumerate() {
        *word = word_of(v) & !0xff | at as u64;
    }
    words.sort_unstable();
    values.iter_mut().zip(words).for_each(|(v, word)| *v = before[usize::from(*word as u8)]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Reverse;

    fn numbered(values: &[u64]) -> Vec<ValueCount> {
        values.iter().zip(0..).map(|(&value, count)| ValueCount { value, count }).collect()
    }

    proptest! {
        #[test]
        fn any_list_is_sorted_and_none_is_lost(values in prop::collection::vec(0u64..20, 0..400)) {
            let mut sorted = numbered(&values);
            sort_by_value(&mut sorted);
            prop_assert!(sorted.is_sorted_by_key(|v| v.value));
            let mut places: Vec<u64> = sorted.iter().map(|v| v.count).collect();
            places.sort_unstable();
            prop_assert!(places.into_iter().eq(0..values.len() as u64));
        }

        #[test]
        fn packed_values_go_where_whole_ones_do(values in prop::collection::vec(0u64..100, 0..=256), shift in 0..3) {
            let values: Vec<u64> = values.iter().map(|value| value << (8 * shift)).collect();
            let (mut packed, mut whole) = (numbered(&values), numbered(&values));
            if sort_packed(&mut packed) {
                sort(&mut whole);
            }
            prop_assert_eq!(packed, whole);
        }

        #[test]
        fn unknown_targets_go_where_the_whole_sort_puts_them(
            targets in prop::collection::hash_set(1u64..1 << 50, 0..200), unknown in 0usize..56, turn in 0usize..256,
        ) {
            let mut values: Vec<u64> = targets.into_iter().map(|target| target << 8).collect();
            for at in 0..unknown {
                values.insert(at * 7 % (values.len() + 1), 0);
            }
            let turn = turn % values.len().max(1);
            values.rotate_left(turn);
            let (mut packed, mut whole) = (numbered(&values), numbered(&values));
            prop_assert!(sort_packed(&mut packed));
            sort(&mut whole);
            prop_assert_eq!(packed, whole);
        }

        #[test]
        fn the_heap_sorts_too(values in prop::collection::vec(0u64..50, 1..100)) {
            let mut sorted = numbered(&values);
            heap_sort(&mut sorted);
            prop_assert!(sorted.is_sorted_by_key(|v| v.value));
        }

        #[test]
        fn up_to_sixteen_values_the_sort_is_stable(values in prop::collection::vec(0u64..4, 0..=16)) {
            let (mut ours, mut stable) = (numbered(&values), numbered(&values));
            sort_by_value(&mut ours);
            stable.sort_by_key(|v| v.value);
            prop_assert_eq!(ours, stable);
        }
    }

    /// The result of `std::sort` of GCC 12's libstdc++ for 40 values, i * 7 % 5.
    #[test]
    fn equal_values_end_where_libstdcxx_puts_them() {
        let values: Vec<u64> = (0..40).map(|i| i * 7 % 5).collect();
        let mut sorted = numbered(&values);
        sort_by_value(&mut sorted);
        let places: Vec<u64> = sorted.iter().map(|v| v.count).collect();
        assert_eq!(places, LIBSTDCXX);
    }

    #[rustfmt::skip]
    const LIBSTDCXX: [u64; 40] = [
        10, 20, 25, 15, 30, 35, 5, 0, 33, 8, 28, 13, 3, 38, 23, 18, 31, 1, 36, 26,
        21, 6, 16, 11, 39, 19, 4, 34, 9, 29, 14, 24, 12, 27, 32, 7, 17, 37, 2, 22,
    ];

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
