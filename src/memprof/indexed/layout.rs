//! Versions of the section, their headers and schemas.

use crate::memprof::fields::Schema;
use crate::model::Release;
use std::ops::RangeInclusive;

/// The newest version of the section.
pub const NEWEST_VERSION: u32 = 4;

/// First versions of what was added later.
pub mod since {
    /// The version is the first word.
    pub const VERSION_WORD: u32 = 1;
    /// Call stacks are kept once, and the schema may be small.
    pub const STACK_TABLE: u32 = 2;
    /// Frames and call stacks are arrays.
    pub const ARRAYS: u32 = 3;
    /// Functions called at call sites, accesses to static data, a summary.
    pub const CALLEES: u32 = 4;
}

/// Versions that the merge of a release can write; none before release 15.
pub fn written_versions(release: Release) -> Option<RangeInclusive<u32>> {
    match release.0 {
        0..15 => None,
        15..=18 => Some(0..=0),
        19 => Some(0..=3),
        20 => Some(2..=3),
        _ => Some(2..=4),
    }
}

/// The version that the merge of a release writes unless told otherwise.
pub fn default_version(release: Release) -> Option<u32> {
    match release.0 {
        0..15 => None,
        15..=19 => Some(0),
        _ => Some(3),
    }
}

/// The fields that a release knows. It refuses a section with others.
pub fn known_schema(release: Release) -> Schema {
    match release.0 {
        0..16 => Schema::BEFORE_DENSITIES,
        16..=18 => Schema::BEFORE_HISTOGRAMS,
        _ => Schema::FULL,
    }
}

/// The schema that a release writes.
pub(super) fn schema_of(version: u32, release: Release, full: bool) -> Schema {
    let known = known_schema(release);
    if version >= since::STACK_TABLE && !full { Schema::HOT_COLD } else { known }
}

/// Words of the header, the version included.
pub(super) fn header_words(version: u32) -> usize {
    [3, 4, 6, 4, 5][version as usize]
}
