//! For whom a result is: the release whose rules and file versions apply.
//!
//! In this order: what an option says, what the environment says, the number
//! in the program's name, the inputs. By the inputs a result is for the
//! compilers that may have written them: the oldest release that writes the
//! newest version among them.

use super::encode::OutputFormat;
use crate::compat::Compat;
use crate::error::{Error, Result};
use crate::indexed;
use crate::input::{Format, Input};
use crate::instr::Release;
use crate::instr::release::{self, RELEASES, ReleaseRow};
use crate::raw;
use std::ffi::OsStr;
use std::fmt;
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

    fn of_release(release: Release, source: TargetSource) -> Self {
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

    /// The compilers that may have written the inputs.
    pub fn of_inputs(inputs: &InputVersions) -> Self {
        match inputs.newest_writer() {
            Some(row) => Self::of_row(row, TargetSource::Inputs),
            None => Self::default_release(TargetSource::Inputs),
        }
    }

    /// In the place of llvm-profdata 22: that release, unless it would refuse
    /// an input for its version alone.
    pub fn in_place_of_llvm_22(inputs: &InputVersions) -> Self {
        if inputs.are_refused_by(Release::DEFAULT) {
            Self::of_inputs(inputs)
        } else {
            Self::default_release(TargetSource::Inputs)
        }
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

/// The versions that the heads of inputs tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct InputVersions {
    /// Oldest and newest version of raw inputs.
    pub raw: Option<(u32, u32)>,
    /// Newest version of indexed inputs.
    pub indexed: Option<u32>,
    /// Whether there are inputs of formats that no release marks: text, iprof.
    pub unmarked: bool,
}

/// A head that tells format and version of a raw or an indexed profile.
const HEAD_BYTES: usize = 16;

impl InputVersions {
    /// Looks at the beginning of each input. What cannot be opened is passed
    /// over, since merging says what is wrong with it.
    pub fn look<'i>(inputs: impl IntoIterator<Item = &'i Input>, compat: Compat) -> Self {
        let mut versions = Self::default();
        for input in inputs {
            let Ok(looked) = input.look() else { continue };
            let format = looked.identity.format;
            // A partial merge stands for its inputs, whatever it is written as.
            let may_be_part = matches!(format, Format::Indexed | Format::Partial);
            let origins = if may_be_part && !compat.is_llvm() { input.part_origins() } else { None };
            match origins {
                Some(origins) => versions.join(Self::from_word(origins)),
                None if looked.compression.is_some() && !compat.decompresses() => {}
                None => versions.add(format, looked.start()),
            }
        }
        versions
    }

    /// Notes the format of an input and its first bytes. Formats that are not read, and
    /// versions that do not exist, tell nothing.
    pub fn add(&mut self, format: Format, head: &[u8]) {
        match format {
            Format::Raw { endian, .. } => {
                let version = head.get(8..HEAD_BYTES).and_then(|word| word.try_into().ok());
                let version = version.map(|word| endian.u64(word) as u32); // flags stand above the number
                version.into_iter().for_each(|version| self.add_raw(version));
            }
            Format::Indexed => {
                let version = head.get(8..HEAD_BYTES).and_then(|word| word.try_into().ok());
                let version = version.map(|word| u64::from_le_bytes(word) as u32); // as above
                version.into_iter().for_each(|version| self.add_indexed(version));
            }
            Format::Text | Format::OtherText | Format::Iprof => self.unmarked = true,
            _ => {}
        }
    }

    /// Notes a raw input. A version that does not exist tells nothing.
    pub(super) fn add_raw(&mut self, version: u32) {
        if raw::layout::is_known_version(version) {
            let (oldest, newest) = self.raw.unwrap_or((version, version));
            self.raw = Some((oldest.min(version), newest.max(version)));
        }
    }

    /// Notes an indexed input. A version that does not exist tells nothing.
    pub(super) fn add_indexed(&mut self, version: u32) {
        let known = (1..=indexed::NEWEST_VERSION).contains(&version);
        self.indexed = self.indexed.max(known.then_some(version));
    }

    fn join(&mut self, other: Self) {
        if let Some((oldest, newest)) = other.raw {
            self.add_raw(oldest);
            self.add_raw(newest);
        }
        other.indexed.into_iter().for_each(|version| self.add_indexed(version));
        self.unmarked |= other.unmarked;
    }

    /// As the footer of a partial merge has it: a byte for the oldest and the
    /// newest raw version, one for the indexed one, one for inputs without.
    pub(super) fn to_word(self) -> u64 {
        let (oldest, newest) = self.raw.unwrap_or_default();
        let byte = |number: u32| number.min(0xff) as u8;
        let indexed = byte(self.indexed.unwrap_or_default());
        u64::from_le_bytes([byte(oldest), byte(newest), indexed, self.unmarked.into(), 0, 0, 0, 0])
    }

    /// What [`to_word`](Self::to_word) wrote.
    pub(super) fn from_word(word: u64) -> Self {
        let [oldest, newest, indexed, unmarked, ..] = word.to_le_bytes();
        let mut versions = Self { unmarked: unmarked != 0, ..Self::default() };
        [oldest, newest].into_iter().for_each(|version| versions.add_raw(version.into()));
        versions.add_indexed(indexed.into());
        versions
    }

    /// Whether no input has a version: there are texts and iprof files only, or
    /// nothing that is read.
    pub fn tell_nothing(&self) -> bool {
        self.raw.is_none() && self.indexed.is_none()
    }

    /// Whether the llvm-profdata of a release refuses an input for its version
    /// alone.
    pub fn are_refused_by(&self, release: Release) -> bool {
        let tool = Target::of_release(release, TargetSource::Inputs);
        let raw = self.raw.is_some_and(|(oldest, newest)| oldest != tool.raw_version || newest != tool.raw_version);
        raw || self.indexed.is_some_and(|version| version > tool.indexed_version)
    }

    /// The newest of the oldest releases that write what is there.
    fn newest_writer(&self) -> Option<&'static ReleaseRow> {
        let place = |found: Option<usize>| found.unwrap_or(RELEASES.len() - 1);
        let raw = self.raw.map(|(_, newest)| place(RELEASES.iter().position(|row| row.raw_version >= newest)));
        let indexed = self.indexed.map(|newest| place(RELEASES.iter().position(|row| row.indexed_version >= newest)));
        let unmarked = self.unmarked.then(|| place(RELEASES.iter().position(|row| row.release() == Release::DEFAULT)));
        [raw, indexed, unmarked].into_iter().flatten().max().map(|at| &RELEASES[at])
    }
}

impl fmt::Display for InputVersions {
    /// `raw version 8, indexed version 12, text or iprof`, the newest of each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let raw = self.raw.map(|(_, newest)| format!("raw version {newest}"));
        let indexed = self.indexed.map(|newest| format!("indexed version {newest}"));
        let unmarked = self.unmarked.then(|| "text or iprof".to_string());
        let parts: Vec<String> = [raw, indexed, unmarked].into_iter().flatten().collect();
        f.write_str(&parts.join(", "))
    }
}

#[cfg(test)]
mod tests;
