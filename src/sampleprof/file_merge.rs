//! Merges files that are sample profiles: inputs are read in parallel, and added to one [`Merger`] in their order.

use super::files::open_input;
use super::merge_report::{FailedMerge, FileMergeOptions, InputReports, MergeReport};
use super::merger::Merger;
use super::options::{is_fatal_truncation, is_text_fault};
use super::partial_files::{finish_partial, has_partial, merge_partially};
use super::profile::SampleProfile;
use super::reader;
use crate::driver::{self, FailureMode, InputOutcome, InputReport, InputTurn, Merge, OnProgress};
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::input::Input;
use std::sync::atomic::{AtomicBool, Ordering};

/// Merges files that are sample profiles, in order. In profbridge mode they may be partial merges.
///
/// # Errors
///
/// Unreadable inputs, if the failure mode does not allow them; a kind conflict between inputs; cancelled; usage for
/// salvaging next to a partial merge, and for cold contexts that cannot be merged.
pub fn merge_files(
    inputs: &[Input],
    options: &FileMergeOptions,
    progress: OnProgress<'_>,
) -> Result<MergeReport, FailedMerge> {
    let has_partial = if options.compat.is_llvm() { Ok(false) } else { has_partial(inputs, &options.read.limits) };
    if matches!(has_partial, Ok(true)) {
        if options.salvage {
            let detail = "cannot salvage inputs in a merge of partial merges of sample profiles";
            return Err(Error::usage(detail).with_hint("salvage each damaged input first, in a separate merge").into());
        }
        return finish_partial(&merge_partially(inputs, options, progress)?, options);
    }
    let start = |_: &driver::MergeJob<'_>| FileMerge { options, is_over: AtomicBool::new(false) };
    let driver::Merged { output: state, inputs: mut reports } = driver::merge(inputs, &options.run(), start, progress)?;
    let State { merger, faults, fatal } = state;
    if let Some((place, error)) = fatal {
        reports[place..].iter_mut().for_each(|report| report.outcome = InputOutcome::NotReached);
        return Err(FailedMerge { error, inputs: InputReports { reports, ..faults } });
    }
    let report = InputReports { reports, ..faults }.finish(merger, options)?;
    match has_partial {
        // The input could be read after all, and may have been a partial merge.
        Err(error) if options.failure_mode == FailureMode::Any || report.inputs.used() == inputs.len() => {
            Err(FailedMerge { error, inputs: report.inputs })
        }
        _ => Ok(report),
    }
}

/// The merge of profiles in the merge loop.
struct FileMerge<'a> {
    options: &'a FileMergeOptions,
    /// An error ended the merge, so further inputs need not be read.
    is_over: AtomicBool,
}

/// The merger, to which inputs are added in their order.
struct State {
    merger: Merger,
    faults: InputReports,
    /// The error that ended the merge, and the position of its input.
    fatal: Option<(usize, Error)>,
}

impl Merge for FileMerge<'_> {
    type Merger = State;
    type Worker = ();
    type Output = State;

    /// Reading an input takes longer than adding it.
    const INPUTS_PER_THREAD: usize = 1;

    fn merger(&self) -> State {
        State { merger: Merger::new(self.options.merge_options()), faults: InputReports::default(), fatal: None }
    }

    fn add_input(
        &self,
        (): &mut (),
        input: &Input,
        turn: &mut InputTurn<'_, State>,
        report: &mut InputReport,
    ) -> Result<()> {
        if self.is_over.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (compat, mut profile) = (self.options.compat, SampleProfile::default());
        let read = open_input(input, &self.options.read, compat).and_then(|bytes| {
            let options = self.options.read.of_input(input);
            let next = reader::next_profile(&bytes, &options).filter(|_| !compat.is_llvm());
            report.warnings.extend(next.map(|at| Warning::of_next_profile(at).in_file(&input.path)));
            reader::read_into(&bytes, &options, &mut profile)
        });
        let read = read.map_err(|error| error.in_file(&input.path));
        let place = turn.place();
        let state = turn.wait()?;
        if state.fatal.is_some() {
            return Ok(());
        }
        if read.is_ok() && profile.functions.is_empty() && profile.symbols.is_none() && !compat.is_llvm() {
            return Err(ErrorKind::EmptyProfile.into());
        }
        if let Err(error) = &read {
            if compat.is_llvm() {
                state.merger.learn_failed(profile.stated);
            }
            if self.is_fatal(error) {
                return self.end(state, place, read);
            }
        }
        if read.is_ok() || self.options.salvage {
            report.records = profile.functions.len() as u64;
            let faults = &mut state.faults;
            let on_fault = &mut |title: &[u8], fault| faults.push_fault(place, title, fault);
            if (read.is_ok() || report.records > 0)
                && let Err(error) = state.merger.add_owned(profile, input.weight.get(), on_fault)
            {
                let error = if compat.is_llvm() { error } else { error.in_file(&input.path) };
                return self.end(state, place, Err(error));
            }
        }
        read
    }

    fn needs_restart(&self, _: &State) -> Result<bool> {
        Ok(false)
    }

    fn finish(self, state: State) -> Result<State> {
        Ok(state)
    }
}

impl FileMerge<'_> {
    /// Returns true if an unreadable input ends the merge at once. LLVM ends at the first one; profbridge reads all inputs
    /// to report every unreadable one, unless an input is of another kind.
    fn is_fatal(&self, error: &Error) -> bool {
        let any = self.options.failure_mode == FailureMode::Any;
        if self.options.compat.is_llvm() {
            any || is_text_fault(error) || is_fatal_truncation(error)
        } else {
            any && error.is_kind_conflict()
        }
    }

    /// Ends the merge with the error of an input.
    fn end(&self, state: &mut State, place: usize, failed: Result<()>) -> Result<()> {
        state.fatal = failed.err().map(|error| (place, error));
        self.is_over.store(true, Ordering::Relaxed);
        Ok(())
    }
}
