//! Sampled stacks.

use crate::ascii::to_hex;
use crate::call_chains::{Function, FunctionId, SampleSource, Selection, StackTable, Unit, percent};
use crate::digits::number_of;
use crate::driver::check::{CheckFinding, FileCheck};
use crate::driver::diff::{DiffOptions, Facts, Names, diff};
use crate::driver::distribution::Distribution;
use crate::error::{Error, ErrorKind, Level, Result, Verdict, Warning, WithWarnings};
use crate::families::any_profile::AnyProfile;
use crate::families::commands::{Commands, FileDiff};
use crate::families::content::{Content, Drawn};
use crate::families::describe;
use crate::families::memory::MemoryOptions;
use crate::families::stack_files::{
    StackOptions, add_file, add_input, choose_unit, compared_events, different_values, holds_stacks, read_stacks,
    unit_of, without_addresses,
};
use crate::hint::Hint;
use crate::input::{Access, Family, Format, Input};
use crate::instr::open::ReadOptions;
use crate::iprof;
use crate::limits::Limits;
use crate::model::description::{Description, PartDescription};
use crate::stacks::perf_data;
use crate::stacks::pprof;
use crate::stacks::pprof::{GoFinding, GoVerdict, Profile, ValueChoice};
use foldhash::HashMap;

/// The name of a function whose name is not known.
const UNNAMED: &str = "[unknown]";

/// Sampled stacks: recordings, text and pprof.
pub(super) struct Stacks;

impl Commands for Stacks {
    fn read(&self, input: &Input, options: &ReadOptions) -> Result<WithWarnings<AnyProfile>> {
        let own = StackOptions { limits: options.limits, ..StackOptions::default() };
        let (table, warnings) = read_stacks(std::slice::from_ref(input), &own)?;
        Ok(WithWarnings::new(AnyProfile::Stacks(table), warnings))
    }

    fn check(&self, input: Input, options: &iprof::ReadOptions) -> Result<FileCheck> {
        Ok(match input.format()? {
            Format::Pprof => check_pprof(&input, options.limits),
            Format::Jfr => check_table(&input, "jfr", options.limits),
            Format::PerfData => check_table(&input, "perf", options.limits),
            _ => check_table(&input, "stacks", options.limits),
        })
    }

    fn describe(&self, data: &[u8], format: Format, limits: &Limits) -> Description {
        match format {
            Format::Pprof => describe_pprof(data, limits),
            Format::PerfData => perf_data::describe(data, limits),
            _ => {
                let description = describe::describe(data, format, limits);
                add_samples(description, limits, |options, table| add_input(data, options, table))
            }
        }
    }

    fn describe_stream(&self, input: &Input, format: Format, limits: &Limits) -> Result<Option<Description>> {
        if format != Format::Jfr {
            return Ok(None);
        }
        let description = describe::describe_recording(input)?;
        Ok(Some(add_samples(description, limits, |options, table| add_file(input, options, table))))
    }

    /// An iprof can contain samples.
    fn compares_with(&self) -> &'static [Family] {
        &[Family::Iprof]
    }

    fn diff(&self, first: &Input, second: &Input, options: &DiffOptions) -> Result<FileDiff> {
        let read = StackOptions { limits: options.limits, ..StackOptions::default() };
        diff_stacks(first, second, &read, &Selection::default(), options)
    }

    /// A recording contains allocations itself.
    fn draws_memory(&self, input: &Input, options: &MemoryOptions, _: &Limits) -> Result<bool> {
        Ok(options.asked_for && input.format()? != Format::Jfr)
    }

    fn draw(&self, inputs: &[Input], options: &StackOptions, selection: &Selection) -> Result<Drawn> {
        let (table, warnings) = read_stacks(inputs, options)?;
        let selected = table.select(selection).0;
        unit_of(&selected)?;
        Ok((Content::Stacks(without_addresses(selected)), warnings))
    }
}

fn finding(level: Level, code: String, message: String) -> CheckFinding {
    CheckFinding { level: level.name(), code, path: "$".to_string(), offset: None, message, hint: None, more: 0 }
}

fn check(format: &'static str, findings: Vec<CheckFinding>, hint: Option<Hint>) -> FileCheck {
    let has_errors = findings.iter().any(|finding| finding.level == Level::Error.name());
    let verdict = if has_errors { Verdict::Unusable } else { Verdict::Usable };
    FileCheck {
        path: String::new(),
        format,
        version: None,
        verdict: verdict.name(),
        findings,
        hint,
        failed: false,
        density: None,
        hot: Vec::new(),
        distribution: None,
    }
}

/// The finding for a file that does not read.
fn unreadable(format: &'static str, error: &Error) -> FileCheck {
    let message = error.kind().to_string();
    let place = error.place();
    let found = finding(Level::Error, format!("{format}.malformed"), message);
    let found = CheckFinding { path: place, offset: error.offset(), hint: error.hint().cloned(), ..found };
    let check = check(format, vec![found], None);
    match error.kind() {
        ErrorKind::LimitExceeded { .. } | ErrorKind::Unsupported { .. } | ErrorKind::UnsupportedVersion { .. } => {
            FileCheck { verdict: Verdict::Rejected.name(), ..check }
        }
        _ => check,
    }
}

fn check_table(input: &Input, format: &'static str, limits: Limits) -> FileCheck {
    let mut table = StackTable::new();
    let mut options = StackOptions { limits, ..StackOptions::default() };
    options.text.accept_weights = true;
    match add_file(input, &options, &mut table) {
        Err(error) => unreadable(format, &error),
        Ok(warnings) => {
            let oddity = |message: String| finding(Level::Warning, format!("{format}.oddity"), message);
            let mut findings: Vec<CheckFinding> = warnings.into_iter().map(|found| oddity(found.message)).collect();
            if table.is_empty() {
                let message = "the profile has no samples".to_string();
                findings.push(finding(Level::Warning, format!("{format}.no-samples"), message));
            }
            if table.observed.samples_without_stack > 0 {
                let samples = number_of(table.observed.samples_without_stack, "sample");
                let message = format!("{samples} without a stack, not counted");
                findings.push(finding(Level::Info, format!("{format}.no-stack"), message));
            }
            let counts = check_functions(&table, format, &mut findings);
            FileCheck { distribution: Some(counts), ..check(format, findings, None) }
        }
    }
}

/// Reports samples in functions without a name. Returns the distribution of the samples.
fn check_functions(table: &StackTable, format: &str, findings: &mut Vec<CheckFinding>) -> Distribution {
    let (counts, unnamed) = count_functions(table);
    if unnamed > 0 {
        let share = percent(unnamed, table.total_hits());
        let message = format!("{share:.1} % of the samples are in functions without a name");
        findings.push(finding(Level::Info, format!("{format}.unnamed-functions"), message));
    }
    counts
}

/// Returns the samples of each function, and those without a function.
fn count_functions(table: &StackTable) -> (Distribution, u128) {
    let mut hits: HashMap<FunctionId, u128> = HashMap::default();
    for sample in table.samples() {
        let function = table.frame(table.leaf(sample.key.stack)).function;
        *hits.entry(function).or_default() += u128::from(sample.hits);
    }
    let (mut counts, mut unnamed) = (Distribution::new(Family::Stacks), 0);
    for (function, hits) in hits {
        let name = table.display_function(function);
        counts.add(name.as_bytes(), hits);
        unnamed += if name == UNNAMED { hits } else { 0 };
    }
    (counts, unnamed)
}

fn check_pprof(input: &Input, limits: Limits) -> FileCheck {
    let read = input.stored_bytes(Access::Read, &limits).and_then(|stored| {
        let data = input.bytes(Access::Read, &limits)?;
        let form = pprof::judge_form_for_go(&stored, input.is_partial());
        let profile = pprof::read(&data, &limits)?;
        let mut table = StackTable::new();
        // Profiles without a value that counts have no distribution.
        let added = pprof::add_to_table(&profile.0, &ValueChoice::default(), &mut table);
        Ok((profile, form, (added.is_ok() && !table.is_empty()).then_some(table)))
    });
    match read {
        Err(error) => unreadable("pprof", &error),
        Ok(((profile, warnings), form, table)) => {
            let mut findings: Vec<CheckFinding> = warnings
                .into_iter()
                .map(|found| finding(Level::Warning, "pprof.unknown-fields".to_string(), found.message))
                .collect();
            let is_for_go = input.path.extension().is_some_and(|extension| extension == "pgo");
            let hint = match form {
                // The file is for other readers.
                Some(_) if !is_for_go => None,
                form => add_go_findings(&profile, form, is_for_go, &mut findings),
            };
            let distribution = table.map(|table| check_functions(&table, "pprof", &mut findings));
            let check = check("pprof", findings, hint);
            // Other readers use what Go's compiler rejects.
            let verdict = if check.verdict == Verdict::Usable.name() { Verdict::Usable } else { Verdict::Rejected };
            FileCheck { distribution, verdict: verdict.name(), ..check }
        }
    }
}

/// Reports a profile that is not pprof, but is named for Go's compiler.
pub(super) fn reject_other_for_go(check: &mut FileCheck) {
    let message = "Go's compiler rejects it as default.pgo, because it is not pprof".to_string();
    let found = finding(Level::Error, format!("{}.go-refuses", check.format), message);
    check.findings.push(CheckFinding { hint: Some("convert it to a .pgo file".into()), ..found });
    check.verdict = Verdict::Rejected.name();
}

/// Reports how Go's compiler treats a profile. A rejected profile is an error if it is named for the compiler,
/// otherwise a warning.
fn add_go_findings(
    profile: &Profile,
    form: Option<GoFinding>,
    is_for_go: bool,
    findings: &mut Vec<CheckFinding>,
) -> Option<Hint> {
    let (verdict, found) = match form {
        Some(form) => (GoVerdict::Refuses, vec![form]),
        None => pprof::judge_for_go(profile),
    };
    let refused = if is_for_go { Level::Error } else { Level::Warning };
    let (level, words) = match verdict {
        GoVerdict::OptionValue => (Level::Info, "Go's compiler uses it as default.pgo"),
        GoVerdict::Ignores => (Level::Warning, "Go's compiler accepts it as default.pgo, but ignores it"),
        GoVerdict::Refuses => (refused, "Go's compiler rejects it as default.pgo"),
    };
    let code = match verdict {
        GoVerdict::OptionValue => "pprof.go-takes",
        GoVerdict::Ignores => "pprof.go-ignores",
        GoVerdict::Refuses => "pprof.go-refuses",
    };
    let value = profile.value_for_go().or_else(|| profile.main_value());
    let value = value.map(|at| profile.value_name(profile.sample_types[at]));
    let measure = value.map(|value| format!("; values: {value}")).unwrap_or_default();
    findings.push(finding(
        level,
        code.to_string(),
        format!("{words} ({}{measure})", number_of(profile.samples.len(), "stack")),
    ));
    let hint = found.first().map(|found| found.hint.into());
    findings.extend(found.into_iter().map(|found| {
        let level = if verdict == GoVerdict::Refuses { level } else { Level::Warning };
        finding(level, format!("pprof.{}", found.code), found.message)
    }));
    hint
}

/// Adds the stacks to the description of a recording or a text.
fn add_samples(
    mut description: Description,
    limits: &Limits,
    read: impl FnOnce(&StackOptions, &mut StackTable) -> Result<Vec<Warning>>,
) -> Description {
    let mut options = StackOptions { limits: *limits, ..StackOptions::default() };
    options.text.accept_weights = true;
    let mut table = StackTable::new();
    match read(&options, &mut table) {
        Ok(warnings) => description.warnings.extend(warnings.into_iter().map(|warning| warning.message)),
        Err(error) if description.error.is_none() => description.set_error(&error),
        Err(_) => {}
    }
    if let Some(part) = description.parts.first_mut() {
        let (sources, others) = (table.hits_by_source(), &table.observed.skipped_events);
        // Stacks of events that are not read by default are not counted.
        let kinds: Vec<&str> = sources.iter().map(|(source, _)| source.word()).collect();
        let of_kinds = if others.is_empty() { String::new() } else { format!(" of {} samples", kinds.join(" and ")) };
        let is_counted = others.is_empty() || !kinds.is_empty();
        if is_counted {
            part.fact("stacks", format!("{}{of_kinds}", table.samples().count()));
        }
        for (source, hits) in sources {
            let sort = match source {
                SampleSource::Unknown => String::new(),
                known => format!(" {}", known.word()),
            };
            part.fact("samples", format!("{hits}{sort}"));
        }
        for (source, events) in others {
            part.fact("events", format!("{events} {}", source.word()));
        }
        if is_counted {
            part.fact("functions", format!("{}{of_kinds}", table.functions().count()));
        }
    }
    description
}

/// A pprof profile.
pub(crate) fn describe_pprof(data: &[u8], limits: &Limits) -> Description {
    let mut description = Description::new(pprof::FORMAT, data.len() as u64);
    description.supported = true;
    match pprof::read(data, limits) {
        Ok((profile, warnings)) => {
            description.warnings.extend(warnings.into_iter().map(|warning| warning.message));
            description.parts.push(part(&profile));
        }
        Err(error) => description.set_error(&error),
    }
    description
}

/// The label of what Go's compiler does with a profile.
pub(crate) const GO_FACT: &str = "as default.pgo of Go";

fn part(profile: &Profile) -> PartDescription {
    let (go, compiler) = match pprof::judge_for_go(profile).0 {
        GoVerdict::OptionValue => ("taken", "go build -pgo, "),
        GoVerdict::Ignores => ("accepted but ignored", "go build -pgo, "),
        GoVerdict::Refuses => ("refused", ""),
    };
    let read_by = Some(format!("pprof, go tool pprof, {compiler}profbridge"));
    let mut part = PartDescription { read_by, ..PartDescription::default() };
    for (label, count) in [
        ("samples", profile.samples.len()),
        ("mappings", profile.mappings.len()),
        ("locations", profile.locations.len()),
        ("functions", profile.functions.len()),
        ("strings", profile.strings.len()),
    ] {
        part.fact(label, count.to_string());
    }
    part.fact("values", profile.value_names().join(", "));
    if !profile.default_sample_type.is_empty() {
        part.fact("value shown by default", profile.text(profile.default_sample_type));
    }
    if let Some(of) = profile.period_type {
        part.fact("period", format!("{} {}", profile.period, profile.value_name(of)));
    }
    if profile.duration_nanos > 0 {
        part.fact("duration", format!("{:.3} s", profile.duration_nanos as f64 / 1e9));
    }
    for (label, id) in [("dropped frames", profile.drop_frames), ("kept frames", profile.keep_frames)] {
        if !id.is_empty() {
            part.fact(label, profile.text(id));
        }
    }
    for comment in &profile.comments {
        part.fact("comment", profile.text(*comment));
    }
    part.fact(GO_FACT, format!("{go} (see check)"));
    for mapping in profile.mappings.iter().filter(|mapping| !mapping.build_id.is_empty()) {
        let id = profile.strings.get(mapping.build_id);
        part.binary_ids.push(String::from_utf8(id.to_vec()).unwrap_or_else(|_| to_hex(id)));
    }
    part
}

/// Whether two files are compared as stacks: both hold some, and one of them is
/// not an iprof. Two iprof files have more to compare.
///
/// # Errors
///
/// I/O errors with the path.
pub fn are_stacks(first: &Input, second: &Input) -> Result<bool> {
    let formats = [first.format()?, second.format()?];
    Ok(formats.into_iter().all(holds_stacks) && formats != [Format::Iprof; 2])
}

/// Compares the selected samples of two sources of stacks: by whole stack, and
/// by the method that was running.
///
/// # Errors
///
/// The errors of the readers, with the path; usage if there is nothing to compare.
pub fn diff_stacks(
    first: &Input,
    second: &Input,
    read: &StackOptions,
    selection: &Selection,
    options: &DiffOptions,
) -> Result<FileDiff> {
    let mut warnings = Vec::new();
    let mut table = |input: &Input| {
        let path = &input.path;
        let mut table = StackTable::new();
        let found = add_file(input, read, &mut table).map_err(|error| error.in_file(path))?;
        warnings.extend(found.into_iter().map(|warning| warning.in_file(path)));
        let mut selection = selection.clone();
        // Sources without event types have samples that measure time.
        if !has_event_types(&table) && selection.sources.iter().all(|source| source.is_timed()) {
            selection.sources.clear();
        }
        let selected = table.select(&selection).0;
        if selected.is_empty() {
            return Err(Error::nothing_found("no samples are left to compare").in_file(path));
        }
        let unit = unit_of(&selected).map_err(|error| error.in_file(path))?;
        Ok((without_addresses(selected), unit))
    };
    let [(one, unit), (other, other_unit)] = [table(first)?, table(second)?];
    if let (Some(one), Some(other)) = (one.main_source(), other.main_source())
        && one != other
        && ![one, other].contains(&SampleSource::Unknown)
    {
        let message = format!(
            "its {} samples are compared with the {} samples of the first, which measure something else",
            other.word(),
            one.word()
        );
        warnings.push(Warning::new(message).in_file(&second.path));
    }
    let compared = compared_events([&one, &other]);
    warnings.extend(compared.map(|message| Warning::new(message).in_file(&second.path)));
    if unit != other_unit {
        let detail = format!("it counts {}, the first counts {}", other_unit.word(), unit.word());
        return Err(Error::usage(detail).in_file(&second.path).with_hint(choose_unit([unit, other_unit])));
    }
    if let Some([value, other_value]) = different_values([&one, &other]) {
        let detail = format!("it counts {other_value}, the first counts {value}");
        return Err(Error::usage(detail).in_file(&second.path).with_hint(Hint::ChooseValue));
    }
    let mut tables = [one, other];
    if is_iprof(first)? || is_iprof(second)? {
        for (table, input) in tables.iter_mut().zip([first, second]) {
            let none = || Error::nothing_found("no sample has a Java frame").in_file(&input.path);
            *table = java_only(table).ok_or_else(none)?;
        }
    }
    let mut space = Space { with_types: tables.iter().all(has_types), ..Space::default() };
    let [first, second] = [space.facts(&tables[0]), space.facts(&tables[1])];
    let mut options = options.clone();
    options.functions_by = if unit == Unit::Hits { "samples" } else { unit.word() };
    Ok(FileDiff { warnings, ..FileDiff::new(diff(first, second, &space, &options)) })
}

/// Returns true if the samples have event types, as in recordings. Other sources have only one type.
fn has_event_types(table: &StackTable) -> bool {
    table.samples().any(|sample| sample.key.source != SampleSource::Unknown)
}

fn is_iprof(input: &Input) -> Result<bool> {
    Ok(input.format()? == Format::Iprof)
}

/// Stacks without native frames, whose hits their Java callers get.
fn java_only(table: &StackTable) -> Option<StackTable> {
    let is_java = |table: &StackTable, id: FunctionId| matches!(table.function(id), Function::Java { .. });
    let (kept, _) = table.map_frames(|out, frame| is_java(out, frame.function).then_some(frame));
    (!kept.is_empty()).then_some(kept)
}

/// Whether the types of all Java methods are known.
pub(super) fn has_types(table: &StackTable) -> bool {
    table.functions().all(|id| !matches!(table.function(id), Function::Java { signature: None, .. }))
}

/// Numbers that mean the same in both tables.
#[derive(Default)]
struct Space {
    with_types: bool,
    methods: HashMap<String, u32>,
    names: Vec<String>,
    /// Stacks by caller and method.
    stacks: HashMap<(Option<u64>, u32), u64>,
}

impl Space {
    fn method(&mut self, table: &StackTable, id: FunctionId) -> u32 {
        let name = match table.function(id) {
            Function::Java { class, name, .. } if !self.with_types => {
                format!("{}.{}", table.name(class), table.name(name))
            }
            Function::Java { .. } => table.display_function(id),
            // Collapsed text cannot have the separator of frames in a name.
            Function::Symbol { name } => table.name(name).replace(';', ":"),
        };
        if let Some(known) = self.methods.get(&name) {
            return *known;
        }
        let number = self.names.len() as u32;
        self.names.push(name.clone());
        self.methods.insert(name, number);
        number
    }

    fn facts(&mut self, table: &StackTable) -> Facts {
        let methods: Vec<u32> = table.functions().map(|id| self.method(table, id)).collect();
        let mut stacks: Vec<u64> = Vec::with_capacity(table.stacks().len());
        for stack in table.stacks() {
            let caller = table.parent(stack).map(|caller| stacks[caller.index()]);
            let method = methods[table.frame(table.leaf(stack)).function.index()];
            let next = self.stacks.len() as u64;
            stacks.push(*self.stacks.entry((caller, method)).or_insert(next));
        }
        let mut facts = Facts::default();
        let (mut whole, mut leaves) = (Vec::new(), Vec::new());
        let mut is_sampled = vec![false; stacks.len()];
        for sample in table.samples() {
            let (stack, hits) = (sample.key.stack, u128::from(sample.hits));
            let method = methods[table.frame(table.leaf(stack)).function.index()];
            whole.push(((stacks[stack.index()], 0), hits));
            leaves.push(((u64::from(method), 0), hits));
            facts.functions.push((u64::from(method), hits));
            // Callers without samples of their own are in the profile, too.
            let mut next = Some(stack);
            while let Some(stack) = next.filter(|stack| !std::mem::replace(&mut is_sampled[stack.index()], true)) {
                facts.functions.push((u64::from(methods[table.frame(table.leaf(stack)).function.index()]), 0));
                next = table.parent(stack);
            }
        }
        facts.sections.insert(STACKS, whole);
        facts.sections.insert(METHODS, leaves);
        facts
    }
}

/// Samples by whole stack.
const STACKS: &str = "stacks";
/// Samples by the method that was running.
const METHODS: &str = "methods";

impl Names for Space {
    fn function(&self, function: u64) -> String {
        usize::try_from(function).ok().and_then(|at| self.names.get(at)).cloned().unwrap_or_default()
    }

    fn site(&self, _: &str, site: u64) -> String {
        self.function(site)
    }

    fn part(&self, _: &str, part: i64) -> String {
        part.to_string()
    }
}
