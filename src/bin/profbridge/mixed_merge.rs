//! `merge` of inputs of both families, or from one into the other.

use crate::console;
use crate::iprof_files::is_iprof_name;
use crate::target::JsonTarget;
use clap::ValueEnum;
use profbridge::input::{self, WeightedInput};
use profbridge::instr::Loss;
use profbridge::pipeline::mixed::Family;
use profbridge::{Error, Result};
use std::path::Path;

/// The values of `--to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FamilyArg {
    /// An indexed or text profile
    Llvm,
    /// An iprof
    Iprof,
}

/// The family of each input.
///
/// The first is looked at, and what comes through a pipe; of the other files,
/// those that are called iprof, or all if the first is one: runs of thousands
/// of raw profiles are not opened twice.
pub(crate) fn families(inputs: &[WeightedInput]) -> Vec<Family> {
    let Some(first) = inputs.first().map(|first| Family::of_file(&first.path)) else { return Vec::new() };
    let family = |input: &WeightedInput| {
        let look = first == Family::Iprof || is_iprof_name(&input.path) || input::comes_once(&input.path);
        if look { Family::of_file(&input.path) } else { first }
    };
    inputs.iter().map(family).collect()
}

/// The family to write.
///
/// # Errors
///
/// Usage when inputs are of both and nothing tells.
pub(crate) fn target(to: Option<FamilyArg>, text: bool, output: &Path, inputs: &[Family]) -> Result<Family> {
    let by_name = match output.extension().and_then(|extension| extension.to_str()) {
        _ if is_iprof_name(output) => Some(Family::Iprof),
        Some("profdata" | "proftext") => Some(Family::Llvm),
        _ => text.then_some(Family::Llvm),
    };
    let asked = to.map(|to| match to {
        FamilyArg::Llvm => Family::Llvm,
        FamilyArg::Iprof => Family::Iprof,
    });
    let uniform = inputs.first().copied().filter(|first| inputs.iter().all(|family| family == first));
    asked.or(by_name).or(uniform).ok_or_else(|| {
        Error::usage("the inputs are LLVM profiles and iprof files")
            .with_hint("say what to write with --to llvm or --to iprof, or by the output's name")
    })
}

/// What is about to happen, in words.
pub(crate) fn announcement(inputs: &[(WeightedInput, Family)], target: Family) -> String {
    let llvm = inputs.iter().filter(|(_, family)| *family == Family::Llvm).count();
    let iprof = inputs.len() - llvm;
    let result = match target {
        Family::Llvm => "an LLVM profile",
        Family::Iprof => "an iprof",
    };
    let several = |count: usize| if count == 1 { "" } else { "s" };
    let (llvm_s, iprof_s) = (several(llvm), several(iprof));
    format!("through the bridge: {llvm} LLVM profile{llvm_s} and {iprof} iprof file{iprof_s} become {result}")
}

/// The report as JSON on standard output; see `docs/json-schema/merge-bridged-1.json`.
pub(crate) fn print_json(
    inputs: &[(WeightedInput, Family)],
    family: Family,
    target: Option<JsonTarget>,
    losses: &[Loss],
    output: &Path,
) -> Result<()> {
    let input = |(input, family): &(WeightedInput, Family)| JsonInput {
        path: input.path.to_string_lossy().into_owned(),
        weight: input.weight.get(),
        family: word(*family),
    };
    console::print_json(&Json {
        schema: "profbridge.merge/1",
        format: "bridged",
        family: word(family),
        target,
        output: output.to_string_lossy().into_owned(),
        inputs: inputs.iter().map(input).collect(),
        losses: losses.iter().map(Loss::to_string).collect(),
    })
}

/// The members in the order in which they are written.
#[derive(serde::Serialize)]
struct Json {
    schema: &'static str,
    format: &'static str,
    family: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<JsonTarget>,
    output: String,
    inputs: Vec<JsonInput>,
    losses: Vec<String>,
}

#[derive(serde::Serialize)]
struct JsonInput {
    path: String,
    weight: u64,
    family: &'static str,
}

fn word(family: Family) -> &'static str {
    match family {
        Family::Llvm => "llvm",
        Family::Iprof => "iprof",
    }
}
