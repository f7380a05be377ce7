//! Divides overlapping code ranges into ranges that do not overlap.

use super::counters::Counts;
use std::collections::BTreeMap;

/// A code range with one count. It includes both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) count: u64,
}

/// The ranges that start or end at an address.
#[derive(Debug, Default)]
struct Point {
    begins: Option<u64>,
    ends: Option<u64>,
    begins_zero: bool,
    ends_zero: bool,
}

/// Divides ranges. Ranges of count 0 preserve the code between other ranges, with a count of 0.
pub(super) fn pieces(runs: &Counts) -> Vec<Piece> {
    let mut points: BTreeMap<u64, Point> = BTreeMap::new();
    for (&(begin, end), &count) in runs {
        let point = points.entry(begin).or_default();
        point.begins = Some(point.begins.unwrap_or(0).wrapping_add(count));
        point.begins_zero |= count == 0;
        let point = points.entry(end).or_default();
        point.ends = Some(point.ends.unwrap_or(0).wrapping_add(count));
        point.ends_zero |= count == 0;
    }
    let mut found = Vec::new();
    let mut sweep = Sweep { open: None, zero_depth: 0, count: 0 };
    for (address, point) in points {
        sweep.pass(address, &point, &mut found);
    }
    found
}

struct Sweep {
    /// The start of the current range.
    open: Option<u64>,
    zero_depth: i64,
    count: u64,
}

impl Sweep {
    fn pass(&mut self, address: u64, point: &Point, found: &mut Vec<Piece>) {
        if let Some(begins) = point.begins {
            // Address 0 has no previous address, so no range can end before it.
            if let (Some(begin), Some(end)) = (self.open, address.checked_sub(1))
                && begin <= end
            {
                found.push(Piece { begin, end, count: self.count });
            }
            self.count = self.count.wrapping_add(begins);
            self.open = Some(address);
            self.zero_depth += i64::from(point.begins_zero);
        }
        if let (Some(ends), Some(begin)) = (point.ends, self.open) {
            found.push(Piece { begin, end: address, count: self.count });
            self.count = self.count.wrapping_sub(ends);
            self.open = address.checked_add(1);
            self.zero_depth -= i64::from(point.ends_zero);
            if self.count == 0 && self.zero_depth == 0 {
                self.open = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(runs: &[(u64, u64, u64)]) -> Vec<(u64, u64, u64)> {
        let runs = runs.iter().map(|(begin, end, count)| ((*begin, *end), *count)).collect();
        pieces(&runs).iter().map(|piece| (piece.begin, piece.end, piece.count)).collect()
    }

    #[test]
    fn overlapping_runs_add_up() {
        assert_eq!(of(&[(10, 20, 100), (10, 30, 200)]), [(10, 20, 300), (21, 30, 200)]);
    }

    #[test]
    fn a_point_where_one_run_ends_and_another_begins_is_a_piece() {
        assert_eq!(of(&[(10, 20, 100), (20, 30, 200)]), [(10, 19, 100), (20, 20, 300), (21, 30, 200)]);
    }

    #[test]
    fn a_run_without_samples_fills_the_gaps() {
        let filled = [(1, 4, 0), (5, 8, 100), (9, 11, 0), (12, 15, 200), (16, 20, 0)];
        assert_eq!(of(&[(1, 20, 0), (5, 8, 100), (12, 15, 200)]), filled);
        assert_eq!(of(&[(5, 8, 100), (12, 15, 200)]), [(5, 8, 100), (12, 15, 200)]);
    }

    #[test]
    fn the_last_address_can_end_a_run() {
        assert_eq!(of(&[(u64::MAX - 1, u64::MAX, 3)]), [(u64::MAX - 1, u64::MAX, 3)]);
    }
}
