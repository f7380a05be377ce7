//! Merges that stop and continue. A partial merge stores sums over a sequence of inputs, and the data that is needed to
//! produce the result of one merge of all inputs from them and from the sequences before and after.
//!
//! Counters and bitmaps can be added in any order, so a [`PartialMerge`] stores their sums, separately for each name,
//! FuncHash and shape. The effect of LLVM's rules on the other data depends on earlier inputs, so this data is stored
//! per input:
//!
//! | stored per input | reason |
//! |---|---|
//! | the records of an input, in order | they determine the order of names and hashes, and the input that a message names |
//! | value sites | a site is cut to 255 values after every record, values that are new to a site are not weighted, equal values are merged in input order |
//! | records with pseudo counts or uniform counts | a weight turns a pseudo count into an ordinary count; uniformity counts are lost when they are combined with bits |
//! | traces | traces beyond the reservoir are sampled at random, in the order of inputs |
//! | kinds | an input whose kind conflicts with earlier inputs is dropped |
//! | memory profiles | the merged profile has the fields that all inputs have |
//!
//! [`PartialMerge::append`] joins two partial merges. The result depends only on the inputs and their order, not on the
//! grouping. [`PartialMerge::replay`] merges the inputs.

pub(crate) mod files;
mod replay;
mod runs;
mod state;
mod sums;

#[cfg(test)]
mod tests;

pub use replay::Replayed;
pub use sums::PartialMerge;
