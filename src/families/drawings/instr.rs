//! LLVM instrumentation profiles for reports.

use crate::call_chains::Selection;
use crate::error::{Error, ErrorKind, Result};
use crate::families::describe::instr::describe;
use crate::families::drawings::content::{Content, Drawn};
use crate::families::merge::{InputOutcome, MergeOptions, merge_files};
use crate::families::read::stacks::StackOptions;
use crate::input::{Access, Format, Input};
pub use crate::instr::InstrContent;
use crate::limits::Limits;

/// Reads LLVM profiles.
pub(crate) fn draw(inputs: &[Input], options: &StackOptions, _: &Selection) -> Result<Drawn> {
    let source = match inputs.first() {
        Some(first) => words_of(&first.bytes(Access::Read, &options.limits)?, first.format()?, &options.limits),
        None => return Err(Error::usage("no input files")),
    };
    let mut merge = MergeOptions { keep_vtable_names: true, ..MergeOptions::default() };
    merge.read.limits = options.limits;
    let report = merge_files(inputs, &merge, &mut |_, _| {})?;
    let mut warnings = Vec::new();
    for input in report.inputs {
        match input.outcome {
            InputOutcome::Failed(error) => return Err(error),
            InputOutcome::Empty => return Err(Error::new(ErrorKind::EmptyProfile).in_file(&input.input.path)),
            _ => warnings.extend(input.warnings),
        }
    }
    Ok((Content::Instr(InstrContent { source, profile: report.profile }), warnings))
}

/// Returns the format of an LLVM profile, with its version.
fn words_of(data: &[u8], format: Format, limits: &Limits) -> String {
    let words = format.to_string();
    let described = describe(data, format, limits);
    match described.parts.iter().find_map(|part| part.version.clone()) {
        Some(version) if !words.contains(&version) => format!("{words}, version {version}"),
        _ => words,
    }
}
