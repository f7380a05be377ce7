//! Entries of the hash table: decoding and encoding a name and its records.

use super::layout::{Dialect, since};
use crate::bytes::{Cursor, Endian, Sink};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{self, HOLD_COUNTERS};
use crate::model::hash_order::number_map_order;
use crate::model::record::MAX_VALUES_PER_SITE;
use crate::model::{FunctionRecord, FunctionView, RecordView, Release, ValueCount, ValueKind, ValueSites};
use byteorder::{ByteOrder, LittleEndian};
use std::iter::FusedIterator;

/// LLVM's message for a name whose data it cannot decode.
const LLVM_DETAIL: &str = "profile data is empty";

/// The records of one name, checked from end to end; each is decoded when it is asked for.
#[derive(Debug, Clone)]
pub struct Records<'data> {
    rest: Cursor<'data>,
    version: u32,
    len: usize,
    has_value_sites: bool,
    is_irregular: bool,
}

impl<'data> Records<'data> {
    /// Checks `data`, which begins at byte `offset` of the file.
    ///
    /// # Errors
    ///
    /// Malformed when the data is not a whole number of records. LLVM then
    /// takes none of the name's records either.
    pub(super) fn read(data: &'data [u8], offset: u64, version: u32) -> Result<Self> {
        let mut records = Self::unchecked(data, offset, version);
        if data.is_empty() || !data.len().is_multiple_of(8) {
            let detail = format!("a name has {} bytes of records, which is not a multiple of 8 above 0", data.len());
            return Err(records.rest.place(malformed(detail)));
        }
        let mut walk = records.clone();
        while !walk.rest.is_empty() {
            let skipped = walk.skip_record()?;
            records.has_value_sites |= skipped.has_value_sites;
            records.is_irregular |= skipped.is_irregular;
            records.len += 1;
        }
        Ok(records)
    }

    /// Of data that was checked before: all that can be done is to decode the records.
    pub(super) fn unchecked(data: &'data [u8], offset: u64, version: u32) -> Self {
        let rest = Cursor::new(data, offset, Endian::Little, "function records");
        Self { rest, version, len: 0, has_value_sites: false, is_irregular: false }
    }

    /// Number of records of the name, those that were decoded included.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the name has no records.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether some record of the name has value sites.
    pub fn has_value_sites(&self) -> bool {
        self.has_value_sites
    }

    /// Whether some record of the name has no counters, or knows which waves of a GPU are uniform.
    pub(crate) fn is_irregular(&self) -> bool {
        self.is_irregular
    }

    /// Returns the FuncHashes of its records, without decoding other data.
    pub(crate) fn func_hashes(&self) -> impl Iterator<Item = u64> + use<'_, 'data> {
        let mut walk = self.clone();
        (0..self.len()).map_while(move |at| {
            if at > 0 {
                walk.skip_record().ok()?;
            }
            walk.rest.clone().u64("FuncHash").ok()
        })
    }

    /// Bytes of the records that were not decoded.
    pub(super) fn bytes_left(&self) -> usize {
        self.rest.rest().len()
    }

    /// Where the next record begins in the file.
    pub(super) fn position(&self) -> u64 {
        self.rest.position()
    }

    /// Decodes the next record into `record`, whose memory is used again; `false` when there is none.
    ///
    /// # Errors
    ///
    /// I/O where memory does not hold the record; the data was checked from end to
    /// end when the entry was found.
    pub(crate) fn next_into(&mut self, record: &mut FunctionRecord) -> Result<bool> {
        let Some(counters) = self.next_around_counters(record)? else { return Ok(false) };
        memory::reserve(&mut record.counters, counters.len(), HOLD_COUNTERS)?;
        record.counters.extend(counters.iter().map(|bytes| LittleEndian::read_u64(bytes)));
        Ok(true)
    }

    /// Like [`next_into`](Self::next_into), but returns the counters instead of copying them.
    pub(super) fn next_around_counters(&mut self, record: &mut FunctionRecord) -> Result<Option<&'data [[u8; 8]]>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        record.clear();
        let parts = self.take_parts()?;
        record.func_hash = parts.func_hash;
        match parts.bitmap {
            BitmapBytes::InWords(words) => {
                record.bitmap.extend(words.iter().map(|word| word[0]));
            }
            BitmapBytes::Packed(bytes) => record.bitmap.extend_from_slice(bytes),
        }
        record.uniformity.bits.extend_from_slice(parts.uniformity_bits);
        if self.version >= since::VALUE_SITES {
            read_value_blob(&mut self.rest, |kind, sites| read_sites(sites, record.sites_mut(kind)))?;
        }
        Ok(Some(parts.counters))
    }

    /// Skips a record.
    fn skip_record(&mut self) -> Result<Skipped> {
        let parts = self.take_parts()?;
        let is_irregular = parts.counters.is_empty() || !parts.uniformity_bits.is_empty();
        let mut has_value_sites = false;
        if self.version >= since::VALUE_SITES {
            read_value_blob(&mut self.rest, |_, sites| {
                has_value_sites |= !sites.counts.is_empty();
                Ok(())
            })?;
        }
        Ok(Skipped { has_value_sites, is_irregular })
    }

    fn take_parts(&mut self) -> Result<Parts<'data>> {
        let cursor = &mut self.rest;
        let func_hash = cursor.u64("FuncHash").map_err(as_empty)?;
        let counters_count = if self.version >= since::RECORD_COUNTS {
            cursor.u64("number of counters").map_err(as_empty)?
        } else {
            cursor.left() / 8
        };
        let counters = take_words(cursor, "counters", counters_count)?;
        let mut bitmap = BitmapBytes::Packed(&[]);
        if self.version >= since::PACKED_BITMAPS {
            bitmap = BitmapBytes::Packed(take_padded(cursor, "number of bitmap bytes", "bitmap bytes")?);
        } else if self.version >= since::BITMAPS {
            let count = cursor.u64("number of bitmap bytes").map_err(as_empty)?;
            bitmap = BitmapBytes::InWords(take_words(cursor, "bitmap bytes", count)?);
        }
        let mut uniformity_bits: &[u8] = &[];
        if self.version >= since::UNIFORMITY {
            uniformity_bits = take_padded(cursor, "number of uniformity bytes", "uniformity bits")?;
        }
        Ok(Parts { func_hash, counters, bitmap, uniformity_bits })
    }
}

/// The records in file order. No item is an error: the data was checked when the name was found.
impl Iterator for Records<'_> {
    type Item = Result<FunctionRecord>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut record = FunctionRecord::default();
        self.next_into(&mut record).map(|found| found.then_some(record)).transpose()
    }
}

impl FusedIterator for Records<'_> {}

/// FuncHash and number of counters.
pub(super) const RECORD_HEADER: usize = 16;

/// Returns the bytes after the counters of a record without other data; `None` if the file does not store the number of
/// counters.
pub(super) fn end_of_plain(version: u32) -> Option<&'static [u8]> {
    // No bytes of a bitmap, no bits of uniformity, and value data of 8 bytes, which are its own size and no kinds.
    const END: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0];
    match version {
        since::UNIFORMITY.. => Some(END),
        since::BITMAPS.. => Some(&END[8..]),
        since::VALUE_SITES.. => Some(&END[16..]),
        since::RECORD_COUNTS.. => Some(&[]),
        _ => None,
    }
}

/// Returns the FuncHash and the counters of the records of a name, if they are one record that has only counters; `end` is
/// that of [`end_of_plain`] for the version.
#[inline]
pub(super) fn plain_record<'data>(data: &'data [u8], end: &[u8]) -> Option<(u64, &'data [[u8; 8]])> {
    let (header, rest) = data.split_first_chunk::<RECORD_HEADER>()?;
    let (counters, rest) = rest.split_at_checked(length(word(header, 8))?.checked_mul(8)?)?;
    (rest == end && !counters.is_empty()).then(|| (word(header, 0), counters.as_chunks().0))
}

#[inline]
pub(super) fn word<const LEN: usize>(bytes: &[u8; LEN], at: usize) -> u64 {
    bytes[at..].first_chunk::<8>().map_or(0, |bytes| LittleEndian::read_u64(bytes))
}

#[inline]
pub(super) fn length(word: u64) -> Option<usize> {
    usize::try_from(word).ok()
}

/// The parts of a skipped record.
struct Skipped {
    has_value_sites: bool,
    is_irregular: bool,
}

/// The parts of a record before its value sites.
struct Parts<'data> {
    func_hash: u64,
    counters: &'data [[u8; 8]],
    bitmap: BitmapBytes<'data>,
    uniformity_bits: &'data [u8],
}

enum BitmapBytes<'data> {
    /// One byte in each word.
    InWords(&'data [[u8; 8]]),
    /// One after the other.
    Packed(&'data [u8]),
}

fn take_words<'data>(cursor: &mut Cursor<'data>, field: &'static str, count: u64) -> Result<&'data [[u8; 8]]> {
    let bytes = cursor.take(field, count.saturating_mul(8)).map_err(as_empty)?;
    Ok(bytes.as_chunks::<8>().0)
}

/// A number of bytes, the bytes, and padding of any content up to a multiple of 8.
fn take_padded<'data>(
    cursor: &mut Cursor<'data>,
    count_field: &'static str,
    field: &'static str,
) -> Result<&'data [u8]> {
    let count = cursor.u64(count_field).map_err(as_empty)?;
    let padded = count.checked_next_multiple_of(8).unwrap_or(u64::MAX);
    let bytes = cursor.take(field, padded).map_err(as_empty)?;
    Ok(&bytes[..count as usize])
}

/// The encoded sites of one kind: how many values each has, and all values.
struct EncodedSites<'data> {
    counts: &'data [u8],
    values: &'data [[u8; 16]],
}

/// Walks a value-profile blob kind by kind.
fn read_value_blob<'data>(
    cursor: &mut Cursor<'data>,
    mut each: impl FnMut(ValueKind, EncodedSites<'data>) -> Result<()>,
) -> Result<()> {
    let start = cursor.position();
    let total = u64::from(cursor.clone().u32("size of value data").map_err(as_empty)?);
    if total < 8 || total % 8 != 0 {
        return Err(
            cursor.place(malformed(format!("value data of {total} bytes, which is not a multiple of 8 above 0")))
        );
    }
    let blob = cursor.take("value data", total).map_err(as_empty)?;
    let mut blob = Cursor::new(blob, start, Endian::Little, "value data");
    blob.u32("size of value data")?;
    let kinds = blob.u32("number of value kinds").map_err(as_empty)?;
    if kinds as usize > ValueKind::COUNT {
        return Err(blob.place(malformed(format!("{kinds} value kinds, expected at most {}", ValueKind::COUNT))));
    }
    for _ in 0..kinds {
        let number = blob.u32("value kind").map_err(as_empty)?;
        let Some(kind) = ValueKind::from_number(number) else {
            return Err(blob.place(malformed(format!("value kind {number}, expected 0 to {}", ValueKind::COUNT - 1))));
        };
        let sites = u64::from(blob.u32("number of value sites").map_err(as_empty)?);
        let counts = blob.take("values per site", sites).map_err(as_empty)?;
        blob.take("padding of value sites", sites.next_multiple_of(8) - sites).map_err(as_empty)?;
        let values: u64 = counts.iter().map(|count| u64::from(*count)).sum();
        let values = blob.take("values", values.saturating_mul(16)).map_err(as_empty)?;
        each(kind, EncodedSites { counts, values: values.as_chunks::<16>().0 })?;
    }
    Ok(())
}

/// Appends the sites; a kind given twice has all of them.
fn read_sites(encoded: EncodedSites<'_>, sites: &mut ValueSites) -> Result<()> {
    let mut values = encoded.values;
    sites.reserve(encoded.counts.len(), values.len());
    for &count in encoded.counts {
        let (site, rest) = values.split_at(usize::from(count));
        values = rest;
        for pair in site {
            let (words, _) = pair.as_chunks::<8>();
            sites.push_value(ValueCount {
                value: LittleEndian::read_u64(&words[0]),
                count: LittleEndian::read_u64(&words[1]),
            });
        }
        sites.end_site();
    }
    Ok(())
}

fn malformed(detail: String) -> Error {
    Error::malformed(detail).with_llvm_detail(LLVM_DETAIL)
}

/// A record that is cut off counts as malformed: the name's data is bounded by
/// the item's own length, not by the end of the file.
fn as_empty(error: Error) -> Error {
    let offset = error.offset().unwrap_or_default();
    let section = error.section().unwrap_or("function records").to_string();
    let detail = match error.kind() {
        ErrorKind::Truncated { field, need, have } => {
            format!("{field} needs {need} bytes, {have} left in the data of this name")
        }
        other => other.to_string(),
    };
    malformed(detail).at(section, offset)
}

/// The records of a function that the version has room for, in file order.
pub(super) fn written_records<'a>(dialect: Dialect, function: FunctionView<'a>) -> Vec<RecordView<'a>> {
    let mut records = records_in_file_order(dialect.release, function);
    if !dialect.has(since::RECORD_COUNTS) {
        records.truncate(1);
    }
    records
}

/// Bytes of all records of a name.
pub(super) fn data_size(dialect: Dialect, function: FunctionView<'_>) -> Result<u64> {
    let mut size = 0;
    if dialect.has(since::RECORD_COUNTS) {
        for record in function.records() {
            size += record_size(dialect, record)?;
        }
    } else if let Some(record) = written_records(dialect, function).first() {
        size = record_size(dialect, *record)?;
    }
    Ok(size)
}

fn record_size(dialect: Dialect, record: RecordView<'_>) -> Result<u64> {
    let mut words = 1 + record.counters.len() as u64;
    words += u64::from(dialect.has(since::RECORD_COUNTS));
    if dialect.has(since::PACKED_BITMAPS) {
        words += 1 + (record.bitmap.len() as u64).div_ceil(8);
    } else if dialect.has(since::BITMAPS) {
        words += 1 + record.bitmap.len() as u64;
    }
    if dialect.has(since::UNIFORMITY) {
        words += 1 + (record.uniformity.bits.len() as u64).div_ceil(8);
    }
    let mut size = words * 8;
    if dialect.has(since::VALUE_SITES) {
        let blob = value_blob_size(record, dialect.value_kinds());
        if blob > u64::from(u32::MAX) {
            return Err(too_large("value sites of a function", blob, u32::MAX.into()));
        }
        size += blob;
    }
    Ok(size)
}

fn value_blob_size(record: RecordView<'_>, kinds: &[ValueKind]) -> u64 {
    if !record.has_value_sites() {
        return 8;
    }
    let of_kind = |sites: &ValueSites| {
        let values: usize = if sites.values_len() <= MAX_VALUES_PER_SITE {
            sites.values_len()
        } else {
            sites.iter().map(|site| site.len().min(MAX_VALUES_PER_SITE)).sum()
        };
        8 + (sites.len() as u64).next_multiple_of(8) + 16 * values as u64
    };
    8 + kinds.iter().map(|kind| record.sites(*kind)).filter(|sites| !sites.is_empty()).map(of_kind).sum::<u64>()
}

/// Appends a record.
pub(super) fn write_record(sink: &mut Sink, dialect: Dialect, record: RecordView<'_>) {
    sink.u64(record.func_hash);
    if dialect.has(since::RECORD_COUNTS) {
        sink.u64(record.counters.len() as u64);
    }
    record.counters.for_each_piece(|counters| sink.u64s(counters));
    if dialect.has(since::PACKED_BITMAPS) {
        write_padded(sink, record.bitmap);
    } else if dialect.has(since::BITMAPS) {
        sink.u64(record.bitmap.len() as u64);
        record.bitmap.iter().for_each(|byte| sink.u64(u64::from(*byte)));
    }
    if dialect.has(since::UNIFORMITY) {
        write_padded(sink, &record.uniformity.bits);
    }
    if dialect.has(since::VALUE_SITES) {
        write_value_blob(sink, record, dialect.value_kinds());
    }
}

/// Appends a number of bytes and the bytes, which end at a multiple of 8.
fn write_padded(sink: &mut Sink, bytes: &[u8]) {
    sink.u64(bytes.len() as u64);
    sink.bytes(bytes);
    sink.zeros(bytes.len().next_multiple_of(8) - bytes.len());
}

fn write_value_blob(sink: &mut Sink, record: RecordView<'_>, kinds: &[ValueKind]) {
    if !record.has_value_sites() {
        sink.u32(8);
        sink.u32(0);
        return;
    }
    sink.u32(value_blob_size(record, kinds) as u32);
    sink.u32(kinds.iter().filter(|kind| !record.sites(**kind).is_empty()).count() as u32);
    for &kind in kinds {
        let sites = record.sites(kind);
        if sites.is_empty() {
            continue;
        }
        sink.u32(kind.number());
        sink.u32(sites.len() as u32);
        let cut = |site: &[_]| site.len().min(MAX_VALUES_PER_SITE);
        sites.iter().for_each(|site| sink.u8(cut(site) as u8));
        sink.zeros(sites.len().next_multiple_of(8) - sites.len());
        for site in sites.iter() {
            site[..cut(site)].iter().for_each(|v| sink.u64s(&[v.value, v.count]));
        }
    }
}

pub(super) fn too_large(field: &'static str, found: u64, limit: u64) -> Error {
    Error::new(ErrorKind::TooLarge { field, found, limit })
}

/// The records of one name in the order of files: that of a map keyed by
/// FuncHash into which they were inserted by first appearance.
fn records_in_file_order(release: Release, function: FunctionView<'_>) -> Vec<RecordView<'_>> {
    let records: Vec<RecordView<'_>> = function.records().collect();
    if records.len() < 2 {
        return records;
    }
    let hashes: Vec<u64> = records.iter().map(|record| record.func_hash).collect();
    number_map_order(release, &hashes).into_iter().map(|index| records[index as usize]).collect()
}
