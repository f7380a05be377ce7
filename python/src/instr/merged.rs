//! Merged instrumentation profiles, and writing them.

use crate::detached::Watch;
use crate::options::{MergeSettings, target};
use profbridge::families::{
    self, Facts, FactsRequest, InputOutcome, MergeOptions, MergeReport, OutputForm, Target, TargetSource, WriteOptions,
    partial,
};
use profbridge::input::{Input, WeightedInput};
use profbridge::instr::cross_release::apply::cross;
use profbridge::instr::cross_release::{CrossReleaseOptions, Finding, HashPolicy, Origins};
use profbridge::instr::encode::facts_of;
use profbridge::instr::partial::PartialMerge;
use profbridge::instr::{self, FunctionTable, LossKind};
use profbridge::instr::{FunctionFilter, SoftError};
use profbridge::{Error, Limits, Result, Warning};
use std::collections::BTreeMap;

/// A merged profile, with the data for writing it like the program.
pub(crate) struct Merged {
    /// The profile with the names and hashes of the inputs.
    pub(crate) profile: instr::Profile,
    /// The functions that the filter keeps, if there is one.
    kept: Option<FunctionTable>,
    /// Whether the profile is empty.
    is_empty: bool,
    filter: FunctionFilter,
    origins: Origins,
    /// The target of the merge.
    pub(crate) target: Target,
    /// The outcomes of the inputs, as in the program's JSON output.
    pub(crate) report: serde_json::Value,
    /// The warnings.
    pub(crate) warnings: Vec<String>,
}

/// The settings for writing a profile.
pub(crate) struct WriteSettings {
    pub(crate) target: Option<Target>,
    pub(crate) form: OutputForm,
    pub(crate) sparse: bool,
    pub(crate) strict: bool,
    pub(crate) hashes: HashPolicy,
}

/// A written profile, with the changes and losses.
pub(crate) struct Written {
    pub(crate) bytes: Vec<u8>,
    pub(crate) warnings: Vec<String>,
}

/// Merges inputs in order.
///
/// # Errors
///
/// The error of the first damaged input if the failure mode is `any`; the errors of the merge.
pub(crate) fn merge(inputs: &[Input], settings: &MergeSettings, watch: &Watch) -> Result<Merged> {
    let target = target(settings.target.as_deref(), inputs)?;
    let mut options = settings.instr(&target)?;
    options.cancel = watch.cancel();
    let report = families::merge_files(inputs, &options, &mut |done, total| watch.progress(done, total))?;
    Merged::new(report, options, target, settings)
}

/// Finishes a partial merge.
///
/// # Errors
///
/// Like [`merge`].
pub(crate) fn finish(
    sums: &PartialMerge,
    options: MergeOptions,
    target: Target,
    settings: &MergeSettings,
) -> Result<Merged> {
    let report = partial::finish(sums, &options)?;
    Merged::new(report, options, target, settings)
}

/// Returns the error of an input that cannot be read.
pub(crate) fn fault(input: &Input, settings: &MergeSettings) -> Option<Error> {
    let inputs = std::slice::from_ref(input);
    let options = settings.instr(&target(None, inputs).ok()?).ok()?;
    first_failure(families::merge_files(inputs, &options, &mut |_, _| {}).ok()?)
}

impl Merged {
    /// Returns the merged profile.
    ///
    /// # Errors
    ///
    /// Like [`merge`]; gate failed if a threshold fails.
    pub(crate) fn new(
        mut report: MergeReport,
        mut options: MergeOptions,
        target: Target,
        settings: &MergeSettings,
    ) -> Result<Self> {
        let heard = &Heard::of(&report);
        options.filter = options.filter.without(std::mem::take(&mut report.left_out));
        if let Err(refused) = report.verdict(&options) {
            return Err(first_failure(report).unwrap_or(refused));
        }
        let mut write = WriteOptions::default();
        (write.format, write.filter) = (target.indexed_format(), options.filter.clone());
        if report.profile.memprof.is_some() && write.format.holds_memory() {
            settings.refuse_filters("a memory profile, which contains hashes instead of names")?;
        }
        let facts = settings.check(|wanted| report.facts(&write, &options.read.limits, wanted))?;
        let (warnings, origins) = (warnings(&report, heard), report.origins());
        let filter = options.filter;
        let kept = (!filter.is_none()).then(|| report.profile.functions.filtered(|name| filter.keeps(name)));
        let report_json = report_json(&report, &facts, &target, heard);
        let is_empty = facts.lack.is_some();
        Ok(Self { profile: report.profile, kept, is_empty, filter, origins, target, report: report_json, warnings })
    }

    /// Returns the functions to write.
    pub(crate) fn functions(&self) -> &FunctionTable {
        self.kept.as_ref().unwrap_or(&self.profile.functions)
    }

    /// Encodes the profile for a target.
    ///
    /// # Errors
    ///
    /// Would lose, if `strict` forbids a loss; nothing found, if the format can store nothing of the profile; the
    /// errors of the writer.
    pub(crate) fn encode(&self, settings: &WriteSettings) -> Result<Written> {
        let mut target = settings.target.unwrap_or(self.target);
        let by_inputs = target.source == TargetSource::Inputs;
        if by_inputs {
            (target, _) = target.storing(&self.profile, settings.form)?;
        }
        let mut options = CrossReleaseOptions::new(target.release, target.indexed_version, self.origins);
        options.release_is_given = !by_inputs;
        options.hashes = settings.hashes;
        let (mut profile, mut filter) = (self.profile.clone(), self.filter.clone());
        let crossed = cross(&mut profile, &mut filter, &options, settings.strict)?;
        // The content of the profile may require another version.
        (target.release, target.indexed_version) = (crossed.release, crossed.indexed_version);
        let mut write = WriteOptions::default();
        write.format = target.format(settings.form);
        (write.sparse, write.strict, write.filter) = (settings.sparse, settings.strict, filter);
        // The inputs selected this version, which cannot store them.
        write.tolerated = if by_inputs { vec![LossKind::BinaryIds] } else { Vec::new() };
        // Write an empty profile, but not if the format dropped all data.
        let facts = facts_of(&profile, &write, &Limits::default(), FactsRequest::default())?;
        if let Some(lack) = facts.lack.filter(|_| !self.is_empty) {
            return Err(Error::nothing_found(format!("there is nothing to write: {lack}")));
        }
        let encoded = families::encode(&profile, &write)?;
        let losses = encoded.losses.iter().filter(|loss| !write.tolerated.contains(&loss.kind));
        let lost = losses.map(|loss| format!("dropped {loss}, which the format cannot store"));
        let unused = crossed.findings.iter().filter(|finding| finding.kind.is_loss()).map(Finding::to_string);
        Ok(Written { bytes: encoded.bytes, warnings: unused.chain(lost).collect() })
    }
}

/// Returns the error of the first input that could not be read.
fn first_failure(report: MergeReport) -> Option<Error> {
    report.inputs.into_iter().find_map(|input| match input.outcome {
        InputOutcome::Failed(error) => Some(error.in_file(&input.input.path)),
        _ => None,
    })
}

/// The number of records with a soft error, and the first ones.
#[derive(Default)]
pub(crate) struct Heard(BTreeMap<SoftError, (u64, Vec<String>)>);

/// The maximum number of soft errors of one kind that are reported in full.
const REPORTED_IN_FULL: usize = 20;

impl Heard {
    fn of(report: &MergeReport) -> Self {
        let mut heard = Self::default();
        for soft in &report.soft_errors {
            let (count, first) = heard.0.entry(soft.error).or_default();
            *count += 1;
            if first.len() < REPORTED_IN_FULL {
                let path = &report.inputs[soft.input].input.path;
                let warning = Warning::new(soft.error.to_string()).in_file(path);
                first.push(warning.in_function(soft.function.clone()).to_string());
            }
        }
        heard
    }
}

/// Returns a warning for an input that is not part of the result.
pub(crate) fn skipped(input: &WeightedInput, outcome: &InputOutcome) -> Option<String> {
    match outcome {
        InputOutcome::Failed(error) => Some(format!("skipped: {error}")),
        InputOutcome::Empty => Some(format!("{}: the file is empty; skipped", input.path.display())),
        _ => None,
    }
}

/// Returns the warnings of a merge in the order of the inputs, with one soft error of each kind.
fn warnings(report: &MergeReport, heard: &Heard) -> Vec<String> {
    let mut warnings = Vec::new();
    for input in &report.inputs {
        warnings.extend(skipped(&input.input, &input.outcome));
        warnings.extend(input.warnings.iter().map(ToString::to_string));
    }
    for (count, first) in heard.0.values() {
        let more = if *count > 1 { format!(" (and {} more records)", count - 1) } else { String::new() };
        warnings.extend(first.first().map(|first| format!("{first}{more}")));
    }
    if report.repeats_memory_size {
        warnings.push("a value site lists a memory size twice; an input is damaged".into());
    }
    warnings.extend(report.memprof_losses.iter().map(|loss| format!("dropped {loss}")));
    warnings
}

fn report_json(report: &MergeReport, facts: &Facts, target: &Target, heard: &Heard) -> serde_json::Value {
    let inputs = report.inputs.iter().map(|input| {
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
    });
    let soft = heard.0.iter().map(
        |(error, (count, first))| serde_json::json!({ "error": error.to_string(), "records": count, "first": first }),
    );
    serde_json::json!({
        "target": {
            "release": target.toolchain(),
            "indexed_version": target.indexed_version,
            "source": target.source.name(),
        },
        "functions": facts.functions,
        "records": facts.records,
        "used": facts.inputs,
        "inputs": inputs.collect::<Vec<_>>(),
        "soft_errors": soft.collect::<Vec<_>>(),
    })
}
