//! Frames that tail calls removed from call chains.
//!
//! A function that ends with a tail call is not in the chain. If exactly one sequence of sampled tail calls leads from a
//! callee to the next function of the chain, it was the way.

use super::super::code::Transfer;
use super::super::counters::Counters;
use super::super::program::Program;
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// Infers frames from sampled calls.
pub(super) struct MissingFrames<'p> {
    program: &'p Program<'p>,
    /// Functions that calls lead to, by the address of the call.
    calls: HashMap<u64, BTreeSet<usize>, RandomState>,
    tail_calls: BTreeMap<u64, BTreeSet<usize>>,
    /// The tail calls of each function.
    of_function: HashMap<usize, Vec<u64>, RandomState>,
    /// Functions that tail calls lead to.
    targets: HashSet<usize, RandomState>,
    /// The number of ways from one function to another, and the way if there is one.
    known: HashMap<(usize, usize), (u64, Vec<u64>), RandomState>,
    /// Functions on the way.
    visiting: HashSet<usize, RandomState>,
    most: usize,
}

impl<'p> MissingFrames<'p> {
    /// Learns the calls of all counters. At most `most` frames in a row are inferred.
    pub(super) fn new(program: &'p Program<'p>, counters: &[&Counters], most: usize) -> Self {
        let mut found = Self {
            program,
            calls: HashMap::default(),
            tail_calls: BTreeMap::new(),
            of_function: HashMap::default(),
            targets: HashSet::default(),
            known: HashMap::default(),
            visiting: HashSet::default(),
            most,
        };
        for (source, target) in counters.iter().flat_map(|counters| counters.branches.keys()) {
            found.learn(*source, *target);
        }
        for source in found.tail_calls.keys() {
            if let Some(function) = program.functions.number_at(*source) {
                found.of_function.entry(function).or_default().push(*source);
            }
        }
        found
    }

    fn learn(&mut self, source: u64, target: u64) {
        let functions = &self.program.functions;
        let (Some(from), to) = (functions.number_at(source), functions.number_at(target)) else { return };
        match self.program.code.transfer(source) {
            Some(Transfer::Call) => {
                self.calls.entry(source).or_default().extend(to);
            }
            Some(Transfer::Jump) if to.is_some_and(|to| to != from) => self.learn_tail_call(source, to),
            Some(Transfer::IndirectJump) if functions.start_at(source) != functions.start_at(target) => {
                self.learn_tail_call(source, to);
            }
            _ => {}
        }
    }

    fn learn_tail_call(&mut self, source: u64, target: Option<usize>) {
        self.tail_calls.entry(source).or_default().extend(target);
        self.targets.extend(target);
    }

    /// Returns the calls that lead to an address, with those that were inferred.
    pub(super) fn infer(&mut self, calls: &[u64], leaf: u64) -> Vec<u64> {
        let mut all = Vec::with_capacity(calls.len());
        let next = calls.iter().copied().skip(1).chain([leaf]);
        for (from, to) in calls.iter().copied().zip(next) {
            all.push(from);
            self.push_between(from, to, &mut all);
        }
        all
    }

    /// Appends the tail calls between a call and the next frame.
    fn push_between(&mut self, from: u64, to: u64, path: &mut Vec<u64>) {
        let Some(to) = self.program.functions.number_at(to) else { return };
        let Some(callees) = self.calls.get(&from).filter(|callees| !callees.contains(&to)) else { return };
        if !self.targets.contains(&to) {
            return;
        }
        let callees: Vec<usize> = callees.iter().copied().collect();
        self.visiting.clear();
        let (before, mut ways) = (path.len(), 0);
        for callee in callees {
            ways += self.ways(callee, to, path, 0);
            if ways > 1 {
                break;
            }
        }
        if ways != 1 {
            path.truncate(before);
        }
    }

    /// Counts the ways by tail calls from one function to another, as far as it matters whether there is one. Appends the
    /// way if it is the only one.
    fn ways(&mut self, from: usize, to: usize, path: &mut Vec<u64>, depth: usize) -> u64 {
        if from == to {
            return 1;
        }
        if self.visiting.contains(&from) {
            return 0;
        }
        if let Some((ways, way)) = self.known.get(&(from, to)) {
            path.extend(way);
            return *ways;
        }
        let Some(tail_calls) = self.of_function.get(&from).filter(|_| depth < self.most).cloned() else { return 0 };
        let (before, mut ways) = (path.len(), 0);
        self.visiting.insert(from);
        'calls: for call in tail_calls {
            let (at, mut of_call) = (path.len(), 0);
            path.push(call);
            for target in self.tail_calls.get(&call).cloned().unwrap_or_default() {
                of_call += self.ways(target, to, path, depth + 1);
                if of_call > 1 {
                    break;
                }
            }
            if of_call != 1 {
                path.truncate(at);
            }
            ways += of_call;
            if ways > 1 {
                break 'calls;
            }
        }
        self.visiting.remove(&from);
        if ways != 1 {
            path.truncate(before);
        }
        self.known.insert((from, to), (ways, path[before..].to_vec()));
        ways
    }
}
