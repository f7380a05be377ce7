//! FuncHashes of front-end records.
//!
//! Clang up to 5 computes hash version 1, up to 10 version 2, which has the same small hashes as later versions. Hash
//! version 3 (clang 11 to 21) packs up to ten six-bit groups, or hashes larger functions to 64 bits. Hash version 4
//! (clang 22 and later) clears the four highest bits of the latter. A compiler of 22 or later computes version 3 for
//! indexed files up to version 12, and version 4 for indexed files of version 13 and later. So the existing hashes
//! determine the version of the output. Other compilers (Rust, Swift, D) have their own hashes of 64 bits in every
//! release.

use crate::instr::cross_release::finding::{Counted, CrossReleaseOptions, FindingKind, HashPolicy, Origins};
use crate::instr::cross_release::names::{Changes, Rebuilt, rebuild};
use crate::model::record::is_of_bridge;
use crate::model::{FunctionId, FunctionView, Profile, RecordId, Release};
use crate::names::without_rust_hash;
use std::collections::{BTreeSet, HashMap};

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
    if reads_fourth && options.indexed_version < FOURTH_VERSION {
        found.single(profile).into_iter().for_each(|id| counted.add(FindingKind::AmbiguousHash, id));
    }
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

    /// Returns the function with the only large hash, if it looks like version 4. One in sixteen of version 3 does.
    fn single(&self, profile: &Profile) -> Option<FunctionId> {
        let ([], [id]) = (&*self.third, &*self.fourth) else { return None };
        let mut functions = profile.functions.iter();
        functions.find(|function| function.record_ids().any(|own| own == *id)).map(|function| function.id())
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
    !(rust || d || swift || without_rust_hash(symbol).is_some())
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
