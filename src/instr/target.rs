//! The target of a result: the release whose rules and file versions apply.
//!
//! The first of these that is set determines it: an option, the environment, the number in the program's name, the
//! inputs. The inputs select the oldest release that can have written the newest of them and knows all that they
//! contain.

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

/// The environment variable for the target.
pub const ENVIRONMENT: &str = "PROFBRIDGE_FOR";

/// The value of [`ENVIRONMENT`] that requests llvm-profdata 22, including its rejections.
pub const EXACT: &str = "exact";

/// The source of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TargetSource {
    /// A command line option.
    Option,
    /// An environment variable.
    Environment,
    /// The number in the name by which the program was called.
    ProgramName,
    /// The inputs.
    Inputs,
}

impl TargetSource {
    /// Returns the name in reports: `option`, `environment`, `program-name`, `inputs`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Option => "option",
            Self::Environment => "environment",
            Self::ProgramName => "program-name",
            Self::Inputs => "inputs",
        }
    }
}

/// The target of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Target {
    /// The release whose rules for merging and writing apply.
    pub release: Release,
    /// The version of indexed results. It can differ from the release's default.
    pub indexed_version: u32,
    /// The version of raw results. It can differ from the release's default.
    pub raw_version: u32,
    /// The source of the target.
    pub source: TargetSource,
}

impl Target {
    /// Returns the target of a row in the release table.
    pub fn of_row(row: &ReleaseRow, source: TargetSource) -> Self {
        Self { release: row.release(), indexed_version: row.indexed_version, raw_version: row.raw_version, source }
    }

    /// Returns LLVM 22 as the target.
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

    /// Returns the target for a version of the indexed format, as written by the newest release up to 22 that has it.
    ///
    /// # Errors
    ///
    /// A usage error for a version that does not exist.
    pub(crate) fn of_indexed_version(version: u32) -> Result<Self> {
        if !(1..=indexed::NEWEST_VERSION).contains(&version) {
            let detail = format!("there is no indexed format of version {version}");
            let hint = format!("choose a version from 1 to {}", indexed::NEWEST_VERSION);
            return Err(Error::usage(detail).with_hint(hint));
        }
        let release = indexed::WriteOptions::for_version(version).release;
        Ok(Self { indexed_version: version, ..Self::of_release(release, TargetSource::Option) })
    }

    /// Returns the oldest release that writes, and so reads, a raw version; `None` for a version that does not exist.
    pub(crate) fn of_raw_version(version: u32) -> Option<Self> {
        let known = raw::layout::is_known_version(version);
        let row = RELEASES.iter().find(|row| known && row.raw_version >= version)?;
        Some(Self { raw_version: version, ..Self::of_row(row, TargetSource::Option) })
    }

    /// Returns the oldest compilers that can have written the inputs.
    pub fn of_inputs(evidence: &Evidence) -> Self {
        match evidence.release() {
            Some(row) => Self::of_row(row, TargetSource::Inputs),
            None => Self::default_release(TargetSource::Inputs),
        }
    }

    /// Returns the target in llvm-profdata mode of version 22: that release, unless it would reject an input only
    /// because of its version.
    pub fn in_place_of_llvm_22(evidence: &Evidence) -> Self {
        if evidence.are_refused_by(Release::DEFAULT) {
            Self::of_inputs(evidence)
        } else {
            Self::default_release(TargetSource::Inputs)
        }
    }

    /// Returns the format for one of LLVM's output forms. Raw profiles are 64-bit and little-endian.
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

    /// Finds the oldest release, starting with this one, that can store all data of a profile that any release can
    /// store in a form. Returns it with the data that this release cannot store.
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

    /// Returns the name of the release, `LLVM 14`.
    pub fn release_words(&self) -> String {
        self.toolchain().replace("llvm-", "LLVM ")
    }

    /// Returns the release in the syntax of options, `llvm-14`.
    pub fn toolchain(&self) -> String {
        let of_release = RELEASES.iter().rev().filter(|row| row.release() == self.release);
        let exact = of_release.clone().find(|row| row.indexed_version == self.indexed_version);
        match exact.or_else(|| of_release.clone().next()) {
            Some(row) => format!("llvm-{}", row.llvm),
            None => format!("llvm-{}", self.release.0),
        }
    }

    /// Returns the format of text output.
    pub fn text_format(&self) -> OutputFormat {
        OutputFormat::Text { release: self.release }
    }

    /// Returns the format of indexed output.
    pub fn indexed_format(&self) -> OutputFormat {
        OutputFormat::Indexed { release: self.release, version: self.indexed_version }
    }
}

/// The settings of the user that determine the target, before any input is read.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct TargetRequest<'a> {
    /// The toolchain given by an option.
    pub toolchain: Option<&'a str>,
    /// The indexed version given by an option.
    pub format_version: Option<u32>,
    /// The value of [`ENVIRONMENT`].
    pub environment: Option<&'a OsStr>,
    /// The name by which the program was called, if it may determine a release.
    pub program: Option<&'a OsStr>,
}

impl TargetRequest<'_> {
    /// Returns the requested target; `None` if the inputs determine it.
    ///
    /// # Errors
    ///
    /// A usage error for a toolchain or a version that does not exist, even if another setting overrides it.
    pub fn target(&self) -> Result<Option<Target>> {
        let by_environment = self.by_environment()?;
        let by_name = self.program.and_then(release_of_program).map(of_program_name).transpose()?;
        Ok(self.by_option()?.or(by_environment).or(by_name))
    }

    /// Returns true if llvm-profdata 22 is requested, including its rejections.
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
            let named = Error::usage(format!("{ENVIRONMENT} must be a toolchain or {EXACT}: {error}"));
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
                "the program's name selects LLVM {number}, but LLVM {} to {} are supported",
                first.llvm, last.llvm
            )))
        }
    }
}

/// Returns the number after `llvm-profdata` or `llvm-profgen` in the name by which a program was called: `16` in
/// `/usr/bin/llvm-profdata-16` and in `llvm-profdata-16.exe`.
pub fn release_of_program(program: &OsStr) -> Option<&str> {
    let name = Path::new(program).file_name()?.to_str()?;
    let rest = ["llvm-profdata", "llvm-profgen"].iter().find_map(|tool| name.strip_prefix(tool))?;
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
