//! Call trees: who calls a method, and what it calls.

use super::{ChainsBy, share};
use crate::error::{Error, Result};
use crate::iprof::context::Frame;
use crate::iprof::sections::SectionKind;
use crate::iprof::tables::{MethodHandle, Tables};
use crate::iprof::transform::MethodFilter;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

/// Which way a call tree goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the method, innermost, to its callers.
    Callers,
    /// From the method to what it calls.
    Callees,
}

/// A call tree.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CallTree {
    /// What is counted.
    pub by: ChainsBy,
    /// Which way it goes.
    pub direction: Direction,
    /// The methods asked for.
    pub roots: Vec<CallNode>,
}

/// A method on a path.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CallNode {
    /// The method as people write it.
    pub method: String,
    /// Where it called the next, if positions are told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bci: Option<i32>,
    /// Calls or samples on this path.
    pub count: u128,
    /// Share of the node above; of all there are for roots.
    pub share: f64,
    /// The next on the path, largest first.
    pub nodes: Vec<CallNode>,
}

type Key = (MethodHandle, Option<i32>);

#[derive(Debug, Default)]
struct Node {
    count: u128,
    children: HashMap<Key, usize>,
    /// The entry that was counted last: a stack counts once on each path.
    last: u64,
}

/// The trees of one kind of count.
#[derive(Debug)]
struct Tree {
    nodes: Vec<Node>,
    entries: u64,
    total: u128,
}

impl Tree {
    fn new() -> Self {
        Self { nodes: vec![Node::default()], entries: 0, total: 0 }
    }

    fn add_path(&mut self, path: impl Iterator<Item = Key>, count: u64) {
        let mut at = 0;
        for key in path {
            let next = self.nodes.len();
            let child = *self.nodes[at].children.entry(key).or_insert(next);
            if child == next {
                self.nodes.push(Node::default());
            }
            let node = &mut self.nodes[child];
            if std::mem::replace(&mut node.last, self.entries) != self.entries {
                node.count += u128::from(count);
            }
            at = child;
        }
    }

    fn list(&self, at: usize, above: u128, tables: &Tables, topn: usize, depth: usize) -> Vec<CallNode> {
        let mut nodes: Vec<CallNode> = Vec::new();
        if depth == 0 {
            return nodes;
        }
        let mut children: Vec<(usize, MethodHandle, Option<i32>)> =
            self.nodes[at].children.iter().map(|((method, bci), child)| (*child, *method, *bci)).collect();
        children.sort_by_cached_key(|(child, method, bci)| {
            (Reverse(self.nodes[*child].count), tables.human_name(*method), *bci)
        });
        for (child, method, bci) in children.into_iter().take(topn) {
            let count = self.nodes[child].count;
            nodes.push(CallNode {
                method: tables.human_name(method),
                bci,
                count,
                share: share(count, above),
                nodes: self.list(child, count, tables, topn, depth - 1),
            });
        }
        nodes
    }
}

/// Deepest path that is listed: as deep as for other sources of stacks, and
/// as JSON less deep than common parsers bear.
const MAX_DEPTH: usize = 32;

/// Gathers call trees entry by entry.
#[derive(Debug)]
pub(super) struct ChainBuilder {
    asked: String,
    filter: MethodFilter,
    direction: Direction,
    positions: bool,
    by: Option<ChainsBy>,
    chosen: Option<BTreeSet<MethodHandle>>,
    calls: Tree,
    samples: Tree,
}

impl ChainBuilder {
    /// Trees of the methods that `asked` finds.
    pub(super) fn new(asked: &str, direction: Direction, positions: bool, by: Option<ChainsBy>) -> Result<Self> {
        let filter = MethodFilter::new(&[asked.to_string()], &[])?;
        let (calls, samples) = (Tree::new(), Tree::new());
        Ok(Self { asked: asked.to_string(), filter, direction, positions, by, chosen: None, calls, samples })
    }

    fn chosen(&mut self, tables: &Tables) -> &BTreeSet<MethodHandle> {
        let filter = &self.filter;
        self.chosen.get_or_insert_with(|| filter.find(tables))
    }

    /// Adds an entry of call counts or samples; its frames are innermost first.
    pub(super) fn add(&mut self, tables: &Tables, kind: SectionKind, frames: &[Frame], count: u64) {
        self.chosen(tables);
        let Some(chosen) = &self.chosen else { return };
        let tree = match kind {
            SectionKind::CallCount if self.by != Some(ChainsBy::Samples) => &mut self.calls,
            SectionKind::Sampling if self.by != Some(ChainsBy::Calls) => &mut self.samples,
            _ => return,
        };
        tree.entries += 1;
        tree.total += u128::from(count);
        let positions = self.positions;
        // Where the innermost method stood is no call.
        let key = |(at, frame): (usize, &Frame)| (frame.method, (positions && at > 0).then_some(frame.bci));
        for at in starts(frames, chosen, kind, self.direction) {
            match self.direction {
                Direction::Callers => tree.add_path(frames[at..].iter().enumerate().map(key), count),
                Direction::Callees => tree.add_path(frames[..=at].iter().enumerate().rev().map(key), count),
            }
        }
    }

    pub(super) fn finish(mut self, tables: &Tables, topn: usize) -> Result<CallTree> {
        if self.chosen(tables).is_empty() {
            return Err(Error::usage(format!("no method of the profile matches `{}`", self.asked))
                .with_hint("give a package, a class, a method such as app.Main.run, or /a regular expression/"));
        }
        let by = self.by.unwrap_or(if self.samples.entries > 0 { ChainsBy::Samples } else { ChainsBy::Calls });
        let tree = if by == ChainsBy::Samples { &self.samples } else { &self.calls };
        let roots = tree.list(0, tree.total, tables, topn, MAX_DEPTH);
        Ok(CallTree { by, direction: self.direction, roots })
    }
}

/// Where paths begin among frames, the innermost first.
///
/// A sample holds a method once, however often it recurs: callers are followed
/// from its innermost occurrence, callees from its outermost, as for all other
/// sources of stacks. A count of calls is one of the innermost method alone.
fn starts(frames: &[Frame], chosen: &BTreeSet<MethodHandle>, kind: SectionKind, direction: Direction) -> Vec<usize> {
    let is_chosen = |at: &usize| chosen.contains(&frames[*at].method);
    let all: Vec<usize> = (0..frames.len()).filter(is_chosen).collect();
    match (kind, direction) {
        (SectionKind::Sampling, _) => {
            let mut seen = BTreeSet::new();
            let mut is_new = |at: &usize| seen.insert(frames[*at].method);
            match direction {
                Direction::Callers => all.into_iter().filter(|at| is_new(at)).collect(),
                Direction::Callees => all.into_iter().rev().filter(|at| is_new(at)).collect(),
            }
        }
        (_, Direction::Callers) => all.into_iter().filter(|at| *at == 0).collect(),
        (_, Direction::Callees) => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recursive_stack_counts_once() {
        let mut tables = Tables::default();
        let class = tables.add_type(b"A");
        let [f, g] = [&b"f"[..], b"g"].map(|name| tables.add_method(name, &[class, class]));
        let mut builder = ChainBuilder::new("A.f", Direction::Callees, false, None).unwrap();
        // f called f, which called g.
        let frames = [(g, 0), (f, 1), (f, 2)].map(|(method, bci)| Frame { method, bci });
        builder.add(&tables, SectionKind::Sampling, &frames, 5);
        assert_eq!(builder.samples.nodes.len(), 4);
        let tree = builder.finish(&tables, 10).unwrap();
        assert_eq!((tree.roots.len(), tree.roots[0].count), (1, 5));
        let below: Vec<_> = tree.roots[0].nodes.iter().map(|node| (node.method.as_str(), node.count)).collect();
        assert_eq!(below, [("A.f()", 5)]);
    }

    #[test]
    fn samples_count_wherever_the_method_stands_and_calls_where_it_is_called() {
        let mut tables = Tables::default();
        let class = tables.add_type(b"A");
        let [f, g] = [&b"f"[..], b"g"].map(|name| tables.add_method(name, &[class, class]));
        let frames = [(g, 0), (f, 1), (f, 2)].map(|(method, bci)| Frame { method, bci });
        for (kind, expected) in [(SectionKind::Sampling, 1), (SectionKind::CallCount, 0)] {
            let mut builder = ChainBuilder::new("A.f", Direction::Callers, false, None).unwrap();
            builder.add(&tables, kind, &frames, 5);
            assert_eq!(builder.finish(&tables, 10).unwrap().roots.len(), expected);
        }
    }
}
