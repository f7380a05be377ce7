//! Threads that take turns, so that results come in the order of the jobs.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

/// Jobs on their way for each thread: one to work on, one to go on with.
const JOBS_A_THREAD: usize = 2;

/// Threads of a scope, each of which works on what it was given and gives it back.
pub(crate) struct OrderedWorkers<T> {
    workers: Vec<(Sender<T>, Receiver<T>)>,
    /// Who has which job, oldest first.
    given: VecDeque<usize>,
    next: usize,
}

impl<T: Send> OrderedWorkers<T> {
    /// Starts threads that end when this is dropped.
    pub(crate) fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        threads: usize,
        work: impl Fn(&mut T) + Clone + Send + 'scope,
    ) -> Self
    where
        T: 'scope,
    {
        let worker = |_| {
            let (jobs, waiting) = channel::<T>();
            let (finished, done) = channel();
            let work = work.clone();
            scope.spawn(move || {
                for mut job in waiting {
                    work(&mut job);
                    if finished.send(job).is_err() {
                        break;
                    }
                }
            });
            (jobs, done)
        };
        Self { workers: (0..threads).map(worker).collect(), given: VecDeque::new(), next: 0 }
    }

    /// Whether every thread has enough to do.
    pub(crate) fn is_full(&self) -> bool {
        self.given.len() >= JOBS_A_THREAD * self.workers.len()
    }

    /// Whether there is nothing to [`take`](Self::take).
    pub(crate) fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Gives the next thread a job.
    pub(crate) fn give(&mut self, job: T) {
        self.workers[self.next].0.send(job).expect("a thread lives as long as its turns");
        self.given.push_back(self.next);
        self.next = (self.next + 1) % self.workers.len();
    }

    /// Waits for the oldest job.
    pub(crate) fn take(&mut self) -> Option<T> {
        let worker = self.given.pop_front()?;
        Some(self.workers[worker].1.recv().expect("a thread gives every job back"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_jobs() {
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
            assert!(taken.into_iter().eq((0..100).map(|number| number * 2)));
        });
    }
}
