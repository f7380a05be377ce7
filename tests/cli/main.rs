//! Tests of the program's command line: exit codes, messages, and files that must stay unchanged.

mod advice;
mod answers;
mod bad_input;
#[cfg(unix)]
mod closed_output;
mod compressed;
mod cross_release;
#[cfg(unix)]
mod doctor;
mod identify;
mod inputs;
#[cfg(unix)]
mod interop;
mod kinds;
mod manual;
mod numbers;
#[cfg(unix)]
mod open_outputs;
mod outputs;
mod program;
#[path = "../compat/schema.rs"]
mod schema;
mod spelling;
mod target;
