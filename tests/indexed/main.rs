//! Compares indexed and text profiles with the real tools of LLVM 13 to 23, and with each other.

mod damaged;
mod generate;
mod golden;
mod laws;
mod malformed;
mod memprof;
mod merging;
mod oracle;
mod text;
#[path = "../releases/toolchain.rs"]
mod toolchain;
mod versions;
