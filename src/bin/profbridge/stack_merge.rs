//! `merge` of sampled stacks.

use crate::console;
use crate::stacks::StackJob;
use profbridge::Result;
use profbridge::input::WeightedInput;
use serde::Serialize;
use std::borrow::Cow;
use std::process::ExitCode;

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
