//! Compiler profiles: read, merge, show, convert, check.
//!
//! Five families of profiles, each with a model that is independent of file formats, its readers, writers and merge:
//!
//! | family | producer | files | model |
//! |---|---|---|---|
//! | [`instr`] | programs built with LLVM's instrumentation (clang, rustc, Swift) | [`raw`], [`indexed`], [`text`] | [`Profile`] |
//! | [`sampleprof`] | samplers, for LLVM: text, binary, extensible binary, GCC's | the same module | [`sampleprof::SampleProfile`] |
//! | [`memprof`] | programs built with `-fmemory-profile`: raw, YAML, a section of indexed files | the same module | [`memprof::MemoryProfile`] |
//! | [`iprof`] | GraalVM native images | the same module | [`iprof::Document`] |
//! | [`stacks`] | sampled stacks: Flight Recorder, collapsed, pprof | the same module | [`call_chains::StackTable`] |
//!
//! ```text
//!         identify: each family evaluates the evidence for its formats
//!           │
//! bytes ─▶ input ─▶ raw | indexed | text ─────▶ instr ─┐
//!                   sampleprof: text, binary … ────────┤
//!                   memprof: raw, YAML, section ───────┼─▶ merge of that family ─▶ its writers ─▶ output, replaced atomically
//!                   iprof ─────────────────────────────┤            │
//!                   stacks: recordings, collapsed … ───┘            └─▶ render
//!                   bridge: instr ⇄ iprof, stacks ⇄ iprof                families combines all of it
//! ```
//!
//! There are three levels of use: [`Profile::open`], [`families::AnyProfile::open`] and similar functions; [`families`], which processes files like
//! the program; and the modules of the formats, with views that borrow the file ([`raw::RawProfile`],
//! [`indexed::IndexedProfile`]) and a stream of records ([`instr::ProfileReader`]).
//!
//! Read, merge, look up, write:
//!
//! ```
//! use profbridge::families::ReadOptions;
//! use profbridge::instr::{MergeOptions, Merger, Release};
//! use profbridge::{OutputFormat, Profile};
//!
//! let mut merger = Merger::new(MergeOptions::default());
//! for (path, weight) in [("testdata/raw/clang-14-ir.profraw", 1), ("testdata/raw/clang-16-ir.profraw", 3)] {
//!     let read = Profile::open(path, &ReadOptions::default())?;
//!     assert!(read.warnings.is_empty());
//!     merger.add(&read.value, weight)?;
//! }
//! let merged = merger.finish()?;
//! assert!(merged.warnings.is_empty());
//! let profile = merged.value;
//! let main = profile.functions.find(b"main").expect("every program has one");
//! println!("{} records of main, {} functions", main.records().count(), profile.functions.len());
//! let written = profile.to_bytes(OutputFormat::for_release(Release(16)))?;
//! assert!(written.bytes.starts_with(b"\xfflprofi\x81") && written.losses.is_empty());
//! # Ok::<(), profbridge::Error>(())
//! ```
//!
//! # Features
//!
//! | feature | default | effect |
//! |---|---|---|
//! | `cli` | on | the program `profbridge` |
//! | `families` | with `cli` | operations on files of any family: the modules `families`, `bridge`, `generate`, `render`, and all reports |
//! | `correlate` | with `cli` | names and records from debug info or the unstripped binary; implies `families` |
//! | `regex` | with `families` | regular expressions in filters; without it they are an error |
//! | `demangle` | with `families` | demangled names of C++ and Rust; without it names stay mangled |
//! | `serde` | with `families` | `Serialize` and `Deserialize` for the models of all families |
//! | `zstd` | on | zstd streams, read and written |
//! | `xz` | on | xz streams, read |
//! | `zlib-exact` | on | the bytes of zlib itself where LLVM compresses |
//! | `tracing-counters` | off | threads of a merge measure their work, for those who work on it |
//!
//! A library that reads, merges in memory and writes profiles needs none of them: `default-features = false` has 20
//! crates.
//!
//! # Promises
//!
//! File content cannot cause a panic, and no allocation uses a length before it was compared with the available bytes
//! ([`Limits`]). Errors contain path, format, section, offset and a hint ([`Error`]). Equal inputs give equal bytes,
//! whatever the number of threads. Names are bytes. [`Compat`] defines the differences to llvm-profdata.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(feature = "correlate"),
    allow(dead_code, unused_imports, rustdoc::broken_intra_doc_links, reason = "other features use and document them")
)]

mod ascii;
#[cfg(feature = "families")]
pub mod bridge;
pub mod bytes;
mod cancel;

pub mod call_chains;
mod compat;
pub mod compression;
mod digits;
#[doc(hidden)]
pub mod driver;
pub mod error;
mod error_report;
mod expressions;
#[cfg(feature = "families")]
pub mod families;
mod family;
#[cfg(feature = "correlate")]
#[doc(hidden)]
pub mod fit;
#[doc(hidden)]
pub mod gates;
#[cfg(feature = "families")]
#[doc(hidden)]
pub mod generate;
mod hint;
pub mod identify;
pub mod indexed;
pub mod input;
pub mod instr;
pub mod iprof;
#[doc(hidden)]
pub mod java;
mod limits;
mod memory;
pub mod memprof;
mod model;
pub mod names;
mod number_format;
#[cfg(feature = "correlate")]
mod objects;
#[doc(hidden)]
pub mod partial;
mod perf;
#[cfg(feature = "correlate")]
#[doc(hidden)]
pub mod profgen;
pub mod raw;
#[cfg(feature = "families")]
pub mod render;
pub mod sampleprof;
pub mod stacks;
#[doc(hidden)]
pub mod system;
pub mod text;
mod threads;

pub use cancel::Cancel;
pub use compat::Compat;
pub use error::{Error, ErrorKind, Result, Warning, WithWarnings};
pub use error_report::ErrorReport;
pub use family::Family;
pub use hint::{Hint, ImagePart};
pub use instr::Profile;
pub use instr::encode::OutputFormat;
pub use limits::Limits;

/// The examples of the README and of the pages in `docs` compile and run.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/library.md")]
    struct Library;
    #[doc = include_str!("../docs/internals/partial-format.md")]
    struct PartialFormat;
}
