//! The HTML report of an iprof.

use super::{BranchRow, ContextHandle, Document, SectionKind, TypeCount, display_name};
use crate::call_chains::{HotMethod, StackTable, percent, statistics};
use crate::render::sections::{compare_shares, flame, own_shares};
use crate::render::{Cell, Histogram, Report, Section, Table, group_digits};
use foldhash::HashMap;
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
    let branches = Branches::of(document, &mut SiteNames::default());
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
    for kind in SectionKind::EACH {
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
    let named: Vec<String> = document
        .contexts
        .frames(context)
        .take(NAMED_FRAMES)
        .map(|frame| format!("{} @{}", document.tables.human_name(frame.method), frame.bci))
        .collect();
    let depth = document.contexts.depth(context);
    let more = if depth > NAMED_FRAMES { format!(" ← {} more", depth - NAMED_FRAMES) } else { String::new() };
    named.join(" ← ") + &more
}

/// The named frames of a site, and its depth. Sites with the same words are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct SiteKey {
    /// The number of the name of each method, and the BCI.
    frames: [Option<(u32, i32)>; NAMED_FRAMES],
    depth: usize,
}

/// The names of methods at sites, numbered across documents.
#[derive(Debug, Default)]
struct SiteNames {
    numbers: HashMap<String, u32>,
}

impl SiteNames {
    /// Returns the key of each site of a document.
    fn keys<'d>(&'d mut self, document: &'d Document) -> impl FnMut(ContextHandle) -> SiteKey + 'd {
        let mut known: Vec<Option<u32>> = vec![None; document.tables.methods_count()];
        move |context| {
            let mut frames = [None; NAMED_FRAMES];
            for (place, frame) in frames.iter_mut().zip(document.contexts.frames(context)) {
                let number = *known[frame.method.index()].get_or_insert_with(|| {
                    let next = u32::try_from(self.numbers.len()).expect("fewer than 2^32 methods");
                    *self.numbers.entry(document.tables.human_name(frame.method)).or_insert(next)
                });
                *place = Some((number, frame.bci));
            }
            SiteKey { frames, depth: document.contexts.depth(context) }
        }
    }
}

/// A conditional site.
struct Branch {
    key: SiteKey,
    /// A context with the words of the site.
    context: ContextHandle,
    total: u128,
    /// Events and BCI of the most frequent target.
    winner: (u128, i32),
    targets: usize,
}

struct Branches<'d> {
    document: &'d Document,
    sites: Vec<Branch>,
}

impl<'d> Branches<'d> {
    /// Returns all sites with events. Rows with the same index are one target.
    fn of(document: &'d Document, names: &mut SiteNames) -> Self {
        let mut key_of = names.keys(document);
        let mut rows_of: HashMap<SiteKey, (ContextHandle, Vec<BranchRow>)> = HashMap::default();
        for (context, rows) in document.sections.conditionals.iter() {
            rows_of.entry(key_of(context)).or_insert((context, Vec::new())).1.extend_from_slice(rows);
        }
        let branch = |(key, (context, rows)): (SiteKey, (_, Vec<_>))| Branch::new(key, context, &rows);
        Self { document, sites: rows_of.into_iter().filter_map(branch).collect() }
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

    /// The sites with most events; equal ones in order of name.
    fn table(&self) -> Table {
        let sites = self.sites.iter().map(|branch| (branch.total, branch)).collect();
        let cells = |total, branch: &Branch, site| {
            vec![
                Cell::Text(site),
                Cell::Count(total),
                Cell::Count(branch.targets as u128),
                Cell::Text(format!("@{}", branch.winner.1)),
                Cell::Percent(branch.bias()),
            ]
        };
        let columns = ["Site", "Events", "Targets", "Most frequent", "%"];
        let text = "The most frequent target, by its bytecode index.";
        Table::of_largest_items("Branches", text, &columns, sites, |branch| site(self.document, branch.context), cells)
    }
}

impl Branch {
    fn new(key: SiteKey, context: ContextHandle, rows: &[BranchRow]) -> Option<Self> {
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
        (total > 0).then_some(Self { key, context, total, winner, targets: targets.len() })
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
    let mut sites = Vec::new();
    for (context, types) in section.iter() {
        let total: u128 = types.iter().map(|row| u128::from(row.count)).sum();
        let seen = types.iter().filter(|row| row.count > 0).count();
        let top = types.iter().rev().max_by_key(|row| row.count).filter(|_| total > 0);
        sites.extend(top.map(|top| (total, (context, seen, top))));
    }
    let cells = |total, (_, seen, top): (ContextHandle, usize, &TypeCount), site| {
        let class = match seen {
            1 => "monomorphic",
            2 => "bimorphic",
            3..=7 => "polymorphic",
            // The recorder stores at most eight types, so the true number is unknown.
            _ => "saturated",
        };
        vec![
            Cell::Text(site),
            Cell::Count(total),
            Cell::Count(seen as u128),
            Cell::Text(class.to_string()),
            Cell::Text(name(top)),
            Cell::Percent(percent(top.count.into(), total)),
        ]
    };
    let columns = ["Site", "Events", "Types", "Class", "Most", "%"];
    Some(Section::Table(Table::of_largest_items(title, "", &columns, sites, |(at, ..)| site(document, *at), cells)))
}

fn changes(view: &IprofContent, baseline: &IprofContent) -> Vec<Section> {
    let shares = |table: &StackTable| own_shares(&statistics(table));
    let (now, before, of) = if view.calls.is_empty() && !view.samples.is_empty() {
        (shares(&view.samples), shares(&baseline.samples), "exclusive samples")
    } else {
        (shares(&view.calls), shares(&baseline.calls), "calls")
    };
    let mut sections = compare_shares(&now, &before, of);
    let mut names = SiteNames::default();
    let before = Branches::of(&baseline.document, &mut names).sites;
    let before: HashMap<SiteKey, Branch> = before.into_iter().map(|branch| (branch.key, branch)).collect();
    let branches = Branches::of(&view.document, &mut names);
    let flipped = branches.sites.iter().filter_map(|branch| {
        let old = before.get(&branch.key).filter(|old| old.winner.1 != branch.winner.1)?;
        Some((branch.total, (branch, old)))
    });
    let cells = |total, (branch, old): (&Branch, &Branch), site| {
        vec![
            Cell::Text(site),
            Cell::Text(format!("@{}", old.winner.1)),
            Cell::Percent(old.bias()),
            Cell::Text(format!("@{}", branch.winner.1)),
            Cell::Percent(branch.bias()),
            Cell::Count(total),
        ]
    };
    let text = "Sites of both profiles whose most frequent target changed.";
    let columns = ["Site", "Most frequent before", "%", "Most frequent now", "% ", "Events"];
    let site = |(branch, _): &(&Branch, &Branch)| site(&view.document, branch.context);
    let flipped = Table::of_largest_items("Flipped branches", text, &columns, flipped.collect(), site, cells);
    sections.push(Section::Table(flipped));
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
