//! Many files into one profile.
//!
//! Inputs are merged in order. Several threads read them at a time, and each
//! input is taken over, or given back when it is bad, in its turn; so the bytes
//! and the messages are those of one thread always.

mod observer;
mod options;
mod report;

pub use observer::{MergeObserver, Silent};
pub use options::{Extent, FailureMode, MergeOptions, Minimums};
pub use report::{InputOutcome, InputReport, InputVersion, MergeReport};

use super::partial;
use super::run::{self, Prepared};
use crate::error::{ErrorKind, Result};
use crate::input::WeightedInput;
use crate::merge::{MergeRules, repeated_sizes};
use std::collections::HashSet;

/// Merges inputs in order.
///
/// What is wrong with single inputs is in the report; whether the result may
/// be used despite it is for [`MergeReport::verdict`] to say.
///
/// # Errors
///
/// Only what makes every further step pointless; damaged inputs are no such thing.
/// Cancelled when the observer [asks for that](MergeObserver::is_cancelled).
pub fn merge_files(
    inputs: &[WeightedInput],
    options: &MergeOptions,
    observer: &mut dyn MergeObserver,
) -> Result<MergeReport> {
    let is_own = !options.read.compat.is_llvm();
    if is_own && inputs.iter().any(WeightedInput::is_partial) {
        return partial::finish(&partial::merge_partially(inputs, options, &mut Silent)?, options, observer);
    }
    let prepared: Vec<Prepared> = inputs.iter().map(|input| Prepared::new(input.clone())).collect();
    let run = run::run(&prepared, options, observer);
    if observer.is_cancelled() {
        return Err(ErrorKind::Cancelled.into());
    }
    let (profile, memprof_losses) = options.memprof.finish(run.merger, options.release, options.read.compat)?;
    let rules = MergeRules::of(options.release);
    let repeats_memory_size = repeated_sizes(&profile, &rules, |name| options.filter.keeps(name)).next().is_some();
    Ok(MergeReport { profile, inputs: run.reports, repeats_memory_size, memprof_losses, left_out: HashSet::new() })
}
