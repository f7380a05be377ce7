//! A directory with profiles and both tools, each called `llvm-profdata`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Returns the path of a program on the search path.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Returns true if all `programs` are installed. Otherwise prints the missing ones.
///
/// Not with `eprintln!`, because the test harness hides that in a test that passes.
pub fn available(test: &str, programs: &[&str]) -> bool {
    let missing: Vec<&str> = programs.iter().copied().filter(|program| find(program).is_none()).collect();
    if !missing.is_empty() {
        let _ =
            std::io::stderr().write_all(format!("SKIPPED: {test}: {} not installed\n", missing.join(", ")).as_bytes());
    }
    missing.is_empty()
}

/// A tool under test. It has its own directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Genuine,
    Ours,
}

/// A temporary directory.
pub struct Desk(tempfile::TempDir);

impl Desk {
    /// Creates the directory with both tools.
    pub fn new() -> Self {
        let desk = Self(tempfile::tempdir().expect("a temporary folder"));
        for tool in [Tool::Genuine, Tool::Ours] {
            let program = match tool {
                Tool::Genuine => find("llvm-profdata-22").expect("the test asked before"),
                Tool::Ours => env!("CARGO_BIN_EXE_profbridge").into(),
            };
            std::fs::create_dir_all(desk.folder_of(tool)).expect("folder can be made");
            std::os::unix::fs::symlink(program, desk.program(tool)).expect("the program can be linked");
        }
        desk
    }

    /// Copies `names` from the real profiles into `raw/`, as `N.profraw`.
    pub fn with_profiles(self, names: &[&str]) -> Self {
        std::fs::create_dir_all(self.path("raw")).expect("folder can be made");
        for (at, name) in names.iter().enumerate() {
            let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/raw").join(name);
            let to = self.path(&format!("raw/{at}.profraw"));
            std::fs::copy(&from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        }
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the directory that contains only the tool, for `--llvm-path`.
    pub fn folder_of(&self, tool: Tool) -> PathBuf {
        self.path(if tool == Tool::Ours { "ours" } else { "genuine" })
    }

    /// Returns the tool, with the name that clients look for.
    pub fn program(&self, tool: Tool) -> PathBuf {
        self.folder_of(tool).join("llvm-profdata")
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folder can be made");
        std::fs::write(path, text).expect("file can be written");
    }

    /// Runs the tool in the directory.
    pub fn run(&self, tool: Tool, words: &[&str], input: &str) -> Output {
        let mut child = Command::new(self.program(tool))
            .args(words)
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the tool starts");
        // A tool that does not read its input closes it; this is not a failure.
        let _ = child.stdin.take().expect("standard input is a pipe").write_all(input.as_bytes());
        child.wait_with_output().expect("the tool ends")
    }
}
