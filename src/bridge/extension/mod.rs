//! The member `llvm` of an iprof file stores an LLVM profile exactly.
//!
//! ```text
//! "llvm": {
//!   "version": 1,
//!   "approximate": {"callCountProfiles": "…"},
//!   "kind": ["ir", "entry-first"],
//!   "functions": [
//!     {"name": "main", "records": [
//!       {"hash": 7, "counters": [1, 5], "bitmap": "00ff",
//!        "values": [{"kind": 0, "sites": [[3728961, 5], []]}]}]}],
//!   "binaryIds": ["0a1b"],
//!   "temporal": {"streamSize": 1, "traces": [{"weight": 1, "functions": [7]}]},
//!   "vtableNames": ["_ZTV5Shape"],
//!   "memprof": {"indexedVersion": 12, "offset": 4096, "bytes": "…"}
//! }
//! ```
//!
//! * A site is a list of alternating values and counts.
//! * Numbers above 2^63-1, which Java's `long` cannot hold, are decimal strings.
//! * The record of a GPU kernel has `"uniformity": "fd"`, the bits of an indexed file, and may have `"uniformCounts":
//!   [90, 3]`, the counts of a raw file.
//! * Bytes are hexadecimal strings. A name that is not UTF-8 is `{"hex": "…"}`.
//! * Empty members are omitted. Without `functions` there is no profile, only the remarks in `approximate`.
//! * Version 2 has a checksum of the rest of the file in `sections`, if the profile has no records of the bridge: if it
//!   is correct, no one edited the sections that were made from the functions.
//! * `kind` contains the words of [`ProfileKind::words`](crate::model::ProfileKind::words), or numbers for bits without
//!   a word.

mod decode;
mod encode;

use crate::model::Profile;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The name of the member.
pub const MEMBER: &[u8] = b"llvm";

/// The newest version of this layout. It changes with the layout.
const VERSION: u32 = 2;

/// The reason why the numbers of a section differ from the definition of the format, by section.
pub(crate) type Approximations = BTreeMap<String, String>;

/// The value of the member.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extension<'a> {
    /// Standard sections with approximate numbers, and the reasons.
    pub(crate) approximate: Approximations,
    /// The profile, unless it was omitted.
    pub(crate) profile: Option<Cow<'a, Profile>>,
    /// The checksum of the document without this member, if the profile determines all of it.
    pub(crate) checksum: Option<u64>,
}

impl Extension<'_> {
    /// Returns true if the member is not needed.
    pub(crate) fn is_empty(&self) -> bool {
        self.approximate.is_empty() && self.profile.is_none()
    }

    /// Returns true if there is a profile with records.
    pub(crate) fn carries_records(&self) -> bool {
        let profile = self.profile.as_ref();
        profile.is_some_and(|profile| profile.functions.records_len() > 0 || profile.memprof.is_some())
    }
}

#[cfg(test)]
mod tests;
