//! Sampled stacks from any number of inputs of any kind.

use crate::bridge::stacks::{IprofHits, add_reference, stacks_from_iprof};
use crate::call_chains::{Frame, Function, Selection, StackTable, Unit};
use crate::compression::open;
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::families::memprof::MemoryOptions;
use crate::families::merge::{Facts, FactsRequest, FailureMode, InputOutcome};
use crate::families::partial;
use crate::families::partial::StoredFamily;
use crate::hint::Hint;
use crate::input::{Access, Family, Format, Input, WeightedInput, detect};
use crate::iprof::Document;
use crate::limits::Limits;
use crate::stacks::classes::Reference;
use crate::stacks::collapsed::{TextOptions, read_stacks as read_text};
use crate::stacks::jfr::RecordingOptions;
use crate::stacks::pprof::ValueChoice;
use crate::stacks::{jfr, pprof};
use crate::{iprof, java};
use std::collections::HashSet;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// How stacks are read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StackOptions {
    /// Recordings.
    pub recording: RecordingOptions,
    /// Collapsed and folded text.
    pub text: TextOptions,
    /// Which counts of an iprof are hits.
    pub iprof: IprofHits,
    /// Which value of a pprof profile is hits.
    pub value: ValueChoice,
    /// How pictures show memory profiles.
    pub memory: MemoryOptions,
    /// Bounds on hostile input.
    pub limits: Limits,
}

/// Whether files of a format may hold stacks: recordings, texts and pprof hold
/// nothing else, an iprof may have samples.
pub fn holds_stacks(format: Format) -> bool {
    matches!(format.family(), Some(Family::Stacks | Family::Iprof))
}

/// The stacks of all inputs together, compressed or not; `-` is standard input.
///
/// # Errors
///
/// I/O errors; what the readers find wrong; unrecognized format for inputs
/// that hold no stacks.
pub fn read_stacks(inputs: &[Input], options: &StackOptions) -> Result<(StackTable, Vec<Warning>)> {
    let mut table = StackTable::new();
    let mut warnings = Vec::new();
    for input in inputs {
        let read = add_file(input, options, &mut table).map_err(|error| error.in_file(&input.path))?;
        warnings.extend(read.into_iter().map(|warning| warning.in_file(&input.path)));
    }
    check_units(&table)?;
    Ok((table, warnings))
}

/// Says no to a table whose sources count different things under one name, such
/// as bytes and samples.
pub(crate) fn check_units(table: &StackTable) -> Result<()> {
    let units = &table.observed.units;
    for (position, (source, unit)) in units.iter().enumerate() {
        if let Some((_, other)) = units[..position].iter().find(|(of, _)| of == source) {
            let (first, second) = (other.word(), unit.word());
            let detail = format!("one input counts {first} and another {second}: they do not add up");
            return Err(Error::usage(detail).with_hint(Hint::ChooseValue));
        }
    }
    Ok(())
}

/// What the selected samples of a table count.
///
/// # Errors
///
/// Usage when they count different things.
pub fn unit_of(selected: &StackTable) -> Result<Unit> {
    selected.unit().ok_or_else(|| {
        let there = selected.hits_by_source();
        let units = selected.observed.units.iter().filter(|(source, _)| there.iter().any(|(of, _)| of == source));
        let units: Vec<String> = units.map(|(source, unit)| format!("{} {}", source.word(), unit.word())).collect();
        Error::usage(format!("the events chosen count different things: {}", units.join(", ")))
            .with_hint(Hint::ChooseSort)
    })
}

/// Adds the stacks of one file to `table`; a recording chunk by chunk, so that
/// it is never in memory as a whole.
pub(crate) fn add_file(input: &Input, options: &StackOptions, table: &mut StackTable) -> Result<Vec<Warning>> {
    let probe = input.look()?;
    if probe.identity.format != Format::Jfr {
        if options.recording.from.is_some() || options.recording.to.is_some() {
            return Err(Error::usage("only recordings say when a sample was taken: there is no time to choose by"));
        }
        let data = input.bytes(Access::Read, &options.limits)?;
        return add_input(&data, options, table);
    }
    let mut limits = options.limits;
    if probe.compression.is_some() {
        // How long a pipe is shows at its end.
        if let Some(size) = std::fs::metadata(&input.path).ok().filter(|found| found.is_file()).map(|found| found.len())
        {
            limits.stream_bytes = limits.stream_bytes.min(size.saturating_mul(limits.inflate_ratio));
        }
    }
    let opened = open(input.stream()?, &limits).map_err(|source| Error::io("cannot read", source))?;
    let stream = BufReader::with_capacity(1 << 16, opened.stream);
    jfr::read_recording_from(stream, &options.recording, &limits, table)
}

/// Adds the stacks of one input to `table`.
///
/// # Errors
///
/// As [`read_stacks`].
pub fn add_input(data: &[u8], options: &StackOptions, table: &mut StackTable) -> Result<Vec<Warning>> {
    match detect(data) {
        Format::Jfr => jfr::read_recording(data, &options.recording, &options.limits, table),
        Format::Collapsed => read_text(data, &options.text, &options.limits, table),
        Format::Iprof => {
            let (document, warnings) = read_iprof(data, &options.limits)?;
            let (stacks, _) = stacks_from_iprof(&document, options.iprof)?;
            table.absorb(&stacks);
            Ok(warnings)
        }
        Format::Pprof => {
            let (profile, mut warnings) = pprof::read(data, &options.limits)?;
            warnings.extend(pprof::add_to_table(&profile, &options.value, table)?);
            Ok(warnings)
        }
        other => Err(no_stacks(other)),
    }
}

pub(crate) fn no_stacks(format: Format) -> Error {
    let hint = "recordings (.jfr), collapsed and folded stacks, pprof and iprof files hold stacks";
    match format {
        Format::Empty => Error::new(ErrorKind::EmptyProfile),
        Format::Unknown | Format::OtherText | Format::OtherJson => {
            Error::new(ErrorKind::UnrecognizedFormat).with_hint(hint)
        }
        Format::PerfData => Error::new(ErrorKind::Unsupported { what: "a perf recording".to_string() })
            .with_hint("fold it: perf script | stackcollapse-perf.pl"),
        known => Error::new(ErrorKind::Unsupported { what: format!("{known} as a source of stacks") }).with_hint(hint),
    }
}

/// The same samples with hidden classes without their addresses, which differ
/// from run to run: for people, and for comparing runs.
pub fn without_addresses(table: &StackTable) -> StackTable {
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
pub(crate) fn read_iprof(data: &[u8], limits: &Limits) -> Result<(Document, Vec<Warning>)> {
    let options = iprof::ReadOptions { limits: *limits, ..Default::default() };
    let (document, findings) = iprof::read(data, &options)?;
    let warnings = findings
        .iter()
        .filter(|finding| !finding.code.is_about_age())
        .map(|finding| Warning::new(finding.to_string()))
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
/// I/O errors; what is wrong with a file, with its path.
pub fn read_reference(paths: &[PathBuf], limits: &Limits) -> Result<Reference> {
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
        Format::Iprof => read_iprof(&data, limits).map(|(document, _)| add_reference(&document, reference)),
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
        return Err(Error::usage(format!("folders are nested more than {MAX_FOLDERS} levels deep")).in_file(folder));
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

/// How sources of stacks are merged.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct StackMergeOptions {
    /// How they are read.
    pub read: StackOptions,
    /// How pprof profiles are added up.
    pub pprof: pprof::MergeOptions,
    /// When bad inputs make the merge fail. Default: one is enough.
    pub failure_mode: FailureMode,
    /// Keep the stacks before the fault of a bad input when the merge goes on; a pprof has none.
    /// Default: `false`.
    pub salvage: bool,
    /// Inputs that are all empty give an empty sum. Default: `false`, they are an error.
    pub accepts_nothing: bool,
    /// Count a profile twice that occurs in a partial merge and in another input. Default: `false`, an error.
    pub allow_duplicates: bool,
}

/// A sum, and what is worth saying about it.
#[derive(Debug)]
#[non_exhaustive]
pub struct StackSum<T> {
    /// The sum.
    pub sum: T,
    /// What was odd, failed inputs included where they do not end the merge.
    pub warnings: Vec<Warning>,
    /// What became of each input, in order.
    pub outcomes: Vec<InputOutcome>,
    /// There are several inputs with functions, and no function is in two of them.
    pub shares_nothing: bool,
    /// Bad inputs of which stacks were kept, by their places.
    pub salvaged: Vec<usize>,
}

impl<T> StackSum<T> {
    /// Inputs that are part of it.
    pub fn used(&self) -> usize {
        self.outcomes.iter().filter(|outcome| matches!(outcome, InputOutcome::Used)).count()
    }
}

/// What a table holds of the stacks that a selection takes: their functions and hits.
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
    facts.with_total(Some(hits))
}

/// The same of a pprof profile and one of its values.
///
/// # Errors
///
/// Usage for a value that the profile does not have.
pub fn facts_of_pprof(profile: &pprof::Profile, value: &ValueChoice, wanted: FactsRequest) -> Result<Facts> {
    let mut table = StackTable::new();
    if wanted != FactsRequest::default() {
        pprof::add_to_table(profile, value, &mut table)?;
    }
    Ok(facts_of(&table, &Selection::default(), wanted))
}

/// Whether [`merge_pprof`] takes the inputs: there are pprof profiles, and no
/// other sources of stacks. What is empty or damaged is left to the merge.
pub fn are_pprof(inputs: &[WeightedInput]) -> bool {
    // What is wrong with a partial merge is told when it is opened.
    let opened = partial::open_kept(inputs, StoredFamily::Stacks, true, &Limits::default()).ok().flatten();
    let inputs = opened.as_ref().map_or(inputs, |(inputs, _)| &inputs[..]);
    let mut formats =
        inputs.iter().filter_map(|input| input.format().ok()).filter(|format| holds_stacks(*format)).peekable();
    formats.peek().is_some() && formats.all(|format| format == Format::Pprof)
}

/// Adds up pprof profiles by whole stack and labels.
///
/// # Errors
///
/// As [`FailureMode`] says: those of the reader, and kind conflict when profiles
/// have no value in common.
pub fn merge_pprof(
    inputs: &[WeightedInput],
    options: &StackMergeOptions,
) -> Result<StackSum<(pprof::Profile, pprof::MergeReport)>> {
    let opened = partial::open_kept(inputs, StoredFamily::Stacks, options.allow_duplicates, &options.read.limits)?;
    let inputs = opened.as_ref().map_or(inputs, |(inputs, _)| &inputs[..]);
    let mut merger = pprof::Merger::new(options.pprof);
    let mut names = SharedNames::default();
    let mut add = |input: &WeightedInput| {
        let limits = &options.read.limits;
        let data = input.bytes(Access::Read, limits)?;
        match detect(&data) {
            Format::Pprof => {}
            other => return Err(no_stacks(other)),
        }
        let (profile, warnings) = pprof::read(&data, limits)?;
        merger.add(&profile, input.weight.get())?;
        names.add(&profile)?;
        Ok(warnings)
    };
    let (warnings, outcomes) = each_input(inputs, options, &mut add)?;
    let shares_nothing = names.inputs > 1 && !names.are_shared;
    Ok(StackSum { sum: merger.finish(), warnings, outcomes, shares_nothing, salvaged: Vec::new() })
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
    fn add(&mut self, profile: &pprof::Profile) -> Result<()> {
        if profile.functions.is_empty() {
            return Ok(());
        }
        self.inputs += 1;
        // What has no name is the same function nowhere.
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
        Ok(())
    }
}

/// Adds up sources of stacks of any kind.
///
/// # Errors
///
/// As [`FailureMode`] says: those of the readers.
pub fn merge_tables(inputs: &[WeightedInput], options: &StackMergeOptions) -> Result<StackSum<StackTable>> {
    let opened = partial::open_kept(inputs, StoredFamily::Stacks, options.allow_duplicates, &options.read.limits)?;
    let inputs = opened.as_ref().map_or(inputs, |(inputs, _)| &inputs[..]);
    let (mut sum, mut functions) = (StackTable::new(), Vec::new());
    let (mut place, mut salvaged) = (0, Vec::new());
    let salvages = options.salvage && options.failure_mode != FailureMode::Any;
    let mut add = |input: &WeightedInput| {
        // What a bad input leaves behind is not added unless that is asked for.
        let mut table = StackTable::new();
        let added = add_file(input, &options.read, &mut table);
        if added.is_ok() || salvages {
            if added.is_err() && !table.is_empty() {
                salvaged.push(place);
            }
            functions.extend(Some(table.functions().len()).filter(|len| *len > 0));
            sum.absorb_times(&table, input.weight.get());
        }
        place += 1;
        added
    };
    let (warnings, outcomes) = each_input(inputs, options, &mut add)?;
    check_units(&sum)?;
    let shares_nothing = functions.len() > 1 && functions.iter().sum::<usize>() == sum.functions().len();
    Ok(StackSum { sum, warnings, outcomes, shares_nothing, salvaged })
}

fn is_empty(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::EmptyProfile)
}

fn each_input(
    inputs: &[WeightedInput],
    options: &StackMergeOptions,
    add: &mut dyn FnMut(&WeightedInput) -> Result<Vec<Warning>>,
) -> Result<(Vec<Warning>, Vec<InputOutcome>)> {
    let (mut warnings, mut outcomes, mut used) = (Vec::new(), Vec::new(), 0);
    let (mode, mut last) = (options.failure_mode, None);
    let name = |warning: Warning, path: &Path| warning.in_file(path);
    for input in inputs {
        match add(input).map_err(|error| error.in_file(&input.path)) {
            Ok(found) => {
                used += 1;
                outcomes.push(InputOutcome::Used);
                warnings.extend(found.into_iter().map(|warning| name(warning, &input.path)));
            }
            Err(error) if mode == FailureMode::Any && !is_empty(&error) => return Err(error),
            Err(error) => {
                warnings.push(name(Warning::new(format!("skipped: {}", error.kind())), &input.path));
                if is_empty(&error) {
                    outcomes.push(InputOutcome::Empty);
                    last = last.or(Some(error));
                } else {
                    outcomes.push(InputOutcome::Failed(error));
                }
            }
        }
    }
    let failed = outcomes.iter().filter(|outcome| matches!(outcome, InputOutcome::Failed(_))).count() as u64;
    if used > 0 || (failed == 0 && options.accepts_nothing) {
        return Ok((warnings, outcomes));
    }
    let failure = outcomes.into_iter().rev().find_map(|outcome| match outcome {
        InputOutcome::Failed(error) => Some(error),
        _ => None,
    });
    match failure.or(last) {
        Some(error) if mode != FailureMode::Warn || failed == 0 => Err(error),
        _ => Err(Error::new(ErrorKind::InputsFailed { failed, inputs: inputs.len() as u64 })),
    }
}
