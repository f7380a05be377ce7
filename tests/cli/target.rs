//! The targets of `merge` and `convert`; the table of docs/reference/target.md.

use crate::program::{Finished, Folder, testdata};
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs a command line in the directory, with a value of `PROFBRIDGE_FOR`.
fn run(folder: &Folder, target: Option<&str>, line: &str, inputs: &[&str]) -> Finished {
    run_with_input(folder, target, line, inputs, b"")
}

fn run_with_input(folder: &Folder, target: Option<&str>, line: &str, inputs: &[&str], bytes: &[u8]) -> Finished {
    let mut arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
    arguments.extend(inputs.iter().map(|name| if *name == "-" { "-".into() } else { testdata(name).into_os_string() }));
    let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
    match target {
        Some(target) => command.env("PROFBRIDGE_FOR", target),
        None => command.env_remove("PROFBRIDGE_FOR"),
    };
    command.args(arguments).current_dir(folder.path("."));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // A program that does not read its input closes it; this is not a failure.
    let _ = child.stdin.take().expect("standard input is a pipe").write_all(bytes);
    child.wait_with_output().expect("the program ends").into()
}

/// Returns the version of the raw or indexed file that a run wrote.
#[track_caller]
fn written_version(folder: &Folder, finished: &Finished, name: &str) -> u64 {
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let bytes = std::fs::read(folder.path(name)).expect("a file is written");
    u64::from_le_bytes(bytes[8..16].try_into().expect("a header has a version")) & 0xffff_ffff
}

const RAW_7: &str = "raw/clang-13-ir.profraw";
const FRONT_END: &str = "raw/clang-14-coverage.profraw";
const RAW_8: &str = "raw/clang-14-ir.profraw";
const RAW_10: &str = "raw/clang-22-ir.profraw";
const INDEXED_7: &str = "raw/clang-14-ir.profdata";
const INDEXED_9: &str = "raw/clang-16-ir.profdata";
const INDEXED_13: &str = "raw/clang-22-ir.profdata";
const TEXT: &str = "raw/clang-14-ir.proftext";

#[test]
fn the_inputs_select_the_target() {
    let folder = Folder::new();
    for (inputs, release, version) in [
        (vec![RAW_7], "llvm-13", 7),
        (vec![RAW_8], "llvm-14", 7),
        (vec![RAW_8, RAW_8], "llvm-14", 7),
        (vec![RAW_10], "llvm-19", 12),
        (vec![RAW_8, RAW_10], "llvm-19", 12),
        (vec![INDEXED_7], "llvm-12", 7),
        (vec![INDEXED_9], "llvm-16", 9),
        (vec![INDEXED_13], "llvm-22", 13),
        (vec![TEXT], "llvm-22", 13),
        (vec![RAW_8, INDEXED_9], "llvm-16", 9),
        (vec![RAW_8, TEXT], "llvm-22", 13),
        (vec![RAW_10, INDEXED_7], "llvm-19", 12),
    ] {
        let merged = run(&folder, None, "merge --json -o merged.profdata", &inputs);
        assert_eq!(written_version(&folder, &merged, "merged.profdata"), version, "{inputs:?}");
        let report: serde_json::Value = serde_json::from_slice(&merged.stdout).expect("the report is JSON");
        let expected = serde_json::json!({ "release": release, "indexed_version": version, "source": "inputs" });
        assert_eq!(report["target"], expected, "{inputs:?}");
        let number = release.trim_start_matches("llvm-");
        let line = format!("merged.profdata: indexed version {version} for LLVM {number} (");
        assert!(merged.stderr.contains(&line), "{inputs:?}: {}", merged.stderr);
        assert!(merged.stderr.contains("); use --for to choose another target\n"), "{}", merged.stderr);
        if let [input] = inputs[..] {
            let converted = run(&folder, None, "convert -o converted.profdata", &[input]);
            assert_eq!(written_version(&folder, &converted, "converted.profdata"), version, "{input}");
            let [merged, converted] =
                ["merged.profdata", "converted.profdata"].map(|name| std::fs::read(folder.path(name)).unwrap());
            assert!(merged == converted, "{input}: merge and convert agree");
        }
    }
}

/// Inputs, the name of the output, and the note about its target.
const DECISIONS: [(&[&str], &str, &str); 13] = [
    (
        &["raw/clang-22-loop-entries.profraw"],
        "out.profdata",
        "indexed version 12 for LLVM 20 (raw version 10 with loop entries)",
    ),
    (&["raw/clang-22-loop-entries.profraw"], "out.proftext", "text for LLVM 20 (raw version 10 with loop entries)"),
    (
        &["raw/clang-20-loop-entries.profdata"],
        "out.profdata",
        "indexed version 12 for LLVM 20 (indexed version 12 with loop entries)",
    ),
    (
        &["raw/clang-17-temporal.profraw"],
        "out.profdata",
        "indexed version 10 for LLVM 17 (raw version 8 with temporal traces)",
    ),
    (
        &["raw/clang-14-entry-coverage.profdata"],
        "out.profdata",
        "indexed version 7 for LLVM 14 (indexed version 7 with byte coverage, function entry coverage)",
    ),
    (&["raw/clang-14-entry-coverage.profraw"], "out.proftext", "text for LLVM 18 (raw version 8 with byte coverage)"),
    (
        &["raw/clang-22-coverage.profraw"],
        "out.profdata",
        "indexed version 13 for LLVM 22 (raw version 10 with hashes of LLVM 22)",
    ),
    (&["raw/clang-23-ir-uniform.profraw"], "out.profdata", "indexed version 14 for LLVM 23 (raw version 11)"),
    (&["memprof/clang-22-plain.v4.profdata"], "out.profdata", "indexed version 13 for LLVM 22 (indexed version 13)"),
    (&["memprof/clang-22-plain.yaml"], "out.profdata", "indexed version 13 for LLVM 22 (the default)"),
    (&["memprof/clang-22-plain.yaml", RAW_8], "out.profdata", "indexed version 13 for LLVM 22 (the default)"),
    (&["iprof/fibonacci.iprof"], "out.profdata", "indexed version 13 for LLVM 22 (the default)"),
    (&[RAW_8], "out.profraw", "raw version 8 for LLVM 14 (raw version 8)"),
];

#[test]
fn the_note_names_the_evidence_whatever_the_order_of_inputs() {
    let folder = Folder::new();
    for (inputs, output, note) in DECISIONS {
        for inputs in [inputs.to_vec(), inputs.iter().rev().copied().collect()] {
            let _ = std::fs::remove_file(folder.path(output));
            let merged = run(&folder, None, &format!("merge -o {output}"), &inputs);
            let line = format!("{output}: {note}; use --for to choose another target\n");
            assert!(merged.code == Some(0) && merged.stderr.contains(&line), "{inputs:?}: {}", merged.stderr);
        }
        if let [input] = inputs {
            let _ = std::fs::remove_file(folder.path(output));
            let converted = run(&folder, None, &format!("convert -o {output}"), &[input]);
            assert!(converted.stderr.contains(&format!("{output}: {note}; ")), "{input}: {}", converted.stderr);
        }
    }
}

#[test]
fn the_default_target_stores_all_of_a_profile() {
    let folder = Folder::new();
    let mut count = 0;
    for entry in std::fs::read_dir(testdata("raw")).expect("the folder is there") {
        let path = entry.expect("the folder is readable").path();
        if !path.extension().is_some_and(|extension| extension == "profraw" || extension == "profdata") {
            continue;
        }
        let name = format!("raw/{}", path.file_name().expect("a file has a name").to_string_lossy());
        let merged = run(&folder, None, "merge --strict -o out.profdata", &[&name]);
        // A raw profile without its image cannot be read.
        assert!(!merged.stderr.contains("cannot hold"), "{name}: {}", merged.stderr);
        count += usize::from(merged.code == Some(0));
    }
    assert!(count > 100, "{count} files were merged");
}

#[test]
fn raw_memory_profiles_are_for_the_oldest_release_that_reads_them() {
    let folder = Folder::new();
    for (compiler, release, version) in
        [(16, "llvm-16", 9), (17, "llvm-17", 10), (18, "llvm-17", 10), (19, "llvm-20", 12), (22, "llvm-22", 13)]
    {
        let program = testdata(&format!("memprof/clang-{compiler}-plain.binary"));
        let line = format!("merge --json -o out --profiled-binary={}", program.display());
        let merged = run(&folder, None, &line, &[&format!("memprof/clang-{compiler}-plain.memprofraw")]);
        assert_eq!(written_version(&folder, &merged, "out"), version, "{compiler}");
        let report: serde_json::Value = serde_json::from_slice(&merged.stdout).expect("the report is JSON");
        assert_eq!(report["target"]["release"], release, "{compiler}");
        let note = format!("for LLVM {} (raw memory profile version ", release.trim_start_matches("llvm-"));
        assert!(merged.stderr.contains(&note), "{}", merged.stderr);
        // A partial merge stores the versions of its inputs.
        let partial = run(
            &folder,
            None,
            &format!("{line} --partial").replace("-o out", "-o part.profdata"),
            &[&format!("memprof/clang-{compiler}-plain.memprofraw")],
        );
        assert_eq!(partial.code, Some(0), "{}", partial.stderr);
        let finished = run(&folder, None, "merge -o out part.profdata", &[]);
        assert_eq!(written_version(&folder, &finished, "out"), version, "{compiler}: {}", finished.stderr);
    }
}

#[test]
fn a_partial_merge_keeps_the_properties_of_its_inputs() {
    let folder = Folder::new();
    let input = ["raw/clang-22-loop-entries.profraw"];
    for line in ["merge --partial -o part.profdata", "merge -o whole.profdata"] {
        assert_eq!(run(&folder, None, line, &input).code, Some(0));
    }
    let finished = run(&folder, None, "merge -o finished.profdata part.profdata", &[]);
    assert!(finished.stderr.contains("for LLVM 20 (raw version 10 with loop entries)"), "{}", finished.stderr);
    let [whole, finished] =
        ["whole.profdata", "finished.profdata"].map(|name| std::fs::read(folder.path(name)).unwrap());
    assert!(whole == finished);
}

#[test]
fn files_without_records_do_not_affect_the_target() {
    let folder = Folder::new();
    let tables = r#"{"version":"1.0.0","types":[{"id":0,"name":"int"}],"methods":[]}"#;
    let blank = [
        ("comment.proftext", "# nothing\n"),
        ("ir.proftext", ":ir\n"),
        ("lines.proftext", "\n\n"),
        ("bytes.proftext", ""),
        ("bytes.iprof", ""),
        ("tables.iprof", tables),
    ];
    for (name, content) in blank {
        std::fs::write(folder.path(name), content).unwrap();
        let alone = run(&folder, None, "merge -o alone.profdata", &[RAW_10]);
        let merged = run(&folder, None, &format!("merge -o merged.profdata {name}"), &[RAW_10]);
        assert_eq!(written_version(&folder, &merged, "merged.profdata"), 12, "{name}: {}", merged.stderr);
        assert!(
            merged.stderr.contains("for LLVM 19 (raw version 10)") || name.ends_with("tables.iprof"),
            "{name}: {}",
            merged.stderr
        );
        let [alone_bytes, bytes] =
            ["alone.profdata", "merged.profdata"].map(|name| std::fs::read(folder.path(name)).unwrap());
        assert!(alone.code == Some(0) && alone_bytes == bytes, "{name} changes the result");
        let counted = run(&folder, None, &format!("merge -o counted.profdata --min-inputs 2 {name}"), &[RAW_10]);
        counted.assert_refused(3, &["the number of inputs used is 1, below 2"]);
    }
}

#[test]
fn the_bytes_are_those_of_the_release() {
    let folder = Folder::new();
    let inputs: Vec<String> = (1..=4).map(|run| format!("merge/clang-14/run-{run}.profraw")).collect();
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    for (target, line, expected) in [
        (None, "merge -o out", "merge/clang-14/llvm-14.profdata"),
        (None, "merge --text -o out", "merge/clang-14/llvm-14.proftext"),
        (None, "merge --sparse -o out", "merge/clang-14/llvm-14-sparse.profdata"),
        (Some("llvm-16"), "merge -o out", "merge/clang-14/llvm-16.profdata"),
        (Some("llvm-16"), "merge --for llvm-15 -o out", "merge/clang-14/llvm-15.profdata"),
        (Some("llvm-16"), "merge --text --for llvm-15 -o out", "merge/clang-14/llvm-15.proftext"),
    ] {
        let finished = run(&folder, target, line, &inputs);
        assert_eq!(finished.code, Some(0), "{line}: {}", finished.stderr);
        let written = std::fs::read(folder.path("out")).expect("a file is written");
        assert!(written == std::fs::read(testdata(expected)).unwrap(), "{line}: not {expected}");
    }
}

#[test]
fn options_go_before_the_environment_and_that_before_the_inputs() {
    let folder = Folder::new();
    for (target, options, release, version, source) in [
        (None, "", "llvm-14", 7, "inputs"),
        (Some(""), "", "llvm-14", 7, "inputs"),
        (Some("llvm-16"), "", "llvm-16", 9, "environment"),
        (Some("rustc-1.75"), "", "llvm-17", 10, "environment"),
        (Some("exact"), "", "llvm-22", 13, "environment"),
        (Some("llvm-16"), "--for llvm-18", "llvm-18", 11, "option"),
        (Some("exact"), "--format-version 8", "llvm-15", 8, "option"),
        (Some("llvm-16"), "--write-prev-version", "llvm-22", 11, "option"),
        (None, "--for xcode-16.3", "llvm-19", 12, "option"),
    ] {
        let finished = run(&folder, target, &format!("merge --json -o out {options}"), &[RAW_8]);
        assert_eq!(written_version(&folder, &finished, "out"), version, "{target:?} {options}");
        let report: serde_json::Value = serde_json::from_slice(&finished.stdout).expect("the report is JSON");
        let written = &report["target"];
        if options != "--write-prev-version" {
            assert_eq!(written["release"], release, "{target:?} {options}");
        }
        assert_eq!((&written["indexed_version"], &written["source"]), (&version.into(), &source.into()), "{options}");
        let tells = finished.stderr.contains("indexed version");
        assert_eq!(tells, source != "option", "{target:?} {options}: {}", finished.stderr);
        if source == "environment" {
            assert!(
                finished.stderr.contains(" (PROFBRIDGE_FOR); use --for to choose another target\n"),
                "{}",
                finished.stderr
            );
        }
        let quiet = run(&folder, target, &format!("merge --quiet -o out {options}"), &[RAW_8]);
        assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""));
    }
}

#[test]
fn raw_output_is_for_the_same_readers() {
    let folder = Folder::new();
    for (target, options, input, version) in [
        (None, "", RAW_7, 7),
        (None, "", RAW_8, 8),
        (None, "", RAW_10, 10),
        (None, "", INDEXED_9, 8),
        (None, "", TEXT, 10),
        (None, "--for llvm-16", RAW_10, 8),
        (None, "--for llvm-18", RAW_8, 9),
        (None, "--for llvm-23", RAW_8, 11),
        (None, "--for llvm-3.8", FRONT_END, 2),
        (Some("llvm-13"), "", RAW_10, 7),
        (Some("llvm-13"), "--for llvm-18", RAW_10, 9),
        (None, "--raw-version 9 --for llvm-16", RAW_10, 9),
        (Some("llvm-13"), "--raw-version 4", RAW_10, 4),
    ] {
        let finished = run(&folder, target, &format!("convert --force --to raw -o out.profraw {options}"), &[input]);
        assert_eq!(written_version(&folder, &finished, "out.profraw"), version, "{target:?} {options} {input}");
        let tells = finished.stderr.contains(&format!("out.profraw: raw version {version} for LLVM "));
        assert_eq!(tells, options.is_empty(), "{target:?} {options}: {}", finished.stderr);
    }
    let finished = run(&folder, None, "convert --force --for llvm-16 -o out.profraw", &["raw/clang-19-mcdc.profraw"]);
    assert!(finished.stderr.contains("dropped ") && finished.stderr.contains("bitmap"), "{}", finished.stderr);
    let strict = run(&folder, None, "convert --strict --for llvm-16 -o strict.profraw", &["raw/clang-19-mcdc.profraw"]);
    strict.assert_refused(1, &["bitmap"]);
    assert!(!folder.path("strict.profraw").exists());
}

/// Readers of raw version 8 separate the file of a local function with `:`, those of version 9 with `;`.
#[test]
fn another_raw_version_is_for_its_readers() {
    let folder = Folder::new();
    std::fs::write(folder.path("new.proftext"), ":ir\na.c;local\n1\n1\n5\n").expect("file can be written");
    let old = run(&folder, None, "convert new.proftext -o old.profraw --for llvm-16", &[]);
    assert_eq!(old.code, Some(0), "{}", old.stderr);
    for (options, name) in [
        ("new.proftext", "a.c;local"),
        ("new.proftext --raw-version 10", "a.c;local"),
        ("new.proftext --raw-version 9", "a.c;local"),
        ("new.proftext --raw-version 8", "a.c:local"),
        ("new.proftext --for llvm-16", "a.c:local"),
        ("new.proftext --raw-version 8 --for llvm-18", "a.c;local"),
        ("old.profraw", "a.c:local"),
        ("old.profraw --raw-version 8", "a.c:local"),
        ("old.profraw --raw-version 10", "a.c;local"),
        ("old.profraw --raw-version 10 --for llvm-17", "a.c:local"),
    ] {
        let made = run(&folder, None, &format!("convert {options} --force -o x.profraw"), &[]);
        assert_eq!(made.code, Some(0), "{options}: {}", made.stderr);
        let shown = run(&folder, None, "show --covered x.profraw", &[]);
        assert_eq!(String::from_utf8_lossy(&shown.stdout), format!("{name}\n"), "{options}");
    }
}

#[test]
fn an_iprof_becomes_the_profile_of_llvm_22_in_convert_and_in_merge() {
    let folder = Folder::new();
    let made = run(&folder, None, "convert -o app.iprof", &[RAW_10]);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    for (line, target, version) in [
        ("convert app.iprof -o out.profdata", None, 13),
        ("merge app.iprof -o out.profdata", None, 13),
        ("merge app.iprof -o out.profdata", Some("llvm-16"), 9),
        ("convert app.iprof -o out.profdata --for llvm-18", Some("llvm-16"), 11),
        ("convert app.iprof -o out.profraw", None, 10),
        ("convert app.iprof -o out.profraw --for llvm-16 --force", None, 8),
    ] {
        let name = if line.contains("profraw") { "out.profraw" } else { "out.profdata" };
        let finished = run(&folder, target, line, &[]);
        assert_eq!(written_version(&folder, &finished, name), version, "{line}");
    }
}

/// The bytes that are probed in a pipe are still there for the merge.
#[test]
fn pipes_and_compressed_files_select_the_target() {
    let folder = Folder::new();
    let bytes = std::fs::read(testdata(RAW_8)).expect("the test data is there");
    for line in ["merge -o out", "convert -o out.profdata"] {
        let name = if line.contains("profdata") { "out.profdata" } else { "out" };
        let finished = run_with_input(&folder, None, line, &["-"], &bytes);
        assert_eq!(written_version(&folder, &finished, name), 7, "{line}");
        let from_file = run(&folder, None, "merge -o whole", &[RAW_8]);
        assert_eq!(from_file.code, Some(0));
        assert!(std::fs::read(folder.path(name)).unwrap() == std::fs::read(folder.path("whole")).unwrap());
    }
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(&bytes).expect("memory takes all");
    std::fs::write(folder.path("packed"), packer.finish().expect("memory takes all")).expect("file can be written");
    let finished = run(&folder, None, "merge -o out packed", &[]);
    assert_eq!(written_version(&folder, &finished, "out"), 7);
}

#[cfg(target_os = "linux")]
#[test]
fn a_named_pipe_is_not_drained() {
    let folder = Folder::new();
    let made = Command::new("mkfifo").arg(folder.path("pipe")).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo makes a pipe");
    let (pipe, from) = (folder.path("pipe"), testdata(RAW_8));
    let writer = std::thread::spawn(move || std::fs::write(pipe, std::fs::read(from).unwrap()));
    let finished = run(&folder, None, "merge -o out pipe", &[]);
    assert_eq!(written_version(&folder, &finished, "out"), 7);
    writer.join().expect("no panic").expect("all was read");
}

#[test]
fn unknown_targets_are_errors_and_nothing_is_written() {
    let folder = Folder::new();
    for (target, options, words) in [
        (
            None,
            "--for llvm-99",
            vec![
                "LLVM 99 is newer than LLVM 23, the newest known release",
                "if that is newer than llvm-23, use --for llvm-23",
            ],
        ),
        (None, "--for rustc-1.103", vec!["rustc 1.103 is newer than rustc 1.102", "--for llvm-N"]),
        (None, "--for lvm-16", vec!["unknown toolchain \"lvm-16\"", "use llvm-16"]),
        (None, "--for rustc", vec!["unknown toolchain \"rustc\"", "rustc-1.75"]),
        (None, "--for ndk-r26", vec!["unknown toolchain \"ndk-r26\"", "its clang reports"]),
        (None, "--for gcc-12", vec!["write llvm-14"]),
        (None, "--format-version 0", vec!["no indexed format of version 0", "choose a version from 1 to "]),
        (None, "--format-version 99", vec!["no indexed format of version 99"]),
        (Some("llvm-99"), "", vec!["PROFBRIDGE_FOR", "LLVM 99 is newer than LLVM 23", "exact"]),
        (Some("llvm-99"), "--for llvm-14", vec!["PROFBRIDGE_FOR"]),
        (Some("EXACT"), "", vec!["PROFBRIDGE_FOR must be a toolchain or exact"]),
    ] {
        for command in ["merge -o out.profdata", "convert -o out.profdata"] {
            let finished = run(&folder, target, &format!("{command} {options}"), &[RAW_8]);
            finished.assert_refused(2, &words);
            assert!(folder.names().is_empty(), "{command} {options}");
        }
    }
    for options in ["--raw-version 6", "--raw-version 0", "--raw-version 99"] {
        let finished = run(&folder, None, &format!("convert -o out.profraw {options}"), &[RAW_8]);
        finished.assert_refused(2, &["version"]);
        assert!(folder.names().is_empty(), "{options}");
    }
}

#[test]
fn rustc_1_99_reads_profiles_of_llvm_23() {
    let folder = Folder::new();
    for (toolchain, version) in [("rustc-1.98", 13), ("rustc-1.99", 14), ("rustc-1.102", 14), ("xcode-26.4", 12)] {
        let finished = run(&folder, None, &format!("merge -o out --for {toolchain}"), &["raw/clang-22-ir.profraw"]);
        assert_eq!(written_version(&folder, &finished, "out"), version, "{toolchain}");
    }
}

#[test]
fn a_rustc_that_was_not_tested_is_noted() {
    let folder = Folder::new();
    for (toolchain, is_noted) in
        [("rustc-1.97", false), ("rustc-1.98", true), ("rust-1.99.0", true), ("llvm-23", false)]
    {
        let finished = run(&folder, None, &format!("merge -o out --for {toolchain}"), &["raw/clang-22-ir.profraw"]);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        assert_eq!(finished.stderr.contains("no such rustc was tested"), is_noted, "{toolchain}: {}", finished.stderr);
    }
}

/// A version that cannot store some data gives a warning, or an error with `--strict`.
#[test]
fn a_version_that_cannot_hold_the_kind_is_refused_with_strict() {
    let folder = Folder::new();
    for (target, options) in [(None, "--for llvm-14"), (Some("llvm-14"), ""), (None, "--format-version 7")] {
        let finished =
            run(&folder, target, &format!("merge -o out --strict {options}"), &["raw/clang-19-mcdc.profraw"]);
        finished.assert_refused(1, &["bitmap"]);
        assert!(!Path::new(&folder.path("out")).exists());
        let reported = run(&folder, target, &format!("merge -o out {options}"), &["raw/clang-19-mcdc.profraw"]);
        assert!(reported.code == Some(0) && reported.stderr.contains("bitmap"), "{}", reported.stderr);
        std::fs::remove_file(folder.path("out")).expect("it was written");
    }
}

/// LLVM 18 and later reject these counts, but the file has them.
#[test]
fn large_counts_in_raw_profiles_are_not_called_dropped() {
    let folder = Folder::new();
    std::fs::write(folder.path("a.proftext"), format!(":ir\nmain\n1\n2\n5\n{}\n", (1_u64 << 56) + 1)).unwrap();
    let written = run(&folder, None, "convert a.proftext -o a.profraw", &[]);
    let warning = "warning: a.profraw: contains 1 count above 2^56, which LLVM 18 and later reject\n";
    assert!(written.code == Some(0) && written.stderr.contains(warning), "{}", written.stderr);
    let refused = run(&folder, None, "convert a.proftext -o b.profraw --strict", &[]);
    refused.assert_refused(1, &["1 count above 2^56, which LLVM 18 and later reject"]);
}

#[test]
fn help_states_the_rule() {
    let folder = Folder::new();
    for command in ["merge", "convert"] {
        let help = run(&folder, None, &format!("{command} --help"), &[]);
        let help = String::from_utf8(help.stdout).expect("help is text");
        for word in ["PROFBRIDGE_FOR", "--for", "raw version 8", "LLVM 14"] {
            assert!(help.contains(word), "{command}: no {word} in:\n{help}");
        }
    }
}

/// LLVM 16 writes binary ids and LLVM 14 does not.
#[test]
fn binary_ids_are_not_a_strict_error() {
    let folder = Folder::new();
    let dump = ["raw/clang-16-ir.profraw"];
    let finished = run(&folder, None, "merge --strict -o x.profdata", &dump);
    assert_eq!(written_version(&folder, &finished, "x.profdata"), 7);
    assert!(finished.stderr.contains("note: x.profdata: dropped 1 binary id"), "{}", finished.stderr);
    for command in ["merge --strict -o x.profdata --for llvm-14", "merge --strict --text -o x.proftext --for llvm-16"] {
        let finished = run(&folder, None, command, &dump);
        assert_eq!(finished.code, Some(0), "{command}: {}", finished.stderr);
        assert!(finished.stderr.contains("dropped 1 binary id"), "{command}: {}", finished.stderr);
    }
}

#[test]
fn ir_counters_are_an_error_for_releases_without_them() {
    let folder = Folder::new();
    for options in ["--for llvm-3.8", "--format-version 3"] {
        for output in ["out.profdata", "out.profraw", "out.proftext"] {
            let finished = run(&folder, None, &format!("convert {options} -o {output}"), &[RAW_8]);
            assert_eq!(finished.code, Some(1), "{options} {output}: {}", finished.stderr);
            assert!(finished.stderr.contains("target LLVM 3.9 or later"), "{}", finished.stderr);
        }
    }
    let finished = run(&folder, None, "convert --for llvm-3.9 -o out.profdata", &[RAW_8]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}
