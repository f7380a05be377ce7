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
//! Readers hand out records one at a time through [`ProfileReader`]; merging
//! puts them into a [`Profile`]; writers take a [`Profile`]. A record on its own
//! is a [`FunctionRecord`]; many share memory in a [`RecordStore`], and names
//! the texts ([`NameText`]) that they were read from.

pub(crate) mod bridge_hash;
mod counter_list;
pub mod counters;
pub mod description;
pub mod filter;
pub mod functions;
pub(crate) mod hash_order;
pub mod kind;
pub mod loss;
pub(crate) mod mersenne;
pub mod name_hash;
pub(crate) mod name_order;
pub mod names;
mod posix;
pub mod reader;
pub mod record;
pub mod record_store;
pub mod release;
pub mod remap;
pub mod selection;
#[cfg(feature = "serde")]
pub(crate) mod serialize;
pub mod summary;
pub mod symbols;
pub mod temporal;
#[cfg(test)]
pub(crate) mod testing;
pub mod uniformity;
pub mod value;

use crate::error::Result;
use crate::memory::{self, HOLD_INPUT};

pub use counters::{Counters, CountersIter};
pub use description::Description;
pub use filter::FunctionFilter;
pub use functions::{FunctionId, FunctionTable, FunctionView, Functions, RecordId};
pub use kind::ProfileKind;
pub use loss::{Loss, LossKind, Losses, refuse_losses};
pub(crate) use name_hash::hash_names;
pub use name_hash::name_refs;
pub use names::NameText;
pub use reader::{ProfileReader, RecordRef};
pub use record::{FunctionRecord, PseudoCount, RecordView};
pub use record_store::RecordStore;
pub use release::Release;
pub use remap::Remapping;
pub use selection::Selection;
pub use summary::{ProfileSummary, SummaryBuilder};
pub use symbols::{NameRef, SymbolTable, name_ref};
pub use temporal::{TemporalProfile, TemporalTrace};
pub use uniformity::Uniformity;
pub use value::{Sites, ValueCount, ValueKind, ValueSites};

/// Identity of an image, for ELF the GNU build id; as long as the linker made it.
pub type BinaryId = Vec<u8>;

/// The memory profile of an indexed file, carried as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MemProfSection {
    /// The section's bytes.
    pub bytes: Vec<u8>,
    /// Absolute offset at which they stood: the offsets inside count from the
    /// start of the file and must be moved with the section.
    pub offset: u64,
    /// Indexed version of the file it came from.
    pub indexed_version: u32,
}

impl MemProfSection {
    /// A copy.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self { bytes: memory::copied(&self.bytes, HOLD_INPUT)?, ..*self })
    }
}

/// A whole profile in memory.
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Profile {
    /// Variant bits.
    pub kind: ProfileKind,
    /// All functions, in order of first appearance.
    pub functions: FunctionTable,
    /// Image identities, as they came: not sorted, perhaps repeated.
    pub binary_ids: Vec<BinaryId>,
    /// Traces of first execution.
    pub temporal: TemporalProfile,
    /// Names of vtables, in order of first appearance; empty unless kept.
    #[cfg_attr(feature = "serde", serde(with = "serialize::names"))]
    pub vtable_names: Vec<Vec<u8>>,
    /// The memory profile of one input.
    pub memprof: Option<MemProfSection>,
}
