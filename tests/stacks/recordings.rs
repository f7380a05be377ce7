//! Compares recordings of real JDKs with `jfr print --json`.

use flate2::read::GzDecoder;
use profbridge::Limits;
use profbridge::call_chains::{FrameId, FrameKind, Function, Sample, SampleSource, StackTable};
use profbridge::generate::Random;
use profbridge::java;
use profbridge::stacks::jfr;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

pub(crate) fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/java").join(name)
}

pub(crate) fn unpack(name: &str) -> Vec<u8> {
    let path = testdata(name);
    let packed = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut bytes = Vec::new();
    GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes).unwrap();
    bytes
}

fn read(bytes: &[u8]) -> StackTable {
    let mut table = StackTable::new();
    let warnings =
        jfr::read_recording(bytes, &jfr::RecordingOptions::default(), &Limits::default(), &mut table).unwrap();
    assert_eq!(warnings, []);
    table
}

type Lines = BTreeMap<String, u64>;

/// Formats a sample like the expected files, with binary names.
fn line(table: &StackTable, sample: Sample) -> String {
    let event = match sample.key.source {
        SampleSource::Execution => "jdk.ExecutionSample",
        SampleSource::Native => "jdk.NativeMethodSample",
        SampleSource::CpuTime => "jdk.CPUTimeSample",
        other => panic!("unexpected source {other:?}"),
    };
    let thread = table.thread(sample.key.thread.expect("every sample has a thread"));
    let frames: Vec<String> = table.frames(sample.key.stack).map(|frame| frame_line(table, frame)).collect();
    format!("{event}\t{thread}\t{}\t{}", sample.key.truncated, frames.join(" "))
}

/// Formats a frame like the expected files.
pub(crate) fn frame_line(table: &StackTable, frame: FrameId) -> String {
    let frame = table.frame(frame);
    let Function::Java { class, name, signature } = table.function(frame.function) else { panic!("not Java") };
    let types: Vec<&str> = table.signature(signature.unwrap()).iter().map(|id| table.name(*id)).collect();
    let kind = match frame.kind {
        FrameKind::Interpreted => "Interpreted",
        FrameKind::Compiled => "JIT compiled",
        FrameKind::Inlined => "Inlined",
        FrameKind::Native => "Native",
        other => panic!("unexpected kind {other:?}"),
    };
    let line = frame.line.map_or(-1, i64::from);
    let bci = frame.bci.unwrap_or(-1);
    format!("{}.{}({})@{bci}:{line}:{kind}", table.name(class), table.name(name), types.join(","))
}

fn lines(table: &StackTable) -> Lines {
    let mut lines = Lines::new();
    for sample in table.samples() {
        *lines.entry(line(table, sample)).or_default() += sample.hits;
    }
    lines
}

/// Returns the expected lines, with the JDK's names converted to ours.
fn expected(name: &str) -> Lines {
    let text = String::from_utf8(unpack(name)).unwrap();
    let mut lines = Lines::new();
    for line in text.lines() {
        let mut fields = line.split('\t');
        let [hits, event, thread, truncated] = std::array::from_fn(|_| fields.next().unwrap());
        let frames: Vec<String> = fields.map(expected_frame).collect();
        let key = format!("{event}\t{thread}\t{truncated}\t{}", frames.join(" "));
        *lines.entry(key).or_default() += hits.parse::<u64>().unwrap();
    }
    lines
}

/// Returns `a/B.m(I)V@1:2:kind` in the format of [`line`].
pub(crate) fn expected_frame(frame: &str) -> String {
    let (method, position) = frame.rsplit_once('@').unwrap();
    let (name, descriptor) = method.split_at(method.rfind('(').unwrap());
    let (class, name) = name.rsplit_once('.').unwrap();
    let types = java::parse_descriptor(descriptor).unwrap();
    format!("{}.{name}({})@{position}", java::binary_name(class), types.join(","))
}

#[test]
fn every_sample_of_jdk_17_matches_the_jdk() {
    let table = read(&unpack("shapes-jdk17.jfr.gz"));
    assert_eq!(lines(&table), expected("shapes-jdk17.expected.gz"));
    assert!(table.samples().any(|sample| sample.key.truncated), "the deep thread has truncated stacks");
    assert_eq!(table.observed.sources, ["Flight Recorder 2.1"]);
    assert!(has_native_frames(&table), "the waiter is in native code");
}

fn has_native_frames(table: &StackTable) -> bool {
    table.samples().any(|sample| {
        sample.key.source == SampleSource::Native && table.frame(table.leaf(sample.key.stack)).kind == FrameKind::Native
    })
}

#[test]
fn every_sample_of_jdk_11_and_21_matches_the_jdk() {
    for (name, version) in [("shapes-jdk11", "Flight Recorder 2.0"), ("shapes-jdk21", "Flight Recorder 2.1")] {
        let table = read(&unpack(&format!("{name}.jfr.gz")));
        assert_eq!(lines(&table), expected(&format!("{name}.expected.gz")), "{name}");
        assert_eq!(table.observed.sources, [version]);
    }
}

#[test]
fn every_sample_of_jdk_25_matches_the_jdk() {
    let table = read(&unpack("shapes-jdk25.jfr.gz"));
    assert_eq!(lines(&table), expected("shapes-jdk25.expected.gz"));
    assert!(table.samples().any(|sample| sample.key.source == SampleSource::CpuTime));
}

/// The JDK 17 printer resolves constants of the second joined recording with those of the first, so the sum of the
/// separate recordings is expected.
#[test]
fn joined_recordings_are_the_sum_of_their_parts() {
    let (old, new) = (unpack("shapes-jdk17.jfr.gz"), unpack("shapes-jdk25.jfr.gz"));
    let joined = read(&[old.as_slice(), &new, &old].concat());
    let mut sum = lines(&read(&new));
    for (line, hits) in lines(&read(&old)) {
        *sum.entry(line).or_default() += 2 * hits;
    }
    assert_eq!(lines(&joined), sum);
    assert_eq!(joined.observed.parts, 3);
}

#[test]
fn damaged_recordings_never_panic() {
    let bytes = unpack("shapes-jdk17.jfr.gz");
    let mut random = Random::new(1);
    let mut random = |below: usize| random.below(below as u64) as usize;
    let mut faults = 0;
    for _ in 0..300 {
        let mut damaged = bytes.clone();
        for _ in 0..=random(6) {
            let at = random(damaged.len());
            damaged[at] = random(256) as u8;
        }
        let read = jfr::read_recording(
            &damaged,
            &jfr::RecordingOptions::default(),
            &Limits::default(),
            &mut StackTable::new(),
        );
        faults += usize::from(read.is_err());
    }
    assert!(faults > 0, "some damage is noticed");
}
