//! Gathers statistics entry by entry: sums by section and method, and the sites with the most events.

use crate::call_chains::Direction;
use crate::error::Result;
use crate::iprof::context::{Frame, describe};
use crate::iprof::findings::Verdict;
use crate::iprof::reader::{Entry, Sink};
use crate::iprof::sections::{BranchRow, Records, SectionKind, TypeCount};
use crate::iprof::statistics::chains::ChainBuilder;
use crate::iprof::statistics::model::{
    BranchSite, BranchStatistics, BranchTarget, Coverage, HotMethod, ReceiverSite, ReceiverStatistics, SampledMethod,
    SectionStatistics, Statistics, StatisticsOptions, TypeStatistics,
};
use crate::iprof::tables;
use crate::iprof::tables::{MethodHandle, Tables, TypeHandle};
use crate::java;
use crate::names::NamePattern;
use crate::number_format::share;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Sums over the entries of one section.
#[derive(Debug, Default)]
struct SectionSums {
    sites: u64,
    events: u128,
    depth: u64,
    max_depth: usize,
    leaves: Vec<bool>,
}

/// Sums that change with every frame, each in a dense list of its own.
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
pub(super) struct Collector {
    /// Length of each list, and the least events of a listed site.
    topn: usize,
    function: Option<NamePattern>,
    listed: Listed,
    min_events: u128,
    /// Position of the current entry in the file, which decides between sites with equally many events.
    pub(super) position: u64,
    sections: [SectionSums; SectionKind::EACH.len()],
    methods: Vec<MethodSums>,
    frames: FrameSums,
    stacks: u32,
    branches: BranchStatistics,
    branches_kept: TopSites<(Vec<Frame>, Vec<BranchTarget>)>,
    /// The targets of the last branch; kept to reuse the memory.
    targets: Vec<BranchTarget>,
    receivers: TypeSiteSums,
    instanceofs: TypeSiteSums,
    monitors: BTreeMap<TypeHandle, u128>,
    callers: Option<ChainBuilder>,
    callees: Option<ChainBuilder>,
}

impl Collector {
    pub(super) fn new(options: &StatisticsOptions) -> Result<Self> {
        let chains = |asked: &Option<String>, direction| {
            let builder = |asked: &String| ChainBuilder::new(asked, direction, options.positions, options.chains_by);
            asked.as_ref().map(builder).transpose()
        };
        Ok(Self {
            topn: options.topn,
            function: options.function.clone(),
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
        // Numbers wrap around after 2^32 stacks. A method whose last stack is exactly that long ago is too unlikely to matter.
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
        if events >= self.min_events && self.listed.has_site(frames) {
            let rank = (events, Reverse(self.position));
            self.branches_kept.offer(self.topn, rank, || (frames.to_vec(), targets.to_vec()));
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
        if seen > 0 && events >= self.min_events && self.listed.has_site(frames) {
            sums.kept.offer(self.topn, (events, Reverse(self.position)), || (frames.to_vec(), pairs.to_vec()));
        }
        events
    }

    pub(super) fn finish(mut self, tables: &Tables) -> Result<Statistics> {
        self.start(tables);
        let Self { methods, frames, listed, .. } = self;
        if let Some(pattern) = self.function.filter(|_| listed.is_empty()) {
            return Err(pattern.nothing_found());
        }
        let (coverage, packages) = coverage(tables, &frames.executed);
        let samples = methods.iter().map(|method| method.exclusive).sum();
        let exclusive: Vec<u128> = methods.iter().map(|method| method.exclusive).collect();
        let topn = self.topn;
        let mut branches = self.branches;
        branches.sites = self
            .branches_kept
            .into_list(topn)
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
            hot_methods: hot_methods(tables, &methods, &listed, topn),
            exclusive_samples: sampled_methods(tables, &exclusive, samples, &listed, topn),
            inclusive_samples: sampled_methods(tables, &frames.inclusive, samples, &listed, topn),
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
        self.position += 1;
        self.add(tables, entry);
    }
}

impl Collector {
    /// Makes room for the sums of all methods, before the first entry or if there is none.
    fn start(&mut self, tables: &Tables) {
        if !self.methods.is_empty() {
            return;
        }
        self.methods.resize(tables.methods_count(), MethodSums::default());
        self.frames.resize(tables.methods_count());
        self.listed = Listed::of(tables, self.function.as_ref());
    }

    /// Adds the entry at the current position.
    pub(super) fn add(&mut self, tables: &Tables, entry: Entry<'_>) {
        self.start(tables);
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

/// Like [`targets`], but reuses memory.
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
            // A row without a position of its own counts for the first target of its index.
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
    SectionKind::EACH.into_iter().zip(sums).filter(|(_, sums)| sums.sites > 0).map(statistics).collect()
}

fn type_statistics(tables: &Tables, counts: impl Iterator<Item = (TypeHandle, u128)>) -> Vec<TypeStatistics> {
    let mut by_name: BTreeMap<&[u8], u128> = BTreeMap::new();
    for (class, events) in counts {
        *by_name.entry(tables.type_name(class)).or_default() += events;
    }
    let mut statistics: Vec<_> =
        by_name.into_iter().map(|(name, events)| TypeStatistics { name: tables::display_name(name), events }).collect();
    statistics.sort_by_key(|figure| Reverse(figure.events));
    statistics
}

/// The sites with the most events; of equal ones those that come first in the file.
#[derive(Debug)]
struct TopSites<T> {
    list: Vec<(Rank, T)>,
    /// Sites of this rank and below no longer enter the list.
    last: Option<Rank>,
}

/// Fewest events first, and of equally many the last in the file.
type Rank = (u128, Reverse<u64>);

impl<T> Default for TopSites<T> {
    fn default() -> Self {
        Self { list: Vec::new(), last: None }
    }
}

impl<T> TopSites<T> {
    /// Offers a site to a list of bounded length; `content` is made only if it is taken.
    fn offer(&mut self, topn: usize, rank: Rank, content: impl FnOnce() -> T) {
        if topn > 0 && self.last.is_none_or(|last| rank > last) {
            self.list.push((rank, content()));
            if self.list.len() / 2 >= topn {
                self.truncate(topn);
                self.last = self.list.last().map(|(rank, _)| *rank);
            }
        }
    }

    fn truncate(&mut self, topn: usize) {
        self.list.sort_by_key(|(rank, _)| Reverse(*rank));
        self.list.truncate(topn);
    }

    /// The list, largest first.
    fn into_list(mut self, topn: usize) -> impl Iterator<Item = (u128, T)> {
        self.truncate(topn);
        self.list.into_iter().map(|((events, _), content)| (events, content))
    }
}

/// Sums over the entries that concern one method.
#[derive(Debug, Default, Clone, Copy)]
struct MethodSums {
    calls: u128,
    inlined_calls: u128,
    chains: u64,
    exclusive: u128,
}

/// The methods of the lists, by position; `None` for all.
#[derive(Default)]
struct Listed(Option<Vec<bool>>);

impl Listed {
    fn of(tables: &Tables, function: Option<&NamePattern>) -> Self {
        let name = |at| tables.human_name(MethodHandle::from_index(at));
        let listed = |pattern: &NamePattern| {
            (0..tables.methods_count()).map(|at| pattern.matches(name(at).as_bytes())).collect()
        };
        Self(function.map(listed))
    }

    fn is_empty(&self) -> bool {
        self.0.as_ref().is_some_and(|listed| !listed.contains(&true))
    }

    /// Returns true for a site in one of the methods.
    fn has_site(&self, frames: &[Frame]) -> bool {
        frames.first().is_none_or(|leaf| self.has(leaf.method.index()))
    }

    fn has(&self, at: usize) -> bool {
        self.0.as_ref().is_none_or(|listed| listed.get(at) == Some(&true))
    }
}

/// The methods with most of something, ties in order of name.
fn top_methods(tables: &Tables, events: &[u128], listed: &Listed, topn: usize) -> Vec<(String, u128, usize)> {
    let all = events.iter().enumerate().map(|(at, events)| (*events, at)).filter(|(_, at)| listed.has(*at));
    let mut found: Vec<(u128, usize)> = all.filter(|(events, _)| *events > 0).collect();
    // Names are made for those that can get on the list: all with as much as its last.
    found.sort_unstable_by_key(|(events, _)| Reverse(*events));
    let least = found.get(topn.wrapping_sub(1)).map_or(0, |(events, _)| *events);
    let candidates = found.into_iter().take_while(|(events, _)| *events >= least);
    let mut named: Vec<_> =
        candidates.map(|(events, at)| (tables.human_name(MethodHandle::from_index(at)), events, at)).collect();
    named.sort_by(|a, b| (Reverse(a.1), &a.0).cmp(&(Reverse(b.1), &b.0)));
    named.truncate(topn);
    named
}

fn hot_methods(tables: &Tables, methods: &[MethodSums], listed: &Listed, topn: usize) -> Vec<HotMethod> {
    let calls: Vec<u128> = methods.iter().map(|method| method.calls).collect();
    let total: u128 = calls.iter().sum();
    let hot = |(method, calls, at): (String, u128, usize)| HotMethod {
        method,
        calls,
        share: share(calls, total),
        chains: methods[at].chains,
        inlined_share: share(methods[at].inlined_calls, calls),
    };
    top_methods(tables, &calls, listed, topn).into_iter().map(hot).collect()
}

fn sampled_methods(tables: &Tables, hits: &[u128], samples: u128, listed: &Listed, topn: usize) -> Vec<SampledMethod> {
    let sampled =
        |(method, hits, _): (String, u128, usize)| SampledMethod { method, hits, share: share(hits, samples) };
    top_methods(tables, hits, listed, topn).into_iter().map(sampled).collect()
}

/// Counts the methods that ran: all together, and by package.
fn coverage(tables: &Tables, executed: &[bool]) -> (Coverage, Vec<Coverage>) {
    // By declaring type first: there are far fewer types than methods.
    let mut by_class = vec![(0u64, 0u64); tables.types_count()];
    for (handle, executed) in tables.methods().zip(executed) {
        let [declaring, ..] = tables.signature(handle) else { continue };
        let (declared, run) = &mut by_class[declaring.index()];
        *declared += 1;
        *run += u64::from(*executed);
    }
    let mut all = Coverage::default();
    let mut packages: BTreeMap<&[u8], Coverage> = BTreeMap::new();
    for (class, (declared, run)) in tables.types().zip(by_class).filter(|(_, (declared, _))| *declared > 0) {
        let of_package = packages.entry(java::package(tables.type_name(class))).or_default();
        for coverage in [&mut all, of_package] {
            coverage.declared += declared;
            coverage.executed += run;
        }
    }
    let named =
        |(name, coverage): (&[u8], Coverage)| Coverage { package: Some(tables::display_name(name)), ..coverage };
    (all, packages.into_iter().map(named).collect())
}
