//! A path, or `-` for standard input, becomes bytes whose format is known.
//!
//! Formats are recognised by content, never by name. Files are read into
//! memory by default; mapping is there for callers that look up a few things
//! in a huge file, see [`bytes::Access`].

pub mod buffer;
pub mod bytes;
pub mod detect;
mod file;
pub mod list;
pub mod once;
pub mod output;
mod pages;
pub mod stream;

pub use buffer::ReadBuffer;
pub use bytes::{Access, InputBytes, inflate, open, read_into, read_stream};
pub use detect::{Format, detect};
pub use list::{InputList, WeightedInput};
pub use once::comes_once;
pub use stream::{InputStream, format_of, head_of, open_stream};
