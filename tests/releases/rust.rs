//! Coverage of Rust programs: the hashes are rustc's own for every reader.

use crate::comparison::Comparison;
use crate::compilers::{ALL, skip};
use crate::toolchain::program;
use std::collections::BTreeSet;

/// Returns the functions of a profile with their hashes.
#[track_caller]
fn names_and_hashes(comparison: &Comparison, profile: &str) -> BTreeSet<(String, u64)> {
    comparison.run(&["merge", "--text", profile, "-o", "listed.proftext"]);
    let text = String::from_utf8(comparison.bytes("listed.proftext")).expect("text was written");
    let lines: Vec<&str> = text.lines().collect();
    let record = |window: &[&str]| {
        (window[1] == "# Func Hash:").then(|| (window[0].to_string(), window[2].parse().expect("a hash is a number")))
    };
    lines.windows(3).filter_map(record).collect()
}

#[test]
fn coverage_of_rustc_keeps_its_hashes_for_every_release() {
    if program("rustc").is_none() {
        return skip("coverage of rustc", "rustc not installed");
    }
    let comparison = Comparison::new(&["rustc".to_string()], "coverage");
    let toolchain = comparison.document["toolchains"][0]["name"].as_str().expect("a name");
    let raw = comparison.kept("coverage", toolchain, "program.rs", "profile.profraw");
    let written = names_and_hashes(&comparison, &raw);
    assert!(written.len() >= 10, "{written:?}");
    let large = written.iter().filter(|(_, hash)| hash >> 60 != 0).count();
    assert!(large >= 5, "hashes of all 64 bits: {written:?}");
    for release in ALL {
        for policy in ["keep", "reader"] {
            let (target, hashes) = (format!("llvm-{release}"), format!("--hashes={policy}"));
            comparison.run(&["merge", "--for", &target, &hashes, &raw, "-o", "crossed.profdata"]);
            let crossed = names_and_hashes(&comparison, "crossed.profdata");
            assert_eq!(crossed, written, "for LLVM {release} with {hashes}");
        }
    }
}
