//! GraalVM iprof: the profiles of Native Image.
//!
//! One JSON object, perhaps compressed:
//!
//! ```text
//! version    types {id, name}    methods {id, name, signature}
//! callCountProfiles    {ctx, [count]}                how often methods were entered
//! conditionalProfiles  {ctx, [bci, index, count]*}   which way branches went
//! virtualInvokeProfiles, instanceofProfiles, monitorProfiles  {ctx, [type, count]*}
//! samplingProfiles     {ctx, [count]}                whole stacks and how often they were seen
//! ```
//!
//! A `ctx` is a chain of `method:bci` joined by `<`, the innermost frame first.
//!
//! | version | what it is |
//! | --- | --- |
//! | 0.2, 0.3 | other field names (GraalVM 22); read, never written |
//! | 0.4 | as 1.0, before it was published |
//! | 1.0 | the first published schema |
//! | 1.1 | adds instance-of profiles, spelled `instanceofProfiles` in the schema and `instanceOfProfiles` in files |
//! | 1.2 and later | read as 1.1; what is new is kept as it is |
//! | 2 and later | another encoding by definition: refused |
//!
//! [`read()`] and [`read_from`] make a [`Document`] of a sound file,
//! [`examine`] of any; [`write()`] writes it; [`check_from`],
//! [`statistics::statistics_from`] and [`Merger::add_from`] work entry by entry and
//! keep no document.

#[macro_use]
mod handle;
mod canonical;
mod check;
pub mod compare;
pub mod context;
mod copy;
pub mod document;
mod draw;
mod evidence;
pub mod findings;
pub mod fit;
mod hash_index;
mod json;
pub mod merge;
pub mod names;
mod read;
mod reader;
mod repair;
pub mod sections;
#[cfg(feature = "serde")]
mod serialize;
pub mod statistics;
pub mod tables;
mod transform;
pub mod version;
mod window;
pub mod writer;

pub use canonical::{canonical, canonical_with};
pub use check::{CheckReport, check_from};
pub use context::{ContextHandle, ContextTree, Frame, bci};
pub use copy::copy_from;
pub use document::{Document, InstanceofSpelling, Table};
pub use draw::IprofContent;
pub(crate) use draw::report;
pub use evidence::{evidence, is_json};
pub use findings::{Code, Finding, Findings, Level, Repair, Verdict};
pub use merge::{Added, BranchClash, MergeOptions, MergeReport, Merger, SectionTotals, SectionWeights, Weight, merge};
pub use read::{ReadReport, examine, examine_from, has_tables_only, read, read_from};
pub use reader::{PartSize, ReadOptions};
pub use repair::{RepairOptions, Repaired, repair_from};
pub use sections::{BranchRow, CountEntry, MAX_COUNT, Records, RowSection, SectionKind, Sections, TypeCount};
pub use tables::{MethodHandle, Tables, TypeHandle};
pub use transform::MethodFilter;
pub use version::Version;
pub use writer::{Layout, WriteOptions, reformat, write, write_to};

/// Threads for the entries of a file.
fn entry_threads(asked: Option<std::num::NonZeroUsize>) -> usize {
    // One thread uses what the others make, which more than a few would only wait for.
    crate::threads::wanted(asked).get().min(8)
}
