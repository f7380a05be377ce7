//! pprof profiles (`profile.proto`), the exchange format of profilers and what
//! Go's compiler takes as `default.pgo`.
//!
//! ```text
//! bytes ─▶ read ─▶ Profile ─▶ Merger (weights, sum by stack, trim) ─▶ write ─▶ bytes
//!                     │ ▲
//!                     ▼ │ stacks
//!                  StackTable              golang: will Go's compiler take it?
//! ```
//!
//! [`Profile`] is the file with resolved ids, so all data of the schema survives reading, merging and writing.
//! [`StackTable`] stores less; the losses are counted.
//!
//! The protocol buffer is read and written by hand, in `wire`. The schema has
//! eight messages of numbers and nothing else; a generated reader would be
//! longer than that, hold every message twice before an id can be checked, refuse
//! names that are not UTF-8, and report no byte offsets.
//!
//! [`StackTable`]: crate::call_chains::StackTable

mod golang;
mod merge;
mod profile;
mod read;
mod table;
#[cfg(test)]
mod tests;
mod write;

pub use golang::{GoFinding, GoVerdict, judge_for_go};
pub(crate) use golang::{is_form_for_go, judge_form_for_go};
pub use merge::heaviest;
pub(crate) use merge::trim_to_bytes;
pub use merge::{MergeOptions, MergeReport, Merger};
pub use profile::{Function, Label, Line, Location, Mapping, Profile, SampleRef, Samples, ValueType};
pub use profile::{StringId, Strings};
pub(crate) use read::is_pprof;
pub(crate) use read::read_until;
pub use read::{FORMAT, read};
pub(crate) use table::START_LINE;
pub use table::{PprofLosses, ValueChoice, add_to_table, from_table};
pub use write::write;
