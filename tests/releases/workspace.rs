//! A folder in which one program is instrumented, trained and optimised by
//! compilers of several releases.

use crate::toolchain::program;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A language and a way to instrument.
#[derive(Clone, Copy)]
pub struct Case {
    /// A file of `tests/releases/src`.
    pub source: &'static str,
    /// What it is called where it is compiled: part of local functions' names.
    pub name: &'static str,
    pub is_front_end: bool,
}

impl Case {
    /// What is compiled alike, so that functions stay what they are: no
    /// inlining before the counters are set, no calls made direct by the profile.
    fn flags(self) -> &'static [&'static str] {
        match self.source.ends_with(".cpp") {
            true => &["-O1", "-stdlib=libstdc++"],
            false => &["-O1"],
        }
    }

    fn instrument(self) -> &'static str {
        if self.is_front_end { "-fprofile-instr-generate" } else { "-fprofile-generate" }
    }

    fn compiler(self, release: u32) -> PathBuf {
        let tool = if self.source.ends_with(".cpp") { "clang++" } else { "clang" };
        program(&format!("{tool}-{release}")).expect("the compiler was there before")
    }
}

/// What a compiler made of a profile.
#[derive(Debug, Default, PartialEq)]
pub struct Optimised {
    /// What it said.
    pub warnings: BTreeSet<String>,
    /// How often each function is entered, of those that it found.
    pub entries: BTreeMap<String, u64>,
    /// How often each target is called through a pointer, by the target's hash.
    pub targets: BTreeMap<u64, u64>,
    /// What is called directly when the compiler may go by these numbers.
    pub called_directly: BTreeSet<String>,
}

/// A folder that goes away with the test.
pub struct Desk {
    folder: tempfile::TempDir,
    case: Case,
}

/// Versions of older releases hold no ids, which is a loss but not one of these tests.
const NO_BUILD_ID: &str = "-Wl,--build-id=none";
/// Warnings of everything that a profile lacks.
const WARNINGS: [&str; 3] = ["-Wprofile-instr-missing", "-Wprofile-instr-out-of-date", "-Wprofile-instr-unprofiled"];

impl Desk {
    /// A folder with the source.
    pub fn new(case: Case) -> Self {
        let desk = Self { folder: tempfile::tempdir().expect("a temporary folder"), case };
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/releases/src").join(case.source);
        std::fs::copy(&from, desk.path(case.name)).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        desk
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Instruments with a release's compiler and runs the program, as often as
    /// no other release's; the name of what it wrote.
    pub fn train(&self, release: u32) -> String {
        let compiler = self.case.compiler(release);
        let line =
            [self.case.flags(), &[self.case.instrument(), self.case.name, "-o", "program", NO_BUILD_ID]].concat();
        succeed(self.command(&compiler, &line));
        let dump = format!("clang-{release}.profraw");
        let rounds = (10 * release).to_string();
        let mut run = self.command(self.path("program"), &[rounds.as_str()]);
        succeed(run.env("LLVM_PROFILE_FILE", &dump));
        dump
    }

    /// The same for the coverage of a program in Rust.
    pub fn train_rust(&self) -> String {
        let line = [
            "--edition=2021",
            "-Cinstrument-coverage",
            "-Clink-arg=-Wl,--build-id=none",
            self.case.name,
            "-o",
            "program",
        ];
        succeed(self.command("rustc", &line));
        let mut run = self.command(self.path("program"), &["30"]);
        succeed(run.env("LLVM_PROFILE_FILE", "rustc.profraw"));
        "rustc.profraw".to_string()
    }

    /// Merges with the program under test; what it says.
    #[track_caller]
    pub fn merge(&self, arguments: &[&str]) -> String {
        let output = succeed(self.command(env!("CARGO_BIN_EXE_profbridge"), &[&["merge"], arguments].concat()));
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Converts with the program under test.
    #[track_caller]
    pub fn convert(&self, arguments: &[&str]) {
        succeed(self.command(env!("CARGO_BIN_EXE_profbridge"), &[&["convert"], arguments].concat()));
    }

    /// The text that a release's own tool makes of a profile, `None` without the
    /// tool; its complaint when it does not read it.
    pub fn text_by(&self, release: u32, profile: &str) -> Option<String> {
        let tool = program(&format!("llvm-profdata-{release}"))?;
        let output = self.command(tool, &["merge", "--text", profile, "-o", "theirs.proftext"]).output().ok()?;
        let text = std::fs::read_to_string(self.path("theirs.proftext")).ok();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Some(text.filter(|_| output.status.success()).unwrap_or(said))
    }

    /// Whether a merge fails.
    pub fn merge_fails(&self, arguments: &[&str]) -> bool {
        let output = self.command(env!("CARGO_BIN_EXE_profbridge"), &[&["merge"], arguments].concat()).output();
        !output.expect("the program under test runs").status.success()
    }

    /// Names without the file and hashes without their four highest bits of all
    /// functions of a profile: what releases have in common.
    pub fn functions(&self, profile: &str) -> BTreeSet<(String, u64)> {
        let common = |(name, hash): (String, u64)| {
            let symbol = name.rsplit([';', ':']).next().expect("there is a last part").to_string();
            (symbol, if self.case.is_front_end { hash & ((1 << 60) - 1) } else { hash })
        };
        self.names_and_hashes(profile).into_iter().map(common).collect()
    }

    /// All functions of a profile, as they are in it.
    pub fn names_and_hashes(&self, profile: &str) -> BTreeSet<(String, u64)> {
        self.merge(&["--text", profile, "-o", "listed.proftext"]);
        let text = std::fs::read_to_string(self.path("listed.proftext")).expect("text was written");
        names_and_hashes(&text)
    }

    /// Compiles with a release and the profile, all warnings on.
    pub fn optimise(&self, release: u32, profile: &str) -> Optimised {
        std::fs::copy(self.path(profile), self.path("used.profdata")).expect("there is a profile");
        if self.case.is_front_end {
            let (module, warnings) = self.module(release, &["-fprofile-instr-use=used.profdata"]);
            return Optimised { warnings, entries: entries(&module), ..Optimised::default() };
        }
        let line = ["-fprofile-use=used.profdata", "-mllvm", "-pgo-warn-missing-function"];
        // As they are in the profile: not corrected by estimates, calls left as they are.
        let as_they_are = ["-mllvm", "-pgo-fix-entry-count=false", "-mllvm", "-disable-icp"];
        let (module, warnings) = self.module(release, &[line.as_slice(), &as_they_are].concat());
        // Every count is a hot one.
        let all_hot = ["-mllvm", "-profile-summary-hot-count=1"];
        let (direct, _) = self.module(release, &[line.as_slice(), &all_hot].concat());
        Optimised {
            warnings,
            entries: entries(&module),
            targets: targets(&module),
            called_directly: called_directly(&direct),
        }
    }

    /// LLVM's assembly of the source, and what the compiler said.
    fn module(&self, release: u32, flags: &[&str]) -> (String, BTreeSet<String>) {
        let files = ["-S", "-emit-llvm", self.case.name, "-o", "used.ll"];
        let line = [self.case.flags(), &WARNINGS, flags, &files].concat();
        let output = succeed(self.command(self.case.compiler(release), &line));
        let said = String::from_utf8_lossy(&output.stderr);
        let warnings = said.lines().filter(|line| line.contains("warning:")).map(str::to_string).collect();
        (std::fs::read_to_string(self.path("used.ll")).expect("LLVM's text is text"), warnings)
    }

    fn command(&self, program: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.path());
        for variable in ["PROFBRIDGE_FOR", "LLVM_PROFILE_FILE"] {
            command.env_remove(variable);
        }
        command
    }
}

#[track_caller]
fn succeed(mut command: impl std::borrow::BorrowMut<Command>) -> Output {
    let command = command.borrow_mut();
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    output
}

/// The records of a text profile.
pub fn names_and_hashes(text: &str) -> BTreeSet<(String, u64)> {
    let lines: Vec<&str> = text.lines().collect();
    let record = |window: &[&str]| {
        (window[1] == "# Func Hash:").then(|| (window[0].to_string(), window[2].parse().expect("a hash is a number")))
    };
    lines.windows(3).filter_map(record).collect()
}

/// `!7 = !{…}` by number, for lines that say `kind`.
fn metadata<'a>(module: &'a str, kind: &str) -> BTreeMap<&'a str, Vec<u64>> {
    let begin = format!("!{{!\"{kind}\"");
    let node = |line: &'a str| {
        let (number, content) = line.strip_prefix('!')?.split_once(" = ")?;
        let content = content.strip_prefix(&begin)?.strip_suffix('}')?;
        // LLVM prints hashes as if they had a sign.
        let word = |word: &str| Some(word.trim().rsplit_once(' ')?.1.parse::<i128>().ok()? as u64);
        Some((number, content.split(',').filter_map(word).collect()))
    };
    module.lines().filter_map(node).collect()
}

/// `function_entry_count` of each function that is defined.
fn entries(module: &str) -> BTreeMap<String, u64> {
    let counts = metadata(module, "function_entry_count");
    let entry = |line: &str| {
        let definition = line.strip_prefix("define ")?;
        let (_, name) = definition.split_once('@')?;
        let name = name.split('(').next()?.trim_matches('"').to_string();
        let (_, number) = definition.split_once("!prof !")?;
        let number = number.split(' ').next()?;
        Some((name, *counts.get(number)?.first()?))
    };
    module.lines().filter_map(entry).collect()
}

/// The values of kind 0 of all calls.
fn targets(module: &str) -> BTreeMap<u64, u64> {
    let values = metadata(module, "VP");
    let mut found = BTreeMap::new();
    for line in module.lines().filter(|line| line.contains("call ")) {
        let Some((_, number)) = line.split_once("!prof !") else { continue };
        let number: String = number.chars().take_while(char::is_ascii_digit).collect();
        // The kind, the total, and pairs of value and count.
        let Some([0, _, pairs @ ..]) = values.get(number.as_str()).map(Vec::as_slice) else { continue };
        for pair in pairs.chunks_exact(2) {
            *found.entry(pair[0]).or_default() += pair[1];
        }
    }
    found
}

/// The functions that are called by their names. Those of the tables are called
/// through pointers, unless a profile says that it pays to ask first.
fn called_directly(module: &str) -> BTreeSet<String> {
    let name = |line: &str| {
        let (_, call) = line.split_once("call ")?;
        let (_, name) = call.split_once('@')?;
        Some(name.split(['(', ' ']).next()?.trim_matches('"').to_string())
    };
    module.lines().filter_map(name).collect()
}
