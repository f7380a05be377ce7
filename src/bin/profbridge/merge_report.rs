//! Messages of `merge` and `convert` about the inputs and the result, and their entries in the document.

use crate::console;
use crate::cross_release;

use crate::iprof_files::print_findings;
use crate::merge_document::{ClashesJson, MergeDocument, SectionCounts};
use crate::plural::{PARTIAL_SUFFIX, inputs_of, number_of};
use crate::target::{JsonTarget, announce};
use profbridge::families::merge::mixed::is_document;
use profbridge::families::plan::MergePlan;
use profbridge::families::{
    Facts, InputOutcome, InputReport, MergeFailure, MergeSettings, Merged, MergedInputs, MergedProfile, Saved,
};
use profbridge::input::output::is_standard_output;
use profbridge::input::{Family, Input};
use profbridge::{Error, ErrorKind, Result, Warning};

/// Which messages a command prints.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Messages {
    /// Warnings and losses.
    pub(crate) warnings: bool,
    /// Notes.
    pub(crate) notes: bool,
    /// The target, if the inputs selected it.
    pub(crate) target: bool,
    /// One line about the result.
    pub(crate) summary: bool,
}

impl Messages {
    /// Returns the messages of a merge.
    pub(crate) fn new(quiet: bool, json: bool) -> Self {
        Self { warnings: !quiet, notes: !quiet, target: !quiet, summary: !quiet && !json }
    }
}

/// How the inputs of a family are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Instr,
    Iprof,
    Samples,
    Stacks,
}

impl Style {
    fn of(plan: MergePlan, input: &Input, is_failed: bool) -> Self {
        match plan.family() {
            Some(Family::SampleProf) => Self::Samples,
            Some(Family::Stacks) => Self::Stacks,
            Some(Family::Iprof) => Self::Iprof,
            None if is_failed || is_document(input) => Self::Iprof,
            _ => Self::Instr,
        }
    }
}

/// Prints and records what was found in the inputs of a merge. `salvage_hint` is the hint if no input can be read.
///
/// # Errors
///
/// The error of a failed merge.
pub(crate) fn report_inputs(
    merged: Result<Merged, MergeFailure>,
    plan: MergePlan,
    salvage_hint: Option<&'static str>,
    messages: Messages,
    document: &mut MergeDocument,
) -> Result<Merged> {
    let (inputs, failure) = match &merged {
        Ok(merged) => (&merged.inputs, None),
        Err(failed) => (&failed.inputs, Some(&failed.error)),
    };
    if !inputs.reports.is_empty() {
        document.name_inputs(inputs.reports.iter().map(|report| &report.input));
    }
    report_soft_errors(inputs, messages, document);
    for (at, report) in inputs.reports.iter().enumerate() {
        // An empty partial merge belongs to any family.
        let style = match &merged {
            Ok(Merged { profile: MergedProfile::Empty(_), .. }) => Style::Iprof,
            _ => Style::of(plan, &report.input, failure.is_some()),
        };
        note_input(document, at, report, style);
        if failure.is_none() && is_salvaged(report) {
            document.note_salvaged(at);
        }
        match style {
            Style::Samples => {
                // The reasons of a failure are printed even if quiet, also the errors of skipped inputs.
                report_faults(inputs, at, messages.warnings || failure.is_some(), document);
            }
            Style::Stacks => {
                print_failed(report, failure, true);
                if messages.warnings && report.is_empty() && matches!(report.outcome, InputOutcome::Used) {
                    let warning = Warning::new("the file has no samples to use; skipped").in_file(&report.input.path);
                    console::warning(&warning);
                }
            }
            Style::Instr => {
                print_failed(report, failure, true);
                print_instr(report, messages);
            }
            Style::Iprof => {
                print_failed(report, failure, true);
                print_iprof(inputs, at, messages, failure.is_some());
            }
        }
    }
    if inputs.repeats_memory_size {
        console::warning(&Warning::new("a value site lists a memory size twice; an input is damaged"));
    }
    merged.map_err(|failed| match (failed.error.kind(), salvage_hint) {
        (ErrorKind::InputsFailed { .. }, Some(hint)) => failed.error.with_hint(hint),
        _ => failed.error,
    })
}

/// Records the outcome of the input at this position.
fn note_input(document: &mut MergeDocument, at: usize, report: &InputReport, style: Style) {
    let skips_empty = style != Style::Samples && report.is_empty();
    document.note_outcome(at, if skips_empty { &InputOutcome::Empty } else { &report.outcome });
    match style {
        Style::Instr => {
            document.warn_of(at, report.warnings.iter().map(ToString::to_string));
            if let Some(reported) = document.inputs.get_mut(at) {
                reported.records = Some(report.records);
            }
        }
        Style::Iprof => document.warn_of(at, report.warnings.iter().map(|warning| warning.message.clone())),
        Style::Samples | Style::Stacks => {}
    }
}

/// Prints why an input failed, unless this is the error of the merge.
fn print_failed(report: &InputReport, failure: Option<&Error>, prints: bool) {
    let is_the_error = |found: &Error| found.is_kind_conflict() && failure.is_some_and(Error::is_kind_conflict);
    if let InputOutcome::Failed(error) = &report.outcome
        && prints
        && !is_the_error(error)
    {
        console::error_as_warning(error);
    }
}

fn print_instr(report: &InputReport, messages: Messages) {
    if !messages.warnings {
        return;
    }
    report.warnings.iter().for_each(console::warning);
    if report.is_empty() {
        let is_used = matches!(report.outcome, InputOutcome::Used);
        let words = if is_used { "the file has no record; skipped" } else { "the file is empty; skipped" };
        console::warning(&Warning::new(words).in_file(&report.input.path));
    }
}

/// Prints that an iprof is empty, and the findings that affect all of it.
fn print_iprof(inputs: &MergedInputs, at: usize, messages: Messages, is_failed: bool) {
    if !messages.warnings || is_failed {
        return;
    }
    let report = &inputs.reports[at];
    let words = match report.outcome {
        InputOutcome::Empty => Some("the file is empty; skipped"),
        InputOutcome::Used if report.is_empty() => Some("the file has no entries; skipped"),
        _ => None,
    };
    if let Some(words) = words {
        console::warning(&Warning::new(words).in_file(&report.input.path));
    }
    let findings = inputs.findings.iter().filter(|(place, _)| *place == at);
    print_findings(&report.input.path, findings.map(|(_, finding)| finding));
}

/// Prints and records the messages about a sample profile.
fn report_faults(inputs: &MergedInputs, at: usize, prints: bool, document: &mut MergeDocument) {
    let report = &inputs.reports[at];
    match &report.outcome {
        InputOutcome::Failed(error) => console::error_as_warning(error),
        InputOutcome::Empty if prints => {
            console::error_as_warning(&Error::new(ErrorKind::EmptyProfile).in_file(&report.input.path));
        }
        _ => {}
    }
    let faults = inputs.faults.iter().filter(|fault| fault.input == at).map(|fault| fault.warning(&report.input));
    for warning in report.warnings.iter().cloned().chain(faults) {
        if prints {
            console::warning(&warning);
        }
        document.warn_of(at, [warning.to_string()]);
    }
}

/// Prints and records the faults of single records.
fn report_soft_errors(inputs: &MergedInputs, messages: Messages, document: &mut MergeDocument) {
    for soft in &inputs.soft_errors {
        let Some(report) = inputs.reports.get(soft.input) else { continue };
        let warning = soft.warning(&report.input);
        document.warn_of(soft.input, [warning.to_string()]);
        if messages.warnings {
            let advice =
                (soft.is_first && soft.error.is_mismatch()).then_some("merge only profiles of the same binary");
            console::warning_with(&warning, advice);
        }
    }
}

/// Records what a merge of iprof files could not merge.
pub(crate) fn note_merged(document: &mut MergeDocument, merged: &Merged) {
    let MergedProfile::Iprof { merged: Some(report), .. } = &merged.profile else { return };
    document.clashes = Some(ClashesJson { sites: report.clashed_sites, lists: report.clashed_lists });
    let saturated = report.saturated.iter();
    document.saturated =
        Some(saturated.map(|(kind, count)| SectionCounts { section: kind.name(), counts: *count }).collect());
    document.dropped_members = Some(report.dropped_members.clone());
}

/// Prints and records what has to be known before a result is written: warnings, losses, the target.
pub(crate) fn report_result(
    merged: &Merged,
    settings: &MergeSettings,
    messages: Messages,
    document: &mut MergeDocument,
) {
    let output = &*settings.output;
    if messages.notes && matches!(merged.profile, MergedProfile::Iprof { bridged: true, .. }) {
        console::note("inputs contain LLVM records, which are merged like LLVM profiles");
    }
    let mut warnings = merged.warnings.clone();
    if let MergedProfile::Stacks { encoded, .. } = &merged.profile {
        warnings.extend(encoded.losses.iter().map(|loss| Warning::new(with_option(loss)).in_file(output)));
        document.lose_in_words(&encoded.losses);
    }
    document.warn(&warnings);
    document.lose(&merged.unconverted);
    warnings.extend(merged.dropped_counters().map(|lost| Warning::new(format!("{lost}; dropped")).in_file(output)));
    if messages.warnings {
        warnings.iter().for_each(console::warning);
    }
    if let (MergedProfile::Instr { report, .. }, true) = (&merged.profile, messages.notes) {
        let temporal = &report.profile.temporal;
        note_dropped_traces(temporal.traces.len() as u64, temporal.stream_size);
    }
    if merged.shares_nothing && messages.warnings {
        // Other profiles have no binary ids.
        let advice = match merged.family() {
            Family::Instr => "; use --same-program to reject inputs from different programs",
            _ => "; they are probably of different programs",
        };
        console::note(&format!("the inputs have no function in common{advice}"));
    }
    let is_converted = !matches!(merged.family(), Family::SampleProf | Family::MemProf);
    if messages.warnings && !is_converted {
        console::losses(&merged.unconverted, output);
    } else if messages.warnings {
        let lost = merged.unconverted.iter().map(|loss| Warning::new(format!("not converted: {loss}")).in_file(output));
        lost.for_each(|warning| console::warning(&warning));
    }
    if let (MergedProfile::Instr { write, .. }, Some(target), true) = (&merged.profile, &merged.target, messages.target)
    {
        announce(target, write.format, output);
    }
}

/// Prints how many temporal traces the output has. LLVM also keeps a random selection.
fn note_dropped_traces(kept: u64, all: u64) {
    if kept > 0 && kept < all {
        console::note(&format!(
            "the output has a random selection of {kept} of {all} temporal traces (see merge --temporal-profile-trace-reservoir-size)"
        ));
    }
}

/// Adds the option with which the dropped data is kept.
fn with_option(loss: &str) -> String {
    match loss {
        _ if loss.ends_with("of other event types") => format!("{loss} (see --events)"),
        _ if loss.starts_with("dropped the names of") => format!("{loss} (see --threads)"),
        _ => loss.to_string(),
    }
}

/// Prints and records the written data and its losses.
pub(crate) fn report_written(
    merged: &Merged,
    saved: &Saved,
    facts: &Facts,
    settings: &MergeSettings,
    messages: Messages,
    document: &mut MergeDocument,
) {
    let output = &*settings.output;
    if let MergedProfile::Instr { report, .. } = &merged.profile {
        document.lose(&report.losses);
        if messages.warnings {
            console::losses(&report.losses, output);
        }
    }
    document.lose(&saved.losses);
    if messages.warnings {
        console::losses(&saved.losses, output);
    }
    cross_release::print_findings(&merged.findings, output, !messages.notes);
    document.findings = cross_release::findings_json(&merged.findings);
    document.target = merged.target.as_ref().map(|target| JsonTarget::of(&target.target));
    if let MergedProfile::SampleProf { report, .. } = &merged.profile {
        document.filtered = Some(report.filtered.map_or(0, |(_, left_out)| left_out));
    }
    document.wrote(output, merged.family().name());
    if messages.summary {
        print_summary(merged, facts, settings);
    }
}

/// Prints one line about the output and the outcome of the inputs.
fn print_summary(merged: &Merged, facts: &Facts, settings: &MergeSettings) {
    let names_standard_output = matches!(merged.profile, MergedProfile::Instr { .. });
    let is_silent = match &merged.profile {
        MergedProfile::Instr { .. } | MergedProfile::SampleProf { .. } => false,
        _ => is_standard_output(&settings.output),
    };
    if is_silent {
        return;
    }
    let reports = &merged.inputs.reports;
    let functions = || facts.functions_in_words();
    let (content, rest) = match &merged.profile {
        MergedProfile::Instr { .. } | MergedProfile::MemProf { .. } => (functions(), skipped(reports)),
        MergedProfile::SampleProf { .. } => (functions(), String::new()),
        MergedProfile::Stacks { encoded, .. } => (number_of(encoded.stacks, "stack"), String::new()),
        MergedProfile::Iprof { .. } => (entries(facts), skipped(reports)),
        MergedProfile::Recordings { .. } => ("samples".to_string(), String::new()),
        _ => ("no records".to_string(), String::new()),
    };
    let output = match names_standard_output && is_standard_output(&settings.output) {
        true => "standard output".to_string(),
        false => settings.output.display().to_string(),
    };
    let inputs = inputs_of(merged.used(), reports.len());
    let part = if merged.is_partial() { PARTIAL_SUFFIX } else { "" };
    console::status(&format!("{output}: {content} from {inputs}{rest}{part}"));
}

fn entries(facts: &Facts) -> String {
    let entries = facts.entries.iter().flatten();
    let entries: Vec<String> = entries.map(|(section, count)| format!("{count} of {section}")).collect();
    if entries.is_empty() { "no profiles".to_string() } else { entries.join(", ") }
}

/// Returns true for a damaged input whose valid records are in the result.
fn is_salvaged(report: &InputReport) -> bool {
    report.records > 0 && matches!(&report.outcome, InputOutcome::Failed(error) if !error.is_kind_conflict())
}

/// Returns the inputs that are not in the result, in words, and the records of those that are in part.
fn skipped(reports: &[InputReport]) -> String {
    let failed = || {
        reports.iter().filter_map(|report| match &report.outcome {
            InputOutcome::Failed(error) => Some(error),
            _ => None,
        })
    };
    let empty = reports.iter().filter(|report| report.is_empty()).count();
    let foreign = reports.iter().filter(|report| matches!(report.outcome, InputOutcome::NotAProfile)).count();
    let salvaged = || reports.iter().filter(|report| is_salvaged(report));
    let others = failed().filter(|error| error.is_kind_conflict()).count();
    let (damaged, kept) = (salvaged().count(), salvaged().map(|report| report.records).sum::<u64>());
    let unreadable = failed().count() - damaged - others;
    let counts =
        [(empty, "empty"), (unreadable, "unreadable"), (others, "of another kind"), (foreign, "of other formats")];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
    let mut rest = if words.is_empty() { String::new() } else { format!(", skipped {}", words.join(" and ")) };
    if damaged > 0 {
        rest += &format!(", kept {} of {damaged} damaged", number_of(kept, "record"));
    }
    rest
}
