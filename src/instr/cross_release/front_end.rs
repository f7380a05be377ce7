//! FuncHashes of front-end records.
//!
//! clang 11 to 21 compute a hash of up to ten six-bit groups, or for larger
//! functions one of 64 bits (the third algorithm); from 22 on the four highest
//! bits of the latter are zero (the fourth). A compiler of 22 or later goes by
//! the version of the indexed file: up to 12 it computes the third, from 13 the
//! fourth. So the version is chosen by the hashes that are there. Other
//! compilers (Rust's, Swift's, D's) have hashes of their own, of all 64 bits,
//! in every release.

use crate::instr::cross_release::finding::{Counted, FindingKind};
use crate::instr::cross_release::hashes::{FIRST_THIRD_VERSION, FOURTH_MASK, FOURTH_VERSION, is_of_clang, is_small};
use crate::instr::cross_release::options::{CrossReleaseOptions, HashPolicy};
use crate::instr::cross_release::rebuild::{Changes, rebuild};
use crate::model::{FunctionView, Profile, RecordId, Release};
use std::collections::{BTreeSet, HashMap};

/// The newest indexed version for which compilers compute the third algorithm.
const THIRD_VERSION: u32 = 12;
/// The release whose tools write that version last.
const THIRD_RELEASE: Release = Release(21);
/// The first release that computes the fourth algorithm.
pub(super) const FOURTH_RELEASE: Release = Release(22);

/// Chooses release and version by the hashes, or changes the hashes for the reader.
pub(super) fn cross(profile: Profile, options: &CrossReleaseOptions, counted: &mut Counted) -> (Profile, Release, u32) {
    let found = Hashes::of(&profile, options);
    let (release, version) = found.choose(options);
    found.note_first_algorithms(&profile, options, version, counted);
    if found.third.is_empty() && found.fourth.is_empty() {
        return (profile, release, version);
    }
    let reads_fourth = version >= FOURTH_VERSION;
    if options.hashes == HashPolicy::Keep {
        found.note_kept(&profile, reads_fourth, counted);
        return (profile, release, version);
    }
    let hashes = if reads_fourth { found.cleared(&profile) } else { found.completed(&profile, counted) };
    if hashes.is_empty() {
        return (profile, release, version);
    }
    let functions: BTreeSet<_> = profile
        .functions
        .iter()
        .filter(|function| function.record_ids().any(|id| hashes.contains_key(&id)))
        .map(FunctionView::id)
        .collect();
    functions.into_iter().for_each(|id| counted.add(FindingKind::Rehashed, &profile, id));
    let changes = Changes { hashes, ..Changes::default() };
    (rebuild(profile, &changes, release, counted), release, version)
}

/// The large hashes of a profile's functions of clang.
struct Hashes {
    /// Hashes above 60 bits: the third algorithm.
    third: Vec<RecordId>,
    /// Large hashes within 60 bits: the fourth, or one in sixteen of the third.
    fourth: Vec<RecordId>,
    /// Whether those are of the fourth, as far as can be told.
    is_fourth: bool,
}

impl Hashes {
    fn of(profile: &Profile, options: &CrossReleaseOptions) -> Self {
        let mut found = Self { third: Vec::new(), fourth: Vec::new(), is_fourth: false };
        let mut has_twins = false;
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
            has_twins |=
                found.third[third..].iter().any(|id| own.iter().any(|own| hash(own) == hash(id) & FOURTH_MASK));
        }
        // Of the third algorithm's large hashes, one in sixteen looks like one of the fourth.
        let by_chance = if found.third.is_empty() { 0 } else { found.third.len() / 4 + 4 };
        found.is_fourth = options.origins.may_be_fourth && (has_twins || found.fourth.len() > by_chance);
        found
    }

    /// The release and version in which the reader computes these hashes.
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

    fn note_first_algorithms(
        &self,
        profile: &Profile,
        options: &CrossReleaseOptions,
        version: u32,
        counted: &mut Counted,
    ) {
        let origins = options.origins;
        if version < FIRST_THIRD_VERSION || !(origins.first_algorithm || origins.second_algorithm) {
            return;
        }
        for function in profile.functions.iter() {
            // The second algorithm differs from the third for large functions only.
            let may_differ = |hash| if origins.first_algorithm { hash != 0 } else { !is_small(hash) };
            let mut hashes = function.records().map(|record| record.func_hash);
            let differs = hashes.any(|hash| may_differ(hash) && is_of_clang(function.name(), hash));
            if differs {
                counted.add(FindingKind::HashOfFirstAlgorithms, profile, function.id());
            }
        }
    }

    /// Says what the reader will not find when all hashes stay as they are.
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
                    kinds.insert(FindingKind::HashOfLaterRelease);
                }
            }
            kinds.into_iter().for_each(|kind| counted.add(kind, profile, function.id()));
        }
    }

    fn hashes(&self, profile: &Profile, records: &[RecordId]) -> HashMap<RecordId, u64> {
        records.iter().map(|id| (*id, profile.functions.record(*id).func_hash)).collect()
    }

    /// Hashes of the third algorithm as the fourth has them.
    fn cleared(&self, profile: &Profile) -> HashMap<RecordId, u64> {
        let mut hashes = self.hashes(profile, &self.third);
        hashes.values_mut().for_each(|hash| *hash &= FOURTH_MASK);
        hashes
    }

    /// Hashes of the fourth algorithm with the four bits of the third, where a
    /// record of the same function has them.
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
                counted.add(FindingKind::HashOfLaterRelease, profile, function.id());
            }
        }
        hashes
    }
}
