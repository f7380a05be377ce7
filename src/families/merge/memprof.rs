//! Merging memory profiles into one that is a file of its own.

use crate::driver::{Merged, OnProgress};
use crate::error::{Error, Result};
use crate::families::merge::{InputOutcome, MergeOptions, MergeReport};
use crate::input::WeightedInput;
use crate::input::output;
use crate::instr::file_merge::files::run_merge;
use crate::memprof::yaml::{self, Comments};
use crate::memprof::{self, MemoryProfile};
use std::io::{BufWriter, Write};
use std::path::Path;

/// Merges the memory profiles of inputs in order. The profile of the report
/// holds what else is in them, which a memory profile has no place for.
///
/// # Errors
///
/// Usage when no input that could be read has a memory profile; inputs that are all empty have an empty one. What is
/// wrong with single inputs is in the report.
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
        None => return Err(Error::usage("the inputs have no memory profile")),
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
/// The errors of the file.
pub fn write_yaml_file(profile: &MemoryProfile, path: &Path) -> Result<()> {
    output::replace_by_name_with(path, |out| {
        // It is written word by word.
        let mut out = BufWriter::new(out);
        yaml::write(profile, Comments::None, &mut out)?;
        out.flush()
    })
}
