//! The array of call stacks of versions 3 and 4.
//!
//! A stack is its length and its frames, leaf first. Where stacks have their
//! roots in common, an element with its top bit set leads on to where those
//! frames stand.

use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::memory::{self, HOLD_OUTPUT};
use crate::memprof::stacks::{CallStacks, FrameHandle};

/// Set in elements that lead elsewhere.
const JUMP: u32 = 1 << 31;

/// An array of call stacks, and of the frames in the order that it uses.
pub(super) struct RadixArray {
    /// All frames, as they are to be written.
    pub(super) frames: Vec<FrameHandle>,
    /// The array.
    pub(super) elements: Vec<u32>,
    /// Where in the array each stack begins.
    pub(super) positions: Vec<u32>,
}

/// How often a frame is in a stack.
#[derive(Debug, Clone, Copy, Default)]
struct Usage {
    count: u64,
    /// Sum of its distances from the leaf.
    depth: u64,
}

impl RadixArray {
    /// Encodes all stacks; `ids` are those of the frames. Frequent frames get
    /// small numbers, and stacks with common roots stand together.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(super) fn encode(stacks: &CallStacks, ids: &[u64]) -> Result<Self> {
        let usage = usage(stacks)?;
        let (frames, numbers) = number_frames(&usage, ids)?;
        let all: Vec<&[FrameHandle]> = memory::collect(stacks.iter(), HOLD_OUTPUT)?;
        let mut encoder = Encoder::default();
        let mut positions = memory::filled(0, all.len(), HOLD_OUTPUT)?;
        for at in order_from_root(&all, &usage, ids)?.into_iter().rev() {
            positions[at as usize] = encoder.push(all[at as usize], &numbers)?;
        }
        let mut elements = encoder.elements;
        elements.reverse();
        let last = (elements.len() as u32).wrapping_sub(1);
        positions.iter_mut().for_each(|position| *position = last - *position);
        Ok(Self { frames, elements, positions })
    }
}

fn usage(stacks: &CallStacks) -> Result<Vec<Usage>> {
    let mut usage = memory::filled(Usage::default(), stacks.frames().len(), HOLD_OUTPUT)?;
    for stack in stacks.iter() {
        for (frame, depth) in stack.iter().zip(0u64..) {
            let usage = &mut usage[frame.index()];
            usage.count += 1;
            usage.depth += depth;
        }
    }
    Ok(usage)
}

/// The frames in the order of the file, and the number of each.
fn number_frames(usage: &[Usage], ids: &[u64]) -> Result<(Vec<FrameHandle>, Vec<u32>)> {
    let mut order: Vec<u32> = memory::collect(0..usage.len() as u32, HOLD_OUTPUT)?;
    order.sort_unstable_by_key(|at| {
        let usage = usage[*at as usize];
        (std::cmp::Reverse(usage.count), usage.depth, ids[*at as usize], *at)
    });
    let mut numbers = memory::filled(0, usage.len(), HOLD_OUTPUT)?;
    order.iter().zip(0..).for_each(|(at, number)| numbers[*at as usize] = number);
    let order = order.into_iter().map(FrameHandle::from_index);
    Ok((memory::collect(order, HOLD_OUTPUT)?, numbers))
}

/// Stacks in the order of their frames' counts and ids, from the root on.
fn order_from_root(stacks: &[&[FrameHandle]], usage: &[Usage], ids: &[u64]) -> Result<Vec<u32>> {
    let key = |at: &u32| (usage[*at as usize].count, ids[*at as usize]);
    let mut frames: Vec<u32> = memory::collect(0..usage.len() as u32, HOLD_OUTPUT)?;
    frames.sort_unstable_by_key(key);
    // A number for each frame that compares as its key does.
    let mut ranks = memory::filled(0u32, usage.len(), HOLD_OUTPUT)?;
    for pair in frames.windows(2) {
        ranks[pair[1] as usize] = ranks[pair[0] as usize] + u32::from(key(&pair[0]) != key(&pair[1]));
    }
    sort_by_ranks(stacks, &ranks)
}

/// So few stacks are compared to their ends; more are told apart frame by
/// frame, since many begin alike.
const FEW: usize = 16;

/// Stacks in the order of the ranks of their frames, from the root on.
fn sort_by_ranks(stacks: &[&[FrameHandle]], ranks: &[u32]) -> Result<Vec<u32>> {
    let from_root = |at: u32, depth: usize| {
        let stack = stacks[at as usize];
        stack[..stack.len() - depth].iter().rev().map(|frame| ranks[frame.index()])
    };
    // A stack that ends comes before those that go on.
    let mut order: Vec<(u64, u32)> = memory::collect((0..stacks.len() as u32).map(|at| (0, at)), HOLD_OUTPUT)?;
    let mut alike = vec![(0..order.len(), 0)];
    while let Some((range, depth)) = alike.pop() {
        let (start, part) = (range.start, &mut order[range]);
        if part.len() <= FEW {
            part.sort_by(|a, b| from_root(a.1, depth).cmp(from_root(b.1, depth)));
            continue;
        }
        for (key, at) in part.iter_mut() {
            *key = from_root(*at, depth).next().map_or(0, |rank| u64::from(rank) + 1);
        }
        // Those of one key stay in order, and nothing is asked for as a stable sort asks.
        part.sort_unstable();
        let mut next = start;
        for group in part.chunk_by(|a, b| a.0 == b.0) {
            if group.len() > 1 && group[0].0 != 0 {
                memory::push(&mut alike, (next..next + group.len(), depth + 1), HOLD_OUTPUT)?;
            }
            next += group.len();
        }
    }
    memory::collect(order.into_iter().map(|(_, at)| at), HOLD_OUTPUT)
}

/// Fills the array from its end.
#[derive(Default)]
struct Encoder<'a> {
    elements: Vec<u32>,
    /// The stack before.
    previous: &'a [FrameHandle],
    /// Where its frames stand, root first.
    places: Vec<u32>,
}

impl<'a> Encoder<'a> {
    fn push(&mut self, stack: &'a [FrameHandle], numbers: &[u32]) -> Result<u32> {
        // Its length, its frames, and where it goes on.
        memory::reserve(&mut self.elements, stack.len() + 2, HOLD_OUTPUT)?;
        let pairs = self.previous.iter().rev().zip(stack.iter().rev());
        let common = pairs.take_while(|(a, b)| a == b).count();
        self.places.truncate(common);
        if let Some(root) = self.places.last() {
            self.elements.push(root.wrapping_sub(self.elements.len() as u32));
        }
        for frame in stack.iter().rev().skip(common) {
            self.places.push(self.elements.len() as u32);
            self.elements.push(numbers[frame.index()]);
        }
        self.elements.push(stack.len() as u32);
        self.previous = stack;
        Ok(self.elements.len() as u32 - 1)
    }
}

/// Reads stacks out of an array.
pub(super) struct RadixReader<'a> {
    elements: &'a [[u8; 4]],
    /// Where the array begins in the file.
    offset: u64,
    /// The handles of the file's frames.
    frames: &'a [FrameHandle],
    limits: Limits,
    /// Frames read so far.
    read: u64,
}

impl<'a> RadixReader<'a> {
    pub(super) fn new(elements: &'a [[u8; 4]], offset: u64, frames: &'a [FrameHandle], limits: Limits) -> Self {
        Self { elements, offset, frames, limits, read: 0 }
    }

    /// Reads the stack at a position into `stack`.
    pub(super) fn read(&mut self, position: u32, stack: &mut Vec<FrameHandle>) -> Result<()> {
        stack.clear();
        let mut at = position as usize;
        let len = self.element(at)?;
        if len > self.limits.context_depth {
            return Err(crate::memprof::too_deep(len.into(), &self.limits).at("memprof", self.place(at)));
        }
        self.read += u64::from(len);
        let most = self.limits.inflated_bytes / 4;
        if self.read > most {
            return Err(crate::memprof::too_many_frames(self.read, most).at("memprof", self.place(at)));
        }
        for _ in 0..len {
            at += 1;
            let mut element = self.element(at)?;
            if element & JUMP != 0 {
                at += element.wrapping_neg() as usize;
                element = self.element(at)?;
            }
            let Some(frame) = self.frames.get(element as usize) else {
                let detail = format!("a call stack names frame {element} of {}", self.frames.len());
                return Err(Error::malformed(detail).at("memprof", self.place(at)));
            };
            stack.push(*frame);
        }
        Ok(())
    }

    fn place(&self, at: usize) -> u64 {
        self.offset + 4 * at as u64
    }

    fn element(&self, at: usize) -> Result<u32> {
        self.elements.get(at).map(|bytes| u32::from_le_bytes(*bytes)).ok_or_else(|| {
            let detail = format!("a call stack leads to element {at} of {}", self.elements.len());
            Error::malformed(detail).at("memprof", self.offset)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memprof::stacks::Frame;

    fn stacks_of(lists: &[&[u64]]) -> CallStacks {
        let mut stacks = CallStacks::new();
        for list in lists {
            let frame = |function: &u64| Frame { function: *function, line_offset: 0, column: 0, is_inline: false };
            let frames: Vec<_> = list.iter().map(frame).collect();
            let frames: Vec<_> = frames.into_iter().map(|frame| stacks.intern_frame(frame)).collect();
            stacks.intern(&frames);
        }
        stacks
    }

    #[test]
    fn stacks_with_common_roots_share_them() {
        let stacks = stacks_of(&[&[13, 12, 11], &[15, 14, 12, 11], &[16, 14, 12, 11], &[11]]);
        // Ids only decide among frames that are equally frequent.
        let ids: Vec<u64> = stacks.frames().iter().map(|frame| 100 - frame.function).collect();
        let array = RadixArray::encode(&stacks, &ids).unwrap();
        let functions: Vec<u64> = array.frames.iter().map(|frame| stacks.frame(*frame).function).collect();
        assert_eq!(functions, [11, 12, 14, 16, 15, 13]);
        let jump = |far: u32| far.wrapping_neg();
        assert_eq!(array.elements, [1, jump(11), 3, 5, jump(7), 4, 3, jump(3), 4, 4, 2, 1, 0]);
        assert_eq!(array.positions, [2, 8, 5, 0]);
        let bytes: Vec<[u8; 4]> = array.elements.iter().map(|element| element.to_le_bytes()).collect();
        let mut reader = RadixReader::new(&bytes, 0, &array.frames, Limits::default());
        let mut stack = Vec::new();
        for (expected, position) in stacks.iter().zip(&array.positions) {
            reader.read(*position, &mut stack).unwrap();
            assert_eq!(stack, expected);
        }
    }

    #[test]
    fn an_array_that_leads_astray_is_malformed() {
        let frames = [FrameHandle::from_index(0)];
        for (elements, message) in [
            (vec![1u32, 7], "a call stack names frame 7 of 1"),
            (vec![1], "a call stack leads to element 1 of 1"),
            (vec![1, 2u32.wrapping_neg()], "a call stack leads to element 3 of 2"),
            (vec![5000, 0], "frames of a call stack"),
        ] {
            let bytes: Vec<[u8; 4]> = elements.iter().map(|element| element.to_le_bytes()).collect();
            let mut reader = RadixReader::new(&bytes, 0, &frames, Limits::default());
            let error = reader.read(0, &mut Vec::new()).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
