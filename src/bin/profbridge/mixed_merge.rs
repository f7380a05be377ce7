//! `merge` of inputs of both families, or from one into the other.

use crate::console;
use crate::target::JsonTarget;
use profbridge::Result;
use profbridge::input::{Family, WeightedInput};
use profbridge::instr::Loss;
use profbridge::pipeline::mixed::is_document;
use std::path::Path;

/// What is about to happen, in words.
pub(crate) fn announcement(inputs: &[WeightedInput], target: Family) -> String {
    let llvm = inputs.iter().filter(|input| !is_document(input)).count();
    let iprof = inputs.len() - llvm;
    let result = match target {
        Family::Iprof => "an iprof",
        _ => "an LLVM profile",
    };
    let several = |count: usize| if count == 1 { "" } else { "s" };
    let (llvm_s, iprof_s) = (several(llvm), several(iprof));
    format!("through the bridge: {llvm} LLVM profile{llvm_s} and {iprof} iprof file{iprof_s} become {result}")
}

/// The report as JSON on standard output; see `docs/json-schema/merge-bridged-1.json`.
pub(crate) fn print_json(
    inputs: &[WeightedInput],
    family: Family,
    target: Option<JsonTarget>,
    losses: &[Loss],
    output: &Path,
) -> Result<()> {
    let input = |input: &WeightedInput| JsonInput {
        path: input.path.to_string_lossy().into_owned(),
        weight: input.weight.get(),
        family: if is_document(input) { "iprof" } else { "llvm" },
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
        Family::Iprof => "iprof",
        _ => "llvm",
    }
}
