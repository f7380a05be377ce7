//! Blocks of two functions, side by side.

use super::shared::Shared;
use crate::sampleprof::order;
use crate::sampleprof::profile::SampleProfile;
use crate::sampleprof::record::{BodyEntry, CallSite, FunctionRecord};
use std::cmp::Ordering;

/// Samples of a function, inlined callees included.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tally {
    pub(super) sum: u64,
    pub(super) max: u64,
    pub(super) hot_blocks: u64,
}

impl Tally {
    pub(super) fn of(record: &FunctionRecord, threshold: u64) -> Self {
        let mut tally = Self::default();
        tally.add(record, threshold);
        tally
    }

    fn add(&mut self, record: &FunctionRecord, threshold: u64) {
        for entry in &record.body {
            self.sum = self.sum.wrapping_add(entry.samples);
            self.max = self.max.max(entry.samples);
            self.hot_blocks += u64::from(entry.samples >= threshold);
        }
        record.call_sites.iter().for_each(|site| self.add(&site.callee, threshold));
    }
}

/// Which profile a block is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Base,
    Test,
    Both,
}

/// Hot blocks seen so far.
pub(super) struct Blocks {
    pub(super) base_threshold: u64,
    pub(super) test_threshold: u64,
    pub(super) hot: Shared,
}

type In<'a> = (&'a SampleProfile, &'a FunctionRecord);

impl Blocks {
    pub(super) fn new(base_threshold: u64, test_threshold: u64) -> Self {
        Self { base_threshold, test_threshold, hot: Shared::default() }
    }

    /// Takes note of blocks with so many samples.
    pub(super) fn count(&mut self, base: u64, test: u64, blocks: u64) {
        let is_base_hot = base >= self.base_threshold;
        let is_test_hot = test >= self.test_threshold;
        if is_base_hot || is_test_hot {
            self.hot.union += blocks;
            self.hot.base += if is_base_hot { blocks } else { 0 };
            self.hot.test += if is_test_hot { blocks } else { 0 };
            self.hot.overlap += if is_base_hot && is_test_hot { blocks } else { 0 };
        }
    }

    /// How alike two functions are inside, from 0 to 1; `function` has their
    /// samples and gets what they share.
    pub(super) fn compare(&mut self, base: In<'_>, test: In<'_>, function: &mut Shared) -> f64 {
        let mut difference = 0.0;
        let bodies = join(&base.1.body, &test.1.body, |a, b| a.location.cmp(&b.location));
        for (first, second) in bodies {
            let samples = |entry: Option<&BodyEntry>| entry.map_or(0, |e| e.samples);
            let side = side_of(first.is_some(), second.is_some());
            self.block(side, samples(first), samples(second), 1, function, &mut difference);
        }
        let (names, other_names) = (&base.0.names, &test.0.names);
        let (sites, other_sites) = (order::call_sites(names, base.1), order::call_sites(other_names, test.1));
        let compare = |a: &&CallSite, b: &&CallSite| {
            let by_name = || names.get(a.callee.name).cmp(&other_names.get(b.callee.name));
            a.location.cmp(&b.location).then_with(by_name)
        };
        for pair in join(&sites, &other_sites, compare) {
            match pair {
                (Some(first), Some(second)) => {
                    let inside = self.compare((base.0, &first.callee), (test.0, &second.callee), function);
                    difference += 2.0 - 2.0 * inside;
                }
                (Some(first), None) => {
                    let tally = Tally::of(&first.callee, self.base_threshold);
                    self.block(Side::Base, tally.sum, 0, tally.hot_blocks, function, &mut difference);
                }
                (None, Some(second)) => {
                    let tally = Tally::of(&second.callee, self.test_threshold);
                    self.block(Side::Test, 0, tally.sum, tally.hot_blocks, function, &mut difference);
                }
                (None, None) => {}
            }
        }
        (2.0 - difference) / 2.0
    }

    fn block(&mut self, side: Side, base: u64, test: u64, blocks: u64, function: &mut Shared, difference: &mut f64) {
        match side {
            Side::Base => function.base_unique = function.base_unique.wrapping_add(base),
            Side::Test => function.test_unique = function.test_unique.wrapping_add(test),
            Side::Both => {}
        }
        function.union = function.union.wrapping_add(base.max(test));
        function.overlap = function.overlap.wrapping_add(base.min(test));
        let share = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
        let similarity = 1.0 - (share(base, function.base) - share(test, function.test)).abs();
        *difference += 1.0 - similarity;
        self.count(base, test, blocks);
    }
}

fn side_of(in_base: bool, in_test: bool) -> Side {
    match (in_base, in_test) {
        (true, false) => Side::Base,
        (false, true) => Side::Test,
        _ => Side::Both,
    }
}

/// Pairs of two sorted lists; what has no partner comes alone.
fn join<'a, T>(
    first: &'a [T],
    second: &'a [T],
    compare: impl Fn(&T, &T) -> Ordering,
) -> Vec<(Option<&'a T>, Option<&'a T>)> {
    let (mut a, mut b) = (first.iter().peekable(), second.iter().peekable());
    let mut pairs = Vec::with_capacity(first.len().max(second.len()));
    loop {
        let order = match (a.peek(), b.peek()) {
            (None, None) => return pairs,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(first), Some(second)) => compare(first, second),
        };
        let left = if order.is_le() { a.next() } else { None };
        let right = if order.is_ge() { b.next() } else { None };
        pairs.push((left, right));
    }
}
