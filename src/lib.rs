//! Profiles that optimizing compilers are fed: read, merge, show, convert, check.
//!
//! ```text
//! bytes ─▶ input ─▶ raw | indexed | text ─▶ model ─▶ merge ─▶ indexed | text | raw writers
//!         (detect)  sampleprof: text, binary, extensible binary ─▶ its merge ─▶ its writers
//!                   memprof: raw, YAML, indexed section ─▶ its merge ─▶ its writers
//!                   sample: recordings, collapsed stacks, pprof ─▶ its merge ─▶ its writers
//!                   iprof ─▶ its merge ─▶ its writer          └─▶ report, picture
//!                   bridge: model ⇄ iprof, stacks ⇄ iprof
//! ```
//!
//! Read, merge, look up, write:
//!
//! ```
//! use profbridge::merge::{MergeOptions, Merger};
//! use profbridge::instr::Release;
//! use profbridge::{OutputFormat, Profile};
//!
//! let mut merger = Merger::new(MergeOptions::default());
//! for (path, weight) in [("testdata/raw/clang-14-ir.profraw", 1), ("testdata/raw/clang-16-ir.profraw", 3)] {
//!     merger.add_profile(&Profile::from_path(path)?, weight)?;
//! }
//! let profile = merger.finish();
//! let main = profile.functions.find(b"main").expect("every program has one");
//! println!("{} records of main, {} functions", main.records().count(), profile.functions.len());
//! let bytes = profile.to_bytes(OutputFormat::for_release(Release(16)))?;
//! assert!(bytes.starts_with(b"\xfflprofi\x81"));
//! # Ok::<(), profbridge::Error>(())
//! ```
//!
//! Features, all on by default: `cli` (the program), `correlate` (records from debug info or the
//! unstripped binary), `zlib-exact` (the bytes of zlib itself, as LLVM writes them).
//!
//! [`pipeline`] drives all of it; the program `profbridge` only turns
//! arguments into its options and results into text. Below the modules stand
//! what all may use: errors, limits, compat, digits, large pages of memory, and
//! threads that share work without changing its outcome.

pub mod bridge;
pub mod bytes;
pub mod compat;
mod digits;
pub mod error;
pub mod indexed;
pub mod input;
pub mod instr;
pub mod iprof;
pub mod limits;
mod memory;
pub mod memprof;
pub mod merge;
#[cfg(feature = "correlate")]
mod objects;
pub mod partial;
pub mod pipeline;
pub mod raw;
pub mod render;
pub mod report;
pub mod sampleprof;
pub mod stacks;
pub mod text;
mod threads;

pub use compat::Compat;
pub use error::{Error, ErrorKind, Result, Warning};
pub use instr::Profile;
pub use limits::Limits;
pub use pipeline::OutputFormat;

/// The example of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
