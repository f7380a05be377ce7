//! Tests of documents that are read, rejected, and printed.

use crate::cancel::Cancel;
use crate::compat::Compat;
use crate::error::ErrorKind;
use crate::limits::Limits;
use crate::memprof::yaml::*;
use crate::memprof::{Field, MemoryProfile, guid};

fn read_text(text: &str) -> crate::Result<MemoryProfile> {
    read(text.as_bytes(), Compat::Profbridge, &Limits::default())
}

fn print(profile: &MemoryProfile) -> String {
    let mut text = Vec::new();
    write(profile, Comments::None, EmptySites::Omitted, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn blocks_flows_quotes_and_comments_are_equivalent() {
    let block = "---
HeapProfileRecords:
- GUID: main          # by name
  AllocSites:
  - Callstack:
    - Function: \"ma\\x69n\"
      LineOffset: 0x10
      Column: 010
      IsInlineFrame: No
    MemInfoBlock:
      AllocCount: 0b11
  CallSites:
  - Frames: []
    CalleeGuids: [ 'it''s', 0xAB ]
";
    let flow = "{ HeapProfileRecords: [ { GUID: 0xdb956436e78dd5fa, AllocSites: [ {
    Callstack: [ { Function: main, LineOffset: 16, Column: 8, IsInlineFrame: false } ],
    MemInfoBlock: { AllocCount: 4294967299 } } ], # cut to 32 bits
    CallSites: [ { Frames: [], CalleeGuids: [ \"it's\", 0xab, ] } ] } ] }";
    let (block, flow) = (read_text(block).unwrap(), read_text(flow).unwrap());
    assert_eq!(print(&block), print(&flow));
    let record = block.record(guid(b"main")).unwrap();
    assert_eq!(record.alloc_sites[0].info.value(Field::AllocCount), 3);
    assert_eq!(record.call_sites[0].callees, [guid(b"it's"), 0xab]);
}

#[test]
fn printed_yaml_reads_back() {
    let text = "---
HeapProfileRecords:
  - GUID:            0xdb956436e78dd5fa
    CallSites:
      - Frames:
          - { Function: 0xffffffffffffffff, LineOffset: 4294967295, Column: 4294967295, 
              IsInlineFrame: false }
        CalleeGuids:     [ 0xffffffffffffff01, 0xffffffffffffff02, 0xffffffffffffff03, 
                           0xffffffffffffff04 ]
  - GUID:            0x7
DataAccessProfiles:
  SampledRecords:
    - Symbol:          '12'
      AccessCount:     4
      Locations:
        - FileName:        '/x/it''s.c'
          Line:            3
    - Hash:            9
      AccessCount:     1
  KnownColdSymbols:
    - a
    - b
  KnownColdStrHashes: [ 1, 2 ]
...
";
    assert_eq!(print(&read_text(text).unwrap()), text);
    assert_eq!(print(&MemoryProfile::default()), "---\n{}\n...\n");
}

#[test]
fn a_second_record_of_a_function_counts_but_for_llvm() {
    let text = "---\nHeapProfileRecords:\n  - GUID: f\n  - GUID: f\n    CallSites:\n      - Frames: []\n---\n{}\n";
    let calls = |compat| {
        let profile = read(text.as_bytes(), compat, &Limits::default()).unwrap();
        profile.record(guid(b"f")).unwrap().call_sites.len()
    };
    assert_eq!((calls(Compat::Profbridge), calls(Compat::Llvm22)), (1, 0));
}

#[test]
fn each_fault_of_the_form_is_named() {
    let frame = "{ Function: f, LineOffset: 1, Column: 1, IsInlineFrame: false }";
    for (text, message) in [
        ("Heap: 1", "byte 0x0: malformed: unknown key \"Heap\""),
        ("HeapProfileRecords: {}", "HeapProfileRecords is a map, not a list"),
        ("HeapProfileRecords:\n- AllocSites:", "a record has no GUID"),
        ("HeapProfileRecords:\n- GUID: 12", "function \"12\" is decimal"),
        ("HeapProfileRecords:\n- GUID: 0xg", "a GUID is \"0xg\", not a number"),
        ("HeapProfileRecords:\n- GUID: f\n  Sites:", "unknown key \"Sites\""),
        ("HeapProfileRecords:\n- GUID: f\n  GUID: f", "the key \"GUID\" occurs twice"),
        ("HeapProfileRecords:\n- GUID: f\n  AllocSites:\n  - Callstack: []", "an allocation site has no MemInfoBlock"),
        ("HeapProfileRecords: []\nHeapProfileRecords: []", "the key \"HeapProfileRecords\" occurs twice"),
        ("DataAccessProfiles:\n  SampledRecords:\n  - AccessCount: 1", "needs either a Symbol or a Hash"),
        ("DataAccessProfiles:\n  KnownColdSymbols: ['']", "the name of a symbol is empty"),
        ("HeapProfileRecords:\n  - GUID: [", "a bracket is not closed"),
        ("HeapProfileRecords:\n  - GUID: f\n   AllocSites: []", "does not belong to the list before it"),
        ("HeapProfileRecords:\n  - GUID: 'f\n", "a quote is not closed"),
        ("HeapProfileRecords:\n  - GUID: *f", "aliases are not allowed in a memory profile"),
        ("HeapProfileRecords:\n  - GUID: \u{1}", "this byte is not allowed in YAML"),
        ("HeapProfileRecords:\n  - GUID: \"\\q\"", "byte 0x20: malformed: unknown escape sequence"),
        ("HeapProfileRecords: [] x", "unknown key \"x\""),
        ("{ HeapProfileRecords: [] } x", "unexpected text after the document"),
        ("HeapProfileRecords: []\n%FOO", "this is not YAML"),
        ("HeapProfileRecords", "the document is a scalar, not a map"),
        ("%YAML 1.2", "--- is missing after the directives"),
    ] {
        let error = read_text(text).unwrap_err().to_string();
        assert!(error.contains(message), "{text:?}: {error}");
    }
    for (block, message) in [
        ("{ AllocCount: -1 }", "AllocCount is \"-1\", not a number from 0"),
        ("{ AllocCount: 1, AllocCount: 2 }", "the key \"AllocCount\" occurs twice"),
        ("{ Size: 1 }", "unknown key \"Size\""),
        ("7", "MemInfoBlock is a scalar, not a map"),
    ] {
        let site = format!("- GUID: f\n  AllocSites:\n  - Callstack: [ {frame} ]\n    MemInfoBlock: {block}\n");
        let error = read_text(&format!("HeapProfileRecords:\n{site}")).unwrap_err().to_string();
        assert!(error.contains(message), "{block}: {error}");
    }
    for (frame, message) in [
        ("{ Function: f, LineOffset: 1, Column: 1 }", "a frame has no IsInlineFrame"),
        ("{ Function: f, LineOffset: 4294967296, Column: 1, IsInlineFrame: no }", "not a number from 0 to 4294967295"),
        ("{ Function: f, LineOffset: 1, Column: 1, IsInlineFrame: 1 }", "neither true nor false"),
    ] {
        let text = format!("HeapProfileRecords:\n- GUID: f\n  CallSites: [ {{ Frames: [ {frame} ] }} ]\n");
        let error = read_text(&text).unwrap_err().to_string();
        assert!(error.contains(message), "{frame}: {error}");
    }
}

#[test]
fn faults_of_the_syntax_come_before_those_of_records() {
    for (text, message) in [
        ("HeapProfileRecords:\n- GUID: 12\n- GUID: 'f\n", "a quote is not closed"),
        ("HeapProfileRecords:\n- GUID: 12\nDataAccessProfiles: [", "a bracket is not closed"),
        ("HeapProfileRecords:\n- GUID: 12\n- GUID: 0xg\nHeap: 1", "function \"12\" is decimal"),
        ("DataAccessProfiles: 7\nHeap: 1\nHeapProfileRecords:\n- GUID: 12", "function \"12\" is decimal"),
        ("{ HeapProfileRecords: [ { GUID: 12 } ] } x", "function \"12\" is decimal"),
    ] {
        let error = read_text(text).unwrap_err().to_string();
        assert!(error.contains(message), "{text:?}: {error}");
    }
}

#[test]
fn nesting_and_stacks_are_bounded() {
    let error = read_text(&"[".repeat(1000)).unwrap_err().to_string();
    assert!(error.contains("nesting of YAML"), "{error}");
    let frame = "{ Function: f, LineOffset: 1, Column: 1, IsInlineFrame: false }, ".repeat(5000);
    let text = format!("HeapProfileRecords:\n- GUID: f\n  CallSites: [ {{ Frames: [ {frame} ] }} ]\n");
    assert!(read_text(&text).unwrap_err().to_string().contains("frames of a call stack"));
}

#[test]
fn cancellation_ends_a_document() {
    let cancel = Cancel::default();
    cancel.cancel();
    let text = b"{ HeapProfileRecords: [ { GUID: main } ] }";
    let error = read_until(text, Compat::Profbridge, &Limits::default(), &cancel).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error}");
}
