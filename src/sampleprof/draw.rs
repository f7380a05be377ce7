//! LLVM sample profiles as stacks, and the report of them. A chain of calls is a stack, whether it is a calling context
//! or inlining.

use super::density::{HotFunction, hot_functions};
use super::options::Rules;
use super::profile::summarize;
use super::{FunctionRecord, HOT_CUTOFF, LineLocation, Merger, NameId, SampleProfile};
use crate::call_chains::{Frame, FrameId, FrameKind, FunctionId, SampleKey, StackId, StackTable, percent, statistics};
use crate::error::Result;
use crate::render::sections::{compare_shares, flame, functions, own_shares};
use crate::render::{Cell, Histogram, MAX_ROWS, Report, Section, Table, group_digits};
use foldhash::HashMap;

/// Samples by calling context, and the profile.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct SampleContent {
    /// Samples of the own code of each function, by chain of calls.
    pub table: StackTable,
    /// The profile.
    pub profile: SampleProfile,
}

/// Profiles that add up.
#[derive(Debug, Default)]
pub(crate) struct SampleSum {
    merger: Merger,
}

impl SampleSum {
    /// Adds a profile.
    ///
    /// # Errors
    ///
    /// Kind conflict with the profiles before.
    pub(crate) fn add(&mut self, profile: SampleProfile) -> Result<()> {
        self.merger.add_owned(profile, 1, &mut |_, _| {})
    }

    /// The stacks of the sum.
    pub(crate) fn finish(self) -> Result<SampleContent> {
        let profile = self.merger.into_merged()?.profile;
        let mut walk = Walk::new(&profile);
        profile.functions.iter().for_each(|record| walk.top(record));
        Ok(SampleContent { table: walk.table, profile })
    }
}

/// The unit of the counts.
const UNIT: &str = "samples";

/// The report of a sample profile, perhaps compared with another one.
pub(crate) fn report(title: &str, now: &SampleContent, before: Option<&SampleContent>) -> Report {
    let sums = statistics(&now.table);
    let hot = hot_functions(&now.profile.functions);
    let mut report = Report { title: title.to_string(), facts: now.facts(hot.last()), ..Report::default() };
    report.facts.push(("Samples".to_string(), group_digits(sums.hits)));
    if let Some(before) = before {
        let old = statistics(&before.table);
        report.facts.push(("Samples of the baseline".to_string(), group_digits(old.hits)));
        report.sections.extend(compare_shares(&own_shares(&sums), &own_shares(&old), "exclusive samples"));
    }
    report.sections.push(flame(&now.table, before.map(|before| &before.table), UNIT));
    let text = "Exclusive: samples of the function's own code, also where it was inlined. Inclusive: samples of the \
                function, its inlined callees, and its callees in calling contexts.";
    report.sections.push(Section::Table(functions(&sums, text)));
    let places = now.places();
    report.sections.push(Section::Table(now.hottest_places(&places)));
    if !hot.is_empty() {
        report.sections.push(Section::Table(now.thin(&hot)));
    }
    let counts = places.iter().map(|(_, samples)| *samples);
    let text = "Number of line locations by samples.";
    report.sections.push(Section::Histogram(Histogram::by_powers_of_two("Distribution of samples", text, counts)));
    report
}

/// A line location of a function, wherever the function was inlined.
type Place = (NameId, LineLocation);

impl SampleContent {
    /// The samples of all places, each once.
    fn places(&self) -> Vec<(Place, u64)> {
        // Where the entries of each name are in `entries`: sorting them name by name is faster than all together.
        let mut ends: Vec<usize> = Vec::new();
        self.for_each_record(|record| {
            let name = record.name.index();
            ends.resize(ends.len().max(name + 1), 0);
            ends[name] += record.body.len();
        });
        let mut count = 0;
        for end in &mut ends {
            (*end, count) = (count, count + *end);
        }
        let Some(first) = self.profile.functions.first() else { return Vec::new() };
        let mut entries: Vec<(Place, u64)> = vec![((first.name, LineLocation::default()), 0); count];
        self.for_each_record(|record| {
            let end = &mut ends[record.name.index()];
            for entry in &record.body {
                entries[*end] = ((record.name, entry.location), entry.samples);
                *end += 1;
            }
        });
        let mut first = 0;
        for end in ends {
            entries[first..end].sort_unstable_by_key(|(place, _)| *place);
            first = end;
        }
        entries.dedup_by(|later, first| {
            let is_same = later.0 == first.0;
            if is_same {
                first.1 = first.1.saturating_add(later.1);
            }
            is_same
        });
        entries
    }

    /// Passes on all records, also those of inlined functions.
    fn for_each_record(&self, mut each: impl FnMut(&FunctionRecord)) {
        let mut open: Vec<&FunctionRecord> = self.profile.functions.iter().collect();
        while let Some(record) = open.pop() {
            each(record);
            open.extend(record.call_sites.iter().map(|site| &site.callee));
        }
    }

    /// The hot functions, thinnest first.
    fn thin(&self, hot: &[HotFunction]) -> Table {
        let functions = &self.profile.functions;
        let rows = hot.iter().rev().take(MAX_ROWS).map(|hot| {
            vec![
                Cell::Text(self.profile.title(&functions[hot.at]).escape_ascii().to_string()),
                Cell::Count(hot.samples),
                Cell::Count(hot.places.into()),
                Cell::Text(format!("{:.1}", hot.density())),
            ]
        });
        let text = "Samples per line location of the functions with 99 % of the samples, inlined callees included. \
                    llvm-profgen warns if the lowest is below 50.";
        let columns = ["Function", "Samples", "Line locations", "Density"];
        let table = Table::new("Thinnest hot functions", text, &columns, rows.collect());
        Table { left_out: hot.len().saturating_sub(MAX_ROWS), ..table }
    }

    /// The places with most samples first; equal ones by name.
    fn hottest_places(&self, places: &[(Place, u64)]) -> Table {
        let all = places.iter().map(|(_, samples)| u128::from(*samples)).sum();
        let text = "A function, the line relative to its first line, and the discriminator. In profiles with \
                    pseudo-probes, the number of the probe instead of the line.";
        let columns = ["Line location", "Samples", "%"];
        let places = places.iter().map(|(place, samples)| (u128::from(*samples), *place)).collect();
        let cells =
            |samples, _, place| vec![Cell::Text(place), Cell::Count(samples), Cell::Percent(percent(samples, all))];
        Table::of_largest_items(
            "Hottest line locations",
            text,
            &columns,
            places,
            |place| self.place_name(*place),
            cells,
        )
    }

    fn place_name(&self, (function, at): Place) -> String {
        format!("{}:{at}", String::from_utf8_lossy(&self.profile.name(function).to_bytes()))
    }

    /// `thinnest` is the hot function with the lowest density.
    fn facts(&self, thinnest: Option<&HotFunction>) -> Vec<(String, String)> {
        let (profile, kind) = (&self.profile, self.profile.kind());
        let kind_words = match (kind.context_sensitive, kind.probe_based) {
            (true, true) => "calling contexts, pseudo-probes",
            (true, false) => "calling contexts, lines",
            (false, true) => "functions, pseudo-probes",
            (false, false) => "functions, lines",
        };
        let records = if kind.context_sensitive { "Contexts" } else { "Functions" };
        let density =
            thinnest.map_or("none".to_string(), |last| format!("{:.1} samples per line location", last.density()));
        let summary = summarize(&profile.functions, &profile.names, kind, Rules::default());
        let hot_threshold = summary.threshold(HOT_CUTOFF).unwrap_or_default();
        vec![
            ("Density of the hot code".to_string(), density),
            ("Kind".to_string(), kind_words.to_string()),
            (records.to_string(), group_digits(profile.functions.len() as u128)),
            ("Hot from".to_string(), format!("{} samples of a line location", group_digits(hot_threshold.into()))),
        ]
    }
}

/// Collects the stacks of a profile.
struct Walk<'a> {
    profile: &'a SampleProfile,
    table: StackTable,
    /// Functions of the table by the profile's names.
    functions: HashMap<NameId, FunctionId>,
}

impl<'a> Walk<'a> {
    fn new(profile: &'a SampleProfile) -> Self {
        Self { profile, table: StackTable::new(), functions: HashMap::default() }
    }

    fn frame(&mut self, name: NameId, kind: FrameKind) -> FrameId {
        let (profile, table) = (self.profile, &mut self.table);
        let function = *self.functions.entry(name).or_insert_with(|| {
            let name = profile.name(name).to_bytes();
            table.intern_symbol(&String::from_utf8_lossy(&name))
        });
        self.table.intern_frame(Frame { function, bci: None, line: None, kind })
    }

    fn top(&mut self, record: &FunctionRecord) {
        let mut stack = None;
        let callers = record.context.as_deref().and_then(|frames| frames.split_last()).map(|(_, callers)| callers);
        for caller in callers.into_iter().flatten() {
            let frame = self.frame(caller.function, FrameKind::Native);
            stack = Some(self.table.push_frame(stack, frame));
        }
        let frame = self.frame(record.name, FrameKind::Native);
        let stack = self.table.push_frame(stack, frame);
        self.record(record, stack);
    }

    /// A record and what was inlined into it, as deep as the readers allow.
    fn record(&mut self, record: &FunctionRecord, stack: StackId) {
        let own = record.own_samples();
        if own > 0 {
            self.table.add(SampleKey::of_stack(stack), own);
        }
        for site in &record.call_sites {
            let frame = self.frame(site.callee.name, FrameKind::Inlined);
            let below = self.table.push_frame(Some(stack), frame);
            self.record(&site.callee, below);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampleprof::ReadOptions;

    fn content(texts: &[&str]) -> Result<SampleContent> {
        let mut sum = SampleSum::default();
        texts
            .iter()
            .try_for_each(|text| sum.add(crate::sampleprof::read(text.as_bytes(), &ReadOptions::default())?))?;
        sum.finish()
    }

    fn collapsed(text: &str) -> Vec<String> {
        let content = content(&[text]).unwrap();
        let table = &content.table;
        let mut lines: Vec<String> = table
            .samples()
            .map(|sample| {
                let mut names: Vec<String> = table
                    .frames(sample.key.stack)
                    .map(|frame| table.display_function(table.frame(frame).function))
                    .collect();
                names.reverse();
                format!("{} {}", names.join(";"), sample.hits)
            })
            .collect();
        lines.sort();
        lines
    }

    #[test]
    fn inlining_and_contexts_are_the_same_stacks() {
        let inlined = "main:60:1\n 1: 10\n 3: foo:50\n  1: 20\n  2: bar:30\n   7.2: 30\n";
        let contexts = "[main]:10:1\n 1: 10\n[main:3 @ foo]:20:0\n 1: 20\n[main:3 @ foo:2 @ bar]:30:0\n 7.2: 30\n";
        let expected = ["main 10", "main;foo 20", "main;foo;bar 30"];
        assert_eq!(collapsed(inlined), expected);
        assert_eq!(collapsed(contexts), expected);
    }

    #[test]
    fn a_function_has_the_samples_of_all_instructions_of_a_line() {
        // A line of three instructions, with 10, 20 and 5 samples; an inlined one, with 15 and 5.
        assert_eq!(collapsed("foo:55:1\n 1: 20\n 2: bar:20\n  1: 15\n"), ["foo 35", "foo;bar 20"]);
        let content = content(&["foo:35:1\n 1: 20\nbar:20:1\n 1: 15\n"]).unwrap();
        let table = content.hottest_places(&content.places());
        assert_eq!(table.rows[0][2], Cell::Percent(2000.0 / 35.0));
    }

    #[test]
    fn unrolled_lines_do_not_raise_the_samples_of_a_function() {
        assert_eq!(collapsed("foo:45:1\n 1: 160\n 2: bar:20\n  1: 80\n"), ["foo 25", "foo;bar 20"]);
        // Totals that do not include the function's own code.
        assert_eq!(collapsed("foo:20:1\n 1: 5\n 2: bar:20\n  1: 20\n"), ["foo 5", "foo;bar 20"]);
    }

    #[test]
    fn several_profiles_add_up() {
        let (first, second) = ("foo:3:1\n 1: 3\n", "foo:4:1\n 1.2: 4\nbar:1:1\n 1: 1\n");
        let sum = content(&[first, second, first]).unwrap();
        let mut places: Vec<_> =
            sum.places().iter().map(|(place, samples)| (sum.place_name(*place), *samples)).collect();
        places.sort();
        let expected =
            [("bar:1", 1), ("foo:1", 6), ("foo:1.2", 4)].map(|(place, samples)| (place.to_string(), samples));
        assert_eq!(places, expected);
        assert_eq!((sum.profile.functions.len(), sum.table.total_hits()), (2, 11));
        assert!(content(&[first, "[foo]:3:1\n 1: 3\n"]).is_err());
        assert!(content(&[first, "foo\n1\n1\n5\n"]).is_err());
    }
}
