//! Tests of faults around the program: full disks, kills, and inputs that change or are hostile. SECURITY.md documents
//! the results.
#![cfg(unix)]

mod directories;
mod inputs;
mod kills;
mod limits;
mod many;
mod memory;
mod outputs;
mod program;
mod safety;
mod terminal;
mod threads;
mod together;
mod watch;
mod windows;
