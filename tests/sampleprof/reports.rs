//! Tests of reports in profbridge mode: text, JSON and thresholds.

use crate::schema::assert_has_schema;
use crate::tools::Workspace;
use serde_json::Value;

const OLD: &str = "foo:300:10\n 1: 10\n 2: 20 bar:15 baz:5\n 3: bar:270\n  1: 100\n  2.1: 170\nbaz:100:5\n 1: 100\n";
/// Twice the samples, another most frequent target, without `baz`, with `qux`.
const NEW: &str = "foo:600:20\n 1: 20\n 2: 40 bar:10 baz:30\n 3: bar:540\n  1: 200\n  2.1: 340\nqux:200:10\n 1: 200\n";

fn workspace() -> Workspace {
    let workspace = Workspace::with(&[]);
    workspace.write("old.prof", OLD);
    workspace.write("new.prof", NEW);
    workspace
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn json(workspace: &Workspace, line: &str) -> Value {
    let output = workspace.run(line);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Returns the overlap in a section of a diff.
#[track_caller]
fn overlap(diff: &Value, section: &str) -> f64 {
    let sections = diff["sections"].as_array().expect("sections");
    let found = sections.iter().find(|it| it["section"] == section).unwrap_or_else(|| panic!("{section}: {diff}"));
    found["overlap"].as_f64().expect("a number")
}

#[test]
fn diff_compares_places_functions_and_targets() {
    let workspace = workspace();
    let found = json(&workspace, "profbridge diff --json old.prof new.prof");
    assert_has_schema(&found, "diff-2.json");
    // 100 of 400 samples moved from baz to qux. Of the calls, 5 of 20 are still baz, 10 of 40 are bar.
    for (section, expected) in [("places", 0.75), ("functions", 0.75), ("entries", 10.0 / 15.0), ("call targets", 0.5)]
    {
        assert!((overlap(&found, section) - expected).abs() < 1e-12, "{section}: {found}");
    }
    assert_eq!(found["new_functions"]["functions"], serde_json::json!(["qux"]));
    assert_eq!(found["lost_functions"]["functions"], serde_json::json!(["baz"]));
    let change = &found["changed_receivers"]["sites"][0];
    assert_eq!((&change["site"], &change["first"], &change["second"]), (&"foo:2".into(), &"bar".into(), &"baz".into()));
    let said = text(&workspace.run("profbridge diff old.prof new.prof").stdout);
    assert!(
        said.contains("places                    75.000 %  66.667 %           4           1           1"),
        "{said}"
    );
    assert!(said.contains("bar -> baz  foo:2"), "{said}");
}

#[test]
fn diff_is_a_gate() {
    let workspace = workspace();
    let failed = workspace.attempt("profbridge diff --fail-below 80% old.prof new.prof");
    assert_eq!(failed.status.code(), Some(3));
    assert!(text(&failed.stderr).contains("the overlap of all sections is 7"), "{failed:?}");
    workspace.run("profbridge diff --fail-below smallest=50% old.prof new.prof");
    workspace.run("profbridge diff --fail-below 0.75 --section functions old.prof new.prof");
    let failed = workspace.attempt("profbridge diff --fail-below 0.76 --section functions old.prof new.prof");
    assert!(text(&failed.stderr).contains("the overlap of functions is 75.00 %, below 76 %"), "{failed:?}");
    let unknown = workspace.attempt("profbridge diff --fail-below 1 --section methods old.prof new.prof");
    assert!(text(&unknown.stderr).contains("total, smallest, call-targets, entries, functions, places"), "{unknown:?}");
}

#[test]
fn diff_finds_no_difference_between_encodings_and_weights() {
    let workspace = workspace();
    workspace.run("profbridge merge --weighted-input=3,old.prof --use-md5 -o hashed.afdo");
    for other in ["old.prof", "hashed.afdo"] {
        let found = json(&workspace, &format!("profbridge diff --json old.prof {other}"));
        assert_eq!(found["total_overlap"], 1.0, "{other}: {found}");
        assert!(found["new_functions"]["count"] == 0 && found["lost_functions"]["count"] == 0, "{other}: {found}");
    }
    // A name that only one of the two profiles knows is shown.
    workspace.run("profbridge convert new.prof --use-md5 -o new.afdo");
    let found = json(&workspace, "profbridge diff --json new.afdo old.prof");
    assert_eq!(found["changed_receivers"]["sites"][0]["site"], "foo:2", "{found}");
    // A calling context is compared like a chain of inlined callees.
    workspace.write("contexts.prof", "[foo]:30:10\n 1: 10\n 2: 20\n[foo:3 @ bar]:270:0\n 1: 100\n 2.1: 170\n");
    workspace.write("inlined.prof", "foo:300:10\n 1: 10\n 2: 20\n 3: bar:270\n  1: 100\n  2.1: 170\n");
    let found = json(&workspace, "profbridge diff --json contexts.prof inlined.prof");
    assert_eq!(found["total_overlap"], 1.0, "{found}");
}

#[test]
fn diff_rejects_incomparable_profiles() {
    let workspace = workspace();
    workspace.write("probes.prof", "foo:30:10\n 1: 10\n 2: 20\n !CFGChecksum: 7\n");
    workspace.write("counters.proftext", "foo\n123\n1\n5\n");
    let kinds = workspace.attempt("profbridge diff old.prof probes.prof");
    assert!(text(&kinds.stderr).contains("cannot compare probe-based profile with non-probe-based profile"));
    for pair in ["old.prof counters.proftext", "counters.proftext old.prof"] {
        let families = workspace.attempt(&format!("profbridge diff {pair}"));
        assert!(text(&families.stderr).contains("cannot compare"), "{families:?}");
    }
}

#[test]
fn overlap_has_json() {
    let workspace = workspace();
    let found = json(&workspace, "profbridge overlap --json --function=foo old.prof new.prof");
    assert_has_schema(&found, "overlap-sampleprof-2.json");
    assert_eq!((&found["base"]["path"], &found["test"]["path"]), (&"old.prof".into(), &"new.prof".into()));
    let program = &found["program"];
    // For foo, the intersection has the smaller number per block.
    assert_eq!((&program["samples"]["base"], &program["samples"]["test"]), (&400.into(), &800.into()), "{found}");
    assert_eq!((&program["samples"]["overlap"], &program["samples"]["union"]), (&300.into(), &900.into()), "{found}");
    assert_eq!(program["functions"]["test_unique"], 1, "{found}");
    let hot = &program["hot_blocks"];
    let count = |member: &str| hot[member].as_u64().expect("a count");
    assert_eq!(count("base_unique") + count("overlap"), count("base"), "{found}");
    assert_eq!((found["functions"].as_array().map(Vec::len), &found["functions"][0]["name"]), (Some(1), &"foo".into()));
    let said = text(&workspace.run("profbridge overlap old.prof new.prof").stdout);
    let similarity = 100.0 * program["similarity"].as_f64().expect("a number");
    assert!(said.contains(&format!("Whole program profile similarity: {similarity:.3}%")), "{said}");
}

#[test]
fn merge_has_json() {
    let workspace = workspace();
    workspace.write("bad.prof", "foo:3:1\n 1: x\n");
    let line =
        "profbridge merge --json --failure-mode=all --use-md5 --no-function=qux new.prof bad.prof old.prof -o sum.afdo";
    let found = json(&workspace, line);
    assert_has_schema(&found, "merge-2.json");
    assert_eq!((&found["used"], &found["functions"], &found["filtered"]), (&2.into(), &2.into(), &1.into()), "{found}");
    assert_eq!(
        (&found["output"]["format"], &found["target"]["release"]),
        (&"sample-extbinary".into(), &"llvm-22".into()),
        "{found}"
    );
    let outcomes: Vec<_> = (0..3).map(|at| found["inputs"][at]["outcome"].as_str().expect("a word")).collect();
    assert_eq!(outcomes, ["used", "failed", "used"], "{found}");
    assert!(found["inputs"][1]["error"]["message"].as_str().is_some_and(|error| error.contains("line 2")), "{found}");
    assert!(
        found["losses"][0]["message"]
            .as_str()
            .is_some_and(|loss| loss.contains("names, of which only the hashes remain")),
        "{found}"
    );
    let refused = workspace.attempt("profbridge merge --json old.prof -o -");
    assert!(text(&refused.stderr).contains("standard output is already used for the profile"), "{refused:?}");
}

#[test]
fn a_rejected_input_does_not_change_the_kind_of_the_result() {
    let workspace = workspace();
    // The sum of one line location overflows.
    let overflow = " 1: 18446744073709551610\n";
    workspace.write("context.prof", "[main:1 @ foo]:10:1\n 1: 10\n[foo]:5:1\n 1: 5\n");
    workspace.write("plain.prof", "foo:10:1\n 1: 10\n");
    workspace.write("probe.prof", "foo:10:1\n 1: 10\n !CFGChecksum: 7\n");
    workspace.write("bad-plain.prof", &format!("bar:1:1\n{overflow}bar:1:1\n 1: 10\n"));
    workspace.write("bad-context.prof", &format!("[a:1 @ bar]:1:1\n{overflow}[a:1 @ bar]:1:1\n 1: 10\n"));
    for (good, bad) in [
        ("context.prof", "bad-plain.prof"),
        ("probe.prof", "bad-plain.prof"),
        ("plain.prof", "bad-context.prof"),
        ("probe.prof", "bad-context.prof"),
    ] {
        for form in ["text", "extbinary"] {
            let merged = |inputs: &str| {
                let line = format!("profbridge merge --failure-mode=all --sample-format {form} {inputs} -o out.prof");
                assert!(workspace.attempt(&line).status.success(), "{line}");
                workspace.bytes("out.prof")
            };
            let alone = merged(good);
            assert!(merged(&format!("{good} {bad}")) == alone, "{good} {bad} {form}");
            assert!(merged(&format!("{bad} {good}")) == alone, "{bad} {good} {form}");
            let line = format!("profbridge merge --failure-mode=all --partial {good} {bad} -o part.prof");
            assert!(workspace.attempt(&line).status.success(), "{line}");
            assert!(merged("part.prof") == alone, "a part of {good} {bad} {form}");
        }
    }
}
