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
//! Each encoding has one file with its reader. [`reader`] and [`writer`] choose among them.

mod binary;
mod compact;
mod draw;
mod ext_binary;
mod ext_writer;
mod gcc;
mod layout;
mod merge_record;
mod merger;
mod options;
mod order;
pub mod overlap;
pub mod partial;
mod partial_state;
mod profile;
mod reader;
mod record;
#[cfg(feature = "serde")]
mod serialize;
pub mod show;
mod supplement;
mod text;
mod text_writer;
mod writer;

pub use draw::SampleContent;
pub(crate) use draw::{SampleSum, report};
pub use ext_binary::{describe_sections, extent};
pub use layout::{ColdContexts, Layout};
pub use merge_record::RecordFault;
pub use merger::Merger;
pub use options::{Encoding, ReadOptions, Rules, WriteOptions, is_text_fault, llvm_message};
pub use profile::{COLD_CUTOFF, CUTOFFS, HOT_CUTOFF, Kind, SampleProfile, StatedKind, Summary, SummaryRow, SymbolList};
pub(crate) use reader::text_fault;
pub use reader::{SampleProfileView, detect, evidence, read, read_into};
pub use record::{
    BodyEntry, CallSite, CallTarget, CallTargets, Frame, FunctionName, FunctionRecord, LineLocation, MAX_INLINE_DEPTH,
    NameId, Names, VtableEntry, attributes,
};
pub use supplement::{SupplementOptions, supplement};
pub(crate) use writer::written;
pub use writer::{check_writable, losses, write};
