//! GraalVM iprof: document model, reader, writer, check, repair, merge.

mod canonical;
mod check;
pub mod compare;
pub mod context;
pub mod document;
pub mod figures;
pub mod findings;
mod json;
pub mod merge;
pub mod names;
mod read;
mod reader;
mod repair;
pub mod sections;
pub mod tables;
mod transform;
pub mod version;
mod window;
pub mod writer;

pub use canonical::{canonical, canonical_with};
pub use check::{CheckReport, check_from};
pub use context::{ContextHandle, ContextTree, Frame, bci};
pub use document::{Document, InstanceofSpelling, Table};
pub use findings::{Code, Finding, Findings, Level, Repair, Verdict};
pub use merge::{BranchClash, MergeOptions, MergeReport, Merger, SectionTotals, SectionWeights, Weight, merge};
pub use read::{Examination, examine, examine_from, read, read_from};
pub use reader::{PartSize, ReadOptions};
pub use repair::{RepairOptions, Repaired, repair_from};
pub use sections::{BranchRow, CountEntry, MAX_COUNT, RowSection, SectionKind, Sections, TypeCount};
pub use tables::{MethodHandle, Tables, TypeHandle};
pub use transform::MethodFilter;
pub use version::Version;
pub use writer::{Layout, WriteOptions, reformat, write, write_to};
