//! Runs the command lines that clients build.

use super::workspace::{Desk, Tool, available};

const GENUINE: &[&str] = &["llvm-profdata-22"];

/// Profiles of two runs of one program, and of a C++ program.
const PROFILES: &[&str] = &["clang-22-ir.profraw", "clang-22-cxx.profraw", "clang-22-ir.profraw"];

/// Runs a client's command line with both tools and compares output, exit code and files.
#[track_caller]
fn alike(client: &str, line: &str, input: &str) {
    if !available(client, GENUINE) {
        return;
    }
    let desk = Desk::new().with_profiles(PROFILES);
    desk.write("list", "raw/0.profraw\nraw/1.profraw\nraw/2.profraw\n");
    desk.write("words", "raw/0.profraw raw/1.profraw\n'raw/2.profraw'\n");
    let words: Vec<&str> = line.split_whitespace().collect();
    let [theirs, ours] = [Tool::Genuine, Tool::Ours].map(|tool| {
        let output = desk.run(tool, &words, input);
        let written = std::fs::read(desk.path("out")).ok();
        let _ = std::fs::remove_file(desk.path("out"));
        (output.status.code(), output.stdout, String::from_utf8_lossy(&output.stderr).into_owned(), written)
    });
    assert_eq!(theirs.0, Some(0), "{client}: {}", theirs.2);
    assert_eq!((ours.0, &ours.2), (theirs.0, &theirs.2), "{client}");
    assert!(ours.1 == theirs.1, "{client}: standard output differs");
    assert!(ours.3 == theirs.3, "{client}: the files differ");
    assert!(ours.3.is_some() || !ours.1.is_empty(), "{client}: something comes of it");
}

#[test]
fn scripts() {
    alike("scripts", "merge -sparse -j 1 raw/0.profraw raw/1.profraw raw/2.profraw -o out", "");
    alike("scripts", "merge -output=out -num-threads=1 raw/0.profraw raw/1.profraw", "");
    alike("scripts", "show raw/1.profraw", "");
}

#[test]
fn cargo_llvm_cov() {
    alike("cargo-llvm-cov", "merge -sparse -f list -o out -failure-mode=all -num-threads=1", "");
}

#[test]
fn grcov() {
    alike("grcov", "merge -f - -sparse -o out -num-threads=1", "raw/0.profraw\nraw/1.profraw\nraw/2.profraw\n");
}

#[test]
fn swift_package_manager() {
    alike("swift", "merge -sparse raw/0.profraw raw/1.profraw -o out", "");
}

#[test]
fn bazel() {
    alike("bazel", "merge -output out raw/0.profraw raw/1.profraw", "");
}

#[test]
fn rules_rust() {
    alike("rules_rust", "merge --sparse raw/0.profraw raw/1.profraw --output out", "");
}

#[test]
fn chromium() {
    alike("chromium", "merge -o out -sparse=true raw/0.profraw raw/1.profraw", "");
}

#[test]
fn fuchsia() {
    alike("fuchsia", "show --binary-ids raw/0.profraw", "");
    alike("fuchsia", "merge --failure-mode=any --sparse --output out --num-threads 1 @words", "");
}

#[test]
fn cargo_fuzz() {
    alike("cargo-fuzz", "merge -sparse -j=1 raw -o out", "");
}

#[test]
fn cargo_pgo() {
    alike("cargo-pgo", "merge -o out raw/0.profraw raw/1.profraw", "");
}

#[test]
fn inspecting_harnesses() {
    alike("harness", "merge --text --instr --num-threads=1 --output=- raw/1.profraw", "");
    alike("harness", "show --all-functions --counts raw/1.profraw", "");
}

/// Chromium reads the paths of damaged files from the standard error of a failed run, and retries without those files.
#[test]
fn chromium_finds_bad_files_in_our_messages() {
    if !available("chromium_finds_bad_files", GENUINE) {
        return;
    }
    let desk = Desk::new().with_profiles(PROFILES);
    std::fs::write(desk.path("raw/1.profraw"), b"\x81rforpl\xff cut").expect("file can be written");
    for tool in [Tool::Genuine, Tool::Ours] {
        let mut inputs = vec!["raw/0.profraw", "raw/1.profraw", "raw/2.profraw"];
        let mut tries = 0;
        loop {
            tries += 1;
            let mut words = vec!["merge", "-o", "out", "-sparse=true"];
            words.extend(&inputs);
            let output = desk.run(tool, &words, "");
            if output.status.success() {
                break;
            }
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(tries < 3, "{tool:?}: {text}");
            inputs.retain(|input| !text.contains(input));
        }
        assert_eq!((tries, inputs.as_slice()), (2, ["raw/0.profraw", "raw/2.profraw"].as_slice()), "{tool:?}");
    }
}
