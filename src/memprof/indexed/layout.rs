//! Versions of the section, their headers and schemas.

use crate::bytes::sink::Buckets;
use crate::bytes::{Cursor, Endian, Sink};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::memprof::fields::Schema;
use crate::memprof::model::{CallStacks, Frame, FrameHandle};
use crate::model::Release;
use std::collections::BTreeMap;

/// The newest version of the section.
pub const NEWEST_VERSION: u32 = 4;

/// The first versions with later additions.
pub mod since {
    /// The version is the first word.
    pub const VERSION_WORD: u32 = 1;
    /// Call stacks are stored once, and the schema may be small.
    pub const STACK_TABLE: u32 = 2;
    /// Frames and call stacks are arrays.
    pub const ARRAYS: u32 = 3;
    /// Call targets of callsites, accesses to static data, and a summary.
    pub const CALLEES: u32 = 4;
}

/// Returns the version that the merge of a release writes by default.
pub(crate) fn default_version(release: Release) -> Option<u32> {
    match release.0 {
        0..15 => None,
        15..=19 => Some(0),
        _ => Some(3),
    }
}

/// Returns the fields that a release supports. It rejects sections with other fields.
pub(crate) fn known_schema(release: Release) -> Schema {
    match release.0 {
        0..16 => Schema::BEFORE_DENSITIES,
        16..=18 => Schema::BEFORE_HISTOGRAMS,
        _ => Schema::FULL,
    }
}

/// Returns the schema that a release writes.
pub(super) fn schema_of(version: u32, release: Release, full: bool) -> Schema {
    let known = known_schema(release);
    if version >= since::STACK_TABLE && !full { Schema::HOT_COLD } else { known }
}

/// Returns the words of the header, including the version.
pub(super) fn header_words(version: u32) -> usize {
    [3, 4, 6, 4, 5][version as usize]
}

// The hash tables of the section: items by a number, followed by an index.

/// The header of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemHeader {
    /// The hash, the lengths of the key and of the data, and the key.
    WithKeyLength,
    /// The hash, the length of the data, and the key.
    WithoutKeyLength,
}

/// Appends a table of items with these keys, which are also their hashes. Returns the offset of its index. `write_item`
/// appends the bytes of an item.
pub(super) fn write_table(
    sink: &mut Sink,
    keys: &[u64],
    header: ItemHeader,
    mut write_item: impl FnMut(&mut Sink, usize),
) -> Result<u64> {
    let buckets = Buckets::fill(keys, true);
    let mut offsets = Vec::new();
    for bucket in 0..buckets.len() {
        let count = buckets.items(bucket).count();
        let Ok(short) = u16::try_from(count) else {
            let (found, limit) = (count as u64, u16::MAX.into());
            let kind = ErrorKind::TooLarge { field: "memory profile's hash table bucket", found, limit };
            return Err(kind.into());
        };
        offsets.push(if count == 0 { 0 } else { sink.len() as u64 });
        if count == 0 {
            continue;
        }
        sink.u16(short);
        for item in buckets.items(bucket) {
            let key = keys[item as usize];
            sink.u64(key);
            if header == ItemHeader::WithKeyLength {
                sink.u64(8);
            }
            let len = sink.reserve();
            sink.u64(key);
            let start = sink.len();
            write_item(sink, item as usize);
            sink.patch(len, (sink.len() - start) as u64);
        }
    }
    sink.align(8);
    let index = sink.len() as u64;
    sink.u64s(&[buckets.len() as u64, keys.len() as u64]);
    sink.u64s(&offsets);
    Ok(index)
}

/// Reads a table of a section that starts at byte `base` of the file.
pub(super) struct Table<'data> {
    cursor: Cursor<'data>,
    header: ItemHeader,
    entries: u64,
    /// The buckets according to the index: offset and number of items.
    starts: BTreeMap<u64, u64>,
    buckets: u64,
}

impl<'data> Table<'data> {
    /// Returns the table with a payload and an index at these absolute offsets.
    pub(super) fn locate(
        section: &'data [u8],
        base: u64,
        payload: u64,
        index: u64,
        header: ItemHeader,
    ) -> Result<Self> {
        let mut at_index = part(section, base, index, base + section.len() as u64, "table index")?;
        let buckets = at_index.u64("number of buckets")?;
        let entries = at_index.u64("number of entries")?;
        if !buckets.is_power_of_two() {
            let detail = format!("a table has {buckets} buckets, which is not a power of two");
            return Err(Error::malformed(detail).at("memprof", index));
        }
        let offsets = at_index.take("bucket offsets", buckets.saturating_mul(8))?;
        let offsets = offsets.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).zip(0u64..);
        let starts: BTreeMap<u64, u64> = offsets.filter(|(offset, _)| *offset != 0).collect();
        let cursor = part(section, base, payload, index, "table")?;
        Ok(Self { cursor, header, entries, starts, buckets })
    }

    /// Passes all items to `take`, in the order of the file.
    pub(super) fn walk(mut self, mut take: impl FnMut(u64, Cursor<'data>) -> Result<()>) -> Result<()> {
        let mut left_in_bucket = 0;
        let mut bucket = 0;
        for _ in 0..self.entries {
            while left_in_bucket == 0 {
                let start = self.cursor.position();
                bucket = match self.starts.remove(&start) {
                    Some(bucket) => bucket,
                    None => {
                        return Err(
                            Error::malformed("the table's index has no bucket that begins here").at("memprof", start)
                        );
                    }
                };
                left_in_bucket = self.cursor.u16("items of a bucket")?;
            }
            left_in_bucket -= 1;
            let start = self.cursor.position();
            let hash = self.cursor.u64("hash of an item")?;
            let key_len = match self.header {
                ItemHeader::WithKeyLength => self.cursor.u64("length of a key")?,
                ItemHeader::WithoutKeyLength => 8,
            };
            let len = self.cursor.u64("length of an item")?;
            if key_len != 8 {
                let detail = format!("a key of the table has {key_len} bytes, not 8");
                return Err(Error::malformed(detail).at("memprof", start));
            }
            let key = self.cursor.u64("key")?;
            if hash != key || hash & (self.buckets - 1) != bucket {
                let detail =
                    format!("key {key:#x} with hash {hash:#x} cannot be in bucket {bucket} of {}", self.buckets);
                return Err(Error::malformed(detail).at("memprof", start));
            }
            let offset = self.cursor.position();
            let data = self.cursor.take("item", len)?;
            take(key, Cursor::new(data, offset, Endian::Little, "memprof"))?;
        }
        if left_in_bucket != 0 || !self.starts.is_empty() {
            let detail = format!("the table has more items than its index, which has {}", self.entries);
            return Err(self.cursor.place(Error::malformed(detail)));
        }
        Ok(())
    }
}

/// Returns the bytes of a section from `start` to `end`, both absolute offsets.
pub(super) fn part<'data>(
    section: &'data [u8],
    base: u64,
    start: u64,
    end: u64,
    what: &'static str,
) -> Result<Cursor<'data>> {
    let position = |offset: u64| offset.checked_sub(base).and_then(|at| usize::try_from(at).ok());
    let bytes = position(start).zip(position(end)).and_then(|(start, end)| section.get(start..end));
    match bytes {
        Some(bytes) => Ok(Cursor::new(bytes, start, Endian::Little, "memprof")),
        None => {
            let last = base + section.len() as u64;
            let detail =
                format!("the {what} from {start:#x} to {end:#x} is not inside the section, {base:#x} to {last:#x}");
            Err(Error::malformed(detail).at("memprof", base))
        }
    }
}

// The array of call stacks of versions 3 and 4.
//
// A stack is its length and its frames, leaf first. If stacks share their outermost frames, an element with its top bit
// set is an offset to these frames.

/// The bit of elements that are offsets.
const JUMP: u32 = 1 << 31;

/// An array of call stacks, and of the frames in the order of the file.
pub(super) struct RadixArray {
    /// All frames, in the order of the file.
    pub(super) frames: Vec<FrameHandle>,
    /// The elements.
    pub(super) elements: Vec<u32>,
    /// The position of each stack in the array.
    pub(super) positions: Vec<u32>,
}

/// The frequency of a frame.
#[derive(Debug, Clone, Copy, Default)]
struct Usage {
    count: u64,
    /// Sum of the distances from the leaf.
    depth: u64,
}

impl RadixArray {
    /// Encodes all stacks; `ids` are the ids of the frames. Frequent frames get small numbers, and stacks that share
    /// outermost frames are adjacent.
    pub(super) fn encode(stacks: &CallStacks, ids: &[u64]) -> Self {
        let usage = usage(stacks);
        let (frames, numbers) = number_frames(&usage, ids);
        let all: Vec<&[FrameHandle]> = stacks.iter().collect();
        let mut encoder = Encoder::default();
        let mut positions = vec![0; all.len()];
        for at in order_from_root(&all, &usage, ids).into_iter().rev() {
            positions[at as usize] = encoder.push(all[at as usize], &numbers);
        }
        let mut elements = encoder.elements;
        elements.reverse();
        let last = (elements.len() as u32).wrapping_sub(1);
        positions.iter_mut().for_each(|position| *position = last - *position);
        Self { frames, elements, positions }
    }
}

fn usage(stacks: &CallStacks) -> Vec<Usage> {
    let mut usage = vec![Usage::default(); stacks.frames().len()];
    for stack in stacks.iter() {
        for (frame, depth) in stack.iter().zip(0u64..) {
            let usage = &mut usage[frame.index()];
            usage.count += 1;
            usage.depth += depth;
        }
    }
    usage
}

/// Returns the frames in the order of the file, and the number of each frame.
fn number_frames(usage: &[Usage], ids: &[u64]) -> (Vec<FrameHandle>, Vec<u32>) {
    let mut order: Vec<u32> = (0..usage.len() as u32).collect();
    order.sort_unstable_by_key(|at| {
        let usage = usage[*at as usize];
        (std::cmp::Reverse(usage.count), usage.depth, ids[*at as usize], *at)
    });
    let mut numbers = vec![0; usage.len()];
    order.iter().zip(0..).for_each(|(at, number)| numbers[*at as usize] = number);
    let order = order.into_iter().map(FrameHandle::from_index);
    (order.collect(), numbers)
}

/// Sorts stacks by the counts and ids of their frames, starting at the root.
fn order_from_root(stacks: &[&[FrameHandle]], usage: &[Usage], ids: &[u64]) -> Vec<u32> {
    let key = |at: &u32| (usage[*at as usize].count, ids[*at as usize]);
    let mut frames: Vec<u32> = (0..usage.len() as u32).collect();
    frames.sort_unstable_by_key(key);
    // The rank of each frame, which compares like its key.
    let mut ranks = vec![0u32; usage.len()];
    for pair in frames.windows(2) {
        ranks[pair[1] as usize] = ranks[pair[0] as usize] + u32::from(key(&pair[0]) != key(&pair[1]));
    }
    sort_by_ranks(stacks, &ranks)
}

/// Up to this many stacks are compared as a whole. More are compared frame by frame, because many share their first
/// frames.
const FEW: usize = 16;

/// Sorts stacks by the ranks of their frames, starting at the root.
fn sort_by_ranks(stacks: &[&[FrameHandle]], ranks: &[u32]) -> Vec<u32> {
    let from_root = |at: u32, depth: usize| {
        let stack = stacks[at as usize];
        stack[..stack.len() - depth].iter().rev().map(|frame| ranks[frame.index()])
    };
    // A stack comes before longer stacks with the same frames.
    let mut order: Vec<(u64, u32)> = (0..stacks.len() as u32).map(|at| (0, at)).collect();
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
        // The positions in the keys keep stacks with equal ranks in order.
        part.sort_unstable();
        let mut next = start;
        for group in part.chunk_by(|a, b| a.0 == b.0) {
            if group.len() > 1 && group[0].0 != 0 {
                alike.push((next..next + group.len(), depth + 1));
            }
            next += group.len();
        }
    }
    order.into_iter().map(|(_, at)| at).collect()
}

/// Fills the array from its end.
#[derive(Default)]
struct Encoder<'a> {
    elements: Vec<u32>,
    /// The previous stack.
    previous: &'a [FrameHandle],
    /// The positions of its frames, root first.
    places: Vec<u32>,
}

impl<'a> Encoder<'a> {
    fn push(&mut self, stack: &'a [FrameHandle], numbers: &[u32]) -> u32 {
        // The length, the frames, and the offset of the shared frames.
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
        self.elements.len() as u32 - 1
    }
}

/// Reads stacks from an array.
pub(super) struct RadixReader<'a> {
    elements: &'a [[u8; 4]],
    /// The offset of the array in the file.
    offset: u64,
    /// The handles of the file's frames.
    frames: &'a [FrameHandle],
    limits: Limits,
    /// The number of frames read so far.
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
            return Err(crate::memprof::model::too_deep(len.into(), &self.limits).at("memprof", self.place(at)));
        }
        self.read += u64::from(len);
        let most = self.limits.inflated_bytes / 4;
        if self.read > most {
            return Err(crate::memprof::model::too_many_frames(self.read, most).at("memprof", self.place(at)));
        }
        for _ in 0..len {
            at += 1;
            let mut element = self.element(at)?;
            if element & JUMP != 0 {
                at += element.wrapping_neg() as usize;
                element = self.element(at)?;
            }
            let Some(frame) = self.frames.get(element as usize) else {
                let detail = format!("a call stack has frame {element}, there are {}", self.frames.len());
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
            let detail = format!("a call stack has element {at}, there are {}", self.elements.len());
            Error::malformed(detail).at("memprof", self.offset)
        })
    }
}

// Ids of frames and call stacks. They are the keys of the tables in section versions 0 to 2, and determine the order in
// all versions.

/// Returns the ids of all frames, as computed by a release.
pub(super) fn frame_ids(release: Release, frames: &[Frame]) -> Vec<u64> {
    let id = if release >= Release(20) { hashed_id } else { combined_id };
    frames.iter().map(id).collect()
}

/// Returns the ids of all call stacks. `frames` are the ids of the frames.
pub(super) fn stack_ids(stacks: &CallStacks, frames: &[u64]) -> Vec<u64> {
    let mut bytes = Vec::new();
    let mut id = |stack: &[FrameHandle]| {
        bytes.clear();
        stack.iter().for_each(|frame| bytes.extend_from_slice(&frames[frame.index()].to_le_bytes()));
        blake3_id(&bytes)
    };
    stacks.iter().map(&mut id).collect()
}

/// Combines the four parts of a frame (`Frame::hash` in LLVM 19 and earlier).
fn combined_id(frame: &Frame) -> u64 {
    let parts = [frame.function, frame.line_offset.into(), frame.column.into(), frame.is_inline.into()];
    parts.into_iter().fold(0u64, |id, part| {
        let mixed = part.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_add(id << 6).wrapping_add(id >> 2);
        id ^ mixed
    })
}

/// Hashes the encoded frame (`Frame::hash` in LLVM 20 and later).
fn hashed_id(frame: &Frame) -> u64 {
    let mut sink = Sink::with_capacity(Endian::Little, FRAME_SIZE);
    write_frame(&mut sink, frame);
    blake3_id(sink.as_slice())
}

fn blake3_id(bytes: &[u8]) -> u64 {
    let hash = blake3::hash(bytes);
    u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("a BLAKE3 hash has 32 bytes"))
}

/// The bytes of a frame in files.
pub(super) const FRAME_SIZE: usize = 17;

/// Appends an encoded frame.
pub(super) fn write_frame(sink: &mut Sink, frame: &Frame) {
    sink.u64(frame.function);
    sink.u32(frame.line_offset);
    sink.u32(frame.column);
    sink.u8(frame.is_inline.into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memprof::model::Frame;

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
        // Ids determine the order only of frames with the same frequency.
        let ids: Vec<u64> = stacks.frames().iter().map(|frame| 100 - frame.function).collect();
        let array = RadixArray::encode(&stacks, &ids);
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
            (vec![1u32, 7], "a call stack has frame 7, there are 1"),
            (vec![1], "a call stack has element 1, there are 1"),
            (vec![1, 2u32.wrapping_neg()], "a call stack has element 3, there are 2"),
            (vec![5000, 0], "frames of a call stack"),
        ] {
            let bytes: Vec<[u8; 4]> = elements.iter().map(|element| element.to_le_bytes()).collect();
            let mut reader = RadixReader::new(&bytes, 0, &frames, Limits::default());
            let error = reader.read(0, &mut Vec::new()).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
