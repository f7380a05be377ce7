//! Runs the program under test in a temporary directory.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The path of a file in `testdata/`.
pub fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// The output and exit code of a run.
pub struct Finished {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl From<Output> for Finished {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Finished {
    /// Asserts a regular failure: this exit code, an error, no panic, and an empty standard output.
    #[track_caller]
    pub fn assert_refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        assert!(self.stderr.contains("error: "), "{}", self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        assert!(self.stdout.is_empty());
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in:\n{}", self.stderr);
        }
    }
}

/// A temporary directory.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the sorted names of all files in the directory.
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("folder is readable");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("folder is readable").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Runs `profbridge` in the directory.
    pub fn run<A: AsRef<std::ffi::OsStr>>(&self, arguments: &[A]) -> Finished {
        let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
        command.args(arguments).current_dir(self.0.path()).output().expect("the program starts").into()
    }
}
