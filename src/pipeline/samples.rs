//! Sampled stacks from any number of inputs of any kind.

use super::memory_stacks::MemoryOptions;
use crate::bridge::stacks::{IprofHits, add_reference, stacks_from_iprof};
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::input::{self, Access, Format, detect, once};
use crate::iprof::{self, Document};
use crate::java;
use crate::limits::Limits;
use crate::stacks::classes::Reference;
use crate::stacks::collapsed::{TextOptions, looks_like_stacks, read_stacks as read_text};
use crate::stacks::jfr::{self, RecordingOptions};
use crate::stacks::model::{Frame, Function, StackTable, Unit};
use crate::stacks::pprof::{self, ValueChoice};
use flate2::read::MultiGzDecoder;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// What an input is, as far as stacks are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StackSource {
    /// A recording.
    Jfr,
    /// Collapsed or folded text.
    Text,
    /// An iprof, which may hold samples.
    Iprof,
    /// A pprof profile.
    Pprof,
}

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

/// Which source of stacks these (inflated) bytes are; `None` for anything else.
pub fn stack_source(data: &[u8]) -> Option<StackSource> {
    match detect(data) {
        Format::Jfr => Some(StackSource::Jfr),
        Format::Iprof => Some(StackSource::Iprof),
        Format::Pprof => Some(StackSource::Pprof),
        // Thread names may begin with any character, so text may look like nothing known.
        Format::Text | Format::Unknown if looks_like_stacks(data) => Some(StackSource::Text),
        _ => None,
    }
}

/// Bytes of a file that are enough to tell what it is.
const HEAD_BYTES: usize = 1 << 20;

/// What an input is by its beginning, compressed or not; `None` for anything but
/// a source of stacks, and for folders. `-` is standard input.
///
/// # Errors
///
/// I/O errors with the path.
pub fn stack_source_of_file(path: &Path) -> Result<Option<StackSource>> {
    if path.is_dir() {
        return Ok(None);
    }
    let mut head = once::look(path, HEAD_BYTES)?;
    if detect(&head) == Format::Gzip {
        let mut inflated = Vec::new();
        // The stream is cut, or damaged: whoever reads it whole will say so.
        let _ = MultiGzDecoder::new(head.as_slice()).take(HEAD_BYTES as u64).read_to_end(&mut inflated);
        head = inflated;
    }
    // The last line may be cut.
    let whole_lines = head.iter().rposition(|byte| *byte == b'\n').filter(|_| head.len() == HEAD_BYTES);
    Ok(stack_source(whole_lines.map_or(&head[..], |end| &head[..end])))
}

/// The stacks of all inputs together, compressed or not; `-` is standard input.
///
/// # Errors
///
/// I/O errors; what the readers find wrong; unrecognized format for inputs
/// that hold no stacks.
pub fn read_stacks(paths: &[PathBuf], options: &StackOptions) -> Result<(StackTable, Vec<Warning>)> {
    let mut table = StackTable::new();
    let mut warnings = Vec::new();
    for path in paths {
        let read = add_file(path, options, &mut table).map_err(|error| error.in_file(path))?;
        warnings.extend(read.into_iter().map(|warning| warning.in_file(path)));
    }
    check_units(&table)?;
    Ok((table, warnings))
}

/// Says no to a table whose sources count different things under one name, such
/// as bytes and samples.
pub(super) fn check_units(table: &StackTable) -> Result<()> {
    let units = &table.observed.units;
    for (position, (source, unit)) in units.iter().enumerate() {
        if let Some((_, other)) = units[..position].iter().find(|(of, _)| of == source) {
            let (first, second) = (other.word(), unit.word());
            let detail = format!("one input counts {first} and another {second}: they do not add up");
            return Err(Error::usage(detail).with_hint("--sample-type and --weight choose what is counted"));
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
            .with_hint("choose one sort with --events, or --weight count")
    })
}

/// Adds the stacks of one file to `table`; a recording chunk by chunk, so that
/// it is never in memory as a whole.
pub(super) fn add_file(path: &Path, options: &StackOptions, table: &mut StackTable) -> Result<Vec<Warning>> {
    if stack_source_of_file(path)? != Some(StackSource::Jfr) {
        if options.recording.from.is_some() || options.recording.to.is_some() {
            return Err(Error::usage("only recordings say when a sample was taken: there is no time to choose by"));
        }
        let data = input::open(path, Access::Read, &options.limits)?;
        return add_input(&data, options, table);
    }
    let mut stream = BufReader::with_capacity(1 << 16, input::open_stream(path)?.stream);
    let head = stream.fill_buf().map_err(|source| Error::io("cannot read", source).in_file(path))?;
    if head.starts_with(&GZIP) {
        let mut limits = options.limits;
        // How long a pipe is shows at its end.
        if let Some(size) = std::fs::metadata(path).ok().filter(|found| found.is_file()).map(|found| found.len()) {
            limits.stream_bytes = limits.stream_bytes.min(size.saturating_mul(limits.inflate_ratio));
        }
        return jfr::read_recording_from(MultiGzDecoder::new(stream), &options.recording, &limits, table);
    }
    jfr::read_recording_from(stream, &options.recording, &options.limits, table)
}

/// How a gzip stream begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Adds the stacks of one input to `table`.
///
/// # Errors
///
/// As [`read_stacks`].
pub fn add_input(data: &[u8], options: &StackOptions, table: &mut StackTable) -> Result<Vec<Warning>> {
    match stack_source(data) {
        Some(StackSource::Jfr) => jfr::read_recording(data, &options.recording, &options.limits, table),
        Some(StackSource::Text) => read_text(data, &options.text, &options.limits, table),
        Some(StackSource::Iprof) => {
            let (document, warnings) = read_iprof(data, &options.limits)?;
            let (stacks, _) = stacks_from_iprof(&document, options.iprof);
            table.absorb(&stacks);
            Ok(warnings)
        }
        Some(StackSource::Pprof) => {
            let (profile, mut warnings) = pprof::read(data, &options.limits)?;
            warnings.extend(pprof::add_to_table(&profile, &options.value, table)?);
            Ok(warnings)
        }
        None => Err(no_stacks(detect(data))),
    }
}

pub(super) fn no_stacks(format: Format) -> Error {
    let hint = "recordings (.jfr), collapsed and folded stacks, pprof and iprof files hold stacks";
    match format {
        Format::Empty => Error::new(ErrorKind::EmptyProfile),
        Format::Unknown => Error::new(ErrorKind::UnrecognizedFormat).with_hint(hint),
        Format::PerfData => Error::new(ErrorKind::Unsupported { what: "a perf recording".to_string() })
            .with_hint("fold it: perf script | stackcollapse-perf.pl"),
        known => Error::new(ErrorKind::Unsupported { what: format!("{known} as a source of stacks") }).with_hint(hint),
    }
}

/// The same samples with hidden classes without their addresses, which differ
/// from run to run: for people, and for comparing runs.
#[must_use]
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
pub(super) fn read_iprof(data: &[u8], limits: &Limits) -> Result<(Document, Vec<Warning>)> {
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
    let data = input::open(path, Access::Read, limits)?;
    let added = match stack_source(&data) {
        _ if Reference::takes(&data) => reference.add_classes(&data, limits),
        Some(StackSource::Iprof) => read_iprof(&data, limits).map(|(document, _)| add_reference(&document, reference)),
        Some(StackSource::Jfr) => {
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
