//! Decides about the inlining of functions, and merges the contexts of all others into the functions.
//!
//! The compiler that reads the profile then needs only the contexts that it inlines.

use super::call_graph::callers_first;
use super::options::ContextOptions;
use super::sizes::Sizes;
use super::tree::{ROOT, Tree};
use crate::sampleprof::{LineLocation, NameId, Summary, attributes, merge_record};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::ops::Bound;

/// The cutoff of the counts that are hot enough for the largest functions.
const HOTTEST_CUTOFF: u32 = 100_000;

/// The counts that are cold and hot, and how sizes are measured.
pub(super) struct Decision<'d> {
    pub(super) summary: &'d Summary,
    /// The largest number of samples of a cold call.
    pub(super) cold: u64,
    pub(super) options: &'d ContextOptions,
    /// Sizes of code; `None` counts places.
    pub(super) sizes: Option<&'d Sizes>,
}

/// A record and where it is now.
struct State {
    node: u32,
    is_inlined: bool,
    is_merged: bool,
}

struct Inliner<'d> {
    tree: Tree,
    decision: &'d Decision<'d>,
    states: Vec<State>,
    /// The state of the record of each node, which may have moved to another node.
    of_node: Vec<Option<u32>>,
    by_function: HashMap<NameId, Vec<u32>, RandomState>,
}

/// Inlines and merges.
pub(super) fn preinline(tree: Tree, decision: &Decision<'_>) -> Tree {
    let mut inliner = Inliner {
        of_node: vec![None; tree.nodes.len()],
        tree,
        decision,
        states: Vec::new(),
        by_function: HashMap::default(),
    };
    for at in inliner.tree.breadth_first() {
        let node = &inliner.tree.nodes[at as usize];
        if node.record.is_some() {
            let state = inliner.states.len() as u32;
            inliner.of_node[at as usize] = Some(state);
            inliner.states.push(State { node: at, is_inlined: false, is_merged: false });
            inliner.by_function.entry(node.function).or_default().push(state);
        }
    }
    let least_calls = if inliner.tree.rules.prefers_inlined() { decision.cold } else { 0 };
    for function in callers_first(&inliner.tree, least_calls) {
        if let Some(base) = inliner.base(function) {
            inliner.inline_into(base);
        }
    }
    inliner.finish()
}

impl Inliner<'_> {
    /// Merges the contexts of a function that are not inlined. Returns the node of the merged record.
    fn base(&mut self, function: NameId) -> Option<u32> {
        let key = self.tree.key(function, LineLocation::default());
        let mut base = self.tree.nodes[ROOT as usize].children.get(&key).copied();
        for state in self.by_function.get(&function).cloned().unwrap_or_default() {
            let State { node, is_inlined, is_merged } = self.states[state as usize];
            if !is_inlined && !is_merged && Some(node) != base {
                base = Some(self.promote(node));
            }
        }
        base.filter(|base| self.tree.nodes[*base as usize].record.is_some())
    }

    /// Moves a node to the root, or merges it with its callees into the one that is there.
    fn promote(&mut self, node: u32) -> u32 {
        let (function, site, parent) = {
            let node = &self.tree.nodes[node as usize];
            (node.function, node.site, node.parent)
        };
        let old_key = self.tree.key(function, site);
        let target = self.place(node, ROOT, LineLocation::default());
        if target != node {
            self.merge_callees(node, target);
        }
        self.tree.nodes[parent as usize].children.remove(&old_key);
        target
    }

    /// Moves a node to another parent. If that has the function, merges only the record, and returns the function there.
    fn place(&mut self, node: u32, parent: u32, site: LineLocation) -> u32 {
        let key = self.tree.key(self.tree.nodes[node as usize].function, site);
        if let Some(&target) = self.tree.nodes[parent as usize].children.get(&key) {
            self.merge(node, target);
            return target;
        }
        self.tree.nodes[parent as usize].children.insert(key, node);
        let moved = &mut self.tree.nodes[node as usize];
        (moved.parent, moved.site) = (parent, site);
        node
    }

    fn merge_callees(&mut self, from: u32, into: u32) {
        let mut open = vec![(from, into, None)];
        while let Some((from, into, last)) = open.pop() {
            let after = last.map_or(Bound::Unbounded, Bound::Excluded);
            let next = self.tree.nodes[from as usize].children.range((after, Bound::Unbounded)).next();
            let Some((&key, &child)) = next else {
                self.tree.nodes[from as usize].children.clear();
                continue;
            };
            open.push((from, into, Some(key)));
            let site = self.tree.nodes[child as usize].site;
            let target = self.place(child, into, site);
            if target != child {
                open.push((child, target, None));
            }
        }
    }

    fn merge(&mut self, from: u32, into: u32) {
        let Some(state) = self.of_node[from as usize] else { return };
        let home = self.states[state as usize].node as usize;
        match self.of_node[into as usize] {
            // As in LLVM, the merged node keeps its record. What is merged into that later is lost.
            Some(other) => {
                let Some(record) = self.tree.nodes[home].record.clone() else { return };
                let other = self.states[other as usize].node as usize;
                if let Some(known) = &mut self.tree.nodes[other].record {
                    known.attributes |= record.attributes & attributes::SHOULD_BE_INLINED;
                    merge_record(known, record, 1);
                    self.states[state as usize].is_merged = true;
                }
            }
            // The old node still has the state: what is merged into it later is added to the moved record.
            None => {
                self.tree.nodes[into as usize].record = self.tree.nodes[home].record.take();
                self.states[state as usize].node = into;
                self.of_node[into as usize] = Some(state);
            }
        }
    }

    fn size(&mut self, node: u32) -> u32 {
        match self.decision.sizes {
            Some(sizes) => sizes.of(&mut self.tree, node),
            None => self.tree.nodes[node as usize].record.as_ref().map_or(0, |record| record.body.len() as u32),
        }
    }

    /// Decides about the callees of a function, and about theirs if they are inlined.
    fn inline_into(&mut self, base: u32) {
        let own = self.size(base);
        let sizes = self.decision.options.inline_sizes;
        let limit = own.wrapping_mul(sizes.growth as u32);
        let highest = sizes.highest_limit.unwrap_or(if self.tree.rules.prefers_inlined() { 50_000 } else { 3000 });
        let limit = limit.min(highest as u32).max(sizes.least_limit as u32);
        let (mut size, mut queue) = (own, Queue::default());
        self.add_callees(base, &mut queue);
        while size < limit {
            let Some(candidate) = queue.pop() else { break };
            if !self.is_worthwhile(&candidate) {
                continue;
            }
            if let Some(state) = self.of_node[candidate.node as usize] {
                self.states[state as usize].is_inlined = true;
            }
            if let Some(record) = &mut self.tree.nodes[candidate.node as usize].record {
                record.attributes |= attributes::SHOULD_BE_INLINED;
            }
            size = size.wrapping_add(candidate.size);
            self.add_callees(candidate.node, &mut queue);
        }
    }

    fn add_callees(&mut self, caller: u32, queue: &mut Queue) {
        let callees: Vec<u32> = self.tree.nodes[caller as usize].children.values().copied().collect();
        let prefers_empty = self.tree.rules.prefers_inlined();
        for node in callees {
            if let Some(calls) = self.tree.calls(node) {
                let (size, guid) = (self.size(node), self.tree.guid(node));
                let is_first = size == 0 && prefers_empty;
                queue.push(Candidate { node, is_first, calls, size, guid });
            }
        }
    }

    fn is_worthwhile(&self, candidate: &Candidate) -> bool {
        let record = self.tree.nodes[candidate.node as usize].record.as_ref();
        let was_inlined = record.is_some_and(|record| record.attributes & attributes::WAS_INLINED != 0);
        if self.decision.options.replay_inlining {
            return was_inlined;
        }
        let sizes = self.decision.options.inline_sizes;
        if candidate.calls <= self.decision.cold {
            return candidate.size < sizes.cold as u32;
        }
        let hottest = self.decision.summary.threshold(HOTTEST_CUTOFF).unwrap_or(0);
        let cold = self.decision.cold as f64;
        let heat = (candidate.calls as f64 - cold) / (hottest as f64 - cold);
        let heat = if heat > 1.0 { 1.0 } else { heat };
        let mut most = (f64::from(sizes.hot) * heat * 100.0 + f64::from(sizes.cold) + 1.0) as i64 as u32;
        if was_inlined && self.tree.rules.prefers_inlined() {
            most = most.wrapping_mul(sizes.factor_of_inlined as u32);
        }
        candidate.size < most
    }

    /// Removes the records that were merged.
    fn finish(mut self) -> Tree {
        for at in self.tree.breadth_first() {
            let is_inlined = self.of_node[at as usize].is_some_and(|state| self.states[state as usize].is_inlined);
            let node = &mut self.tree.nodes[at as usize];
            if node.parent != ROOT && !is_inlined {
                node.record = None;
            }
        }
        self.tree
    }
}

/// A function that could be inlined.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    node: u32,
    /// Whether it comes before those with calls: a function without code, except before LLVM 17.
    is_first: bool,
    calls: u64,
    size: u32,
    guid: u64,
}

impl Candidate {
    /// Some come first, then those with most calls, then small ones.
    fn comes_after(&self, other: &Self) -> bool {
        let key = |one: &Self| (one.is_first, one.calls, std::cmp::Reverse(one.size), one.guid);
        key(self) < key(other)
    }
}

/// A heap that lists equal candidates in the order of the C++ library's `priority_queue`.
#[derive(Debug, Default)]
struct Queue(Vec<Candidate>);

impl Queue {
    fn push(&mut self, candidate: Candidate) {
        self.0.push(candidate);
        self.rise(self.0.len() - 1, candidate);
    }

    fn rise(&mut self, mut at: usize, candidate: Candidate) {
        while at > 0 && self.0[(at - 1) / 2].comes_after(&candidate) {
            self.0[at] = self.0[(at - 1) / 2];
            at = (at - 1) / 2;
        }
        self.0[at] = candidate;
    }

    fn pop(&mut self) -> Option<Candidate> {
        let last = self.0.pop()?;
        let Some(first) = self.0.first().copied() else { return Some(last) };
        let len = self.0.len();
        let mut at = 0;
        while at * 2 + 2 < len {
            let (left, right) = (at * 2 + 1, at * 2 + 2);
            let larger = if self.0[right].comes_after(&self.0[left]) { left } else { right };
            self.0[at] = self.0[larger];
            at = larger;
        }
        if at * 2 + 2 == len {
            self.0[at] = self.0[at * 2 + 1];
            at = at * 2 + 1;
        }
        self.rise(at, last);
        Some(first)
    }
}
