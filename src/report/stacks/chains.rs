//! Who calls a method, and what it calls, as trees of call chains.

use crate::error::{Error, Result};
use crate::stacks::model::{FrameId, Function, FunctionId, Sample, StackTable};
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

    /// The functions that are meant: those whose name begins so, or else those
    /// whose name or class ends so. An iprof is searched by the same rules.
    pub fn find(&self, table: &StackTable) -> Vec<FunctionId> {
        let by = |wanted: &dyn Fn(FunctionId) -> bool| table.functions().filter(|id| wanted(*id)).collect::<Vec<_>>();
        match &self.0 {
            Pattern::Regex(regex) => by(&|id| regex.is_match(&table.display_function(id))),
            Pattern::Name(wanted) => {
                let found = by(&|id| begins(table, id, wanted));
                if found.is_empty() { by(&|id| ends(table, id, wanted)) } else { found }
            }
        }
    }
}

/// Whether `wanted` is a whole name, or its package, class or method.
fn begins(table: &StackTable, id: FunctionId, wanted: &str) -> bool {
    let shown = table.display_function(id);
    let rest = shown.strip_prefix(wanted);
    match table.function(id) {
        Function::Java { .. } => rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '$', '('])),
        Function::Symbol { .. } => rest == Some(""),
    }
}

/// Whether a name ends in `wanted`, after its package or class, or the class does.
fn ends(table: &StackTable, id: FunctionId, wanted: &str) -> bool {
    let shown = table.display_function(id);
    match table.function(id) {
        Function::Java { class, name, .. } => {
            let (class, name) = (table.name(class), table.name(name));
            let of = |whole: &str, marks: &[char]| whole.strip_suffix(wanted).is_some_and(|rest| rest.ends_with(marks));
            of(&shown, &['.']) || of(&format!("{class}.{name}"), &['.']) || of(class, &['.', '$'])
        }
        Function::Symbol { .. } => shown.strip_suffix(wanted).is_some_and(|rest| rest.ends_with(['.', ':', '/'])),
    }
}

/// The samples whose stacks hold a method that one of `only` means (all, if
/// there are none) and none that one of `exclude` means.
pub fn samples_with_methods(table: &StackTable, only: &[MethodPattern], exclude: &[MethodPattern]) -> StackTable {
    let meant = |patterns: &[MethodPattern]| {
        let mut marks = vec![false; table.functions().len()];
        patterns.iter().flat_map(|pattern| pattern.find(table)).for_each(|id| marks[id.index()] = true);
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
    let wanted = pattern.find(table);
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

/// OrderedWorkers the flat tree into a nested one. Later nodes are never above earlier
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
