//! `merge`: many profiles into one.
//!
//! The inputs and the output determine the family of the merge (`MergePlan`). The merge of each family has a file of
//! its own and a row in the table of [`families`](crate::family_table).

mod arguments;
mod empty_part;
mod instr;
mod iprof;
mod mixed;
mod option;
mod sampleprof;
mod stacks;
mod watch;
mod watch_options;

pub(crate) use arguments::{MergeArgs, MergeWork};
pub(crate) use iprof::refused_of_iprof;
pub(crate) use option::MergeOption;
pub(crate) use sampleprof::refused_of_samples;
pub(crate) use stacks::refused_of_stacks;

use self::empty_part::{EmptyPart, are_empty};
use crate::console;
use crate::documents::{NOT_A_PROFILE, OUTPUT};
use crate::family_table;
use crate::merge_document::{MergeDocument, WatchJson};
use crate::merge_inputs::{ErrorPolicy, Sizes, filter_inputs};
use crate::standard_output::StandardOutput;
use crate::validate::refuse;
use profbridge::families::inputs::{earlier_merges, require_same_program};
use profbridge::families::plan::{MergePlan, MergeRequest, StackOutput};
use profbridge::families::{self, OutputForm};
use profbridge::input::Family;
use profbridge::input::output::is_replaced;
use profbridge::instr::show::ShowOptions;
use profbridge::{Error, Result, Warning};
use std::path::Path;
use std::process::ExitCode;

/// Merges the inputs, or watches a directory.
pub(crate) fn run(mut arguments: MergeArgs) -> Result<ExitCode> {
    match arguments.watch.take() {
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
    let earlier = earlier_merges(&inputs, &found, &crate::limits::read_options());
    for input in &earlier {
        let words =
            "it is a merge of the same program as the raw profiles in the directory, and may already contain them";
        console::warning(&Warning::new(words).in_file(&input.path));
        console::hint("move it to another directory if it does: its counts would be counted twice");
    }
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
    let result = same.and_then(|()| request.plan(&inputs)).and_then(|plan| {
        let work = MergeWork { inputs: &inputs, found, form: plan.form(request.form) };
        let merged = merge(arguments, plan, &work, &mut document);
        // The reader of instrumentation profiles detects this in time.
        if plan != MergePlan::Family(Family::Instr) {
            sizes.warn_of_changed(&inputs, &arguments.output, arguments.quiet, &mut document);
        }
        merged
    });
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

/// Merges according to the plan, and records the outcome of the inputs. The thresholds are checked between merging and
/// writing.
fn merge(arguments: &MergeArgs, plan: MergePlan, work: &MergeWork<'_>, document: &mut MergeDocument) -> Result<()> {
    arguments.written.guard(work.inputs, &arguments.output, work.form, plan.family())?;
    let mut gates = arguments.gates.clone();
    // An empty partial merge is valid: later inputs may have content.
    gates.allow_empty |= arguments.partial;
    if arguments.partial && are_empty(work.inputs) {
        return gates.write(Box::new(EmptyPart::new(arguments, work.inputs, plan)), document);
    }
    if matches!(plan, MergePlan::Bridge(_) | MergePlan::Stacks(StackOutput::Iprof)) {
        let hint = "a partial merge has the format of its inputs; convert when you finish the merge";
        refuse(&[(arguments.partial, "--partial")], "not for these inputs and this output", hint)?;
    }
    let meant = format!("not for {}", plan.family().map_or("LLVM profiles and iprof files", family_table::short_words));
    family_table::refuse_merge_options(arguments, |family| !takes_options_of(plan, family), &meant)?;
    let sum = match (plan, plan.family()) {
        (MergePlan::Bridge(target), _) => arguments.merge_mixed(target, work, document)?,
        (_, family) => family_table::merge(family.unwrap_or(Family::Instr), arguments, work, document)?,
    };
    gates.write(sum, document)
}

/// Returns true if options for files of a family can affect a merge.
fn takes_options_of(plan: MergePlan, family: Family) -> bool {
    let is_llvm = matches!(family, Family::Instr | Family::MemProf);
    match plan {
        MergePlan::Family(Family::Instr) => is_llvm,
        MergePlan::Bridge(_) => is_llvm || family == Family::Iprof,
        plan => plan.family() == Some(family),
    }
}
