//! The sizes of functions in the program, by the functions that they were inlined into.

use super::super::functions::Function;
use super::super::program::Program;
use super::inlined::Places;
use super::tree::{ROOT, Tree};
use crate::sampleprof::{Frame, LineLocation};
use std::collections::BTreeMap;

/// Sizes by context, in which callees come before their callers.
#[derive(Debug)]
pub(super) struct Sizes {
    nodes: Vec<SizeNode>,
}

#[derive(Debug, Default)]
struct SizeNode {
    size: Option<u32>,
    /// By the key of their frame.
    callers: BTreeMap<u64, u32>,
}

impl Sizes {
    pub(super) fn new() -> Self {
        Self { nodes: vec![SizeNode::default()] }
    }

    /// Adds bytes of code of the last of some frames. The others are its callers, outermost first.
    pub(super) fn add(&mut self, tree: &mut Tree, frames: &[Frame], bytes: u32) {
        let mut at = 0;
        for (index, frame) in frames.iter().rev().enumerate() {
            let site = if index == 0 { LineLocation::default() } else { frame.location };
            let key = tree.key(frame.function, site);
            let next = self.nodes.len() as u32;
            at = *self.nodes[at as usize].callers.entry(key).or_insert(next);
            if at == next {
                self.nodes.push(SizeNode::default());
            }
        }
        let size = &mut self.nodes[at as usize].size;
        *size = Some(size.unwrap_or(0).wrapping_add(bytes));
    }

    /// Adds the code of functions.
    pub(super) fn add_functions(
        &mut self,
        tree: &mut Tree,
        program: &Program<'_>,
        functions: &[&Function],
        places: &Places,
    ) {
        for (start, end) in functions.iter().flat_map(|function| &function.ranges) {
            for (address, bytes) in program.code.instructions(*start, end - 1) {
                self.add(tree, places.frames(address), bytes.into());
            }
        }
    }

    /// The size of a function in a context: that of the most similar context with code.
    pub(super) fn of(&self, tree: &mut Tree, node: u32) -> u32 {
        let (mut at, mut size) = (0, None);
        let (mut next, mut site) = (node, LineLocation::default());
        while next != ROOT {
            let (function, parent, own) = {
                let node = &tree.nodes[next as usize];
                (node.function, node.parent, node.site)
            };
            let Some(found) = self.nodes[at as usize].callers.get(&tree.key(function, site)) else { break };
            at = *found;
            size = self.nodes[at as usize].size.or(size);
            (next, site) = (parent, own);
        }
        while size.is_none() {
            let Some(first) = self.nodes[at as usize].callers.values().next() else { break };
            at = *first;
            size = self.nodes[at as usize].size;
        }
        size.unwrap_or(0)
    }
}
