//! Adding up profiles: records of any source become one [`Profile`](crate::instr::Profile).
//!
//! [`Merger`] takes inputs one after another, each record in the order of its
//! file, and follows the rules of one LLVM release ([`MergeRules`]): the
//! largest count, pseudo counts, bitmaps, the order of values, the sampling of
//! traces. The result depends on the inputs and their order only.
//!
//! A [partial merge](partial) holds what several mergers need to give the same
//! result as one. `docs/merging.md` lists the laws and their exceptions.

mod counters;
pub mod cross_release;
pub mod filter;
mod inputs;
mod introsort;
mod kinds;
mod merger;
mod outcome;
pub mod partial;
mod places;
mod posix;
mod records;
pub mod remap;
mod rules;
pub(crate) mod sites;
mod stable_sort;
mod traces;
mod uniformity;

#[cfg(test)]
mod tests;

pub use filter::FunctionFilter;
pub use inputs::InputOptions;
pub(crate) use kinds::SharedKind;
pub use kinds::{KindConflict, conflict_of_contexts};
pub use merger::{MergeOptions, Merger, repeated_sizes, repeats_size, sort_record_sites};
pub use outcome::{AddOutcome, SoftError};
pub use remap::Remapping;
pub use rules::{KindRule, MergeRules, TraceRule};
