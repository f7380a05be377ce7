//! LLVM memory profiles (MemProf): where a program allocates, how long the
//! objects live, and how often they are accessed. Written by programs built
//! with `-fmemory-profile`, read by compilers for `-fmemory-profile-use`.
//!
//! ```text
//! raw dumps + the program ─┐                 ┌─▶ section of an indexed profile
//! YAML ────────────────────┼▶ MemoryProfile ─┼─▶ YAML
//! section of an indexed ───┘   (merge: sums) └─▶ report
//! ```
//!
//! A [`MemoryProfile`] has a [`MemProfRecord`] for each function: its
//! [`AllocSite`]s, each with the whole call stack and a [`MemInfoBlock`] of
//! numbers, and its [`CallSite`]s, calls that lead to allocations elsewhere.
//!
//! ```
//! use profbridge::memprof::{Hotness, yaml};
//! use profbridge::{Limits, Compat};
//!
//! let text = b"---\nHeapProfileRecords:\n  - GUID: main\n    AllocSites:\n      - Callstack:\n          - { Function:
//! main, LineOffset: 3, Column: 5, IsInlineFrame: false }\n        MemInfoBlock: { AllocCount: 1, TotalSize: 64,
//! TotalLifetime: 300000 }\n...\n"; let profile = yaml::read(text, Compat::Profbridge, &Limits::default())?; let site =
//! profile.alloc_sites().next().unwrap(); assert_eq!((site.info.total_size(), Hotness::of(&site.info)), (64,
//! Hotness::Cold));
//! # Ok::<(), profbridge::Error>(())
//! ```

mod draw;
mod fields;
mod hotness;
pub mod indexed;
mod merge;
mod model;
pub mod raw;
pub mod report;
#[cfg(feature = "serde")]
mod serialize;
pub mod yaml;

pub(crate) use draw::report as draw_report;
pub use draw::{AllocationUnit, MemoryContent};
pub use fields::{Field, MemInfoBlock, Schema, Sum};
pub use hotness::{Hotness, MemProfSummary, random_hotness};
pub use merge::{MemoryMerger, MergedMemory, Source};
pub(crate) use model::canonical_name;
pub use model::{
    AllocSite, CallSite, CallStacks, DataAccessProfile, DataAccessRecord, DataSymbol, Frame, FrameHandle,
    MemProfRecord, MemoryProfile, SourceLocation, StackHandle, guid,
};

use crate::bytes::{Confidence, Head};

/// The form of a memory profile that is a file of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// A raw profile, as an instrumented program writes it.
    Raw,
    /// YAML.
    Yaml,
}

/// Detects a memory profile: a magic number, or a YAML document with one of the members that hold everything.
pub fn evidence(head: &Head<'_>) -> Option<(Form, Confidence)> {
    if raw::is_raw(head.bytes()) {
        return Some((Form::Raw, Confidence::Certain));
    }
    let has_member = || head.has(b"HeapProfileRecords") || head.has(b"DataAccessProfiles");
    (head.begins(b"---") && has_member()).then_some((Form::Yaml, Confidence::Certain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_known_and_other_yaml_is_not() {
        let of = |bytes: &[u8]| evidence(&Head::new(bytes)).map(|(form, _)| form);
        assert_eq!(of(b"---\nHeapProfileRecords:\n"), Some(Form::Yaml));
        assert_eq!(of(b"---\nheader:\n  profile-version: 1\n"), None);
        assert_eq!(of(&[0x81, 0x72, 0x66, 0x6f, 0x72, 0x70, 0x6d, 0xff]), Some(Form::Raw));
    }
}
