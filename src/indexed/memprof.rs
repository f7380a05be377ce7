//! The memory profile inside an indexed file: carried to another place, or
//! written empty.
//!
//! Offsets in the section count from the start of the file. When it moves,
//! those of its header and of the bucket indexes of its hash tables move along;
//! nothing else holds offsets.

use crate::bytes::{Cursor, Endian, Sink};
use crate::error::{Error, ErrorKind, Result};
use crate::instr::{MemProfSection, Release};

/// What a header word of the section is.
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
pub(super) fn section_version(first_word: u64) -> Option<usize> {
    match first_word {
        24.. => Some(0),
        1..=4 => Some(first_word as usize),
        _ => None,
    }
}

/// Appends a section that stood elsewhere for byte `start` of a file, its
/// offsets adjusted.
pub(super) fn write_moved(sink: &mut Sink, section: &MemProfSection, start: u64) -> Result<()> {
    let delta = start.wrapping_sub(section.offset);
    let mut bytes = section.bytes.clone();
    let mut cursor = Cursor::new(&section.bytes, section.offset, Endian::Little, "memprof");
    let first = cursor.clone().u64("first word")?;
    let words = section_version(first).and_then(|version| HEADERS.get(version)).ok_or_else(|| {
        let detail = "memory profile versions 0 to 4 are known".to_string();
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

/// Moves the bucket offsets of a hash table whose index stood at `offset`.
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

    /// A section of that version at `offset`: the header, then one hash table
    /// of two buckets after which all offsets that are no table point.
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
            "section memprof, byte 0x258: version 5 is not supported: memory profile versions 0 to 4 are known"
        );
    }
}
