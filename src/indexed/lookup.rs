//! The on-disk hash table: one bucket for a lookup, all items for a walk.

use super::file::FileBytes;
use super::layout::ITEM_HEADER;
use super::records::Records;
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, Result};
use crate::model::{NameRef, name_ref};

/// Where the table stands in the file.
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
    /// Where the entry stands in the file, as long as none of its records was decoded.
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

    /// Absolute offset of the first byte after the index, if that is sound.
    ///
    /// # Errors
    ///
    /// Malformed when the number of buckets is no power of two or its offsets
    /// do not fit the file.
    pub(super) fn check_index(&self) -> Result<u64> {
        let place = |error: Error| error.at("hash table index", self.index_offset);
        if !self.buckets.is_power_of_two() {
            let detail = format!("{} buckets, which is not a power of two", self.buckets);
            return Err(place(Error::malformed(detail)));
        }
        let have = self.index.len() as u64 / 8;
        if self.buckets > have {
            let detail = format!("{} buckets, the file has room for {have} offsets", self.buckets);
            return Err(place(Error::malformed(detail)));
        }
        Ok(self.index_offset + 16 + self.buckets * 8)
    }

    /// Offsets of all buckets, as far as the file goes; 0 for an empty one.
    pub(super) fn bucket_offsets(&self) -> impl ExactSizeIterator<Item = u64> + use<'data> {
        let (offsets, _) = self.index.as_chunks::<8>();
        let count = usize::try_from(self.buckets).unwrap_or(usize::MAX).min(offsets.len());
        offsets[..count].iter().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// The item of that name, if it is there; reads its bucket only.
    pub(super) fn find(&self, name: &[u8]) -> Result<Option<Entry<'data>>> {
        self.check_index()?;
        let hash = name_ref(name);
        let bucket = hash & (self.buckets - 1);
        let (offsets, _) = self.index.as_chunks::<8>();
        let offset = u64::from_le_bytes(offsets[bucket as usize]);
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
    /// Of them those in the bucket at hand.
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

    /// Where the entry begins in `bytes` that is next, and the progress behind it; `None` at the end, and where the
    /// next bucket is not there.
    #[inline]
    pub(super) fn quick_step(self, bytes: &[u8]) -> Option<(usize, Self)> {
        let left = self.left.checked_sub(1)?;
        let (start, in_bucket) = match self.in_bucket {
            0 => (2, u16::from_le_bytes(*bytes.first_chunk()?)),
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
