//! Tests of `profbridge generate`: its outputs, and the contents that LLVM's own tools find in them.

mod llvm;
mod program;
#[path = "../releases/toolchain.rs"]
mod toolchain;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory for the files of one test.
pub(crate) struct Desk {
    directory: tempfile::TempDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary directory can be made") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs the program in the directory.
    pub(crate) fn run(&self, arguments: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_profbridge"))
            .args(arguments.split_whitespace())
            .current_dir(self.directory.path())
            .env_remove("PROFBRIDGE_FOR")
            .output()
            .expect("the program runs")
    }

    /// Generates files and returns the truth about each.
    pub(crate) fn generate(&self, arguments: &str) -> Vec<Value> {
        let run = self.run(&format!("generate {arguments} --force --truth truth.json"));
        assert!(run.status.success(), "{arguments}: {}", text(&run.stderr));
        let truth: Value = serde_json::from_slice(&self.read("truth.json")).expect("the truth is JSON");
        truth["files"].as_array().expect("there are files").clone()
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        read(&self.path(name))
    }

    /// The names of all files.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).expect("the directory can be read");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }
}

pub(crate) fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// All formats that the default target reads.
pub(crate) const FORMATS: [&str; 11] = [
    "raw",
    "indexed",
    "text",
    "sample-text",
    "sample-binary",
    "sample-extbinary",
    "memory-yaml",
    "memory-indexed",
    "iprof",
    "collapsed",
    "pprof",
];
