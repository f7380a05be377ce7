//! Adding up profiles: records of any source become one [`Profile`](crate::model::Profile).
//!
//! [`Merger`] takes inputs one after another, each record in the order of its
//! file, and follows the rules of one LLVM release ([`MergeRules`]): the
//! largest count, pseudo counts, bitmaps, the order of values, the sampling of
//! traces. The result depends on the inputs and their order only.
//!
//! A [partial merge](partial) holds what several mergers need to give the same
//! result as one. `docs/merging.md` lists the laws and their exceptions.

mod add_counters;
mod add_uniformity;
pub(crate) mod check;
pub mod cross_release;
pub(crate) mod diff;
mod draw;
pub mod encode;
pub(crate) mod file_merge;
mod inputs;
mod introsort;
mod kinds;
pub mod memory_profiles;
mod merger;
pub mod open;
pub mod order;
mod outcome;
mod output_format;
pub mod overlap;
pub mod partial;
mod places;
mod profile;
pub(crate) mod read;
mod records;
mod rules;
pub mod show;
pub(crate) mod sites;
mod stable_sort;
pub mod target;
mod traces;

#[cfg(test)]
mod tests;

#[doc(inline)]
pub use crate::model::*;
pub use draw::{InstrContent, demangled};
pub use inputs::InputOptions;
pub(crate) use kinds::SharedKind;
pub use kinds::{KindConflict, conflict_of_contexts};
pub use merger::{MergeOptions, Merger, repeated_sizes, repeats_size, sort_record_sites};
pub use outcome::{AddOutcome, SoftError};
pub use rules::{KindRule, MergeRules, TraceRule};
