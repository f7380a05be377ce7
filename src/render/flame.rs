//! Stacks joined to a tree of names, for drawing; and the colour of a change of shares, on a scale that is the same in
//! every flame graph, and no colour where the change may be chance.

use crate::call_chains::{FrameKind, Function, FunctionId, StackTable, percent};
use crate::java;
use crate::names::demangle_text;
use foldhash::HashMap;
use std::cmp::Reverse;

/// Nodes that a graph keeps; beyond them the smallest are left out.
const MAX_NODES: usize = 1_000_000;

/// The kind of code of a frame, which selects its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameColor {
    /// Java code of the program and its libraries.
    Program,
    /// Java code of the JDK.
    Jdk,
    /// Native code.
    Native,
    /// The kernel.
    Kernel,
}

impl FrameColor {
    /// All, in the order of their numbers in pages.
    pub const ALL: &'static [Self] = &[Self::Program, Self::Jdk, Self::Native, Self::Kernel];

    /// Words for the legend.
    pub fn words(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Jdk => "JDK",
            Self::Native => "native",
            Self::Kernel => "kernel",
        }
    }

    /// The sort of code of a function.
    pub(crate) fn of(table: &StackTable, id: FunctionId, kind: FrameKind) -> FrameColor {
        match table.function(id) {
            Function::Symbol { .. } if kind == FrameKind::Kernel => FrameColor::Kernel,
            Function::Symbol { .. } => FrameColor::Native,
            Function::Java { class, .. } => {
                if java::is_of_jdk(table.name(class).as_bytes()) {
                    FrameColor::Jdk
                } else {
                    FrameColor::Program
                }
            }
        }
    }

    pub(super) fn number(self) -> usize {
        match self {
            Self::Program => 0,
            Self::Jdk => 1,
            Self::Native => 2,
            Self::Kernel => 3,
        }
    }
}

/// One frame of the flame graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlameNode {
    /// Frames below it: 0 for the entries of threads.
    pub depth: u32,
    /// Position in [`FlameGraph::names`].
    pub name: u32,
    /// Hits of all stacks through this frame.
    pub value: u64,
    /// As many in the profile compared with; 0 without one.
    pub base: u64,
}

/// A tree of frames, each before what it calls, siblings by name.
#[derive(Debug, Clone, Default)]
pub struct FlameGraph {
    /// Heading.
    pub title: String,
    /// The meaning of the widths.
    pub text: String,
    /// The unit: `hits`, `calls`.
    pub unit: String,
    /// Every name once, with its family.
    pub names: Vec<(String, FrameColor)>,
    /// The frames in depth-first order.
    pub nodes: Vec<FlameNode>,
    /// All hits.
    pub total: Totals,
    /// All hits of the profile compared with, if there is one.
    pub base_total: Option<Totals>,
    /// Frames that were left out since there are too many.
    pub left_out: usize,
}

/// The words of a flame graph.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FlameLabels {
    /// The heading.
    pub title: String,
    /// The text above the graph, such as the meaning of the widths.
    pub text: String,
    /// The plural of what is counted: `hits`, `calls`, `bytes`.
    pub unit: String,
}

impl FlameLabels {
    /// Creates labels with a unit.
    pub fn new(title: impl Into<String>, text: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { title: title.into(), text: text.into(), unit: unit.into() }
    }
}

/// The names of frames, in order of first appearance.
#[derive(Default)]
struct Names {
    all: Vec<(String, FrameColor)>,
    by_text: HashMap<String, u32>,
}

/// The stacks of one profile.
struct Side {
    /// The name of the innermost frame of each stack.
    names: Vec<u32>,
    /// The hits of each stack with its callees. Graphs have no larger numbers.
    hits: Vec<u64>,
    /// The stacks of each stack's callees are in `callees`, from its place in `firsts` to the next place. Those without
    /// a caller come last.
    firsts: Vec<u32>,
    callees: Vec<u32>,
}

/// No number.
const NONE: u32 = u32::MAX;

impl FlameGraph {
    /// Demangles the names of C++ and Rust functions.
    pub fn demangle(&mut self) {
        self.names.iter_mut().for_each(|(name, _)| *name = demangle_text(name, |name| name));
    }

    /// Returns the tree of a table's stacks, compared with the baseline if there is one.
    pub fn new(table: &StackTable, baseline: Option<&StackTable>, labels: FlameLabels) -> Self {
        let mut names = Names::default();
        let mut sides = vec![Side::new(table, &mut names)];
        sides.extend(baseline.map(|baseline| Side::new(baseline, &mut names)));
        let mut graph = Self { nodes: join(&sides, &names.ranks()), ..Self::default() };
        drop(sides);
        graph.drop_smallest();
        graph.set_names(names.all);
        graph.total = total_of(table, &labels.unit);
        graph.base_total = baseline.map(|table| total_of(table, &labels.unit));
        (graph.title, graph.text, graph.unit) = (labels.title, labels.text, labels.unit);
        graph
    }

    /// Returns the positions of the nodes on the hottest path: it starts at the widest root and follows the widest
    /// child while this is wider than the exclusive width of its parent. `assets/flame.js` does the same.
    pub(crate) fn hottest_path(&self) -> Vec<usize> {
        let mut path: Vec<usize> = Vec::new();
        loop {
            let (from, depth) = path.last().map_or((0, 0), |at| (*at + 1, self.nodes[*at].depth + 1));
            let below = || self.nodes.iter().enumerate().skip(from).take_while(|(_, node)| node.depth >= depth);
            let children = || below().filter(|(_, node)| node.depth == depth);
            let alone = path.last().map_or(0, |at| {
                let called: u128 = children().map(|(_, node)| u128::from(node.value)).sum();
                u128::from(self.nodes[*at].value).saturating_sub(called)
            });
            // Of equal ones the first.
            match children().max_by_key(|(at, node)| (node.value, Reverse(*at))) {
                Some((at, node)) if node.value > 0 && u128::from(node.value) >= alone => path.push(at),
                _ => return path,
            }
        }
    }

    /// Leaves out the smallest frames if there are too many.
    fn drop_smallest(&mut self) {
        let all = self.nodes.len();
        if all > MAX_NODES {
            let mut sizes: Vec<u64> = self.nodes.iter().map(FlameNode::most_hits).collect();
            let (_, nth, _) = sizes.select_nth_unstable_by(MAX_NODES, |a, b| b.cmp(a));
            // A frame has at most as many hits as its caller.
            self.nodes.retain(|node| node.most_hits() > *nth);
            self.left_out = all - self.nodes.len();
        }
    }

    /// Keeps the names of the frames.
    fn set_names(&mut self, all: Vec<(String, FrameColor)>) {
        let mut numbers = vec![NONE; all.len()];
        self.nodes.iter().for_each(|node| numbers[node.name as usize] = 0);
        for (kept, number) in (0..).zip(numbers.iter_mut().filter(|number| **number != NONE)) {
            *number = kept;
        }
        self.nodes.iter_mut().for_each(|node| node.name = numbers[node.name as usize]);
        self.names = all.into_iter().zip(numbers).filter(|(_, number)| *number != NONE).map(|(name, _)| name).collect();
    }

    /// Frames of the deepest stack.
    pub fn depth(&self) -> u32 {
        self.nodes.iter().map(|node| node.depth + 1).max().unwrap_or(0)
    }
}

impl FlameNode {
    fn most_hits(&self) -> u64 {
        self.value.max(self.base)
    }
}

impl Names {
    fn number(&mut self, table: &StackTable, id: FunctionId, kind: FrameKind) -> u32 {
        let text = table.display_function(id);
        // A baseline of collapsed text cannot have the separator of frames in a name.
        let key = text.replace(';', ":");
        if let Some(known) = self.by_text.get(&key) {
            return *known;
        }
        let number = u32::try_from(self.all.len()).expect("names are fewer than the table's functions");
        self.all.push((text, FrameColor::of(table, id, kind)));
        self.by_text.insert(key, number);
        number
    }

    /// Returns the place of each name in their order.
    fn ranks(&self) -> Vec<u32> {
        let mut sorted: Vec<u32> = (0..).zip(&self.all).map(|(name, _)| name).collect();
        sorted.sort_unstable_by(|a, b| self.all[*a as usize].0.cmp(&self.all[*b as usize].0));
        let mut ranks = vec![0; sorted.len()];
        (0..).zip(sorted).for_each(|(rank, name): (u32, u32)| ranks[name as usize] = rank);
        ranks
    }
}

impl Side {
    fn new(table: &StackTable, names: &mut Names) -> Self {
        let mut known: Vec<Option<u32>> = vec![None; table.functions().len()];
        let name = |stack| {
            let frame = table.frame(table.leaf(stack));
            *known[frame.function.index()].get_or_insert_with(|| names.number(table, frame.function, frame.kind))
        };
        let stack_names: Vec<u32> = table.stacks().map(name).collect();
        let count = stack_names.len();
        let mut hits = vec![0u64; count];
        for sample in table.samples() {
            let sum = &mut hits[sample.key.stack.index()];
            *sum = sum.saturating_add(sample.hits);
        }
        let mut firsts = vec![0u32; count + 2];
        let caller_of = |stack| table.parent(stack).map_or(count, |caller| caller.index());
        table.stacks().for_each(|stack| firsts[caller_of(stack) + 1] += 1);
        (1..firsts.len()).for_each(|at| firsts[at] += firsts[at - 1]);
        let (mut callees, mut next) = (vec![0; count], firsts.clone());
        for (number, stack) in (0..).zip(table.stacks()) {
            let place = &mut next[caller_of(stack)];
            callees[*place as usize] = number;
            *place += 1;
        }
        // Callers come before their callees, so one backward pass computes all sums.
        for at in (0..count).rev() {
            let callees = &callees[firsts[at] as usize..firsts[at + 1] as usize];
            hits[at] = callees.iter().fold(hits[at], |sum, callee| sum.saturating_add(hits[*callee as usize]));
        }
        Self { names: stack_names, hits, firsts, callees }
    }

    /// The stacks without a caller, as callees of a stack after the last one.
    fn root(&self) -> u32 {
        self.names.len() as u32
    }

    fn callees(&self, stack: u32) -> &[u32] {
        let [first, end] = [0, 1].map(|next| self.firsts[stack as usize + next] as usize);
        &self.callees[first..end]
    }
}

/// Joins stacks with the same names to a tree, each frame before what it calls, siblings by name.
fn join(sides: &[Side], ranks: &[u32]) -> Vec<FlameNode> {
    let mut nodes = Vec::new();
    // Frames whose callers are in the tree, the next one last. Their stacks are at the end of `members`.
    let mut open: Vec<(FlameNode, usize)> = Vec::new();
    let mut members: Vec<(usize, u32)> = sides.iter().enumerate().map(|(side, stacks)| (side, stacks.root())).collect();
    let (mut first, mut depth) = (0, 0);
    let mut callees: Vec<(u32, usize, u32)> = Vec::new();
    loop {
        for (side, stack) in members.drain(first..) {
            let stacks = &sides[side];
            let with_hits = stacks.callees(stack).iter().filter(|callee| stacks.hits[**callee as usize] > 0);
            callees.extend(with_hits.map(|callee| (ranks[stacks.names[*callee as usize] as usize], side, *callee)));
        }
        callees.sort_unstable_by(|a, b| b.cmp(a));
        for siblings in callees.chunk_by(|a, b| a.0 == b.0) {
            let mut hits = [0u64; 2];
            for (_, side, stack) in siblings {
                hits[*side] = hits[*side].saturating_add(sides[*side].hits[*stack as usize]);
            }
            let (_, side, stack) = siblings[0];
            let name = sides[side].names[stack as usize];
            open.push((FlameNode { depth, name, value: hits[0], base: hits[1] }, members.len()));
            members.extend(siblings.iter().map(|(_, side, stack)| (*side, *stack)));
        }
        callees.clear();
        let Some((node, own)) = open.pop() else { return nodes };
        nodes.push(node);
        (first, depth) = (own, node.depth + 1);
    }
}

/// All hits of a table.
fn total_of(table: &StackTable, unit: &str) -> Totals {
    Totals::new(table.samples().map(|sample| (sample.hits, sample.events)), unit)
}

/// Percentage points from which a colour is full.
pub(super) const FULL_POINTS: f64 = 10.0;

/// Standard deviations within which a difference is noise.
const NOISE: f64 = 2.0;

/// The totals of a flame graph.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    /// All hits, bytes or nanoseconds.
    pub sum: u64,
    /// The number of equivalent independent samples; 0 if it is unknown. Each sample counts as one. Bytes and times are
    /// sums of events, whose values in a stack are taken to be equal: they count as (sum)² / (sum of squares of the
    /// events).
    pub samples: f64,
}

impl Totals {
    /// The totals of stacks with their hits and events. The unit says whether each hit is a sample.
    pub(super) fn new(stacks: impl Iterator<Item = (u64, u64)>, unit: &str) -> Self {
        let (mut sum, mut squares) = (0u128, 0f64);
        for (hits, events) in stacks.filter(|(hits, _)| *hits > 0) {
            sum += u128::from(hits);
            // Infinite if the number of events is unknown.
            squares += hits as f64 * hits as f64 / events as f64;
        }
        let is_sum = matches!(unit, "bytes" | "ns" | "millionths");
        let samples = if is_sum && squares > 0.0 { sum as f64 * (sum as f64 / squares) } else { sum as f64 };
        Self { sum: u64::try_from(sum).unwrap_or(u64::MAX), samples }
    }
}

/// Returns −1 (ten points less, or fewer) to 1 (ten points more); 0 for a difference within two standard deviations of
/// that number of samples, if it is known. The square root makes small changes visible. `assets/flame.js` has the same
/// function.
pub(super) fn intensity(value: u64, all: &Totals, base: u64, base_all: &Totals) -> f64 {
    if all.sum == 0 || base_all.sum == 0 {
        return 0.0;
    }
    let (now, before) = (percent(value.into(), all.sum.into()), percent(base.into(), base_all.sum.into()));
    let variance = |share: f64, all: &Totals| match all.samples {
        0.0 => 0.0,
        samples => share * (100.0 - share) / samples.max(1.0),
    };
    let change = now - before;
    if change.abs() <= NOISE * (variance(now, all) + variance(before, base_all)).sqrt() {
        return 0.0;
    }
    change.signum() * (change.abs() / FULL_POINTS).min(1.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::Totals;

    fn intensity(value: u64, total: u64, base: u64, base_total: u64) -> f64 {
        let all = |sum: u64| Totals { sum, samples: sum as f64 };
        super::intensity(value, &all(total), base, &all(base_total))
    }

    #[test]
    fn bytes_are_worth_as_many_samples_as_there_are_events_of_their_size() {
        let even = Totals::new([(4096, 1); 50].into_iter(), "bytes");
        assert_eq!((even.sum, even.samples), (204_800, 50.0));
        // However many stacks there are.
        assert_eq!(Totals::new([(4096 * 20, 20), (4096 * 30, 30)].into_iter(), "bytes"), even);
        let lump = Totals::new([(1_000_000, 1), (1, 1), (1, 1)].into_iter(), "bytes");
        assert!(lump.samples < 1.1);
        assert_eq!(Totals::new([(7, 0), (3, 0)].into_iter(), "hits").samples, 10.0);
        assert_eq!(Totals::new([].into_iter(), "ns"), Totals::default());
        // Without a number of samples, each difference shows.
        let unknown = Totals::new([(4096, 1), (4096, 0)].into_iter(), "ns");
        assert_eq!(unknown, Totals { sum: 8192, samples: 0.0 });
        assert!(super::intensity(4100, &unknown, 4096, &unknown) > 0.0);
        // Ten points more may be noise with fifty events, but not with fifty thousand.
        let many = Totals { sum: 204_800_000, samples: 50_000.0 };
        assert_eq!(super::intensity(40_960, &even, 20_480, &even), 0.0);
        assert_eq!(super::intensity(40_960_000, &many, 20_480_000, &many), 1.0);
    }

    #[test]
    fn a_spike_of_one_hit_is_noise_and_a_hot_loop_is_not() {
        assert_eq!(intensity(1, 1000, 0, 1000), 0.0);
        assert_eq!(intensity(120, 1000, 100, 1000), 0.0);
        assert!((intensity(125_000, 1_000_000, 100_000, 1_000_000) - 0.5).abs() < 1e-12);
        assert_eq!(intensity(400, 1000, 100, 1000), 1.0);
        assert_eq!(intensity(0, 1000, 300, 1000), -1.0);
        assert_eq!((intensity(1, 0, 1, 5), intensity(5, 5, 5, 5)), (0.0, 0.0));
    }
}
