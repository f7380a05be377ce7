//! Names of local functions in IR profiles.
//!
//! `file:function` up to LLVM 17, `file;function` from 18 on, which also looks
//! for the old form when it does not find the new one. File names may hold both
//! characters, so the old form is computed from the new one, by its *last* `;`,
//! and never the other way round.

use crate::instr::cross_release::finding::{Counted, FindingKind};
use crate::instr::cross_release::options::{CrossReleaseOptions, Origins};
use crate::instr::cross_release::rebuild::{Changes, rebuild};
use crate::model::{FunctionId, FunctionTable, FunctionView, NameRef, Profile, Release, ValueKind, name_ref};
use std::collections::{HashMap, HashSet};

/// The first release that writes `file;function`.
const SEMICOLONS_SINCE: Release = Release(18);

/// A name as releases up to 17 write it; `None` for a name without `;`.
pub(crate) fn colon_form(name: &[u8]) -> Option<Vec<u8>> {
    let at = name.iter().rposition(|byte| *byte == b';')?;
    let mut form = name.to_vec();
    form[at] = b':';
    Some(form)
}

/// Whether some input may hold names that are not of the reader's era.
pub(super) fn names_may_change(options: &CrossReleaseOptions) -> bool {
    let reads_semicolons = options.release >= SEMICOLONS_SINCE;
    if reads_semicolons { options.origins.may_be_before_18 } else { options.origins.may_be_from_18 }
}

/// Gives local functions the names that the reader computes.
pub(super) fn cross(
    profile: Profile,
    options: &CrossReleaseOptions,
    counted: &mut Counted,
    former_names: &mut HashMap<Vec<u8>, Vec<u8>>,
) -> Profile {
    let reads_semicolons = options.release >= SEMICOLONS_SINCE;
    let separator = if reads_semicolons { b':' } else { b';' };
    // Mostly nothing is local, or all inputs are of the reader's era.
    if !names_may_change(options) || !profile.functions.iter().any(|function| function.name().contains(&separator)) {
        return profile;
    }
    let forms = Forms::of(&profile.functions, options.origins);
    let renaming = if reads_semicolons { forms.renaming_to_semicolons(&profile) } else { forms.renaming_to_colons() };
    for function in &renaming.ambiguous {
        counted.add(FindingKind::AmbiguousName, &profile, *function);
    }
    if renaming.names.is_empty() {
        return profile;
    }
    for (function, name) in renaming.in_order() {
        let kind = if profile.functions.find(name).is_some_and(|other| other.record_ids().next().is_some()) {
            FindingKind::Joined
        } else {
            FindingKind::Renamed
        };
        counted.add(kind, &profile, function);
        former_names.insert(name.to_vec(), profile.functions.name(function).to_vec());
    }
    count_unknown_targets(&profile, counted);
    let targets = renaming.in_order().map(|(function, name)| (name_hash(&profile, function), name_ref(name))).collect();
    let changes = Changes { names: renaming.names, targets, hashes: HashMap::new() };
    rebuild(profile, &changes, options.release, counted)
}

fn name_hash(profile: &Profile, function: FunctionId) -> NameRef {
    profile.functions.function(function).name_ref()
}

/// Functions that get another name.
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

/// Functions whose names are of the new form, by what they are in the old one.
struct Forms(HashMap<Vec<u8>, Vec<FunctionId>>);

impl Forms {
    fn of(functions: &FunctionTable, origins: Origins) -> Self {
        let new: Vec<(FunctionId, Vec<u8>)> =
            functions.iter().filter_map(|function| Some((function.id(), colon_form(function.name())?))).collect();
        // A file name may hold `;`: what another name becomes is of the old form already.
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

    /// For releases up to 17: the new form becomes the old one.
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

    /// For later releases: the old form joins the new one where both are there.
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

/// Whether a name with `;` is rather of LLVM 17 or earlier: what follows the
/// last `;` holds the `:` before the function. Objective-C's methods hold `:`
/// as well, between brackets.
fn looks_old(name: &[u8]) -> bool {
    let at = name.iter().rposition(|byte| *byte == b';').map_or(0, |at| at + 1);
    let rest = &name[at..];
    rest.iter().position(|byte| matches!(byte, b':' | b'[')).is_some_and(|first| rest[first] == b':')
}

/// Targets that no input names keep their hash, whichever form it is of.
fn count_unknown_targets(profile: &Profile, counted: &mut Counted) {
    let mut known: HashSet<NameRef> = profile.functions.iter().map(FunctionView::name_ref).collect();
    known.extend(profile.vtable_names.iter().map(|name| name_ref(name)));
    for function in profile.functions.iter() {
        let is_unknown = |value: u64| value != 0 && !known.contains(&value);
        let calls = function.records().any(|record| {
            record.sites(ValueKind::IndirectCallTarget).values().iter().any(|target| is_unknown(target.value))
        });
        if calls {
            counted.add(FindingKind::UnknownTarget, profile, function.id());
        }
    }
}
