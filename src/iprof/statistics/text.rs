//! Statistics as text.

use super::chains::CallNode;
use super::{CallTree, ChainsBy, Coverage, Direction, ReceiverStatistics, SampledMethod, Statistics};
use crate::digits::number_of;
use std::cmp::Reverse;
use std::fmt::{Result, Write};

/// Writes all statistics that say something.
///
/// # Errors
///
/// Those of `out`.
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
    let width = name_width(statistics.hot_methods.iter().map(|hot| hot.method.as_str()));
    writeln!(out, "\nHot methods by calls:")?;
    writeln!(out, "{:<width$}{:>20}{:>9}{:>8}{:>10}", "Method name", "Calls", "%", "chains", "inlined")?;
    for hot in &statistics.hot_methods {
        let pad = width - hot.method.chars().count();
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
    let width = name_width(methods.iter().map(|sampled| sampled.method.as_str()));
    writeln!(out, "\n{title}:\n{:<width$}{:>10}{:>9}", "Method name", "Hits", "%")?;
    for sampled in methods {
        let pad = width - sampled.method.chars().count();
        writeln!(out, "{}{:pad$}{:>10}{:>9.3}", sampled.method, "", sampled.hits, 100.0 * sampled.share)?;
    }
    Ok(())
}

/// Width of a column of names, by characters.
fn name_width<'n>(names: impl Iterator<Item = &'n str>) -> usize {
    names.map(|name| name.chars().count()).max().unwrap_or(0).max(28)
}

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
        let percent = 100.0 * super::share(u128::from(package.executed), u128::from(package.declared));
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
    write!(out, "{:indent$}{}", "", node.method, indent = 2 * level)?;
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
