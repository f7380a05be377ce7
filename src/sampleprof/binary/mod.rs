//! Binary sample profiles: the plain form, and the compact form of LLVM 16 and
//! earlier, whose parts the extensible form shares.
//!
//! | part | plain | compact |
//! |---|---|---|
//! | magic, version 103 | ULEB128 | ULEB128 |
//! | summary | six totals, then rows of three | the same |
//! | names | count, strings with a NUL | count, MD5 as ULEB128, then the offset of the table |
//! | records | head, index of the name, body | the same |
//! | table of functions | – | count, index of the name and offset of the record |
//!
//! A body is the total, the places with their call targets, and the inlined
//! callees with bodies of their own.

pub(super) mod body;
mod compact;
mod reader;
pub(super) mod tables;
mod writer;

pub(super) use compact::{Index as CompactIndex, read as read_compact, write_records as write_compact};
pub(super) use reader::add_body;
pub(super) use reader::read;
pub(super) use writer::{Content, write_records};

/// `SPROF42` and what tells the form.
pub const MAGIC: u64 = 0x5350_524f_4634_32ff;
/// Of the compact form.
pub const COMPACT_MAGIC: u64 = 0x5350_524f_4634_3202;
/// The version that all forms have.
pub const VERSION: u64 = 103;
/// The version that LLVM 23 writes into extensible binaries when asked to.
pub const NEXT_VERSION: u64 = 104;
