//! The report of LLVM sample profiles.

use super::from_memory::{functions, own_shares};
use super::from_stacks::{compare_shares, flame};
use super::{Cell, Histogram, Report, Section, Table, group_digits, percent};
use crate::report::stacks::statistics;
use crate::stacks::model::StackTable;

/// What a report of a sample profile shows.
#[derive(Debug, Clone)]
pub struct SampleView<'a> {
    /// Samples by chain of calls, inlined or in a calling context.
    pub table: &'a StackTable,
    /// Places of functions with their samples, wherever they were inlined.
    pub places: &'a [(String, u64)],
    /// Kind and totals, in pairs of label and value.
    pub facts: Vec<(String, String)>,
}

/// What is counted, in words.
const UNIT: &str = "samples";

/// The report of a sample profile, perhaps compared with another one.
pub fn report(title: &str, now: SampleView<'_>, before: Option<SampleView<'_>>) -> Report {
    let sums = statistics(now.table);
    let mut report = Report { title: title.to_string(), facts: now.facts, ..Report::default() };
    report.facts.push(("Samples".to_string(), group_digits(sums.hits)));
    if let Some(before) = &before {
        let old = statistics(before.table);
        report.facts.push(("Samples of the baseline".to_string(), group_digits(old.hits)));
        report.sections.extend(compare_shares(&own_shares(&sums), &own_shares(&old), "samples of a function itself"));
    }
    report.sections.push(flame(now.table, before.map(|before| before.table), UNIT));
    let text = "Exclusive: samples of the function's own lines, wherever it was inlined. Inclusive: with those of what \
                was inlined into it, or called in a calling context.";
    report.sections.push(Section::Table(functions(&sums, text)));
    report.sections.push(Section::Table(places(now.places, sums.hits)));
    let counts = now.places.iter().map(|(_, samples)| *samples);
    let text = "How many places have how many samples.";
    report.sections.push(Section::Histogram(Histogram::by_powers_of_two("Distribution of samples", text, counts)));
    report
}

/// The places with most samples first; equal ones by name.
fn places(places: &[(String, u64)], all: u128) -> Table {
    let mut sorted: Vec<&(String, u64)> = places.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let left_out = sorted.len().saturating_sub(super::MAX_ROWS);
    sorted.truncate(super::MAX_ROWS);
    let rows = sorted.into_iter().map(|(place, samples)| {
        let samples = u128::from(*samples);
        vec![Cell::Text(place.clone()), Cell::Count(samples), Cell::Percent(percent(samples, all))]
    });
    let text = "A function and the line from its first one, with the discriminator; in profiles with pseudo-probes the \
                number of the probe.";
    let table = Table::new("Hottest places", text, &["Place", "Samples", "%"], rows.collect());
    Table { left_out, ..table }
}
