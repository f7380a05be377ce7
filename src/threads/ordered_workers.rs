//! Threads that work on jobs, whose results come in the order of the jobs.

use crate::threads;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Scope;

/// Jobs on their way for each thread: one to work on, one to go on with.
const JOBS_A_THREAD: usize = 2;

/// Threads of a scope that work on what they are given. Who gives is one of them: it works on
/// the next job instead of waiting for one, and on all of them where the system has no thread to spare.
pub(crate) struct OrderedWorkers<'scope, T> {
    queue: Arc<Queue<T>>,
    work: Box<dyn Fn(&mut T) + 'scope>,
    /// So many jobs may be on their way.
    most: usize,
}

impl<'scope, T: Send + 'scope> OrderedWorkers<'scope, T> {
    /// Starts threads that end when this is dropped, one fewer than asked for or as many as there are.
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

    /// Whether every thread has enough to do.
    pub(crate) fn is_full(&self) -> bool {
        self.queue.lock().jobs.len() >= self.most
    }

    /// Whether half of the jobs on their way have come back: who gives several at a time seldom wakes a thread.
    pub(crate) fn is_low(&self) -> bool {
        2 * self.queue.lock().jobs.len() <= self.most
    }

    /// Whether there is nothing to [`take`](Self::take).
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.lock().jobs.is_empty()
    }

    /// Hands out a job.
    pub(crate) fn give(&mut self, job: T) {
        self.queue.lock().jobs.push_back(Job::Waiting(job));
        self.queue.is_given.notify_one();
    }

    /// The oldest job, once it is done.
    ///
    /// # Panics
    ///
    /// When the thread that worked on it did.
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

/// What the threads share.
struct Queue<T> {
    line: Mutex<Line<T>>,
    is_given: Condvar,
    is_done: Condvar,
}

/// Jobs on their way, oldest first.
struct Line<T> {
    jobs: VecDeque<Job<T>>,
    /// How many were begun, and how many of these were taken.
    begun: usize,
    taken: usize,
    /// Nothing is begun any more: nobody wants it, or a thread panicked.
    is_over: bool,
}

enum Job<T> {
    Waiting(T),
    Begun,
    Done(T),
}

struct Unfinished;

impl<T> Line<T> {
    /// The next job that nobody has begun, and its number.
    fn begin(&mut self) -> Option<(usize, T)> {
        let number = self.begun;
        let job = self.jobs.get_mut(number - self.taken)?;
        let Job::Waiting(job) = std::mem::replace(job, Job::Begun) else { unreachable!("jobs are begun in order") };
        self.begun += 1;
        Some((number, job))
    }

    fn end(&mut self, number: usize, job: T) {
        // Jobs in front of this one may have been taken meanwhile, but not this one.
        self.jobs[number - self.taken] = Job::Done(job);
    }

    /// The oldest job, if there is one.
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

    /// What a thread does until the end.
    fn serve(&self, work: impl Fn(&mut T)) {
        let _end = EndOnPanic(self);
        let mut line = self.lock();
        while !line.is_over {
            line = self.work_or_wait(line, &self.is_given, &work);
        }
    }

    /// Works on a job, or waits for news where all of them were begun.
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

/// Lets nobody wait for the job of a thread that panicked.
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
