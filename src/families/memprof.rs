//! LLVM memory profiles that are files of their own.

use crate::call_chains::Selection;
use crate::compat::Compat;
use crate::driver::check::FileCheck;
use crate::driver::diff::DiffOptions;
use crate::driver::{Merged, OnProgress};
use crate::error::{Error, Result};
use crate::families::describe;
use crate::families::draw::{Content, Drawn};
use crate::families::instr::Instr;
use crate::families::merge::{InputOutcome, MergeOptions, MergeReport};
use crate::families::stack_files::StackOptions;
use crate::families::{Commands, FileDiff};
use crate::indexed::IndexedProfile;
use crate::input::{Access, Format, Input, WeightedInput, output};
use crate::instr::file_merge::files::run_merge;
use crate::instr::memory_profiles::load_bytes;
use crate::instr::open::ReadOptions;
use crate::iprof;
use crate::limits::Limits;
#[cfg(feature = "correlate")]
use crate::memprof::raw::Programs;
use crate::memprof::yaml::Comments;
pub use crate::memprof::{AllocationUnit, MemoryContent};
use crate::memprof::{MemoryProfile, yaml};
use crate::model::description::Description;
use crate::{indexed, memprof};
use std::io::{BufWriter, Write};
use std::path::Path;
#[cfg(feature = "correlate")]
use std::sync::Arc;

/// LLVM memory profiles. An indexed profile can hold an instrumentation profile, a memory profile or both, so files of
/// both families are checked and compared by the same code.
pub(super) struct MemProf;

impl Commands for MemProf {
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
        for input in inputs {
            let data = input.bytes(Access::Read, limits)?;
            let profile =
                load_bytes(&data, &memory.read_options(limits)).map_err(|error| error.in_file(&input.path))?;
            content.add(&profile);
        }
        Ok((Content::Memory(content), Vec::new()))
    }
}

/// How memory profiles are drawn.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MemoryOptions {
    /// Take the memory profile of an indexed profile that has function records,
    /// too. Other files that hold a memory profile hold nothing else.
    pub asked_for: bool,
    /// What is counted.
    pub unit: AllocationUnit,
    /// The programs that wrote raw memory profiles.
    #[cfg(feature = "correlate")]
    pub programs: Arc<Programs>,
}

/// Whether the memory profile is what is drawn of an LLVM profile: an indexed one can hold it
/// beside counters, or alone.
pub(crate) fn draws_memory(input: &Input, options: &MemoryOptions, limits: &Limits) -> Result<bool> {
    if options.asked_for || input.format()? != Format::Indexed {
        return Ok(options.asked_for);
    }
    Ok(is_only_memory(&input.bytes(Access::Read, limits)?, limits))
}

impl MemoryOptions {
    fn read_options(&self, limits: &Limits) -> ReadOptions {
        let mut options = ReadOptions { limits: *limits, ..ReadOptions::new(Compat::Profbridge) };
        #[cfg(feature = "correlate")]
        options.programs.clone_from(&self.programs);
        #[cfg(not(feature = "correlate"))]
        let _ = &mut options;
        options
    }
}

/// Whether this is an indexed profile with a memory profile and no function.
fn is_only_memory(data: &[u8], limits: &Limits) -> bool {
    let options = indexed::ReadOptions::new(*limits, Compat::Profbridge);
    // Damage is for the reader to name.
    IndexedProfile::read(data, options).is_ok_and(|profile| profile.entries().next().is_none() && profile.has_memprof())
}

/// Merges the memory profiles of inputs in order. The profile of the report
/// holds what else is in them, which a memory profile has no place for.
///
/// # Errors
///
/// Usage when no input that could be read has a memory profile; inputs that are all empty have an empty one. What is wrong
/// with single inputs is in the report.
pub fn merge_memory_files(
    inputs: &[WeightedInput],
    options: &MergeOptions,
    progress: OnProgress<'_>,
) -> Result<(MemoryProfile, MergeReport)> {
    let (Merged { output: mut merger, inputs: reports }, soft_errors) = run_merge(inputs, options, false, progress)?;
    let memory_shares_nothing = merger.memory_shares_nothing();
    let memory = merger.take_memory();
    let mut report = MergeReport::of(merger.finish(), reports);
    (report.memory_shares_nothing, report.soft_errors) = (memory_shares_nothing, soft_errors);
    report.verdict(options)?;
    let are_empty = report.inputs.iter().all(|input| matches!(input.outcome, InputOutcome::Empty));
    let mut memory = match memory {
        Some(memory) => memory.profile,
        None if are_empty => MemoryProfile::default(),
        None => return Err(Error::usage("the inputs hold no memory profile")),
    };
    for function in report.profile.functions.iter() {
        let name = memprof::canonical_name(function.name());
        memory.names.entry(memprof::guid(name)).or_insert_with(|| name.to_vec());
    }
    Ok((memory, report))
}

/// Replaces a file by a memory profile in YAML, which LLVM 20 and later read;
/// compressed as its name says.
///
/// # Errors
///
/// Those of the file.
pub fn write_yaml_file(profile: &MemoryProfile, path: &Path) -> Result<()> {
    output::replace_by_name_with(path, |out| {
        // It is written word by word.
        let mut out = BufWriter::new(out);
        yaml::write(profile, Comments::None, &mut out)?;
        out.flush()
    })
}
