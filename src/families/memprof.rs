//! LLVM memory profiles that are files of their own.

use crate::call_chains::Selection;
use crate::driver::InputOutcome;
use crate::driver::check::FileCheck;
use crate::driver::diff::DiffOptions;
use crate::driver::{self, FailedMerge, Merged, OnProgress};
use crate::error::{Error, Result, WithWarnings};
use crate::families::any_profile::AnyProfile;
use crate::families::commands::{Commands, FileDiff};
use crate::families::content::{Content, Drawn};
use crate::families::describe;
use crate::families::instr::Instr;
use crate::families::memory::MemoryOptions;
use crate::families::stack_files::StackOptions;
use crate::input::{Access, Format, Input, WeightedInput, output};
use crate::instr::file_merge::{FileMerge, MergedFiles};
use crate::instr::file_merge::{MergeOptions, MergeReport};
use crate::instr::memory_profiles::{self, load_bytes};
use crate::instr::open::ReadOptions;
use crate::instr::partial::files::{finish_memory, merge_partially};
use crate::iprof;
use crate::limits::Limits;
use crate::memprof;
use crate::memprof::MemoryContent;
use crate::memprof::report::warnings_about_functions;
use crate::memprof::yaml::{Comments, EmptySites};
use crate::memprof::{MemoryProfile, MergedMemory, yaml};
use crate::model::description::Description;
use std::io::{BufWriter, Write};
use std::path::Path;

/// LLVM memory profiles. An indexed profile can hold an instrumentation profile, a memory profile or both, so files of
/// both families are checked and compared by the same code.
pub(super) struct MemProf;

impl Commands for MemProf {
    fn read(&self, input: &Input, options: &ReadOptions) -> Result<WithWarnings<AnyProfile>> {
        memory_profiles::load(input, options).map(|profile| WithWarnings::new(AnyProfile::MemProf(profile), Vec::new()))
    }

    fn check(&self, input: Input, options: &iprof::ReadOptions) -> Result<FileCheck> {
        Instr.check(input, options)
    }

    fn describe(&self, data: &[u8], format: Format, limits: &Limits) -> Description {
        describe::describe(data, format, limits)
    }

    fn diff(&self, first: &Input, second: &Input, options: &DiffOptions) -> Result<FileDiff> {
        Instr.diff(first, second, options)
    }

    fn draws_memory(&self, _: &Input, _: &MemoryOptions, _: &Limits) -> Result<bool> {
        Ok(true)
    }

    fn draw(&self, inputs: &[Input], options: &StackOptions, _: &Selection) -> Result<Drawn> {
        let (memory, limits) = (&options.memory, &options.limits);
        let mut content = MemoryContent { unit: memory.unit, ..MemoryContent::default() };
        let mut warnings = Vec::new();
        for input in inputs {
            let data = input.bytes(Access::Read, limits)?;
            let profile = load_bytes(&data, &memory.read_options(limits).of_input(input))
                .map_err(|error| error.in_file(&input.path))?;
            warnings.extend(warnings_about_functions(&profile).into_iter().map(|warning| warning.in_file(&input.path)));
            content.add(&profile);
        }
        Ok((Content::Memory(content), warnings))
    }
}

/// Merges the memory profiles of inputs in order. Partial merges give another order of the records.
/// The profile of the report has the other data of the inputs, which a memory profile cannot store.
///
/// # Errors
///
/// Usage if no readable input has a memory profile; if all inputs are empty, the result is empty. The report has the
/// errors of single inputs.
pub fn merge_memory_files(
    inputs: &[WeightedInput],
    options: &MergeOptions,
    progress: OnProgress<'_>,
) -> Result<(MergedMemory, MergeReport), FailedMerge> {
    let (memory, mut report) = match inputs.iter().any(Input::is_partial) {
        true => finish_memory(&merge_partially(inputs, options, progress)?, options)?,
        false => merge_memory(inputs, options, progress)?,
    };
    if let Err(error) = report.verdict(options) {
        return Err(FailedMerge { error, inputs: report.inputs });
    }
    let are_empty = report.inputs.iter().all(|input| matches!(input.outcome, InputOutcome::Empty));
    let mut memory = match memory {
        Some(memory) => {
            report.losses = memory.losses();
            memory
        }
        None if are_empty => MergedMemory::default(),
        None => return Err(Error::usage("the inputs have no memory profile").into()),
    };
    for function in report.profile.functions.iter() {
        let name = memprof::canonical_name(function.name());
        memory.profile.names.entry(memprof::guid(name)).or_insert_with(|| name.to_vec());
    }
    Ok((memory, report))
}

fn merge_memory(
    inputs: &[WeightedInput],
    options: &MergeOptions,
    progress: OnProgress<'_>,
) -> Result<(Option<MergedMemory>, MergeReport)> {
    let Merged { output: MergedFiles { mut merger, soft_errors }, inputs: reports } =
        driver::merge(inputs, &options.run(), |job| FileMerge::new(job, options), progress)?;
    let memory_shares_nothing = merger.memory_shares_nothing();
    let memory = merger.take_memory();
    let report = MergeReport::of(merger.into_profile(), reports);
    Ok((memory, MergeReport { memory_shares_nothing, soft_errors, ..report }))
}

/// Replaces a file with a memory profile in YAML, which LLVM 20 and later read. The file extension selects the
/// compression.
///
/// # Errors
///
/// The errors of the file.
pub fn write_yaml_file(profile: &MemoryProfile, path: &Path) -> Result<()> {
    output::replace_by_name_with(path, |out| {
        // It is written word by word.
        let mut out = BufWriter::new(out);
        yaml::write(profile, Comments::None, EmptySites::Printed, &mut out)?;
        out.flush()
    })
}
