//! The on-disk hash table: a lookup reads one bucket, a walk reads all entries through a
//! window of the payload.
//!
//! Most entries have one record with counters only. A quick path recognises them with few
//! branches and uses their counters in place.

use super::layout::{FileBytes, ITEM_HEADER};
use super::records::{RECORD_HEADER, Records, end_of_plain, length, plain_record, word};
use crate::bytes::window::Window;
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, Result};
use crate::model::{Counters, FunctionRecord, NameRef, RecordRef, RecordView, name_ref};
use byteorder::{ByteOrder, LittleEndian};
use std::ops::Range;

/// The position of the table in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table<'data> {
    /// The buckets' items, where they are in memory.
    pub(super) payload: &'data [u8],
    /// Absolute offset of the payload.
    pub(super) payload_offset: u64,
    /// Bucket offsets and all that follows, after the two counts.
    index: &'data [u8],
    /// Absolute offset of the index.
    pub(super) index_offset: u64,
    buckets: u64,
    entries: u64,
    version: u32,
}

/// One name of an indexed profile.
#[derive(Debug, Clone)]
pub struct Entry<'data> {
    /// PGO name.
    pub name: &'data [u8],
    /// The name's hash as the file says it.
    pub name_ref: NameRef,
    /// Its records.
    pub records: Records<'data>,
}

impl Entry<'_> {
    /// The position of the entry in the file, valid until one of its records is decoded.
    pub(crate) fn place(&self) -> u64 {
        self.records.position() - (self.name.len() + ITEM_HEADER) as u64
    }
}

impl<'data> Table<'data> {
    /// Finds payload and index; `index_offset` is the header's, the payload
    /// begins at `payload_offset`.
    ///
    /// # Errors
    ///
    /// Truncated when the index begins outside the file, malformed when it
    /// begins before the payload.
    pub(super) fn locate(file: FileBytes<'data>, payload_offset: u64, index_offset: u64, version: u32) -> Result<Self> {
        let place = |error: Error| error.at("hash table index", index_offset);
        let index = file.from(index_offset).filter(|index| index.len() >= 16);
        let index = index
            .ok_or_else(|| place(Error::truncated("hash table index", 16, file.len().saturating_sub(index_offset))))?;
        if index_offset < payload_offset {
            let detail = format!("the index begins before the payload, which is at {payload_offset:#x}");
            return Err(place(Error::malformed(detail)));
        }
        let mut cursor = Cursor::new(index, index_offset, Endian::Little, "hash table index");
        let buckets = cursor.u64("number of buckets")?;
        let entries = cursor.u64("number of entries")?;
        let payload = file.payload(payload_offset, index_offset);
        Ok(Self { payload, payload_offset, index: cursor.rest(), index_offset, buckets, entries, version })
    }

    /// Number of names.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// Returns the offset of the first byte after the index, if the index is valid.
    ///
    /// # Errors
    ///
    /// Malformed if the number of buckets is not a power of two, or its offsets exceed the file.
    pub(super) fn check_index(&self) -> Result<u64> {
        let place = |error: Error| error.at("hash table index", self.index_offset);
        if !self.buckets.is_power_of_two() {
            let detail = format!("{} buckets, which is not a power of two", self.buckets);
            return Err(place(Error::malformed(detail)));
        }
        let have = self.index.len() as u64 / 8;
        if self.buckets > have {
            let detail = format!("{} buckets, but the file has only {have} offsets", self.buckets);
            return Err(place(Error::malformed(detail)));
        }
        Ok(self.index_offset + 16 + self.buckets * 8)
    }

    /// Offsets of all buckets, as far as the file goes; 0 for an empty one.
    pub(super) fn bucket_offsets(&self) -> impl ExactSizeIterator<Item = u64> + use<'data> {
        let (offsets, _) = self.index.as_chunks::<8>();
        let count = usize::try_from(self.buckets).unwrap_or(usize::MAX).min(offsets.len());
        offsets[..count].iter().map(|bytes| LittleEndian::read_u64(bytes))
    }

    /// The item of that name, if it is there; reads its bucket only.
    pub(super) fn find(&self, name: &[u8]) -> Result<Option<Entry<'data>>> {
        self.check_index()?;
        let hash = name_ref(name);
        let bucket = hash & (self.buckets - 1);
        let (offsets, _) = self.index.as_chunks::<8>();
        let offset = LittleEndian::read_u64(&offsets[bucket as usize]);
        if offset == 0 {
            return Ok(None);
        }
        let start = offset.checked_sub(self.payload_offset).filter(|start| *start < self.payload.len() as u64);
        let Some(start) = start else {
            let detail = format!("bucket {bucket} is at {offset:#x}, outside the payload");
            return Err(Error::malformed(detail).at("hash table index", self.index_offset + 16 + bucket * 8));
        };
        let bytes = &self.payload[start as usize..];
        let mut cursor = Cursor::new(bytes, offset, Endian::Little, "hash table");
        for _ in 0..cursor.u16("items of the bucket").map_err(as_malformed)? {
            let item = Item::read(&mut cursor)?;
            if item.name_ref == hash && item.name == name {
                return item.entry(self.version).map(Some);
            }
        }
        Ok(None)
    }

    /// The records of the item that begins at that place of the file, which were checked before.
    pub(super) fn records_at(&self, place: u64) -> Result<Records<'data>> {
        let item = self.item_at(place)?;
        Ok(Records::unchecked(item.data, item.data_offset, self.version))
    }

    /// The only record of the item that begins at that place of the file, if it has only counters.
    pub(super) fn plain_record_at(&self, place: u64) -> Option<RecordView<'data>> {
        let (func_hash, counters) = plain_record(self.item_at(place).ok()?.data, end_of_plain(self.version)?)?;
        Some(RecordView::of_counters(func_hash, Counters::stored(counters)))
    }

    /// The item that begins at that place of the file.
    pub(super) fn item_at(&self, place: u64) -> Result<Item<'data>> {
        let start = place.checked_sub(self.payload_offset).and_then(|start| usize::try_from(start).ok());
        let bytes = start.and_then(|start| self.payload.get(start..)).unwrap_or_default();
        let mut cursor = Cursor::new(bytes, place, Endian::Little, "hash table");
        Item::read(&mut cursor)
    }

    /// All items in payload order.
    pub(super) fn walk(&self) -> Walk<'data> {
        let cursor = Cursor::new(self.payload, self.payload_offset, Endian::Little, "hash table");
        Walk { cursor, progress: self.start(), version: self.version }
    }

    /// Before the first item.
    pub(super) fn start(&self) -> Progress {
        Progress { left: self.entries, in_bucket: 0 }
    }
}

/// Names and data in payload order; ends after the number of entries that the
/// index says, or after the first error.
#[derive(Debug, Clone)]
pub struct Walk<'data> {
    cursor: Cursor<'data>,
    progress: Progress,
    version: u32,
}

impl<'data> Iterator for Walk<'data> {
    type Item = Result<Entry<'data>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.progress.next_entry(&mut self.cursor, self.version)
    }
}

/// How far a walk is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    /// Entries that follow.
    left: u64,
    /// The entries left in the current bucket.
    in_bucket: u16,
}

impl Progress {
    /// The entry at the cursor.
    pub(super) fn next_entry<'data>(
        &mut self,
        cursor: &mut Cursor<'data>,
        version: u32,
    ) -> Option<Result<Entry<'data>>> {
        self.left = self.left.checked_sub(1)?;
        let entry = self.next_item(cursor).and_then(|item| item.entry(version));
        if entry.is_err() {
            self.left = 0;
        }
        Some(entry)
    }

    /// Returns the position of the next entry in `bytes`, and the progress after it; `None` at the end, or if the next
    /// bucket is missing.
    #[inline]
    pub(super) fn quick_step(self, bytes: &[u8]) -> Option<(usize, Self)> {
        let left = self.left.checked_sub(1)?;
        let (start, in_bucket) = match self.in_bucket {
            0 => (2, LittleEndian::read_u16(bytes.first_chunk::<2>()?)),
            in_bucket => (0, in_bucket),
        };
        Some((start, Self { left, in_bucket: in_bucket.checked_sub(1)? }))
    }

    fn next_item<'data>(&mut self, cursor: &mut Cursor<'data>) -> Result<Item<'data>> {
        while self.in_bucket == 0 {
            self.in_bucket = cursor.u16("items of the bucket").map_err(as_malformed)?;
        }
        self.in_bucket -= 1;
        Item::read(cursor)
    }
}

/// A key and its data, as stored.
pub(super) struct Item<'data> {
    pub(super) name_ref: NameRef,
    pub(super) name: &'data [u8],
    data: &'data [u8],
    data_offset: u64,
}

impl<'data> Item<'data> {
    pub(super) fn read(cursor: &mut Cursor<'data>) -> Result<Self> {
        let start = cursor.position();
        let mut header = || -> Result<_> {
            let words = [cursor.u64("key hash")?, cursor.u64("key length")?, cursor.u64("data length")?];
            let name = cursor.take("name", words[1])?;
            let data_offset = cursor.position();
            let data = cursor.take("function records", words[2])?;
            Ok(Self { name_ref: words[0], name, data, data_offset })
        };
        debug_assert_eq!(ITEM_HEADER, 3 * size_of::<u64>());
        header().map_err(|error| as_malformed(error).at("hash table", start))
    }

    fn entry(self, version: u32) -> Result<Entry<'data>> {
        let records = Records::read(self.data, self.data_offset, version)?;
        Ok(Entry { name: self.name, name_ref: self.name_ref, records })
    }
}

/// Items are bounded by the index that follows them, so an item that does not
/// fit contradicts the index rather than being cut off.
fn as_malformed(error: Error) -> Error {
    let offset = error.offset().unwrap_or_default();
    let detail = match error.kind() {
        crate::error::ErrorKind::Truncated { field, need, have } => {
            format!("{field} needs {need} bytes, {have} left before the hash table index")
        }
        other => other.to_string(),
    };
    Error::malformed(detail).with_llvm_detail("profile data is empty").at("hash table", offset)
}

/// Goes from entry to entry, in the order of the payload.
#[derive(Debug)]
pub(super) struct Entries<'data> {
    window: Window<'data>,
    progress: Progress,
    version: u32,
    name_ref: NameRef,
    /// The range of the current entry's name in the view.
    name: Range<usize>,
    /// Where its records are that were not decoded.
    records: Range<usize>,
    /// The words after the counters of a record that has only counters.
    plain_end: Option<&'static [u8]>,
    /// FuncHash of such a record.
    func_hash: u64,
    /// Where the counters of the last record are in view.
    counters: Range<usize>,
}

impl<'data> Entries<'data> {
    /// Before the first entry of a table, whose payload is in the window.
    pub(super) fn new(window: Window<'data>, table: &Table<'_>, version: u32) -> Self {
        let plain_end = end_of_plain(version);
        let (progress, name, records, counters) = (table.start(), 0..0, 0..0, 0..0);
        Self { window, progress, version, name_ref: 0, name, records, plain_end, func_hash: 0, counters }
    }

    /// Before the first entry once more.
    pub(super) fn again(&self, table: &Table<'_>) -> Self {
        Self::new(self.window.again(table.payload_offset), table, self.version)
    }

    /// Goes to the next entry if it has one record with counters alone and all of it is in view; it is
    /// [`plain`](Self::plain) then.
    #[inline]
    pub(super) fn advance_plain(&mut self) -> bool {
        let Some(end) = self.plain_end.filter(|_| self.records.is_empty()) else { return false };
        let bytes = self.window.bytes();
        let Some((start, progress)) = self.progress.quick_step(bytes) else { return false };
        let Some(plain) = PlainEntry::find(&bytes[start..], end) else { return false };
        let at = self.window.passed() + start;
        self.window.pass(start + plain.len);
        self.progress = progress;
        self.name_ref = plain.name_ref;
        self.name = at + plain.name.start..at + plain.name.end;
        self.func_hash = plain.func_hash;
        self.counters = at + plain.counters.start..at + plain.counters.end;
        true
    }

    /// Returns the only record of the current entry.
    #[inline]
    pub(super) fn plain(&self) -> RecordRef<'_> {
        let record = RecordView::of_counters(self.func_hash, self.counters());
        RecordRef { name: self.name(), name_ref: Some(self.name_ref), text: None, record }
    }

    /// Goes to the next entry, which is checked from end to end; `false` at the end.
    ///
    /// # Errors
    ///
    /// Malformed for a damaged entry, the last one then; I/O where the window cannot move.
    pub(super) fn advance(&mut self) -> Result<bool> {
        loop {
            let mut progress = self.progress;
            let offset = self.window.base() + self.window.passed() as u64;
            let mut cursor = Cursor::new(self.window.bytes(), offset, Endian::Little, "hash table");
            let Some(entry) = progress.next_entry(&mut cursor, self.version) else { return Ok(false) };
            let end = self.window.view().len() - cursor.rest().len();
            match entry.map(|entry| (entry.name_ref, entry.name.len(), entry.records.bytes_left())) {
                Ok((name_ref, name_len, records_len)) => {
                    self.records = end - records_len..end;
                    self.name = self.records.start - name_len..self.records.start;
                    (self.name_ref, self.progress) = (name_ref, progress);
                    self.window.pass(end - self.window.passed());
                    return Ok(true);
                }
                // What does not fit the view may fit a longer one.
                Err(_) if self.window.more()? => {}
                Err(error) => {
                    self.progress = progress;
                    return Err(error);
                }
            }
        }
    }

    /// Decodes the next record of the current entry, but for its [`counters`](Self::counters); `false` after the last
    /// one.
    ///
    /// # Errors
    ///
    /// I/O where memory does not hold the record.
    pub(super) fn next_record(&mut self, record: &mut FunctionRecord) -> Result<bool> {
        let Range { start, end } = self.records;
        let offset = self.window.base() + start as u64;
        let data = &self.window.view()[start..end];
        let mut records = Records::unchecked(data, offset, self.version);
        let Some(counters) = records.next_around_counters(record)? else { return Ok(false) };
        let before = counters.as_ptr().addr() - data.as_ptr().addr();
        self.counters = start + before..start + before + size_of_val(counters);
        self.records.start = end - records.bytes_left();
        Ok(true)
    }

    /// Returns the counters of the last record.
    #[inline]
    pub(super) fn counters(&self) -> Counters<'_> {
        Counters::stored(self.window.view()[self.counters.clone()].as_chunks().0)
    }

    /// Returns the name of the current entry.
    pub(super) fn name(&self) -> &[u8] {
        &self.window.view()[self.name.clone()]
    }

    /// Its hash as the file says it.
    pub(super) fn name_ref(&self) -> NameRef {
        self.name_ref
    }
}

/// An entry whose one record has counters and nothing else. Its ranges are within the bytes that it begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PlainEntry {
    pub(super) name_ref: NameRef,
    pub(super) name: Range<usize>,
    pub(super) func_hash: u64,
    /// At least one of 8 bytes.
    pub(super) counters: Range<usize>,
    /// Bytes of the entry.
    pub(super) len: usize,
}

impl PlainEntry {
    /// Returns the entry at the beginning of `bytes`, if it is complete and has only counters; `end` is that of
    /// [`end_of_plain`] for the version.
    #[inline]
    pub(super) fn find(bytes: &[u8], end: &[u8]) -> Option<Self> {
        let (header, rest) = bytes.split_first_chunk::<ITEM_HEADER>()?;
        let (name, rest) = rest.split_at_checked(length(word(header, 8))?)?;
        let data = rest.get(..length(word(header, 16))?)?;
        let (func_hash, counters) = plain_record(data, end)?;
        let data_at = ITEM_HEADER + name.len();
        let counters_at = data_at + RECORD_HEADER;
        Some(Self {
            name_ref: word(header, 0),
            name: ITEM_HEADER..data_at,
            func_hash,
            counters: counters_at..counters_at + size_of_val(counters),
            len: data_at + data.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::indexed::lookup::*;

    /// An entry field by field: one record of two counters.
    fn entry(end: &[u8]) -> Vec<u8> {
        let data: Vec<u8> =
            [7u64, 2, 30, 40].iter().flat_map(|word| word.to_le_bytes()).chain(end.iter().copied()).collect();
        let header = [9u64, 3, data.len() as u64];
        header.iter().flat_map(|word| word.to_le_bytes()).chain(*b"foo").chain(data).collect()
    }

    #[test]
    fn counters_alone_are_plain_in_every_version_that_numbers_them() {
        assert_eq!(end_of_plain(1), None);
        for (version, after) in [(2, 0), (3, 8), (10, 8), (11, 16), (13, 16), (14, 24)] {
            let end = end_of_plain(version).unwrap();
            assert_eq!(end.len(), after, "version {version}");
            let bytes = entry(end);
            let found = PlainEntry::find(&[&bytes[..], b"more"].concat(), end).unwrap();
            let expected = PlainEntry { name_ref: 9, name: 24..27, func_hash: 7, counters: 43..59, len: bytes.len() };
            assert_eq!(found, expected);
            for len in 0..bytes.len() {
                assert_eq!(PlainEntry::find(&bytes[..len], end), None, "{len} bytes");
            }
        }
    }

    #[test]
    fn records_with_values_are_not_plain() {
        let end = end_of_plain(13).unwrap();
        let valid = entry(end);
        // Number of counters, of bytes of a bitmap, of kinds, and lengths beyond all that is there.
        for (at, value) in
            [(35, 0), (35, 1), (35, 3), (59, 1), (67, 16), (71, 1), (8, 2), (15, 255), (23, 255), (42, 255)]
        {
            let mut bytes = valid.clone();
            bytes[at] = value;
            assert_eq!(PlainEntry::find(&bytes, end), None, "byte {at} is {value}");
        }
        let mut none = entry(end);
        none.drain(43..59);
        (none[16], none[35]) = (32, 0);
        assert_eq!(PlainEntry::find(&none, end), None, "a record without counters");
    }
}
