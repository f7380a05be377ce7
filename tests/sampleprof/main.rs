//! Tests of sample profiles: files of the real tools, the installed tools themselves, and laws.

mod bad_files;
mod clang;
mod damaged;
mod drawing;
mod gcc;
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
