//! Entries as most are, one record with counters alone: found with few decisions, and used where they stand.

use super::layout::{ITEM_HEADER, since};
use crate::model::NameRef;
use std::ops::Range;

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

/// FuncHash and number of counters.
const RECORD_HEADER: usize = 16;

/// What stands behind the counters of a record that has nothing else; `None` where the number of counters is not
/// in the file.
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

impl PlainEntry {
    /// The entry at the beginning of `bytes`, if it is such and all of it is there; `end` is that of
    /// [`end_of_plain`] for the version.
    #[inline]
    pub(super) fn find(bytes: &[u8], end: &[u8]) -> Option<Self> {
        let (header, rest) = bytes.split_first_chunk::<ITEM_HEADER>()?;
        let (name, rest) = rest.split_at_checked(length(word(header, 8))?)?;
        let data = rest.get(..length(word(header, 16))?)?;
        let (record, rest) = data.split_first_chunk::<RECORD_HEADER>()?;
        let (counters, rest) = rest.split_at_checked(length(word(record, 8))?.checked_mul(8)?)?;
        if rest != end || counters.is_empty() {
            return None;
        }
        let data_at = ITEM_HEADER + name.len();
        let counters_at = data_at + RECORD_HEADER;
        Some(Self {
            name_ref: word(header, 0),
            name: ITEM_HEADER..data_at,
            func_hash: word(record, 0),
            counters: counters_at..counters_at + counters.len(),
            len: data_at + data.len(),
        })
    }
}

#[inline]
fn word<const LEN: usize>(bytes: &[u8; LEN], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[inline]
fn length(word: u64) -> Option<usize> {
    usize::try_from(word).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
