//! Runs Cargo's coverage tools on a small crate.

use super::workspace::{Desk, Tool, available, find};
use std::path::Path;
use std::process::Command;

const LIBRARY: &str = "//! Words.\n
/// Returns true if a word reads the same backwards.
pub fn is_palindrome(word: &str) -> bool {
    if word.len() < 2 {
        return true;
    }
    word.chars().eq(word.chars().rev())
}

/// Never called.
pub fn unused() -> u32 {
    7
}

#[cfg(test)]
mod tests {
    #[test]
    fn palindromes() {
        assert!(super::is_palindrome(\"level\"));
        assert!(!super::is_palindrome(\"lever\"));
    }
}
";

fn small_crate(desk: &Desk) {
    desk.write(
        "crate/Cargo.toml",
        "[package]\nname = \"words\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n",
    );
    desk.write("crate/src/lib.rs", LIBRARY);
}

/// Runs a command in the crate, without the environment variables that this test's cargo sets.
#[track_caller]
fn run(command: &mut Command, folder: &Path) {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let sets_up_builds = ["CARGO_", "RUST", "LLVM_PROFILE"].iter().any(|prefix| name.starts_with(prefix));
        if sets_up_builds && !["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"].contains(&name.as_str()) {
            command.env_remove(name);
        }
    }
    let output = command.current_dir(folder).output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
}

/// Returns true if this rustc and the tools have the same LLVM release.
fn has_llvm_22(test: &str) -> bool {
    let version = Command::new("rustc").arg("-vV").output().map(|output| output.stdout).unwrap_or_default();
    let matches = String::from_utf8_lossy(&version).contains("LLVM version: 22");
    if !matches {
        use std::io::Write;
        let _ = std::io::stderr().write_all(format!("SKIPPED: {test}: rustc is not built with LLVM 22\n").as_bytes());
    }
    matches
}

#[test]
fn cargo_llvm_cov_writes_the_same_lcov() {
    let test = "cargo_llvm_cov_writes_the_same_lcov";
    if !available(test, &["cargo-llvm-cov", "llvm-profdata-22", "llvm-cov-22"]) || !has_llvm_22(test) {
        return;
    }
    let desk = Desk::new();
    small_crate(&desk);
    let [theirs, ours] = [Tool::Genuine, Tool::Ours].map(|tool| {
        let output = desk.path("lcov.info");
        let mut command = Command::new("cargo");
        command.args(["llvm-cov", "--offline", "--lcov", "--output-path"]).arg(&output);
        command.env("LLVM_PROFDATA", desk.program(tool)).env("LLVM_COV", find("llvm-cov-22").expect("asked before"));
        run(&mut command, &desk.path("crate"));
        std::fs::read_to_string(output).expect("the report is written")
    });
    assert!(ours.contains("SF:") && ours.contains("DA:7,2"), "{ours}");
    assert_eq!(ours, theirs);
}

#[test]
fn grcov_writes_the_same_lcov() {
    let test = "grcov_writes_the_same_lcov";
    if !available(test, &["grcov", "llvm-profdata-22", "llvm-cov-22"]) || !has_llvm_22(test) {
        return;
    }
    let desk = Desk::new();
    small_crate(&desk);
    let mut build = Command::new("cargo");
    build.args(["test", "--offline", "--lib"]).env("LLVM_PROFILE_FILE", desk.path("raw/%p.profraw"));
    let folder = desk.path("crate");
    // `run` removed the outer flags.
    run(build.arg("--config").arg("build.rustflags=['-Cinstrument-coverage']"), &folder);
    let [theirs, ours] = [Tool::Genuine, Tool::Ours].map(|tool| {
        let linked = desk.folder_of(tool).join("llvm-cov");
        std::os::unix::fs::symlink(find("llvm-cov-22").expect("asked before"), linked).expect("can be linked");
        let output = desk.path("lcov.info");
        let mut command = Command::new("grcov");
        command
            .arg(desk.path("raw"))
            .args(["-s", ".", "-t", "lcov", "--binary-path", "target/debug", "-o"])
            .arg(&output);
        command.arg("--llvm-path").arg(desk.folder_of(tool));
        run(&mut command, &folder);
        std::fs::read_to_string(output).expect("the report is written")
    });
    assert!(ours.contains("SF:"), "{ours}");
    assert_eq!(ours, theirs);
}

/// Returns true if the toolchain has its own tool, which cargo-pgo prefers to the search path.
fn toolchain_has_its_own(test: &str) -> bool {
    let output = Command::new("rustc").args(["--print", "target-libdir"]).output().map(|output| output.stdout);
    let libraries = String::from_utf8(output.unwrap_or_default()).unwrap_or_default();
    let own = Path::new(libraries.trim()).with_file_name("bin").join("llvm-profdata").is_file();
    if own {
        use std::io::Write;
        let _ = std::io::stderr()
            .write_all(format!("SKIPPED: {test}: the toolchain has an llvm-profdata of its own\n").as_bytes());
    }
    own
}

#[test]
fn cargo_pgo_optimizes_with_the_same_profile() {
    let test = "cargo_pgo_optimizes_with_the_same_profile";
    if !available(test, &["cargo-pgo", "llvm-profdata-22"]) || !has_llvm_22(test) || toolchain_has_its_own(test) {
        return;
    }
    let desk = Desk::new();
    small_crate(&desk);
    desk.write("crate/src/main.rs", "fn main() {\n    println!(\"{}\", words::is_palindrome(\"level\"));\n}\n");
    let folder = desk.path("crate");
    run(Command::new("cargo").args(["pgo", "run"]), &folder);
    let profiles = folder.join("target/pgo-profiles");
    let [theirs, ours] = [Tool::Genuine, Tool::Ours].map(|tool| {
        let outer = std::env::var_os("PATH").unwrap_or_default();
        let path = std::iter::once(desk.folder_of(tool)).chain(std::env::split_paths(&outer));
        let path = std::env::join_paths(path).expect("folders without separators");
        run(Command::new("cargo").args(["pgo", "optimize"]).env("PATH", path), &folder);
        let entries = std::fs::read_dir(&profiles).expect("cargo-pgo keeps its profiles here");
        let mut merged = entries
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "profdata"));
        let merged = merged.next().expect("the profiles were merged");
        let bytes = std::fs::read(&merged).expect("the merged profile can be read");
        std::fs::remove_file(merged).expect("it can be removed");
        bytes
    });
    assert!(!ours.is_empty());
    assert_eq!(ours, theirs);
}
