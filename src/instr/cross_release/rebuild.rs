//! A profile with other names, targets and hashes.

use crate::instr::cross_release::finding::{Counted, FindingKind};
use crate::instr::{MergeOptions, Merger};
use crate::model::{
    FunctionId, FunctionRecord, FunctionView, NameRef, Profile, RecordId, RecordView, Release, ValueCount, ValueKind,
    ValueSites,
};
use std::collections::HashMap;

/// What becomes something else.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Names of functions.
    pub(super) names: HashMap<FunctionId, Vec<u8>>,
    /// Hashes of names where values and traces hold them: old → new.
    pub(super) targets: HashMap<NameRef, NameRef>,
    /// FuncHashes of records.
    pub(super) hashes: HashMap<RecordId, u64>,
}

/// Makes the changes; what comes to have one name and one FuncHash is added up
/// by the rules of `release`.
pub(super) fn rebuild(mut profile: Profile, changes: &Changes, release: Release, counted: &mut Counted) -> Profile {
    let mut merger = Merger::new(MergeOptions { release, ..MergeOptions::default() });
    for function in profile.functions.iter() {
        let target = intern(&mut merger, function, changes);
        for (id, record) in function.record_ids().zip(function.records()) {
            let changed = changed(record, changes.hashes.get(&id).copied(), &changes.targets);
            let record = changed.as_ref().map_or(record, FunctionRecord::view);
            let outcome = merger.add_to_function(target, record, 1);
            if outcome.error.is_some_and(|error| error.is_mismatch()) {
                counted.add(FindingKind::ShapeMismatch, &profile, function.id());
            }
        }
    }
    // Traces, binary ids and the rest do not go through the merger: they were
    // sampled, cut and sorted before.
    for function in profile.temporal.traces.iter_mut().flat_map(|trace| &mut trace.functions) {
        *function = changes.targets.get(function).copied().unwrap_or(*function);
    }
    profile.functions = merger.finish().functions;
    profile
}

fn intern(merger: &mut Merger, function: FunctionView<'_>, changes: &Changes) -> FunctionId {
    let functions = &mut merger.profile.functions;
    match changes.names.get(&function.id()) {
        Some(name) => functions.intern(name),
        None => functions.intern_shared(function.name(), function.name_ref(), function.text()),
    }
}

/// The record with another FuncHash and other targets; `None` where nothing changes.
pub(super) fn changed(
    record: RecordView<'_>,
    hash: Option<u64>,
    targets: &HashMap<NameRef, NameRef>,
) -> Option<FunctionRecord> {
    let is_old = |value: &ValueCount| targets.contains_key(&value.value);
    let holds_old = |kind: &ValueKind| kind.is_name() && record.sites(*kind).values().iter().any(is_old);
    let kinds: Vec<ValueKind> = ValueKind::ALL.into_iter().filter(holds_old).collect();
    if hash.is_none() && kinds.is_empty() {
        return None;
    }
    let mut changed = record.to_record();
    changed.func_hash = hash.unwrap_or(record.func_hash);
    for kind in kinds {
        *changed.sites_mut(kind) = retargeted(record.sites(kind), targets);
    }
    Some(changed)
}

/// Sites with new targets. A target that stood under both hashes stands once,
/// with the sum of its counts; sites stay in the order of their counts.
fn retargeted(sites: &ValueSites, targets: &HashMap<NameRef, NameRef>) -> ValueSites {
    let mut all = ValueSites::new();
    let mut site_values: Vec<ValueCount> = Vec::new();
    for site in sites.iter() {
        site_values.clear();
        for value in site {
            let new = targets.get(&value.value).copied();
            let target = new.unwrap_or(value.value);
            // Unknown targets have the hash 0 each and stay apart.
            let known = site_values.iter_mut().find(|known| target != 0 && known.value == target);
            match known {
                Some(known) => known.count = known.count.saturating_add(value.count),
                None => site_values.push(ValueCount { value: target, count: value.count }),
            }
        }
        site_values.sort_by_key(|value| std::cmp::Reverse(value.count));
        all.push_site(&site_values);
    }
    all
}
