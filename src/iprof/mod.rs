//! GraalVM iprof, the profiles of Native Image.
//!
//! One JSON object, which may be compressed:
//!
//! ```text
//! version    types {id, name}    methods {id, name, signature}
//! callCountProfiles    {ctx, [count]}                numbers of calls
//! conditionalProfiles  {ctx, [bci, index, count]*}   counts of branch targets
//! virtualInvokeProfiles, instanceofProfiles, monitorProfiles  {ctx, [type, count]*}
//! samplingProfiles     {ctx, [count]}                sampled stacks and their counts
//! ```
//!
//! A `ctx` is a chain of `method:bci` joined with `<`, the innermost frame first.
//!
//! | version | description |
//! | --- | --- |
//! | 0.2, 0.3 | other field names (GraalVM 22); read, never written |
//! | 0.4 | as 1.0, before it was published |
//! | 1.0 | the first published schema |
//! | 1.1 | adds instance-of profiles, spelled `instanceofProfiles` in the schema and `instanceOfProfiles` in files |
//! | 1.2 and later | read as 1.1; unknown members are kept unchanged |
//! | 2 and later | another encoding by definition: rejected |
//!
//! A [`Reader`] reads a [`Document`] from a file, a [`Merger`] merges several, and a [`Writer`] writes one.
//! [`Reader::check`], `statistics::read_statistics` and [`Merger::add_from`] process entry by entry and store no
//! document.

/// Defines a handle of an item of a collection with fewer than 2^32 items.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            #[inline]
            pub(crate) fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect(concat!("fewer than 2^32 ", $what)))
            }

            /// Returns the index, starting at 0.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// Returns the index as a number. It is only valid for its document.
            #[inline]
            pub fn number(self) -> u32 {
                self.0
            }

            /// Returns the handle of a [`number`](Self::number).
            #[inline]
            pub fn from_number(number: u32) -> Self {
                Self(number)
            }
        }
    };
}

#[cfg(feature = "families")]
pub(crate) mod compare;
pub(crate) mod context;
pub(crate) mod document;
#[cfg(feature = "families")]
mod draw;
pub(crate) mod findings;
mod json;
pub(crate) mod merge;
mod read;
mod reader;
pub(crate) mod sections;
#[cfg(feature = "serde")]
mod serialize;
#[cfg(feature = "families")]
#[doc(hidden)]
pub mod statistics;
pub(crate) mod tables;
mod transform;
mod window;
pub(crate) mod writer;

#[cfg(feature = "families")]
pub use compare::{Applicability, Fit, SectionFit};
pub use context::{ContextHandle, ContextTree, Frame, bci};
pub use document::{Document, InstanceofSpelling, Table, Version};
#[cfg(feature = "families")]
pub use draw::IprofContent;
#[cfg(feature = "families")]
pub(crate) use draw::report;
pub use findings::{Code, Finding, Findings, Level, Repair, Verdict};
pub(crate) use json::write_string;
pub(crate) use merge::scale;
pub use merge::{Added, BranchClash, MergeOptions, MergeReport, Merger, SectionTotals, SectionWeights, Weight, merge};
pub use read::{CheckReport, ReadReport, Reader};
pub(crate) use read::{evidence, has_tables_only, is_json};
pub use reader::{PartSize, ReadOptions};
pub use sections::{BranchRow, CountEntry, MAX_COUNT, Records, RowSection, SectionKind, Sections, TypeCount};
pub(crate) use tables::{Mapping, name_at};
pub use tables::{MethodHandle, Tables, TypeHandle, display_name};
pub(crate) use transform::sorted;
pub use transform::{MethodFilter, RepairOptions, Repaired, canonical, canonical_with, repair_from};
pub use writer::{Layout, WriteOptions, Writer, reformat};

/// Returns the number of threads for the entries of a file.
fn entry_threads(asked: Option<std::num::NonZeroUsize>) -> usize {
    // One thread uses the results of the others. With more threads, they would wait for it.
    crate::threads::wanted(asked).get().min(8)
}
