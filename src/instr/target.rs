//! For whom a result is: the release whose rules and file versions apply.
//!
//! In this order: what an option says, what the environment says, the number
//! in the program's name, the inputs. By the inputs it is the oldest release
//! that can have written the newest of them and knows all that they contain.

mod evidence;

pub use evidence::{Evidence, Reason};

use crate::bytes::{Encoding, Endian, PointerWidth};
use crate::driver::output_form::OutputForm;
use crate::error::{Error, Result};
use crate::indexed;
use crate::instr::encode::{OutputFormat, losses};
use crate::model::release::{self, RELEASES, ReleaseRow};
use crate::model::{Loss, LossKind, Profile, ProfileKind, Release};
use crate::raw;
use std::ffi::OsStr;
use std::path::Path;

/// The variable of the environment that says for whom results are.
pub const ENVIRONMENT: &str = "PROFBRIDGE_FOR";

/// The value of [`ENVIRONMENT`] that asks for llvm-profdata 22, refusals included.
pub const EXACT: &str = "exact";

/// Who said for whom a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TargetSource {
    /// An option of the command line.
    Option,
    /// The environment.
    Environment,
    /// The number in the name that the program was called by.
    ProgramName,
    /// Nobody: the inputs tell.
    Inputs,
}

impl TargetSource {
    /// As reports name it: `option`, `environment`, `program-name`, `inputs`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Option => "option",
            Self::Environment => "environment",
            Self::ProgramName => "program-name",
            Self::Inputs => "inputs",
        }
    }
}

/// For whom a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Target {
    /// The release whose rules of merging and writing apply.
    pub release: Release,
    /// The version of indexed results; not always the release's own.
    pub indexed_version: u32,
    /// The version of raw results; not always the release's own.
    pub raw_version: u32,
    /// Who said so.
    pub source: TargetSource,
}

impl Target {
    /// What a release of the table reads and writes.
    pub fn of_row(row: &ReleaseRow, source: TargetSource) -> Self {
        Self { release: row.release(), indexed_version: row.indexed_version, raw_version: row.raw_version, source }
    }

    /// What LLVM 22 reads and writes.
    pub fn default_release(source: TargetSource) -> Self {
        Self::of_release(Release::DEFAULT, source)
    }

    pub(crate) fn of_release(release: Release, source: TargetSource) -> Self {
        Self {
            release,
            indexed_version: release.indexed_version().unwrap_or(indexed::NEWEST_VERSION),
            raw_version: release.raw_version().unwrap_or(raw::layout::NEWEST_VERSION),
            source,
        }
    }

    /// A version of the indexed format, as the newest release up to 22 that
    /// has it writes it.
    ///
    /// # Errors
    ///
    /// Usage for a version that does not exist.
    pub fn of_indexed_version(version: u32) -> Result<Self> {
        if !(1..=indexed::NEWEST_VERSION).contains(&version) {
            let detail = format!("there is no indexed format of version {version}");
            let hint = format!("versions 1 to {} can be written", indexed::NEWEST_VERSION);
            return Err(Error::usage(detail).with_hint(hint));
        }
        let release = indexed::WriteOptions::for_version(version).release;
        Ok(Self { indexed_version: version, ..Self::of_release(release, TargetSource::Option) })
    }

    /// The oldest release that writes a raw version, and so reads it; `None`
    /// for a version that does not exist.
    pub fn of_raw_version(version: u32) -> Option<Self> {
        let known = raw::layout::is_known_version(version);
        let row = RELEASES.iter().find(|row| known && row.raw_version >= version)?;
        Some(Self { raw_version: version, ..Self::of_row(row, TargetSource::Option) })
    }

    /// The compilers that can have written the inputs.
    pub fn of_inputs(evidence: &Evidence) -> Self {
        match evidence.release() {
            Some(row) => Self::of_row(row, TargetSource::Inputs),
            None => Self::default_release(TargetSource::Inputs),
        }
    }

    /// In the place of llvm-profdata 22: that release, unless it would refuse
    /// an input for its version alone.
    pub fn in_place_of_llvm_22(evidence: &Evidence) -> Self {
        if evidence.are_refused_by(Release::DEFAULT) {
            Self::of_inputs(evidence)
        } else {
            Self::default_release(TargetSource::Inputs)
        }
    }

    /// How a profile is written in a form of LLVM's; raw as by a little-endian program of 64 bits.
    pub fn format(&self, form: OutputForm) -> OutputFormat {
        match form {
            OutputForm::Text => self.text_format(),
            OutputForm::Raw => {
                let (endian, pointer) = (Endian::Little, PointerWidth::Bits64);
                OutputFormat::Raw { encoding: Encoding { endian, pointer, version: self.raw_version } }
            }
            _ => self.indexed_format(),
        }
    }

    /// The oldest release from this one on that can store what any release can store of a profile in a form, and what
    /// this one cannot store of it.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn storing(self, profile: &Profile, form: OutputForm) -> Result<(Self, Vec<Loss>)> {
        let lost_by = |target: &Self| -> Result<Vec<Loss>> {
            let mut lost = losses(profile, target.format(form))?;
            // Compilers do not use them.
            lost.retain(|loss| loss.kind != LossKind::BinaryIds);
            Ok(lost)
        };
        let mut lost = lost_by(&self)?;
        let later: Vec<Self> = RELEASES
            .iter()
            .filter(|row| row.release() > self.release)
            .map(|row| Self::of_row(row, self.source))
            .collect();
        let Some(newest) = later.last().filter(|_| !lost.is_empty()) else { return Ok((self, Vec::new())) };
        let never_stored = lost_by(newest)?;
        lost.retain(|loss| !never_stored.contains(loss));
        for loss in &mut lost {
            let never = never_stored.iter().find(|never| never.kind == loss.kind);
            loss.properties = loss.properties.without(never.map_or(ProfileKind::NONE, |never| never.properties));
        }
        if lost.is_empty() {
            return Ok((self, lost));
        }
        for target in later {
            if lost_by(&target)?.iter().all(|loss| never_stored.contains(loss)) {
                return Ok((target, lost));
            }
        }
        Ok((self, Vec::new()))
    }

    /// The release in words, `LLVM 14`.
    pub fn release_words(&self) -> String {
        self.toolchain().replace("llvm-", "LLVM ")
    }

    /// The release as options spell it, `llvm-14`.
    pub fn toolchain(&self) -> String {
        let of_release = RELEASES.iter().rev().filter(|row| row.release() == self.release);
        let exact = of_release.clone().find(|row| row.indexed_version == self.indexed_version);
        match exact.or_else(|| of_release.clone().next()) {
            Some(row) => format!("llvm-{}", row.llvm),
            None => format!("llvm-{}", self.release.0),
        }
    }

    /// How text is written.
    pub fn text_format(&self) -> OutputFormat {
        OutputFormat::Text { release: self.release }
    }

    /// How an indexed profile is written.
    pub fn indexed_format(&self) -> OutputFormat {
        OutputFormat::Indexed { release: self.release, version: self.indexed_version }
    }
}

/// What was said about the readers of a result, before any input is looked at.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct TargetRequest<'a> {
    /// A toolchain that an option names.
    pub toolchain: Option<&'a str>,
    /// An indexed version that an option names.
    pub format_version: Option<u32>,
    /// The value of [`ENVIRONMENT`].
    pub environment: Option<&'a OsStr>,
    /// What the program was called as, where that may choose a release.
    pub program: Option<&'a OsStr>,
}

impl TargetRequest<'_> {
    /// What was asked for; `None` leaves it to the inputs.
    ///
    /// # Errors
    ///
    /// Usage for a toolchain or a version that does not exist, whether or not
    /// something else goes before it.
    pub fn target(&self) -> Result<Option<Target>> {
        let by_environment = self.by_environment()?;
        let by_name = self.program.and_then(release_of_program).map(of_program_name).transpose()?;
        Ok(self.by_option()?.or(by_environment).or(by_name))
    }

    /// Whether llvm-profdata 22 is asked for, refusals included.
    pub fn is_exact(&self) -> bool {
        self.environment.is_some_and(|value| value == EXACT)
    }

    fn by_option(&self) -> Result<Option<Target>> {
        if let Some(toolchain) = self.toolchain {
            return release::parse(toolchain).map(|row| Some(Target::of_row(row, TargetSource::Option)));
        }
        self.format_version.map(Target::of_indexed_version).transpose()
    }

    fn by_environment(&self) -> Result<Option<Target>> {
        let Some(value) = self.environment.filter(|value| !value.is_empty()) else { return Ok(None) };
        if self.is_exact() {
            return Ok(Some(Target::default_release(TargetSource::Environment)));
        }
        let row = release::parse(&value.to_string_lossy()).map_err(|error| {
            let named = Error::usage(format!("{ENVIRONMENT} takes a toolchain or {EXACT}: {error}"));
            match error.hint().cloned() {
                Some(hint) => named.with_hint(hint),
                None => named,
            }
        })?;
        Ok(Some(Target::of_row(row, TargetSource::Environment)))
    }
}

fn of_program_name(number: &str) -> Result<Target> {
    match release::parse(number) {
        Ok(row) => Ok(Target::of_row(row, TargetSource::ProgramName)),
        Err(_) => {
            let (first, last) = (&RELEASES[0], &RELEASES[RELEASES.len() - 1]);
            Err(Error::usage(format!(
                "the program's name asks for LLVM {number}; known are LLVM {} to {}",
                first.llvm, last.llvm
            )))
        }
    }
}

/// The number behind `llvm-profdata` in the name that a program was called by:
/// `16` of `/usr/bin/llvm-profdata-16` and of `llvm-profdata-16.exe`.
pub fn release_of_program(program: &OsStr) -> Option<&str> {
    let name = Path::new(program).file_name()?.to_str()?;
    let rest = name.strip_prefix("llvm-profdata")?;
    let bare = rest.len().checked_sub(4).filter(|at| rest.is_char_boundary(*at));
    let rest = match bare.map(|at| rest.split_at(at)) {
        Some((before, end)) if end.eq_ignore_ascii_case(".exe") => before,
        _ => rest,
    };
    let number = rest.strip_prefix('-').unwrap_or(rest);
    let is_number = number.split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    is_number.then_some(number)
}

#[cfg(test)]
mod tests;
