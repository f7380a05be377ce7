//! The document of `merge --json`: the outcome of the inputs, and the output. All families use it, and merges that
//! fail; see `docs/json-schema/merge-2.json`. The document of `convert` has no thresholds; see
//! `docs/json-schema/convert-1.json`.

use crate::documents::{
    self, EMPTY, FAILED, FileJson, InputJson, LossJson, NOT_A_PROFILE, NOT_USED, OUTPUT, SALVAGED, SectionEntries,
    USED, error_json,
};
use crate::target::JsonTarget;
use profbridge::families::{Facts, FactsRequest, InputOutcome};
use profbridge::gates::{self, GateOutcome};
use profbridge::input::Input;
use profbridge::instr::Loss;
use profbridge::profgen::SampleReport;
use profbridge::{Error, ErrorKind, ErrorReport, Result, Warning};
use serde::Serialize;
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

/// The current state of a merge.
#[derive(Debug, Default, Serialize)]
pub(crate) struct MergeDocument {
    error: Option<ErrorReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gates: Option<Vec<GateOutcome>>,
    /// The family of the result.
    family: Option<&'static str>,
    /// The written file; `None` if the merge failed.
    output: Option<FileJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<JsonTarget>,
    used: usize,
    pub(crate) inputs: Vec<InputJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    functions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stacks: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<Vec<SectionEntries>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) filtered: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) clashes: Option<ClashesJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) saturated: Option<Vec<SectionCounts>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dropped_members: Option<Vec<String>>,
    /// The number of samples by outcome, for each program of recordings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    samples: Vec<ProgramSamples>,
    /// The watched directory.
    #[serde(rename = "watch", skip_serializing_if = "Option::is_none")]
    pub(crate) watched: Option<WatchJson>,
    losses: Vec<LossJson>,
    warnings: Vec<String>,
    pub(crate) findings: Vec<serde_json::Value>,
}

/// The samples of a program.
#[derive(Debug, Serialize)]
struct ProgramSamples {
    path: String,
    #[serde(flatten)]
    report: SampleReport,
}

/// The outcome of the files of a watched directory.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct WatchJson {
    /// The reason why the watch ended.
    pub(crate) ended: &'static str,
    /// The number of files that this run merged.
    pub(crate) merged: usize,
    /// The number of files that it deleted.
    pub(crate) deleted: usize,
    /// The files that are not merged.
    pub(crate) left: Vec<LeftJson>,
}

/// A file of a watched directory that is not merged.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LeftJson {
    pub(crate) path: String,
    pub(crate) reason: String,
}

/// Branch lists of an iprof that contradicted each other.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ClashesJson {
    pub(crate) sites: u64,
    pub(crate) lists: u64,
}

/// Counts of a section of an iprof.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SectionCounts {
    pub(crate) section: &'static str,
    pub(crate) counts: u64,
}

impl MergeDocument {
    /// Creates the document of a merge that has not started.
    pub(crate) fn new(inputs: &[Input]) -> Self {
        // Pipes were already examined to determine the family of the merge.
        let input = |input: &Input| InputJson::new(FileJson::of(input), input.weight.get());
        Self { gates: Some(Vec::new()), inputs: inputs.iter().map(input).collect(), ..Self::default() }
    }

    /// Creates the document of a conversion that has not started.
    pub(crate) fn of_conversion(inputs: &[Input]) -> Self {
        Self { gates: None, ..Self::new(inputs) }
    }

    /// Returns true if the document is printed.
    fn is_asked_for(&self) -> bool {
        !self.inputs.is_empty()
    }

    /// Returns the figures that the document contains.
    pub(crate) fn wanted(&self) -> FactsRequest {
        let mut wanted = FactsRequest::default();
        wanted.functions = self.is_asked_for();
        wanted
    }

    /// Records the figures of the result.
    pub(crate) fn hold(&mut self, facts: &Facts) {
        (self.functions, self.records, self.stacks) = (facts.functions, facts.records, facts.stacks);
        let entries = facts.entries.as_ref().map(|entries| entries.iter());
        let entry = |&(section, entries): &(&'static str, u64)| SectionEntries { section, entries };
        self.entries = entries.map(|entries| entries.map(entry).collect());
    }

    /// Marks the remaining inputs as part of the result.
    pub(crate) fn note_rest_used(&mut self) {
        self.inputs.iter_mut().filter(|input| input.outcome == NOT_USED).for_each(|input| input.outcome = USED);
    }

    /// Replaces partial merges by their own inputs, of which only the path and the weight are known.
    pub(crate) fn name_inputs<'i>(&mut self, merged: impl IntoIterator<Item = &'i Input>) {
        if !self.is_asked_for() {
            return;
        }
        let path = |input: &Input| input.path.to_string_lossy().into_owned();
        let mut given: HashMap<String, VecDeque<InputJson>> = HashMap::new();
        // Skipped files stay after the inputs.
        let (skipped, named): (Vec<_>, Vec<_>) =
            self.inputs.drain(..).partition(|input| [NOT_A_PROFILE, OUTPUT].contains(&input.outcome));
        named.into_iter().for_each(|input| given.entry(input.file.path.clone()).or_default().push_back(input));
        let unseen = |input: &Input| InputJson::new(FileJson::named(path(input)), input.weight.get());
        let mut take = |input: &Input| given.get_mut(&path(input)).and_then(VecDeque::pop_front);
        self.inputs = merged.into_iter().map(|input| take(input).unwrap_or_else(|| unseen(input))).collect();
        self.inputs.extend(skipped);
    }

    /// Records the outcome of an input by its position.
    pub(crate) fn note_outcome(&mut self, at: usize, outcome: &InputOutcome) {
        let Some(input) = self.inputs.get_mut(at) else { return };
        input.outcome = match outcome {
            InputOutcome::Used => USED,
            InputOutcome::Empty => EMPTY,
            InputOutcome::NotAProfile => NOT_A_PROFILE,
            InputOutcome::Failed(error) => {
                input.error = Some(error_json(error));
                FAILED
            }
            _ => return,
        };
    }

    /// Adds files of directories and lists that are not inputs, after the inputs.
    pub(crate) fn skip(&mut self, files: &[PathBuf], outcome: &'static str) {
        self.inputs.extend(files.iter().map(|path| {
            let mut input = InputJson::new(FileJson::of_regular_file(path), 1);
            input.outcome = outcome;
            input
        }));
    }

    /// Records that the valid records of a damaged input were kept.
    pub(crate) fn note_salvaged(&mut self, at: usize) {
        if let Some(input) = self.inputs.get_mut(at).filter(|input| input.outcome == FAILED) {
            input.outcome = SALVAGED;
        }
    }

    /// Records warnings about an input.
    pub(crate) fn warn_of(&mut self, at: usize, warnings: impl IntoIterator<Item = String>) {
        if let Some(input) = self.inputs.get_mut(at) {
            input.warnings.extend(warnings);
        }
    }

    /// Records warnings about the result.
    pub(crate) fn warn<'w>(&mut self, warnings: impl IntoIterator<Item = &'w Warning>) {
        self.warnings.extend(warnings.into_iter().map(ToString::to_string));
    }

    /// Records data of stacks that the result does not have.
    pub(crate) fn lose_in_words(&mut self, losses: &[String]) {
        self.losses.extend(losses.iter().map(|loss| LossJson::of_words(loss)));
    }

    /// Records data that the result could not store.
    pub(crate) fn lose<'l>(&mut self, losses: impl IntoIterator<Item = &'l Loss>) {
        self.losses.extend(losses.into_iter().map(LossJson::from));
    }

    /// Records the samples of a program.
    pub(crate) fn count_samples(&mut self, program: &Path, report: SampleReport) {
        self.samples.push(ProgramSamples { path: program.to_string_lossy().into_owned(), report });
    }

    /// Records the outcomes of the thresholds.
    ///
    /// # Errors
    ///
    /// Gate failed, unless all thresholds passed.
    pub(crate) fn judge(&mut self, outcomes: Vec<GateOutcome>) -> Result<()> {
        let judged = gates::require(&outcomes);
        // A conversion has no thresholds.
        self.gates = self.gates.take().map(|_| outcomes);
        judged.map_err(|error| error.with_hint("nothing was written; use --json to list the outcome of each input"))
    }

    /// Records the written file.
    pub(crate) fn wrote(&mut self, output: &Path, family: &'static str) {
        self.family = Some(family);
        self.output = Some(FileJson::of_output(output));
    }

    /// Prints the document with the command's schema.
    pub(crate) fn print(mut self, schema: &str, failure: Option<&Error>) -> Result<()> {
        if let Some(error) = failure {
            self.inputs.iter_mut().for_each(|input| input.note_error(error));
            self.error = Some(error_json(error)).filter(|_| !matches!(error.kind(), ErrorKind::GateFailed { .. }));
            self.output = None;
        }
        self.used = self.inputs.iter().filter(|input| input.outcome == USED).count();
        documents::print(schema, failure.is_none(), &self)
    }
}
