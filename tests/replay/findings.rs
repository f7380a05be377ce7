//! Regression tests for the findings of fuzzing. The files are in `testdata/bad/found`.

use profbridge::bytes::{Encoding, Endian, PointerWidth};
use profbridge::families::{FailureMode, MergeOptions, ReadOptions, merge_files};
use profbridge::indexed;
use profbridge::input::WeightedInput;
use profbridge::instr::Merger;
use profbridge::instr::{
    FunctionRecord, LossKind, Profile, ProfileKind, ProfileReader, PseudoCount, RecordRef, TemporalTrace, ValueCount,
    ValueKind, name_ref,
};
use profbridge::raw::{self, Image, ImageSum, RawProfile, Section};
use profbridge::sampleprof;
use profbridge::text::{self, TextOptions, TextReader};
use profbridge::{Compat, Limits};
use std::path::PathBuf;
use std::sync::Arc;

fn found(name: &str) -> PathBuf {
    super::root().join("testdata/bad/found").join(name)
}

/// Merges a file several times with itself, in both compatibility modes.
fn merge_with_itself(name: &str) {
    for compat in [Compat::Profbridge, Compat::Llvm22] {
        let mut options = MergeOptions::default();
        options.read = ReadOptions::new(compat);
        options.failure_mode = FailureMode::Warn;
        let inputs = [found(name), found(name), found(name)].map(WeightedInput::new);
        let report = merge_files(&inputs, &options, &mut |_, _| {}).expect("damaged inputs are in the report");
        assert_eq!(report.inputs.len(), 3);
    }
}

/// LLVM adds section sizes modulo 2^64, so sizes near 2^64 pass its checks. The sums of an image were allocated with
/// this size.
#[test]
fn wrapped_sizes_in_a_header_make_no_huge_sums() {
    let file = std::fs::read(found("read_raw-wrapped-sizes.profraw")).expect("file is readable");
    let profile = RawProfile::read(&file, 0, Compat::Llvm22).expect("LLVM accepts the header");
    let names = Arc::new(profile.read_names(&Limits::default()).expect("the section is sound"));
    let image = Image::new(&profile, &names).expect("the version is known");
    let sum = ImageSum::new(&image).expect("the sums are small");
    assert_eq!(sum.counters.len(), profile.section(Section::Counters).len() / 8);
    merge_with_itself("read_raw-wrapped-sizes.profraw");
}

/// A function called `10` with two records: the second name follows a record, and LLVM's reader parses digits there as
/// the number of value kinds.
#[test]
fn a_name_of_digits_is_fixed_in_every_record() {
    let mut profile = Profile::default();
    let function = profile.functions.intern(b"10");
    profile.functions.push_record(function, &FunctionRecord::new(1, vec![7]));
    profile.functions.push_record(function, &FunctionRecord::new(2, vec![8, 9]));
    let written = text::write(&profile, &TextOptions::new(Compat::Profbridge));
    let mut reader = TextReader::new(&written.bytes, Compat::Profbridge).expect("text can be read back");
    let mut records = Vec::new();
    while let Some(item) = reader.next_record().expect("records can be read back") {
        records.push((item.name.to_vec(), item.record.counters.to_vec()));
    }
    assert_eq!(records, [(b"10".to_vec(), vec![7]), (b"10".to_vec(), vec![8, 9])]);
    super::bodies::run("write_text", &std::fs::read(found("write_text-digits-name-twice")).expect("file is readable"));
}

/// A trace with a function whose name ends in a vertical tab, which only LLVM's reader treats as white space.
#[test]
fn a_name_that_ends_in_a_vertical_tab_keeps_its_place_in_a_trace() {
    for name in [&b"f\x0b"[..], b"\x0bf", b"f\x0c", b"\x0b"] {
        let mut profile = Profile::default();
        let function = profile.functions.intern(name);
        profile.functions.push_record(function, &FunctionRecord::new(1, vec![7]));
        profile.kind = ProfileKind::TEMPORAL;
        profile.temporal.stream_size = 1;
        profile.temporal.traces = vec![TemporalTrace { weight: 1, functions: vec![name_ref(name)] }];
        let written = text::write(&profile, &TextOptions::new(Compat::Profbridge));
        let mut reader = TextReader::new(&written.bytes, Compat::Profbridge).expect("text can be read back");
        while reader.next_record().expect("records can be read back").is_some() {}
        assert_eq!(reader.temporal(), profile.temporal, "{}", name.escape_ascii());
    }
    let found = std::fs::read(found("write_text-trace-vertical-tab")).expect("file is readable");
    super::bodies::run("write_text", &found);
}

/// A trace that starts with a function called `#x`: its line was a comment, and the reader used the next record's name
/// as part of the trace.
#[test]
fn a_trace_of_a_name_that_begins_a_comment_stays_a_line() {
    let mut profile = Profile { kind: ProfileKind::TEMPORAL, ..Profile::default() };
    for name in [b"#x".as_slice(), b"a\nb", b"f"] {
        let function = profile.functions.intern(name);
        profile.functions.push_record(function, &FunctionRecord::new(1, vec![7]));
    }
    let functions = vec![name_ref(b"#x"), name_ref(b"f"), name_ref(b"a\nb")];
    profile.temporal.traces = vec![TemporalTrace { weight: 1, functions }];
    profile.temporal.stream_size = 1;
    let written = text::write(&profile, &TextOptions::new(Compat::Profbridge));
    let mut reader = TextReader::new(&written.bytes, Compat::Profbridge).expect("text can be read back");
    let mut names = Vec::new();
    while let Some(item) = reader.next_record().expect("records can be read back") {
        names.push(item.name.to_vec());
    }
    assert_eq!(names, [b"#x".to_vec(), b"a\nb".to_vec(), b"f".to_vec()]);
    assert_eq!(reader.temporal(), profile.temporal);
}

/// A raw file stores one run, so a different weight of its trace is a loss.
#[test]
fn the_weight_of_a_trace_is_not_lost_silently() {
    let mut profile = Profile { kind: ProfileKind::IR | ProfileKind::TEMPORAL, ..Profile::default() };
    let function = profile.functions.intern(b"f");
    profile.functions.push_record(function, &FunctionRecord::new(1, vec![7]));
    let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version: 10 };
    for (weight, lost) in [(1, 0), (4, 1)] {
        profile.temporal.traces = vec![TemporalTrace { weight, functions: vec![name_ref(b"f")] }];
        let losses = raw::losses(&profile, &raw::WriteOptions::new(encoding)).expect("the version is known");
        let found = losses.iter().filter(|loss| loss.kind == LossKind::TraceWeights).count();
        assert_eq!(found, lost, "weight {weight}: {losses:?}");
    }
}

/// An indexed site stores 255 values; more are a loss.
#[test]
fn values_beyond_the_limit_are_not_lost_silently() {
    let mut profile = Profile::default();
    let mut record = FunctionRecord::new(1, vec![7]);
    let values: Vec<ValueCount> = (0..260).map(|value| ValueCount { value, count: 1 }).collect();
    record.sites_mut(ValueKind::MemOpSize).push_site(&values);
    let function = profile.functions.intern(b"f");
    profile.functions.push_record(function, &record);
    let losses = indexed::losses(&profile, &indexed::WriteOptions::for_version(13));
    let beyond = losses.iter().find(|loss| loss.kind == LossKind::ValuesBeyondLimit);
    assert_eq!(beyond.map(|loss| loss.count), Some(5));
}

/// The marks of two pseudo counts combine in any order, but the other counters stay those of the first record, because
/// LLVM returns before it adds them.
#[test]
fn after_two_pseudo_counts_the_first_record_stays() {
    let (warm, hot) = (PseudoCount::Warm.counter(), PseudoCount::Hot.counter());
    for (inputs, rest) in [([(warm, 3), (hot, 4)], 3), ([(hot, 4), (warm, 3)], 4)] {
        let mut merger = Merger::new(profbridge::instr::MergeOptions::default());
        for (mark, after) in inputs {
            let record = FunctionRecord::new(1, vec![mark, after]);
            merger.add_record(RecordRef { name: b"f", name_ref: None, text: None, record: record.view() }, 1);
        }
        let merged = merger.into_profile();
        let record = merged.functions.find(b"f").and_then(|function| function.records().next());
        assert_eq!(record.map(|record| record.counters.to_vec()), Some(vec![hot, rest]));
    }
    let file = std::fs::read(found("merge_laws-two-pseudo-counts")).expect("file is readable");
    super::bodies::run("merge_laws", &file);
}

/// A recording with an empty method name created a document that `check` rejected.
#[test]
fn a_recording_with_a_nameless_method_becomes_a_valid_document() {
    let file = std::fs::read(found("read_recording-method-without-name")).expect("file is readable");
    super::bodies::run("read_recording", &file);
}

/// LLVM writes brackets around functions inlined into one with a calling context. Its own reader parses the brackets as
/// part of the name, and real profiles do not have them.
#[test]
fn callees_of_a_context_are_in_brackets_in_llvm_mode() {
    let file = std::fs::read(found("same_sample_as_llvm-callee-of-context")).expect("file is readable");
    let profile = sampleprof::read(&file, &sampleprof::ReadOptions::default()).expect("it is sound");
    let mut options = sampleprof::WriteOptions::default();
    options.encoding = sampleprof::Encoding::Text;
    for (bracketed, line) in [(true, "\n 63.2: [bar]:18\n"), (false, "\n 63.2: bar:18\n")] {
        options.as_llvm = bracketed;
        let written = sampleprof::write(&profile, &options).expect("text can be written");
        let written = String::from_utf8(written).expect("names are letters");
        assert!(written.starts_with("[main:2 @ foo]:74:14\n") && written.contains(line), "{written}");
    }
    super::bodies::run("same_sample_as_llvm", &file);
}

/// Text can have any line number in a frame; extensible binaries only numbers below 65536.
#[test]
fn lines_of_frames_that_no_reader_takes_are_refused_unless_llvm_is_to_be_followed() {
    let file = std::fs::read(found("write_sampleprof-line-of-frame")).expect("file is readable");
    super::bodies::run("write_sampleprof", &file);
    let profile = sampleprof::read(b"[main:70000 @ foo]:5:1\n 1: 5\n", &sampleprof::ReadOptions::default());
    let profile = profile.expect("text holds any line");
    let mut options = sampleprof::WriteOptions::default();
    let error = sampleprof::write(&profile, &options).expect_err("no reader accepts it").to_string();
    assert!(error.contains("the line of a frame") && error.contains("70000"), "{error}");
    options.as_llvm = true;
    assert!(sampleprof::write(&profile, &options).is_ok());
}

/// gimli adds the size of a function to its address without an overflow check.
#[test]
fn functions_beyond_the_last_address_are_damage() {
    let failed = super::failures("read_objects", &[found("read_objects-size-beyond-addresses")]);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A stream was no longer detected as an empty file after its mark had left the window.
#[test]
fn a_byte_order_mark_alone_is_an_empty_iprof() {
    use profbridge::iprof::{self, Code, Verdict};
    let bytes = std::fs::read(found("read_iprof-byte-order-mark-alone")).expect("it is in the tree");
    let options = iprof::ReadOptions::default();
    for examined in
        [iprof::Reader::from_bytes(&bytes, &options).examine(), iprof::Reader::new(&bytes[..], &options).examine()]
    {
        assert_eq!((examined.verdict, examined.findings.has(Code::EmptyFile)), (Verdict::Unusable, true));
    }
}
