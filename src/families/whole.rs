//! Reads and writes a whole profile of one family in one call: `open` and `write_to_path` have the same shape in all
//! families. [`Profile`](crate::Profile) has its own next to its formats.

use crate::call_chains::StackTable;
use crate::compression::{Compression, compress_for};
use crate::error::{Error, ErrorKind, Result, Warning, WithWarnings};
use crate::families::any_profile::AnyProfile;
use crate::input::{Access, Family, Input, output};
use crate::instr::encode::{OutputFormat, Saved};
use crate::instr::memory_profiles;
use crate::instr::open::ReadOptions;
use crate::instr::target::{Target, TargetSource};
use crate::iprof::{self, Document};
use crate::memprof::MemoryProfile;
use crate::sampleprof::{self, SampleProfile};
use crate::stacks::pprof;
use std::path::Path;

/// Reads a file that must be of one family.
fn open<T>(
    input: Input,
    options: &ReadOptions,
    family: Family,
    take: impl FnOnce(AnyProfile) -> Option<T>,
) -> Result<WithWarnings<T>> {
    let WithWarnings { value, warnings } = AnyProfile::open(input.clone(), options)?;
    let found = value.family();
    let value = take(value).ok_or_else(|| {
        let what = format!("reading {} as {}", found.words(), family.words());
        Error::new(ErrorKind::Unsupported { what })
            .in_file(&input.path)
            .with_hint("AnyProfile::open reads a file of any family")
    })?;
    Ok(WithWarnings::new(value, warnings))
}

impl StackTable {
    /// Reads sampled stacks: a recording, collapsed text or pprof, compressed or not. The path is only a path; an [`Input`] also
    /// refers to standard input or bytes in memory.
    ///
    /// # Errors
    ///
    /// The errors of [`AnyProfile::open`]; unsupported for a profile of another family.
    pub fn open(input: impl Into<Input>, options: &ReadOptions) -> Result<WithWarnings<Self>> {
        open(input.into(), options, Family::Stacks, |any| match any {
            AnyProfile::Stacks(profile) => Some(profile),
            _ => None,
        })
    }
}

impl pprof::Profile {
    /// Reads a pprof, compressed or not. The path is only a path; an [`Input`] also refers to
    /// standard input or bytes in memory.
    ///
    /// # Errors
    ///
    /// I/O, and every fault of the content, with the path.
    pub fn open(input: impl Into<Input>, options: &ReadOptions) -> Result<WithWarnings<Self>> {
        let input = input.into();
        let limits = &options.limits;
        let read = || pprof::read_until(&input.bytes(Access::Read, limits)?, limits, &input.token());
        let (profile, warnings) = read().map_err(|error| error.in_file(&input.path))?;
        let in_file = |warning: Warning| warning.in_file(&input.path);
        Ok(WithWarnings::new(profile, warnings.into_iter().map(in_file).collect()))
    }

    /// Writes the profile to a file, which is replaced atomically: with gzip, unless the file extension selects another
    /// compression. The format stores everything.
    ///
    /// # Errors
    ///
    /// Too large if a size does not fit its field; I/O.
    pub fn write_to_path(&self, path: impl AsRef<Path>) -> Result<Saved> {
        let bytes = compress_for(pprof::write(self)?, path.as_ref(), Some(Compression::Gzip))?;
        output::replace(&output::as_path(path.as_ref()), &bytes)?;
        Ok(Saved { losses: Vec::new(), stopped: None })
    }
}

impl SampleProfile {
    /// Reads a sample profile in any encoding, compressed or not. The path is only a path; an [`Input`] also
    /// refers to standard input or bytes in memory.
    ///
    /// # Errors
    ///
    /// The errors of [`AnyProfile::open`]; unsupported for a profile of another family.
    pub fn open(input: impl Into<Input>, options: &ReadOptions) -> Result<WithWarnings<Self>> {
        open(input.into(), options, Family::SampleProf, |any| match any {
            AnyProfile::SampleProf(profile) => Some(profile),
            _ => None,
        })
    }

    /// Writes the profile to a file, which is replaced atomically. The result lists the data that the encoding cannot
    /// store.
    ///
    /// # Errors
    ///
    /// The errors of [`sampleprof::write`](crate::sampleprof::write()), and I/O.
    pub fn write_to_path(&self, path: impl AsRef<Path>, options: &sampleprof::WriteOptions) -> Result<Saved> {
        let bytes = sampleprof::write(self, options)?;
        output::replace(&output::as_path(path.as_ref()), &bytes)?;
        Ok(Saved { losses: sampleprof::losses(self, options), stopped: None })
    }
}

impl Document {
    /// Reads an iprof of any version, compressed or not. The path is only a path; an [`Input`] also
    /// refers to standard input or bytes in memory.
    ///
    /// # Errors
    ///
    /// The errors of [`AnyProfile::open`]; unsupported for a profile of another family.
    pub fn open(input: impl Into<Input>, options: &ReadOptions) -> Result<WithWarnings<Self>> {
        open(input.into(), options, Family::Iprof, |any| match any {
            AnyProfile::Iprof(profile) => Some(profile),
            _ => None,
        })
    }

    /// Writes the profile to a file, which is replaced atomically. The format stores everything.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn write_to_path(&self, path: impl AsRef<Path>, options: &iprof::WriteOptions) -> Result<Saved> {
        output::replace_with(&output::as_path(path.as_ref()), |out| iprof::Writer::new(options).write(self, out))?;
        Ok(Saved { losses: Vec::new(), stopped: None })
    }
}

impl MemoryProfile {
    /// Reads a memory profile: raw, YAML, or an indexed profile without functions, compressed or not. The path is only a path; an [`Input`] also
    /// refers to standard input or bytes in memory.
    ///
    /// # Errors
    ///
    /// The errors of [`AnyProfile::open`]; unsupported for a profile of another family.
    pub fn open(input: impl Into<Input>, options: &ReadOptions) -> Result<WithWarnings<Self>> {
        open(input.into(), options, Family::MemProf, |any| match any {
            AnyProfile::MemProf(profile) => Some(profile),
            _ => None,
        })
    }

    /// Writes the profile to a file, which is replaced atomically: an indexed profile without functions, for the release
    /// of the format. The result lists the data that the release cannot store.
    ///
    /// # Errors
    ///
    /// A usage error for a format that cannot store memory profiles; too large if a size does not fit its field; I/O.
    pub fn write_to_path(&self, path: impl AsRef<Path>, format: OutputFormat) -> Result<Saved> {
        let OutputFormat::Indexed { release, .. } = format else {
            return Err(Error::usage(format!("{format} cannot store a memory profile"))
                .with_hint("write it as an indexed profile for LLVM 15 or later, or with memprof::yaml::write"));
        };
        let target = Target::of_release(release, TargetSource::Option);
        let encoded = memory_profiles::encode_indexed(self.clone().into(), &target)?;
        output::replace(&output::as_path(path.as_ref()), &encoded.bytes)?;
        Ok(Saved { losses: encoded.losses, stopped: encoded.stopped })
    }
}
