//! Profiles built field by field.

use crate::call_chains::StackTable;
use crate::error::ErrorKind;
use crate::limits::Limits;
use crate::stacks::collapsed::{CollapsedOptions, TextOptions, read_stacks, write_collapsed};
use crate::stacks::pprof::write::Message;
use crate::stacks::pprof::*;
use proptest::prelude::*;

fn message(fields: &[(u64, Part)]) -> Message {
    let mut out = Message::default();
    for (field, part) in fields {
        match part {
            N(number) => out.number(*field, *number),
            T(text) => out.bytes(*field, text.as_bytes()),
            M(parts) => out.message(*field, &message(parts)),
            P(numbers) => out.packed(*field, numbers.iter().copied()),
        }
    }
    out
}

/// Number, text, message, packed numbers.
#[derive(Clone)]
enum Part {
    N(u64),
    T(&'static str),
    M(Vec<(u64, Part)>),
    P(Vec<u64>),
}
use Part::{M, N, P, T};

const TEXTS: [&str; 8] = ["", "samples", "count", "main.main", "main.loop", "main.go", "cpu", "nanoseconds"];

/// `main.main` calls `main.loop`, which is inlined and leaf of the one sample.
fn fields() -> Vec<(u64, Part)> {
    let mut fields = vec![
        (1, M(vec![(1, N(1)), (2, N(2))])),
        (1, M(vec![(1, N(6)), (2, N(7))])),
        (2, M(vec![(1, P(vec![2, 1])), (2, P(vec![3, 30])), (3, M(vec![(1, N(6)), (3, N(9)), (4, N(7))]))])),
        (3, M(vec![(1, N(1)), (2, N(0x1000)), (3, N(0x2000)), (5, N(5)), (7, N(1))])),
        (4, M(vec![(1, N(1)), (2, N(1)), (3, N(0x1010)), (4, M(vec![(1, N(1)), (2, N(12))]))])),
        (
            4,
            M(vec![
                (1, N(2)),
                (2, N(1)),
                (3, N(0x1020)),
                (4, M(vec![(1, N(2)), (2, N(22)), (3, N(4))])),
                (4, M(vec![(1, N(1)), (2, N(13))])),
            ]),
        ),
        (5, M(vec![(1, N(1)), (2, N(3)), (3, N(3)), (4, N(5)), (5, N(10))])),
        (5, M(vec![(1, N(2)), (2, N(4)), (3, N(4)), (4, N(5)), (5, N(20))])),
    ];
    fields.extend(TEXTS.iter().map(|text| (6, T(text))));
    fields.extend([
        (9, N(1_000)),
        (10, N(2_000)),
        (11, M(vec![(1, N(6)), (2, N(7))])),
        (12, N(10)),
        (13, P(vec![5, 4])),
    ]);
    fields
}

fn bytes(fields: &[(u64, Part)]) -> Vec<u8> {
    message(fields).finish()
}

fn profile() -> Profile {
    read(&bytes(&fields()), &Limits::default()).unwrap().0
}

/// The profile with field `at` replaced.
fn with(at: usize, part: Part) -> Vec<u8> {
    let mut fields = fields();
    fields[at].1 = part;
    bytes(&fields)
}

fn merged(profiles: &[(&Profile, u64)], options: MergeOptions) -> (Profile, MergeReport) {
    let mut merger = Merger::new(options);
    profiles.iter().for_each(|(profile, weight)| merger.add(profile, *weight).unwrap());
    merger.finish_with_report()
}

fn table(profile: &Profile) -> StackTable {
    let mut table = StackTable::new();
    add_to_table(profile, &ValueChoice::default(), &mut table).unwrap();
    table
}

fn collapsed(table: &StackTable) -> String {
    let mut options = CollapsedOptions::default();
    (options.descriptors, options.bcis, options.threads) = (true, true, true);
    write_collapsed(table, &options).0
}

#[test]
fn everything_is_read_and_written_as_it_was() {
    let profile = profile();
    assert_eq!(profile.value_names(), ["samples/count", "cpu/nanoseconds"]);
    let sample = profile.samples.get(0);
    assert_eq!((sample.locations, sample.values), (&[1, 0][..], &[3, 30][..]));
    assert_eq!((sample.labels[0].number, profile.text(sample.labels[0].unit)), (9, "nanoseconds".into()));
    let inlined = profile.locations[1].lines[0];
    assert_eq!((inlined.function, inlined.line, inlined.column), (Some(1), 22, 4));
    assert_eq!(profile.functions[1].start_line, 20);
    assert_eq!(profile.mappings[0].resolved, [true, false, false, false]);
    assert_eq!((profile.time_nanos, profile.duration_nanos, profile.period), (1_000, 2_000, 10));
    assert_eq!(profile.comments.iter().map(|id| profile.text(*id)).collect::<Vec<_>>(), ["main.go", "main.loop"]);
    assert_eq!(write(&profile).unwrap(), bytes(&fields()));
}

#[test]
fn ids_may_come_in_any_order_and_numbers_unpacked() {
    let mut fields = fields();
    fields[4].1 = M(vec![(1, N(700)), (3, N(0x10)), (4, M(vec![(1, N(1))]))]);
    fields[2].1 = M(vec![(1, N(2)), (1, N(700)), (2, N(3)), (2, N(30))]);
    fields.swap(4, 5);
    let (profile, _) = read(&bytes(&fields), &Limits::default()).unwrap();
    assert_eq!(profile.samples.get(0).locations, [0, 1]);
}

#[test]
fn each_fault_is_named_with_its_place() {
    let sample = |parts: Vec<(u64, Part)>| with(2, M(parts));
    let long = |field: u8| [&bytes(&fields())[..], &[field << 3 | 2, 0xff, 0xff, 0x03, 1]].concat();
    let mut first_text = fields();
    first_text[8].1 = T("x");
    for (data, expected) in [
        (vec![], "pprof profile: the file is empty"),
        (long(2), "truncated: content needs 65535 bytes, 1 left"),
        (long(6), "truncated: content needs 65535 bytes, 1 left"),
        ([&bytes(&fields())[..], &[0x80]].concat(), "truncated: tag needs 1 bytes, 0 left"),
        ([&bytes(&fields())[..], &[0x0b]].concat(), "wire type 3, expected 0, 1, 2 or 5"),
        ([&bytes(&fields())[..], &[0x02, 0]].concat(), "field number 0"),
        ([&bytes(&fields())[..], &[0x09, 1]].concat(), "truncated: fixed 64-bit number needs 8 bytes, 1 left"),
        ([&bytes(&fields())[..], &[0x08, 1]].concat(), "field 1 has a number, expected bytes"),
        ([&bytes(&fields())[..], &[0x4a, 0]].concat(), "field 9 has bytes, expected a number"),
        ([&[0x4d, 0, 0, 0, 0], &bytes(&fields())[..]].concat(), "field 9 has a fixed number, expected a number"),
        (bytes(&first_text), "section string table, byte 0x"),
        (with(0, M(vec![(1, N(8))])), "section sample type, byte 0x2: malformed: string 8 does not exist, there are 8"),
        (with(3, M(vec![(2, N(1))])), "a mapping has the id 0, which is reserved"),
        (with(7, M(vec![(1, N(1))])), "two functions have the id 1"),
        (with(5, M(vec![(1, N(1))])), "two locations have the id 1"),
        (
            with(4, M(vec![(1, N(1)), (2, N(2))])),
            "section location, byte 0x30: malformed: mapping 2 does not exist, there are 1",
        ),
        (
            with(4, M(vec![(1, N(1)), (4, M(vec![(1, N(3))]))])),
            "section line, byte 0x32: malformed: function 3 does not exist, there are 2",
        ),
        (
            sample(vec![(1, P(vec![3])), (2, P(vec![1, 1]))]),
            "section sample, byte 0xe: malformed: location 3 does not exist, there are 2",
        ),
        (sample(vec![(1, N(u64::MAX)), (2, P(vec![1, 1]))]), "location 18446744073709551615 does not exist"),
        (sample(vec![(2, P(vec![1]))]), "a sample has 1 values, expected 2"),
        (sample(vec![]), "a sample has 0 values, expected 2"),
        (sample(vec![(3, M(vec![(1, N(99))]))]), "section label, byte 0x10: malformed: string 99 does not exist"),
    ] {
        let error = read(&data, &Limits::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\nexpected {expected}");
        assert!(error.starts_with("pprof profile"), "{error}");
    }
}

#[test]
fn a_sample_without_any_type_of_value_is_malformed() {
    let fields: Vec<_> = fields().into_iter().filter(|(field, _)| *field != 1).collect();
    let error = read(&bytes(&fields), &Limits::default()).unwrap_err().to_string();
    assert!(error.contains("a sample has 2 values, expected 0"), "{error}");
}

#[test]
fn limits_bound_names_and_depths() {
    let narrow = Limits { name_bytes: 4, ..Limits::default() };
    let shallow = Limits { context_depth: 1, ..Limits::default() };
    for (limits, expected) in
        [(narrow, "length of a string is 7, the limit is 4"), (shallow, "depth of a stack is 2, the limit is 1")]
    {
        let error = read(&bytes(&fields()), &limits).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::LimitExceeded { .. }));
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn fields_that_are_not_known_are_counted() {
    let mut fields = fields();
    fields.push((99, N(1)));
    fields[6].1 = M(vec![(1, N(1)), (2, N(3)), (40, T("new"))]);
    let (_, warnings) = read(&bytes(&fields), &Limits::default()).unwrap();
    assert!(warnings[0].message.starts_with("dropped 2 unknown fields, the first at byte 0x"), "{warnings:?}");
}

#[test]
fn equal_stacks_add_up_with_their_weights() {
    let profile = profile();
    let (sum, report) = merged(&[(&profile, 1), (&profile, 4)], MergeOptions::default());
    assert_eq!((sum.samples.len(), sum.samples.get(0).values), (1, &[15, 150][..]));
    assert_eq!((sum.duration_nanos, sum.time_nanos, sum.period), (10_000, 1_000, 10));
    assert_eq!(sum.functions.iter().map(|of| of.start_line).collect::<Vec<_>>(), [20, 10]);
    assert_eq!(sum.comments.len(), 2);
    assert_eq!(report, MergeReport::default());
    let alone = merged(&[(&profile, 1)], MergeOptions::default()).0;
    assert_eq!(alone, merged(&[(&alone, 1)], MergeOptions::default()).0);
}

#[test]
fn sums_stop_instead_of_wrapping() {
    let profile = profile();
    let (sum, report) = merged(&[(&profile, u64::MAX), (&profile, 1)], MergeOptions::default());
    assert_eq!(sum.samples.get(0).values, [i64::MAX, i64::MAX]);
    assert_eq!(report.saturated, 4);
    assert_eq!(report.warnings(), ["4 sums limited to 2^63-1"]);
}

#[test]
fn programs_that_are_loaded_elsewhere_have_the_same_locations() {
    let mut moved = profile();
    moved.mappings[0].start += 0x7000;
    moved.mappings[0].limit += 0x7000;
    moved.locations.iter_mut().for_each(|location| location.address += 0x7000);
    let (sum, _) = merged(&[(&profile(), 1), (&moved, 1)], MergeOptions::default());
    assert_eq!((sum.samples.len(), sum.mappings.len(), sum.locations.len()), (1, 1, 2));
    assert_eq!(sum.locations[0].address, 0x1020);
}

#[test]
fn other_builds_join_without_addresses_and_requests_without_labels() {
    let mut other = profile();
    other.mappings[0].build_id = StringId(4);
    other.locations[0].address += 4;
    let mut unlabelled = profile();
    unlabelled.samples = Samples::new(2);
    unlabelled.samples.push(&[1, 0], &[1, 10], &[]);
    let profiles = [(&profile(), 1), (&other, 1), (&unlabelled, 1)];
    let mut options = MergeOptions::default();
    assert_eq!(merged(&profiles, options).0.samples.len(), 3);
    options.drop_addresses = true;
    let (sum, _) = merged(&profiles, options);
    assert_eq!((sum.samples.len(), sum.mappings.len()), (2, 0));
    options.drop_labels = true;
    let (sum, _) = merged(&profiles, options);
    assert_eq!((sum.samples.len(), sum.samples.get(0).values), (1, &[7, 70][..]));
    assert_eq!(judge_for_go(&sum), (GoVerdict::OptionValue, vec![]));
}

#[test]
fn only_values_that_all_have_are_kept() {
    let mut samples_only = profile();
    samples_only.sample_types.truncate(1);
    samples_only.samples = Samples::new(1);
    samples_only.samples.push(&[0], &[5], &[]);
    samples_only.period = 99;
    for order in [[&profile(), &samples_only], [&samples_only, &profile()]] {
        let (sum, report) = merged(&[(order[0], 1), (order[1], 1)], MergeOptions::default());
        assert_eq!(sum.value_names(), ["samples/count"]);
        let mut values: Vec<&[i64]> = sum.samples.iter().map(|sample| sample.values).collect();
        values.sort();
        assert_eq!(values, [&[3][..], &[5][..]]);
        assert_eq!(report.dropped_types, ["cpu/nanoseconds"]);
        assert!(report.periods_differ && report.warnings().len() == 2);
    }
    let mut heap = samples_only.clone();
    heap.sample_types[0].kind = StringId(5);
    let mut merger = Merger::new(MergeOptions::default());
    merger.add(&profile(), 1).unwrap();
    let error = merger.add(&heap, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the profiles have no sample type in common: samples/count, cpu/nanoseconds and main.go/count"
    );
}

fn with_stacks(values: &[i64]) -> Profile {
    let mut profile = profile();
    profile.samples = Samples::new(2);
    for (at, value) in values.iter().enumerate() {
        profile.locations.push(Location { address: at as u64 + 1, ..profile.locations[0].clone() });
        profile.samples.push(&[at as u32 + 2, 0], &[*value, value * 10], &[]);
    }
    profile
}

#[test]
fn the_heaviest_stacks_stay_in_their_order() {
    let profile = with_stacks(&[5, 1, 9, 5, 2]);
    let values = |kept: &Profile| kept.samples.iter().map(|sample| sample.values[0]).collect::<Vec<_>>();
    assert_eq!(values(&heaviest(&profile, 2).unwrap()), [5, 9]);
    assert_eq!(values(&heaviest(&profile, 3).unwrap()), [5, 9, 5]);
    assert_eq!(heaviest(&profile, 1).unwrap().locations.len(), 2);
    assert_eq!(heaviest(&profile, 99).unwrap().samples.len(), 5);
}

#[test]
fn a_size_keeps_as_many_stacks_as_fit() {
    let profile = with_stacks(&(1..200).collect::<Vec<i64>>());
    let whole = write(&heaviest(&profile, 1_000).unwrap()).unwrap().len();
    let (kept, file) = trim_to_bytes(&profile, whole / 2, Ok).unwrap();
    let stacks = kept.samples.len();
    assert!(file.len() <= whole / 2 && stacks > 50, "{stacks}");
    assert!(write(&heaviest(&profile, stacks + 1).unwrap()).unwrap().len() > whole / 2);
    assert_eq!(trim_to_bytes(&profile, whole, Ok).unwrap().0.samples.len(), 199);
    let error = trim_to_bytes(&profile, 3, Ok).unwrap_err().to_string();
    assert_eq!(error, "a profile without stacks is larger than 3 bytes");
}

#[test]
fn violated_rules_of_go_are_distinguished() {
    let codes = |profile: &Profile| {
        let (verdict, findings) = judge_for_go(profile);
        (verdict, findings.into_iter().map(|finding| finding.code).collect::<Vec<_>>())
    };
    assert_eq!(codes(&profile()), (GoVerdict::OptionValue, vec![]));
    let mut changed = profile();
    changed.samples = Samples::new(2);
    assert_eq!(codes(&changed), (GoVerdict::Ignores, vec!["go-nothing"]));
    changed.samples.push(&[0], &[0, 0], &[]);
    assert_eq!(codes(&changed), (GoVerdict::Ignores, vec!["go-nothing"]));
    changed.samples.push(&[0], &[1, 1], &[]);
    assert_eq!(codes(&changed), (GoVerdict::Ignores, vec!["go-nothing"]));
    // Only the last call of a stack counts, and not if a function calls itself from one place.
    changed.samples.push(&[0, 0, 1], &[1, 1], &[]);
    assert_eq!(codes(&changed), (GoVerdict::Ignores, vec!["go-nothing"]));
    changed.samples.push(&[0, 1], &[1, 1], &[]);
    assert_eq!(codes(&changed), (GoVerdict::OptionValue, vec![]));
    changed = profile();
    changed.sample_types[0].kind = StringId(5);
    assert_eq!(codes(&changed), (GoVerdict::OptionValue, vec![]));
    changed.sample_types[1].unit = StringId(2);
    assert_eq!(codes(&changed), (GoVerdict::Refuses, vec!["go-value"]));
    changed = profile();
    changed.functions[0].start_line = 0;
    assert_eq!(codes(&changed), (GoVerdict::OptionValue, vec!["go-start-line-missing"]));
    changed.functions[1].start_line = 0;
    assert_eq!(codes(&changed), (GoVerdict::Refuses, vec!["go-start-line"]));
    changed = profile();
    changed.locations[0].lines = Box::new([]);
    assert_eq!(codes(&changed), (GoVerdict::OptionValue, vec!["go-names"]));
    changed.samples.push(&[1, 0], &[-1, 0], &[]);
    assert_eq!(codes(&changed), (GoVerdict::OptionValue, vec!["go-names", "go-negative"]));
}

#[test]
fn stacks_have_inlined_frames_one_by_one() {
    let table = table(&profile());
    assert_eq!(collapsed(&table), "main.main;main.main;main.loop 3\n");
    assert_eq!(table.observed.sources, ["pprof profile (samples/count)"]);
    let mut by_time = StackTable::new();
    add_to_table(&profile(), &ValueChoice::named("cpu"), &mut by_time).unwrap();
    assert_eq!(by_time.total_hits(), 30);
    let error = add_to_table(&profile(), &ValueChoice::named("heap"), &mut by_time).unwrap_err();
    assert_eq!(error.to_string(), "the profile has no sample type heap");
    assert_eq!(error.hint(), Some(&"choose one of samples/count, cpu/nanoseconds".into()));
}

#[test]
fn dropped_frames_take_their_callees_with_them() {
    let mut profile = profile();
    profile.locations[1].lines = profile.locations[1].lines[..1].into();
    profile.drop_frames = StringId(4);
    assert_eq!(collapsed(&table(&profile)), "main.main 3\n");
    profile.keep_frames = StringId(4);
    assert_eq!(collapsed(&table(&profile)), "main.main;main.loop 3\n");
    // The expression covers all there is: nothing is left out.
    (profile.drop_frames, profile.keep_frames) = (StringId(3), StringId(0));
    assert_eq!(collapsed(&table(&profile)), "main.main;main.loop 3\n");
    let mut strings = profile.strings.clone();
    profile.drop_frames = strings.push(b"(").unwrap();
    profile.strings = strings;
    let error = add_to_table(&profile, &ValueChoice::default(), &mut StackTable::new()).unwrap_err().to_string();
    assert_eq!(error, "pprof profile: malformed: drop_frames is not a regular expression: (");
}

#[test]
fn negative_samples_are_dropped() {
    let mut profile = profile();
    profile.samples.push(&[0], &[-4, -40], &[]);
    let mut table = StackTable::new();
    let warnings = add_to_table(&profile, &ValueChoice::default(), &mut table).unwrap();
    assert_eq!(table.total_hits(), 3);
    assert!(warnings[0].message.starts_with("1 sample with a negative value"), "{warnings:?}");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[test]
fn data_that_stacks_do_not_have_is_counted() {
    let table = table(&profile());
    let left_out: Vec<(&str, u64)> = table.observed.left_out.iter().map(|(what, count)| (&**what, *count)).collect();
    let one = ["further value", "label", "mapping", "source file"].map(|what| (what, 1));
    let mut expected = [&one[..], &[("address", 2), ("comment", 2), ("start line", 2)]].concat();
    expected.sort_unstable();
    assert_eq!(left_out, expected);
}

#[test]
fn samples_without_a_stack_are_counted_by_their_hits() {
    let mut profile = profile();
    profile.samples.push(&[], &[18, 180], &[]);
    assert_eq!(table(&profile).observed.samples_without_stack, 18);
    let mut time = StackTable::new();
    add_to_table(&profile, &ValueChoice::named("cpu"), &mut time).unwrap();
    assert_eq!(time.observed.samples_without_stack, 1);
}

#[test]
fn frames_without_names_are_called_by_their_place() {
    let mut profile = profile();
    profile.locations[0].lines = Box::new([]);
    profile.samples.push(&[0], &[1, 1], &[]);
    assert!(collapsed(&table(&profile)).contains("main.go+0x10 1\n"));
    profile.locations[0].mapping = None;
    assert!(collapsed(&table(&profile)).contains("0x1010 1\n"));
}

#[test]
fn kinds_are_lost_only_if_the_source_marks_frames() {
    for (text, lost) in [
        ("main;f 10", 0),
        ("main;f_[k] 10", 1),
        ("app/Main.run_[j];app/Main.loop_[0] 10", 2),
        ("app/Main.run;memcpy_[i] 10", 0),
        ("main->f->g 10", 0),
        ("app/Main.run@3;memcpy_[i] 10", 1),
    ] {
        let mut table_of_text = StackTable::new();
        read_stacks(text.as_bytes(), &TextOptions::default(), &Limits::default(), &mut table_of_text).unwrap();
        let (profile, losses) = from_table(&table_of_text);
        assert_eq!(losses.kinds, lost, "{text}");
        if lost == 0 && text.contains("_[i]") {
            let lines =
                profile.locations[0].lines.iter().map(|line| profile.functions[line.function.unwrap() as usize]);
            let names: Vec<_> = lines.map(|function| profile.text(function.name).into_owned()).collect();
            assert_eq!(names, ["memcpy", "app.Main.run"], "an inlined function is a line of its caller");
            assert_eq!(collapsed(&table(&profile)), collapsed(&table_of_text));
        }
    }
}

#[test]
fn java_stacks_survive_the_way_there_and_back() {
    let text = "[main tid=1];app/Main.main([Ljava/lang/String|)V@0;app/Main.loop(I)V@12;memcpy 2\n[main tid=1];app/Main.main([Ljava/lang/String|)V@3 5\n[other tid=2];p/Outer$$Lambda.0x7f.run()V@-5 1\n";
    let mut table_of_text = StackTable::new();
    read_stacks(text.as_bytes(), &TextOptions::default(), &Limits::default(), &mut table_of_text).unwrap();
    let (profile, losses) = from_table(&table_of_text);
    // The text marks no frame.
    assert_eq!((losses.kinds, losses.words().len()), (0, 0));
    assert_eq!(profile.text(profile.functions[0].name), "memcpy");
    assert_eq!(profile.text(profile.functions[1].name), "app.Main.loop(int)");
    let (again, _) = read(&write(&profile).unwrap(), &Limits::default()).unwrap();
    assert_eq!(again, profile);
    assert_eq!(collapsed(&table(&again)), collapsed(&table_of_text));
    assert_eq!(judge_for_go(&profile).0, GoVerdict::Refuses);
}

prop_compose! {
    fn any_profile()(
        texts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..8),
        functions in prop::collection::vec((any::<u32>(), any::<u32>(), any::<i64>()), 1..5),
        locations in prop::collection::vec((any::<bool>(), any::<u64>(), prop::collection::vec((any::<u32>(), any::<i64>(), any::<i64>()), 0..3)), 1..6),
        samples in prop::collection::vec((prop::collection::vec(any::<u32>(), 0..5), any::<[i64; 2]>(), prop::collection::vec((any::<u32>(), any::<i64>()), 0..3)), 0..6),
        times in any::<[i64; 3]>(),
    ) -> Profile {
        let mut profile = Profile::default();
        texts.iter().for_each(|text| { profile.strings.push(text); });
        let known = profile.strings.len() as u32;
        let string = |at: u32| StringId(at % known);
        profile.sample_types = vec![ValueType { kind: string(1), unit: string(2) }, ValueType { kind: string(3), unit: string(0) }];
        profile.samples = Samples::new(2);
        profile.mappings = vec![Mapping { start: times[0].cast_unsigned(), file: string(1), ..Mapping::default() }];
        profile.functions = functions.iter().map(|(name, file, start_line)| Function { name: string(*name), file: string(*file), start_line: *start_line, ..Function::default() }).collect();
        let count = profile.functions.len() as u32;
        profile.locations = locations.into_iter().map(|(mapped, address, lines)| Location {
            mapping: mapped.then_some(0),
            address,
            lines: lines.into_iter().map(|(function, line, column)| Line { function: (function > 9).then_some(function % count), line, column }).collect(),
            is_folded: !mapped,
        }).collect();
        let count = profile.locations.len() as u32;
        for (stack, values, labels) in samples {
            let stack: Vec<u32> = stack.iter().map(|at| at % count).collect();
            let labels: Vec<Label> = labels.into_iter().map(|(key, number)| Label { key: string(key), number, ..Label::default() }).collect();
            profile.samples.push(&stack, &values, &labels);
        }
        (profile.time_nanos, profile.duration_nanos, profile.period) = (times[0], times[1], times[2]);
        profile
    }
}

proptest! {
    #[test]
    fn written_profiles_read_back_equal(profile in any_profile()) {
        let bytes = write(&profile).unwrap();
        let (again, warnings) = read(&bytes, &Limits::default()).unwrap();
        prop_assert!(warnings.is_empty());
        prop_assert_eq!(write(&again).unwrap(), bytes);
        prop_assert_eq!(again, profile);
    }

    #[test]
    fn a_merge_adds_up_whatever_the_order(first in any_profile(), second in any_profile()) {
        let (first, second) = (with_common_values(first), with_common_values(second));
        let total = |profile: &Profile| profile.samples.iter().map(|sample| i128::from(sample.values[0])).sum::<i128>();
        let one = merged(&[(&first, 1), (&second, 1)], MergeOptions::default());
        let two = merged(&[(&second, 1), (&first, 1)], MergeOptions::default());
        prop_assert_eq!(one.0.samples.len(), two.0.samples.len());
        if one.1.saturated == 0 && two.1.saturated == 0 {
            prop_assert_eq!(total(&one.0), total(&first) + total(&second));
            prop_assert_eq!(total(&two.0), total(&first) + total(&second));
        }
    }

    #[test]
    fn random_bytes_do_not_panic(data in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..200, by: u8) {
        let _ = read(&data, &Limits::default());
        let mut damaged = bytes(&fields());
        let at = at % damaged.len();
        damaged[at] ^= by;
        if let Ok((profile, _)) = read(&damaged, &Limits::default()) {
            let _ = add_to_table(&profile, &ValueChoice::default(), &mut StackTable::new());
            let _ = merged(&[(&profile, 3)], MergeOptions::default());
            let _ = judge_for_go(&profile);
        }
    }
}

/// The profile with values of two names that all such profiles have.
fn with_common_values(mut profile: Profile) -> Profile {
    let kind = profile.strings.push(b"samples").unwrap();
    let unit = profile.strings.push(b"count").unwrap();
    let other = profile.strings.push(b"other").unwrap();
    profile.sample_types = vec![ValueType { kind, unit }, ValueType { kind: other, unit }];
    profile
}

#[test]
fn cancellation_ends_the_reading() {
    let cancel = crate::cancel::Cancel::default();
    cancel.cancel();
    let bytes = bytes(&fields());
    let read = read_until(&bytes, &Limits::default(), &cancel);
    assert!(matches!(read.unwrap_err().kind(), ErrorKind::Cancelled));
}

/// The profile with other strings at positions of [`TEXTS`].
fn with_texts(texts: &[(usize, &'static str)]) -> Profile {
    let mut fields = fields();
    let first = fields.iter().position(|(number, _)| *number == 6).unwrap();
    texts.iter().for_each(|(at, text)| fields[first + at].1 = T(text));
    read(&bytes(&fields), &Limits::default()).unwrap().0
}

#[test]
fn times_and_sizes_become_nanoseconds_and_bytes() {
    for (unit, name, scale) in [
        ("ns", "ns", 1),
        ("microseconds", "ns", 1_000),
        ("\u{b5}s", "ns", 1_000),
        ("milliseconds", "ns", 1_000_000),
        ("seconds", "ns", 1_000_000_000),
        ("kilobytes", "bytes", 1024),
        ("MB", "bytes", 1 << 20),
        ("count", "hits", 1),
    ] {
        let profile = with_texts(&[(7, unit)]);
        let mut table = StackTable::new();
        let warnings = add_to_table(&profile, &ValueChoice::named("cpu"), &mut table).unwrap();
        assert!(!warnings.iter().any(|warning| warning.message.contains("not known")), "{warnings:?}");
        assert_eq!((table.unit().unwrap().word(), table.total_hits()), (name, 30 * scale), "{unit}");
        let (sum, _) = merged(&[(&profile, 1), (&profile, 2)], MergeOptions::default());
        let written = if name == "ns" {
            "nanoseconds"
        } else if name == "bytes" {
            name
        } else {
            "count"
        };
        assert_eq!(sum.value_names(), ["samples/count", &format!("cpu/{written}")], "{unit}");
        assert_eq!(sum.samples.get(0).values, [9, 90 * scale as i64], "{unit}");
        assert_eq!(sum.period, 10 * scale as i64, "{unit}");
    }
    let profile = with_texts(&[(7, "fathoms")]);
    let warnings = add_to_table(&profile, &ValueChoice::named("cpu/fathoms"), &mut StackTable::new()).unwrap();
    assert_eq!(warnings[0].message, "the unit \"fathoms\" is not known, so its values count as hits");
}

#[test]
fn a_value_has_its_name_in_every_unit() {
    let profile = with_texts(&[(7, "milliseconds")]);
    for name in ["cpu", "cpu/milliseconds", "cpu/nanoseconds"] {
        let mut table = StackTable::new();
        add_to_table(&profile, &ValueChoice::named(name), &mut table).unwrap();
        assert_eq!(table.total_hits(), 30_000_000, "{name}");
    }
}

#[test]
fn the_advice_for_go_fits_the_values() {
    let hint = |profile: &Profile| judge_for_go(profile).1[0].hint;
    let mut sampled = with_texts(&[(7, "bytes")]);
    assert_eq!(sampled.value_names(), ["samples/count", "cpu/bytes"]);
    sampled.samples.keep_columns(&[1]);
    sampled.sample_types.remove(0);
    assert!(hint(&sampled).starts_with("record a CPU profile"));
    sampled.sample_types[0].kind = profile().sample_types[0].kind;
    assert_eq!(sampled.value_names(), ["samples/bytes"]);
    assert_eq!(hint(&sampled), "count the samples, not their values in another unit");
}

#[test]
fn samples_are_counted_before_time_in_any_order() {
    let mut profile = profile();
    let value = |profile: &Profile| profile.value_name(profile.sample_types[profile.main_value().unwrap()]);
    profile.sample_types.swap(0, 1);
    assert_eq!(value(&profile), "samples/count");
    assert_eq!(profile.value_for_go(), Some(0), "Go's compiler takes the first");
    profile.sample_types.swap(0, 1);
    profile.samples.keep_columns(&[1]);
    profile.sample_types.remove(0);
    assert_eq!(value(&profile), "cpu/nanoseconds");
}

#[test]
fn only_known_rates_of_counted_samples_differ() {
    let differ = |first: &Profile, second: &Profile| {
        let (_, report) = merged(&[(first, 1), (second, 1)], MergeOptions::default());
        report.periods_differ
    };
    let micros = Profile { period: 2, ..with_texts(&[(7, "microseconds")]) };
    let nanos = Profile { period: 2_000, ..profile() };
    assert!(!differ(&micros, &nanos) && !differ(&nanos, &micros));
    assert!(differ(&profile(), &nanos));
    let unknown = Profile { period: 0, period_type: None, ..profile() };
    assert!(!differ(&unknown, &nanos) && !differ(&nanos, &unknown));
    let mut time_only = profile();
    time_only.samples.keep_columns(&[1]);
    time_only.sample_types.remove(0);
    assert!(!differ(&time_only, &nanos) && !differ(&nanos, &time_only));
}

#[test]
fn the_default_value_is_one_of_the_values() {
    let mut samples_only = profile();
    samples_only.samples.keep_columns(&[0]);
    samples_only.sample_types.truncate(1);
    let by_time = Profile { default_sample_type: StringId(6), ..profile() };
    for profiles in [[&by_time, &samples_only], [&samples_only, &by_time]] {
        let (sum, _) = merged(&[(profiles[0], 1), (profiles[1], 1)], MergeOptions::default());
        assert_eq!(sum.text(sum.default_sample_type), "");
    }
    let (sum, _) = merged(&[(&by_time, 1), (&by_time, 1)], MergeOptions::default());
    assert_eq!(sum.text(sum.default_sample_type), "cpu");
}
