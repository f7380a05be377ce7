//! The member `llvm` of an iprof file: an LLVM profile, exactly.
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
//! * A site is a list of values and counts in turn.
//! * Numbers above 2^63-1, which Java's `long` cannot hold, are decimal strings.
//! * A record of a GPU has `"uniformity": "fd"`, the bits of an indexed file,
//!   and perhaps `"uniformCounts": [90, 3]`, what a raw file counted.
//! * Bytes are hexadecimal text. A name that is not UTF-8 is `{"hex": "…"}`.
//! * What is empty is left out. Without `functions` there is no profile, only
//!   the remarks of `approximate`.
//! * `kind` holds the words of [`ProfileKind::words`](crate::model::ProfileKind::words),
//!   or a number for a bit that has none.

mod decode;
mod encode;
mod layout;

use crate::error::Result;
pub use layout::{Approximations, Extension};

/// The member's name.
pub const MEMBER: &[u8] = b"llvm";

impl Extension {
    /// Reads the member's value.
    ///
    /// # Errors
    ///
    /// Malformed, with the place in the value, when it is not of this layout.
    pub fn read(json: &[u8]) -> Result<Self> {
        decode::read(json).map_err(|error| error.in_section("llvm").in_format("iprof"))
    }

    /// The member's value.
    pub fn write(&self) -> Vec<u8> {
        encode::write(self)
    }
}

#[cfg(test)]
mod tests;
