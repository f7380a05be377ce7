//! Measurements of the threads of a merge, with the feature `tracing-counters` only.
//!
//! Each thread keeps its own figures, so that measuring does not synchronize threads. They are collected when a thread
//! ends.

/// The current activity of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Work without other threads: reading, decoding, comparing with an image, adding to its own sum.
    Alone,
    /// The turn of an input: one thread at a time.
    InTurn,
    /// A shard of value sites: one thread at a time, but many shards.
    AtShard,
    /// Waiting for another thread.
    Waiting,
}

#[cfg(not(feature = "tracing-counters"))]
mod silent {
    use super::Step;

    #[inline(always)]
    pub(crate) fn begin() {}
    #[inline(always)]
    pub(crate) fn enter(_: Step) {}
    #[inline(always)]
    pub(crate) fn shared(_: impl FnOnce() -> usize) {}
    #[inline(always)]
    pub(crate) fn shards(_: usize) {}
    #[inline(always)]
    pub(crate) fn end() {}
}

#[cfg(not(feature = "tracing-counters"))]
pub(crate) use silent::{begin, end, enter, shards, shared};

#[cfg(feature = "tracing-counters")]
mod counted {
    use super::Step;
    use std::cell::RefCell;
    use std::sync::{Mutex, PoisonError};
    use std::time::{Duration, Instant};

    /// The measurements of one thread.
    #[derive(Debug, Clone, Default)]
    #[non_exhaustive]
    pub struct WorkerTrace {
        /// Time of work without other threads.
        pub alone: Duration,
        /// Time in the turns of inputs.
        pub in_turn: Duration,
        /// Time at shards of value sites.
        pub at_shards: Duration,
        /// Waiting time.
        pub waiting: Duration,
        /// Bytes of counters and values written to memory that other threads write too.
        pub shared_bytes: u64,
        /// The number of shards that the value sites of an image could have.
        pub shards: usize,
    }

    struct Running {
        figures: WorkerTrace,
        step: Step,
        since: Instant,
    }

    impl Running {
        fn enter(&mut self, step: Step) {
            let now = Instant::now();
            let figures = &mut self.figures;
            let total = match self.step {
                Step::Alone => &mut figures.alone,
                Step::InTurn => &mut figures.in_turn,
                Step::AtShard => &mut figures.at_shards,
                Step::Waiting => &mut figures.waiting,
            };
            *total += now - self.since;
            (self.step, self.since) = (step, now);
        }
    }

    thread_local! {
        static OWN: RefCell<Option<Running>> = const { RefCell::new(None) };
    }

    static ENDED: Mutex<Vec<WorkerTrace>> = Mutex::new(Vec::new());

    fn with_own(change: impl FnOnce(&mut Running)) {
        OWN.with_borrow_mut(|own| {
            if let Some(own) = own {
                change(own);
            }
        });
    }

    pub(crate) fn begin() {
        let running = Running { figures: WorkerTrace::default(), step: Step::Alone, since: Instant::now() };
        OWN.set(Some(running));
    }

    pub(crate) fn enter(step: Step) {
        with_own(|own| own.enter(step));
    }

    pub(crate) fn shared(bytes: impl FnOnce() -> usize) {
        with_own(|own| own.figures.shared_bytes += bytes() as u64);
    }

    pub(crate) fn shards(worth: usize) {
        with_own(|own| own.figures.shards = own.figures.shards.max(worth));
    }

    pub(crate) fn end() {
        let Some(mut own) = OWN.take() else { return };
        own.enter(Step::Alone);
        ENDED.lock().unwrap_or_else(PoisonError::into_inner).push(own.figures);
    }

    /// Returns and clears the measurements of the threads so far.
    pub fn take_traces() -> Vec<WorkerTrace> {
        std::mem::take(&mut ENDED.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Predicts the time of a merge with the given number of threads, from the measurements of one that took `whole`.
    ///
    /// Work outside the threads and in turns is assumed to be sequential. The rest is divided evenly, but a shard of
    /// value sites occupies one thread at a time.
    pub fn predicted(traces: &[WorkerTrace], whole: Duration, threads: u32) -> Duration {
        let sum = |of: fn(&WorkerTrace) -> Duration| traces.iter().map(of).sum::<Duration>();
        let (alone, in_turn, at_shards) = (sum(|t| t.alone), sum(|t| t.in_turn), sum(|t| t.at_shards));
        let longest = traces.iter().map(|t| t.alone + t.in_turn + t.at_shards + t.waiting).max().unwrap_or_default();
        let worth = traces.iter().map(|t| t.shards).max().unwrap_or(0).max(1);
        let shards = (4 * threads).min(u32::try_from(worth).unwrap_or(u32::MAX));
        whole.saturating_sub(longest) + in_turn + ((alone + at_shards) / threads).max(at_shards / shards)
    }
}

#[cfg(feature = "tracing-counters")]
pub use counted::{WorkerTrace, predicted, take_traces};
#[cfg(feature = "tracing-counters")]
pub(crate) use counted::{begin, end, enter, shards, shared};

#[cfg(all(test, feature = "tracing-counters"))]
mod tests {
    use super::*;
    use std::time::Duration;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn turns_do_not_scale_and_shards_limit_the_rest() {
        let worker = || {
            let mut trace = WorkerTrace::default();
            (trace.alone, trace.in_turn, trace.at_shards, trace.shards) = (seconds(40), seconds(2), seconds(20), 10);
            trace
        };
        // Ten seconds outside the threads, four in turns; 120 seconds divided, 40 of them at ten shards.
        let predicted = |threads| predicted(&[worker(), worker()], seconds(72), threads);
        assert_eq!(predicted(1), seconds(134));
        assert_eq!(predicted(8), seconds(29));
        assert_eq!(predicted(60), seconds(18));
    }

    #[test]
    fn time_goes_to_the_step_that_was_entered() {
        begin();
        enter(Step::Waiting);
        std::thread::sleep(Duration::from_millis(20));
        enter(Step::InTurn);
        shared(|| 16);
        shards(3);
        end();
        // Other tests merge at the same time.
        let found = take_traces().into_iter().find(|trace| trace.shards == 3 && trace.shared_bytes == 16);
        assert!(found.is_some_and(|trace| trace.waiting >= Duration::from_millis(20)));
    }
}
