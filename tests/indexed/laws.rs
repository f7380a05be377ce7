//! Merging parts and joining them equals merging all, or says that it may not.

use crate::generate::{Knows, Random, profile};
use crate::oracle;
use profbridge::Compat;
use profbridge::indexed::{self, WriteOptions};
use profbridge::instr::{Profile, Release, ValueKind, name_ref};
use profbridge::merge::{MergeOptions, Merger};

/// Merges all inputs; `None` when a kind conflict leaves one out.
fn merge(files: &[(String, u64)], release: Release) -> Option<Merger> {
    merge_with(Merger::new, files, release)
}

/// Merges a run of inputs that is not the first.
fn merge_later(files: &[(String, u64)], release: Release) -> Option<Merger> {
    merge_with(Merger::later_part, files, release)
}

fn merge_with(new: fn(MergeOptions) -> Merger, files: &[(String, u64)], release: Release) -> Option<Merger> {
    let mut options = MergeOptions::default();
    options.release = release;
    let mut merger = new(options);
    for (text, weight) in files {
        let mut reader = oracle::open(text.as_bytes(), Compat::Profbridge).unwrap();
        merger.begin_input(reader.kind()).ok()?;
        while let Some(record) = reader.next_record().unwrap() {
            merger.add_record(record, *weight);
        }
        merger.add_traces(reader.temporal());
    }
    Some(merger)
}

fn bytes(profile: &Profile, release: Release) -> Vec<u8> {
    indexed::write(profile, &WriteOptions::for_release(release)).unwrap()
}

#[test]
fn joined_parts_equal_one_merge_unless_they_say_otherwise() {
    let (mut equal, mut said) = (0, 0);
    for case in 0..crate::merging::cases(22) * 6 {
        let mut random = Random::new(case);
        let release = Release([14, 16, 19, 22][random.below(4) as usize]);
        let family = random.below(60);
        let knows = Knows { traces: random.chance(20), ..Knows::of(release.0) };
        let files: Vec<(String, u64)> = (0..2 + random.below(6))
            .map(|number| {
                let weight = if random.chance(10) { 3 } else { 1 };
                (profile(case * 10 + number, family, knows), weight)
            })
            .collect();
        let first = 1 + random.below(files.len() as u64 - 1) as usize;
        let second = first + random.below((files.len() - first) as u64) as usize;
        let Some(whole) = merge(&files, release) else { continue };
        let parts = [
            merge(&files[..first], release),
            merge_later(&files[first..second], release),
            merge_later(&files[second..], release),
        ];
        let [Some(mut a), Some(mut b), Some(c)] = parts else { continue };
        let whole = whole.finish();
        // Either grouping.
        let events = if random.chance(50) { a.join(b).union(a.join(c)) } else { b.join(c).union(a.join(b)) };
        if events.any() {
            said += 1;
            continue;
        }
        equal += 1;
        let joined = a.finish();
        assert!(bytes(&joined, release) == bytes(&whole, release), "case {case} release {release} {first} {second}");
    }
    assert!(equal > 30 && said > 10, "{equal} equal, {said} said otherwise");
}

fn repeats_values(profile: &Profile) -> bool {
    let mut seen = std::collections::HashSet::new();
    profile.functions.iter().flat_map(|function| function.records().collect::<Vec<_>>()).any(|record| {
        ValueKind::ALL.into_iter().any(|kind| {
            record.sites(kind).iter().any(|site| {
                seen.clear();
                site.iter().any(|v| !seen.insert(v.value))
            })
        })
    })
}

#[test]
fn merging_written_partial_results_equals_merging_all() {
    let mut equal = 0;
    for case in 0..120 {
        let mut random = Random::new(case);
        let family = random.below(60);
        let knows = Knows { traces: false, ..Knows::of(22) };
        let files: Vec<(String, u64)> = (0..4).map(|number| (profile(case * 10 + number, family, knows), 1)).collect();
        let release = Release(22);
        let parts = [merge(&files[..2], release), merge_later(&files[2..], release)];
        let [Some(mut a), Some(b)] = parts else { continue };
        let written = [
            bytes(&merge(&files[..2], release).unwrap().finish(), release),
            bytes(&merge(&files[2..], release).unwrap().finish(), release),
        ];
        if a.join(b).any() {
            continue;
        }
        let mut merger = Merger::new(MergeOptions::default());
        for file in &written {
            let mut reader = oracle::open(file, Compat::Profbridge).unwrap();
            merger.begin_input(reader.kind()).unwrap();
            while let Some(record) = reader.next_record().unwrap() {
                merger.add_record(record, 1);
            }
        }
        let again = merger.finish();
        let whole = merge(&files, release).unwrap().finish();
        if repeats_values(&whole) {
            // A file lists equal values by count, an input as they came.
            continue;
        }
        equal += 1;
        // Files list the records of a name in the order of a hash map, so the
        // next file's order may differ; the records do not.
        let text = |profile: &Profile| {
            profbridge::text::write(profile, &profbridge::text::TextOptions::new(Compat::Profbridge)).bytes
        };
        let (again, whole) = (text(&again), text(&whole));
        assert!(again == whole, "case {case}: {}", oracle::difference(&again, &whole));
    }
    assert!(equal >= 5, "{equal}");
}

/// The same records in two orders, as a release writes them.
fn both_orders(first: &str, second: &str, release: Release) -> [Vec<u8>; 2] {
    [[first, second], [second, first]].map(|files| {
        let files = files.map(|text| (text.to_string(), 1));
        bytes(&merge(&files, release).unwrap().finish(), release)
    })
}

#[test]
fn hashes_that_collide_keep_their_order_of_arrival() {
    let record = |hash: u64| format!("f\n{hash}\n1\n1\n");
    let differ = |a: u64, b: u64| {
        let [one, other] = both_orders(&record(a), &record(b), Release(22));
        one != other
    };
    // Which of four slots a hash goes to decides, so some pairs of the first few collide.
    let colliding = (1..8).flat_map(|a| (a + 1..8).map(move |b| (a, b))).filter(|(a, b)| differ(*a, *b)).count();
    assert!((1..21).contains(&colliding), "{colliding} of 21 pairs");
}

#[test]
fn names_of_old_releases_depend_on_what_was_there() {
    let record = |name: &str| format!("{name}\n1\n1\n1\n");
    // Two names that share a slot in the map of names and a bucket in the file.
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
