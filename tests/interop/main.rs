//! Real compilers and tools take what this program writes and do the same with
//! it as with the genuine tool's file. Tests skip, loudly, what is not installed.

mod clang;
mod coverage;
mod kinds;
mod mixed;
mod one_kind;
mod random;
mod rust;
#[path = "../releases/toolchain.rs"]
mod toolchain;
mod tools;
