//! The room that knows every format: it opens inputs with the right reader,
//! hands files to workers, drives merging and chooses the writer.

pub mod encode;
mod images;
pub mod merge;
pub mod open;
pub mod pictures;
pub mod samples;
mod worker;

pub use encode::{Encoded, OutputFormat, WriteOptions, encode};
pub use merge::{
    FailureMode, Floors, InputOutcome, InputReport, MergeObserver, MergeOptions, MergeReport, Silent, merge_files,
};
pub use open::{ReadOptions, open_reader};
