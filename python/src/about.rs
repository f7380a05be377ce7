//! The inputs, the outcomes and the warnings of the merge that made a profile.

use profbridge::families::{Facts, InputOutcome, InputReport};
use profbridge::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The warnings of a merge, the outcomes of its inputs, and whether anything is left to write.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct About {
    /// The warnings.
    pub(crate) warnings: Vec<String>,
    /// The outcomes, as in the program's JSON output.
    pub(crate) report: Value,
    /// The reason why the result is empty; `None` if it is not.
    lack: Option<String>,
}

impl About {
    /// Describes a merge.
    pub(crate) fn new<'a>(
        inputs: impl IntoIterator<Item = &'a InputReport>,
        facts: &Facts,
        warnings: Vec<String>,
    ) -> Self {
        Self::with_inputs(Self::inputs_of(inputs), facts, warnings)
    }

    /// Describes a merge, with the inputs of [`inputs_of`](Self::inputs_of).
    pub(crate) fn with_inputs(inputs: Value, facts: &Facts, warnings: Vec<String>) -> Self {
        let report = json!({ "functions": facts.functions, "used": facts.inputs, "inputs": inputs });
        Self { warnings, report, lack: facts.lack.clone() }
    }

    /// Describes the inputs of a merge.
    pub(crate) fn inputs_of<'a>(inputs: impl IntoIterator<Item = &'a InputReport>) -> Value {
        inputs.into_iter().map(input).collect()
    }

    /// Describes a profile that was made of another one.
    pub(crate) fn of_conversion(facts: &Facts, warnings: Vec<String>) -> Self {
        Self::new(&[], facts, warnings)
    }

    /// Adds a member to the report.
    pub(crate) fn add(&mut self, member: &str, value: Value) {
        if let Value::Object(members) = &mut self.report {
            members.insert(member.to_string(), value);
        }
    }

    /// Returns true if the result is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.lack.is_some()
    }

    /// Fails if there is nothing to write.
    ///
    /// # Errors
    ///
    /// Nothing found, with the missing data.
    pub(crate) fn require_something(&self, allow_empty: bool) -> Result<()> {
        match &self.lack {
            Some(lack) if !allow_empty => {
                let error = Error::nothing_found(format!("there is nothing to write: {lack}"));
                Err(error.with_hint("pass allow_empty=True to write it anyway"))
            }
            _ => Ok(()),
        }
    }
}

/// The warnings about inputs that were skipped, and those of each input.
pub(crate) fn warnings_of<'a>(inputs: impl IntoIterator<Item = &'a InputReport>) -> Vec<String> {
    let mut warnings = Vec::new();
    for input in inputs {
        warnings.extend(skipped(input));
        warnings.extend(input.warnings.iter().map(ToString::to_string));
    }
    warnings
}

/// Returns the warning about an input that was skipped.
pub(crate) fn skipped(report: &InputReport) -> Option<String> {
    let path = report.input.path.display();
    match &report.outcome {
        InputOutcome::Failed(error) => Some(format!("skipped: {error}")),
        InputOutcome::Empty => Some(format!("{path}: the file is empty; skipped")),
        _ => None,
    }
}

fn input(report: &InputReport) -> Value {
    let (outcome, error) = match &report.outcome {
        InputOutcome::Used => ("used", None),
        InputOutcome::Empty => ("empty", None),
        InputOutcome::Failed(error) => ("failed", Some(error.to_string())),
        _ => ("other", None),
    };
    json!({
        "path": report.input.path.to_string_lossy(),
        "weight": report.input.weight.get(),
        "outcome": outcome,
        "error": error,
        "records": report.records,
        "warnings": report.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
