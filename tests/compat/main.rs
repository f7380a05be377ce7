//! Tests that the program behaves like llvm-profdata in llvm-profdata mode.
//!
//! [`genuine`] runs both tools with the same command lines and compares standard output, standard error, exit code and
//! the written file. It is skipped with a message if llvm-profdata-22 is missing. [`golden`] compares with a recorded
//! output of the real tool. [`ours`] tests the same commands in profbridge mode, and [`versions`] tests files of other
//! versions and other releases.

mod both;
mod examples;
mod genuine;
mod golden;
mod ours;
mod random;
mod schema;
mod versions;
