//! Many files into one profile.

use super::observer::{MergeObserver, Silent};
use super::options::MergeOptions;
use super::report::MergeReport;
use crate::error::{ErrorKind, Result};
use crate::input::WeightedInput;
use crate::memory::{self, HOLD_SUMS};
use crate::merge::{MergeRules, repeated_sizes};
use crate::pipeline::partial;
use crate::pipeline::run::{self, Prepared};

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

/// As [`merge_files`]; `stays` lets counters of a single file stay in its bytes, which are kept then.
pub(super) fn merge_inputs(
    inputs: &[WeightedInput],
    options: &MergeOptions,
    stays: bool,
    observer: &mut dyn MergeObserver,
) -> Result<MergeReport> {
    let is_own = !options.read.compat.is_llvm();
    if is_own && inputs.iter().any(WeightedInput::is_partial) {
        return partial::finish(&partial::merge_partially(inputs, options, &mut Silent)?, options, observer);
    }
    let mut prepared: Vec<Prepared> = inputs.iter().map(|input| Prepared::new(input.clone())).collect();
    if let [single] = prepared.as_mut_slice() {
        single.stays = stays;
    }
    let run = run::run(&prepared, options, observer);
    if observer.is_cancelled() {
        return Err(ErrorKind::Cancelled.into());
    }
    if run.merger.lacks_memory() {
        return Err(memory::refused(HOLD_SUMS));
    }
    let memory_shares_nothing = run.merger.memory_shares_nothing();
    let (profile, memprof_losses) = options.memprof.finish(run.merger, options.release, options.read.compat)?;
    let rules = MergeRules::of(options.release);
    let repeats_memory_size = repeated_sizes(&profile, &rules, |name| options.filter.keeps(name)).next().is_some();
    let rest = MergeReport::of(profile, run.reports);
    Ok(MergeReport { repeats_memory_size, memprof_losses, memory_shares_nothing, ..rest })
}
