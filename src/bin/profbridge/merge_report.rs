//! Messages of `merge` about its inputs and its result.

use crate::console;
use crate::merge_document::MergeDocument;
use crate::plural::{inputs_of, number_of};
use profbridge::families::{Facts, InputOutcome, InputReport, MergeOptions, MergeReport};
use profbridge::input::output::is_standard_output;
use profbridge::{Error, Warning};
use std::path::Path;

/// Prints warnings about single records and inputs.
pub(crate) fn print_warnings(report: &MergeReport, options: &MergeOptions, quiet: bool) {
    print_soft_errors(report, quiet);
    let is_the_error = |error: &Error| options.reports_kind_conflict() && error.is_kind_conflict();
    for input in &report.inputs {
        if let InputOutcome::Failed(error) = &input.outcome
            && !is_the_error(error)
        {
            console::error_as_warning(error);
        }
        if !quiet {
            input.warnings.iter().for_each(console::warning);
            if input.is_empty() {
                let is_used = matches!(input.outcome, InputOutcome::Used);
                let words = if is_used { "the file has no record; skipped" } else { "the file is empty; skipped" };
                console::warning(&Warning::new(words).in_file(&input.input.path));
            }
        }
    }
    if report.repeats_memory_size {
        console::warning(&Warning::new("a value site lists a memory size twice; an input is damaged"));
    }
}

/// Records the outcome of the inputs.
pub(crate) fn note(document: &mut MergeDocument, report: &MergeReport, salvage: bool) {
    document.name_inputs(report.inputs.iter().map(|input| &input.input));
    report.inputs.iter().enumerate().for_each(|(at, input)| note_input(document, at, input, salvage));
}

/// Records the outcome of the input at this position.
pub(crate) fn note_input(document: &mut MergeDocument, at: usize, input: &InputReport, salvage: bool) {
    document.note_outcome(at, if input.is_empty() { &InputOutcome::Empty } else { &input.outcome });
    if salvage && input.records > 0 {
        document.note_salvaged(at);
    }
    document.warn_of(at, input.warnings.iter().map(ToString::to_string));
    if let Some(reported) = document.inputs.get_mut(at) {
        reported.records = Some(input.records);
    }
}

/// Returns one line about the output and the outcome of the inputs.
pub(crate) fn summary(facts: &Facts, report: &MergeReport, output: &Path, salvage: bool) -> String {
    let failed = |input: &&InputReport| matches!(input.outcome, InputOutcome::Failed(_));
    let empty = report.inputs.iter().filter(|input| input.is_empty()).count();
    let salvaged = report.inputs.iter().filter(failed).filter(|input| salvage && input.records > 0).count();
    let others = report.failures().filter(|(_, error)| error.is_kind_conflict()).count();
    let kept: u64 = report.inputs.iter().filter(failed).map(|input| input.records).sum();
    let unreadable = report.failures().count() - salvaged - others;
    let skipped = [(empty, "empty"), (unreadable, "unreadable"), (others, "of another kind")];
    let skipped: Vec<String> =
        skipped.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let mut rest = if skipped.is_empty() { String::new() } else { format!(", skipped {}", skipped.join(" and ")) };
    if salvaged > 0 {
        rest += &format!(", kept {} of {salvaged} damaged", number_of(kept, "record"));
    }
    let functions = number_of(facts.functions.unwrap_or_default(), "function");
    let target = if is_standard_output(output) { "standard output".into() } else { output.display().to_string() };
    format!("{target}: {functions} from {}{rest}", inputs_of(report.used(), report.inputs.len()))
}

/// Prints the faults of single records.
pub(crate) fn print_soft_errors(report: &MergeReport, quiet: bool) {
    for soft in report.soft_errors.iter().filter(|_| !quiet) {
        let path = &report.inputs[soft.input].input.path;
        console::warning(&Warning::new(soft.error.to_string()).in_file(path).in_function(soft.function.clone()));
        if soft.is_first && soft.error.is_mismatch() {
            console::hint("merge only profiles of the same binary");
        }
    }
}
