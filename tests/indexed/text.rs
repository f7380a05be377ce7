//! Tests of text profiles: round trips, and the fixes of profbridge mode.

use crate::generate::{Knows, profile};
use crate::oracle::{self, difference};
use profbridge::Compat;
use profbridge::instr::{
    FunctionRecord, Profile, ProfileKind, RecordRef, Selection, TemporalTrace, ValueCount, ValueKind, name_ref,
};
use profbridge::instr::{MergeOptions, Merger};
use profbridge::text::{self, TextOptions};

fn load(bytes: &[u8], compat: Compat) -> profbridge::Result<Profile> {
    let mut reader = oracle::open(bytes, compat)?;
    let mut options = MergeOptions::default();
    options.keep_vtable_names = true;
    let mut merger = Merger::new(options);
    merger.begin_input(reader.kind())?;
    while let Some(record) = reader.next_record()? {
        if merger.add_record(record, 1).is_new {
            reader.record_taken_over();
        }
    }
    merger.add_traces(reader.temporal());
    merger.add_vtable_names(reader.vtable_names()?);
    Ok(merger.into_profile())
}

fn write(profile: &Profile, compat: Compat) -> Vec<u8> {
    text::write(profile, &TextOptions::new(compat)).bytes
}

fn written(profile: &Profile, compat: Compat) -> String {
    String::from_utf8(write(profile, compat)).unwrap()
}

/// Returns a profile with one record per name.
fn with_names(names: &[&[u8]]) -> Profile {
    let mut merger = Merger::new(MergeOptions::default());
    for (name, counter) in names.iter().zip(1..) {
        let record = FunctionRecord::new(9, vec![counter]);
        merger.add_record(RecordRef { name, name_ref: None, text: None, record: record.view() }, 1);
    }
    merger.into_profile()
}

fn names(profile: &Profile) -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = profile.functions.iter().map(|f| f.name().to_vec()).collect();
    names.sort();
    names
}

#[test]
fn text_of_text_is_the_same_text() {
    for seed in 0..40 {
        for compat in [Compat::Llvm22, Compat::Profbridge] {
            // LLVM's text format cannot store a traced function without records.
            let knows = Knows { traces: !compat.is_llvm(), ..Knows::of(22) };
            let once = write(&load(profile(seed, seed, knows).as_bytes(), compat).unwrap(), compat);
            let twice = write(&load(&once, compat).unwrap(), compat);
            assert!(once == twice, "seed {seed}: {}", difference(&twice, &once));
        }
    }
}

#[test]
fn a_name_with_a_dollar_gets_an_empty_bitmap_before_it() {
    let profile = with_names(&[b"#a", b"$s4main", b"$s5other"]);
    let fixed = written(&profile, Compat::Profbridge);
    assert_eq!(fixed.matches("$0\n").count(), 2, "{fixed}");
    assert_eq!(names(&load(fixed.as_bytes(), Compat::Profbridge).unwrap()).len(), 3);
    // LLVM reads all names except the one that looks like a comment.
    assert_eq!(names(&load(fixed.as_bytes(), Compat::Llvm22).unwrap()), [b"$s4main".to_vec(), b"$s5other".to_vec()]);
}

#[test]
fn as_llvm_such_names_break_as_there() {
    let faithful = written(&with_names(&[b"!a", b"$s4main"]), Compat::Llvm22);
    let error = load(faithful.as_bytes(), Compat::Llvm22).unwrap_err();
    assert_eq!(
        error.llvm_message(),
        "malformed instrumentation profile data: number of bitmap bytes is not a valid integer"
    );
    assert_eq!(error.hint(), Some(&"write a line $0 before a function name that begins with $".into()));
}

#[test]
fn every_name_round_trips_and_llvm_reads_supported_names() {
    let odd: Vec<&[u8]> =
        vec![b"", b"#c", b"12", b"34", b":x", b"a\nb", b"z\r", b"n\0ul", b"% %", b"$d", b"plain", b"\xff\xfe"];
    for first in 0..odd.len() {
        let some: Vec<&[u8]> = odd[first..].to_vec();
        let profile = with_names(&some);
        let fixed = write(&profile, Compat::Profbridge);
        assert_eq!(names(&load(&fixed, Compat::Profbridge).unwrap()), names(&profile));
        let seen_by_llvm = names(&load(&fixed, Compat::Llvm22).unwrap());
        assert!(seen_by_llvm.contains(&b"\xff\xfe".to_vec()));
        assert!(seen_by_llvm.iter().all(|name| some.contains(&name.as_slice())));
        assert!(text::losses(&profile, &TextOptions::new(Compat::Profbridge)).is_empty());
    }
    let words: Vec<String> =
        text::losses(&with_names(&odd), &TextOptions::new(Compat::Llvm22)).iter().map(|l| l.to_string()).collect();
    assert_eq!(words, ["7 functions whose names cannot be written"]);
}

#[test]
fn an_empty_name_ends_llvms_text_after_the_flags() {
    let mut profile = with_names(&[b"", b"f"]);
    profile.kind = ProfileKind::IR;
    let written = text::write(&profile, &TextOptions::new(Compat::Llvm22));
    assert_eq!(written.bytes, b"# IR level Instrumentation Flag\n:ir\n");
    let stopped = written.stopped.unwrap().llvm_message();
    assert_eq!(stopped, "malformed instrumentation profile data: symbol name is empty");
}

/// Calls to `known` (which a filter drops), to an unknown name, and to an external symbol.
fn with_targets() -> Profile {
    let mut record = FunctionRecord::new(1, vec![5]);
    let values = [(name_ref(b"known"), 3), (0x1234_5678, 2), (0, 1)].map(|(value, count)| ValueCount { value, count });
    record.sites_mut(ValueKind::IndirectCallTarget).push_site(&values);
    let mut merger = Merger::new(MergeOptions::default());
    merger.add_record(RecordRef { name: b"f", name_ref: None, text: None, record: record.view() }, 1);
    let other = FunctionRecord::new(1, vec![0]);
    merger.add_record(RecordRef { name: b"known", name_ref: None, text: None, record: other.view() }, 1);
    merger.into_profile()
}

#[test]
fn call_targets_keep_their_names_and_hashes() {
    let profile = with_targets();
    let options = |compat| TextOptions::new(compat).selection(Selection::all().sparse(true));
    let faithful = String::from_utf8(text::write(&profile, &options(Compat::Llvm22)).bytes).unwrap();
    assert_eq!(faithful.matches("** External Symbol **").count(), 3, "{faithful}");
    let words: Vec<String> =
        text::losses(&profile, &options(Compat::Llvm22)).iter().map(|loss| loss.to_string()).collect();
    assert_eq!(words, ["2 targets without a name"]);
    let fixed = String::from_utf8(text::write(&profile, &options(Compat::Profbridge)).bytes).unwrap();
    assert!(
        fixed.contains("\nknown:3\n#!target=0x12345678\n** External Symbol **:2\n** External Symbol **:1\n"),
        "{fixed}"
    );
    let again = load(fixed.as_bytes(), Compat::Profbridge).unwrap();
    let record = |profile: &Profile| profile.functions.find(b"f").unwrap().records().next().unwrap().to_record();
    assert_eq!(record(&again), record(&profile));
}

#[test]
fn traces_keep_functions_without_a_name() {
    let mut profile = with_names(&[b"f", b"odd,name"]);
    profile.kind = ProfileKind::TEMPORAL;
    profile.temporal.stream_size = 1;
    let functions = vec![name_ref(b"f"), 77, name_ref(b"odd,name")];
    profile.temporal.traces = vec![TemporalTrace { weight: 4, functions }];
    let again = load(&write(&profile, Compat::Profbridge), Compat::Profbridge).unwrap();
    assert_eq!(again.temporal, profile.temporal);
    assert!(written(&profile, Compat::Llvm22).contains("# Weight:\n4\nf,,odd,name,\n"));
}

#[test]
fn bitmaps_stick_as_llvm_only() {
    // b merges with an earlier b, so its bitmap stays and c gets it, too.
    let input = "b\n1\n1\n1\n$1\n0x1\nb\n1\n1\n1\n$1\n0x2\nc\n1\n1\n1\n";
    let bitmap = |compat| {
        let profile = load(input.as_bytes(), compat).unwrap();
        profile.functions.find(b"c").unwrap().records().next().unwrap().bitmap.to_vec()
    };
    assert_eq!(bitmap(Compat::Llvm22), [2]);
    assert!(bitmap(Compat::Profbridge).is_empty());
}

#[test]
fn long_bitmaps_are_read_in_our_compat() {
    let mut input = "f\n1\n1\n1\n$300\n".to_string();
    input.push_str(&"0xff\n".repeat(300));
    let long = load(input.as_bytes(), Compat::Profbridge).unwrap();
    assert_eq!(long.functions.find(b"f").unwrap().records().next().unwrap().bitmap.len(), 300);
    assert_eq!(load(input.as_bytes(), Compat::Llvm22).unwrap_err().llvm_message(), "truncated profile data");
}

#[test]
fn every_fault_has_its_place_and_its_words() {
    let cases: [(&str, &str, &str); 20] = [
        (
            ":nonsense\n",
            "text, line 1, byte 0x0: bad header: unknown keyword :nonsense",
            "invalid instrumentation profile data (file header is corrupt)",
        ),
        ("f\n", "text, line 2, byte 0x2: truncated: FuncHash needs 1 bytes, 0 left", "truncated profile data"),
        (
            "f\nx\n",
            "text, line 2, byte 0x2: malformed: invalid FuncHash: x",
            "malformed instrumentation profile data: function hash is not a valid integer",
        ),
        (
            "f\n1\n0x2\n",
            "text, line 3, byte 0x4: malformed: invalid number of counters: 0x2",
            "malformed instrumentation profile data: number of counters is not a valid integer",
        ),
        (
            "f\n1\n0\n",
            "text, line 3, byte 0x4: malformed: a record has no counters",
            "malformed instrumentation profile data: number of counters is zero",
        ),
        ("f\n1\n2\n1\n", "text, line 5, byte 0x8: truncated: counter needs 1 bytes, 0 left", "truncated profile data"),
        (
            "f\n1\n1\n-1\n",
            "text, line 4, byte 0x6: malformed: invalid counter: -1",
            "malformed instrumentation profile data: count is invalid",
        ),
        (
            "f\n1\n1\n1\n$x\n",
            "text, line 5, byte 0x8: malformed: invalid number of bitmap bytes: x",
            "malformed instrumentation profile data: number of bitmap bytes is not a valid integer",
        ),
        (
            "f\n1\n1\n1\n$1\n256\n",
            "text, line 6, byte 0xb: malformed: invalid bitmap byte: 256",
            "malformed instrumentation profile data: bitmap byte is not a valid integer",
        ),
        (
            "f\n1\n1\n1\n4\n",
            "text, line 5, byte 0x8: malformed: 4 value kinds, expected 1 to 3",
            "malformed instrumentation profile data: number of value kinds is invalid",
        ),
        (
            "f\n1\n1\n1\n1\n3\n",
            "text, line 6, byte 0xa: malformed: value kind 3, expected 0 to 2",
            "malformed instrumentation profile data: value kind is invalid",
        ),
        (
            "f\n1\n1\n1\n1\nx\n",
            "text, line 6, byte 0xa: malformed: invalid value kind: x",
            "malformed instrumentation profile data",
        ),
        (
            "f\n1\n1\n1\n1\n0\n1\n1\n:5\n",
            "text, line 9, byte 0x10: malformed: a target has no name",
            "malformed instrumentation profile data: symbol name is empty",
        ),
        (
            "f\n1\n1\n1\n1\n1\n1\n1\nx:5\n",
            "text, line 9, byte 0x10: malformed: invalid value: x",
            "malformed instrumentation profile data",
        ),
        (
            "f\n1\n1\n1\n1\n1\n1\n1\n5\n",
            "text, line 9, byte 0x10: malformed: invalid count of a value: ",
            "malformed instrumentation profile data",
        ),
        (
            "f\n1\n1\n1\n1\n1\n1\n1\n",
            "text, line 9, byte 0x10: truncated: value needs 1 bytes, 0 left",
            "truncated profile data",
        ),
        (":temporal_prof_traces\n", "text, line 2, byte 0x16: unexpected end of file", "end of File"),
        (
            ":temporal_prof_traces\n4294967296\n",
            "text, line 2, byte 0x16: malformed: invalid number of traces: 4294967296",
            "malformed instrumentation profile data",
        ),
        (
            "f\n1\n9999999999999\n1\n",
            "text, line 5, byte 0x14: truncated: counter needs 1 bytes, 0 left",
            "truncated profile data",
        ),
        (
            "#!name=%zz\n#!|1\n",
            "text, line 1, byte 0x0: malformed: a % without two hexadecimal digits after it",
            "malformed instrumentation profile data",
        ),
    ];
    for (input, ours, llvm) in cases {
        let error = load(input.as_bytes(), Compat::Profbridge).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.llvm_message().as_str()), (ours, llvm), "{input:?}");
    }
}

/// Enough functions for several blocks, with names that must be changed.
#[test]
fn text_is_the_same_for_any_number_of_threads() {
    let name = |index: u32| match index % 7 {
        0 => format!("$dollar{index}"),
        1 => format!("#comment{index}"),
        2 => format!("{index}"),
        _ => format!("_ZN4name{index}Ev"),
    };
    let names: Vec<String> = (0..2000).map(name).collect();
    let names: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
    let profile = with_names(&names);
    for compat in [Compat::Llvm22, Compat::Profbridge] {
        let alone = write(&profile, compat);
        for threads in [2, 3, 8] {
            let options = TextOptions::new(compat).threads(threads.try_into().unwrap());
            assert!(text::write(&profile, &options).bytes == alone, "{threads} threads, {compat:?}");
        }
    }
    let fixed = write(&profile, Compat::Profbridge);
    assert!(write(&load(&fixed, Compat::Profbridge).unwrap(), Compat::Profbridge) == fixed);
}
