//! Extensible binary profiles: a table of sections behind magic and version.
//!
//! | type | section | holds |
//! |---|---|---|
//! | 1 | ProfileSummarySection | the summary |
//! | 2 | NameTableSection | names, or their MD5 |
//! | 3 | ProfileSymbolListSection | all functions of the program |
//! | 4 | FuncOffsetTableSection | where records begin |
//! | 5 | FunctionMetadata | checksums and attributes |
//! | 6 | CSNameTableSection | calling contexts |
//! | 32 | LBRProfileSection | the records |
//!
//! The table stands in the order in which sections are read, which is not that
//! of the file. Any section can be compressed.

mod metadata;
mod reader;
mod sections;
mod tables;
mod view;
mod writer;

pub(super) use reader::read;
pub use sections::{describe_sections, extent};
pub(super) use view::Index;
pub(super) use writer::{WriteOptions, write_records};

/// Magic of extensible binaries.
pub const MAGIC: u64 = 0x5350_524f_4634_3204;
