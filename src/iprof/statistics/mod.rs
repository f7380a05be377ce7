//! Statistics of a profile, gathered while it is read.
//!
//! Definitions, so that others can arrive at the same numbers: the *events* of
//! an entry are the sum of its counts. A *target* of a branch is all rows of
//! one index (rows without a position of their own count for the case whose
//! index they share); an index with several real positions is several targets.
//! The *bias* of a branch is the share of its largest target. A receiver type
//! counts only if it was seen. Coverage comes from counters, never from
//! samples: not to have been sampled is not to have run.

mod chains;
mod collector;
mod model;

pub use crate::call_chains::Direction;
pub use chains::{CallTree, ChainsBy};
pub(crate) use collector::targets;
pub use model::{
    BranchSite, BranchStatistics, BranchTarget, Coverage, HotMethod, ReceiverSite, ReceiverStatistics, SampledMethod,
    SectionStatistics, SizeStatistics, Statistics, StatisticsOptions, TypeStatistics, write_text,
};

use crate::error::Result;
use crate::iprof::findings::{Code, Findings, Verdict};
use crate::iprof::merge::{Adding, BranchClash, MergeOptions, Merger, SectionWeights};
use crate::iprof::reader::{Entry, PartSize, ReadOptions, Reading, Sink, read_stream};
use crate::iprof::sections::SectionKind;
use crate::iprof::tables::Tables;
use collector::Collector;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::io::Read;
use std::sync::Arc;

/// Gathers statistics from a stream, which is read once and not kept. Entries that repeat a context count as
/// contexts of their own; `read_statistics` joins them.
///
/// # Errors
///
/// As [`Reader::read`](crate::iprof::Reader::read); usage when no method matches `callers` or `callees`.
pub fn statistics_from(stream: impl Read, options: &StatisticsOptions) -> Result<(Statistics, Findings)> {
    let (collector, reading) = collect(stream, options)?;
    let statistics = collector.finish(&reading.tables)?;
    Ok(statistics.of_file(reading))
}

/// Gathers statistics from a file, which is not kept. A file in which contexts, methods or types repeat is opened and
/// read a second time: then only entries of repeated contexts are kept, until all of them are added.
///
/// # Errors
///
/// As [`statistics_from`], and those of `open`.
pub(crate) fn read_statistics<R: Read>(
    mut open: impl FnMut() -> Result<R>,
    options: &StatisticsOptions,
) -> Result<(Statistics, Findings)> {
    let (collector, reading) = collect(open()?, options)?;
    if !repeats(&reading.findings) {
        let statistics = collector.finish(&reading.tables)?;
        return Ok(statistics.of_file(reading));
    }
    drop(collector);
    let mut merger = Merger::new(MergeOptions::resolving(BranchClash::Union));
    let mut joiner = Joiner {
        collector: Collector::new(options)?,
        adding: Adding::new(&mut merger, SectionWeights::default()),
        repeated: &reading.repeated,
        joins_all: repeats_declarations(&reading.findings),
        position: 0,
        first: Default::default(),
    };
    let read = read_options(options);
    let mut reading = read_stream(open()?, &read, &mut joiner).accepted(&read)?;
    let Joiner { mut collector, adding, first, .. } = joiner;
    adding.finish(&mut reading);
    // The merger does not copy tables that only it uses.
    reading.tables = Arc::default();
    let (joined, _) = merger.finish_with_report()?;
    let mut frames = Vec::new();
    for kind in SectionKind::EACH {
        for ((context, records), position) in joined.sections.entries(kind).zip(&first[kind.index()]) {
            frames.clear();
            frames.extend(joined.contexts.frames(context));
            collector.position = *position;
            collector.add(&joined.tables, Entry { kind, frames: &frames, records, identity: None, members: None });
        }
    }
    let statistics = collector.finish(&joined.tables)?;
    Ok(statistics.of_file(reading))
}

fn read_options(options: &StatisticsOptions) -> ReadOptions {
    ReadOptions { drop_unknown: true, find_duplicates: true, ..options.read.clone() }
}

fn collect(stream: impl Read, options: &StatisticsOptions) -> Result<(Collector, Reading)> {
    let mut collector = Collector::new(options)?;
    let read = read_options(options);
    let reading = read_stream(stream, &read, &mut collector).accepted(&read)?;
    Ok((collector, reading))
}

/// Whether a file has contexts, methods or types more than once.
fn repeats(findings: &Findings) -> bool {
    repeats_declarations(findings)
        || [Code::DuplicateContext, Code::MonitorCount].iter().any(|code| findings.has(*code))
}

/// Whether a file declares methods or types more than once. Then equal contexts may differ as text.
fn repeats_declarations(findings: &Findings) -> bool {
    [Code::DuplicateMethod, Code::RepeatedMethod, Code::DuplicateTypeName, Code::RepeatedType]
        .iter()
        .any(|code| findings.has(*code))
}

/// Merges entries of repeated contexts, and passes all others on.
struct Joiner<'r, 'm> {
    collector: Collector,
    adding: Adding<'m>,
    repeated: &'r HashSet<u128>,
    joins_all: bool,
    position: u64,
    /// Where each merged context comes first, by section.
    first: [Vec<u64>; SectionKind::EACH.len()],
}

impl Sink for Joiner<'_, '_> {
    fn tables(&mut self, tables: &Arc<Tables>) {
        self.adding.tables(tables);
    }

    fn entry(&mut self, tables: &Tables, entry: Entry<'_>) {
        self.position += 1;
        let kind = entry.kind;
        // Monitors have no identity: all of them are one site.
        if self.joins_all || entry.identity.is_none_or(|identity| self.repeated.contains(&identity)) {
            self.adding.entry(tables, entry);
            if self.adding.sites_count(kind) > self.first[kind.index()].len() {
                self.first[kind.index()].push(self.position);
            }
        } else {
            self.collector.position = self.position;
            self.collector.add(tables, entry);
        }
    }
}

impl Statistics {
    /// Adds what only reading the file shows: its version, verdict and sizes.
    fn of_file(mut self, mut reading: Reading) -> (Self, Findings) {
        self.add_sizes(&reading);
        let verdict = reading.verdict();
        let findings = std::mem::take(&mut reading.findings);
        self.verdict = if findings.has_errors() { Verdict::PartlyUsable.name() } else { verdict.name() };
        (self, findings)
    }

    fn add_sizes(&mut self, reading: &Reading) {
        self.version = reading.version_text.clone();
        let whole = reading.text_bytes.max(1) as f64;
        let size = |(name, part): (&String, &PartSize)| SizeStatistics {
            name: name.clone(),
            bytes: part.bytes,
            share: part.bytes as f64 / whole,
            entries: part.entries,
        };
        self.sizes = reading.parts.iter().map(size).collect();
        self.sizes.sort_by(|a, b| (Reverse(a.bytes), &a.name).cmp(&(Reverse(b.bytes), &b.name)));
        for section in &mut self.sections {
            section.bytes = reading.parts.get(section.section).map_or(0, |part| part.bytes);
        }
    }
}

#[cfg(test)]
mod tests;
