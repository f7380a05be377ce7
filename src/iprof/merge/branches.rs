//! Merges the branch lists of one site.
//!
//! The *shape* of a list is its (index, BCI) pairs in canonical order. Lists with the same shape are added row by row.
//! Different shapes are *resolved* at the end, starting with the one with most events: rows are matched by target,
//! because each producer numbers indexes differently.

use crate::iprof::context::bci;
use crate::iprof::merge::sites::add_saturating;
use crate::iprof::sections::BranchRow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The treatment of branch lists of one site if neither list has all targets of the other, because the code differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum BranchClash {
    /// Keep the list with more events.
    ///
    /// If they have equally many, keep the one whose rows are last in order.
    #[default]
    Heavier,
    /// Keep the first list. The result depends on the order of inputs.
    First,
    /// Join the lists anyway.
    Union,
    /// Keep every shape as a separate entry, even without a clash, ordered by events. Such files can be merged in
    /// several steps.
    Keep,
    /// Drop all lists.
    Drop,
    /// Fail.
    Error,
}

/// Sorts rows canonically: by index, then by BCI. Rows with the same pair are cases of one switch and keep their order.
pub(crate) fn sort_canonically(rows: &mut [BranchRow]) {
    rows.sort_by_key(|row| (row.index, row.bci));
}

/// Returns the events of a list.
pub fn events(rows: &[BranchRow]) -> u128 {
    rows.iter().map(|row| u128::from(row.count)).sum()
}

/// The target of a row, independent of the producer's numbering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    /// A bytecode index.
    Real(i32),
    /// A case without its own position that shares its target with a real row.
    Shared(i32),
    /// A placeholder: BCI and index.
    Placeholder(i32, u32),
}

/// The rows of a list by target.
#[derive(Debug, Default)]
struct Targets {
    /// The lowest BCI of each index that a real row has.
    real_of_index: BTreeMap<u32, i32>,
    /// Target, index and position of each row. Rows with one target are in canonical order, because they also have one
    /// BCI.
    rows: BTreeSet<(Target, u32, usize)>,
}

impl Targets {
    fn of(rows: &[BranchRow]) -> Self {
        let mut targets = Self::default();
        rows.iter().for_each(|row| targets.note_real(*row));
        rows.iter().zip(0..).for_each(|(row, at)| targets.insert(*row, at));
        targets
    }

    /// Call this for all rows before inserting a row that shares an index with them.
    fn note_real(&mut self, row: BranchRow) {
        if row.bci >= 0 {
            let real = self.real_of_index.entry(row.index).or_insert(row.bci);
            *real = (*real).min(row.bci);
        }
    }

    fn insert(&mut self, row: BranchRow, at: usize) {
        let target = match self.real_of_index.get(&row.index) {
            _ if row.bci >= 0 => Target::Real(row.bci),
            Some(real) if row.bci == bci::UNKNOWN => Target::Shared(*real),
            _ => Target::Placeholder(row.bci, row.index),
        };
        self.rows.insert((target, row.index, at));
    }

    /// Returns for each row of another list, in the order of targets: its target, its position, and the position of the
    /// row here with the same target. If several rows have the same target, the first corresponds to the first, and so
    /// on.
    fn matches<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (Target, usize, Option<usize>)> + 'a {
        let mut known = self.rows.range(..);
        let mut last = None;
        other.rows.iter().map(move |(target, _, at)| {
            if last.replace(*target) != Some(*target) {
                known = self.rows.range((*target, 0, 0)..);
            }
            let found = known.next().filter(|(known, ..)| known == target);
            (*target, *at, found.map(|(.., position)| *position))
        })
    }
}

/// The result of resolving the shapes of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resolved {
    /// The remaining lists: one, all with [`BranchClash::Keep`], or none.
    pub lists: Vec<Vec<BranchRow>>,
    /// The number of lists that clashed with a heavier or earlier one.
    pub clashes: usize,
    /// The number of counts above [`MAX_COUNT`](crate::iprof::MAX_COUNT).
    pub saturated: u64,
}

/// Joins the shapes of one site, given in order of first appearance.
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
        let targets = Targets::of(&rows);
        let matched = current.targets.matches(&targets).filter(|(.., position)| position.is_some()).count();
        // Neither list has all targets of the other.
        if matched < rows.len().min(current.rows.len()) {
            resolved.clashes += 1;
            if policy != BranchClash::Union {
                continue;
            }
        }
        resolved.saturated += current.join(&rows, &targets);
    }
    if resolved.clashes == 0 || policy != BranchClash::Drop {
        resolved.lists.push(current.rows);
    }
    resolved
}

/// A list that others are joined to. It keeps its order and indexes. The lookup tables grow with its rows, so joining
/// takes time in proportion to the joined rows.
struct Joined {
    rows: Vec<BranchRow>,
    targets: Targets,
    indices: Indices,
}

impl Joined {
    fn new(rows: Vec<BranchRow>) -> Self {
        Self { targets: Targets::of(&rows), indices: Indices::of(&rows), rows }
    }

    /// Adds a list with these targets. Returns the number of saturated counts.
    fn join(&mut self, rows: &[BranchRow], targets: &Targets) -> u64 {
        let mut saturated = 0;
        let mut unmatched = Vec::new();
        for (target, at, position) in self.targets.matches(targets) {
            match position {
                Some(position) => {
                    saturated += u64::from(add_saturating(&mut self.rows[position].count, rows[at].count));
                }
                None => unmatched.push((target, at)),
            }
        }
        // Real targets first: rows that share a target use its index.
        unmatched
            .sort_by_key(|(target, at)| (!matches!(target, Target::Real(..)), rows[*at].index, rows[*at].bci, *at));
        for (target, at) in unmatched {
            let shared = match target {
                Target::Shared(real) => self.indices.first_of.get(&real).copied(),
                _ => None,
            };
            let index = shared.unwrap_or_else(|| self.indices.free(rows[at].index));
            self.push(BranchRow { index, ..rows[at] });
        }
        saturated
    }

    /// Adds a row with a new index, or one that shares a target.
    fn push(&mut self, row: BranchRow) {
        self.indices.first_of.entry(row.bci).or_insert(row.index);
        self.targets.note_real(row);
        self.targets.insert(row, self.rows.len());
        self.rows.push(row);
    }
}

/// The indexes of a growing list.
struct Indices {
    /// Used indexes as ranges without gaps: the last by the first.
    taken: BTreeMap<u32, u32>,
    /// The index of the first row, by BCI.
    first_of: BTreeMap<i32, u32>,
}

impl Indices {
    fn of(rows: &[BranchRow]) -> Self {
        let first_of = rows.iter().rev().map(|row| (row.bci, row.index)).collect();
        let mut indices = Self { taken: BTreeMap::new(), first_of };
        rows.iter().for_each(|row| indices.take(row.index));
        indices
    }

    /// Returns `wanted` if no row has it, otherwise the next unused number.
    fn free(&mut self, wanted: u32) -> u32 {
        let above = self.not_taken_from(wanted);
        let found = if above <= i32::MAX as u32 { above } else { self.not_taken_from(0) };
        self.take(found);
        found
    }

    /// Returns the lowest unused index from `start`.
    fn not_taken_from(&self, start: u32) -> u32 {
        let before = self.taken.range(..=start).next_back();
        before.filter(|(_, last)| **last >= start).map_or(start, |(_, last)| last.saturating_add(1))
    }

    fn take(&mut self, index: u32) {
        let before = self.taken.range(..=index).next_back().map(|(first, last)| (*first, *last));
        let first = match before {
            Some((_, last)) if last >= index => return,
            Some((first, last)) if last + 1 == index => first,
            _ => index,
        };
        let after = index.checked_add(1).and_then(|next| self.taken.remove(&next));
        self.taken.insert(first, after.unwrap_or(index));
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
    fn many_shapes_are_joined_in_little_time() {
        for (bci, index) in [(0, 1), (1, 0), (1, 1)] {
            let shape = |at: i32| rows(&[(7 + bci * at, index * at as u32, 1), (-2, 5 * at as u32, 1)]);
            let resolved = resolve((0..50_000).map(shape).collect(), BranchClash::Union);
            assert_eq!(resolved.lists[0].len(), 50_000 * (1 + bci as usize) + usize::from(bci == 0));
        }
    }

    /// The lookup tables of a list that grew are those of the final list.
    #[test]
    fn list_knowledge_grows_with_the_list() {
        let mut state = 1u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..2000 {
            let mut list = || -> Vec<BranchRow> {
                (0..1 + next(5))
                    .map(|_| BranchRow { bci: [-5, -2, 0, 1, 2, 9][next(6) as usize], index: next(5) as u32, count: 1 })
                    .collect()
            };
            let mut joined = Joined::new(list());
            for _ in 0..4 {
                let rows = list();
                joined.join(&rows, &Targets::of(&rows));
                let (targets, indices) = (Targets::of(&joined.rows), Indices::of(&joined.rows));
                assert_eq!(
                    (&joined.targets.rows, &joined.targets.real_of_index),
                    (&targets.rows, &targets.real_of_index)
                );
                assert_eq!((&joined.indices.taken, &joined.indices.first_of), (&indices.taken, &indices.first_of));
            }
        }
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
