//! Threads that share work without changing the result.
//!
//! [`ordered_writer`]: several threads create parts of an output, which are written in order.
//! [`ordered_workers`]: several threads work on jobs whose results are taken in order.
//! [`batch_channel`]: one thread fills batches and another one uses them.

pub(crate) mod batch_channel;
pub(crate) mod ordered_workers;
pub(crate) mod ordered_writer;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Returns the number of threads: the given number, otherwise the number that can run in parallel.
pub(crate) fn wanted(asked: Option<NonZeroUsize>) -> NonZeroUsize {
    asked.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN)
}

/// Starts a scoped thread. If the system cannot start one, the work is returned, and the caller does it itself or
/// continues with fewer threads.
///
/// All threads of this library are started here.
pub(crate) fn start<'scope, 'env, F, T>(
    scope: &'scope Scope<'scope, 'env>,
    work: F,
) -> Result<ScopedJoinHandle<'scope, T>, F>
where
    F: FnOnce() -> T + Send + 'scope,
    T: Send + 'scope,
{
    start_with(scope, work, |work| work())
}

/// Like [`start`], for work that needs a value which must be returned if no thread starts.
pub(crate) fn start_with<'scope, 'env, S, T>(
    scope: &'scope Scope<'scope, 'env>,
    needed: S,
    work: impl FnOnce(S) -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, S>
where
    S: Send + 'scope,
    T: Send + 'scope,
{
    #[cfg(test)]
    if refusal::refuses() {
        return Err(needed);
    }
    // A refused thread has dropped its closure.
    let slot = Arc::new(Mutex::new(Some(needed)));
    let theirs = Arc::clone(&slot);
    let taken = |slot: &Mutex<Option<S>>| {
        slot.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
            .expect("either the thread takes it or it is given back")
    };
    let started = Builder::new().spawn_scoped(scope, move || work(taken(&theirs)));
    started.map_err(|_| taken(&slot))
}

/// Work that runs on a thread if one is available, and otherwise when its result is requested.
pub(crate) enum Task<'scope, T, F> {
    Started(ScopedJoinHandle<'scope, T>),
    Deferred(F),
}

impl<'scope, T: Send + 'scope, F: FnOnce() -> T + Send + 'scope> Task<'scope, T, F> {
    pub(crate) fn start(scope: &'scope Scope<'scope, '_>, work: F) -> Self {
        start(scope, work).map_or_else(Self::Deferred, Self::Started)
    }

    /// Returns the result; resumes the panic of a thread that panicked.
    pub(crate) fn finish(self) -> T {
        match self {
            Self::Started(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Self::Deferred(work) => work(),
        }
    }
}

/// Runs `work` for every job, the first one on this thread and the others on threads of their own. The results are in
/// the order of the jobs.
pub(crate) fn share<J: Send, T: Send>(jobs: impl IntoIterator<Item = J>, work: impl Fn(J) -> T + Sync) -> Vec<T> {
    let (work, mut jobs) = (&work, jobs.into_iter());
    let Some(first) = jobs.next() else { return Vec::new() };
    std::thread::scope(|scope| {
        let others: Vec<_> = jobs.map(|job| Task::start(scope, move || work(job))).collect();
        let mut done = Vec::with_capacity(others.len() + 1);
        done.push(work(first));
        done.extend(others.into_iter().map(Task::finish));
        done
    })
}

/// Refusal of threads in tests.
#[cfg(test)]
pub(crate) mod refusal {
    use std::cell::Cell;

    thread_local! {
        static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// Runs `work` while this thread can start only the given number of threads.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_work_comes_back_in_order_however_many_threads_there_are() {
        let run = || share(0..20u64, |number| number * number);
        let expected: Vec<u64> = (0..20).map(|number| number * number).collect();
        assert_eq!(run(), expected);
        for threads in [0, 1, 7] {
            assert_eq!(refusal::after(threads, run), expected, "{threads} threads");
        }
        assert!(share(Vec::<u64>::new(), |number| number).is_empty());
    }

    #[test]
    fn work_without_a_thread_is_returned() {
        std::thread::scope(|scope| {
            let needed = vec![1, 2, 3];
            let refused = refusal::after(0, || start_with(scope, needed, |needed| needed.len()));
            let needed = refused.expect_err("no thread can be started");
            let started = start_with(scope, needed, |needed| needed.len());
            assert_eq!(started.ok().and_then(|thread| thread.join().ok()), Some(3));
        });
    }

    #[test]
    fn the_panic_of_a_thread_goes_on_here() {
        let run = || share([1, 2, 3], |number| assert_ne!(number, 3, "made to fail"));
        assert!(std::panic::catch_unwind(run).is_err());
    }
}
