//! Rows of lists: what makes two of them one, and how they add up.

use crate::iprof::sections::{BranchRow, CountEntry, MAX_COUNT, TypeCount};
use crate::iprof::tables::TypeHandle;
use std::hash::Hash;

/// A row of a list, which adds up with rows of its key.
pub(super) trait Row: Copy {
    /// What rows have in common that are added up.
    type Key: Copy + Ord + Hash;
    /// Whether only lists of the same rows add up. Otherwise every row does by itself.
    const AS_WHOLE: bool;

    fn key(&self) -> Self::Key;
    fn count(&mut self) -> &mut u64;
}

impl Row for CountEntry {
    type Key = ();
    const AS_WHOLE: bool = false;

    fn key(&self) {}

    fn count(&mut self) -> &mut u64 {
        &mut self.count
    }
}

impl Row for TypeCount {
    type Key = TypeHandle;
    const AS_WHOLE: bool = false;

    fn key(&self) -> TypeHandle {
        self.class
    }

    fn count(&mut self) -> &mut u64 {
        &mut self.count
    }
}

impl Row for BranchRow {
    type Key = (u32, i32);
    const AS_WHOLE: bool = true;

    fn key(&self) -> (u32, i32) {
        (self.index, self.bci)
    }

    fn count(&mut self) -> &mut u64 {
        &mut self.count
    }
}

/// Positions of rows in canonical order: that of their keys. Rows of one key keep their order.
pub(super) fn canonical_order<R: Row>(rows: &[R]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|at| rows[*at].key());
    order
}

/// Whether two lists have the same rows, in one order.
pub(super) fn is_same_as_written<R: Row>(known: &[R], rows: &[R]) -> bool {
    known.len() == rows.len() && known.iter().zip(rows).all(|(known, row)| known.key() == row.key())
}

/// Whether two lists have the same rows, in any order.
pub(super) fn is_same_list<R: Row>(known: &[R], rows: &[R]) -> bool {
    let keys = |rows: &[R]| canonical_order(rows).into_iter().map(|at| rows[at].key()).collect::<Vec<_>>();
    is_same_as_written(known, rows) || (rows.len() > 1 && known.len() == rows.len() && keys(known) == keys(rows))
}

/// Adds the rows of a list to the same ones of another, in any order. Returns how many counts were cut.
pub(super) fn add_rows<R: Row>(known: &mut [R], rows: &[R]) -> u64 {
    let add = |known: &mut R, mut row: R| u64::from(add_saturating(known.count(), *row.count()));
    if is_same_as_written(known, rows) {
        return known.iter_mut().zip(rows).map(|(known, row)| add(known, *row)).sum();
    }
    let places = canonical_order(known).into_iter().zip(canonical_order(rows));
    places.map(|(place, row)| add(&mut known[place], rows[row])).sum()
}

/// Adds to a count; true when the sum was cut at [`MAX_COUNT`].
pub(super) fn add_saturating(count: &mut u64, more: u64) -> bool {
    let sum = count.saturating_add(more);
    let saturated = sum > MAX_COUNT && *count < MAX_COUNT;
    *count = sum.min(MAX_COUNT);
    saturated
}
