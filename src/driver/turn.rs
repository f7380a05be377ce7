//! Turns: threads read inputs in parallel, and each adds its input in the order of the inputs.

use crate::cancel::Cancel;
use crate::driver::InputReport;
use crate::driver::trace::{self, Step};
use crate::error::{Error, ErrorKind, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The state that the threads of a run share.
pub(super) struct Line<M> {
    state: Mutex<State<M>>,
    moved_on: Condvar,
    /// Set if no more inputs will be added: the run failed, must restart, or a thread panicked.
    is_over: AtomicBool,
    cancel: Cancel,
}

/// The state that changes in the order of the inputs.
pub(super) struct State<M> {
    /// The input whose turn it is.
    next: usize,
    pub(super) merger: M,
    /// One report for each finished input.
    pub(super) reports: Vec<Option<InputReport>>,
    /// The error that ended the run early.
    pub(super) fatal: Option<Error>,
}

/// The turn of one input.
///
/// A turn that is dropped before it passed ends the run, so no thread waits for a thread that panicked.
pub(crate) struct InputTurn<'l, M> {
    line: &'l Line<M>,
    place: usize,
    held: Option<MutexGuard<'l, State<M>>>,
    is_passed: bool,
}

impl<M> Line<M> {
    pub(super) fn new(merger: M, inputs: usize, cancel: Cancel) -> Self {
        let reports = (0..inputs).map(|_| None).collect();
        let state = State { next: 0, merger, reports, fatal: None };
        Self { state: Mutex::new(state), moved_on: Condvar::new(), is_over: AtomicBool::new(false), cancel }
    }

    pub(super) fn turn(&self, place: usize) -> InputTurn<'_, M> {
        InputTurn { line: self, place, held: None, is_passed: false }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<M>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed) || self.cancel.is_cancelled()
    }

    /// Ends the run. No turn begins after this.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        // No thread may be between its check of `is_over` and its wait.
        drop(self.lock());
        self.moved_on.notify_all();
    }

    pub(super) fn into_state(self) -> State<M> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all inputs before `place` were added.
    fn wait_for(&self, place: usize) -> Result<MutexGuard<'_, State<M>>> {
        let waiting = |state: &mut State<M>| state.next < place && !self.is_over();
        let state = self.moved_on.wait_while(self.lock(), waiting).unwrap_or_else(PoisonError::into_inner);
        if self.is_over() { Err(ErrorKind::Cancelled.into()) } else { Ok(state) }
    }
}

impl<M> InputTurn<'_, M> {
    /// Returns the place of the input in the list.
    pub(crate) fn place(&self) -> usize {
        self.place
    }

    /// Waits until all inputs before this one were added, and returns the merger.
    ///
    /// # Errors
    ///
    /// Cancelled once the run is over.
    pub(crate) fn wait(&mut self) -> Result<&mut M> {
        let held = match self.held.take() {
            Some(held) => held,
            None => {
                trace::enter(Step::Waiting);
                let held = self.line.wait_for(self.place)?;
                trace::enter(Step::InTurn);
                held
            }
        };
        Ok(&mut self.held.insert(held).merger)
    }

    /// Waits until the input at `place`, which must be an earlier one, was added.
    ///
    /// # Errors
    ///
    /// Cancelled once the run is over.
    pub(crate) fn wait_for_input(&self, place: usize) -> Result<()> {
        self.line.wait_for(place + 1).map(drop)
    }

    /// Changes the merger before the turn. Only for changes whose order does not matter.
    pub(crate) fn with_merger_early(&mut self, change: impl FnOnce(&mut M)) {
        match &mut self.held {
            Some(state) => change(&mut state.merger),
            None => change(&mut self.line.lock().merger),
        }
    }

    /// Passes the turn to the next input. Further work on this input runs in parallel with it.
    ///
    /// # Errors
    ///
    /// Cancelled once the run is over.
    pub(crate) fn pass(&mut self) -> Result<()> {
        if self.is_passed {
            return Ok(());
        }
        self.wait()?;
        if let Some(mut state) = self.held.take() {
            state.next = self.place + 1;
            self.is_passed = true;
        }
        trace::enter(Step::Alone);
        self.line.moved_on.notify_all();
        Ok(())
    }

    /// Returns true if the turn was passed.
    pub(crate) fn is_passed(&self) -> bool {
        self.is_passed
    }
}

impl<M> Drop for InputTurn<'_, M> {
    fn drop(&mut self) {
        self.held = None;
        if !self.is_passed {
            self.line.end();
        }
    }
}
