//! Compares with the real tool, if it is installed.

use profbridge::Compat;
use profbridge::families::{self, FailureMode, MergeOptions, OutputFormat, ReadOptions, WriteOptions};
use profbridge::input::WeightedInput;
use profbridge::instr::Release;
use profbridge::sampleprof::{self, Encoding, Rules};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

const TOOL: &str = "llvm-profdata-22";

/// Merges the bytes to text with both tools. If both accept them, the texts must be equal, and profbridge must reject
/// input that the real tool rejects. Crashes of the real tool are skipped, and so are binary files that only the real
/// tool accepts, because it reads outside its buffers there.
pub fn same_as_llvm(data: &[u8]) {
    compare(data, &["--text"], ours, |_| false);
}

/// Like [`same_as_llvm`], but for sample profiles: text and all binary encodings, to text and to an extensible binary.
/// Inlined functions that lose their name there are an intended difference (docs/reference/sampleprof.md).
pub fn same_sample_as_llvm(data: &[u8]) {
    let text = |path: &Path| our_samples(path, Encoding::Text);
    if compare(data, &["--sample", "--text"], text, has_nameless) {
        compare(data, &["--sample", "--extbinary"], |path| our_samples(path, Encoding::ExtBinary), |_| false);
    }
}

/// Returns true if a text has an inlined function without a name.
fn has_nameless(text: &[u8]) -> bool {
    text.windows(3).any(|bytes| bytes == b": :")
}

/// Returns true if the results were compared, or could not be compared. `is_excepted` returns true for outputs of the
/// real tool with an intended difference.
fn compare(
    data: &[u8],
    options: &[&str],
    ours: impl FnOnce(&Path) -> Verdict,
    is_excepted: impl FnOnce(&[u8]) -> bool,
) -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    if !INSTALLED.get_or_init(|| Command::new(TOOL).arg("--version").stdout(Stdio::null()).status().is_ok()) {
        return true;
    }
    let folder = tempfile::tempdir().expect("the machine has room for a file");
    let path = folder.path().join("input");
    std::fs::write(&path, data).expect("the machine has room for a file");
    let theirs = theirs(&path, options);
    let ours = ours(&path);
    match (theirs, ours) {
        (Verdict::Accepted(theirs), _) if is_excepted(&theirs) => return false,
        (Verdict::Accepted(theirs), Verdict::Accepted(ours)) => {
            assert!(theirs == ours, "{TOOL} writes\n{}\nwe write\n{}", theirs.escape_ascii(), ours.escape_ascii());
        }
        (Verdict::Refused, Verdict::Refused) | (Verdict::Crashed, _) => {}
        (Verdict::Accepted(_), Verdict::Refused) if !data.is_ascii() => {}
        (theirs, ours) => panic!("{TOOL} {options:?}: {theirs:?}, we: {ours:?}"),
    }
    true
}

#[derive(Debug)]
enum Verdict {
    Accepted(Vec<u8>),
    Refused,
    Crashed,
}

fn theirs(path: &Path, options: &[&str]) -> Verdict {
    // The real tool seeks in extensible binaries, so the output cannot be a pipe.
    let output = path.with_file_name("output");
    let mut command = Command::new(TOOL);
    command.arg("merge").args(options).arg("-o").arg(&output).arg(path);
    let run = command.output().expect("the tool starts");
    match run.status.code() {
        Some(0) => Verdict::Accepted(std::fs::read(&output).expect("the tool wrote a file")),
        // The real tool read outside its buffers and reports an unknown error.
        Some(1) if run.stderr.ends_with(b": success\nerror: no profile can be merged\n") => Verdict::Crashed,
        Some(1) => Verdict::Refused,
        _ => Verdict::Crashed,
    }
}

fn ours(path: &Path) -> Verdict {
    let mut options = MergeOptions::default();
    options.read = ReadOptions::new(Compat::Llvm22);
    options.failure_mode = FailureMode::Any;
    let Ok(report) = families::merge_files(&[WeightedInput::new(path)], &options, &mut |_, _| {}) else {
        return Verdict::Refused;
    };
    if report.verdict(&options).is_err() {
        return Verdict::Refused;
    }
    let mut write = WriteOptions::default();
    write.format = OutputFormat::Text { release: Release::DEFAULT };
    write.compat = Compat::Llvm22;
    match families::encode(&report.profile, &write) {
        Ok(encoded) => Verdict::Accepted(encoded.bytes),
        Err(_) => Verdict::Refused,
    }
}

fn our_samples(path: &Path, encoding: Encoding) -> Verdict {
    let mut options = sampleprof::FileMergeOptions::default();
    options.read.rules = Rules::of(Release(22));
    options.read.every_release = false;
    options.compat = Compat::Llvm22;
    options.failure_mode = FailureMode::Any;
    let Ok(report) = sampleprof::merge_files(&[WeightedInput::new(path)], &options, &mut |_, _| {}) else {
        return Verdict::Refused;
    };
    let mut write = sampleprof::WriteOptions::default();
    write.rules = options.read.rules;
    write.encoding = encoding;
    write.as_llvm = true;
    sampleprof::write(&report.profile, &write).map_or(Verdict::Refused, Verdict::Accepted)
}
