//! The laws, on hand-made profiles.

use crate::instr::cross_release::*;
use crate::model::{FunctionRecord, ProfileKind, TemporalTrace, ValueCount, ValueKind, name_ref};
use proptest::prelude::*;

const LARGE: u64 = 0x4c09_d3f6_8c42_3a76;
const LARGE_OF_22: u64 = 0x0c09_d3f6_8c42_3a76;

fn profile(kind: ProfileKind, functions: &[(&str, u64, u64)]) -> Profile {
    let mut profile = Profile { kind, ..Profile::default() };
    for (name, hash, count) in functions {
        let id = profile.functions.intern(name.as_bytes());
        profile.functions.push_record(id, &FunctionRecord::new(*hash, vec![*count]));
    }
    profile
}

fn ir(functions: &[(&str, u64, u64)]) -> Profile {
    profile(ProfileKind::IR, functions)
}

fn unknown() -> Origins {
    let mut origins = Origins::default();
    origins.add_unknown();
    origins
}

fn options(release: u32) -> CrossReleaseOptions {
    let release = Release(release);
    CrossReleaseOptions::new(release, release.indexed_version().unwrap(), unknown())
}

/// Returns names, hashes and first counters in order of appearance.
fn content(profile: &Profile) -> Vec<(String, u64, u64)> {
    let functions = profile.functions.iter();
    functions
        .flat_map(|function| {
            let name = String::from_utf8_lossy(function.name()).into_owned();
            function
                .records()
                .map(move |record| (name.clone(), record.func_hash, record.counters.first().unwrap()))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn rows(functions: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
    functions.iter().map(|(name, hash, count)| ((*name).to_string(), *hash, *count)).collect()
}

fn kinds(crossed: &AdaptedProfile) -> Vec<(FindingKind, u64)> {
    crossed.findings.iter().map(|finding| (finding.kind, finding.functions)).collect()
}

proptest! {
    /// Renaming functions is merging them again under their new names.
    #[test]
    fn renamed_functions_are_those_of_a_merge(
        functions in prop::collection::vec((any::<bool>(), 0u64..3, prop::collection::vec((0usize..12, 1u64..9), 0..4)), 1..12),
        release in prop::sample::select(vec![17u32, 22]),
    ) {
        use crate::instr::cross_release::finding::Counted;
        use crate::instr::cross_release::names::{Changes, merge_again, rename};
        let name = |at: usize, separator: char| match functions.get(at) {
            Some((true, ..)) => format!("a.c{separator}f{at}"),
            _ => format!("f{at}"),
        };
        let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
        for (at, (_, hash, values)) in functions.iter().enumerate() {
            let id = profile.functions.intern(name(at, ':').as_bytes());
            for hash in [*hash, hash + 1] {
                let mut record = FunctionRecord::new(hash, vec![at as u64, hash]);
                let values: Vec<ValueCount> = values
                    .iter()
                    .map(|(target, count)| ValueCount { value: name_ref(name(*target, ':').as_bytes()), count: *count })
                    .collect();
                record.sites_mut(ValueKind::IndirectCallTarget).push_site(&values);
                // A size that happens to be the hash of a name.
                record.sites_mut(ValueKind::MemOpSize).push_site(&values);
                profile.functions.push_record(id, &record);
            }
        }
        let merge_again = |profile: &Profile, changes| merge_again(profile, changes, Release(release), &mut Counted::default());
        // A merged profile, with values in order.
        merge_again(&profile.clone(), Changes::default()).replace_in(&mut profile);
        let changes = || {
            let mut changes = Changes::default();
            for function in profile.functions.iter() {
                let old = String::from_utf8_lossy(function.name()).into_owned();
                if old.contains(':') {
                    let new = old.replace(':', ";").into_bytes();
                    changes.targets.insert(function.name_ref(), name_ref(&new));
                    changes.names.insert(function.id(), new);
                }
            }
            changes
        };
        let (mut renamed, mut merged) = (profile.clone(), profile.clone());
        rename(&profile, changes()).replace_in(&mut renamed);
        merge_again(&profile, changes()).replace_in(&mut merged);
        prop_assert_eq!(&renamed.functions, &merged.functions);
        for function in merged.functions.iter() {
            prop_assert!(renamed.functions.find(function.name()).is_some_and(|found| found.id() == function.id()));
        }
        for old in changes().names.keys().map(|id| profile.functions.name(*id)) {
            prop_assert!(renamed.functions.find(old).is_none());
        }
    }
}

#[test]
fn local_functions_get_a_colon_for_17_and_earlier() {
    let input = ir(&[("main", 1, 5), ("C:x;y/t.c;local", 2, 6), ("t.m;-[Foo bar:]", 3, 7)]);
    let crossed = cross(input, &options(17));
    assert_eq!(
        content(&crossed.profile),
        rows(&[("main", 1, 5), ("C:x;y/t.c:local", 2, 6), ("t.m:-[Foo bar:]", 3, 7)])
    );
    assert_eq!(kinds(&crossed), [(FindingKind::Renamed, 2)]);
    assert!(!crossed.findings[0].kind.is_loss());
}

#[test]
fn both_names_of_a_local_function_are_merged_for_any_release() {
    let input = || ir(&[("a.c:f", 1, 5), ("a.c;f", 1, 6), ("a.c;f", 9, 1), ("b.c:g", 2, 7)]);
    let crossed = cross(input(), &options(22));
    assert_eq!(content(&crossed.profile), rows(&[("a.c;f", 1, 11), ("a.c;f", 9, 1), ("b.c;g", 2, 7)]));
    assert_eq!(kinds(&crossed), [(FindingKind::Renamed, 1), (FindingKind::Joined, 1)]);
    // The share is that of the function, whatever name has more of it.
    assert_eq!((crossed.findings[1].count, crossed.findings[1].total), (12, 19));
    let crossed = cross(input(), &options(16));
    assert_eq!(content(&crossed.profile), rows(&[("a.c:f", 1, 11), ("a.c:f", 9, 1), ("b.c:g", 2, 7)]));
}

#[test]
fn an_old_name_alone_gets_the_new_form_for_later_releases() {
    let names = ["C:\\x.c:f", "t.m:-[Foo bar:]", "-[Foo bar:]", "main", "x;y.c:g", "a.c;g", "x:y.c:g"];
    let functions: Vec<(&str, u64, u64)> = names.iter().map(|name| (*name, 1, 1)).collect();
    let mut input = ir(&functions);
    let traced = names.map(|name| name_ref(name.as_bytes())).to_vec();
    input.temporal.traces = vec![TemporalTrace { weight: 1, functions: traced }];
    let crossed = cross(input, &options(22));
    let expected = ["C:\\x.c;f", "t.m;-[Foo bar:]", "-[Foo bar:]", "main", "x;y.c;g", "a.c;g", "x:y.c;g"];
    let rows_of_new: Vec<(&str, u64, u64)> = expected.iter().map(|name| (*name, 1, 1)).collect();
    assert_eq!(content(&crossed.profile), rows(&rows_of_new));
    assert_eq!(crossed.profile.temporal.traces[0].functions, expected.map(|name| name_ref(name.as_bytes())));
    assert_eq!(kinds(&crossed), [(FindingKind::Renamed, 4)]);
    // Nothing of LLVM 18 or later has an old name.
    let mut options = options(22);
    options.origins = Origins::default();
    options.origins.add_raw(10);
    assert_eq!(kinds(&cross(ir(&[("a.c:f", 1, 5)]), &options)), []);
}

#[test]
fn names_of_files_with_both_characters_stay_apart() {
    let input = || ir(&[("a;b:f", 1, 5), ("a:b;f", 1, 6), ("a:b:f", 1, 7)]);
    assert_eq!(content(&cross(input(), &options(22)).profile), rows(&[("a;b;f", 1, 5), ("a:b;f", 1, 13)]));
    assert_eq!(content(&cross(input(), &options(16)).profile), rows(&[("a;b:f", 1, 5), ("a:b:f", 1, 13)]));
}

#[test]
fn a_file_name_with_a_semicolon_of_an_old_dump_stays() {
    let mut options = options(16);
    options.origins = Origins::default();
    options.origins.add_raw(8);
    let input = || ir(&[("x;y.c:f", 1, 5), ("x;y.c:g", 2, 5)]);
    assert_eq!(content(&cross(input(), &options).profile), content(&input()));
    // Together with raw profiles of later releases.
    options.origins.add_raw(10);
    let mixed = ir(&[("x;y.c:f", 1, 5), ("x;y.c:g", 2, 5), ("x;y.c;f", 1, 1), ("z.c;h", 4, 1)]);
    let crossed = cross(mixed, &options);
    assert_eq!(content(&crossed.profile), rows(&[("x;y.c:f", 1, 6), ("x;y.c:g", 2, 5), ("z.c:h", 4, 1)]));
}

#[test]
fn targets_and_traces_follow_their_functions() {
    let mut input = ir(&[("a.c;f", 1, 5), ("a.c:f", 1, 5)]);
    let main = input.functions.intern(b"main");
    let mut record = FunctionRecord::new(7, vec![1]);
    let value = |name: &[u8], count| ValueCount { value: name_ref(name), count };
    let site = [value(b"a.c:f", 9), value(b"elsewhere", 7), value(b"a.c;f", 4)];
    record.sites_mut(ValueKind::IndirectCallTarget).push_site(&site);
    record.sites_mut(ValueKind::MemOpSize).push_site(&[value(b"a.c;f", 4)]);
    input.functions.push_record(main, &record);
    input.temporal.traces = vec![TemporalTrace { weight: 1, functions: vec![name_ref(b"a.c;f"), name_ref(b"main")] }];
    let crossed = cross(input, &options(16));
    let main = crossed.profile.functions.find(b"main").unwrap();
    let record = main.records().next().unwrap();
    assert_eq!(record.sites(ValueKind::IndirectCallTarget).site(0), [value(b"a.c:f", 13), value(b"elsewhere", 7)]);
    assert_eq!(record.sites(ValueKind::MemOpSize).site(0), [value(b"a.c;f", 4)]);
    assert_eq!(crossed.profile.temporal.traces[0].functions, [name_ref(b"a.c:f"), name_ref(b"main")]);
    assert_eq!(kinds(&crossed), [(FindingKind::Joined, 1), (FindingKind::UnknownTarget, 1)]);
}

#[test]
fn records_of_another_shape_are_reported_and_not_added() {
    let mut input = ir(&[("a.c;f", 1, 5)]);
    let other = input.functions.intern(b"a.c:f");
    input.functions.push_record(other, &FunctionRecord::new(1, vec![3, 3]));
    let crossed = cross(input, &options(22));
    assert_eq!(content(&crossed.profile), rows(&[("a.c;f", 1, 5)]));
    assert_eq!(kinds(&crossed), [(FindingKind::Joined, 1), (FindingKind::ShapeMismatch, 1)]);
    assert!((crossed.findings[1].share() - 6.0 / 11.0).abs() < 1e-9);
}

fn front_end(functions: &[(&str, u64, u64)]) -> Profile {
    profile(ProfileKind::NONE, functions)
}

#[test]
fn large_hashes_of_21_are_written_as_12_for_later_compilers() {
    for release in [22, 23] {
        let crossed = cross(front_end(&[("f", LARGE, 1), ("g", 0x18, 1)]), &options(release));
        assert_eq!((crossed.release, crossed.indexed_version), (Release(21), 12));
        assert_eq!(kinds(&crossed), []);
    }
    let crossed = cross(front_end(&[("f", LARGE, 1)]), &options(16));
    assert_eq!((crossed.release, crossed.indexed_version), (Release(16), 9));
}

#[test]
fn a_requested_version_is_kept_and_its_losses_are_reported() {
    let mut asked = options(22);
    asked.version_is_given = true;
    let crossed = cross(front_end(&[("f", LARGE, 1), ("g", 0x18, 3)]), &asked);
    assert_eq!(crossed.indexed_version, 13);
    assert_eq!(kinds(&crossed), [(FindingKind::HashOfEarlierRelease, 1)]);
    assert_eq!(crossed.findings[0].share(), 0.25);
}

#[test]
fn small_hashes_and_those_of_other_languages_leave_the_version_alone() {
    let rust = "_RNvCs1_1a1b";
    let crossed = cross(front_end(&[("g", 0x18, 1), (rust, u64::MAX, 1)]), &options(22));
    assert_eq!((crossed.indexed_version, kinds(&crossed)), (13, vec![]));
    let mut reader = options(22);
    reader.hashes = HashPolicy::Reader;
    let crossed = cross(front_end(&[(rust, u64::MAX, 1)]), &reader);
    assert_eq!(content(&crossed.profile), rows(&[(rust, u64::MAX, 1)]));
}

#[test]
fn large_hashes_of_22_raise_only_the_inferred_target() {
    let input = || front_end(&[("f", LARGE_OF_22, 1)]);
    let mut by_inputs = options(19);
    by_inputs.release_is_given = false;
    let crossed = cross(input(), &by_inputs);
    assert_eq!((crossed.release, crossed.indexed_version), (Release(22), 13));
    // One in sixteen hashes of LLVM 21 looks so.
    assert_eq!(kinds(&crossed), [(FindingKind::AmbiguousHash, 1)]);
    let crossed = cross(front_end(&[("f", LARGE_OF_22, 1), ("g", LARGE_OF_22 + 1, 1)]), &by_inputs);
    assert_eq!((crossed.indexed_version, kinds(&crossed)), (13, vec![]));
    let crossed = cross(input(), &options(19));
    assert_eq!((crossed.release, crossed.indexed_version), (Release(19), 12));
    assert_eq!(kinds(&crossed), [(FindingKind::HashOfLaterRelease, 1)]);
    // A raw profile of LLVM 18 cannot contain such hashes.
    let mut of_18 = options(19);
    of_18.origins = Origins::default();
    of_18.origins.add_raw(9);
    assert_eq!(kinds(&cross(input(), &of_18)), []);
}

#[test]
fn records_of_both_hash_versions_stay_apart_by_default() {
    let input = || front_end(&[("f", LARGE, 1), ("f", LARGE_OF_22, 2), ("g", 0x18, 3)]);
    let crossed = cross(input(), &options(22));
    assert_eq!(content(&crossed.profile), content(&input()));
    assert_eq!((crossed.indexed_version, kinds(&crossed)), (12, vec![(FindingKind::TwoHashes, 1)]));
    for (release, version, hash) in [(22, 13, LARGE_OF_22), (19, 12, LARGE), (14, 7, LARGE)] {
        let mut reader = options(release);
        reader.hashes = HashPolicy::Reader;
        let crossed = cross(input(), &reader);
        assert_eq!(content(&crossed.profile), rows(&[("f", hash, 3), ("g", 0x18, 3)]), "{release}");
        assert_eq!((crossed.indexed_version, kinds(&crossed)), (version, vec![(FindingKind::Rehashed, 1)]));
    }
}

#[test]
fn a_hash_of_22_without_its_four_bits_is_a_loss_for_earlier_compilers() {
    let mut reader = options(21);
    reader.hashes = HashPolicy::Reader;
    let crossed = cross(front_end(&[("f", LARGE, 1), ("f", LARGE_OF_22, 2), ("h", LARGE_OF_22 + 1, 3)]), &reader);
    // Or of LLVM 21, where one of sixteen has no such bits.
    assert_eq!(kinds(&crossed), [(FindingKind::Rehashed, 1), (FindingKind::AmbiguousHash, 1)]);
    assert_eq!(crossed.findings[1].first_names, [b"h"]);
    let names: Vec<String> = (0..9).map(|at| format!("f{at}")).collect();
    let mut functions: Vec<_> = names.iter().zip(0..).map(|(name, at)| (name.as_str(), LARGE_OF_22 + at, 1)).collect();
    functions.push(("g", LARGE, 1));
    for hashes in [HashPolicy::Keep, HashPolicy::Reader] {
        let crossed = cross(front_end(&functions), &CrossReleaseOptions { hashes, ..reader });
        assert_eq!(kinds(&crossed), [(FindingKind::HashOfLaterRelease, 9)], "{hashes:?}");
    }
}

/// Hashes of functions of rustc 1.51 (LLVM 11) and of the same ones of 1.95 (LLVM 22).
const EARLY_IR: [u64; 3] = [0x0100_0006_cd39_8548, 0x0000_0002_ffff_ffff, 0x0000_0005_f42b_0f02];
const LATER_IR: [u64; 3] = [0x0d14_0a68_bd39_8548, 0x0a4d_0ad3_efff_ffff, 0x0ae1_5a44_542b_0f02];

#[test]
fn ir_hashes_that_the_target_does_not_compute_are_reported() {
    let of = |hashes: &[u64]| {
        let names: Vec<String> = (0..hashes.len()).map(|at| format!("f{at}")).collect();
        let rows: Vec<_> = names.iter().zip(hashes).map(|(name, hash)| (name.as_str(), *hash, 1)).collect();
        ir(&rows)
    };
    let lost = |count| if count > 0 { vec![(FindingKind::IrHashOfOtherRelease, count)] } else { vec![] };
    let from = |origins: Origins, release| CrossReleaseOptions { origins, ..options(release) };
    let raw = |version| {
        let mut origins = Origins::default();
        origins.add_raw(version);
        origins
    };
    let both = [EARLY_IR[0], LATER_IR[1], LATER_IR[2]];
    for (hashes, origins, release, expected) in [
        (EARLY_IR, unknown(), 22, 3),
        (EARLY_IR, unknown(), 12, 3),
        (EARLY_IR, unknown(), 11, 0),
        (LATER_IR, unknown(), 22, 0),
        (LATER_IR, unknown(), 12, 0),
        (LATER_IR, unknown(), 11, 3),
        (both, unknown(), 22, 1),
        (both, unknown(), 11, 2),
        // The version of a raw profile decides, except version 5 (LLVM 10 to 12).
        (EARLY_IR, raw(5), 22, 3),
        (LATER_IR, raw(5), 22, 0),
        (LATER_IR, raw(4), 22, 3),
        (EARLY_IR, raw(10), 22, 0),
        (EARLY_IR, raw(10), 11, 3),
        (LATER_IR, raw(4), 11, 0),
    ] {
        let crossed = cross(of(&hashes), &from(origins, release));
        assert_eq!(kinds(&crossed), lost(expected), "{hashes:x?}, {origins:?}, {release}");
    }
    // Chance gives a few of many later hashes the form of early ones.
    let mut many: Vec<u64> = (1..=200).map(|at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 4).collect();
    many.extend(&EARLY_IR);
    assert_eq!(kinds(&cross(of(&many), &options(22))), []);
    // Functions with many edges are early as well if most are.
    let large = [EARLY_IR.as_slice(), &EARLY_IR.map(|hash| hash ^ 1), &[0x0200_0190_1234_5678]].concat();
    assert_eq!(kinds(&cross(of(&large), &options(22))), lost(7));
    assert_eq!(kinds(&cross(of(&large), &options(11))), []);
}

#[test]
fn hashes_of_old_versions_are_reported() {
    let mut old = options(22);
    old.origins = Origins::default();
    old.origins.add_indexed(5);
    let crossed = cross(front_end(&[("f", LARGE, 1), ("g", 0x18, 3)]), &old);
    assert_eq!(kinds(&crossed), [(FindingKind::HashOfFirstAlgorithms, 1)]);
    old.indexed_version = 5;
    assert_eq!(kinds(&cross(front_end(&[("f", LARGE, 1)]), &old)), []);
    old.indexed_version = 12;
    old.origins.add_indexed(4);
    let crossed = cross(front_end(&[("f", LARGE, 1), ("g", 0x18, 3)]), &old);
    assert_eq!(kinds(&crossed), [(FindingKind::HashOfFirstAlgorithms, 2)]);
    old.indexed_version = 4;
    let crossed = cross(front_end(&[("f", LARGE, 1), ("g", 0x18, 3)]), &old);
    assert_eq!(kinds(&crossed), [(FindingKind::HashOfFirstAlgorithms, 2)], "of LLVM 10 for LLVM 5");
}

#[test]
fn hashes_of_later_versions_are_reported_for_old_targets() {
    let input = || front_end(&[("f", LARGE, 1), ("g", 0x18, 3)]);
    for (raw, version, expected) in [(8, 4, 2), (8, 5, 1), (8, 6, 0), (10, 5, 1), (3, 4, 0)] {
        let mut old = options(22);
        old.origins = Origins::default();
        old.origins.add_raw(raw);
        (old.indexed_version, old.version_is_given) = (version, true);
        let found: u64 = cross(input(), &old).findings.iter().map(|finding| finding.functions).sum();
        assert_eq!(found, expected, "raw {raw}, indexed {version}");
    }
}

#[test]
fn some_raw_versions_do_not_show_the_hash_version() {
    // LLVM 6 changed all front-end hashes, LLVM 11 those of large functions.
    for (raw, version, expected) in [(5, 5, 1), (5, 7, 1), (4, 4, 2), (4, 5, 2)] {
        let mut old = options(12);
        old.origins = Origins::default();
        old.origins.add_raw(raw);
        old.indexed_version = version;
        let found = cross(front_end(&[("f", LARGE, 1), ("g", 0x18, 3)]), &old).findings;
        let words: Vec<_> = found.iter().map(|finding| (finding.kind, finding.functions)).collect();
        assert_eq!(words, [(FindingKind::AmbiguousHash, expected)], "raw {raw}, indexed {version}");
        assert!(!FindingKind::AmbiguousHash.is_loss());
    }
}

#[test]
fn bitmaps_of_18_are_written_as_11_or_reported() {
    let input = || {
        let mut profile = front_end(&[("f", 0x18, 1), ("g", 0x18, 3)]);
        let mut record = FunctionRecord::new(0x19, vec![4]);
        record.bitmap = vec![5];
        let function = profile.functions.intern(b"decides");
        profile.functions.push_record(function, &record);
        profile
    };
    let lost = [(FindingKind::BitmapOfOtherRelease, 1)];
    for (raw, release, version_is_given, version, findings) in [
        (&[9][..], 18, false, 11, &[][..]),
        (&[9], 19, false, 11, &[]),
        (&[9], 22, false, 11, &[]),
        (&[9], 22, true, 13, &lost),
        (&[10], 22, false, 13, &[]),
        (&[10], 18, false, 11, &lost),
        // The writer reports bitmaps that the version cannot store.
        (&[10], 16, false, 9, &[]),
        (&[9, 10], 22, false, 13, &lost),
        (&[9, 10], 18, false, 11, &lost),
    ] {
        let mut asked = options(release);
        asked.version_is_given = version_is_given;
        asked.origins = Origins::default();
        raw.iter().for_each(|version| asked.origins.add_raw(*version));
        let crossed = cross(input(), &asked);
        assert_eq!((crossed.indexed_version, &*kinds(&crossed)), (version, findings), "{raw:?} for {release}");
        // Without bitmaps nothing changes.
        let plain = cross(front_end(&[("f", 0x18, 1)]), &asked);
        assert_eq!(plain.indexed_version, asked.indexed_version);
    }
}

#[test]
fn findings_give_the_share_and_the_first_names() {
    let input = front_end(&[
        ("a", LARGE_OF_22, 1),
        ("b\n", LARGE_OF_22 + 1, 1),
        ("c", LARGE_OF_22 + 2, 1),
        ("d", LARGE_OF_22 + 3, 1),
    ]);
    let crossed = cross(input, &options(21));
    assert_eq!(
        crossed.findings[0].to_string(),
        "4 functions have hashes like those of LLVM 22 or later (100.00 % of all counts): a, b\\n, c, …"
    );
}

/// Compares two profiles: the followed functions, and both profiles with the names and hashes of the comparison.
fn compared(first: &Profile, second: &Profile) -> (Vec<Followed>, [Profile; 2]) {
    let following = Candidates::of([first, second]).following();
    let applied = [first, second].map(|profile| following.apply(profile.clone()));
    (following.into_followed(), applied)
}

#[test]
fn a_comparison_follows_names_that_both_profiles_have() {
    let first = ir(&[("a.c:f", 1, 5), ("a.c:gone", 2, 6), ("main", 3, 1)]);
    let second = ir(&[("a.c;f", 1, 5), ("a.c;new", 2, 6), ("main", 3, 1)]);
    let (followed, [old, new]) = compared(&first, &second);
    assert_eq!((followed[0].kind, followed[0].functions), (FollowedKind::Name, 1));
    assert_eq!(followed[0].first_names, ["a.c;f"]);
    assert_eq!(content(&old), rows(&[("a.c;f", 1, 5), ("a.c:gone", 2, 6), ("main", 3, 1)]));
    assert_eq!(content(&new), content(&second));
}

#[test]
fn a_comparison_clears_hashes_only_where_both_hash_versions_occur() {
    let old = front_end(&[("f", LARGE, 5), ("g", 0x18, 1), ("_RNvCs1_1a1b", u64::MAX, 1)]);
    let new = front_end(&[("f", LARGE_OF_22, 5), ("g", 0x18, 1), ("_RNvCs1_1a1b", u64::MAX >> 4, 1)]);
    let (followed, [cleared, same]) = compared(&old, &new);
    assert_eq!((followed.len(), followed[0].kind, followed[0].functions), (1, FollowedKind::Hash, 1));
    assert_eq!(content(&cleared), rows(&[("f", LARGE_OF_22, 5), ("g", 0x18, 1), ("_RNvCs1_1a1b", u64::MAX, 1)]));
    assert_eq!(content(&same), content(&new));
    for other in [front_end(&[("f", LARGE ^ 1, 5)]), ir(&[("f", LARGE_OF_22, 5)])] {
        let (followed, [unchanged, _]) = compared(&old, &other);
        assert_eq!((followed.len(), content(&unchanged)), (0, content(&old)));
    }
}

/// Returns names of few characters, so that both forms of a name often occur together.
fn names() -> impl Strategy<Value = String> {
    "[a;:]{1,5}"
}

proptest! {
    #[test]
    fn no_count_is_lost_whatever_the_names(
        functions in prop::collection::vec((names(), 1u64..3, 1u64..100), 1..20),
        release in 14u32..24,
    ) {
        let mut input = Profile { kind: ProfileKind::IR, ..Profile::default() };
        let mut total = 0;
        for (name, hash, count) in functions {
            let id = input.functions.intern(name.as_bytes());
            if input.functions.find_record(id, hash).is_none() {
                input.functions.push_record(id, &FunctionRecord::new(hash, vec![count]));
                total += count;
            }
        }
        let crossed = cross(input, &options(release));
        let sum: u64 = content(&crossed.profile).iter().map(|(_, _, count)| count).sum();
        prop_assert_eq!(sum, total);
    }

    #[test]
    fn records_of_the_target_hash_version_are_unchanged(
        functions in prop::collection::vec((names(), any::<u64>()), 1..20),
        is_old in any::<bool>(),
        is_ir in any::<bool>(),
    ) {
        let kind = if is_ir { ProfileKind::IR } else { ProfileKind::NONE };
        let mut input = Profile { kind, ..Profile::default() };
        for (name, hash) in functions {
            let id = input.functions.intern(name.as_bytes());
            if input.functions.find_record(id, hash).is_none() {
                input.functions.push_record(id, &FunctionRecord::new(hash, vec![1]));
            }
        }
        let mut options = options(if is_old { 16 } else { 18 });
        options.origins = Origins::default();
        options.origins.add_raw(if is_old { 8 } else { 9 });
        let before = content(&input);
        let crossed = cross(input, &options);
        prop_assert_eq!(content(&crossed.profile), before);
        prop_assert!(crossed.findings.is_empty() && crossed.indexed_version == options.indexed_version);
    }
}
