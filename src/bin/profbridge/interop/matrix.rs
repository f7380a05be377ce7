//! The whole matrix: programs are built and run first, then all cells are measured, several at once.

use super::cell::{AllWritten, Cell, Unwritten, lack};
use super::kind::{Kind, Source};
use super::measure::Used;
use super::process::Failure;
use super::toolchain::Toolchain;
use super::work::{Work, Written};
use crate::console::Progress;
use profbridge::Result;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Measures all cells of the kinds.
///
/// # Errors
///
/// The user interrupted the run.
pub(super) fn measure(
    work: &Work,
    toolchains: &[Toolchain],
    kinds: &[Kind],
    jobs: usize,
    progress: &Progress,
) -> Result<Vec<Cell>> {
    let writers: Vec<(Kind, usize, &'static Source)> = kinds
        .iter()
        .flat_map(|kind| (0..toolchains.len()).map(move |at| (*kind, at)))
        .filter(|(kind, at)| lack(*kind, &toolchains[*at], &toolchains[*at]).is_none())
        .flat_map(|(kind, at)| kind.sources().iter().map(move |source| (kind, at, source)))
        .filter(|(_, at, source)| toolchains[*at].compiles(source.language))
        .collect();
    let cells: Vec<(Kind, usize, usize)> = kinds
        .iter()
        .flat_map(|kind| (0..toolchains.len()).map(move |writer| (*kind, writer)))
        .flat_map(|(kind, writer)| (0..toolchains.len()).map(move |reader| (kind, writer, reader)))
        .collect();
    let total = writers.len() + cells.len();
    let done = AtomicUsize::new(0);
    let step = || progress.update(done.fetch_add(1, Ordering::Relaxed) + 1, total);
    let written = in_parallel(jobs, &writers, |(kind, at, source)| {
        let result = write(work, &toolchains[*at], *kind, source);
        step();
        result
    });
    work.runner.check()?;
    let key = |(kind, at, source): (Kind, usize, &'static Source)| (kind, at, source.file);
    let all: AllWritten = writers.into_iter().map(key).zip(written).collect();
    let measured = in_parallel(jobs, &cells, |at| {
        let cell = Cell::measure(work, toolchains, &all, *at);
        step();
        cell
    });
    work.runner.check()?;
    Ok(measured)
}

/// Writes the profiles of a toolchain, and counts with its own tools.
fn write(
    work: &Work,
    toolchain: &Toolchain,
    kind: Kind,
    source: &Source,
) -> std::result::Result<(Written, Used), Unwritten> {
    let written = work.write(toolchain, kind, source)?;
    let profile = match work.merge_directly(&written, toolchain, kind) {
        // Without an llvm-profdata of its release, profbridge takes its place.
        Err(direct) if direct.is_missing => match work.merge_through(&[&written], toolchain, kind) {
            Ok(merged) => merged.profile,
            Err(through) => return Err(Unwritten { direct, through }),
        },
        merged => merged?,
    };
    let used = work.read(&profile, toolchain, kind, source, &written)?;
    if used.counts.is_empty() {
        return Err(Failure::new(format!("{} uses no counts of its own profile", toolchain.name)).into());
    }
    Ok((written, used))
}

/// Applies a function to all items with several threads, and returns the results in the order of the items.
fn in_parallel<T: Sync, R: Send>(jobs: usize, items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::with_capacity(items.len()));
    let run = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return };
            let result = work(item);
            results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.min(items.len()) {
            // This thread does the work if another one cannot be started.
            let _ = std::thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
    let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_order_of_the_items() {
        for jobs in [1, 3, 100] {
            let items: Vec<usize> = (0..50).collect();
            assert_eq!(in_parallel(jobs, &items, |item| item * 2), (0..50).map(|item| item * 2).collect::<Vec<_>>());
        }
        assert!(in_parallel(4, &[] as &[usize], |item| *item).is_empty());
    }
}
