//! LLVM sample profiles (AutoFDO, CSSPGO): read, merge, show, compare and write them.
//!
//! ```text
//! text | binary | ext_binary | compact | gcc ─▶ SampleProfile ─▶ Merger ─▶ text | binary | ext_binary | compact
//! ```
//!
//! A profile is a set of [`FunctionRecord`]s: samples by line and discriminator, call targets, and the inlined callees,
//! which have records of their own. A record describes a function, or a function in one calling context. Releases of
//! LLVM differ in details, which [`Rules`] names.
//!
//! Each encoding has one file with its reader. `reader` and `writer` choose among them.

mod binary;
#[cfg(feature = "families")]
mod check;
mod compact;
mod density;
#[cfg(feature = "families")]
mod diff;
#[cfg(feature = "families")]
mod draw;
mod ext_binary;
mod ext_writer;
mod file_merge;
mod files;
mod finish;
mod gcc;
mod merge_record;
mod merge_report;
mod merger;
mod options;
mod order;
#[cfg(feature = "families")]
pub mod overlap;
#[doc(hidden)]
pub mod partial;
mod partial_files;
mod partial_state;
mod profile;
mod reader;
mod record;
mod search_trees;
#[cfg(feature = "serde")]
mod serialize;
#[cfg(feature = "families")]
#[doc(hidden)]
pub mod show;
mod supplement;
mod text;
mod text_writer;
mod writer;

#[cfg(feature = "families")]
pub(crate) use check::check;
pub(crate) use density::density;
#[cfg(feature = "families")]
pub(crate) use diff::diff_files;
#[cfg(feature = "families")]
pub use draw::SampleContent;
#[cfg(feature = "families")]
pub(crate) use draw::{SampleSum, report};
pub use ext_binary::describe_sections;
#[cfg(feature = "families")]
pub(crate) use ext_binary::states_unique_names;
pub use file_merge::merge_files;
pub(crate) use files::{SAMPLES_OF_PROGRAM, check_format, require_profile};
pub use files::{describe_file_sections, load_file, parse_symbols, read_file, read_functions, write_file};
pub use finish::Merged;
pub use merge_record::RecordFault;
pub use merge_report::{FailedMerge, FaultReport, FileMergeOptions, InputMessage, InputReports, MergeReport};
pub use merger::Merger;
pub use options::{
    COLD_CUTOFF, ColdContexts, Encoding, Filter, HOT_CUTOFF, Layout, MergeOptions, ReadOptions, Rules, SymbolList,
    Threshold, WriteOptions, is_text_fault, llvm_message,
};
pub(crate) use partial_files::decode;
pub(crate) use partial_files::encode_partial;
pub(crate) use partial_files::release_of_parts;
pub use partial_files::{finish_partial, merge_partially};

#[cfg(feature = "correlate")]
pub(crate) use merge_record::merge_record;
#[cfg(feature = "correlate")]
pub(crate) use merger::NameHashes;
#[cfg(feature = "correlate")]
pub(crate) use order::Chain;
#[cfg(feature = "families")]
pub use overlap::overlap_files;
#[cfg(feature = "families")]
pub(crate) use profile::total_count;
pub use profile::{CUTOFFS, Kind, SampleProfile, StatedKind, Summary, SummaryRow};
#[cfg(feature = "correlate")]
pub(crate) use profile::{push_context, summarize};
pub use reader::{SampleProfileView, detect, read};
pub(crate) use reader::{is_read_by, oldest_reader};
pub use record::{
    BodyEntry, CallSite, CallTarget, CallTargets, Frame, FunctionName, FunctionRecord, LineLocation, MAX_INLINE_DEPTH,
    NameId, Names, VtableEntry, attributes,
};
#[cfg(feature = "correlate")]
pub(crate) use record::{add_saturating, add_target};
pub use supplement::{SupplementOptions, supplement};
pub(crate) use text::parse_frames;
pub use writer::{check_writable, losses, write};
