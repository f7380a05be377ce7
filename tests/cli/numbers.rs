//! Tests of the numbers that a merge reports: all reports agree with the output. An empty result is not written.

use crate::program::{Folder, testdata};
use serde_json::Value;
use std::fs;

const SAMPLES: &str = "foo:10:1\n 1: 5\nbar:20:2\n 1: 9\nbaz:30:3\n 2: 1\n";

const IPROF: &str = "{\"version\":\"1.0.0\",\"types\":[{\"id\":0,\"name\":\"A\"},{\"id\":1,\"name\":\"void\"}],\
    \"methods\":[{\"id\":0,\"name\":\"m\",\"signature\":[0,1]},{\"id\":1,\"name\":\"n\",\"signature\":[0,1]}],\
    \"callCountProfiles\":[{\"ctx\":\"0:0\",\"records\":[3]},{\"ctx\":\"1:0\",\"records\":[4]}]}";

fn folder() -> Folder {
    let folder = Folder::new();
    for (name, file) in [
        ("run.profraw", "merge/clang-22/run-1.profraw"),
        ("memory.profdata", "memprof/clang-22-plain.v4.profdata"),
        ("memory.yaml", "memprof/clang-22-plain.yaml"),
    ] {
        fs::copy(testdata(file), folder.path(name)).unwrap();
    }
    for (name, text) in
        [("s.afdo", SAMPLES), ("a.iprof", IPROF), ("c.collapsed", "a.A.a;a.A.b 1\na.A.c;a.A.d 2\na.A.c;a.A.e 4\n")]
    {
        fs::write(folder.path(name), text).unwrap();
    }
    folder
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn document(folder: &Folder, line: &str, code: i32) -> Value {
    let finished = folder.run(&[&words(line)[..], &["--json"]].concat());
    assert_eq!(finished.code, Some(code), "{line}: {}", finished.stderr);
    serde_json::from_slice(&finished.stdout).expect("a document")
}

#[test]
fn message_document_and_thresholds_count_the_output() {
    let folder = folder();
    for (line, functions) in [
        ("run.profraw -o x.profdata", 9),
        ("run.profraw -o x.profdata --function ^main$", 1),
        ("run.profraw -o x.proftext --no-function ^main$", 8),
        ("run.profraw -o x.profraw --function ^main$", 1),
        ("run.profraw -o x.profdata --function nosuch --allow-empty", 0),
        ("run.profraw -o x.profdata --sparse", 7),
        ("run.profraw -o x.profraw --sparse", 7),
        ("run.profraw -o x.proftext --sparse --for llvm-14", 7),
        ("run.profraw -o x.profdata --partial --function ^main$", 1),
        ("memory.profdata -o x.profdata", 6),
        ("memory.yaml -o x.profdata", 6),
        ("memory.yaml -o y.yaml", 6),
        ("memory.yaml -o x.profdata --for llvm-14 --allow-empty", 0),
        ("memory.yaml run.profraw -o x.profdata", 9),
        ("s.afdo -o x.afdo", 3),
        ("s.afdo -o x.afdo --function ba", 2),
        ("s.afdo -o x.proftext --output-size-limit 40", 2),
    ] {
        let line = format!("merge --force {line}");
        let said = folder.run(&words(&line)).stderr;
        let noun = if functions == 1 { "function" } else { "functions" };
        assert!(said.contains(&format!(": {functions} {noun} from ")), "{line}: {said}");
        assert_eq!(document(&folder, &line, 0)["functions"], functions, "{line}");
        let judged = document(&folder, &format!("{line} --min-functions 1000"), 3);
        assert_eq!(judged["functions"], functions, "{line}");
        assert_eq!(judged["gates"][0]["found"], functions, "{line}");
    }
}

#[test]
fn filters_of_a_partial_merge_apply_when_it_is_converted() {
    let folder = folder();
    document(&folder, "merge run.profraw -o part.profdata --partial --function ^main$", 0);
    for output in ["x.profdata", "x.proftext", "x.profraw"] {
        let converted = document(&folder, &format!("convert part.profdata -o {output}"), 0);
        assert_eq!(converted["functions"], 1, "{output}");
    }
}

#[test]
fn gates_count_methods_and_hits_that_are_written() {
    let folder = folder();
    for (line, functions, total) in [
        ("a.iprof -o x.iprof", 2, 7),
        ("c.collapsed -o x.collapsed", 5, 7),
        ("c.collapsed -o x.pprof --max-stacks 1", 2, 4),
        ("c.collapsed -o x.iprof", 3, 7),
        ("run.profraw -o x.iprof", 9, 0),
        ("a.iprof run.profraw -o x.profdata --function ^main$", 1, 0),
    ] {
        let line = format!("merge --force {line}");
        let judged = document(&folder, &format!("{line} --min-functions 1000 --min-total-count 1000000"), 3);
        assert_eq!(judged["functions"], functions, "{line}");
        assert_eq!(judged["gates"][0]["found"], functions, "{line}");
        if total > 0 {
            assert_eq!(judged["gates"][1]["found"], total, "{line}");
        }
        assert_eq!(document(&folder, &line, 0)["functions"], functions, "{line}");
    }
}

#[test]
fn the_numbers_are_those_that_show_finds_in_the_output() {
    let folder = folder();
    for options in ["", "--sparse", "--function ^[am]", "--for llvm-14 --sparse", "--format-version 4"] {
        for output in ["x.profdata", "x.proftext", "x.profraw"] {
            let line = format!("merge run.profraw --force -o {output} {options}");
            let merged = document(&folder, &line, 0);
            let shown = document(&folder, &format!("show {output} --all-functions"), 0);
            let details = shown["functions"].as_array().expect("functions");
            assert_eq!(merged["records"], details.len(), "{line}");
            let mut names: Vec<&str> = details.iter().filter_map(|function| function["name"].as_str()).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(merged["functions"], names.len(), "{line}");
            let total = shown["summary"]["total_count"].as_u64().expect("a number");
            let judged = document(&folder, &format!("{line} --min-total-count {}", total + 1), 3);
            assert_eq!(judged["gates"][0]["found"], total, "{line}");
        }
    }
}

#[test]
fn totals_above_64_bits_do_not_wrap() {
    let folder = folder();
    let large = u64::MAX - 2;
    fs::write(folder.path("a.proftext"), format!(":ir\nf\n1\n2\n{large}\n{large}\n\ng\n2\n1\n7\n")).unwrap();
    fs::write(folder.path("b.proftext"), format!(":ir\nf\n1\n1\n{large}\n\ng\n2\n1\n{large}\n")).unwrap();
    for name in ["a.proftext", "b.proftext"] {
        let shown = document(&folder, &format!("show {name} --all-functions"), 0);
        assert_eq!(shown["summary"]["total_count"], u64::MAX, "{name}");
        let described = document(&folder, &format!("info {name}"), 0);
        let facts = described["files"][0]["parts"][0]["facts"].as_array().expect("facts").clone();
        assert_eq!(facts[1]["value"], u64::MAX.to_string(), "{name}: {facts:?}");
    }
    let below = document(&folder, &format!("show a.proftext --list-below-cutoff --value-cutoff {}", u64::MAX), 0);
    assert!(below.to_string().contains(&format!("\"sum\":{}", u64::MAX)), "{below}");
    fs::write(folder.path("a.afdo"), format!("f:{large}:1\n 1: {large}\n 2: {large}\n")).unwrap();
    let described = document(&folder, "info a.afdo", 0).to_string();
    assert!(described.contains(&format!("\"{}\"", u128::from(large) * 2)), "{described}");
}

#[test]
fn a_filter_that_has_no_meaning_for_the_output_is_refused() {
    let folder = folder();
    let before = folder.names();
    for (line, refused) in [
        ("memory.profdata -o x.profdata --function keep", "--function is not for memory profiles"),
        ("memory.yaml run.profraw -o x.profdata --no-function keep", "--no-function is not for memory profiles"),
        ("memory.yaml -o y.yaml --function keep", "--function is not for memory profiles"),
        ("memory.yaml -o x.profdata --partial --function keep", "--function is not for memory profiles"),
        ("a.iprof memory.yaml -o x.profdata --function keep", "--function is not for memory profiles"),
        ("run.profraw -o x.iprof --function main", "--function is for LLVM profiles"),
        ("run.profraw -o x.iprof --sparse", "--sparse is for LLVM profiles"),
    ] {
        folder.run(&words(&format!("merge {line}"))).assert_refused(2, &[refused]);
    }
    assert_eq!(folder.names(), before);
    // These formats cannot store the memory profile, and the filter applies only to it.
    for line in ["memory.yaml run.profraw -o x.proftext", "memory.yaml run.profraw -o x.profdata --for llvm-14"] {
        let finished = folder.run(&words(&format!("merge {line} --function ^main$")));
        assert_eq!(finished.code, Some(0), "{line}: {}", finished.stderr);
    }
}

#[test]
fn a_target_that_can_hold_nothing_of_the_inputs_is_an_error() {
    let folder = folder();
    for (input, output, options) in [
        ("memory.profdata", "x.profdata", "--for llvm-14"),
        ("memory.profdata", "x.profdata", "--format-version 7"),
        ("memory.yaml", "x.profdata", "--for llvm-14"),
        ("memory.yaml", "x.proftext", ""),
        ("memory.yaml", "x.profraw", ""),
        ("memory.yaml", "x.iprof", "--no-extension"),
    ] {
        fs::write(folder.path(output), "old").unwrap();
        for command in ["merge", "convert"] {
            let line = format!("{command} {input} -o {output} --force {options}");
            folder.run(&words(&line)).assert_refused(1, &["there is nothing to write", "--allow-empty"]);
            assert_eq!(fs::read(folder.path(output)).unwrap(), b"old", "{line}");
            let finished = folder.run(&words(&format!("{line} --allow-empty")));
            assert_eq!(finished.code, Some(0), "{line}: {}", finished.stderr);
            fs::write(folder.path(output), "old").unwrap();
        }
        let judged = document(&folder, &format!("merge {input} --force -o {output} {options} --min-functions 1"), 3);
        assert_eq!(judged["gates"][0]["passed"], false, "{judged}");
        let passing = document(&folder, &format!("merge {input} --force -o {output} {options} --min-inputs 1"), 1);
        assert_eq!((&passing["ok"], &passing["output"]), (&false.into(), &Value::Null), "{passing}");
    }
}
