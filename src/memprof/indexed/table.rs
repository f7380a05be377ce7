//! The hash tables of the section: items by a number, and an index behind.

use crate::bytes::sink::Buckets;
use crate::bytes::{Cursor, Endian, Sink};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{self, HOLD_OUTPUT};
use std::collections::BTreeMap;

/// What stands before the bytes of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemHeader {
    /// The hash, the length of the key, that of the data, and the key.
    WithKeyLength,
    /// The hash, the length of the data, and the key.
    WithoutKeyLength,
}

/// Appends a table of items with these keys, which are their hashes as well,
/// and returns where its index is. `write_item` appends the bytes of one.
pub(super) fn write_table(
    sink: &mut Sink,
    keys: &[u64],
    header: ItemHeader,
    mut write_item: impl FnMut(&mut Sink, usize),
) -> Result<u64> {
    let buckets = Buckets::fill(keys, true);
    let mut offsets = Vec::new();
    memory::reserve(&mut offsets, buckets.len(), HOLD_OUTPUT)?;
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

/// Walks a table of a section whose bytes begin at `base` of the file.
pub(super) struct Table<'data> {
    cursor: Cursor<'data>,
    header: ItemHeader,
    entries: u64,
    /// Where buckets should begin, by the index: offset and number.
    starts: BTreeMap<u64, u64>,
    buckets: u64,
}

impl<'data> Table<'data> {
    /// The table with that payload and index, both absolute offsets.
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
            let detail = format!("a table has {buckets} buckets, which is no power of two");
            return Err(Error::malformed(detail).at("memprof", index));
        }
        let offsets = at_index.take("bucket offsets", buckets.saturating_mul(8))?;
        let offsets = offsets.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).zip(0u64..);
        let starts: BTreeMap<u64, u64> = offsets.filter(|(offset, _)| *offset != 0).collect();
        let cursor = part(section, base, payload, index, "table")?;
        Ok(Self { cursor, header, entries, starts, buckets })
    }

    /// Hands all items to `take`, in the order of the file.
    pub(super) fn walk(mut self, mut take: impl FnMut(u64, Cursor<'data>) -> Result<()>) -> Result<()> {
        let mut left_in_bucket = 0;
        let mut bucket = 0;
        for _ in 0..self.entries {
            while left_in_bucket == 0 {
                let start = self.cursor.position();
                bucket = match self.starts.remove(&start) {
                    Some(bucket) => bucket,
                    None => {
                        return Err(Error::malformed("no bucket of the table's index begins here").at("memprof", start));
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
            let detail = format!("the table has more items than the {} that its index says", self.entries);
            return Err(self.cursor.place(Error::malformed(detail)));
        }
        Ok(())
    }
}

/// The bytes of a section from `start` to `end`, both absolute offsets.
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
