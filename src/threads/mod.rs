//! Threads that share work without changing what comes of it.
//!
//! [`ordered_writer`]: several make parts of an output, which are written in order.
//! [`ordered_workers`]: several work on what one hands out and takes back in order.
//! [`batch_channel`]: one makes batches and another uses them.

pub(crate) mod batch_channel;
pub(crate) mod ordered_workers;
pub(crate) mod ordered_writer;

use std::num::NonZeroUsize;

/// Threads to use: as many as asked for, or else as can run at a time.
pub(crate) fn wanted(asked: Option<NonZeroUsize>) -> NonZeroUsize {
    asked.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}
