//! Runs the program under test and creates profiles for it.

use profbridge::Compat;
use profbridge::bytes::{Encoding, Endian, PointerWidth};
use profbridge::families::{ReadOptions, open_reader};
use profbridge::instr::{FunctionRecord, Profile, ProfileKind};
use profbridge::{indexed, raw, text};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The program's message if an infallible allocation fails.
pub const LAST_RESORT: &str = "memory allocation of";

pub fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// The output and exit code of a run.
#[derive(Debug)]
pub struct Finished {
    /// `None` if a signal ended the run.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl From<Output> for Finished {
    fn from(output: Output) -> Self {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        Self { code: output.status.code(), stdout: output.stdout, stderr }
    }
}

impl Finished {
    #[track_caller]
    pub fn assert_done(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self
    }

    /// Asserts exit code 1 and a message with these words.
    #[track_caller]
    pub fn assert_refused(&self, words: &[&str]) -> &Self {
        assert_eq!(self.code, Some(1), "{}", self.stderr);
        self.assert_prints(words)
    }

    /// Asserts a usage error and a message with these words.
    #[track_caller]
    pub fn assert_wrong_use(&self, words: &[&str]) -> &Self {
        assert_eq!(self.code, Some(2), "{}", self.stderr);
        self.assert_prints(words)
    }

    /// Asserts a failed threshold and a message with these words.
    #[track_caller]
    pub fn assert_gate_failed(&self, words: &[&str]) -> &Self {
        assert_eq!(self.code, Some(3), "{}", self.stderr);
        self.assert_prints(words)
    }

    #[track_caller]
    fn assert_prints(&self, words: &[&str]) -> &Self {
        self.assert_orderly();
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in:\n{}", self.stderr);
        }
        self
    }

    /// Asserts success or an error message: no signal, no panic, and no abort, which also has exit code 1.
    #[track_caller]
    pub fn assert_orderly(&self) -> &Self {
        assert!(matches!(self.code, Some(0..=3)), "{:?}: {}", self.code, self.stderr);
        for word in ["panicked", LAST_RESORT, "overflowed its stack", "fatal runtime error"] {
            assert!(!self.stderr.contains(word), "{}", self.stderr);
        }
        self
    }
}

pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
    command.stdin(Stdio::null()).env_remove("RUST_BACKTRACE");
    command
}

pub fn run<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Finished {
    command().args(arguments).output().expect("the program starts").into()
}

/// Runs the program after a shell command such as `ulimit -n 20`.
pub fn run_after<A: AsRef<OsStr>>(shell: &str, arguments: impl IntoIterator<Item = A>) -> Finished {
    let script = format!("{shell} || exit 99; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(env!("CARGO_BIN_EXE_profbridge")).args(arguments);
    command.stdin(Stdio::null()).env_remove("RUST_BACKTRACE");
    let finished: Finished = command.output().expect("the shell starts").into();
    assert_ne!(finished.code, Some(99), "the shell refuses {shell}");
    finished
}

/// Returns a profile of functions with one counter each.
pub fn profile(counts: &[(&str, u64)]) -> Profile {
    let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
    for (name, count) in counts {
        let function = profile.functions.intern(name.as_bytes());
        profile.functions.push_record(function, &FunctionRecord::new(7, vec![*count]));
    }
    profile
}

/// Returns a profile of many functions, so that writing takes some time. Each count is `count`.
pub fn large_profile(functions: usize, count: u64) -> Profile {
    let names: Vec<String> = (0..functions).map(|at| format!("function_with_a_long_name_{at}")).collect();
    profile(&names.iter().map(|name| (name.as_str(), count)).collect::<Vec<_>>())
}

pub fn raw_bytes(profile: &Profile, version: u32) -> Vec<u8> {
    let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version };
    raw::write(profile, &raw::WriteOptions::new(encoding)).expect("the profile can be written")
}

pub fn indexed_bytes(profile: &Profile) -> Vec<u8> {
    indexed::write(profile, &indexed::WriteOptions::default()).expect("the profile can be written")
}

pub fn text_bytes(profile: &Profile) -> Vec<u8> {
    text::write(profile, &text::TextOptions::new(Compat::Profbridge)).bytes
}

/// Returns the first counters by function of a written file. Panics if it is truncated.
pub fn counts_of(file: &[u8]) -> BTreeMap<String, u64> {
    let options = ReadOptions::default();
    let mut reader = open_reader(file, &options).expect("the file is a profile");
    let mut counts = BTreeMap::new();
    while let Some(item) = reader.next_record().expect("the file is whole") {
        counts.insert(String::from_utf8_lossy(item.name).into_owned(), item.record.counters.first().unwrap_or(0));
    }
    counts
}

/// Returns the sorted names in a directory.
pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder is readable");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
