//! From recordings and a program to a finished profile, with a report.

use super::contexts::{self, ContextCounters, ContextFindings, ContextOptions, count_by_context, make_context_profile};
use super::counters::{Counters, RunFindings};
use super::finish::{FinishOptions, finish};
use super::functions::Function;
use super::line_profile::ProfileOptions;
use super::plain::PlainFindings;
use super::probe_profile::ProbeFindings;
use super::program::{LoadFindings, Program, ProgramFiles};
use super::program_samples::{Occurrences, PLAIN, ProgramSamples, Rates, SampleFindings};
use super::script::{ReadFindings, ScriptOptions, programs_with_samples};
use super::{RawBase, make_profile, raw_text, read_raw, read_recording, read_text, recordings};
use crate::digits::number_of;
use crate::driver::InputReport;
use crate::driver::report::no_weight;
use crate::error::{Error, Result, Warning};
use crate::input::{Access, Format, Input, OtherFormat};
use crate::limits::Limits;
use crate::model::Loss;
use crate::names::without_rust_hash;
use crate::partial::{InputState, PartialInput};
use crate::perf::is_recording;
use crate::sampleprof::{FunctionName, FunctionRecord, SampleProfile};
use std::collections::BTreeSet;
use std::io::Read;
use std::sync::Arc;

/// The first bytes of a file, which tell its format.
const START_BYTES: u64 = 4096;

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

impl SampleReport {
    fn of(program: LoadFindings, samples: &SampleFindings) -> Self {
        let SampleFindings { read, runs, plain, .. } = *samples;
        Self { program, read, runs, plain, ..Self::default() }
    }

    /// The number of samples from which the counters are. Unsymbolized profiles do not have it.
    fn used(&self, counters: &Counters) -> u64 {
        if counters.is_plain() { self.plain.used } else { self.read.samples }
    }
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
    /// The recordings with their outcomes; those of partial merges one by one.
    pub inputs: Vec<InputReport>,
    /// The positions of the partial merges of other programs.
    pub other_programs: Vec<usize>,
    /// Call chains of the samples, if the profile has no calling contexts.
    pub losses: Vec<Loss>,
    /// The rates of the recordings.
    pub(crate) rates: Rates,
    /// Why the profile is empty, if other programs may have samples.
    pub(crate) without_samples: Option<Error>,
}

/// How inputs are added up.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SumOptions {
    /// Whether samples keep their call chains for calling contexts.
    pub contexts: bool,
    /// Whether a recording may be in a partial merge and in another input.
    pub allow_duplicates: bool,
    /// Whether there are several programs: partial merges of the others are skipped, and one may be without samples.
    pub skip_other_programs: bool,
    /// The event whose samples count; `None` for all.
    pub event: Option<String>,
}

/// The sum of inputs.
#[derive(Debug)]
#[non_exhaustive]
pub struct Sum {
    /// The samples of the program.
    pub samples: ProgramSamples,
    /// The warnings about the inputs.
    pub warnings: Vec<Warning>,
    /// The positions of the partial merges of other programs.
    pub other_programs: Vec<usize>,
}

/// Adds up the samples of a program: of perf recordings, of the output of `perf script`, of unsymbolized profiles, and
/// of partial merges. The counts of each input are multiplied by its weight. Samples without branch records do not count
/// next to samples with them.
///
/// # Errors
///
/// The errors of opening inputs; malformed input; usage for a partial merge with a weight, of another build, or of other
/// files, and for duplicates; nothing found, if there must be call chains and an input has none.
pub fn add_up(inputs: &[Input], program: &Program<'_>, options: &SumOptions, limits: &Limits) -> Result<Sum> {
    let contexts = options.contexts;
    let mut all = ProgramSamples::new(program);
    let mut occurrences = Occurrences::new(options.allow_duplicates);
    let (mut warnings, mut other_programs) = (Vec::new(), Vec::new());
    for (at, input) in inputs.iter().enumerate() {
        let mut messages = Vec::new();
        let mut add = || {
            let (found, is_partial) = read_input(input, program, options, limits, &mut messages)?;
            if options.skip_other_programs && !all.is_same_program(&found) {
                other_programs.push(at);
                return Ok(());
            }
            if contexts && !found.counters.is_empty() && found.chains.is_empty() {
                return Err(without_call_chains());
            }
            let before = all.inputs.len();
            all.append(found, input.weight.get())?;
            occurrences.note(&input.path, is_partial, &all.inputs[before..])
        };
        add().map_err(|error| error.in_file(&input.path))?;
        warnings.extend(messages.into_iter().map(|warning| warning.in_file(&input.path)));
    }
    if inputs.iter().any(|input| input.weight.get() != 1) {
        all.findings.rates.periods.clear();
    }
    warnings.extend(all.findings.rates.warning());
    Ok(Sum { samples: all, warnings, other_programs })
}

/// Makes the profile of a program from samples of it. `contexts` makes a profile with calling contexts.
///
/// # Errors
///
/// Nothing found: no debug info, no samples in the program, or for calling contexts no call chains; unable to correlate
/// for damaged debug info; limit exceeded.
pub fn make(
    program: &Program<'_>,
    samples: &ProgramSamples,
    options: &ProfileOptions,
    contexts: Option<&ContextOptions>,
    limits: &Limits,
) -> Result<ConvertedSamples> {
    require_functions(program)?;
    let (ProgramSamples { counters, .. }, findings) = (samples, &samples.findings);
    if counters.is_empty() && findings.plain.without_function != 0 {
        let samples = number_of(findings.plain.without_function, "sample");
        return Err(Error::nothing_found(format!("{samples} in the program are in functions without debug info"))
            .with_hint(
                "compile the whole program with debug info: `-g`, or `-g1 -fdebug-info-for-profiling` of clang",
            ));
    }
    let mut report = SampleReport::of(program.findings(), findings);
    let (mut profile, probes) = match contexts {
        None => make_profile(program, counters, options, limits)?,
        Some(contexts) => {
            let by_context = counted_by_context(program, samples, contexts, limits)?;
            report.contexts = Some(*by_context.findings());
            make_context_profile(program, by_context, options, contexts, limits)?
        }
    };
    report.probes = probes;
    // Damage of line tables is found late.
    report.program = program.findings();
    // Weights do not make more samples.
    let last = FinishOptions { keep_ambiguous: program.rules.keeps_ambiguous_functions(), ..FinishOptions::default() };
    report.density = finish(&mut profile, &last)? / samples.weight();
    if counters.is_plain() {
        let weight = samples.weight();
        if weight > 1.0 {
            // Calls that were seen count as one, whatever the weight: they have no part in a density of large counts.
            let (mut profile, _) = make_profile(program, &counters.divided_by(weight), options, limits)?;
            report.density = finish(&mut profile, &last)?;
        }
        // Every location has a sample or a call.
        report.density = report.density.max(1.0);
    }
    let used = report.used(counters);
    if report.density < ENOUGH_DENSITY && report.density > 0.0 && used != 0 {
        report.enough_samples = Some((used as f64 * ENOUGH_DENSITY / report.density).ceil() as u64);
    }
    let warnings = warnings_of(&report, counters, program, &profile).into_iter().map(Warning::new).collect();
    if !counters.is_plain() {
        report.plain.used = 0;
    }
    let (inputs, losses) = (samples.reports(), samples.losses(contexts.is_some()));
    Ok(ConvertedSamples {
        profile,
        report,
        warnings,
        inputs,
        other_programs: Vec::new(),
        losses,
        rates: samples.findings.rates.clone(),
        without_samples: None,
    })
}

/// Counts samples by calling context: those with call chains, or those of unsymbolized profiles.
fn counted_by_context(
    program: &Program<'_>,
    samples: &ProgramSamples,
    options: &ContextOptions,
    limits: &Limits,
) -> Result<ContextCounters> {
    let ProgramSamples { counters, chains, by_context, .. } = samples;
    if by_context.is_empty() {
        return count_by_context(program, chains, options, limits);
    }
    if !counters.is_empty() {
        let detail = "recordings do not add up with unsymbolized profiles that have calling contexts";
        return Err(Error::usage(detail).with_hint("convert each kind by itself, and merge the profiles"));
    }
    contexts::of_unsymbolized(by_context, program, options, limits)
}

fn require_functions(program: &Program<'_>) -> Result<()> {
    if program.has_no_functions() {
        if let Some(missing) = &program.missing_debug_info {
            return Err(missing.clone());
        }
        if !program.debug.is_empty() {
            return Err(Error::nothing_found("the debug info of the program has no functions")
                .with_hint("compile it with more debug info: `-g`, or `-g1 -fdebug-info-for-profiling` of clang"));
        }
        return Err(Error::nothing_found("the program has no debug info").with_hint(
            "compile it with debug info (`-g`, or `-g1 -fdebug-info-for-profiling` of clang), or give the file with its debug \
             info as well",
        ));
    }
    if program.has_no_code {
        return Err(Error::nothing_found("the file has debug info, but no code")
            .with_hint("give the program that ran, and this file as the file with its debug info"));
    }
    if program.has_no_symbols {
        return Err(Error::nothing_found("the program has no symbol table").with_hint(
            "give the program before it was stripped, or the file with its symbols and debug info as well",
        ));
    }
    Ok(())
}

/// Makes the profile of a program from its recordings: [`add_up`] and [`make`].
///
/// # Errors
///
/// The errors of [`ProgramFiles::require_package`], [`Program::load`], [`add_up`] and [`make`].
pub fn convert(
    inputs: &[Input],
    files: &ProgramFiles,
    options: &ProfileOptions,
    contexts: Option<&ContextOptions>,
    sum: &SumOptions,
    limits: &Limits,
) -> Result<ConvertedSamples> {
    files.require_package()?;
    let images = files.open(limits)?;
    let program = Program::load(files, &images, limits)?;
    let of_program = |error: Error| error.in_file(&files.program);
    require_functions(&program).map_err(of_program)?;
    let sum = SumOptions { contexts: contexts.is_some(), ..sum.clone() };
    let Sum { samples, mut warnings, other_programs } = add_up(inputs, &program, &sum, limits)?;
    let (inputs_of_program, findings) = (samples.reports(), &samples.findings);
    let nothing = |error: Error, warnings: Vec<Warning>, other_programs: Vec<usize>| {
        let error = error.in_file(&files.program);
        if !sum.skip_other_programs {
            return Err(error);
        }
        Ok(ConvertedSamples {
            profile: SampleProfile::default(),
            report: SampleReport::of(program.findings(), findings),
            warnings,
            inputs: inputs_of_program,
            other_programs,
            losses: Vec::new(),
            rates: Rates::default(),
            without_samples: Some(error),
        })
    };
    if samples.is_empty() && samples.findings.plain.without_function == 0 {
        samples.require_this_build().map_err(of_program)?;
        let error = match &sum.event {
            Some(event) => Error::nothing_found(format!("no sample of the event {event} is in {}", program.name()))
                .with_hint("choose another event, or give the program that was sampled"),
            None if samples.findings.read.incomplete_chains != 0 => {
                Error::nothing_found(no_usable_sample(&samples, &program)).with_hint(
                    "where a function begins or ends, its caller is unknown: record longer, or make a profile without contexts",
                )
            }
            None => without_samples(inputs, &program, limits),
        };
        return nothing(error, warnings, other_programs);
    }
    let mut made = make(&program, &samples, options, contexts, limits).map_err(of_program)?;
    // Callers of other programs have no samples of their own.
    if samples.counters.is_plain() && samples.findings.plain.used == 0 && made.profile.functions.is_empty() {
        return nothing(without_samples(inputs, &program, limits), warnings, other_programs);
    }
    warnings.extend(made.warnings.into_iter().map(|warning| warning.in_file(&files.program)));
    (made.warnings, made.other_programs) = (warnings, other_programs);
    Ok(made)
}

/// Reads one input. Returns its samples, and whether it is a partial merge.
fn read_input(
    input: &Input,
    program: &Program<'_>,
    options: &SumOptions,
    limits: &Limits,
    warnings: &mut Vec<Warning>,
) -> Result<(ProgramSamples, bool)> {
    if input.is_partial()
        && let Some(part) = ProgramSamples::from_bytes(&input.bytes(Access::Read, limits)?, limits)?
    {
        if options.event.is_some() {
            return Err(no_choice("a partial merge"));
        }
        return if input.weight.get() == 1 { Ok((part, true)) } else { Err(no_weight()) };
    }
    let mut found = ProgramSamples::new(program);
    let mut about = PartialInput::new(&input.path, input.weight.get());
    let mut start = Vec::new();
    input
        .content(limits)?
        .take(START_BYTES)
        .read_to_end(&mut start)
        .map_err(|source| Error::io("cannot read", source))?;
    if start.is_empty() {
        about.state = InputState::Empty;
        found.inputs.push(about);
        warnings.push(Warning::new("the file is empty; skipped"));
        return Ok((found, false));
    }
    about.digest = Some(PartialInput::digest_of_stream(input.content(limits)?)?);
    let format = input.format()?;
    if !may_be_recording(format) {
        let profile =
            || Error::usage(format!("it is not a recording: {format}")).with_hint("merge it without a program");
        return Err(format.not_a_profile().unwrap_or_else(profile));
    }
    if format == Format::Other(OtherFormat::Unsymbolized) {
        if options.event.is_some() {
            return Err(no_choice("an unsymbolized profile"));
        }
        let text = input.bytes(Access::Read, limits)?;
        if options.contexts && raw_text::has_contexts(&text) {
            let blocks = raw_text::read_contexts(&text, program.base())?;
            found.by_context = blocks.into_iter().map(|(title, counters)| (title.to_vec(), counters)).collect();
        } else {
            found.counters = read_raw(&text, program, RawBase::default())?.counters;
        }
        found.inputs.push(about);
        return Ok((found, false));
    }
    let contexts = options.contexts;
    let event = options.event.clone();
    let reading =
        ScriptOptions { allow_plain: !contexts, other_fields: true, contexts, event, ..ScriptOptions::default() };
    let recorded = match is_recording(&start) {
        true => read_recording(input, program, &reading, limits)?,
        false => read_text(input, program, &reading, limits)?,
    };
    warnings.extend(recorded.warnings);
    found.findings.rates.periods.extend(recorded.period);
    found.findings.rates.events.extend(Some(recorded.events).filter(|events| !events.is_empty()));
    found.findings.plain = recorded.plain.unwrap_or_default();
    let samples = recorded.samples;
    found.counters = samples.counters;
    found.chains = samples.chains.unwrap_or_default();
    found.findings.read = samples.read;
    found.findings.runs = samples.runs.unwrap_or_default();
    about.records = found.findings.read.samples;
    if found.counters.is_plain() {
        (about.records, about.kind) = (found.findings.plain.used, Some(PLAIN));
    }
    if found.is_empty() && found.findings.plain.without_function == 0 {
        (about.records, about.state) = (0, InputState::Empty);
        // With several programs, it may have samples of another one.
        if !options.skip_other_programs {
            warnings.push(Warning::new(no_usable_sample(&found, program)));
        }
    }
    found.inputs.push(about);
    Ok((found, false))
}

/// Returns the reason why nothing is counted.
fn no_usable_sample(samples: &ProgramSamples, program: &Program<'_>) -> String {
    match samples.findings.read.incomplete_chains {
        0 => format!("no sample is in {}", program.name()),
        incomplete => format!("no sample in {} has a whole call chain; {incomplete} left out", program.name()),
    }
}

/// The error for an input whose samples were added up before an event was chosen.
fn no_choice(what: &str) -> Error {
    Error::usage(format!("the events of {what} are added up already"))
        .with_hint("choose the event when you read the recordings")
}

/// Returns true for recordings, and for text that can be the output of perf.
fn may_be_recording(format: Format) -> bool {
    matches!(
        format,
        Format::PerfData
            | Format::Collapsed
            | Format::Text
            | Format::OtherText
            | Format::Other(OtherFormat::BranchRecords | OtherFormat::Unsymbolized)
    )
}

/// The error for recordings without call chains if there must be calling contexts.
fn without_call_chains() -> Error {
    Error::nothing_found("no sample has branch records and a call chain")
        .with_hint("record with `perf record -b -g` and pass perf.data itself, or make a profile without contexts")
}

/// The error for recordings of other programs.
fn without_samples(inputs: &[Input], program: &Program<'_>, limits: &Limits) -> Error {
    const MOST_NAMED: usize = 5;
    let mut others: Vec<(Vec<u8>, u64)> = Vec::new();
    let mut has_build_ids = true;
    for input in inputs {
        // The input was read before: it is not its fault that nothing was found.
        others.extend(match input.format() {
            Ok(Format::PerfData) => {
                let (programs, has_ids) = recordings::programs_with_samples(input, limits);
                has_build_ids &= has_ids;
                programs
            }
            _ => programs_with_samples(input, limits).unwrap_or_default(),
        });
    }
    others.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    others.dedup_by(|a, b| a.0 == b.0);
    let names: Vec<String> =
        others.iter().take(MOST_NAMED).map(|(path, _)| String::from_utf8_lossy(path).into_owned()).collect();
    let error = Error::nothing_found(format!("no sample is in {}", program.name()));
    let has_format = |is_wanted: fn(Format) -> bool| inputs.iter().any(|input| input.format().is_ok_and(is_wanted));
    if names.is_empty() && has_format(|format| format == Format::Other(OtherFormat::BranchRecords)) {
        return error.with_hint(
            "print the mappings, too (option `show-mmap-events` of `perf script`), or pass perf.data itself",
        );
    }
    if names.is_empty() && has_format(|format| format != Format::PerfData) {
        return error.with_hint(
            "give the program that was sampled; if it is this one, print `sym`, `symoff` and `dso` with `perf script`, or \
             pass perf.data itself",
        );
    }
    if names.is_empty() {
        return error.with_hint("record while the program runs, with `perf record -b`");
    }
    let names = names.join(", ");
    error.with_hint(match has_build_ids {
        true => format!("give the program that was sampled; samples are in {names}"),
        false => format!(
            "the recording has no build ids: give the program that was sampled, under its name; samples are in {names}"
        ),
    })
}

/// Returns the names of all functions with samples, also of inlined ones.
fn names_of(profile: &SampleProfile) -> BTreeSet<&[u8]> {
    let mut open: Vec<&FunctionRecord> = profile.functions.iter().collect();
    let mut names = BTreeSet::new();
    while let Some(record) = open.pop() {
        if let FunctionName::Text(name) = profile.name(record.name) {
            names.insert(name);
        }
        open.extend(record.call_sites.iter().map(|site| &site.callee));
    }
    names
}

/// Warns of names by which compilers do not find the samples of functions, or find those of others.
fn warn_of_names(program: &Program<'_>, counters: &Counters, profile: &SampleProfile, warnings: &mut Vec<String>) {
    let functions = &program.functions;
    let starts = || counters.runs.keys().map(|(start, _)| *start);
    let short = functions.short_names(starts());
    let named = names_of(profile);
    let missing = |names: &BTreeSet<Arc<[u8]>>| named.iter().filter(|name| names.contains(**name)).count();
    let inlined = named.iter().filter(|name| {
        program.missing.short_names.contains(**name) && !short.iter().any(|function| *function.name == ***name)
    });
    let number = short.len() + inlined.count();
    if number != 0 {
        warnings.push(format!(
            "debug info has no mangled name of {}, so LLVM does not find the samples (GCC does): build with -g2 or \
             -fdebug-info-for-profiling of clang, or -C debuginfo=2 of rustc",
            number_of(number, "function")
        ));
    }
    let without_line = missing(&program.missing.first_lines);
    if without_line != 0 {
        warnings.push(format!(
            "debug info has no line of the declaration of {}, so compilers do not find the lines of the samples: build \
             with -g2 or -fdebug-info-for-profiling of clang, or -C debuginfo=2 of rustc",
            number_of(without_line, "function")
        ));
    }
    let mut several: Vec<&Function> =
        short.into_iter().filter(|function| !function.is_declared_again() && functions.is_several(function)).collect();
    several.extend(functions.starting_at(starts()).filter(|function| function.is_declared_again()));
    if let Some(first) = several.first() {
        warnings.push(format!(
            "debug info has one name for several functions, whose samples add up: {}, such as {}",
            number_of(several.len(), "name"),
            first.name.escape_ascii()
        ));
    }
    // Names of Rust's legacy mangling, such as `_ZN29_$LT$a..B$u20$as$u20$a..C$GT$1f17h…E`.
    let has_dots = |name: &[u8]| without_rust_hash(name).is_some_and(|path| path.contains(&b'.'));
    let dotted = functions.starting_at(starts()).filter(|function| has_dots(&function.name)).count();
    if dotted != 0 {
        warnings.push(format!(
            "LLVM ignores the samples of {} whose names have dots, unless it inlines them: build with \
             -C symbol-mangling-version=v0 of rustc",
            number_of(dotted, "function")
        ));
    }
}

fn warnings_of(
    report: &SampleReport,
    counters: &Counters,
    loaded: &Program<'_>,
    profile: &SampleProfile,
) -> Vec<String> {
    let SampleReport { program, read, runs, plain, probes, contexts, .. } = report;
    let mut warnings = if counters.is_plain() { plain.warnings(loaded.name(), loaded.is_of_go) } else { Vec::new() };
    if let Some(damage) = loaded.damage() {
        let units = number_of(program.damaged_units, "unit");
        warnings.push(format!("{units} of debug info cannot be read as a whole, the first because of {damage}"));
    }
    if !loaded.has_probes() {
        warn_of_names(loaded, counters, profile, &mut warnings);
    }
    if let Some(missing) = loaded.missing_debug_info.as_ref().filter(|_| program.missing_units == 0) {
        warnings.push(missing.to_string());
    }
    let mut say = |count: u64, text: &dyn Fn(String) -> String, what: &str| {
        if count != 0 {
            warnings.push(text(number_of(count, what)));
        }
    };
    say(program.missing_units, &|units| format!("the split debug info of {units} was not found"), "unit");
    say(program.functions_without_entry, &|functions| format!("no symbol marks the entry of {functions}"), "function");
    say(read.bad_lines, &|lines| format!("{lines} of text could not be read as samples"), "line");
    say(
        read.incomplete_chains,
        &|samples| format!("left out {samples} and their branches, because call chains are incomplete"),
        "sample",
    );
    say(
        contexts.map_or(0, |contexts| contexts.too_deep),
        &|samples| format!("left out {samples} with too many frames and branches"),
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
            &|samples| format!("left out {samples} without branch records, because other samples have them"),
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
        let used = number_of(used, "sample");
        warnings.push(format!("{used} used; this program needs about {enough}"));
    }
    warnings
}
