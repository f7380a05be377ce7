//! `llvm-profdata merge`.

use super::compat_mode::CompatMode;
use super::failure::Failure;
use super::messages;
use super::options::{FORMATS, KINDS};
use super::parsed::{Parsed, Program};
use super::raw_memory::{hotness_thresholds, programs, raw_memory_failure};
use super::values::read_small;
use profbridge::families::{
    self, FailureMode, InputOutcome, MergeOptions, MergeReport, OutputFormat, RecordError, Target, WriteOptions,
};
use profbridge::input::{InputList, WeightedInput};
use profbridge::instr::LossKind;
use profbridge::instr::{FunctionFilter, KindConflict, MergeRules, Remapping, SoftError, conflict_of_contexts};
use profbridge::system::os_string;
use profbridge::{Compat, Error};
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

/// The version that `--write-prev-version` writes, in both LLVM 19 and 22.
const PREVIOUS_VERSION: u32 = 11;

pub(super) fn run(program: &Program, parsed: &Parsed, conduct: &CompatMode) -> Result<ExitCode, Failure> {
    let inputs = inputs(parsed)?;
    if inputs.is_empty() {
        let name = String::from_utf8_lossy(&program.name);
        return Err(Failure::text(format!("no input files specified. See {name} merge -help")));
    }
    if parsed.is_on("dump-input-file-list") {
        return print_list(&inputs).map(|()| ExitCode::SUCCESS);
    }
    let mut options = merge_options(parsed, conduct)?;
    check_request(parsed)?;
    if parsed.last_of(&KINDS) == Some("sample") {
        return super::sample::merge(parsed, &inputs, options, conduct);
    }
    let samples = super::sample::supplement(parsed, conduct, &inputs)?;
    if samples.is_some() {
        // LLVM supplements with a writer that takes no traces.
        (options.trace_reservoir_size, options.max_trace_length) = (Some(0), Some(0));
    }
    let mut crossing = conduct.crossing(&inputs);
    options.release = crossing.target.release;
    options.read.correlator = super::correlate::correlator(parsed)?;
    // An invalid pattern is reported after the damaged inputs.
    let filter = FunctionFilter::new(pattern(parsed, "function").as_deref(), pattern(parsed, "no-function").as_deref());
    options.filter = filter.as_ref().cloned().unwrap_or_default();
    let output = output(parsed);
    let write = write_options(parsed, &options, &crossing.target);
    let may_stay = filter.is_ok() && !crossing.is_needed && samples.is_none();
    let report = may_stay.then(|| families::leave_in_file(&inputs, &options, &write, None)).flatten();
    let mut report = report.map_or_else(|| families::merge_files(&inputs, &options, &mut |_, _| {}), Ok)?;
    report.soft_errors.iter().for_each(|error| print_soft_error(&inputs[error.input].path, error));
    // A fault of a raw memory profile ends the merge immediately.
    if let Some((input, error)) = report.failures().find(|(_, error)| error.is_of_raw_memory_profile()) {
        let whence = input.input.path.as_os_str().as_encoded_bytes().to_vec();
        return Err(raw_memory_failure(error, &input.input.path, Some(whence)));
    }
    if let Some(conflict) = conflict_of_threads(parsed, &report, &options) {
        return Err(Failure::text(conflict));
    }
    if let Some(samples) = &samples {
        if let Some((input, error)) = report.failures().next() {
            let whence = Some(input.input.path.as_os_str().as_encoded_bytes().to_vec());
            return Err(Failure::of_whence(error, whence));
        }
        samples.apply(&mut report.profile)?;
    }
    print_failures(parsed, &report);
    report.verdict(&options)?;
    filter?;
    let findings = crossing.cross(&mut report, &mut options.filter, parsed.is_on("write-prev-version"))?;
    print_filtered(&report, &options.filter);
    if report.repeats_memory_size {
        warn_of_sizes();
    }
    save(&report, &write_options(parsed, &options, &crossing.target), &output)?;
    for finding in findings.iter().filter(|finding| finding.kind.is_loss()) {
        messages::warning(Some(output.as_os_str().as_encoded_bytes()), &finding.to_string());
    }
    // The process ends here, so freeing the memory would only cost time.
    std::mem::forget(report);
    Ok(ExitCode::SUCCESS)
}

/// Returns LLVM's message if the merges of its threads cannot be combined. Only a requested number of threads counts,
/// because the default depends on the machine.
fn conflict_of_threads(parsed: &Parsed, report: &MergeReport, options: &MergeOptions) -> Option<&'static str> {
    let kinds: Vec<_> = report.inputs.iter().map(|input| input.kind).collect();
    conflict_of_contexts(&MergeRules::of(options.release), &kinds, contexts(parsed)).map(|conflict| match conflict {
        KindConflict::EntryOnly => {
            "unsupported instrumentation profile format version: cannot merge FunctionEntryOnly profiles and BB \
             profiles together"
        }
        _ => "unsupported instrumentation profile format version",
    })
}

/// Returns the number of contexts that LLVM merges separately before it combines them.
fn contexts(parsed: &Parsed) -> NonZeroUsize {
    let asked = parsed.number("num-threads").and_then(|number| usize::try_from(number).ok());
    asked.and_then(NonZeroUsize::new).unwrap_or(NonZeroUsize::MIN)
}

/// Prints warnings about damaged inputs, grouped by thread as LLVM does.
fn print_failures(parsed: &Parsed, report: &MergeReport) {
    let contexts = contexts(parsed).get();
    let mut failures: Vec<_> = report
        .inputs
        .iter()
        .enumerate()
        .filter_map(|(at, input)| match &input.outcome {
            InputOutcome::Failed(error) => Some((at % contexts, input, error)),
            _ => None,
        })
        .collect();
    failures.sort_by_key(|(context, ..)| *context);
    for lines in failures.iter().filter_map(|(.., error)| error.llvm_diagnostic()) {
        messages::line(lines.strip_suffix('\n').unwrap_or(lines).as_bytes());
    }
    for (_, input, error) in failures {
        messages::warning(Some(input.input.path.as_os_str().as_encoded_bytes()), &error.llvm_message());
    }
    // Only files with versions that LLVM 22 rejects have warnings.
    for warning in report.inputs.iter().flat_map(|input| &input.warnings) {
        messages::warning(None, &warning.to_string());
    }
}

fn warn_of_sizes() {
    messages::warning(
        None,
        "invalid profile created. Please file a bug at: https://github.com/llvm/llvm-project/issues/ and include \
         the profraw files that caused this error.",
    );
}

/// Returns the inputs in the order of the original tool.
fn inputs(parsed: &Parsed) -> Result<Vec<WeightedInput>, Failure> {
    let mut list = InputList::new(Compat::Llvm22);
    parsed.positionals.iter().try_for_each(|path| list.push(path))?;
    parsed.values("weighted-input").try_for_each(|text| list.push_weighted_text(&os_string(text)))?;
    if let Some(path) = path(parsed, "input-files") {
        list.push_list(&read_small(&path)?)?;
    }
    Ok(list.into_inputs())
}

fn path(parsed: &Parsed, name: &str) -> Option<PathBuf> {
    parsed.os_text(name).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn pattern(parsed: &Parsed, name: &str) -> Option<String> {
    parsed.value(name).map(|pattern| String::from_utf8_lossy(pattern).into_owned())
}

fn print_list(inputs: &[WeightedInput]) -> Result<(), Failure> {
    let mut text = Vec::new();
    for input in inputs {
        text.extend_from_slice(format!("{},", input.weight).as_bytes());
        text.extend_from_slice(input.path.as_os_str().as_encoded_bytes());
        text.push(b'\n');
    }
    let mut out = io::stdout().lock();
    out.write_all(&text)?;
    Ok(out.flush()?)
}

fn merge_options(parsed: &Parsed, conduct: &CompatMode) -> Result<MergeOptions, Failure> {
    let mut options = MergeOptions::default();
    options.read = conduct.read_options();
    options.failure_mode = match parsed.value("failure-mode") {
        Some(b"warn") => FailureMode::Warn,
        Some(b"all") => FailureMode::All,
        _ => FailureMode::Any,
    };
    options.threads = parsed.number("num-threads").and_then(|n| NonZeroUsize::new(usize::try_from(n).ok()?));
    options.trace_reservoir_size = parsed.number("temporal-profile-trace-reservoir-size");
    options.max_trace_length = parsed.number("temporal-profile-max-trace-length");
    options.keep_vtable_names = parsed.is_on("keep-vtable-symbols");
    options.read.programs = programs(parsed);
    options.memprof.version =
        parsed.value("memprof-version").and_then(|version| std::str::from_utf8(version).ok()?.parse().ok());
    options.memprof.full_schema = parsed.is_on("memprof-full-schema");
    options.memprof.thresholds = hotness_thresholds(parsed);
    if parsed.is_on("memprof-random-hotness") && parsed.last_of(&KINDS) != Some("sample") {
        options.memprof.random_hotness = Some(hotness_seed(parsed));
    }
    if let Some(path) = path(parsed, "remapping-file") {
        options.remapping = Remapping::parse(&read_small(&path)?).map_err(|error| remapping_fault(&path, &error))?;
    }
    Ok(options)
}

/// Returns the requested seed, or the time. The original tool prints either before it writes the output.
fn hotness_seed(parsed: &Parsed) -> u32 {
    let asked = parsed.number("memprof-random-hotness-seed").and_then(|seed| u32::try_from(seed).ok());
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs() as u32);
    let seed = asked.filter(|seed| *seed != 0).unwrap_or_else(now);
    messages::line(format!("random hotness seed = {seed}").as_bytes());
    seed
}

/// Returns the failure `FILE:LINE: unexpected line …`, with a note.
fn remapping_fault(path: &Path, error: &Error) -> Failure {
    let line = error.line().map(|line| line.to_string()).unwrap_or_default();
    let whence = [path.as_os_str().as_encoded_bytes(), b":", line.as_bytes()].concat();
    Failure::Message { whence: Some(whence), text: error.llvm_message(), note: error.hint().map(ToString::to_string) }
}

/// Rejects invalid requests, in the order of the original tool's checks.
fn check_request(parsed: &Parsed) -> Result<(), Failure> {
    let is_sample = parsed.last_of(&KINDS) == Some("sample");
    if path(parsed, "supplement-instr-with-sample").is_some() && is_sample {
        return Err(Failure::text("-supplement-instr-with-sample can only work with -instr. "));
    }
    if is_sample {
        return Ok(());
    }
    if parsed.last_of(&FORMATS) == Some("gcc") {
        return Err(Failure::text("unknown format is specified"));
    }
    check_correlation(parsed)
}

/// Checks that at most one of the four options for an object is given.
fn check_correlation(parsed: &Parsed) -> Result<(), Failure> {
    let by_debuginfod = parsed.is_on("debuginfod");
    let by_folder = path(parsed, "debug-file-directory").is_some();
    let is_named = |name| path(parsed, name).is_some();
    let ways = [is_named("debug-info"), is_named("binary-file"), by_debuginfod, by_folder];
    let asks = parsed.value("correlate").is_some_and(|value| !value.is_empty());
    let text = if ways.iter().filter(|way| **way).count() > 1 {
        "Expected only one of -debug-info, -binary-file, -debuginfod or -debug-file-directory"
    } else if asks && !by_debuginfod && !by_folder {
        "Expected --debuginfod or --debug-file-directory when --correlate is provided"
    } else if by_debuginfod && !asks {
        "Expected --correlate when --debuginfod is provided"
    } else if by_folder && !asks {
        "Expected --correlate when --debug-file-directory is provided"
    } else if by_debuginfod && has_servers() {
        "-debuginfod is not supported: no connection is opened; get the object with 'debuginfod-find debuginfo BUILDID' \
         and name it with -debug-info or -binary-file, or its folder with -debug-file-directory"
    } else {
        return Ok(());
    };
    Err(Failure::text(text))
}

/// Returns true if there are servers from which the original tool would fetch objects. Without any, it does not search,
/// and this program does not either.
fn has_servers() -> bool {
    std::env::var_os("DEBUGINFOD_URLS").is_some_and(|servers| !servers.as_encoded_bytes().trim_ascii().is_empty())
}

/// Prints `N of M functions …` if there is a filter.
fn print_filtered(report: &MergeReport, filter: &FunctionFilter) {
    if filter.is_none() {
        return;
    }
    let all = report.functions_len();
    let dropped = report.profile.functions.iter().filter(|function| !filter.keeps(function.name())).count();
    messages::line(format!("{dropped} of {all} functions in the original profile are filtered.").as_bytes());
}

fn write_options(parsed: &Parsed, options: &MergeOptions, target: &Target) -> WriteOptions {
    let mut write = WriteOptions::default();
    write.compat = options.read.compat;
    write.format = target.indexed_format();
    write.sparse = parsed.is_on("sparse");
    write.filter = options.filter.clone();
    write.threads = options.threads;
    if parsed.last_of(&FORMATS) == Some("text") {
        write.format = target.text_format();
    } else if parsed.is_on("write-prev-version") {
        let version = PREVIOUS_VERSION.min(target.indexed_version);
        write.format = OutputFormat::Indexed { release: target.release, version };
    }
    write
}

fn output(parsed: &Parsed) -> PathBuf {
    parsed.os_text("output").map_or_else(|| "-".into(), PathBuf::from)
}

fn save(report: &MergeReport, write: &WriteOptions, output: &Path) -> Result<(), Failure> {
    let is_text = matches!(write.format, OutputFormat::Text { .. });
    if output.as_os_str() == "-" && !is_text && io::stdout().is_terminal() {
        return Err(Failure::text("cannot write a non-text format profile to the terminal"));
    }
    let saved = report.write_file(write, output)?;
    let whence = Some(output.as_os_str().as_encoded_bytes());
    // Old releases drop binary ids without a message, and compilers do not use them.
    for loss in saved.losses.iter().filter(|loss| loss.kind != LossKind::BinaryIds) {
        messages::warning(whence, &format!("dropped {loss}, which the format cannot store"));
    }
    if let Some(stopped) = &saved.stopped {
        messages::warning(None, &stopped.llvm_message());
    }
    Ok(())
}

/// Prints the fault of a record.
pub(super) fn print_soft_error(file: &Path, error: &RecordError) {
    let (file, function) = (file.as_os_str().as_encoded_bytes(), &error.function[..]);
    messages::line(&[file, b": ", function, b": ", error.error.llvm_message().as_bytes()].concat());
    // A bitmap of another size is a mismatch without advice.
    if error.is_first && error.error.is_mismatch() && error.error != SoftError::BitmapMismatch {
        messages::line(b"Make sure that all profile data to be merged is generated from the same binary.");
    }
}
