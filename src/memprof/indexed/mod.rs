//! The memory profile section of an indexed profile.
//!
//! | version | LLVM | frames and call stacks |
//! |---|---|---|
//! | 0 | 15 | a table of frames; stacks are in the records |
//! | 1 | 19 | the same, with a version number |
//! | 2 | 19 | a table of frames and one of stacks |
//! | 3 | 19 | an array of frames, and one of stacks that share their roots |
//! | 4 | 21 | the same, with call targets, accesses to static data, and a summary |
//!
//! Offsets count from the start of the file. All versions have a table of records with one entry per function
//! (`MemProf.h`, `IndexedMemProfData.cpp`).

mod data_access;
mod layout;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use layout::NEWEST_VERSION;
pub(crate) use layout::default_version;
pub(crate) use layout::known_schema;
pub use layout::since::STACK_TABLE as CHOSEN_SCHEMA_SINCE;
pub(crate) use read::read_until;
pub use read::{StoredProfile, read};
pub use write::{WriteOptions, losses, write};
