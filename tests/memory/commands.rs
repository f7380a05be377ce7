//! Library calls for commands that do not write profiles, and for outputs made from one file.

use super::merges::read_options;
use super::{ONE, out, programs};
use profbridge::call_chains::Selection;
use profbridge::call_chains::{statistics, write_statistics};
use profbridge::driver::diff::DiffOptions;
use profbridge::families::draw::{DrawOptions, Drawing, View};
use profbridge::families::fit::{FitOptions, fit_files};
use profbridge::families::stack_files::{StackOptions, read_stacks};
use profbridge::families::stacks::diff_stacks;
use profbridge::families::{
    ReadOptions, check_file, describe, diff_files, iprof_statistics, order_file, overlap_files, show_file,
};
use profbridge::input::{Access, Input, WeightedInput, open, output};
use profbridge::instr::memory_profiles;
use profbridge::instr::order::OrderOptions;
use profbridge::instr::overlap::OverlapOptions;
use profbridge::instr::show::ShowOptions;
use profbridge::iprof::statistics::{StatisticsOptions, write_text};
use profbridge::iprof::{self, RepairOptions, repair_from};
use profbridge::memprof::HotnessThresholds;
use profbridge::memprof::report::{MemoryReport, ReportOptions};
use profbridge::render::{MAX_ROWS, SvgOptions, write_html, write_svg};
use profbridge::sampleprof::{self, Rules, overlap};
use profbridge::{Compat, Limits, Result};
use std::path::Path;

pub fn draw(input: &Path) -> Result<()> {
    let drawing = Drawing::read(vec![WeightedInput::new(input)], Vec::new(), DrawOptions::default())?;
    drop(write_svg(&drawing.flame_graph(&View::default())?, &SvgOptions::default()));
    Ok(())
}

pub fn report(input: &Path) -> Result<()> {
    let drawing = Drawing::read(vec![WeightedInput::new(input)], Vec::new(), DrawOptions::default())?;
    drop(write_html(&drawing.report(MAX_ROWS)?));
    Ok(())
}

pub fn check(input: &Path) -> Result<()> {
    drop(check_file(input, &iprof::ReadOptions::default()));
    Ok(())
}

pub fn info(input: &Path) -> Result<()> {
    let limits = Limits::default();
    drop(describe(&open(input, Access::Read, &limits)?, &limits));
    Ok(())
}

/// Shows all counters of all functions.
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
    let (statistics, _) = iprof_statistics(input, &StatisticsOptions::default())?;
    write_text(&mut String::new(), &statistics).expect("memory takes everything");
    Ok(())
}

pub fn show_stacks(input: &Path) -> Result<()> {
    let (table, _) = read_stacks(&[Input::from(input)], &StackOptions::default())?;
    drop(write_statistics(&statistics(&table), 25));
    Ok(())
}

/// Compares a file with itself.
pub fn diff(input: &Path) -> Result<()> {
    let found = diff_files(input, input, &DiffOptions::default())?;
    found.write_text(&mut String::new()).expect("memory takes everything");
    Ok(())
}

pub fn show_memory(input: &Path) -> Result<()> {
    let report = MemoryReport::new(&memory_profiles::load(input, &read_options(input))?, &ReportOptions::default());
    report.write_text(&mut String::new()).expect("memory takes everything");
    Ok(())
}

/// Prints all data as YAML.
pub fn show_whole_memory(input: &Path) -> Result<()> {
    let (release, thresholds) = (profbridge::instr::Release::DEFAULT, HotnessThresholds::default());
    memory_profiles::show_yaml(input, &read_options(input), release, &thresholds, &mut std::io::sink())
}

pub fn overlap_instr(input: &Path) -> Result<()> {
    overlap_files(input, input, &ReadOptions::default(), &OverlapOptions::default()).map(drop)
}

pub fn overlap_samples(input: &Path) -> Result<()> {
    let (read, options) = (sampleprof::ReadOptions::default(), overlap::OverlapOptions::default());
    sampleprof::overlap_files(input, input, &read, Compat::Profbridge, &options).map(drop)
}

pub fn overlap_stacks(input: &Path) -> Result<()> {
    let (read, selection) = (StackOptions::default(), Selection::default());
    diff_stacks(&Input::from(input), &Input::from(input), &read, &selection, &DiffOptions::default()).map(drop)
}

pub fn order(input: &Path) -> Result<()> {
    order_file(input, &ReadOptions::default(), &OrderOptions::default()).map(drop)
}

pub fn repair(input: &Path) -> Result<()> {
    let mut options = RepairOptions::default();
    options.read.threads = ONE;
    let repaired = repair_from(Input::from(input).stream()?, &options)?;
    let mut write = iprof::WriteOptions::default();
    write.threads = ONE;
    output::replace_with(&out(input), |out| iprof::Writer::new(&write).write(&repaired.document, out))
}

/// Compares a profile of one function with a program.
pub fn fit_program(input: &Path) -> Result<()> {
    let profile = input.with_extension("proftext");
    std::fs::write(&profile, ":ir\n_ZN7example8function1Ev\n1\n8\n1\n2\n3\n4\n5\n6\n7\n8\n\n")
        .expect("it can be written");
    fit_files(&profile, input, &FitOptions::default()).map(drop)
}

/// Compares a sample profile of one function with a program.
pub fn fit_program_to_samples(input: &Path) -> Result<()> {
    let profile = input.with_extension("prof");
    std::fs::write(&profile, "function1:20:10\n 1: 10\n").expect("it can be written");
    fit_files(&profile, input, &FitOptions::default()).map(drop)
}

/// Removes the functions that no longer fit.
fn prune(input: &Path, against: &Path) -> Result<()> {
    let fit = fit_files(input, against, &FitOptions::default())?;
    let output = input.with_file_name("pruned").with_extension(input.extension().unwrap_or_default());
    fit.write_pruned(&output, false).map(drop)
}

/// Compares a profile with a program of few functions.
pub fn fit_instr(input: &Path) -> Result<()> {
    let program = input.with_extension("elf");
    std::fs::write(&program, programs::instrumented(10)).expect("it can be written");
    prune(input, &program)
}

/// Compares a profile with itself.
pub fn fit_itself(input: &Path) -> Result<()> {
    prune(input, input)
}
