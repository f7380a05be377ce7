//! Compares the results of `fit` with compilers, and tests hostile files.

#[path = "../compat/schema.rs"]
mod schema;

mod bad_input;
mod commands;
mod java;
mod programs;
mod samples;
mod support;
mod truth;
