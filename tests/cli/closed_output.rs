//! Tests with a standard output that is closed or full: exit codes and error messages stay the same.

use crate::program::{Finished, Folder, testdata};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// Valid profiles, damaged files, and profiles that fail a threshold.
fn folder() -> Folder {
    let folder = Folder::new();
    let texts = [
        ("a.proftext", ":ir\nmain\n1\n1\n5\n\nhelper\n7\n1\n3\n"),
        ("b.proftext", ":ir\nmain\n2\n1\n1\n\nhelper\n7\n1\n90\n"),
        ("cut.iprof", "{\"version\":\"1.0.0\",\"types\":["),
    ];
    for (name, text) in texts {
        fs::write(folder.path(name), text).expect("written");
    }
    let raw = fs::read(testdata("merge/clang-22/run-1.profraw")).expect("read");
    fs::write(folder.path("cut.profraw"), &raw[..raw.len() / 2]).expect("written");
    fs::write(folder.path("run.profraw"), &raw).expect("written");
    folder
}

fn run(folder: &Folder, line: &str, stdout: impl Into<Stdio>) -> Finished {
    let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
    command.args(line.split_whitespace()).current_dir(folder.path("")).stdout(stdout).stderr(Stdio::piped());
    command.spawn().and_then(std::process::Child::wait_with_output).expect("the program runs").into()
}

fn run_closed(folder: &Folder, line: &str) -> Finished {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    run(folder, line, writer)
}

/// Returns `None` on systems without a device that is always full.
fn run_full(folder: &Folder, line: &str) -> Option<Finished> {
    let full = Path::new("/dev/full");
    full.exists().then(|| run(folder, line, File::options().write(true).open(full).expect("a device")))
}

/// Command lines with an exit code other than 0, the code, and a part of the error message.
const FAILING: [(i32, &str, &str); 19] = [
    (3, "below 99 %", "diff --fail-below 99% a.proftext b.proftext"),
    (3, "below 99 %", "diff --json --fail-below 99% a.proftext b.proftext"),
    (3, "below 90 %", "fit a.proftext --against b.proftext --fail-below used-counts=90%"),
    (3, "below 90 %", "fit --json a.proftext --against b.proftext --fail-below used-counts=90%"),
    (3, "below 90 %", "fit a.proftext --against b.proftext --fail-below used-counts=90% --write-remapping -"),
    (3, "cut.profraw", "check a.proftext cut.profraw cut.iprof"),
    (3, "cut.profraw", "check --json cut.profraw"),
    (3, "cut.profraw", "check cut.profraw -q"),
    (1, "nowhere", "check a.proftext nowhere"),
    (1, "cut.profraw", "info a.proftext cut.profraw"),
    (1, "cut.profraw", "info --json cut.profraw"),
    (3, "below 100", "merge -q --json -o x.profdata a.proftext --min-functions 100"),
    (3, "below 100", "merge a.proftext --min-functions 100"),
    (1, "cut.profraw", "merge --json -o x.profdata cut.profraw"),
    (1, "nosuch", "show run.profraw --function nosuch"),
    (1, "cut.profraw", "show --all-functions cut.profraw"),
    (1, "no temporal traces", "order a.proftext"),
    (1, "nowhere", "overlap a.proftext nowhere"),
    (2, "--nosuch", "diff --json --nosuch"),
];

/// Command lines that succeed and print something.
const PASSING: [&str; 15] = [
    "diff a.proftext b.proftext",
    "diff --json --fail-below 1% a.proftext b.proftext",
    "fit a.proftext --against b.proftext",
    "check a.proftext b.proftext",
    "check --json a.proftext",
    "info a.proftext",
    "info --versions",
    "merge -o shown.profdata --show a.proftext",
    "merge -o shown.profdata --json a.proftext",
    "merge --text a.proftext",
    "overlap a.proftext b.proftext",
    "show --all-functions --counts run.profraw",
    "show --json run.profraw",
    "doctor",
    "--help",
];

#[test]
fn exit_codes_and_reasons_are_the_same_when_standard_output_is_closed() {
    let folder = folder();
    for (code, reason, line) in FAILING {
        let open = run(&folder, line, Stdio::piped());
        assert_eq!(open.code, Some(code), "{line}: {}", open.stderr);
        let closed = run_closed(&folder, line);
        assert_eq!(closed.code, Some(code), "{line}: {}", closed.stderr);
        closed.assert_refused(code, &[reason]);
        assert!(!closed.stderr.contains("pipe"), "{line}: {}", closed.stderr);
    }
}

#[test]
fn a_closed_pipe_ends_a_run_without_a_failure_quietly() {
    let folder = folder();
    for line in PASSING {
        let closed = run_closed(&folder, line);
        assert_eq!(closed.code, Some(0), "{line}: {}", closed.stderr);
        assert!(!closed.stderr.contains("error: "), "{line}: {}", closed.stderr);
    }
}

#[test]
fn a_full_standard_output_is_named_and_keeps_the_exit_code_of_a_failure() {
    let folder = folder();
    for (code, reason, line) in FAILING {
        let Some(full) = run_full(&folder, line) else {
            eprintln!("SKIPPED: this system has no /dev/full");
            return;
        };
        full.assert_refused(code, &[reason]);
        // A run that prints nothing does not notice the closed output.
        let prints = !run(&folder, line, Stdio::piped()).stdout.is_empty();
        assert_eq!(full.stderr.contains("cannot write standard output: No space left"), prints, "{line}");
    }
    for line in PASSING {
        let full = run_full(&folder, line).expect("the device is there");
        full.assert_refused(1, &["error: cannot write standard output: No space left"]);
        assert!(!full.stderr.contains("shown.profdata: cannot write"), "{line}: {}", full.stderr);
    }
}

#[test]
fn a_report_whose_reader_leaves_after_the_first_line_keeps_the_exit_code() {
    let folder = folder();
    fs::create_dir(folder.path("many")).expect("created");
    for number in 0..1000 {
        fs::copy(folder.path("cut.iprof"), folder.path(&format!("many/{number:04}.iprof"))).expect("copied");
    }
    let mut script = Command::new("sh");
    script.args(["-c", "{ \"$0\" check many; echo \"code $?\" >&2; } | head -n 1"]);
    script.arg(env!("CARGO_BIN_EXE_profbridge")).current_dir(folder.path(""));
    let finished: Finished = script.output().expect("a shell").into();
    assert!(finished.stderr.contains("code 3"), "{}", finished.stderr);
    assert!(finished.stderr.contains("error: many/0000.iprof: "), "{}", finished.stderr);
    assert!(finished.stderr.contains("999 more"), "{}", finished.stderr);
}

#[test]
fn a_closed_standard_error_does_not_change_the_exit_code() {
    let folder = folder();
    for (code, line) in [
        (0, "merge -o out.profdata a.proftext"),
        (0, "repair --allow-empty -o out.iprof sound.iprof"),
        (0, "merge -o out.folded c.folded"),
        (3, "diff --fail-below 99% a.proftext b.proftext"),
    ] {
        fs::write(folder.path("c.folded"), "a;b 1\n").expect("written");
        fs::write(folder.path("sound.iprof"), "{\"version\":\"1.0.0\",\"types\":[],\"methods\":[]}").expect("written");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
        command.args(line.split_whitespace()).current_dir(folder.path(""));
        let both = [writer.try_clone().expect("a descriptor"), writer];
        let [stdout, stderr] = both;
        let status = command.stdout(stdout).stderr(stderr).status().expect("the program runs");
        assert_eq!(status.code(), Some(code), "{line}");
    }
}
