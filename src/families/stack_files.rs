//! Sampled stacks from any number of inputs of any kind.

use crate::bridge::stacks::{IprofHits, add_reference, stacks_from_iprof};
use crate::call_chains::{Frame, Function, Sample, SampleSource, Selection, StackTable, Unit};
use crate::cancel::Cancel;
use crate::driver::{
    self, Facts, FactsRequest, FailedMerge, FailureMode, InputOutcome, InputReport, InputTurn, Merge, MergeJob, Merged,
    OnProgress, RunOptions,
};
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::families::memory::MemoryOptions;
use crate::families::partial;
use crate::hint::Hint;
use crate::input::{Access, Family, Format, Input, WeightedInput, detect};
use crate::iprof::Document;
use crate::limits::Limits;
use crate::stacks::classes::Reference;
use crate::stacks::collapsed::{TextOptions, read_stacks_until};
use crate::stacks::jfr::RecordingOptions;
use crate::stacks::perf_data::{PerfOptions, read_perf_data};
use crate::stacks::pprof::ValueChoice;
use crate::stacks::{jfr, pprof};
use crate::{iprof, java};
use std::collections::HashSet;
use std::io::{BufReader, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// How stacks are read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StackOptions {
    /// Recordings.
    pub recording: RecordingOptions,
    /// Recordings of perf.
    pub perf: PerfOptions,
    /// Collapsed and folded text.
    pub text: TextOptions,
    /// Which counts of an iprof are hits.
    pub iprof: IprofHits,
    /// Which value of a pprof profile is hits.
    pub value: ValueChoice,
    /// How to draw memory profiles.
    pub memory: MemoryOptions,
    /// The samples that are used. Nothing is left out here, but inputs without such samples are reported. Without event
    /// types, all count.
    pub selection: Selection,
    /// Bounds on hostile input.
    pub limits: Limits,
}

impl StackOptions {
    /// Returns the samples of a table that are used.
    fn used(&self, table: &StackTable) -> Vec<Sample> {
        let mut selection = self.selection.clone();
        if selection.sources.is_empty() {
            selection.sources = SampleSource::ALL.to_vec();
        }
        table.samples().filter(table.chooser(&selection)).collect()
    }

    fn used_hits(&self, table: &StackTable) -> u128 {
        self.used(table).iter().map(|sample| u128::from(sample.hits)).sum()
    }
}

/// Returns true if files of a format may have stacks: recordings, text and pprof always, iprof if it has samples.
pub fn holds_stacks(format: Format) -> bool {
    matches!(format.family(), Some(Family::Stacks | Family::Iprof))
}

/// The stacks of all inputs together, compressed or not; `-` is standard input.
///
/// # Errors
///
/// I/O errors; the errors of the readers; unrecognized format for inputs without stacks.
pub fn read_stacks(inputs: &[Input], options: &StackOptions) -> Result<(StackTable, Vec<Warning>)> {
    let mut table = StackTable::new();
    let mut warnings = Vec::new();
    let selects = inputs.len() > 1 && options.selection != Selection::default();
    for input in inputs {
        let used_before = if selects { options.used_hits(&table) } else { 0 };
        let read = add_file(input, options, &mut table).map_err(|error| error.in_file(&input.path))?;
        warnings.extend(read.into_iter().map(|warning| warning.in_file(&input.path)));
        if selects && options.used_hits(&table) == used_before {
            warnings.push(Warning::of_loss("the file has none of the selected samples").in_file(&input.path));
        }
    }
    check_units(&table)?;
    warnings.extend(table.warnings_about_counts().into_iter().map(Warning::new));
    Ok((table, warnings))
}

/// Returns an error for a table whose sources count different things under one name, such as bytes and samples, or the
/// bytes in use and those ever allocated.
pub(crate) fn check_units(table: &StackTable) -> Result<()> {
    let units = &table.observed.units;
    for (position, (source, unit)) in units.iter().enumerate() {
        if let Some((_, other)) = units[..position].iter().find(|(of, _)| of == source) {
            let (first, second) = (other.word(), unit.word());
            let detail = format!("one input counts {first} and another {second}, which cannot be added");
            return Err(Error::usage(detail).with_hint(choose_unit([*other, *unit])));
        }
    }
    if let [first, second, ..] = &table.observed.values[..] {
        let detail = format!("one input counts {first} and another {second}, which cannot be added");
        return Err(Error::usage(detail).with_hint(Hint::ChooseValue));
    }
    Ok(())
}

/// Returns the warning about a comparison of recordings of different events.
pub(crate) fn compared_events(tables: [&StackTable; 2]) -> Option<String> {
    let [first, other] = tables.map(|table| Vec::from_iter(table.observed.events.iter().cloned()).join("; "));
    let differ = !first.is_empty() && !other.is_empty() && first != other;
    differ.then(|| format!("its samples of {other} are compared with those of {first}, which measure something else"))
}

/// Returns the kinds of values of two tables that are different.
pub(crate) fn different_values(tables: [&StackTable; 2]) -> Option<[&str; 2]> {
    match tables.map(|table| &table.observed.values[..]) {
        [[one], [other]] if one != other => Some([one, other]),
        _ => None,
    }
}

/// The hint for inputs that count different things. In text with a fraction, all counts are in millionths.
pub(crate) fn choose_unit(mut units: [Unit; 2]) -> Hint {
    units.sort_unstable_by_key(|unit| *unit == Unit::Millionths);
    match units {
        [Unit::Hits, Unit::Millionths] => {
            "write one count of the input without fractions with a fraction, such as 5.0, or round the counts of the other"
                .into()
        }
        _ => Hint::ChooseValue,
    }
}

/// Returns the unit of the selected samples of a table.
///
/// # Errors
///
/// Usage if they have different units, if they are samples and exact calls, or if they measure the same allocations or
/// calls twice.
pub fn unit_of(selected: &StackTable) -> Result<Unit> {
    use SampleSource::{Allocation, MethodTiming, MethodTrace, Tlab};
    let sources: Vec<SampleSource> = selected.hits_by_source().into_iter().map(|(source, _)| source).collect();
    for (pair, what) in [([Allocation, Tlab], "allocations"), ([MethodTrace, MethodTiming], "calls")] {
        if pair.iter().all(|source| sources.contains(source)) {
            let [one, other] = pair.map(SampleSource::word);
            let detail = format!("{one} and {other} events measure the same {what}, which would be counted twice");
            return Err(Error::usage(detail).with_hint("choose one of the two event types"));
        }
    }
    if let Some(calls) = sources.iter().find(|source| source.counts_calls())
        && let Some(samples) = sources.iter().find(|source| !source.counts_calls())
    {
        let detail = format!("{} events are calls, {} events are not", calls.word(), samples.word());
        return Err(Error::usage(detail).with_hint("choose one event type"));
    }
    selected.unit().ok_or_else(|| {
        let there = selected.hits_by_source();
        let units = selected.observed.units.iter().filter(|(source, _)| there.iter().any(|(of, _)| of == source));
        let units: Vec<String> = units.map(|(source, unit)| format!("{} {}", source.word(), unit.word())).collect();
        Error::usage(format!("the selected events count different things: {}", units.join(", ")))
            .with_hint(Hint::ChooseSort)
    })
}

/// Adds the stacks of one file to `table`; a recording chunk by chunk, so that
/// it is never in memory as a whole.
pub(crate) fn add_file(input: &Input, options: &StackOptions, table: &mut StackTable) -> Result<Vec<Warning>> {
    let format = input.look()?.identity.format;
    if format != Format::Jfr {
        if options.recording.from.is_some() || options.recording.to.is_some() {
            return Err(Error::usage("only recordings of Flight Recorder can be filtered by time"));
        }
        if format != Format::PerfData {
            let data = input.bytes(Access::Read, &options.limits)?;
            return add_input_until(&data, options, &input.token(), table);
        }
    }
    let limits = &options.limits;
    if format == Format::PerfData {
        return add_perf_data(&|| input.content(limits), options, limits, table);
    }
    let stream = BufReader::with_capacity(1 << 16, input.content(limits)?);
    jfr::read_recording_from(stream, &options.recording, limits, table)
}

/// Adds a recording of perf, which is never in memory as a whole.
fn add_perf_data<'o>(
    open: &(dyn Fn() -> Result<Box<dyn Read + 'o>> + 'o),
    options: &StackOptions,
    limits: &Limits,
    table: &mut StackTable,
) -> Result<Vec<Warning>> {
    read_perf_data(open, &options.perf, options.value.name.as_deref(), limits, table)
}

/// Adds the stacks of one input to `table`.
///
/// # Errors
///
/// As [`read_stacks`].
pub fn add_input(data: &[u8], options: &StackOptions, table: &mut StackTable) -> Result<Vec<Warning>> {
    add_input_until(data, options, &Cancel::default(), table)
}

/// Like [`add_input`], until it is cancelled.
fn add_input_until(
    data: &[u8],
    options: &StackOptions,
    cancel: &Cancel,
    table: &mut StackTable,
) -> Result<Vec<Warning>> {
    match detect(data) {
        Format::Jfr => jfr::read_recording(data, &options.recording, &options.limits, table),
        Format::PerfData => {
            let open = || Ok(Box::new(data) as Box<dyn Read>);
            add_perf_data(&open, options, &options.limits, table)
        }
        Format::Collapsed => {
            let event = options.value.name.as_deref();
            read_stacks_until(data, &options.text, event, &options.limits, cancel, table)
        }
        Format::Iprof => {
            let (document, warnings) = read_iprof(data, &options.limits)?;
            let (stacks, _) = stacks_from_iprof(&document, options.iprof)?;
            table.absorb(&stacks);
            Ok(warnings)
        }
        Format::Pprof => {
            let (profile, mut warnings) = pprof::read_until(data, &options.limits, cancel)?;
            warnings.extend(pprof::add_to_table(&profile, &options.value, table)?);
            Ok(warnings)
        }
        other => Err(no_stacks(other)),
    }
}

pub(crate) fn no_stacks(format: Format) -> Error {
    let hint = "recordings (.jfr, perf.data), collapsed and folded stacks, pprof and iprof files hold stacks";
    match format {
        Format::Empty => Error::new(ErrorKind::EmptyProfile),
        Format::Other(_) => format.not_a_profile().unwrap_or_else(|| ErrorKind::UnrecognizedFormat.into()),
        unread if unread.is_unread() => Error::new(ErrorKind::UnrecognizedFormat).with_hint(hint),
        known => Error::new(ErrorKind::Unsupported { what: format!("reading stacks from {known}") }).with_hint(hint),
    }
}

/// The same samples with hidden classes without their addresses, which differ
/// from run to run: for people, and for comparing runs.
pub fn without_addresses(table: StackTable) -> StackTable {
    let has_address = |id| match table.function(id) {
        Function::Java { class, .. } => java::without_address(table.name(class)).is_some(),
        Function::Symbol { .. } => false,
    };
    if !table.functions().any(has_address) {
        return table;
    }
    let (joined, _) = table.map_frames(|out, frame| {
        let Function::Java { class, name, signature } = out.function(frame.function) else { return Some(frame) };
        let Some(short) = java::without_address(out.name(class)) else { return Some(frame) };
        let class = out.intern_name(&short);
        let function = out.intern_function(Function::Java { class, name, signature });
        Some(Frame { function, ..frame })
    });
    joined
}

/// Reads an iprof with its findings as warnings.
pub(crate) fn read_iprof(stream: impl Read + Send, limits: &Limits) -> Result<(Document, Vec<Warning>)> {
    let options = iprof::ReadOptions { limits: *limits, ..Default::default() };
    let (document, findings) = iprof::Reader::new(stream, &options).read()?;
    let warnings = findings
        .iter()
        .filter(|finding| !finding.code.is_about_age())
        .map(|finding| Warning::new(format!("{}: {}: {}", finding.code, finding.path, finding.message)))
        .collect();
    Ok((document, warnings))
}

/// Folders inside folders that are searched for classes.
const MAX_FOLDERS: usize = 64;

/// Methods with their types from class files, jars, folders of them, iprof
/// files and recordings.
///
/// # Errors
///
/// I/O errors; the errors of a file, with its path.
pub(crate) fn read_reference(paths: &[PathBuf], limits: &Limits) -> Result<Reference> {
    let mut reference = Reference::new();
    for path in paths {
        add_to_reference(path, limits, &mut reference, MAX_FOLDERS)?;
    }
    Ok(reference)
}

fn add_to_reference(path: &Path, limits: &Limits, reference: &mut Reference, depth: usize) -> Result<()> {
    if path.is_dir() {
        return add_folder(path, limits, reference, depth);
    }
    let data = Input::new(path).bytes(Access::Read, limits)?;
    let added = match detect(&data) {
        _ if Reference::takes(&data) => reference.add_classes(&data, limits),
        Format::Iprof => read_iprof(&*data, limits).map(|(document, _)| add_reference(&document, reference)),
        Format::Jfr => {
            let mut table = StackTable::new();
            jfr::read_recording(&data, &RecordingOptions::default(), limits, &mut table)
                .map(|_| reference.add_table(&table))
        }
        _ => reference.add_classes(&data, limits),
    };
    added.map_err(|error| error.in_file(path))
}

/// Class files and jars below a folder, in order of name.
fn add_folder(folder: &Path, limits: &Limits, reference: &mut Reference, depth: usize) -> Result<()> {
    if depth == 0 {
        return Err(Error::usage(format!("directories are nested more than {MAX_FOLDERS} levels deep")).in_file(folder));
    }
    let unreadable = |source| Error::io("cannot read", source).in_file(folder);
    let entries = std::fs::read_dir(folder).map_err(unreadable)?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(unreadable)?.path());
    }
    paths.sort();
    for path in paths {
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() || matches!(extension, Some("class" | "jar" | "jmod")) {
            add_to_reference(&path, limits, reference, depth - 1)?;
        }
    }
    Ok(())
}

/// Options for merging sources of stacks.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StackMergeOptions {
    /// Options of the readers.
    pub read: StackOptions,
    /// Options for merging pprof profiles.
    pub pprof: pprof::MergeOptions,
    /// When unreadable inputs make the merge fail. Default: one is enough.
    pub failure_mode: FailureMode,
    /// Keep the stacks before the fault of an unreadable input, if the merge continues. A pprof has none. Default:
    /// `false`.
    pub salvage: bool,
    /// Accept inputs of which none has content. Default: `false`, they are an error.
    pub accepts_nothing: bool,
    /// Count a profile twice that occurs in a partial merge and in another input. Default: `false`, an error.
    pub allow_duplicates: bool,
    /// Threads; `None` uses the number of processors. The result does not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// Cancels the merge.
    pub cancel: Cancel,
    /// Whether a partial merge keeps the inputs, with all of their events.
    pub(crate) keeps_inputs: bool,
}

impl StackMergeOptions {
    fn run(&self) -> RunOptions {
        RunOptions { threads: self.threads, whole_inputs: false, cancel: self.cancel.clone() }
    }

    /// Returns the result of a merge, unless too many inputs failed.
    fn check<T>(&self, sum: StackSum<T>) -> Result<StackSum<T>, FailedMerge> {
        let failed = |report: &InputReport| matches!(report.outcome, InputOutcome::Failed(_));
        let failures = sum.inputs.iter().filter(|report| failed(report)).count();
        let fails = match self.failure_mode {
            FailureMode::Any => failures > 0,
            FailureMode::All => failures > 0 && sum.used() == 0,
            FailureMode::Warn => false,
        } || (sum.used() == 0 && !self.accepts_nothing);
        if !fails {
            return Ok(sum);
        }
        let mut inputs = sum.inputs;
        if self.failure_mode == FailureMode::Warn
            && let Some(error) = driver::inputs_failed(&inputs)
        {
            return Err(FailedMerge { error, inputs });
        }
        let error = match inputs.iter_mut().find(|report| failed(report)) {
            Some(report) => match std::mem::replace(&mut report.outcome, InputOutcome::NotReached) {
                InputOutcome::Failed(error) => error,
                _ => ErrorKind::EmptyProfile.into(),
            },
            None => match inputs.first() {
                Some(report) => Error::new(ErrorKind::EmptyProfile).in_file(&report.input.path),
                None => ErrorKind::EmptyProfile.into(),
            },
        };
        Err(FailedMerge { error, inputs })
    }
}

/// Merged stacks, and the outcome of each input.
#[derive(Debug)]
#[non_exhaustive]
pub struct StackSum<T> {
    /// The merged stacks.
    pub sum: T,
    /// The inputs and their outcomes, in order. A failed input with records was salvaged.
    pub inputs: Vec<InputReport>,
    /// There are several inputs with functions, and no function is in two of them.
    pub shares_nothing: bool,
}

impl<T> StackSum<T> {
    /// Returns the number of used inputs.
    pub fn used(&self) -> usize {
        self.inputs.iter().filter(|report| matches!(report.outcome, InputOutcome::Used)).count()
    }

    /// Returns the warnings about the inputs, empty ones included, in order. Failed inputs have an error instead.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        for report in &self.inputs {
            if matches!(report.outcome, InputOutcome::Empty) {
                let reason = ErrorKind::EmptyProfile;
                warnings.push(Warning::new(format!("skipped: {reason}")).in_file(&report.input.path));
            }
            warnings.extend(report.warnings.iter().cloned());
        }
        warnings
    }
}

/// Returns the facts about the selected stacks of a table: their functions and hits.
pub fn facts_of(table: &StackTable, selection: &Selection, wanted: FactsRequest) -> Facts {
    let mut facts = Facts::default();
    if wanted == FactsRequest::default() {
        return facts;
    }
    let is_selected = table.chooser(selection);
    let (mut is_there, mut hits) = (vec![false; table.functions().len()], 0);
    for sample in table.samples().filter(is_selected) {
        hits += u128::from(sample.hits);
        table.frames(sample.key.stack).for_each(|frame| is_there[table.frame(frame).function.index()] = true);
    }
    facts.functions = Some(is_there.iter().filter(|is_there| **is_there).count() as u64);
    // A part of a sample is less than one.
    let total = if table.unit() == Some(Unit::Millionths) { hits / 1_000_000 } else { hits };
    facts.with_total(Some(total))
}

/// Returns the facts about a pprof profile and one of its values.
///
/// # Errors
///
/// Usage for a value that the profile does not have.
pub(crate) fn facts_of_pprof(profile: &pprof::Profile, value: &ValueChoice, wanted: FactsRequest) -> Result<Facts> {
    let mut table = StackTable::new();
    if wanted != FactsRequest::default() {
        pprof::add_to_table(profile, value, &mut table)?;
    }
    Ok(facts_of(&table, &Selection::default(), wanted))
}

/// Returns true if [`merge_pprof`] accepts the inputs: there are pprof profiles, and no other sources of stacks. The
/// merge handles empty and damaged inputs.
pub fn are_pprof(inputs: &[WeightedInput]) -> bool {
    // Faults of a partial merge are reported when it is opened.
    let opened = partial::open_kept(inputs, Family::Stacks, true, &Limits::default()).ok().flatten();
    let inputs = opened.as_ref().map_or(inputs, |(inputs, _)| &inputs[..]);
    let mut formats =
        inputs.iter().filter_map(|input| input.format().ok()).filter(|format| holds_stacks(*format)).peekable();
    formats.peek().is_some() && formats.all(|format| format == Format::Pprof)
}

/// Merges pprof profiles by whole stack and labels.
///
/// # Errors
///
/// The errors of the readers, as [`FailureMode`] allows; kind conflict for profiles without a common value; cancelled.
pub fn merge_pprof(
    inputs: &[WeightedInput],
    options: &StackMergeOptions,
    progress: OnProgress<'_>,
) -> Result<StackSum<(pprof::Profile, pprof::MergeReport)>, FailedMerge> {
    let opened = partial::open_kept(inputs, Family::Stacks, options.allow_duplicates, &options.read.limits)?;
    let inputs = opened.as_ref().map_or(inputs, |(inputs, _)| &inputs[..]);
    let start = |_: &MergeJob<'_>| PprofMerge(options);
    let Merged { output: (merger, names), inputs } = driver::merge(inputs, &options.run(), start, progress)?;
    let shares_nothing = names.inputs > 1 && !names.are_shared;
    options.check(StackSum { sum: merger.finish_with_report(), inputs, shares_nothing })
}

/// The merge of pprof profiles in the merge loop.
struct PprofMerge<'a>(&'a StackMergeOptions);

impl Merge for PprofMerge<'_> {
    type Merger = (pprof::Merger, SharedNames);
    type Worker = ();
    type Output = Self::Merger;

    /// Reading an input takes longer than adding it.
    const INPUTS_PER_THREAD: usize = 1;

    fn merger(&self) -> Self::Merger {
        (pprof::Merger::new(self.0.pprof), SharedNames::default())
    }

    fn add_input(
        &self,
        (): &mut (),
        input: &Input,
        turn: &mut InputTurn<'_, Self::Merger>,
        report: &mut InputReport,
    ) -> Result<()> {
        let limits = &self.0.read.limits;
        let data = input.bytes(Access::Read, limits)?;
        match detect(&data) {
            Format::Pprof => {}
            other => return Err(no_stacks(other)),
        }
        let (profile, warnings) = pprof::read_until(&data, limits, &input.token())?;
        let of_thread = self.0.read.selection.thread.as_deref().map(|name| profile.samples_of_thread(name).len());
        report.records = of_thread.unwrap_or(profile.samples.len()) as u64;
        let (merger, names) = turn.wait()?;
        merger.add(&profile, input.weight.get())?;
        if report.records > 0 {
            names.add(&profile);
        }
        report.warnings = in_file(warnings, input);
        Ok(())
    }

    fn needs_restart(&self, _: &Self::Merger) -> Result<bool> {
        Ok(false)
    }

    fn finish(self, merger: Self::Merger) -> Result<Self::Merger> {
        Ok(merger)
    }
}

fn in_file(warnings: Vec<Warning>, input: &Input) -> Vec<Warning> {
    warnings.into_iter().map(|warning| warning.in_file(&input.path)).collect()
}

/// Names of functions, until two profiles have one in common.
#[derive(Default)]
struct SharedNames {
    seen: HashSet<Vec<u8>>,
    are_shared: bool,
    /// Profiles with functions.
    inputs: usize,
}

impl SharedNames {
    fn add(&mut self, profile: &pprof::Profile) {
        if profile.functions.is_empty() {
            return;
        }
        self.inputs += 1;
        // Functions without a name are never the same.
        let names = || profile.functions.iter().map(|of| profile.strings.get(of.name)).filter(|name| !name.is_empty());
        self.are_shared = self.are_shared || names().any(|name| self.seen.contains(name));
        if !self.are_shared {
            for of in &profile.functions {
                let name = profile.strings.get(of.name);
                if !name.is_empty() && !self.seen.contains(name) {
                    self.seen.insert(name.to_vec());
                }
            }
        }
    }
}

/// Merges sources of stacks of any kind.
///
/// # Errors
///
/// The errors of the readers, as [`FailureMode`] allows; usage for inputs that count different things; cancelled.
pub fn merge_tables(
    inputs: &[WeightedInput],
    options: &StackMergeOptions,
    progress: OnProgress<'_>,
) -> Result<StackSum<StackTable>, FailedMerge> {
    let opened = partial::open_kept(inputs, Family::Stacks, options.allow_duplicates, &options.read.limits)?;
    let inputs = opened.as_ref().map_or(inputs, |(inputs, _)| &inputs[..]);
    let start = |_: &MergeJob<'_>| TableMerge(options);
    let Merged { output: (sum, functions), inputs } = driver::merge(inputs, &options.run(), start, progress)?;
    let shares_nothing = functions.len() > 1 && functions.iter().sum::<usize>() == sum.functions().len();
    let merged = options.check(StackSum { sum, inputs, shares_nothing })?;
    check_units(&merged.sum)?;
    Ok(merged)
}

/// The merge of stacks as tables in the merge loop.
struct TableMerge<'a>(&'a StackMergeOptions);

impl Merge for TableMerge<'_> {
    /// The stacks, and the number of functions of each input with samples that are used.
    type Merger = (StackTable, Vec<usize>);
    type Worker = ();
    type Output = Self::Merger;

    /// Reading an input takes longer than adding it.
    const INPUTS_PER_THREAD: usize = 1;

    fn merger(&self) -> Self::Merger {
        (StackTable::new(), Vec::new())
    }

    fn add_input(
        &self,
        (): &mut (),
        input: &Input,
        turn: &mut InputTurn<'_, Self::Merger>,
        report: &mut InputReport,
    ) -> Result<()> {
        let mut table = StackTable::new();
        let read = add_file(input, &self.0.read, &mut table);
        let (sum, functions) = turn.wait()?;
        let salvages = self.0.salvage && self.0.failure_mode != FailureMode::Any;
        if read.is_ok() || salvages {
            report.records = self.0.read.used(&table).len() as u64;
            if report.records == 0 && self.0.keeps_inputs {
                report.records = table.observed.skipped_events.values().copied().fold(0, u64::saturating_add);
            }
            functions.extend(Some(table.functions().len()).filter(|len| *len > 0 && report.records > 0));
            sum.absorb_times(&table, input.weight.get());
        }
        report.warnings = in_file(read?, input);
        Ok(())
    }

    fn needs_restart(&self, _: &Self::Merger) -> Result<bool> {
        Ok(false)
    }

    fn finish(self, merger: Self::Merger) -> Result<Self::Merger> {
        Ok(merger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call_chains::{Certainty, FrameKind, SampleKey};

    #[test]
    fn events_that_measure_the_same_or_another_thing_are_not_added() {
        use SampleSource::{Allocation, Execution, MethodTiming, MethodTrace, Native, Tlab};
        let unit_of_both = |sources: [SampleSource; 2], unit| {
            let mut table = StackTable::new();
            let function = table.intern_symbol("main");
            let frame = table.intern_frame(Frame { function, bci: None, line: None, kind: FrameKind::Unknown });
            let stack = table.push_frame(None, frame);
            for source in sources {
                table
                    .add(SampleKey { stack, thread: None, source, certainty: Certainty::Unknown, truncated: false }, 8);
                table.observed.add_unit(source, unit);
            }
            unit_of(&table).map_err(|error| error.to_string())
        };
        assert_eq!(unit_of_both([Allocation, Allocation], Unit::Bytes), Ok(Unit::Bytes));
        assert_eq!(unit_of_both([Execution, Native], Unit::Hits), Ok(Unit::Hits));
        for (sources, unit, words) in [
            (
                [Allocation, Tlab],
                Unit::Bytes,
                "allocation and tlab events measure the same allocations, which would be",
            ),
            ([MethodTrace, MethodTiming], Unit::Hits, "method-trace and method-timing events measure the same calls"),
            ([Execution, MethodTiming], Unit::Hits, "method-timing events are calls, execution events are not"),
        ] {
            let error = unit_of_both(sources, unit).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }
}
