//! Sums by context: what a merge gathers for each section.

use super::branches::{self, BranchClash, Resolved, add_saturating};
use super::gathered::{Gathered, OfContext};
use super::weight::Weight;
use crate::iprof::context::ContextHandle;
use crate::iprof::sections::{BranchRow, CountEntry, RowSection, TypeCount};
use crate::iprof::tables::TypeHandle;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::ops::Range;

const NONE: u32 = u32::MAX;

/// One number a context.
#[derive(Debug, Default)]
pub(super) struct CountSites {
    sites: Gathered<CountEntry>,
    pub(super) saturated: u64,
}

impl OfContext for CountEntry {
    fn context(&self) -> ContextHandle {
        self.context
    }
}

impl CountSites {
    /// The context that probably comes next.
    pub(super) fn expected(&self) -> Option<ContextHandle> {
        self.sites.expected()
    }

    /// Adds to a context. Returns the position of its entry if that is new.
    pub(super) fn add(&mut self, context: ContextHandle, count: u64, weight: Weight) -> Option<usize> {
        let (count, saturated) = weight.apply(count);
        self.saturated += u64::from(saturated);
        let (at, is_new) = self.sites.place(context, || CountEntry { context, count });
        if !is_new {
            self.saturated += u64::from(add_saturating(&mut self.sites.entries[at].count, count));
        }
        is_new.then_some(at)
    }

    /// The entries, in order of first appearance.
    pub(super) fn into_entries(self) -> Vec<CountEntry> {
        self.sites.entries
    }
}

/// Types a context, in order of first appearance.
#[derive(Debug, Default)]
pub(super) struct TypeSites {
    sites: Gathered<Site>,
    pairs: Vec<ChainedPair>,
    /// Pairs behind the first few of their site.
    index: HashTable<u32>,
    hasher: foldhash::fast::FixedState,
    pub(super) saturated: u64,
}

/// A context, and the first and the last of a chain that belongs to it.
#[derive(Debug)]
struct Site {
    context: ContextHandle,
    first: u32,
    last: u32,
}

impl Site {
    fn new(context: ContextHandle) -> Self {
        Self { context, first: NONE, last: NONE }
    }
}

impl OfContext for Site {
    fn context(&self) -> ContextHandle {
        self.context
    }
}

/// Producers record no more types at a site; so many are looked at one by one.
const WALKED_PAIRS: usize = 8;

#[derive(Debug)]
struct ChainedPair {
    site: u32,
    class: TypeHandle,
    count: u64,
    next: u32,
}

impl TypeSites {
    /// The context that probably comes next.
    pub(super) fn expected(&self) -> Option<ContextHandle> {
        self.sites.expected()
    }

    /// Adds to a context. Returns the position of its entry if that is new.
    pub(super) fn add(
        &mut self,
        context: ContextHandle,
        pairs: impl Iterator<Item = TypeCount>,
        weight: Weight,
    ) -> Option<usize> {
        let (at, is_new) = self.sites.place(context, || Site::new(context));
        for pair in pairs {
            self.add_pair(at, pair.class, weight.apply(pair.count));
        }
        is_new.then_some(at)
    }

    fn add_pair(&mut self, at: usize, class: TypeHandle, (count, saturated): (u64, bool)) {
        self.saturated += u64::from(saturated);
        let mut next = self.sites.entries[at].first;
        let mut walked = 0;
        while let Some(known) = self.pairs.get_mut(next as usize).filter(|_| walked < WALKED_PAIRS) {
            if known.class == class {
                self.saturated += u64::from(add_saturating(&mut known.count, count));
                return;
            }
            next = known.next;
            walked += 1;
        }
        let site = u32::try_from(at).unwrap_or(NONE);
        let new = u32::try_from(self.pairs.len()).expect("fewer than 2^32 type counts");
        if walked == WALKED_PAIRS {
            let hash = self.hasher.hash_one((site, class));
            let chain = &self.pairs;
            let same = |known: &u32| {
                let known = &chain[*known as usize];
                known.site == site && known.class == class
            };
            if let Some(known) = self.index.find(hash, same) {
                let known = &mut self.pairs[*known as usize];
                self.saturated += u64::from(add_saturating(&mut known.count, count));
                return;
            }
            let hasher = &self.hasher;
            self.index.insert_unique(hash, new, |at| {
                let pair = &chain[*at as usize];
                hasher.hash_one((pair.site, pair.class))
            });
        }
        self.pairs.push(ChainedPair { site, class, count, next: NONE });
        let site = &mut self.sites.entries[at];
        match self.pairs.get_mut(site.last as usize) {
            Some(last) => last.next = new,
            None => site.first = new,
        }
        site.last = new;
    }

    /// The entries, in order of first appearance.
    pub(super) fn into_section(self) -> RowSection<TypeCount> {
        let mut section = RowSection::default();
        let mut rows = Vec::new();
        for site in &self.sites.entries {
            rows.clear();
            let mut next = site.first;
            while let Some(pair) = self.pairs.get(next as usize) {
                rows.push(TypeCount { class: pair.class, count: pair.count });
                next = pair.next;
            }
            section.push(site.context, &rows);
        }
        section
    }
}

/// Branch lists a context, by shape.
#[derive(Debug, Default)]
pub(super) struct BranchSites {
    sites: Gathered<Site>,
    shapes: Vec<Shape>,
    rows: Vec<BranchRow>,
    /// Shapes of sites that have several.
    index: HashTable<u32>,
    hasher: foldhash::fast::FixedState,
    pub(super) saturated: u64,
}

#[derive(Debug, Clone, Copy)]
struct Shape {
    site: u32,
    start: u32,
    end: u32,
    next: u32,
}

impl Shape {
    /// Where its rows are.
    fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl BranchSites {
    /// The context that probably comes next.
    pub(super) fn expected(&self) -> Option<ContextHandle> {
        self.sites.expected()
    }

    /// How many contexts there are.
    pub(super) fn len(&self) -> usize {
        self.sites.entries.len()
    }

    /// Adds a list to a context. Returns the position of its site if that is new.
    pub(super) fn add(&mut self, context: ContextHandle, rows: &[BranchRow], weight: Weight) -> Option<usize> {
        let (at, is_new) = self.sites.place(context, || Site::new(context));
        let usual = self.shapes.get(self.sites.entries[at].first as usize).copied();
        let same = |shape: &Shape| {
            let pair = |row: &BranchRow| (row.index, row.bci);
            self.rows[shape.range()].iter().map(pair).eq(rows.iter().map(pair))
        };
        match usual.filter(same) {
            Some(shape) => {
                for (at, row) in shape.range().zip(rows) {
                    self.add_count(at, row.count, weight);
                }
            }
            None => self.add_shape(at, rows, weight),
        }
        is_new.then_some(at)
    }

    fn add_count(&mut self, at: usize, count: u64, weight: Weight) {
        let (count, saturated) = weight.apply(count);
        self.saturated += u64::from(saturated) + u64::from(add_saturating(&mut self.rows[at].count, count));
    }

    /// Adds a list that is not of its site's first shape as it stands.
    fn add_shape(&mut self, at: usize, rows: &[BranchRow], weight: Weight) {
        let number = u32::try_from(at).unwrap_or(NONE);
        let site = &self.sites.entries[at];
        if site.first != NONE {
            let order = branches::canonical_order(rows);
            if let Some(shape) = self.find_shape(number, rows, &order) {
                let known_order = branches::canonical_order(self.rows_of(shape));
                for (known, new) in known_order.into_iter().zip(order) {
                    self.add_count(shape.range().start + known, rows[new].count, weight);
                }
                return;
            }
        }
        let position = |rows: usize| u32::try_from(rows).expect("fewer than 2^32 branch rows");
        let start = position(self.rows.len());
        for row in rows {
            let (count, saturated) = weight.apply(row.count);
            self.saturated += u64::from(saturated);
            self.rows.push(BranchRow { count, ..*row });
        }
        let new = u32::try_from(self.shapes.len()).expect("fewer than 2^32 branch lists");
        self.shapes.push(Shape { site: number, start, end: position(self.rows.len()), next: NONE });
        let site = &mut self.sites.entries[at];
        let Some(last) = self.shapes.get_mut(site.last as usize) else {
            (site.first, site.last) = (new, new);
            return;
        };
        last.next = new;
        let before = std::mem::replace(&mut site.last, new);
        if before == site.first {
            self.index_shape(before);
        }
        self.index_shape(new);
    }

    fn rows_of(&self, shape: Shape) -> &[BranchRow] {
        &self.rows[shape.range()]
    }

    /// A site's shape of these rows, in any order.
    fn find_shape(&self, number: u32, rows: &[BranchRow], order: &[usize]) -> Option<Shape> {
        let site = &self.sites.entries[number as usize];
        let is_same = |shape: &Shape| shape.site == number && is_same_shape(self.rows_of(*shape), rows, order);
        if site.first == site.last {
            return self.shapes.get(site.first as usize).copied().filter(is_same);
        }
        let hash = shape_hash(&self.hasher, number, rows, order);
        let found = self.index.find(hash, |known| is_same(&self.shapes[*known as usize]))?;
        Some(self.shapes[*found as usize])
    }

    fn index_shape(&mut self, at: u32) {
        let (shapes, all, hasher) = (&self.shapes, &self.rows, &self.hasher);
        let hash = |at: &u32| {
            let shape = &shapes[*at as usize];
            let rows = &all[shape.range()];
            shape_hash(hasher, shape.site, rows, &branches::canonical_order(rows))
        };
        self.index.insert_unique(hash(&at), at, hash);
    }

    /// Settles every site. `clash` is told of each context whose lists clashed, and of how many.
    pub(super) fn resolve(
        mut self,
        policy: BranchClash,
        mut clash: impl FnMut(ContextHandle, usize),
    ) -> (RowSection<BranchRow>, u64) {
        if self.shapes.len() == self.sites.entries.len() {
            // Every site got its one shape when it was made: everything is in order already.
            let contexts = self.sites.entries.iter().map(|site| site.context).collect();
            let ends = self.shapes.iter().map(|shape| shape.range().end).collect();
            return (RowSection::from_parts(contexts, ends, self.rows), self.saturated);
        }
        let mut section = RowSection::default();
        for site in std::mem::take(&mut self.sites.entries) {
            let shape = |at: u32| self.shapes.get(at as usize);
            let Some(first) = shape(site.first) else { continue };
            if first.next == NONE {
                section.push(site.context, &self.rows[first.range()]);
                continue;
            }
            let shapes = std::iter::successors(Some(first), |last| shape(last.next));
            let lists = shapes.map(|shape| self.rows[shape.range()].to_vec()).collect();
            let Resolved { lists, clashes, saturated } = branches::resolve(lists, policy);
            self.saturated += saturated;
            if clashes > 0 {
                clash(site.context, clashes);
            }
            for list in &lists {
                section.push(site.context, list);
            }
        }
        (section, self.saturated)
    }
}

fn shape_hash(hasher: &foldhash::fast::FixedState, site: u32, rows: &[BranchRow], order: &[usize]) -> u64 {
    let pairs: Vec<(u32, i32)> = order.iter().map(|at| (rows[*at].index, rows[*at].bci)).collect();
    hasher.hash_one((site, pairs))
}

fn is_same_shape(known: &[BranchRow], rows: &[BranchRow], order: &[usize]) -> bool {
    let known_order = branches::canonical_order(known);
    let pair = |row: &BranchRow| (row.index, row.bci);
    known_order.iter().map(|at| pair(&known[*at])).eq(order.iter().map(|at| pair(&rows[*at])))
}

#[cfg(test)]
mod tests {
    use super::*;
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
            let mut sites = CountSites::default();
            let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
            let mut order = Vec::new();
            for (count, number) in (1..).zip(first.iter().chain(again()).chain(again())) {
                let expected = (!sums.contains_key(number)).then_some(order.len());
                prop_assert_eq!(sites.add(context(*number), count, Weight::ONE), expected);
                *sums.entry(*number).or_default() += count;
                if expected.is_some() {
                    order.push(*number);
                }
            }
            let expected: Vec<_> =
                order.iter().map(|number| CountEntry { context: context(*number), count: sums[number] }).collect();
            prop_assert_eq!(sites.into_entries(), expected);
        }

        #[test]
        fn types_of_crowded_sites_are_added_up(pairs in proptest::collection::vec((0u32..3, 0usize..20), 0..200)) {
            let mut sites = TypeSites::default();
            let mut expected: Vec<(u32, Vec<TypeCount>)> = Vec::new();
            for (count, (number, class)) in (1..).zip(&pairs) {
                let pair = TypeCount { class: TypeHandle::from_index(*class), count };
                sites.add(context(*number), [pair].into_iter(), Weight::ONE);
                let at = expected.iter().position(|(known, _)| known == number).unwrap_or_else(|| {
                    expected.push((*number, Vec::new()));
                    expected.len() - 1
                });
                match expected[at].1.iter_mut().find(|known| known.class == pair.class) {
                    Some(known) => known.count += count,
                    None => expected[at].1.push(pair),
                }
            }
            let section = sites.into_section();
            let found: Vec<_> = section.iter().map(|(context, pairs)| (context.number(), pairs.to_vec())).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn lists_of_one_shape_are_added_up(
            lists in proptest::collection::vec((0u32..2, proptest::collection::vec((0i32..3, 0u32..2), 0..4)), 0..60)
        ) {
            let mut sites = BranchSites::default();
            type Pairs = Vec<(u32, i32)>;
            let mut sums: BTreeMap<(u32, Pairs), Vec<u64>> = BTreeMap::new();
            for (count, (number, list)) in (1..).zip(&lists) {
                let mut rows: Vec<_> = list.iter().map(|(bci, index)| BranchRow { index: *index, bci: *bci, count }).collect();
                sites.add(context(*number), &rows, Weight::ONE);
                branches::sort_canonically(&mut rows);
                let shape = rows.iter().map(|row| (row.index, row.bci)).collect();
                let sum = sums.entry((*number, shape)).or_insert_with(|| vec![0; rows.len()]);
                sum.iter_mut().for_each(|known| *known += count);
            }
            let (section, _) = sites.resolve(BranchClash::Keep, |_, _| {});
            let mut found = BTreeMap::new();
            for (context, rows) in section.iter() {
                let mut rows = rows.to_vec();
                branches::sort_canonically(&mut rows);
                let shape = rows.iter().map(|row| (row.index, row.bci)).collect();
                let counts = rows.iter().map(|row| row.count).collect();
                prop_assert!(found.insert((context.number(), shape), counts).is_none(), "one list a shape");
            }
            prop_assert_eq!(found, sums);
        }
    }
}
