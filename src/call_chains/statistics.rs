//! Statistics of sampled stacks: hot methods, threads, call chains, and notes about their reliability.
//!
//! *Exclusive* hits of a method are those of stacks with it as leaf. *Inclusive* hits are those of stacks that contain
//! it; recursion counts once. Percentages are relative to all hits.

use super::chains::CallChain;
use super::samples::{SampleSource, Unit, Weight};
use super::table::{Certainty, FrameId, FrameKind, Function, FunctionId, Sample, StackTable, ThreadId};
use crate::digits::{name_column, number_of};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// One method of the flat table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HotMethod {
    /// As people write it: `app.Main.loop(int)`.
    pub method: String,
    /// Hits of stacks with this leaf.
    pub exclusive: u128,
    /// Hits of stacks that have it anywhere.
    pub inclusive: u128,
    /// Of the exclusive hits: those the source calls exact.
    pub exact: u128,
    /// Of the exclusive hits: those the source calls guessed or moved.
    pub heuristic: u128,
}

/// Hits of one thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ThreadHits {
    /// Its name; `None` for samples without a thread.
    pub thread: Option<String>,
    /// Hits.
    pub hits: u128,
}

/// An array of objects with names.
fn sorts_as_objects<S: Serializer>(event_types: &[(&'static str, u128)], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Row {
        sort: &'static str,
        hits: u128,
    }
    serializer.collect_seq(event_types.iter().map(|(sort, hits)| Row { sort, hits: *hits }))
}

/// All statistics of a table of stacks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SampleStatistics {
    /// The writers of the samples.
    pub sources: Vec<String>,
    /// The unit of a hit: `hits` for samples, `bytes`, `ns`; `mixed` for samples of different units.
    pub unit: &'static str,
    /// All hits.
    pub hits: u128,
    /// Distinct stacks with hits.
    pub stacks: u64,
    /// Frames of the deepest stack.
    pub max_depth: u32,
    /// Frames of a stack, the mean over hits.
    pub mean_depth: f64,
    /// Nanoseconds covered, 0 if unknown.
    pub duration_nanos: u64,
    /// Whether the source tells exact hits from guesses.
    pub has_certainty: bool,
    /// Hits by event type.
    #[serde(rename = "hits_by_sort", serialize_with = "sorts_as_objects")]
    pub hits_by_event_type: Vec<(&'static str, u128)>,
    /// Methods by falling exclusive, then inclusive hits, then name.
    pub methods: Vec<HotMethod>,
    /// Threads by falling hits, then name; empty where the source has none.
    pub threads: Vec<ThreadHits>,
    /// Whether some functions are Java methods.
    #[serde(skip)]
    pub has_java: bool,
    /// Notes about the reliability of the statistics.
    pub notes: Vec<String>,
}

/// Computes all statistics.
pub fn statistics(table: &StackTable) -> SampleStatistics {
    let mut methods: Vec<HotMethod> = table
        .functions()
        .map(|id| HotMethod { method: table.display_function(id), exclusive: 0, inclusive: 0, exact: 0, heuristic: 0 })
        .collect();
    let mut seen_in: Vec<usize> = vec![usize::MAX; methods.len()];
    let mut threads: BTreeMap<Option<ThreadId>, u128> = BTreeMap::new();
    let (mut depths, mut max_depth) = (0u128, 0);
    let mut stacks = BTreeSet::new();
    for (number, sample) in table.samples().enumerate() {
        let hits = u128::from(sample.hits);
        let function = |frame| -> FunctionId { table.frame(frame).function };
        let leaf = &mut methods[function(table.leaf(sample.key.stack)).index()];
        leaf.exclusive += hits;
        match sample.key.certainty {
            Certainty::Exact => leaf.exact += hits,
            Certainty::Heuristic => leaf.heuristic += hits,
            Certainty::Unknown => {}
        }
        for frame in table.frames(sample.key.stack) {
            let index = function(frame).index();
            if seen_in[index] != number {
                seen_in[index] = number;
                methods[index].inclusive += hits;
            }
        }
        *threads.entry(sample.key.thread).or_default() += hits;
        let depth = table.depth(sample.key.stack);
        depths += hits * u128::from(depth);
        max_depth = max_depth.max(depth);
        stacks.insert(sample.key.stack);
    }
    methods.retain(|method| method.inclusive > 0);
    methods.sort_by(|a, b| {
        (b.exclusive, b.inclusive).cmp(&(a.exclusive, a.inclusive)).then_with(|| a.method.cmp(&b.method))
    });
    let total = table.total_hits();
    let by_sort = table.hits_by_source().into_iter().map(|(source, hits)| (source.word(), hits)).collect();
    SampleStatistics {
        sources: table.observed.sources.clone(),
        unit: table.unit().map_or("mixed", Unit::word),
        hits: total,
        stacks: stacks.len() as u64,
        max_depth,
        mean_depth: if total == 0 { 0.0 } else { depths as f64 / total as f64 },
        duration_nanos: table.observed.duration_nanos,
        has_certainty: table.samples().any(|sample| sample.key.certainty != Certainty::Unknown),
        hits_by_event_type: by_sort,
        methods,
        threads: thread_rows(table, threads),
        has_java: table.has_java(),
        notes: notes(table),
    }
}

fn thread_rows(table: &StackTable, threads: BTreeMap<Option<ThreadId>, u128>) -> Vec<ThreadHits> {
    if threads.keys().all(Option::is_none) {
        return Vec::new();
    }
    let mut rows: Vec<ThreadHits> = threads
        .into_iter()
        .map(|(thread, hits)| ThreadHits { thread: thread.map(|id| table.thread(id).to_string()), hits })
        .collect();
    rows.sort_by(|a, b| b.hits.cmp(&a.hits).then_with(|| a.thread.cmp(&b.thread)));
    rows
}

/// Hits in percent of all; 0 when there are none.
pub fn percent(hits: u128, total: u128) -> f64 {
    if total == 0 { 0.0 } else { hits as f64 * 100.0 / total as f64 }
}

/// Returns true if an event type measures waiting as well as running.
pub(super) fn includes_waiting(source: SampleSource) -> bool {
    matches!(source, SampleSource::WallClock | SampleSource::Native)
}

/// Returns true if the hits of an event type are calls, all of them.
fn is_call_count(source: SampleSource) -> bool {
    matches!(source, SampleSource::MethodTrace | SampleSource::MethodTiming)
}

/// Share of one-frame stacks, in percent, from which broken stacks are suspected.
const BROKEN_STACKS: f64 = 20.0;

/// One line for each thing to keep in mind; lower case, no full stop.
pub fn notes(table: &StackTable) -> Vec<String> {
    let mut notes = Vec::new();
    let total = table.total_hits();
    let has = |source: &str| table.observed.sources.iter().any(|known| known.starts_with(source));
    let is_java = table.has_java();
    let has_samples_of = |sources: &[SampleSource]| table.samples().any(|sample| sources.contains(&sample.key.source));
    if has("Flight Recorder") && has_samples_of(&[SampleSource::Execution, SampleSource::Native]) {
        notes.push("Flight Recorder samples a limited number of running threads per interval".to_string());
    }
    if has("Flight Recorder") && has_samples_of(&[SampleSource::Execution, SampleSource::CpuTime]) {
        notes.push(
            "positions in compiled code are exact only with -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints"
                .to_string(),
        );
    }
    if has("collapsed") && is_java {
        notes.push(
            "collapsed stacks do not name their sampler: a sampler that waits for safepoints attributes loops \
                    without polls to the next poll; others lose samples to error frames"
                .to_string(),
        );
    }
    if has("iprof samples") {
        notes.push("an iprof has no sampling period, threads or times; hits are relative to the whole run".to_string());
    }
    if has("iprof call counts") {
        notes.push("these are call counts, not times; chains end at the borders of compilation units".to_string());
    }
    if has("folded") {
        notes.push(
            match is_java {
                true => {
                    "stacks of perf are complete only if all code keeps frame pointers (-XX:+PreserveFramePointer); \
                     interpreted methods have no names"
                }
                false => {
                    "stacks that perf found by frame pointers are complete only if all code keeps them \
                     (-fno-omit-frame-pointer)"
                }
            }
            .to_string(),
        );
    }
    notes.extend(events(table));
    if table.samples().next().is_none() && table.observed.skipped_events.is_empty() {
        notes.push("the inputs have no samples, and no other events that can be read".to_string());
    }
    notes.extend(measured(table, total));
    notes
}

/// Notes about events that are not samples, and about event types that were not requested.
fn events(table: &StackTable) -> Vec<String> {
    let there: BTreeSet<SampleSource> = table.samples().map(|sample| sample.key.source).collect();
    let has = |sources: &[SampleSource]| sources.iter().any(|source| there.contains(source));
    let mut notes = Vec::new();
    if there.iter().any(|source| is_call_count(*source)) {
        notes.push("method-trace and method-timing are exact numbers of calls, not times".to_string());
    }
    if has(&[SampleSource::Allocation]) {
        notes.push(
            "jdk.ObjectAllocationSample records a limited number of allocations per second; each represents \
                    the bytes that its thread allocated since the previous one"
                .to_string(),
        );
    }
    if has(&[SampleSource::Tlab]) {
        notes.push(
            "only the first allocation in a thread-local buffer is recorded; it represents the whole buffer"
                .to_string(),
        );
    }
    if there.iter().any(|source| source.unit(Weight::Time).is_some()) {
        notes.push(
            "locks, waits, reads and writes are recorded only if they took longer than the recording's \
                    threshold (20 ms in the JDK's default settings)"
                .to_string(),
        );
    }
    let skipped = &table.observed.skipped_events;
    if !skipped.is_empty() {
        let event_types: Vec<String> = skipped
            .iter()
            .map(|(source, events)| match events {
                0 => source.word().to_string(),
                events => format!("{events} {}", source.word()),
            })
            .collect();
        notes.push(format!("the recording also has other event types: {}", event_types.join(", ")));
    }
    notes
}

/// Returns true for a frame that reports an error: the names that async-profiler documents. `[unknown]` is not one, but a
/// function without a symbol.
fn is_error_frame(name: &str) -> bool {
    let Some(inner) = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else { return false };
    match inner {
        "GC_active"
        | "deoptimization"
        | "no_Java_frame"
        | "not_walkable_Java"
        | "not_walkable_not_Java"
        | "safepoint"
        | "skipped"
        | "thread_exit"
        | "unexpected_state"
        | "unknown_Java"
        | "unknown_not_Java"
        | "unknown_state"
        | "error" => true,
        other => other.starts_with("break_"),
    }
}

/// Whether any stack has a frame that was not inlined, and its caller.
fn has_callers(table: &StackTable) -> bool {
    let is_call = |frame: &FrameId| table.frame(*frame).kind != FrameKind::Inlined;
    table.samples().any(|sample| table.frames(sample.key.stack).filter(is_call).nth(1).is_some())
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
            let hits = match table.unit() {
                Some(Unit::Hits) => number_of(total, "hit"),
                unit => format!("{total} {}", unit.map_or("of mixed units", Unit::word)),
            };
            notes.push(format!("{count} of {hits} ({:.3} %) {words}", percent(count, total)));
        }
    };
    add(hits(&|sample| sample.key.truncated), "have truncated stacks: the outermost frames are missing");
    add(
        hits(&|sample| sample.key.certainty == Certainty::Heuristic),
        "were moved to the next safepoint, according to the source",
    );
    add(
        hits(&|sample| symbol(sample).is_some_and(is_error_frame)),
        "end in an error frame, because the sampler could not walk the stack",
    );
    add(hits(&|sample| symbol(sample) == Some("Interpreter")), "end in the interpreter, whose methods have no names");
    add(hits(&|sample| includes_waiting(sample.key.source)), "are of event types that include waiting threads");
    add(
        hits(&|sample| {
            let lacks_index = symbol(sample).is_none() && leaf(sample).bci.is_none();
            lacks_index && matches!(sample.key.source, SampleSource::Execution | SampleSource::CpuTime)
        }),
        "have no bytecode index at the leaf",
    );
    // Neither Flight Recorder nor the counters of an iprof walk stacks by frame pointers.
    let walks_frames = !table.observed.sources.iter().any(|source| source.starts_with("iprof"));
    let single = hits(&|sample| {
        table.depth(sample.key.stack) == 1
            && leaf(sample).kind != FrameKind::Kernel
            && sample.key.source == SampleSource::Unknown
    });
    // Nor do profilers of allocations.
    let observed = &table.observed;
    let may_be_broken = walks_frames && !observed.lacks_unwinding && table.unit() == Some(Unit::Hits);
    if may_be_broken && percent(single, total) >= BROKEN_STACKS {
        add(
            single,
            match table.has_java() {
                _ if !has_callers(table) => {
                    "have only one frame, probably because call chains were not recorded (perf record -g)"
                }
                true => "have only one frame, probably because frame pointers are missing (-XX:+PreserveFramePointer)",
                false => "have only one frame, probably because frame pointers are missing (-fno-omit-frame-pointer)",
            },
        );
    }
    let has_cpu_time = table.samples().any(|sample| sample.key.source == SampleSource::CpuTime);
    let lost_of_cpu_time = if has_cpu_time { observed.cpu_time_samples_lost } else { 0 };
    for (count, what, words) in [
        (observed.samples_without_stack, "sample", "without a stack, not counted"),
        (observed.samples_out_of_time.values().sum(), "event", "outside the requested time range"),
        (observed.samples_lost, "sample", "lost, according to the source"),
        (lost_of_cpu_time, "CPU-time sample", "lost, according to the source"),
        (observed.lines_skipped, "line", "without a stack, not counted"),
        (observed.parts_cut, "part", "truncated at the end and not counted"),
    ] {
        if count > 0 {
            let of_all = if observed.has_one_thread { " (all threads)" } else { "" };
            notes.push(format!("{}{of_all} {words}", number_of(count, what)));
        }
    }
    notes
}

/// The flat table with what belongs to it; at most `limit` methods.
pub fn write_statistics(statistics: &SampleStatistics, limit: usize) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(format!("Source: {}", statistics.sources.join(", ")));
    line(format!(
        "{}: {}{} in {}, {:.1} frames deep on average, {} at most",
        counted(statistics),
        statistics.hits,
        in_large_units(statistics),
        number_of(statistics.stacks, "distinct stack"),
        statistics.mean_depth,
        statistics.max_depth
    ));
    if statistics.duration_nanos > 0 {
        line(format!("Recorded time: {:.3} s", statistics.duration_nanos as f64 / 1e9));
    }
    if statistics.hits_by_event_type.len() > 1 {
        let event_types: Vec<String> =
            statistics.hits_by_event_type.iter().map(|(sort, hits)| format!("{sort} {hits}")).collect();
        line(format!("Event types: {}", event_types.join(", ")));
    }
    for note in &statistics.notes {
        line(format!("Note: {note}"));
    }
    line(String::new());
    out.push_str(&method_table(statistics, limit));
    if !statistics.threads.is_empty() {
        out.push('\n');
        out.push_str(&thread_table(statistics, limit));
    }
    out
}

/// The heading of what is counted.
fn counted(statistics: &SampleStatistics) -> &'static str {
    match statistics.unit {
        "bytes" => "Bytes",
        "ns" => "ns",
        "millionths" => "Millionths",
        _ => "Hits",
    }
}

/// The total as people read it: ` (274.0 MB)`; empty for samples and small numbers.
fn in_large_units(statistics: &SampleStatistics) -> String {
    const KILOBYTE: f64 = 1024.0;
    let steps: &[(f64, &str)] = match statistics.unit {
        // As in pprof.
        "bytes" => &[
            (KILOBYTE * KILOBYTE * KILOBYTE * KILOBYTE, "TB"),
            (KILOBYTE * KILOBYTE * KILOBYTE, "GB"),
            (KILOBYTE * KILOBYTE, "MB"),
            (KILOBYTE, "kB"),
        ],
        "ns" => &[(1e9, "s"), (1e6, "ms"), (1e3, "µs")],
        "millionths" => &[(1e6, "hits")],
        _ => &[],
    };
    let total = statistics.hits as f64;
    match steps.iter().find(|(size, _)| total >= *size) {
        Some((size, unit)) => format!(" ({:.2} {unit})", total / size),
        None => String::new(),
    }
}

fn method_table(statistics: &SampleStatistics, limit: usize) -> String {
    let shown = &statistics.methods[..statistics.methods.len().min(limit)];
    let (heading, what) =
        if statistics.has_java { ("Method name", "more method") } else { ("Function name", "more function") };
    let width = name_column(shown.iter().map(|row| row.method.as_str()), heading.len());
    let mut out = String::new();
    let marks = if statistics.has_certainty { format!(" {:>10} {:>10}", "Exact", "Heuristic") } else { String::new() };
    let _ = writeln!(
        out,
        "{:<width$} {:>10} {:>8} {:>10} {:>8}{marks}",
        heading,
        counted(statistics),
        "%",
        "Inclusive",
        "%"
    );
    for row in shown {
        let marks =
            if statistics.has_certainty { format!(" {:>10} {:>10}", row.exact, row.heuristic) } else { String::new() };
        let _ = writeln!(
            out,
            "{:<width$} {:>10} {:>8.3} {:>10} {:>8.3}{marks}",
            row.method,
            row.exclusive,
            percent(row.exclusive, statistics.hits),
            row.inclusive,
            percent(row.inclusive, statistics.hits)
        );
    }
    if shown.len() < statistics.methods.len() {
        let _ = writeln!(out, "… and {}", number_of(statistics.methods.len() - shown.len(), what));
    }
    out
}

fn thread_name(row: &ThreadHits) -> &str {
    row.thread.as_deref().unwrap_or("(no thread)")
}

fn thread_table(statistics: &SampleStatistics, limit: usize) -> String {
    let shown = &statistics.threads[..statistics.threads.len().min(limit)];
    let width = name_column(shown.iter().map(thread_name), "Thread".len());
    let mut out = String::new();
    let _ = writeln!(out, "{:<width$} {:>10} {:>8}", "Thread", counted(statistics), "%");
    for row in shown {
        let _ =
            writeln!(out, "{:<width$} {:>10} {:>8.3}", thread_name(row), row.hits, percent(row.hits, statistics.hits));
    }
    if shown.len() < statistics.threads.len() {
        let _ = writeln!(out, "… and {}", number_of(statistics.threads.len() - shown.len(), "more thread"));
    }
    out
}

/// Call chains: each line its hits and its share of the line it belongs to.
pub fn write_chains(chains: &[CallChain]) -> String {
    let mut out = String::new();
    for chain in chains {
        let _ = writeln!(out, "{}   {}", chain.method, chain.hits);
        // Deep recursion must not become deep recursion here.
        let mut open: Vec<(usize, &CallChain, u128)> =
            chain.next.iter().rev().map(|next| (1, next, chain.hits)).collect();
        while let Some((level, node, above)) = open.pop() {
            let bci = node.bci.map_or(String::new(), |bci| format!(" @{bci}"));
            let share = percent(node.hits, above);
            let _ = writeln!(out, "{}{}{bci}   {}  {share:.3} %", "  ".repeat(level), node.method, node.hits);
            open.extend(node.next.iter().rev().map(|next| (level + 1, next, node.hits)));
        }
    }
    out
}
