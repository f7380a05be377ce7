//! Measures how much of a profile a newer build of the program can use.
//!
//! Compilers drop records that no longer match, with a warning at best. This module compares a profile with the
//! functions of the new build like its compiler:
//!
//! ```text
//! program | library | raw, indexed profile ─▶ Program ─┐
//! profile ─────────────────────────────────────────────┴▶ records ─▶ FitReport ─▶ text, JSON, HTML
//!                                                            └─▶ remapping file, pruned profile
//! ```
//!
//! A function is found by its name and its FuncHash (in a sample profile: by its name and its checksum or lines; in an
//! iprof: by its method and its bytecode indexes). If it is not found, it may have moved, which is certain, or may have
//! been renamed, which is a guess.

mod draw;
mod hashes;
mod instr;
mod methods;
mod names;
mod objects;
mod program;
mod report;
mod samples;
mod text;

pub use draw::draw_report;
pub(crate) use hashes::TargetsFit;
pub(crate) use instr::compare_instr;
pub(crate) use instr::{InstrFit, InstrInput};
#[doc(hidden)]
pub use methods::{CodeSites, JavaProgram};
pub(crate) use methods::{MethodsFit, compare_methods};
pub(crate) use names::RemappingFile;
pub(crate) use objects::{ProgramFacts, fat_architectures, readers};
#[doc(hidden)]
pub use objects::{read_program, read_sampled_program};
pub(crate) use program::{Program, ProgramFunction, ProgramSource};
pub use report::{Class, ProgramClass};
pub use report::{ClassRow, FitReport, LostFunction, ProgramRow, Pruned, ReleaseFinding, Releases, SectionRow};
pub use report::{Gate, GateShare};
pub(crate) use samples::SampledProgram;
pub(crate) use samples::SamplesFit;
pub(crate) use samples::compare_samples;
pub(crate) use samples::program_of_samples;
pub use text::write_text;
