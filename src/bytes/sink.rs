//! A growing byte buffer with words that are set later, and the order of LLVM's on-disk
//! hash table.
//!
//! LLVM fills a chained table that doubles as it grows and inserts every item at the front of
//! its chain. Each doubling reverses the chains (`OnDiskChainedHashTableGenerator` in
//! `OnDiskHashTable.h`).

use super::Endian;

/// Collects output bytes; offsets that are known late are reserved and patched.
#[derive(Debug, Clone, Default)]
pub struct Sink {
    bytes: Vec<u8>,
    endian: Endian,
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
        Self::onto(Vec::with_capacity(bytes), endian)
    }

    /// A sink that appends to `bytes`.
    pub(crate) fn onto(bytes: Vec<u8>, endian: Endian) -> Self {
        Self { bytes, endian }
    }

    /// Bytes written so far, which is the offset of the next one.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns true if nothing was written.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends bytes.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends one byte.
    #[inline]
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Appends the first `len` bytes of a word. Appending the word and cutting it is faster than copying a few bytes.
    #[inline]
    pub(crate) fn start_of_word(&mut self, word: [u8; 8], len: usize) {
        let end = self.bytes.len() + len;
        self.bytes.extend_from_slice(&word);
        self.bytes.truncate(end);
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
        let start = self.bytes.len();
        self.bytes.resize(start + values.len() * 8, 0);
        self.endian.write_words(values, &mut self.bytes[start..]);
    }

    /// Appends zeros.
    pub fn zeros(&mut self, count: usize) {
        self.bytes.resize(self.bytes.len() + count, 0);
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
    /// If the bytes end after the last written byte.
    pub fn overwrite(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Returns the bytes written so far.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the finished bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

const NONE: u32 = u32::MAX;

/// Chains of items, as indexes in order of insertion.
pub(crate) struct Buckets {
    heads: Vec<u32>,
    next: Vec<u32>,
}

impl Buckets {
    /// Fills the table with items of these key hashes, in this order. A table
    /// that `shrinks` ends with as many buckets as it needs, otherwise with 64 at
    /// least.
    pub(crate) fn fill(hashes: &[u64], shrinks: bool) -> Self {
        let mut table = Self { heads: vec![NONE; 64], next: vec![NONE; hashes.len()] };
        for at in 0..hashes.len() {
            if 4 * (at + 1) >= 3 * table.heads.len() {
                table.resize(table.heads.len() * 2, hashes);
            }
            table.push_front(at as u32, hashes);
        }
        let target = match hashes.len() {
            0..=2 => 1,
            entries => (entries * 4 / 3 + 1).next_power_of_two(),
        };
        if shrinks && target != table.heads.len() {
            table.resize(target, hashes);
        }
        table
    }

    fn push_front(&mut self, item: u32, hashes: &[u64]) {
        let mask = self.heads.len() - 1;
        let head = &mut self.heads[hashes[item as usize] as usize & mask];
        self.next[item as usize] = std::mem::replace(head, item);
    }

    fn resize(&mut self, len: usize, hashes: &[u64]) {
        let heads = vec![NONE; len];
        let old = std::mem::replace(&mut self.heads, heads);
        for head in old {
            let mut item = head;
            while item != NONE {
                let following = self.next[item as usize];
                self.push_front(item, hashes);
                item = following;
            }
        }
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
            assert_eq!(Buckets::fill(&hashes, true).len(), buckets, "{items} items");
        }
    }

    #[test]
    fn every_doubling_turns_the_chains_around() {
        // All in bucket 0; 48 items make the table double once, before the last.
        let hashes = vec![0; 48];
        let table = Buckets::fill(&hashes, true);
        let first: Vec<u32> = table.items(0).collect();
        assert!(first.into_iter().eq(std::iter::once(47).chain(0..47)));
    }
}
