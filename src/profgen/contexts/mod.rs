//! Sample profiles with calling contexts, from samples that have a call chain in addition to branch records.
//!
//! ```text
//! ChainSamples ─▶ unwinder ─▶ ContextCounters ─▶ lines, probes ─▶ Tree ─▶ finishing ─▶ SampleProfile
//!                    ▲             ▲ ▼
//!                 Places       raw_text
//! ```

mod address_hash;
mod call_graph;
mod chain_samples;
mod counting;
mod finishing;
mod inlined;
mod lines;
mod missing_frames;
mod options;
mod paths;
mod preinliner;
mod probes;
mod sizes;
mod tree;
mod unwinder;

pub use chain_samples::ChainSamples;
pub use counting::ContextCounters;
pub(super) use counting::of_unsymbolized;
pub use options::{ContextOptions, InlineSizes};
pub use unwinder::ContextFindings;

use super::counters::Counters;
use super::functions::Function;
use super::line_profile::ProfileOptions;
use super::probe_profile::ProbeFindings;
use super::program::Program;
use crate::error::Result;
use crate::limits::Limits;
use crate::sampleprof::{Chain, FunctionName, SampleProfile, StatedKind};
use address_hash::hash_of;
use counting::{Contexts, WITHOUT_CONTEXT};
use inlined::Places;
use missing_frames::MissingFrames;
use probes::ProbeContexts;
use sizes::Sizes;
use tree::{ROOT, Tree};

/// Finds the calling context of each run of code and each branch.
///
/// # Errors
///
/// Unable to correlate for damaged debug info; limit exceeded for too many inlined functions.
pub fn count_by_context(
    program: &Program<'_>,
    samples: &ChainSamples,
    options: &ContextOptions,
    limits: &Limits,
) -> Result<ContextCounters> {
    counting::count(program, samples, options, limits)
}

/// Makes the profile of a program with calling contexts. It still lacks the steps of `finish`.
///
/// # Errors
///
/// Usage, if cold contexts must keep no frames; for a program with probes truncated or malformed for damaged probes, and the
/// errors of [`count_by_context`].
pub fn make_context_profile(
    program: &Program<'_>,
    counters: ContextCounters,
    options: &ProfileOptions,
    contexts: &ContextOptions,
    limits: &Limits,
) -> Result<(SampleProfile, ProbeFindings)> {
    let addresses = counters.addresses();
    let functions = counting::functions_at(program, addresses.iter().copied());
    let ContextCounters { contexts: by_context, names, places, .. } = counters;
    let mut tree = Tree::new(names, program.rules);
    let mut findings = ProbeFindings::default();
    let mut stated = StatedKind::default();
    let mut sizes = (contexts.preinline && contexts.by_code_size).then(Sizes::new);
    match by_context {
        Contexts::Lines(lines) => {
            for (path, counts) in &lines.counts {
                let at = match *path {
                    WITHOUT_CONTEXT => ROOT,
                    path => tree.path(&lines.paths.elements(path)),
                };
                lines::add_context(&mut tree, program, &places, at, counts.is_inlined, &counts.counters);
            }
            lines::complete(&mut tree, options.update_totals);
            if let Some(sizes) = &mut sizes {
                sizes.add_functions(&mut tree, program, &functions, &places);
            }
        }
        Contexts::Probes(by_calls) => {
            let decoded = program.decode_probes(&mut addresses.into_iter(), limits)?;
            let calls: Vec<Vec<u64>> = by_calls.counts.iter().map(|(path, _)| by_calls.paths.elements(*path)).collect();
            let mut order = Chain::default();
            calls.iter().for_each(|calls| order.insert(hash_of(calls)));
            let counters = |at: usize| &by_calls.counts[at].1.counters;
            let most = contexts.most_inferred.min(limits.context_depth as usize);
            let all: Vec<&Counters> = order.iter().map(counters).collect();
            let missing = (most > 0).then(|| MissingFrames::new(program, &all, most));
            let mut by_probes = ProbeContexts::new(program, &decoded, contexts, missing);
            for at in order.iter() {
                by_probes.add(&mut tree, &calls[at], counters(at));
            }
            findings = by_probes.findings;
            stated.probe_based = Some(true);
            if let Some(sizes) = &mut sizes {
                let code = counting::code_of(program, &functions);
                let places = Places::look_up(program, code, &mut tree.names, limits)?;
                probes::add_sizes(sizes, &mut tree, program, &functions, &places, &decoded);
            }
        }
    }
    stated.flow_sensitive = program.discriminators.flow_sensitive.then_some(true);
    Ok((finishing::finish(tree, stated, contexts, sizes.as_ref())?, findings))
}

/// Repeats the last steps for a profile with calling contexts that was written before them.
///
/// # Errors
///
/// Unable to correlate for damaged debug info; limit exceeded for too many inlined functions; usage, if cold contexts must
/// keep no frames.
pub fn finish_context_profile(
    program: &Program<'_>,
    profile: SampleProfile,
    contexts: &ContextOptions,
    limits: &Limits,
) -> Result<SampleProfile> {
    let stated = profile.stated;
    let mut tree = Tree::of_profile(profile, program.rules);
    let mut sizes = (contexts.preinline && contexts.by_code_size).then(Sizes::new);
    if let Some(sizes) = &mut sizes {
        let is_sampled = |function: &&Function| tree.names.find(FunctionName::Text(&function.name)).is_some();
        let functions: Vec<&Function> = program.functions.iter().filter(is_sampled).collect();
        let addresses = counting::code_of(program, &functions);
        let places = Places::look_up(program, addresses, &mut tree.names, limits)?;
        if program.has_probes() {
            let mut starts = functions.iter().flat_map(|function| &function.ranges).map(|(start, _)| *start);
            let decoded = program.decode_probes(&mut starts, limits)?;
            probes::add_sizes(sizes, &mut tree, program, &functions, &places, &decoded);
        } else {
            sizes.add_functions(&mut tree, program, &functions, &places);
        }
    }
    finishing::finish(tree, stated, contexts, sizes.as_ref())
}
