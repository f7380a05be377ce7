//! The last steps for calling contexts: merging cold ones, and turning contexts into inlined callees.

use super::options::ContextOptions;
use super::preinliner::{Decision, preinline};
use super::sizes::Sizes;
use super::tree::Tree;
use crate::error::Result;
use crate::sampleprof::{Kind, MergeOptions, SampleProfile, StatedKind, Summary, summarize};

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
/// Usage, if cold contexts must keep no frames, or if a cutoff is larger than those of the summary.
pub(super) fn finish(
    mut tree: Tree,
    mut stated: StatedKind,
    options: &ContextOptions,
    sizes: Option<&Sizes>,
) -> Result<SampleProfile> {
    let summary = summary(&tree);
    let (hot, cold) = (summary.count_of(options.hot)?, summary.count_of(options.cold)?);
    if options.preinline {
        tree = preinline(tree, &Decision { summary: &summary, cold, options, sizes });
        stated.preinlined = Some(true);
    }
    let rules = tree.rules;
    let mut merging = MergeOptions::of(rules);
    let only_functions = options.preinline && options.trim_cold && !options.merge_cold;
    merging.cold.merge = options.merge_cold;
    merging.cold.trim = options.trim_cold && !only_functions;
    merging.cold.frames = options.cold_frames;
    merging.cold.threshold.count = Some(hot);
    merging.layout = options.layout;
    let mut merger = tree.into_profile(stated).into_merger(&merging);
    if only_functions {
        merger.remove_cold_functions(hot);
    }
    Ok(merger.into_merged()?.profile)
}
