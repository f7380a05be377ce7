//! Laws of merging: every input counts, in any order and grouping.

use crate::files::{facts, file, folder, merged, options, stems, stored};
use profbridge::memprof::{Field, Hotness, MemoryProfile, MergeOptions, Merger, Source, guid, yaml};
use profbridge::{Compat, Limits};
use proptest::prelude::*;
use std::collections::HashSet;
use std::path::PathBuf;

/// A document: functions, each with allocations along stacks of a few frames.
fn document() -> impl Strategy<Value = String> {
    let stack = prop::collection::vec((0..3u8, 0..3u8), 0..4);
    let site = (stack, 1..9u64, 0..1000u64);
    let record = (0..4u8, prop::collection::vec(site, 0..4), prop::collection::vec((0..3u8, 0..3u8), 0..3));
    let data = prop::collection::vec((0..3u8, 1..9u64, 0..3u8), 0..4);
    (prop::collection::vec(record, 1..5), data).prop_map(|(records, data)| {
        let frame = |(function, line): &(u8, u8)| {
            format!("{{ Function: f{function}, LineOffset: {line}, Column: 1, IsInlineFrame: false }}")
        };
        let mut text = "HeapProfileRecords:\n".to_string();
        for (function, sites, calls) in records {
            text += &format!("- GUID: f{function}\n");
            if !sites.is_empty() {
                text += "  AllocSites:\n";
            }
            for (stack, count, size) in sites {
                let stack: Vec<String> = stack.iter().map(frame).collect();
                text += &format!("  - Callstack: [ {} ]\n", stack.join(", "));
                text += &format!("    MemInfoBlock: {{ AllocCount: {count}, TotalSize: {size}, MinSize: {size} }}\n");
            }
            if !calls.is_empty() {
                text += "  CallSites:\n";
            }
            for call in calls {
                text += &format!("  - Frames: [ {} ]\n    CalleeGuids: [ f{} ]\n", frame(&call), call.0);
            }
        }
        if !data.is_empty() {
            text += "DataAccessProfiles:\n  SampledRecords:\n";
        }
        let mut seen = HashSet::new();
        for (symbol, count, line) in data.into_iter().filter(|(symbol, ..)| seen.insert(*symbol)) {
            text += &format!("  - Symbol: s{symbol}\n    AccessCount: {count}\n");
            text += &format!("    Locations:\n    - FileName: a.c\n      Line: {line}\n");
        }
        text
    })
}

fn read(text: &str) -> MemoryProfile {
    yaml::read(text.as_bytes(), Compat::Profbridge, &Limits::default()).unwrap()
}

fn merger(texts: &[String]) -> Merger {
    let mut merger = Merger::new(MergeOptions::default());
    texts.iter().for_each(|text| merger.add_owned(read(text), Source::Yaml, 1));
    merger
}

fn sum(merger: Merger) -> Vec<String> {
    facts(&merger.into_merged().unwrap().profile)
}

fn total(profile: &MemoryProfile, field: Field) -> u64 {
    profile.alloc_sites().map(|site| site.info.value(field)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn order_and_grouping_do_not_matter(texts in prop::collection::vec(document(), 2..5), at in 0..5usize) {
        let whole = sum(merger(&texts));
        let mut reversed = texts.clone();
        reversed.reverse();
        prop_assert_eq!(&sum(merger(&reversed)), &whole);
        let (first, second) = texts.split_at(at.min(texts.len()));
        let mut grouped = Merger::new(MergeOptions::default());
        for part in [first, second] {
            let part = merger(part).into_merged().map(|sum| sum.profile).unwrap_or_default();
            grouped.add_owned(part, Source::Yaml, 1);
        }
        prop_assert_eq!(&sum(grouped), &whole);
    }

    #[test]
    fn nothing_is_lost(texts in prop::collection::vec(document(), 2..4)) {
        let sum = merger(&texts).into_merged().unwrap().profile;
        for field in [Field::AllocCount, Field::TotalSize] {
            let inputs: u64 = texts.iter().map(|text| total(&read(text), field)).sum();
            prop_assert_eq!(total(&sum, field), inputs);
        }
        // One entry per function and stack.
        for record in sum.records() {
            let mut stacks: Vec<_> = record.alloc_sites.iter().map(|site| site.stack).collect();
            stacks.sort();
            stacks.dedup();
            prop_assert_eq!(stacks.len(), record.alloc_sites.len());
        }
    }

    #[test]
    fn a_weight_equals_that_number_of_runs(text in document(), weight in 2..5u64) {
        let texts = vec![text; weight as usize];
        let mut weighted = Merger::new(MergeOptions::default());
        weighted.add_owned(read(&texts[0]), Source::Yaml, weight);
        // A second input, so that sites with the same stack are merged.
        weighted.add_owned(MemoryProfile::default(), Source::Yaml, 1);
        prop_assert_eq!(sum(weighted), sum(merger(&texts)));
    }
}

#[test]
fn every_kind_of_input_counts() {
    let stem = folder().join("clang-22-plain");
    let raw = file(&stem, "memprofraw");
    let [indexed, document] = [file(&stem, "v3.profdata"), file(&stem, "yaml")];
    let one = stored(&std::fs::read(&indexed).unwrap()).profile;
    let options = options(&stem, 22, None);
    let inputs: [&[PathBuf]; 5] = [
        &[raw.clone(), raw.clone()],
        &[raw.clone(), indexed.clone()],
        &[indexed.clone(), indexed.clone()],
        &[document.clone(), raw.clone()],
        &[document.clone(), indexed.clone()],
    ];
    let sums: Vec<MemoryProfile> = inputs.map(|inputs| stored(&merged(inputs, &options)).profile).into();
    for (sum, inputs) in sums.iter().zip(inputs) {
        assert_eq!(sum.alloc_sites().count(), one.alloc_sites().count(), "{inputs:?}");
        for field in [Field::AllocCount, Field::TotalSize, Field::TotalLifetimeAccessDensity] {
            assert_eq!(total(sum, field), 2 * total(&one, field), "{inputs:?}: {field}");
        }
        assert_eq!(facts(sum), facts(&sums[0]), "{inputs:?}");
    }
}

#[test]
fn instrumentation_records_stay_with_memory_profiles() {
    let folder = tempfile::tempdir().unwrap();
    let counts = folder.path().join("a.proftext");
    std::fs::write(&counts, ":ir\nmain\n1\n2\n3\n4\n").unwrap();
    let stem = crate::files::folder().join("clang-22-plain");
    let bytes = merged(&[counts, file(&stem, "memprofraw"), file(&stem, "v2.profdata")], &options(&stem, 22, None));
    let profile = profbridge::indexed::IndexedProfile::read(&bytes, Default::default()).unwrap();
    assert!(profile.get(b"main").unwrap().is_some());
    assert_eq!(stored(&bytes).profile.record(guid(b"main")).unwrap().alloc_sites.len(), 1);
}

#[test]
fn the_newest_version_is_taken_when_only_it_holds_everything() {
    let folder = tempfile::tempdir().unwrap();
    let document = folder.path().join("a.yaml");
    std::fs::write(
        &document,
        "---\nHeapProfileRecords:\n- GUID: f\n  CallSites:\n  - Frames: []\n    CalleeGuids: [ g ]\n",
    )
    .unwrap();
    let stem = crate::files::folder().join("clang-22-plain");
    let version = |release| stored(&merged(std::slice::from_ref(&document), &options(&stem, release, None))).version;
    assert_eq!((version(22), version(20), version(19), version(16)), (4, 3, 0, 0));
}

#[test]
fn a_single_section_is_carried_as_it_is_where_the_release_reads_it() {
    for stem in stems(22) {
        let golden = std::fs::read(file(&stem, "v2.profdata")).unwrap();
        assert!(merged(&[file(&stem, "v2.profdata")], &options(&stem, 22, None)) == golden);
        // Release 16 reads only version 0, so the section is converted.
        let old = stored(&merged(&[file(&stem, "v2.profdata")], &options(&stem, 16, None)));
        assert_eq!((old.version, facts(&old.profile)), (0, facts(&stored(&golden).profile)));
    }
}

#[test]
fn classes_follow_the_sum() {
    let text = |lifetime| {
        format!(
            "HeapProfileRecords:\n- GUID: f\n  AllocSites:\n  - Callstack: []\n    MemInfoBlock: {{ AllocCount: 1, TotalLifetime: {lifetime} }}\n"
        )
    };
    let class = |texts: &[String]| {
        let sum = merger(texts).into_merged().unwrap().profile;
        Hotness::of(&sum.alloc_sites().next().unwrap().info)
    };
    assert_eq!(class(&[text(300_000), text(300_000)]), Hotness::Cold);
    assert_eq!(class(&[text(300_000), text(0)]), Hotness::NotCold);
}
