//! Merging of instrumentation profiles: records of any source become one [`Profile`].
//!
//! [`Merger`] adds inputs one after another, each record in the order of its file, by the rules of one LLVM release
//! ([`MergeRules`]): the largest count, pseudo counts, bitmaps, the order of values, the sampling of traces. The result
//! depends only on the inputs and their order.
//!
//! A [partial merge](partial) stores the state that several mergers need to produce the result of one merger.
//! `docs/internals/merge-laws.md` lists the laws and their exceptions.

pub(crate) mod cancellable_reader;
#[cfg(feature = "families")]
pub(crate) mod check;
#[doc(hidden)]
pub mod cross_release;
#[cfg(feature = "families")]
pub(crate) mod diff;
#[cfg(feature = "families")]
mod draw;
pub mod encode;
pub(crate) mod file_merge;
mod inputs;
pub mod memory_profiles;
mod merger;
pub mod open;
#[cfg(feature = "families")]
pub mod order;
#[cfg(feature = "families")]
pub mod overlap;
#[doc(hidden)]
pub mod partial;
mod records;
#[doc(hidden)]
pub mod resolved_target;
mod rules;
#[cfg(feature = "families")]
pub mod show;
pub(crate) mod sites;
mod sort;
pub mod target;

#[cfg(test)]
mod tests;

#[doc(inline)]
pub use crate::model::*;
pub use crate::names::demangled;
#[cfg(feature = "families")]
pub use draw::InstrContent;
pub use inputs::InputOptions;
pub(crate) use merger::repeated_sizes;
pub(crate) use merger::repeats_size;
pub(crate) use merger::sort_record_sites;
pub use merger::{MergeOptions, Merger};
pub(crate) use rules::SharedKind;
pub use rules::{AddOutcome, SoftError};
pub use rules::{KindConflict, conflict_of_contexts};
pub use rules::{KindRule, MergeRules, TraceRule};
