//! Runs profbridge and the real llvm-profdata in a temporary directory.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The name of both programs. Their messages start with it.
pub const NAME: &str = "llvm-profdata-22";

/// The output, the written file and the exit code of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Finished {
    /// `None` if a signal ended the run.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// The file `out`, if the run created it.
    pub written: Option<Vec<u8>>,
}

/// Returns the path of the real tool. Without it, prints that the test is skipped.
pub fn genuine(test: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(NAME)).find(|file| file.is_file());
    if found.is_none() {
        // Not `eprintln!`, because the test harness hides that in a test that passes.
        let _ = std::io::stderr().write_all(format!("SKIPPED: {test}: {NAME} not installed\n").as_bytes());
    }
    found
}

/// A directory with the example profiles, in which the programs run.
pub struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    pub fn new() -> Self {
        let folder = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        for (name, text) in super::examples::FILES {
            folder.write(name, text.as_bytes());
        }
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folder can be made");
        std::fs::write(path, bytes).expect("file can be written");
    }

    /// Runs profbridge as llvm-profdata.
    pub fn drop_in(&self, arguments: &[&str], input: &[u8]) -> Finished {
        self.drop_in_as(NAME, None, arguments, input)
    }

    /// Runs profbridge with a name and a value of `PROFBRIDGE_FOR`.
    pub fn drop_in_as(&self, name: &str, target: Option<&str>, arguments: &[&str], input: &[u8]) -> Finished {
        let link = self.path("bin").join(name);
        if !link.exists() {
            std::fs::create_dir_all(self.path("bin")).expect("folder can be made");
            std::fs::hard_link(env!("CARGO_BIN_EXE_profbridge"), &link)
                .or_else(|_| std::fs::copy(env!("CARGO_BIN_EXE_profbridge"), &link).map(drop))
                .expect("the program can be linked");
        }
        self.run_for(target, &link, arguments, input)
    }

    /// Runs profbridge in profbridge mode.
    pub fn ours(&self, arguments: &[&str], input: &[u8]) -> Finished {
        self.run(Path::new(env!("CARGO_BIN_EXE_profbridge")), arguments, input)
    }

    /// Runs a program. `TOOL` replaces its path in messages.
    pub fn run(&self, program: &Path, arguments: &[&str], input: &[u8]) -> Finished {
        self.run_for(None, program, arguments, input)
    }

    fn run_for(&self, target: Option<&str>, program: &Path, arguments: &[&str], input: &[u8]) -> Finished {
        let written = self.path("out");
        let _ = std::fs::remove_file(&written);
        let mut command = Command::new(program);
        match target {
            Some(target) => command.env("PROFBRIDGE_FOR", target),
            None => command.env_remove("PROFBRIDGE_FOR"),
        };
        let mut child = command
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // A program that does not read its input closes it; this is not a failure.
        let _ = child.stdin.take().expect("standard input is a pipe").write_all(input);
        let output = child.wait_with_output().expect("the program ends");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&*program.to_string_lossy(), "TOOL");
        Finished {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            written: std::fs::read(written).ok(),
        }
    }

    /// Asserts that both programs behave the same for a command line.
    ///
    /// If the real tool crashes, profbridge must fail with a message. If both fail, profbridge may have printed more of
    /// the data that it read before.
    #[track_caller]
    pub fn assert_alike(&self, genuine: &Path, arguments: &[&str], input: &[u8]) {
        self.assert_alike_for(None, genuine, arguments, input);
    }

    /// Like [`assert_alike`](Self::assert_alike), but also for inputs that are rejected because of their version.
    #[track_caller]
    pub fn assert_exactly_alike(&self, genuine: &Path, arguments: &[&str], input: &[u8]) {
        self.assert_alike_for(Some("exact"), genuine, arguments, input);
    }

    #[track_caller]
    fn assert_alike_for(&self, target: Option<&str>, genuine: &Path, arguments: &[&str], input: &[u8]) {
        let theirs = self.run(genuine, arguments, input);
        let ours = self.drop_in_as(NAME, target, arguments, input);
        if theirs.code.is_none() || theirs.stderr.contains("LLVM ERROR") {
            assert_eq!(ours.code, Some(1), "{arguments:?}: {}", ours.stderr);
            assert!(!ours.stderr.contains("panicked"), "{arguments:?}: {}", ours.stderr);
            return;
        }
        let more = theirs.code == Some(1) && ours.code == Some(1) && ours.stdout.starts_with(&theirs.stdout);
        assert_eq!(ours.code, theirs.code, "{arguments:?}: {}", ours.stderr);
        assert_eq!(ours.stderr, theirs.stderr, "{arguments:?}");
        assert!(more || ours.stdout == theirs.stdout, "{arguments:?}:\n{}\n\n{}", ours.stdout, theirs.stdout);
        assert!(ours.written == theirs.written, "{arguments:?}: the files differ");
    }
}
