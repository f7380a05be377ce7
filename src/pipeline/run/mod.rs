//! The engine behind [`merge_files`](super::merge_files).
//!
//! Inputs are handed to threads one by one, and each is taken over in its turn,
//! in the order of the list ([`state`]): what comes of it, and every message, is
//! what one thread would make of it. What takes time is done before the turn
//! (reading, decoding, comparing with known images) or after it, where the order
//! does not matter (adding the counters of a known image) or is kept otherwise
//! ([`values`]). What happens to one input is told in [`worker`].

mod images;
mod known_file;
mod staged;
mod state;
#[cfg(test)]
mod tests;
pub(super) mod trace;
mod values;
mod worker;

pub(super) use state::{Prepared, Run};

use super::merge::{MergeObserver, MergeOptions};
use crate::instr::FunctionTable;
use crate::threads;
use images::Images;
use state::Shared;
use std::collections::BTreeSet;
use worker::work;

/// Merges all inputs, with as many threads as allowed and useful.
pub(super) fn run(inputs: &[Prepared], options: &MergeOptions, observer: &mut dyn MergeObserver) -> Run {
    // A thread with a single input costs more than it saves.
    let threads = threads::wanted(options.threads).get().min(inputs.len() / 2).max(1);
    let quick = run_quick(inputs, options, threads, images::MOST_BYTES, observer);
    let run = quick.unwrap_or_else(|| run_exact(inputs, options, observer));
    let mut seen = BTreeSet::new();
    let names = if run.soft_errors.is_empty() { Vec::new() } else { names_of_records(run.merger.functions()) };
    for &(at, record, error) in &run.soft_errors {
        observer.soft_error(&inputs[at].input, names[record.index()], error, seen.insert(error));
    }
    run
}

/// The name of each record's function.
fn names_of_records(functions: &FunctionTable) -> Vec<&[u8]> {
    let mut names = vec![&[][..]; functions.records_len()];
    for function in functions.iter() {
        function.record_ids().for_each(|record| names[record.index()] = function.name());
    }
    names
}

/// One input after the other, record by record.
fn run_exact(inputs: &[Prepared], options: &MergeOptions, observer: &mut dyn MergeObserver) -> Run {
    let shared = Shared::new(inputs, options, 1, None, observer);
    work(&shared);
    shared.finish().0
}

/// Several threads, and sums for images, which may take `image_bytes`. `None`
/// when something happened that only [`run_exact`] gets right: counts so near
/// to the largest that it matters when a sum is added, or uniformity of waves.
fn run_quick(
    inputs: &[Prepared],
    options: &MergeOptions,
    threads: usize,
    image_bytes: usize,
    observer: &mut dyn MergeObserver,
) -> Option<Run> {
    // A single input has nothing in common with others.
    let images = (inputs.len() > 1).then(|| Images::new(image_bytes));
    let shared = Shared::new(inputs, options, threads, images, observer);
    std::thread::scope(|scope| {
        // Whoever is there does the work: the fewer there are the longer it takes.
        let started = (1..threads).map_while(|_| threads::start(scope, || work(&shared)).ok());
        started.for_each(drop);
        work(&shared);
    });
    let (run, must_start_over) = shared.finish();
    (!must_start_over).then_some(run)
}
