//! `convert`: one profile into another format or version.
//!
//! The conversion of each family has a file of its own and a row in the table of [`families`](crate::family_table).

mod arguments;
mod instr;
mod iprof;
mod sampleprof;
mod stacks;

pub(crate) use arguments::{ConvertArgs, ConvertWork, RawArch};

use crate::console;
use crate::family_table;
use crate::merge_document::MergeDocument;
use crate::profgen::recorded_programs;
use crate::sample_files::SampleArgs;
use profbridge::Result;
use profbridge::families::OutputForm;
use profbridge::families::plan::{MergeRequest, stays};
use profbridge::input::{Family, Input};
use std::process::ExitCode;

/// Converts the inputs and writes the output.
pub(crate) fn run(arguments: &ConvertArgs) -> Result<ExitCode> {
    let inputs: Vec<Input> = arguments.inputs.iter().map(Input::argument).collect();
    if arguments.json {
        console::needs_file(&arguments.output)?;
    }
    let mut document = MergeDocument::of_conversion(if arguments.json { &inputs } else { &[] });
    let result = convert(arguments, &inputs, &mut document);
    if arguments.json {
        document.print("profbridge.convert/1", result.as_ref().err())?;
    }
    result.map(|()| ExitCode::SUCCESS)
}

/// Converts according to the inputs and the output, and records the outcome.
fn convert(arguments: &ConvertArgs, inputs: &[Input], document: &mut MergeDocument) -> Result<()> {
    let said = arguments.written.form(&arguments.output, &arguments.sample.forms())?;
    let programs = recorded_programs(&arguments.written, &arguments.output, &arguments.sample, &arguments.stacks)?;
    if !programs.is_empty() {
        return arguments.convert_recordings(inputs, programs, said.unwrap_or(OutputForm::SampleProf), document);
    }
    // The reader reports inputs that cannot be opened.
    let first = inputs.first().and_then(|input| input.family().ok().flatten());
    let staying = match (first, said) {
        // An input without a family is passed to the only family with this output, which reports the fault.
        (None, Some(OutputForm::SampleProf)) => Some(Family::SampleProf),
        (first, _) => first.filter(|family| stays(*family)),
    };
    if staying != Some(Family::SampleProf) && inputs.first().is_none_or(|input| input.family().is_ok()) {
        SampleArgs::refuse_for_others()?;
    }
    let form = match staying {
        // A conversion is a merge of one profile.
        Some(_) => {
            let mut request = MergeRequest::new(&arguments.output);
            request.form = said;
            request.plan(inputs)?.form(said)
        }
        None => arguments.form(inputs, said)?,
    };
    arguments.written.guard(inputs, &arguments.output, form, staying, false)?;
    arguments.refuse_for_form(form)?;
    let family = match staying {
        Some(family) => family,
        None => family_of(arguments, inputs, form)?,
    };
    family_table::convert(family, arguments, &ConvertWork { inputs, form }, document)?;
    document.note_rest_used();
    Ok(())
}

/// Returns the family whose conversion is used: stacks if the output is stacks, LLVM instrumentation profiles if the
/// bridge is needed.
fn family_of(arguments: &ConvertArgs, inputs: &[Input], form: OutputForm) -> Result<Family> {
    let is_iprof = |input: &Input| Ok::<_, profbridge::Error>(input.family()? == Some(Family::Iprof));
    match inputs {
        [input] if form == OutputForm::Iprof && is_iprof(input)? => Ok(Family::Iprof),
        _ if arguments.stack_format(inputs, form)?.is_some() => Ok(Family::Stacks),
        _ => Ok(Family::Instr),
    }
}
