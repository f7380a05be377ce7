//! Sections that reports of several families have.

use super::{Cell, FlameGraph, FlameLabels, Section, Table};
use crate::call_chains::{SampleStatistics, StackTable, percent};
use std::collections::BTreeMap;

/// The flame graph section, differential with a baseline.
pub(crate) fn flame(table: &StackTable, baseline: Option<&StackTable>, unit: &'static str) -> Section {
    let box_kind = if table.has_java() { "method" } else { "function" };
    let (title, text) = match baseline {
        None => (
            "Flame graph",
            format!(
                "Each box is a {box_kind}, with its callees below. The width is the share of all {unit}. Boxes are sorted \
                 by name, not by time."
            ),
        ),
        Some(_) => (
            "Differential flame graph",
            format!(
                "Widths are shares of all {unit}. Orange boxes have a larger share than in the baseline, blue boxes a \
                 smaller share. Stronger colors mean larger changes in percentage points. Boxes without a color have \
                 no significant change."
            ),
        ),
    };
    Section::Flame(FlameGraph::new(table, baseline, FlameLabels::new(title, text, unit)))
}

/// The exclusive share of each function, in percent.
pub(crate) fn own_shares(sums: &SampleStatistics) -> Vec<(String, f64)> {
    sums.methods.iter().map(|row| (row.method.clone(), percent(row.exclusive, sums.hits))).collect()
}

/// Exclusive and inclusive counts of functions; `text` explains them.
pub(crate) fn functions(sums: &SampleStatistics, text: &str) -> Table {
    let rows = sums.methods.iter().map(|row| {
        vec![
            Cell::Text(row.method.clone()),
            Cell::Count(row.exclusive),
            Cell::Percent(percent(row.exclusive, sums.hits)),
            Cell::Count(row.inclusive),
            Cell::Percent(percent(row.inclusive, sums.hits)),
        ]
    });
    Table::new("Functions", text, &["Function", "Exclusive", "%", "Inclusive", "% "], rows.collect())
}

/// Tables of what gained and what lost share. Both lists are percentages by name.
pub(crate) fn compare_shares(now: &[(String, f64)], before: &[(String, f64)], of: &str) -> Vec<Section> {
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
