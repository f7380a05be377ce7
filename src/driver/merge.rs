//! The merge loop.

use crate::driver::turn::{Line, State};
use crate::driver::{Attempt, InputOutcome, InputReport, Merge, MergeJob, OnProgress, RunOptions, trace};
use crate::error::{Error, ErrorKind, Result};
use crate::input::Input;
use crate::threads;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The result of a merge and the outcome of each input, in order.
pub(crate) struct Merged<T> {
    pub(crate) output: T,
    pub(crate) inputs: Vec<InputReport>,
}

/// Merges inputs in order; `start` creates the merge, a second time if the first one must restart.
///
/// # Errors
///
/// Cancelled; the errors of [`Merge::needs_restart`] and [`Merge::finish`]. A damaged input is not an error, but an
/// outcome.
pub(crate) fn merge<G: Merge>(
    inputs: &[Input],
    run: &RunOptions,
    start: impl Fn(&MergeJob<'_>) -> G,
    progress: OnProgress<'_>,
) -> Result<Merged<G::Output>> {
    let threads = threads::wanted(run.threads).get();
    let workers = threads.min(inputs.len() / G::INPUTS_PER_THREAD).max(1);
    let job = |attempt, workers| MergeJob { inputs, attempt, workers, threads_per_input: threads / workers };
    match run_once(start(&job(Attempt::Fast, workers)), inputs, run, workers, &mut *progress)? {
        Some(merged) => Ok(merged),
        None => run_once(start(&job(Attempt::Exact, 1)), inputs, run, 1, progress)?
            .ok_or_else(|| Error::usage("an exact merge cannot restart")),
    }
}

/// Merges inputs once with `workers` threads. Returns `None` if the merge must restart.
pub(crate) fn run_once<G: Merge>(
    merge: G,
    inputs: &[Input],
    run: &RunOptions,
    workers: usize,
    progress: OnProgress<'_>,
) -> Result<Option<Merged<G::Output>>> {
    let line = Line::new(merge.merger(), inputs.len(), run.cancel.clone());
    let (next, progress, must_restart) = (AtomicUsize::new(0), Mutex::new((0, progress)), AtomicBool::new(false));
    let work = || {
        trace::begin();
        let mut worker = G::Worker::default();
        while !line.is_over() {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(input) = inputs.get(place) else { break };
            match add_one(&merge, &mut worker, input, place, &line, run) {
                Ok(Next::Continue) => {}
                Ok(Next::Restart) => {
                    must_restart.store(true, Ordering::Relaxed);
                    line.end();
                }
                Err(error) => {
                    line.lock().fatal.get_or_insert(error);
                    line.end();
                }
            }
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.0 += 1;
            let done = progress.0;
            (progress.1)(done, inputs.len());
        }
        trace::end();
    };
    std::thread::scope(|scope| {
        // Fewer threads give the same result, only later.
        let started = (1..workers).map_while(|_| threads::start(scope, work).ok());
        started.for_each(drop);
        work();
    });
    run.cancel.check()?;
    if must_restart.into_inner() {
        return Ok(None);
    }
    let State { merger, reports, fatal, .. } = line.into_state();
    if let Some(error) = fatal {
        return Err(error);
    }
    // An input that passes its own turn is not checked in the loop.
    if merge.needs_restart(&merger)? {
        return Ok(None);
    }
    Ok(Some(Merged { output: merge.finish(merger)?, inputs: reports.into_iter().flatten().collect() }))
}

enum Next {
    Continue,
    Restart,
}

/// Merges one input and stores its report.
///
/// # Errors
///
/// Errors that end the run: see [`merge`], and an error of an input that had passed its turn, because it cannot be
/// rolled back.
fn add_one<G: Merge>(
    merge: &G,
    worker: &mut G::Worker,
    input: &Input,
    place: usize,
    line: &Line<G::Merger>,
    run: &RunOptions,
) -> Result<Next> {
    let input = &input.clone().cancelled_by(&run.cancel);
    let mut report = InputReport::new(input, InputOutcome::Used);
    let mut turn = line.turn(place);
    if let Err(error) = merge.add_input(worker, input, &mut turn, &mut report) {
        let error = error.in_file(&input.path);
        if turn.is_passed() {
            return Err(error);
        }
        // The merger contains only this input. Later inputs are read to their end before they are added.
        if place == 0 && run.whole_inputs {
            *turn.wait()? = merge.merger();
        }
        report.outcome = match error.kind() {
            ErrorKind::EmptyProfile => InputOutcome::Empty,
            _ => InputOutcome::Failed(error),
        };
    }
    let next = match turn.is_passed() {
        true => Next::Continue,
        false if merge.needs_restart(turn.wait()?)? => Next::Restart,
        false => Next::Continue,
    };
    turn.pass()?;
    line.lock().reports[place] = Some(report);
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::Cancel;
    use crate::driver::InputTurn;
    use std::num::NonZeroUsize;

    /// Joins the names of inputs. A name contains the fault of its input and when it occurs.
    struct Names {
        attempt: Attempt,
    }

    impl Merge for Names {
        type Merger = Vec<String>;
        type Worker = ();
        type Output = Vec<String>;

        fn merger(&self) -> Vec<String> {
            Vec::new()
        }

        fn add_input(
            &self,
            (): &mut (),
            input: &Input,
            turn: &mut InputTurn<'_, Vec<String>>,
            report: &mut InputReport,
        ) -> Result<()> {
            let name = input.path.display().to_string();
            let fails = |when: &str| if name == when { Err(Error::usage("made to fail")) } else { Ok(()) };
            assert_ne!(name, "panics early", "made to panic");
            fails("fails early")?;
            turn.wait()?.push(name.clone());
            report.records = 1;
            assert_ne!(name, "panics in its turn", "made to panic");
            fails("fails in its turn")?;
            if name.contains("after its turn") {
                turn.pass()?;
            }
            assert_ne!(name, "panics after its turn", "made to panic");
            fails("fails after its turn")
        }

        fn needs_restart(&self, merger: &Vec<String>) -> Result<bool> {
            if merger.iter().any(|name| name == "ends the run") {
                return Err(Error::usage("made to end"));
            }
            Ok(self.attempt == Attempt::Fast && merger.iter().any(|name| name.starts_with("restarts")))
        }

        fn finish(self, merger: Vec<String>) -> Result<Vec<String>> {
            Ok(merger)
        }
    }

    fn merge_names(names: &[&str], threads: usize, whole_inputs: bool) -> Result<Merged<Vec<String>>> {
        let inputs: Vec<Input> = names.iter().map(|name| Input::from_bytes(*name, Vec::new())).collect();
        let run = RunOptions { threads: NonZeroUsize::new(threads), whole_inputs, ..RunOptions::default() };
        merge(&inputs, &run, |job| Names { attempt: job.attempt }, &mut |_, _| {})
    }

    /// Returns other inputs before and after one.
    fn among(name: &'static str) -> Vec<&'static str> {
        [&["a", "b", "c"][..], &[name], &["d", "e", "f", "g"]].concat()
    }

    #[test]
    fn inputs_are_added_in_order_by_any_number_of_threads() {
        let names = ["a", "b", "passes after its turn", "c", "d", "restarts", "e", "restarts after its turn"];
        for threads in [1, 2, 3, 8] {
            let merged = merge_names(&names, threads, false).unwrap();
            assert_eq!(merged.output, names, "{threads} threads");
            assert_eq!(merged.inputs.len(), names.len());
        }
    }

    #[test]
    fn a_failed_input_is_an_outcome_of_that_input() {
        for threads in [1, 2, 8] {
            for name in ["fails early", "fails in its turn"] {
                let merged = merge_names(&among(name), threads, false).unwrap();
                let failed = |report: &InputReport| matches!(report.outcome, InputOutcome::Failed(_));
                let failed: Vec<bool> = merged.inputs.iter().map(failed).collect();
                assert_eq!(failed, [false, false, false, true, false, false, false, false], "{name}");
            }
        }
    }

    #[test]
    fn a_first_input_that_fails_leaves_nothing_behind_if_inputs_are_taken_whole() {
        for threads in [1, 2, 8] {
            let names = ["fails in its turn", "a", "b", "c"];
            assert_eq!(merge_names(&names, threads, true).unwrap().output, names[1..]);
            assert_eq!(merge_names(&names, threads, false).unwrap().output, names);
        }
    }

    #[test]
    fn errors_that_cannot_be_taken_back_end_the_run() {
        for threads in [1, 2, 8] {
            for (name, message) in [("fails after its turn", "made to fail"), ("ends the run", "made to end")] {
                let error = merge_names(&among(name), threads, false).err().expect("the run ends");
                assert!(error.to_string().contains(message), "{error}");
            }
        }
    }

    #[test]
    fn no_thread_waits_for_a_thread_that_panicked() {
        for threads in [1, 2, 8] {
            for name in ["panics early", "panics in its turn", "panics after its turn"] {
                let run = || merge_names(&among(name), threads, false).is_ok();
                assert!(std::panic::catch_unwind(run).is_err(), "{name}, {threads} threads");
            }
        }
    }

    #[test]
    fn a_cancelled_run_ends_with_an_error() {
        let cancel = Cancel::default();
        let run = RunOptions { cancel: cancel.clone(), ..RunOptions::default() };
        let inputs: Vec<Input> = ["a", "b", "c"].iter().map(|name| Input::from_bytes(*name, Vec::new())).collect();
        let mut progress = |done: usize, _: usize| {
            if done == 2 {
                cancel.cancel()
            }
        };
        let error = merge(&inputs, &run, |job| Names { attempt: job.attempt }, &mut progress).err();
        assert!(error.is_some_and(|error| matches!(error.kind(), ErrorKind::Cancelled)));
    }
}
