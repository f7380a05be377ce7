//! The HTML report of an iprof.

use super::{BranchRow, ContextHandle, Document, SectionKind, TypeCount, display_name};
use crate::call_chains::{HotMethod, StackTable, percent, statistics};
use crate::render::sections::{compare_shares, flame, own_shares};
use crate::render::{Cell, Histogram, Report, Section, Table, group_digits};
use std::collections::BTreeMap;

/// The maximum number of frames of a context in a table.
const NAMED_FRAMES: usize = 4;

/// An iprof, and its two sections with one count per entry as stacks.
#[derive(Debug)]
pub struct IprofContent {
    /// The document.
    pub document: Document,
    /// Its `samplingProfiles`.
    pub samples: StackTable,
    /// Its `callCountProfiles`.
    pub calls: StackTable,
}

/// Returns the report of an iprof, with a comparison if there is a baseline.
pub(crate) fn report(title: &str, view: &IprofContent, baseline: Option<&IprofContent>) -> Report {
    let document = &view.document;
    let mut report = Report { title: title.to_string(), facts: facts(document), ..Report::default() };
    if view.calls.is_empty() && view.samples.is_empty() && document.sections.is_empty() {
        report.notes.push("all sections are empty".to_string());
    }
    if let Some(baseline) = baseline {
        report.sections.extend(changes(view, baseline));
    }
    for (table, old, unit) in [
        (&view.samples, baseline.map(|old| &old.samples), "samples"),
        (&view.calls, baseline.map(|old| &old.calls), "calls"),
    ] {
        if table.is_empty() {
            continue;
        }
        let numbers = statistics(table);
        report.notes.extend(numbers.notes.iter().cloned());
        report.sections.push(flame(table, old.filter(|old| !old.is_empty()), unit));
        report.sections.push(Section::Table(hot_methods(&numbers.methods, numbers.hits, unit)));
        let (title, text) = match unit {
            "calls" => ("Distribution of call counts", "Number of calling contexts by call count."),
            _ => ("Distribution of samples", "Number of distinct stacks by sample count."),
        };
        let counts = table.samples().map(|sample| sample.hits);
        report.sections.push(Section::Histogram(Histogram::by_powers_of_two(title, text, counts)));
    }
    let branches = Branches::of(document);
    if !branches.sites.is_empty() {
        report.sections.push(Section::Table(branches.classes()));
        report.sections.push(Section::Table(branches.table()));
    }
    for (kind, title) in [
        (SectionKind::VirtualInvoke, "Receivers of virtual calls"),
        (SectionKind::Instanceof, "Types tested by instanceof"),
        (SectionKind::Monitor, "Types synchronized on"),
    ] {
        report.sections.extend(type_table(document, kind, title));
    }
    report
}

fn facts(document: &Document) -> Vec<(String, String)> {
    let mut facts = vec![
        ("Format".to_string(), format!("GraalVM iprof {}", document.version)),
        ("Types".to_string(), group_digits(document.tables.types_count() as u128)),
        ("Methods declared".to_string(), group_digits(document.tables.methods_count() as u128)),
    ];
    for kind in SectionKind::ALL {
        let entries = document.sections.entries_count(kind);
        if entries > 0 {
            let events = events(document, kind);
            let words =
                |count: u128, one: &str| format!("{} {one}{}", group_digits(count), if count == 1 { "" } else { "s" });
            facts.push((
                kind.name().to_string(),
                format!("{}, {}", words(entries as u128, "site"), words(events, "event")),
            ));
        }
    }
    facts
}

fn events(document: &Document, kind: SectionKind) -> u128 {
    if let Some(entries) = document.sections.counts(kind) {
        return entries.iter().map(|entry| u128::from(entry.count)).sum();
    }
    if let Some(types) = document.sections.types(kind) {
        return types.rows().iter().map(|row| u128::from(row.count)).sum();
    }
    document.sections.conditionals.rows().iter().map(|row| u128::from(row.count)).sum()
}

fn hot_methods(methods: &[HotMethod], total: u128, unit: &str) -> Table {
    let rows = methods.iter().filter(|row| row.exclusive > 0 || unit == "samples").map(|row| {
        let mut cells = vec![
            Cell::Text(row.method.clone()),
            Cell::Count(row.exclusive),
            Cell::Percent(percent(row.exclusive, total)),
        ];
        if unit == "samples" {
            cells.extend([Cell::Count(row.inclusive), Cell::Percent(percent(row.inclusive, total))]);
        }
        cells
    });
    match unit {
        "samples" => Table::new(
            "Hottest methods by samples",
            "",
            &["Method", "Exclusive", "%", "Inclusive", "% "],
            rows.collect(),
        ),
        _ => Table::new(
            "Hottest methods by calls",
            "Sums over all calling contexts.",
            &["Method", "Calls", "%"],
            rows.collect(),
        ),
    }
}

/// Formats a context, the innermost frame first.
fn site(document: &Document, context: ContextHandle) -> String {
    let depth = document.contexts.depth(context);
    let named: Vec<String> = document
        .contexts
        .frames(context)
        .take(NAMED_FRAMES)
        .map(|frame| format!("{} @{}", document.tables.human_name(frame.method), frame.bci))
        .collect();
    let more = if depth > NAMED_FRAMES { format!(" ← {} more", depth - NAMED_FRAMES) } else { String::new() };
    named.join(" ← ") + &more
}

/// A conditional site.
struct Branch {
    site: String,
    total: u128,
    /// Events and BCI of the most frequent target.
    winner: (u128, i32),
    targets: usize,
}

struct Branches {
    sites: Vec<Branch>,
}

impl Branches {
    /// Returns all sites with events, ordered by descending events, then by name. Rows with the same index are one
    /// target.
    fn of(document: &Document) -> Self {
        let mut rows_of: BTreeMap<String, Vec<BranchRow>> = BTreeMap::new();
        for (context, rows) in document.sections.conditionals.iter() {
            rows_of.entry(site(document, context)).or_default().extend_from_slice(rows);
        }
        let mut sites: Vec<Branch> = rows_of.into_iter().filter_map(|(site, rows)| Branch::new(site, &rows)).collect();
        sites.sort_by(|a, b| b.total.cmp(&a.total).then_with(|| a.site.cmp(&b.site)));
        Self { sites }
    }

    fn classes(&self) -> Table {
        let mut classes = [("one-sided", 0u64, 0u128), ("biased, 90 % or more", 0, 0), ("mixed", 0, 0)];
        for branch in &self.sites {
            let class = match branch.bias() {
                bias if bias >= 100.0 => 0,
                bias if bias >= 90.0 => 1,
                _ => 2,
            };
            classes[class].1 += 1;
            classes[class].2 += branch.total;
        }
        let events: u128 = self.sites.iter().map(|branch| branch.total).sum();
        let rows = classes.map(|(name, sites, total)| {
            let sites = Cell::Count(sites.into());
            vec![Cell::Text(name.to_string()), sites, Cell::Count(total), Cell::Percent(percent(total, events))]
        });
        Table::new(
            "Branch bias",
            "How often branches take their most frequent target.",
            &["Class", "Sites", "Events", "%"],
            rows.into(),
        )
    }

    fn table(&self) -> Table {
        let rows = self.sites.iter().map(|branch| {
            vec![
                Cell::Text(branch.site.clone()),
                Cell::Count(branch.total),
                Cell::Count(branch.targets as u128),
                Cell::Text(format!("@{}", branch.winner.1)),
                Cell::Percent(branch.bias()),
            ]
        });
        Table::new(
            "Branches",
            "The most frequent target, by its bytecode index.",
            &["Site", "Events", "Targets", "Most frequent", "%"],
            rows.collect(),
        )
    }
}

impl Branch {
    fn new(site: String, rows: &[BranchRow]) -> Option<Self> {
        let mut targets: BTreeMap<u32, (u128, i32)> = BTreeMap::new();
        for row in rows {
            let target = targets.entry(row.index).or_insert((0, row.bci));
            target.0 += u128::from(row.count);
            // A row of −5 has the same index as the row with the BCI.
            target.1 = target.1.max(row.bci);
        }
        let total = targets.values().map(|(events, _)| events).sum();
        // Of equal targets the first one, so that the result is deterministic.
        let winner = targets.values().rev().max_by_key(|(events, _)| *events).copied()?;
        (total > 0).then_some(Self { site, total, winner, targets: targets.len() })
    }

    fn bias(&self) -> f64 {
        percent(self.winner.0, self.total)
    }
}

fn type_table(document: &Document, kind: SectionKind, title: &str) -> Option<Section> {
    let section = document.sections.types(kind).filter(|section| !section.is_empty())?;
    let name = |row: &TypeCount| display_name(document.tables.type_name(row.class));
    if kind == SectionKind::Monitor {
        let mut rows: Vec<&TypeCount> = section.rows().iter().collect();
        rows.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| name(a).cmp(&name(b))));
        let cells = rows.into_iter().map(|row| vec![Cell::Text(name(row)), Cell::Count(row.count.into())]);
        return Some(Section::Table(Table::new(title, "", &["Type", "Events"], cells.collect())));
    }
    let mut rows: Vec<(u128, String, Vec<Cell>)> = Vec::new();
    for (context, types) in section.iter() {
        let total: u128 = types.iter().map(|row| u128::from(row.count)).sum();
        let seen = types.iter().filter(|row| row.count > 0).count();
        let Some(top) = types.iter().rev().max_by_key(|row| row.count).filter(|_| total > 0) else { continue };
        let class = match seen {
            1 => "monomorphic",
            2 => "bimorphic",
            3..=7 => "polymorphic",
            // The recorder stores at most eight types, so the true number is unknown.
            _ => "saturated",
        };
        let site = site(document, context);
        let cells = vec![
            Cell::Text(site.clone()),
            Cell::Count(total),
            Cell::Count(seen as u128),
            Cell::Text(class.to_string()),
            Cell::Text(name(top)),
            Cell::Percent(percent(top.count.into(), total)),
        ];
        rows.push((total, site, cells));
    }
    rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let rows = rows.into_iter().map(|(_, _, cells)| cells).collect();
    Some(Section::Table(Table::new(title, "", &["Site", "Events", "Types", "Class", "Most", "%"], rows)))
}

fn changes(view: &IprofContent, baseline: &IprofContent) -> Vec<Section> {
    let shares = |table: &StackTable| own_shares(&statistics(table));
    let (now, before, of) = if view.calls.is_empty() && !view.samples.is_empty() {
        (shares(&view.samples), shares(&baseline.samples), "exclusive samples")
    } else {
        (shares(&view.calls), shares(&baseline.calls), "calls")
    };
    let mut sections = compare_shares(&now, &before, of);
    let before: BTreeMap<String, Branch> =
        Branches::of(&baseline.document).sites.into_iter().map(|branch| (branch.site.clone(), branch)).collect();
    let flipped: Vec<Vec<Cell>> = Branches::of(&view.document)
        .sites
        .into_iter()
        .filter_map(|branch| {
            let old = before.get(&branch.site).filter(|old| old.winner.1 != branch.winner.1)?;
            Some(vec![
                Cell::Text(branch.site.clone()),
                Cell::Text(format!("@{}", old.winner.1)),
                Cell::Percent(old.bias()),
                Cell::Text(format!("@{}", branch.winner.1)),
                Cell::Percent(branch.bias()),
                Cell::Count(branch.total),
            ])
        })
        .collect();
    let text = "Sites of both profiles whose most frequent target changed.";
    let columns = ["Site", "Most frequent before", "%", "Most frequent now", "% ", "Events"];
    sections.push(Section::Table(Table::new("Flipped branches", text, &columns, flipped)));
    sections
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iprof::Frame;
    use crate::render::write_html;

    #[test]
    fn branches_of_one_index_are_one_target_and_flips_are_found() {
        let document = |counts: [u64; 2]| {
            let mut document = Document::new();
            let class = document.add_type(b"app.Main");
            let void = document.add_type(b"void");
            let method = document.add_method(b"loop", &[class, void]);
            let context = document.add_context(&[Frame { method, bci: 12 }]);
            let row = |bci, index, count| BranchRow { bci, index, count };
            document
                .sections
                .conditionals
                .push(context, &[row(20, 0, counts[0]), row(30, 1, 1), row(-5, 1, counts[1])]);
            document
        };
        let (now, before) = (document([10, 2]), document([1, 8]));
        let content = |document| IprofContent { document, samples: StackTable::new(), calls: StackTable::new() };
        let html = write_html(&report("t", &content(now), Some(&content(before))));
        for text in [
            "<td>app.Main.loop() @12</td><td class=\"n\" data-v=\"13\">13</td><td class=\"n\" \
             data-v=\"2\">2</td><td>@20</td>",
            "<td>app.Main.loop() @12</td><td>@30</td><td class=\"n\" data-v=\"90\">90.000</td><td>@20</td>",
            "<td>mixed</td><td class=\"n\" data-v=\"1\">1</td>",
        ] {
            assert!(html.contains(text), "{text}\n{html}");
        }
    }
}
