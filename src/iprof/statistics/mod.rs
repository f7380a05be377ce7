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
mod coverage;
mod kept;
mod model;
mod share;
mod text;
mod top;

pub use crate::call_chains::Direction;
pub use chains::{CallTree, ChainsBy};
pub use model::{
    BranchSite, BranchStatistics, BranchTarget, Coverage, HotMethod, ReceiverSite, ReceiverStatistics, SampledMethod,
    SectionStatistics, SizeStatistics, Statistics, TypeStatistics,
};
pub use text::write_text;

use super::context::{Frame, describe};
use super::document::Document;
use super::findings::{Code, Findings, Verdict};
use super::merge::{BranchClash, MergeOptions, Merger, SectionWeights};
use super::names;
use super::read::replay;
use super::reader::{Entry, PartSize, ReadOptions, Reading, Sink, read_stream};
use super::sections::{BranchRow, Records, SectionKind, TypeCount};
use super::tables::{Tables, TypeHandle};
use crate::error::Result;
use chains::ChainBuilder;
use coverage::coverage;
use kept::TopSites;
pub(crate) use share::share;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Read;
use top::{MethodSums, hot_methods, sampled_methods};

/// Which statistics are wanted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StatisticsOptions {
    /// How the file is read.
    pub read: ReadOptions,
    /// Length of each list. Default: 10.
    pub topn: usize,
    /// Branches and calls with fewer events are not listed. Default: 1.
    pub min_events: u64,
    /// Show who calls methods that match this.
    pub callers: Option<String>,
    /// Show what methods that match this call.
    pub callees: Option<String>,
    /// What call trees count. Default: samples if there are any, or else calls.
    pub chains_by: Option<ChainsBy>,
    /// Tell positions within a method apart in call trees. Default: `false`.
    pub positions: bool,
}

impl Default for StatisticsOptions {
    fn default() -> Self {
        Self {
            read: ReadOptions::default(),
            topn: 10,
            min_events: 1,
            callers: None,
            callees: None,
            chains_by: None,
            positions: false,
        }
    }
}

/// Gathers statistics from a file that is read but not kept, entry by entry. Where
/// [`repeats`] says so of the findings, entries are not the contexts they
/// should be; [`statistics`] of the document joins them first.
///
/// # Errors
///
/// As [`read_from`](super::read_from); usage when no method matches what
/// callers or callees are asked of.
pub fn statistics_from(stream: impl Read, options: &StatisticsOptions) -> Result<(Statistics, Findings)> {
    let mut collector = Collector::new(options)?;
    let read = ReadOptions { drop_unknown: true, find_duplicates: true, ..options.read.clone() };
    let mut reading = read_stream(stream, &read, &mut collector).accepted(&read)?;
    let findings = std::mem::take(&mut reading.findings);
    let verdict = reading.verdict();
    let mut statistics = collector.finish(&reading.tables)?;
    statistics.add_sizes(&reading);
    statistics.verdict = if findings.has_errors() { Verdict::PartlyUsable.name() } else { verdict.name() };
    Ok((statistics, findings))
}

/// Whether a file has contexts, methods or types more than once.
pub fn repeats(findings: &Findings) -> bool {
    const REPEATED: [Code; 6] = [
        Code::DuplicateContext,
        Code::DuplicateMethod,
        Code::RepeatedMethod,
        Code::DuplicateTypeName,
        Code::RepeatedType,
        Code::MonitorCount,
    ];
    REPEATED.into_iter().any(|code| findings.has(code))
}

/// The statistics of a document, without sizes of text. Entries of one context
/// are added up first, and all shapes of a branch; methods and types declared
/// twice are one.
///
/// # Errors
///
/// Usage when no method matches what callers or callees are asked of.
pub fn statistics(document: &Document, options: &StatisticsOptions) -> Result<Statistics> {
    let mut merger = Merger::new(MergeOptions { branch_clash: BranchClash::Union });
    merger.add(document, &SectionWeights::default());
    let (joined, _) = merger.finish()?;
    let mut collector = Collector::new(options)?;
    replay(&joined, &mut collector);
    let mut statistics = collector.finish(&joined.tables)?;
    statistics.version = Some(document.version.to_string());
    Ok(statistics)
}

impl Statistics {
    /// These statistics with what only reading the file could tell: its version,
    /// verdict and sizes.
    #[must_use]
    pub fn of_file(mut self, read: Self) -> Self {
        for section in &mut self.sections {
            let same = read.sections.iter().find(|other| other.section == section.section);
            section.bytes = same.map_or(0, |other| other.bytes);
        }
        Self { version: read.version, verdict: read.verdict, sizes: read.sizes, ..self }
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

/// Sums over the entries of one section.
#[derive(Debug, Default)]
struct SectionSums {
    sites: u64,
    events: u128,
    depth: u64,
    max_depth: usize,
    leaves: Vec<bool>,
}

/// What is touched for every frame, each in a dense list of its own.
#[derive(Debug, Default)]
struct FrameSums {
    /// Samples with the method anywhere.
    inclusive: Vec<u128>,
    /// Number of the stack that was counted last, so that recursion counts once.
    last_stack: Vec<u32>,
    executed: Vec<bool>,
}

impl FrameSums {
    fn resize(&mut self, methods: usize) {
        self.inclusive.resize(methods, 0);
        self.last_stack.resize(methods, 0);
        self.executed.resize(methods, false);
    }
}

#[derive(Debug, Default)]
struct TypeSiteSums {
    statistics: ReceiverStatistics,
    kept: TopSites<(Vec<Frame>, Vec<TypeCount>)>,
}

/// Gathers statistics entry by entry.
#[derive(Default)]
struct Collector {
    /// Length of each list, and how many events what is listed has at least.
    topn: usize,
    min_events: u128,
    sections: [SectionSums; SectionKind::ALL.len()],
    methods: Vec<MethodSums>,
    frames: FrameSums,
    stacks: u32,
    branches: BranchStatistics,
    branches_kept: TopSites<(Vec<Frame>, Vec<BranchTarget>)>,
    /// Those of the last branch, for their memory.
    targets: Vec<BranchTarget>,
    receivers: TypeSiteSums,
    instanceofs: TypeSiteSums,
    monitors: BTreeMap<TypeHandle, u128>,
    callers: Option<ChainBuilder>,
    callees: Option<ChainBuilder>,
}

impl Collector {
    fn new(options: &StatisticsOptions) -> Result<Self> {
        let chains = |asked: &Option<String>, direction| {
            let builder = |asked: &String| ChainBuilder::new(asked, direction, options.positions, options.chains_by);
            asked.as_ref().map(builder).transpose()
        };
        Ok(Self {
            topn: options.topn,
            min_events: options.min_events.into(),
            callers: chains(&options.callers, Direction::Callers)?,
            callees: chains(&options.callees, Direction::Callees)?,
            ..Self::default()
        })
    }

    fn count(&mut self, kind: SectionKind, frames: &[Frame], count: u64) {
        let Some(leaf) = frames.first() else { return };
        let count = u128::from(count);
        if kind == SectionKind::CallCount {
            let method = &mut self.methods[leaf.method.index()];
            method.calls += count;
            method.chains += 1;
            method.inlined_calls += if frames.len() > 1 { count } else { 0 };
            return;
        }
        // After 2^32 stacks numbers begin again; a method that was last seen exactly so long ago is no risk.
        self.stacks = self.stacks.wrapping_add(1);
        self.methods[leaf.method.index()].exclusive += count;
        for frame in frames {
            let at = frame.method.index();
            if std::mem::replace(&mut self.frames.last_stack[at], self.stacks) != self.stacks {
                self.frames.inclusive[at] += count;
            }
        }
    }

    fn branch(&mut self, frames: &[Frame], rows: &[BranchRow]) -> u128 {
        let mut targets = std::mem::take(&mut self.targets);
        find_targets(rows, &mut targets);
        let events = self.branch_of(frames, &targets);
        self.targets = targets;
        events
    }

    fn branch_of(&mut self, frames: &[Frame], targets: &[BranchTarget]) -> u128 {
        let events: u128 = targets.iter().map(|target| target.events).sum();
        if events == 0 {
            self.branches.never_executed += 1;
            return 0;
        }
        let largest = targets.iter().map(|target| target.events).max().unwrap_or(0);
        self.branches.executed += 1;
        match largest {
            all if all == events => self.branches.one_sided += 1,
            most if most * 10 >= events * 9 => self.branches.biased += 1,
            _ => self.branches.mixed += 1,
        }
        if events >= self.min_events {
            self.branches_kept.offer(self.topn, events, || (frames.to_vec(), targets.to_vec()));
        }
        events
    }

    fn type_site(&mut self, kind: SectionKind, frames: &[Frame], pairs: &[TypeCount]) -> u128 {
        let events: u128 = pairs.iter().map(|pair| u128::from(pair.count)).sum();
        if kind == SectionKind::Monitor {
            for pair in pairs {
                *self.monitors.entry(pair.class).or_default() += u128::from(pair.count);
            }
            return events;
        }
        let sums = if kind == SectionKind::Instanceof { &mut self.instanceofs } else { &mut self.receivers };
        let seen = distinct_types(pairs);
        let statistics = &mut sums.statistics;
        *match seen {
            0 => &mut statistics.never_executed,
            1 => &mut statistics.monomorphic,
            2 => &mut statistics.bimorphic,
            3..=7 => &mut statistics.polymorphic,
            _ => &mut statistics.saturated,
        } += 1;
        if seen > 0 && events >= self.min_events {
            sums.kept.offer(self.topn, events, || (frames.to_vec(), pairs.to_vec()));
        }
        events
    }

    fn finish(self, tables: &Tables) -> Result<Statistics> {
        let mut methods = self.methods;
        methods.resize(tables.methods_count(), MethodSums::default());
        let mut frames = self.frames;
        frames.resize(tables.methods_count());
        let (coverage, packages) = coverage(tables, &frames.executed);
        let samples = methods.iter().map(|method| method.exclusive).sum();
        let exclusive: Vec<u128> = methods.iter().map(|method| method.exclusive).collect();
        let topn = self.topn;
        let mut branches = self.branches;
        branches.sites = self
            .branches_kept
            .into_list(topn)
            .into_iter()
            .map(|(events, (frames, mut targets))| {
                targets.sort_by_key(|target| (Reverse(target.events), target.index, target.bci));
                let bias = targets.first().map_or(0.0, |target| share(target.events, events));
                BranchSite { site: describe(tables, frames), events, bias, targets }
            })
            .collect();
        let chains = |builder: Option<ChainBuilder>| builder.map(|builder| builder.finish(tables, topn)).transpose();
        Ok(Statistics {
            version: None,
            verdict: Verdict::Usable.name(),
            types: tables.types_count(),
            methods: tables.methods_count(),
            sections: section_statistics(&self.sections),
            sizes: Vec::new(),
            hot_methods: hot_methods(tables, &methods, topn),
            exclusive_samples: sampled_methods(tables, &exclusive, samples, topn),
            inclusive_samples: sampled_methods(tables, &frames.inclusive, samples, topn),
            branches,
            receivers: self.receivers.finish(tables, topn),
            instanceofs: self.instanceofs.finish(tables, topn),
            monitors: type_statistics(tables, self.monitors.into_iter()).into_iter().take(topn).collect(),
            coverage,
            packages,
            packages_shown: topn,
            callers: chains(self.callers)?,
            callees: chains(self.callees)?,
        })
    }
}

impl Sink for Collector {
    fn entry(&mut self, tables: &Tables, entry: Entry<'_>) {
        if self.methods.is_empty() {
            self.methods = vec![MethodSums::default(); tables.methods_count()];
            self.frames.resize(tables.methods_count());
        }
        let Entry { kind, frames, records, .. } = entry;
        let events = match records {
            Records::Count(count) => {
                self.count(kind, frames, count);
                for chains in [&mut self.callers, &mut self.callees].into_iter().flatten() {
                    chains.add(tables, kind, frames, count);
                }
                u128::from(count)
            }
            Records::Branches(rows) => self.branch(frames, rows),
            Records::Types(pairs) => self.type_site(kind, frames, pairs),
        };
        if kind != SectionKind::Sampling {
            frames.iter().for_each(|frame| self.frames.executed[frame.method.index()] = true);
        }
        let sums = &mut self.sections[kind.index()];
        sums.sites += 1;
        sums.events += events;
        sums.depth += frames.len() as u64;
        sums.max_depth = sums.max_depth.max(frames.len());
        if let Some(leaf) = frames.first() {
            if sums.leaves.is_empty() {
                sums.leaves = vec![false; tables.methods_count()];
            }
            sums.leaves[leaf.method.index()] = true;
        }
    }
}

impl TypeSiteSums {
    fn finish(self, tables: &Tables, topn: usize) -> ReceiverStatistics {
        let mut statistics = self.statistics;
        statistics.sites = self
            .kept
            .into_list(topn)
            .into_iter()
            .map(|(events, (frames, pairs))| {
                let types = type_statistics(tables, pairs.iter().map(|pair| (pair.class, u128::from(pair.count))));
                let dominant_share = types.first().map_or(0.0, |most| share(most.events, events));
                let class = class(distinct_types(&pairs));
                ReceiverSite { site: describe(tables, frames), events, class, dominant_share, types }
            })
            .collect();
        statistics
    }
}

/// The targets of a branch, in order of index, then BCI.
pub(crate) fn targets(rows: &[BranchRow]) -> Vec<BranchTarget> {
    let mut targets = Vec::new();
    find_targets(rows, &mut targets);
    targets
}

/// As [`targets`], in memory that is there already.
fn find_targets(rows: &[BranchRow], targets: &mut Vec<BranchTarget>) {
    targets.clear();
    let target = |row: &BranchRow| BranchTarget { bci: row.bci, index: row.index, events: u128::from(row.count) };
    if rows.iter().all(|row| row.bci >= 0) && rows.is_sorted_by(|a, b| a.index < b.index) {
        targets.extend(rows.iter().map(target));
        return;
    }
    let mut rows = rows.to_vec();
    // Rows without a position of their own come after the real ones of their index.
    rows.sort_by_key(|row| (row.index, row.bci < 0, row.bci));
    let mut first_of_index = 0;
    for row in rows {
        let events = u128::from(row.count);
        let last = targets.len().saturating_sub(1);
        if targets.last().is_none_or(|target| target.index != row.index) {
            first_of_index = targets.len();
        } else if row.bci < 0 || targets[last].bci == row.bci {
            // What has no position of its own counts for the first target of its index.
            targets[if row.bci < 0 { first_of_index } else { last }].events += events;
            continue;
        }
        targets.push(target(&row));
    }
}

fn distinct_types(pairs: &[TypeCount]) -> usize {
    let mut seen: Vec<_> = pairs.iter().filter(|pair| pair.count > 0).map(|pair| pair.class).collect();
    seen.sort_unstable();
    seen.dedup();
    seen.len()
}

fn class(types: usize) -> &'static str {
    match types {
        0 => "never executed",
        1 => "monomorphic",
        2 => "bimorphic",
        3..=7 => "polymorphic",
        _ => "saturated",
    }
}

fn section_statistics(sums: &[SectionSums]) -> Vec<SectionStatistics> {
    let statistics = |(kind, sums): (SectionKind, &SectionSums)| SectionStatistics {
        section: kind.name(),
        sites: sums.sites,
        events: sums.events,
        leaf_methods: sums.leaves.iter().filter(|leaf| **leaf).count(),
        mean_depth: if sums.sites == 0 { 0.0 } else { sums.depth as f64 / sums.sites as f64 },
        max_depth: sums.max_depth,
        bytes: 0,
    };
    SectionKind::ALL.into_iter().zip(sums).filter(|(_, sums)| sums.sites > 0).map(statistics).collect()
}

fn type_statistics(tables: &Tables, counts: impl Iterator<Item = (TypeHandle, u128)>) -> Vec<TypeStatistics> {
    let mut by_name: BTreeMap<&[u8], u128> = BTreeMap::new();
    for (class, events) in counts {
        *by_name.entry(tables.type_name(class)).or_default() += events;
    }
    let mut statistics: Vec<_> =
        by_name.into_iter().map(|(name, events)| TypeStatistics { name: names::display(name), events }).collect();
    statistics.sort_by_key(|figure| Reverse(figure.events));
    statistics
}

#[cfg(test)]
mod tests;
