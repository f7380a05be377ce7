//! LLVM memory profiles (MemProf): allocation sites of a program with the lifetime of their objects and the frequency
//! of accesses. Programs built with `-fmemory-profile` write them, and compilers read them with `-fmemory-profile-use`.
//!
//! ```text
//! raw profile + program ────┐                 ┌─▶ section of an indexed profile
//! YAML ────────────────────┼▶ MemoryProfile ─┼─▶ YAML
//! section of an indexed ───┘   (merge: sums) └─▶ report
//! ```
//!
//! A [`MemProfRecord`] belongs to a function. It has [`AllocSite`]s, each with a call stack and a [`MemInfoBlock`] of
//! measurements, and [`CallSite`]s, which are calls that lead to allocations in other functions.
//!
//! ```
//! use profbridge::memprof::{Hotness, yaml};
//! use profbridge::{Limits, Compat};
//!
//! let text = b"---
//! HeapProfileRecords:
//!   - GUID: main
//!     AllocSites:
//!       - Callstack:
//!           - { Function: main, LineOffset: 3, Column: 5, IsInlineFrame: false }
//!         MemInfoBlock: { AllocCount: 1, TotalSize: 64, TotalLifetime: 300000 }
//! ...
//! ";
//! let profile = yaml::read(text, Compat::Profbridge, &Limits::default())?;
//! let site = profile.alloc_sites().next().unwrap();
//! assert_eq!((site.info.total_size(), Hotness::of(&site.info)), (64, Hotness::Cold));
//! # Ok::<(), profbridge::Error>(())
//! ```

#[cfg(feature = "families")]
mod draw;
mod fields;
mod hotness;
pub mod indexed;
mod merge;
mod model;
mod order;
pub mod raw;
pub mod report;
#[cfg(feature = "serde")]
mod serialize;
pub mod yaml;

#[cfg(feature = "families")]
pub(crate) use draw::report as draw_report;
#[cfg(feature = "families")]
pub use draw::{AllocationUnit, MemoryContent};
pub use fields::{Field, MemInfoBlock, Schema, Sum};
pub use hotness::{Hotness, HotnessThresholds, MemProfSummary, random_hotness};
pub use merge::{MergeOptions, MergedMemory, Merger, Source};
pub(crate) use model::canonical_name;
pub use model::{
    AllocSite, CallSite, CallStacks, DataAccessProfile, DataAccessRecord, DataSymbol, Frame, FrameHandle,
    MemProfRecord, MemoryProfile, SourceLocation, StackHandle, guid,
};
pub(crate) use order::ProfileOrder;

use crate::bytes::{Confidence, Head, without_byte_order_mark};

/// The format of a memory profile file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Form {
    /// A raw profile, written by an instrumented program.
    Raw,
    /// YAML.
    Yaml,
}

/// Detects a memory profile: a magic number, or a YAML document with one of its top-level members.
pub fn evidence(head: &Head<'_>) -> Option<(Form, Confidence)> {
    if raw::is_raw(head.bytes()) {
        return Some((Form::Raw, Confidence::Certain));
    }
    let has_member = || head.has(b"HeapProfileRecords") || head.has(b"DataAccessProfiles");
    let begins = without_byte_order_mark(head.bytes()).starts_with(b"---");
    (begins && has_member()).then_some((Form::Yaml, Confidence::Certain))
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
