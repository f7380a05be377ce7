//! Merging files of any family: the one entry point for programs.

use crate::bridge::{self, ToLlvmOptions};
use crate::compat::Compat;
use crate::driver::output_form::OutputForm;
use crate::driver::{FactsRequest, FailedMerge, InputOutcome, InputReport, OnProgress};
use crate::error::{Error, Result};
use crate::families::inputs;
use crate::families::memprof::merge_memory_files;
use crate::families::merge::iprof::{IprofMergeOptions, IprofMergeReport, merge_iprof_files};
use crate::families::merge::mixed::{MixedSum, is_document, merge_mixed};
use crate::families::merged::{MergeFailure, Merged, MergedInputs, MergedProfile};
use crate::families::partial::{self, Partial, keep_inputs, open_each, open_kept};
use crate::families::plan::{MergePlan, StackOutput};
use crate::families::settings::MergeSettings;
use crate::families::stack_files::{StackSum, are_pprof, merge_pprof, merge_tables};
use crate::families::stack_output::{EncodedStacks, StackEncoder};
use crate::input::{Access, Family, Format, FormatVersion, Input};
use crate::instr::cross_release::Origins;
use crate::instr::file_merge::MergeOptions;
use crate::instr::file_merge::{MergeReport, RecordError, leave_in_file, merge_files};
use crate::instr::partial::PartialMerge;
use crate::instr::resolved_target::ResolvedTarget;
use crate::instr::target::{Evidence, Target, TargetSource};
use crate::iprof::{self, Finding};
use crate::model::{LossKind, Losses, Profile, ProfileKind};
use crate::sampleprof::{self, Encoding, Rules};
use crate::stacks::pprof;
use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::num::NonZeroU64;

/// Merges inputs in order, as [`plan`](MergePlan) selects. The result is a value; [`Merged::write`] writes it.
///
/// # Errors
///
/// The errors of the family's merge: unreadable inputs, if the failure mode does not allow them; inputs that cannot be
/// merged; cancelled. A failure has the outcome of each input as far as it is known.
pub fn merge(
    inputs: &[Input],
    plan: MergePlan,
    settings: &MergeSettings,
    progress: OnProgress<'_>,
) -> Result<Merged, MergeFailure> {
    let is_empty = |input: &Input| input.format().is_ok_and(|format| format == Format::Empty);
    if settings.partial.is_some() && inputs.iter().all(is_empty) {
        let reports = inputs.iter().map(|input| InputReport::new(input, InputOutcome::Empty)).collect();
        let family = plan.family().unwrap_or(Family::Instr);
        return Ok(Merged::new(MergedProfile::Empty(family), MergedInputs::new(reports)));
    }
    require_same_filter(inputs, settings)?;
    match plan {
        MergePlan::Bridge(family) => merge_bridged(inputs, family, settings, progress),
        MergePlan::Stacks(_) | MergePlan::Family(Family::Stacks) => merge_stacks(inputs, settings, progress),
        MergePlan::Family(Family::SampleProf) => merge_samples(inputs, settings, progress),
        MergePlan::Family(Family::Iprof) => merge_iprof(inputs, settings, progress),
        MergePlan::Family(Family::Instr | Family::MemProf)
            if settings.form == OutputForm::MemProfYaml && settings.partial.is_none() =>
        {
            merge_memory(inputs, settings, progress)
        }
        MergePlan::Family(Family::Instr | Family::MemProf) => merge_instr(inputs, settings, progress),
    }
}

/// Rejects partial merges that were made without the function filter of a new one. They keep all of their functions, so
/// the filter would only apply to the other inputs.
fn require_same_filter(inputs: &[Input], settings: &MergeSettings) -> Result<()> {
    let Some(applied) = &settings.partial else { return Ok(()) };
    let options = &settings.options;
    if options.instr.filter.is_none() && options.sample.merge.filter.is_none() {
        return Ok(());
    }
    for input in inputs.iter().filter(|input| input.is_partial()) {
        let opened = input.bytes(Access::Read, options.limits()).and_then(|bytes| Partial::from_bytes(&bytes, options));
        // The merge reports errors.
        let Ok(part) = opened else { continue };
        if !applied.iter().all(|words| part.applied().contains(words)) {
            let detail = "the filter cannot apply to a partial merge that was made without it";
            return Err(Error::usage(detail).in_file(&input.path).with_hint("filter when you merge it to a profile"));
        }
    }
    Ok(())
}

impl Merged {
    /// Returns the total count of an input without its weight, in the unit of the result and after the same filters.
    ///
    /// # Errors
    ///
    /// The errors of the readers and of the conversion to the family of the result.
    pub fn total_count(&self, input: &Input, settings: &MergeSettings) -> Result<u128> {
        let options = &settings.options;
        let is_document = is_document(input);
        match &self.profile {
            MergedProfile::Stacks { .. } => inputs::stack_total(input, &settings.stack_options()),
            MergedProfile::SampleProf { .. } => total_alone(input, MergePlan::Family(Family::SampleProf), settings),
            MergedProfile::Iprof { .. } if is_document => inputs::iprof_total(input, &options.iprof.read),
            MergedProfile::Iprof { .. } => total_alone(input, MergePlan::Bridge(Family::Iprof), settings),
            _ if is_document => total_alone(input, MergePlan::Bridge(Family::Instr), settings),
            MergedProfile::Instr { report, .. } if report.has_functions() => {
                inputs::counters_total(input, &options.instr)
            }
            _ => inputs::instr_total(input, &options.instr),
        }
    }
}

/// Returns the total count of the result that an input alone has.
fn total_alone(input: &Input, plan: MergePlan, settings: &MergeSettings) -> Result<u128> {
    let alone = input.clone().weighted_by(NonZeroU64::MIN);
    let merged = merge(&[alone], plan, settings, &mut |_, _| {})?;
    let wanted = FactsRequest { total_count: true, ..FactsRequest::default() };
    Ok(merged.facts(wanted)?.total_count.unwrap_or(0).into())
}

/// Returns the target of an LLVM profile.
fn target(inputs: &[Input], settings: &MergeSettings) -> ResolvedTarget {
    let of_inputs = || ResolvedTarget::of_inputs(&Evidence::look(inputs, Compat::Profbridge));
    settings.target.clone().unwrap_or_else(of_inputs)
}

fn merge_instr(inputs: &[Input], settings: &MergeSettings, progress: OnProgress<'_>) -> Result<Merged, MergeFailure> {
    let mut merge_for = |target: &ResolvedTarget| -> Result<_> {
        let options = MergeOptions { release: target.target.release, ..settings.options.instr.clone() };
        let (report, part) = match &settings.partial {
            Some(applied) => {
                let mut part = partial::merge_partially(inputs, &options, &mut *progress)?;
                applied.iter().for_each(|words| part.note_applied(words.clone()));
                (partial::finish(&part, &options)?, Some(part))
            }
            None => {
                let (write, crossing) = (settings.instr_write(&options, target), target.crossing(settings.hashes));
                let report = leave_in_file(inputs, &options, &write, Some(&crossing));
                (report.map_or_else(|| merge_files(inputs, &options, &mut *progress), Ok)?, None)
            }
        };
        Ok((report, part, options))
    };
    let mut target = target(inputs, settings);
    let (mut report, mut part, mut options) = merge_for(&target)?;
    if report.verdict(&options).is_ok()
        && let Some(of_used) = target_of_used(inputs, &report.inputs, &target.target)
    {
        (report, part, options) = merge_for(&of_used)?;
        target = of_used;
    }
    let (judged, mut origins) = (report.verdict(&options), report.origins());
    origins.add_new_names(options.remapping.new_names());
    let shares_nothing = report.shares_nothing();
    let found = MergedInputs::take(&mut report);
    let finished = judged.and_then(|()| finish_instr(report, part, origins, target, options, settings));
    match finished {
        Ok(merged) => Ok(Merged { inputs: found, shares_nothing, ..merged }),
        Err(error) => Err(MergeFailure { error, inputs: found }),
    }
}

/// Returns the target that the used inputs select, if it is another than the one that all inputs selected by their first
/// bytes. Failed inputs say nothing about the compiler of the result, and a raw file can have profiles of several
/// versions.
#[doc(hidden)]
pub fn target_of_used<R: Borrow<InputReport>>(
    inputs: &[Input],
    reports: &[R],
    chosen: &Target,
) -> Option<ResolvedTarget> {
    let is_left_out = |report: &R| {
        let report = report.borrow();
        matches!(report.outcome, InputOutcome::Failed(_)) && report.records == 0
    };
    let says_more = |report: &R| is_left_out(report) || !report.borrow().later_versions.is_empty();
    let is_selected = chosen.source == TargetSource::Inputs && reports.len() == inputs.len();
    if !is_selected || !reports.iter().any(says_more) || reports.iter().all(is_left_out) {
        return None;
    }
    let used = || inputs.iter().zip(reports).filter(|(_, report)| !is_left_out(report));
    let mut evidence = Evidence::look(used().map(|(input, _)| input), Compat::Profbridge);
    for version in used().flat_map(|(_, report)| &report.borrow().later_versions) {
        evidence.add_raw(u32::try_from(*version).unwrap_or_default());
    }
    let of_used = ResolvedTarget::of_inputs(&evidence);
    (of_used.target != *chosen).then_some(of_used)
}

/// Adapts a converted profile to its target, for writing.
///
/// # Errors
///
/// With `strict`, a loss error if the target cannot use some records.
pub fn finish_converted(profile: Profile, inputs: &[Input], settings: &MergeSettings) -> Result<Merged> {
    let mut origins = Origins::default();
    origins.add_unknown();
    let report = MergeReport::of(profile, Vec::new());
    let (target, options) = (target(inputs, settings), settings.options.instr.clone());
    let merged = finish_instr(report, None, origins, target, options, settings)?;
    let reports = inputs.iter().map(|input| InputReport::new(input, InputOutcome::Used)).collect();
    Ok(Merged { inputs: MergedInputs::new(reports), ..merged })
}

/// Adapts a merged profile to its target. The result has no inputs yet.
fn finish_instr(
    mut report: MergeReport,
    part: Option<PartialMerge>,
    origins: Origins,
    mut target: ResolvedTarget,
    mut options: MergeOptions,
    settings: &MergeSettings,
) -> Result<Merged> {
    options.filter = options.filter.without(std::mem::take(&mut report.left_out));
    let findings = match &part {
        // A partial merge has no target until it is finished, so its names and hashes stay unchanged.
        Some(_) => Vec::new(),
        None => {
            let (profile, filter) = (&mut report.profile, &mut options.filter);
            target.cross(profile, filter, settings.hashes, origins, settings.strict, settings.form)?
        }
    };
    let write = settings.instr_write(&options, &target);
    if part.is_some() {
        // The merge state has the whole memory profile.
        report.losses.clear();
    } else if settings.form == OutputForm::Raw
        && !ProfileKind::known_by(target.target.release).contains(ProfileKind::TEMPORAL)
    {
        drop_traces(&mut report);
    }
    let limits = options.read.limits;
    let profile = MergedProfile::Instr { report, write, part, limits };
    Ok(Merged { target: Some(target), findings, ..Merged::new(profile, MergedInputs::default()) })
}

/// Drops traces for a raw profile. A release that does not know them can have the same raw version as one that does, and
/// would take their time stamps for counters.
fn drop_traces(report: &mut MergeReport) {
    let profile = &mut report.profile;
    let dropped = std::mem::take(&mut profile.temporal).traces.len();
    profile.kind = profile.kind.without(ProfileKind::TEMPORAL);
    let mut losses = Losses::new();
    losses.add(LossKind::TemporalTraces, dropped as u64);
    report.losses.extend(losses.into_vec());
}

fn merge_memory(inputs: &[Input], settings: &MergeSettings, progress: OnProgress<'_>) -> Result<Merged, MergeFailure> {
    let (mut memory, mut report) = merge_memory_files(inputs, &settings.options.instr, progress)?;
    memory.profile.sort_records();
    let dropped_functions = report.profile.functions.len();
    let shares_nothing = report.memory_shares_nothing;
    let unconverted = std::mem::take(&mut report.losses);
    let inputs = MergedInputs::take(&mut report);
    let profile = MergedProfile::MemProf { profile: memory.profile, dropped_functions };
    Ok(Merged { shares_nothing, unconverted, ..Merged::new(profile, inputs) })
}

fn merge_samples(inputs: &[Input], settings: &MergeSettings, progress: OnProgress<'_>) -> Result<Merged, MergeFailure> {
    let mut options = settings.options.sample.clone();
    // Partial merges have a target already.
    let default = || match sampleprof::release_of_parts(inputs, &options.read.limits) {
        Some(release) => Target::of_release(release, TargetSource::Inputs),
        None => Target::default_release(TargetSource::Inputs),
    };
    let target = settings.target.clone().unwrap_or_else(|| ResolvedTarget::requested(default(), false));
    let rules = Rules::of(target.target.release);
    options.read.rules = rules;
    let part = match &settings.partial {
        None => None,
        Some(applied) => {
            let mut part = sampleprof::merge_partially(inputs, &options, progress)?;
            applied.iter().for_each(|words| part.note_applied(words.clone()));
            Some(part)
        }
    };
    let mut report = match &part {
        Some(part) => sampleprof::finish_partial(part, &options)?,
        None => sampleprof::merge_files(inputs, &options, progress)?,
    };
    let mut write = settings.write.sample;
    write.rules = rules;
    write.encoding = settings.write.sample_encoding.unwrap_or_else(|| report.profile.default_encoding(&write));
    let keeps_format = settings.write.sample_encoding.is_none()
        && target.target.source == TargetSource::Inputs
        && part.is_none()
        && write.needs_sections().is_none();
    if let Some(version) = keeps_format.then(|| gcc_version(inputs)).flatten() {
        (write.encoding, write.version) = (Encoding::Gcc, version);
    }
    let mut found = MergedInputs::new(std::mem::take(&mut report.inputs.reports));
    found.faults = std::mem::take(&mut report.inputs.faults);
    let shares_nothing = report.shares_nothing;
    let profile = MergedProfile::SampleProf { report, write, part };
    Ok(Merged { target: Some(target), shares_nothing, ..Merged::new(profile, found) })
}

/// The version of GCC's format that LLVM also reads.
const LLVMS_GCC_VERSION: u64 = 704;

/// Returns the newest version of the inputs, if all are sample profiles that only GCC reads. Without a target and an
/// encoding, such a merge is written for GCC, too.
pub fn gcc_version(inputs: &[Input]) -> Option<u64> {
    let is_gcc = |input: &Input| input.format().is_ok_and(|format| format == Format::SampleGcc) && !input.is_pipe();
    if !inputs.iter().all(is_gcc) {
        return None;
    }
    let version = |input: &Input| match input.look().ok()?.version {
        Some(FormatVersion::Number(version)) if version != LLVMS_GCC_VERSION => Some(version),
        _ => None,
    };
    inputs.iter().map(version).collect::<Option<Vec<u64>>>()?.into_iter().max()
}

fn merge_iprof(inputs: &[Input], settings: &MergeSettings, progress: OnProgress<'_>) -> Result<Merged, MergeFailure> {
    let options = &settings.options.iprof;
    let mut report = merge_iprof_files(inputs, options, progress)?;
    if settings.write.canonical
        && let Err(error) = make_canonical(&mut report, options)
    {
        return Err(MergeFailure { error, inputs: MergedInputs::new(report.inputs) });
    }
    let warnings = report.warnings();
    let IprofMergeReport { document, merged, inputs: reports, findings, bridged, losses, .. } = report;
    let found = MergedInputs { findings, ..MergedInputs::new(reports) };
    let kept = settings.partial.is_some().then(|| {
        let (limits, allow_duplicates) = (&options.read.limits, options.llvm.allow_duplicates);
        keep_inputs(inputs, Family::Iprof, &options.found, allow_duplicates, limits)
    });
    let part = match kept.transpose() {
        Ok(part) => part,
        Err(error) => return Err(MergeFailure { error, inputs: found }),
    };
    let shares_nothing = merged.shares_no_method;
    let profile = MergedProfile::Iprof { document, merged: Some(merged), bridged, part };
    Ok(Merged { warnings, unconverted: losses, shares_nothing, ..Merged::new(profile, found) })
}

/// Makes a merged document canonical. LLVM's records in it stay.
fn make_canonical(report: &mut IprofMergeReport, options: &IprofMergeOptions) -> Result<()> {
    if report.bridged {
        return Ok(()); // it is canonical
    }
    if report.document.member(bridge::MEMBER).is_some() {
        let (parts, losses) = bridge::split(&report.document, options.trust)?;
        let (document, more) = bridge::join(parts, &options.to_iprof)?;
        report.document = document;
        report.losses.extend(losses.into_iter().chain(more));
        return Ok(());
    }
    let members = report.document.members().map(|(name, _)| iprof::display_name(name).to_string());
    report.merged.dropped_members.extend(members);
    let document = std::mem::take(&mut report.document);
    report.document = iprof::canonical_with(document, options.to_iprof.branch_clash);
    Ok(())
}

fn merge_stacks(inputs: &[Input], settings: &MergeSettings, progress: OnProgress<'_>) -> Result<Merged, MergeFailure> {
    let options = settings.stack_merge();
    let limits = &options.read.limits;
    let opened = open_kept(inputs, Family::Stacks, options.allow_duplicates, limits)?;
    let all = opened.as_ref().map_or(inputs, |(inputs, _)| inputs);
    let is_partial = settings.partial.is_some();
    let encoder =
        StackEncoder { options: &settings.write.stacks, output: &settings.output, pprof: options.pprof, is_partial };
    let to_pprof = settings.write.stacks.format == StackOutput::Pprof;
    let keeps_all = !settings.selects_events() && settings.write.stacks.reference.is_empty();
    let merged = if to_pprof && keeps_all && are_pprof(all) {
        let encode =
            |(profile, report): (pprof::Profile, pprof::MergeReport)| encoder.merged_pprof(profile, report.warnings());
        encoded(merge_pprof(all, &options, progress)?, encode)?
    } else {
        encoded(merge_tables(all, &options, progress)?, |table| encoder.table(table))?
    };
    let (mut encoded, reports, shares_nothing, warnings) = merged;
    if is_partial {
        // The inputs are kept whole. The last merge reports what it drops.
        encoded.losses.clear();
    }
    // Duplicates were an error when the inputs were opened.
    let kept = is_partial.then(|| keep_inputs(inputs, Family::Stacks, &BTreeSet::new(), true, limits));
    let part = match kept.transpose() {
        Ok(part) => part,
        Err(error) => return Err(MergeFailure { error, inputs: MergedInputs::new(reports) }),
    };
    let profile = MergedProfile::Stacks { encoded, part };
    Ok(Merged { warnings, shares_nothing, ..Merged::new(profile, MergedInputs::new(reports)) })
}

/// Encoded stacks, the inputs, whether they share nothing, and warnings about them.
type EncodedSum = (EncodedStacks, Vec<InputReport>, bool, Vec<crate::error::Warning>);

fn encoded<T>(sum: StackSum<T>, encode: impl FnOnce(T) -> Result<EncodedStacks>) -> Result<EncodedSum, FailedMerge> {
    let warnings = sum.warnings();
    match encode(sum.sum) {
        Ok(encoded) => Ok((encoded, sum.inputs, sum.shares_nothing, warnings)),
        Err(error) => Err(FailedMerge { error, inputs: sum.inputs }),
    }
}

/// Replaces partial merges of iprof files by their inputs; `None` if there are none.
fn open_documents(inputs: &[Input], options: &IprofMergeOptions) -> Result<Option<Vec<Input>>> {
    let limits = &options.read.limits;
    let documents: Vec<Input> = inputs.iter().filter(|input| is_document(input)).cloned().collect();
    let Some(opened) = open_each(&documents, Family::Iprof, options.llvm.allow_duplicates, limits)? else {
        return Ok(None);
    };
    let mut opened = opened.into_iter();
    let mut all = Vec::new();
    for input in inputs {
        match is_document(input) {
            true => all.extend(opened.next().into_iter().flat_map(|(kept, _)| kept)),
            false => all.push(input.clone()),
        }
    }
    Ok(Some(all))
}

/// Merges LLVM profiles and iprof files, or one into the other.
fn merge_bridged(
    inputs: &[Input],
    family: Family,
    settings: &MergeSettings,
    progress: OnProgress<'_>,
) -> Result<Merged, MergeFailure> {
    let mut target = target(inputs, settings);
    let options_for = |target: &ResolvedTarget| {
        let llvm = MergeOptions { release: target.target.release, ..settings.options.instr.clone() };
        IprofMergeOptions { llvm, ..settings.options.iprof.clone() }
    };
    let mut options = options_for(&target);
    let opened = open_documents(inputs, &options)?;
    let inputs = opened.as_deref().unwrap_or(inputs);
    let mut sum = merge_mixed(inputs, &options, &mut *progress)?;
    let reports: Vec<&InputReport> = sum.inputs(inputs);
    if let Some(of_used) = target_of_used(inputs, &reports, &target.target) {
        options = options_for(&of_used);
        sum = merge_mixed(inputs, &options, progress)?;
        target = of_used;
    }
    let mut origins = sum.llvm.origins();
    if sum.documents_used() > 0 {
        origins.add_unknown();
    }
    let found = inputs_of(inputs, &mut sum);
    let finished = match family {
        Family::Iprof => finish_document(sum, &options),
        _ => finish_bridged(sum, origins, target, options.llvm, settings),
    };
    match finished {
        Ok(merged) => Ok(Merged { inputs: found, ..merged }),
        Err(error) => Err(MergeFailure { error, inputs: found }),
    }
}

fn finish_document(mut sum: MixedSum, options: &IprofMergeOptions) -> Result<Merged> {
    let warnings = std::mem::take(&mut sum.warnings);
    let (document, unconverted) = sum.into_iprof(&options.to_iprof)?;
    let profile = MergedProfile::Iprof { document, merged: None, bridged: false, part: None };
    Ok(Merged { warnings, unconverted, ..Merged::new(profile, MergedInputs::default()) })
}

fn finish_bridged(
    mut sum: MixedSum,
    origins: Origins,
    target: ResolvedTarget,
    options: MergeOptions,
    settings: &MergeSettings,
) -> Result<Merged> {
    let warnings = std::mem::take(&mut sum.warnings);
    let mut to_llvm = ToLlvmOptions::default();
    to_llvm.sections.clone_from(&settings.write.sections);
    to_llvm.trust = settings.options.iprof.trust;
    to_llvm.indexed_version = target.target.indexed_version;
    let (profile, unconverted) = sum.into_llvm(&to_llvm)?;
    let report = MergeReport::of(profile, Vec::new());
    let merged = finish_instr(report, None, origins, target, options, settings)?;
    Ok(Merged { warnings, unconverted, ..merged })
}

/// Returns what was found in the inputs of both families, by their positions.
fn inputs_of(inputs: &[Input], sum: &mut MixedSum) -> MergedInputs {
    let at = |of_documents: bool| -> Vec<usize> {
        let places = inputs.iter().enumerate().filter(|(_, input)| is_document(input) == of_documents);
        places.map(|(place, _)| place).collect()
    };
    let (llvm, documents) = (at(false), at(true));
    // A partial merge of LLVM profiles has several reports, which are after those of the inputs.
    let place = |of: &[usize], at: usize| of.get(at).copied().unwrap_or(inputs.len() + at.saturating_sub(of.len()));
    let soft_errors = std::mem::take(&mut sum.llvm.soft_errors).into_iter();
    let findings = std::mem::take(&mut sum.findings).into_iter();
    MergedInputs {
        repeats_memory_size: sum.llvm.repeats_memory_size,
        soft_errors: soft_errors.map(|error| RecordError { input: place(&llvm, error.input), ..error }).collect(),
        findings: findings.map(|(at, finding): (_, Finding)| (place(&documents, at), finding)).collect(),
        ..MergedInputs::new(sum.take_inputs(inputs))
    }
}
