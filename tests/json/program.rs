//! Runs the program in a directory with profiles of all families.

use crate::schema::assert_is_document;
use flate2::read::GzDecoder;
use profbridge::families::partial::{Partial, PartialOptions};
use profbridge::input::{Family, Input};
use serde_json::Value;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The output and exit code of a run.
#[derive(Debug)]
pub struct Run {
    pub line: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// Returns the document on standard output. It must match its schema, and `ok` must agree with the exit code.
    #[track_caller]
    pub fn document(&self) -> Value {
        let document: Value = serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{}: {error}\n{}{}", self.line, self.stdout, self.stderr));
        assert_is_document(&document);
        assert_eq!(document["ok"], Value::Bool(self.code == Some(0)), "{}: {}", self.line, self.stderr);
        document
    }
}

/// A temporary directory.
pub struct Folder(tempfile::TempDir);

/// Files of the directory, with their paths in `testdata`.
const FILES: [(&str, &str); 20] = [
    ("a.profraw", "raw/clang-14-ir.profraw"),
    ("b.profraw", "raw/clang-14-cxx.profraw"),
    ("old.proftext", "raw/clang-14-ir.proftext"),
    ("cut.profraw", "bad/truncated-in-counters.profraw"),
    ("version-15.profdata", "bad/version-15.profdata"),
    ("empty.profraw", "bad/empty.profraw"),
    ("traces.proftext", "raw/clang-19-temporal.proftext"),
    ("a.prof", "sampleprof/plain-22.text"),
    ("b.prof", "sampleprof/plain-22.ext"),
    ("symbols.list", "sampleprof/symbols.list"),
    ("a.yaml", "memprof/clang-22-plain.yaml"),
    ("b.yaml", "memprof/clang-22-two-dumps.yaml"),
    ("a.memprofdata", "memprof/clang-22-plain.v4.profdata"),
    ("a.iprof", "iprof/fibonacci.iprof"),
    ("b.iprof", "iprof/statistics.iprof"),
    ("damaged.iprof", "iprof/bad/dangling-method.iprof"),
    ("cut.iprof", "iprof/bad/bad-json.iprof"),
    ("a.pprof", "pprof/squares.pprof"),
    ("b.pprof", "pprof/circles.pprof"),
    ("program.o", "correlate/clang-22-binary.binary"),
];

impl Folder {
    /// Creates a directory with the files, a recording, collapsed stacks, and a file that is not a profile.
    pub fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a temporary folder"));
        for (name, original) in FILES {
            std::fs::copy(testdata(original), folder.path(name)).unwrap_or_else(|error| panic!("{original}: {error}"));
        }
        let mut recording = Vec::new();
        let zipped = std::fs::File::open(testdata("java/shapes-jdk17.jfr.gz")).expect("the recording is there");
        GzDecoder::new(zipped).read_to_end(&mut recording).expect("it inflates");
        folder.write("a.jfr", &recording);
        folder.write("a.collapsed", b"main;loop;work 30\nmain;loop 10\nmain;stop 2\n");
        folder.write("b.collapsed", b"main;loop;work 3\nmain;loop 30\n");
        folder.write("notes.txt", b"Dear diary,\nnothing was profiled today.\n");
        folder.write("settings.json", b"{\"colour\": \"green\"}\n");
        folder.write("never-ran.proftext", b":ir\nmain\n1\n1\n0\n");
        folder.write("other.proftext", b":ir\nmain\n1\n2\n900\n100\nhelper\n7\n1\n5\n");
        folder.write("edited.proftext", b":ir\nmain\n1\n2\n9\n1\nhelper\n8\n1\n5\n");
        folder.write("one.proftext", b":ir\nmain\n1\n2\n10\n20\nhelper\n7\n1\n30\n");
        let input = Input::from_bytes("memory.proftext", b":ir\nmain\n1\n1\n5\n".to_vec());
        let part = Partial::of(&[input], Family::Instr, &PartialOptions::default()).expect("a sound profile");
        folder.write("bare.part", &part.to_bytes().unwrap());
        std::fs::create_dir(folder.path("watched")).expect("the folder can be written");
        folder.write("watched/a.proftext", b":ir\nmain\n1\n1\n5\n");
        folder.write("watched/cut.profraw", b"\x81rforpl\xff");
        folder
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).expect("the folder can be written");
    }

    /// Runs a command line without the program's name.
    pub fn run(&self, line: &str) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
        command.args(line.split_whitespace()).current_dir(self.0.path()).env_remove("PROFBRIDGE_FOR");
        let output = command.output().expect("the program starts");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Run {
            line: line.to_string(),
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Returns the document of a run with this exit code.
    #[track_caller]
    pub fn document(&self, line: &str, code: i32) -> Value {
        let run = self.run(line);
        assert_eq!(run.code, Some(code), "{line}: {}{}", run.stderr, run.stdout);
        run.document()
    }
}

fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}
