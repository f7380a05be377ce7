//! The program as a user meets it: exit codes, messages, files left alone.

mod bad_input;
#[cfg(unix)]
mod closed_output;
mod compressed;
mod cross_release;
#[cfg(unix)]
mod doctor;
mod identify;
mod inputs;
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
