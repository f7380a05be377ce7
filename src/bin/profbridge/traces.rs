//! The measurements of merge threads, with the feature `tracing-counters`.

use profbridge::families::{predicted, take_traces};
use std::time::Duration;

/// Prints the measurements to standard error, if a merge ran; `whole` is its time.
pub(crate) fn print(whole: Duration) {
    let traces = take_traces();
    if traces.is_empty() {
        return;
    }
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    eprintln!("trace: {:.1} ms in all", ms(whole));
    for (at, trace) in traces.iter().enumerate() {
        eprintln!(
            "trace: thread {at}: {:.1} ms alone, {:.1} in turns, {:.1} at shards, {:.1} waiting; {} shared bytes",
            ms(trace.alone),
            ms(trace.in_turn),
            ms(trace.at_shards),
            ms(trace.waiting),
            trace.shared_bytes
        );
    }
    let alone = predicted(&traces, whole, 1);
    for threads in [2, 8, 32] {
        let predicted = predicted(&traces, whole, threads);
        let speedup = alone.as_secs_f64() / predicted.as_secs_f64();
        eprintln!("trace: {threads} threads would take {:.1} ms, a speed-up of {speedup:.1}", ms(predicted));
    }
}
