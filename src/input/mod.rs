//! Inputs: a file or standard input is opened and its format is detected.
//!
//! Formats are detected from the content, never from the name. Files are read into memory by default. Mapping is
//! available for callers that need a few parts of a huge file, see [`bytes::Access`].

pub mod buffer;
pub mod bytes;
mod file;
pub mod list;
pub mod output;
mod pages;
mod pipe;
pub mod source;
mod stable_file;
pub(crate) mod system_calls;
mod temporary;
mod version;

pub use crate::identify::{Family, Format, Identity, OtherFormat, detect};
pub use buffer::ReadBuffer;
pub use bytes::{Access, InputBytes};
pub use list::InputList;
pub use source::{Input, InputProbe, WeightedInput, open};
pub(crate) use stable_file::StableFile;
pub use version::FormatVersion;
