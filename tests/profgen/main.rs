//! Sample profiles from branch records against `llvm-profgen`, and what compilers make of them. A single-stepper records
//! the branches, so that no hardware is needed.

#[path = "../compat/schema.rs"]
mod schema;
#[path = "../fit/support.rs"]
#[allow(dead_code, reason = "it has more than this test needs")]
mod support;

mod commands;
mod genuine;
mod recording;
