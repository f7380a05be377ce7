//! Tests of invalid inputs and outputs: a clear message, exit code 1, and earlier results stay unchanged.

use crate::program::{Finished, Folder, testdata};
use std::ffi::OsString;

/// The output of an earlier merge.
const OLD_RESULT: &[u8] = b":ir\nold\n1\n1\n5\n";

/// Merges files of `testdata/bad` over an existing `out.profdata`.
fn merge_over_an_old_result(names: &[&str]) -> (Folder, Finished) {
    let folder = Folder::new();
    std::fs::write(folder.path("out.profdata"), OLD_RESULT).expect("file can be written");
    let mut arguments: Vec<OsString> = ["merge", "-o", "out.profdata"].map(OsString::from).to_vec();
    arguments.extend(names.iter().map(|name| testdata(name).into_os_string()));
    let finished = folder.run(&arguments);
    (folder, finished)
}

#[track_caller]
fn assert_refused_and_old_result_untouched(name: &str, words: &[&str]) {
    let (folder, finished) = merge_over_an_old_result(&[name]);
    finished.assert_refused(1, words);
    finished.assert_refused(1, &[testdata(name).to_str().expect("the path is text")]);
    assert_eq!(std::fs::read(folder.path("out.profdata")).expect("file is there"), OLD_RESULT);
    assert_eq!(folder.names(), ["out.profdata"], "no temporary file stays behind");
}

#[test]
fn a_file_that_is_not_a_profile_is_an_error() {
    assert_refused_and_old_result_untouched("bad/not-a-profile.profraw", &["not a profile", "hint: "]);
    assert_refused_and_old_result_untouched("bad/four-bytes.profraw", &["not a profile"]);
}

#[test]
fn a_merge_repairs_wrong_key_hashes_that_check_finds() {
    let folder = Folder::new();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path(name), bytes).expect("file can be written");
    let read = |name: &str| std::fs::read(folder.path(name)).expect("file is there");
    write("a.proftext", b":ir\nmain\n1\n1\n5\n\nfoo\n2\n2\n7\n8\n");
    let merge = |inputs: &[&str], output: &str| {
        let finished = folder.run(&[&["merge", "--force", "-o", output], inputs].concat());
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        read(output)
    };
    let mut bytes = merge(&["a.proftext"], "valid.profdata");
    // The hash of a key is 24 bytes before the key.
    let at = bytes.windows(3).position(|bytes| bytes == b"foo").expect("the function is in the file") - 24;
    bytes[at] ^= 1;
    write("damaged.profdata", &bytes);
    let checked = folder.run(&["check", "damaged.profdata"]);
    let found = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert_eq!(checked.code, Some(3), "{found}");
    assert!(found.contains("the key hash of foo is 0x"), "{found}");
    assert!(found.contains("(merge the file to write a new hash table)"), "{found}");
    assert_eq!(merge(&["damaged.profdata"], "one.profdata"), read("valid.profdata"));
    let both = merge(&["valid.profdata", "valid.profdata"], "both.profdata");
    assert_eq!(merge(&["damaged.profdata", "valid.profdata"], "first.profdata"), both);
    assert_eq!(merge(&["valid.profdata", "damaged.profdata"], "second.profdata"), both);
}

#[test]
fn a_truncated_profile_is_refused_with_place_and_advice() {
    assert_refused_and_old_result_untouched("bad/truncated.profraw", &["raw v10", "byte 0x", "hint: "]);
    assert_refused_and_old_result_untouched("bad/truncated-in-header.profraw", &["raw v10", "header"]);
    assert_refused_and_old_result_untouched("bad/truncated-in-value-data.profraw", &["raw v10", "value data"]);
    assert_refused_and_old_result_untouched("bad/truncated.profdata", &["indexed v13"]);
}

#[test]
fn a_huge_length_is_refused_and_named() {
    assert_refused_and_old_result_untouched(
        "bad/huge-length.profraw",
        &["raw v10", "section names", "4611686018427387904", "hint: "],
    );
    assert_refused_and_old_result_untouched("bad/huge-num-data.profraw", &["raw v10", "section data", "hint: "]);
    assert_refused_and_old_result_untouched("bad/huge-value-data.profraw", &["raw v10", "value data"]);
}

#[test]
fn lengths_that_make_llvm_23_abort_are_malformed() {
    for name in ["huge-number-of-counters", "bitmap-length-near-2-64", "uniformity-length-near-2-64"] {
        let name = format!("bad/{name}.profdata");
        assert_refused_and_old_result_untouched(&name, &["indexed v14", "byte 0x", "malformed"]);
    }
}

#[test]
fn an_unsupported_version_is_refused_with_the_known_ones() {
    assert_refused_and_old_result_untouched("bad/unsupported-version.profraw", &["version 99", "hint: "]);
    assert_refused_and_old_result_untouched("bad/version-6.profraw", &["version 6"]);
    assert_refused_and_old_result_untouched("bad/unsupported-version.profdata", &["version 99"]);
    assert_refused_and_old_result_untouched(
        "bad/version-15.profdata",
        &[
            "version 15",
            "supported versions are 1 to 14",
            "LLVM 23 writes 14",
            "hint: the profile was written by a release after LLVM 23",
        ],
    );
}

#[test]
fn losses_of_an_older_version_are_errors_when_strict() {
    let merge = |options: &[&str]| {
        let folder = Folder::new();
        let mut arguments: Vec<OsString> = ["merge", "-o", "out.profdata"].map(OsString::from).to_vec();
        arguments.extend(options.iter().map(OsString::from));
        arguments.push(testdata("merge/clang-23/uniform-1.profraw").into_os_string());
        let finished = folder.run(&arguments);
        (std::fs::read(folder.path("out.profdata")).ok(), finished)
    };
    let (written, finished) = merge(&["--for", "llvm-22", "--strict"]);
    finished.assert_refused(1, &["21 uniformity bits of blocks"]);
    assert_eq!(written, None);
    let version = |options: &[&str]| merge(options).0.map(|bytes| bytes[8]);
    assert_eq!(version(&["--for", "llvm-23", "--strict"]), Some(14));
    assert_eq!(version(&["--for", "llvm-23", "--write-prev-version"]), Some(11));
    assert_eq!(version(&["--for", "llvm-18", "--write-prev-version"]), None);
}

/// Records, lines and counts that are missing in the result are in the document, and errors with `--strict`.
#[test]
fn dropped_records_of_inputs_are_in_the_document_and_errors_when_strict() {
    let folder = Folder::new();
    for (name, text) in [
        ("a.proftext", ":ir\nf\n1\n2\n5\n6\n"),
        ("three-counters.proftext", ":ir\nf\n1\n3\n5\n6\n7\n"),
        ("large.proftext", ":ir\nf\n1\n2\n18446744073709551612\n600\n"),
        ("b.prof", "f:10:1\n 1: 5\n !CFGChecksum: 111\n"),
        ("other-checksum.prof", "f:10:1\n 1: 5\n !CFGChecksum: 222\n"),
        ("c.collapsed", "a;b 1\nc;d 2\n"),
        ("no-stack.collapsed", "a;b 1\nno number\n"),
        ("maximum.collapsed", "a;b 9223372036854775807\n"),
    ] {
        std::fs::write(folder.path(name), text).expect("file can be written");
    }
    for (good, bad, output, words) in [
        ("a.proftext", "three-counters.proftext", "o.profdata", "record dropped"),
        ("a.proftext", "large.proftext", "o.profdata", "maximum"),
        ("b.prof", "other-checksum.prof", "o.afdo", "checksum"),
        ("c.collapsed", "no-stack.collapsed", "o.collapsed", "skipped 1 line"),
        ("c.collapsed", "maximum.collapsed", "o.collapsed", "1 sum stopped at 2^63-1"),
    ] {
        // A partial merge of stacks keeps the counts of its inputs, so only the last merge has sums.
        let as_part = if bad == "maximum.collapsed" { &[][..] } else { &["--partial"] };
        for options in [&[][..], as_part] {
            let merge =
                |more: &[&str]| folder.run(&[&["merge", "-q", good, bad, "-o", output], options, more].concat());
            merge(&["--strict"]).assert_refused(1, &["omit --strict", words]);
            assert!(!folder.names().contains(&output.to_string()), "{bad}");
            let finished = merge(&["--json"]);
            assert_eq!(finished.code, Some(0), "{bad}: {}", finished.stderr);
            let document: serde_json::Value = serde_json::from_slice(&finished.stdout).expect("a document");
            let of = |name: &str| document[name].to_string();
            assert!((of("inputs") + &of("warnings")).contains(words), "{bad} {options:?}: {document}");
            std::fs::remove_file(folder.path(output)).expect("written");
        }
    }
}

#[test]
fn one_bad_file_among_good_ones_stops_the_merge() {
    let (folder, finished) = merge_over_an_old_result(&[
        "merge/clang-22/run-1.profraw",
        "bad/truncated.profraw",
        "merge/clang-22/run-2.profraw",
    ]);
    finished.assert_refused(1, &["truncated.profraw"]);
    assert_eq!(std::fs::read(folder.path("out.profdata")).expect("file is there"), OLD_RESULT);
}

#[test]
fn no_file_of_bad_makes_the_program_panic_or_hang() {
    let folder = Folder::new();
    for entry in std::fs::read_dir(testdata("bad")).expect("folder is readable") {
        let path = entry.expect("folder is readable").path();
        if path.is_file() {
            for command in
                ["merge", "show", "info", "check", "llvm-profdata merge", "llvm-profdata show --counts --all-functions"]
            {
                let mut arguments: Vec<OsString> = command.split(' ').map(OsString::from).collect();
                arguments.push(path.clone().into_os_string());
                let finished = folder.run(&arguments);
                assert!(matches!(finished.code, Some(0..=3)), "{command} {}: {}", path.display(), finished.stderr);
                assert!(!finished.stderr.contains("panicked"), "{}", finished.stderr);
            }
        }
    }
}

#[test]
fn an_empty_file_is_skipped_among_others_and_reported_alone() {
    let good = testdata("merge/clang-22/run-1.profraw");
    let folder = Folder::new();
    let alone = folder.run(&[OsString::from("merge"), "-o".into(), "alone.profdata".into(), good.clone().into()]);
    assert_eq!(alone.code, Some(0), "{}", alone.stderr);
    let both = folder.run(&[
        OsString::from("merge"),
        "-o".into(),
        "both.profdata".into(),
        testdata("bad/empty.profraw").into(),
        good.into(),
    ]);
    assert_eq!(both.code, Some(0), "{}", both.stderr);
    let read = |name: &str| std::fs::read(folder.path(name)).expect("file is there");
    assert_eq!(read("alone.profdata"), read("both.profdata"));
    assert!(both.stderr.contains("empty.profraw"), "the skipped file is named: {}", both.stderr);
}

#[test]
fn a_missing_input_is_named() {
    let folder = Folder::new();
    let finished = folder.run(&["merge", "-o", "out.profdata", "nowhere.profraw"]);
    finished.assert_refused(1, &["nowhere.profraw", "No such file"]);
    assert!(folder.names().is_empty());
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    let folder = Folder::new();
    let good = testdata("merge/clang-22/run-1.profraw");
    let finished =
        folder.run(&[OsString::from("merge"), "-o".into(), "no/such/folder/out.profdata".into(), good.into()]);
    finished.assert_refused(1, &["no/such/folder/out.profdata", "No such file"]);
}

#[test]
fn an_output_that_is_a_folder_is_named() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("out")).expect("folder can be made");
    let good = testdata("merge/clang-22/run-1.profraw");
    let finished = folder.run(&[OsString::from("merge"), "-o".into(), "out".into(), good.into()]);
    finished.assert_refused(1, &["out"]);
    assert_eq!(folder.names(), ["out"]);
}

#[test]
fn no_input_at_all_is_a_usage_error() {
    let finished = Folder::new().run(&["merge", "-o", "out.profdata"]);
    finished.assert_refused(2, &["no input"]);
}

#[test]
fn an_output_without_room_is_named() {
    if !std::path::Path::new("/dev/full").exists() {
        eprintln!("SKIPPED: this system has no /dev/full");
        return;
    }
    let good = testdata("merge/clang-22/run-1.profraw");
    let finished = Folder::new().run(&[OsString::from("merge"), "-o".into(), "/dev/full".into(), good.into()]);
    finished.assert_refused(1, &["/dev/full", "No space left"]);
}

#[test]
fn a_read_only_old_result_is_left_alone() {
    let folder = Folder::new();
    let old = folder.path("out.profdata");
    std::fs::write(&old, OLD_RESULT).expect("file can be written");
    let mut permissions = std::fs::metadata(&old).expect("file is there").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&old, permissions).expect("permissions can be set");
    if std::fs::OpenOptions::new().append(true).open(&old).is_ok() {
        eprintln!("SKIPPED: this user may write to files that are read-only");
        return;
    }
    let good = testdata("merge/clang-22/run-1.profraw");
    let finished = folder.run(&[OsString::from("merge"), "-o".into(), "out.profdata".into(), good.into()]);
    finished.assert_refused(1, &["out.profdata", "Permission denied", "hint: "]);
    assert_eq!(std::fs::read(&old).expect("file is there"), OLD_RESULT);
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    use std::process::{Command, Stdio};
    let good = testdata("merge/clang-22/run-1.profraw");
    let mut child = Command::new(env!("CARGO_BIN_EXE_profbridge"))
        .args(["merge", "--text"])
        .arg(good)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let finished: Finished = child.wait_with_output().expect("the program ends").into();
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(!finished.stderr.contains("error: "), "{}", finished.stderr);
}
