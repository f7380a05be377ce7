//! How samplers mislead, as far as the samples themselves show it.

use crate::digits::number_of;
use crate::report::stacks::hits::{includes_waiting, percent};
use crate::stacks::model::{Certainty, FrameKind, Function, Sample, SampleSource, StackTable, Weight};
use std::collections::BTreeSet;

/// Share of one-frame stacks, in percent, from which broken stacks are suspected.
const BROKEN_STACKS: f64 = 20.0;

/// One line for each thing to keep in mind; lower case, no full stop.
pub fn notes(table: &StackTable) -> Vec<String> {
    let mut notes = Vec::new();
    let total = table.total_hits();
    let has = |source: &str| table.observed.sources.iter().any(|known| known.starts_with(source));
    if has("Flight Recorder") {
        notes.push(
            "Flight Recorder samples a bounded number of running threads a tick; positions inside compiled code are exact only with -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints"
                .to_string(),
        );
    }
    if has("collapsed") {
        notes.push("collapsed stacks do not say which sampler took them: one that waits for safepoints is blind in loops without polls and charges the next poll; one that does not loses ticks to error frames".to_string());
    }
    if has("iprof samples") {
        notes.push(
            "an iprof has no sampling period, no threads and no time; hits are shares of the whole run".to_string(),
        );
    }
    if has("iprof call counts") {
        notes.push("these are numbers of calls, not time; chains end where compilation units do".to_string());
    }
    if has("folded") {
        notes.push("stacks of perf are whole only where all code keeps frame pointers (-XX:+PreserveFramePointer); interpreted methods have no name there".to_string());
    }
    notes.extend(events(table));
    notes.extend(measured(table, total));
    notes
}

/// What events other than samples say, and which there are that nobody asked for.
fn events(table: &StackTable) -> Vec<String> {
    let there: BTreeSet<SampleSource> = table.samples().map(|sample| sample.key.source).collect();
    let has = |sources: &[SampleSource]| sources.iter().any(|source| there.contains(source));
    let mut notes = Vec::new();
    if has(&[SampleSource::Allocation]) {
        notes.push("jdk.ObjectAllocationSample takes so many allocations a second; each stands for the bytes that its thread allocated since the one before".to_string());
    }
    if has(&[SampleSource::Tlab]) {
        notes.push(
            "of the allocations in a thread's buffer only the first is recorded, and stands for the whole buffer"
                .to_string(),
        );
    }
    if there.iter().any(|source| source.unit(Weight::Time).is_some()) {
        notes.push("locks, waiting, reads and writes are recorded only where they took longer than the recording's threshold (20 ms in the JDK's default settings)".to_string());
    }
    let skipped = &table.observed.skipped_events;
    if !skipped.is_empty() {
        let event_types: Vec<String> =
            skipped.iter().map(|(source, events)| format!("{events} {}", source.word())).collect();
        notes.push(format!(
            "events of other sorts are there too, and are shown where they are asked for: {}",
            event_types.join(", ")
        ));
    }
    notes
}

/// Notes with a number from the samples.
fn measured(table: &StackTable, total: u128) -> Vec<String> {
    let hits = |test: &dyn Fn(&Sample) -> bool| -> u128 {
        table.samples().filter(|sample| test(sample)).map(|sample| u128::from(sample.hits)).sum()
    };
    let leaf = |sample: &Sample| table.frame(table.leaf(sample.key.stack));
    let symbol = |sample: &Sample| match table.function(leaf(sample).function) {
        Function::Symbol { name } => Some(table.name(name)),
        Function::Java { .. } => None,
    };
    let mut notes = Vec::new();
    let mut add = |count: u128, words: &str| {
        if count > 0 {
            let hits = number_of(total, "hit");
            notes.push(format!("{count} of {hits} ({:.3} %) {words}", percent(count, total)));
        }
    };
    add(hits(&|sample| sample.key.truncated), "have truncated stacks: the outermost frames are missing");
    add(
        hits(&|sample| sample.key.certainty == Certainty::Heuristic),
        "were moved to the next safepoint, says the source",
    );
    add(
        hits(&|sample| symbol(sample).is_some_and(|name| name.starts_with('[') && name.ends_with(']'))),
        "end in an error frame: the sampler could not walk the stack",
    );
    add(hits(&|sample| symbol(sample) == Some("Interpreter")), "end in the interpreter, whose methods are not named");
    add(hits(&|sample| includes_waiting(sample.key.source)), "include waiting, not only running");
    add(
        hits(&|sample| {
            leaf(sample).bci.is_none() && matches!(sample.key.source, SampleSource::Execution | SampleSource::CpuTime)
        }),
        "have no bytecode index at the leaf",
    );
    let single = hits(&|sample| table.depth(sample.key.stack) == 1 && leaf(sample).kind != FrameKind::Kernel);
    if percent(single, total) >= BROKEN_STACKS {
        add(single, "have one frame only: frame pointers are probably missing (-XX:+PreserveFramePointer)");
    }
    let observed = &table.observed;
    for (count, what, words) in [
        (observed.samples_without_stack, "sample", "without a stack, not counted"),
        (observed.samples_out_of_time, "sample", "outside the time asked for, events included"),
        (observed.samples_lost, "sample", "lost, says the source"),
        (observed.lines_skipped, "line", "without a stack, not counted"),
        (observed.parts_cut, "part", "cut off at the end and not counted"),
    ] {
        if count > 0 {
            notes.push(format!("{} {words}", number_of(count, what)));
        }
    }
    notes
}
