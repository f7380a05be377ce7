//! The merged entries of each section, by context.
//!
//! The first list of a context is stored at its final position. Most later lists have the same rows and are added in
//! place. Other lists and rows are stored separately until the end.

use crate::iprof::context::ContextHandle;
use crate::iprof::merge::weight::Weight;
use crate::iprof::sections::{BranchRow, CountEntry, MAX_COUNT, RowSection, TypeCount};
use crate::iprof::tables::TypeHandle;
use hashbrown::{HashMap, HashTable};
use std::hash::{BuildHasher, Hash, Hasher};
use std::ops::Range;

/// A row of a list. Rows with the same key are added.
pub(super) trait Row: Copy {
    /// The key of a row.
    type Key: Copy + Ord + Hash;
    /// Whether lists are only added if they have the same rows. Otherwise each row is added separately.
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

/// Returns the positions of rows in canonical order, which is the order of their keys. Rows with the same key keep
/// their order.
pub(super) fn canonical_order<R: Row>(rows: &[R]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|at| rows[*at].key());
    order
}

/// Returns true if two lists have the same rows in the same order.
pub(super) fn is_same_as_written<R: Row>(known: &[R], rows: &[R]) -> bool {
    known.len() == rows.len() && known.iter().zip(rows).all(|(known, row)| known.key() == row.key())
}

/// Returns true if two lists have the same rows in any order.
pub(super) fn is_same_list<R: Row>(known: &[R], rows: &[R]) -> bool {
    let keys = |rows: &[R]| canonical_order(rows).into_iter().map(|at| rows[at].key()).collect::<Vec<_>>();
    is_same_as_written(known, rows) || (rows.len() > 1 && known.len() == rows.len() && keys(known) == keys(rows))
}

/// Adds the rows of a list to the same rows of another, in any order. Returns the number of saturated counts.
pub(super) fn add_rows<R: Row>(known: &mut [R], rows: &[R]) -> u64 {
    let add = |known: &mut R, mut row: R| u64::from(add_saturating(known.count(), *row.count()));
    if is_same_as_written(known, rows) {
        return known.iter_mut().zip(rows).map(|(known, row)| add(known, *row)).sum();
    }
    let places = canonical_order(known).into_iter().zip(canonical_order(rows));
    places.map(|(place, row)| add(&mut known[place], rows[row])).sum()
}

/// Adds to a count. Returns true if the sum was limited to [`MAX_COUNT`].
pub(super) fn add_saturating(count: &mut u64, more: u64) -> bool {
    let sum = count.saturating_add(more);
    *count = sum.min(MAX_COUNT);
    sum > MAX_COUNT
}

/// The entries of a section, one per context, in order of first appearance.
pub(super) trait Lists<R>: Default {
    fn len(&self) -> usize;
    fn context(&self, at: usize) -> ContextHandle;
    fn list(&mut self, at: usize) -> &mut [R];
    fn push(&mut self, context: ContextHandle, rows: &[R]);
}

impl Lists<CountEntry> for Vec<CountEntry> {
    fn len(&self) -> usize {
        self.len()
    }
    fn context(&self, at: usize) -> ContextHandle {
        self[at].context
    }
    fn list(&mut self, at: usize) -> &mut [CountEntry] {
        std::slice::from_mut(&mut self[at])
    }
    #[inline]
    fn push(&mut self, _: ContextHandle, rows: &[CountEntry]) {
        // Copy field by field, so that a new row stays in registers.
        self.extend(rows.iter().map(|row| CountEntry { context: row.context, count: row.count }));
    }
}

impl<R: Copy> Lists<R> for RowSection<R> {
    fn len(&self) -> usize {
        self.len()
    }
    fn context(&self, at: usize) -> ContextHandle {
        self.entry(at).0
    }
    fn list(&mut self, at: usize) -> &mut [R] {
        self.rows_mut(at)
    }
    fn push(&mut self, context: ContextHandle, rows: &[R]) {
        self.push(context, rows);
    }
}

/// Multiplies all counts. Returns the number of counts that were limited to the maximum.
pub(super) fn scale<R: Row>(lists: &mut impl Lists<R>, by: Weight) -> u64 {
    let mut scale = |row: &mut R| {
        let (count, is_cut) = by.apply(*row.count());
        *row.count() = count;
        u64::from(is_cut)
    };
    (0..lists.len()).map(|at| lists.list(at).iter_mut().map(&mut scale).sum::<u64>()).sum()
}

/// The maximum number of rows in a first list whose rows are added separately, because they are searched linearly.
/// Producers record at most this many types per site.
const MOST_WALKED: usize = 8;

/// Merges the entries of one section.
#[derive(Debug)]
pub(super) struct Sites<R, L> {
    first: L,
    /// The entry after the last found one.
    next: usize,
    /// One bit per context: whether it has an entry. Callers also have contexts, so most contexts have no entry.
    occupied: Vec<u64>,
    /// Created on demand, because one input does not look up any context twice.
    index: HashMap<ContextHandle, u32, foldhash::fast::FixedState>,
    /// Lists and rows that are not in the first list of their entry, in order of first appearance.
    others: Vec<Other>,
    other_rows: Vec<R>,
    other_index: HashTable<u32>,
    hasher: foldhash::fast::FixedState,
    /// The last rows, multiplied by their weight. Stored to reuse the memory.
    weighted: Vec<R>,
    /// The number of counts that were limited to the maximum.
    pub(super) saturated: u64,
}

/// A list, or a single row, in addition to the first list of an entry.
#[derive(Debug, Clone)]
struct Other {
    entry: usize,
    rows: Range<usize>,
}

impl<R, L: Default> Default for Sites<R, L> {
    fn default() -> Self {
        Self {
            first: L::default(),
            next: 0,
            occupied: Vec::new(),
            index: HashMap::default(),
            others: Vec::new(),
            other_rows: Vec::new(),
            other_index: HashTable::new(),
            hasher: Default::default(),
            weighted: Vec::new(),
            saturated: 0,
        }
    }
}

impl<R: Row, L: Lists<R>> Sites<R, L> {
    /// Returns the context that probably comes next. After the last entry, this is the first one, for the next input.
    pub(super) fn expected(&self) -> Option<ContextHandle> {
        self.context(self.next).or_else(|| self.context(0))
    }

    /// Returns the number of contexts.
    pub(super) fn len(&self) -> usize {
        self.first.len()
    }

    fn context(&self, at: usize) -> Option<ContextHandle> {
        (at < self.first.len()).then(|| self.first.context(at))
    }

    /// Adds a list to a context. Returns the index of its entry if it is new.
    pub(super) fn add(&mut self, context: ContextHandle, rows: &[R], weight: Weight) -> Option<usize> {
        if weight == Weight::ONE {
            return self.add_weighted(context, rows);
        }
        let mut weighted = std::mem::take(&mut self.weighted);
        weighted.clear();
        weighted.extend_from_slice(rows);
        for count in weighted.iter_mut().map(Row::count) {
            let (product, saturated) = weight.apply(*count);
            *count = product;
            self.saturated += u64::from(saturated);
        }
        let new = self.add_weighted(context, &weighted);
        self.weighted = weighted;
        new
    }

    fn add_weighted(&mut self, context: ContextHandle, rows: &[R]) -> Option<usize> {
        let Some(at) = self.find(context) else { return Some(self.append(context, rows)) };
        let first = self.first.list(at);
        if is_same_as_written(first, rows) {
            self.saturated += add_rows(first, rows);
        } else if R::AS_WHOLE {
            self.add_list(at, rows);
        } else {
            rows.chunks(1).for_each(|row| self.add_list(at, row));
        }
        None
    }

    fn find(&mut self, context: ContextHandle) -> Option<usize> {
        if self.next == self.first.len() && self.context(0) == Some(context) {
            self.next = 0;
        }
        if self.context(self.next) == Some(context) {
            self.next += 1;
            return Some(self.next - 1);
        }
        let word = self.occupied.get(context.index() / 64)?;
        if word >> (context.index() % 64) & 1 == 0 {
            return None;
        }
        for at in self.index.len()..self.first.len() {
            self.index.insert(self.first.context(at), u32::try_from(at).expect("fewer than 2^32 entries"));
        }
        let at = *self.index.get(&context)? as usize;
        self.next = at + 1;
        Some(at)
    }

    /// Creates an entry for a context.
    fn append(&mut self, context: ContextHandle, rows: &[R]) -> usize {
        let (word, at) = (context.index() / 64, self.first.len());
        if self.occupied.len() <= word {
            self.occupied.resize(word + 1, 0);
        }
        self.occupied[word] |= 1 << (context.index() % 64);
        // After a new entry, the next one is expected to be new, too.
        self.next += usize::from(self.next == at);
        let is_new = |at: &usize| rows[..*at].iter().all(|row| row.key() != rows[*at].key());
        let walked = (0..rows.len().min(MOST_WALKED)).take_while(is_new);
        let (first, rest) = rows.split_at(if R::AS_WHOLE { rows.len() } else { walked.count() });
        self.first.push(context, first);
        rest.chunks(1).for_each(|row| self.add_list(at, row));
        at
    }

    /// Adds a list, or a single row, that differs from the first list of its entry.
    fn add_list(&mut self, entry: usize, rows: &[R]) {
        let first = self.first.list(entry);
        let of_first = match R::AS_WHOLE {
            true => is_same_list(first, rows).then_some(0..first.len()),
            false => first.iter().position(|known| is_same_list(&[*known], rows)).map(|at| at..at + 1),
        };
        let known = match of_first {
            Some(range) => &mut first[range],
            None => {
                let hash = hash_of(&self.hasher, entry, rows);
                let is_same =
                    |other: &Other, all: &[R]| other.entry == entry && is_same_list(&all[other.rows.clone()], rows);
                let found = self.other_index.find(hash, |at| is_same(&self.others[*at as usize], &self.other_rows));
                let Some(found) = found else { return self.add_other(entry, rows, hash) };
                &mut self.other_rows[self.others[*found as usize].rows.clone()]
            }
        };
        self.saturated += add_rows(known, rows);
    }

    fn add_other(&mut self, entry: usize, rows: &[R], hash: u64) {
        let number = u32::try_from(self.others.len()).expect("fewer than 2^32 lists besides the first ones");
        let start = self.other_rows.len();
        self.other_rows.extend_from_slice(rows);
        self.others.push(Other { entry, rows: start..self.other_rows.len() });
        let hash_of = |other: &u32| hash_of_other(&self.hasher, &self.others, &self.other_rows, *other);
        self.other_index.insert_unique(hash, number, hash_of);
    }

    /// Returns the entries, in order of first appearance. `settle` gets all lists of an entry with several lists, and
    /// returns the remaining ones.
    pub(super) fn into_entries(
        mut self,
        mut settle: impl FnMut(ContextHandle, Vec<Vec<R>>, &mut dyn FnMut(&[R])),
    ) -> L {
        if self.others.is_empty() {
            return self.first;
        }
        // Stable sort: the lists of one entry stay in order.
        self.others.sort_by_key(|other| other.entry);
        let mut others = self.others.into_iter().peekable();
        let mut entries = L::default();
        for at in 0..self.first.len() {
            let context = self.first.context(at);
            let first = self.first.list(at);
            if others.peek().is_none_or(|other| other.entry != at) {
                entries.push(context, first);
                continue;
            }
            let mut lists = vec![first.to_vec()];
            while let Some(other) = others.next_if(|other| other.entry == at) {
                lists.push(self.other_rows[other.rows].to_vec());
            }
            settle(context, lists, &mut |rows| entries.push(context, rows));
        }
        entries
    }
}

fn hash_of_other<R: Row>(hasher: &foldhash::fast::FixedState, others: &[Other], rows: &[R], number: u32) -> u64 {
    let other = &others[number as usize];
    hash_of(hasher, other.entry, &rows[other.rows.clone()])
}

fn hash_of<R: Row>(hasher: &foldhash::fast::FixedState, entry: usize, rows: &[R]) -> u64 {
    let mut hash = hasher.build_hasher();
    entry.hash(&mut hash);
    canonical_order(rows).into_iter().for_each(|at| rows[at].key().hash(&mut hash));
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iprof::merge::branches::sort_canonically;
    use crate::iprof::sections::{BranchRow, TypeCount};
    use crate::iprof::tables::TypeHandle;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn context(number: u32) -> ContextHandle {
        ContextHandle::from_number(number)
    }

    proptest! {
        #[test]
        fn entries_are_found_whatever_their_order(
            first in proptest::collection::vec(0u32..200, 0..60),
            others in proptest::collection::vec(0u32..200, 0..60),
            skipped in 0usize..5,
        ) {
            let again = || first.iter().skip(skipped).chain(&others).chain(first.iter().rev());
            let mut sites = Sites::<CountEntry, Vec<CountEntry>>::default();
            let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
            let mut order = Vec::new();
            for (count, number) in (1..).zip(first.iter().chain(again()).chain(again())) {
                let expected = (!sums.contains_key(number)).then_some(order.len());
                let entry = CountEntry { context: context(*number), count };
                prop_assert_eq!(sites.add(entry.context, &[entry], Weight::ONE), expected);
                *sums.entry(*number).or_default() += count;
                if expected.is_some() {
                    order.push(*number);
                }
            }
            let expected: Vec<_> =
                order.iter().map(|number| CountEntry { context: context(*number), count: sums[number] }).collect();
            prop_assert_eq!(sites.into_entries(|_, _, _| ()), expected);
        }

        #[test]
        fn types_of_crowded_sites_are_added_up(pairs in proptest::collection::vec((0u32..3, 0usize..20), 0..200)) {
            let mut sites = Sites::<TypeCount, RowSection<TypeCount>>::default();
            let mut expected: Vec<(u32, Vec<TypeCount>)> = Vec::new();
            for (count, (number, class)) in (1..).zip(&pairs) {
                let pair = TypeCount { class: TypeHandle::from_index(*class), count };
                sites.add(context(*number), &[pair], Weight::ONE);
                let at = expected.iter().position(|(known, _)| known == number).unwrap_or_else(|| {
                    expected.push((*number, Vec::new()));
                    expected.len() - 1
                });
                match expected[at].1.iter_mut().find(|known| known.class == pair.class) {
                    Some(known) => known.count += count,
                    None => expected[at].1.push(pair),
                }
            }
            let section = sites.into_entries(|_, lists, push| push(&lists.concat()));
            let found: Vec<_> = section.iter().map(|(context, pairs)| (context.number(), pairs.to_vec())).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn lists_of_one_shape_are_added_up(
            lists in proptest::collection::vec((0u32..2, proptest::collection::vec((0i32..3, 0u32..2), 0..4)), 0..60)
        ) {
            let mut sites = Sites::<BranchRow, RowSection<BranchRow>>::default();
            type Pairs = Vec<(u32, i32)>;
            let mut sums: BTreeMap<(u32, Pairs), Vec<u64>> = BTreeMap::new();
            for (count, (number, list)) in (1..).zip(&lists) {
                let mut rows: Vec<_> = list.iter().map(|(bci, index)| BranchRow { index: *index, bci: *bci, count }).collect();
                sites.add(context(*number), &rows, Weight::ONE);
                sort_canonically(&mut rows);
                let shape = rows.iter().map(|row| (row.index, row.bci)).collect();
                let sum = sums.entry((*number, shape)).or_insert_with(|| vec![0; rows.len()]);
                sum.iter_mut().for_each(|known| *known += count);
            }
            let section = sites.into_entries(|_, lists, push| lists.iter().for_each(|list| push(list)));
            let mut found = BTreeMap::new();
            for (context, rows) in section.iter() {
                let mut rows = rows.to_vec();
                sort_canonically(&mut rows);
                let shape = rows.iter().map(|row| (row.index, row.bci)).collect();
                let counts = rows.iter().map(|row| row.count).collect();
                prop_assert!(found.insert((context.number(), shape), counts).is_none(), "one list a shape");
            }
            prop_assert_eq!(found, sums);
        }
    }
}
