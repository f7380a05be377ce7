//! The format's numbers: magic, header words, which version has what.

use crate::model::{Release, release};

/// First 8 bytes of every indexed profile: `\xFF lprofi \x81`.
pub const MAGIC: [u8; 8] = *b"\xfflprofi\x81";

/// The newest version; LLVM 23 writes it.
pub const NEWEST_VERSION: u32 = 14;

/// The version that [`Release::DEFAULT`] writes.
pub const DEFAULT_VERSION: u32 = 13;

/// A word of the header, by its place after magic, version, unused and hash type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeaderWord {
    pub(super) name: &'static str,
    pub(super) since: u32,
}

/// Header words after the first three, in order.
pub(super) const HEADER_WORDS: [HeaderWord; 6] = [
    HeaderWord { name: "HashType", since: 1 },
    HeaderWord { name: "HashOffset", since: 1 },
    HeaderWord { name: "MemProfOffset", since: 8 },
    HeaderWord { name: "BinaryIdOffset", since: 9 },
    HeaderWord { name: "TemporalProfTracesOffset", since: 10 },
    HeaderWord { name: "VTableNamesOffset", since: 12 },
];

/// The place of `MemProfOffset` in the file.
pub(crate) const MEMPROF_OFFSET_AT: u64 = 40;

/// Where `HashOffset` stands in the file.
pub(super) const HASH_OFFSET_AT: usize = 32;

/// Bytes of the header: 40 to 72.
pub(super) fn header_size(version: u32) -> usize {
    let fixed = 24;
    fixed + 8 * HEADER_WORDS.iter().filter(|word| word.since <= version).count()
}

/// First versions that have a part.
pub(super) mod since {
    /// Several records of one name, each with its number of counters.
    pub(crate) const RECORD_COUNTS: u32 = 2;
    /// Value sites after the counters.
    pub(crate) const VALUE_SITES: u32 = 3;
    /// The profile summary after the header.
    pub(crate) const SUMMARY: u32 = 4;
    /// The memory profile.
    pub(crate) const MEMPROF: u32 = 8;
    /// Binary ids, always there.
    pub(crate) const BINARY_IDS: u32 = 9;
    /// Temporal traces.
    pub(crate) const TRACES: u32 = 10;
    /// Bitmap bytes in every record.
    pub(crate) const BITMAPS: u32 = 11;
    /// Names of vtables, always there, and value kind 2.
    pub(crate) const VTABLES: u32 = 12;
    /// Bitmap bytes one after the other, instead of one in each word.
    pub(crate) const PACKED_BITMAPS: u32 = 14;
    /// Uniformity bits in every record.
    pub(crate) const UNIFORMITY: u32 = 14;
}

/// Key and data sizes of an item of the hash table, in front of both.
pub(super) const ITEM_HEADER: usize = 24;

/// The release whose rules the files of a version follow: the newest up to
/// [`Release::DEFAULT`] that writes it, or the first after that.
pub fn writing_release(version: u32) -> Release {
    let writers = || release::RELEASES.iter().filter(|row| row.indexed_version == version).map(|row| row.release());
    writers().rfind(|release| *release <= Release::DEFAULT).or_else(|| writers().next()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_follows_the_rules_of_a_release_that_writes_it() {
        let releases = [7, 8, 9, 10, 11, 12, 13, 14].map(writing_release);
        assert_eq!(releases, [14, 15, 16, 17, 18, 21, 22, 23].map(Release));
        assert_eq!(writing_release(NEWEST_VERSION + 1), Release::DEFAULT);
        assert_eq!(Release::DEFAULT.indexed_version(), Some(DEFAULT_VERSION));
    }
}
