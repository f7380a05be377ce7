//! `testdata/` read, merged and written by the library alone: the bytes are
//! those that the genuine tool of the named release wrote. Needs no LLVM.

mod bad;
#[cfg(feature = "correlate")]
mod correlated;
mod files;
mod merged;
mod shown;
mod single;
