//! Frames and call stacks, each kept once.

use crate::error::Result;
use crate::memory::{self, HOLD_STACKS};
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// One frame of a call stack: a place in a function, relative to its first
/// line so that code above it may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Frame {
    /// The function: the low 64 bits of the MD5 of its name ([`guid`](super::guid)).
    pub function: u64,
    /// Lines from the line where the function is declared; wraps around.
    pub line_offset: u32,
    /// Column, from 1.
    pub column: u32,
    /// Whether the function was inlined into that of the next frame.
    pub is_inline: bool,
}

/// Handle of a frame in the [`CallStacks`] that gave it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameHandle(u32);

impl FrameHandle {
    /// Position among all frames.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The frame at a position, which is below the number of frames.
    pub(super) fn from_index(at: u32) -> Self {
        Self(at)
    }
}

/// Handle of a call stack in the [`CallStacks`] that gave it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackHandle(u32);

impl StackHandle {
    /// Position among all call stacks.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// All frames and call stacks of a profile, in order of first mention.
///
/// What does not fit the memory is not in it: [`check_memory`](Self::check_memory) says so, which all that reads or adds
/// up memory profiles in this library asks before it gives one out.
#[derive(Debug, Clone, Default)]
pub struct CallStacks {
    frames: Vec<Frame>,
    frame_index: HashTable<u32>,
    /// Frames of all stacks, one stack after the other, leaf first.
    elements: Vec<FrameHandle>,
    /// Where in `elements` each stack ends.
    ends: Vec<usize>,
    stack_index: HashTable<u32>,
    // Contents come from files: the seed is one that nobody can choose them for.
    hasher: foldhash::fast::RandomState,
    /// Whether a frame or a stack has the handle of the first one, for it did not fit.
    is_out_of_memory: bool,
}

impl CallStacks {
    /// No frames, no stacks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for so many more call stacks, as far as there is memory for it.
    #[cfg(feature = "correlate")]
    pub(super) fn reserve(&mut self, stacks: usize) {
        let Self { elements, ends, stack_index, hasher, .. } = self;
        let _ = ends.try_reserve(stacks);
        let _ = stack_index.try_reserve(stacks, |at| hasher.hash_one(slice(elements, ends, *at)));
    }

    /// Whether all frames and stacks that were added are there.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn check_memory(&self) -> Result<()> {
        if self.is_out_of_memory { Err(memory::refused(HOLD_STACKS)) } else { Ok(()) }
    }

    /// The handle of a frame, which is added if it is new.
    pub fn intern_frame(&mut self, frame: Frame) -> FrameHandle {
        let Self { frames, frame_index, hasher, .. } = self;
        let hash = hasher.hash_one(frame);
        let same = |at: &u32| frames[*at as usize] == frame;
        if let Some(at) = frame_index.find(hash, same) {
            return FrameHandle(*at);
        }
        // The first one is small, and has no other whose handle it could have.
        let has_room = frames.is_empty()
            || frames.try_reserve(1).is_ok()
                && frame_index.try_reserve(1, |at| hasher.hash_one(frames[*at as usize])).is_ok();
        if !has_room {
            self.is_out_of_memory = true;
            return FrameHandle(0);
        }
        let at = handle(frames.len());
        frame_index.insert_unique(hash, at, |at| hasher.hash_one(frames[*at as usize]));
        frames.push(frame);
        FrameHandle(at)
    }

    /// The handle of a call stack, leaf first, which is added if it is new.
    pub fn intern(&mut self, stack: &[FrameHandle]) -> StackHandle {
        let Self { elements, ends, stack_index, hasher, .. } = self;
        let hash = hasher.hash_one(stack);
        if let Some(at) = stack_index.find(hash, |at| slice(elements, ends, *at) == stack) {
            return StackHandle(*at);
        }
        let has_room = ends.is_empty()
            || elements.try_reserve(stack.len()).is_ok()
                && ends.try_reserve(1).is_ok()
                && stack_index.try_reserve(1, |at| hasher.hash_one(slice(elements, ends, *at))).is_ok();
        if !has_room {
            self.is_out_of_memory = true;
            return StackHandle(0);
        }
        let at = handle(ends.len());
        elements.extend_from_slice(stack);
        ends.push(elements.len());
        stack_index.insert_unique(hash, at, |at| hasher.hash_one(slice(elements, ends, *at)));
        StackHandle(at)
    }

    /// A frame.
    pub fn frame(&self, handle: FrameHandle) -> Frame {
        self.frames[handle.index()]
    }

    /// The frames of a call stack, leaf first.
    pub fn stack(&self, handle: StackHandle) -> &[FrameHandle] {
        slice(&self.elements, &self.ends, handle.0)
    }

    /// The frames of a call stack, leaf first.
    pub fn frames_of(&self, handle: StackHandle) -> impl ExactSizeIterator<Item = Frame> + DoubleEndedIterator {
        self.stack(handle).iter().map(|frame| self.frame(*frame))
    }

    /// All frames, in order of first mention.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// All call stacks, in order of first mention.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[FrameHandle]> {
        (0..handle(self.ends.len())).map(|at| slice(&self.elements, &self.ends, at))
    }

    /// How many call stacks there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no call stack.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds what another table holds, in its order, and returns what its
    /// handles became.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(super) fn absorb(&mut self, other: &Self) -> Result<Vec<StackHandle>> {
        let frames = other.frames.iter().map(|frame| self.intern_frame(*frame));
        let frames: Vec<FrameHandle> = memory::collect(frames, HOLD_STACKS)?;
        self.check_memory()?;
        let mut stack = Vec::new();
        let mut absorb = |theirs: &[FrameHandle]| {
            stack.clear();
            stack.extend(theirs.iter().map(|frame| frames[frame.index()]));
            self.intern(&stack)
        };
        let stacks = memory::collect(other.iter().map(&mut absorb), HOLD_STACKS)?;
        self.check_memory()?;
        Ok(stacks)
    }
}

fn slice<'a>(elements: &'a [FrameHandle], ends: &[usize], at: u32) -> &'a [FrameHandle] {
    let at = at as usize;
    let start = if at == 0 { 0 } else { ends[at - 1] };
    &elements[start..ends[at]]
}

/// Tables are filled from inputs of at most 16 GiB, in which a frame takes 17
/// bytes and a stack at least 4.
fn handle(len: usize) -> u32 {
    u32::try_from(len).expect("an input has fewer than 2^32 frames and stacks")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: u64) -> Frame {
        Frame { function, line_offset: 1, column: 2, is_inline: false }
    }

    #[test]
    fn equal_frames_and_stacks_are_kept_once() {
        let mut stacks = CallStacks::new();
        let [a, b] = [1, 2].map(|function| stacks.intern_frame(frame(function)));
        assert_eq!(stacks.intern_frame(frame(1)), a);
        let (ab, empty) = (stacks.intern(&[a, b]), stacks.intern(&[]));
        assert_eq!((stacks.intern(&[a, b]), stacks.intern(&[])), (ab, empty));
        assert_eq!((stacks.len(), stacks.stack(ab), stacks.stack(empty)), (2, &[a, b][..], &[][..]));
        assert!(stacks.frames_of(ab).map(|frame| frame.function).eq([1, 2]));
    }

    #[test]
    fn absorbed_tables_keep_their_order() {
        let (mut ours, mut theirs) = (CallStacks::new(), CallStacks::new());
        let two = ours.intern_frame(frame(2));
        ours.intern(&[two]);
        let [one, two] = [1, 2].map(|function| theirs.intern_frame(frame(function)));
        theirs.intern(&[one, two]);
        theirs.intern(&[two]);
        let handles = ours.absorb(&theirs).unwrap();
        assert_eq!(handles.iter().map(|handle| handle.index()).collect::<Vec<_>>(), [1, 0]);
        assert!(ours.frames().iter().map(|frame| frame.function).eq([2, 1]));
    }
}
