//! `merge`: many profiles into one.
//!
//! The inputs and the output determine the family of the merge (`MergePlan`). The library merges and writes; this
//! command converts the arguments, and prints.

mod arguments;
mod option;
mod settings;
mod watch;
mod watch_options;

pub(crate) use arguments::{MergeArgs, MergeWork};
pub(crate) use option::OPTIONS;

use crate::console;
use crate::documents::{NOT_A_PROFILE, OUTPUT};
use crate::merge_document::{MergeDocument, WatchJson};
use crate::merge_inputs::{ErrorPolicy, Sizes, filter_inputs, warn_of_earlier_merges};
use crate::merge_report::{Messages, report_inputs};
use crate::plural::number_of;
use crate::profgen::{RecordingsRun, recorded_programs};
use crate::standard_output::StandardOutput;
use profbridge::families::inputs::require_same_program;
use profbridge::families::merge::mixed::is_document;
use profbridge::families::plan::{MergePlan, MergeRequest};
use profbridge::families::{self, InputReport, OutputForm};
use profbridge::input::output::is_replaced;
use profbridge::input::{Family, Format, Input};
use profbridge::instr::show::ShowOptions;
use profbridge::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Merges the inputs, or watches a directory.
pub(crate) fn run(mut arguments: MergeArgs) -> Result<ExitCode> {
    let programs = recorded_programs(&arguments.written, &arguments.output, &arguments.sample, &arguments.stacks)?;
    let watch = arguments.watch.take();
    if watch.is_some() && !programs.is_empty() {
        return Err(Error::usage("--watch is not for recordings")
            .with_hint("write a partial merge of each recording, and merge these"));
    }
    match watch {
        Some(settings) => watch::run(settings, arguments, merge_inputs),
        None => merge_inputs(&arguments, None),
    }
}

/// Merges the inputs and writes the output. `watched` describes the directory that the inputs are from.
fn merge_inputs(arguments: &MergeArgs, watched: Option<WatchJson>) -> Result<ExitCode> {
    let list = arguments.inputs()?;
    let (found, skipped_output) = (list.found().clone(), list.skipped_output().map(Path::to_path_buf));
    if let Some(path) = &skipped_output {
        console::note(&format!("skipped {}: it is the output", path.display()));
    }
    let (any_named, may_be_none) = (arguments.names_any(), arguments.partial);
    let (inputs, skipped) = filter_inputs(list, ErrorPolicy { strict: arguments.strict, any_named, may_be_none })?;
    warn_of_earlier_merges(&inputs, &found);
    let sizes = Sizes::of(&inputs);
    if arguments.show || arguments.json {
        console::needs_file(&arguments.output)?;
    }
    if arguments.show && !is_replaced(&arguments.output) {
        let error = Error::usage("--show requires an output file").in_file(&arguments.output);
        return Err(error.with_hint("name a file with -o"));
    }
    let said = [(arguments.text, "--text", OutputForm::Text)];
    let form = arguments.written.form(&arguments.output, &[&said[..], &arguments.sample.forms()].concat())?;
    let mut request = MergeRequest::new(&arguments.output);
    (request.form, request.to) = (form, arguments.written.family());
    request.stdin_is_stacks = arguments.stacks.names_form();
    let mut document = MergeDocument::new(if arguments.json { &inputs } else { &[] });
    document.watched = watched;
    document.skip(&skipped, NOT_A_PROFILE);
    document.skip(skipped_output.as_slice(), OUTPUT);
    let same = match arguments.same_program {
        true => require_same_program(&inputs, &crate::limits::read_options()),
        false => Ok(()),
    };
    let programs = recorded_programs(&arguments.written, &arguments.output, &arguments.sample, &arguments.stacks)?;
    let result = if programs.is_empty() {
        same.and_then(|()| request.plan(&inputs)).and_then(|plan| {
            let work = MergeWork { inputs: &inputs, found, form: plan.form(request.form) };
            let merged = merge(arguments, plan, &work, &mut document);
            // The reader of instrumentation profiles detects this in time.
            if plan != MergePlan::Family(Family::Instr) {
                sizes.warn_of_changed(&inputs, &arguments.output, arguments.quiet, &mut document);
            }
            merged
        })
    } else {
        let work = MergeWork { inputs: &inputs, found, form: form.unwrap_or(OutputForm::SampleProf) };
        same.and_then(|()| merge_recordings(arguments, programs, &work, &mut document))
    };
    if arguments.json {
        document.print("profbridge.merge/2", result.as_ref().err())?;
    }
    result?;
    if arguments.show {
        let (read, show) = (crate::limits::read_options(), ShowOptions::default());
        families::show_file(&arguments.output, &read, &show, &mut StandardOutput)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Merges according to the plan, and writes the result.
fn merge(arguments: &MergeArgs, plan: MergePlan, work: &MergeWork<'_>, document: &mut MergeDocument) -> Result<()> {
    arguments.written.guard(work.inputs, &arguments.output, work.form, plan.family(), arguments.partial)?;
    let is_empty = |input: &Input| input.format().is_ok_and(|format| format == Format::Empty);
    // A partial merge of empty inputs belongs to any family.
    if !(arguments.partial && work.inputs.iter().all(is_empty)) {
        arguments.refuse_for(plan, work)?;
    }
    let settings = arguments.settings(plan, work)?;
    let mut messages = Messages::new(arguments.quiet, arguments.json);
    messages.summary &= !matches!(plan, MergePlan::Bridge(_));
    let progress = console::Progress::new("merging", arguments.quiet);
    let merged = families::merge(work.inputs, plan, &settings, &mut |done, total| progress.update(done, total));
    progress.finish();
    // Only the merge knows how many inputs the partial merges have.
    if let (MergePlan::Bridge(family), Ok(merged), true) = (plan, &merged, messages.notes) {
        console::status(&announcement(&merged.inputs.reports, family));
    }
    let merged = report_inputs(merged, plan, arguments.salvage_hint(), messages, document)?;
    if let Some(path) = &arguments.remapping_file {
        let notes = settings.options.instr.remapping.notes();
        notes.iter().for_each(|note| console::note(&format!("{}: {note}", path.display())));
    }
    arguments.refuse_filters_of_memory(&merged)?;
    let mut gates = arguments.gates.clone();
    // An empty partial merge is valid: later inputs may have content.
    gates.allow_empty |= arguments.partial;
    gates.write(merged, work.inputs, &settings, messages, document)
}

/// Makes the sample profile of recorded programs.
fn merge_recordings(
    arguments: &MergeArgs,
    programs: &[PathBuf],
    work: &MergeWork<'_>,
    document: &mut MergeDocument,
) -> Result<()> {
    arguments.refuse_for_recordings()?;
    let mut gates = arguments.gates.clone();
    gates.allow_empty |= arguments.partial;
    let run = RecordingsRun {
        inputs: work.inputs,
        programs,
        arguments: &arguments.profgen,
        written: &arguments.written,
        gates: &gates,
        messages: Messages::new(arguments.quiet, arguments.json),
        quiet: arguments.quiet,
    };
    run.run(&arguments.settings(MergePlan::Family(Family::SampleProf), work)?, document)
}

/// Describes a conversion.
fn announcement(inputs: &[InputReport], target: Family) -> String {
    let llvm = inputs.iter().filter(|report| !is_document(&report.input)).count();
    let iprof = inputs.len() - llvm;
    let result = match target {
        Family::Iprof => "an iprof",
        _ => "an LLVM profile",
    };
    let (llvm, iprof) = (number_of(llvm, "LLVM profile"), number_of(iprof, "iprof file"));
    format!("converting {llvm} and {iprof} to {result}")
}
