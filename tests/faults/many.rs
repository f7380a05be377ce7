//! Merges 10,000 files with constant memory and few file descriptors.

use super::program::{Finished, counts_of, profile, raw_bytes, run_after};
use std::ffi::OsString;
use std::fs;

/// Granularity of [`least_space`] in KiB.
const STEP: u64 = 4 * 1024;

/// Runs the program with a limit of the address space. Uses one thread, because each thread reserves an arena of 64
/// MiB.
fn run_within(kilobytes: u64, arguments: &[OsString]) -> Finished {
    run_after(&format!("export MALLOC_ARENA_MAX=1; ulimit -v {kilobytes}"), arguments)
}

/// Returns the minimum address space of a successful run in KiB.
fn least_space(arguments: &[OsString]) -> u64 {
    let (mut too_little, mut enough) = (0, 256 * 1024 / STEP);
    run_within(enough * STEP, arguments).assert_done();
    while enough - too_little > 1 {
        let middle = too_little.midpoint(enough);
        if run_within(middle * STEP, arguments).code == Some(0) { enough = middle } else { too_little = middle }
    }
    enough * STEP
}

#[test]
fn ten_thousand_files_need_little_more_memory_than_a_thousand_and_few_descriptors() {
    let folder = tempfile::tempdir().unwrap();
    let (few, many) = (folder.path().join("few"), folder.path().join("many"));
    fs::create_dir(&few).unwrap();
    fs::create_dir(&many).unwrap();
    let functions: Vec<String> = (0..50).map(|at| format!("function_{at}")).collect();
    for at in 0..10_000u64 {
        let counts: Vec<(&str, u64)> = functions.iter().map(|name| (name.as_str(), at % 7)).collect();
        // The versions alternate, so that the files belong to different images.
        let bytes = raw_bytes(&profile(&counts), [8, 10, 5][(at % 3) as usize]);
        if at < 1000 {
            fs::write(few.join(at.to_string()), &bytes).unwrap();
        }
        fs::write(many.join(at.to_string()), &bytes).unwrap();
    }
    let out = folder.path().join("out");
    let arguments = |input: &str| -> Vec<OsString> {
        let input = folder.path().join(input);
        vec!["merge".into(), "-q".into(), "--num-threads=2".into(), "-o".into(), out.clone().into(), input.into()]
    };
    let space = least_space(&arguments("few"));
    eprintln!("1,000 files are merged within {space} KiB of address space");
    // Only the path and the status of each input are stored.
    run_within(space + 12 * 1024, &arguments("many")).assert_done();
    fs::remove_file(&out).unwrap();
    run_after("ulimit -n 20", arguments("many")).assert_done();
    let counts = counts_of(&fs::read(&out).unwrap());
    let expected: u64 = (0..10_000u64).map(|at| at % 7).sum();
    assert!(counts.len() == 50 && counts.values().all(|count| *count == expected));
}
