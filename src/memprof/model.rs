//! The memory profile in memory.

use crate::error::{Error, ErrorKind};
use crate::hint::Hint;
use crate::limits::Limits;
use crate::memprof::fields::{MemInfoBlock, Schema};
use hashbrown::HashTable;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::sync::Arc;

/// An allocation in a function, with one call stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocSite {
    /// The call stack, from the allocation to the start of the program.
    pub stack: StackHandle,
    /// The measurements.
    pub info: MemInfoBlock,
    /// Accesses to each 8 bytes of the objects, if the runtime counted them. Only raw profiles store it.
    pub histogram: Option<Arc<Vec<u64>>>,
}

/// A call in a function that leads to an allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSite {
    /// The frames at one address: the call, and the functions into which it is inlined.
    pub frames: StackHandle,
    /// Functions called by the call, in ascending order. Empty if unknown.
    pub callees: Vec<u64>,
}

/// The record of one function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemProfRecord {
    /// The function ([`guid`]).
    pub function: u64,
    /// Allocations in the function and in callees inlined into it.
    pub alloc_sites: Vec<AllocSite>,
    /// Calls in the function that lead to allocations.
    pub call_sites: Vec<CallSite>,
}

/// A memory profile.
#[derive(Debug, Clone, Default)]
pub struct MemoryProfile {
    /// The fields that all allocations have.
    pub schema: Schema,
    /// Frames and call stacks.
    pub stacks: CallStacks,
    records: Vec<MemProfRecord>,
    by_function: HashMap<u64, usize, foldhash::fast::RandomState>,
    /// Accesses to static data.
    pub data_access: Option<DataAccessProfile>,
    /// Names of functions, if the source has them.
    pub names: BTreeMap<u64, Vec<u8>>,
    /// The number of functions that have no line of their declaration in debug info, so that their lines are wrong. Only
    /// profiles that were read from raw ones have it.
    pub(crate) functions_without_line: usize,
}

/// Equal if both have the same records in the same order, and the same other content. The handles of call stacks may differ.
impl PartialEq for MemoryProfile {
    fn eq(&self, other: &Self) -> bool {
        let Self { schema, stacks, records, by_function: _, data_access, names, functions_without_line: _ } = self;
        if (schema, data_access, names, records.len())
            != (&other.schema, &other.data_access, &other.names, other.records.len())
        {
            return false;
        }
        let mut stacks = stacks.clone();
        let handles = stacks.absorb(&other.stacks);
        let renamed = |record: &MemProfRecord| {
            let mut record = record.clone();
            record.alloc_sites.iter_mut().for_each(|site| site.stack = handles[site.stack.index()]);
            record.call_sites.iter_mut().for_each(|site| site.frames = handles[site.frames.index()]);
            record
        };
        records.iter().zip(&other.records).all(|(own, other)| *own == renamed(other))
    }
}

impl Default for Schema {
    fn default() -> Self {
        Self::FULL
    }
}

impl MemoryProfile {
    /// Creates an empty profile with these fields.
    pub fn new(schema: Schema) -> Self {
        Self { schema, ..Self::default() }
    }

    /// The records, in order of first mention.
    pub fn records(&self) -> &[MemProfRecord] {
        &self.records
    }

    /// Returns the record of a function.
    pub fn record(&self, function: u64) -> Option<&MemProfRecord> {
        self.by_function.get(&function).map(|at| &self.records[*at])
    }

    /// Returns the record of a function. Adds it if it is new.
    pub fn record_mut(&mut self, function: u64) -> &mut MemProfRecord {
        let at = self.record_index(function);
        &mut self.records[at]
    }

    /// Returns the index of a function's record. Adds it if it is new.
    pub(super) fn record_index(&mut self, function: u64) -> usize {
        let at = *self.by_function.entry(function).or_insert(self.records.len());
        if at == self.records.len() {
            self.records.push(MemProfRecord { function, ..MemProfRecord::default() });
        }
        at
    }

    /// Sorts the records by the ids of their functions, as in YAML of partial merges and of whole ones. The order of the
    /// records decides the bytes of an indexed profile.
    pub fn sort_records(&mut self) {
        self.records.sort_by_key(|record| record.function);
        let order = self.records.iter().enumerate().map(|(at, record)| (record.function, at));
        self.by_function = order.collect();
    }

    /// Returns all records, mutable.
    pub(super) fn records_mut(&mut self) -> &mut [MemProfRecord] {
        &mut self.records
    }

    /// All allocation sites, record by record.
    pub fn alloc_sites(&self) -> impl Iterator<Item = &AllocSite> {
        self.records.iter().flat_map(|record| &record.alloc_sites)
    }

    /// Returns true if there are neither records nor accesses to static data.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.data_access.is_none()
    }
}

/// Returns the id of a function: the low 64 bits of the MD5 of its canonical name.
pub fn guid(name: &[u8]) -> u64 {
    let digest = md5::compute(canonical_name(name));
    u64::from_le_bytes(*digest.first_chunk().expect("an MD5 digest has 16 bytes"))
}

/// Returns a function's name without suffixes of optimizations: `.llvm.` and `.part.` with a number.
pub(crate) fn canonical_name(name: &[u8]) -> &[u8] {
    [b".llvm.".as_slice(), b".part."].into_iter().fold(name, |name, suffix| {
        let last = name.windows(suffix.len()).rposition(|part| part == suffix);
        match last {
            Some(at) if !name[at + suffix.len()..].contains(&b'.') => &name[..at],
            _ => name,
        }
    })
}

// Accesses to static data, in LLVM 21 and later.

/// A piece of static data.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum DataSymbol {
    /// A variable, by name.
    Name(#[cfg_attr(feature = "serde", serde(with = "crate::model::serialize::name"))] Vec<u8>),
    /// A string literal, by the hash of its content.
    StringHash(u64),
}

/// The declaration of data.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SourceLocation {
    /// The file, as in the debug info.
    #[cfg_attr(feature = "serde", serde(with = "crate::model::serialize::name"))]
    pub file: Vec<u8>,
    /// The line, from 1.
    pub line: u32,
}

/// The accesses to one piece of data.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DataAccessRecord {
    /// The data.
    pub symbol: DataSymbol,
    /// Sampled accesses.
    pub access_count: u64,
    /// Its declarations.
    pub locations: Vec<SourceLocation>,
}

/// Accesses to static data, and data without accesses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DataAccessProfile {
    /// Accessed data, in order of first mention.
    pub records: Vec<DataAccessRecord>,
    /// Variables that are known to be cold, in order of first mention.
    #[cfg_attr(feature = "serde", serde(with = "crate::model::serialize::names"))]
    pub cold_symbols: Vec<Vec<u8>>,
    /// Hashes of string literals that are known to be cold, in order of first
    /// mention.
    pub cold_string_hashes: Vec<u64>,
}

impl DataAccessProfile {
    /// Returns the number of cold variables and string literals.
    pub(crate) fn cold_len(&self) -> usize {
        self.cold_symbols.len() + self.cold_string_hashes.len()
    }

    /// Returns true if the profile is empty.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.cold_len() == 0
    }
}

/// Returns a variable's name without suffixes of optimizations: without all text from the first dot, or from the first
/// dot after `.__uniq.` and its number.
pub(crate) fn canonical_symbol(name: &[u8]) -> &[u8] {
    const UNIQUE: &[u8] = b".__uniq.";
    let unique = name.windows(UNIQUE.len()).position(|part| part == UNIQUE);
    let start = unique.map_or(0, |at| at + UNIQUE.len());
    match name[start..].iter().position(|byte| *byte == b'.') {
        Some(at) if start + at != 0 => &name[..start + at],
        _ => name,
    }
}

// Frames and call stacks, each stored once.

/// A frame of a call stack: a position in a function, relative to its first line, so that it does not change with the
/// code above the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Frame {
    /// The function: the low 64 bits of the MD5 of its name ([`guid`](crate::memprof::guid)).
    pub function: u64,
    /// Lines from the declaration of the function; wraps around.
    pub line_offset: u32,
    /// Column, from 1.
    pub column: u32,
    /// Whether the function is inlined into the function of the next frame.
    pub is_inline: bool,
}

/// Handle of a frame in its [`CallStacks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameHandle(u32);

impl FrameHandle {
    /// Returns the index among all frames.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the frame at an index, which must be below the number of frames.
    pub(super) fn from_index(at: u32) -> Self {
        Self(at)
    }
}

/// Handle of a call stack in its [`CallStacks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackHandle(u32);

impl StackHandle {
    /// Returns the index among all call stacks.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// All frames and call stacks of a profile, in order of first mention.
#[derive(Debug, Clone, Default)]
pub struct CallStacks {
    frames: Vec<Frame>,
    frame_index: HashTable<u32>,
    /// The frames of all stacks, leaf first.
    elements: Vec<FrameHandle>,
    /// The end of each stack in `elements`.
    ends: Vec<usize>,
    stack_index: HashTable<u32>,
    // The contents come from files, so the seed is random.
    hasher: foldhash::fast::RandomState,
}

impl CallStacks {
    /// Creates an empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the handle of a frame. Adds it if it is new.
    pub fn intern_frame(&mut self, frame: Frame) -> FrameHandle {
        let Self { frames, frame_index, hasher, .. } = self;
        let hash = hasher.hash_one(frame);
        let same = |at: &u32| frames[*at as usize] == frame;
        if let Some(at) = frame_index.find(hash, same) {
            return FrameHandle(*at);
        }
        let at = handle(frames.len());
        frame_index.insert_unique(hash, at, |at| hasher.hash_one(frames[*at as usize]));
        frames.push(frame);
        FrameHandle(at)
    }

    /// Returns the handle of a call stack, leaf first. Adds it if it is new.
    pub fn intern(&mut self, stack: &[FrameHandle]) -> StackHandle {
        let Self { elements, ends, stack_index, hasher, .. } = self;
        let hash = hasher.hash_one(stack);
        if let Some(at) = stack_index.find(hash, |at| slice(elements, ends, *at) == stack) {
            return StackHandle(*at);
        }
        let at = handle(ends.len());
        elements.extend_from_slice(stack);
        ends.push(elements.len());
        stack_index.insert_unique(hash, at, |at| hasher.hash_one(slice(elements, ends, *at)));
        StackHandle(at)
    }

    /// Returns a frame.
    pub fn frame(&self, handle: FrameHandle) -> Frame {
        self.frames[handle.index()]
    }

    /// Returns the frames of a call stack, leaf first.
    pub fn stack(&self, handle: StackHandle) -> &[FrameHandle] {
        slice(&self.elements, &self.ends, handle.0)
    }

    /// Returns the frames of a call stack, leaf first.
    pub fn frames_of(&self, handle: StackHandle) -> impl ExactSizeIterator<Item = Frame> + DoubleEndedIterator {
        self.stack(handle).iter().map(|frame| self.frame(*frame))
    }

    /// Returns all frames, in order of first mention.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Returns all call stacks, in order of first mention.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[FrameHandle]> {
        (0..handle(self.ends.len())).map(|at| slice(&self.elements, &self.ends, at))
    }

    /// Returns the number of call stacks.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no call stacks.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds the contents of another table, in its order. Returns the new handles of its stacks.
    pub(super) fn absorb(&mut self, other: &Self) -> Vec<StackHandle> {
        let frames = other.frames.iter().map(|frame| self.intern_frame(*frame));
        let frames: Vec<FrameHandle> = frames.collect();
        let mut stack = Vec::new();
        let absorb = |theirs: &[FrameHandle]| {
            stack.clear();
            stack.extend(theirs.iter().map(|frame| frames[frame.index()]));
            self.intern(&stack)
        };
        other.iter().map(absorb).collect()
    }
}

fn slice<'a>(elements: &'a [FrameHandle], ends: &[usize], at: u32) -> &'a [FrameHandle] {
    let at = at as usize;
    let start = if at == 0 { 0 } else { ends[at - 1] };
    &elements[start..ends[at]]
}

/// Inputs have at most 16 GiB, and a frame takes 17 bytes and a stack at least 4.
fn handle(len: usize) -> u32 {
    u32::try_from(len).expect("an input has fewer than 2^32 frames and stacks")
}

/// Returns the error for a call stack with too many frames.
pub(crate) fn too_deep(found: u64, limits: &Limits) -> Error {
    let limit = limits.context_depth.into();
    Error::above_limit(Some("context-depth"), "frames of a call stack", found, limit)
}

/// Returns the error for call stacks with too many frames in total.
pub(crate) fn too_many_frames(found: u64, limit: u64) -> Error {
    let name = Some("inflated-bytes");
    Error::from(ErrorKind::LimitExceeded { name, what: "frames of all call stacks", found, limit })
        .with_hint(Hint::AllowFrames)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optimization_suffixes_are_not_part_of_a_name() {
        for (name, canonical) in [
            ("main", "main"),
            ("f.llvm.123", "f"),
            ("f.part.0", "f"),
            ("f.part.0.llvm.123", "f"),
            ("f.llvm.1.cold", "f.llvm.1.cold"),
            ("f.__uniq.7.llvm.1", "f.__uniq.7"),
        ] {
            assert_eq!(canonical_name(name.as_bytes()), canonical.as_bytes(), "{name}");
        }
        assert_eq!(guid(b"main.llvm.4"), 0xdb95_6436_e78d_d5fa);
    }

    #[test]
    fn records_stay_in_order_of_first_mention() {
        let mut profile = MemoryProfile::default();
        for function in [7, 3, 7] {
            profile.record_mut(function);
        }
        assert!(profile.records().iter().map(|record| record.function).eq([7, 3]));
        assert!(profile.record(3).is_some() && profile.record(4).is_none());
    }

    #[test]
    fn symbols_end_at_their_first_dot_unless_it_makes_them_unique() {
        for (name, canonical) in [
            ("table", "table"),
            (".table", ".table"),
            ("table.llvm.7", "table"),
            ("table.__uniq.42", "table.__uniq.42"),
            ("table.__uniq.42.llvm.7", "table.__uniq.42"),
        ] {
            assert_eq!(canonical_symbol(name.as_bytes()), canonical.as_bytes(), "{name}");
        }
    }

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
        let handles = ours.absorb(&theirs);
        assert_eq!(handles.iter().map(|handle| handle.index()).collect::<Vec<_>>(), [1, 0]);
        assert!(ours.frames().iter().map(|frame| frame.function).eq([2, 1]));
    }
}
