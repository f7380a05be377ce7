//! How evenly the waves of a GPU ran through the blocks of functions: made-up
//! files of LLVM 23, since programs of a host say nothing of it.

mod files;
mod generate;
mod genuine;
mod laws;
mod layout;
#[path = "../releases/toolchain.rs"]
mod toolchain;
