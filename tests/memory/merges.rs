//! Library calls for `merge`, `merge --partial` and `convert`.

use super::{ONE, PROGRAM, out};
use profbridge::bytes::{Encoding, Endian, PointerWidth};
use profbridge::families::memprof::{merge_memory_files, write_yaml_file};
use profbridge::families::merge::iprof::{IprofMergeOptions, merge_iprof_files};
use profbridge::families::partial::{Partial, PartialOptions};
use profbridge::families::stack_files::{StackMergeOptions, merge_pprof, merge_tables};
use profbridge::families::{MergeOptions, OutputFormat, ReadOptions, WriteOptions, merge_files, write_file};
use profbridge::input::{Family, Input, WeightedInput, output};
use profbridge::instr::Release;
use profbridge::memprof::raw::Programs;
use profbridge::sampleprof;
use profbridge::stacks::collapsed::{CollapsedOptions, write_collapsed};
use profbridge::stacks::pprof;
use profbridge::{Limits, Result, iprof};
use std::path::Path;
use std::sync::Arc;

pub fn merge_instr(input: &Path) -> Result<()> {
    let mut options = MergeOptions::default();
    options.threads = ONE;
    let report = merge_files(&[WeightedInput::new(input)], &options, &mut |_, _| {})?;
    let mut write = WriteOptions::default();
    (write.threads, write.format) = (ONE, OutputFormat::for_release(Release::DEFAULT));
    write_file(&report.profile, &write, &out(input)).map(drop)
}

/// Raw memory profiles need the program that wrote them, which is next to the input.
pub fn read_options(input: &Path) -> ReadOptions {
    let mut options = ReadOptions::default();
    let program = input.with_extension(PROGRAM);
    let programs = if program.exists() { vec![program] } else { Vec::new() };
    options.programs = Arc::new(Programs::new(programs, &Limits::default()));
    options
}

pub fn merge_memory(input: &Path) -> Result<()> {
    let mut options = MergeOptions::default();
    (options.threads, options.read) = (ONE, read_options(input));
    let report = merge_files(&[WeightedInput::new(input)], &options, &mut |_, _| {})?;
    report.verdict(&options)?;
    let mut write = WriteOptions::default();
    (write.threads, write.format) = (ONE, OutputFormat::for_release(Release::DEFAULT));
    write_file(&report.profile, &write, &out(input)).map(drop)
}

pub fn merge_samples(input: &Path) -> Result<()> {
    let mut options = sampleprof::FileMergeOptions::default();
    options.threads = ONE;
    let report = sampleprof::merge_files(&[WeightedInput::new(input)], &options, &mut |_, _| {})?;
    sampleprof::write_file(&report.profile, &sampleprof::WriteOptions::default(), false, &out(input)).map(drop)
}

pub fn merge_iprof(input: &Path) -> Result<()> {
    let mut options = IprofMergeOptions::default();
    options.read.threads = ONE;
    let report = merge_iprof_files(&[WeightedInput::new(input)], &options, &mut |_, _| {})?;
    let mut write = iprof::WriteOptions::default();
    write.threads = ONE;
    output::replace_with(&out(input), |out| iprof::Writer::new(&write).write(&report.document, out))
}

pub fn merge_stacks(input: &Path) -> Result<()> {
    merge_tables(&[WeightedInput::new(input)], &StackMergeOptions::default(), &mut |_, _| {})?;
    Ok(())
}

pub fn merge_pprof_profile(input: &Path) -> Result<()> {
    merge_pprof(&[WeightedInput::new(input)], &StackMergeOptions::default(), &mut |_, _| {})?;
    Ok(())
}

fn part(family: Family, input: &Path) -> Result<()> {
    let bytes = Partial::of(&[Input::from(input)], family, &PartialOptions::default())?.to_bytes()?;
    output::replace(&out(input), &bytes)
}

pub fn part_of_instr(input: &Path) -> Result<()> {
    part(Family::Instr, input)
}

pub fn part_of_samples(input: &Path) -> Result<()> {
    part(Family::SampleProf, input)
}

pub fn part_of_stacks(input: &Path) -> Result<()> {
    part(Family::Stacks, input)
}

pub fn part_of_iprof(input: &Path) -> Result<()> {
    part(Family::Iprof, input)
}

fn convert_instr(format: OutputFormat, input: &Path) -> Result<()> {
    let mut options = MergeOptions::default();
    options.threads = ONE;
    let report = merge_files(&[WeightedInput::new(input)], &options, &mut |_, _| {})?;
    let mut write = WriteOptions::default();
    (write.threads, write.format) = (ONE, format);
    write_file(&report.profile, &write, &out(input)).map(drop)
}

pub fn convert_to_text(input: &Path) -> Result<()> {
    convert_instr(OutputFormat::Text { release: Release::DEFAULT }, input)
}

pub fn convert_to_raw(input: &Path) -> Result<()> {
    let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version: 10 };
    convert_instr(OutputFormat::Raw { encoding }, input)
}

pub fn convert_to_pprof(input: &Path) -> Result<()> {
    let sum = merge_tables(&[WeightedInput::new(input)], &StackMergeOptions::default(), &mut |_, _| {})?.sum;
    output::replace(&out(input), &pprof::write(&pprof::from_table(&sum).0)?)
}

pub fn convert_to_collapsed(input: &Path) -> Result<()> {
    let sum = merge_tables(&[WeightedInput::new(input)], &StackMergeOptions::default(), &mut |_, _| {})?.sum;
    output::replace(&out(input), write_collapsed(&sum, &CollapsedOptions::default()).0.as_bytes())
}

pub fn convert_samples(input: &Path) -> Result<()> {
    let mut options = sampleprof::FileMergeOptions::default();
    options.threads = ONE;
    let report = sampleprof::merge_files(&[WeightedInput::new(input)], &options, &mut |_, _| {})?;
    let mut write = sampleprof::WriteOptions::default();
    write.encoding = sampleprof::Encoding::Text;
    sampleprof::write_file(&report.profile, &write, false, &out(input)).map(drop)
}

pub fn convert_memory(input: &Path) -> Result<()> {
    let mut options = MergeOptions::default();
    (options.threads, options.read) = (ONE, read_options(input));
    let (mut memory, report) = merge_memory_files(&[WeightedInput::new(input)], &options, &mut |_, _| {})?;
    report.verdict(&options)?;
    memory.profile.sort_records();
    write_yaml_file(&memory.profile, &out(input))
}
