//! Finds the files in `testdata/` and runs the library on them.

use profbridge::Compat;
use profbridge::families::{self, MergeOptions, OutputFormat, WriteOptions};
use profbridge::input::WeightedInput;
use profbridge::instr::Release;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

/// The path of a directory in `testdata/`.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(name)
}

/// Returns the files in a directory with an extension, sorted; at least one.
pub fn with_extension(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.expect("folder is readable").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    found.sort();
    assert!(!found.is_empty(), "no .{extension} in {}", folder.display());
    found
}

/// Returns the release whose llvm-profdata wrote the files next to `path`: 14 for `clang-14-ir`, 22 for
/// `rustc-1.95-ir`, 16 for `llvm-16-sparse`.
pub fn release_of(path: &Path) -> Release {
    let name = path.file_name().and_then(|name| name.to_str()).expect("names are text");
    let mut words = name.split(['-', '.']);
    let (tool, major) = (words.next(), words.next());
    match (tool, major.and_then(|word| word.parse().ok())) {
        (Some("rustc"), Some(1)) => Release(22),
        (Some("clang" | "llvm"), Some(major)) => Release(major),
        _ => panic!("{name} names no release"),
    }
}

/// The inputs and options of a merge.
#[derive(Default)]
pub struct Job {
    pub inputs: Vec<WeightedInput>,
    pub merge: MergeOptions,
    pub write: WriteOptions,
}

impl Job {
    /// Creates a job that merges with the rules of `release` and writes its indexed version.
    pub fn of(release: Release) -> Self {
        let mut job = Self::default();
        let version = release.indexed_version().expect("the release is in the table");
        job.merge.release = release;
        job.write.format = OutputFormat::Indexed { release, version };
        // As in LLVM, text that LLVM cannot read is also written.
        job.write.compat = Compat::Llvm22;
        job
    }

    /// Adds an input.
    pub fn input(mut self, path: impl Into<PathBuf>, weight: u64) -> Self {
        let weight = NonZeroU64::new(weight).expect("weights are not zero");
        self.inputs.push(WeightedInput::with_weight(path, weight));
        self
    }

    /// Selects text as the output format.
    pub fn text(mut self) -> Self {
        self.write.format = OutputFormat::Text { release: self.merge.release };
        self
    }

    /// Runs the job.
    pub fn run(self) -> Result<Vec<u8>, String> {
        let words = |error: profbridge::Error| error.to_string();
        let report = families::merge_files(&self.inputs, &self.merge, &mut |_, _| {}).map_err(words)?;
        if let Some((_, error)) = report.failures().next() {
            return Err(error.to_string());
        }
        Ok(families::encode(&report.profile, &self.write).map_err(words)?.bytes)
    }
}

/// Compares the output of a job with a file in `testdata/`. Returns `None` if they are equal.
pub fn difference(job: Job, golden: &Path) -> Option<String> {
    let expected = std::fs::read(golden).unwrap_or_else(|error| panic!("{}: {error}", golden.display()));
    let name = golden.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(golden).display();
    match job.run() {
        Err(message) => Some(format!("{name}: {message}")),
        Ok(found) => {
            let at = expected.iter().zip(&found).position(|(a, b)| a != b).unwrap_or(expected.len().min(found.len()));
            (found != expected).then(|| {
                format!("{name}: {} bytes, expected {}, first difference at {at:#x}", found.len(), expected.len())
            })
        }
    }
}

/// Fails with all differences. `compared` makes sure that there was something to compare.
#[track_caller]
pub fn assert_none(differences: Vec<String>, compared: usize) {
    assert!(compared > 0, "nothing was compared");
    assert!(differences.is_empty(), "{} of {compared} differ:\n{}", differences.len(), differences.join("\n"));
}
