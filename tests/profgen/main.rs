//! Compares sample profiles from branch records with `llvm-profgen`, and tests that compilers use them. A
//! single-stepper records the branches, so that no hardware support is needed. Plain samples come from perf.

#[path = "../compat/schema.rs"]
mod schema;
#[path = "../fit/support.rs"]
#[allow(dead_code, reason = "it has more than this test needs")]
mod support;

mod commands;
mod contexts;
mod genuine;
mod plain;
mod probes;
mod recording;
