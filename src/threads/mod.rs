//! Threads that share work without changing what comes of it.
//!
//! [`blocks`]: several make parts of an output, which are written in order.
//! [`turns`]: several work on what one hands out and takes back in order.
//! [`shuttle`]: one makes batches and another uses them.

pub(crate) mod blocks;
pub(crate) mod shuttle;
pub(crate) mod turns;

use std::num::NonZeroUsize;

/// Threads to use: as many as asked for, or else as can run at a time.
pub(crate) fn wanted(asked: Option<NonZeroUsize>) -> NonZeroUsize {
    asked.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}
