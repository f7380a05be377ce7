//! Programs that call llvm-profdata, with ours in its place.
//!
//! [`lines`] runs the command lines that clients build, as they build them;
//! [`cargo`] runs clients themselves where they are installed. Both compare
//! with the genuine tool and skip loudly without it. [`older`] is about toolchains
//! of older releases.

#![cfg(unix)]

mod cargo;
mod lines;
mod older;
mod workspace;
