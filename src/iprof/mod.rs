//! GraalVM iprof: document model, reader, writer, check, repair, merge.

pub mod context;
pub mod document;
mod json;
pub mod names;
pub mod sections;
pub mod tables;
pub mod version;
pub mod writer;

pub use context::{ContextHandle, ContextTree, Frame, bci};
pub use document::{Document, InstanceofSpelling, Table};
pub use sections::{BranchRow, CountEntry, MAX_COUNT, RowSection, SectionKind, Sections, TypeCount};
pub use tables::{MethodHandle, Tables, TypeHandle};
pub use version::Version;
pub use writer::{Layout, WriteOptions, write, write_to};
