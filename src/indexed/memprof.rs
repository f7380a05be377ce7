//! The memory profile in an indexed file: checked like LLVM does, moved to another
//! position, or written empty.
//!
//! Offsets in the section count from the start of the file. If the section moves, the offsets
//! in its header and in the bucket indexes of its hash tables change; it has no others.

use super::layout::FileBytes;
use crate::bytes::names::Chunks;
use crate::bytes::{Cursor, Endian, Sink};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::memory::{self, HOLD_OUTPUT};
use crate::model::{MemProfSection, Release};

/// The meaning of a header word of the section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    /// The section's own version.
    Version,
    /// An offset that moves.
    Offset,
    /// The offset of a hash table's bucket index: moves, and so do the offsets in it.
    TableIndex,
    /// An offset that moves unless it is 0.
    OptionalOffset,
}

/// Header words by version of the section.
const HEADERS: [&[Word]; 5] = {
    use Word::{Offset, OptionalOffset, TableIndex, Version};
    [
        &[TableIndex, Offset, TableIndex],
        &[Version, TableIndex, Offset, TableIndex],
        &[Version, TableIndex, Offset, TableIndex, Offset, TableIndex],
        &[Version, Offset, Offset, TableIndex],
        &[Version, Offset, Offset, TableIndex, OptionalOffset],
    ]
};

/// The version of a section by its first word, which in version 0 is an offset.
pub(crate) fn section_version(first_word: u64) -> Option<usize> {
    match first_word {
        24.. => Some(0),
        1..=4 => Some(first_word as usize),
        _ => None,
    }
}

/// The first version with a summary between header and schema, and with
/// accesses to static data.
const SUMMARY_SINCE: usize = 4;
/// The number of fields of LLVM 22, which also accepts the id 0.
const FIELDS: u64 = 28;

/// Checks a section as far as llvm-profdata 22 does whenever it opens a file: the version, the schema, and the names of
/// static data. The section begins at byte `offset` of the file, and may reach into the next one.
///
/// The header of versions 0 and 1, which llvm-profdata 22 does not read, is checked too, unless they are rejected
/// (`newest_only`).
///
/// # Errors
///
/// Unsupported version; malformed for a schema that LLVM rejects; the errors of names; truncated if LLVM reads beyond
/// its buffer.
pub(super) fn check_as_llvm(file: FileBytes<'_>, offset: u64, newest_only: bool, limits: &Limits) -> Result<()> {
    let section = file.from(offset).ok_or_else(|| Error::truncated("memory profile", 8, 0).at("memprof", offset))?;
    let mut cursor = Cursor::new(section, offset, Endian::Little, "memprof");
    let found = cursor.clone().u64("first word")?;
    let refused = || {
        let detail = "supported versions of memory profiles are 0 to 4".to_string();
        let kind = ErrorKind::UnsupportedVersion { found, detail };
        let llvm = format!("MemProf version {found} not supported; requires version between 2 and 4, inclusive");
        Error::from(kind).at("memprof", offset).with_llvm_detail(llvm)
    };
    match section_version(found) {
        Some(version @ 0..=1) if !newest_only => check_header(&mut cursor, version).map(|_| ()).map_err(|_| refused()),
        Some(version @ 2..) => {
            let data_access = check_header(&mut cursor, version)?;
            data_access.map_or(Ok(()), |start| check_data_names(file, start, limits))
        }
        _ => Err(refused()),
    }
}

/// Reads header, summary and schema; returns where accesses to static data
/// begin, if there are some.
fn check_header(cursor: &mut Cursor<'_>, version: usize) -> Result<Option<u64>> {
    let (mut index, mut data_access) = (0, 0);
    for word in HEADERS[version] {
        let value = cursor.u64("header word")?;
        match word {
            Word::TableIndex => index = value,
            Word::OptionalOffset => data_access = value,
            Word::Version | Word::Offset => {}
        }
    }
    if version >= SUMMARY_SINCE {
        let count = cursor.u32("fields of the summary")?;
        cursor.take("summary", u64::from(count) * 8)?;
    }
    let place = cursor.position();
    let invalid =
        |detail: String| Error::malformed(detail).at("memprof", place).with_llvm_detail("memprof schema invalid");
    let count = cursor.u64("fields of the schema")?;
    if count > FIELDS {
        return Err(invalid(format!("the schema has {count} fields, expected at most {FIELDS}")));
    }
    for _ in 0..count {
        let id = cursor.u64("field of the schema")?;
        if id >= FIELDS {
            return Err(invalid(format!("the schema has the unknown field {id}")));
        }
    }
    Ok((data_access > index).then_some(data_access))
}

/// Inflates the names of static data.
fn check_data_names(file: FileBytes<'_>, start: u64, limits: &Limits) -> Result<()> {
    let part = file.from(start).ok_or_else(|| Error::truncated("data access profile", 24, 0).at("memprof", start))?;
    let mut cursor = Cursor::new(part, start, Endian::Little, "memprof");
    cursor.u64("number of strings")?;
    cursor.u64("number of cold symbols")?;
    let len = cursor.u64("bytes of strings")?;
    let offset = cursor.position();
    let mut chunks = Chunks::new(cursor.take("strings", len)?, offset, *limits);
    while let Some(chunk) = chunks.next_chunk()? {
        chunk.text()?;
    }
    Ok(())
}

/// Appends a section from another position at byte `start` of a file, its
/// offsets adjusted.
pub(super) fn write_moved(sink: &mut Sink, section: &MemProfSection, start: u64) -> Result<()> {
    let delta = start.wrapping_sub(section.offset);
    let mut bytes = memory::copied(&section.bytes, HOLD_OUTPUT)?;
    let mut cursor = Cursor::new(&section.bytes, section.offset, Endian::Little, "memprof");
    let first = cursor.clone().u64("first word")?;
    let words = section_version(first).and_then(|version| HEADERS.get(version)).ok_or_else(|| {
        let detail = "supported versions of memory profiles are 0 to 4".to_string();
        cursor.place(Error::new(ErrorKind::UnsupportedVersion { found: first, detail }))
    })?;
    for (index, word) in words.iter().enumerate() {
        let offset = cursor.u64("header word")?;
        match word {
            Word::Version => continue,
            Word::OptionalOffset if offset == 0 => continue,
            Word::TableIndex => move_index(section, offset, delta, &mut bytes)?,
            Word::Offset | Word::OptionalOffset => {}
        }
        put(&mut bytes, index * 8, offset.wrapping_add(delta));
    }
    sink.bytes(&bytes);
    Ok(())
}

/// Moves the bucket offsets of a hash table whose index was at `offset`.
fn move_index(section: &MemProfSection, offset: u64, delta: u64, bytes: &mut [u8]) -> Result<()> {
    let outside = || {
        let detail = format!("a table index at {offset:#x} lies outside the section");
        Error::malformed(detail).at("memprof", section.offset)
    };
    let start = offset.checked_sub(section.offset).and_then(|at| usize::try_from(at).ok()).ok_or_else(outside)?;
    let index = section.bytes.get(start..).ok_or_else(outside)?;
    let mut cursor = Cursor::new(index, offset, Endian::Little, "memprof");
    let buckets = cursor.u64("number of buckets")?;
    cursor.u64("number of entries")?;
    if buckets > cursor.left() / 8 {
        return Err(cursor.place(Error::truncated("bucket offsets", buckets.saturating_mul(8), cursor.left())));
    }
    for bucket in 0..buckets as usize {
        let place = cursor.u64("bucket offset")?;
        if place != 0 {
            put(bytes, start + 16 + bucket * 8, place.wrapping_add(delta));
        }
    }
    Ok(())
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// The section that LLVM's merge writes: it keeps the variant bit of indexed
/// inputs and drops what they held. It is for byte `start` of a file.
pub(super) fn write_empty(sink: &mut Sink, release: Release, start: u64) {
    let fields: u64 = match release.0 {
        0..=15 => 19,
        16..=18 => 25,
        _ => 27,
    };
    if release >= Release(20) {
        let table = start + 72;
        sink.u64s(&[3, table, table, table]);
        sink.u64s(&[4, 1, 5, 10, 23]);
        sink.u64s(&EMPTY_TABLE);
        return;
    }
    let table = start + 32 + 8 * fields;
    sink.u64s(&[table, table + 24, table + 24, fields]);
    (1..=fields).for_each(|field| sink.u64(field));
    sink.u64s(&EMPTY_TABLE);
    sink.u64s(&EMPTY_TABLE);
}

/// One bucket, no entries, and that bucket empty.
const EMPTY_TABLE: [u64; 3] = [1, 0, 0];

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a section of a version at `offset`: the header, then one hash table with two buckets. All other offsets
    /// point after it.
    fn section(version: usize, offset: u64) -> MemProfSection {
        let words = HEADERS[version];
        let table = offset + 8 * words.len() as u64;
        let mut sink = Sink::new(Endian::Little);
        for word in words {
            sink.u64(match word {
                Word::Version => version as u64,
                Word::TableIndex => table,
                Word::Offset => table + 32,
                Word::OptionalOffset => 0,
            });
        }
        sink.u64s(&[2, 1, 0, table + 40, 77]);
        MemProfSection { bytes: sink.into_bytes(), offset, indexed_version: 13 }
    }

    fn moved(section: &MemProfSection, to: usize) -> Result<MemProfSection> {
        let mut sink = Sink::new(Endian::Little);
        write_moved(&mut sink, section, to as u64)?;
        Ok(MemProfSection { bytes: sink.into_bytes(), offset: to as u64, indexed_version: 13 })
    }

    #[test]
    fn every_offset_moves_and_nothing_else() {
        for version in 0..5 {
            assert_eq!(
                moved(&section(version, 600), 96).unwrap().bytes,
                section(version, 96).bytes,
                "version {version}"
            );
        }
    }

    #[test]
    fn two_tables_in_one_place_move_once_each() {
        // Versions 0 to 2 have several tables; an index that two words name
        // moves the same way for both.
        let there = moved(&section(2, 600), 5000).unwrap();
        assert_eq!(moved(&there, 600).unwrap(), section(2, 600));
    }

    #[test]
    fn an_index_outside_the_section_is_malformed() {
        let mut damaged = section(3, 600);
        damaged.offset = 100_000;
        let error = moved(&damaged, 0).unwrap_err();
        assert!(error.to_string().contains("a table index at 0x278 lies outside the section"), "{error}");
    }

    #[test]
    fn more_buckets_than_bytes_are_truncated() {
        let mut damaged = section(3, 600);
        put(&mut damaged.bytes, 32, u64::MAX / 4);
        assert!(moved(&damaged, 0).unwrap_err().to_string().contains("truncated: bucket offsets needs"));
    }

    #[test]
    fn an_unknown_version_is_named() {
        let mut unknown = section(4, 600);
        put(&mut unknown.bytes, 0, 5);
        let error = moved(&unknown, 0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "section memprof, byte 0x258: version 5 is not supported: supported versions of memory profiles are 0 to 4"
        );
    }
}
