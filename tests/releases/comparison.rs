//! One run of `profbridge interop`, with the files that it keeps.

use crate::toolchain::program;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The results and the files of a run.
pub struct Comparison {
    folder: tempfile::TempDir,
    pub document: Value,
}

impl Comparison {
    /// Compares toolchains by the given kinds.
    #[track_caller]
    pub fn new(toolchains: &[String], kinds: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
        // Versions of older releases store no build ids, which is a loss but not one of these tests. Memory profiles
        // need them.
        if !kinds.contains("memprof") {
            command.env("CCC_OVERRIDE_OPTIONS", "#+-Wl,--build-id=none");
        }
        command.args(["interop", "--json", "--timeout=300", "--kind", kinds]);
        command.arg("--keep").arg(folder.path().join("kept"));
        for toolchain in toolchains {
            command.args(["--toolchain", toolchain]);
            // Where `install.sh` puts a release.
            if let Some((_, release)) = toolchain.split_once('-')
                && let Some(path) = program(toolchain).filter(|path| path.ends_with("clang"))
                && let Some(directory) = path.parent()
            {
                command.env(format!("LLVM_{release}_BIN"), directory);
            }
        }
        let output = succeed(&mut command);
        let document = serde_json::from_slice(&output.stdout).expect("it is JSON");
        Self { folder, document }
    }

    /// Returns the cells of the matrix.
    pub fn cells(&self) -> impl Iterator<Item = &Value> {
        self.document["results"].as_array().into_iter().flatten()
    }

    /// Returns a file of a toolchain's program.
    pub fn kept(&self, kind: &str, toolchain: &str, source: &str, file: &str) -> String {
        self.path("kept").join(kind).join(toolchain).join(source).join(file).to_string_lossy().into_owned()
    }

    /// Returns the path of a new file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the program under test in the folder; it must succeed.
    #[track_caller]
    pub fn run(&self, arguments: &[&str]) {
        succeed(&mut self.command(arguments));
    }

    /// Returns whether a run of the program under test fails.
    pub fn fails(&self, arguments: &[&str]) -> bool {
        !self.command(arguments).output().expect("the program under test runs").status.success()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
        command.args(arguments).current_dir(self.folder.path()).env_remove("PROFBRIDGE_FOR");
        command
    }

    /// Returns the bytes of a file in the folder.
    #[track_caller]
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Returns the text that a release's own tool makes of a profile, or its complaint. `None` without the tool.
    pub fn text_by(&self, release: u32, profile: &str) -> Option<String> {
        let mut command = Command::new(program(&format!("llvm-profdata-{release}"))?);
        command.args(["merge", "--text", profile, "-o", "theirs.proftext"]).current_dir(self.folder.path());
        let output = command.output().ok()?;
        let text = std::fs::read_to_string(self.path("theirs.proftext")).ok();
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        Some(text.filter(|_| output.status.success()).unwrap_or(messages))
    }
}

#[track_caller]
fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{messages}", output.status);
    output
}
