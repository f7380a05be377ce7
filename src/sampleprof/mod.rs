//! LLVM sample profiles (AutoFDO, CSSPGO): read, merge, show, write.
//!
//! ```text
//! text | binary | ext | gcc ─▶ SampleProfile ─▶ Merger ─▶ text | binary | ext
//! ```
//!
//! A profile is a set of [`FunctionRecord`]s: samples by line and discriminator,
//! call targets, and the inlined callees with records of their own. A record may
//! stand for a function in one calling context. Releases of LLVM differ in
//! details, which [`Rules`] names.

mod binary;
mod chain;
mod error;
mod evidence;
mod ext;
mod gcc;
mod hash;
mod merge;
mod names;
mod options;
mod order;
pub mod overlap;
pub mod partial;
mod profile;
mod read;
mod record;
mod rules;
#[cfg(feature = "serde")]
mod serialize;
pub mod show;
mod summary;
mod supplement;
mod table;
mod targets;
mod text;
mod view;
mod write;

pub use error::{is_text_fault, llvm_message};
pub use evidence::evidence;
pub use ext::{describe_sections, extent};
pub use merge::{ColdContexts, Layout, Merger, RecordFault};
pub use names::{FunctionName, NameId, Names};
pub use options::{Encoding, ReadOptions};
pub use profile::{Kind, SampleProfile, StatedKind, SymbolList};
pub(crate) use read::text_fault;
pub use read::{detect, read, read_into};
pub use record::{BodyEntry, CallSite, Frame, FunctionRecord, LineLocation, MAX_INLINE_DEPTH, VtableEntry, attributes};
pub use rules::Rules;
pub use summary::{COLD_CUTOFF, CUTOFFS, HOT_CUTOFF, Summary, SummaryRow};
pub use supplement::{SupplementOptions, supplement};
pub use targets::{CallTarget, CallTargets};
pub use view::SampleProfileView;
pub(crate) use write::written;
pub use write::{WriteOptions, check_writable, losses, write};
