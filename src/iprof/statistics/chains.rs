//! Call trees: who calls a method, and what it calls.

use crate::call_chains::{ChainTree, Direction, MethodPattern};
use crate::error::{Error, Result};
use crate::iprof::context::Frame;
use crate::iprof::sections::SectionKind;
use crate::iprof::tables::{MethodHandle, Tables};
use crate::number_format::share;
use serde::Serialize;

/// The unit of call trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ChainsBy {
    /// Call counts: entries of the innermost method.
    Calls,
    /// Samples.
    Samples,
}

/// A call tree.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct CallTree {
    /// The unit.
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
    /// The position of the call, if positions are distinguished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bci: Option<i32>,
    /// Calls or samples on this path.
    pub count: u128,
    /// Share of the node above; of all there are for roots.
    pub share: f64,
    /// The next on the path, largest first.
    pub nodes: Vec<CallNode>,
}

/// Levels below the methods asked for: as many as for other sources of stacks, and as JSON
/// fewer than common parsers bear.
const MAX_DEPTH: usize = 32;

/// Gathers call trees entry by entry.
#[derive(Debug)]
pub(super) struct ChainBuilder {
    asked: String,
    pattern: MethodPattern,
    direction: Direction,
    positions: bool,
    by: Option<ChainsBy>,
    /// By method: whether it is meant.
    meant: Option<Vec<bool>>,
    calls: Counted,
    samples: Counted,
    frames: Vec<(MethodHandle, Option<i32>)>,
}

/// The tree of one kind of count, and the sum of all entries.
#[derive(Debug)]
struct Counted {
    tree: ChainTree<MethodHandle>,
    total: u128,
}

impl ChainBuilder {
    /// Trees of the methods that `asked` finds.
    pub(super) fn new(asked: &str, direction: Direction, positions: bool, by: Option<ChainsBy>) -> Result<Self> {
        let counted = || Counted { tree: ChainTree::new(direction, MAX_DEPTH), total: 0 };
        Ok(Self {
            asked: asked.to_string(),
            pattern: MethodPattern::parse(asked)?,
            direction,
            positions,
            by,
            meant: None,
            calls: counted(),
            samples: counted(),
            frames: Vec::new(),
        })
    }

    fn find(pattern: &MethodPattern, tables: &Tables) -> Vec<bool> {
        let mut meant = vec![false; tables.methods_count()];
        let found = pattern.find(tables.methods(), |method| (tables.human_name(method), true));
        found.into_iter().for_each(|method| meant[method.index()] = true);
        meant
    }

    /// Adds an entry of call counts or samples; its frames are innermost first.
    pub(super) fn add(&mut self, tables: &Tables, kind: SectionKind, frames: &[Frame], count: u64) {
        let counted = match kind {
            SectionKind::CallCount if self.by != Some(ChainsBy::Samples) => &mut self.calls,
            SectionKind::Sampling if self.by != Some(ChainsBy::Calls) => &mut self.samples,
            _ => return,
        };
        let meant = self.meant.get_or_insert_with(|| Self::find(&self.pattern, tables));
        let is_meant = |method: MethodHandle| meant[method.index()];
        counted.total += u128::from(count);
        self.frames.clear();
        self.frames.extend(frames.iter().map(|frame| (frame.method, self.positions.then_some(frame.bci))));
        if kind == SectionKind::Sampling {
            return counted.tree.add_stack(&self.frames, is_meant, count);
        }
        // A count of calls is one of the innermost method alone, and that it began at 0 goes without saying.
        if let Some(innermost) = self.frames.first_mut() {
            innermost.1 = None;
        }
        let last = if self.direction == Direction::Callers { 1 } else { frames.len() };
        let starts = (0..last.min(frames.len())).filter(|at| is_meant(frames[*at].method));
        counted.tree.add_starts(&self.frames, starts, count);
    }

    pub(super) fn finish(mut self, tables: &Tables, topn: usize) -> Result<CallTree> {
        let meant = self.meant.get_or_insert_with(|| Self::find(&self.pattern, tables));
        if !meant.contains(&true) {
            return Err(Error::nothing_found(format!("no method of the profile matches `{}`", self.asked))
                .with_hint("pass a package, a class, a method such as app.Main.run, or /a regular expression/"));
        }
        let by = self.by.unwrap_or(if self.samples.tree.stacks() > 0 { ChainsBy::Samples } else { ChainsBy::Calls });
        let Counted { tree, total } = if by == ChainsBy::Samples { &self.samples } else { &self.calls };
        let make = |method, bci, count, nodes: Vec<CallNode>| CallNode { method, bci, count, share: 0.0, nodes };
        let select = |nodes: &mut Vec<usize>, _: &ChainTree<MethodHandle>| nodes.truncate(topn);
        let mut roots = tree.list(tree.roots(), &|method| tables.human_name(method), &select, &make);
        roots.iter_mut().for_each(|root| root.add_shares(*total));
        Ok(CallTree { by, direction: self.direction, roots })
    }
}

impl CallNode {
    fn add_shares(&mut self, above: u128) {
        self.share = share(self.count, above);
        let count = self.count;
        self.nodes.iter_mut().for_each(|node| node.add_shares(count));
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
        let tree = builder.finish(&tables, 10).unwrap();
        assert_eq!((tree.roots.len(), tree.roots[0].count), (1, 5));
        let below: Vec<_> = tree.roots[0].nodes.iter().map(|node| (node.method.as_str(), node.count)).collect();
        assert_eq!(below, [("A.f()", 5)]);
    }

    #[test]
    fn samples_count_for_every_frame_and_calls_for_the_callee() {
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
