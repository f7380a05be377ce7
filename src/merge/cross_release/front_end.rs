//! FuncHashes of front-end records.
//!
//! clang 11 to 21 compute a hash of up to ten six-bit groups, or for larger
//! functions one of 64 bits (the third algorithm); from 22 on the four highest
//! bits of the latter are zero (the fourth). A compiler of 22 or later goes by
//! the version of the indexed file: up to 12 it computes the third, from 13 the
//! fourth. So the version is chosen by the hashes that are there. Other
//! compilers (Rust's, Swift's, D's) have hashes of their own, of all 64 bits,
//! in every release.

use super::finding::{Counted, FindingKind};
use super::rebuild::{Changes, rebuild};
use super::{CrossReleaseOptions, HashPolicy};
use crate::instr::{FunctionView, Profile, RecordId, Release};
use std::collections::{BTreeSet, HashMap};

/// The bits that a hash of the fourth algorithm may have.
const FOURTH_MASK: u64 = (1 << 60) - 1;
/// The newest indexed version for which compilers compute the third algorithm.
const THIRD_VERSION: u32 = 12;
/// The release whose tools write that version last.
const THIRD_RELEASE: Release = Release(21);
/// The first version for which the third algorithm is computed.
const FIRST_THIRD_VERSION: u32 = 6;
/// The first release that computes the fourth algorithm.
const FOURTH_RELEASE: Release = Release(22);
/// The version that it writes.
const FOURTH_VERSION: u32 = 13;
/// The largest of the numbers that make up a small hash.
const LARGEST_GROUP: u64 = 32;

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
                match profile.functions.record(id).func_hash {
                    hash if hash > FOURTH_MASK => found.third.push(id),
                    hash if !is_small(hash) => found.fourth.push(id),
                    _ => {}
                }
            }
            if found.third.len() + found.fourth.len() == third + fourth {
                continue;
            }
            if !is_of_clang(function.name()) {
                found.third.truncate(third);
                found.fourth.truncate(fourth);
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
        for function in profile.functions.iter().filter(|function| is_of_clang(function.name())) {
            // The second algorithm differs from the third for large functions only.
            let differs = function.records().any(|record| {
                if origins.first_algorithm { record.func_hash != 0 } else { !is_small(record.func_hash) }
            });
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
                    kinds.insert(FindingKind::StandTwice);
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

/// Whether a hash is made of six-bit groups, as every algorithm since the
/// second computes it for a function of at most ten counted nodes.
fn is_small(hash: u64) -> bool {
    let mut rest = hash;
    while rest != 0 {
        if !(1..=LARGEST_GROUP).contains(&(rest & 63)) {
            return false;
        }
        rest >>= 6;
    }
    hash <= FOURTH_MASK
}

/// Whether a function of that name is of a language of clang, as far as the
/// name tells.
fn is_of_clang(name: &[u8]) -> bool {
    let at = name.iter().rposition(|byte| matches!(byte, b':' | b';')).map_or(0, |at| at + 1);
    let symbol = &name[at..];
    let begins = |prefix: &[u8]| symbol.strip_prefix(prefix).and_then(|rest| rest.first()).copied();
    let rust = begins(b"_R").is_some_and(|next| next.is_ascii_uppercase() || next.is_ascii_digit());
    let d = begins(b"_D").is_some_and(|next| next.is_ascii_digit());
    let swift = [&b"$s"[..], b"$S", b"$e", b"_$s", b"_$S", b"_T0"].iter().any(|prefix| symbol.starts_with(prefix));
    !(rust || d || swift || ends_in_rust_hash(symbol))
}

/// Rust's older mangling: `…17h`, 16 hexadecimal digits, `E`, and perhaps
/// suffixes that begin with a dot.
fn ends_in_rust_hash(symbol: &[u8]) -> bool {
    let is_hash =
        |end: &[u8]| end.starts_with(b"17h") && end[3..19].iter().all(u8::is_ascii_hexdigit) && end[19] == b'E';
    let mut stem = symbol;
    loop {
        if stem.last_chunk::<20>().is_some_and(|end| is_hash(end)) {
            return true;
        }
        match stem.iter().rposition(|byte| *byte == b'.') {
            Some(at) => stem = &stem[..at],
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn only_clangs_languages_vote() {
        for name in ["main", "a.c:f", "_ZN3foo3barEv", "a.m:-[Foo bar:]", "_Reset", "_Dump", "?f@@YAXXZ"] {
            assert!(is_of_clang(name.as_bytes()), "{name}");
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
            assert!(!is_of_clang(name.as_bytes()), "{name}");
        }
    }
}
