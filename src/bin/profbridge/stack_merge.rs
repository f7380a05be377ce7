//! `merge` of sampled stacks.

use crate::console;
use crate::stacks::{StackArgs, StackFormat, StackJob};
use profbridge::input::WeightedInput;
use profbridge::pipeline::samples::{StackSource, stack_source_of_file};
use profbridge::{Error, Result};
use serde::Serialize;
use std::borrow::Cow;
use std::path::Path;
use std::process::ExitCode;

/// What to write when stacks are merged; `None` when the inputs are profiles of
/// another sort. The first input is looked at: an iprof is a source of stacks
/// only where the output's name says so.
///
/// # Errors
///
/// Usage when the output's name does not tell what to write and the input has
/// no writer; I/O errors.
pub(crate) fn format(inputs: &[WeightedInput], output: &Path, read: &StackArgs) -> Result<Option<StackFormat>> {
    let Some(first) = inputs.first() else { return Ok(None) };
    let named = StackFormat::of_name(output);
    if !read.are_in(&first.path)? {
        let is_iprof = stack_source_of_file(&first.path)? == Some(StackSource::Iprof);
        return Ok(named.filter(|format| is_iprof && *format != StackFormat::Iprof));
    }
    if named.is_some() {
        return Ok(named);
    }
    if let Some(other @ ("profdata" | "proftext" | "profraw")) = output.extension().and_then(|it| it.to_str()) {
        return Err(Error::usage(format!(
            "stacks do not become a .{other}: they say nothing about how often code ran"
        ))
        .in_file(&first.path)
        .with_hint("name the output .collapsed, .pprof or .iprof"));
    }
    match stack_source_of_file(&first.path)? {
        Some(StackSource::Pprof) => Ok(Some(StackFormat::Pprof)),
        Some(StackSource::Text) => Ok(Some(StackFormat::Collapsed)),
        _ => Err(Error::usage("recordings are read, not written")
            .in_file(&first.path)
            .with_hint("name the output .collapsed, .pprof or .iprof")),
    }
}

/// What `--json` prints; see `docs/json-schema/merge-stacks-1.json`.
#[derive(Serialize)]
struct Json<'a> {
    schema: &'static str,
    format: &'static str,
    output: Cow<'a, str>,
    inputs: Vec<InputJson<'a>>,
    used: usize,
    stacks: usize,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct InputJson<'a> {
    path: Cow<'a, str>,
    weight: u64,
}

/// Merges, writes, and says what became of the inputs.
///
/// # Errors
///
/// Those of the job; usage when fewer than `least` inputs can be used.
pub(crate) fn run(job: &StackJob<'_>, least: u64, json: bool) -> Result<ExitCode> {
    let written = job.run(least)?;
    if json {
        let input = |input: &'_ WeightedInput| (input.path.to_string_lossy().into_owned(), input.weight.get());
        let inputs = job.inputs.iter().map(input).map(|(path, weight)| InputJson { path: path.into(), weight });
        console::print_json(&Json {
            schema: "profbridge.merge/1",
            format: "stacks",
            output: job.output.to_string_lossy(),
            inputs: inputs.collect(),
            used: written.used,
            stacks: written.stacks,
            warnings: written.warnings.iter().map(ToString::to_string).collect(),
        })?;
    } else if !job.quiet && job.output.as_os_str() != "-" {
        let (stacks, used, all) = (written.stacks, written.used, job.inputs.len());
        eprintln!("{}: {stacks} stacks from {used} of {all} inputs", job.output.display());
    }
    Ok(ExitCode::SUCCESS)
}
