//! Names of local functions in IR profiles.
//!
//! Up to LLVM 17 the name is `file:function`, since LLVM 18 `file;function`. Newer releases look for the old form if
//! they do not find the new one. File names can contain both characters, so the old form is computed from the new one,
//! by its *last* `;`, and never in the other direction.

use crate::instr::cross_release::finding::{Counted, FindingKind};
use crate::instr::cross_release::finding::{CrossReleaseOptions, HashPolicy, Origins};
use crate::instr::rules::Weights;
use crate::instr::{MergeOptions, Merger};
use crate::model::record::is_of_bridge;
use crate::model::{
    FunctionId, FunctionRecord, FunctionTable, FunctionView, NameRef, Profile, RecordId, RecordView, Release,
    ValueCount, ValueKind, ValueSites, name_ref,
};
use crate::names::colon_form;
use std::collections::{BTreeSet, HashMap, HashSet};

/// The first release that writes `file;function`.
const SEMICOLONS_SINCE: Release = Release(18);

/// Returns true if some input may contain names in a form that the target does not use.
pub(super) fn names_may_change(options: &CrossReleaseOptions) -> bool {
    let reads_semicolons = options.release >= SEMICOLONS_SINCE;
    if reads_semicolons { options.origins.may_be_before_18 } else { options.origins.may_be_from_18 }
}

/// Gives local functions the names that the target computes. `None` if nothing changes.
pub(super) fn adapt_names(
    profile: &Profile,
    options: &CrossReleaseOptions,
    counted: &mut Counted,
    former_names: &mut HashMap<Vec<u8>, Vec<u8>>,
) -> Option<Rebuilt> {
    let reads_semicolons = options.release >= SEMICOLONS_SINCE;
    let separator = if reads_semicolons { b':' } else { b';' };
    // In most profiles no function is local, or all names already have the form of the target.
    if !names_may_change(options) {
        return None;
    }
    if !reads_semicolons {
        // Later releases also look for the old form of targets, earlier ones only for that.
        count_unknown_targets(profile, counted);
    }
    if !profile.functions.iter().any(|function| function.name().contains(&separator)) {
        return None;
    }
    let forms = Forms::of(&profile.functions, options.origins);
    let renaming = if reads_semicolons { forms.renaming_to_semicolons(profile) } else { forms.renaming_to_colons() };
    for function in &renaming.ambiguous {
        counted.add(FindingKind::AmbiguousName, *function);
    }
    if renaming.names.is_empty() {
        return None;
    }
    for (function, name) in renaming.in_order() {
        let kind = if profile.functions.find(name).is_some_and(|other| other.record_ids().next().is_some()) {
            FindingKind::Joined
        } else {
            FindingKind::Renamed
        };
        counted.add(kind, function);
        former_names.insert(name.to_vec(), profile.functions.name(function).to_vec());
    }
    if reads_semicolons {
        count_unknown_targets(profile, counted);
    }
    let targets = renaming.in_order().map(|(function, name)| (name_hash(profile, function), name_ref(name))).collect();
    let changes = Changes { names: renaming.names, targets, hashes: HashMap::new() };
    Some(rebuild(profile, changes, options.release, counted))
}

/// Returns true if a local function has records under both forms of its name.
pub(crate) fn has_both_names(profile: &Profile) -> bool {
    let is_known = |name: &[u8]| profile.functions.find(name).is_some_and(|function| function.records().count() > 0);
    profile.kind.is_ir()
        && profile.functions.iter().any(|function| colon_form(function.name()).is_some_and(|old| is_known(&old)))
}

fn name_hash(profile: &Profile, function: FunctionId) -> NameRef {
    profile.functions.function(function).name_ref()
}

/// Functions that get a new name.
#[derive(Default)]
struct Renaming {
    names: HashMap<FunctionId, Vec<u8>>,
    ambiguous: Vec<FunctionId>,
}

impl Renaming {
    fn in_order(&self) -> impl Iterator<Item = (FunctionId, &[u8])> {
        let mut order: Vec<_> = self.names.iter().map(|(function, name)| (*function, name.as_slice())).collect();
        order.sort_unstable_by_key(|(function, _)| *function);
        order.into_iter()
    }
}

/// Functions with names of the new form, indexed by their old form.
struct Forms(HashMap<Vec<u8>, Vec<FunctionId>>);

impl Forms {
    fn of(functions: &FunctionTable, origins: Origins) -> Self {
        let new: Vec<(FunctionId, Vec<u8>)> =
            functions.iter().filter_map(|function| Some((function.id(), colon_form(function.name())?))).collect();
        // A file name can contain `;`: the old form of another name is not a new form.
        let old: HashSet<&[u8]> = new.iter().map(|(_, form)| form.as_slice()).collect();
        let is_new = |id: FunctionId| {
            let name = functions.name(id);
            !(old.contains(name) || (origins.before_18 && looks_old(name)))
        };
        let is_new: Vec<bool> = new.iter().map(|(id, _)| is_new(*id)).collect();
        let mut forms: HashMap<Vec<u8>, Vec<FunctionId>> = HashMap::new();
        for ((id, form), _) in new.into_iter().zip(is_new).filter(|(_, is_new)| *is_new) {
            forms.entry(form).or_default().push(id);
        }
        Self(forms)
    }

    /// Renames functions for releases up to 17: the new form becomes the old one.
    fn renaming_to_colons(self) -> Renaming {
        let mut renaming = Renaming::default();
        for (form, functions) in self.0 {
            match functions[..] {
                [one] => _ = renaming.names.insert(one, form),
                _ => renaming.ambiguous.extend(functions),
            }
        }
        renaming.ambiguous.sort_unstable();
        renaming
    }

    /// Renames functions for later releases: the old form is merged into the new one if both exist.
    fn renaming_to_semicolons(self, profile: &Profile) -> Renaming {
        let mut renaming = Renaming::default();
        for (form, functions) in self.0 {
            let Some(old) = profile.functions.find(&form).map(FunctionView::id) else { continue };
            match functions[..] {
                [one] => _ = renaming.names.insert(old, profile.functions.name(one).to_vec()),
                _ => renaming.ambiguous.push(old),
            }
        }
        renaming.ambiguous.sort_unstable();
        renaming
    }
}

/// Returns true if a name with `;` was probably written by LLVM 17 or earlier: the part after the last `;` contains the
/// `:` before the function. Names of Objective-C methods contain `:` as well, within brackets.
fn looks_old(name: &[u8]) -> bool {
    let at = memchr::memrchr(b';', name).map_or(0, |at| at + 1);
    let rest = &name[at..];
    rest.iter().position(|byte| matches!(byte, b':' | b'[')).is_some_and(|first| rest[first] == b':')
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

// FuncHashes of front-end records.
//
// Hash version 3 (clang 11 to 21) packs up to ten six-bit groups, or hashes larger functions to 64 bits. Hash version 4
// (clang 22 and later) clears the four highest bits of the latter. A compiler of 22 or later computes version 3 for
// indexed files up to version 12, and version 4 for indexed files of version 13 and later. So the existing hashes
// determine the version of the output. Other compilers (Rust, Swift, D) have their own hashes of 64 bits in every
// release.

/// The newest indexed version for which compilers compute hash version 3.
const THIRD_VERSION: u32 = 12;
/// The last release whose tools write that version.
const THIRD_RELEASE: Release = Release(21);
/// The first release that computes hash version 4.
pub(super) const FOURTH_RELEASE: Release = Release(22);

/// Chooses release and version by the hashes, or rewrites the hashes for the target.
pub(super) fn adapt_hashes(
    profile: &Profile,
    options: &CrossReleaseOptions,
    counted: &mut Counted,
) -> (Option<Rebuilt>, Release, u32) {
    let found = Hashes::of(profile, options);
    let (release, version) = found.choose(options);
    note_other_algorithms(profile, options.origins, version, counted);
    if found.third.is_empty() && found.fourth.is_empty() {
        return (None, release, version);
    }
    let reads_fourth = version >= FOURTH_VERSION;
    if options.hashes == HashPolicy::Keep {
        found.note_kept(profile, reads_fourth, counted);
        return (None, release, version);
    }
    let hashes = if reads_fourth { found.cleared(profile) } else { found.completed(profile, counted) };
    if hashes.is_empty() {
        return (None, release, version);
    }
    let functions: BTreeSet<_> = profile
        .functions
        .iter()
        .filter(|function| function.record_ids().any(|id| hashes.contains_key(&id)))
        .map(FunctionView::id)
        .collect();
    functions.into_iter().for_each(|id| counted.add(FindingKind::Rehashed, id));
    let changes = Changes { hashes, ..Changes::default() };
    (Some(rebuild(profile, changes, release, counted)), release, version)
}

/// Returns the findings for large and for small hashes of inputs that a compiler computes otherwise for files of
/// `version`, or perhaps does. Hash versions 2 and 3 differ only for large functions.
pub(super) fn other_algorithms(origins: Origins, version: u32) -> [Option<FindingKind>; 2] {
    let target = 1 + u32::from(version >= SECOND_VERSION) + u32::from(version >= FIRST_THIRD_VERSION);
    let of_any_size: fn(u32) -> u32 = |algorithm| algorithm;
    [of_any_size, |algorithm| algorithm.min(2)].map(|class| {
        let mut ranges = origins.front_end_algorithms().map(|(first, last)| (class(first), class(last)));
        if ranges.clone().any(|(first, last)| !(first..=last).contains(&class(target))) {
            return Some(FindingKind::HashOfFirstAlgorithms);
        }
        ranges.any(|(first, last)| first != last).then_some(FindingKind::AmbiguousHash)
    })
}

fn note_other_algorithms(profile: &Profile, origins: Origins, version: u32, counted: &mut Counted) {
    let [large, small] = other_algorithms(origins, version);
    if large.or(small).is_none() {
        return;
    }
    for function in profile.functions.iter() {
        let kind_of = |hash| if is_small(hash) { small } else { large };
        let mut hashes = function.records().map(|record| record.func_hash).filter(|hash| *hash != 0);
        if let Some(kind) = hashes.find_map(|hash| kind_of(hash).filter(|_| is_of_clang(function.name(), hash))) {
            counted.add(kind, function.id());
        }
    }
}

/// The large hashes of functions that clang compiled.
struct Hashes {
    /// Hashes above 60 bits: hash version 3.
    third: Vec<RecordId>,
    /// Large hashes of at most 60 bits: hash version 4, or one in sixteen of version 3.
    fourth: Vec<RecordId>,
    /// Whether the `fourth` hashes are probably of version 4.
    is_fourth: bool,
    /// The finding for `fourth` hashes without the four bits that the target computes.
    cut: FindingKind,
}

impl Hashes {
    fn of(profile: &Profile, options: &CrossReleaseOptions) -> Self {
        let cut = FindingKind::HashOfLaterRelease;
        let mut found = Self { third: Vec::new(), fourth: Vec::new(), is_fourth: false, cut };
        let mut twins = 0;
        for function in profile.functions.iter() {
            let (third, fourth) = (found.third.len(), found.fourth.len());
            for id in function.record_ids() {
                let hash = profile.functions.record(id).func_hash;
                if is_small(hash) || !is_of_clang(function.name(), hash) {
                    continue;
                }
                if hash > FOURTH_MASK { found.third.push(id) } else { found.fourth.push(id) }
            }
            let hash = |id: &RecordId| profile.functions.record(*id).func_hash;
            let own = &found.fourth[fourth..];
            let is_twin = |id: &&RecordId| own.iter().any(|own| hash(own) == hash(id) & FOURTH_MASK);
            twins += found.third[third..].iter().filter(is_twin).count();
        }
        // One in sixteen of the large hashes of version 3 looks like version 4.
        let by_chance = if found.third.is_empty() { 0 } else { found.third.len() / 4 + 4 };
        found.is_fourth = options.origins.may_be_fourth && (twins > 0 || found.fourth.len() > by_chance);
        if found.fourth.len().saturating_sub(twins) <= found.third.len() / 8 + 2 && !found.third.is_empty() {
            found.cut = FindingKind::AmbiguousHash;
        }
        found
    }

    /// Chooses the release and version for which the target computes these hashes.
    fn choose(&self, options: &CrossReleaseOptions) -> (Release, u32) {
        let asked = (options.release, options.indexed_version);
        let may_choose = !options.version_is_given;
        let keeps = options.hashes == HashPolicy::Keep;
        if may_choose && keeps && !self.third.is_empty() && asked.1 > THIRD_VERSION {
            return (THIRD_RELEASE, THIRD_VERSION);
        }
        let only_fourth = self.third.is_empty() && self.is_fourth && !self.fourth.is_empty();
        if may_choose && !options.release_is_given && only_fourth && asked.1 < FOURTH_VERSION {
            return (FOURTH_RELEASE, FOURTH_VERSION);
        }
        asked
    }

    /// Counts the functions that the target will not find if all hashes are kept.
    fn note_kept(&self, profile: &Profile, reads_fourth: bool, counted: &mut Counted) {
        let (third, fourth) = (self.hashes(profile, &self.third), self.hashes(profile, &self.fourth));
        for function in profile.functions.iter() {
            let mut kinds = BTreeSet::new();
            for id in function.record_ids() {
                let hash = profile.functions.record(id).func_hash;
                let stands_twice = || {
                    function
                        .records()
                        .any(|other| other.func_hash != hash && other.func_hash & FOURTH_MASK == hash & FOURTH_MASK)
                };
                let of_other_era = if reads_fourth { third.contains_key(&id) } else { fourth.contains_key(&id) };
                if !of_other_era {
                    continue;
                }
                if stands_twice() {
                    kinds.insert(FindingKind::TwoHashes);
                } else if reads_fourth {
                    kinds.insert(FindingKind::HashOfEarlierRelease);
                } else if self.is_fourth {
                    kinds.insert(self.cut);
                }
            }
            kinds.into_iter().for_each(|kind| counted.add(kind, function.id()));
        }
    }

    fn hashes(&self, profile: &Profile, records: &[RecordId]) -> HashMap<RecordId, u64> {
        records.iter().map(|id| (*id, profile.functions.record(*id).func_hash)).collect()
    }

    /// Returns the hashes of version 3 with the bits cleared as in version 4.
    fn cleared(&self, profile: &Profile) -> HashMap<RecordId, u64> {
        let mut hashes = self.hashes(profile, &self.third);
        hashes.values_mut().for_each(|hash| *hash &= FOURTH_MASK);
        hashes
    }

    /// Returns hashes of version 4 with the four bits of version 3, if another record of the same function has them.
    fn completed(&self, profile: &Profile, counted: &mut Counted) -> HashMap<RecordId, u64> {
        let fourth = self.hashes(profile, &self.fourth);
        let mut hashes = HashMap::new();
        for function in profile.functions.iter() {
            let mut misses = false;
            for id in function.record_ids() {
                let Some(hash) = fourth.get(&id) else { continue };
                let mut others = function.records().map(|other| other.func_hash);
                match others.find(|other| *other > FOURTH_MASK && other & FOURTH_MASK == *hash) {
                    Some(whole) => _ = hashes.insert(id, whole),
                    None => misses |= self.is_fourth,
                }
            }
            if misses {
                counted.add(self.cut, function.id());
            }
        }
        hashes
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
    functions: FunctionTable,
    /// Hashes of names in traces: old → new.
    targets: HashMap<NameRef, NameRef>,
}

impl Rebuilt {
    /// Replaces the functions of the profile.
    pub(super) fn replace_in(self, profile: &mut Profile) {
        // Traces, binary ids and the rest bypassed the merger: they were already sampled, cut and sorted.
        for function in profile.temporal.traces.iter_mut().flat_map(|trace| &mut trace.functions) {
            *function = self.targets.get(function).copied().unwrap_or(*function);
        }
        profile.functions = self.functions;
    }
}

/// Applies the changes. Records that get the same name and FuncHash are merged by the rules of `release`.
pub(super) fn rebuild(profile: &Profile, changes: Changes, release: Release, counted: &mut Counted) -> Rebuilt {
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
    Rebuilt { functions: merger.into_profile().functions, targets: changes.targets }
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
    let is_old = |value: &ValueCount| targets.contains_key(&value.value);
    let holds_old = |kind: &ValueKind| kind.is_name() && record.sites(*kind).values().iter().any(is_old);
    let kinds: Vec<ValueKind> = ValueKind::EACH.into_iter().filter(holds_old).collect();
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

// Properties that distinguish the versions of front-end hashes.

/// The bits that a hash of version 4 can use.
pub(crate) const FOURTH_MASK: u64 = (1 << 60) - 1;
/// The first indexed version for which compilers compute hash version 3.
pub(crate) const FIRST_THIRD_VERSION: u32 = 6;
/// The first indexed version for which compilers compute hash version 2, whose small hashes are those of later versions.
pub(crate) const SECOND_VERSION: u32 = 5;
/// The first indexed version for which compilers compute hash version 4.
pub(crate) const FOURTH_VERSION: u32 = 13;
/// The largest group of a small hash.
const LARGEST_GROUP: u64 = 32;

/// Returns true if a hash consists of six-bit groups, as every hash version since 2 computes it for functions of at
/// most ten counted nodes.
pub(crate) fn is_small(hash: u64) -> bool {
    let mut rest = hash;
    while rest != 0 {
        if !(1..=LARGEST_GROUP).contains(&(rest & 63)) {
            return false;
        }
        rest >>= 6;
    }
    hash <= FOURTH_MASK
}

/// Returns true if clang's front end may have computed this hash for a function of this name.
pub(crate) fn is_of_clang(name: &[u8], hash: u64) -> bool {
    is_name_of_clang(name) && !is_of_bridge(name, hash)
}

fn is_name_of_clang(name: &[u8]) -> bool {
    let at = memchr::memrchr2(b':', b';', name).map_or(0, |at| at + 1);
    let symbol = &name[at..];
    let begins = |prefix: &[u8]| symbol.strip_prefix(prefix).and_then(|rest| rest.first()).copied();
    let rust = begins(b"_R").is_some_and(|next| next.is_ascii_uppercase() || next.is_ascii_digit());
    let d = begins(b"_D").is_some_and(|next| next.is_ascii_digit());
    let swift = [&b"$s"[..], b"$S", b"$e", b"_$s", b"_$S", b"_T0"].iter().any(|prefix| symbol.starts_with(prefix));
    !(rust || d || swift || ends_in_rust_hash(symbol))
}

/// Returns true for Rust's legacy mangling: `…17h`, 16 hexadecimal digits, `E`, and optional suffixes that begin with a
/// dot.
fn ends_in_rust_hash(symbol: &[u8]) -> bool {
    let is_hash =
        |end: &[u8]| end.starts_with(b"17h") && end[3..19].iter().all(u8::is_ascii_hexdigit) && end[19] == b'E';
    let mut stem = symbol;
    loop {
        if stem.last_chunk::<20>().is_some_and(|end| is_hash(end)) {
            return true;
        }
        match memchr::memrchr(b'.', stem) {
            Some(at) => stem = &stem[..at],
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ValueKind;
    use crate::model::record::func_hash;

    #[test]
    fn small_hashes_are_made_of_groups() {
        for small in [0, 0x18, 0x183ce, 0x0820_8208_2082_0820] {
            assert!(is_small(small), "{small:#x}");
        }
        for large in [0x0c09_d3f6_8c42_3a76, 0x4c09_d3f6_8c42_3a76, u64::MAX, 1 << 6, 33, 0x0820_8208_2082_0821] {
            assert!(!is_small(large), "{large:#x}");
        }
    }

    #[test]
    fn records_of_the_bridge_do_not_vote() {
        let hash = |name: &[u8], is_marked| func_hash(name, ValueKind::VTableTarget, is_marked);
        for (name, is_marked) in [(&b"app.Main#run()void"[..], false), (b"Fib", true), (b"{monitors}", true)] {
            assert!(!is_of_clang(name, hash(name, is_marked)));
            assert!(is_of_clang(name, hash(name, is_marked) ^ 1));
        }
    }

    #[test]
    fn only_clangs_languages_vote() {
        for name in ["main", "a.c:f", "_ZN3foo3barEv", "a.m:-[Foo bar:]", "_Reset", "_Dump", "?f@@YAXXZ"] {
            assert!(is_of_clang(name.as_bytes(), 0x4c09_d3f6_8c42_3a76), "{name}");
        }
        let others = [
            "_RNvCs1234_7mycrate3foo",
            "_ZN4core3fmt5write17h0123456789abcdefE",
            "_ZN4core3fmt5write17h0123456789abcdefE.llvm.123.456",
            "a.rs:_RNv1",
            "$s4main3fooyyF",
            "_D4main3fooFZv",
        ];
        for name in others {
            assert!(!is_of_clang(name.as_bytes(), 0x4c09_d3f6_8c42_3a76), "{name}");
        }
    }
}
