//! Tests of the laws with real llvm-profdata releases and with real files.

use super::documents::any_document;
use super::helpers::{
    canon, indexed_bytes, j, l, merge_documents, parse, read_profile, text_bytes, text_of, try_read_profile,
};
use profbridge::bridge::{ToLlvmOptions, to_llvm};
use profbridge::iprof::Document;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns an installed release of llvm-profdata. Prints a message and returns `None` if it is missing.
fn tool(release: u32) -> Option<String> {
    let name = format!("llvm-profdata-{release}");
    let found = Command::new(&name).arg("--version").output().is_ok();
    if !found {
        eprintln!("SKIPPED: {name} is not installed");
    }
    found.then_some(name)
}

/// Merges files and returns the output.
fn merge(tool: &str, inputs: &[PathBuf], options: &[&str], output: &Path) -> Vec<u8> {
    let run = Command::new(tool).arg("merge").args(options).args(inputs).arg("-o").arg(output).output();
    let run = run.expect("the tool was there a moment ago");
    let messages = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && messages.is_empty(), "{tool} {options:?}: {messages}");
    std::fs::read(output).expect("the tool wrote its output")
}

/// Generates the same documents in every run.
fn some_documents(count: usize, runner: &mut TestRunner) -> Vec<Document> {
    (0..count).map(|_| any_document().new_tree(runner).expect("no filters").current()).collect()
}

/// Writes each document's profile and returns the files.
fn write_all(folder: &Path, documents: &[Document], version: u32, as_text: bool) -> Vec<PathBuf> {
    let mut options = ToLlvmOptions::default();
    options.indexed_version = version;
    documents
        .iter()
        .enumerate()
        .map(|(at, document)| {
            let (profile, _) = to_llvm(document, &options).expect("no contradictions");
            let path = folder.join(format!("{at}.profdata"));
            let bytes = if as_text { text_bytes(&profile) } else { indexed_bytes(&profile, version) };
            std::fs::write(&path, bytes).expect("the folder can be written");
            path
        })
        .collect()
}

fn merging_by_the_tool_is_merging_as_iprof(release: u32, version: u32, cases: usize, forms: &[&[&str]]) {
    let Some(tool) = tool(release) else { return };
    let mut runner = TestRunner::deterministic();
    for case in 0..cases {
        let documents = some_documents(2 + case % 6, &mut runner);
        let expected = canon(&merge_documents(&documents));
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let inputs = write_all(folder.path(), &documents, version, case % 3 == 2);
        let form = forms[case % forms.len()];
        let threads = format!("-num-threads={}", 1 + case % 4);
        let options = [form, &[&threads]].concat();
        let merged = merge(&tool, &inputs, &options, &folder.path().join("all"));
        assert_eq!(text_of(&j(&read_profile(&merged))), expected, "case {case}, {options:?}");
        // In two stages.
        let (head, tail) = inputs.split_at(inputs.len() / 2);
        let stages = [folder.path().join("head"), folder.path().join("tail")];
        merge(&tool, head, form, &stages[0]);
        merge(&tool, tail, form, &stages[1]);
        let merged = merge(&tool, &stages, form, &folder.path().join("staged"));
        assert_eq!(text_of(&j(&read_profile(&merged))), expected, "case {case} in stages, {form:?}");
    }
}

const FORMS: &[&[&str]] = &[&[], &["-sparse"], &["-text"], &["-text", "-sparse"]];

#[test]
fn merging_by_llvm_profdata_22_is_merging_as_iprof() {
    merging_by_the_tool_is_merging_as_iprof(22, 12, 24, FORMS);
}

#[test]
fn merging_by_llvm_profdata_19_is_merging_as_iprof() {
    merging_by_the_tool_is_merging_as_iprof(19, 12, 24, FORMS);
}

#[test]
fn merging_by_older_tools_is_merging_as_iprof() {
    // The versions that these releases write. `-sparse` drops records whose counts are all 0.
    for (release, version) in [(13, 7), (14, 7), (15, 8), (16, 9)] {
        merging_by_the_tool_is_merging_as_iprof(release, version, 6, &[&[], &["-text"]]);
    }
}

#[test]
fn the_tools_show_the_documented_output() {
    let document = parse(include_bytes!("fibonacci.iprof"));
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let file = &write_all(folder.path(), &[document], 12, false)[0];
    for tool in [19, 22].into_iter().filter_map(tool) {
        let show = |options: &[&str]| {
            let run = Command::new(&tool).arg("show").args(options).arg(file).output().expect("the tool is there");
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
            String::from_utf8(run.stdout).expect("names are UTF-8")
        };
        let counts = show(&["--all-functions", "--counts"]);
        assert!(counts.contains("app.Fibonacci#fib(int)int {calls 2?7,14}:"), "{counts}");
        assert!(counts.contains("Block counts: [176, 89, 87]"), "{counts}");
        assert!(!counts.contains("java.util.HashMap:"), "types are context-sensitive records: {counts}");
        let samples = show(&["--all-functions", "--counts", "--showcs"]);
        assert!(samples.contains("@ app.Fibonacci#fib(int)int:21]:"), "{samples}");
        assert!(samples.contains("java.util.HashMap:"), "{samples}");
        let receivers = show(&["--all-functions", "--show-vtables"]);
        assert!(receivers.contains("java.util.HashMap"), "{receivers}");
    }
}

/// Returns all files below `folder` with the extension of an LLVM profile.
fn profiles_below(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            profiles_below(&path, found);
        } else if path.extension().is_some_and(|e| e == "profraw" || e == "profdata" || e == "proftext") {
            found.push(path);
        }
    }
    found.sort();
}

#[test]
fn every_real_profile_survives_the_trip_to_iprof_and_back() {
    let mut files = Vec::new();
    profiles_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata"), &mut files);
    if files.is_empty() {
        eprintln!("SKIPPED: no profiles in testdata");
    }
    let mut survived = 0;
    for path in files {
        let bytes = std::fs::read(&path).expect("a file that was listed");
        // Skip damaged files and files that need a binary.
        let Ok(profile) = try_read_profile(&bytes) else { continue };
        let document = j(&profile);
        let text = text_of(&document);
        let back = l(&parse(text.as_bytes()));
        for version in [7, 12, 13] {
            let same = indexed_bytes(&back, version) == indexed_bytes(&profile, version);
            assert!(same, "{} as version {version}", path.display());
        }
        survived += 1;
    }
    eprintln!("{survived} profiles survived");
}
