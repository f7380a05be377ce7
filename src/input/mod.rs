//! Inputs: a file or standard input is opened and its format is detected.
//!
//! Formats are detected from the content, never from the name. Files are read into memory by default. Mapping is
//! available for callers that need a few parts of a huge file, see [`bytes::Access`].

pub(crate) mod buffer;
pub(crate) mod bytes;
mod file;
mod list;
pub mod output;
mod pages;
mod pipe;
pub(crate) mod source;
mod stable_file;
pub(crate) mod system_calls;
mod temporary;
mod version;

pub use crate::identify::{Family, Format, Identity, OtherFormat, detect};
pub(crate) use buffer::ReadBuffer;
pub use bytes::{Access, InputBytes};
pub use list::InputList;
pub(crate) use list::has_profile_extension;
#[doc(hidden)]
pub use list::parse_list;
pub use source::{Input, InputProbe, WeightedInput, open};
pub(crate) use stable_file::StableFile;
pub use version::FormatVersion;
