//! `llvm-profdata show`.

use super::compat_mode::CompatMode;
use super::failure::{FAILURE, Failure};
use super::messages;
use super::options::KINDS;
use super::output::create_output;
use super::parsed::{Parsed, Program};
use super::raw_memory::{hotness_thresholds, programs, raw_memory_failure};
use super::values::{HOT, unsigned};
use profbridge::families;
use profbridge::input::Input;
use profbridge::instr::memory_profiles;
use profbridge::instr::show::ShowOptions;
use profbridge::names::NamePattern;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) fn run(program: &Program, parsed: &Parsed, conduct: &CompatMode) -> Result<ExitCode, Failure> {
    let file = parsed.positionals.first().cloned().unwrap_or_default();
    let debug_info = parsed.os_text("debug-info").filter(|path| !path.is_empty());
    if file.is_empty() && debug_info.is_none() {
        return Err(Failure::text(
            "the positional argument '<profdata-file>' is required unless '--debug-info' is provided",
        ));
    }
    if let Some(output) = parsed.os_text("output").filter(|output| *output == file) {
        let text = b" show: Input file name cannot be the same as the output file name!";
        // `-` as input and `-` as output are different files.
        if output != "-" {
            messages::line(&[program.name.as_slice(), text].concat());
            return Ok(ExitCode::from(FAILURE));
        }
    }
    let mut out = create_output(parsed)?;
    let options = show_options(parsed, conduct);
    if options.all_functions && options.function.is_some() {
        messages::warning(None, "-function argument ignored: showing all functions");
    }
    if let Some(image) = debug_info {
        out.write_all(&super::correlate::show(parsed, Path::new(&image))?)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    if parsed.last_of(&KINDS) == Some("sample") {
        let shown = super::sample::show(parsed, conduct, Path::new(&file), &mut out);
        out.flush()?;
        return shown.map(|()| ExitCode::SUCCESS);
    }
    check_kind(parsed)?;
    let file = PathBuf::from(file);
    if parsed.last_of(&KINDS) == Some("memory") {
        let mut read = conduct.read_options();
        read.programs = programs(parsed);
        let (file_input, thresholds) = (Input::argument(&file), hotness_thresholds(parsed));
        let shown = memory_profiles::show_yaml(file_input, &read, conduct.release(), &thresholds, &mut out);
        out.flush()?;
        return match shown {
            Err(error) if error.is_of_raw_memory_profile() => Err(raw_memory_failure(&error, &file, None)),
            shown => Ok(shown.map(|()| ExitCode::SUCCESS)?),
        };
    }
    let shown = families::show_file(Input::argument(&file), &conduct.read_options(), &options, &mut out);
    out.flush()?;
    shown?;
    Ok(ExitCode::SUCCESS)
}

/// Checks the kind: only instrumentation and memory profiles can be shown.
fn check_kind(parsed: &Parsed) -> Result<(), Failure> {
    let format = if parsed.is_on("json") { b"json" } else { parsed.value("show-format").unwrap_or(b"text") };
    match (parsed.last_of(&KINDS), format) {
        (Some("memory"), b"json") => Err(Failure::text("JSON output is not supported for MemProf")),
        (Some("memory"), _) => Ok(()),
        (_, b"json") => Err(Failure::text("JSON output is not supported for instr profiles")),
        (_, b"yaml") => Err(Failure::text("YAML output is not supported for instr profiles")),
        _ => Ok(()),
    }
}

fn show_options(parsed: &Parsed, conduct: &CompatMode) -> ShowOptions {
    let mut options = ShowOptions::default();
    options.all_functions = parsed.is_on("all-functions");
    options.function = parsed.value("function").filter(|part| !part.is_empty()).map(NamePattern::stored);
    options.counts = parsed.is_on("counts");
    options.indirect_call_targets = parsed.is_on("ic-targets");
    options.memop_sizes = parsed.is_on("memop-sizes");
    options.vtables = parsed.is_on("show-vtables");
    options.covered = parsed.is_on("covered");
    options.top = parsed.number("topn").and_then(|n| usize::try_from(n).ok()).unwrap_or_default();
    options.value_cutoff = parsed.number("value-cutoff").unwrap_or_default();
    options.only_below_cutoff = parsed.is_on("list-below-cutoff");
    options.hot_functions = parsed.is_on("hot-func-list");
    options.detailed_summary = parsed.is_on("detailed-summary");
    options.cutoffs = cutoffs(parsed);
    options.hot_cutoff = small(parsed, HOT[0]).unwrap_or(options.hot_cutoff);
    options.hot_count = parsed.count_of_threshold(conduct.release(), HOT);
    options.context_sensitive = parsed.is_on("showcs");
    options.text = parsed.is_on("text");
    options.binary_ids = parsed.is_on("binary-ids");
    options.profile_version = parsed.is_on("profile-version");
    options.temporal_traces = parsed.is_on("temporal-profile-traces");
    options
}

fn small(parsed: &Parsed, name: &str) -> Option<u32> {
    parsed.number(name).and_then(|n| u32::try_from(n).ok())
}

/// Returns all values of all lists.
fn cutoffs(parsed: &Parsed) -> Vec<u32> {
    let parts = parsed.values("detailed-summary-cutoffs").flat_map(|list| list.split(|b| *b == b','));
    parts.filter_map(|part| unsigned(part).and_then(|n| u32::try_from(n).ok())).collect()
}
