//! The common LLVM profile: what raw, indexed and text files have in common.
//! It knows no file format.
//!
//! ```text
//! Profile
//! ├── ProfileKind          variant bits: IR, CS, entry first, coverage, temporal …
//! ├── FunctionTable        name (NameRef) → records, in order of first appearance
//! │   └── RecordView       FuncHash, counters, bitmap bytes, value sites, uniformity
//! ├── BinaryId…            identities of the images that ran
//! ├── TemporalProfile      order in which functions first ran
//! ├── vtable names         kept only on request
//! └── MemProfSection       carried as bytes
//! ```
//!
//! Readers return records one at a time through [`ProfileReader`], merging adds them to a [`Profile`], and writers take
//! a [`Profile`]. A single record is a [`FunctionRecord`]. Many records share memory in a [`RecordStore`], and names
//! share the strings ([`NameText`]) that they were read from.

mod counter_list;
pub mod counters;
pub mod description;
pub mod functions;
pub(crate) mod hash_order;
pub mod kind;
pub mod loss;
mod posix;
pub mod record;
pub mod record_store;
pub mod release;
pub mod selection;
#[cfg(feature = "serde")]
pub(crate) mod serialize;
pub mod summary;
pub mod symbols;
#[cfg(test)]
pub(crate) mod testing;

pub use counters::Uniformity;
pub use counters::{Counters, CountersIter};
pub use description::Description;
pub use functions::{FunctionId, FunctionTable, FunctionView, Functions, RecordId};
pub use kind::ProfileKind;
pub use loss::{Loss, LossKind, Losses, refuse_losses};
pub(crate) use record::LARGEST_COUNT;
pub use record::{BinaryId, MemProfSection, TemporalProfile, TemporalTrace};
pub use record::{FunctionRecord, PseudoCount, RecordView};
pub use record::{ProfileReader, RecordRef};
pub use record::{Sites, ValueCount, ValueKind, ValueSites};
pub use record_store::RecordStore;
pub use release::Release;
pub use selection::FunctionFilter;
pub use selection::Remapping;
pub use selection::Selection;
pub use summary::{ProfileSummary, SummaryBuilder};
pub use symbols::NameText;
pub(crate) use symbols::hash_names;
pub use symbols::name_refs;
pub use symbols::{NameRef, SymbolTable, name_ref};

/// A whole profile in memory.
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Profile {
    /// Variant bits.
    pub kind: ProfileKind,
    /// All functions, in order of first appearance.
    pub functions: FunctionTable,
    /// Image identities in input order, perhaps repeated.
    pub binary_ids: Vec<BinaryId>,
    /// Traces of first execution.
    pub temporal: TemporalProfile,
    /// Names of vtables, in order of first appearance; empty unless kept.
    #[cfg_attr(feature = "serde", serde(with = "serialize::names"))]
    pub vtable_names: Vec<Vec<u8>>,
    /// The memory profile of one input.
    pub memprof: Option<MemProfSection>,
}

/// Equal if both would be written the same: the same functions with the same records, in the same order, and the same
/// properties.
impl PartialEq for Profile {
    fn eq(&self, other: &Self) -> bool {
        let Self { kind, functions, binary_ids, temporal, vtable_names, memprof } = self;
        *kind == other.kind
            && *functions == other.functions
            && *binary_ids == other.binary_ids
            && *temporal == other.temporal
            && *vtable_names == other.vtable_names
            && *memprof == other.memprof
    }
}
