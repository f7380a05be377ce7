//! Tests of the effects of intermediate files and of the order of inputs.

use crate::generate::{Knows, profile};
use crate::oracle;
use profbridge::Compat;
use profbridge::generate::Random;
use profbridge::indexed::{self, WriteOptions};
use profbridge::instr::record::MAX_VALUES_PER_SITE;
use profbridge::instr::{MergeOptions, Merger, SoftError};
use profbridge::instr::{Profile, Release, ValueKind, name_ref};
use std::collections::HashSet;

/// Merges all inputs. Returns `None` if some data of an input was dropped.
fn merge(files: &[impl AsRef<[u8]>], release: Release) -> Option<Profile> {
    let mut options = MergeOptions::default();
    // llvm-profdata mode accepts more kinds of inputs.
    (options.release, options.compat) = (release, Compat::Llvm22);
    let mut merger = Merger::new(options);
    for file in files {
        let mut reader = oracle::open(file.as_ref(), Compat::Profbridge).unwrap();
        merger.begin_input(reader.kind()).ok()?;
        while let Some(record) = reader.next_record().unwrap() {
            if merger.add_record(record, 1).error.is_some_and(SoftError::is_mismatch) {
                return None;
            }
        }
    }
    Some(merger.into_profile())
}

fn bytes(profile: &Profile, release: Release) -> Vec<u8> {
    indexed::write(profile, &WriteOptions::for_release(release)).unwrap()
}

/// Returns true if a site has a value twice or is full: the result of adding values then depends on their order.
fn has_order_of_values(profile: &Profile) -> bool {
    let records = profile.functions.iter().flat_map(|function| function.records().collect::<Vec<_>>());
    records.flat_map(|record| ValueKind::ALL.iter().map(move |kind| record.sites(*kind))).any(|sites| {
        sites.iter().any(|site| {
            let distinct: HashSet<u64> = site.iter().map(|v| v.value).collect();
            distinct.len() < site.len() || site.len() == MAX_VALUES_PER_SITE
        })
    })
}

#[test]
fn merging_merged_files_equals_merging_all() {
    let mut equal = 0;
    let release = Release(22);
    for case in 0..120 {
        let mut random = Random::new(case);
        let family = random.below(60);
        let knows = Knows { traces: false, equal_values: false, ..Knows::of(22) };
        let files: Vec<String> = (0..4).map(|number| profile(case * 10 + number, family, knows)).collect();
        let (first, second) = files.split_at(1 + random.below(3) as usize);
        let parts = merge(first, release).zip(merge(second, release)).zip(merge(&files, release));
        let Some(((first, second), whole)) = parts else { continue };
        let written = [bytes(&first, release), bytes(&second, release)];
        if [&first, &second, &whole].into_iter().any(has_order_of_values) {
            continue;
        }
        equal += 1;
        let again = merge(&written, release).unwrap();
        // Files list the records of a name in the order of a hash map, so this order may differ in the next file.
        let text = |profile: &Profile| {
            profbridge::text::write(profile, &profbridge::text::TextOptions::new(Compat::Profbridge)).bytes
        };
        let (again, whole) = (text(&again), text(&whole));
        assert!(again == whole, "case {case}: {}", oracle::difference(&again, &whole));
    }
    assert!(equal >= 20, "{equal}");
}

/// Writes the same records in two orders, like a release.
fn both_orders(first: &str, second: &str, release: Release) -> [Vec<u8>; 2] {
    [[first, second], [second, first]].map(|files| bytes(&merge(&files, release).unwrap(), release))
}

#[test]
fn hashes_that_collide_keep_their_order_of_arrival() {
    let record = |hash: u64| format!("f\n{hash}\n1\n1\n");
    let differ = |a: u64, b: u64| {
        let [one, other] = both_orders(&record(a), &record(b), Release(22));
        one != other
    };
    // The hash selects one of four slots, so some pairs of the first names collide.
    let colliding = (1..8).flat_map(|a| (a + 1..8).map(move |b| (a, b))).filter(|(a, b)| differ(*a, *b)).count();
    assert!((1..21).contains(&colliding), "{colliding} of 21 pairs");
}

#[test]
fn names_of_old_releases_depend_on_earlier_names() {
    let record = |name: &str| format!("{name}\n1\n1\n1\n");
    // Two names with the same slot in the map of names and the same bucket in the file.
    let slot = |name: &str| name.bytes().fold(0u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(byte.into())) % 16;
    let bucket = |name: &str| name_ref(name.as_bytes()) % 64;
    let names: Vec<String> = (0..200).map(|number| format!("n{number}")).collect();
    let pairs = names.iter().flat_map(|a| names.iter().map(move |b| (a, b)));
    let (a, b) = pairs.into_iter().find(|(a, b)| a < b && slot(a) == slot(b) && bucket(a) == bucket(b)).unwrap();
    let [one, other] = both_orders(&record(a), &record(b), Release(16));
    assert!(one != other);
    let [one, other] = both_orders(&record(a), &record(b), Release(22));
    assert!(one == other);
}
