//! Calling contexts, kept as one tree of callers.

use super::tables::MethodHandle;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// The compiler's placeholders where a position has no bytecode index (BCI).
///
/// Real ones are 0 to 65534. The names follow `BytecodeFrame` of the Graal
/// compiler.
pub mod bci {
    /// Unwinding an exception.
    pub const UNWIND: i32 = -1;
    /// Before the method, its monitor not yet held.
    pub const BEFORE: i32 = -2;
    /// After a normal return.
    pub const AFTER: i32 = -3;
    /// After leaving by an exception.
    pub const AFTER_EXCEPTION: i32 = -4;
    /// Not known; what an imported stack without positions carries.
    pub const UNKNOWN: i32 = -5;
    /// No valid frame state, as in snippets and stubs.
    pub const INVALID_FRAMESTATE: i32 = -6;

    /// Whether a value is neither a real index nor a placeholder.
    pub fn is_odd(bci: i32) -> bool {
        !(INVALID_FRAMESTATE..=65534).contains(&bci)
    }
}

/// A position in a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The method.
    pub method: MethodHandle,
    /// Bytecode index, or one of [`bci`]'s placeholders.
    pub bci: i32,
}

/// A calling context: a position, and the positions of its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextHandle(u32);

impl ContextHandle {
    /// The context without frames: the parent of outermost frames, and the
    /// place of the monitor section's entry.
    pub const ROOT: Self = Self(0);

    /// The context as a number, which means something only with its tree.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The context of a [`number`](Self::number).
    pub fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// Position in the tree, for side tables.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("fewer than 2^32 contexts"))
    }
}

#[derive(Debug, Clone, Copy)]
struct Node {
    caller: u32,
    frame: Frame,
}

/// All contexts of a document: each distinct chain from the outermost caller
/// inwards is one node, so chains with common callers share them.
///
/// A caller is always added before what it called.
#[derive(Debug, Clone)]
pub struct ContextTree {
    nodes: Vec<Node>,
    index: HashTable<u32>,
    hasher: foldhash::fast::FixedState,
    /// The chain added last, outermost first, to start from its common part.
    last: Vec<(Frame, ContextHandle)>,
}

impl Default for ContextTree {
    fn default() -> Self {
        let root = Node { caller: 0, frame: Frame { method: MethodHandle::from_index(0), bci: 0 } };
        Self { nodes: vec![root], index: HashTable::new(), hasher: Default::default(), last: Vec::new() }
    }
}

impl ContextTree {
    /// The context of `frames`, innermost (leaf) first; added if it is new.
    pub fn add(&mut self, frames: &[Frame]) -> ContextHandle {
        self.add_mapped(frames, |frame| *frame)
    }

    /// As [`add`](Self::add), with every frame changed by `map` first.
    pub(crate) fn add_mapped(&mut self, frames: &[Frame], map: impl Fn(&Frame) -> Frame + Clone) -> ContextHandle {
        let frames = frames.iter().rev().map(map);
        let same = self.last.iter().zip(frames.clone()).take_while(|((last, _), frame)| last == frame).count();
        self.last.truncate(same);
        let mut context = self.last.last().map_or(ContextHandle::ROOT, |(_, context)| *context);
        for frame in frames.skip(same) {
            context = self.child(context, frame);
            self.last.push((frame, context));
        }
        context
    }

    /// The context of `frame` called from `caller`; added if it is new.
    ///
    /// # Panics
    ///
    /// With more than 2^32 contexts, which no memory holds today.
    pub fn child(&mut self, caller: ContextHandle, frame: Frame) -> ContextHandle {
        let hash = hash(&self.hasher, caller.0, frame);
        let nodes = &self.nodes;
        let found = self.index.find(hash, |at| {
            let node = &nodes[*at as usize];
            node.caller == caller.0 && node.frame == frame
        });
        if let Some(found) = found {
            return ContextHandle(*found);
        }
        let context = ContextHandle::from_index(self.nodes.len());
        self.nodes.push(Node { caller: caller.0, frame });
        let (nodes, hasher) = (&self.nodes, &self.hasher);
        self.index.insert_unique(hash, context.0, |at| {
            let node = &nodes[*at as usize];
            self::hash(hasher, node.caller, node.frame)
        });
        context
    }

    /// The caller's context; [`ContextHandle::ROOT`] for outermost frames.
    pub fn caller(&self, context: ContextHandle) -> ContextHandle {
        ContextHandle(self.nodes[context.index()].caller)
    }

    /// The innermost frame, which a context other than the root has.
    pub fn leaf(&self, context: ContextHandle) -> Option<Frame> {
        (context != ContextHandle::ROOT).then(|| self.nodes[context.index()].frame)
    }

    /// The frames, innermost first.
    pub fn frames(&self, context: ContextHandle) -> impl Iterator<Item = Frame> + '_ {
        std::iter::successors(Some(context), |context| Some(self.caller(*context)))
            .map_while(|context| self.leaf(context))
    }

    /// How many frames a context has.
    pub fn depth(&self, context: ContextHandle) -> usize {
        self.frames(context).count()
    }

    /// How many contexts there are, the root and all callers included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is nothing but the root.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1
    }

    /// Every context with its caller and frame, callers first, without the root.
    pub fn iter(&self) -> impl Iterator<Item = (ContextHandle, ContextHandle, Frame)> + '_ {
        self.nodes
            .iter()
            .enumerate()
            .skip(1)
            .map(|(at, node)| (ContextHandle::from_index(at), ContextHandle(node.caller), node.frame))
    }
}

fn hash(hasher: &foldhash::fast::FixedState, caller: u32, frame: Frame) -> u64 {
    hasher.hash_one((u64::from(caller) << 32 | u64::from(frame.bci.cast_unsigned()), frame.method))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(method: usize, bci: i32) -> Frame {
        Frame { method: MethodHandle::from_index(method), bci }
    }

    #[test]
    fn chains_share_their_callers() {
        let mut tree = ContextTree::default();
        let print = [frame(5, 0), frame(3, 2), frame(2, 9), frame(1, 3)];
        let context = tree.add(&print);
        assert_eq!(tree.frames(context).collect::<Vec<_>>(), print);
        assert_eq!((tree.depth(context), tree.len()), (4, 5));
        let odd = tree.add(&[frame(4, 0), frame(2, 15), frame(1, 3)]);
        assert_eq!(tree.len(), 7);
        assert_eq!(tree.add(&print[1..]), tree.caller(context));
        assert_eq!(tree.add(&print), context);
        assert_ne!(odd, context);
        assert_eq!(tree.add(&[]), ContextHandle::ROOT);
        assert_eq!(tree.leaf(ContextHandle::ROOT), None);
    }
}
