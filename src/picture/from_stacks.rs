//! The report of sampled stacks.

use super::{Cell, FlameGraph, Histogram, Report, Section, Table, group_digits, percent};
use crate::model::stacks::StackTable;
use crate::report::samples::{SampleFigures, figures};
use std::collections::BTreeMap;

/// What is counted, in words.
const UNIT: &str = "hits";

/// The report of `table`, perhaps compared with `baseline`.
pub fn report(title: &str, table: &StackTable, baseline: Option<&StackTable>) -> Report {
    let now = figures(table);
    let mut report = Report { title: title.to_string(), notes: now.notes.clone(), ..Report::default() };
    report.facts = facts(table, &now);
    if let Some(baseline) = baseline {
        let before = figures(baseline);
        report.facts.push(("Hits of the baseline".to_string(), group_digits(before.hits)));
        report.sections.extend(changes(&now, &before));
    }
    report.sections.push(flame(table, baseline, UNIT));
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
                "Widths are shares of all {unit}. Orange boxes have a larger share than in the baseline, blue ones a smaller share, the fuller the more percentage points; white ones differ by no more than chance."
            ),
        ),
    };
    Section::Flame(FlameGraph::new(title, &text, unit, table, baseline))
}

fn facts(table: &StackTable, figures: &SampleFigures) -> Vec<(String, String)> {
    let mut facts = vec![
        ("Source".to_string(), figures.sources.join(", ")),
        ("Hits".to_string(), group_digits(figures.hits)),
        ("Distinct stacks".to_string(), group_digits(figures.stacks.into())),
        ("Methods".to_string(), group_digits(figures.methods.len() as u128)),
        (
            "Frames of a stack".to_string(),
            format!("{:.1} on average, {} at most", figures.mean_depth, figures.max_depth),
        ),
    ];
    if !figures.threads.is_empty() {
        facts.push(("Threads".to_string(), group_digits(figures.threads.len() as u128)));
    }
    if figures.duration_nanos > 0 {
        facts.push(("Recorded time".to_string(), format!("{:.3} s", figures.duration_nanos as f64 / 1e9)));
    }
    if table.observed.parts > 1 {
        facts.push(("Parts".to_string(), group_digits(table.observed.parts.into())));
    }
    if figures.hits_by_sort.len() > 1 {
        let sorts: Vec<String> =
            figures.hits_by_sort.iter().map(|(sort, hits)| format!("{sort} {}", group_digits(*hits))).collect();
        facts.push(("Sorts of samples".to_string(), sorts.join(", ")));
    }
    facts
}

fn methods(figures: &SampleFigures) -> Table {
    let rows = figures.methods.iter().map(|row| {
        let mut cells = vec![
            Cell::Text(row.method.clone()),
            Cell::Count(row.exclusive),
            Cell::Percent(percent(row.exclusive, figures.hits)),
            Cell::Count(row.inclusive),
            Cell::Percent(percent(row.inclusive, figures.hits)),
        ];
        if figures.has_certainty {
            cells.extend([Cell::Count(row.exact), Cell::Count(row.heuristic)]);
        }
        cells
    });
    let mut columns = vec!["Method", "Exclusive", "%", "Inclusive", "% "];
    if figures.has_certainty {
        columns.extend(["Exact", "Heuristic"]);
    }
    let text = "Exclusive: stacks that end in the method. Inclusive: stacks that contain it.";
    Table::new("Hottest methods", text, &columns, rows.collect())
}

fn threads(figures: &SampleFigures) -> Table {
    let rows = figures.threads.iter().map(|row| {
        let name = row.thread.clone().unwrap_or_else(|| "(no thread)".to_string());
        vec![Cell::Text(name), Cell::Count(row.hits), Cell::Percent(percent(row.hits, figures.hits))]
    });
    Table::new("Threads", "", &["Thread", "Hits", "%"], rows.collect())
}

/// Risers and fallers by their exclusive share.
fn changes(now: &SampleFigures, before: &SampleFigures) -> Vec<Section> {
    let shares = |figures: &SampleFigures| -> Vec<(String, f64)> {
        figures.methods.iter().map(|row| (row.method.clone(), percent(row.exclusive, figures.hits))).collect()
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
    // The sum of nothing is -0.
    let overlap = rows.values().map(|(now, before)| now.min(*before)).sum::<f64>() + 0.0;
    let mut rows: Vec<(&str, f64, f64)> = rows.into_iter().map(|(name, (now, before))| (name, now, before)).collect();
    // Equal changes stay in order of name.
    rows.sort_by(|a, b| (b.1 - b.2).total_cmp(&(a.1 - a.2)));
    let cells = |(name, now, before): &(&str, f64, f64)| {
        vec![Cell::Text(name.to_string()), Cell::Percent(*before), Cell::Percent(*now), Cell::Change(now - before)]
    };
    let columns = ["Name", "Before %", "Now %", "Change"];
    let text = format!("Shares of {of}, in percentage points. Overlap of the two profiles: {overlap:.3} %.");
    let risers = rows.iter().filter(|row| row.1 > row.2).map(cells).collect();
    let fallers = rows.iter().rev().filter(|row| row.1 < row.2).map(cells).collect();
    vec![
        Section::Table(Table::new("Risers", &text, &columns, risers)),
        Section::Table(Table::new("Fallers", &text, &columns, fallers)),
    ]
}
