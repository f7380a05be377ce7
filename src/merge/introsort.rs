//! The order that an unstable sort leaves equal values in.
//!
//! Release 19 and later sort the values of a site with `std::sort`, and the
//! releases in circulation are built with libstdc++. Where a site of more than
//! 16 values holds equal ones (several unknown call targets, all 0), that
//! algorithm's choices show in the file: a median of three, a partition that
//! swaps equal keys, a heap where the partitions degenerate, an insertion sort
//! over the nearly sorted rest. This takes the same steps, so that the same
//! bytes come out.

use crate::instr::ValueCount;

/// Parts up to this long are left to the insertion sort.
pub(super) const THRESHOLD: usize = 16;

/// Sorts by value, leaving equal values in the order that libstdc++ would.
pub(super) fn sort_by_value(values: &mut [ValueCount]) {
    let depth = 2 * values.len().checked_ilog2().unwrap_or(0);
    partition_until_small(values, depth);
    let small = values.len().min(THRESHOLD);
    insertion_sort(&mut values[..small]);
    for at in small..values.len() {
        sink_left(values, at);
    }
}

fn partition_until_small(mut values: &mut [ValueCount], mut depth: u32) {
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

/// Moves the median of three to the front and partitions the rest around it;
/// returns where the right part begins.
fn partition_around_median(v: &mut [ValueCount]) -> usize {
    let (x, y, z) = (1, v.len() / 2, v.len() - 1);
    let less = |a: usize, b: usize| v[a].value < v[b].value;
    let median = match (less(x, y), less(y, z), less(x, z)) {
        (true, true, _) => y,
        (true, false, true) => z,
        (true, false, false) => x,
        (false, _, true) => x,
        (false, true, false) => z,
        (false, false, false) => y,
    };
    v.swap(0, median);
    let pivot = v[0].value;
    let (mut left, mut right) = (1, v.len());
    loop {
        while v[left].value < pivot {
            left += 1;
        }
        right -= 1;
        while pivot < v[right].value {
            right -= 1;
        }
        if left >= right {
            return left;
        }
        v.swap(left, right);
        left += 1;
    }
}

fn insertion_sort(values: &mut [ValueCount]) {
    for at in 1..values.len() {
        if values[at].value < values[0].value {
            values[..=at].rotate_right(1);
        } else {
            sink_left(values, at);
        }
    }
}

/// Moves the element at `at` left past every greater one.
fn sink_left(values: &mut [ValueCount], at: usize) {
    let moved = values[at];
    let place = values[..at].iter().rposition(|other| other.value <= moved.value).map_or(0, |before| before + 1);
    values[place..=at].rotate_right(1);
}

fn heap_sort(v: &mut [ValueCount]) {
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

/// Puts `value` into the heap at the hole `top`: down along the greater
/// children to the bottom, then up to where it belongs.
fn sift(v: &mut [ValueCount], top: usize, value: ValueCount) {
    let len = v.len();
    let mut hole = top;
    let mut child = top;
    while child < (len - 1) / 2 {
        child = 2 * (child + 1);
        if v[child].value < v[child - 1].value {
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
        if v[parent].value >= value.value {
            break;
        }
        v[hole] = v[parent];
        hole = parent;
    }
    v[hole] = value;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    /// What `std::sort` of GCC 12's libstdc++ makes of 40 values, i * 7 % 5.
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
}
