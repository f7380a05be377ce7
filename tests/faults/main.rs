//! What goes wrong around the program: full disks, kills, inputs that change or
//! lie, and what SECURITY.md promises about each.
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
