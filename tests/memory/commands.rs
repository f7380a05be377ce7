//! What `show`, `diff`, `convert` and `fit` do with a file, in the library.

use super::{ONE, out};
use profbridge::bytes::{Encoding, Endian, PointerWidth};

use profbridge::Result;
use profbridge::input::{Input, WeightedInput, output};
use profbridge::instr::Release;
use profbridge::iprof::statistics::{FigureOptions, write_text};
use profbridge::pipeline::fit::{FitOptions, fit_files};
use profbridge::pipeline::merge::sampleprof::{SampleMergeOptions, merge_sample_files, write_sample_file};
use profbridge::pipeline::merge::stacks::{StackMergeOptions, merge_tables};
use profbridge::pipeline::read::stacks::{StackOptions, read_stacks};
use profbridge::pipeline::{
    MergeOptions, OutputFormat, ReadOptions, Silent, WriteOptions, diff_files, iprof_statistics, merge_files,
    show_file, write_file,
};
use profbridge::report::diff::DiffOptions;
use profbridge::report::show::ShowOptions;
use profbridge::report::stacks::{statistics, write_statistics};
use profbridge::sampleprof::{self, Rules};
use profbridge::stacks::collapsed::{CollapsedOptions, write_collapsed};
use profbridge::stacks::pprof;
use std::path::Path;

/// All counters of all functions.
pub fn show_instr(input: &Path) -> Result<()> {
    let mut options = ShowOptions::default();
    (options.all_functions, options.counts, options.indirect_call_targets) = (true, true, true);
    show_file(input, &ReadOptions::default(), &options, &mut std::io::sink()).map(drop)
}

pub fn show_samples(input: &Path) -> Result<()> {
    let bytes = std::fs::read(input).expect("it was written");
    let read = sampleprof::read(&bytes, &sampleprof::ReadOptions::default())?;
    let shown = sampleprof::show::write_functions(&read, Rules::default(), &mut std::io::sink());
    shown.expect("nothing is written");
    Ok(())
}

pub fn show_iprof(input: &Path) -> Result<()> {
    let (statistics, _) = iprof_statistics(input, &FigureOptions::default())?;
    write_text(&mut String::new(), &statistics).expect("memory takes everything");
    Ok(())
}

pub fn show_stacks(input: &Path) -> Result<()> {
    let (table, _) = read_stacks(&[Input::from(input)], &StackOptions::default())?;
    drop(write_statistics(&statistics(&table), 25));
    Ok(())
}

/// A file against itself.
pub fn diff(input: &Path) -> Result<()> {
    let found = diff_files(input, input, &DiffOptions::default())?;
    found.write_text(&mut String::new()).expect("memory takes everything");
    Ok(())
}

fn convert_instr(format: OutputFormat, input: &Path) -> Result<()> {
    let mut options = MergeOptions::default();
    options.threads = ONE;
    let report = merge_files(&[WeightedInput::new(input)], &options, &mut Silent)?;
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
    let sum = merge_tables(&[WeightedInput::new(input)], &StackMergeOptions::default())?.sum;
    output::replace(&out(input), &pprof::write(&pprof::from_table(&sum)?.0)?)
}

pub fn convert_to_collapsed(input: &Path) -> Result<()> {
    let sum = merge_tables(&[WeightedInput::new(input)], &StackMergeOptions::default())?.sum;
    output::replace(&out(input), write_collapsed(&sum, &CollapsedOptions::default())?.0.as_bytes())
}

pub fn convert_samples(input: &Path) -> Result<()> {
    let mut options = SampleMergeOptions::default();
    options.threads = ONE;
    let report = merge_sample_files(&[WeightedInput::new(input)], &options, &mut Silent)?;
    let mut write = sampleprof::WriteOptions::default();
    write.encoding = sampleprof::Encoding::Text;
    write_sample_file(&report.profile, &write, false, &out(input)).map(drop)
}

/// A profile of a single function against the program.
pub fn fit(input: &Path) -> Result<()> {
    let profile = input.with_extension("proftext");
    std::fs::write(&profile, ":ir\n_ZN7example8function1Ev\n1\n8\n1\n2\n3\n4\n5\n6\n7\n8\n\n")
        .expect("it can be written");
    fit_files(&profile, input, &FitOptions::default()).map(drop)
}
