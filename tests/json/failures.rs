//! A command that fails also prints its document, and its exit code has the class of the failure.

use crate::program::Folder;
use serde_json::Value;

fn outcomes(document: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let inputs = document["inputs"].as_array().expect("there are inputs").iter();
    inputs.map(|input| (text(&input["path"]), text(&input["outcome"]))).collect()
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(path, outcome)| ((*path).to_string(), (*outcome).to_string())).collect()
}

#[test]
fn a_failed_merge_lists_the_outcome_of_each_input() {
    let folder = Folder::new();
    let cases = [
        (
            "a.profraw empty.profraw cut.profraw absent-not.txt",
            &[
                ("a.profraw", "used"),
                ("empty.profraw", "empty"),
                ("cut.profraw", "failed"),
                ("absent-not.txt", "failed"),
            ][..],
        ),
        ("a.iprof cut.iprof b.iprof", &[("a.iprof", "used"), ("cut.iprof", "failed"), ("b.iprof", "not-used")]),
        ("a.prof notes.txt b.prof", &[("a.prof", "used"), ("notes.txt", "failed"), ("b.prof", "used")]),
        ("a.collapsed a.profraw", &[("a.collapsed", "used"), ("a.profraw", "failed")]),
    ];
    folder.write("absent-not.txt", b"Dear diary,\nno profile.\n");
    for (inputs, expected) in cases {
        let extension = inputs.split(['.', ' ']).nth(1).unwrap_or_default().replace("profraw", "profdata");
        let document = folder.document(&format!("merge --json {inputs} -o out.{extension}"), 1);
        assert_eq!(outcomes(&document), owned(expected), "{document}");
        assert_eq!((&document["schema"], &document["output"]), (&"profbridge.merge/2".into(), &Value::Null));
        assert!(document["error"]["message"].is_string(), "{document}");
        assert!(!folder.path(&format!("out.{extension}")).exists());
    }
}

#[test]
fn errors_are_data() {
    let folder = Folder::new();
    let document = folder.document("merge --json a.profraw cut.profraw -o out.profdata", 1);
    let error = &document["inputs"][1]["error"];
    assert_eq!((&error["kind"], &error["path"]), (&"bad-header".into(), &"cut.profraw".into()), "{document}");
    assert!(error["offset"].is_u64() && error["section"] == "counters", "{error}");
    assert_eq!(document["error"]["kind"], "inputs-failed");
    assert!(document["error"]["hint"].as_str().is_some_and(|hint| hint.contains("--failure-mode=all")));

    let missing = folder.document("show --json absent.profraw", 1);
    assert_eq!((&missing["schema"], &missing["command"]), (&"profbridge.error/1".into(), &"show".into()));
    assert_eq!((&missing["error"]["kind"], &missing["error"]["path"]), (&"io".into(), &"absent.profraw".into()));
    assert_eq!(outcomes(&missing), owned(&[("absent.profraw", "failed")]));

    let damaged = folder.document("info --json cut.profraw", 1);
    assert_eq!(damaged["files"][0]["error"]["kind"], "bad-header");
}

#[test]
fn wrong_use_has_a_document_and_exit_code_2() {
    let folder = Folder::new();
    for line in [
        "merge --json --sprase a.profraw -o out.profdata",
        "merge --json a.iprof --sparse -o out.iprof",
        "merge --json a.profraw -o -",
        "merge --json -o out.profdata",
        "diff --json a.iprof b.iprof --fail-below calls=0.5",
        "diff --json a.iprof",
        "show --json a.profraw --callers main",
        "fit --json a.profraw --against b.profraw --for llvm-9999",
        "show --json a.profraw --limit nonsense=1",
        "check --json",
    ] {
        let document = folder.document(line, 2);
        assert_eq!(document["error"]["kind"], "usage", "{line}: {document}");
    }
    let typed = folder.document("merge --json --sprase a.profraw -o out.profdata", 2);
    assert!(typed["error"]["message"].as_str().is_some_and(|said| said.contains("--sprase")), "{typed}");
}

/// An empty output is a failure.
#[test]
fn nothing_found_ends_with_exit_code_1() {
    let folder = Folder::new();
    for line in [
        "merge --json empty.profraw -o out.profdata",
        "show --json a.collapsed --callers missing",
        "overlap --json never-ran.proftext never-ran.proftext",
        "show --json a.iprof --callers missing",
        "order --json old.proftext",
    ] {
        let document = folder.document(line, 1);
        assert_eq!(document["ok"], false, "{document}");
    }
}

#[test]
fn a_conversion_lists_the_findings_of_an_iprof() {
    let folder = Folder::new();
    let document = folder.document("convert --json b.iprof -o out.iprof", 0);
    let warnings = document["inputs"][0]["warnings"].as_array().expect("warnings");
    assert!(warnings.iter().any(|warning| warning.as_str().is_some_and(|words| words.contains("never-executed"))));
    folder.write("more.iprof", b"{\"version\":\"1.9.0\",\"types\":[],\"methods\":[],\"mine\":[]}");
    let document = folder.document("convert --json --allow-empty --canonical more.iprof -o out.iprof", 0);
    assert!(document["inputs"][0]["warnings"].to_string().contains("newer-minor"), "{document}");
    assert!(document["warnings"].to_string().contains("mine"), "{document}");
    // The same applies if the output is an LLVM profile.
    let document = folder.document("convert --json b.iprof -o out.profdata", 0);
    assert!(document["inputs"][0]["warnings"].to_string().contains("never-executed"), "{document}");
}

#[test]
fn one_document_and_no_second_one() {
    let folder = Folder::new();
    for line in
        ["diff --json one.proftext other.proftext --fail-below 0.99", "merge --json cut.profraw -o out.profdata"]
    {
        let run = folder.run(line);
        assert_eq!(run.stdout.lines().count(), 1, "{}", run.stdout);
        assert!(run.stderr.contains("error: "), "what people read is still there: {}", run.stderr);
    }
}
