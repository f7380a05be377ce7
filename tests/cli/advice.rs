//! Tests that errors, notes and hints tell the user what to do next.

use crate::program::{Finished, Folder, testdata};
use std::fs;
use std::path::Path;

fn text(path: impl AsRef<Path>) -> String {
    path.as_ref().display().to_string()
}

fn check(finished: &Finished, code: i32, words: &[&str]) {
    assert_eq!(finished.code, Some(code), "{}", finished.stderr);
    let printed = format!("{}{}", String::from_utf8_lossy(&finished.stdout), finished.stderr);
    for word in words {
        assert!(printed.contains(word), "no {word:?} in:\n{printed}");
    }
}

const INSTR: &str = ":ir\nmain\n2\n1\n7\n\nwork\n3\n1\n9\n";
const SAMPLES: &str = "main:10:1\n 1: 5 work:3\nwork:4:1\n 1: 2\n";
const STACKS: &str = "[main tid=1];a;b 1\n[worker tid=2];c;d 2\n";

#[test]
fn order_names_the_family_that_it_cannot_order() {
    let folder = Folder::new();
    fs::write(folder.path("s.prof"), SAMPLES).unwrap();
    fs::write(folder.path("c.folded"), STACKS).unwrap();
    for (file, family) in [
        ("s.prof".to_string(), "LLVM sample profiles"),
        ("c.folded".to_string(), "sampled stacks"),
        (text(testdata("iprof/fibonacci.iprof")), "iprof files"),
        (text(testdata("memprof/clang-22-plain.yaml")), "LLVM memory profiles"),
    ] {
        let words = format!("ordering functions by {family} is not supported");
        check(&folder.run(&["order", &file]), 1, &[&words, "hint: pass an LLVM instrumentation profile"]);
    }
    fs::write(folder.path("i.proftext"), INSTR).unwrap();
    let words = "reading collapsed stacks as an LLVM instrumentation profile is not supported";
    check(&folder.run(&["overlap", "i.proftext", "c.folded"]), 1, &[words]);
}

#[test]
fn directories_and_patterns_in_quotes_have_a_hint() {
    let folder = Folder::new();
    fs::create_dir(folder.path("d")).unwrap();
    fs::write(folder.path("d/a.proftext"), INSTR).unwrap();
    for line in [&["show", "d"][..], &["diff", "d", "d"], &["info", "d"], &["report", "d", "-o", "x.html"]] {
        check(&folder.run(line), 1, &["d: cannot", "`profbridge merge` merges the files of a directory into one"]);
    }
    for line in [&["show", "d/*.proftext"][..], &["info", "d/*.proftext"], &["fit", "d/*", "--against", "d/a.proftext"]]
    {
        check(&folder.run(line), 1, &["remove quotes around it"]);
    }
    check(&folder.run(&["merge", "d", "-o", "x.proftext"]), 0, &[]);
}

#[test]
fn a_directory_as_output_asks_for_another_output() {
    let folder = Folder::new();
    fs::create_dir(folder.path("d")).unwrap();
    fs::write(folder.path("a.proftext"), INSTR).unwrap();
    let words = ["d: cannot open for writing", "hint: choose another output with -o"];
    check(&folder.run(&["merge", "a.proftext", "-o", "d"]), 1, &words);
}

#[test]
fn text_files_with_byte_order_marks_are_read() {
    let folder = Folder::new();
    let write = |name: &str, content: &str| fs::write(folder.path(name), format!("\u{feff}{content}")).unwrap();
    write("a.proftext", INSTR);
    write("comment.proftext", &format!("# written by an editor\r\n{}", INSTR.replace('\n', "\r\n")));
    write("s.prof", SAMPLES);
    write("c.folded", STACKS);
    write("m.memprofyaml", &fs::read_to_string(testdata("memprof/clang-22-plain.yaml")).unwrap());
    for name in ["a.proftext", "comment.proftext", "s.prof", "c.folded", "m.memprofyaml"] {
        check(&folder.run(&["check", name]), 0, &["usable"]);
        check(&folder.run(&["show", name]), 0, &[]);
    }
    write("list", "a.proftext\r\ncomment.proftext\r\n");
    write("names", "main start\r\n");
    let line = ["merge", "-f", "list", "--remapping-file", "names", "-o", "x.proftext"];
    check(&folder.run(&line), 0, &["2 functions from 2 inputs"]);
    let merged = fs::read_to_string(folder.path("x.proftext")).unwrap();
    assert!(merged.contains("start\n") && !merged.contains("main\n") && merged.contains("\n14\n"), "{merged}");
    // A large text is read in parts.
    let many: String = (0..60_000).map(|at| format!("f{at}\n{at}\n1\n{at}\n\n")).collect();
    write("large.proftext", &format!(":ir\n{many}"));
    check(&folder.run(&["show", "large.proftext"]), 0, &["IR", "Total functions: 60000"]);
    check(&folder.run(&["merge", "large.proftext", "-o", "x.profdata"]), 0, &["60000 functions"]);
    for name in ["a.proftext", "m.memprofyaml"] {
        let merge = folder.run(&["llvm-profdata", "merge", name, "-o", "x.profdata"]);
        check(&merge, 1, &["unrecognized instrumentation profile encoding"]);
    }
}

#[test]
fn further_files_of_a_command_have_a_hint() {
    let folder = Folder::new();
    for name in ["a.proftext", "b.proftext", "c.proftext"] {
        fs::write(folder.path(name), INSTR).unwrap();
    }
    let hint = "`profbridge merge A B -o OUT` makes one profile of several, `profbridge diff A B` compares two";
    for line in [
        &["show", "a.proftext", "b.proftext"][..],
        &["diff", "a.proftext", "b.proftext", "c.proftext"],
        &["overlap", "a.proftext", "b.proftext", "c.proftext"],
        &["fit", "a.proftext", "b.proftext", "--against", "c.proftext"],
    ] {
        check(&folder.run(line), 2, &[hint]);
    }
    check(&folder.run(&["merge", "a.proftext", "b.proftext", "-o", "both.proftext"]), 0, &[]);
    check(&folder.run(&["diff", "a.proftext", "b.proftext"]), 0, &[]);
}

#[test]
fn help_lists_the_section_of_a_threshold() {
    let folder = Folder::new();
    check(&folder.run(&["diff", "--help"]), 0, &["--section <NAME>", "counters, indirect-call-targets"]);
    fs::write(folder.path("a.proftext"), INSTR).unwrap();
    fs::write(folder.path("b.proftext"), INSTR.replace("7", "70")).unwrap();
    let line = ["diff", "a.proftext", "b.proftext", "--fail-below", "99%", "--section", "counters"];
    check(&folder.run(&line), 3, &["the overlap of counters"]);
}

#[test]
fn exit_codes_are_those_of_the_documentation() {
    let folder = Folder::new();
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/ci.md")).unwrap();
    for row in [
        "| 1 | failure: a file is missing, damaged or of another kind, or the result would be empty |",
        "| 2 | usage error: change the command line |",
        "| 3 | a threshold or check failed. `merge` writes no output; other commands print the full report |",
    ] {
        assert!(page.contains(row), "{row}");
    }
    // iprof files have no codes of their own.
    let iprof = text(testdata("iprof/fibonacci.iprof"));
    fs::write(folder.path("cut.iprof"), &fs::read(&iprof).unwrap()[..200]).unwrap();
    fs::write(folder.path("notes.txt"), "no profile\n").unwrap();
    for (line, code) in [
        (&["show", &iprof][..], 0),
        (&["show", "missing.iprof"], 1),
        (&["show", "notes.txt"], 1),
        (&["merge", "cut.iprof", "-o", "x.iprof"], 1),
        (&["show", &iprof, "--no-such-option"], 2),
        (&["check", "cut.iprof"], 3),
        (&["merge", &iprof, "--min-inputs", "2", "-o", "x.iprof"], 3),
    ] {
        check(&folder.run(line), code, &[]);
    }
}

#[test]
fn names_that_memory_profiles_lack_are_reported() {
    let folder = Folder::new();
    let file = text(testdata("memprof/clang-22-plain.v4.profdata"));
    let words = "the names of 6 functions are unknown: indexed profiles and YAML store hashes";
    for line in [
        &["show", "--memory", &file][..],
        &["flamegraph", &file, "-o", "x.svg"],
        &["report", &file, "-o", "x.html"],
        &["show", &text(testdata("memprof/clang-22-plain.yaml"))],
    ] {
        check(&folder.run(line), 0, &[words]);
    }
    let program = text(testdata("memprof/clang-22-plain.binary"));
    let dump = text(testdata("memprof/clang-22-plain.memprofraw"));
    let named = folder.run(&["show", &dump, "--profiled-binary", &program]);
    assert!(named.code == Some(0) && named.stderr.is_empty(), "{}", named.stderr);
    check(&folder.run(&["show", &file]), 0, &["has only a memory profile; use --memory to show it"]);
    fs::write(folder.path("i.proftext"), INSTR).unwrap();
    check(&folder.run(&["merge", "i.proftext", &file, "-o", "both.profdata"]), 0, &[]);
    let both = folder.run(&["show", "both.profdata"]);
    assert!(both.code == Some(0) && both.stderr.is_empty(), "{}", both.stderr);
}

#[test]
fn remapping_files_report_rules_without_effect() {
    let folder = Folder::new();
    fs::write(folder.path("i.proftext"), INSTR.replace("main\n2", "main\n3")).unwrap();
    fs::write(folder.path("s.prof"), SAMPLES).unwrap();
    fs::write(folder.path("names"), "gone other\nmain work\n").unwrap();
    for (input, output) in [("i.proftext", "x.proftext"), ("s.prof", "y.proftext")] {
        let finished = folder.run(&["merge", input, "--remapping-file", "names", "-o", output]);
        let unused = "note: names: 1 of 2 rules matches no name of the inputs, such as gone";
        check(&finished, 0, &[unused, "note: names: 1 name joined several functions: work was main and work"]);
    }
    fs::write(folder.path("names"), "main start\n").unwrap();
    let finished = folder.run(&["merge", "i.proftext", "-r", "names", "-o", "z.proftext"]);
    assert!(!finished.stderr.contains("names: "), "{}", finished.stderr);
}

#[cfg(unix)]
#[test]
fn remapping_of_sample_profiles_can_come_from_a_pipe() {
    let folder = Folder::new();
    fs::write(folder.path("s.prof"), SAMPLES).unwrap();
    let line = ["merge", "s.prof", "--remapping-file", "-", "-o", "x.proftext"];
    let program = env!("CARGO_BIN_EXE_profbridge");
    let mut run = std::process::Command::new(program);
    run.args(line).current_dir(folder.path("")).stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let mut child = run.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"main start\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert!(fs::read_to_string(folder.path("x.proftext")).unwrap().contains("start:"));
}

#[test]
fn salvaging_alone_names_the_missing_option() {
    let folder = Folder::new();
    fs::write(folder.path("cut.proftext"), format!("{INSTR}\nlast\n5\n")).unwrap();
    fs::write(folder.path("ok.proftext"), INSTR).unwrap();
    let alone = folder.run(&["merge", "--salvage", "cut.proftext", "-o", "x.proftext"]);
    check(&alone, 1, &["hint: add --failure-mode=warn: --salvage keeps the valid records only if the merge continues"]);
    let line = ["merge", "--salvage", "--failure-mode=warn", "cut.proftext", "-o", "x.proftext"];
    check(&folder.run(&line), 0, &["kept 2 records of 1 damaged"]);
    let pprof = fs::read(testdata("pprof/squares.pprof")).unwrap();
    fs::write(folder.path("cut.pprof"), &pprof[..pprof.len() - 9]).unwrap();
    let iprof = fs::read(testdata("iprof/fibonacci.iprof")).unwrap();
    fs::write(folder.path("cut.iprof"), &iprof[..700]).unwrap();
    for (name, output) in [("cut.pprof", "x.collapsed"), ("cut.iprof", "x.iprof")] {
        let nothing = folder.run(&["merge", "--salvage", "--failure-mode=warn", name, "-o", output]);
        let hint = "hint: --salvage can keep nothing of the unreadable inputs; record or copy them again";
        check(&nothing, 1, &["error: the input cannot be read", hint]);
        assert!(!nothing.stderr.contains("add --failure-mode"), "{}", nothing.stderr);
    }
    let one = folder.run(&["merge", "cut.proftext", "ok.proftext", "-o", "y.proftext"]);
    check(
        &one,
        1,
        &["use --failure-mode=all to merge the other inputs, with --salvage also the valid records of these"],
    );
    let missing = folder.run(&["merge", "ok.proftext", "nosuch", "--failure-mode=warn", "-o", "z.proftext"]);
    check(&missing, 1, &["nosuch: cannot open"]);
    check(&folder.run(&["merge", "--help"]), 0, &["warn: If a file is missing, or the result would be empty"]);
}

#[test]
fn threads_that_exist_are_listed() {
    let folder = Folder::new();
    fs::write(folder.path("c.folded"), STACKS).unwrap();
    for line in [
        &["show", "c.folded", "--thread", "x"][..],
        &["flamegraph", "c.folded", "--thread", "x", "-o", "x.svg"],
        &["convert", "c.folded", "--thread", "x", "-o", "x.pprof"],
    ] {
        check(&folder.run(line), 1, &["(threads: main, worker)"]);
    }
    let heap = text(testdata("pprof/heap.pprof"));
    let words = "the inputs have 262967 bytes of samples; check --events and --thread (no sample has a thread)";
    check(&folder.run(&["show", &heap, "--thread", "x"]), 1, &[words]);
}

#[test]
fn events_that_exist_are_listed() {
    let folder = Folder::new();
    let [shapes, waits] = ["shapes", "waits"].map(|name| text(testdata(&format!("java/{name}-jdk17.jfr.gz"))));
    let words = "the inputs have 91 execution, 46 native, 240 allocation, 547 tlab, 2 lock, ";
    check(
        &folder.run(&["report", &shapes, &waits, "--thread", "x", "-o", "x.html"]),
        1,
        &[words, "; check --events and --thread"],
    );
    check(&folder.run(&["info", &waits]), 0, &["  events        2 lock\n"]);
    let both = [fs::read(&shapes).unwrap(), fs::read(&waits).unwrap()].concat();
    fs::write(folder.path("both.jfr.gz"), both).unwrap();
    let lines = ["  stacks        40 of execution and native samples\n", "  samples       91 execution\n"];
    check(&folder.run(&["info", "both.jfr.gz"]), 0, &[lines[0], lines[1], "  events        2 lock\n"]);
}

#[test]
fn truncated_programs_are_called_truncated() {
    let folder = Folder::new();
    let program = fs::read(testdata("memprof/clang-22-plain.binary")).unwrap();
    for (name, len, words) in [
        ("half", program.len() / 2, "truncated: the table of sections needs"),
        ("head", 40, "truncated: the header needs 64 bytes, 40 left"),
    ] {
        fs::write(folder.path(name), &program[..len]).unwrap();
        check(&folder.run(&["info", name]), 1, &[words]);
    }
}

#[test]
fn recording_again_is_advice_for_damage_only() {
    let folder = Folder::new();
    fs::write(folder.path("cut.data"), b"PERFILE2\x68\0").unwrap();
    check(&folder.run(&["check", "cut.data"]), 3, &["cut.data: perf-data 2: unusable: record again"]);
    let deep = format!("{} 1\n", vec!["f"; 300].join(";"));
    fs::write(folder.path("deep.folded"), deep).unwrap();
    let finished = folder.run(&["check", "deep.folded", "--limit", "context-depth=100"]);
    check(&finished, 3, &["deep.folded: collapsed: unusable\n"]);
}

#[test]
fn hashes_get_the_names_that_another_input_has() {
    let folder = Folder::new();
    let (names, hashes) = (text(testdata("sampleprof/plain.prof")), text(testdata("sampleprof/plain-22.md5")));
    let line = |first: &str, second: &str, output: &str| {
        let finished = folder.run(&["merge", first, second, "-o", output]);
        assert!(finished.code == Some(0) && !finished.stderr.contains("hash"), "{}", finished.stderr);
        fs::read_to_string(folder.path(output)).unwrap()
    };
    let named = line(&names, &names, "a.proftext");
    assert_eq!(line(&names, &hashes, "b.proftext"), named);
    assert_eq!(line(&hashes, &names, "c.proftext"), named);
    // In llvm-profdata mode, the first input decides.
    let genuine = ["llvm-profdata", "merge", "--sample", "--text", &hashes, &names, "-o", "d.proftext"];
    check(&folder.run(&genuine), 0, &[]);
    assert!(!fs::read_to_string(folder.path("d.proftext")).unwrap().contains("main:"));
    // Parts of the merge have the same result.
    check(&folder.run(&["merge", "--partial", &hashes, "-o", "p1.part"]), 0, &[]);
    check(&folder.run(&["merge", "--partial", &names, "-o", "p2.part"]), 0, &[]);
    assert_eq!(line("p1.part", "p2.part", "e.proftext"), named);
}
