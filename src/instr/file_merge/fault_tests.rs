//! Every step of a merge, from opening the first input to renaming the output, fails in every possible way. The output
//! must be the old file or the new one, and if it is the old one there must be an error.

use crate::bytes::{Encoding, Endian, PointerWidth};
use crate::driver::{FailedMerge, FailureMode, InputOutcome};
use crate::error::Result;
use crate::families::memprof::{merge_memory_files, write_yaml_file};
use crate::families::merge::iprof::{IprofMergeOptions, merge_iprof_files};
use crate::families::partial;
use crate::families::stack_files::{StackMergeOptions, merge_pprof, merge_tables};
use crate::input::WeightedInput;
use crate::input::output;
use crate::input::system_calls::Step;
use crate::input::system_calls::faults::{self, Fault};
use crate::instr::encode::{OutputFormat, WriteOptions, write_file};
use crate::instr::file_merge::{MergeOptions, merge_files};
use crate::iprof;
use crate::limits::Limits;
use crate::memprof::raw::Programs;
use crate::model::Release;
use crate::sampleprof;
use crate::stacks::collapsed::{CollapsedOptions, write_collapsed};
use crate::stacks::pprof;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A merge of some inputs into an output.
struct Merge {
    name: &'static str,
    inputs: &'static [&'static str],
    run: fn(&[WeightedInput], &Path) -> Result<()>,
}

const MERGES: [Merge; 11] = [
    Merge {
        name: "indexed",
        inputs: &RAW,
        run: |inputs, out| merge_instr(inputs, OutputFormat::for_release(Release::DEFAULT), out),
    },
    Merge {
        name: "text",
        inputs: &RAW,
        run: |inputs, out| merge_instr(inputs, OutputFormat::Text { release: Release::DEFAULT }, out),
    },
    Merge { name: "samples", inputs: &["sampleprof/plain.prof", "sampleprof/plain-22.ext"], run: merge_samples },
    Merge { name: "iprof", inputs: &["iprof/fibonacci.iprof", "iprof/even-or-odd.iprof"], run: merge_iprof },
    Merge { name: "raw", inputs: &RAW, run: |inputs, out| merge_instr(inputs, as_raw(), out) },
    Merge {
        name: "memory",
        inputs: &["memprof/clang-22-plain.yaml", "memprof/clang-22-plain.v4.profdata"],
        run: merge_memory,
    },
    Merge {
        name: "memory dumps",
        inputs: &["memprof/clang-19-plain.memprofraw", "memprof/clang-22-histogram.memprofraw"],
        run: merge_memory,
    },
    // Compressed, and read in chunks.
    Merge {
        name: "recordings",
        inputs: &["java/shapes-jdk11.jfr.gz", "java/shapes-jdk17.jfr.gz"],
        run: merge_collapsed,
    },
    Merge { name: "pprof", inputs: &["pprof/circles.pprof", "pprof/squares.pprof"], run: merge_pprof_files },
    Merge { name: "collapsed", inputs: &["stacks/web.collapsed", "stacks/web.collapsed"], run: merge_collapsed },
    Merge { name: "part", inputs: &["raw/clang-22-ir.profraw", "partial/weighted.partial"], run: merge_part },
];

const RAW: [&str; 3] = ["raw/clang-14-ir.profraw", "raw/clang-16-ir.profraw", "raw/clang-22-ir.profraw"];
const ONE_THREAD: Option<NonZeroUsize> = Some(NonZeroUsize::MIN);

fn merge_instr(inputs: &[WeightedInput], format: OutputFormat, out: &Path) -> Result<()> {
    let mut options = MergeOptions::default();
    (options.threads, options.failure_mode) = (ONE_THREAD, FailureMode::Any);
    let report = merge_files(inputs, &options, &mut |_, _| {})?;
    for input in report.inputs {
        if let InputOutcome::Failed(error) = input.outcome {
            return Err(error);
        }
    }
    let mut write = WriteOptions::default();
    (write.threads, write.format) = (ONE_THREAD, format);
    write_file(&report.profile, &write, out).map(drop)
}

/// Returns the current raw format.
fn as_raw() -> OutputFormat {
    let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version: 10 };
    OutputFormat::Raw { encoding }
}

fn merge_memory(inputs: &[WeightedInput], out: &Path) -> Result<()> {
    // The report contains the faults of inputs.
    let mut options = MergeOptions { threads: ONE_THREAD, failure_mode: FailureMode::Warn, ..MergeOptions::default() };
    let programs = inputs.iter().map(|input| input.path.with_extension("binary")).filter(|program| program.exists());
    options.read.programs = Arc::new(Programs::new(programs.collect(), &Limits::default()));
    let (mut memory, report) = merge_memory_files(inputs, &options, &mut |_, _| {})?;
    for input in report.inputs {
        if let InputOutcome::Failed(error) = input.outcome {
            return Err(error);
        }
    }
    memory.profile.sort_records();
    write_yaml_file(&memory.profile, out)
}

fn stack_options() -> StackMergeOptions {
    StackMergeOptions { threads: ONE_THREAD, ..StackMergeOptions::default() }
}

fn merge_pprof_files(inputs: &[WeightedInput], out: &Path) -> Result<()> {
    let sum = merge_pprof(inputs, &stack_options(), &mut |_, _| {})?.sum.0;
    output::replace(out, &pprof::write(&sum)?)
}

fn merge_collapsed(inputs: &[WeightedInput], out: &Path) -> Result<()> {
    let sum = merge_tables(inputs, &stack_options(), &mut |_, _| {})?.sum;
    output::replace(out, write_collapsed(&sum, &CollapsedOptions::default()).0.as_bytes())
}

/// Merges a partial merge and a raw profile into a partial merge.
fn merge_part(inputs: &[WeightedInput], out: &Path) -> Result<()> {
    let options = MergeOptions { threads: ONE_THREAD, failure_mode: FailureMode::Any, ..MergeOptions::default() };
    let sums = partial::merge_partially(inputs, &options, &mut |_, _| {})?;
    let report = partial::finish(&sums, &options)?;
    for input in report.inputs {
        if let InputOutcome::Failed(error) = input.outcome {
            return Err(error);
        }
    }
    partial::write_file(sums, &report.profile, &WriteOptions::default(), out).map(drop)
}

fn merge_samples(inputs: &[WeightedInput], out: &Path) -> Result<()> {
    let mut options = sampleprof::FileMergeOptions::default();
    options.threads = ONE_THREAD;
    let report = sampleprof::merge_files(inputs, &options, &mut |_, _| {}).map_err(|failed| {
        let mut outcomes = failed.inputs.reports.into_iter().map(|report| report.outcome);
        let error =
            outcomes.find_map(|outcome| if let InputOutcome::Failed(error) = outcome { Some(error) } else { None });
        error.unwrap_or(failed.error)
    })?;
    sampleprof::write_file(&report.profile, &sampleprof::WriteOptions::default(), false, out).map(drop)
}

fn merge_iprof(inputs: &[WeightedInput], out: &Path) -> Result<()> {
    let mut options = IprofMergeOptions::default();
    options.read.threads = ONE_THREAD;
    let report = merge_iprof_files(inputs, &options, &mut |_, _| {}).map_err(FailedMerge::into_first_failure)?;
    let mut write = iprof::WriteOptions::default();
    write.threads = ONE_THREAD;
    output::replace_with(out, |out| iprof::Writer::new(&write).write(&report.document, out))
}

impl Merge {
    fn run(&self, out: &Path) -> Result<()> {
        let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
        // Inputs cache what they detect, so each run has new ones.
        let inputs: Vec<WeightedInput> =
            self.inputs.iter().map(|name| WeightedInput::new(testdata.join(name))).collect();
        (self.run)(&inputs, out)
    }

    /// Runs once with a fault at the given step. Returns that step.
    fn check(&self, number: usize, fault: Fault, old: Option<&[u8]>, new: &[u8], out: &Path) -> Option<Step> {
        let what = || format!("{}: {fault:?} at step {number}", self.name);
        match old {
            Some(old) => std::fs::write(out, old).unwrap(),
            None => drop(std::fs::remove_file(out)),
        }
        let (outcome, step, _) = faults::at(number, Some(fault), || self.run(out));
        let step = step?;
        let found = std::fs::read(out).ok();
        match outcome {
            Ok(()) => {
                assert_eq!(found.as_deref(), Some(new), "{} ({step:?})", what());
                // Formats and partial merges are detected before an input is read, which opens it again. So a fault
                // that passes has no effect; the result is complete.
                let is_detection = matches!(step, Step::Open | Step::Read);
                let is_harmless = fault.is_skipped(step) || fault == Fault::Short || is_detection;
                assert!(is_harmless, "{} ({step:?}) went unnoticed", what());
            }
            Err(error) => {
                assert_eq!(found.as_deref(), old, "{} ({step:?}): {error}", what());
                assert!(!fault.is_skipped(step), "{} ({step:?}): {error}", what());
                let text = error.to_string();
                let is_named =
                    error.path().is_some_and(|path| path == out || path.starts_with(env!("CARGO_MANIFEST_DIR")))
                        || text.starts_with(env!("CARGO_MANIFEST_DIR"));
                assert!(
                    is_named && text.contains("Input/output error") | text.contains("No space left"),
                    "{} ({step:?}): {error}",
                    what()
                );
            }
        }
        Some(step)
    }
}

#[test]
fn whatever_step_goes_wrong_the_output_is_the_old_one_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let out: PathBuf = folder.path().join("out");
    for merge in &MERGES {
        let _ = std::fs::remove_file(&out);
        merge.run(&out).unwrap();
        let new = std::fs::read(&out).unwrap();
        let mut seen = Vec::new();
        for old in [None, Some(b"old".as_slice())] {
            for fault in Fault::ALL {
                let mut number = 0;
                while let Some(step) = merge.check(number, fault, old, &new, &out) {
                    let left =
                        std::fs::read_dir(folder.path()).unwrap().filter(|entry| entry.as_ref().unwrap().path() != out);
                    assert_eq!(left.count(), 0, "{}: {fault:?} at step {number} ({step:?}) left a file", merge.name);
                    number += 1;
                    if !seen.contains(&step) {
                        seen.push(step);
                    }
                }
                assert!(number > 3 * merge.inputs.len(), "{}: {number} steps", merge.name);
            }
        }
        for step in [Step::Open, Step::Read, Step::Create, Step::Write, Step::Permissions, Step::Sync] {
            assert!(seen.contains(&step), "{}: no {step:?}", merge.name);
        }
        assert!(seen.contains(&Step::Rename) || seen.contains(&Step::Link), "{}: {seen:?}", merge.name);
    }
}
