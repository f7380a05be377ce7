//! Names of local functions in IR profiles.
//!
//! Up to LLVM 17 the name is `file:function`, since LLVM 18 `file;function`. Newer compilers look for the old form if they
//! do not find the new one, but ThinLTO and the tools for the order of functions do not.

use crate::instr::cross_release::finding::{Counted, CrossReleaseOptions, FindingKind};
use crate::instr::rules::Weights;
use crate::instr::{MergeOptions, Merger};
use crate::model::{
    FunctionId, FunctionRecord, FunctionTable, FunctionView, NameRef, Profile, RecordId, RecordView, Release,
    ValueCount, ValueKind, ValueSites, name_ref,
};
use crate::names::{colon_form, semicolon_form};
use std::collections::{HashMap, HashSet};

/// The first release that writes `file;function`.
const SEMICOLONS_SINCE: Release = Release(18);

/// Returns true if some input may contain names in a form that the target does not use.
pub(super) fn names_may_change(options: &CrossReleaseOptions) -> bool {
    let reads_semicolons = options.release >= SEMICOLONS_SINCE;
    if reads_semicolons { options.origins.may_be_before_18 } else { options.origins.may_be_from_18 }
}

/// Returns the character in names that the target does not compute.
pub(super) fn separator_to_replace(options: &CrossReleaseOptions) -> u8 {
    if options.release >= SEMICOLONS_SINCE { b':' } else { b';' }
}

/// Gives local functions the names that the target computes. `None` if nothing changes.
pub(super) fn adapt_names(
    profile: &Profile,
    options: &CrossReleaseOptions,
    counted: &mut Counted,
    former_names: &mut HashMap<Vec<u8>, Vec<u8>>,
) -> Option<Rebuilt> {
    let reads_semicolons = options.release >= SEMICOLONS_SINCE;
    if !names_may_change(options) {
        return None;
    }
    if !reads_semicolons {
        // Later releases also look for the old form of targets, earlier ones only for that.
        count_unknown_targets(profile, counted);
    }
    let form = if reads_semicolons { semicolon_form } else { colon_form };
    let renamed = |function: FunctionView<'_>| Some((function.id(), form(function.name())?));
    let names: HashMap<FunctionId, Vec<u8>> = profile.functions.iter().filter_map(renamed).collect();
    // In most profiles no function is local, or all names already have the form of the target.
    if names.is_empty() {
        return None;
    }
    let in_order =
        || profile.functions.iter().filter_map(|function| Some((function.id(), &**names.get(&function.id())?)));
    for (function, name) in in_order() {
        match profile.functions.find(name).filter(|other| other.record_ids().next().is_some()) {
            Some(other) => counted.add_joined(function, other.id()),
            None => counted.add(FindingKind::Renamed, function),
        }
        former_names.insert(name.to_vec(), profile.functions.name(function).to_vec());
    }
    if reads_semicolons {
        count_unknown_targets(profile, counted);
    }
    let name_hash = |function| profile.functions.function(function).name_ref();
    let targets = in_order().map(|(function, name)| (name_hash(function), name_ref(name))).collect();
    let changes = Changes { names, targets, hashes: HashMap::new() };
    Some(rebuild(profile, changes, options.release, counted))
}

/// Returns true if a local function has records under both forms of its name.
pub(crate) fn has_both_names(profile: &Profile) -> bool {
    let is_known = |name: &[u8]| profile.functions.find(name).is_some_and(|function| function.records().count() > 0);
    profile.kind.is_ir()
        && profile.functions.iter().any(|function| colon_form(function.name()).is_some_and(|old| is_known(&old)))
}

/// Counts call targets that no input names. They keep their hash, whatever its form.
fn count_unknown_targets(profile: &Profile, counted: &mut Counted) {
    let mut known: HashSet<NameRef> = profile.functions.iter().map(FunctionView::name_ref).collect();
    known.extend(profile.vtable_names.iter().map(|name| name_ref(name)));
    for function in profile.functions.iter() {
        let is_unknown = |value: u64| value != 0 && !known.contains(&value);
        let calls = function.records().any(|record| {
            record.sites(ValueKind::IndirectCallTarget).values().iter().any(|target| is_unknown(target.value))
        });
        if calls {
            counted.add(FindingKind::UnknownTarget, function.id());
        }
    }
}

// Application of new names, targets and hashes to a profile.

/// Replacements in a profile.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Names of functions.
    pub(super) names: HashMap<FunctionId, Vec<u8>>,
    /// Hashes of names in values and traces: old → new.
    pub(super) targets: HashMap<NameRef, NameRef>,
    /// FuncHashes of records.
    pub(super) hashes: HashMap<RecordId, u64>,
}

/// The functions of a profile with other names, targets or hashes.
pub(super) struct Rebuilt {
    functions: NewFunctions,
    /// Hashes of names in traces: old → new.
    targets: HashMap<NameRef, NameRef>,
}

enum NewFunctions {
    /// Other functions, because some records were merged.
    Table(Box<FunctionTable>),
    /// The same functions with other names and targets, so that counters are not copied.
    Renamed { names: Vec<(FunctionId, Vec<u8>)>, sites: Vec<(RecordId, ValueKind, ValueSites)> },
}

impl Rebuilt {
    /// Replaces the functions of the profile.
    pub(super) fn replace_in(self, profile: &mut Profile) {
        // Traces, binary ids and the rest bypassed the merger: they were already sampled, cut and sorted.
        for function in profile.temporal.traces.iter_mut().flat_map(|trace| &mut trace.functions) {
            *function = self.targets.get(function).copied().unwrap_or(*function);
        }
        match self.functions {
            NewFunctions::Table(functions) => profile.functions = *functions,
            NewFunctions::Renamed { names, sites } => {
                names.iter().for_each(|(function, name)| profile.functions.rename(*function, name));
                for (record, kind, sites) in sites {
                    *profile.functions.sites_mut(record, kind) = sites;
                }
            }
        }
    }
}

/// Applies the changes. Records that get the same name and FuncHash are merged by the rules of `release`.
pub(super) fn rebuild(profile: &Profile, changes: Changes, release: Release, counted: &mut Counted) -> Rebuilt {
    match changes.hashes.is_empty() && changes.joins_nothing(profile) {
        true => rename(profile, changes),
        false => merge_again(profile, changes, release, counted),
    }
}

/// Applies the changes of names and targets where no two functions get one name.
pub(super) fn rename(profile: &Profile, changes: Changes) -> Rebuilt {
    let Changes { names, targets, .. } = changes;
    let sites = retargeted_sites(profile, &targets);
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_unstable_by_key(|(function, _)| *function);
    Rebuilt { functions: NewFunctions::Renamed { names, sites }, targets }
}

pub(super) fn merge_again(profile: &Profile, changes: Changes, release: Release, counted: &mut Counted) -> Rebuilt {
    let mut merger = Merger::new(MergeOptions { release, ..MergeOptions::default() });
    for function in profile.functions.iter() {
        let target = intern(&mut merger, function, &changes);
        for (id, record) in function.record_ids().zip(function.records()) {
            let changed = changed(record, changes.hashes.get(&id).copied(), &changes.targets);
            let record = changed.as_ref().map_or(record, FunctionRecord::view);
            let outcome = merger.add_to_function(target, record, Weights::of_input(1));
            if outcome.error.is_some_and(|error| error.is_mismatch()) {
                counted.add(FindingKind::ShapeMismatch, function.id());
            }
        }
    }
    Rebuilt { functions: NewFunctions::Table(Box::new(merger.into_profile().functions)), targets: changes.targets }
}

impl Changes {
    /// Returns true if no two functions get one name.
    fn joins_nothing(&self, profile: &Profile) -> bool {
        let mut new = HashSet::new();
        self.names.values().all(|name| new.insert(name) && profile.functions.find(name).is_none())
    }
}

/// Returns the sites with new targets.
fn retargeted_sites(profile: &Profile, targets: &HashMap<NameRef, NameRef>) -> Vec<(RecordId, ValueKind, ValueSites)> {
    let mut all = Vec::new();
    for function in profile.functions.iter() {
        for (id, record) in function.record_ids().zip(function.records()) {
            let kinds = kinds_to_change(record, targets);
            all.extend(kinds.map(|kind| (id, kind, retargeted(record.sites(kind), targets))));
        }
    }
    all
}

/// Returns the kinds of values that have old targets.
fn kinds_to_change(record: RecordView<'_>, targets: &HashMap<NameRef, NameRef>) -> impl Iterator<Item = ValueKind> {
    let is_old = |value: &ValueCount| targets.contains_key(&value.value);
    let holds_old = move |kind: &ValueKind| kind.is_name() && record.sites(*kind).values().iter().any(is_old);
    ValueKind::EACH.into_iter().filter(holds_old)
}

fn intern(merger: &mut Merger, function: FunctionView<'_>, changes: &Changes) -> FunctionId {
    let functions = &mut merger.profile.functions;
    match changes.names.get(&function.id()) {
        Some(name) => functions.intern(name),
        None => functions.intern_shared(function.name(), function.name_ref(), function.text()),
    }
}

/// Returns the record with a new FuncHash and new targets; `None` if nothing changes.
pub(super) fn changed(
    record: RecordView<'_>,
    hash: Option<u64>,
    targets: &HashMap<NameRef, NameRef>,
) -> Option<FunctionRecord> {
    let kinds: Vec<ValueKind> = kinds_to_change(record, targets).collect();
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

/// Returns sites with new targets. A target that occurred under both hashes occurs once, with the sum of its counts.
/// Sites keep the order of their counts.
fn retargeted(sites: &ValueSites, targets: &HashMap<NameRef, NameRef>) -> ValueSites {
    let mut all = ValueSites::new();
    let mut site_values: Vec<ValueCount> = Vec::new();
    for site in sites.iter() {
        site_values.clear();
        for value in site {
            let new = targets.get(&value.value).copied();
            let target = new.unwrap_or(value.value);
            // Unknown targets all have the hash 0 and stay separate.
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
