//! The genuine tools, run in a folder of the test's own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether all `programs` are installed; says loudly what is missing.
pub fn available(test: &str, programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &&str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let missing: Vec<&str> = programs.iter().copied().filter(|program| !is_there(program)).collect();
    if !missing.is_empty() {
        // Not `eprintln!`, which the harness swallows in a test that passes.
        let _ =
            std::io::stderr().write_all(format!("SKIPPED: {test}: {} not installed\n", missing.join(", ")).as_bytes());
    }
    missing.is_empty()
}

/// A folder that goes away with the test.
pub struct Workspace(tempfile::TempDir);

impl Workspace {
    /// A folder with copies of `sources` from `testdata/src`.
    pub fn with(sources: &[&str]) -> Self {
        let workspace = Self(tempfile::tempdir().expect("a temporary folder"));
        for source in sources {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/src").join(source);
            std::fs::copy(&from, workspace.path(source)).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        }
        workspace
    }

    /// The path of `name` in this folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A text file in this folder.
    #[track_caller]
    pub fn text(&self, name: &str) -> String {
        let bytes = std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Runs a command line, split at blanks, in this folder; it must succeed.
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
