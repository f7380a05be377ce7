//! Tests with programs that call llvm-profdata, which is replaced by profbridge.
//!
//! [`lines`] runs the command lines that clients build; [`cargo`] runs installed clients. Both compare with the real
//! tool and are skipped with a message if it is missing. [`older`] tests toolchains of older releases.

#![cfg(unix)]

mod cargo;
mod lines;
mod older;
mod workspace;
