//! Tests of merging files of which some are empty, damaged, or not profiles.

use crate::program::{json, path, run, succeed};
use crate::schema::assert_has_schema;
use profbridge::bridge::MEMBER;
use profbridge::families::merge::iprof::{IprofMergeOptions, merge_iprof_files};
use profbridge::families::merge::mixed::merge_mixed;
use profbridge::families::partial::{Partial, PartialOptions};
use profbridge::input::{Family, Input};
use profbridge::{Cancel, Error, ErrorKind};
use std::path::Path;
use std::process::Output;

/// Creates a directory with two valid profiles, a damaged one and an empty one.
fn runs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (from, to) in [
        ("even-or-odd.iprof", "a.iprof"),
        ("fibonacci.iprof", "b.iprof"),
        ("bad/dangling-method.iprof", "c.iprof"),
        ("bad/empty-file.iprof", "d.iprof"),
    ] {
        std::fs::copy(path(from), folder.path().join(to)).expect("copied");
    }
    folder
}

fn read(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).expect("the output is there")
}

#[track_caller]
fn stderr_of(output: &Output, code: i32) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

#[test]
fn an_empty_input_is_skipped_with_a_warning() {
    let runs = runs();
    let folder = runs.path();
    succeed(folder, &["merge", "a.iprof", "b.iprof", "-o", "expected.iprof"]);
    for mode in ["any", "all", "warn"] {
        let merged = run(
            folder,
            &["merge", "d.iprof", "a.iprof", "d.iprof", "b.iprof", "-o", "x.iprof", "--failure-mode", mode],
        );
        let said = stderr_of(&merged, 0);
        assert!(said.contains("warning: d.iprof: the file is empty; skipped"), "{said}");
        assert!(said.contains("from 2 of 4 inputs, skipped 2 empty"), "{said}");
        assert_eq!(read(folder, "x.iprof"), read(folder, "expected.iprof"));
    }
    let nothing = stderr_of(&run(folder, &["merge", "d.iprof", "d.iprof", "-o", "y.iprof"]), 1);
    assert!(nothing.contains("every input is empty"), "{nothing}");
    assert!(!folder.join("y.iprof").exists());
}

#[test]
fn a_bad_input_ends_the_merge_by_failure_mode() {
    let runs = runs();
    let folder = runs.path();
    succeed(folder, &["merge", "a.iprof", "b.iprof", "-o", "expected.iprof"]);
    let any = stderr_of(&run(folder, &["merge", "a.iprof", "c.iprof", "b.iprof", "-o", "x.iprof"]), 1);
    assert!(any.contains("c.iprof") && any.contains("dangling-method"), "{any}");
    for mode in ["all", "warn"] {
        let output = run(
            folder,
            &["merge", "a.iprof", "c.iprof", "no.iprof", "b.iprof", "-o", "x.iprof", "--failure-mode", mode],
        );
        // A missing file is not a damaged profile.
        assert!(stderr_of(&output, 1).contains("no.iprof"));
        let merged =
            run(folder, &["merge", "--json", "a.iprof", "c.iprof", "b.iprof", "-o", "x.iprof", "--failure-mode", mode]);
        let report = json(&String::from_utf8_lossy(&merged.stdout));
        assert_has_schema(&report, "merge-2.json");
        let warned = stderr_of(&merged, 0);
        assert!(warned.contains("c.iprof") && warned.contains("dangling-method"), "{warned}");
        let outcomes: Vec<_> = (0..3).map(|at| report["inputs"][at]["outcome"].as_str().expect("an outcome")).collect();
        assert_eq!((outcomes, &report["used"]), (vec!["used", "failed", "used"], &2.into()));
        assert_eq!(read(folder, "x.iprof"), read(folder, "expected.iprof"));
    }
    let all = stderr_of(&run(folder, &["merge", "c.iprof", "c.iprof", "-o", "y.iprof", "--failure-mode", "all"]), 1);
    assert!(all.contains("no input can be read"), "{all}");
    assert!(!folder.join("y.iprof").exists());
}

#[test]
fn every_damaged_input_is_reported() {
    let runs = runs();
    let folder = runs.path();
    std::fs::copy(folder.join("c.iprof"), folder.join("e.iprof")).expect("copied");
    for threads in ["1", "4"] {
        let merge = ["merge", "c.iprof", "a.iprof", "e.iprof", "b.iprof", "-o", "x.iprof", "-j", threads];
        let said = stderr_of(&run(folder, &merge), 1);
        for words in ["warning: c.iprof: ", "warning: e.iprof: ", "2 of 4 inputs cannot be read"] {
            assert!(said.contains(words), "{said}");
        }
        assert!(!folder.join("x.iprof").exists());
    }
}

#[test]
fn cancelling_ends_a_merge_at_the_next_input() {
    let documents = [Input::new(path("even-or-odd.iprof")), Input::new(path("fibonacci.iprof"))];
    let llvm = Input::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/raw/clang-22-ir.profraw"));
    let parts = documents.each_ref().map(|input| {
        let part = Partial::of(std::slice::from_ref(input), Family::Iprof, &PartialOptions::default());
        Input::from_bytes(&input.path, part.and_then(|part| part.to_bytes()).expect("a partial merge"))
    });
    let mixed = [&documents[..1], &[llvm], &documents[1..]].concat();
    for (inputs, is_mixed) in [(&documents[..], false), (&parts, false), (&mixed, true)] {
        let (cancel, mut options) = (Cancel::default(), IprofMergeOptions::default());
        options.read.cancel = cancel.clone();
        let mut seen = Vec::new();
        let progress = &mut |done, all| {
            seen.push((done, all));
            cancel.cancel();
        };
        let error: Error = match is_mixed {
            true => merge_mixed(inputs, &options, progress).expect_err("it was cancelled").into(),
            false => merge_iprof_files(inputs, &options, progress).expect_err("it was cancelled").into(),
        };
        assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error}");
        assert_eq!(seen[0], (1, inputs.len()));
    }
}

#[test]
fn valid_entries_of_bad_inputs_are_salvaged() {
    let runs = runs();
    let folder = runs.path();
    succeed(folder, &["repair", "c.iprof", "-o", "repaired.iprof"]);
    succeed(folder, &["merge", "a.iprof", "repaired.iprof", "-o", "expected.iprof"]);
    let merge = ["merge", "a.iprof", "c.iprof", "-o", "x.iprof", "--salvage", "--failure-mode=warn"];
    let said = stderr_of(&run(folder, &merge), 0);
    assert!(said.contains("dangling-method"), "{said}");
    assert_eq!(read(folder, "x.iprof"), read(folder, "expected.iprof"));
}

#[test]
fn a_thin_result_is_refused() {
    let runs = runs();
    let folder = runs.path();
    for option in ["--min-inputs", "--min-functions", "--min-total-count"] {
        let merge = |least: u64| {
            let least = format!("{option}={least}");
            run(folder, &["merge", "a.iprof", "b.iprof", "d.iprof", "-o", "x.iprof", &least])
        };
        stderr_of(&merge(1), 0);
        let thin = stderr_of(&merge(100_000), 3);
        assert!(thin.contains(", below 100000") && thin.contains("nothing was written"), "{thin}");
    }
    let exact = run(folder, &["merge", "a.iprof", "b.iprof", "d.iprof", "-o", "x.iprof", "--min-inputs=2"]);
    stderr_of(&exact, 0);
    let fewer = run(folder, &["merge", "a.iprof", "b.iprof", "d.iprof", "-o", "x.iprof", "--min-inputs=3"]);
    stderr_of(&fewer, 3);
}

#[test]
fn directories_skip_other_json_files() {
    let runs = runs();
    let folder = runs.path();
    succeed(folder, &["merge", "a.iprof", "b.iprof", "-o", "expected.iprof"]);
    std::fs::create_dir(folder.join("in")).expect("made");
    for (name, from) in [("b.iprof", "a.iprof"), ("m.iprof", "b.iprof")] {
        std::fs::copy(folder.join(from), folder.join("in").join(name)).expect("copied");
    }
    let package = r#"{"name":"app","version":"1.0.0","types":"index.d.ts","scripts":{"test":"run"}}"#;
    std::fs::write(folder.join("in/a.json"), package).expect("written");
    std::fs::write(folder.join("in/z.json"), "{\"event\":1}\n{\"event\":2}\n").expect("written");
    let passed = stderr_of(&run(folder, &["merge", "in", "-o", "x.iprof"]), 0);
    assert!(passed.contains("skipped 1 file that is not a profile: in/z.json"), "{passed}");
    // A file that starts like an iprof is recognized as another format during the read.
    assert!(passed.contains("from 2 of 3 inputs, skipped 1 of other formats"), "{passed}");
    assert_eq!(read(folder, "x.iprof"), read(folder, "expected.iprof"));
    // If it is given by name, it is an error.
    let named = stderr_of(&run(folder, &["merge", "a.iprof", "in/a.json", "-o", "y.iprof"]), 1);
    assert!(named.contains("not-an-iprof") && named.contains("version, types and methods"), "{named}");
}

#[test]
fn only_check_reports_old_versions() {
    let folder = tempfile::tempdir().expect("a folder");
    let old = path("layout-2022.iprof");
    let checked = run(folder.path(), &["check", &old]);
    assert!(String::from_utf8_lossy(&checked.stdout).contains("pre-release-version"));
    std::fs::write(folder.path().join("one.proftext"), ":ir\nmain\n1\n1\n5\n").expect("written");
    for arguments in [
        &["merge", &old, &old, "-o", "x.iprof"][..],
        &["show", &old],
        &["convert", &old, "-o", "x.iprof"],
        &["convert", &old, "-o", "x.profdata"],
        &["diff", &old, &old],
        &["report", &old, "-o", "x.html"],
        &["merge", &old, "one.proftext", "-o", "x.iprof"],
        &["fit", &old, "--against", &path("newer.iprof")],
    ] {
        let said = stderr_of(&run(folder.path(), arguments), 0);
        assert!(!said.contains("pre-release") && !said.contains("legacy") && !said.contains("warning"), "{said}");
    }
}

#[test]
fn a_profile_without_tables_gives_the_cause() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad = path("bad/placeholder-tables.iprof");
    let good = path("newer.iprof");
    for arguments in [
        &["show", &bad][..],
        &["merge", &bad, "-o", "x.iprof"],
        &["convert", &bad, "-o", "x.iprof"],
        &["convert", &bad, "-o", "x.profdata"],
        &["repair", &bad, "-o", "x.iprof"],
        &["report", &bad, "-o", "x.html"],
        &["flamegraph", &bad, "-o", "x.svg"],
        &["diff", &good, &bad],
        &["fit", &bad, "--against", &good],
    ] {
        let said = stderr_of(&run(folder.path(), arguments), 1);
        assert!(said.contains("tables were never written") && said.contains("build again"), "{arguments:?}: {said}");
    }
    let checked = run(folder.path(), &["check", &bad]);
    let text = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert_eq!(checked.status.code(), Some(3));
    assert!(text.contains("tables were never written") && text.contains("build again"), "{text}");
}

/// Writes an iprof with the counts of an LLVM profile in the extension.
fn carrier(folder: &Path, name: &str, count: u64) {
    std::fs::write(folder.join("c.proftext"), format!(":ir\nmain\n1\n2\n{count}\n{count}\n\n")).expect("written");
    succeed(folder, &["convert", "c.proftext", "-o", name]);
    let text = String::from_utf8(read(folder, name)).expect("text");
    assert!(text.contains(&format!("\"{}\":", std::str::from_utf8(MEMBER).expect("a name"))));
}

#[test]
fn inputs_with_records_of_llvm_are_merged_from_pipes_as_from_files() {
    let runs = runs();
    let folder = runs.path();
    carrier(folder, "l.iprof", 5);
    succeed(folder, &["merge", "a.iprof", "l.iprof", "l.iprof", "-o", "expected.iprof"]);
    let line = "cat a.iprof | \"$profbridge\" merge - <(cat l.iprof) l.iprof -o x.iprof";
    let program = env!("CARGO_BIN_EXE_profbridge");
    let mut shell = std::process::Command::new("bash");
    match shell.args(["-c", line]).env("profbridge", program).current_dir(folder).output() {
        Ok(output) => {
            stderr_of(&output, 0);
            assert_eq!(read(folder, "x.iprof"), read(folder, "expected.iprof"));
        }
        Err(_) => println!("SKIPPED: there is no bash"),
    }
    let report = json(&succeed(folder, &["merge", "--json", "a.iprof", "l.iprof", "d.iprof", "-o", "y.iprof"]));
    assert_has_schema(&report, "merge-2.json");
    assert_eq!((&report["inputs"][2]["outcome"], &report["used"]), (&"empty".into(), &2.into()));
    succeed(folder, &["convert", "y.iprof", "-o", "y.proftext"]);
    assert!(String::from_utf8(read(folder, "y.proftext")).expect("text").contains("main"));
    let scaled = stderr_of(&run(folder, &["merge", "--normalize", "a.iprof", "l.iprof", "-o", "z.iprof"]), 2);
    assert!(scaled.contains("l.iprof") && scaled.contains("integer weights"), "{scaled}");
}

/// The average of equal runs is one run: each count is rounded once.
#[test]
fn a_scale_applies_to_the_sum_of_the_inputs() {
    let folder = tempfile::tempdir().expect("a directory");
    let folder = folder.path();
    std::fs::copy(path("fibonacci.iprof"), folder.join("run.iprof")).expect("copied");
    succeed(folder, &["merge", "run.iprof", "-o", "one.iprof"]);
    let runs = ["run.iprof"; 10];
    succeed(folder, &[&["merge"], &runs[..], &["--scale", "1/10", "-o", "average.iprof"]].concat());
    succeed(folder, &["merge", "--scale", "1/10", "--weighted-input", "10,run.iprof", "-o", "weighted.iprof"]);
    let duplicates = ["merge", "--allow-duplicates", "--partial", "-o", "runs.part"];
    succeed(folder, &[&duplicates[..], &runs[..]].concat());
    succeed(folder, &["merge", "--scale", "1/10", "--allow-duplicates", "runs.part", "-o", "part.iprof"]);
    for name in ["average.iprof", "weighted.iprof", "part.iprof"] {
        assert!(read(folder, name) == read(folder, "one.iprof"), "{name}");
    }
}
