//! Runs the program in a temporary directory.

use crate::schema::assert_has_schema;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The path of a file in `testdata`.
pub fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// Returns true if all `programs` are installed. Otherwise prints the missing ones.
pub fn available(test: &str, programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &&str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let missing: Vec<&str> = programs.iter().copied().filter(|program| !is_there(program)).collect();
    if !missing.is_empty() {
        // Not `eprintln!`, because the test harness hides that in a test that passes.
        let words = format!("SKIPPED: {test}: {} not installed\n", missing.join(", "));
        let _ = std::io::stderr().write_all(words.as_bytes());
    }
    missing.is_empty()
}

/// A temporary directory.
pub struct Folder(tempfile::TempDir);

impl Folder {
    /// Creates an empty directory.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    /// Returns a path in the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("the folder takes files");
        path
    }

    /// Runs a command line, split at spaces, in the directory. It must succeed.
    #[track_caller]
    pub fn run(&self, line: &str) -> Output {
        let output = self.try_run(line);
        assert!(output.status.success(), "{line}: {}\n{}", output.status, errors(&output));
        output
    }

    /// Runs a command line. `profbridge` is the program under test.
    #[track_caller]
    pub fn try_run(&self, line: &str) -> Output {
        let mut words = line.split_whitespace();
        let program = match words.next().expect("a command line has a program") {
            "profbridge" => PathBuf::from(env!("CARGO_BIN_EXE_profbridge")),
            local if local.starts_with("./") => self.path(&local[2..]),
            other => PathBuf::from(other),
        };
        let mut command = Command::new(program);
        command.args(words).current_dir(self.0.path()).env_remove("PROFBRIDGE_FOR");
        command.output().unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// Returns the report of `fit`, which must match its schema.
    #[track_caller]
    pub fn fit(&self, arguments: &str) -> Value {
        let output = self.run(&format!("profbridge fit --json --topn 100000 {arguments}"));
        let report = serde_json::from_slice(&output.stdout).expect("it prints JSON");
        assert_has_schema(&report, "fit-2.json");
        report
    }

    /// Returns exit code and standard error.
    #[track_caller]
    pub fn failure(&self, line: &str) -> (Option<i32>, String) {
        let output = self.try_run(line);
        (output.status.code(), errors(&output))
    }
}

pub fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the number of the profile's functions in a class.
#[track_caller]
pub fn functions(report: &Value, class: &str) -> u64 {
    let rows = report["functions"].as_array().expect("a list");
    let row = rows.iter().find(|row| row["class"] == class).unwrap_or_else(|| panic!("{class} is there"));
    row["functions"].as_u64().expect("a number")
}

/// Returns the old and new names in the list of lost functions of a class.
pub fn lost(report: &Value, class: &str) -> BTreeSet<(String, Option<String>)> {
    let rows = report["lost"].as_array().expect("a list").iter().filter(|row| row["class"] == class);
    let text = |value: &Value| value.as_str().map(str::to_string);
    rows.map(|row| (text(&row["function"]).expect("a name"), text(&row["now"]))).collect()
}

/// Returns a list of names as a set.
pub fn names(list: &Value) -> BTreeSet<String> {
    list.as_array().expect("a list").iter().map(|name| name.as_str().expect("a name").to_string()).collect()
}

/// Returns a tool of a release, from the directory `LLVM_N_BIN` or from Debian. `None` if Debian does not have the
/// release and the variable is not set.
pub fn tool(name: &str, release: u32) -> Option<String> {
    let named = std::env::var(format!("LLVM_{release}_BIN")).ok().map(|folder| format!("{folder}/{name}"));
    named.or_else(|| [13, 14, 15, 16, 19, 22].contains(&release).then(|| format!("{name}-{release}")))
}
