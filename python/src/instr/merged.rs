//! Merged instrumentation profiles, and writing them.

use crate::about::{About, warnings_of};
use crate::detached::Watch;
use crate::options::{MergeSettings, TargetState, newest_release, target};
use profbridge::families::{
    self, Facts, FactsRequest, InputOutcome, MergeOptions, MergeReport, OutputForm, OutputFormat, Target, TargetSource,
    WriteOptions, partial, target_of_used,
};
use profbridge::input::Input;
use profbridge::instr::cross_release::apply::cross;
use profbridge::instr::cross_release::{CrossReleaseOptions, Finding, HashPolicy, Origins};
use profbridge::instr::encode::facts_of;
use profbridge::instr::partial::PartialMerge;
use profbridge::instr::{self, FunctionFilter, FunctionTable, LossKind, SoftError};
use profbridge::{Error, Limits, Result, Warning};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A merged profile, with the data for writing it like the program.
pub(crate) struct Merged {
    /// The profile with the names and hashes of the inputs.
    pub(crate) profile: instr::Profile,
    /// The functions that the filter keeps, if there is one.
    kept: Option<FunctionTable>,
    filter: FunctionFilter,
    origins: Origins,
    /// Whether outputs that are not text have the names of vtables, too.
    keeps_vtable_names: bool,
    /// The target of the merge.
    pub(crate) target: Target,
    /// The inputs and the warnings.
    pub(crate) about: About,
}

/// A merged profile that crosses processes: with the functions that the filter keeps.
#[derive(Serialize, Deserialize)]
pub(crate) struct State {
    profile: instr::Profile,
    origins: [bool; 6],
    keeps_vtable_names: bool,
    target: TargetState,
    about: About,
}

/// The settings for writing a profile.
pub(crate) struct WriteSettings {
    pub(crate) target: Option<Target>,
    pub(crate) form: OutputForm,
    pub(crate) sparse: bool,
    pub(crate) strict: bool,
    pub(crate) hashes: HashPolicy,
    pub(crate) allow_empty: bool,
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
    let mut target = target(settings, inputs)?;
    let (mut report, mut options) = merge_for(inputs, &target, settings, watch)?;
    if report.verdict(&options).is_ok()
        && let Some(of_used) = target_of_used(inputs, &report.inputs, &target)
    {
        // The progress was reported.
        (report, options) = merge_for(inputs, &of_used.target, settings, &watch.silent())?;
        target = of_used.target;
    }
    Merged::new(report, options, target, settings)
}

fn merge_for(
    inputs: &[Input],
    target: &Target,
    settings: &MergeSettings,
    watch: &Watch,
) -> Result<(MergeReport, MergeOptions)> {
    let mut options = settings.instr(target)?;
    options.cancel = watch.cancel();
    let report = families::merge_files(inputs, &options, &mut |done, total| watch.progress(done, total))?;
    Ok((report, options))
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
        let origins = report.origins();
        // Only then, functions have two names of which the target knows one.
        let original = (origins.may_be_before_18 && origins.may_be_from_18).then(|| report.profile.clone());
        if original.is_some() {
            let adapting = adapting(target, origins);
            cross(&mut report.profile, &mut write.filter, &adapting, false)?;
        }
        let facts = settings.check(|wanted| report.facts(&write, &options.read.limits, wanted))?;
        report.profile = original.unwrap_or(report.profile);
        let warnings = warnings(&report, heard);
        let filter = options.filter;
        let kept = (!filter.is_none()).then(|| report.profile.functions.filtered(|name| filter.keeps(name)));
        let mut about = About::new(&report.inputs, &facts, warnings);
        about.add("records", json!(facts.records));
        about.add("soft_errors", heard.json());
        about.add("target", target_json(&target));
        let keeps_vtable_names = settings.keep_vtable_symbols || settings.is_read;
        Ok(Self { profile: report.profile, kept, filter, origins, keeps_vtable_names, target, about })
    }

    /// Returns the functions to write.
    pub(crate) fn functions(&self) -> &FunctionTable {
        self.kept.as_ref().unwrap_or(&self.profile.functions)
    }

    /// Returns a profile that was made of another one.
    ///
    /// # Errors
    ///
    /// The errors of its memory profile.
    pub(crate) fn of_profile(profile: instr::Profile, target: Target, warnings: Vec<String>) -> Result<Self> {
        let none = MergeSettings::default();
        Self::of_both(profile, target, &none, |facts| About::of_conversion(&facts, warnings))
    }

    /// Returns the result of a merge with profiles of another family.
    ///
    /// # Errors
    ///
    /// Gate failed if a threshold fails; the errors of its memory profile.
    pub(crate) fn of_both(
        profile: instr::Profile,
        target: Target,
        settings: &MergeSettings,
        about: impl FnOnce(Facts) -> About,
    ) -> Result<Self> {
        let mut write = WriteOptions::default();
        write.format = target.indexed_format();
        let facts = settings.check(|wanted| facts_of(&profile, &write, &settings.limits()?, wanted))?;
        let mut origins = Origins::default();
        origins.add_unknown();
        let records = facts.records;
        let mut about = about(facts);
        about.add("records", json!(records));
        about.add("soft_errors", json!([]));
        about.add("target", target_json(&target));
        let filter = FunctionFilter::default();
        Ok(Self { profile, kept: None, filter, origins, keeps_vtable_names: true, target, about })
    }

    /// Returns the profile as an indexed file without losses: of the target's version, otherwise of the newest.
    pub(crate) fn exact_bytes(&self) -> Result<Vec<u8>> {
        let mut write = WriteOptions::default();
        (write.format, write.filter) = (self.target.indexed_format(), self.filter.clone());
        let encoded = families::encode(&self.profile, &write)?;
        if encoded.losses.is_empty() {
            return Ok(encoded.bytes);
        }
        write.format = OutputFormat::for_release(newest_release());
        families::encode(&self.profile, &write).map(|encoded| encoded.bytes)
    }

    /// Returns the profile with the functions that the filter keeps.
    pub(crate) fn filtered(&self) -> Cow<'_, instr::Profile> {
        let Some(kept) = &self.kept else { return Cow::Borrowed(&self.profile) };
        Cow::Owned(instr::Profile { functions: kept.clone(), ..self.profile.clone() })
    }

    /// Returns the profile for another process.
    pub(crate) fn state(&self) -> State {
        let profile = self.filtered().into_owned();
        let origins = self.origins;
        let origins = [
            origins.before_18,
            origins.may_be_before_18,
            origins.may_be_from_18,
            origins.first_algorithm,
            origins.second_algorithm,
            origins.may_be_fourth,
        ];
        let (keeps_vtable_names, target) = (self.keeps_vtable_names, TargetState::of(&self.target));
        State { profile, origins, keeps_vtable_names, target, about: self.about.clone() }
    }

    /// Returns the profile of a state.
    pub(crate) fn of_state(state: State) -> Self {
        let mut origins = Origins::default();
        [
            origins.before_18,
            origins.may_be_before_18,
            origins.may_be_from_18,
            origins.first_algorithm,
            origins.second_algorithm,
            origins.may_be_fourth,
        ] = state.origins;
        let (profile, target, about) = (state.profile, state.target.target(), state.about);
        let (keeps_vtable_names, filter) = (state.keeps_vtable_names, FunctionFilter::default());
        Self { profile, kept: None, filter, origins, keeps_vtable_names, target, about }
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
        let mut options = adapting(target, self.origins);
        options.hashes = settings.hashes;
        let (mut profile, mut filter) = (self.profile.clone(), self.filter.clone());
        if !self.keeps_vtable_names && settings.form != OutputForm::Text {
            profile.vtable_names.clear();
        }
        let crossed = cross(&mut profile, &mut filter, &options, settings.strict)?;
        // The content of the profile may require another version.
        (target.release, target.indexed_version) = (crossed.release, crossed.indexed_version);
        let mut write = WriteOptions::default();
        write.format = target.format(settings.form);
        (write.sparse, write.strict, write.filter) = (settings.sparse, settings.strict, filter);
        self.about.require_something(settings.allow_empty)?;
        // Also not if the format dropped all data.
        let facts = facts_of(&profile, &write, &Limits::default(), FactsRequest::default())?;
        if let Some(lack) = facts.lack.filter(|_| !self.about.is_empty()) {
            return Err(Error::nothing_found(format!("there is nothing to write: {lack}")));
        }
        let encoded = families::encode(&profile, &write)?;
        // Compilers do not use binary ids.
        let losses = encoded.losses.iter().filter(|loss| loss.kind != LossKind::BinaryIds);
        let lost = losses.map(|loss| match loss.kind {
            LossKind::LargeCounts => format!("contains {loss}"),
            _ => format!("dropped {loss}, which the format cannot store"),
        });
        let unused = crossed.findings.iter().filter(|finding| finding.kind.is_loss()).map(Finding::to_string);
        Ok(Written { bytes: encoded.bytes, warnings: unused.chain(lost).collect() })
    }
}

/// Returns the options of names and hashes for a target.
fn adapting(target: Target, origins: Origins) -> CrossReleaseOptions {
    let mut options = CrossReleaseOptions::new(target.release, target.indexed_version, origins);
    options.release_is_given = target.source != TargetSource::Inputs;
    options
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

    fn json(&self) -> serde_json::Value {
        let soft = self
            .0
            .iter()
            .map(|(error, (count, first))| json!({ "error": error.to_string(), "records": count, "first": first }));
        soft.collect()
    }
}

/// Returns the warnings of a merge in the order of the inputs, with one soft error of each kind.
fn warnings(report: &MergeReport, heard: &Heard) -> Vec<String> {
    let mut warnings = warnings_of(&report.inputs);
    for (count, first) in heard.0.values() {
        let more = if *count > 1 { format!(" (and {} more records)", count - 1) } else { String::new() };
        warnings.extend(first.first().map(|first| format!("{first}{more}")));
    }
    if report.repeats_memory_size {
        warnings.push("a value site lists a memory size twice; an input is damaged".into());
    }
    warnings.extend(report.losses.iter().map(|loss| format!("dropped {loss}")));
    warnings
}

fn target_json(target: &Target) -> serde_json::Value {
    json!({
        "release": target.toolchain(),
        "indexed_version": target.indexed_version,
        "source": target.source.name(),
    })
}
