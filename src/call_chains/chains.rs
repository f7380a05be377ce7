//! Callers and callees of a method, as trees of call chains.

use super::pattern::MethodPattern;
use super::table::{Function, FunctionId, Sample, StackTable};
use crate::names::demangle_text;
use foldhash::{HashMap, HashMapExt};
use serde::Serialize;
use std::cmp::Reverse;
use std::hash::Hash;

/// How chains are shown.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ChainOptions {
    /// Nodes are positions (method and BCI) rather than methods. Default: `false`.
    pub by_position: bool,
    /// Levels below the method. Default: 32.
    pub depth: usize,
    /// Leave out branches with less than this share of the method's hits, in
    /// percent. Default: 0.
    pub min_percent: f64,
}

impl Default for ChainOptions {
    fn default() -> Self {
        Self { by_position: false, depth: 32, min_percent: 0.0 }
    }
}

/// One node of a call chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CallChain {
    /// The method.
    pub method: String,
    /// Its BCI, when nodes are positions and it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bci: Option<i32>,
    /// Hits of stacks that run through this node.
    pub hits: u128,
    /// Callers or callees by falling hits, then name.
    pub next: Vec<CallChain>,
}

/// Returns the functions that match a pattern: those whose name begins with it, otherwise those whose name or class
/// ends with it. Of mangled names, the demangled ones match first.
pub(crate) fn functions_meant(pattern: &MethodPattern, table: &StackTable) -> Vec<FunctionId> {
    let is_java = |id| matches!(table.function(id), Function::Java { .. });
    let shown = |id| match table.display_function(id) {
        method if is_java(id) => (method, true),
        symbol => (demangle_text(&symbol, |name| name), false),
    };
    let found = pattern.find(table.functions(), shown);
    if !found.is_empty() {
        return found;
    }
    pattern.find(table.functions(), |id| (table.display_function(id), is_java(id)))
}

/// The samples whose stacks hold a method that one of `only` means (all, if
/// there are none) and none that one of `exclude` means.
pub fn samples_with_methods(table: &StackTable, only: &[MethodPattern], exclude: &[MethodPattern]) -> StackTable {
    let meant = |patterns: &[MethodPattern]| {
        let mut marks = vec![false; table.functions().len()];
        patterns.iter().flat_map(|pattern| functions_meant(pattern, table)).for_each(|id| marks[id.index()] = true);
        marks
    };
    let (wanted, unwanted) = (meant(only), meant(exclude));
    let holds = |sample: &Sample, marks: &[bool]| {
        table.frames(sample.key.stack).any(|frame| marks[table.frame(frame).function.index()])
    };
    table.filter_samples(|sample| (only.is_empty() || holds(sample, &wanted)) && !holds(sample, &unwanted))
}

/// Chains of every method that is meant, by falling hits.
pub fn call_chains(
    table: &StackTable,
    pattern: &MethodPattern,
    direction: Direction,
    options: &ChainOptions,
) -> Vec<CallChain> {
    let mut meant = vec![false; table.functions().len()];
    functions_meant(pattern, table).into_iter().for_each(|id| meant[id.index()] = true);
    let mut tree = ChainTree::new(direction, options.depth);
    let mut frames = Vec::new();
    for sample in table.samples().filter(|sample| sample.hits > 0) {
        frames.clear();
        frames.extend(table.frames(sample.key.stack).map(|id| {
            let frame = table.frame(id);
            (frame.function, frame.bci.filter(|_| options.by_position))
        }));
        tree.add_stack(&frames, |function: FunctionId| meant[function.index()], sample.hits);
    }
    let name = |function| table.display_function(function);
    let make = |method, bci, hits, next| CallChain { method, bci, hits, next };
    let chain_of = |root: &usize| {
        let least = tree.count(*root) as f64 * options.min_percent / 100.0;
        let select = |nodes: &mut Vec<usize>, tree: &ChainTree<FunctionId>| {
            nodes.retain(|node| tree.count(*node) as f64 >= least);
        };
        tree.list(&[*root], &name, &select, &make)
    };
    let mut roots: Vec<CallChain> = tree.roots().iter().flat_map(chain_of).collect();
    roots.sort_by(|a, b| b.hits.cmp(&a.hits).then_with(|| a.method.cmp(&b.method)));
    roots
}

/// Which way chains are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the innermost occurrence outwards.
    Callers,
    /// From the outermost occurrence inwards.
    Callees,
}

/// A function, and the position in it if positions are distinguished.
type Place<F> = (F, Option<i32>);

/// Chains that start at the requested functions, as one tree.
#[derive(Debug)]
pub(crate) struct ChainTree<F> {
    direction: Direction,
    /// The number of levels below the requested functions.
    depth: usize,
    /// The children of the root are the matching functions.
    nodes: Vec<Node<F>>,
    children: HashMap<(usize, Place<F>), usize>,
    stacks: u64,
}

#[derive(Debug)]
struct Node<F> {
    /// `None` above the requested functions.
    place: Option<Place<F>>,
    count: u128,
    next: Vec<usize>,
    /// The stack that was counted last: it counts once in each node.
    last: u64,
}

impl<F> Node<F> {
    fn new(place: Option<Place<F>>) -> Self {
        Self { place, count: 0, next: Vec::new(), last: 0 }
    }
}

impl<F: Copy + Eq + Hash> ChainTree<F> {
    pub(crate) fn new(direction: Direction, depth: usize) -> Self {
        Self { direction, depth, nodes: vec![Node::new(None)], children: HashMap::new(), stacks: 0 }
    }

    /// Adds a stack, whose frames are innermost first. It holds a function once,
    /// however often that recurs: callers are followed from its innermost
    /// occurrence, callees from its outermost.
    pub(crate) fn add_stack(&mut self, frames: &[Place<F>], is_meant: impl Fn(F) -> bool, count: u64) {
        let meant: Vec<usize> = (0..frames.len()).filter(|at| is_meant(frames[*at].0)).collect();
        let starts: Vec<usize> = match self.direction {
            Direction::Callers => meant,
            Direction::Callees => meant.into_iter().rev().collect(),
        };
        let mut begun: Vec<F> = Vec::new();
        for start in starts {
            if !begun.contains(&frames[start].0) {
                begun.push(frames[start].0);
                self.add_chain(frames, start, count);
            }
        }
        self.stacks += 1;
    }

    /// Adds a stack in which only these occurrences count.
    pub(crate) fn add_starts(&mut self, frames: &[Place<F>], starts: impl Iterator<Item = usize>, count: u64) {
        starts.for_each(|start| self.add_chain(frames, start, count));
        self.stacks += 1;
    }

    fn add_chain(&mut self, frames: &[Place<F>], start: usize, count: u64) {
        let root = self.step(0, (frames[start].0, None), count);
        let mut at = root;
        match self.direction {
            Direction::Callers => {
                for place in frames[start + 1..].iter().take(self.depth) {
                    at = self.step(at, *place, count);
                }
            }
            Direction::Callees => {
                for place in frames[..start].iter().rev().take(self.depth) {
                    at = self.step(at, *place, count);
                }
            }
        }
    }

    fn step(&mut self, at: usize, place: Place<F>, count: u64) -> usize {
        let new = self.nodes.len();
        let child = *self.children.entry((at, place)).or_insert(new);
        if child == new {
            self.nodes.push(Node::new(Some(place)));
            self.nodes[at].next.push(new);
        }
        let node = &mut self.nodes[child];
        // Stacks are numbered from 1, so that no node was counted before the first.
        if std::mem::replace(&mut node.last, self.stacks + 1) != self.stacks + 1 {
            node.count += u128::from(count);
        }
        child
    }

    /// Returns the number of stacks that were added.
    pub(crate) fn stacks(&self) -> u64 {
        self.stacks
    }

    /// Returns the requested functions.
    pub(crate) fn roots(&self) -> &[usize] {
        &self.nodes[0].next
    }

    /// Returns the count of a node.
    pub(crate) fn count(&self, node: usize) -> u128 {
        self.nodes[node].count
    }

    /// Returns the selected nodes, ordered by descending count, then by name and position. `make` creates each from its
    /// name, its position, its count, and the selected nodes below it.
    pub(crate) fn list<T>(
        &self,
        nodes: &[usize],
        name: &impl Fn(F) -> String,
        select: &impl Fn(&mut Vec<usize>, &Self),
        make: &impl Fn(String, Option<i32>, u128, Vec<T>) -> T,
    ) -> Vec<T> {
        let mut chosen = nodes.to_vec();
        let names: HashMap<usize, String> =
            nodes.iter().filter_map(|at| Some((*at, name(self.nodes[*at].place?.0)))).collect();
        let bci = |at: usize| self.nodes[at].place.and_then(|(_, bci)| bci);
        chosen.sort_by(|a, b| {
            (Reverse(self.count(*a)), &names[a], bci(*a)).cmp(&(Reverse(self.count(*b)), &names[b], bci(*b)))
        });
        select(&mut chosen, self);
        let made = |at: &usize| {
            let below = self.list(&self.nodes[*at].next, name, select, make);
            make(names[at].clone(), bci(*at), self.count(*at), below)
        };
        chosen.iter().map(made).collect()
    }
}
