//! Sums by context: what a merge gathers for each section.

use super::branches::{self, BranchClash, Settled, add_saturating};
use super::weight::Weight;
use crate::iprof::context::ContextHandle;
use crate::iprof::sections::{BranchRow, CountEntry, RowSection, TypeCount};
use crate::iprof::tables::TypeHandle;
use hashbrown::{HashMap, HashTable};
use std::hash::BuildHasher;

const NONE: u32 = u32::MAX;

/// From contexts to the positions of their entries. Callers have contexts of
/// their own, so far fewer contexts have entries than there are.
#[derive(Debug, Default)]
struct Positions(HashMap<ContextHandle, u32, foldhash::fast::FixedState>);

impl Positions {
    fn find(&self, context: ContextHandle) -> Option<usize> {
        self.0.get(&context).map(|at| *at as usize)
    }

    fn set(&mut self, context: ContextHandle, at: usize) {
        self.0.insert(context, u32::try_from(at).expect("fewer than 2^32 entries"));
    }
}

/// One number a context.
#[derive(Debug, Default)]
pub(super) struct CountSites {
    pub(super) entries: Vec<CountEntry>,
    positions: Positions,
    pub(super) saturated: u64,
}

impl CountSites {
    /// Adds to a context. Returns the position of its entry if that is new.
    pub(super) fn add(&mut self, context: ContextHandle, count: u64, weight: Weight) -> Option<usize> {
        let (count, saturated) = weight.apply(count);
        self.saturated += u64::from(saturated);
        if let Some(at) = self.positions.find(context) {
            self.saturated += u64::from(add_saturating(&mut self.entries[at].count, count));
            return None;
        }
        let at = self.entries.len();
        self.positions.set(context, at);
        self.entries.push(CountEntry { context, count });
        Some(at)
    }
}

/// Types a context, in order of first appearance.
#[derive(Debug, Default)]
pub(super) struct TypeSites {
    sites: Vec<TypeSite>,
    pairs: Vec<ChainedPair>,
    positions: Positions,
    index: HashTable<u32>,
    hasher: foldhash::fast::FixedState,
    pub(super) saturated: u64,
}

#[derive(Debug)]
struct TypeSite {
    context: ContextHandle,
    first: u32,
    last: u32,
}

#[derive(Debug)]
struct ChainedPair {
    site: u32,
    class: TypeHandle,
    count: u64,
    next: u32,
}

impl TypeSites {
    /// Adds to a context. Returns the position of its entry if that is new.
    pub(super) fn add(
        &mut self,
        context: ContextHandle,
        pairs: impl Iterator<Item = TypeCount>,
        weight: Weight,
    ) -> Option<usize> {
        let known = self.positions.find(context);
        let at = known.unwrap_or_else(|| {
            let at = self.sites.len();
            self.positions.set(context, at);
            self.sites.push(TypeSite { context, first: NONE, last: NONE });
            at
        });
        for pair in pairs {
            self.add_pair(at, pair.class, weight.apply(pair.count));
        }
        if known.is_none() { Some(at) } else { None }
    }

    fn add_pair(&mut self, at: usize, class: TypeHandle, (count, saturated): (u64, bool)) {
        self.saturated += u64::from(saturated);
        let site = u32::try_from(at).unwrap_or(NONE);
        let hash = self.hasher.hash_one((site, class));
        let chain = &self.pairs;
        if let Some(known) = self.index.find(hash, |known| {
            let known = &chain[*known as usize];
            known.site == site && known.class == class
        }) {
            let known = &mut self.pairs[*known as usize];
            self.saturated += u64::from(add_saturating(&mut known.count, count));
            return;
        }
        let new = u32::try_from(self.pairs.len()).expect("fewer than 2^32 type counts");
        self.pairs.push(ChainedPair { site, class, count, next: NONE });
        let site = &mut self.sites[at];
        match self.pairs.get_mut(site.last as usize) {
            Some(last) => last.next = new,
            None => site.first = new,
        }
        site.last = new;
        let (chain, hasher) = (&self.pairs, &self.hasher);
        self.index.insert_unique(hash, new, |at| {
            let pair = &chain[*at as usize];
            hasher.hash_one((pair.site, pair.class))
        });
    }

    /// The entries, in order of first appearance.
    pub(super) fn into_section(self) -> RowSection<TypeCount> {
        let mut section = RowSection::default();
        let mut rows = Vec::new();
        for site in &self.sites {
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
    sites: Vec<BranchSite>,
    shapes: Vec<Shape>,
    rows: Vec<BranchRow>,
    positions: Positions,
    index: HashTable<u32>,
    hasher: foldhash::fast::FixedState,
    pub(super) saturated: u64,
}

#[derive(Debug)]
struct BranchSite {
    context: ContextHandle,
    first: u32,
    last: u32,
}

#[derive(Debug, Clone, Copy)]
struct Shape {
    site: u32,
    start: usize,
    end: usize,
    next: u32,
}

impl BranchSites {
    /// How many contexts there are.
    pub(super) fn len(&self) -> usize {
        self.sites.len()
    }

    /// Adds a list to a context. Returns the position of its site if that is new.
    pub(super) fn add(&mut self, context: ContextHandle, rows: &[BranchRow], weight: Weight) -> Option<usize> {
        let known = self.positions.find(context);
        let at = known.unwrap_or_else(|| {
            let at = self.sites.len();
            self.positions.set(context, at);
            self.sites.push(BranchSite { context, first: NONE, last: NONE });
            at
        });
        let usual = self.shapes.get(self.sites[at].first as usize).copied();
        let same = |shape: &Shape| {
            let pair = |row: &BranchRow| (row.index, row.bci);
            self.rows[shape.start..shape.end].iter().map(pair).eq(rows.iter().map(pair))
        };
        match usual.filter(same) {
            Some(shape) => {
                for (at, row) in (shape.start..).zip(rows) {
                    self.add_count(at, row.count, weight);
                }
            }
            None => self.add_shape(at, rows, weight),
        }
        if known.is_none() { Some(at) } else { None }
    }

    fn add_count(&mut self, at: usize, count: u64, weight: Weight) {
        let (count, saturated) = weight.apply(count);
        self.saturated += u64::from(saturated) + u64::from(add_saturating(&mut self.rows[at].count, count));
    }

    fn add_shape(&mut self, at: usize, rows: &[BranchRow], weight: Weight) {
        let site = u32::try_from(at).unwrap_or(NONE);
        let order = branches::canonical_order(rows);
        let hash = shape_hash(&self.hasher, site, rows, &order);
        let (shapes, all) = (&self.shapes, &self.rows);
        let found = self.index.find(hash, |known| {
            let shape = &shapes[*known as usize];
            shape.site == site && is_same_shape(&all[shape.start..shape.end], rows, &order)
        });
        if let Some(found) = found {
            let shape = self.shapes[*found as usize];
            let known_order = branches::canonical_order(&self.rows[shape.start..shape.end]);
            for (known, new) in known_order.into_iter().zip(order) {
                self.add_count(shape.start + known, rows[new].count, weight);
            }
            return;
        }
        let start = self.rows.len();
        for row in rows {
            let (count, saturated) = weight.apply(row.count);
            self.saturated += u64::from(saturated);
            self.rows.push(BranchRow { count, ..*row });
        }
        let new = u32::try_from(self.shapes.len()).expect("fewer than 2^32 branch lists");
        self.shapes.push(Shape { site, start, end: self.rows.len(), next: NONE });
        let site = &mut self.sites[at];
        match self.shapes.get_mut(site.last as usize) {
            Some(last) => last.next = new,
            None => site.first = new,
        }
        site.last = new;
        let (shapes, all, hasher) = (&self.shapes, &self.rows, &self.hasher);
        self.index.insert_unique(hash, new, |at| {
            let shape = &shapes[*at as usize];
            let rows = &all[shape.start..shape.end];
            shape_hash(hasher, shape.site, rows, &branches::canonical_order(rows))
        });
    }

    /// Settles every site. `clash` is told of each context whose lists clashed, and of how many.
    pub(super) fn settle(
        mut self,
        policy: BranchClash,
        mut clash: impl FnMut(ContextHandle, usize),
    ) -> (RowSection<BranchRow>, u64) {
        let mut section = RowSection::default();
        for site in std::mem::take(&mut self.sites) {
            let shape = |at: u32| self.shapes.get(at as usize);
            let Some(first) = shape(site.first) else { continue };
            if first.next == NONE {
                section.push(site.context, &self.rows[first.start..first.end]);
                continue;
            }
            let shapes = std::iter::successors(Some(first), |last| shape(last.next));
            let lists = shapes.map(|shape| self.rows[shape.start..shape.end].to_vec()).collect();
            let Settled { lists, clashes, saturated } = branches::settle(lists, policy);
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
