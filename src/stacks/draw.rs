//! The report of sampled stacks, and the flame graph of a large text.

use super::collapsed::{Outline, OutlineNode};
use crate::call_chains::{FrameKind, FunctionId, SampleStatistics, StackId, StackTable, percent, statistics};
use crate::render::sections::{compare_shares, flame, own_shares};
use crate::render::{Cell, FlameGraph, FlameNode, FrameColor, Histogram, Report, Section, Table, Totals, group_digits};
use foldhash::HashMap;

/// The report of `table`, perhaps compared with `baseline`.
pub fn report(title: &str, table: &StackTable, baseline: Option<&StackTable>) -> Report {
    let now = statistics(table);
    let mut report = Report { title: title.to_string(), notes: now.notes.clone(), ..Report::default() };
    report.facts = facts(table, &now);
    if let Some(baseline) = baseline {
        let before = statistics(baseline);
        report.facts.push((format!("{} of the baseline", heading(before.unit)), group_digits(before.hits)));
        report.sections.extend(compare_shares(&own_shares(&now), &own_shares(&before), "exclusive hits"));
    }
    report.sections.push(flame(table, baseline, now.unit));
    report.sections.push(Section::Table(methods(&now)));
    if !now.threads.is_empty() {
        report.sections.push(Section::Table(threads(&now)));
    }
    report.sections.push(Section::Histogram(distribution(table, now.unit)));
    report
}

/// The number of stacks by their hits in all threads.
fn distribution(table: &StackTable, unit: &str) -> Histogram {
    let mut hits: HashMap<StackId, u64> = HashMap::default();
    for sample in table.samples() {
        let sum = hits.entry(sample.key.stack).or_default();
        *sum = sum.saturating_add(sample.hits);
    }
    let text = format!("Number of distinct stacks by their {}.", heading(unit).to_lowercase());
    Histogram::by_powers_of_two("Distribution of stacks", &text, hits.into_values())
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
    let unnamed = statistics.methods.iter().find(|row| row.method == "[unknown]").map_or(0, |row| row.exclusive);
    if unnamed > 0 {
        let share = percent(unnamed, statistics.hits);
        facts.push(("In functions without a name".to_string(), format!("{share:.1} %")));
    }
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
        facts.push(("Event types".to_string(), event_types.join(", ")));
    }
    facts
}

/// The label of a unit.
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

/// The flame graph of a text's outline.
pub fn graph_of_outline(outline: &Outline, unit: &'static str) -> FlameGraph {
    let clamp = |hits: u128| u64::try_from(hits).unwrap_or(u64::MAX);
    let node = |node: &OutlineNode| FlameNode { depth: node.depth, name: node.name, value: clamp(node.hits), base: 0 };
    let name =
        |(name, id, kind): &(String, FunctionId, FrameKind)| (name.clone(), FrameColor::of(&outline.table, *id, *kind));
    FlameGraph {
        unit: unit.to_string(),
        names: outline.names.iter().map(name).collect(),
        nodes: outline.nodes.iter().map(node).collect(),
        total: Totals { sum: clamp(outline.total), samples: outline.total as f64 },
        ..FlameGraph::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::stacks::collapsed::{TextOptions, read_stacks};

    #[test]
    fn a_stack_of_several_threads_is_one() {
        let text = b"[one tid=1];main;work 3\n[two tid=2];main;work 6\nmain 1\n";
        let mut table = StackTable::new();
        read_stacks(text.as_slice(), &TextOptions::default(), &Limits::default(), &mut table).unwrap();
        let rows = distribution(&table, "hits").rows;
        let seen: Vec<(&str, u64)> =
            rows.iter().filter(|(_, stacks)| *stacks > 0).map(|(class, stacks)| (class.as_str(), *stacks)).collect();
        assert_eq!(seen, [("1", 1), ("8 – 15", 1)]);
    }
}
