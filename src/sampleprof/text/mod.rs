//! Sample profiles as text.
//!
//! ```text
//! NAME:TOTAL:HEAD
//!  LINE[.DISCRIMINATOR]: SAMPLES [CALLEE:COUNT …]
//!  LINE[.DISCRIMINATOR]: INLINED_CALLEE:TOTAL
//!   LINE: SAMPLES
//!  !CFGChecksum: NUMBER
//!  !Attributes: NUMBER
//! ```
//!
//! Blanks at the start of a line are its depth. A name in brackets is a calling
//! context: `[main:2 @ foo]`. From LLVM 22 on there are lines of virtual
//! tables, `LINE: vtables NAME:COUNT …`.

mod line;
mod reader;
mod writer;

pub use reader::is_text;
pub(super) use reader::read;
pub(super) use writer::{WriteOptions, write_records};
