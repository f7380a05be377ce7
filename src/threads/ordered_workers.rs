//! Threads that work on jobs and return the results in the order of the jobs.

use crate::threads;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

/// The number of pending jobs per thread: one to work on and one to continue with.
const JOBS_A_THREAD: usize = 2;

/// Scoped threads that work on jobs. The thread that submits jobs is one of them: it works on the next job instead of
/// waiting for one, and on all of them if the system starts no other thread.
pub(crate) struct OrderedWorkers<'scope, T> {
    queue: Arc<Queue<T>>,
    work: Box<dyn Fn(&mut T) + 'scope>,
    /// The maximum number of pending jobs.
    most: usize,
}

impl<'scope, T: Send + 'scope> OrderedWorkers<'scope, T> {
    /// Starts threads that end when this is dropped: one fewer than the given number, or as many as the system allows.
    pub(crate) fn start(
        scope: &'scope Scope<'scope, '_>,
        threads: usize,
        work: impl Fn(&mut T) + Clone + Send + 'scope,
    ) -> Self {
        let queue = Arc::new(Queue::new());
        let start = |_| {
            let (queue, work) = (Arc::clone(&queue), work.clone());
            threads::start(scope, move || queue.serve(work)).ok()
        };
        let started = (1..threads).map_while(start).count();
        Self { queue, work: Box::new(work), most: if started == 0 { 1 } else { JOBS_A_THREAD * (started + 1) } }
    }

    /// Returns true if every thread has enough work.
    pub(crate) fn is_full(&self) -> bool {
        self.queue.lock().jobs.len() >= self.most
    }

    /// Returns true if at most half of the possible jobs are pending. Callers that then submit several at once wake
    /// threads less often.
    pub(crate) fn is_low(&self) -> bool {
        2 * self.queue.lock().jobs.len() <= self.most
    }

    /// Returns true if there is nothing to [`take`](Self::take).
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.lock().jobs.is_empty()
    }

    /// Submits a job.
    pub(crate) fn give(&mut self, job: T) {
        self.queue.lock().jobs.push_back(Job::Waiting(job));
        self.queue.is_given.notify_one();
    }

    /// Returns the oldest job, after it is finished.
    ///
    /// # Panics
    ///
    /// If the thread that worked on it panicked.
    pub(crate) fn take(&mut self) -> Option<T> {
        let mut line = self.queue.lock();
        loop {
            match line.take() {
                None => return None,
                Some(Ok(job)) => return Some(job),
                Some(Err(Unfinished)) => line = self.queue.work_or_wait(line, &self.queue.is_done, &self.work),
            }
        }
    }
}

impl<T> Drop for OrderedWorkers<'_, T> {
    fn drop(&mut self) {
        self.queue.end();
    }
}

/// The state that the threads share.
struct Queue<T> {
    line: Mutex<Line<T>>,
    is_given: Condvar,
    is_done: Condvar,
}

/// Pending jobs, oldest first.
struct Line<T> {
    jobs: VecDeque<Job<T>>,
    /// The number of started jobs, and how many of these were taken.
    begun: usize,
    taken: usize,
    /// Set if no more jobs are started: the owner was dropped, or a thread panicked.
    is_over: bool,
}

enum Job<T> {
    Waiting(T),
    Begun,
    Done(T),
}

struct Unfinished;

impl<T> Line<T> {
    /// Returns the next job that no thread has started, with its number.
    fn begin(&mut self) -> Option<(usize, T)> {
        let number = self.begun;
        let job = self.jobs.get_mut(number - self.taken)?;
        let Job::Waiting(job) = std::mem::replace(job, Job::Begun) else { unreachable!("jobs are begun in order") };
        self.begun += 1;
        Some((number, job))
    }

    fn end(&mut self, number: usize, job: T) {
        // Earlier jobs may have been taken in the meantime, but not this one.
        self.jobs[number - self.taken] = Job::Done(job);
    }

    /// Returns the oldest job, if there is one.
    fn take(&mut self) -> Option<Result<T, Unfinished>> {
        match self.jobs.pop_front()? {
            Job::Done(job) => {
                self.taken += 1;
                Some(Ok(job))
            }
            job => {
                self.jobs.push_front(job);
                Some(Err(Unfinished))
            }
        }
    }
}

impl<T> Queue<T> {
    fn new() -> Self {
        let line = Line { jobs: VecDeque::new(), begun: 0, taken: 0, is_over: false };
        Self { line: Mutex::new(line), is_given: Condvar::new(), is_done: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Line<T>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the loop of a thread until the end.
    fn serve(&self, work: impl Fn(&mut T)) {
        let _end = EndOnPanic(self);
        let mut line = self.lock();
        while !line.is_over {
            line = self.work_or_wait(line, &self.is_given, &work);
        }
    }

    /// Works on a job, or waits for a change if all jobs were started.
    fn work_or_wait<'q>(
        &'q self,
        mut line: MutexGuard<'q, Line<T>>,
        news: &Condvar,
        work: &impl Fn(&mut T),
    ) -> MutexGuard<'q, Line<T>> {
        let Some((number, mut job)) = line.begin() else {
            assert!(!line.is_over, "a thread panicked");
            return news.wait(line).unwrap_or_else(PoisonError::into_inner);
        };
        drop(line);
        work(&mut job);
        let mut line = self.lock();
        line.end(number, job);
        self.is_done.notify_one();
        line
    }

    fn end(&self) {
        self.lock().is_over = true;
        self.is_given.notify_all();
        self.is_done.notify_all();
    }
}

/// Prevents other threads from waiting for the job of a thread that panicked.
struct EndOnPanic<'q, T>(&'q Queue<T>);

impl<T> Drop for EndOnPanic<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubled(threads: usize) -> Vec<u64> {
        std::thread::scope(|scope| {
            let mut turns = OrderedWorkers::start(scope, threads, |number: &mut u64| *number *= 2);
            let (mut sent, mut taken) = (0, Vec::new());
            while taken.len() < 100 {
                while sent < 100 && !turns.is_full() {
                    turns.give(sent);
                    sent += 1;
                }
                taken.extend(turns.take());
            }
            assert!(turns.is_empty() && turns.take().is_none());
            taken
        })
    }

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
        let expected: Vec<u64> = (0..100).map(|number| number * 2).collect();
        for threads in 0..5 {
            assert_eq!(doubled(threads), expected, "{threads} threads");
            assert_eq!(threads::refusal::after(threads, || doubled(5)), expected, "{threads} threads to spare");
        }
    }

    #[test]
    fn untaken_results_are_dropped() {
        std::thread::scope(|scope| {
            let mut turns = OrderedWorkers::start(scope, 2, |number: &mut u64| *number += 1);
            (0..4).for_each(|number| turns.give(number));
            assert_eq!(turns.take(), Some(1));
        });
    }

    #[test]
    fn a_panic_ends_the_wait() {
        let outcome = std::panic::catch_unwind(|| {
            std::thread::scope(|scope| {
                let mut turns = OrderedWorkers::start(scope, 3, |number: &mut u64| assert!(*number < 2, "as expected"));
                (0..4).for_each(|number| turns.give(number));
                while turns.take().is_some() {}
            });
        });
        assert!(outcome.is_err());
    }
}
