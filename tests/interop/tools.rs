//! Finds and runs the genuine tools in a folder of the test's own.

use crate::toolchain::program;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Whether all `programs` are there; says loudly what is missing.
///
/// Not `eprintln!`: the test harness would swallow that in a test that passes.
pub fn available(test: &str, programs: &[&str]) -> bool {
    let missing: Vec<&str> = programs.iter().copied().filter(|name| program(name).is_none()).collect();
    if !missing.is_empty() {
        skip(test, &format!("{} not installed", missing.join(", ")));
    }
    missing.is_empty()
}

/// Says that `test` is skipped and why.
pub fn skip(test: &str, reason: &str) {
    let _ = std::io::stderr().write_all(format!("SKIPPED: {test}: {reason}\n").as_bytes());
}

/// A folder that goes away with the test, in which programs run.
pub struct Workspace {
    folder: tempfile::TempDir,
}

impl Workspace {
    /// A folder with copies of `sources` from `testdata/src`.
    pub fn with(sources: &[&str]) -> Self {
        let workspace = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        for source in sources {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/src").join(source);
            std::fs::copy(&from, workspace.path(source)).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        }
        workspace
    }

    /// The path of `name` in this folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The bytes of a file in this folder.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let path = self.path(name);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Writes a file, its folders too.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folder can be made");
        std::fs::write(path, text).expect("file can be written");
    }

    /// Runs a command line, split at blanks, in this folder; it must succeed.
    #[track_caller]
    pub fn run(&self, line: &str) -> Output {
        self.run_with(line, &[])
    }

    /// Runs a command line with environment variables; it must succeed.
    #[track_caller]
    pub fn run_with(&self, line: &str, variables: &[(&str, &str)]) -> Output {
        let output = self.start(line, variables);
        assert!(
            output.status.success(),
            "{line}: {}\n{}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        output
    }

    /// Runs a command line that may fail.
    #[track_caller]
    pub fn attempt(&self, line: &str) -> Output {
        self.start(line, &[])
    }

    #[track_caller]
    fn start(&self, line: &str, variables: &[(&str, &str)]) -> Output {
        let mut words = line.split_whitespace();
        let program = words.next().expect("a command line has a program");
        Command::new(self.program(program))
            .args(words)
            .envs(variables.iter().copied())
            .env_remove("RUSTC_WRAPPER")
            .current_dir(self.folder.path())
            .output()
            .unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// `profbridge` is the one under test; `./x` is in this folder.
    fn program(&self, name: &str) -> PathBuf {
        match name {
            "profbridge" => PathBuf::from(env!("CARGO_BIN_EXE_profbridge")),
            _ => match name.strip_prefix("./") {
                Some(local) => self.path(local),
                None => program(name).unwrap_or_else(|| PathBuf::from(name)),
            },
        }
    }

    /// Runs an instrumented program so that it writes `profile`.
    #[track_caller]
    pub fn train(&self, line: &str, profile: &str) {
        self.run_with(line, &[("LLVM_PROFILE_FILE", profile)]);
        assert!(self.path(profile).exists(), "{line} wrote no {profile}");
    }

    /// Asserts that two files of this folder have the same bytes.
    #[track_caller]
    pub fn assert_same(&self, left: &str, right: &str) {
        let (left_bytes, right_bytes) = (self.bytes(left), self.bytes(right));
        let differs = left_bytes.iter().zip(&right_bytes).position(|(a, b)| a != b);
        assert!(
            left_bytes == right_bytes,
            "{left} ({} bytes) and {right} ({} bytes) differ, first at {differs:?}",
            left_bytes.len(),
            right_bytes.len()
        );
    }
}
