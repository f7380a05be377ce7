//! Merge rules, one behaviour per test.

use crate::instr::*;
use crate::memprof::{MemoryProfile, Source};
use crate::model::{
    FunctionRecord, Profile, RecordRef, Release, TemporalProfile, TemporalTrace, ValueCount, ValueKind, ValueSites,
    name_ref,
};
use proptest::prelude::*;

fn merger(release: u32) -> Merger {
    Merger::new(MergeOptions { release: Release(release), ..MergeOptions::default() })
}

fn add(merger: &mut Merger, name: &str, record: &FunctionRecord, weight: u64) -> AddOutcome {
    merger.add_record(RecordRef { name: name.as_bytes(), name_ref: None, text: None, record: record.view() }, weight)
}

fn counters(profile: &Profile, name: &str) -> Vec<u64> {
    profile.functions.find(name.as_bytes()).unwrap().records().next().unwrap().counters.to_vec()
}

fn site(values: &[(u64, u64)]) -> Vec<ValueCount> {
    values.iter().map(|&(value, count)| ValueCount { value, count }).collect()
}

fn with_sites(kind: ValueKind, sites: &[&[(u64, u64)]]) -> FunctionRecord {
    let mut record = FunctionRecord::new(7, vec![1]);
    let sites: Vec<Vec<ValueCount>> = sites.iter().map(|values| site(values)).collect();
    *record.sites_mut(kind) = sites.iter().map(Vec::as_slice).collect::<ValueSites>();
    record
}

fn only_site(profile: &Profile, kind: ValueKind) -> Vec<(u64, u64)> {
    let record = profile.functions.iter().next().unwrap().records().next().unwrap();
    record.sites(kind).site(0).iter().map(|v| (v.value, v.count)).collect()
}

#[test]
fn records_of_one_name_meet_by_hash() {
    let mut merger = merger(22);
    assert!(add(&mut merger, "f", &FunctionRecord::new(1, vec![1, 2]), 1).is_new);
    assert!(add(&mut merger, "f", &FunctionRecord::new(2, vec![9]), 1).is_new);
    let again = add(&mut merger, "f", &FunctionRecord::new(1, vec![10, 20]), 3);
    assert_eq!((again.is_new, again.record.index(), again.error), (false, 0, None));
    assert_eq!(counters(&merger.into_profile(), "f"), [31, 62]);
}

proptest! {
    /// Names and hashes in the order of files of one program, and in another order; with counters only, and with more.
    #[test]
    fn a_record_that_is_expected_is_added_as_any_other(
        release in prop_oneof![Just(14u32), Just(22)],
        weight in 1u64..3,
        adds in prop::collection::vec((0u8..4, 0u64..2, 0usize..3, prop_oneof![4 => 0u64..9, 1 => Just(u64::MAX), 1 => Just(u64::MAX - 2)], 0u8..6), 1..60),
        is_ordered in any::<bool>(),
    ) {
        let mut mergers = [merger(release), merger(release)];
        let mut met = 0;
        for (at, (name, hash, len, count, extra)) in adds.iter().enumerate() {
            let (name, hash) = if is_ordered { (at as u8 % 4, 0) } else { (*name, *hash) };
            let len = if is_ordered { 2 } else { *len };
            let mut record = FunctionRecord::new(hash, vec![*count; len]);
            match extra {
                1 if !is_ordered => record.bitmap.push(1),
                2 if !is_ordered => record.sites_mut(ValueKind::MemOpSize).push_site(&site(&[(1, *count)])),
                _ => {}
            }
            let name = [b'f', name];
            let incoming = RecordRef { name: &name, name_ref: Some(name_ref(&name)), text: None, record: record.view() };
            let [quick, slow] = &mut mergers;
            let expected = quick.add_to_expected(&incoming, weight);
            met += usize::from(expected.is_some());
            let outcome = expected.unwrap_or_else(|| quick.add_record(incoming, weight));
            prop_assert_eq!(outcome, slow.add_record(incoming, weight));
        }
        let pseudo = adds.iter().any(|(.., count, _)| *count > u64::MAX - 2);
        prop_assert!(!is_ordered || pseudo || adds.len() < 8 || met > 0, "files of one program take the quick way");
        let [quick, slow] = mergers.map(Merger::into_profile);
        let all = |profile: &Profile| -> Vec<_> {
            profile.functions.iter().map(|function| {
                (function.name().to_vec(), function.records().map(|record| record.to_record()).collect::<Vec<_>>())
            }).collect()
        };
        prop_assert_eq!(all(&quick), all(&slow));
    }
}

#[test]
fn another_number_of_counters_leaves_the_first_record_alone() {
    let mut merger = merger(22);
    add(&mut merger, "f", &FunctionRecord::new(1, vec![1, 2]), 1);
    let outcome = add(&mut merger, "f", &FunctionRecord::new(1, vec![1]), 1);
    assert_eq!(outcome.error, Some(SoftError::CountMismatch));
    assert_eq!(counters(&merger.into_profile(), "f"), [1, 2]);
}

#[test]
fn counters_stop_two_below_the_top_since_release_16() {
    for (release, top) in [(14, u64::MAX), (16, u64::MAX - 2), (22, u64::MAX - 2)] {
        let mut merger = merger(release);
        add(&mut merger, "f", &FunctionRecord::new(1, vec![5, u64::MAX - 5]), 1);
        let outcome = add(&mut merger, "f", &FunctionRecord::new(1, vec![5, 50]), 1);
        assert_eq!(outcome.error, Some(SoftError::CounterOverflow));
        assert_eq!(counters(&merger.into_profile(), "f"), [10, top], "release {release}");
    }
}

#[test]
fn pseudo_counts_combine_among_themselves_only() {
    let (hot, warm) = (u64::MAX, u64::MAX - 1);
    let mut merger = merger(22);
    add(&mut merger, "f", &FunctionRecord::new(1, vec![warm, 4]), 1);
    assert_eq!(add(&mut merger, "f", &FunctionRecord::new(1, vec![warm, 5]), 1).error, None);
    assert_eq!(counters(&merger_clone(&merger), "f"), [warm, 4]);
    assert_eq!(add(&mut merger, "f", &FunctionRecord::new(1, vec![hot, 5]), 1).error, None);
    let outcome = add(&mut merger, "f", &FunctionRecord::new(1, vec![3, 5]), 1);
    assert_eq!(outcome.error, Some(SoftError::CountMismatch));
    assert_eq!(counters(&merger.into_profile(), "f"), [hot, 4]);
}

/// Returns the current content of a merger as a profile.
fn merger_clone(merger: &Merger) -> Profile {
    Profile { functions: merger.functions().clone(), ..Profile::default() }
}

#[test]
fn bitmaps_are_united_and_must_have_one_size() {
    let bitmap = |bytes: &[u8]| {
        let mut record = with_sites(ValueKind::MemOpSize, &[&[(1, 1)]]);
        record.bitmap = bytes.to_vec();
        record
    };
    let mut merger = merger(22);
    add(&mut merger, "f", &bitmap(&[1, 2]), 1);
    add(&mut merger, "f", &bitmap(&[4, 2]), 1);
    let outcome = add(&mut merger, "f", &bitmap(&[8]), 1);
    assert_eq!(outcome.error, Some(SoftError::BitmapMismatch));
    let profile = merger.into_profile();
    let record = profile.functions.iter().next().unwrap().records().next().unwrap();
    // The third input's counter was added, its values were not.
    assert_eq!((record.bitmap, record.counters.first()), ([5, 2].as_slice(), Some(3)));
    assert_eq!(only_site(&profile, ValueKind::MemOpSize), [(1, 2)]);
}

#[test]
fn a_record_that_came_once_keeps_its_order_on_ties() {
    let mut merger = merger(22);
    add(&mut merger, "f", &with_sites(ValueKind::MemOpSize, &[&[(9, 5), (3, 5), (4, 7)]]), 1);
    assert_eq!(only_site(&merger.into_profile(), ValueKind::MemOpSize), [(4, 7), (9, 5), (3, 5)]);
}

#[test]
fn a_merged_site_has_ties_in_order_of_value() {
    let mut merger = merger(22);
    add(&mut merger, "f", &with_sites(ValueKind::MemOpSize, &[&[(9, 5), (3, 5), (4, 7)]]), 1);
    add(&mut merger, "f", &with_sites(ValueKind::MemOpSize, &[&[(8, 5), (4, 1)]]), 1);
    assert_eq!(only_site(&merger.into_profile(), ValueKind::MemOpSize), [(4, 8), (3, 5), (8, 5), (9, 5)]);
}

#[test]
fn the_weight_skips_values_new_to_a_site() {
    let mut merger = merger(22);
    add(&mut merger, "f", &with_sites(ValueKind::MemOpSize, &[&[(1, 5)]]), 2);
    add(&mut merger, "f", &with_sites(ValueKind::MemOpSize, &[&[(1, 1), (2, 3)]]), 10);
    assert_eq!(only_site(&merger.into_profile(), ValueKind::MemOpSize), [(1, 20), (2, 3)]);
}

#[test]
fn equal_values_of_a_site_meet_one_to_one() {
    let mut merger = merger(22);
    add(&mut merger, "f", &with_sites(ValueKind::IndirectCallTarget, &[&[(0, 5), (0, 9)]]), 1);
    add(&mut merger, "f", &with_sites(ValueKind::IndirectCallTarget, &[&[(0, 1), (0, 2), (0, 4)]]), 1);
    assert_eq!(only_site(&merger.into_profile(), ValueKind::IndirectCallTarget), [(0, 10), (0, 7), (0, 4)]);
}

#[test]
fn sites_are_cut_to_255_values_after_every_record() {
    let many: Vec<(u64, u64)> = (0..300).map(|v| (v, 1000 - v)).collect();
    let mut merger = merger(22);
    add(&mut merger, "f", &with_sites(ValueKind::MemOpSize, &[&many]), 1);
    // The first record cut value 299, so its count starts again.
    add(&mut merger, "f", &with_sites(ValueKind::MemOpSize, &[&[(299, 2000)]]), 1);
    let kept = only_site(&merger.into_profile(), ValueKind::MemOpSize);
    assert_eq!((kept.len(), kept[0], kept[254]), (255, (299, 2000), (253, 747)));
}

#[test]
fn another_number_of_sites_leaves_that_kind_alone() {
    let mut merger = merger(22);
    add(&mut merger, "f", &with_sites(ValueKind::MemOpSize, &[&[(1, 1)], &[]]), 1);
    let outcome = add(&mut merger, "f", &with_sites(ValueKind::MemOpSize, &[&[(1, 1)]]), 1);
    assert_eq!(outcome.error, Some(SoftError::ValueSiteCountMismatch));
    let profile = merger.into_profile();
    assert_eq!(only_site(&profile, ValueKind::MemOpSize), [(1, 1)]);
    assert_eq!(counters(&profile, "f"), [2]);
}

fn traces(numbers: std::ops::Range<u64>) -> TemporalProfile {
    let traces: Vec<TemporalTrace> =
        numbers.clone().map(|n| TemporalTrace { weight: 1, functions: vec![n, n + 1, n + 2] }).collect();
    TemporalProfile { stream_size: traces.len() as u64, traces }
}

#[test]
fn traces_are_cut_and_kept_in_order_while_they_fit() {
    let mut merger = Merger::new(MergeOptions { max_trace_length: 2, ..MergeOptions::default() });
    merger.add_traces(traces(0..3));
    merger.add_traces(traces(7..8));
    let kept = merger.into_profile().temporal;
    assert_eq!(kept.stream_size, 4);
    assert!(kept.traces.iter().map(|t| t.functions.clone()).eq([[0, 1], [1, 2], [2, 3], [7, 8]]));
}

#[test]
fn an_input_without_traces_is_skipped() {
    for release in [19, 22] {
        let mut merger = merger(release);
        merger.add_traces(traces(0..3));
        merger.add_traces(TemporalProfile { stream_size: 1000, traces: Vec::new() });
        let kept = merger.into_profile().temporal;
        assert_eq!((kept.traces.len(), kept.stream_size), (3, 3), "release {release}");
    }
}

#[test]
fn an_unlimited_stream_size_still_ends() {
    // Release 19 swaps the sides if the other one overflows, and keeps all of its traces.
    for (release, kept) in [(19, 4), (22, 1)] {
        let options = MergeOptions { release: Release(release), trace_reservoir_size: 1, ..MergeOptions::default() };
        let mut merger = Merger::new(options);
        merger.add_traces(traces(0..1));
        merger.add_traces(TemporalProfile { stream_size: u64::MAX, ..traces(5..9) });
        assert_eq!(merger.into_profile().temporal.traces.len(), kept, "release {release}");
    }
}

#[test]
fn a_long_first_stream_stays_uncut_up_to_release_18() {
    for (release, kept) in [(17, 3), (18, 3), (19, 1), (20, 1), (21, 1), (22, 1)] {
        let mut options = MergeOptions { release: Release(release), max_trace_length: 1, ..MergeOptions::default() };
        options.trace_reservoir_size = 2;
        let mut merger = Merger::new(options);
        merger.add_traces(TemporalProfile { stream_size: 3, ..traces(0..2) });
        assert_eq!(merger.into_profile().temporal.traces[0].functions.len(), kept, "release {release}");
    }
}

#[test]
fn short_streams_are_cut_in_every_release() {
    for release in 17..=22 {
        let mut merger =
            Merger::new(MergeOptions { release: Release(release), max_trace_length: 2, ..MergeOptions::default() });
        merger.add_traces(traces(0..2));
        merger.add_traces(TemporalProfile {
            stream_size: 1,
            traces: vec![TemporalTrace { weight: 1, functions: Vec::new() }],
        });
        let kept = merger.into_profile().temporal;
        assert_eq!((kept.stream_size, kept.traces[0].functions.as_slice()), (2, &[0, 1][..]), "release {release}");
    }
}

#[test]
fn repeated_sizes_are_found() {
    let mut merger = merger(22);
    add(&mut merger, "f", &with_sites(ValueKind::MemOpSize, &[&[(1, 1)], &[(4, 1), (2, 1), (4, 2)]]), 1);
    let profile = merger.into_profile();
    let found = |release| repeated_sizes(&profile, &MergeRules::of(Release(release)), |_| true).count();
    assert_eq!((found(22), found(14)), (1, 0));
}

#[test]
fn the_section_of_one_input_alone_is_kept_as_it_is() {
    let section = MemProfSection { bytes: vec![0; 8], offset: 64, indexed_version: 13 };
    let add = |merger: &mut Merger| {
        merger.add_memory(MemoryProfile::default(), Source::Indexed(section.clone()), 1).unwrap();
    };
    for (inputs, kept) in [(1, Some(section.clone())), (2, None)] {
        let mut merger = merger(22);
        (0..inputs).for_each(|_| add(&mut merger));
        assert_eq!(merger.into_profile().memprof, kept, "{inputs} inputs");
    }
}

// The exceptions that docs/internals/merge-laws.md lists.

/// Returns the merge of `[a, b, c]`, and the merge of `a` with the merged profile of `[b, c]`.
fn grouped(inputs: [(&FunctionRecord, u64); 3]) -> [Profile; 2] {
    let run = |inputs: &[(&FunctionRecord, u64)]| {
        let mut merger = merger(22);
        for (record, weight) in inputs {
            add(&mut merger, "f", record, *weight);
        }
        merger
    };
    let mut first = run(&inputs[..1]);
    first.add(&run(&inputs[1..]).into_profile(), 1).unwrap();
    [run(&inputs).into_profile(), first.into_profile()]
}

#[test]
fn the_first_of_two_mismatching_records_wins() {
    let (one, two) = (FunctionRecord::new(1, vec![1]), FunctionRecord::new(1, vec![1, 2]));
    let [whole, parts] = grouped([(&one, 1), (&two, 1), (&one, 1)]);
    assert_eq!((counters(&whole, "f"), counters(&parts, "f")), (vec![2], vec![1]));
}

#[test]
fn weighted_values_depend_on_earlier_inputs() {
    let (old, new) = (with_sites(ValueKind::MemOpSize, &[&[(1, 1)]]), with_sites(ValueKind::MemOpSize, &[&[(2, 1)]]));
    let [whole, parts] = grouped([(&old, 1), (&new, 5), (&new, 5)]);
    assert_eq!(only_site(&whole, ValueKind::MemOpSize), [(2, 6), (1, 1)]);
    assert_eq!(only_site(&parts, ValueKind::MemOpSize), [(2, 10), (1, 1)]);
}

#[test]
fn a_cut_value_starts_again() {
    let many: Vec<(u64, u64)> = (0..255).map(|v| (v, 10)).collect();
    let (many, more) = (with_sites(ValueKind::MemOpSize, &[&many]), with_sites(ValueKind::MemOpSize, &[&[(900, 6)]]));
    let [whole, parts] = grouped([(&many, 1), (&more, 1), (&more, 1)]);
    let count = |profile| only_site(profile, ValueKind::MemOpSize).iter().find(|v| v.0 == 900).map(|v| v.1);
    assert_eq!((count(&whole), count(&parts)), (None, Some(12)));
}

#[test]
fn equal_values_depend_on_grouping() {
    let site = |values: &[(u64, u64)]| with_sites(ValueKind::IndirectCallTarget, &[values]);
    let (a, b, c) = (site(&[(0, 10), (0, 1)]), site(&[(0, 1), (0, 4)]), site(&[(0, 3), (0, 5)]));
    let [whole, parts] = grouped([(&a, 1), (&b, 1), (&c, 1)]);
    assert_eq!(only_site(&whole, ValueKind::IndirectCallTarget), [(0, 14), (0, 10)]);
    assert_eq!(only_site(&parts, ValueKind::IndirectCallTarget), [(0, 17), (0, 7)]);
}

#[test]
fn traces_beyond_the_reservoir_depend_on_order() {
    let run = |ranges: [std::ops::Range<u64>; 2]| {
        let mut merger = Merger::new(MergeOptions { trace_reservoir_size: 3, ..MergeOptions::default() });
        ranges.into_iter().for_each(|range| merger.add_traces(traces(range)));
        merger
    };
    let functions =
        |merger: Merger| -> Vec<u64> { merger.into_profile().temporal.traces.iter().map(|t| t.functions[0]).collect() };
    assert_ne!(functions(run([0..3, 10..13])), functions(run([10..13, 0..3])));
}

#[test]
fn counts_do_not_depend_on_the_order_of_inputs() {
    let records = [
        with_sites(ValueKind::MemOpSize, &[&[(1, 1), (5, 7)], &[(3, 9)]]),
        with_sites(ValueKind::MemOpSize, &[&[(5, 2)], &[(4, 1), (3, 1)]]),
        with_sites(ValueKind::MemOpSize, &[&[], &[(9, 20)]]),
    ];
    let merged = |order: [usize; 3]| {
        let mut merger = merger(22);
        for at in order {
            add(&mut merger, "f", &records[at], 1);
        }
        merger.into_profile().functions.iter().next().unwrap().records().next().unwrap().to_record()
    };
    let first = merged([0, 1, 2]);
    assert_eq!(first.counters, [3]);
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        assert_eq!(merged(order), first, "{order:?}");
    }
}
