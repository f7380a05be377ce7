//! From recordings and a program to a finished profile, with a report.

use super::contexts::{ChainSamples, ContextFindings, ContextOptions, count_by_context, make_context_profile};
use super::counters::{Counters, RunFindings};
use super::finish::{FinishOptions, finish};
use super::line_profile::ProfileOptions;
use super::plain::PlainFindings;
use super::probe_profile::ProbeFindings;
use super::program::{LoadFindings, Program, ProgramFiles};
use super::script::{LineNotice, ReadFindings, ScriptOptions, programs_with_samples};
use super::{RawBase, Samples, make_profile, raw_text, read_raw, read_recording, read_script, recordings};
use crate::digits::number_of;
use crate::error::{Error, Result, Warning};
use crate::input::{Access, Input};
use crate::limits::Limits;
use crate::perf::is_recording;
use crate::sampleprof::SampleProfile;

/// The density below which more samples are recommended.
pub(crate) const ENOUGH_DENSITY: f64 = 50.0;

/// The numbers of used and dropped samples.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
#[non_exhaustive]
pub struct SampleReport {
    /// Findings about the program.
    pub program: LoadFindings,
    /// Counts of the lines and samples of all inputs.
    pub read: ReadFindings,
    /// Counts of the runs of code of all inputs.
    pub runs: RunFindings,
    /// Counts of the samples without branch records.
    pub plain: PlainFindings,
    /// Counts of pseudo-probes, and of samples that were left out because of them.
    pub probes: ProbeFindings,
    /// Counts of branches and call chains that did not fit to each other; `None` without calling contexts.
    pub contexts: Option<ContextFindings>,
    /// Samples of each location in the functions that have most of the samples.
    pub density: f64,
    /// The number of samples that would be enough, if these are too few.
    pub enough_samples: Option<u64>,
}

/// A profile with its report and warnings.
#[derive(Debug)]
#[non_exhaustive]
pub struct ConvertedSamples {
    /// The finished profile.
    pub profile: SampleProfile,
    /// The numbers of used and dropped samples.
    pub report: SampleReport,
    /// The warnings for the user.
    pub warnings: Vec<Warning>,
}

/// Makes the profile of a program of recordings: `perf.data`, text of `perf script -F ip,brstack --show-mmap-events`, or
/// unsymbolized profiles. The counts of all inputs add up, each as often as its weight says. Samples without branch records
/// count if no input has branch records. With options for calling contexts, only samples with call chains count.
///
/// # Errors
///
/// The errors of [`Program::load`] and of the inputs; nothing found for a program without debug info, for recordings
/// without samples in the program, and for one without call chains if there must be contexts; the errors of
/// [`make_profile`] and [`make_context_profile`].
pub fn convert(
    inputs: &[Input],
    files: &ProgramFiles,
    options: &ProfileOptions,
    contexts: Option<&ContextOptions>,
    limits: &Limits,
) -> Result<ConvertedSamples> {
    let program = Program::load(files, limits)?;
    let found = program.findings();
    if program.has_no_functions() {
        return Err(Error::nothing_found("the program has no debug info")
            .in_file(&files.program)
            .with_hint("compile it with debug info, at least line tables, and do not strip it"));
    }
    let mut report = SampleReport { program: found, ..SampleReport::default() };
    let mut counters = Counters::default();
    let mut chains = ChainSamples::default();
    let mut warnings = Vec::new();
    for input in inputs {
        let mut messages = Vec::new();
        let read = read_input(input, &program, contexts.is_some(), limits, &mut report, &mut messages);
        let (read, of_input) = read.map_err(|error| error.in_file(&input.path))?;
        warnings.extend(messages.into_iter().map(|warning| warning.in_file(&input.path)));
        counters.add(&read, input.weight.get());
        if contexts.is_some() && !read.is_empty() {
            chains.add_all(&of_input.ok_or_else(|| without_call_chains().in_file(&input.path))?, input.weight.get());
        }
    }
    if counters.is_empty() && report.plain.without_function != 0 {
        let samples = number_of(report.plain.without_function, "sample");
        return Err(Error::nothing_found(format!("{samples} in the program are in functions without debug info"))
            .in_file(&files.program)
            .with_hint("compile the whole program with debug info, at least line tables"));
    }
    if counters.is_empty() {
        return Err(without_samples(inputs, &program, limits).in_file(&files.program));
    }
    let (mut profile, probes) = match contexts {
        None => make_profile(&program, &counters, options, limits)?,
        Some(contexts) => {
            let by_context = count_by_context(&program, &chains, contexts, limits)?;
            report.contexts = Some(*by_context.findings());
            make_context_profile(&program, by_context, options, contexts, limits)?
        }
    };
    report.probes = probes;
    report.density = finish(&mut profile, &FinishOptions::default());
    if report.density < ENOUGH_DENSITY && report.density > 0.0 {
        let used = if counters.is_plain() { report.plain.used } else { report.read.samples };
        report.enough_samples = Some((used as f64 * ENOUGH_DENSITY / report.density).ceil() as u64);
    }
    let of_samples = warnings_of(&report, &counters, &program);
    warnings.extend(of_samples.into_iter().map(|text| Warning::new(text).in_file(&files.program)));
    Ok(ConvertedSamples { profile, report, warnings })
}

/// Returns the counters of an input, and its samples with call chains if these are needed and there are any.
fn read_input(
    input: &Input,
    program: &Program<'_>,
    contexts: bool,
    limits: &Limits,
    report: &mut SampleReport,
    warnings: &mut Vec<Warning>,
) -> Result<(Counters, Option<ChainSamples>)> {
    let text = input.bytes(Access::Read, limits)?;
    let options = ScriptOptions { allow_plain: !contexts, contexts, ..ScriptOptions::default() };
    if raw_text::is_raw(&text) {
        return Ok((read_raw(&text, program, RawBase::default())?, None));
    }
    let samples = if is_recording(&text) {
        let recorded = read_recording(&text, program, &options, limits)?;
        warnings.extend(recorded.warnings);
        report.plain.add(&recorded.plain.unwrap_or_default());
        recorded.samples
    } else {
        read_script(&text, program, &options, &mut |_: LineNotice<'_>| ())?
    };
    let Samples { counters, chains, read, runs } = samples;
    report.read.add(&read);
    report.runs.add(&runs.unwrap_or_default());
    Ok((counters, chains))
}

/// The error for recordings without call chains if there must be calling contexts.
fn without_call_chains() -> Error {
    Error::nothing_found("no sample has branch records and a call chain")
        .with_hint("record with `perf record -b -g`, or make a profile without contexts")
}

/// The error for recordings of other programs.
fn without_samples(inputs: &[Input], program: &Program<'_>, limits: &Limits) -> Error {
    const MOST_NAMED: usize = 5;
    let mut others: Vec<(Vec<u8>, u64)> = Vec::new();
    for input in inputs {
        // The input was read before: it is not its fault that nothing was found.
        let Ok(text) = input.bytes(Access::Read, limits) else { continue };
        others.extend(match is_recording(&text) {
            true => recordings::programs_with_samples(&text, limits),
            false => programs_with_samples(&text),
        });
    }
    others.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    others.dedup_by(|a, b| a.0 == b.0);
    let names: Vec<String> =
        others.iter().take(MOST_NAMED).map(|(path, _)| String::from_utf8_lossy(path).into_owned()).collect();
    let error = Error::nothing_found(format!("no sample is in {}", program.name()));
    if names.is_empty() {
        return error.with_hint("record while the program runs, with `perf record -b`");
    }
    error.with_hint(format!("give the program that was sampled; samples are in {}", names.join(", ")))
}

fn warnings_of(report: &SampleReport, counters: &Counters, loaded: &Program<'_>) -> Vec<String> {
    let SampleReport { program, read, runs, plain, probes, contexts, .. } = report;
    let mut warnings = if counters.is_plain() { plain.warnings(loaded.name()) } else { Vec::new() };
    let mut say = |count: u64, text: &dyn Fn(String) -> String, what: &str| {
        if count != 0 {
            warnings.push(text(number_of(count, what)));
        }
    };
    say(program.missing_units, &|units| format!("the split debug info of {units} was not found"), "unit");
    say(program.functions_without_entry, &|functions| format!("no symbol marks the entry of {functions}"), "function");
    say(read.bad_lines, &|lines| format!("{lines} of text could not be read as samples"), "line");
    say(read.incomplete_chains, &|samples| format!("{samples} without a whole call chain are left out"), "sample");
    say(
        contexts.map_or(0, |contexts| contexts.too_deep),
        &|samples| format!("{samples} with too many frames and branches are left out"),
        "sample",
    );
    say(
        probes.without_description,
        &|probes| format!("the program does not describe the function of {probes}"),
        "probe",
    );
    if !counters.is_plain() {
        say(
            plain.used,
            &|samples| format!("{samples} without branch records are not used, because other samples have them"),
            "sample",
        );
    }
    let percent = |count: u64| count as f64 * 100.0 / runs.all.max(1) as f64;
    for (count, what) in [
        (runs.not_on_boundary, "begin or end within an instruction or end without a branch"),
        (runs.without_function, "are in no function"),
        (runs.crossing_functions, "leave their function"),
        (runs.impossible, "cannot have run from one end to the other"),
    ] {
        if count != 0 {
            warnings.push(format!("{:.2} % of the runs of code {what}", percent(count)));
        }
    }
    if read.samples != 0 && !read.is_mapped {
        warnings.push("no mapping of the program was recorded: link-time addresses are assumed".to_string());
    }
    if let Some(enough) = report.enough_samples {
        let used = if counters.is_plain() { plain.used } else { read.samples };
        warnings.push(format!("{} are few for this program: about {enough} would do", number_of(used, "sample")));
    }
    warnings
}
