//! The HTML report of a comparison with a newer build.

use super::{FitReport, Releases, TargetsFit};
use crate::render::{Cell, Report, Section, Table, group_digits};

/// Returns the report: used functions, functions that lost their profile, and new functions.
pub fn draw_report(title: &str, fit: &FitReport) -> Report {
    let mut sections = vec![functions(fit), program(fit), lost(fit)];
    for (title, names) in [
        ("Changed functions of the new build", &fit.changed),
        ("Functions of the new build without a profile", &fit.unprofiled),
    ] {
        if !names.is_empty() {
            let rows = names.iter().map(|name| vec![Cell::Text(name.clone())]).collect();
            sections.push(Section::Table(Table::new(title, "", &["Function"], rows)));
        }
    }
    sections.extend(fit.targets.as_ref().map(targets));
    if !fit.sections.is_empty() {
        sections.push(iprof_sections(fit));
    }
    sections.extend(fit.releases.as_ref().filter(|releases| !releases.findings.is_empty()).map(findings));
    Report { title: title.to_string(), facts: facts(fit), notes: fit.notes.clone(), sections }
}

fn facts(fit: &FitReport) -> Vec<(String, String)> {
    let share = |share: Option<f64>| share.map_or("–".to_string(), |share| format!("{:.2} %", 100.0 * share));
    let mut facts = vec![
        ("Profile".to_string(), fit.profile_is.clone()),
        ("New build".to_string(), fit.program_is.clone()),
        (format!("Used {}", fit.counted), share(fit.used_counts)),
        ("Used functions".to_string(), share(fit.used_functions)),
        ("New functions with a profile".to_string(), share(fit.profiled_functions)),
    ];
    if let Some(releases) = &fit.releases {
        facts.push(("Indexed version".to_string(), releases.indexed_version.to_string()));
        let reader = releases.reader.map_or("unknown".to_string(), |reader| match releases.is_readable {
            true => format!("LLVM {reader}"),
            false => format!("LLVM {reader}, which rejects it"),
        });
        facts.push(("Compiler".to_string(), reader));
    }
    facts
}

fn functions(fit: &FitReport) -> Section {
    let rows = fit.functions.iter().map(|row| {
        vec![
            Cell::Text(row.class.words().to_string()),
            Cell::Count(row.functions.into()),
            Cell::Percent(100.0 * row.functions_share),
            Cell::Count(row.count),
            Cell::Percent(100.0 * row.count_share),
        ]
    });
    let text = format!("Functions of the profile by status, with their {}.", fit.counted);
    let columns = ["Status", "Functions", "% of functions", "Counts", "% of counts"];
    Section::Table(Table::new("In the profile", &text, &columns, rows.collect()))
}

fn program(fit: &FitReport) -> Section {
    let rows = fit.program.iter().map(|row| {
        let words = Cell::Text(row.class.words().to_string());
        vec![words, Cell::Count(row.functions.into()), Cell::Percent(100.0 * row.share)]
    });
    let text = "Functions of the new build by status.";
    Section::Table(Table::new("In the new build", text, &["Status", "Functions", "%"], rows.collect()))
}

fn lost(fit: &FitReport) -> Section {
    let text = "Functions whose counts the compiler drops, the hottest first. The new name of a renamed function is \
                a guess: a function with the same hash and shape, and a similar name.";
    let rows = fit.lost.iter().map(|row| {
        let optional = |text: &Option<String>| text.clone().map_or(Cell::Empty, Cell::Text);
        vec![
            Cell::Text(row.function.clone()),
            Cell::Text(row.class.words().to_string()),
            Cell::Count(row.count),
            Cell::Percent(100.0 * row.share),
            optional(&row.now),
            optional(&row.detail),
        ]
    });
    let columns = ["Function", "Status", "Counts", "%", "Now", "Detail"];
    let mut table = Table::new("Lost profiles", text, &columns, rows.collect());
    table.left_out += usize::try_from(fit.more_lost).unwrap_or(usize::MAX);
    Section::Table(table)
}

fn targets(targets: &TargetsFit) -> Section {
    let text = format!(
        "The new build has {1} of {0} call targets ({2} of {3} calls); the names of {4} are unknown.",
        group_digits(targets.targets.into()),
        group_digits(targets.there.into()),
        group_digits(targets.there_count),
        group_digits(targets.count),
        group_digits(targets.unknown.into())
    );
    let rows = targets.top.iter().map(|row| vec![Cell::Text(row.target.clone()), Cell::Count(row.count)]);
    let mut table = Table::new("Missing call targets", &text, &["Target", "Calls"], rows.collect());
    table.left_out += usize::try_from(targets.gone).unwrap_or(usize::MAX).saturating_sub(targets.top.len());
    Section::Table(table)
}

fn iprof_sections(fit: &FitReport) -> Section {
    let rows = fit.sections.iter().map(|row| {
        vec![
            Cell::Text(row.section.to_string()),
            Cell::Count(row.entries.into()),
            Cell::Count(row.used_entries.into()),
            Cell::Count(row.events),
            Cell::Count(row.used_events),
        ]
    });
    let columns = ["Section", "Entries", "Used entries", "Events", "Used events"];
    Section::Table(Table::new("Sections", "", &columns, rows.collect()))
}

fn findings(releases: &Releases) -> Section {
    let rows = releases.findings.iter().map(|row| {
        let words = Cell::Text(row.text.clone());
        vec![words, Cell::Count(row.functions.into()), Cell::Percent(100.0 * row.share)]
    });
    Section::Table(Table::new("Other releases of LLVM", "", &["Finding", "Functions", "% of counts"], rows.collect()))
}
