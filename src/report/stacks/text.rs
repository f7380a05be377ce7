//! The statistics as text for people.

use crate::digits::number_of;
use crate::report::stacks::hits::percent;
use crate::report::stacks::{CallChain, SampleStatistics};
use std::fmt::Write;

/// The flat table with what belongs to it; at most `limit` methods.
pub fn write_statistics(statistics: &SampleStatistics, limit: usize) -> String {
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(format!("Source: {}", statistics.sources.join(", ")));
    line(format!(
        "{}: {} in {}, {:.1} frames deep on average, {} at most",
        counted(statistics),
        statistics.hits,
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
        line(format!("Sorts of samples: {}", event_types.join(", ")));
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

fn method_table(statistics: &SampleStatistics, limit: usize) -> String {
    let shown = &statistics.methods[..statistics.methods.len().min(limit)];
    let width = shown.iter().map(|row| row.method.chars().count()).chain([11]).max().unwrap_or(11);
    let mut out = String::new();
    let marks = if statistics.has_certainty { format!(" {:>10} {:>10}", "Exact", "Heuristic") } else { String::new() };
    let _ = writeln!(
        out,
        "{:<width$} {:>10} {:>8} {:>10} {:>8}{marks}",
        "Method name",
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
        let _ = writeln!(out, "… and {}", number_of(statistics.methods.len() - shown.len(), "more method"));
    }
    out
}

fn thread_table(statistics: &SampleStatistics, limit: usize) -> String {
    let name = |thread: &Option<String>| thread.clone().unwrap_or_else(|| "(no thread)".to_string());
    let shown = &statistics.threads[..statistics.threads.len().min(limit)];
    let width = shown.iter().map(|row| name(&row.thread).chars().count()).chain([6]).max().unwrap_or(6);
    let mut out = String::new();
    let _ = writeln!(out, "{:<width$} {:>10} {:>8}", "Thread", counted(statistics), "%");
    for row in shown {
        let _ =
            writeln!(out, "{:<width$} {:>10} {:>8.3}", name(&row.thread), row.hits, percent(row.hits, statistics.hits));
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
