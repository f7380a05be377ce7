//! Compares allocations, locks, waiting, reads and writes in recordings of real JDKs with `jfr print --json`.

use crate::recordings::{expected_frame, frame_line, testdata, unpack};
use profbridge::Limits;
use profbridge::call_chains::{Function, Sample, SampleSource, Selection, StackTable, Unit, Weight, notes};
use profbridge::stacks::jfr::{RecordingOptions, TimeBound, read_recording};
use std::collections::BTreeMap;

const RECORDINGS: [&str; 4] = ["waits-jdk11", "waits-jdk17", "waits-jdk21", "waits-jdk25"];

const EVENTS: [SampleSource; 9] = [
    SampleSource::Allocation,
    SampleSource::Tlab,
    SampleSource::Lock,
    SampleSource::Wait,
    SampleSource::Park,
    SampleSource::SocketRead,
    SampleSource::SocketWrite,
    SampleSource::FileRead,
    SampleSource::FileWrite,
];

/// The number of events, bytes and nanoseconds by event type, thread, truncation and stack.
type Sums = BTreeMap<String, [u64; 3]>;

fn read(name: &str, events: &[SampleSource], weight: Weight) -> StackTable {
    let mut options = RecordingOptions::default();
    (options.events, options.weight) = (events.to_vec(), weight);
    read_as(name, &options)
}

fn read_as(name: &str, options: &RecordingOptions) -> StackTable {
    let mut table = StackTable::new();
    let bytes = unpack(&format!("{name}.jfr.gz"));
    assert_eq!(read_recording(&bytes, options, &Limits::default(), &mut table).unwrap(), []);
    table
}

fn key(table: &StackTable, sample: &Sample) -> String {
    let thread = sample.key.thread.map_or("-", |thread| table.thread(thread));
    let frames: Vec<String> = table.frames(sample.key.stack).map(|frame| frame_line(table, frame)).collect();
    format!("{}\t{thread}\t{}\t{}", sample.key.source.word(), sample.key.truncated, frames.join(" "))
}

fn source_of(event: &str) -> SampleSource {
    match event.strip_prefix("jdk.").unwrap() {
        "ObjectAllocationSample" => SampleSource::Allocation,
        "ObjectAllocationInNewTLAB" | "ObjectAllocationOutsideTLAB" => SampleSource::Tlab,
        "JavaMonitorEnter" => SampleSource::Lock,
        "JavaMonitorWait" => SampleSource::Wait,
        "ThreadPark" => SampleSource::Park,
        "SocketRead" => SampleSource::SocketRead,
        "SocketWrite" => SampleSource::SocketWrite,
        "FileRead" => SampleSource::FileRead,
        "FileWrite" => SampleSource::FileWrite,
        other => panic!("unexpected event {other}"),
    }
}

fn expected(name: &str) -> Sums {
    let text = String::from_utf8(unpack(&format!("{name}.expected.gz"))).unwrap();
    let mut sums = Sums::new();
    for line in text.lines() {
        let mut fields = line.split('\t');
        let numbers: [u64; 3] = std::array::from_fn(|_| fields.next().unwrap().parse().unwrap());
        let [event, thread, truncated] = std::array::from_fn(|_| fields.next().unwrap());
        // Stacks without frames have no data.
        let frames: Vec<String> = fields.filter(|frame| !frame.is_empty()).map(expected_frame).collect();
        if frames.is_empty() {
            continue;
        }
        let row = sums.entry(format!("{}\t{thread}\t{truncated}\t{}", source_of(event).word(), frames.join(" ")));
        row.or_default().iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
    sums
}

/// Returns the values of [`expected`] for one weight, for the event types that have it.
fn compare(name: &str, weight: Weight, at: usize) {
    let has_weight = |source: &&SampleSource| source.unit(weight).is_some();
    let events: Vec<SampleSource> = EVENTS.iter().filter(has_weight).copied().collect();
    let table = read(name, &events, weight);
    let words: Vec<&str> = events.iter().map(|source| source.word()).collect();
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for sample in table.samples().filter(|sample| !sample.key.source.is_timed()) {
        *found.entry(key(&table, &sample)).or_default() += sample.hits;
    }
    let expected: BTreeMap<String, [u64; 3]> = expected(name)
        .into_iter()
        .filter(|(key, row)| words.contains(&key.split('\t').next().unwrap()) && row[at] > 0)
        .collect();
    assert!(expected.len() > 3, "{name} {weight:?}");
    assert!(found.keys().eq(expected.keys()), "{name} {weight:?}: the stacks differ");
    for (key, row) in &expected {
        // The JDK rounds the ticks of each event separately.
        let room = if weight == Weight::Time { row[0] } else { 0 };
        assert!(found[key].abs_diff(row[at]) <= room, "{name} {weight:?}: {} for {} at {key}", found[key], row[at]);
    }
}

#[test]
fn every_event_has_the_weight_that_the_jdk_prints() {
    for name in RECORDINGS {
        compare(name, Weight::Count, 0);
        compare(name, Weight::Bytes, 1);
        compare(name, Weight::Time, 2);
    }
}

#[test]
fn the_usual_weights_are_time_else_bytes() {
    for name in RECORDINGS {
        let table = read(name, &EVENTS, Weight::Usual);
        for source in EVENTS.into_iter().filter(|source| table.hits_by_source().iter().any(|(of, _)| of == source)) {
            let is_allocation = matches!(source, SampleSource::Allocation | SampleSource::Tlab);
            let unit = if is_allocation { Unit::Bytes } else { Unit::Nanoseconds };
            assert!(table.observed.units.contains(&(source, unit)), "{name} {source:?}");
        }
        assert_eq!(table.unit(), None, "{name}: bytes and nanoseconds");
        let mut selection = Selection::default();
        selection.sources = vec![SampleSource::Tlab];
        assert_eq!(table.select(&selection).0.unit(), Some(Unit::Bytes), "{name}");
    }
}

#[test]
fn unselected_events_are_counted_and_not_read() {
    for name in RECORDINGS {
        let none = read(name, &[], Weight::Usual);
        assert!(none.samples().all(|sample| sample.key.source.is_timed()), "{name}");
        let mut events: BTreeMap<&str, u64> = BTreeMap::new();
        for (key, row) in expected(name) {
            let sort = EVENTS.iter().map(|source| source.word()).find(|word| key.starts_with(&format!("{word}\t")));
            *events.entry(sort.unwrap()).or_default() += row[0];
        }
        for (source, skipped) in &none.observed.skipped_events {
            // Events without stacks are skipped, too.
            assert!(*skipped >= events.remove(source.word()).unwrap_or(0), "{name} {source:?}");
        }
        assert!(events.is_empty(), "{name}: {events:?}");
    }
}

#[test]
fn a_recording_is_cut_by_time() {
    for name in RECORDINGS {
        let between = |from, to| {
            let mut options = RecordingOptions::default();
            (options.events, options.weight) = (EVENTS.to_vec(), Weight::Count);
            (options.from, options.to) = (from, to);
            let table = read_as(name, &options);
            let observed = &table.observed;
            let counts = (table.total_hits(), observed.samples_out_of_time.values().sum::<u64>(), observed.samples_without_stack);
            (counts.0, counts.1, counts.2, observed.duration_nanos)
        };
        let whole = between(None, None);
        assert_eq!(whole.1, 0);
        let all = whole.0 + u128::from(whole.2);
        let mut parts = Vec::new();
        for millis in [0u64, 10, 50, 200, 1_000, 5_000, 3_600_000] {
            let at = Some(TimeBound::After(millis * 1_000_000));
            let (before, after) = (between(None, at), between(at, None));
            assert_eq!(before.0 + after.0, whole.0, "{name} {millis}");
            assert_eq!(before.3 + after.3, whole.3, "{name} {millis}");
            assert!(before.3 <= millis * 1_000_000, "{name} {millis}");
            assert_eq!(u128::from(before.1 + after.1), all, "{name} {millis}: each is in one part");
            parts.push(before.0);
        }
        assert!(parts.is_sorted() && parts[6] == whole.0, "{name} {parts:?}");
        let future = Some("2100-01-01T00:00:00Z".parse::<TimeBound>().unwrap());
        let past = Some("2020-01-01T00:00:00Z".parse::<TimeBound>().unwrap());
        assert_eq!((between(past, future).0, between(future, None).0), (whole.0, 0), "{name}");
    }
}

#[test]
fn unselected_events_are_in_one_part_too() {
    for name in RECORDINGS {
        let between = |from, to| {
            let mut options = RecordingOptions::default();
            (options.from, options.to) = (from, to);
            let observed = read_as(name, &options).observed;
            (observed.skipped_events.values().sum::<u64>(), observed.samples_out_of_time.values().sum::<u64>())
        };
        let (whole, none) = between(None, None);
        assert_eq!(none, 0);
        for millis in [10u64, 200, 1_000, 3_600_000] {
            let at = Some(TimeBound::After(millis * 1_000_000));
            let (before, after) = (between(None, at), between(at, None));
            assert_eq!(before.0 + after.0, whole, "{name} {millis}");
        }
        let future = Some("2100-01-01T00:00:00Z".parse::<TimeBound>().unwrap());
        assert_eq!(between(future, None).0, 0, "{name}");
        assert!(between(future, None).1 >= whole, "{name}");
    }
}

/// JDK 25 counts calls exactly; an iprof gets these counts, once for both event types.
#[test]
fn call_counts_match_the_jdk() {
    let events = [("jdk.MethodTrace", SampleSource::MethodTrace), ("jdk.MethodTiming", SampleSource::MethodTiming)];
    let expected = std::fs::read_to_string(testdata("calls-jdk25.expected")).unwrap();
    let mut options = RecordingOptions::default();
    options.events = events.map(|(_, source)| source).to_vec();
    let table = read_as("calls-jdk25", &options);
    let mut calls: BTreeMap<(SampleSource, String), u64> = BTreeMap::new();
    for sample in table.samples() {
        let Function::Java { class, name, .. } = table.function(table.frame(table.leaf(sample.key.stack)).function)
        else {
            panic!("not Java")
        };
        *calls.entry((sample.key.source, format!("{}.{}", table.name(class), table.name(name)))).or_default() +=
            sample.hits;
    }
    let of_jdk = expected.lines().map(|line| {
        let [count, event, method] = line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let (_, source) = events.iter().find(|(name, _)| *name == event).unwrap();
        ((*source, method.to_string()), count.parse().unwrap())
    });
    assert_eq!(calls, of_jdk.collect());

    let notes = notes(&table).join("\n");
    assert!(notes.contains("exact numbers of calls"), "{notes}");
    assert!(!notes.contains("samples a limited number") && !notes.contains("only one frame"), "{notes}");
}
