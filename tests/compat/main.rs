//! In llvm-profdata mode, the program behaves like llvm-profdata.
//!
//! [`genuine`] runs both over the same command lines and compares standard
//! output, standard error, exit status and the file written; it skips loudly
//! without llvm-profdata-22. [`golden`] needs nothing: it keeps what the
//! genuine tool said. [`ours`] is about the same commands under our own name,
//! [`versions`] about files of other versions, and about other releases.

mod both;
mod examples;
mod genuine;
mod golden;
mod ours;
mod random;
mod schema;
mod versions;
