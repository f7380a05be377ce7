//! Runs work without the interpreter's lock. Ctrl-C stops it.
//!
//! A separate thread does the work and uses no Python objects. Meanwhile the calling thread handles signals and reports
//! progress. If a signal handler or a callback raises, the caller gets the exception at once. The thread is cancelled,
//! ends at the next input, and its result is dropped.

use profbridge::Cancel;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// The maximum delay of a Ctrl-C.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The numbers of finished inputs and of all inputs.
type Progress = (usize, usize);

enum Event<T> {
    Progress(Progress),
    Done(T),
}

/// The connection between the work and the caller.
pub(crate) struct Watch {
    cancel: Cancel,
    tell: Box<dyn Fn(Progress) + Send + Sync>,
}

impl Watch {
    /// Reports the progress of the work.
    pub(crate) fn progress(&self, done: usize, total: usize) {
        (self.tell)((done, total));
    }

    /// Returns the same connection without progress.
    pub(crate) fn silent(&self) -> Self {
        Self { cancel: self.cancel.clone(), tell: Box::new(|_| {}) }
    }

    /// Returns the token that cancels the work when its result is no longer needed.
    pub(crate) fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }
}

/// Runs the work. `progress` gets the numbers of finished inputs and of all inputs.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(Watch) -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = mpsc::channel();
    let cancel = Cancel::default();
    let watch = Watch { cancel: cancel.clone(), tell: teller(&sender, progress.is_some()) };
    let done = move || {
        let result = work(watch);
        // The caller may have returned.
        let _ = sender.send(Event::Done(result));
    };
    std::thread::Builder::new().name("profbridge".into()).spawn(done)?;
    loop {
        let received;
        (receiver, received) = py.detach(move || {
            let received = receiver.recv_timeout(LOOK_EVERY);
            (receiver, received)
        });
        let reported = match received {
            Ok(Event::Done(result)) => return Ok(result),
            Ok(Event::Progress(reached)) => match newest(&receiver, reached) {
                (reached, None) => report(progress, reached),
                (reached, Some(result)) => return report(progress, reached).map(|()| result),
            },
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("profbridge: a thread panicked"));
            }
        };
        if let Err(raised) = reported.and_then(|()| py.check_signals()) {
            cancel.cancel();
            return Err(raised);
        }
    }
}

fn teller<T: Send + 'static>(sender: &Sender<Event<T>>, is_wanted: bool) -> Box<dyn Fn(Progress) + Send + Sync> {
    if !is_wanted {
        return Box::new(|_| {});
    }
    let sender = sender.clone();
    Box::new(move |reached| {
        let _ = sender.send(Event::Progress(reached));
    })
}

/// Returns the latest progress, and the result if there is one.
fn newest<T>(receiver: &Receiver<Event<T>>, mut reached: Progress) -> (Progress, Option<T>) {
    loop {
        match receiver.try_recv() {
            Ok(Event::Progress(later)) => reached = later,
            Ok(Event::Done(result)) => return (reached, Some(result)),
            Err(_) => return (reached, None),
        }
    }
}

fn report(progress: Option<&Bound<'_, PyAny>>, (done, total): Progress) -> PyResult<()> {
    progress.map_or(Ok(()), |progress| progress.call1((done, total)).map(drop))
}
