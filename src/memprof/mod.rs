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
//! let text = b"---\nHeapProfileRecords:\n  - GUID: main\n    AllocSites:\n      - Callstack:\n          - { Function: main, LineOffset: 3, Column: 5, IsInlineFrame: false }\n        MemInfoBlock: { AllocCount: 1, TotalSize: 64, TotalLifetime: 300000 }\n...\n";
//! let profile = yaml::read(text, Compat::Profbridge, &Limits::default())?;
//! let site = profile.alloc_sites().next().unwrap();
//! assert_eq!((site.info.total_size(), Hotness::of(&site.info)), (64, Hotness::Cold));
//! # Ok::<(), profbridge::Error>(())
//! ```

mod data_access;
mod draw;
mod evidence;
mod fields;
mod hotness;
mod ids;
pub mod indexed;
mod merge;
mod model;
mod random;
pub mod raw;
pub mod report;
#[cfg(feature = "serde")]
mod serialize;
mod stacks;
pub mod yaml;

pub use data_access::{DataAccessProfile, DataAccessRecord, DataSymbol, SourceLocation, canonical_symbol};
pub(crate) use draw::report as draw_report;
pub use draw::{AllocationUnit, MemoryContent};
pub use evidence::{Form, evidence};
pub use fields::{FIELD_COUNT, Field, MemInfoBlock, Schema, Sum};
pub use hotness::{Hotness, MemProfSummary};
pub use merge::{MemoryMerger, MergedMemory, Source};
pub use model::{AllocSite, CallSite, MemProfRecord, MemoryProfile, canonical_name, guid};
pub use random::random_hotness;
pub use stacks::{CallStacks, Frame, FrameHandle, StackHandle};

use crate::error::{Error, ErrorKind};
use crate::hint::Hint;
use crate::limits::Limits;

/// A call stack has more frames than are read.
fn too_deep(found: u64, limits: &Limits) -> Error {
    let limit = limits.context_depth.into();
    Error::from(ErrorKind::LimitExceeded { what: "frames of a call stack", found, limit }).with_hint(Hint::AllowDepth)
}

/// All call stacks together have more frames than are read.
fn too_many_frames(found: u64, limit: u64) -> Error {
    Error::from(ErrorKind::LimitExceeded { what: "frames of all call stacks", found, limit })
        .with_hint(Hint::AllowFrames)
}
