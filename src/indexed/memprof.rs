//! The memory profile inside an indexed file: carried to another place, or
//! written empty.
//!
//! Offsets in the section count from the start of the file. When it moves,
//! those of its header and of the bucket indexes of its hash tables move along;
//! nothing else holds offsets.

use crate::bytes::{Cursor, Endian, Sink};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{MemProfSection, Release};

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

/// Appends a section that stood elsewhere, its offsets adjusted.
pub(super) fn write_moved(sink: &mut Sink, section: &MemProfSection) -> Result<()> {
    let delta = (sink.len() as u64).wrapping_sub(section.offset);
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
/// inputs and drops what they held.
pub(super) fn write_empty(sink: &mut Sink, release: Release) {
    let start = sink.len() as u64;
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
