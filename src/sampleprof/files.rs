//! Reads, compares and writes files that are sample profiles.

use super::options::{Encoding, ReadOptions, WriteOptions};
use super::profile::{SampleProfile, Summary};
use super::reader::{SampleProfileView, detect, read, text_fault};
use super::record::{FunctionName, FunctionRecord, Names};
use super::{ext_binary, writer};
use crate::ascii::trim;
use crate::compat::Compat;
use crate::error::{Error, ErrorKind, Result};
use crate::hint::Hint;
use crate::input::{self, Access, Family, Format, Input, InputBytes};
use crate::model::{Loss, loss};
use crate::names::NamePattern;
use std::path::Path;

/// Reads a sample profile.
///
/// # Errors
///
/// The errors of the file and of its content, with the path.
pub fn read_file(input: impl Into<Input>, options: &ReadOptions, compat: Compat) -> Result<SampleProfile> {
    let input = input.into();
    let bytes = open_input(&input, options, compat)?;
    read(&bytes, &options.of_input(&input)).map_err(|error| error.in_file(&input.path))
}

/// Reads a profile in the order of LLVM's container, and its summary: the stored one, otherwise the one of its records.
///
/// # Errors
///
/// The errors of [`read_file`].
pub fn load_file(input: impl Into<Input>, options: &ReadOptions, compat: Compat) -> Result<(SampleProfile, Summary)> {
    let mut profile = read_file(input, options, compat)?;
    let stored = profile.summary.take();
    let profile = profile.in_container_order(options.rules);
    let summary = stored.unwrap_or_else(|| profile.compute_summary(options.rules));
    Ok((profile, summary))
}

/// Describes the sections of an extensible binary in llvm-profdata's words.
///
/// # Errors
///
/// The errors of the file; unsupported for other encodings, which have no sections.
pub fn describe_file_sections(input: impl Into<Input>, options: &ReadOptions, compat: Compat) -> Result<String> {
    let input = input.into();
    let bytes = open_input(&input, options, compat)?;
    let described = match detect(&bytes) {
        Some(Encoding::ExtBinary) => ext_binary::describe_sections(&bytes, options),
        Some(other) => Err(ErrorKind::Unsupported { what: format!("listing the sections of a {other}") }.into()),
        None => Err(ErrorKind::UnrecognizedFormat.into()),
    };
    described.map_err(|error| error.in_file(&input.path))
}

/// Reads the records of the functions that a pattern selects, their own and those of their calling contexts, and the
/// names to which they refer. With a table of offsets, nothing else is read.
///
/// # Errors
///
/// The errors of [`read_file`].
pub fn read_functions(
    input: impl Into<Input>,
    pattern: &NamePattern,
    options: &ReadOptions,
    compat: Compat,
) -> Result<(Names, Vec<FunctionRecord>)> {
    let input = input.into();
    let bytes = open_input(&input, options, compat)?;
    functions_of(&bytes, pattern, &options.of_input(&input)).map_err(|error| error.in_file(&input.path))
}

fn functions_of(bytes: &[u8], pattern: &NamePattern, options: &ReadOptions) -> Result<(Names, Vec<FunctionRecord>)> {
    // A name also finds the function of which the file stores only the hash.
    let hash = pattern.name().map(|name| FunctionName::Text(name.as_bytes()).hash());
    let is_meant = |name: FunctionName<'_>| match name {
        FunctionName::Text(name) => pattern.matches(name),
        FunctionName::Hash(number) => hash == Some(number) || pattern.matches(number.to_string().as_bytes()),
    };
    if let Some(view) = SampleProfileView::open(bytes, options)? {
        return Ok((view.names().clone(), view.functions(is_meant)?));
    }
    let mut profile = read(bytes, options)?;
    let names = profile.names;
    profile.functions.retain(|record| is_meant(names.get(record.name)));
    Ok((names, profile.functions))
}

/// Writes a profile to a file, compressed if the file extension requests it, and replaces the file as a whole. Returns the
/// losses.
///
/// # Errors
///
/// The errors of [`write`](super::write()) and of the file; with `strict`, the losses.
pub fn write_file(profile: &SampleProfile, options: &WriteOptions, strict: bool, path: &Path) -> Result<Vec<Loss>> {
    let losses = writer::losses(profile, options);
    if strict {
        loss::refuse_losses(&losses).map_err(|error| error.in_file(path))?;
    }
    let bytes = writer::write(profile, options).map_err(|error| error.in_file(path))?;
    input::output::replace_by_name(path, &bytes)?;
    Ok(losses)
}

/// Parses a profile symbol list: one name per line, without spaces around it.
pub fn parse_symbols(text: &[u8]) -> Vec<Vec<u8>> {
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.is_empty() && *line != b"\r").map(|line| trim(line).to_vec()).collect()
}

/// The word in the footer of a partial merge of recordings, whose samples become a profile with the program.
pub(crate) const SAMPLES_OF_PROGRAM: u64 = 1;

/// Returns the error for a partial merge of recordings that is read without the program.
pub(super) fn without_program() -> Error {
    Error::usage("a partial merge of recordings needs the program that was sampled").with_hint(Hint::NameTheProgram)
}

/// Fails for a partial merge of recordings, which is not a profile yet.
pub(crate) fn require_profile(input: &Input) -> Result<()> {
    match (input.family(), input.part_origins()) {
        (Ok(Some(Family::SampleProf)), Some(SAMPLES_OF_PROGRAM)) => Err(without_program().in_file(&input.path)),
        _ => Ok(()),
    }
}

/// Reads the bytes of an input that is a sample profile.
pub(crate) fn open_input(input: &Input, options: &ReadOptions, compat: Compat) -> Result<InputBytes> {
    require_profile(input)?;
    let open = if compat.decompresses() { Input::bytes } else { Input::stored_bytes };
    let bytes = open(input, Access::Read, &options.limits)?;
    check_format(&bytes, compat).map_err(|error| error.in_file(&input.path))?;
    Ok(bytes)
}

/// Rejects other files in profbridge mode. LLVM would read the counters of a text profile as functions.
pub(crate) fn check_format(bytes: &[u8], compat: Compat) -> Result<()> {
    let format = input::detect(bytes);
    if compat.is_llvm() || format.is_sample_profile() {
        return Ok(());
    }
    let kind = match format {
        Format::Other(_) => {
            return Err(format.not_a_profile().unwrap_or_else(|| ErrorKind::UnrecognizedFormat.into()));
        }
        Format::Empty => return Err(ErrorKind::EmptyProfile.into()),
        Format::OtherText => {
            // The text may be written by hand.
            let error = Error::new(ErrorKind::UnrecognizedFormat);
            return Err(match text_fault(bytes) {
                Some(fault) => error.with_hint(format!("read as a sample profile: {fault}")),
                None => error,
            });
        }
        Format::Unknown | Format::OtherJson => ErrorKind::UnrecognizedFormat,
        other => ErrorKind::KindConflict { detail: format!("not a sample profile: {other}") },
    };
    Err(Error::new(kind).with_hint("pass only sample profiles"))
}
