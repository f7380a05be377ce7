//! Fallible allocation, and memory in large pages.
//!
//! The system clears and maps every page when it is first touched. For pages of 4 KiB this takes longer than filling
//! them, and random access to much memory is faster in few large pages.

use crate::error::{Error, ErrorKind, Result};
use crate::system;
use memmap2::MmapMut;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::io::ErrorKind::OutOfMemory;
use std::io::{self, Write};
use std::ops::Deref;
use std::sync::Arc;

/// The size in bytes that justifies large pages.
pub(crate) const LARGE: usize = 4 << 20;

/// Allocates zeroed memory, in large pages if the system has them.
pub(crate) fn large_pages(len: usize) -> Option<MmapMut> {
    let memory = MmapMut::map_anon(len).ok()?;
    system::prefer_large_pages(&memory);
    Some(memory)
}

/// Allocates zeroed memory of which untouched parts take no space.
pub(crate) fn small_pages(len: usize) -> Option<MmapMut> {
    MmapMut::map_anon(len).ok()
}

/// Pages and the number of used bytes. They contain a file.
#[derive(Debug)]
pub(crate) struct Pages {
    memory: MmapMut,
    len: usize,
}

impl Pages {
    /// Takes the first `len` bytes of `memory`.
    pub(crate) fn new(memory: MmapMut, len: usize) -> Self {
        Self { len: len.min(memory.len()), memory }
    }

    /// Returns the whole memory for reuse.
    pub(crate) fn into_memory(self) -> MmapMut {
        self.memory
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[..self.len]
    }
}

/// The bytes of an input, of which callers can keep parts instead of copying them.
#[derive(Debug, Clone)]
pub(crate) enum SharedBytes {
    /// A large file.
    Pages(Arc<Pages>),
    /// The content of a pipe, a compressed or a small file.
    Heap(Arc<Vec<u8>>),
}

impl Deref for SharedBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Pages(pages) => pages,
            Self::Heap(bytes) => bytes,
        }
    }
}

impl SharedBytes {
    /// Returns the bytes to change them, if they are not shared.
    pub(crate) fn get_mut(&mut self) -> Option<&mut [u8]> {
        match self {
            Self::Pages(pages) => Arc::get_mut(pages).map(|pages| &mut pages.memory[..pages.len]),
            Self::Heap(bytes) => Arc::get_mut(bytes).map(Vec::as_mut_slice),
        }
    }

    /// Returns the position of `words` in these bytes, counted in numbers, if it is a slice of them and not only equal
    /// numbers.
    #[inline]
    pub(crate) fn start_of(&self, words: &[u64]) -> Option<usize> {
        let bytes = words.as_ptr().addr().checked_sub(self.as_ptr().addr())?;
        let start = bytes / size_of::<u64>();
        let piece = self.words().get(start..start.checked_add(words.len())?)?;
        std::ptr::eq(piece, words).then_some(start)
    }

    /// Returns the position of `part` in these bytes, if it is a slice of them and not only equal bytes.
    #[inline]
    pub(crate) fn start_of_bytes(&self, part: &[u8]) -> Option<usize> {
        let start = part.as_ptr().addr().checked_sub(self.as_ptr().addr())?;
        let piece = self.get(start..start.checked_add(part.len())?)?;
        std::ptr::eq(piece, part).then_some(start)
    }

    /// Returns the bytes as native numbers, without an incomplete one at the end; nothing if they are not aligned.
    #[inline]
    pub(crate) fn words(&self) -> &[u64] {
        let bytes: &[u8] = self;
        let len = bytes.len() / size_of::<u64>() * size_of::<u64>();
        bytemuck::try_cast_slice(&bytes[..len]).unwrap_or_default()
    }
}

/// A collection for many items that can reserve memory before it grows. Growing without a reservation ends the process
/// if memory is refused.
pub(crate) trait TryReserve {
    /// Reserves memory for the given number of additional items. Returns true on success.
    fn try_reserve_more(&mut self, more: usize) -> bool;
}

impl<T> TryReserve for Vec<T> {
    #[inline]
    fn try_reserve_more(&mut self, more: usize) -> bool {
        self.try_reserve(more).is_ok()
    }
}

impl TryReserve for String {
    #[inline]
    fn try_reserve_more(&mut self, more: usize) -> bool {
        self.try_reserve(more).is_ok()
    }
}

impl<T> TryReserve for VecDeque<T> {
    #[inline]
    fn try_reserve_more(&mut self, more: usize) -> bool {
        self.try_reserve(more).is_ok()
    }
}

impl<K: Eq + Hash, V, S: BuildHasher> TryReserve for hashbrown::HashMap<K, V, S> {
    #[inline]
    fn try_reserve_more(&mut self, more: usize) -> bool {
        self.try_reserve(more).is_ok()
    }
}

impl<K: Eq + Hash, V, S: BuildHasher> TryReserve for HashMap<K, V, S> {
    #[inline]
    fn try_reserve_more(&mut self, more: usize) -> bool {
        self.try_reserve(more).is_ok()
    }
}

impl<T: Eq + Hash, S: BuildHasher> TryReserve for HashSet<T, S> {
    #[inline]
    fn try_reserve_more(&mut self, more: usize) -> bool {
        self.try_reserve(more).is_ok()
    }
}

/// Reserves memory for more items.
///
/// # Errors
///
/// Out of memory, as an I/O error of `action`.
#[inline]
pub(crate) fn reserve(list: &mut impl TryReserve, more: usize, action: &'static str) -> Result<()> {
    if list.try_reserve_more(more) { Ok(()) } else { Err(refused(action)) }
}

/// Adds an item to a list.
///
/// # Errors
///
/// The errors of [`reserve`].
#[inline]
pub(crate) fn push<T>(list: &mut Vec<T>, item: T, action: &'static str) -> Result<()> {
    reserve(list, 1, action)?;
    list.push(item);
    Ok(())
}

/// Adds copies of items to a list.
///
/// # Errors
///
/// The errors of [`reserve`].
#[inline]
pub(crate) fn extend<T: Clone>(list: &mut Vec<T>, items: &[T], action: &'static str) -> Result<()> {
    reserve(list, items.len(), action)?;
    list.extend_from_slice(items);
    Ok(())
}

/// Collects all items of an iterator.
///
/// # Errors
///
/// The errors of [`reserve`].
pub(crate) fn collect<T>(items: impl IntoIterator<Item = T>, action: &'static str) -> Result<Vec<T>> {
    let items = items.into_iter();
    let mut list = Vec::new();
    reserve(&mut list, items.size_hint().0, action)?;
    for item in items {
        push(&mut list, item, action)?;
    }
    Ok(list)
}

/// Copies all items.
///
/// # Errors
///
/// The errors of [`reserve`].
pub(crate) fn copied<T: Clone>(items: &[T], action: &'static str) -> Result<Vec<T>> {
    let mut list = Vec::new();
    extend(&mut list, items, action)?;
    Ok(list)
}

/// Returns the `len` bytes of a file that `write` writes.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub(crate) fn written(len: u64, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reserve(&mut bytes, usize::try_from(len).unwrap_or(usize::MAX), HOLD_OUTPUT)?;
    write(&mut bytes).map_err(|error| Error::io(HOLD_OUTPUT, error))?;
    Ok(bytes)
}

/// Returns the error for refused memory.
pub(crate) fn refused(action: &'static str) -> Error {
    Error::io(action, OutOfMemory.into())
}

/// Returns true if an error reports refused memory.
pub(crate) fn is_refusal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io { source, .. } if source.kind() == OutOfMemory)
}

/// Converts an error of reading to the end: refused memory, or the result of `otherwise`.
pub(crate) fn refused_or(error: io::Error, action: &'static str, otherwise: impl FnOnce(io::Error) -> Error) -> Error {
    if error.kind() == OutOfMemory { Error::io(action, error) } else { otherwise(error) }
}

/// Copies a possibly large number of bytes; `None` if memory is refused.
pub(crate) fn copy_of(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).ok()?;
    copy.extend_from_slice(bytes);
    Some(copy)
}

/// The failed action if a record does not fit in memory.
pub(crate) const HOLD_COUNTERS: &str = "cannot hold the counters of a record";
/// The failed action if an input does not fit in memory.
pub(crate) const HOLD_INPUT: &str = "cannot hold the input";
/// The failed action if the sums of all records do not fit in memory.
pub(crate) const HOLD_SUMS: &str = "cannot hold the counters of all functions";
/// The failed action if an output that must be complete before writing does not fit in memory.
pub(crate) const HOLD_OUTPUT: &str = "cannot hold the file to be written";
/// The failed action if decompressed data does not fit in memory.
pub(crate) const HOLD_INFLATED: &str = "cannot hold inflated data";

/// The failed action if names and their properties do not fit in memory.
pub(crate) const HOLD_NAMES: &str = "cannot hold the names";
/// The failed action if sampled stacks do not fit in memory.
pub(crate) const HOLD_STACKS: &str = "cannot hold the stacks";
/// The failed action if the records of a profile do not fit in memory.
pub(crate) const HOLD_RECORDS: &str = "cannot hold the records";

/// A buffer for written bytes. Refused memory is an error.
#[derive(Debug, Default)]
pub(crate) struct Buffer(pub(crate) Vec<u8>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_reserve(bytes.len()).map_err(|_| OutOfMemory)?;
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Zeroed memory for numbers, which never moves.
#[derive(Debug)]
pub(crate) enum Words {
    Heap(Box<[u64]>),
    Pages(MmapMut),
}

impl Words {
    /// Allocates zeroed memory for numbers; `None` if it is large and memory is refused.
    pub(crate) fn zeros(len: usize) -> Option<Self> {
        let bytes = len.checked_mul(size_of::<u64>()).filter(|bytes| *bytes >= LARGE);
        if let Some(pages) = bytes.and_then(large_pages) {
            return Some(Self::Pages(pages));
        }
        let mut words = Vec::new();
        words.try_reserve_exact(len).ok()?;
        words.resize(len, 0);
        Some(Self::Heap(words.into_boxed_slice()))
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[u64] {
        match self {
            Self::Heap(words) => words,
            // Pages are aligned for every number type.
            Self::Pages(pages) => bytemuck::cast_slice(pages),
        }
    }

    #[inline]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u64] {
        match self {
            Self::Heap(words) => words,
            Self::Pages(pages) => bytemuck::cast_slice_mut(pages),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_is_is_refused() {
        for len in [usize::MAX, usize::MAX / 8, usize::MAX / 16, 1 << 52] {
            assert!(Words::zeros(len).is_none(), "{len}");
        }
    }

    #[test]
    fn a_buffer_accepts_bytes_that_fit() {
        let mut buffer = Buffer::default();
        buffer.write_all(b"some").unwrap();
        buffer.write_all(b" more").unwrap();
        assert_eq!((buffer.0, copy_of(b"some")), (b"some more".to_vec(), Some(b"some".to_vec())));
    }

    #[test]
    fn numbers_are_kept_in_either_kind_of_memory() {
        for len in [0, 1, 1000, LARGE / 8 - 1, LARGE / 8, LARGE / 8 + 513] {
            let mut words = Words::zeros(len).unwrap();
            assert_eq!(words.as_slice().len(), len);
            assert!(words.as_slice().iter().all(|word| *word == 0));
            assert_eq!(matches!(words, Words::Pages(_)), len * 8 >= LARGE);
            if let Some(last) = words.as_mut_slice().last_mut() {
                *last = u64::MAX;
                assert_eq!(words.as_slice()[len - 1], u64::MAX);
            }
        }
    }
}
