//! The report of sampled stacks.

use super::{Cell, FlameGraph, Histogram, Report, Section, Table, group_digits, percent};
use crate::report::stacks::{SampleStatistics, statistics};
use crate::stacks::model::StackTable;
use std::collections::BTreeMap;

/// The report of `table`, perhaps compared with `baseline`.
pub fn report(title: &str, table: &StackTable, baseline: Option<&StackTable>) -> Report {
    let now = statistics(table);
    let mut report = Report { title: title.to_string(), notes: now.notes.clone(), ..Report::default() };
    report.facts = facts(table, &now);
    if let Some(baseline) = baseline {
        let before = statistics(baseline);
        report.facts.push((format!("{} of the baseline", heading(before.unit)), group_digits(before.hits)));
        report.sections.extend(changes(&now, &before));
    }
    report.sections.push(flame(table, baseline, now.unit));
    report.sections.push(Section::Table(methods(&now)));
    if !now.threads.is_empty() {
        report.sections.push(Section::Table(threads(&now)));
    }
    let hits = table.samples().map(|sample| sample.hits);
    let text = "How many distinct stacks were seen how often.";
    report.sections.push(Section::Histogram(Histogram::by_powers_of_two("Distribution of hits", text, hits)));
    report
}

/// The flame graph section, differential with a baseline.
pub(super) fn flame(table: &StackTable, baseline: Option<&StackTable>, unit: &'static str) -> Section {
    let (title, text) = match baseline {
        None => (
            "Flame graph",
            format!(
                "Each box is a method, below it what it called; its width is its share of all {unit}, from left to right by name, not by time."
            ),
        ),
        Some(_) => (
            "Differential flame graph",
            format!(
                "Widths are shares of all {unit}. Orange boxes have a larger share than in the baseline, blue ones a smaller share, the fuller the more percentage points; those without a colour differ by no more than chance."
            ),
        ),
    };
    Section::Flame(FlameGraph::new(title, &text, unit, table, baseline))
}

fn facts(table: &StackTable, statistics: &SampleStatistics) -> Vec<(String, String)> {
    let mut facts = vec![
        ("Source".to_string(), statistics.sources.join(", ")),
        (heading(statistics.unit).to_string(), group_digits(statistics.hits)),
        ("Distinct stacks".to_string(), group_digits(statistics.stacks.into())),
        ("Methods".to_string(), group_digits(statistics.methods.len() as u128)),
        (
            "Frames of a stack".to_string(),
            format!("{:.1} on average, {} at most", statistics.mean_depth, statistics.max_depth),
        ),
    ];
    if !statistics.threads.is_empty() {
        facts.push(("Threads".to_string(), group_digits(statistics.threads.len() as u128)));
    }
    if statistics.duration_nanos > 0 {
        facts.push(("Recorded time".to_string(), format!("{:.3} s", statistics.duration_nanos as f64 / 1e9)));
    }
    if table.observed.parts > 1 {
        facts.push(("Parts".to_string(), group_digits(table.observed.parts.into())));
    }
    if statistics.hits_by_event_type.len() > 1 {
        let event_types: Vec<String> = statistics
            .hits_by_event_type
            .iter()
            .map(|(sort, hits)| format!("{sort} {}", group_digits(*hits)))
            .collect();
        facts.push(("Sorts of samples".to_string(), event_types.join(", ")));
    }
    facts
}

/// What is counted, as a label.
fn heading(unit: &str) -> &'static str {
    match unit {
        "bytes" => "Bytes",
        "ns" => "Nanoseconds",
        "millionths" => "Millionths",
        _ => "Hits",
    }
}

fn methods(statistics: &SampleStatistics) -> Table {
    let rows = statistics.methods.iter().map(|row| {
        let mut cells = vec![
            Cell::Text(row.method.clone()),
            Cell::Count(row.exclusive),
            Cell::Percent(percent(row.exclusive, statistics.hits)),
            Cell::Count(row.inclusive),
            Cell::Percent(percent(row.inclusive, statistics.hits)),
        ];
        if statistics.has_certainty {
            cells.extend([Cell::Count(row.exact), Cell::Count(row.heuristic)]);
        }
        cells
    });
    let mut columns = vec!["Method", "Exclusive", "%", "Inclusive", "% "];
    if statistics.has_certainty {
        columns.extend(["Exact", "Heuristic"]);
    }
    let text = "Exclusive: stacks that end in the method. Inclusive: stacks that contain it.";
    Table::new("Hottest methods", text, &columns, rows.collect())
}

fn threads(statistics: &SampleStatistics) -> Table {
    let rows = statistics.threads.iter().map(|row| {
        let name = row.thread.clone().unwrap_or_else(|| "(no thread)".to_string());
        vec![Cell::Text(name), Cell::Count(row.hits), Cell::Percent(percent(row.hits, statistics.hits))]
    });
    Table::new("Threads", "", &["Thread", heading(statistics.unit), "%"], rows.collect())
}

/// Risers and fallers by their exclusive share.
fn changes(now: &SampleStatistics, before: &SampleStatistics) -> Vec<Section> {
    let shares = |statistics: &SampleStatistics| -> Vec<(String, f64)> {
        statistics.methods.iter().map(|row| (row.method.clone(), percent(row.exclusive, statistics.hits))).collect()
    };
    compare_shares(&shares(now), &shares(before), "exclusive hits")
}

/// Tables of what gained and what lost share. Both lists are percentages by name.
pub(super) fn compare_shares(now: &[(String, f64)], before: &[(String, f64)], of: &str) -> Vec<Section> {
    let mut rows: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (name, share) in now {
        rows.entry(name).or_default().0 += share;
    }
    for (name, share) in before {
        rows.entry(name).or_default().1 += share;
    }
    let mut rows: Vec<(&str, f64, f64)> = rows.into_iter().map(|(name, (now, before))| (name, now, before)).collect();
    // Equal changes stay in order of name.
    rows.sort_by(|a, b| (b.1 - b.2).total_cmp(&(a.1 - a.2)));
    let cells = |(name, now, before): &(&str, f64, f64)| {
        vec![Cell::Text(name.to_string()), Cell::Percent(*before), Cell::Percent(*now), Cell::Change(now - before)]
    };
    let columns = ["Name", "Before %", "Now %", "Change"];
    let text = format!("Shares of {of}, in percentage points.");
    let risers = rows.iter().filter(|row| row.1 > row.2).map(cells).collect();
    let fallers = rows.iter().rev().filter(|row| row.1 < row.2).map(cells).collect();
    vec![
        Section::Table(Table::new("Risers", &text, &columns, risers)),
        Section::Table(Table::new("Fallers", &text, &columns, fallers)),
    ]
}
