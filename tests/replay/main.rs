//! Runs the code of the fuzz targets on the stable compiler, with all test data, with all earlier findings, and with
//! `fuzz/corpus` if it exists.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

mod findings;
mod mutants;

#[path = "../../fuzz/src/lib.rs"]
mod bodies;

/// Larger files would be slow without finding more.
const LARGEST: u64 = 64 << 10;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns all files below a directory that are not too large, sorted.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries {
        let path = entry.expect("folder is readable").path();
        let metadata = path.metadata().expect("file is there");
        if metadata.is_dir() {
            found.extend(files_below(&path));
        } else if metadata.len() <= LARGEST {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns the files for which a target fails, with its name.
fn failures<'f>(target: &str, files: impl IntoIterator<Item = &'f PathBuf>) -> Vec<String> {
    let mut failed = Vec::new();
    for path in files {
        let data = std::fs::read(path).expect("file is readable");
        if catch_unwind(AssertUnwindSafe(|| bodies::run(target, &data))).is_err() {
            failed.push(format!("{target} fails on {}", path.display()));
        }
    }
    failed
}

/// Returns the targets, without those that start the real tool for each file.
fn targets() -> impl Iterator<Item = &'static str> {
    bodies::BODIES.iter().map(|(name, _)| *name).filter(|name| !name.ends_with("_as_llvm"))
}

#[test]
fn every_body_survives_the_bad_files() {
    let files = files_below(&root().join("testdata/bad"));
    assert!(files.len() > 40, "{} files", files.len());
    let failed: Vec<String> = targets().flat_map(|target| failures(target, &files)).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn every_body_survives_the_findings() {
    let folder = root().join("testdata/bad/found");
    let files = files_below(&folder);
    assert!(!files.is_empty(), "{} has the findings", folder.display());
    for path in &files {
        // The name of a finding starts with its target.
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let target = targets().find(|target| name.starts_with(target));
        assert!(
            target.is_some() || name.starts_with("same_as_llvm") || name.starts_with("same_sample_as_llvm"),
            "{name} says no target"
        );
    }
    let failed: Vec<String> = targets().flat_map(|target| failures(target, &files)).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_readers_survive_the_test_data() {
    let files = files_below(&root().join("testdata"));
    let readers = targets().filter(|target| target.starts_with("read_") && *target != "read_any");
    let failed: Vec<String> = readers.flat_map(|target| failures(target, &files)).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_corpus_of_this_machine_is_replayed() {
    let corpus = root().join("fuzz/corpus");
    if !corpus.exists() {
        eprintln!("SKIPPED: no corpus in {} (fuzz/run.sh makes one)", corpus.display());
        return;
    }
    let mut failed = Vec::new();
    for target in targets() {
        // A sample is enough here; the fuzzer itself starts with all files.
        let files = files_below(&corpus.join(target));
        let step = files.len() / 200 + 1;
        failed.extend(failures(target, files.iter().step_by(step)));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn every_target_has_a_body_and_every_body_a_target() {
    let folder = root().join("fuzz/fuzz_targets");
    let mut found: Vec<String> =
        files_below(&folder).iter().filter_map(|path| Some(path.file_stem()?.to_str()?.to_string())).collect();
    let mut expected: Vec<String> = bodies::BODIES.iter().map(|(name, _)| (*name).to_string()).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    let manifest = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("manifest is readable");
    for name in &expected {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is not in fuzz/Cargo.toml");
        let text = std::fs::read_to_string(folder.join(format!("{name}.rs"))).expect("target is readable");
        assert!(text.contains(&format!("run(\"{name}\"")), "{name}.rs runs another body");
    }
}
