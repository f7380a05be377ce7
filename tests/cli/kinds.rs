//! Tests of inputs with different kinds of counters: they cannot be merged.

use crate::program::{Finished, Folder, testdata};
use std::fs;

/// Headers of text profiles, with their kind in messages.
const KINDS: [(&str, &str); 6] = [
    ("", "front-end instrumentation"),
    (":single_byte_coverage\n", "front-end instrumentation, byte coverage"),
    (":ir\n", "IR instrumentation"),
    (":ir\n:entry_first\n", "IR instrumentation, entry counter first"),
    (":ir\n:instrument_loop_entries\n", "IR instrumentation, loop entries instrumented"),
    (":ir\n:single_byte_coverage\n", "IR instrumentation, byte coverage"),
];

/// An iprof without an LLVM profile.
const JAVA: &str = "{\"version\":\"1.0.0\",\"types\":[{\"id\":0,\"name\":\"A\"},{\"id\":1,\"name\":\"void\"}],\
    \"methods\":[{\"id\":0,\"name\":\"m\",\"signature\":[0,1]}],\"callCountProfiles\":[{\"ctx\":\"0:0\",\"records\":[3]}]}";

/// One function that allocates.
const MEMORY: &str = "---\nHeapProfileRecords:\n  - GUID:            0x1\n    AllocSites:\n      - Callstack:\n          \
    - { Function: 0x1, LineOffset: 1, Column: 2, IsInlineFrame: false }\n        MemInfoBlock:\n          \
    AllocCount:      1\n          TotalSize:       8\n          TotalLifetime:   1\n          \
    TotalLifetimeAccessDensity: 5\n    CallSites:       []\n...\n";

const TARGET: &str = "--for=llvm-22";

/// An input that the output format cannot store is named, and skipped on request.
#[test]
fn a_file_of_stacks_among_counters_is_skipped() {
    let folder = Folder::new();
    fs::write(folder.path("counts"), "main\n1\n1\n5\n\n").unwrap();
    fs::write(folder.path("stacks.collapsed"), "main;work 5\n").unwrap();
    let finished = run(&folder, "merge stacks.collapsed counts -o app.profdata");
    finished.assert_refused(1, &["stacks.collapsed: reading collapsed stacks as an LLVM instrumentation profile"]);
    let said = done(&folder, "merge stacks.collapsed counts --failure-mode=warn -q -o app.profdata");
    assert!(said.contains("warning: stacks.collapsed: reading collapsed stacks as"), "{said}");
    done(&folder, "merge counts -q -o alone.profdata");
    assert_eq!(fs::read(folder.path("app.profdata")).unwrap(), fs::read(folder.path("alone.profdata")).unwrap());
    let said = done(&folder, "merge counts stacks.collapsed --failure-mode=warn -q -o app.collapsed");
    assert!(said.contains("warning: counts: reading stacks from LLVM text profile is not supported"), "{said}");
}

fn run(folder: &Folder, line: &str) -> Finished {
    folder.run(&line.split_whitespace().collect::<Vec<_>>())
}

#[track_caller]
fn done(folder: &Folder, line: &str) -> String {
    let finished = run(folder, line);
    assert_eq!(finished.code, Some(0), "{line}: {}", finished.stderr);
    finished.stderr
}

/// The merge fails, names both inputs with their kinds, and writes nothing.
#[track_caller]
fn refused(folder: &Folder, line: &str, [input, first]: [(&str, &str); 2]) {
    let before = folder.names();
    let finished = run(folder, line);
    finished.assert_refused(1, &[]);
    let error = finished.stderr.lines().find(|line| line.starts_with("error: ")).unwrap_or_default();
    let wanted = format!("{}: its kind ({}) differs from that of {} ({})", input.0, input.1, first.0, first.1);
    assert_eq!(error, format!("error: {wanted}"), "{line}: {}", finished.stderr);
    assert!(finished.stderr.contains("hint: merge each kind separately"), "{}", finished.stderr);
    assert_eq!(folder.names(), before, "{line}");
}

/// Writes the text profiles `0`, `1` and so on, one for each of `KINDS`.
fn text_of_each_kind() -> Folder {
    let folder = Folder::new();
    for (at, (header, _)) in KINDS.iter().enumerate() {
        fs::write(folder.path(&at.to_string()), format!("{header}main\n1\n1\n{}\n\n", at + 1)).unwrap();
    }
    folder
}

fn bytes(folder: &Folder, name: &str) -> Vec<u8> {
    fs::read(folder.path(name)).expect("it was written")
}

/// Returns the bits of the version word of an indexed profile.
fn flags(folder: &Folder, name: &str) -> u64 {
    let word = bytes(folder, name)[8..16].try_into().expect("a version word");
    u64::from_le_bytes(word) >> 32
}

#[test]
fn inputs_of_two_kinds_are_an_error_that_names_both() {
    let folder = text_of_each_kind();
    for (one, (_, kind)) in KINDS.iter().enumerate() {
        for (other, (_, other_kind)) in KINDS.iter().enumerate().filter(|(other, _)| *other != one) {
            let (one, other) = (one.to_string(), other.to_string());
            let line = format!("merge {one} {one} {other} {one} -o x.profdata");
            refused(&folder, &line, [(&other, other_kind), (&one, kind)]);
        }
    }
    for output in ["x.proftext", "x.profraw", "x.iprof", "x.profdata --partial", "x.profdata --sparse --strict"] {
        refused(&folder, &format!("merge 2 0 -o {output}"), [("0", KINDS[0].1), ("2", KINDS[2].1)]);
    }
    let finished = run(&folder, "merge 2 0 -o x.profdata --json");
    let document: serde_json::Value = serde_json::from_slice(&finished.stdout).unwrap();
    assert_eq!((finished.code, &document["error"]["kind"]), (Some(1), &"kind-conflict".into()));
    assert_eq!(document["inputs"][1]["error"]["kind"], "kind-conflict");
}

#[test]
fn raw_profiles_of_two_kinds_are_an_error() {
    let folder = Folder::new();
    let names = ["ir", "entry-first", "loop-entries", "fe", "byte-coverage", "entry-coverage", "block-coverage"];
    for name in names {
        fs::copy(testdata(&format!("raw/clang-22-{name}.profraw")), folder.path(name)).unwrap();
    }
    for (one, other) in names.iter().flat_map(|one| names.map(|other| (*one, other))).filter(|(one, two)| one != two) {
        let finished = run(&folder, &format!("merge {one} {other} -o x.profdata"));
        finished
            .assert_refused(1, &[&format!("error: {other}: its kind ("), &format!(") differs from that of {one} (")]);
        assert!(!folder.path("x.profdata").exists());
        // llvm-profdata reports a conflict only for entry-only coverage.
        if ![one, other].contains(&"entry-coverage") {
            assert_eq!(done(&folder, &format!("llvm-profdata merge {one} {other} -o y.profdata")), "");
        }
    }
}

#[test]
fn profiles_of_two_kinds_are_not_compared() {
    let folder = text_of_each_kind();
    for (one, other) in [(0, 1), (0, 2), (2, 3), (2, 4), (4, 5)] {
        let wanted =
            format!("cannot compare: the kinds of their counters differ ({}; {})", KINDS[one].1, KINDS[other].1);
        for command in ["diff", "overlap"] {
            let finished = run(&folder, &format!("{command} {one} {other}"));
            finished.assert_refused(1, &[&wanted]);
            assert_eq!(run(&folder, &format!("{command} {one} {one}")).code, Some(0));
        }
    }
}

/// Without the mark of their kind, an older compiler uses the counts for other places.
#[test]
fn counters_of_a_kind_that_the_target_does_not_know_are_an_error() {
    let folder = text_of_each_kind();
    for (input, release, since, kind) in [("4", 19, 20, "loop entries"), ("1", 13, 14, "byte coverage")] {
        done(&folder, &format!("merge {input} --for=llvm-{since} -o x.profdata"));
        // The functions of one indexed file stay in it for text.
        fs::copy(folder.path("x.profdata"), folder.path("indexed")).unwrap();
        for (source, output) in
            [(input, "x.profdata"), (input, "x.proftext"), ("indexed", "x.proftext"), ("indexed", "x.profraw")]
        {
            let finished = run(&folder, &format!("merge {source} --for=llvm-{release} -o {output}"));
            finished
                .assert_refused(1, &[&format!("LLVM {release} does not know {kind}"), &format!("target LLVM {since}")]);
        }
        fs::remove_file(folder.path("x.profdata")).unwrap();
    }
}

#[test]
fn directories_and_lists_of_two_kinds_are_an_error() {
    let folder = text_of_each_kind();
    fs::create_dir(folder.path("in")).unwrap();
    fs::write(folder.path("list"), "3,2\n3\n").unwrap();
    for name in ["2", "3"] {
        fs::copy(folder.path(name), folder.path(&format!("in/{name}.proftext"))).unwrap();
    }
    let names = [("in/3.proftext", KINDS[3].1), ("in/2.proftext", KINDS[2].1)];
    refused(&folder, "merge in -o x.profdata", names);
    refused(&folder, "merge -f list -o x.profdata", [("3", KINDS[3].1), ("2", KINDS[2].1)]);
}

#[test]
fn order_and_threads_do_not_change_the_answer() {
    let folder = text_of_each_kind();
    let inputs = |odd: usize| -> String { (0..9).map(|at| if at == odd { "3 " } else { "2 " }).collect() };
    let mut outputs = Vec::new();
    for threads in 1..=4 {
        for odd in 0..9 {
            let names = if odd == 0 { [2, 3] } else { [3, 2] }.map(|at| (at.to_string(), KINDS[at].1));
            let names = [0, 1].map(|at| (names[at].0.as_str(), names[at].1));
            refused(&folder, &format!("merge {} -o x.profdata --num-threads={threads}", inputs(odd)), names);
        }
        done(&folder, &format!("merge {} -o y.profdata --num-threads={threads}", inputs(9)));
        outputs.push(bytes(&folder, "y.profdata"));
    }
    outputs.dedup();
    assert_eq!(outputs.len(), 1);
}

#[test]
fn lenient_merges_keep_the_kind_of_the_first_usable_input() {
    let folder = text_of_each_kind();
    fs::write(folder.path("bad"), "main\n1\n").unwrap();
    for mode in ["all", "warn", "all --num-threads=1", "all --salvage"] {
        for (inputs, kept, others) in [
            ("2 3 2 0", "2 2", &[("3", "2"), ("0", "2")][..]),
            ("3 2 2 0", "3", &[("2", "3"), ("0", "3")]),
            ("bad 0 2 3", "0", &[("2", "0"), ("3", "0")]),
        ] {
            let said = done(&folder, &format!("merge {inputs} -o x.profdata --failure-mode={mode}"));
            done(&folder, &format!("merge {kept} -o kept.profdata"));
            assert_eq!(bytes(&folder, "x.profdata"), bytes(&folder, "kept.profdata"), "{mode}: {inputs}");
            for (other, first) in others {
                assert!(said.contains(&format!("warning: {other}: its kind (")), "{said}");
                assert!(said.contains(&format!(" differs from that of {first} (")), "{said}");
            }
            assert!(said.contains(" of another kind\n"), "{said}");
        }
    }
}

#[test]
fn partial_merges_remember_their_kind() {
    let folder = text_of_each_kind();
    for (part, input) in [("ir.part", "2"), ("first.part", "3"), ("ir2.part", "2")] {
        done(&folder, &format!("merge --partial {input} {input} -o {part}.profdata"));
    }
    let names = [("3", KINDS[3].1), ("2", KINDS[2].1)];
    for line in ["ir.part.profdata first.part.profdata", "2 first.part.profdata", "ir.part.profdata 3"] {
        refused(&folder, &format!("merge {line} -o x.profdata"), names);
        refused(&folder, &format!("merge --partial {line} -o x.profdata"), names);
    }
    done(&folder, "merge --allow-duplicates ir.part.profdata ir2.part.profdata -o x.profdata");
    done(&folder, "merge 2 2 2 2 -o y.profdata");
    assert_eq!(bytes(&folder, "x.profdata"), bytes(&folder, "y.profdata"));
    // A partial merge stores the skipped inputs, because the first of all inputs determines the kind.
    done(&folder, "merge --partial --failure-mode=all 3 2 -o both.profdata");
    for (inputs, kept) in [("both.profdata", "3"), ("2 both.profdata", "2 2"), ("both.profdata 2", "3")] {
        done(&folder, &format!("merge --failure-mode=all --allow-duplicates {inputs} -o x.profdata"));
        done(&folder, &format!("merge {kept} -o y.profdata"));
        assert_eq!(bytes(&folder, "x.profdata"), bytes(&folder, "y.profdata"), "{inputs}");
    }
}

#[test]
fn empty_inputs_have_no_kind() {
    let folder = text_of_each_kind();
    fs::write(folder.path("empty"), ":ir\n:entry_first\n").unwrap();
    for format in ["profdata", "profraw"] {
        done(&folder, &format!("merge empty --allow-empty -o empty.{format} {TARGET}"));
    }
    fs::write(folder.path("zero"), "").unwrap();
    for (at, (_, kind)) in KINDS.iter().enumerate() {
        done(&folder, &format!("merge {at} -o alone.profdata {TARGET}"));
        for empty in ["empty", "empty.profdata", "empty.profraw", "zero"] {
            for inputs in [format!("{empty} {at}"), format!("{at} {empty} {empty} {empty}")] {
                for options in ["--num-threads=2", "--partial"] {
                    done(&folder, &format!("merge {inputs} {options} -o x.profdata {TARGET}"));
                    done(&folder, &format!("merge x.profdata -o y.profdata {TARGET}"));
                    let (found, wanted) = (bytes(&folder, "y.profdata"), bytes(&folder, "alone.profdata"));
                    assert_eq!(found, wanted, "{kind}: {inputs} {options}");
                }
            }
        }
    }
}

#[test]
fn memory_profiles_go_with_every_kind() {
    let folder = text_of_each_kind();
    fs::write(folder.path("memory"), MEMORY).unwrap();
    for (at, (_, kind)) in KINDS.iter().enumerate() {
        done(&folder, &format!("merge {at} -o alone.profdata {TARGET}"));
        for inputs in [format!("memory {at}"), format!("{at} memory")] {
            done(&folder, &format!("merge {inputs} -o x.profdata {TARGET}"));
            let memprof = 1 << 30;
            assert_eq!(flags(&folder, "x.profdata"), flags(&folder, "alone.profdata") | memprof, "{kind}");
        }
    }
}

#[test]
fn a_context_sensitive_profile_merges_with_its_ir_profile() {
    let folder = text_of_each_kind();
    fs::write(folder.path("cs"), ":csir\nmain\n1152921504606846977\n1\n9\n\n").unwrap();
    for inputs in ["2 cs", "cs 2"] {
        done(&folder, &format!("merge {inputs} -o x.profdata {TARGET}"));
        assert_eq!(flags(&folder, "x.profdata"), 0x300_0000, "IR and context-sensitive");
    }
    refused(&folder, "merge cs 3 -o y.profdata", [("3", KINDS[3].1), ("cs", KINDS[2].1)]);
}

#[test]
fn marked_and_unmarked_front_end_profiles_are_of_one_kind() {
    let folder = text_of_each_kind();
    fs::write(folder.path("fe"), ":fe\nmain\n1\n1\n9\n\n").unwrap();
    for inputs in ["0 fe", "fe 0"] {
        done(&folder, &format!("merge {inputs} -o x.proftext"));
        assert!(String::from_utf8(bytes(&folder, "x.proftext")).unwrap().contains("\n10\n"));
    }
    refused(&folder, "merge fe 2 -o x.profdata", [("2", KINDS[2].1), ("fe", KINDS[0].1)]);
}

#[test]
fn concatenated_raw_profiles_of_two_kinds_are_an_error() {
    let folder = Folder::new();
    let raw = |name: &str| fs::read(testdata(&format!("raw/clang-22-{name}.profraw"))).unwrap();
    fs::write(folder.path("same"), [raw("ir"), raw("ir")].concat()).unwrap();
    fs::write(folder.path("both"), [raw("ir"), raw("entry-first")].concat()).unwrap();
    done(&folder, "merge same -o x.profdata");
    for line in ["merge both -o y.profdata", "merge both same -o y.profdata", "merge --partial both -o y.profdata"] {
        let words = ["both: ", "its kind (IR instrumentation, entry counter first) differs", "(IR instrumentation)"];
        run(&folder, line).assert_refused(1, &words);
    }
    assert!(!folder.path("y.profdata").exists());
    done(&folder, "llvm-profdata merge both -o y.profdata");
}

#[test]
fn an_iprof_of_an_llvm_profile_keeps_its_flags() {
    let folder = text_of_each_kind();
    for name in ["ir", "entry-first", "loop-entries", "fe", "byte-coverage", "cs", "temporal"] {
        let raw = testdata(&format!("raw/clang-22-{name}.profraw"));
        fs::copy(raw, folder.path("a.profraw")).unwrap();
        done(&folder, &format!("merge a.profraw -o plain.profdata {TARGET}"));
        done(&folder, "convert plain.profdata -o p.iprof");
        done(&folder, &format!("merge a.profraw a.profraw -o twice.profdata {TARGET}"));
        for inputs in ["p.iprof a.profraw", "a.profraw p.iprof"] {
            done(&folder, &format!("merge {inputs} -o both.profdata {TARGET}"));
            assert_eq!(bytes(&folder, "both.profdata"), bytes(&folder, "twice.profdata"), "{name}: {inputs}");
        }
        done(&folder, &format!("merge p.iprof -o alone.profdata {TARGET}"));
        assert_eq!(bytes(&folder, "alone.profdata"), bytes(&folder, "plain.profdata"), "{name}");
    }
}

#[test]
fn iprofs_of_llvm_profiles_of_two_kinds_are_an_error() {
    let folder = text_of_each_kind();
    for at in [2, 3] {
        done(&folder, &format!("convert {at} -o {at}.iprof"));
    }
    let words = |at: usize, name: &'static str| (name, KINDS[at].1);
    for output in ["x.profdata", "x.iprof"] {
        for (inputs, names) in [
            ("2 3.iprof", [words(3, "3.iprof"), words(2, "2")]),
            ("3.iprof 2", [words(2, "2"), words(3, "3.iprof")]),
            ("2.iprof 3.iprof", [words(3, "3.iprof"), words(2, "2.iprof")]),
        ] {
            refused(&folder, &format!("merge {inputs} -o {output}"), names);
        }
    }
    fs::write(folder.path("java.iprof"), JAVA).unwrap();
    for (inputs, kept) in [
        ("2 3.iprof java.iprof 3", "2 java.iprof"),
        ("3.iprof 2 java.iprof 3", "3.iprof 3 java.iprof"),
        ("java.iprof 3.iprof 2.iprof 3", "java.iprof 3.iprof 3"),
        ("java.iprof 3.iprof 2.iprof", "java.iprof 3.iprof"),
    ] {
        for output in ["profdata", "iprof"] {
            let said = done(&folder, &format!("merge {inputs} -o x.{output} --failure-mode=all"));
            assert!(said.contains("its kind ("), "{said}");
            done(&folder, &format!("merge {kept} -o kept.{output} --failure-mode=all"));
            assert_eq!(bytes(&folder, &format!("x.{output}")), bytes(&folder, &format!("kept.{output}")), "{inputs}");
        }
    }
}

#[test]
fn an_iprof_takes_the_flags_of_llvm_inputs_that_count() {
    let folder = text_of_each_kind();
    fs::write(folder.path("java.iprof"), JAVA).unwrap();
    for (at, (header, kind)) in KINDS.iter().enumerate() {
        let input = at.to_string();
        if header.contains("byte") {
            for output in ["x.profdata", "x.iprof"] {
                let java = ("java.iprof", "iprof with full counts");
                refused(&folder, &format!("merge {at} java.iprof -o {output}"), [java, (&input, kind)]);
                refused(&folder, &format!("merge java.iprof {at} -o {output}"), [(&input, kind), java]);
            }
            let said = done(&folder, &format!("merge {at} java.iprof -o x.profdata --failure-mode=all {TARGET}"));
            assert!(said.contains("warning: java.iprof: its kind (iprof with full counts) differs"), "{said}");
            done(&folder, &format!("merge {at} -o alone.profdata {TARGET}"));
            assert_eq!(bytes(&folder, "x.profdata"), bytes(&folder, "alone.profdata"));
            continue;
        }
        done(&folder, &format!("merge {at} -o alone.profdata {TARGET}"));
        let mut outputs = Vec::new();
        for inputs in [format!("{at} java.iprof"), format!("java.iprof {at}")] {
            done(&folder, &format!("merge {inputs} -o x.profdata {TARGET}"));
            assert_eq!(flags(&folder, "x.profdata"), flags(&folder, "alone.profdata"), "{kind}: {inputs}");
            outputs.push(bytes(&folder, "x.profdata"));
        }
        assert_eq!(outputs[0], outputs[1]);
    }
    done(&folder, &format!("merge java.iprof -o x.profdata {TARGET}"));
    assert_eq!(flags(&folder, "x.profdata"), 0x700_0000, "IR, context-sensitive, entry first");
}
