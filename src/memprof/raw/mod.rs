//! Raw memory profiles, which a program built with `-fmemory-profile` writes when it ends (`.memprofraw`,
//! `memprof.profraw.PID`).
//!
//! A file contains one or more raw profiles of one process, back to back:
//!
//! | part | content |
//! |---|---|
//! | header | magic, version, size, offsets of the three parts |
//! | segments | executable parts of all images, with their build ids |
//! | records | for each allocation context a stack id, measurements, a histogram |
//! | stacks | for each stack id its addresses, leaf first |
//!
//! | version | LLVM | |
//! |---|---|---|
//! | 1 | 14, 15 | no build ids, 19 fields |
//! | 2 | 16 | 25 fields |
//! | 3 | 17, 18 | build ids |
//! | 4 | 19 to 21 | histograms of accesses |
//! | 5 | 22, 23 | histograms with 16 bits per entry |
//!
//! Addresses have no meaning without the program: [`resolve`] looks them up in its debug info. (`MemProfData.inc` and
//! `RawMemProfReader` in LLVM.)

mod dumps;
#[cfg(feature = "correlate")]
mod resolve;

#[cfg(test)]
mod tests;

pub use dumps::write as show;
pub use dumps::{Addresses, Context, RawMemProf, Segment, is_raw};
#[cfg(feature = "correlate")]
pub use resolve::{Program, Programs, Resolved, resolve};
