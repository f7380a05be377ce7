//! Memory profiles as YAML (`.memprofyaml`), which LLVM 20 and later read and
//! `show --memory` prints.
//!
//! Files are written with little of YAML: blocks of maps and lists, flow maps and
//! lists, and plain scalars on one line. `regular.rs` reads just that, in memory
//! that does not grow with the document. Whatever is not regular, or not of the
//! form, is read again as LLVM's parser reads it: `state.rs`, `scanner.rs` and
//! `scalars.rs` make tokens, `tree.rs` makes nodes of them, with what LLVM says of faults, and
//! in its order. A general parser of YAML would draw the line elsewhere.

mod fault;
mod form;
mod node;
mod regular;
mod scalars;
mod scanner;
mod state;
mod tree;
mod values;
mod write;

#[cfg(test)]
mod tests;

pub use form::read;
pub(crate) use write::write_summary;
pub use write::{Comments, write};
