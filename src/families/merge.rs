//! Merging files of a family, or of LLVM and iprof together.
//!
//! Inputs are merged in order. Several threads read them, and each input is added in its turn, so the bytes and the
//! messages are those of one thread.

mod documents;
pub mod iprof;
pub mod mixed;
