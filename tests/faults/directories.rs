//! Tests with a directory of 2,000 valid and invalid files: in every mode, the merged profile contains exactly the data
//! of the valid files.

use super::program::{counts_of, indexed_bytes, profile, raw_bytes, run, text_bytes};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const FILES: usize = 2000;

/// The content of the directory.
struct Mixture {
    folder: tempfile::TempDir,
    /// Sums over the valid files.
    good: BTreeMap<String, u64>,
    /// The counts of the valid records in damaged files.
    salvageable: BTreeMap<String, u64>,
    good_count: usize,
    empty_count: usize,
    bad: Vec<PathBuf>,
}

fn add(sums: &mut BTreeMap<String, u64>, counts: &[(&str, u64)]) {
    for (name, count) in counts {
        *sums.entry((*name).to_string()).or_default() += count;
    }
}

fn mixture() -> &'static Mixture {
    static MIXTURE: OnceLock<Mixture> = OnceLock::new();
    MIXTURE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut made = Mixture {
            good: BTreeMap::new(),
            salvageable: BTreeMap::new(),
            good_count: 0,
            empty_count: 0,
            bad: Vec::new(),
            folder,
        };
        for at in 0..FILES {
            let name = format!("{at:04}.prof");
            let path = made.folder.path().join(name);
            let own = format!("only_in_{}", at % 97);
            let counts = [("shared", at as u64 + 1), (own.as_str(), 3)];
            let whole = profile(&counts);
            let mut good = |bytes: Vec<u8>| {
                add(&mut made.good, &counts);
                made.good_count += 1;
                bytes
            };
            let content = match at % 10 {
                0 => good(raw_bytes(&whole, 10)),
                // Versions 1 and 2 cannot store that a profile has IR instrumentation.
                1 => good(raw_bytes(&whole, [4, 5, 7, 8, 9, 11][at / 10 % 6])),
                2 => good(indexed_bytes(&whole)),
                3 => good(text_bytes(&whole)),
                // A file with the same content as another one counts, too.
                4 => good(raw_bytes(&whole, 10)),
                5 => {
                    made.empty_count += 1;
                    Vec::new()
                }
                _ => {
                    made.bad.push(path.clone());
                    bad_content(at, &counts, &mut made.salvageable)
                }
            };
            fs::write(&path, content).expect("the file is written");
        }
        made
    })
}

/// Truncated content, other formats, future versions, and damage after the first record.
fn bad_content(at: usize, counts: &[(&str, u64)], salvageable: &mut BTreeMap<String, u64>) -> Vec<u8> {
    let whole = profile(counts);
    match at % 10 {
        6 => {
            let bytes = raw_bytes(&whole, 10);
            bytes[..bytes.len() - 1 - at % 40].to_vec()
        }
        7 => match at / 10 % 3 {
            0 => b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec(),
            1 => b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(),
            _ => {
                let mut bytes = raw_bytes(&whole, 10);
                bytes[8] = 99;
                bytes
            }
        },
        8 => {
            // Another kind, which must not change the merged profile, and no valid record.
            b":ir\n:entry_first\nshared\n7\nmany\n".to_vec()
        }
        _ => {
            let mut bytes = text_bytes(&profile(&counts[..1]));
            bytes.extend_from_slice(b"next\n7\n2\n1\n");
            add(salvageable, &counts[..1]);
            bytes
        }
    }
}

fn merge(output: &Path, options: &[&str]) -> super::program::Finished {
    let mut arguments: Vec<OsString> = vec!["merge".into(), "--json".into(), "-o".into(), output.into()];
    arguments.extend(options.iter().map(Into::into));
    arguments.push(mixture().folder.path().into());
    run(arguments)
}

#[test]
fn one_bad_file_is_enough_by_default_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");
    fs::write(&output, ":ir\nold\n1\n1\n5\n").unwrap();
    for options in [&["--failure-mode=any"][..], &["--failure-mode=any", "--salvage"], &[]] {
        let finished = merge(&output, options);
        assert_eq!(finished.code, Some(1), "{options:?}");
        assert_eq!(fs::read(&output).unwrap(), b":ir\nold\n1\n1\n5\n");
    }
}

#[test]
fn the_result_holds_exactly_the_good_files() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");
    let mut first: Option<Vec<u8>> = None;
    for options in [
        &["--failure-mode=all", "--num-threads=1"][..],
        &["--failure-mode=warn", "--num-threads=4"],
        &["--failure-mode=warn", "--min-inputs=1000", "--min-functions=98", "--min-total-count=1000000"],
    ] {
        let finished = merge(&output, options);
        finished.assert_done();
        let bytes = fs::read(&output).unwrap();
        assert_eq!(counts_of(&bytes), mixture().good, "{options:?}");
        assert_eq!(*first.get_or_insert_with(|| bytes.clone()), bytes, "{options:?}");
        every_bad_file_is_reported(&finished);
    }
}

#[test]
fn the_kind_of_a_bad_file_does_not_colour_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let (mixed, alone) = (folder.path().join("mixed"), folder.path().join("alone"));
    let good = folder.path().join("good.proftext");
    fs::write(&good, text_bytes(&profile(&[("f", 1)]))).unwrap();
    let bad = folder.path().join("bad.proftext");
    fs::write(&bad, ":ir\n:entry_first\nshared\n7\nmany\n").unwrap();
    run([Path::new("merge"), &good, Path::new("-o"), &alone]).assert_done();
    let warn = Path::new("--failure-mode=warn");
    run([Path::new("merge"), warn, &good, &bad, Path::new("-o"), &mixed]).assert_done();
    assert_eq!(fs::read(&mixed).unwrap(), fs::read(&alone).unwrap());
}

#[test]
fn salvaging_adds_the_good_records_of_bad_files() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");
    let mut expected = mixture().good.clone();
    for (name, count) in &mixture().salvageable {
        *expected.entry(name.clone()).or_default() += count;
    }
    for threads in ["--num-threads=1", "--num-threads=3"] {
        let finished = merge(&output, &["--failure-mode=warn", "--salvage", threads]);
        finished.assert_done();
        assert_eq!(counts_of(&fs::read(&output).unwrap()), expected, "{threads}");
        every_bad_file_is_reported(&finished);
    }
}

#[test]
fn an_unmet_threshold_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");
    let good = mixture().good_count;
    for (floor, enough) in [("--min-inputs", good), ("--min-functions", mixture().good.len())] {
        merge(&output, &["--failure-mode=warn", &format!("{floor}={enough}")]).assert_done();
        fs::remove_file(&output).unwrap();
        merge(&output, &["--failure-mode=warn", &format!("{floor}={}", enough + 1)])
            .assert_gate_failed(&["the number of ", "below "]);
        assert!(!output.exists());
    }
}

#[test]
fn only_bad_files_fail_unless_failures_are_only_warned_about() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");
    let bad = folder.path().join("bad");
    fs::create_dir(&bad).unwrap();
    for path in mixture().bad.iter().take(50) {
        fs::copy(path, bad.join(path.file_name().unwrap())).unwrap();
    }
    let all = [Path::new("merge"), Path::new("--failure-mode=all"), &bad, Path::new("-o"), &output];
    run(all).assert_refused(&["no input can be read"]);
    assert!(!output.exists());
}

fn every_bad_file_is_reported(finished: &super::program::Finished) {
    let report: serde_json::Value = serde_json::from_slice(&finished.stdout).expect("the report is JSON");
    let inputs = report["inputs"].as_array().expect("inputs are listed");
    assert_eq!(inputs.len(), FILES);
    let with = |outcome: &str| inputs.iter().filter(|input| input["outcome"] == outcome).count();
    let mixture = mixture();
    assert_eq!(
        (with("used"), with("empty"), with("failed") + with("salvaged")),
        (mixture.good_count, mixture.empty_count, mixture.bad.len())
    );
    // Standard error groups similar messages.
    let is_bad = |input: &&serde_json::Value| input["outcome"] == "failed" || input["outcome"] == "salvaged";
    let reported: Vec<&str> = inputs.iter().filter(is_bad).filter_map(|input| input["path"].as_str()).collect();
    for path in &mixture.bad {
        assert!(reported.contains(&&*path.to_string_lossy()), "{} is not mentioned", path.display());
    }
}
