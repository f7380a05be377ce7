//! Who calls a method, and what it calls, as trees of call chains.

use crate::call_chains::ChainTree;
pub use crate::call_chains::{Direction, MethodPattern};
use crate::error::Result;
use crate::stacks::model::{Function, FunctionId, Sample, StackTable};
use serde::Serialize;

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

/// The functions that a pattern means: those whose name begins so, or else those
/// whose name or class ends so.
pub fn functions_meant(pattern: &MethodPattern, table: &StackTable) -> Vec<FunctionId> {
    let name = |id| (table.display_function(id), matches!(table.function(id), Function::Java { .. }));
    pattern.find(table.functions(), name)
}

/// The samples whose stacks hold a method that one of `only` means (all, if
/// there are none) and none that one of `exclude` means.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub fn samples_with_methods(
    table: &StackTable,
    only: &[MethodPattern],
    exclude: &[MethodPattern],
) -> Result<StackTable> {
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
