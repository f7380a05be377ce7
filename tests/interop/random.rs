//! Random selections of the test data with random weights and options, merged
//! by both tools.

use crate::tools::{Workspace, available};
use profbridge::generate::Random;
use std::path::{Path, PathBuf};

/// Raw profiles of compilers whose releases are `compilers`, sorted.
fn raw_profiles(compilers: &[&str]) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/raw");
    let entries = std::fs::read_dir(folder).expect("testdata/raw is there");
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.expect("folder is readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "profraw"))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).expect("names are text");
            compilers.iter().any(|compiler| name.starts_with(compiler))
        })
        .collect();
    found.sort();
    assert!(found.len() > 5, "too few profiles of {compilers:?}");
    found
}

/// Merges random selections with both tools; outputs and exit codes are equal.
fn merge_alike(release: u32, compilers: &[&str], rounds: u64) {
    let tool = format!("llvm-profdata-{release}");
    if !available(&format!("random merges by {tool}"), &[&tool]) {
        return;
    }
    let ws = Workspace::with(&[]);
    let mut profiles = raw_profiles(compilers);
    if release >= 22 {
        // Hashes of earlier front ends make us write the version whose reader computes them.
        let front_end = ["-fe", "-coverage", "-mcdc", "-byte-coverage", "-continuous"];
        profiles.retain(|path| {
            let name = path.to_string_lossy();
            let is_front_end = front_end.iter().any(|kind| name.contains(&format!("clang-19{kind}")));
            !is_front_end
        });
    }
    if matches!(release, 16 | 17) {
        // They forget the ids of all images of a file but the last; we keep them.
        profiles.retain(|path| !path.to_string_lossy().contains("shared-library"));
    }
    // For a reader of LLVM 22 version 12 is chosen where the hashes are of earlier releases, unless 13 is asked for.
    let version = if release == 22 { "--format-version 13".to_string() } else { format!("--for llvm-{release}") };
    let calls = [format!("profbridge merge {version}"), format!("profbridge {tool} merge --num-threads=1")];
    let (mut merged, mut refused) = (0, 0);
    for round in 0..rounds {
        let mut random = Random::of(&[round, release.into()]);
        let mut below = |limit: usize| random.below(limit as u64) as usize;
        let inputs: Vec<String> = (0..1 + below(6))
            .map(|_| {
                let profile = profiles[below(profiles.len())].display().to_string();
                let weight = [1, 1, 2, 1000, u64::MAX / 3][below(5)];
                format!("--weighted-input={weight},{profile}")
            })
            .collect();
        let options = ["", "--sparse"][below(2)];
        let line = format!("{options} {}", inputs.join(" "));
        let theirs = ws.attempt(&format!("{tool} merge --num-threads=1 {line} -o theirs.profdata"));
        merged += u64::from(theirs.status.success());
        for call in &calls {
            let ours = ws.attempt(&format!("{call} {line} -o ours.profdata"));
            let said = String::from_utf8_lossy(&ours.stderr);
            // llvm-profdata merges counters of several kinds.
            if call == &calls[0] && said.contains(": its kind (") {
                refused += 1;
                continue;
            }
            assert_eq!(ours.status.code(), theirs.status.code(), "{call} {line}\n{said}");
            if theirs.status.success() {
                let same = ws.bytes("ours.profdata") == ws.bytes("theirs.profdata");
                assert!(same, "{tool} writes something else than {call} {line}");
            }
        }
    }
    assert!(merged > rounds / 4, "only {merged} of {rounds} selections can be merged");
    assert!(refused < merged, "{refused} of {merged} selections are of several kinds");
}

#[test]
fn random_selections_merge_as_by_llvm_22() {
    merge_alike(22, &["clang-19", "clang-22", "rustc"], 150);
}

#[test]
fn random_selections_merge_as_by_llvm_23() {
    merge_alike(23, &["clang-23"], 60);
}

#[test]
fn random_selections_merge_as_by_llvm_19() {
    merge_alike(19, &["clang-19", "clang-22", "rustc"], 60);
}

#[test]
fn random_selections_merge_as_by_llvm_18() {
    merge_alike(18, &["clang-18"], 60);
}

#[test]
fn random_selections_merge_as_by_llvm_20_and_21() {
    for release in [20, 21] {
        merge_alike(release, &["clang-19", "clang-20", "clang-21", "clang-22", "rustc"], 60);
    }
}

#[test]
fn random_selections_merge_as_by_releases_that_read_version_8() {
    for release in [14, 15, 16] {
        merge_alike(release, &["clang-14", "clang-15", "clang-16"], 60);
    }
    // The earlier ones take the time stamps of 17 for counts.
    merge_alike(17, &["clang-14", "clang-15", "clang-16", "clang-17"], 60);
}
