//! The last steps for calling contexts: merging cold ones, and turning contexts into inlined callees.

use super::options::ContextOptions;
use super::preinliner::{Decision, preinline};
use super::sizes::Sizes;
use super::tree::Tree;
use crate::error::Result;
use crate::sampleprof::{HOT_CUTOFF, Kind, Layout, MergeOptions, SampleProfile, StatedKind, Summary, summarize};

/// The summary of all records, of which those of a function count as one.
fn summary(tree: &Tree) -> Summary {
    let order = tree.breadth_first();
    let records = order.iter().filter_map(|at| tree.nodes[*at as usize].record.as_ref());
    let mut kind = Kind::default();
    kind.context_sensitive = true;
    summarize(records, &tree.names, kind, tree.rules)
}

/// Finishes a tree.
///
/// # Errors
///
/// Usage, if cold contexts must keep no frames.
pub(super) fn finish(
    mut tree: Tree,
    mut stated: StatedKind,
    options: &ContextOptions,
    sizes: Option<&Sizes>,
) -> Result<SampleProfile> {
    let summary = summary(&tree);
    if options.preinline {
        tree = preinline(tree, &Decision { summary: &summary, options, sizes });
        stated.preinlined = Some(true);
    }
    let rules = tree.rules;
    let mut merging = MergeOptions::of(rules);
    let of_summary = summary.threshold(HOT_CUTOFF).unwrap_or(0);
    let threshold = options.hot_count.unwrap_or(of_summary);
    let only_functions = options.preinline && options.trim_cold && !options.merge_cold;
    merging.cold.merge = options.merge_cold;
    merging.cold.trim = options.trim_cold && !only_functions;
    merging.cold.frames = options.cold_frames;
    merging.cold.threshold.count = Some(threshold);
    merging.layout = options.nest.then_some(Layout::Nest { merged_base: false });
    let mut merger = tree.into_profile(stated).into_merger(&merging);
    if only_functions {
        merger.remove_cold_functions(threshold);
    }
    Ok(merger.into_merged()?.profile)
}
