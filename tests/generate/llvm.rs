//! Every installed release of llvm-profdata reads the profiles that were generated for it and finds their contents.

use crate::toolchain::program;
use crate::{Desk, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

const RELEASES: [u32; 11] = [13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23];

/// Returns the installed releases with their tools.
fn tools() -> Vec<(u32, PathBuf)> {
    let tool = |release: &u32| {
        let name = format!("llvm-profdata-{release}");
        let found = program(&name);
        if found.is_none() {
            eprintln!("SKIPPED: {name} is not installed");
        }
        found.map(|found| (*release, found))
    };
    RELEASES.iter().filter_map(tool).collect()
}

/// Runs a tool, which must succeed without messages.
fn run(desk: &Desk, tool: &PathBuf, arguments: &str) -> String {
    let run = Command::new(tool).args(arguments.split_whitespace()).current_dir(desk.path("")).output().unwrap();
    let words = format!("{} {arguments}", tool.display());
    assert!(run.status.success(), "{words}: {}", text(&run.stderr));
    assert_eq!(text(&run.stderr), "", "{words}");
    text(&run.stdout)
}

/// A record: counters, and for each value kind the sites with their values.
type Record = (Vec<u64>, BTreeMap<u64, Vec<BTreeMap<String, u64>>>);

/// Records by name and FuncHash.
type Records = BTreeMap<(String, u64), Record>;

/// Parses the records of a text profile. Bitmaps and traces are skipped.
fn parse(profile: &str) -> Records {
    let mut lines = profile.lines().filter(|line| !line.starts_with('#')).peekable();
    let mut records = Records::new();
    while let Some(line) = lines.next() {
        if line == ":temporal_prof_traces" {
            let traces: usize = lines.next().unwrap().parse().unwrap();
            lines.by_ref().take(1 + 2 * traces).for_each(drop);
            continue;
        }
        if line.is_empty() || line.starts_with(':') {
            continue;
        }
        let mut number = || lines.next().unwrap().parse::<u64>().unwrap();
        let (hash, count) = (number(), number());
        let counters = (0..count).map(|_| number()).collect();
        if let Some(size) =
            lines.peek().and_then(|line| line.strip_prefix('$')).map(|size| size.parse::<usize>().unwrap())
        {
            lines.by_ref().take(1 + size).for_each(drop);
            lines.next_if(|line| line.is_empty());
        }
        let mut kinds = BTreeMap::new();
        let values = lines.next_if(|line| line.parse::<u64>().is_ok()).map_or(0, |count| count.parse().unwrap());
        for _ in 0..values {
            let kind: u64 = lines.next().unwrap().parse().unwrap();
            let sites: u64 = lines.next().unwrap().parse().unwrap();
            let sites = (0..sites).map(|_| {
                let values: usize = lines.next().unwrap().parse().unwrap();
                let pair =
                    |line: &str| line.rsplit_once(':').map(|(value, count)| (value.into(), count.parse().unwrap()));
                lines.by_ref().take(values).map(|line| pair(line).unwrap()).collect()
            });
            kinds.insert(kind, sites.collect());
        }
        records.insert((line.to_string(), hash), (counters, kinds));
    }
    records
}

/// Returns the records in the output of `show --json`.
fn records_of_truth(show: &Value) -> Records {
    let kinds = [("indirect_call_targets", 0), ("memop_sizes", 1), ("vtables", 2)];
    let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let record = |function: &Value| {
        let hash = function["func_hash"].as_str().unwrap().trim_start_matches("0x");
        let key = (function["name"].as_str().unwrap().to_string(), u64::from_str_radix(hash, 16).unwrap());
        let counters = array(&function["counters"]).iter().map(|count| count.as_u64().unwrap()).collect();
        let sites = kinds.iter().filter_map(|(name, kind)| {
            let pair = |value: &Value| {
                let name = value["name"].as_str().map_or_else(|| value["size"].to_string(), str::to_string);
                (name, value["count"].as_u64().unwrap())
            };
            let sites: Vec<BTreeMap<String, u64>> =
                array(&function["values"][*name]).iter().map(|site| array(site).iter().map(pair).collect()).collect();
            (!sites.is_empty()).then_some((*kind, sites))
        });
        (key, (counters, sites.collect()))
    };
    array(&show["functions"]).iter().map(record).collect()
}

#[test]
fn llvm_finds_the_records_of_instrumentation_profiles() {
    let kinds = [
        ("values", 13),
        ("front-end", 13),
        ("front-end,values", 13),
        ("values,context-sensitive", 13),
        ("values,entry-first", 13),
        ("byte-coverage", 16),
        ("byte-coverage,entry-coverage", 18),
        ("values,temporal", 17),
        ("values,bitmaps", 18),
        ("values,vtables", 19),
        ("values,loop-entries", 20),
    ];
    for (release, tool) in tools() {
        for (kinds, since) in kinds {
            for format in
                ["raw", "raw --raw-arch 64be", "raw --raw-arch 32le", "raw --raw-arch 32be", "indexed", "text"]
            {
                // LLVM 17 and earlier cannot find the call targets of a raw profile with the other byte order.
                let is_misread = release < 18 && format.ends_with("be") && kinds.contains("values");
                let is_stored = format != "text"
                    || !kinds.contains("entry-coverage") && (release >= 18 || kinds != "byte-coverage");
                if release < since || is_misread || !is_stored {
                    continue;
                }
                let desk = Desk::new();
                let request = format!("--format {format} --kinds {kinds} --for llvm-{release} --functions 40");
                let truth = &desk.generate(&format!("{request} --seed {release} -o file"))[0];
                let keep = if kinds.contains("vtables") { "--keep-vtable-symbols" } else { "" };
                let found = parse(&run(&desk, &tool, &format!("merge {keep} --text file -o -")));
                let wanted = records_of_truth(&truth["show"]);
                assert_eq!(wanted.len(), 40, "{request}");
                assert_eq!(found, wanted, "{request}");
            }
        }
    }
}

#[test]
fn llvm_finds_the_totals_of_sample_profiles() {
    let kinds = ["inlined,targets", "contexts,targets", "inlined,probes", "contexts,probes", "inlined,vtables"];
    for (release, tool) in tools().into_iter().filter(|(release, _)| *release >= 14) {
        for format in ["sample-text", "sample-binary", "sample-extbinary", "sample-compact"] {
            for kinds in kinds {
                let is_plain = matches!(format, "sample-binary" | "sample-compact");
                let has_place = match kinds {
                    "inlined,targets" => true,
                    "inlined,vtables" => !is_plain && release >= 22,
                    _ => !is_plain,
                };
                if !has_place || (format == "sample-compact" && release > 16) {
                    continue;
                }
                let desk = Desk::new();
                let request = format!("--format {format} --kinds {kinds} --for llvm-{release} --functions 40");
                let truth = &desk.generate(&format!("{request} --seed {release} -o file"))[0];
                let merged = run(&desk, &tool, "merge --sample --text file -o -");
                // A function starts at the beginning of a line: name or context, total, head.
                let head = |line: &str| {
                    let (rest, head) = line.rsplit_once(':')?;
                    let (_, total) = rest.rsplit_once(':')?;
                    Some([total.parse::<u64>().ok()?, head.parse::<u64>().ok()?])
                };
                let functions: Vec<[u64; 2]> =
                    merged.lines().filter(|line| !line.starts_with(' ')).map(|line| head(line).unwrap()).collect();
                let sum = |at: usize| functions.iter().map(|function| function[at]).sum::<u64>();
                assert_eq!(truth["totals"]["functions"], functions.len(), "{request}");
                assert_eq!(truth["totals"]["total_samples"], sum(0), "{request}");
                assert_eq!(truth["totals"]["head_samples"], sum(1), "{request}");
            }
        }
    }
}

#[test]
fn llvm_finds_the_profile_symbol_list() {
    for (release, tool) in tools().into_iter().filter(|(release, _)| *release >= 14) {
        let desk = Desk::new();
        let request = format!("--format sample-extbinary --kinds symbols --for llvm-{release}");
        let truth = &desk.generate(&format!("{request} -o file"))[0];
        let shown = run(&desk, &tool, "show --sample --show-prof-sym-list file");
        let symbols = shown.lines().filter(|line| line.starts_with("cold_")).count();
        assert_eq!(truth["totals"]["symbols"], symbols, "{request}");
    }
}

#[test]
fn llvm_finds_the_totals_of_memory_profiles() {
    for (release, tool) in tools().into_iter().filter(|(release, _)| *release >= 15) {
        for (format, kinds, since) in [
            ("memory-indexed", "", 15),
            ("memory-yaml", "", 21),
            ("memory-indexed", "--kinds callees,data", 21),
            ("memory-yaml", "--kinds callees,data", 21),
        ] {
            if release < since {
                continue;
            }
            let desk = Desk::new();
            let request = format!("--format {format} {kinds} --for llvm-{release} --functions 40");
            let truth = &desk.generate(&format!("{request} --seed {release} -o file"))[0];
            if release < 21 {
                // These releases show only memory profiles of raw files, but can merge others.
                run(&desk, &tool, "merge file -o merged");
                continue;
            }
            // A merge drops the memory profile of an indexed profile without functions.
            if format == "memory-yaml" {
                run(&desk, &tool, "merge --memprof-full-schema file -o merged");
            } else {
                std::fs::copy(desk.path("file"), desk.path("merged")).unwrap();
            }
            let shown = run(&desk, &tool, "show --memory merged");
            let sum = |key: &str| {
                let found = shown.lines().filter_map(|line| line.trim().strip_prefix(key));
                found.map(|number| number.trim().parse::<u64>().unwrap()).sum::<u64>()
            };
            let records = shown.lines().filter(|line| line.trim_start().starts_with("- GUID:")).count();
            assert_eq!(truth["totals"]["records"], records, "{request}");
            assert_eq!(truth["totals"]["allocations"], sum("AllocCount:"), "{request}");
            assert_eq!(truth["totals"]["bytes"], sum("TotalSize:"), "{request}");
        }
    }
}
