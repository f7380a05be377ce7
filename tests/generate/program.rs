//! Tests of outputs, truth, damage and usage errors.

use crate::{Desk, FORMATS, text};
use serde_json::Value;

#[test]
fn the_truth_is_the_output_of_its_show_command() {
    let desk = Desk::new();
    for format in FORMATS {
        let truth = &desk.generate(&format!("--format {format} --functions 30 --seed 5 -o file"))[0];
        let words: Vec<&str> = truth["command"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        assert_eq!(words[0], "profbridge");
        let shown = desk.run(&words[1..].join(" "));
        assert!(shown.status.success(), "{format}: {}", text(&shown.stderr));
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert_eq!(shown, truth["show"], "{format}");
        assert_eq!(truth["damage"], Value::Null);
    }
}

#[test]
fn every_generated_file_is_valid() {
    let desk = Desk::new();
    let more = [
        "raw --kinds values,vtables,bitmaps,temporal,binary-ids",
        "raw --counters 50 --distinct-counts 3",
        "sample-extbinary --counters 40",
        "pprof --depth 100",
        "raw --raw-arch 32be --format-version 1",
        "raw --format-version 4",
        "raw --for llvm-23 --kinds values,uniformity",
        "raw --kinds front-end,bitmaps",
        "indexed --format-version 1",
        "indexed --for llvm-23 --kinds values,vtables,bitmaps,temporal,uniformity,binary-ids",
        "indexed --kinds context-sensitive,loop-entries,entry-first",
        "text --kinds values,vtables,bitmaps,temporal",
        "sample-extbinary --kinds contexts,probes,targets",
        "sample-extbinary --kinds inlined,vtables,symbols",
        "sample-extbinary --for llvm-23 --format-version 104",
        "sample-compact --for llvm-14",
        "memory-yaml --kinds callees,data",
        "memory-indexed --for llvm-21 --kinds callees,data",
        "memory-indexed --for llvm-15",
        "iprof --kinds calls,conditionals,virtual-invokes,monitors,samples,instanceof",
        "iprof --to-version 1.1.0 --contexts 3",
        "collapsed --kinds threads,positions",
        "pprof --kinds threads,positions",
    ];
    for arguments in FORMATS.iter().chain(&more) {
        for seed in 0..3 {
            desk.generate(&format!("--format {arguments} --seed {seed} --functions 40 -o file"));
            let checked = desk.run("check file --json");
            let report: Value = serde_json::from_slice(&checked.stdout).unwrap();
            assert!(checked.status.success(), "{arguments}: {report}");
        }
    }
}

#[test]
fn a_seed_determines_the_bytes() {
    let desk = Desk::new();
    for format in FORMATS {
        let generate = |seed: u32, name: &str| {
            desk.generate(&format!("--format {format} --functions 10 --seed {seed} -o {name}"));
            desk.read(name)
        };
        assert_eq!(generate(1, "a"), generate(1, "b"), "{format}");
        assert_ne!(generate(1, "a"), generate(2, "c"), "{format}");
    }
}

#[test]
fn several_files_are_runs_of_one_program() {
    let desk = Desk::new();
    let files = desk.generate("--format raw --functions 25 --files 3 -o profiles");
    let paths: Vec<&str> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["profiles/file-0001.profraw", "profiles/file-0002.profraw", "profiles/file-0003.profraw"]);
    assert_ne!(desk.read(paths[0]), desk.read(paths[1]));
    let merged = desk.run("merge profiles -o merged.profdata");
    assert!(merged.status.success(), "{}", text(&merged.stderr));
    let shown = desk.run("show merged.profdata --json");
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let sum: u64 = files.iter().map(|file| file["totals"]["count_sum"].as_u64().unwrap()).sum();
    assert_eq!(shown["summary"]["functions"], 25);
    assert_eq!(shown["summary"]["total_count"], sum);
}

#[test]
fn totals_of_the_model_agree_with_the_file() {
    let desk = Desk::new();
    for format in ["raw", "indexed", "text"] {
        let truth = &desk.generate(&format!("--format {format} --functions 60 -o file"))[0];
        let functions = truth["show"]["functions"].as_array().unwrap();
        assert_eq!(truth["totals"]["functions"], functions.len());
        let counters = functions.iter().flat_map(|function| function["counters"].as_array().unwrap());
        let counters: Vec<u64> = counters.map(|count| count.as_u64().unwrap()).collect();
        assert_eq!(truth["totals"]["counters"], counters.len());
        assert_eq!(truth["totals"]["count_sum"], counters.iter().sum::<u64>());
        assert_eq!(truth["totals"]["max_count"], *counters.iter().max().unwrap());
    }
}

#[test]
fn truth_locates_the_damage() {
    let desk = Desk::new();
    let rows = [
        ("raw", "truncate flip lengths checksums names"),
        ("raw --raw-arch 32be", "lengths checksums names"),
        ("indexed", "truncate flip lengths checksums names"),
        ("text", "truncate flip lengths checksums names"),
        ("sample-text --kinds probes", "truncate flip checksums names"),
        ("sample-binary", "truncate flip lengths names"),
        ("sample-extbinary --kinds probes", "truncate flip lengths checksums names"),
        ("memory-yaml", "truncate flip names"),
        ("memory-indexed", "truncate flip lengths names"),
        ("iprof", "truncate flip names"),
        ("collapsed", "truncate flip names"),
        ("pprof", "truncate flip lengths names"),
    ];
    for (format, kinds) in rows {
        for kind in kinds.split_whitespace() {
            desk.generate(&format!("--format {format} --functions 20 -o intact"));
            let truth = &desk.generate(&format!("--format {format} --functions 20 -o broken --damage {kind}"))[0];
            let (intact, broken) = (desk.read("intact"), desk.read("broken"));
            let damage = &truth["damage"];
            assert_eq!(damage["kind"], kind);
            assert_eq!(damage["intact_size"], intact.len());
            let offset = damage["offset"].as_u64().unwrap() as usize;
            assert_eq!(broken[..offset], intact[..offset], "{format} {kind}");
            if kind == "truncate" {
                assert_eq!(broken.len(), offset);
                continue;
            }
            let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            let (before, after) = (damage["before"].as_str().unwrap(), damage["after"].as_str().unwrap());
            assert_eq!(hex(&intact[offset..offset + before.len() / 2]), before, "{format} {kind}");
            assert_eq!(hex(&broken[offset..offset + after.len() / 2]), after, "{format} {kind}");
            assert_eq!(broken[offset + after.len() / 2..], intact[offset + before.len() / 2..], "{format} {kind}");
        }
    }
}

#[test]
fn damaged_lengths_make_files_invalid() {
    let desk = Desk::new();
    for format in ["raw", "indexed", "text", "sample-binary", "sample-extbinary", "memory-indexed", "pprof"] {
        for seed in 0..4 {
            desk.generate(&format!("--format {format} --functions 20 --seed {seed} -o broken --damage lengths"));
            assert!(!desk.run("check broken").status.success(), "{format} {seed}");
        }
    }
}

#[test]
fn usage_errors_write_nothing() {
    let rows = [
        ("--format raw --for llvm-16 --kinds bitmaps", "raw version 8 cannot store"),
        ("--format indexed --for llvm-14 --kinds binary-ids", "indexed version 7 cannot store"),
        ("--format text --for llvm-16 --kinds temporal", "LLVM 16 does not know temporal traces"),
        ("--format raw --for llvm-99", "newer than"),
        ("--format raw --format-version 6", "there is no raw version 6"),
        ("--format raw --for llvm-16 --format-version 10", "LLVM 16 does not read raw version 10"),
        ("--format indexed --format-version 99", "there is no indexed format of version 99"),
        ("--format iprof --kinds bitmaps", "iprof files have no bitmaps"),
        ("--format iprof --kinds instanceof --to-version 1.0.0", "instance-of"),
        ("--format iprof --to-version 3.0.0", "cannot write version 3.0.0"),
        ("--format iprof --for llvm-16", "no effect on iprof files"),
        ("--format text --raw-arch 32be", "no effect on text files"),
        ("--format raw --contexts 3", "no effect on raw files"),
        ("--format iprof --counters 3", "a number of counters has no effect on iprof files"),
        ("--format raw --kinds entry-coverage --counters 3", "no effect on entry-coverage"),
        ("--format sample-text --distinct-counts 3", "no effect on sample-text files"),
        ("--format iprof --depth 3", "a depth has no effect on iprof files"),
        ("--format raw --kinds front-end,temporal", "has no temporal"),
        ("--format sample-text --kinds contexts,inlined", "two ways"),
        ("--format sample-compact", "not supported"),
        ("--format memory-indexed --for llvm-14", "does not support memory profiles"),
        ("--format iprof --damage checksums", "no checksums to damage"),
        ("--format colours", "colours"),
        ("--format raw --functions 0", "functions"),
    ];
    for (arguments, message) in rows {
        let desk = Desk::new();
        let run = desk.run(&format!("generate {arguments} -o out --truth truth.json"));
        assert_eq!(run.status.code(), Some(2), "{arguments}: {}", text(&run.stderr));
        assert!(text(&run.stderr).contains(message), "{arguments}: {}", text(&run.stderr));
        assert_eq!(desk.names(), [""; 0], "{arguments}");
    }
}

#[test]
fn a_directory_that_is_not_empty_needs_force() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("profiles")).unwrap();
    std::fs::write(desk.path("profiles/notes.txt"), "notes").unwrap();
    let run = desk.run("generate --format text --files 2 -o profiles");
    assert_eq!(run.status.code(), Some(2));
    assert!(text(&run.stderr).contains("the directory is not empty"));
    assert!(!desk.path("profiles/file-0001.proftext").exists());
    assert!(desk.run("generate --format text --files 2 -o profiles --force").status.success());
    assert!(desk.path("profiles/file-0002.proftext").exists());
    assert_eq!(desk.read("profiles/notes.txt"), b"notes");
}

#[test]
fn other_files_are_not_replaced() {
    let desk = Desk::new();
    std::fs::write(desk.path("notes.txt"), "notes").unwrap();
    let run = desk.run("generate --format text -o notes.txt");
    assert_eq!(run.status.code(), Some(2));
    assert_eq!(desk.read("notes.txt"), b"notes");
    let run = desk.run("generate --format text --files 2 -o notes.txt");
    assert!(text(&run.stderr).contains("the output is not a directory"));
}

#[test]
fn standard_output_takes_one_file() {
    let desk = Desk::new();
    let run = desk.run("generate --format text --functions 2 -o -");
    assert!(text(&run.stdout).starts_with("# IR level"), "{}", text(&run.stdout));
    assert_eq!(desk.run("generate --format text --files 2 -o -").status.code(), Some(2));
}
