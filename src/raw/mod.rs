//! Raw profiles (`.profraw`), versions 1 to 11: reader, writer, correlation.
//!
//! A raw profile is a dump of the profiling sections of one running image in
//! the byte order and pointer width of its machine. A file holds one or more,
//! one for each image that wrote to it. In order:
//!
//! | section | versions | content |
//! |---|---|---|
//! | header | all | magic, version and variant, sizes, deltas ([`Header`]) |
//! | binary ids | 7 on | identities of the image |
//! | data | all | one [`DataRecord`] for each function |
//! | counters | all | 8 bytes each, or 1 with byte coverage |
//! | bitmap | 9 on | MC/DC bitmaps |
//! | uniform counters | 11 | GPU offload |
//! | names | all | chunks of names, or from 1 to 2 names back to back |
//! | vtables, vtable names | 10 on | address ranges, and chunks of names |
//! | value data | 2 on | which values were seen at value sites |
//!
//! | version | written by LLVM | what it changed |
//! |---|---|---|
//! | 1 | 3.5 to 3.7 | first; records point to their names |
//! | 2 | 3.8 | value profiling |
//! | 3 | in development, 2016 | names by MD5 |
//! | 4 | 3.9 to 9 | self-describing value data |
//! | 5 | 10 to 12 | padding around the counters |
//! | 6 | in development, 2021 | not known, rejected |
//! | 7 | 13 | binary ids |
//! | 8 | 14 to 17 | relative pointers, padded binary ids |
//! | 9 | 18 | bitmaps |
//! | 10 | 19 to 22 | vtables |
//! | 11 | 23 | uniform counters |
//!
//! The versions are those of `INSTR_PROF_RAW_VERSION` in each release's
//! `InstrProfData.inc`. [`layout`] has the tables, [`RawProfile`] is a view of
//! one profile, [`RawReader`] reads whole files into the common model, [`write()`]
//! makes a file out of it.

mod chunks;
pub mod correlate;
pub mod counters;
pub mod describe;
pub mod header;
#[doc(hidden)]
pub mod image;
pub mod layout;
pub mod names;
pub mod options;
mod plan;
pub mod profile;
mod read_names;
pub mod reader;
mod sections;
pub mod values;
pub mod write;

#[cfg(test)]
mod tests;

pub(crate) use chunks::NameChunks;
pub use correlate::{Correlator, ImageRecords};
pub use counters::{Counters, TimedCounters};
pub use describe::describe;
pub use header::Header;
#[doc(hidden)]
pub use image::{Image, ImageSum, PlausibleCounters};
pub use layout::{DataRecord, RecordLayout, Section, VTableRecord, Word};
pub use names::RawNames;
pub use options::{LargeCounters, RawOptions};
pub use profile::RawProfile;
pub use reader::{RawReader, is_blank};
pub use values::Targets;
pub(crate) use write::written;
pub use write::{WriteOptions, losses, write};
