//! Indexed profiles (`.profdata`), versions 1 to 14: what compilers read.
//!
//! All numbers are little-endian, whatever the host. In file order:
//!
//! | part | from version | |
//! |---|---|---|
//! | header | 1 | magic, version word, hash type, offsets: 40 to 72 bytes |
//! | summary | 4 | totals and cutoff rows; two with the context-sensitive bit |
//! | hash table payload | 1 | bucket after bucket: names and their records |
//! | hash table index | 1 | number of buckets and entries, offset of each bucket |
//! | memory profile | 8 | only with its variant bit |
//! | binary ids | 9 | always |
//! | vtable names | 12 | always, mostly empty |
//! | temporal traces | 10 | only with their variant bit |
//!
//! | version | LLVM | new |
//! |---|---|---|
//! | 1 | 3.5 | one record for a name |
//! | 2 | 3.6 | several records for a name |
//! | 3 | 3.8 | value sites |
//! | 4 | 3.9 | summary |
//! | 5, 6, 7 | 6, 11, 12 | other structural hashes, same layout |
//! | 8 | 15 | memory profile |
//! | 9 | 16 | binary ids |
//! | 10 | 17 | temporal traces |
//! | 11 | 18 | bitmap bytes |
//! | 12 | 19 | vtable names, value kind 2 |
//! | 13 | 22 | another structural hash, same layout |
//! | 14 | 23 | bitmap bytes packed, uniformity bits |
//!
//! (`InstrProf.h`, `InstrProfReader.cpp`, `InstrProfWriter.cpp` in LLVM.)

mod describe;
mod dialect;
mod entries;
mod extent;
mod file;
mod layout;
mod lookup;
mod losses;
mod memprof;
mod order;
mod outline;
mod payload;
mod plain;
mod profile;
mod reader;
mod records;
mod summaries;
mod trailing;
mod verify;
mod write;

pub use describe::describe;
pub(crate) use layout::MEMPROF_OFFSET_AT;
pub use layout::{DEFAULT_VERSION, MAGIC, NEWEST_VERSION, writing_release};
pub use lookup::Entry;
pub use losses::losses;
pub(crate) use memprof::section_version as memory_section_version;
pub(crate) use outline::Outline;
pub use profile::{IndexedProfile, ReadOptions};
pub use reader::{IndexedReader, is_blank};
pub use records::Records;
pub use write::{Encoder, WriteOptions, write};
