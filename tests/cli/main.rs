//! The program as a user meets it: exit codes, messages, files left alone.

mod bad_input;
mod cross_release;
mod identify;
mod program;
mod target;
