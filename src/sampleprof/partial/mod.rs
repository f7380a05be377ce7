//! Merging sample profiles that stops and goes on: sums over a run of inputs,
//! with what is needed to make of them, and of the runs before and after, the
//! very result of one merge of all inputs.
//!
//! Samples add up whatever came before, so [`PartialSamples`] holds their sums,
//! for each function or context. What depends on the inputs before is kept beside:
//!
//! | kept | because |
//! |---|---|
//! | which records an input has, in the order of LLVM's container | the order of the result follows from it, and whom a message is about |
//! | records with checksums by shape | the first checksum stays, what has another is left out |
//! | records of which some have checksums and some have none, one by one | a checksum may come to a record later |
//! | what an input states of its kind | LLVM keeps what it does not state from the one before |
//!
//! Written behind a profile, the sums that equal the profile's own records are
//! not stored again.

mod decode;
mod encode;
mod replay;
mod shape;
mod sums;

pub use replay::{ReplayObserver, Replayed};
pub use sums::{Adding, PartialSamples};
