//! Tests of thresholds: their names, the treatment of tiny sections, and exit code 3.

use crate::program::Folder;
use serde_json::Value;

#[test]
fn merges_of_all_families_have_the_same_gates() {
    let folder = Folder::new();
    let families = [
        ("one.proftext other.proftext", "out.profdata"),
        ("a.yaml b.yaml", "out.memprofdata"),
        ("a.prof b.prof", "out.prof"),
        ("a.iprof b.iprof", "out.iprof"),
        ("a.iprof one.proftext", "mixed.iprof"),
        ("a.iprof one.proftext", "mixed.profdata"),
        ("a.collapsed b.collapsed", "out.collapsed"),
        ("a.pprof b.pprof", "out.pprof"),
    ];
    let gates = [
        ("--min-inputs=3", "inputs"),
        ("--min-functions=100000", "functions"),
        ("--min-total-count=999999999999999", "total-count"),
        ("--max-input-share=0.01", "input-share"),
    ];
    for (inputs, output) in families {
        for (option, gate) in gates {
            let document = folder.document(&format!("merge --json {inputs} -o {output} {option}"), 3);
            let judged = &document["gates"][0];
            assert_eq!((&judged["gate"], &judged["passed"]), (&gate.into(), &false.into()), "{document}");
            assert!(judged["found"].as_f64().is_some_and(|found| found > 0.0), "{document}");
            assert_eq!(document["used"], 2, "{document}");
            assert!(!folder.path(output).exists(), "{output} was written");
        }
    }
}

#[test]
fn the_share_of_the_largest_input_counts_weights() {
    let folder = Folder::new();
    let share = |line: &str| {
        let document = folder.document(&format!("merge --json {line} -o out.profdata --max-input-share=0"), 3);
        document["gates"][0]["found"].as_f64().expect("there is a share")
    };
    assert_eq!(share("one.proftext one.proftext"), 0.5);
    assert_eq!(share("--weighted-input=3,one.proftext one.proftext"), 0.75);
    // The bytes of a memory profile are no counters.
    assert_eq!(share("one.proftext one.proftext a.yaml"), 0.5);
    // Filters apply to the inputs, too.
    folder.write("foo.proftext", b":ir\nfoo\n1\n1\n900\n\nmain\n2\n1\n50\n");
    folder.write("bar.proftext", b":ir\nbar\n3\n1\n900\n\nmain\n2\n1\n50\n");
    folder.write("foo.prof", b"foo:900:1\n 1: 900\nmain:50:1\n 1: 50\n");
    folder.write("bar.prof", b"bar:900:1\n 1: 900\nmain:50:1\n 1: 50\n");
    for kind in ["proftext", "prof"] {
        let inputs = format!("foo.{kind} bar.{kind}");
        assert_eq!(share(&inputs), 0.5, "{kind}");
        assert_eq!(share(&format!("{inputs} --function ^bar$")), 1.0, "{kind}");
        assert_eq!(share(&format!("{inputs} --no-function ^foo$")), 0.95, "{kind}");
    }
    let run = folder.run("merge bar.prof --function ^nothing$ -o out.prof");
    assert!(run.code == Some(1) && run.stderr.contains("no functions are left"), "{}", run.stderr);
    // An iprof counts with the counters that it becomes.
    let run = folder.run("convert one.proftext -o one.iprof");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(share("one.proftext one.iprof"), 0.5);
    let run = folder.run("merge one.proftext other.proftext -o out.profdata --max-input-share=90%");
    assert_eq!(run.code, Some(3));
    assert!(run.stderr.contains("the share of the largest input, other.proftext, is 94."), "{}", run.stderr);
}

#[test]
fn documents_after_a_failed_one_are_not_used() {
    let folder = Folder::new();
    folder.write("bad.iprof", b"{\"version\":\"1.0.0\",\"types\":[],\"methods\":[],\"callCountProfiles\":[5]}");
    let document = folder.document("merge --json bad.iprof a.iprof -o x.iprof", 1);
    let outcomes: Vec<&str> =
        document["inputs"].as_array().unwrap().iter().filter_map(|input| input["outcome"].as_str()).collect();
    assert_eq!(outcomes, ["failed", "not-used"], "{document}");
}

#[test]
fn tiny_sections_do_not_decide_about_a_diff() {
    let folder = Folder::new();
    let site = |value: &str| format!(":ir\nmain\n1\n1\n100000\n1\n0\n1\n1\n{value}:3\n\n");
    folder.write("first.proftext", site("foo").as_bytes());
    folder.write("second.proftext", site("bar").as_bytes());
    let found = folder.document("diff --json first.proftext second.proftext --fail-below 0.99", 0);
    assert_eq!(found["smallest_overlap"], 0.0, "{found}");
    assert_eq!(found["gates"][0]["gate"], "total");
    let failed = folder.document("diff --json first.proftext second.proftext --fail-below smallest=0.99", 3);
    assert_eq!(failed["gates"][0]["found"], 0.0);
    folder.document("diff --json first.proftext second.proftext --fail-below counters=1", 0);
    let named = folder.run("diff first.proftext second.proftext --fail-below counters=1,indirect-call-targets=0.5");
    assert_eq!(named.code, Some(3));
    assert!(named.stderr.contains("the overlap of indirect-call-targets is 0.00 %, below 50 %"), "{}", named.stderr);
}

#[test]
fn a_diff_of_each_family_has_sections_with_the_names_that_help_lists() {
    let folder = Folder::new();
    let help = folder.run("diff --help").stdout;
    let pairs = ["a.profraw b.profraw", "a.yaml b.yaml", "a.prof b.prof", "a.iprof b.iprof", "a.collapsed b.collapsed"];
    for pair in pairs {
        let found = folder.document(&format!("diff --json {pair}"), 0);
        let sections = found["sections"].as_array().expect("there are sections");
        assert!(!sections.is_empty());
        for gate in sections.iter().filter_map(|section| section["gate"].as_str()) {
            assert!(help.contains(gate), "{gate} of {pair} is not in --help");
            folder.document(&format!("diff --json {pair} --fail-below {gate}=0"), 0);
        }
    }
}

/// A section that neither profile has cannot be measured. This is a failure.
#[test]
fn a_threshold_on_missing_data_fails() {
    let folder = Folder::new();
    let found = folder.document("diff --json a.collapsed b.collapsed --fail-below counters=0.1", 3);
    assert_eq!((&found["gates"][0]["found"], &found["gates"][0]["passed"]), (&Value::Null, &false.into()));
    let said = folder.run("diff a.collapsed b.collapsed --fail-below counters=0.1").stderr;
    assert!(said.contains("the profiles have: total, smallest, methods, stacks"), "{said}");
}
