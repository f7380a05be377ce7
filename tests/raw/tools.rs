//! Runs the real tools in a temporary directory.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns true if all `programs` are installed. Otherwise prints the missing ones.
pub fn available(test: &str, programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &&str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let missing: Vec<&str> = programs.iter().copied().filter(|program| !is_there(program)).collect();
    if !missing.is_empty() {
        // Not `eprintln!`, because the test harness hides that in a test that passes.
        let _ =
            std::io::stderr().write_all(format!("SKIPPED: {test}: {} not installed\n", missing.join(", ")).as_bytes());
    }
    missing.is_empty()
}

/// A temporary directory.
pub struct Workspace(tempfile::TempDir);

impl Workspace {
    /// Creates a directory with copies of `sources` from `testdata/src`.
    pub fn with(sources: &[&str]) -> Self {
        let workspace = Self(tempfile::tempdir().expect("a temporary folder"));
        for source in sources {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/src").join(source);
            std::fs::copy(&from, workspace.path(source)).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        }
        workspace
    }

    /// Returns the path of `name` in the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the content of a text file in the directory.
    #[track_caller]
    pub fn text(&self, name: &str) -> String {
        let bytes = std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Runs a command line, split at spaces, in the directory. It must succeed.
    #[track_caller]
    pub fn run(&self, line: &str) {
        self.run_with_profile(line, "default.profraw");
    }

    /// Runs an instrumented program so that it writes `profile`.
    #[track_caller]
    pub fn train(&self, line: &str, profile: &str) {
        self.run_with_profile(line, profile);
        assert!(self.path(profile).exists(), "{line} wrote no {profile}");
    }

    #[track_caller]
    fn run_with_profile(&self, line: &str, profile: &str) {
        let mut words = line.split_whitespace();
        let program = words.next().expect("a command line has a program");
        let program = program.strip_prefix("./").map_or_else(|| PathBuf::from(program), |local| self.path(local));
        let output = Command::new(program)
            .args(words)
            .env("LLVM_PROFILE_FILE", profile)
            .current_dir(self.0.path())
            .output()
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(output.status.success(), "{line}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
}
