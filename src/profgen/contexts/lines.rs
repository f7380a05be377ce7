//! From counts by context to a tree of contexts with counts of lines.

use super::super::builder::{raise_to_calls, update_total};
use super::super::counters::Counters;
use super::super::program::Program;
use super::super::ranges::pieces;
use super::inlined::Places;
use super::tree::{ROOT, Tree};
use crate::sampleprof::{FunctionRecord, LineLocation, add_saturating, add_target, attributes};

/// Adds the counts of one context. The root stands for no context: then only the entries of functions count.
pub(super) fn add_context(
    tree: &mut Tree,
    program: &Program<'_>,
    places: &Places,
    context: u32,
    is_inlined: bool,
    counters: &Counters,
) {
    if context != ROOT {
        let record = tree.record(context);
        if is_inlined {
            record.attributes |= attributes::WAS_INLINED;
        }
        add_runs(record, program, places, counters);
    }
    for (&(source, target), &count) in &counters.branches {
        let Some(callee) = program.functions.entered_at(target) else { continue };
        let callee = tree.name(callee);
        let mut site = LineLocation::default();
        if context != ROOT
            && let Some(place) = places.frames(source).last()
        {
            let base = program.discriminators.base(place.location.discriminator);
            let entry = tree.record(context).body_at(LineLocation::new(place.location.line, base));
            add_target(entry.targets.list_mut(), callee, count);
            site = place.location;
        }
        let callee = tree.child(context, site, callee);
        add_saturating(&mut tree.record(callee).head, count);
    }
}

fn add_runs(record: &mut FunctionRecord, program: &Program<'_>, places: &Places, counters: &Counters) {
    let discriminators = program.discriminators;
    for piece in pieces(&counters.runs).into_iter().filter(|piece| piece.count > 0) {
        for at in places.positions(piece.begin, piece.end) {
            let Some(place) = places.frames_at(at).last() else { continue };
            let LineLocation { line, discriminator } = place.location;
            let entry = record.body_at(LineLocation::new(line, discriminators.base(discriminator)));
            entry.samples = entry.samples.max(piece.count.wrapping_mul(discriminators.factor(discriminator)));
            add_saturating(&mut record.total, piece.count);
        }
    }
}

/// Completes the records: an inlined function has no calls, so its callers get the count of its first place. A place
/// executes at least as often as its calls.
pub(super) fn complete(tree: &mut Tree, update_totals: bool) {
    let order = tree.breadth_first();
    for &at in order.iter().rev() {
        let node = &tree.nodes[at as usize];
        let (parent, site, function) = (node.parent, node.site, node.function);
        let Some(record) = node.record.as_ref().filter(|record| record.head == 0 && parent != ROOT) else { continue };
        let entries = match record.entry_estimate(true) {
            0 if record.body.is_empty() => 1,
            entries => entries,
        };
        let caller = tree.record(parent);
        let entry = caller.body_at(site);
        add_target(entry.targets.list_mut(), function, entries);
        add_saturating(&mut entry.samples, entries);
        add_saturating(&mut caller.total, entries);
    }
    let rules = tree.rules;
    for at in order {
        if let Some(record) = &mut tree.nodes[at as usize].record {
            if update_totals {
                update_total(record);
            }
            if rules.raises_to_calls() {
                raise_to_calls(record);
            }
        }
    }
}
