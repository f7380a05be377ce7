//! Sample profiles against a program or another sample profile.

use crate::driver::output_form::OutputForm;
use crate::error::{Error, ErrorKind, Result};
use crate::families::fit::options::FitOptions;
use crate::fit::{SampledProgram, SamplesFit, compare_samples, program_of_samples, read_sampled_program};
use crate::input::{Access, Format, Input, detect, output};
use crate::model::Release;
use crate::sampleprof::{self, Encoding, Kind, ReadOptions, Rules, SampleProfile, WriteOptions};
use std::path::Path;

/// Reads both and compares them.
pub(super) fn fit(path: &Path, bytes: &[u8], against: &Input, options: &FitOptions) -> Result<(SamplesFit, Encoding)> {
    let (profile, encoding) = read(bytes, options).map_err(|error| error.in_file(path))?;
    // LLVM assumes that profiles which cannot state it contain suffixes of local functions.
    let keeps_unique = encoding != Encoding::ExtBinary || sampleprof::states_unique_names(bytes, &reading(options))?;
    let program = read_against(against, options).map_err(|error| error.in_file(&against.path))?;
    let wanted = options.reader.map(|target| target.release);
    // A program of GCC can contain code of clang.
    let release = wanted.or_else(|| program.release.filter(|_| encoding != Encoding::Gcc));
    require_readable(bytes, encoding, &profile, release).map_err(|error| error.in_file(path))?;
    let description = describe(encoding, profile.kind());
    let fit = compare_samples(profile, keeps_unique, description, program, release);
    Ok((fit.map_err(|error| error.in_file(path))?, encoding))
}

/// Rejects a profile that the compiler of the new build rejects.
fn require_readable(bytes: &[u8], encoding: Encoding, profile: &SampleProfile, release: Option<Release>) -> Result<()> {
    let Some(release) = release else { return Ok(()) };
    if sampleprof::is_read_by(Rules::of(release), bytes, profile) {
        return Ok(());
    }
    let detail = format!("{release} does not read the encoding of the profile ({encoding})");
    Err(Error::new(ErrorKind::UnableToCompare { detail })
        .with_hint("merge the profile for the release of the new build"))
}

fn describe(encoding: Encoding, kind: Kind) -> String {
    let words = [(kind.probe_based, "pseudo-probes"), (kind.context_sensitive, "calling contexts")];
    let words: String = words.into_iter().filter(|(is_it, _)| *is_it).map(|(_, words)| format!(", {words}")).collect();
    format!("{encoding}{words}")
}

fn read(bytes: &[u8], options: &FitOptions) -> Result<(SampleProfile, Encoding)> {
    let encoding = sampleprof::detect(bytes).ok_or(ErrorKind::UnrecognizedFormat)?;
    Ok((sampleprof::read(bytes, &reading(options))?, encoding))
}

fn reading(options: &FitOptions) -> ReadOptions {
    let mut reading = ReadOptions::default();
    reading.limits = options.limits;
    reading
}

fn read_against(input: &Input, options: &FitOptions) -> Result<SampledProgram> {
    let bytes = input.bytes(Access::Read, &options.limits)?;
    match detect(&bytes) {
        known if known.is_sample_profile() => read(&bytes, options).map(|(profile, _)| program_of_samples(&profile)),
        Format::Empty => Err(ErrorKind::EmptyProfile.into()),
        Format::Unknown | Format::Other(_) => read_sampled_program(&input.path, &bytes, &options.limits),
        other => {
            let detail = format!("the new build ({other}) and the profile (sample profile) have different formats");
            Err(Error::new(ErrorKind::UnableToCompare { detail })
                .with_hint("pass a program or library with symbols, or a newer sample profile"))
        }
    }
}

/// Returns the encoding that the file extension selects, otherwise that of the profile.
pub(super) fn named(encoding: Encoding, form: Option<OutputForm>) -> Encoding {
    match form {
        Some(OutputForm::Text) => Encoding::Text,
        Some(OutputForm::Indexed | OutputForm::SampleProf) if encoding == Encoding::Text => Encoding::ExtBinary,
        _ => encoding,
    }
}

/// Writes a profile in an encoding.
pub(super) fn write(profile: &SampleProfile, encoding: Encoding, path: &Path) -> Result<()> {
    let mut options = WriteOptions::default();
    // Profiles for GCC and LLVM 16 are not written with the rules of later releases.
    options.encoding = match encoding {
        Encoding::Gcc | Encoding::CompactBinary => Encoding::ExtBinary,
        other => other,
    };
    let bytes = sampleprof::write(profile, &options)?;
    output::replace_by_name(path, &bytes)
}
