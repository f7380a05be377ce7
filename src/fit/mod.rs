//! Whether a profile will still be used by a newer build of the program.
//!
//! Compilers drop what no longer matches, with a warning at best. This compares
//! what a profile holds with the functions of the new build, as its compiler
//! computes them:
//!
//! ```text
//! program | library | raw, indexed profile ─▶ Program ─┐
//! profile ─────────────────────────────────────────────┴▶ records ─▶ FitReport ─▶ text, JSON, HTML
//!                                                            └─▶ remapping file, what fits alone
//! ```
//!
//! A function is found by its name and its FuncHash (of a sample profile: by its
//! name and its checksum or its lines; of an iprof: by its method and the
//! positions in its bytecode). What is not found by name may be elsewhere or
//! under another name: that it moved can be told, that it was renamed is a guess.

mod bytecode;
mod class;
mod draw;
mod gate;
mod hashes;
mod instr;
mod java_program;
mod methods;
mod names;
mod objects;
mod program;
mod records;
mod remapping;
mod report;
mod sampled_program;
mod samples;
mod successors;
mod targets;
mod text;

pub use bytecode::CodeSites;
pub use class::{Class, ProgramClass};
pub use draw::draw_report;
pub use gate::{Gate, GateShare};
pub use instr::{InstrFit, InstrInput, compare_instr};
pub use java_program::{JavaProgram, MethodBody, MethodKey};
pub use methods::{MethodsFit, compare_methods};
pub use objects::{read_program, read_sampled_program};
pub use program::{Program, ProgramFunction, ProgramSource};
pub use records::{RecordFit, RecordsFit, compare as compare_records};
pub use remapping::{RemappingFile, write_remapping};
pub use report::{ClassRow, FitReport, LostFunction, ProgramRow, Pruned, ReleaseFinding, Releases, SectionRow};
pub use sampled_program::{SampledFunction, SampledProgram};
pub use samples::{SamplesFit, compare_samples, program_of_samples};
pub use targets::{MissingTarget, TargetsFit};
pub use text::write_text;
