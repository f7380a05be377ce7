//! A record with the names of another profile.

use crate::sampleprof::names::NameId;
use crate::sampleprof::record::FunctionRecord;
use crate::sampleprof::targets::CallTarget;

/// Gives every name the number that it has elsewhere. `same_order` says that
/// the new numbers rise with the old ones, so that lists stay sorted.
pub(crate) fn rename(record: &mut FunctionRecord, numbers: &[NameId], same_order: bool) {
    record.name = numbers[record.name.index()];
    if let Some(frames) = &mut record.context {
        frames.iter_mut().for_each(|frame| frame.function = numbers[frame.function.index()]);
    }
    for entry in &mut record.body {
        rename_targets(&mut entry.targets, numbers, same_order);
    }
    for entry in &mut record.vtables {
        rename_targets(&mut entry.tables, numbers, same_order);
    }
    for site in &mut record.call_sites {
        rename(&mut site.callee, numbers, same_order);
    }
    if !same_order && record.call_sites.len() > 1 {
        record.call_sites.sort_unstable_by_key(|site| (site.location, site.callee.name));
    }
}

fn rename_targets(targets: &mut [CallTarget], numbers: &[NameId], same_order: bool) {
    targets.iter_mut().for_each(|target| target.callee = numbers[target.callee.index()]);
    if !same_order && targets.len() > 1 {
        targets.sort_unstable_by_key(|target| target.callee);
    }
}
