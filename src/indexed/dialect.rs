//! What a version and the release that writes it decide about a file.

use super::layout::since;
use crate::model::summary::{CUTOFFS, SummaryRules};
use crate::model::{ProfileKind, Release, ValueKind};

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
            &ValueKind::ALL
        } else {
            &ValueKind::ALL[..2]
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

    /// Cutoffs of the summary. Releases up to 6 list two of them twice.
    pub(super) fn cutoffs(self) -> &'static [u32] {
        if self.release <= Release(6) { &EARLY_CUTOFFS } else { &CUTOFFS }
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

/// Cutoffs of the summary in releases 3.9 to 6.
const EARLY_CUTOFFS: [u32; 18] = [
    10_000, 100_000, 200_000, 300_000, 400_000, 500_000, 500_000, 600_000, 600_000, 700_000, 800_000, 900_000, 950_000,
    990_000, 999_000, 999_900, 999_990, 999_999,
];
