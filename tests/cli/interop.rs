//! Tests of `interop` with fake compilers that fail in different ways. `tests/releases` has those with real compilers.

use crate::program::{Finished, Folder};
use crate::schema::assert_has_schema;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A compiler of LLVM 19 that answers for its version, and otherwise runs `rest`.
fn fake(rest: &str) -> Folder {
    let folder = Folder::new();
    write_tool(&folder, "clang", &format!("[ \"$1\" = --version ] && exec echo clang version 19.1.7\n{rest}"));
    fs::create_dir(folder.path("temporary")).unwrap();
    folder
}

fn write_tool(folder: &Folder, name: &str, script: &str) {
    fs::write(folder.path(name), format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(folder.path(name), fs::Permissions::from_mode(0o755)).unwrap();
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
fn crashes_are_named_unless_an_error_comes_first() {
    let crash = |messages: &str| {
        let folder = fake(&format!("printf '{messages}' >&2\nkill -SEGV $$"));
        cell(&folder, &["--kind=temporal"])
    };
    assert_failed(&crash("warning: other\\n#0 0x0 (bin/clang+0x1)\\n"), "clang-19: crashed (signal 11)");
    assert_failed(&crash("LLVM ERROR: out of memory\\n#0 0x0 (bin/clang+0x1)\\n"), "clang-19: out of memory");
}

#[test]
fn programs_with_memory_profiles_have_build_ids() {
    let folder = fake("case \"$*\" in *-Wl,--build-id*) echo 'error: a build id' >&2;; esac\nexit 1");
    assert_failed(&cell(&folder, &["--kind=memprof"]), "clang-19: a build id");
}

#[test]
fn tools_with_a_number_next_to_the_compiler_are_found() {
    let folder = fake("exit 1");
    write_tool(&folder, "clang-98", "echo clang version 98.0.0");
    for name in ["llvm-profdata-98", "llvm-profdata-97", "llvm-cov-98"] {
        write_tool(&folder, name, &format!("echo LLVM version {}.0.0", &name[name.len() - 2..]));
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
    command.current_dir(folder.path("")).env("TMPDIR", folder.path("temporary"));
    // The path is relative, and the tools start in other directories.
    let line = ["interop", "--toolchain=./clang-98", "--kind=temporal", "--json"];
    let finished = Finished::from(command.args(line).output().unwrap());
    let document: Value = serde_json::from_slice(&finished.stdout).expect("it is JSON");
    let toolchains = document["toolchains"].as_array().unwrap();
    assert_eq!(toolchains.len(), 1, "{document}");
    for (tool, name) in [("llvm_profdata", "llvm-profdata-98"), ("llvm_cov", "llvm-cov-98")] {
        let found = toolchains[0][tool].as_str().unwrap_or_default();
        assert!(found.starts_with('/') && found.ends_with(name), "{document}");
    }
}

#[test]
fn a_directory_with_numbered_compilers_has_its_newest() {
    let folder = fake("exit 1");
    fs::create_dir(folder.path("tools")).unwrap();
    for release in ["9", "97", "98"] {
        write_tool(&folder, &format!("tools/clang-{release}"), &format!("echo clang version {release}.0.0"));
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
    command.current_dir(folder.path("")).env("TMPDIR", folder.path("temporary"));
    let line = ["interop", "--toolchain=./tools", "--kind=temporal", "--json"];
    let finished = Finished::from(command.args(line).output().unwrap());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let document: Value = serde_json::from_slice(&finished.stdout).expect("it is JSON");
    let compiler = document["toolchains"][0]["compiler"].as_str().unwrap_or_default();
    assert!(compiler.ends_with("/tools/clang-98"), "{document}");
}

#[test]
fn a_missing_llvm_profdata_is_the_reason_of_the_direct_half_alone() {
    let folder = with_program("echo other >profile.profraw");
    let text = fs::read_to_string(folder.path("clang")).unwrap();
    fs::write(folder.path("clang"), text.replace("19.1.7", "98.0.0")).unwrap();
    let cell = cell(&folder, &["--kind=mcdc"]);
    assert_eq!(cell["direct"]["status"], "unsupported", "{cell}");
    assert_eq!(cell["direct"]["reason"], "llvm-profdata of LLVM 98 is not installed");
    assert_eq!(cell["through"]["status"], "failed");
    let reason = cell["through"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("profbridge: "), "{reason}");
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
