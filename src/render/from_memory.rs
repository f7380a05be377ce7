//! The report of memory profiles.

use super::from_stacks::compare_shares;
use super::{Cell, FlameGraph, Histogram, Report, Section, Table, group_digits, percent};
use crate::report::stacks::{SampleStatistics, statistics};
use crate::stacks::model::{StackId, StackTable};

/// What a report of a memory profile shows.
#[derive(Debug, Clone)]
pub struct MemoryView<'a> {
    /// Allocation contexts with their bytes or allocations.
    pub table: &'a StackTable,
    /// Which of the two: `bytes` or `allocations`.
    pub unit: &'static str,
    /// Totals, in pairs of label and value.
    pub facts: Vec<(String, String)>,
}

/// The report of a memory profile, perhaps compared with another one.
pub fn report(title: &str, now: MemoryView<'_>, before: Option<MemoryView<'_>>) -> Report {
    let unit = now.unit;
    let (table, sums) = (now.table, statistics(now.table));
    let mut report = Report { title: title.to_string(), facts: now.facts, ..Report::default() };
    report.facts.push(("Call stacks".to_string(), group_digits(sums.stacks.into())));
    if let Some(before) = &before {
        let old = statistics(before.table);
        let label = format!("{}{} of the baseline", unit[..1].to_uppercase(), &unit[1..]);
        report.facts.push((label, group_digits(old.hits)));
        let of = format!("{unit} that a function allocates itself");
        report.sections.extend(compare_shares(&own_shares(&sums), &own_shares(&old), &of));
    }
    report.sections.push(flame(table, before.map(|before| before.table), unit));
    let own = format!("Exclusive: {unit} that the function allocates itself. Inclusive: with those of what it calls.");
    report.sections.push(Section::Table(functions(&sums, &own)));
    report.sections.push(Section::Table(sites(table, &sums, unit)));
    let hits = table.samples().map(|sample| sample.hits);
    let text = format!("How many call stacks have how many {unit}.");
    report.sections.push(Section::Histogram(Histogram::by_powers_of_two(
        &format!("Distribution of {unit}"),
        &text,
        hits,
    )));
    report
}

pub(super) fn own_shares(sums: &SampleStatistics) -> Vec<(String, f64)> {
    sums.methods.iter().map(|row| (row.method.clone(), percent(row.exclusive, sums.hits))).collect()
}

fn flame(table: &StackTable, baseline: Option<&StackTable>, unit: &'static str) -> Section {
    let mut text = format!(
        "Each box is a function, below it what it called; its width is its share of all {unit}, from left to right by name."
    );
    if baseline.is_some() {
        text.push_str(" Orange boxes have a larger share than in the baseline, blue ones a smaller share.");
    }
    let title = if baseline.is_some() { "Differential flame graph" } else { "Flame graph" };
    Section::Flame(FlameGraph::new(title, &text, unit, table, baseline))
}

/// What functions have by themselves, and with what they call; `text` explains it.
pub(super) fn functions(sums: &SampleStatistics, text: &str) -> Table {
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

/// The contexts with most bytes or allocations first.
fn sites(table: &StackTable, sums: &SampleStatistics, unit: &'static str) -> Table {
    let mut samples: Vec<_> = table.samples().collect();
    // Equal ones stay in order of first appearance.
    samples.sort_by_key(|sample| std::cmp::Reverse(sample.hits));
    let left_out = samples.len().saturating_sub(super::MAX_ROWS);
    samples.truncate(super::MAX_ROWS);
    let rows = samples.iter().map(|sample| {
        let hits = u128::from(sample.hits);
        let stack = Cell::Text(words(table, sample.key.stack));
        vec![stack, Cell::Count(hits), Cell::Percent(percent(hits, sums.hits))]
    });
    let heading = if unit == "bytes" { "Bytes" } else { "Allocations" };
    let text = "From the function that allocates to its callers.";
    let sites = Table::new("Allocation contexts", text, &["Call stack", heading, "%"], rows.collect());
    Table { left_out, ..sites }
}

fn words(table: &StackTable, stack: StackId) -> String {
    let names = table.frames(stack).map(|frame| table.display_function(table.frame(frame).function));
    names.collect::<Vec<_>>().join(" < ")
}
