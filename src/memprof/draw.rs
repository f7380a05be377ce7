//! Memory profiles as stacks, and their report.

use crate::call_chains::{
    Frame, FrameId, FrameKind, FunctionId, Sample, SampleKey, SampleStatistics, StackId, StackTable, percent,
    statistics,
};
use crate::memprof::hotness::Hotness;
use crate::memprof::model::{MemoryProfile, StackHandle};
use crate::memprof::report::{contexts, function_name};
use crate::render::sections::{compare_shares, functions, own_shares};
use crate::render::{Cell, FlameGraph, FlameLabels, Histogram, MAX_ROWS, Report, Section, Table, group_digits};
use foldhash::HashMap;

/// The unit of allocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum AllocationUnit {
    /// Allocated bytes.
    #[default]
    Bytes,
    /// Number of allocations.
    Allocations,
}

impl AllocationUnit {
    /// Returns the unit's name in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Allocations => "allocations",
        }
    }
}

/// Allocations by call stack, and the totals of the profiles.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct MemoryContent {
    /// Allocation contexts; hits are bytes or allocations.
    pub table: StackTable,
    /// The unit of the hits.
    pub unit: AllocationUnit,
    /// The total number of allocations.
    pub allocations: u64,
    /// The total number of bytes.
    pub bytes: u64,
    /// Bytes in contexts that a compiler treats as cold.
    pub cold_bytes: u64,
    /// Bytes in contexts that a compiler with hot hints treats as hot.
    pub hot_bytes: u64,
}

impl MemoryContent {
    /// Adds a profile. Its allocations are counted in the unit of the sum.
    pub(crate) fn add(&mut self, profile: &MemoryProfile) {
        let mut frames = Frames::new(profile);
        for (stack, site) in contexts(profile) {
            let (allocations, bytes) = (site.info.alloc_count(), site.info.total_size());
            self.allocations = self.allocations.saturating_add(allocations);
            self.bytes = self.bytes.saturating_add(bytes);
            match Hotness::of(&site.info) {
                Hotness::Cold => self.cold_bytes = self.cold_bytes.saturating_add(bytes),
                Hotness::Hot => self.hot_bytes = self.hot_bytes.saturating_add(bytes),
                Hotness::NotCold => {}
            }
            let hits = match self.unit {
                AllocationUnit::Bytes => bytes,
                AllocationUnit::Allocations => allocations,
            };
            if let Some(stack) = frames.add_stack(stack, &mut self.table) {
                self.table.add_sample(Sample { key: SampleKey::of_stack(stack), hits, events: allocations });
            }
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let facts = [
            ("Allocations", self.allocations),
            ("Bytes", self.bytes),
            ("Bytes in cold contexts", self.cold_bytes),
            ("Bytes in hot contexts", self.hot_bytes),
        ];
        facts.map(|(label, number)| (label.to_string(), group_digits(number.into()))).to_vec()
    }
}

/// Returns the report of a memory profile, with a comparison if there is a baseline.
pub(crate) fn report(title: &str, now: &MemoryContent, before: Option<&MemoryContent>) -> Report {
    let unit = now.unit.word();
    let (table, sums) = (&now.table, statistics(&now.table));
    let mut report = Report { title: title.to_string(), facts: now.facts(), ..Report::default() };
    report.facts.push(("Call stacks, without lines".to_string(), group_digits(sums.stacks.into())));
    if let Some(before) = before {
        let old = statistics(&before.table);
        let label = format!("{}{} of the baseline", unit[..1].to_uppercase(), &unit[1..]);
        report.facts.push((label, group_digits(old.hits)));
        let of = format!("exclusive {unit}");
        report.sections.extend(compare_shares(&own_shares(&sums), &own_shares(&old), &of));
    }
    report.sections.push(flame(table, before.map(|before| &before.table), unit));
    let own = format!(
        "Exclusive: {unit} that the function allocates itself. Inclusive: {unit} of the function and its callees."
    );
    report.sections.push(Section::Table(functions(&sums, &own)));
    report.sections.push(Section::Table(sites(table, &sums, unit)));
    let hits = table.samples().map(|sample| sample.hits);
    let text = format!("Number of call stacks by {unit}.");
    report.sections.push(Section::Histogram(Histogram::by_powers_of_two(
        &format!("Distribution of {unit}"),
        &text,
        hits,
    )));
    report
}

fn flame(table: &StackTable, baseline: Option<&StackTable>, unit: &'static str) -> Section {
    let mut text = format!(
        "Each box is a function, with its callees below. The width is the share of all {unit}. Boxes are sorted by \
         name."
    );
    if baseline.is_some() {
        text.push_str(" Orange boxes have a larger share than in the baseline, blue ones a smaller share.");
    }
    let title = if baseline.is_some() { "Differential flame graph" } else { "Flame graph" };
    Section::Flame(FlameGraph::new(table, baseline, FlameLabels::new(title, text, unit)))
}

/// Returns the table of contexts, ordered by bytes or allocations.
fn sites(table: &StackTable, sums: &SampleStatistics, unit: &'static str) -> Table {
    let mut samples: Vec<_> = table.samples().collect();
    // Stable sort: equal contexts stay in order of first appearance.
    samples.sort_by_key(|sample| std::cmp::Reverse(sample.hits));
    let left_out = samples.len().saturating_sub(MAX_ROWS);
    samples.truncate(MAX_ROWS);
    let rows = samples.iter().map(|sample| {
        let hits = u128::from(sample.hits);
        let stack = Cell::Text(words(table, sample.key.stack));
        vec![stack, Cell::Count(hits), Cell::Percent(percent(hits, sums.hits))]
    });
    let heading = if unit == "bytes" { "Bytes" } else { "Allocations" };
    let text = "From the function that allocates to its callers. Contexts that differ only in lines are one row.";
    let sites = Table::new("Allocation contexts", text, &["Call stack", heading, "%"], rows.collect());
    Table { left_out, ..sites }
}

fn words(table: &StackTable, stack: StackId) -> String {
    let names = table.frames(stack).map(|frame| table.display_function(table.frame(frame).function));
    names.collect::<Vec<_>>().join(" < ")
}

/// The frames and functions of a profile that are in the table already.
struct Frames<'p> {
    profile: &'p MemoryProfile,
    frames: Vec<Option<FrameId>>,
    functions: HashMap<u64, FunctionId>,
}

impl<'p> Frames<'p> {
    fn new(profile: &'p MemoryProfile) -> Self {
        Self { profile, frames: vec![None; profile.stacks.frames().len()], functions: HashMap::default() }
    }

    /// Adds a call stack. Returns `None` if it is empty.
    fn add_stack(&mut self, stack: StackHandle, table: &mut StackTable) -> Option<StackId> {
        let Self { profile, frames, functions } = self;
        profile.stacks.stack(stack).iter().rev().fold(None, |callers, handle| {
            let frame = *frames[handle.index()].get_or_insert_with(|| {
                let frame = profile.stacks.frame(*handle);
                let add_function = || table.intern_symbol(&function_name(profile, frame.function));
                let function = *functions.entry(frame.function).or_insert_with(add_function);
                let kind = if frame.is_inline { FrameKind::Inlined } else { FrameKind::Native };
                table.intern_frame(Frame { function, bci: None, line: None, kind })
            });
            Some(table.push_frame(callers, frame))
        })
    }
}
