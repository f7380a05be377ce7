//! A growing byte buffer with places that are filled in later.
//!
//! Which bucket of the on-disk hash table each name goes to, and in what order.
//!
//! LLVM fills a chained table that doubles as it grows and puts every item at
//! the front of its chain; each doubling turns the chains around
//! (`OnDiskChainedHashTableGenerator` in `OnDiskHashTable.h`).

use super::Endian;
use crate::error::Result;
use crate::memory::{self, HOLD_OUTPUT};
use std::alloc::{Layout, handle_alloc_error};

/// Collects output bytes; offsets that are known late are reserved and patched.
///
/// What is written after memory was refused is dropped: see [`finish`](Self::finish).
#[derive(Debug, Clone, Default)]
pub struct Sink {
    bytes: Vec<u8>,
    endian: Endian,
    /// Memory was refused, and some bytes are not there.
    is_out_of_memory: bool,
}

/// A reserved 64-bit word of a [`Sink`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place(usize);

impl Sink {
    /// An empty sink in the given byte order.
    pub fn new(endian: Endian) -> Self {
        Self::onto(Vec::new(), endian)
    }

    /// An empty sink with room for `bytes`.
    pub fn with_capacity(endian: Endian, bytes: usize) -> Self {
        let mut sink = Self::new(endian);
        sink.has_room(bytes);
        sink
    }

    /// A sink that appends to `bytes`.
    pub fn onto(bytes: Vec<u8>, endian: Endian) -> Self {
        Self { bytes, endian, is_out_of_memory: false }
    }

    /// Bytes written so far, which is the offset of the next one.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Makes room for so many more bytes; `false` where there is none.
    #[inline]
    fn has_room(&mut self, more: usize) -> bool {
        self.bytes.capacity() - self.bytes.len() >= more || self.grow(more)
    }

    #[cold]
    fn grow(&mut self, more: usize) -> bool {
        self.is_out_of_memory |= self.bytes.try_reserve(more).is_err();
        !self.is_out_of_memory
    }

    /// Says that something to be appended did not fit the memory: the bytes are of no use.
    pub(crate) fn lack_memory(&mut self) {
        self.is_out_of_memory = true;
    }

    /// Appends bytes.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        if self.has_room(bytes.len()) {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Appends one byte.
    #[inline]
    pub fn u8(&mut self, value: u8) {
        if self.has_room(1) {
            self.bytes.push(value);
        }
    }

    /// Appends a 16-bit number.
    #[inline]
    pub fn u16(&mut self, value: u16) {
        self.bytes(&self.endian.u16_bytes(value));
    }

    /// Appends a 32-bit number.
    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.bytes(&self.endian.u32_bytes(value));
    }

    /// Appends a 64-bit number.
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.bytes(&self.endian.u64_bytes(value));
    }

    /// Appends 64-bit numbers.
    pub fn u64s(&mut self, values: &[u64]) {
        if !self.has_room(size_of_val(values)) {
            return;
        }
        let start = self.bytes.len();
        self.bytes.resize(start + values.len() * 8, 0);
        let (words, _) = self.bytes[start..].as_chunks_mut::<8>();
        // Two loops without a choice inside are quick.
        match self.endian {
            Endian::Little => words.iter_mut().zip(values).for_each(|(word, value)| *word = value.to_le_bytes()),
            Endian::Big => words.iter_mut().zip(values).for_each(|(word, value)| *word = value.to_be_bytes()),
        }
    }

    /// Appends zeros.
    pub fn zeros(&mut self, count: usize) {
        if self.has_room(count) {
            self.bytes.resize(self.bytes.len() + count, 0);
        }
    }

    /// Appends zeros until the length is a multiple of `align`.
    pub fn align(&mut self, align: usize) {
        self.zeros(self.bytes.len().next_multiple_of(align) - self.bytes.len());
    }

    /// Reserves a 64-bit word to be filled in later; it is 0 until then.
    pub fn reserve(&mut self) -> Place {
        let place = Place(self.bytes.len());
        self.u64(0);
        place
    }

    /// Fills in a reserved word.
    pub fn patch(&mut self, place: Place, value: u64) {
        let bytes = self.endian.u64_bytes(value);
        self.overwrite(place.0, &bytes);
    }

    /// Replaces bytes written before, from byte `at` on.
    ///
    /// # Panics
    ///
    /// When they would go beyond what was written.
    pub fn overwrite(&mut self, at: usize, bytes: &[u8]) {
        if !self.is_out_of_memory {
            self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        }
    }

    /// Whether memory was refused, so that bytes are missing.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.is_out_of_memory
    }

    /// What was written so far. Where memory was refused, the process ends.
    pub fn as_slice(&self) -> &[u8] {
        if self.is_out_of_memory {
            end();
        }
        &self.bytes
    }

    /// The finished bytes. Where memory was refused, the process ends, as it does
    /// for the small things that this is for.
    pub fn into_bytes(self) -> Vec<u8> {
        if self.is_out_of_memory {
            end();
        }
        self.bytes
    }

    /// The finished bytes, of which there may be very many.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error, where that was refused before.
    pub fn finish(self) -> Result<Vec<u8>> {
        if self.is_out_of_memory { Err(memory::refused(HOLD_OUTPUT)) } else { Ok(self.bytes) }
    }
}

#[cold]
fn end() -> ! {
    handle_alloc_error(Layout::new::<u64>())
}

const NONE: u32 = u32::MAX;

/// Chains of items, as indexes in order of insertion.
pub(crate) struct Buckets {
    heads: Vec<u32>,
    next: Vec<u32>,
}

impl Buckets {
    /// Fills the table with items of these key hashes, in this order. A table
    /// that `shrinks` ends with as many buckets as it needs, else with 64 at
    /// least.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(crate) fn fill(hashes: &[u64], shrinks: bool) -> Result<Self> {
        let mut table = Self { heads: vec![NONE; 64], next: memory::filled(NONE, hashes.len(), HOLD_OUTPUT)? };
        for at in 0..hashes.len() {
            if 4 * (at + 1) >= 3 * table.heads.len() {
                table.resize(table.heads.len() * 2, hashes)?;
            }
            table.push_front(at as u32, hashes);
        }
        let target = match hashes.len() {
            0..=2 => 1,
            entries => (entries * 4 / 3 + 1).next_power_of_two(),
        };
        if shrinks && target != table.heads.len() {
            table.resize(target, hashes)?;
        }
        Ok(table)
    }

    fn push_front(&mut self, item: u32, hashes: &[u64]) {
        let mask = self.heads.len() - 1;
        let head = &mut self.heads[hashes[item as usize] as usize & mask];
        self.next[item as usize] = std::mem::replace(head, item);
    }

    fn resize(&mut self, len: usize, hashes: &[u64]) -> Result<()> {
        let heads = memory::filled(NONE, len, HOLD_OUTPUT)?;
        let old = std::mem::replace(&mut self.heads, heads);
        for head in old {
            let mut item = head;
            while item != NONE {
                let following = self.next[item as usize];
                self.push_front(item, hashes);
                item = following;
            }
        }
        Ok(())
    }

    /// Number of buckets, a power of two.
    pub(crate) fn len(&self) -> usize {
        self.heads.len()
    }

    /// The items of a bucket, front to back.
    pub(crate) fn items(&self, bucket: usize) -> impl Iterator<Item = u32> + Clone {
        let item = |item: u32| (item != NONE).then_some(item);
        std::iter::successors(item(self.heads[bucket]), move |at| item(self.next[*at as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserved_word_is_patched_in_place() {
        let mut sink = Sink::new(Endian::Little);
        sink.u8(7);
        let place = sink.reserve();
        sink.align(4);
        sink.patch(place, 0x0102);
        assert_eq!(sink.into_bytes(), [7, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn more_than_memory_holds_is_an_error() {
        let mut sink = Sink::new(Endian::Little);
        let place = sink.reserve();
        assert!(!sink.has_room(usize::MAX / 2));
        sink.u64s(&[1, 2]);
        sink.bytes(b"dropped");
        sink.align(8);
        sink.patch(place, 5);
        let error = sink.finish().unwrap_err().to_string();
        assert!(error.starts_with("cannot hold the file to be written: out of memory"), "{error}");
    }
}

#[cfg(test)]
mod hash_table_tests {
    use crate::bytes::sink::*;

    #[test]
    fn sizes_follow_the_number_of_items() {
        for (items, buckets) in
            [(0, 1), (2, 1), (3, 8), (5, 8), (6, 16), (11, 16), (12, 32), (23, 32), (24, 64), (47, 64), (48, 128)]
        {
            let hashes: Vec<u64> = (0..items).collect();
            assert_eq!(Buckets::fill(&hashes, true).unwrap().len(), buckets, "{items} items");
        }
    }

    #[test]
    fn every_doubling_turns_the_chains_around() {
        // All in bucket 0; 48 items make the table double once, before the last.
        let hashes = vec![0; 48];
        let table = Buckets::fill(&hashes, true).unwrap();
        let first: Vec<u32> = table.items(0).collect();
        assert!(first.into_iter().eq(std::iter::once(47).chain(0..47)));
    }
}
