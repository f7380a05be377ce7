//! Tests of `interop` with fake compilers that fail in different ways. `tests/releases` has those with real compilers.

use crate::program::{Finished, Folder};
use crate::schema::assert_has_schema;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A compiler that answers for its version, and otherwise runs `rest`.
fn fake(rest: &str) -> Folder {
    let folder = Folder::new();
    let path = folder.path("clang");
    fs::write(&path, format!("#!/bin/sh\n[ \"$1\" = --version ] && exec echo clang version 19.1.7\n{rest}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(folder.path("temporary")).unwrap();
    folder
}

/// Writes a program in place of the output of the compiler.
fn with_program(script: &str) -> Folder {
    fake(&format!(
        "while [ $# -gt 1 ] && [ \"$1\" != -o ]; do shift; done\n\
         printf '#!/bin/sh\\n{script}\\n' >\"$2\" && chmod +x \"$2\""
    ))
}

fn interop(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
    command.arg("interop").arg("--toolchain").arg(folder.path("clang")).args(arguments);
    command.env("TMPDIR", folder.path("temporary"));
    command
}

fn run(folder: &Folder, arguments: &[&str]) -> Finished {
    interop(folder, arguments).output().expect("the program starts").into()
}

/// Returns the only cell of a kind.
#[track_caller]
fn cell(folder: &Folder, arguments: &[&str]) -> Value {
    let finished = run(folder, &[arguments, &["--json"]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let document: Value = serde_json::from_slice(&finished.stdout).expect("it is JSON");
    assert_has_schema(&document, "interop-1.json");
    assert_eq!(document["results"].as_array().map(Vec::len), Some(1), "{document}");
    assert_eq!((&document["cells"], &document["holding"]), (&1.into(), &0.into()));
    assert_nothing_is_left(folder);
    document["results"][0].clone()
}

#[track_caller]
fn assert_nothing_is_left(folder: &Folder) {
    let left: Vec<_> = fs::read_dir(folder.path("temporary")).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[track_caller]
fn assert_failed(cell: &Value, reason: &str) {
    for way in ["direct", "through"] {
        assert_eq!((&cell[way]["status"], &cell[way]["reason"]), (&"failed".into(), &reason.into()), "{cell}");
    }
    assert_eq!(cell["holds"], false);
}

#[test]
fn a_compiler_that_cannot_link_is_named() {
    let folder = fake("echo '/usr/bin/ld: cannot find libclang_rt.profile.a' >&2\nexit 1");
    let finished = run(&folder, &["--kind=temporal"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let text = String::from_utf8_lossy(&finished.stdout).into_owned();
    assert!(text.contains("failed [1] / failed [1]"), "{text}");
    assert!(text.contains("[1] clang-19: /usr/bin/ld: cannot find libclang_rt.profile.a"), "{text}");
    assert!(text.contains("0 of 1 cells hold through profbridge"), "{text}");
    assert_failed(&cell(&folder, &["--kind=temporal"]), "clang-19: /usr/bin/ld: cannot find libclang_rt.profile.a");
}

#[test]
fn a_program_that_hangs_is_named() {
    let folder = with_program("sleep 1000");
    let start = Instant::now();
    let cell = cell(&folder, &["--kind=temporal", "--timeout=1"]);
    assert_failed(&cell, "the program of clang-19: did not end within 1 s");
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn programs_that_fail_or_write_no_profile_are_named() {
    assert_failed(
        &cell(&with_program("exit 3"), &["--kind=temporal"]),
        "the program of clang-19: fails (exit status: 3)",
    );
    assert_failed(&cell(&with_program("exit 0"), &["--kind=temporal"]), "the program of clang-19: writes no profile");
}

#[test]
fn a_threshold_fails_if_cells_do_not_hold() {
    let folder = fake("exit 1");
    let finished = run(&folder, &["--kind=temporal", "--fail-below=100%", "--json"]);
    assert_eq!(finished.code, Some(3), "{}", finished.stderr);
    let document: Value = serde_json::from_slice(&finished.stdout).expect("it is JSON");
    assert_has_schema(&document, "interop-1.json");
    assert_eq!((&document["ok"], &document["gates"][0]["passed"]), (&false.into(), &false.into()));
}

#[test]
fn kinds_of_later_releases_are_not_supported_and_no_failure() {
    let folder = fake("exit 1");
    fs::write(folder.path("clang"), "#!/bin/sh\necho clang version 14.0.6\n").unwrap();
    let finished = run(&folder, &["--kind=mcdc,vtables", "--fail-below=0"]);
    let text = String::from_utf8_lossy(&finished.stdout).into_owned();
    assert!(text.contains("not supported by clang-14: mcdc needs LLVM 18 or later"), "{text}");
    assert!(text.contains("0 of 0 cells"), "{text}");
}

#[test]
fn wrong_use_starts_nothing() {
    let folder = fake("exit 1");
    fs::create_dir(folder.path("kept")).unwrap();
    fs::write(folder.path("kept/a"), "").unwrap();
    let kept = format!("--keep={}", folder.path("kept").display());
    let cases: [(&[&str], &str); 5] = [
        (&["--toolchain=clang-2"], "no toolchain clang-2 was found"),
        (&["--toolchain=./absent"], "not a compiler"),
        (&["--kind=jit"], "invalid value 'jit'"),
        (&["--fail-below=101%"], "a share is a number from 0 to 1"),
        (&[&kept], "the directory is not empty"),
    ];
    for (arguments, message) in cases {
        let finished = run(&folder, arguments);
        assert_eq!(finished.code, Some(2), "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(message), "{arguments:?}: {}", finished.stderr);
        assert_nothing_is_left(&folder);
    }
}

#[test]
fn an_interrupted_run_leaves_nothing() {
    let folder = with_program("sleep 1000");
    let mut child = interop(&folder, &["--kind=temporal"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    let has_started = || {
        let kept = fs::read_dir(folder.path("temporary")).unwrap().flatten().next();
        kept.is_some_and(|entry| entry.path().join("temporal/clang-19").is_dir())
    };
    while !has_started() {
        assert!(start.elapsed() < Duration::from_secs(60), "the run does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(start.elapsed() < Duration::from_secs(60));
    assert_nothing_is_left(&folder);
}
