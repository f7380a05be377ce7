//! Many files into one profile.

use crate::driver::{self, MergeJob, Merged};
use crate::error::Result;
use crate::input::WeightedInput;
use crate::instr::file_merge::observer::{MergeObserver, Silent};
use crate::instr::file_merge::options::MergeOptions;
use crate::instr::file_merge::report::MergeReport;
use crate::instr::file_merge::{FileMerge, MergedFiles, names_of_records};
use crate::instr::partial::files::{finish, merge_partially};
use crate::instr::{MergeRules, Merger, repeated_sizes};
use std::collections::BTreeSet;

/// Merges inputs in order.
///
/// What is wrong with single inputs is in the report; whether the result may
/// be used despite it is for [`MergeReport::verdict`] to say.
///
/// # Errors
///
/// Only what makes every further step pointless, such as too little memory;
/// damaged inputs are no such thing.
/// Cancelled when the observer [asks for that](MergeObserver::is_cancelled).
pub fn merge_files(
    inputs: &[WeightedInput],
    options: &MergeOptions,
    observer: &mut dyn MergeObserver,
) -> Result<MergeReport> {
    merge_inputs(inputs, options, false, observer)
}

/// As [`merge_files`]. If `keeps_file`, the counters of a single input may stay in its bytes, which are then kept.
pub(super) fn merge_inputs(
    inputs: &[WeightedInput],
    options: &MergeOptions,
    keeps_file: bool,
    observer: &mut dyn MergeObserver,
) -> Result<MergeReport> {
    let is_own = !options.read.compat.is_llvm();
    if is_own && inputs.iter().any(WeightedInput::is_partial) {
        return finish(&merge_partially(inputs, options, &mut Silent)?, options, observer);
    }
    let Merged { output: merger, inputs: reports } = run_merge(inputs, options, keeps_file, observer)?;
    let memory_shares_nothing = merger.memory_shares_nothing();
    let shared_kind = merger.shared_kind().clone();
    let (profile, memprof_losses) = options.memprof.finish(merger, options.release, options.read.compat)?;
    let rules = MergeRules::of(options.release);
    let repeats_memory_size = repeated_sizes(&profile, &rules, |name| options.filter.keeps(name)).next().is_some();
    let rest = MergeReport::of(profile, reports);
    Ok(MergeReport { repeats_memory_size, memprof_losses, memory_shares_nothing, shared_kind, ..rest })
}

/// Merges inputs and reports progress and soft errors.
pub(crate) fn run_merge(
    inputs: &[WeightedInput],
    options: &MergeOptions,
    keeps_file: bool,
    observer: &mut dyn MergeObserver,
) -> Result<Merged<Merger>> {
    let run = options.run();
    let cancel = run.cancel.clone();
    let mut progress = |done: usize, total: usize| {
        observer.progress(done, total);
        if observer.is_cancelled() {
            cancel.cancel();
        }
    };
    let start = |job: &MergeJob<'_>| FileMerge::new(job, options, keeps_file);
    let merged = driver::merge(inputs, &run, start, &mut progress)?;
    let MergedFiles { merger, soft_errors } = merged.output;
    let names = if soft_errors.is_empty() { Vec::new() } else { names_of_records(merger.functions()) };
    let mut seen = BTreeSet::new();
    for (place, record, error) in soft_errors {
        observer.soft_error(&inputs[place], names[record.index()], error, seen.insert(error));
    }
    Ok(Merged { output: merger, inputs: merged.inputs })
}
