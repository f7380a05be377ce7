//! Stacks joined to a tree of names, for drawing.

use super::change::Totals;
use crate::stacks::collapsed::{Outline, OutlineNode};
use crate::stacks::model::{FrameKind, Function, FunctionId, StackTable};
use foldhash::{HashMap, HashMapExt};

/// Nodes that a graph keeps; beyond them the smallest are left out.
const MAX_NODES: usize = 1_000_000;

/// What sort of code a frame is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// Java code of the program and its libraries.
    Program,
    /// Java code of the JDK.
    Jdk,
    /// Native code.
    Native,
    /// The kernel.
    Kernel,
}

impl Family {
    /// All, in the order of their numbers in pages.
    pub const ALL: [Self; 4] = [Self::Program, Self::Jdk, Self::Native, Self::Kernel];

    /// Words for the legend.
    pub fn words(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Jdk => "JDK",
            Self::Native => "native",
            Self::Kernel => "kernel",
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

/// One frame of the picture.
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
    /// What the widths mean.
    pub text: String,
    /// What is counted: `hits`, `calls`.
    pub unit: &'static str,
    /// Every name once, with its family.
    pub names: Vec<(String, Family)>,
    /// The frames in depth-first order.
    pub nodes: Vec<FlameNode>,
    /// All hits.
    pub total: Totals,
    /// All hits of the profile compared with, if there is one.
    pub base_total: Option<Totals>,
    /// Frames that were left out since there are too many.
    pub left_out: usize,
}

struct Building {
    names: Vec<(String, Family)>,
    by_name: HashMap<String, u32>,
    /// Name, parent, hits of the profile and of the one compared with.
    nodes: Vec<(u32, Option<usize>, [u128; 2])>,
    children: HashMap<(Option<usize>, u32), usize>,
}

impl FlameGraph {
    /// The tree of a table's stacks, perhaps compared with another table.
    pub fn new(title: &str, text: &str, unit: &'static str, table: &StackTable, baseline: Option<&StackTable>) -> Self {
        let mut building =
            Building { names: Vec::new(), by_name: HashMap::new(), nodes: Vec::new(), children: HashMap::new() };
        building.add(table, 0);
        if let Some(baseline) = baseline {
            building.add(baseline, 1);
        }
        let mut graph = building.finish();
        graph.title = title.to_string();
        graph.text = text.to_string();
        graph.unit = unit;
        graph.total = total_of(table, unit);
        graph.base_total = baseline.map(|table| total_of(table, unit));
        graph
    }

    /// The tree of a text's outline.
    pub fn from_outline(outline: &Outline, unit: &'static str) -> Self {
        let clamp = |hits: u128| u64::try_from(hits).unwrap_or(u64::MAX);
        let node =
            |node: &OutlineNode| FlameNode { depth: node.depth, name: node.name, value: clamp(node.hits), base: 0 };
        let name =
            |(name, id, kind): &(String, FunctionId, FrameKind)| (name.clone(), family(&outline.table, *id, *kind));
        Self {
            unit,
            names: outline.names.iter().map(name).collect(),
            nodes: outline.nodes.iter().map(node).collect(),
            total: Totals { sum: clamp(outline.total), samples: outline.total as f64 },
            ..Self::default()
        }
    }

    /// The positions of the nodes that one meets by following the widest frame from
    /// the widest entry, as far as it is wider than what its caller ran by itself.
    /// `assets/flame.js` does the same.
    pub fn hottest_path(&self) -> Vec<usize> {
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
            match children().max_by_key(|(at, node)| (node.value, std::cmp::Reverse(*at))) {
                Some((at, node)) if node.value > 0 && u128::from(node.value) >= alone => path.push(at),
                _ => return path,
            }
        }
    }

    /// Frames of the deepest stack.
    pub fn depth(&self) -> u32 {
        self.nodes.iter().map(|node| node.depth + 1).max().unwrap_or(0)
    }
}

impl Building {
    fn name(&mut self, table: &StackTable, id: FunctionId, kind: FrameKind) -> u32 {
        let text = table.display_function(id);
        if let Some(known) = self.by_name.get(&text) {
            return *known;
        }
        let number = u32::try_from(self.names.len()).expect("names are fewer than the table's functions");
        self.names.push((text.clone(), family(table, id, kind)));
        self.by_name.insert(text, number);
        number
    }

    fn add(&mut self, table: &StackTable, side: usize) {
        let mut names: Vec<Option<u32>> = vec![None; table.functions().len()];
        let mut nodes: Vec<usize> = Vec::with_capacity(table.stacks().len());
        for stack in table.stacks() {
            let frame = table.frame(table.leaf(stack));
            let name = match names[frame.function.index()] {
                Some(name) => name,
                None => *names[frame.function.index()].insert(self.name(table, frame.function, frame.kind)),
            };
            let parent = table.parent(stack).map(|parent| nodes[parent.index()]);
            let all = &mut self.nodes;
            let node = *self.children.entry((parent, name)).or_insert_with(|| {
                all.push((name, parent, [0, 0]));
                all.len() - 1
            });
            nodes.push(node);
        }
        for sample in table.samples() {
            self.nodes[nodes[sample.key.stack.index()]].2[side] += u128::from(sample.hits);
        }
    }

    fn finish(mut self) -> FlameGraph {
        // Callers come before what they call, so one walk backwards adds up.
        for index in (0..self.nodes.len()).rev() {
            let (_, parent, hits) = self.nodes[index];
            if let Some(parent) = parent {
                self.nodes[parent].2[0] += hits[0];
                self.nodes[parent].2[1] += hits[1];
            }
        }
        let least = self.least();
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut roots = Vec::new();
        let mut kept = 0;
        for (index, (_, parent, hits)) in self.nodes.iter().enumerate() {
            if hits[0].max(hits[1]) >= least {
                kept += 1;
                match parent {
                    Some(parent) => next[*parent].push(index),
                    None => roots.push(index),
                }
            }
        }
        let by_name = |a: &usize, b: &usize| {
            let name = |index: &usize| &self.names[self.nodes[*index].0 as usize].0;
            name(b).cmp(name(a))
        };
        let clamp = |hits: u128| u64::try_from(hits).unwrap_or(u64::MAX);
        let mut graph = FlameGraph::default();
        roots.sort_by(by_name);
        let mut open: Vec<(usize, u32)> = roots.into_iter().map(|index| (index, 0)).collect();
        while let Some((index, depth)) = open.pop() {
            let (name, _, hits) = self.nodes[index];
            graph.nodes.push(FlameNode { depth, name, value: clamp(hits[0]), base: clamp(hits[1]) });
            let mut below = std::mem::take(&mut next[index]);
            below.sort_by(by_name);
            open.extend(below.into_iter().map(|index| (index, depth + 1)));
        }
        graph.left_out = self.nodes.iter().filter(|(_, _, hits)| hits[0].max(hits[1]) > 0).count() - kept;
        graph.names = self.names;
        graph
    }

    /// The smallest number of hits that a frame needs to be kept, 1 or more.
    fn least(&self) -> u128 {
        let mut sizes: Vec<u128> =
            self.nodes.iter().map(|(_, _, hits)| hits[0].max(hits[1])).filter(|hits| *hits > 0).collect();
        if sizes.len() <= MAX_NODES {
            return 1;
        }
        let (_, nth, _) = sizes.select_nth_unstable_by(MAX_NODES, |a, b| b.cmp(a));
        *nth + 1
    }
}

fn family(table: &StackTable, id: FunctionId, kind: FrameKind) -> Family {
    match table.function(id) {
        Function::Symbol { .. } if kind == FrameKind::Kernel => Family::Kernel,
        Function::Symbol { .. } => Family::Native,
        Function::Java { class, .. } => {
            let class = table.name(class);
            let jdk = ["java.", "javax.", "jdk.", "sun.", "com.sun."];
            if jdk.iter().any(|prefix| class.starts_with(prefix)) { Family::Jdk } else { Family::Program }
        }
    }
}

/// All hits of a table.
fn total_of(table: &StackTable, unit: &'static str) -> Totals {
    Totals::new(table.samples().map(|sample| sample.hits), unit)
}
