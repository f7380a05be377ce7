//! The options of statistics, their values, which also define the JSON document, and their text.

use crate::call_chains::Direction;
use crate::digits::{column_width, name_column, number_of};
use crate::iprof::reader::ReadOptions;
use crate::iprof::statistics::chains::{CallNode, CallTree, ChainsBy};
use crate::names::NamePattern;
use crate::number_format::share;
use serde::Serialize;
use std::cmp::Reverse;
use std::fmt::{Result, Write};

/// Options of statistics.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StatisticsOptions {
    /// How the file is read.
    pub read: ReadOptions,
    /// Length of each list. Default: 10.
    pub topn: usize,
    /// List only methods that this selects. Default: all.
    pub function: Option<NamePattern>,
    /// Branches and calls with fewer events are not listed. Default: 1.
    pub min_events: u64,
    /// Show who calls methods that match this.
    pub callers: Option<String>,
    /// Show what methods that match this call.
    pub callees: Option<String>,
    /// The unit of call trees. Default: samples if there are any, otherwise calls.
    pub chains_by: Option<ChainsBy>,
    /// Tell positions within a method apart in call trees. Default: `false`.
    pub positions: bool,
}

impl Default for StatisticsOptions {
    fn default() -> Self {
        Self {
            read: ReadOptions::default(),
            topn: 10,
            function: None,
            min_events: 1,
            callers: None,
            callees: None,
            chains_by: None,
            positions: false,
        }
    }
}

/// All statistics of a file.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Statistics {
    /// The version as the file spells it.
    pub version: Option<String>,
    /// How far the file is usable.
    pub verdict: &'static str,
    /// Declared types.
    pub types: usize,
    /// Declared methods.
    pub methods: usize,
    /// Sections with entries, in the order of [`SectionKind::ALL`](crate::iprof::SectionKind::ALL).
    pub sections: Vec<SectionStatistics>,
    /// Size of every top-level member, largest first.
    pub sizes: Vec<SizeStatistics>,
    /// Methods by calls.
    pub hot_methods: Vec<HotMethod>,
    /// Methods by samples with the method innermost.
    pub exclusive_samples: Vec<SampledMethod>,
    /// Methods by samples with the method anywhere.
    pub inclusive_samples: Vec<SampledMethod>,
    /// Branches.
    pub branches: BranchStatistics,
    /// Receivers of virtual calls.
    pub receivers: ReceiverStatistics,
    /// Types tested by `instanceof`.
    pub instanceofs: ReceiverStatistics,
    /// Types by how often they were synchronized on.
    pub monitors: Vec<TypeStatistics>,
    /// Methods declared and executed.
    pub coverage: Coverage,
    /// Coverage by package, in order of name.
    pub packages: Vec<Coverage>,
    /// The number of packages in the text: those with most executed methods.
    #[serde(skip)]
    pub packages_shown: usize,
    /// Who calls the methods asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callers: Option<CallTree>,
    /// The callees of the requested methods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callees: Option<CallTree>,
}

/// Totals of a section.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct SectionStatistics {
    /// The section's name.
    pub section: &'static str,
    /// Entries.
    pub sites: u64,
    /// The sum of all counts.
    pub events: u128,
    /// Distinct innermost methods.
    pub leaf_methods: usize,
    /// Mean number of frames; 0 for monitors.
    pub mean_depth: f64,
    /// Largest number of frames.
    pub max_depth: usize,
    /// Bytes of text.
    pub bytes: u64,
}

/// Size of a top-level member.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct SizeStatistics {
    /// The member's name.
    pub name: String,
    /// Bytes of text.
    pub bytes: u64,
    /// Share of the whole text.
    pub share: f64,
    /// Elements, where they are known.
    pub entries: u64,
}

/// A method by calls.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct HotMethod {
    /// The method as people write it.
    pub method: String,
    /// Times it was entered.
    pub calls: u128,
    /// Share of all calls.
    pub share: f64,
    /// Chains it was entered by.
    pub chains: u64,
    /// Share of its calls in chains of more than one frame.
    pub inlined_share: f64,
}

/// A method by samples.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct SampledMethod {
    /// The method as people write it.
    pub method: String,
    /// Samples.
    pub hits: u128,
    /// Their share of all samples, from 0 to 1.
    pub share: f64,
}

/// Branches by bias. Those that never ran are not counted.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct BranchStatistics {
    /// Sites with events.
    pub executed: u64,
    /// Sites without.
    pub never_executed: u64,
    /// All events went one way.
    pub one_sided: u64,
    /// At least nine of ten events went one way.
    pub biased: u64,
    /// The rest.
    pub mixed: u64,
    /// Sites with most events.
    pub sites: Vec<BranchSite>,
}

/// A branch.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct BranchSite {
    /// The context as people write it, innermost first.
    pub site: String,
    /// The sum of all counts.
    pub events: u128,
    /// Share of the largest target.
    pub bias: f64,
    /// The targets, largest first.
    pub targets: Vec<BranchTarget>,
}

/// A target of a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BranchTarget {
    /// Its bytecode index, or a placeholder.
    pub bci: i32,
    /// The producer's number.
    pub index: u32,
    /// The number of events.
    pub events: u128,
}

/// Sites by the number of types seen at them.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct ReceiverStatistics {
    /// One type.
    pub monomorphic: u64,
    /// Two types.
    pub bimorphic: u64,
    /// Three to seven types.
    pub polymorphic: u64,
    /// Eight or more: the recorder's limit, so the true number is not known.
    pub saturated: u64,
    /// No type was seen.
    pub never_executed: u64,
    /// Sites with most events.
    pub sites: Vec<ReceiverSite>,
}

/// A site with types.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct ReceiverSite {
    /// The context as people write it, innermost first.
    pub site: String,
    /// The sum of all counts.
    pub events: u128,
    /// `monomorphic`, `bimorphic`, `polymorphic` or `saturated`.
    pub class: &'static str,
    /// Share of the type seen most.
    pub dominant_share: f64,
    /// Types, most frequent first.
    pub types: Vec<TypeStatistics>,
}

/// A type and how often it was seen.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct TypeStatistics {
    /// The type's name.
    #[serde(rename = "type")]
    pub name: String,
    /// The number of events.
    pub events: u128,
}

/// Methods declared, and those that occur in an entry with counters.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Coverage {
    /// The package, empty for the unnamed one; `None` for all together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// Methods in the table.
    pub declared: u64,
    /// Methods that counters show to have run.
    pub executed: u64,
}

/// Writes the statistics as text; tables without rows are left out.
///
/// # Errors
///
/// The errors of `out`.
pub fn write_text(out: &mut impl Write, statistics: &Statistics) -> Result {
    let version = statistics.version.as_deref().unwrap_or("?");
    let (types, methods) = (number_of(statistics.types, "type"), number_of(statistics.methods, "method"));
    writeln!(out, "iprof {}: {types}, {methods}", version.escape_debug())?;
    if statistics.callers.is_some() || statistics.callees.is_some() {
        for tree in statistics.callers.iter().chain(&statistics.callees) {
            call_tree(out, tree)?;
        }
        return Ok(());
    }
    totals(out, statistics)?;
    hot_methods(out, statistics)?;
    samples(out, "Samples with the method innermost", &statistics.exclusive_samples)?;
    samples(out, "Samples with the method anywhere", &statistics.inclusive_samples)?;
    branches(out, statistics)?;
    receivers(out, "Receivers of virtual calls", &statistics.receivers)?;
    receivers(out, "Types tested by instanceof", &statistics.instanceofs)?;
    if !statistics.monitors.is_empty() {
        writeln!(out, "\nSynchronized on:")?;
        for monitor in &statistics.monitors {
            writeln!(out, "  {:>14}  {}", monitor.events, monitor.name)?;
        }
    }
    coverage(out, statistics)
}

fn totals(out: &mut impl Write, statistics: &Statistics) -> Result {
    writeln!(out, "\n{:<24}{:>10}{:>22}{:>10}{:>8}{:>6}", "Section", "sites", "events", "methods", "depth", "max")?;
    for section in &statistics.sections {
        writeln!(
            out,
            "{:<24}{:>10}{:>22}{:>10}{:>8.1}{:>6}",
            section.section, section.sites, section.events, section.leaf_methods, section.mean_depth, section.max_depth
        )?;
    }
    if !statistics.sizes.is_empty() {
        writeln!(out, "\n{:<24}{:>10}{:>14}{:>9}", "Part of the file", "entries", "bytes", "%")?;
        for size in &statistics.sizes {
            writeln!(out, "{:<24}{:>10}{:>14}{:>9.3}", size.name, size.entries, size.bytes, 100.0 * size.share)?;
        }
    }
    Ok(())
}

fn hot_methods(out: &mut impl Write, statistics: &Statistics) -> Result {
    if statistics.hot_methods.is_empty() {
        return Ok(());
    }
    let width = name_column(statistics.hot_methods.iter().map(|hot| hot.method.as_str()), LEAST_WIDTH);
    writeln!(out, "\nHot methods by calls:")?;
    writeln!(out, "{:<width$}{:>20}{:>9}{:>8}{:>10}", "Method name", "Calls", "%", "chains", "inlined")?;
    for hot in &statistics.hot_methods {
        let pad = width.saturating_sub(hot.method.chars().count());
        writeln!(
            out,
            "{}{:pad$}{:>20}{:>9.3}{:>8}{:>8.1} %",
            hot.method,
            "",
            hot.calls,
            100.0 * hot.share,
            hot.chains,
            100.0 * hot.inlined_share
        )?;
    }
    Ok(())
}

/// The classic flat table of sampling profilers.
fn samples(out: &mut impl Write, title: &str, methods: &[SampledMethod]) -> Result {
    if methods.is_empty() {
        return Ok(());
    }
    let width = name_column(methods.iter().map(|sampled| sampled.method.as_str()), LEAST_WIDTH);
    writeln!(out, "\n{title}:\n{:<width$}{:>10}{:>9}", "Method name", "Hits", "%")?;
    for sampled in methods {
        let pad = width.saturating_sub(sampled.method.chars().count());
        writeln!(out, "{}{:pad$}{:>10}{:>9.3}", sampled.method, "", sampled.hits, 100.0 * sampled.share)?;
    }
    Ok(())
}

/// The least width of a column of names.
const LEAST_WIDTH: usize = 28;

fn branches(out: &mut impl Write, statistics: &Statistics) -> Result {
    let branches = &statistics.branches;
    if branches.executed + branches.never_executed == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "\nBranches: {} executed ({} one-sided, {} biased, {} mixed), {} never executed",
        branches.executed, branches.one_sided, branches.biased, branches.mixed, branches.never_executed
    )?;
    for site in &branches.sites {
        writeln!(out, "  {:>14}  {:>7.3} %  {}", site.events, 100.0 * site.bias, site.site)?;
        for target in &site.targets {
            writeln!(out, "  {:>14}             to {}", target.events, target.bci)?;
        }
    }
    Ok(())
}

fn receivers(out: &mut impl Write, title: &str, receivers: &ReceiverStatistics) -> Result {
    let ReceiverStatistics { monomorphic, bimorphic, polymorphic, saturated, never_executed, sites } = receivers;
    if monomorphic + bimorphic + polymorphic + saturated + never_executed == 0 {
        return Ok(());
    }
    writeln!(
        out,
        "\n{title}: {monomorphic} monomorphic, {bimorphic} bimorphic, {polymorphic} polymorphic, \
         {saturated} saturated, {never_executed} never executed"
    )?;
    for site in sites {
        writeln!(out, "  {:>14}  {:>7.3} %  {}  {}", site.events, 100.0 * site.dominant_share, site.class, site.site)?;
        for seen in &site.types {
            writeln!(out, "  {:>14}             {}", seen.events, seen.name)?;
        }
    }
    Ok(())
}

fn coverage(out: &mut impl Write, statistics: &Statistics) -> Result {
    let all = &statistics.coverage;
    writeln!(out, "\nMethods in counters: {} of {} declared", all.executed, all.declared)?;
    let mut packages: Vec<_> = statistics.packages.iter().collect();
    // Stable: equals stay in order of name.
    packages.sort_by_key(|package| Reverse(package.executed));
    let (shown, more) = packages.split_at(packages.len().min(statistics.packages_shown));
    for package in shown {
        let name = package.package.as_deref().filter(|name| !name.is_empty()).unwrap_or("(unnamed package)");
        let percent = 100.0 * share(u128::from(package.executed), u128::from(package.declared));
        writeln!(out, "  {:>8} of {:>8}  {percent:>7.3} %  {name}", package.executed, package.declared)?;
    }
    if !more.is_empty() {
        let [executed, declared] = [|c: &Coverage| c.executed, |c: &Coverage| c.declared]
            .map(|part| more.iter().map(|package| part(package)).sum::<u64>());
        writeln!(out, "  {executed:>8} of {declared:>8}             other packages: {}", more.len())?;
    }
    Ok(())
}

fn call_tree(out: &mut impl Write, tree: &CallTree) -> Result {
    let direction = if tree.direction == Direction::Callers { "Callers" } else { "Callees" };
    let by = if tree.by == ChainsBy::Samples { "samples" } else { "calls" };
    writeln!(out, "\n{direction}, by {by}:")?;
    if tree.roots.is_empty() {
        writeln!(out, "  none")?;
    }
    tree.roots.iter().try_for_each(|root| call_node(out, root, 0))
}

fn call_node(out: &mut impl Write, node: &CallNode, level: usize) -> Result {
    write!(out, "{:indent$}{}", "", node.method, indent = column_width([2 * level]))?;
    if let Some(bci) = node.bci {
        write!(out, " @{bci}")?;
    }
    write!(out, "   {}", node.count)?;
    if level > 0 {
        write!(out, "  {:.0} %", 100.0 * node.share)?;
    }
    writeln!(out)?;
    node.nodes.iter().try_for_each(|next| call_node(out, next, level + 1))
}
