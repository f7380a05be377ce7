//! 10,000 files: memory stays flat, descriptors stay few.

use super::program::{command, counts_of, profile, raw_bytes, run_after};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Runs to the end and gives the peak of resident memory in KiB.
fn peak_of(arguments: &[&std::ffi::OsStr]) -> u64 {
    let mut child = command().args(arguments).spawn().expect("the program starts");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let found = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
        peak = peak.max(found.unwrap_or(0));
        if let Some(status) = child.try_wait().expect("the program can be waited for") {
            assert!(status.success());
            return peak;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn ten_thousand_files_need_little_more_memory_than_a_thousand_and_few_descriptors() {
    if !Path::new("/proc/self/status").exists() {
        eprintln!("SKIPPED: no /proc to read the memory from");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (few, many) = (folder.path().join("few"), folder.path().join("many"));
    fs::create_dir(&few).unwrap();
    fs::create_dir(&many).unwrap();
    let functions: Vec<String> = (0..50).map(|at| format!("function_{at}")).collect();
    for at in 0..10_000u64 {
        let counts: Vec<(&str, u64)> = functions.iter().map(|name| (name.as_str(), at % 7)).collect();
        // Versions take turns, so that not all files are of one image.
        let bytes = raw_bytes(&profile(&counts), [8, 10, 5][(at % 3) as usize]);
        if at < 1000 {
            fs::write(few.join(at.to_string()), &bytes).unwrap();
        }
        fs::write(many.join(at.to_string()), &bytes).unwrap();
    }
    let out = folder.path().join("out");
    let arguments = |input: &'static str| -> Vec<std::ffi::OsString> {
        let input = folder.path().join(input);
        vec!["merge".into(), "-q".into(), "--num-threads=2".into(), "-o".into(), out.clone().into(), input.into()]
    };
    let peak = |input| {
        let arguments = arguments(input);
        peak_of(&arguments.iter().map(|argument| argument.as_os_str()).collect::<Vec<_>>())
    };
    let (small, large) = (peak("few"), peak("many"));
    eprintln!("peak of 1,000 files: {small} KiB, of 10,000 files: {large} KiB");
    // What is kept of each input is its path and what became of it.
    assert!(large < small + 12 * 1024, "{small} KiB became {large} KiB");
    fs::remove_file(&out).unwrap();
    run_after("ulimit -n 20", arguments("many")).assert_done();
    let counts = counts_of(&fs::read(&out).unwrap());
    let expected: u64 = (0..10_000u64).map(|at| at % 7).sum();
    assert!(counts.len() == 50 && counts.values().all(|count| *count == expected));
}
