//! Sampled stacks from any number of inputs of any kind.

use crate::bridge::stacks::{IprofHits, add_reference, stacks_from_iprof};
use crate::call_chains::{Frame, Function, StackTable, Unit};
use crate::compression::open;
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::families::drawings::memprof::MemoryOptions;
use crate::hint::Hint;
use crate::input::{Access, Family, Format, Input, detect};
use crate::iprof::{self, Document};
use crate::java;
use crate::limits::Limits;
use crate::stacks::classes::Reference;
use crate::stacks::collapsed::{TextOptions, read_stacks as read_text};
use crate::stacks::jfr::{self, RecordingOptions};
use crate::stacks::pprof::{self, ValueChoice};
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
    /// How to draw memory profiles.
    pub memory: MemoryOptions,
    /// Bounds on hostile input.
    pub limits: Limits,
}

/// Returns true if files of a format may have stacks: recordings, text and pprof always, iprof if it has samples.
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

/// Returns an error for a table whose sources count different things under one name, such as bytes and samples.
pub(crate) fn check_units(table: &StackTable) -> Result<()> {
    let units = &table.observed.units;
    for (position, (source, unit)) in units.iter().enumerate() {
        if let Some((_, other)) = units[..position].iter().find(|(of, _)| of == source) {
            let (first, second) = (other.word(), unit.word());
            let detail = format!("one input counts {first} and another {second}, which cannot be added");
            return Err(Error::usage(detail).with_hint(Hint::ChooseValue));
        }
    }
    Ok(())
}

/// Returns the unit of the selected samples of a table.
///
/// # Errors
///
/// Usage if they have different units.
pub fn unit_of(selected: &StackTable) -> Result<Unit> {
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
    let probe = input.look()?;
    if probe.identity.format != Format::Jfr {
        if options.recording.from.is_some() || options.recording.to.is_some() {
            return Err(Error::usage("only recordings can be filtered by time"));
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
    let hint = "pass a recording (.jfr), collapsed or folded stacks, a pprof or an iprof";
    match format {
        Format::Empty => Error::new(ErrorKind::EmptyProfile),
        Format::Unknown | Format::OtherText | Format::OtherJson => {
            Error::new(ErrorKind::UnrecognizedFormat).with_hint(hint)
        }
        Format::PerfData => Error::new(ErrorKind::Unsupported { what: "a perf recording".to_string() })
            .with_hint("fold it with: perf script | stackcollapse-perf.pl"),
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
