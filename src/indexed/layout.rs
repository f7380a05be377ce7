//! The numbers of the format: magic, header words, the parts of each version, and the
//! choices that a version and a release make ([`Dialect`]).

use crate::model::summary::SummaryRules;
use crate::model::{ProfileKind, Release, ValueKind, release};

/// First 8 bytes of every indexed profile: `\xFF lprofi \x81`.
pub const MAGIC: [u8; 8] = *b"\xfflprofi\x81";

/// The newest version; LLVM 23 writes it.
pub const NEWEST_VERSION: u32 = 14;

/// The version that [`Release::DEFAULT`] writes.
pub(crate) const DEFAULT_VERSION: u32 = 13;

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

/// The position of `HashOffset` in the file.
pub(crate) const HASH_OFFSET_AT: usize = 32;

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
pub(crate) fn writing_release(version: u32) -> Release {
    let writers = || release::RELEASES.iter().filter(|row| row.indexed_version == version).map(|row| row.release());
    writers().rfind(|release| *release <= Release::DEFAULT).or_else(|| writers().next()).unwrap_or_default()
}

/// A format version as a release writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) version: u32,
    pub(super) release: Release,
}

impl Dialect {
    /// Whether the version has a part, see [`since`].
    pub(super) fn has(self, since: u32) -> bool {
        self.version >= since
    }

    /// The value kinds that are written.
    pub(super) fn value_kinds(self) -> &'static [ValueKind] {
        if !self.has(since::VALUE_SITES) {
            &[]
        } else if self.release >= Release(19) {
            &ValueKind::EACH
        } else {
            &ValueKind::EACH[..2]
        }
    }

    /// The variant bits that the release knows.
    pub(super) fn kind_bits(self, kind: ProfileKind) -> u64 {
        let mut kind = kind.intersection(ProfileKind::known_by(self.release));
        if !self.has(since::MEMPROF) {
            kind = kind.without(ProfileKind::MEMPROF);
        }
        if !self.has(since::TRACES) {
            kind = kind.without(ProfileKind::TEMPORAL);
        }
        if !self.has(since::SUMMARY) {
            kind = kind.without(ProfileKind::CONTEXT_SENSITIVE);
        }
        kind.indexed_bits()
    }

    /// Releases up to 3.9 never make the hash table smaller than it was at the
    /// start.
    pub(super) fn table_shrinks(self) -> bool {
        self.release > Release(3)
    }

    /// How the release's summary takes pseudo counts.
    pub(super) fn summary_rules(self) -> SummaryRules {
        if self.release >= Release(16) { SummaryRules::PseudoCounts } else { SummaryRules::BeforePseudoCounts }
    }
}

/// The bytes of an indexed file in memory: all, or all but the payload of the hash table.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileBytes<'data> {
    /// From the first byte on, as far as summaries reach.
    front: &'data [u8],
    back: &'data [u8],
    /// Where `back` begins in the file; it reaches to the end.
    back_offset: u64,
}

impl<'data> FileBytes<'data> {
    pub(super) fn whole(file: &'data [u8]) -> Self {
        Self { front: file, back: file, back_offset: 0 }
    }

    /// A file without the bytes between `front` and the index of the hash table.
    pub(super) fn around_payload(front: &'data [u8], back: &'data [u8], index_offset: u64) -> Self {
        Self { front, back, back_offset: index_offset }
    }

    /// Length of the file.
    pub(super) fn len(self) -> u64 {
        self.back_offset + self.back.len() as u64
    }

    /// The file from its first byte on, as far as it is there.
    pub(super) fn front(self) -> &'data [u8] {
        self.front
    }

    /// The file from an offset on; `None` outside, and for what is not there.
    pub(super) fn from(self, offset: u64) -> Option<&'data [u8]> {
        let start = usize::try_from(offset.checked_sub(self.back_offset)?).ok()?;
        self.back.get(start..)
    }

    /// Returns the bytes from an offset to the index; empty if they are not in memory.
    pub(super) fn payload(self, offset: u64, index_offset: u64) -> &'data [u8] {
        let len = usize::try_from(index_offset - offset).unwrap_or(usize::MAX);
        self.from(offset).and_then(|rest| rest.get(..len)).unwrap_or_default()
    }
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
