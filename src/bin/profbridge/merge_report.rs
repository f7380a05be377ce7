//! What `merge` says of its inputs and its result.

use crate::console;
use crate::cross_release;
use crate::target::Whom;
use profbridge::input::WeightedInput;
use profbridge::merge::SoftError;
use profbridge::merge::cross_release::Finding;
use profbridge::pipeline::{InputOutcome, InputReport, MergeObserver, MergeReport};
use profbridge::{Result, Warning};
use std::path::Path;

/// Warns of what became of single inputs.
pub(crate) fn print_warnings(report: &MergeReport, quiet: bool) {
    for input in &report.inputs {
        if let InputOutcome::Failed(error) = &input.outcome {
            console::error_as_warning(error);
        }
        if !quiet {
            input.warnings.iter().for_each(console::warning);
            if matches!(input.outcome, InputOutcome::Empty) {
                console::warning(&Warning::new("the file is empty; skipped").in_file(&input.input.path));
            }
        }
    }
    if report.repeats_memory_size {
        console::warning(&Warning::new("a site of the result lists a memory size twice; an input is damaged"));
    }
}

/// The report as JSON on standard output; see `docs/json-schema/merge-1.json`.
pub(crate) fn print_json(report: &MergeReport, whom: &Whom, findings: &[Finding], output: &Path) -> Result<()> {
    let inputs: Vec<serde_json::Value> = report.inputs.iter().map(input_json).collect();
    let text = serde_json::json!({
        "schema": "profbridge.merge/1",
        "output": output.to_string_lossy(),
        "target": whom.json(),
        "functions": report.profile.functions.len(),
        "records": report.profile.functions.records_len(),
        "used": report.used(),
        "inputs": inputs,
        "findings": cross_release::findings_json(findings),
    });
    console::print_line(&text.to_string())
}

fn input_json(input: &InputReport) -> serde_json::Value {
    let (outcome, error) = match &input.outcome {
        InputOutcome::Used => ("used", None),
        InputOutcome::Empty => ("empty", None),
        InputOutcome::Failed(error) => ("failed", Some(error.to_string())),
        _ => ("other", None),
    };
    serde_json::json!({
        "path": input.input.path.to_string_lossy(),
        "weight": input.input.weight.get(),
        "outcome": outcome,
        "error": error,
        "records": input.records,
        "warnings": input.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// One line that says what became of the inputs.
pub(crate) fn summary(report: &MergeReport, output: &Path) -> String {
    let empty = report.inputs.iter().filter(|input| matches!(input.outcome, InputOutcome::Empty)).count();
    let failed = report.failures().count();
    let mut skipped = Vec::new();
    if empty != 0 {
        skipped.push(format!("{empty} empty"));
    }
    if failed != 0 {
        skipped.push(format!("{failed} unreadable"));
    }
    let skipped = if skipped.is_empty() { String::new() } else { format!(", skipped {}", skipped.join(" and ")) };
    let functions = report.profile.functions.len();
    let target = if output.as_os_str() == "-" { "standard output".into() } else { output.display().to_string() };
    format!("{target}: {functions} functions from {} of {} inputs{skipped}", report.used(), report.inputs.len())
}

/// Prints soft errors about records, and progress on a terminal.
pub(crate) struct MergeConsole {
    quiet: bool,
    progress: console::Progress,
}

impl MergeConsole {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, progress: console::Progress::new("merging", quiet) }
    }

    pub(crate) fn finish(&self) {
        self.progress.finish();
    }
}

impl MergeObserver for MergeConsole {
    fn soft_error(&mut self, input: &WeightedInput, function: &[u8], error: SoftError, first: bool) {
        if self.quiet {
            return;
        }
        console::warning(&Warning::new(error.to_string()).in_file(&input.path).in_function(function));
        if first && error.is_mismatch() {
            console::hint("make sure that all profiles come from the same binary");
        }
    }

    fn progress(&mut self, done: usize, total: usize) {
        self.progress.update(done, total);
    }
}
