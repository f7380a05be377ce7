//! GraalVM iprof: document model, reader, writer, check, repair, merge.

pub mod context;
pub mod document;
pub mod findings;
mod json;
pub mod names;
mod read;
mod reader;
pub mod sections;
pub mod tables;
pub mod version;
mod window;
pub mod writer;

pub use context::{ContextHandle, ContextTree, Frame, bci};
pub use document::{Document, InstanceofSpelling, Table};
pub use findings::{Code, Finding, Findings, Level, Repair, Verdict};
pub use read::{Examination, examine, examine_from, read, read_from};
pub use reader::{PartSize, ReadOptions};
pub use sections::{BranchRow, CountEntry, MAX_COUNT, RowSection, SectionKind, Sections, TypeCount};
pub use tables::{MethodHandle, Tables, TypeHandle};
pub use version::Version;
pub use writer::{Layout, WriteOptions, write, write_to};
