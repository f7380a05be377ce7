//! Branch lists of one site: what makes two the same, and how different ones
//! are joined.
//!
//! A list's *shape* is its (index, BCI) pairs in canonical order. Lists of one
//! shape are added row by row. Different shapes are *resolved* at the end, the
//! heaviest first: rows are matched by what they point at, because indices are
//! the producer's numbering.

use super::rows::{add_saturating, canonical_order};
use crate::iprof::context::bci;
use crate::iprof::sections::BranchRow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// What happens to branch lists of one site of which neither has all targets of
/// the other: the code differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum BranchClash {
    /// The list with more events stays; of equal ones, the one whose rows come last.
    #[default]
    Heavier,
    /// The list that came first stays. The result depends on the order of inputs.
    First,
    /// The lists are joined all the same.
    Union,
    /// Every shape stays an entry of its own, clash or not, the heaviest first:
    /// such files merge in any stages.
    Keep,
    /// None stays.
    Drop,
    /// The merge fails.
    Error,
}

/// The rows in canonical order: by index, then BCI. Rows of one pair are cases
/// of one switch and keep their order.
pub fn sort_canonically(rows: &mut [BranchRow]) {
    rows.sort_by_key(|row| (row.index, row.bci));
}

/// The events of a list.
pub fn events(rows: &[BranchRow]) -> u128 {
    rows.iter().map(|row| u128::from(row.count)).sum()
}

/// What a row points at, whatever its producer's numbering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    /// A bytecode index, and which of the rows there.
    Real(i32, usize),
    /// A case without a position of its own that shares its target with a real row.
    Shared(i32, usize),
    /// A placeholder: BCI, index, and which of such rows.
    Placeholder(i32, u32, usize),
}

/// The target of each row.
fn targets(rows: &[BranchRow]) -> Vec<Target> {
    let mut real_of_index: BTreeMap<u32, i32> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.bci >= 0) {
        let real = real_of_index.entry(row.index).or_insert(row.bci);
        *real = (*real).min(row.bci);
    }
    let mut counts: BTreeMap<(u8, i32, u32), usize> = BTreeMap::new();
    let mut named = vec![Target::Real(0, 0); rows.len()];
    for at in canonical_order(rows) {
        let row = rows[at];
        let mut ordinal = |key| {
            let next: &mut usize = counts.entry(key).or_default();
            *next += 1;
            *next - 1
        };
        named[at] = match real_of_index.get(&row.index) {
            _ if row.bci >= 0 => Target::Real(row.bci, ordinal((0, row.bci, 0))),
            Some(real) if row.bci == bci::UNKNOWN => Target::Shared(*real, ordinal((1, *real, 0))),
            _ => Target::Placeholder(row.bci, row.index, ordinal((2, row.bci, row.index))),
        };
    }
    named
}

/// What settling the shapes of a site came to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resolved {
    /// The lists that are left: one, or with [`BranchClash::Keep`] all, or none.
    pub lists: Vec<Vec<BranchRow>>,
    /// How many lists clashed with a heavier (or earlier) one.
    pub clashes: usize,
    /// How many counts came to more than [`MAX_COUNT`](crate::iprof::MAX_COUNT).
    pub saturated: u64,
}

/// Joins the shapes of one site. They come in order of first appearance.
pub fn resolve(mut shapes: Vec<Vec<BranchRow>>, policy: BranchClash) -> Resolved {
    let mut resolved = Resolved { lists: Vec::new(), clashes: 0, saturated: 0 };
    if policy != BranchClash::First {
        shapes.sort_by_cached_key(|rows| {
            let mut canonical = rows.clone();
            sort_canonically(&mut canonical);
            Reverse((events(rows), canonical))
        });
    }
    if policy == BranchClash::Keep || shapes.len() < 2 {
        resolved.lists = shapes;
        return resolved;
    }
    let mut shapes = shapes.into_iter();
    let Some(first) = shapes.next() else { return resolved };
    let mut current = Joined::new(first);
    for rows in shapes {
        let named = targets(&rows);
        if !current.is_comparable(&named) {
            resolved.clashes += 1;
            if policy != BranchClash::Union {
                continue;
            }
        }
        resolved.saturated += current.join(&rows, &named);
    }
    if resolved.clashes == 0 || policy != BranchClash::Drop {
        resolved.lists.push(current.rows);
    }
    resolved
}

/// A list that others are joined to. It keeps its order and indices.
struct Joined {
    rows: Vec<BranchRow>,
    /// Where each of its targets stands.
    known: BTreeMap<Target, usize>,
}

impl Joined {
    fn new(rows: Vec<BranchRow>) -> Self {
        let known = targets(&rows).into_iter().zip(0..).collect();
        Self { rows, known }
    }

    /// Whether one list has all targets of the other.
    fn is_comparable(&self, named: &[Target]) -> bool {
        if named.iter().all(|target| self.known.contains_key(target)) {
            return true;
        }
        // Names within a list differ, so a list of as many or fewer cannot have more.
        named.len() > self.known.len() && {
            let other: BTreeSet<&Target> = named.iter().collect();
            self.known.keys().all(|target| other.contains(target))
        }
    }

    /// Adds a list, whose targets are `named`. Returns how many counts saturated.
    fn join(&mut self, rows: &[BranchRow], named: &[Target]) -> u64 {
        let mut saturated = 0;
        let mut unmatched = Vec::new();
        for at in canonical_order(rows) {
            match self.known.get(&named[at]) {
                Some(position) => {
                    saturated += u64::from(add_saturating(&mut self.rows[*position].count, rows[at].count));
                }
                None => unmatched.push((named[at], rows[at])),
            }
        }
        if unmatched.is_empty() {
            return saturated;
        }
        // Real targets first: what shares a target takes its index.
        unmatched.sort_by_key(|(target, row)| (!matches!(target, Target::Real(..)), row.index));
        let mut indices = Indices::of(&self.rows);
        for (target, row) in unmatched {
            let shared = match target {
                Target::Shared(real, _) => indices.first_of.get(&real).copied(),
                _ => None,
            };
            let index = shared.unwrap_or_else(|| indices.free(row.index));
            indices.first_of.entry(row.bci).or_insert(index);
            self.rows.push(BranchRow { index, ..row });
        }
        self.known = targets(&self.rows).into_iter().zip(0..).collect();
        saturated
    }
}

/// The indices of the rows of a list that grows.
struct Indices {
    taken: BTreeSet<u32>,
    /// By BCI: that of the first row.
    first_of: BTreeMap<i32, u32>,
    /// What was wanted last, and found: nothing is free in between.
    last: (u32, u32),
    /// Nothing is free below.
    lowest: u32,
}

impl Indices {
    fn of(rows: &[BranchRow]) -> Self {
        let first_of = rows.iter().rev().map(|row| (row.bci, row.index)).collect();
        Self { taken: rows.iter().map(|row| row.index).collect(), first_of, last: (1, 0), lowest: 0 }
    }

    /// Takes `wanted` if no row has it, or else the lowest above that none has. Many that want the same
    /// are not each looked for from there on.
    fn free(&mut self, wanted: u32) -> u32 {
        let (from, to) = self.last;
        let start = if (from..=to).contains(&wanted) { to } else { wanted };
        let is_free = |index: &u32| !self.taken.contains(index);
        let found = (start..=i32::MAX as u32).find(is_free).unwrap_or_else(|| {
            self.lowest = (self.lowest..wanted).find(is_free).unwrap_or(wanted);
            self.lowest
        });
        self.last = (wanted, found);
        self.taken.insert(found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(list: &[(i32, u32, u64)]) -> Vec<BranchRow> {
        list.iter().map(|(bci, index, count)| BranchRow { bci: *bci, index: *index, count: *count }).collect()
    }

    #[test]
    fn swapped_successors_are_the_same_branch() {
        let resolved =
            resolve(vec![rows(&[(7, 0, 1), (20, 1, 2)]), rows(&[(20, 0, 10), (7, 1, 20)])], BranchClash::Heavier);
        assert_eq!(resolved.lists, [rows(&[(20, 0, 12), (7, 1, 21)])]);
        assert_eq!(resolved.clashes, 0);
    }

    #[test]
    fn cases_without_position_follow_the_case_they_share_a_target_with() {
        let heavy = rows(&[(208, 0, 0), (142, 1, 100), (-5, 1, 7)]);
        let light = rows(&[(142, 0, 1), (-5, 0, 2), (-5, 0, 3), (208, 1, 4)]);
        let resolved = resolve(vec![light, heavy], BranchClash::Error);
        assert_eq!(resolved.lists, [rows(&[(208, 0, 4), (142, 1, 101), (-5, 1, 9), (-5, 1, 3)])]);
        assert_eq!(resolved.clashes, 0);
    }

    #[test]
    fn a_subset_is_joined_and_new_rows_take_free_indices() {
        let heavy = rows(&[(7, 0, 50), (20, 2, 5)]);
        let light = rows(&[(30, 0, 1), (7, 1, 1), (20, 2, 1)]);
        let resolved = resolve(vec![heavy, light], BranchClash::Heavier);
        assert_eq!(resolved.lists, [rows(&[(7, 0, 51), (20, 2, 6), (30, 1, 1)])]);
    }

    #[test]
    fn each_policy_decides_a_clash_its_way() {
        let (light, heavy) = (rows(&[(7, 0, 1), (9, 1, 1)]), rows(&[(7, 0, 5), (20, 1, 5)]));
        let by = |policy| resolve(vec![light.clone(), heavy.clone()], policy);
        assert_eq!(by(BranchClash::Heavier).lists, std::slice::from_ref(&heavy));
        assert_eq!(by(BranchClash::First).lists, std::slice::from_ref(&light));
        assert_eq!(by(BranchClash::Keep).lists, [heavy.clone(), light.clone()]);
        assert!(by(BranchClash::Drop).lists.is_empty());
        assert_eq!(by(BranchClash::Union).lists, [rows(&[(7, 0, 6), (20, 1, 5), (9, 2, 1)])]);
        assert_eq!(by(BranchClash::Error).clashes, 1);
    }

    #[test]
    fn indices_that_are_taken_lead_to_the_next_that_is_free() {
        let row = |index| BranchRow { bci: 1, index, count: 0 };
        let last = i32::MAX as u32;
        let mut indices = Indices::of(&[2, 4, last].map(row));
        let found = [2, 2, 2, 3, 0, 0, last, last, 9, 5].map(|wanted| indices.free(wanted));
        assert_eq!(found, [3, 5, 6, 7, 0, 1, 8, 9, 10, 11]);
    }

    #[test]
    fn many_rows_that_one_list_has_more_are_joined_in_little_time() {
        let list = |rows: u32| -> Vec<BranchRow> {
            (0..rows)
                .map(|row| BranchRow { bci: row as i32, index: 0, count: 1 << (20 * u32::from(rows == 1)) })
                .collect()
        };
        let resolved = resolve(vec![list(1), list(100_000)], BranchClash::Error);
        assert_eq!((resolved.lists.len(), resolved.lists[0].len(), resolved.clashes), (1, 100_000, 0));
        assert_eq!(resolved.lists[0][99_999].index, 99_999);
    }

    #[test]
    fn settling_does_not_depend_on_the_order_of_shapes() {
        let shapes =
            [rows(&[(7, 0, 5), (9, 1, 5)]), rows(&[(9, 0, 5), (7, 1, 5)]), rows(&[(7, 3, 10)]), rows(&[(8, 0, 1)])];
        let expected = resolve(shapes.to_vec(), BranchClash::Heavier);
        for turn in 1..shapes.len() {
            let mut turned = shapes.to_vec();
            turned.rotate_left(turn);
            assert_eq!(resolve(turned, BranchClash::Heavier), expected);
        }
    }
}
