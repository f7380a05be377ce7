//! Sample profiles, against files that the genuine tools wrote, against the
//! tools themselves where they are installed, and against laws.

mod bad_files;
mod clang;
mod damaged;
mod drawing;
mod generate;
mod genuine;
mod golden;
mod laws;
mod own;
mod profgen;
mod reports;
#[path = "../compat/schema.rs"]
mod schema;
mod symbols;
#[path = "../releases/toolchain.rs"]
#[allow(dead_code)]
mod toolchain;
#[path = "../interop/tools.rs"]
#[allow(dead_code)]
mod tools;
