//! Threads that share work without changing what comes of it.
//!
//! [`ordered_writer`]: several make parts of an output, which are written in order.
//! [`ordered_workers`]: several work on what one hands out and takes back in order.
//! [`batch_channel`]: one makes batches and another uses them.

pub(crate) mod batch_channel;
pub(crate) mod ordered_workers;
pub(crate) mod ordered_writer;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Threads to use: as many as asked for, or else as can run at a time.
pub(crate) fn wanted(asked: Option<NonZeroUsize>) -> NonZeroUsize {
    asked.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// Starts a thread of a scope. Where the system has none to spare, the work is
/// given back: whoever asked does it, or goes on with the threads there are.
pub(crate) fn start<'scope, 'env, F, T>(
    scope: &'scope Scope<'scope, 'env>,
    work: F,
) -> Result<ScopedJoinHandle<'scope, T>, F>
where
    F: FnOnce() -> T + Send + 'scope,
    T: Send + 'scope,
{
    #[cfg(test)]
    if refusal::refuses() {
        return Err(work);
    }
    // A thread that was refused has dropped what it was given.
    let slot = Arc::new(Mutex::new(Some(work)));
    let theirs = Arc::clone(&slot);
    let taken = |slot: &Mutex<Option<F>>| {
        slot.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
            .expect("either the thread takes the work or it is given back")
    };
    let started = Builder::new().spawn_scoped(scope, move || taken(&theirs)());
    started.map_err(|_| taken(&slot))
}

/// Refusing threads in tests.
#[cfg(test)]
pub(crate) mod refusal {
    use std::cell::Cell;

    thread_local! {
        static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// Runs `work`, during which this thread may start so many threads.
    pub(crate) fn after<T>(threads: usize, work: impl FnOnce() -> T) -> T {
        LEFT.set(Some(threads));
        let done = work();
        LEFT.set(None);
        done
    }

    pub(super) fn refuses() -> bool {
        let Some(left) = LEFT.get() else { return false };
        LEFT.set(Some(left.saturating_sub(1)));
        left == 0
    }
}
