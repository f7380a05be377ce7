//! Merging that stops and goes on: sums over a run of inputs, with what is
//! needed to make of them, and of the runs before and after, the very result of
//! one merge of all inputs.
//!
//! Counters and bitmaps add up whatever came before, so a [`PartialMerge`] holds
//! their sums, for each name, FuncHash and shape apart. What
//! LLVM's rules make of the rest depends on the inputs before it and is kept
//! input by input:
//!
//! | kept | because |
//! |---|---|
//! | which records an input has, in order | order of names and hashes, and whom a message is about |
//! | value sites | a site is cut to 255 values after every record, values that are new to a site are not weighted, equal values meet in the order in which they come |
//! | records with pseudo counts or uniform counts | a weight makes a pseudo count an ordinary one; evidence is lost where it meets bits |
//! | traces | chance decides about those beyond the reservoir, in the order of inputs |
//! | kinds | an input whose kind conflicts with those before it is left out |
//! | memory profiles | the sum has the fields that all inputs have |
//!
//! [`PartialMerge::append`] joins two, and the outcome depends on the inputs and
//! their order alone, not on the grouping; [`PartialMerge::replay`] merges.

pub(crate) mod files;
mod replay;
mod runs;
mod state;
mod sums;

#[cfg(test)]
mod tests;

pub use replay::Replayed;
pub use sums::PartialMerge;
