//! Runs the real tools, and the same operations in this library.

use profbridge::indexed::{IndexedReader, ReadOptions, WriteOptions};
use profbridge::instr::{MergeOptions, Merger};
use profbridge::instr::{Profile, ProfileReader, Release, Selection};
use profbridge::text::{TextOptions, TextReader};
use profbridge::{Compat, Limits, indexed, text};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A real `llvm-profdata`.
pub struct Tool {
    program: PathBuf,
}

/// The releases that may be installed.
pub const RELEASES: [u32; 11] = [13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23];

/// The releases whose tools usually are built with libc++. Its random numbers, and its order of equal values at a site,
/// differ from libstdc++.
pub const BUILT_WITH_LIBCXX: [u32; 5] = [17, 18, 20, 21, 23];

/// Returns the tool of a release. Prints a message and returns `None` if it is missing.
pub fn tool(release: u32) -> Option<Tool> {
    let name = format!("llvm-profdata-{release}");
    let program = crate::toolchain::program(&name);
    if program.is_none() {
        eprintln!("SKIPPED: {name} is not installed");
    }
    program.map(|program| Tool { program })
}

/// The output of the real tool.
pub struct Run {
    pub success: bool,
    pub stderr: String,
    pub output: Vec<u8>,
}

/// An input file and its weight.
#[derive(Clone, Debug)]
pub struct Input {
    pub path: PathBuf,
    pub weight: u64,
}

/// The shape of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Indexed,
    Sparse,
    Text,
}

/// The output shape and the options that both the tool and the library support.
#[derive(Clone, Debug)]
pub struct Job {
    pub shape: Shape,
    pub reservoir: Option<u64>,
    pub max_trace: Option<u64>,
    pub previous_version: bool,
    pub keep_vtables: bool,
}

impl Job {
    pub fn new(shape: Shape) -> Self {
        Self { shape, reservoir: None, max_trace: None, previous_version: false, keep_vtables: false }
    }
}

impl Tool {
    /// Merges with one thread.
    pub fn merge(&self, inputs: &[Input], job: &Job, out: &Path) -> Run {
        let mut command = Command::new(&self.program);
        command.args(["merge", "--num-threads=1", "-o"]).arg(out);
        match job.shape {
            Shape::Indexed => {}
            Shape::Sparse => drop(command.arg("--sparse")),
            Shape::Text => drop(command.arg("--text")),
        }
        if let Some(size) = job.reservoir {
            command.arg(format!("--temporal-profile-trace-reservoir-size={size}"));
        }
        if let Some(length) = job.max_trace {
            command.arg(format!("--temporal-profile-max-trace-length={length}"));
        }
        if job.previous_version {
            command.arg("--write-prev-version");
        }
        if job.keep_vtables {
            command.arg("--keep-vtable-symbols");
        }
        for input in inputs {
            command.arg(format!("--weighted-input={},{}", input.weight, input.path.display()));
        }
        let _ = std::fs::remove_file(out);
        let run = command.output().expect("the tool ran before");
        Run {
            success: run.status.success(),
            stderr: String::from_utf8_lossy(&run.stderr).into_owned(),
            output: std::fs::read(out).unwrap_or_default(),
        }
    }
}

/// A profile merged by this library, and its messages in LLVM's words.
pub struct Merged {
    pub profile: Profile,
    pub complaints: Vec<String>,
    pub failures: usize,
}

/// The newest version that is read in LLVM 22 compatibility mode.
const LLVM_22_VERSION: u8 = 13;

/// Opens a text or indexed file.
pub fn open<'data>(bytes: &'data [u8], compat: Compat) -> profbridge::Result<Box<dyn ProfileReader + 'data>> {
    if bytes.starts_with(&indexed::MAGIC) {
        let later = bytes.get(8).is_some_and(|version| *version > LLVM_22_VERSION);
        let compat = if later { Compat::Profbridge } else { compat };
        let options = ReadOptions::new(Limits::default(), compat);
        Ok(Box::new(IndexedReader::new(bytes, options)?))
    } else {
        Ok(Box::new(TextReader::new(bytes, compat)?))
    }
}

/// Merges with the rules of a release, in LLVM compatibility mode.
pub fn merge(inputs: &[Input], release: u32, job: &Job) -> Merged {
    let mut options = MergeOptions::default();
    (options.release, options.compat) = (Release(release), Compat::Llvm22);
    options.trace_reservoir_size = job.reservoir.unwrap_or(100);
    options.max_trace_length = job.max_trace.unwrap_or(10_000);
    options.keep_vtable_names = job.keep_vtables;
    let mut merger = Merger::new(options);
    let mut merged = Merged { profile: Profile::default(), complaints: Vec::new(), failures: 0 };
    for input in inputs {
        let bytes = std::fs::read(&input.path).unwrap();
        if let Err(error) = merge_one(&mut merger, &bytes, input, &mut merged.complaints) {
            merged.failures += 1;
            merged.complaints.push(format!("warning: {}: {}", input.path.display(), error.llvm_message()));
        }
    }
    merged.profile = merger.into_profile();
    merged
}

fn merge_one(merger: &mut Merger, bytes: &[u8], input: &Input, complaints: &mut Vec<String>) -> profbridge::Result<()> {
    let mut reader = open(bytes, Compat::Llvm22)?;
    merger.begin_input(reader.kind())?;
    let mut result = Ok(());
    loop {
        let outcome = match reader.next_record() {
            Ok(Some(record)) => {
                let outcome = merger.add_record(record, input.weight);
                if let Some(error) = outcome.error {
                    let name = String::from_utf8_lossy(record.name).into_owned();
                    complaints.push(format!("{}: {}: {}", input.path.display(), name, error.llvm_message()));
                }
                outcome
            }
            Ok(None) => break,
            Err(error) => {
                result = Err(error);
                break;
            }
        };
        if outcome.is_new {
            reader.record_taken_over();
        }
    }
    merger.add_traces(reader.temporal());
    merger.add_vtable_names(reader.vtable_names()?);
    if result.is_ok() {
        merger.add_binary_ids(reader.binary_ids()?);
    }
    result
}

/// Writes like a release, in LLVM compatibility mode.
pub fn write(profile: &Profile, release: u32, job: &Job) -> Vec<u8> {
    let selection = Selection::all().sparse(job.shape == Shape::Sparse);
    if job.shape == Shape::Text {
        let options = TextOptions::new(Compat::Llvm22).release(Release(release));
        return text::write(profile, &options).bytes;
    }
    let release = Release(release);
    let version = if job.previous_version { 11 } else { release.indexed_version().expect("a release of the table") };
    let options = WriteOptions::for_version_by(version, release).selection(selection);
    indexed::write(profile, &options).unwrap()
}

/// Describes the first difference between two byte strings, for a failure message.
pub fn difference(ours: &[u8], theirs: &[u8]) -> String {
    let at = ours.iter().zip(theirs).position(|(a, b)| a != b).unwrap_or(ours.len().min(theirs.len()));
    let around = |bytes: &[u8]| {
        let start = at.saturating_sub(60).min(bytes.len());
        bytes[start..bytes.len().min(at + 60)].escape_ascii().to_string()
    };
    format!(
        "lengths {} and {}, first difference at {at:#x}\n ours {}\n them {}",
        ours.len(),
        theirs.len(),
        around(ours),
        around(theirs)
    )
}
