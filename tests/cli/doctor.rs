//! Tests of `doctor` with its own search paths and with fake tools that only print a version.

use crate::program::{Finished, Folder};
use crate::schema::assert_has_schema;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

const CLANG_14: &str = "echo Debian clang version 14.0.6";
const CLANG_19: &str = "echo clang version 19.1.7";
const RUSTC: &str = r#"if [ "$1" = --print ]; then echo /nowhere
else printf 'rustc 1.95.0\nhost: x86_64-unknown-linux-gnu\nrelease: 1.95.0\nLLVM version: 22.1.2\n'; fi"#;
const PROFDATA_16: &str = "echo LLVM version 16.0.6";
const JAVA: &str = r#"echo 'openjdk version "17.0.15" 2025-04-15' >&2"#;

/// Creates a directory of tools.
fn tools(scripts: &[(&str, &str)]) -> Folder {
    let folder = Folder::new();
    for (name, script) in scripts {
        let path = folder.path(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permitted");
    }
    folder
}

fn doctor(folder: &Folder, arguments: &[&str], variables: &[(&str, &str)]) -> Finished {
    let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
    command.arg("doctor").args(arguments).env_clear().env("PATH", folder.path("."));
    command.envs(variables.iter().copied());
    command.output().expect("the program starts").into()
}

#[track_caller]
fn report(folder: &Folder, variables: &[(&str, &str)]) -> Value {
    let finished = doctor(folder, &["--json"], variables);
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    let report = serde_json::from_slice(&finished.stdout).expect("it is JSON");
    assert_has_schema(&report, "doctor-1.json");
    report
}

fn tool<'a>(report: &'a Value, name: &str) -> &'a Value {
    let named = |tool: &&Value| tool["path"].as_str().is_some_and(|path| path.ends_with(&format!("/{name}")));
    report["tools"].as_array().into_iter().flatten().find(named).expect("the tool is listed")
}

fn advice(report: &Value) -> Vec<&str> {
    report["advice"].as_array().into_iter().flatten().filter_map(|advice| advice["kind"].as_str()).collect()
}

#[test]
fn tools_are_listed_with_the_versions_that_they_read_and_write() {
    let folder = tools(&[("clang", CLANG_19), ("clang-14", CLANG_14), ("rustc", RUSTC), ("java", JAVA)]);
    let report = report(&folder, &[]);
    let of = |name: &str| {
        let tool = tool(&report, name);
        (tool["version"].as_str().unwrap_or("?"), tool["llvm"].as_u64(), tool["raw_version"].as_u64())
    };
    assert_eq!(of("clang"), ("19.1.7", Some(19), Some(10)));
    assert_eq!(of("clang-14"), ("14.0.6", Some(14), Some(8)));
    assert_eq!(of("rustc"), ("1.95.0", Some(22), Some(10)));
    assert_eq!(of("java"), ("17.0.15", None, None));
    assert_eq!(tool(&report, "clang-14")["indexed_version"], 7);
    let text = doctor(&folder, &[], &[]);
    let text = String::from_utf8_lossy(&text.stdout);
    for words in ["LLVM 14: programs write raw 8", "native-image  ", "not found", "a search of PATH  none"] {
        assert!(text.contains(words), "no {words:?} in:\n{text}");
    }
}

#[test]
fn a_compiler_with_an_incompatible_llvm_profdata_is_named() {
    let folder = tools(&[("rustc", RUSTC), ("llvm-profdata", PROFDATA_16)]);
    let found = report(&folder, &[]);
    assert_eq!(advice(&found), ["dumps-are-refused"]);
    let message = found["advice"][0]["message"].as_str().expect("a text");
    assert!(message.contains("raw version 10") && message.contains("LLVM 16"), "{message}");
    assert!(message.contains("mkdir -p bin; ln -s"), "{message}");
    // The variable of cargo-llvm-cov does not help other callers, and only it is to be changed if it is wrong.
    let program = env!("CARGO_BIN_EXE_profbridge");
    assert_eq!(advice(&report(&folder, &[("LLVM_PROFDATA", program)])), ["dumps-are-refused"]);
    let own = tools(&[("rustc", RUSTC)]);
    symlink(program, own.path("llvm-profdata")).expect("linked");
    let old = folder.path("llvm-profdata");
    let found = report(&own, &[("LLVM_PROFDATA", old.to_str().expect("it is UTF-8"))]);
    assert_eq!(advice(&found), ["dumps-are-refused"]);
    let message = found["advice"][0]["message"].as_str().expect("a text");
    assert!(message.ends_with("rejects; set LLVM_PROFDATA=\"$(command -v profbridge)\""), "{message}");
    // LLVM 16's tool reads LLVM 14's profiles.
    let folder = tools(&[("clang", CLANG_14), ("llvm-profdata", PROFDATA_16)]);
    assert_eq!(advice(&report(&folder, &[])), [""; 0]);
    // If compilers are called with a version suffix, the tool is called with one, too.
    let folder = tools(&[("clang-19", CLANG_19), ("llvm-profdata", PROFDATA_16)]);
    assert_eq!(advice(&report(&folder, &[])), [""; 0]);
}

#[test]
fn doctor_proposes_a_link_if_llvm_profdata_is_missing() {
    let folder = tools(&[("clang", CLANG_19)]);
    assert_eq!(advice(&report(&folder, &[])), ["no-llvm-profdata"]);
    assert_eq!(advice(&report(&tools(&[]), &[])), [""; 0], "there is no compiler that searches");
}

#[test]
fn this_program_in_place_of_llvm_profdata_is_known_and_the_reader_is_to_be_chosen() {
    let folder = tools(&[("clang", CLANG_19)]);
    symlink(env!("CARGO_BIN_EXE_profbridge"), folder.path("llvm-profdata")).expect("linked");
    let found = report(&folder, &[]);
    assert_eq!(tool(&found, "llvm-profdata")["is_profbridge"], true);
    assert_eq!(found["clients"][0]["is_profbridge"], true);
    assert_eq!(advice(&found), ["no-reader-chosen"]);
    assert_eq!(advice(&report(&folder, &[("PROFBRIDGE_FOR", "llvm-19")])), [""; 0]);
}

#[test]
fn meaningless_variables_are_reported() {
    let folder = tools(&[]);
    let found = report(&folder, &[("PROFBRIDGE_FOR", "llvm-2"), ("LLVM_PROFDATA", "/nowhere/llvm-profdata")]);
    assert_eq!(advice(&found), ["bad-variable", "bad-variable"]);
    assert_eq!(advice(&report(&folder, &[("PROFBRIDGE_FOR", "exact")])), [""; 0]);
}

#[test]
fn a_tool_that_fails_is_listed_with_the_reason() {
    let folder = tools(&[("clang", "exit 3"), ("go", "echo hello"), ("java", "exec 1>&- 2>&-")]);
    let found = report(&folder, &[]);
    for (name, reason) in [("clang", "exit status: 3"), ("go", "prints no version"), ("java", "prints no version")] {
        let error = tool(&found, name)["error"].as_str().expect("a reason");
        assert!(error.contains(reason), "{name}: {error}");
    }
    assert_eq!(advice(&found), ["tool-fails", "no-llvm-profdata"]);
    let folder = tools(&[("clang", CLANG_19), ("llvm-profdata", "exit 3"), ("llvm-profdata-16", "exit 3")]);
    assert_eq!(advice(&report(&folder, &[])), ["tool-fails"]);
}

/// Old releases accept `--version` only after a command, so `doctor` calls them again. It distinguishes a prefix of the
/// name from the release's own program.
#[test]
fn an_old_llvm_profdata_is_asked_in_its_own_way() {
    let script = r#"[ "$1" = merge ] || exit 1; echo "LLVM version 14.0.6""#;
    let folder = tools(&[("llvm-profdata-14", script)]);
    assert_eq!(tool(&report(&folder, &[]), "llvm-profdata-14")["llvm"], 14);
}

#[test]
fn clang_of_this_machine_is_found() {
    let Some(path) = std::env::var_os("PATH") else { return };
    let clang = std::env::split_paths(&path).map(|folder| folder.join("clang-19")).find(|path| path.exists());
    let Some(clang) = clang else {
        println!("SKIPPED: clang_of_this_machine_is_found: no clang-19");
        return;
    };
    let folder = Folder::new();
    symlink(&clang, folder.path("clang-19")).expect("linked");
    let found = report(&folder, &[]);
    assert_eq!(tool(&found, "clang-19")["llvm"], 19);
    assert!(Path::new(tool(&found, "clang-19")["path"].as_str().expect("a path")).exists());
}
