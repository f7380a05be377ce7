//! Reads, merges and writes `testdata/` with the library only. The output must have the bytes of the release's real
//! tool. Does not need LLVM.

mod bad;
#[cfg(feature = "correlate")]
mod correlated;
mod files;
mod merged;
mod shown;
mod single;
