//! Who calls a method, and what it calls, as trees of call chains.

use crate::error::{Error, Result};
use crate::model::stacks::{FrameId, Function, FunctionId, Sample, StackTable};
use foldhash::{HashMap, HashMapExt};
use regex::Regex;
use serde::Serialize;

/// Which way chains are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the innermost occurrence outwards.
    Callers,
    /// From the outermost occurrence inwards.
    Callees,
}

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

/// Which methods are meant.
#[derive(Debug, Clone)]
pub struct MethodPattern(Pattern);

#[derive(Debug, Clone)]
enum Pattern {
    /// A method, with or without types, package and class; a class; a package.
    Name(String),
    /// Any part of the whole name.
    Regex(Regex),
}

impl MethodPattern {
    /// A method by its whole name (`app.Main.loop(int)`), without types (all
    /// overloads), without package (`Main.loop`) or alone (`loop`); all methods
    /// of a class or package; or `/regular expression/`.
    ///
    /// # Errors
    ///
    /// A usage error for what is no regular expression.
    pub fn parse(text: &str) -> Result<Self> {
        let inner = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')).filter(|inner| !inner.is_empty());
        let Some(inner) = inner else { return Ok(Self(Pattern::Name(text.to_string()))) };
        let regex =
            Regex::new(inner).map_err(|error| Error::usage(format!("{text} is no regular expression: {error}")))?;
        Ok(Self(Pattern::Regex(regex)))
    }

    fn matches(&self, table: &StackTable, id: FunctionId) -> bool {
        let shown = table.display_function(id);
        let wanted = match &self.0 {
            Pattern::Regex(regex) => return regex.is_match(&shown),
            Pattern::Name(wanted) => wanted.as_str(),
        };
        if shown == wanted {
            return true;
        }
        let Function::Java { class, name, .. } = table.function(id) else { return false };
        let (class, name) = (table.name(class), table.name(name));
        let is_class = |wanted: &str| {
            let outer = class.strip_suffix(wanted);
            outer.is_some_and(|outer| outer.is_empty() || outer.ends_with(['.', '$']))
        };
        let is_package = class.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'));
        let is_method = wanted.strip_suffix(name).and_then(|rest| rest.strip_suffix('.')).is_some_and(is_class);
        name == wanted || is_method || is_class(wanted) || is_package
    }
}

/// Chains of every method that is meant, by falling hits.
pub fn call_chains(
    table: &StackTable,
    pattern: &MethodPattern,
    direction: Direction,
    options: &ChainOptions,
) -> Vec<CallChain> {
    let wanted: Vec<FunctionId> = table.functions().filter(|id| pattern.matches(table, *id)).collect();
    let samples = samples_with(table, &wanted);
    let mut roots: Vec<CallChain> = wanted
        .into_iter()
        .filter_map(|id| samples.get(&id).map(|samples| chain_of(table, id, samples, direction, options)))
        .filter(|chain| chain.hits > 0)
        .collect();
    roots.sort_by(order);
    roots
}

/// The samples whose stacks hold each of `wanted`, once a stack.
fn samples_with(table: &StackTable, wanted: &[FunctionId]) -> HashMap<FunctionId, Vec<Sample>> {
    let mut samples: HashMap<FunctionId, Vec<Sample>> = wanted.iter().map(|id| (*id, Vec::new())).collect();
    for sample in table.samples() {
        for frame in table.frames(sample.key.stack) {
            if let Some(list) = samples.get_mut(&table.frame(frame).function)
                && list.last() != Some(&sample)
            {
                list.push(sample);
            }
        }
    }
    samples
}

fn order(a: &CallChain, b: &CallChain) -> std::cmp::Ordering {
    b.hits.cmp(&a.hits).then_with(|| (&a.method, a.bci).cmp(&(&b.method, b.bci)))
}

/// A tree under construction, flat.
struct Node {
    function: FunctionId,
    bci: Option<i32>,
    hits: u128,
    next: Vec<usize>,
}

fn chain_of(
    table: &StackTable,
    root: FunctionId,
    samples: &[Sample],
    direction: Direction,
    options: &ChainOptions,
) -> CallChain {
    let mut nodes = vec![Node { function: root, bci: None, hits: 0, next: Vec::new() }];
    let mut children: HashMap<(usize, FunctionId, Option<i32>), usize> = HashMap::new();
    for sample in samples {
        let mut frames: Vec<FrameId> = table.frames(sample.key.stack).collect();
        if direction == Direction::Callees {
            frames.reverse();
        }
        // One path a stack, so recursion counts once.
        let Some(start) = frames.iter().position(|frame| table.frame(*frame).function == root) else { continue };
        let hits = u128::from(sample.hits);
        nodes[0].hits += hits;
        let mut at = 0;
        for frame in frames.iter().skip(start + 1).take(options.depth) {
            let frame = table.frame(*frame);
            let bci = frame.bci.filter(|_| options.by_position);
            let next = *children.entry((at, frame.function, bci)).or_insert_with(|| {
                nodes.push(Node { function: frame.function, bci, hits: 0, next: Vec::new() });
                let new = nodes.len() - 1;
                nodes[at].next.push(new);
                new
            });
            nodes[next].hits += hits;
            at = next;
        }
    }
    finish(table, &nodes, options.min_percent)
}

/// Turns the flat tree into a nested one. Later nodes are never above earlier
/// ones, so walking backwards finishes what is below first.
fn finish(table: &StackTable, nodes: &[Node], min_percent: f64) -> CallChain {
    let least = nodes[0].hits as f64 * min_percent / 100.0;
    let mut done: Vec<Option<CallChain>> = nodes.iter().map(|_| None).collect();
    for (index, node) in nodes.iter().enumerate().rev() {
        let mut next: Vec<CallChain> =
            node.next.iter().filter_map(|next| done[*next].take()).filter(|chain| chain.hits as f64 >= least).collect();
        next.sort_by(order);
        done[index] =
            Some(CallChain { method: table.display_function(node.function), bci: node.bci, hits: node.hits, next });
    }
    done.swap_remove(0).expect("the root is finished last")
}
