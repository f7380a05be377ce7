//! Memory of each command as a function of the input's size, by the allocator's
//! own count: docs/limits.md states the bounds, for honest and hostile inputs.

mod allocator;
mod commands;
mod inputs;
mod programs;
mod refused;
mod refused_iprof;

use allocator::peak_of;
use commands::{
    convert_samples, convert_to_collapsed, convert_to_pprof, convert_to_raw, convert_to_text, diff, fit, show_instr,
    show_iprof, show_samples, show_stacks,
};

use profbridge::input::{Access, WeightedInput, open, output};
use profbridge::instr::Release;
use profbridge::memprof::raw::Programs;
use profbridge::pipeline::merge::iprof::{IprofMergeOptions, merge_iprof_files};
use profbridge::pipeline::merge::sampleprof::{SampleMergeOptions, merge_sample_files, write_sample_file};
use profbridge::pipeline::merge::stacks::{StackMergeOptions, merge_pprof, merge_tables};
use profbridge::pipeline::pictures::{View, read_content};
use profbridge::pipeline::read::stacks::StackOptions;
use profbridge::pipeline::{
    MergeOptions, OutputFormat, Silent, WriteOptions, check_file, describe, merge_files, write_file,
};
use profbridge::render::{SvgOptions, write_html, write_svg};
use profbridge::sampleprof;
use profbridge::stacks::model::Selection;
use profbridge::{Limits, Result, iprof};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One thread: each further one has buffers of its own.
const ONE: Option<NonZeroUsize> = Some(NonZeroUsize::MIN);

type Command = fn(&Path) -> Result<()>;

fn out(input: &Path) -> std::path::PathBuf {
    input.with_extension("out")
}

fn merge_instr(input: &Path) -> Result<()> {
    let mut options = MergeOptions::default();
    options.threads = ONE;
    let report = merge_files(&[WeightedInput::new(input)], &options, &mut Silent)?;
    let mut write = WriteOptions::default();
    (write.threads, write.format) = (ONE, OutputFormat::for_release(Release::DEFAULT));
    write_file(&report.profile, &write, &out(input)).map(drop)
}

/// The ending of the program that wrote an input.
const PROGRAM: &str = "program";

fn merge_memory_dump(input: &Path) -> Result<()> {
    let mut options = MergeOptions::default();
    options.threads = ONE;
    let programs = Programs::new(vec![input.with_extension(PROGRAM)], &Limits::default());
    options.read.programs = Arc::new(programs);
    let report = merge_files(&[WeightedInput::new(input)], &options, &mut Silent)?;
    report.verdict(&options)?;
    let mut write = WriteOptions::default();
    (write.threads, write.format) = (ONE, OutputFormat::for_release(Release::DEFAULT));
    write_file(&report.profile, &write, &out(input)).map(drop)
}

fn merge_samples(input: &Path) -> Result<()> {
    let mut options = SampleMergeOptions::default();
    options.threads = ONE;
    let report = merge_sample_files(&[WeightedInput::new(input)], &options, &mut Silent)?;
    write_sample_file(&report.profile, &sampleprof::WriteOptions::default(), false, &out(input)).map(drop)
}

fn merge_iprof(input: &Path) -> Result<()> {
    let mut options = IprofMergeOptions::default();
    options.read.threads = ONE;
    let report = merge_iprof_files(&[WeightedInput::new(input)], &options, &mut Silent)?;
    let mut write = iprof::WriteOptions::default();
    write.threads = ONE;
    output::replace_with(&out(input), |out| iprof::write_to(&report.document, &write, out))
}

fn merge_stacks(input: &Path) -> Result<()> {
    merge_tables(&[WeightedInput::new(input)], &StackMergeOptions::default()).map(drop)
}

fn merge_pprof_profile(input: &Path) -> Result<()> {
    merge_pprof(&[WeightedInput::new(input)], &StackMergeOptions::default()).map(drop)
}

fn draw(input: &Path) -> Result<()> {
    let selection = Selection::default();
    let content = read_content(&[WeightedInput::new(input)], &StackOptions::default(), &selection)?.0;
    let graph = content.flame_graph(None, &View::default())?;
    drop(write_svg(&graph, &SvgOptions::default()));
    Ok(())
}

fn report(input: &Path) -> Result<()> {
    let selection = Selection::default();
    let content = read_content(&[WeightedInput::new(input)], &StackOptions::default(), &selection)?.0;
    drop(write_html(&content.report("report", None)?));
    Ok(())
}

fn check(input: &Path) -> Result<()> {
    drop(check_file(input, &iprof::ReadOptions::default()));
    Ok(())
}

fn info(input: &Path) -> Result<()> {
    let limits = Limits::default();
    drop(describe(&open(input, Access::Read, &limits)?, &limits));
    Ok(())
}

/// A bound: `BASE` and so many bytes for each byte of the input.
const BASE: usize = 4 << 20;

/// What docs/limits.md says: an input, a command, and bytes for each of its bytes.
const BOUNDS: [(inputs::Made, &str, Command, usize); 72] = [
    (inputs::TEXT, "merge", merge_instr, 24),
    (inputs::TEXT, "check", check, 24),
    (inputs::TEXT, "info", info, 24),
    (inputs::TINY_TEXT, "merge", merge_instr, 20),
    (inputs::TINY_TEXT, "check", check, 20),
    (inputs::ONE_NAME, "merge", merge_instr, 20),
    (inputs::INDEXED, "merge", merge_instr, 8),
    (inputs::INDEXED, "check", check, 8),
    (inputs::INDEXED, "info", info, 8),
    (inputs::RAW, "merge", merge_instr, 8),
    (inputs::RAW, "check", check, 8),
    (inputs::SAMPLE_TEXT, "merge", merge_samples, 24),
    (inputs::SAMPLE_TEXT, "check", check, 24),
    (inputs::EXT_BINARY, "merge", merge_samples, 24),
    (inputs::EXT_BINARY, "info", info, 24),
    (inputs::IPROF, "merge", merge_iprof, 8),
    (inputs::IPROF, "check", check, 8),
    (inputs::COLLAPSED, "merge", merge_stacks, 16),
    (inputs::COLLAPSED, "check", check, 16),
    (inputs::COLLAPSED, "flamegraph", draw, 32),
    (inputs::COLLAPSED, "report", report, 32),
    (inputs::PPROF, "merge", merge_pprof_profile, 16),
    (inputs::PPROF, "check", check, 8),
    (inputs::PPROF, "flamegraph", draw, 16),
    (inputs::PPROF_TEXTS, "merge", merge_pprof_profile, 16),
    (inputs::PPROF_TEXTS, "check", check, 16),
    (inputs::PPROF_SAMPLES, "merge", merge_pprof_profile, 8),
    (inputs::PPROF_SAMPLES, "check", check, 8),
    (inputs::MEMORY_YAML, "merge", merge_instr, 8),
    (inputs::MEMORY_YAML, "check", check, 8),
    (inputs::MEMORY_YAML, "flamegraph", draw, 8),
    (inputs::MEMORY_SECTION, "merge", merge_instr, 8),
    (inputs::MEMORY_SECTION, "check", check, 8),
    (inputs::MEMORY_DUMP, "merge", merge_memory_dump, 8),
    (inputs::NESTED_CALLS, "merge", merge_memory_dump, 64),
    (inputs::SAME_PLACES, "merge", merge_memory_dump, 64),
    (inputs::LISTED_YAML, "check", check, 72),
    (inputs::KEYED_YAML, "check", check, 72),
    (inputs::OPEN_YAML, "check", check, 8),
    (inputs::STACKS_PART, "merge", merge_stacks, 24),
    (inputs::SAMPLES_PART, "merge", merge_samples, 32),
    (inputs::INSTR_PART, "merge", merge_instr, 24),
    (inputs::INSTR_PART, "check", check, 8),
    (inputs::PROGRAM, "fit", fit, 8),
    (inputs::DEEP_JSON, "check", check, 8),
    (inputs::DEEP_JSON, "merge", merge_iprof, 8),
    (inputs::TEXT, "show", show_instr, 8),
    (inputs::TEXT, "convert", convert_to_raw, 8),
    (inputs::TEXT, "diff", diff, 16),
    (inputs::TINY_TEXT, "show", show_instr, 8),
    (inputs::TINY_TEXT, "diff", diff, 40),
    (inputs::ONE_NAME, "show", show_instr, 8),
    (inputs::INDEXED, "show", show_instr, 8),
    (inputs::INDEXED, "convert", convert_to_text, 8),
    (inputs::INDEXED, "diff", diff, 12),
    (inputs::RAW, "show", show_instr, 8),
    (inputs::RAW, "convert", convert_to_text, 8),
    (inputs::RAW, "diff", diff, 12),
    (inputs::SAMPLE_TEXT, "show", show_samples, 8),
    (inputs::SAMPLE_TEXT, "diff", diff, 32),
    (inputs::EXT_BINARY, "show", show_samples, 8),
    (inputs::EXT_BINARY, "convert", convert_samples, 16),
    (inputs::EXT_BINARY, "diff", diff, 32),
    (inputs::IPROF, "show", show_iprof, 8),
    (inputs::IPROF, "diff", diff, 8),
    (inputs::COLLAPSED, "show", show_stacks, 16),
    (inputs::COLLAPSED, "convert", convert_to_pprof, 16),
    (inputs::COLLAPSED, "diff", diff, 24),
    (inputs::PPROF, "show", show_stacks, 8),
    (inputs::PPROF, "convert", convert_to_collapsed, 8),
    (inputs::PPROF, "diff", diff, 16),
    (inputs::PPROF_TEXTS, "show", show_stacks, 16),
];

/// One test at a time: all share the count.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn memory_stays_below_the_bounds_that_are_documented() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let documented = include_str!("../../docs/limits.md");
    let mut above = Vec::new();
    for (made, name, command, per_byte) in BOUNDS {
        let mut rates = Vec::new();
        for count in [made.few, 6 * made.few] {
            let path = folder.path().join(format!("input.{}", made.ending));
            let bytes = (made.make)(count);
            assert!(bytes.len() < 4 << 20, "{}: {} bytes are read in large pages", made.name, bytes.len());
            std::fs::write(&path, &bytes).unwrap();
            let mut size = made.content.map_or(bytes.len(), |content| content(count).len());
            if let Some(program) = made.beside {
                let program = program(count);
                std::fs::write(path.with_extension(PROGRAM), &program).unwrap();
                size += program.len();
            }
            let mut outcome = Ok(());
            let peak = peak_of(|| outcome = command(&path));
            assert_eq!(outcome.is_ok(), made.is_sound || name != "merge", "{} {name}: {outcome:?}", made.name);
            let rate = peak.saturating_sub(BASE) as f64 / size as f64;
            rates.push(rate);
            eprintln!("{name} {} of {size} bytes: {peak} bytes, {rate:.1} a byte beyond the base", made.name);
            if peak > BASE + per_byte * size {
                above.push(format!("{name} {}: {rate:.1} bytes a byte, {per_byte} are stated", made.name));
            }
        }
        let row = format!("| {} | `{name}` | {per_byte} |", made.name);
        if !documented.contains(&row) {
            above.push(format!("docs/limits.md has no row {row}"));
        }
    }
    assert!(above.is_empty(), "{}", above.join("\n"));
}

/// Merging many inputs takes no more than merging two: what grows is the number
/// of distinct functions.
#[test]
fn many_inputs_of_the_same_functions_take_no_more_than_two() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let bytes = (inputs::RAW.make)(2000);
    let merge = |count: usize| {
        let inputs: Vec<WeightedInput> = (0..count)
            .map(|number| {
                let path = folder.path().join(number.to_string());
                std::fs::write(&path, &bytes).unwrap();
                WeightedInput::new(path)
            })
            .collect();
        let mut options = MergeOptions::default();
        options.threads = ONE;
        peak_of(|| drop(merge_files(&inputs, &options, &mut Silent).unwrap()))
    };
    let (two, many) = (merge(2), merge(60));
    eprintln!("2 inputs take {two} bytes, 60 take {many}");
    assert!(many <= two + 60 * 4096, "2 inputs take {two} bytes, 60 take {many}");
}
