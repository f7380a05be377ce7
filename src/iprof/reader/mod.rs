//! Reading iprof files: element by element, from memory or from a stream.
//!
//! The tables are kept, entries go to a [`Sink`] one at a time, and faults become [findings](crate::iprof::findings). A
//! sink sees valid entries only: an entry with an error is dropped or, if its meaning is beyond doubt, repaired, and
//! the findings say so. So the same reader serves strict readers (who reject a file with errors), the check and the
//! repair.
//!
//! Sections may come before the tables that explain them; their text is then kept until the tables were read.

mod document;
mod entries;
mod ids;
mod reading;
mod tables;
mod text;
mod validate;

pub(crate) use document::{is_known_member, read_stream, read_with};
pub(crate) use entries::{Entry, NullSink, Sink};
pub(crate) use reading::Reading;
pub use reading::{PartSize, ReadOptions};
