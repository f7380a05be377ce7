//! Memory profiles as YAML (`.memprofyaml`), which LLVM 20 and later read and
//! `show --memory` prints.
//!
//! The files use little of YAML: blocks of maps and lists, flow maps and lists,
//! and scalars on one line. `parse.rs` reads just that, with the offset of every
//! fault, in memory that does not grow with the document, and knows no tag,
//! anchor, or text of several lines; a general parser would bring all of these
//! in and still leave the form to be checked.

mod fault;
mod form;
mod node;
mod parse;
mod write;

#[cfg(test)]
mod tests;

pub use form::read;
pub(crate) use write::write_summary;
pub use write::{Comments, write};
