//! Sample profiles in llvm-profdata mode: `merge --sample`, `show --sample`, `overlap --sample`.

use super::compat_mode::CompatMode;
use super::failure::Failure;
use super::messages;
use super::options::FORMATS;
use super::parsed::Parsed;
use super::values::{COLD, HOT, boolean, float, read_small, signed};
use profbridge::families::MergeOptions;
use profbridge::input::{Input, WeightedInput};
use profbridge::instr::SoftError;
use profbridge::instr::{Profile, Release};
use profbridge::names::NamePattern;
use profbridge::sampleprof::overlap::OverlapOptions;
use profbridge::sampleprof::{
    self, ColdContexts, Encoding, FileMergeOptions, Filter, InputMessage, InputReports, Layout, ReadOptions, Rules,
    SampleProfile, Summary, SupplementOptions, Threshold, WriteOptions, is_text_fault, show,
};
use profbridge::{Compat, Error, Result};
use std::ffi::OsStr;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Returns the failure with llvm-profdata's text for sample profiles.
pub(super) fn failure(error: &Error) -> Failure {
    let mut whence = error.path().map(|path| path.as_os_str().as_encoded_bytes().to_vec());
    if let Some((whence, line)) = whence.as_mut().zip(error.line()).filter(|_| is_text_fault(error)) {
        whence.extend_from_slice(format!(":{line}").as_bytes());
    }
    Failure::Message { whence, text: sampleprof::llvm_message(error), note: None }
}

/// Returns the rules of a release, with the treatment of calling contexts in summaries that an option asks for.
pub(super) fn rules(parsed: &Parsed, of_release: Rules) -> Rules {
    let merges = parsed.value("profile-summary-contextless").and_then(boolean);
    merges.map_or(of_release, |merges| of_release.merging_contexts_for_summary(merges))
}

/// Returns the options for reading profiles: the rules of the imitated release, with the switches of the libraries.
fn read_options(parsed: &Parsed, conduct: &CompatMode) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.rules = rules(parsed, Rules::of(conduct.release()));
    options.every_release = conduct.compat != Compat::Llvm22;
    options.digits_for_hashes = true;
    options.flow_sensitive = parsed.is_on("profile-isfs");
    options.discriminator_bits = match parsed.value("fs-discriminator-pass") {
        Some(b"Base") => 8,
        Some(b"Pass1") => 14,
        Some(b"Pass2") => 20,
        Some(b"Pass3") => 26,
        _ => 32,
    };
    if let Some(most) = parsed.number("profile-symbol-list-cutoff") {
        options.most_symbols = usize::try_from(most).unwrap_or(usize::MAX);
    }
    options
}

/// Runs `merge --sample`.
pub(super) fn merge(
    parsed: &Parsed,
    inputs: &[WeightedInput],
    asked: MergeOptions,
    conduct: &CompatMode,
) -> Result<ExitCode, Failure> {
    let output = parsed.os_text("output").map_or_else(|| PathBuf::from("-"), PathBuf::from);
    let pattern = |name| parsed.value(name).map(|pattern| String::from_utf8_lossy(pattern).into_owned());
    let filter = Filter::new(pattern("function").as_deref(), pattern("no-function").as_deref());
    let mut options = FileMergeOptions::default();
    options.read = read_options(parsed, conduct);
    options.compat = conduct.compat;
    options.failure_mode = asked.failure_mode;
    options.merge.remapping = asked.remapping;
    options.merge.drop_symbols = parsed.is_on("drop-profile-symbol-list");
    options.merge.cold = cold_contexts(parsed, conduct);
    options.merge.layout = layout(parsed);
    options.merge.filter = filter.as_ref().cloned().unwrap_or_default();
    options.threads = parsed.number("num-threads").and_then(|n| NonZeroUsize::new(usize::try_from(n).ok()?));
    let merged = sampleprof::merge_files(inputs, &options, &mut |_, _| {});
    print_messages(merged.as_ref().map_or_else(|failed| &failed.inputs, |report| &report.inputs));
    let report = merged.map_err(|failed| failure(&failed.error))?;
    // An invalid pattern is reported after the damaged inputs.
    filter.map_err(|error| failure(&error))?;
    if let Some((all, dropped)) = report.filtered {
        messages::line(format!("{dropped} of {all} functions in the original profile are filtered.").as_bytes());
    }
    let mut profile = report.profile;
    if let Some(path) = parsed.os_text("prof-sym-list").filter(|path| !path.is_empty()) {
        let text = read_small(Path::new(&path)).map_err(|error| failure(&error))?;
        profile.symbols.get_or_insert_default().extend(sampleprof::parse_symbols(&text));
    }
    sampleprof::check_writable(&profile, &encoding_options(parsed, options.read.rules))
        .map_err(|error| failure(&error.in_file(&output)))?;
    let write =
        write_options(parsed, options.read.rules, profile.symbols.as_ref().is_some_and(|symbols| !symbols.is_empty()));
    let written = sampleprof::write(&profile, &write).map_err(|error| failure(&error))?;
    profbridge::input::output::replace(&output, &written)?;
    // The process ends here, so freeing the memory would only cost time.
    std::mem::forget(profile);
    Ok(ExitCode::SUCCESS)
}

fn cold_contexts(parsed: &Parsed, conduct: &CompatMode) -> ColdContexts {
    let mut cold = ColdContexts::default();
    cold.merge = parsed.is_on("sample-merge-cold-context");
    cold.trim = parsed.is_on("sample-trim-cold-context");
    if let Some(frames) = parsed.number("sample-frame-depth-for-cold-context") {
        cold.frames = usize::try_from(frames).unwrap_or(usize::MAX);
    }
    cold.threshold = threshold(parsed, conduct.release(), cold.threshold, COLD);
    cold
}

/// Returns the threshold with the values of LLVM's options for its cutoff and its count.
pub(super) fn threshold(parsed: &Parsed, release: Release, default: Threshold, names: [&str; 2]) -> Threshold {
    let given = parsed.value(names[0]).and_then(signed);
    // Like all large cutoffs, negative ones are larger than those of the summary.
    let cutoff = given.map_or(default.cutoff, |cutoff| u32::try_from(cutoff).unwrap_or(u32::MAX));
    Threshold { cutoff, count: parsed.count_of_threshold(release, names).or(default.count) }
}

fn layout(parsed: &Parsed) -> Option<Layout> {
    match parsed.value("convert-sample-profile-layout")? {
        b"flat" => Some(Layout::Flat),
        b"nest" => Some(nested(parsed)),
        _ => None,
    }
}

/// Returns the layout without calling contexts.
pub(super) fn nested(parsed: &Parsed) -> Layout {
    Layout::Nest { merged_base: parsed.is_on("generate-merged-base-profiles") }
}

/// Returns the options of the requested encoding.
fn encoding_options(parsed: &Parsed, rules: Rules) -> WriteOptions {
    let mut options = WriteOptions::default();
    options.rules = rules;
    options.as_llvm = true;
    options.encoding = match parsed.last_of(&FORMATS) {
        Some("text") => Encoding::Text,
        Some("binary") => Encoding::Binary,
        Some("gcc") => Encoding::Gcc,
        Some("compbinary") => Encoding::CompactBinary,
        None if !rules.writes_extensible_by_default() => Encoding::Binary,
        _ => Encoding::ExtBinary,
    };
    if let Some(version) = parsed.number("sample-profile-format-version") {
        options.version = version;
    }
    options
}

/// Returns the writer's options, and warns about options without effect.
fn write_options(parsed: &Parsed, rules: Rules, has_symbols: bool) -> WriteOptions {
    let mut options = encoding_options(parsed, rules);
    let is_ext = options.encoding == Encoding::ExtBinary;
    let switch = |name: &str, shown: &str, works: bool| {
        let is_on = parsed.is_on(name);
        if is_on && !works {
            messages::warning(None, &format!("-{shown} is ignored. Specify -extbinary to enable it"));
        }
        is_on && works
    };
    let splits = is_ext || options.encoding == Encoding::Text;
    options.split_layout = switch("split-layout", "split-layout", splits);
    if has_symbols && !is_ext {
        messages::warning(
            None,
            "Profile Symbol list is not empty but the output format is not ExtBinary format. The list will be lost \
             in the output. ",
        );
    }
    options.compress = switch("compress-all-sections", "compress-all-section", is_ext);
    options.use_md5 = switch("use-md5", "use-md5", is_ext);
    options.partial = switch("gen-partial-profile", "gen-partial-profile", is_ext);
    options.vtables = parsed.is_on("extbinary-write-vtable-type-prof");
    options.size_limit = parsed.number("output-size-limit").unwrap_or_default();
    options
}

/// Runs `show --sample`.
pub(super) fn show(parsed: &Parsed, conduct: &CompatMode, file: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let format = if parsed.is_on("json") { b"json" } else { parsed.value("show-format").unwrap_or(b"text") };
    if format == b"yaml" {
        return Err(Failure::text("YAML output is not supported for sample profiles"));
    }
    let options = read_options(parsed, conduct);
    let rules = options.rules;
    let said = |error: Error| failure(&error.in_file(file));
    let bytes = read_small(file).map_err(said)?;
    let encoding = sampleprof::detect(&bytes);
    if parsed.is_on("show-sec-info-only") && encoding.is_some() {
        if encoding == Some(Encoding::ExtBinary) {
            out.write_all(sampleprof::describe_sections(&bytes, &options).map_err(said)?.as_bytes())?;
        } else {
            messages::warning(
                None,
                "-show-sec-info-only is only supported for sample profile in extbinary format and is ignored for \
                 other formats.",
            );
        }
        return Ok(());
    }
    let mut profile = sampleprof::read(&bytes, &options).map_err(said)?;
    let symbols = profile.symbols.take();
    let stored = profile.summary.take();
    let profile = profile.in_container_order(rules);
    let function = parsed.value("function").unwrap_or_default();
    let all = parsed.is_on("all-functions") || function.is_empty();
    let most = parsed.number("topn").unwrap_or_default();
    let lists_hot = parsed.is_on("hot-func-list") || most > 0;
    // Sorting all counts takes long, and most listings need no summary.
    let needs_summary = lists_hot || parsed.is_on("detailed-summary");
    let summary = match stored {
        None if needs_summary => profile.compute_summary(rules),
        stored => stored.unwrap_or_default(),
    };
    match (all, format) {
        (true, b"json") => show::write_json(&profile, rules, usize::MAX, out)?,
        (true, _) => show::write_functions(&profile, rules, out)?,
        (false, b"json") => {
            return Err(Failure::text("the JSON format is supported only when all functions are to be printed"));
        }
        (false, _) => show::write_function(&profile, function, rules, out)?,
    }
    if parsed.is_on("show-prof-sym-list") {
        show::write_symbols(symbols.as_ref(), out)?;
    }
    if parsed.is_on("detailed-summary") {
        show::write_summary(&summary, out)?;
    }
    if lists_hot {
        show::write_hot_functions(&profile, &summary, usize::try_from(most).unwrap_or(usize::MAX), out)?;
    }
    // The process ends here, so freeing the memory would only cost time.
    std::mem::forget(profile);
    Ok(())
}

/// Runs `overlap --sample`.
pub(super) fn overlap(
    parsed: &Parsed,
    conduct: &CompatMode,
    [base, test]: [&OsStr; 2],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut options = OverlapOptions::default();
    options.function = parsed.value("function").filter(|part| !part.is_empty()).map(NamePattern::stored);
    options.value_cutoff = parsed.number("value-cutoff").unwrap_or(u64::MAX);
    options.similarity_cutoff = parsed.number("similarity-cutoff").unwrap_or_default();
    options.hot = threshold(parsed, conduct.release(), options.hot, HOT);
    let (first, second, read) = (Input::argument(base), Input::argument(test), read_options(parsed, conduct));
    let report = sampleprof::overlap_files(first, second, &read, conduct.compat, &options);
    let report = report.map_err(|error| failure(&error))?;
    Ok(report.write_text(base.as_encoded_bytes(), test.as_encoded_bytes(), conduct.compat, out)?)
}

/// The effect of `--supplement-instr-with-sample` on an instrumentation profile.
pub(super) struct Supplement {
    profile: SampleProfile,
    summary: Summary,
    options: SupplementOptions,
}

impl Supplement {
    /// Raises the counters of functions that are warm only according to the samples.
    pub(super) fn apply(&self, profile: &mut Profile) -> Result<()> {
        let (ambiguous, saturated) = sampleprof::supplement(profile, &self.profile, &self.summary, &self.options)?;
        for name in ambiguous {
            let name = String::from_utf8_lossy(&name).into_owned();
            let text = format!("Static function {name} has multiple promoted names, cannot adjust profile.");
            messages::warning(None, &text);
        }
        (0..saturated).for_each(|_| messages::warning(None, SoftError::CounterOverflow.llvm_message()));
        Ok(())
    }
}

/// Reads the profile given by `--supplement-instr-with-sample`, if any.
pub(super) fn supplement(
    parsed: &Parsed,
    conduct: &CompatMode,
    inputs: &[WeightedInput],
) -> Result<Option<Supplement>, Failure> {
    let Some(path) = parsed.os_text("supplement-instr-with-sample").filter(|path| !path.is_empty()) else {
        return Ok(None);
    };
    let refuse = |text: &str| Err(Failure::text(text));
    if parsed.os_text("output").is_none_or(|output| output == "-") {
        return refuse("cannot write indexed profdata format to stdout");
    }
    let [input] = inputs else { return refuse("expect one input to be an instr profile") };
    if input.weight.get() != 1 {
        return refuse("expect instr profile doesn't have weight");
    }
    let mut options = SupplementOptions::default();
    options.release = conduct.release();
    if let Some(share) = parsed.value("zero-counter-threshold").and_then(float) {
        options.zero_counter_threshold = share as f32;
    }
    if let Some(least) = parsed.number("suppl-min-size-threshold") {
        options.min_size_threshold = usize::try_from(least).unwrap_or(usize::MAX);
    }
    options.cold_threshold = parsed.number("instr-prof-cold-threshold").unwrap_or_default();
    let loaded = sampleprof::load_file(Input::argument(&path), &read_options(parsed, conduct), conduct.compat);
    let (profile, summary) = loaded.map_err(|error| failure(&error))?;
    Ok(Some(Supplement { profile, summary, options }))
}

/// Prints the messages about inputs and their records.
fn print_messages(inputs: &InputReports) {
    inputs.each_message(&mut |_, report, message| {
        let file = report.input.path.as_os_str().as_encoded_bytes();
        match message {
            InputMessage::Fault(fault) => {
                let separator: &[u8] = if fault.title.is_empty() { b"" } else { b": " };
                messages::line(&[file, b": ", &fault.title, separator, fault.fault.llvm_message().as_bytes()].concat());
            }
            InputMessage::Skipped(error) => messages::warning(Some(file), &sampleprof::llvm_message(error)),
            InputMessage::Empty(error) => messages::warning(Some(file), &sampleprof::llvm_message(error)),
        }
    });
}
