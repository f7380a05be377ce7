//! Directories and runs of the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The path of a file in `testdata/pprof`.
pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/pprof").join(name)
}

/// A temporary directory with the real profiles.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pprof").join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        for name in ["squares.pprof", "circles.pprof", "heap.pprof"] {
            std::fs::copy(data(name), path.join(name)).unwrap();
        }
        Self(path)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    fn run(&self, arguments: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
        command.args(arguments.split_whitespace()).current_dir(&self.0).output().unwrap()
    }

    /// Returns standard output and standard error of a run that must end with `code`.
    #[track_caller]
    pub(crate) fn ends(&self, code: i32, arguments: &str) -> (String, String) {
        let output = self.run(arguments);
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(output.status.code(), Some(code), "{arguments}: {stdout}{stderr}");
        (stdout, stderr)
    }

    /// Returns standard output of a run that must succeed.
    pub(crate) fn shows(&self, arguments: &str) -> String {
        self.ends(0, arguments).0
    }

    /// Returns standard error of a run that must succeed.
    pub(crate) fn stderr_of(&self, arguments: &str) -> String {
        self.ends(0, arguments).1
    }

    /// Returns standard error of a run that must fail with exit code 1.
    #[track_caller]
    pub(crate) fn fails(&self, arguments: &str) -> String {
        self.ends(1, arguments).1
    }

    /// Returns standard error of a run that must end with a usage error.
    #[track_caller]
    pub(crate) fn refuses(&self, arguments: &str) -> String {
        self.ends(2, arguments).1
    }
}
