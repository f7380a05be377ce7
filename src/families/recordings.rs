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
use crate::profgen::{
    self, ContextOptions, ProfileOptions, Program, ProgramFiles, Rates, SampleReport, Sum, SumOptions,
};
use crate::sampleprof::{self, Encoding, MergeOptions, Merger, Rules, SampleProfile};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Sample profiles from recordings.
#[derive(Debug)]
#[non_exhaustive]
pub struct MergedRecordings {
    /// One profile of all programs, or one of each.
    pub profiles: Vec<Merged>,
    /// The numbers of samples of each program; nothing for partial merges.
    pub samples: Vec<SampleReport>,
    /// The recordings, each once.
    pub inputs: Vec<InputReport>,
}

/// Makes a sample profile of programs from their recordings, or a partial merge of the recordings of one program. With
/// `is_split`, each program has a profile of its own. A partial merge among the inputs belongs to one of the programs.
///
/// # Errors
///
/// The errors of [`profgen::add_up`] and [`profgen::make`]; usage for a partial merge of several programs, and for an
/// input of none of them.
pub fn merge_recordings(
    inputs: &[Input],
    programs: &[ProgramFiles],
    contexts: bool,
    is_split: bool,
    settings: &MergeSettings,
    progress: OnProgress<'_>,
) -> Result<MergedRecordings> {
    let mut sum = SumOptions::default();
    sum.contexts = contexts;
    sum.allow_duplicates = settings.options.sample.allow_duplicates;
    sum.skip_other_programs = programs.len() > 1;
    sum.event.clone_from(&settings.options.stacks.read.value.name);
    let unused = (0..inputs.len()).collect();
    let mut merge = Merge { inputs, sum, settings, unused, samples: Vec::new(), outcomes: Outcomes::default() };
    let mut profiles = Vec::new();
    for programs in programs.chunks(if is_split { 1 } else { programs.len().max(1) }) {
        profiles.push(match settings.partial {
            Some(_) => merge.partial(programs)?,
            None => merge.profile(programs, progress)?,
        });
    }
    if let Some(input) = merge.unused.first().and_then(|at| inputs.get(*at)) {
        let error = Error::usage("the partial merge has samples of none of these programs").in_file(&input.path);
        return Err(error.with_hint("give the program that was sampled"));
    }
    Ok(MergedRecordings { profiles, samples: merge.samples, inputs: merge.outcomes.reports })
}

/// A merge of recordings.
struct Merge<'m> {
    inputs: &'m [Input],
    sum: SumOptions,
    settings: &'m MergeSettings,
    /// The positions of the inputs that no program has used yet.
    unused: Vec<usize>,
    samples: Vec<SampleReport>,
    outcomes: Outcomes,
}

impl Merge<'_> {
    /// Makes the profile of programs.
    fn profile(&mut self, programs: &[ProgramFiles], progress: OnProgress<'_>) -> Result<Merged> {
        let settings = self.settings;
        let target = self.target();
        let release = target.target.release;
        let (options, with_contexts) = (ProfileOptions::default(), ContextOptions::default());
        let contexts = self.sum.contexts.then_some(&with_contexts);
        let mut profiles = Vec::new();
        let mut warnings = Vec::new();
        let mut outcomes = Outcomes::default();
        let mut unconverted = Vec::new();
        let mut without_samples = Vec::new();
        let mut rates = Rates::default();
        for (at, files) in programs.iter().enumerate() {
            let files = &ProgramFiles { release, ..files.clone() };
            progress(at, programs.len());
            let made = profgen::convert(self.inputs, files, &options, contexts, &self.sum, self.limits())?;
            self.unused.retain(|at| made.other_programs.contains(at));
            profiles.push(made.profile);
            without_samples.extend(made.without_samples);
            self.samples.push(made.report);
            warnings.extend(made.warnings);
            unconverted.extend(made.losses);
            rates.add(&made.rates);
            outcomes.add(&made.inputs);
        }
        if without_samples.len() == programs.len()
            && let Some(error) = without_samples.pop()
        {
            return Err(error);
        }
        for (error, path) in without_samples.iter().filter_map(|error| Some((error, error.path()?))) {
            warnings.push(Warning::new(error.kind().to_string()).in_file(path));
        }
        // Recordings of one program have a warning already.
        warnings
            .extend(rates.warning().filter(|warning| warnings.iter().all(|of_one| of_one.message != warning.message)));
        let rules = Rules::of(release);
        let (profile, shared) = merge_profiles(profiles, rules)?;
        if shared != 0 {
            let functions = number_of(shared as u64, "function");
            let words = format!("several programs have {functions} of the same name: their counts add up");
            warnings.push(Warning::new(words).in_file(&settings.output));
        }
        let mut write = settings.write.sample;
        write.rules = rules;
        // The default of llvm-profgen of all releases. Earlier ones read plain binaries.
        let default = if rules.reads(Encoding::ExtBinary) { Encoding::ExtBinary } else { Encoding::Binary };
        write.encoding = settings.write.sample_encoding.unwrap_or(default);
        let profile = MergedProfile::SampleProf { report: sampleprof::MergeReport::of(profile), write, part: None };
        self.outcomes.add(&outcomes.reports);
        let merged = Merged::new(profile, MergedInputs::new(outcomes.reports));
        Ok(Merged { target: Some(target), warnings, unconverted, ..merged })
    }

    /// Adds up the samples of a program.
    fn partial(&mut self, programs: &[ProgramFiles]) -> Result<Merged> {
        let [files] = programs else {
            return Err(Error::usage("a partial merge has the samples of one program, but there are several")
                .with_hint("write one partial merge per program"));
        };
        files.require_package()?;
        let files = &ProgramFiles { release: self.target().target.release, ..files.clone() };
        let images = files.open(self.limits())?;
        let program = Program::load(files, &images, self.limits())?;
        let Sum { samples, warnings, other_programs, .. } =
            profgen::add_up(self.inputs, &program, &self.sum, self.limits())?;
        self.unused.retain(|at| other_programs.contains(at));
        samples.require_this_build().map_err(|error| error.in_file(&files.program))?;
        let profile = MergedProfile::Recordings { bytes: samples.to_bytes()? };
        let reports = samples.reports();
        self.outcomes.add(&reports);
        let merged = Merged::new(profile, MergedInputs::new(reports));
        let unconverted = samples.losses(self.sum.contexts);
        Ok(Merged { target: Some(self.target()), warnings, unconverted, ..merged })
    }

    fn target(&self) -> ResolvedTarget {
        let default = || ResolvedTarget::requested(Target::default_release(TargetSource::Inputs), false);
        self.settings.target.clone().unwrap_or_else(default)
    }

    fn limits(&self) -> &Limits {
        &self.settings.options.sample.read.limits
    }
}

/// The recordings of several programs, each once.
#[derive(Default)]
struct Outcomes {
    reports: Vec<InputReport>,
    /// The positions of the reports by path, and by how many of the same path come before.
    positions: HashMap<(PathBuf, usize), usize>,
}

impl Outcomes {
    /// Adds the recordings of a program. A recording that one program uses is used.
    fn add(&mut self, reports: &[InputReport]) {
        let mut seen: HashMap<&Path, usize> = HashMap::new();
        for report in reports {
            let path = &report.input.path;
            let before = seen.entry(path).or_default();
            let at = *self.positions.entry((path.clone(), *before)).or_insert(self.reports.len());
            *before += 1;
            let outcome = match report.outcome {
                InputOutcome::Used => InputOutcome::Used,
                InputOutcome::Empty => InputOutcome::Empty,
                _ => InputOutcome::NotReached,
            };
            match self.reports.get_mut(at) {
                None => self.reports.push(InputReport::new(&report.input, outcome)),
                Some(known) if matches!(outcome, InputOutcome::Used) => known.outcome = outcome,
                Some(_) => {}
            }
        }
    }
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
