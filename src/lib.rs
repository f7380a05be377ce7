//! Profiles that optimizing compilers are fed: read, merge, show, convert, check.
//!
//! ```text
//! bytes ─▶ input ─▶ raw | indexed | text ─▶ model ─▶ merge ─▶ indexed | text | raw writers
//!         (detect)        (readers)          │         │
//!                         iprof ◀─ bridge ───┘         └─▶ report
//! ```
//!
//! [`pipeline`] drives all of it; the program `profbridge` only turns
//! arguments into its options and results into text. Below the rooms stand
//! what all may use: errors, limits, manners, digits, large pages of memory, and
//! threads that share work without changing its outcome.

pub mod bridge;
pub mod bytes;
mod digits;
pub mod error;
pub mod indexed;
pub mod input;
pub mod iprof;
pub mod limits;
pub mod manner;
mod memory;
pub mod merge;
pub mod model;
pub mod picture;
pub mod pipeline;
pub mod raw;
pub mod report;
pub mod sample;
pub mod text;
mod threads;

pub use error::{Error, ErrorKind, Result, Warning};
pub use limits::Limits;
pub use manner::Manner;
