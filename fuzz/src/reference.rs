//! The genuine tool as the reference, where it is installed.

use profbridge::Compat;
use profbridge::input::WeightedInput;
use profbridge::instr::Release;
use profbridge::pipeline::{self, FailureMode, MergeOptions, OutputFormat, ReadOptions, Silent, WriteOptions};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

const TOOL: &str = "llvm-profdata-22";

/// Both merge the bytes to text: where both accept them the text is the same,
/// and what it refuses we refuse. Its crashes are passed over, and so are
/// binary files that it accepts and we do not: it reads beyond its buffers, and
/// what it finds there depends on luck.
pub fn same_as_llvm(data: &[u8]) {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    if !INSTALLED.get_or_init(|| Command::new(TOOL).arg("--version").stdout(Stdio::null()).status().is_ok()) {
        return;
    }
    let folder = tempfile::tempdir().expect("the machine has room for a file");
    let path = folder.path().join("input");
    std::fs::write(&path, data).expect("the machine has room for a file");
    let theirs = theirs(&path);
    let ours = ours(&path);
    match (theirs, ours) {
        (Verdict::Accepted(theirs), Verdict::Accepted(ours)) => {
            assert!(theirs == ours, "{TOOL} writes\n{}\nwe write\n{}", theirs.escape_ascii(), ours.escape_ascii());
        }
        (Verdict::Refused, Verdict::Refused) | (Verdict::Crashed, _) => {}
        (Verdict::Accepted(_), Verdict::Refused) if !data.is_ascii() => {}
        (theirs, ours) => panic!("{TOOL}: {theirs:?}, we: {ours:?}"),
    }
}

#[derive(Debug)]
enum Verdict {
    Accepted(Vec<u8>),
    Refused,
    Crashed,
}

fn theirs(path: &Path) -> Verdict {
    let run = Command::new(TOOL).args(["merge", "--text", "-o", "-"]).arg(path).output().expect("the tool starts");
    match run.status.code() {
        Some(0) => Verdict::Accepted(run.stdout),
        Some(1) => Verdict::Refused,
        _ => Verdict::Crashed,
    }
}

fn ours(path: &Path) -> Verdict {
    let mut options = MergeOptions::default();
    options.read = ReadOptions::new(Compat::Llvm22);
    options.failure_mode = FailureMode::Any;
    let Ok(report) = pipeline::merge_files(&[WeightedInput::new(path)], &options, &mut Silent) else {
        return Verdict::Refused;
    };
    if report.verdict(&options).is_err() {
        return Verdict::Refused;
    }
    let mut write = WriteOptions::default();
    write.format = OutputFormat::Text { release: Release::DEFAULT };
    write.compat = Compat::Llvm22;
    match pipeline::encode(&report.profile, &write) {
        Ok(encoded) => Verdict::Accepted(encoded.bytes),
        Err(_) => Verdict::Refused,
    }
}
