//! The report of an LLVM profile.

use super::cross_release::Candidates;
use crate::call_chains::percent;
use crate::model::summary::{CUTOFFS, ProfileSummary, SummaryRules};
use crate::model::{
    FunctionView, LARGEST_COUNT, Profile, ProfileKind, RecordView, SummaryBuilder, SymbolTable, ValueKind,
};
use crate::render::sections::compare_shares;
use crate::render::{Cell, Histogram, Report, Section, Table, group_digits, largest};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The merged content of LLVM profiles.
#[derive(Debug)]
pub struct InstrContent {
    /// The format of the first file.
    pub source: String,
    /// The merged profile.
    pub profile: Profile,
}

impl InstrContent {
    /// Creates the report, with an optional baseline. Functions are matched by their names and hashes of other
    /// releases.
    pub(crate) fn report(&self, title: &str, baseline: Option<&Self>) -> Report {
        let old = baseline.map(|baseline| &baseline.profile);
        let mut symbols = SymbolTable::new();
        for name in &self.profile.vtable_names {
            symbols.insert(name);
        }
        let following = old.map(|old| Candidates::of([&self.profile, old]).following()).unwrap_or_default();
        if following.is_empty() {
            return report(title, &self.source, &self.profile, &symbols, old);
        }
        let now = following.apply(self.profile.clone());
        let old = old.map(|old| following.apply(old.clone()));
        report(title, &self.source, &now, &symbols, old.as_ref())
    }
}

/// Creates the report of `profile`, with an optional `baseline`. `symbols` names the targets of value sites.
fn report(title: &str, source: &str, profile: &Profile, symbols: &SymbolTable, baseline: Option<&Profile>) -> Report {
    let mut builder = SummaryBuilder::new(SummaryRules::default());
    records(profile).for_each(|record| builder.add_record(record));
    // Both lists are long, so one at a time.
    let summary = builder.finish(CUTOFFS);
    let functions = functions(profile);
    let mut report = Report { title: title.to_string(), ..Report::default() };
    // The total of the summary wraps at 2^64, as in LLVM.
    let total = functions.iter().map(|function| function.total).sum();
    report.facts = facts(source, profile, &summary, total);
    if let Some(baseline) = baseline {
        let before = self::functions(baseline);
        report.sections.extend(compare_shares(&shares(&functions), &shares(&before), "all counts"));
    }
    report.sections.push(Section::Table(hottest(functions)));
    let counts = records(profile).flat_map(|record| record.counters.iter());
    let text = "Number of counters by value.";
    report.sections.push(Section::Histogram(Histogram::by_powers_of_two("Distribution of counts", text, counts)));
    report.sections.push(Section::Table(cutoffs(&summary)));
    for kind in ValueKind::EACH {
        report.sections.extend(value_table(profile, symbols, kind));
    }
    report
}

fn facts(source: &str, profile: &Profile, summary: &ProfileSummary, total: u128) -> Vec<(String, String)> {
    let counters: usize = records(profile).map(|record| record.counters.len()).sum();
    let mut facts = vec![
        ("Format".to_string(), source.to_string()),
        ("Functions".to_string(), group_digits(profile.functions.len() as u128)),
        ("Records".to_string(), group_digits(profile.functions.records_len() as u128)),
        ("Counters".to_string(), group_digits(counters as u128)),
    ];
    let second = profile.functions.records_len() - records(profile).count();
    if second > 0 {
        facts.push(("Context-sensitive records, not counted".to_string(), group_digits(second as u128)));
    }
    let counted = || records(profile).filter(|record| record.pseudo_count().is_none());
    for (label, count) in [
        ("Total of all counters", total),
        ("Largest function count", summary.max_function_count.into()),
        ("Largest counter", summary.max_count.into()),
    ] {
        facts.push((label.to_string(), group_digits(count)));
    }
    let never_run = counted().filter(|record| record.max_counter() == 0).count() as u128;
    let at_maximum =
        counted().flat_map(|record| record.counters.iter()).filter(|count| *count >= LARGEST_COUNT).count();
    facts.push(("Records that never ran".to_string(), group_digits(never_run)));
    if at_maximum > 0 {
        facts.push(("Counters at the maximum".to_string(), group_digits(at_maximum as u128)));
    }
    let words = profile.kind.words();
    if !words.is_empty() {
        facts.push(("Kind".to_string(), words.join(", ")));
    }
    if !profile.temporal.traces.is_empty() {
        facts.push(("Temporal traces".to_string(), group_digits(profile.temporal.traces.len() as u128)));
    }
    let ids: BTreeSet<_> = profile.binary_ids.iter().collect();
    for id in ids {
        let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        facts.push(("Binary id".to_string(), hex));
    }
    facts
}

/// Returns the records that are counted. A context-sensitive record counts the runs of its function again, as a later pass
/// of the compiler saw it.
fn records(profile: &Profile) -> impl Iterator<Item = RecordView<'_>> {
    profile.functions.iter().flat_map(|function| records_of(profile.kind, function))
}

fn records_of(kind: ProfileKind, function: FunctionView<'_>) -> impl Iterator<Item = RecordView<'_>> {
    let has_both = kind.is_context_sensitive() && function.records().any(|record| !record.is_context_sensitive());
    function.records().filter(move |record| !(has_both && record.is_context_sensitive()))
}

/// One function with its counted records.
struct FunctionCounts<'a> {
    name: &'a [u8],
    entry: u128,
    largest: u64,
    total: u128,
    counters: usize,
}

fn functions(profile: &Profile) -> Vec<FunctionCounts<'_>> {
    profile
        .functions
        .iter()
        .map(|function| {
            let records = || records_of(profile.kind, function).filter(|record| record.pseudo_count().is_none());
            FunctionCounts {
                name: function.name(),
                entry: records().filter_map(|record| record.counters.first()).map(u128::from).sum(),
                largest: records().map(|record| record.max_counter()).max().unwrap_or(0),
                total: records().flat_map(|record| record.counters.iter()).map(u128::from).sum(),
                counters: records().map(|record| record.counters.len()).sum(),
            }
        })
        .collect()
}

/// Returns a name with bytes that are not UTF-8 escaped.
fn display(name: &[u8]) -> String {
    std::str::from_utf8(name).map_or_else(|_| name.escape_ascii().to_string(), str::to_string)
}

/// Returns the share of each function, by descending share, then by name.
fn shares(functions: &[FunctionCounts<'_>]) -> Vec<(String, f64)> {
    let total: u128 = functions.iter().map(|function| function.total).sum();
    let mut named: Vec<(String, u128)> =
        functions.iter().map(|function| (display(function.name), function.total)).collect();
    named.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    named.into_iter().map(|(name, own)| (name, percent(own, total))).collect()
}

fn hottest(functions: Vec<FunctionCounts<'_>>) -> Table {
    let total: u128 = functions.iter().map(|function| function.total).sum();
    let all = functions.len();
    let named = largest(functions, |function| function.total, |function| display(function.name));
    let rows = named.into_iter().map(|(name, function)| {
        vec![
            Cell::Text(name),
            Cell::Count(function.total),
            Cell::Percent(percent(function.total, total)),
            Cell::Count(function.entry),
            Cell::Count(function.largest.into()),
            Cell::Count(function.counters as u128),
        ]
    });
    let text = "Total: the sum of all counters. Entry: the first counter, which is the call count if the profile \
                counts entry blocks first.";
    let columns = ["Function", "Total", "%", "Entry", "Largest", "Counters"];
    Table::of_largest("Hottest functions", text, &columns, rows.collect(), all)
}

fn cutoffs(summary: &ProfileSummary) -> Table {
    let rows = summary.rows.iter().map(|row| {
        vec![
            Cell::Percent(f64::from(row.cutoff) / 10_000.0),
            Cell::Count(row.min_count.into()),
            Cell::Count(row.num_counts.into()),
        ]
    });
    let text = "The number of counters that make up a share of all counts, and the smallest of them.";
    Table::new("Summary cutoffs", text, &["% of all counts", "Smallest count", "Counters"], rows.collect())
}

fn value_table(profile: &Profile, symbols: &SymbolTable, kind: ValueKind) -> Option<Section> {
    let mut sites = Vec::new();
    for function in profile.functions.iter() {
        for record in function.records() {
            for (site, values) in record.sites(kind).iter().enumerate() {
                let total: u128 = values.iter().map(|value| u128::from(value.count)).sum();
                if total > 0
                    && let Some(top) = values.iter().rev().max_by_key(|value| value.count)
                {
                    sites.push((total, function.name(), site, values.len(), *top));
                }
            }
        }
    }
    if sites.is_empty() {
        return None;
    }
    // Sites of equal functions stay in order.
    sites.sort_by_key(|(_, _, site, ..)| *site);
    let all = sites.len();
    let rows = largest(sites, |(total, ..)| *total, |(_, function, ..)| display(function));
    // Targets are shown as names if the profile contains them.
    let tops: HashSet<u64> = rows.iter().map(|(_, (.., top))| top.value).collect();
    let functions = profile.functions.iter().filter(|function| kind.is_name() && tops.contains(&function.name_ref()));
    let known: HashMap<u64, &[u8]> = functions.map(|function| (function.name_ref(), function.name())).collect();
    let target = |value: u64| -> String {
        if !kind.is_name() {
            return value.to_string();
        }
        match known.get(&value).copied().or_else(|| symbols.name(value)) {
            Some(name) => display(name),
            None => format!("unknown ({value:#018x})"),
        }
    };
    let title = match kind {
        ValueKind::IndirectCallTarget => "Targets of indirect calls",
        ValueKind::MemOpSize => "Sizes of memory operations",
        ValueKind::VTableTarget => "Virtual tables",
    };
    let rows = rows.into_iter().map(|(name, (total, _, site, values, top))| {
        vec![
            Cell::Text(format!("{name} #{site}")),
            Cell::Count(total),
            Cell::Count(values as u128),
            Cell::Text(target(top.value)),
            Cell::Percent(percent(top.count.into(), total)),
        ]
    });
    let columns = ["Site", "Events", "Values", "Most", "%"];
    Some(Section::Table(Table::of_largest(title, "", &columns, rows.collect(), all)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FunctionRecord, ValueCount};
    use crate::names::demangle_text;
    use crate::render::write_html;

    #[test]
    fn names_are_shown_as_in_their_source() {
        for (name, shown) in [
            ("main", "main"),
            ("_ZN3foo3barEi", "foo::bar(int)"),
            ("a.cc;_ZN3foo3barEi", "a.cc;foo::bar(int)"),
            ("app.cpp:_ZL3addii", "app.cpp:add(int, int)"),
            ("C:/src/app.c:main", "C:/src/app.c:main"),
            ("-[Foo bar:]", "-[Foo bar:]"),
            ("_RNvCsgtmH1J7MYwC_11workspace_111print_hello", "workspace_1::print_hello"),
            ("_Znonsense", "_Znonsense"),
        ] {
            assert_eq!(demangle_text(&display(name.as_bytes()), |name| name), shown);
            assert_eq!(display(name.as_bytes()), name);
        }
        assert_eq!(display(b"a\xff"), "a\\xff");
    }

    #[test]
    fn an_llvm_profile_shows_functions_cutoffs_and_value_sites() {
        let mut profile = Profile::default();
        let main = profile.functions.intern(b"main");
        let mut record = FunctionRecord::new(7, vec![10, 90]);
        let target = profile.functions.intern(b"callee");
        let hash = profile.functions.function(target).name_ref();
        record
            .sites_mut(ValueKind::IndirectCallTarget)
            .push_site(&[ValueCount { value: hash, count: 9 }, ValueCount { value: 5, count: 1 }]);
        profile.functions.push_record(main, &record);
        profile.functions.push_record(target, &FunctionRecord::new(8, vec![900]));
        let content = InstrContent { source: "LLVM text profile".to_string(), profile };
        let html = write_html(&content.report("t", Some(&content)));
        for text in [
            "<td>callee</td><td class=\"n\" data-v=\"900\">900</td><td class=\"n\" data-v=\"90\">90.000</td>",
            "<td>main #0</td><td class=\"n\" data-v=\"10\">10</td><td class=\"n\" data-v=\"2\">2</td><td>callee</td>",
            "<h2 id=\"h4\">Summary cutoffs</h2>",
            "<dt>Total of all counters</dt><dd>1,000</dd>",
            "<dt>Largest counter</dt><dd>900</dd>",
            "<dt>Records that never ran</dt><dd>0</dd>",
        ] {
            assert!(html.contains(text), "{text}\n{html}");
        }
    }
}
