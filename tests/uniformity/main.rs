//! Tests of uniformity: the share of GPU waves that enter a block with all lanes. The files are generated in the format
//! of LLVM 23, because programs of a host have no such data.

mod files;
mod generate;
mod genuine;
mod laws;
mod layout;
#[path = "../releases/toolchain.rs"]
mod toolchain;
