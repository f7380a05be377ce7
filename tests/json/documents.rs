//! Every command with `--json` prints a document that matches its schema, for every family that it supports.

use crate::program::Folder;
use crate::schema::{assert_is_document, schema_files};
use serde_json::Value;
use std::collections::BTreeSet;

/// Command lines that succeed, without `--json`.
const GOOD: [&str; 73] = [
    "show a.profraw --all-functions --counts --ic-targets --memop-sizes --show-vtables --topn=3 --hot-func-list \
     --detailed-summary --binary-ids --profile-version",
    "show b.profraw --all-functions --counts --ic-targets --memop-sizes --show-vtables",
    "show traces.proftext --temporal-profile-traces",
    "show --covered old.proftext",
    "show a.prof",
    "show b.prof",
    "show a.yaml",
    "show --memory a.memprofdata",
    "show a.iprof",
    "show b.iprof",
    "show a.jfr",
    "show a.jfr --callers /sleep|area/ --bci",
    "show a.collapsed --callees main",
    "show a.pprof",
    "overlap --function=main a.profraw old.proftext",
    "overlap one.proftext other.proftext",
    "overlap a.prof b.prof --function main",
    "overlap a.collapsed b.collapsed",
    "overlap a.jfr a.jfr",
    "order traces.proftext",
    "diff a.profraw b.profraw",
    "diff one.proftext other.proftext --fail-below counters=0.1,total=0.1,smallest=0.01",
    "diff a.prof b.prof",
    "diff a.yaml b.yaml",
    "diff a.iprof b.iprof",
    "diff a.jfr a.jfr",
    "diff a.collapsed b.collapsed --fail-below methods=1%",
    "diff a.pprof b.pprof",
    "fit one.proftext --against other.proftext --fail-below used-counts=0.1",
    "fit a.iprof --against a.iprof",
    "fit a.prof --against a.prof",
    "repair damaged.iprof -o repaired.iprof",
    "check a.profraw old.proftext a.prof b.prof a.memprofdata a.iprof a.jfr a.pprof",
    "check b.iprof",
    "info a.profraw old.proftext a.prof b.prof a.yaml a.memprofdata a.iprof b.iprof a.jfr a.collapsed a.pprof",
    "info --versions",
    "merge a.profraw --weighted-input=3,old.proftext -o out.profdata",
    "merge a.profraw empty.profraw -o out.profraw.profdata --max-input-share=1 --min-inputs=1",
    "merge a.profraw cut.profraw -o out.profdata --failure-mode=all --salvage",
    "merge a.profraw empty.profraw -o part.profdata --partial --no-function=^main$",
    "merge a.prof b.prof -o part.prof --partial",
    "merge a.iprof b.iprof -o part.iprof --partial",
    "merge a.collapsed b.collapsed -o part.collapsed --partial",
    "info part.profdata part.prof part.iprof part.collapsed bare.part",
    "check part.profdata part.prof part.iprof part.collapsed bare.part",
    "show part.profdata",
    "show part.iprof",
    "merge part.profdata bare.part a.profraw -o out.profdata --allow-duplicates",
    "merge --watch watched --until=idle:0 --delete-merged -o watched.profdata",
    "merge a.yaml b.yaml -o out.memprofdata --min-functions=1 --min-total-count=1 --max-input-share=0.9",
    "merge a.prof b.prof -o out.prof --min-inputs=2 --min-functions=1 --min-total-count=1 --max-input-share=0.5",
    "merge a.prof -o text.prof --text --function=main",
    "merge a.prof notes.txt -o out.prof --failure-mode=all",
    "merge a.iprof b.iprof -o out.iprof --min-inputs=2 --min-functions=1 --min-total-count=9 --max-input-share=0.99",
    "merge a.iprof cut.iprof -o out.iprof --failure-mode=all --salvage",
    "merge a.iprof a.profraw -o bridged.iprof --min-functions=1 --max-input-share=0.99",
    "merge bridged.iprof bridged.iprof -o twice.iprof",
    "merge a.iprof a.profraw -o bridged.profdata --min-functions=1 --min-total-count=1",
    "merge a.collapsed b.collapsed -o out.collapsed --min-functions=4 --min-total-count=75 --max-input-share=0.6",
    "merge a.pprof b.pprof -o out.pprof --min-inputs=2 --min-functions=1 --min-total-count=1 --max-input-share=0.99",
    "merge a.jfr -o stacks.iprof",
    "merge a.jfr a.collapsed -o out.pprof --failure-mode=warn",
    "convert a.profraw -o out.proftext",
    "convert a.iprof -o bridged.profdata",
    "convert a.profraw -o out.iprof",
    "convert a.iprof -o out.iprof --prune",
    "convert a.prof -o samples.proftext",
    "convert a.yaml -o out.memprofyaml",
    "convert a.jfr -o out.collapsed",
    "check --strict a.profraw",
    "generate --format text --functions 3 --damage names -o generated.proftext",
    "doctor",
    "doctor program.o",
];

/// Command lines that fail, with their exit codes.
const BAD: [(&str, i32); 15] = [
    ("show absent", 1),
    ("merge a.profraw cut.profraw -o out.profdata", 1),
    ("diff one.proftext other.proftext --fail-below 0.99", 3),
    ("fit one.proftext --against edited.proftext --fail-below used-counts=1", 3),
    ("check cut.profraw", 3),
    ("check damaged.iprof absent", 1),
    ("info cut.profraw notes.txt absent", 1),
    ("merge a.iprof cut.iprof -o out.iprof", 1),
    ("merge a.pprof notes.txt -o out.pprof", 1),
    ("merge a.prof notes.txt -o out.prof", 1),
    ("convert cut.profraw -o out.proftext", 1),
    ("convert a.jfr -o out.what", 2),
    ("convert a.iprof -o out.iprof --only no.such.method", 1),
    ("generate --format raw -o absent/there", 1),
    ("show --jso absent", 2),
];

#[test]
fn every_command_prints_the_document_that_its_schema_describes() {
    let folder = Folder::new();
    let mut seen = BTreeSet::new();
    let runs = GOOD.into_iter().map(|line| (line, 0)).chain(BAD);
    for (line, code) in runs {
        let document = folder.document(&format!("{line} --json"), code);
        seen.insert(assert_is_document(&document));
        assert_shares_are_shares(line, &document, "$");
    }
    // The document of `interop` needs compilers; `tests/cli` has one with a fake compiler.
    seen.insert("interop-1.json".to_string());
    let unseen: Vec<String> = schema_files().into_iter().filter(|file| !seen.contains(file)).collect();
    assert!(unseen.is_empty(), "no document of {unseen:?}");
}

/// Checks that shares are between 0 and 1, that no member is a percentage, and that counts are numbers.
fn assert_shares_are_shares(line: &str, value: &Value, place: &str) {
    let members = value.as_object().into_iter().flatten();
    for (name, member) in members {
        let place = format!("{place}.{name}");
        assert!(!name.contains("percent") && name != "file" || place.contains(".functions[]"), "{line}: {place}");
        if name.ends_with("share") || name.ends_with("overlap") {
            // `common` can be a count or a share.
            let is_share = |share: f64| (0.0..=1.0).contains(&share);
            let is_count = name == "overlap" && member.is_u64();
            assert!(is_count || member.as_f64().is_none_or(is_share), "{line}: {place} is {member}");
        }
        if ["count", "hits", "events", "samples", "total"].contains(&name.as_str()) {
            assert!(!member.is_string(), "{line}: {place} is {member}");
        }
        assert_shares_are_shares(line, member, &place);
    }
    for item in value.as_array().into_iter().flatten() {
        assert_shares_are_shares(line, item, &format!("{place}[]"));
    }
}

#[test]
fn documents_give_path_format_and_version_of_files() {
    let folder = Folder::new();
    let file = |value: &Value| [&value["path"], &value["format"], &value["version"]].map(|member| member.clone());
    let expect = |path: &str, format: &str, version: Option<&str>| {
        [path.into(), format.into(), version.map_or(Value::Null, Value::from)]
    };
    let shown = folder.document("show --json a.profraw", 0);
    assert_eq!(file(&shown), expect("a.profraw", "raw", Some("8")));
    let compared = folder.document("diff --json a.iprof b.iprof", 0);
    assert_eq!(file(&compared["first"])[..2], expect("a.iprof", "iprof", None)[..2]);
    assert!(compared["first"]["version"].as_str().is_some_and(|version| version.split('.').count() == 3));
    let merged = folder.document("merge --json a.profraw old.proftext -o out.profdata --for llvm-16", 0);
    assert_eq!(file(&merged["output"]), expect("out.profdata", "indexed", Some("9")));
    assert_eq!(file(&merged["inputs"][1]), expect("old.proftext", "text", None));
    let checked = folder.document("check --json a.profraw a.collapsed", 0);
    assert_eq!(file(&checked["files"][0]), expect("a.profraw", "raw", Some("8")));
    assert_eq!(checked["files"][1]["format"], "collapsed");
    let reported = folder.document("info --json a.jfr", 0);
    assert_eq!(file(&reported["files"][0])[1], "jfr");
}

/// A partial merge is listed with its inputs, also as the only input.
#[test]
fn parts_are_listed_with_their_inputs() {
    let folder = Folder::new();
    let making = [
        "merge --json --partial -o part.profdata --no-function=^main$ --weighted-input=3,a.profraw empty.profraw",
        "merge --json --partial -o part.prof --failure-mode=warn a.prof notes.txt",
        "merge --json --partial -o part.iprof a.iprof",
    ];
    making.iter().for_each(|line| drop(folder.document(line, 0)));
    let reported = folder.document("info --json part.profdata part.prof part.iprof bare.part", 0);
    let part = |at: usize| &reported["files"][at]["partial_merge"];
    assert_eq!(reported["files"][0]["format"], "indexed");
    assert_eq!((&part(0)["family"], &part(0)["used"]), (&"instr".into(), &1.into()));
    assert_eq!(part(0)["applied"], serde_json::json!(["--no-function=^main$"]));
    let inputs = |at: usize| part(at)["inputs"].as_array().expect("a list of inputs").clone();
    let brief = |input: &Value| [&input["path"], &input["weight"], &input["outcome"]].map(Value::to_string).join(" ");
    let listed = inputs(0).iter().map(brief).collect::<Vec<_>>();
    assert_eq!(listed, ["\"empty.profraw\" 1 \"empty\"", "\"a.profraw\" 3 \"used\""]);
    assert!(inputs(0)[1]["records"].as_u64().is_some_and(|records| records > 0), "{}", part(0));
    assert_eq!(inputs(1)[1]["outcome"], "failed");
    assert!(inputs(1)[1]["error"].as_str().is_some_and(|error| error.contains("notes.txt")), "{}", part(1));
    assert_eq!((&part(2)["sums"], &inputs(2)[0]["records"]), (&Value::Null, &Value::Null));
    assert_eq!(
        (&reported["files"][3]["format"], &reported["files"][3]["parts"]),
        (&"partial".into(), &serde_json::json!([]))
    );
    assert_eq!(inputs(3)[0]["path"], "memory.proftext");
    let checked = folder.document("check --json part.profdata part.prof part.iprof bare.part", 0);
    let verdicts: Vec<&Value> =
        checked["files"].as_array().expect("files").iter().map(|file| &file["verdict"]).collect();
    assert_eq!(verdicts, ["usable"; 4]);
    let (shown, plain) = (folder.document("show --json part.iprof", 0), folder.document("show --json a.iprof", 0));
    assert_eq!(shown["path"], "part.iprof");
    assert_eq!(shown["methods"], plain["methods"]);
    let bare = std::fs::read(folder.path("bare.part")).expect("it is there");
    folder.write("cut.part", &bare[1..]);
    let checked = folder.document("check --json cut.part", 3);
    assert_eq!(checked["files"][0]["findings"][0]["code"], "partial.partial-merge");
    assert!(folder.document("info --json cut.part", 1)["files"][0]["error"]["message"].as_str().is_some());
}
