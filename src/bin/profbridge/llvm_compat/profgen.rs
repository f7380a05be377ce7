//! llvm-profgen mode: from branch records and a program to a sample profile.

use super::failure::{FAILURE, Failure};
use super::parsed::Parsed;
use super::sample;
use super::values::{COLD, HOT, boolean, float, signed};
use super::{messages, profgen_warnings as warnings};
use profbridge::input::{self, Access, Input, InputBytes};
use profbridge::instr::Release;
use profbridge::profgen::{
    self, ChainSamples, ContextCounters, ContextOptions, FinishOptions, ProfileOptions, Program, ProgramFiles,
    ProgramImages, RawBase, Samples, ScriptOptions,
};
use profbridge::sampleprof::{self, COLD_CUTOFF, Encoding, ReadOptions, SampleProfile, Threshold, WriteOptions};
use profbridge::{Compat, Error, ErrorKind, Limits};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs a command line.
pub(super) fn run(parsed: &Parsed, release: Release) -> io::Result<ExitCode> {
    let failed = match generate(parsed, release) {
        Ok(()) => return Ok(ExitCode::SUCCESS),
        Err(failed) => failed,
    };
    match failed {
        Failure::Message { whence, text, .. } => {
            let whence = whence.map(|whence| [b"llvm-profgen: error: ".as_slice(), &whence, b": "].concat());
            let start = whence.unwrap_or_else(|| b"llvm-profgen: error: ".to_vec());
            messages::line(&[start.as_slice(), text.as_bytes()].concat());
            Ok(ExitCode::from(FAILURE))
        }
        Failure::Output(error) => Err(error),
    }
}

/// The options of inputs, of which one must be given.
const INPUTS: [&str; 4] = ["perfscript", "perfdata", "unsymbolized-profile", "llvm-sample-profile"];

fn refused(what: &str) -> Failure {
    Failure::text(format!("{what} is not supported by profbridge; use the original llvm-profgen for it"))
}

fn generate(parsed: &Parsed, release: Release) -> Result<(), Failure> {
    let (kind, path) = input(parsed)?;
    if parsed.value("compress-recursion").and_then(signed).is_some_and(|number| number < -1) {
        return Err(Failure::text("Value of --compress-recursion should >= -1"));
    }
    if parsed.is_on("show-disassembly-only") {
        return Err(refused("--show-disassembly-only"));
    }
    if parsed.is_on("show-source-locations") {
        return Err(Failure::text("--show-source-locations should work together with --show-disassembly-only!"));
    }
    let has_accesses = parsed.os_text("data-access-perftrace").is_some();
    if has_accesses && kind == "llvm-sample-profile" {
        return Err(refused("--data-access-perftrace without samples"));
    }
    let limits = Limits::default();
    let files = program_files(parsed, release);
    let images = files.open(&limits).map_err(|error| loading_failure(&error))?;
    let program = Program::load(&files, &images, &limits).map_err(|error| loading_failure(&error))?;
    warnings::loading(&program.findings());
    let mut options = ProfileOptions::default();
    options.fill_zero = parsed.is_on("fill-zero-for-all-funcs");
    options.update_totals = parsed.is_on("update-total-samples");
    let (counters, chains) = match kind {
        "perfscript" => gathered(parsed, script(parsed, &path, &program)?, &images, &program)?,
        "unsymbolized-profile" => {
            let text = read(&path)?;
            if profgen::has_raw_contexts(&text) {
                if has_accesses {
                    return Err(refused("--data-access-perftrace with calling contexts"));
                }
                let contexts = context_options(parsed, program.rules().release());
                let counters = profgen::read_raw_contexts(&text, &program, raw_base(parsed), &contexts, &limits);
                let counters = counters.map_err(without_path)?;
                return context_profile(parsed, &program, counters, &options, &contexts, &limits);
            }
            let samples = profgen::read_raw(&text, &program, raw_base(parsed)).map_err(without_path)?;
            (with_data_accesses(parsed, samples, &images, &program)?.counters, None)
        }
        "llvm-sample-profile" => {
            let profile = sample_profile(&path)?;
            if !profile.kind().context_sensitive {
                return finish(parsed, &program, profile, parsed.is_on("trim-cold-profile"));
            }
            let contexts = context_options(parsed, program.rules().release());
            let made = profgen::finish_context_profile(&program, profile, &contexts, &limits);
            return finish(parsed, &program, made.map_err(without_path)?, false);
        }
        _ => gathered(parsed, recording(parsed, &path, &program, &limits)?, &images, &program)?,
    };
    if let Some(chains) = chains {
        return contexts(parsed, &program, &chains, &options, &limits);
    }
    if parsed.is_on("skip-symbolization") && kind != "unsymbolized-profile" {
        let text = profgen::write_raw(&counters, &program, raw_base(parsed));
        return write(&output(parsed), &text);
    }
    let (profile, _) = profgen::make_profile(&program, &counters, &options, &limits).map_err(without_path)?;
    finish(parsed, &program, profile, parsed.is_on("trim-cold-profile"))
}

/// Makes a profile with calling contexts.
fn contexts(
    parsed: &Parsed,
    program: &Program<'_>,
    chains: &ChainSamples,
    options: &ProfileOptions,
    limits: &Limits,
) -> Result<(), Failure> {
    let contexts = context_options(parsed, program.rules().release());
    let counters = profgen::count_by_context(program, chains, &contexts, limits).map_err(without_path)?;
    warnings::contexts(counters.findings(), parsed.is_on("show-detailed-warning"));
    if parsed.is_on("skip-symbolization") {
        let text = profgen::write_raw_contexts(&counters, program, raw_base(parsed));
        return write(&output(parsed), &text);
    }
    context_profile(parsed, program, counters, options, &contexts, limits)
}

fn context_profile(
    parsed: &Parsed,
    program: &Program<'_>,
    counters: ContextCounters,
    options: &ProfileOptions,
    contexts: &ContextOptions,
    limits: &Limits,
) -> Result<(), Failure> {
    let made = profgen::make_context_profile(program, counters, options, contexts, limits);
    let (profile, _) = made.map_err(without_path)?;
    finish(parsed, program, profile, false)
}

fn context_options(parsed: &Parsed, release: Release) -> ContextOptions {
    let is_on = |name| parsed.value(name).and_then(boolean) != Some(false);
    // Negative numbers stand for no limit.
    let most = |name| {
        let number = parsed.value(name).and_then(signed).and_then(|number| usize::try_from(number).ok());
        number.unwrap_or(usize::MAX)
    };
    let mut options = ContextOptions::default();
    options.most_frames = most("csprof-max-context-depth");
    options.most_address_frames = most("csprof-max-unsymbolized-context-depth");
    options.longest_repetition = most("compress-recursion");
    let most_inferred = parsed.number("max-search-depth").and_then(|depth| usize::try_from(depth).ok());
    options.most_inferred = if is_on("infer-missing-frames") { most_inferred.unwrap_or(usize::MAX) } else { 0 };
    options.preinline = is_on("csspgo-preinliner");
    options.by_code_size = is_on("use-context-cost-for-preinliner");
    options.replay_inlining = parsed.is_on("csspgo-replay-preinline");
    let size = |name| parsed.value(name).and_then(signed).and_then(|number| i32::try_from(number).ok());
    let sizes = &mut options.inline_sizes;
    sizes.highest_limit = size("sample-profile-inline-limit-max");
    for (known, name) in [
        (&mut sizes.hot, "sample-profile-hot-inline-threshold"),
        (&mut sizes.cold, "sample-profile-cold-inline-threshold"),
        (&mut sizes.factor_of_inlined, "csspgo-preinliner-multiplier-for-previous-inlining"),
        (&mut sizes.growth, "sample-profile-inline-growth-limit"),
        (&mut sizes.least_limit, "sample-profile-inline-limit-min"),
    ] {
        *known = size(name).unwrap_or(*known);
    }
    let merge = parsed.value("csprof-merge-cold-context").and_then(boolean);
    options.merge_cold = merge.unwrap_or(!options.preinline);
    options.cold_frames = parsed.number("csprof-max-cold-context-depth").map_or(1, |frames| frames as usize);
    options.trim_cold = parsed.is_on("trim-cold-profile");
    [options.hot, options.cold] = thresholds(parsed, release);
    options.layout = is_on("gen-cs-nested-profile").then(|| sample::nested(parsed));
    options
}

/// The thresholds of what is hot, and of what is cold.
fn thresholds(parsed: &Parsed, release: Release) -> [Threshold; 2] {
    [(Threshold::HOT, HOT), (Threshold::COLD, COLD)]
        .map(|(default, names)| sample::threshold(parsed, release, default, names))
}

/// The one input: its option and its path.
fn input(parsed: &Parsed) -> Result<(&'static str, PathBuf), Failure> {
    let mut given = INPUTS.iter().filter_map(|name| Some((*name, PathBuf::from(parsed.os_text(name)?))));
    let given: Vec<(&str, PathBuf)> = given.by_ref().filter(|(_, path)| !path.as_os_str().is_empty()).collect();
    let [(kind, path)] = given.as_slice() else {
        let inputs = "`--perfscript`, `--perfdata` and `--unsymbolized-profile`";
        return Err(Failure::text(if given.is_empty() {
            format!("Perf input file is missing, please use one of {inputs} for the input.")
        } else {
            format!("{inputs} cannot be used together.")
        }));
    };
    let binary = PathBuf::from(parsed.os_text("binary").unwrap_or_default());
    for (what, path) in [("perf file", path), ("binary", &binary)] {
        if !path.exists() {
            return Err(Failure::text(format!("Input {what}({}) doesn't exist.", path.display())));
        }
    }
    Ok((kind, path.clone()))
}

fn program_files(parsed: &Parsed, release: Release) -> ProgramFiles {
    let path = |name| parsed.os_text(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let mut files = ProgramFiles::new(path("binary").unwrap_or_default());
    files.debug = path("debug-binary");
    files.package = path("dwp");
    files.ignore_probes = parsed.is_on("use-dwarf-correlation");
    files.ignore_debug_symbols = true;
    let loads = parsed.value("load-function-from-symbol").and_then(boolean);
    files.release = release;
    files.ignore_symbol_functions = release.0 < 22 || loads == Some(false);
    files
}

/// The failure of loading a program, with LLVM's text.
fn loading_failure(error: &Error) -> Failure {
    let whence = error.path().map(|path| path.as_os_str().as_encoded_bytes().to_vec());
    let text = match error.kind() {
        ErrorKind::NotAnObject { .. } => "The file was not recognized as a valid object file".to_string(),
        _ => error.llvm_message(),
    };
    Failure::Message { whence, text, note: None }
}

/// An error in text, which LLVM reports without the file.
fn without_path(error: Error) -> Failure {
    Failure::of_whence(&error, None)
}

fn read(path: &Path) -> Result<InputBytes, Failure> {
    Ok(Input::argument(path).bytes(Access::Read, &Limits::default())?)
}

fn script(parsed: &Parsed, path: &Path, program: &Program<'_>) -> Result<Samples, Failure> {
    let options = script_options(parsed);
    let shows = parsed.is_on("show-mmap-events");
    let mut notify = |notice: profgen::LineNotice<'_>| warnings::line(notice, program.name(), program.base(), shows);
    profgen::read_script(&Input::argument(path), program, &options, &Limits::default(), &mut notify)
        .map_err(without_path)
}

fn recording(parsed: &Parsed, path: &Path, program: &Program<'_>, limits: &Limits) -> Result<Samples, Failure> {
    const UNMAPPED: &str = "No relevant mmap event is found in perf data.";
    let mut options = script_options(parsed);
    options.any_build = true;
    let recorded = profgen::read_recording(&Input::argument(path), program, &options, limits).map_err(without_path)?;
    if !recorded.samples.read.is_mapped {
        return Err(Failure::text(UNMAPPED));
    }
    Ok(recorded.samples)
}

/// The counters of samples, and the samples with call chains if there are any.
type Gathered = (profgen::Counters, Option<ChainSamples>);

fn script_options(parsed: &Parsed) -> ScriptOptions {
    let mut options = ScriptOptions::default();
    options.process = parsed.value("pid").and_then(signed);
    options.is_kernel = parsed.is_on("kernel");
    options.details = parsed.is_on("show-detailed-warning");
    options.contexts = !parsed.is_on("ignore-stack-samples");
    options
}

fn gathered(
    parsed: &Parsed,
    samples: Samples,
    images: &ProgramImages,
    program: &Program<'_>,
) -> Result<Gathered, Failure> {
    warnings::samples(&samples.read, samples.runs.as_ref(), &samples.details);
    let samples = with_data_accesses(parsed, samples, images, program)?;
    Ok((samples.counters, samples.chains))
}

/// Adds the accesses of vtables, if there is a text with them.
fn with_data_accesses(
    parsed: &Parsed,
    mut samples: Samples,
    images: &ProgramImages,
    program: &Program<'_>,
) -> Result<Samples, Failure> {
    if let Some(path) = parsed.os_text("data-access-perftrace").map(PathBuf::from) {
        if !path.is_file() {
            return Err(Failure::text(format!("Failed to open perf trace file: {}", path.display())));
        }
        let process = parsed.value("pid").and_then(signed);
        let input = Input::argument(&path);
        samples.add_data_accesses(&input, images, program, process, &Limits::default()).map_err(without_path)?;
    }
    Ok(samples)
}

fn raw_base(parsed: &Parsed) -> RawBase {
    if parsed.value("use-offset").and_then(boolean) == Some(false) {
        RawBase::Zero
    } else if parsed.is_on("use-first-loadable-segment-as-base") {
        RawBase::Loaded
    } else {
        RawBase::Executable
    }
}

fn sample_profile(path: &Path) -> Result<SampleProfile, Failure> {
    let read = sampleprof::read_file(Input::argument(path), &ReadOptions::default(), Compat::Llvm22);
    read.map_err(|error| sample::failure(&error))
}

fn finish(parsed: &Parsed, program: &Program<'_>, mut profile: SampleProfile, trim_cold: bool) -> Result<(), Failure> {
    let mut options = FinishOptions::default();
    options.trim_cold = trim_cold;
    options.keep_ambiguous = program.rules().keeps_ambiguous_functions();
    options.mark_preinlined = parsed.is_on("mark-all-context-preinlined");
    if let Some(cutoff) = parsed.value("profile-density-cutoff-hot").and_then(signed) {
        options.density_cutoff = u32::try_from(cutoff).unwrap_or(0);
    }
    let [hot, cold] = thresholds(parsed, program.rules().release());
    if hot.cutoff.max(cold.cutoff) > COLD_CUTOFF {
        // LLVM computes both thresholds, even if it needs none.
        return Err(Failure::text("Desired percentile exceeds the maximum cutoff"));
    }
    options.cold = cold;
    let density = profgen::finish(&mut profile, &options).map_err(without_path)?;
    let wording = warnings::DensityWording::of(program.rules());
    let threshold = parsed.value("profile-density-threshold").and_then(float).unwrap_or(wording.threshold);
    let (density, share) = if wording.is_of_code {
        (profgen::density_of_code(&profile, program, hot).map_err(without_path)?, hot.cutoff)
    } else {
        (density, options.density_cutoff)
    };
    warnings::density(&wording, density, threshold, share, parsed.is_on("show-density"));
    let mut write = WriteOptions::default();
    write.rules = sample::rules(parsed, program.rules());
    write.vtables = parsed.is_on("extbinary-write-vtable-type-prof");
    write.as_llvm = true;
    write.encoding = match parsed.value("format") {
        Some(b"text") => Encoding::Text,
        Some(b"binary") => Encoding::Binary,
        Some(b"gcc") => Encoding::Gcc,
        _ => Encoding::ExtBinary,
    };
    write.use_md5 = parsed.is_on("use-md5") && write.encoding == Encoding::ExtBinary;
    if parsed.is_on("populate-profile-symbol-list") {
        profile.symbols = Some(program.symbols());
    }
    let path = output(parsed);
    match sampleprof::write(&profile, &write) {
        Ok(bytes) => {
            if parsed.is_on("use-md5") && !write.use_md5 {
                messages::warning(None, "-use-md5 is ignored. Specify --format=extbinary to enable it");
            }
            self::write(&path, &bytes)
        }
        Err(error) => {
            // llvm-profgen opens the output first.
            self::write(&path, &[])?;
            Err(sample::failure(&error.in_file(&path)))
        }
    }
}

fn output(parsed: &Parsed) -> PathBuf {
    PathBuf::from(parsed.os_text("output").unwrap_or_default())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    Ok(input::output::replace(path, bytes)?)
}
