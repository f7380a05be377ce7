//! What the threads of a merge share, and whose turn it is.
//!
//! Each input is taken over in its turn, in the order of the list: what comes of
//! it, and every message, is what one thread would make of it. Sums of images
//! and value sites that wait outside the merger come back when they are needed.

use super::images::{Images, Known};
use super::trace::{self, Step};
use crate::input::WeightedInput;
use crate::instr::RecordId;
use crate::merge::{Merger, SoftError};
use crate::pipeline::merge::{InputReport, MergeObserver, MergeOptions};
use crate::raw::NameChunks;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// An input and what is known of it before it is merged.
#[derive(Debug)]
pub(in crate::pipeline) struct Prepared {
    pub(super) input: WeightedInput,
    /// Size when the run began; 0 when unknown.
    pub(super) size: u64,
    /// Whether it is the only one, and its bytes may be kept in the place of copies of its counters.
    pub(in crate::pipeline) stays: bool,
    /// How often it was read.
    #[cfg(test)]
    pub(super) readings: AtomicUsize,
}

impl Prepared {
    pub(in crate::pipeline) fn new(input: WeightedInput) -> Self {
        let size = if input.is_pipe() { 0 } else { std::fs::metadata(&input.path).map_or(0, |found| found.len()) };
        Self {
            input,
            size,
            stays: false,
            #[cfg(test)]
            readings: AtomicUsize::new(0),
        }
    }

    /// Whether what was read of it, or its counters as they are, may be kept.
    pub(super) fn may_keep(&self) -> bool {
        self.stays && self.input.weight.get() == 1
    }
}

/// What a run over all inputs gave.
pub(in crate::pipeline) struct Run {
    pub(in crate::pipeline) merger: Merger,
    pub(in crate::pipeline) reports: Vec<InputReport>,
    /// Records that were not, or not wholly, merged, in order.
    pub(super) soft_errors: Vec<InputError>,
}

/// A soft error of the input at that place of the list.
pub(super) type InputError = (usize, RecordId, SoftError);

/// What the threads of a run share.
pub(super) struct Shared<'a, 'o> {
    pub(super) inputs: &'a [Prepared],
    pub(super) options: &'a MergeOptions,
    pub(super) threads: usize,
    /// `None` when every file is read record by record.
    pub(super) images: Option<Mutex<Images>>,
    /// Chunks of names of all files so far; of no use to a single input.
    pub(super) chunks: Option<Arc<NameChunks>>,
    /// The first input that no thread has taken.
    pub(super) begun: AtomicUsize,
    pub(super) state: Mutex<State<'o>>,
    pub(super) moved_on: Condvar,
    /// Nobody's work is needed any more: it starts over, or a thread panicked.
    pub(super) is_over: AtomicBool,
}

/// What changes in the order of the inputs.
pub(super) struct State<'o> {
    /// Whose turn it is.
    pub(super) next: usize,
    pub(super) merger: Merger,
    pub(super) reports: Vec<InputReport>,
    pub(super) soft_errors: Vec<InputError>,
    pub(super) observer: &'o mut dyn MergeObserver,
    /// The image whose value sites are not in the merger.
    pub(super) values_out: Option<Arc<Known>>,
    /// Forgotten images whose sums are not in the merger.
    pub(super) evicted: Vec<Arc<Known>>,
    /// No counter of the result is larger, as far as images matter.
    pub(super) bound: u64,
    pub(super) has_sums: bool,
    pub(super) has_uniformity: bool,
}

impl State<'_> {
    /// Whether sums of images that wait may have been added too late.
    fn must_start_over(&self) -> bool {
        self.has_sums && (self.has_uniformity || self.bound > 1 << 63)
    }

    /// Forgets what was merged of a first input that is bad.
    pub(super) fn begin_again(&mut self, options: &MergeOptions) {
        self.merger = Merger::new(options.merger_options());
        self.soft_errors.clear();
        (self.bound, self.has_uniformity) = (0, false);
    }

    /// Brings the value sites of an image back, unless it is `other`.
    pub(super) fn bring_values_back(&mut self, other: Option<&Arc<Known>>, is_over: &AtomicBool) {
        let stays = |known: &mut Arc<Known>| !other.is_some_and(|other| Arc::ptr_eq(known, other));
        if let Some(known) = self.values_out.take_if(stays) {
            known.values.put_back(&mut self.merger, is_over);
        }
    }

    /// Adds the sums of forgotten images to which no thread adds any more.
    pub(super) fn flush_evicted(&mut self) {
        let Self { evicted, merger, .. } = self;
        evicted.retain(|known| {
            let is_in_use = Arc::strong_count(known) > 1;
            if !is_in_use {
                known.flush(merger);
            }
            is_in_use
        });
    }
}

impl<'a, 'o> Shared<'a, 'o> {
    pub(super) fn new(
        inputs: &'a [Prepared],
        options: &'a MergeOptions,
        threads: usize,
        images: Option<Images>,
        observer: &'o mut dyn MergeObserver,
    ) -> Self {
        let state = State {
            next: 0,
            merger: Merger::new(options.merger_options()),
            reports: Vec::with_capacity(inputs.len()),
            soft_errors: Vec::new(),
            observer,
            values_out: None,
            evicted: Vec::new(),
            bound: 0,
            has_sums: false,
            has_uniformity: false,
        };
        Self {
            inputs,
            options,
            threads,
            images: images.map(Mutex::new),
            chunks: (inputs.len() > 1).then(Arc::default),
            begun: AtomicUsize::new(0),
            state: Mutex::new(state),
            moved_on: Condvar::new(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Waits until all inputs before `at` were taken over, or all is over.
    pub(super) fn wait_for(&self, at: usize) -> MutexGuard<'_, State<'o>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = |state: &mut State<'_>| state.next < at && !self.is_over.load(Ordering::Relaxed);
        self.moved_on.wait_while(state, waiting).unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn images(&self) -> Option<MutexGuard<'_, Images>> {
        self.images.as_ref().map(|images| images.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Gives up: what was merged of an input does not fit the memory, and cannot be taken back.
    pub(super) fn lack_memory(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).merger.lack_memory();
        self.end();
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Nobody may be between looking and waiting.
        drop(self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.moved_on.notify_all();
    }

    /// The result, and whether it is of no use.
    pub(super) fn finish(self) -> (Run, bool) {
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.bring_values_back(None, &self.is_over);
        let images = self.images.map(|images| images.into_inner().unwrap_or_else(PoisonError::into_inner));
        let known = images.map(Images::into_known).unwrap_or_default();
        state.evicted.iter().chain(&known).for_each(|known| known.flush(&mut state.merger));
        let must_start_over = state.must_start_over();
        let State { merger, reports, mut soft_errors, .. } = state;
        soft_errors.sort_by_key(|(at, ..)| *at);
        (Run { merger, reports, soft_errors }, must_start_over)
    }
}

/// Lets nobody wait for a thread that panicked.
pub(super) struct EndOnPanic<'s, 'a, 'o>(pub(super) &'s Shared<'a, 'o>);

impl Drop for EndOnPanic<'_, '_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

/// The turn of an input, for which is waited when it is needed.
pub(super) struct Turn<'s, 'a, 'o> {
    pub(super) shared: &'s Shared<'a, 'o>,
    pub(super) at: usize,
    pub(super) state: Option<MutexGuard<'s, State<'o>>>,
}

impl<'o> Turn<'_, '_, 'o> {
    /// What may be changed now.
    pub(super) fn state(&mut self) -> &mut State<'o> {
        self.state.get_or_insert_with(|| {
            trace::enter(Step::Waiting);
            let state = self.shared.wait_for(self.at);
            trace::enter(Step::InTurn);
            state
        })
    }

    /// Lets the next input have its turn.
    pub(super) fn pass_on(mut self, report: InputReport) {
        let (shared, at) = (self.shared, self.at);
        self.state();
        if let Some(mut images) = shared.images() {
            images.passed(at);
        }
        let state = self.state();
        state.reports.push(report);
        state.next = at + 1;
        state.flush_evicted();
        state.observer.progress(at + 1, shared.inputs.len());
        let is_over = state.must_start_over() || state.observer.is_cancelled() || state.merger.lacks_memory();
        self.state = None;
        trace::enter(Step::Alone);
        shared.moved_on.notify_all();
        if is_over {
            shared.end();
        }
    }
}
