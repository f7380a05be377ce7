//! Threads that take turns, so that results come in the order of the jobs.

use crate::threads;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

/// Jobs on their way for each thread: one to work on, one to go on with.
const JOBS_A_THREAD: usize = 2;

/// Threads of a scope, each of which works on what it was given and gives it back.
/// Where the system has none to spare, the work is done when it is given.
pub(crate) struct OrderedWorkers<'scope, T> {
    workers: Vec<(Sender<T>, Receiver<T>)>,
    /// Who has which job, oldest first.
    given: VecDeque<usize>,
    next: usize,
    work: Box<dyn Fn(&mut T) + 'scope>,
    /// Jobs that were done here.
    done: VecDeque<T>,
}

impl<'scope, T: Send + 'scope> OrderedWorkers<'scope, T> {
    /// Starts threads that end when this is dropped: so many, or as many as there are.
    pub(crate) fn start(
        scope: &'scope Scope<'scope, '_>,
        threads: usize,
        work: impl Fn(&mut T) + Clone + Send + 'scope,
    ) -> Self {
        let worker = |_| {
            let (jobs, waiting) = channel::<T>();
            let (finished, done) = channel();
            let work = work.clone();
            let started = threads::start(scope, move || {
                for mut job in waiting {
                    work(&mut job);
                    if finished.send(job).is_err() {
                        break;
                    }
                }
            });
            started.is_ok().then_some((jobs, done))
        };
        Self {
            workers: (0..threads).map_while(worker).collect(),
            given: VecDeque::new(),
            next: 0,
            work: Box::new(work),
            done: VecDeque::new(),
        }
    }

    /// Whether every thread has enough to do.
    pub(crate) fn is_full(&self) -> bool {
        self.given.len() + self.done.len() >= (JOBS_A_THREAD * self.workers.len()).max(1)
    }

    /// Whether there is nothing to [`take`](Self::take).
    pub(crate) fn is_empty(&self) -> bool {
        self.given.is_empty() && self.done.is_empty()
    }

    /// Gives the next thread a job.
    pub(crate) fn give(&mut self, mut job: T) {
        let Some((jobs, _)) = self.workers.get(self.next) else {
            (self.work)(&mut job);
            return self.done.push_back(job);
        };
        jobs.send(job).expect("a thread lives as long as its turns");
        self.given.push_back(self.next);
        self.next = (self.next + 1) % self.workers.len();
    }

    /// Waits for the oldest job.
    pub(crate) fn take(&mut self) -> Option<T> {
        let Some(worker) = self.given.pop_front() else { return self.done.pop_front() };
        Some(self.workers[worker].1.recv().expect("a thread gives every job back"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubled() -> Vec<u64> {
        std::thread::scope(|scope| {
            let mut turns = OrderedWorkers::start(scope, 3, |number: &mut u64| *number *= 2);
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
        assert_eq!(doubled(), expected);
        for threads in 0..3 {
            assert_eq!(threads::refusal::after(threads, doubled), expected, "{threads} threads");
        }
    }
}
