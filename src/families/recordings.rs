//! Recordings of programs that become sample profiles.

use crate::digits::number_of;
use crate::driver::{InputOutcome, InputReport, OnProgress};
use crate::error::{Error, Result, Warning};
use crate::families::merged::{Merged, MergedInputs, MergedProfile};
use crate::families::settings::MergeSettings;
use crate::input::Input;
use crate::instr::resolved_target::ResolvedTarget;
use crate::instr::target::{Target, TargetSource};
use crate::limits::Limits;
use crate::partial::{InputState, PartialInput};
use crate::profgen::{self, ContextOptions, ConvertedSamples, ProfileOptions, Program, ProgramFiles, SampleReport};
use crate::sampleprof::{self, Encoding, MergeOptions, Merger, Rules, SampleProfile};

/// Makes the sample profile of programs from their recordings, or a partial merge of the recordings of one program. Only
/// `contexts.is_some()` counts for a partial merge. Returns it with the numbers of samples of each program.
///
/// # Errors
///
/// The errors of [`profgen::add_up`] and [`profgen::make`]; usage for a partial merge of several programs.
pub fn merge_recordings(
    inputs: &[Input],
    programs: &[ProgramFiles],
    contexts: bool,
    settings: &MergeSettings,
    progress: OnProgress<'_>,
) -> Result<(Merged, Vec<SampleReport>)> {
    let default = || ResolvedTarget::requested(Target::default_release(TargetSource::Inputs), false);
    let target = settings.target.clone().unwrap_or_else(default);
    let release = target.target.release;
    let limits = &settings.options.sample.read.limits;
    if settings.partial.is_some() {
        let merged = partial_merge(inputs, programs, contexts, settings, limits)?;
        return Ok((Merged { target: Some(target), ..merged }, Vec::new()));
    }
    let mut options = ProfileOptions::default();
    options.release = release;
    let mut with_contexts = ContextOptions::default();
    with_contexts.release = release;
    let mut profiles = Vec::new();
    let mut reports = Vec::new();
    let mut warnings = Vec::new();
    let mut read = Vec::new();
    let mut unconverted = Vec::new();
    for (at, files) in programs.iter().enumerate() {
        progress(at, programs.len());
        let contexts = contexts.then_some(&with_contexts);
        let allow_duplicates = settings.options.sample.allow_duplicates;
        let made = profgen::convert(inputs, files, &options, contexts, allow_duplicates, limits)?;
        let ConvertedSamples { profile, report, warnings: found, inputs, losses } = made;
        profiles.push(profile);
        reports.push(report);
        warnings.extend(found);
        unconverted.extend(losses);
        read = inputs;
    }
    let rules = Rules::of(release);
    let (profile, shared) = merge_profiles(profiles, rules)?;
    if shared != 0 {
        let functions = number_of(shared as u64, "function");
        let words = format!("several programs have {functions} of the same name: their counts add up");
        warnings.push(Warning::new(words).in_file(&settings.output));
    }
    let mut write = settings.write.sample;
    write.rules = rules;
    // The default of llvm-profgen of all releases.
    write.encoding = settings.write.sample_encoding.unwrap_or(Encoding::ExtBinary);
    let report = sampleprof::MergeReport::of(profile);
    let merged = Merged::new(MergedProfile::SampleProf { report, write, part: None }, found_inputs(&read));
    Ok((Merged { target: Some(target), warnings, unconverted, ..merged }, reports))
}

/// Adds up the samples of a program.
fn partial_merge(
    inputs: &[Input],
    programs: &[ProgramFiles],
    contexts: bool,
    settings: &MergeSettings,
    limits: &Limits,
) -> Result<Merged> {
    let [files] = programs else {
        return Err(Error::usage("a partial merge has the samples of one program, but there are several")
            .with_hint("write one partial merge per program"));
    };
    let program = Program::load(files, limits)?;
    let allow_duplicates = settings.options.sample.allow_duplicates;
    let (samples, mut warnings) = profgen::add_up(inputs, &program, contexts, allow_duplicates, limits)?;
    samples.require_this_build().map_err(|error| error.in_file(&files.program))?;
    if samples.is_empty() {
        warnings.push(Warning::new("no sample is in the program").in_file(&files.program));
    }
    let profile = MergedProfile::Recordings { bytes: samples.to_bytes()? };
    let merged = Merged::new(profile, found_inputs(samples.inputs()));
    Ok(Merged { warnings, unconverted: samples.losses(contexts), ..merged })
}

fn found_inputs(inputs: &[PartialInput]) -> MergedInputs {
    let report = |input: &PartialInput| {
        let records = input.records;
        let outcome = match input.state {
            InputState::Empty => InputOutcome::Empty,
            _ => InputOutcome::Used,
        };
        InputReport { records, ..InputReport::new(&Input::new(&input.path), outcome) }
    };
    MergedInputs::new(inputs.iter().map(report).collect())
}

/// Merges the profiles of several programs. Returns the number of functions that several of them have.
fn merge_profiles(mut profiles: Vec<SampleProfile>, rules: Rules) -> Result<(SampleProfile, usize)> {
    if profiles.len() == 1
        && let Some(only) = profiles.pop()
    {
        return Ok((only, 0));
    }
    let mut all = 0;
    let mut merger = Merger::new(MergeOptions::of(rules));
    for profile in profiles {
        all += profile.functions.len();
        merger.add_owned(profile, 1, &mut |_, _| ())?;
    }
    let shared = all - merger.len();
    Ok((merger.into_merged()?.profile, shared))
}
