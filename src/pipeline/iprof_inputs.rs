//! Inputs of a merge that are iprof files: opened, read whole, taken or left out.

use super::merge::{FailureMode, InputOutcome};
use crate::error::{Error, Result};
use crate::input::{self, Format, WeightedInput};
use crate::iprof::{self, Code, Document, Finding, Findings};
use std::collections::BTreeSet;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

/// So much of a pipe that is read twice is kept in memory, and more of it in a file.
const KEPT_BYTES: usize = 64 << 20;

/// One iprof input and what became of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct IprofInputReport {
    /// The input.
    pub input: WeightedInput,
    /// What became of it.
    pub outcome: InputOutcome,
    /// What is wrong with it, or odd.
    pub findings: Vec<Finding>,
}

/// What ends a merge and what does not.
#[derive(Debug, Clone, Default)]
pub(super) struct Tolerance {
    pub(super) failure_mode: FailureMode,
    /// Keep what is sound of bad inputs.
    pub(super) salvage: bool,
    /// Inputs that nobody named; see [`IprofMergeOptions::found`](super::iprof_merge::IprofMergeOptions::found).
    pub(super) found: BTreeSet<PathBuf>,
}

impl Tolerance {
    /// Whether a bad input may be left out, so that it must not be added before it was read to its end.
    pub(super) fn goes_on(&self) -> bool {
        self.failure_mode != FailureMode::Any
    }

    /// What becomes of an input that is refused.
    ///
    /// # Errors
    ///
    /// The reason itself, if one bad input is enough to fail.
    pub(super) fn judge(&self, path: &Path, error: Error) -> Result<InputOutcome> {
        match Code::of(&error) {
            Some(Code::EmptyFile) => Ok(InputOutcome::Empty),
            Some(Code::NotAnIprof) if self.found.contains(path) => Ok(InputOutcome::NotAProfile),
            _ if self.goes_on() => Ok(InputOutcome::Failed(error.in_file(path))),
            _ => Err(error.in_file(path)),
        }
    }

    /// Reads an input into memory: what there is to add of it, and what became of it.
    ///
    /// # Errors
    ///
    /// As [`judge`](Self::judge).
    pub(super) fn read(
        &self,
        input: &WeightedInput,
        source: &mut Source,
        options: &iprof::ReadOptions,
    ) -> Result<(Option<Document>, IprofInputReport)> {
        let mut options = options.clone();
        options.salvage |= self.salvage && self.goes_on();
        let report = |outcome, findings: &Findings| IprofInputReport {
            input: input.clone(),
            outcome,
            findings: findings.iter().cloned().collect(),
        };
        let stream = match source.open(&input.path) {
            Ok(stream) => stream,
            Err(error) => return Ok((None, report(self.judge(&input.path, error)?, &Findings::default()))),
        };
        let read = iprof::examine_from(stream, &options);
        let refusal = read.refusal().filter(|_| read.document.is_none() || !options.accept_errors);
        let Some(refusal) = refusal else { return Ok((read.document, report(InputOutcome::Used, &read.findings))) };
        let outcome = self.judge(&input.path, refusal)?;
        Ok((read.document.filter(|_| self.salvage), report(outcome, &read.findings)))
    }
}

/// Where the bytes of an input come from.
pub(super) enum Source {
    /// From its path, as often as wanted.
    Path,
    /// They came through a pipe and were kept.
    Kept(tempfile::SpooledTempFile),
}

impl Source {
    /// A source that can be opened again.
    pub(super) fn lasting(path: &Path) -> Result<Self> {
        if !input::comes_once(path) {
            return Ok(Self::Path);
        }
        let mut kept = tempfile::SpooledTempFile::new(KEPT_BYTES);
        io::copy(&mut open_iprof(path)?, &mut kept)
            .map_err(|source| Error::io("cannot keep what comes through the pipe", source).in_file(path))?;
        Ok(Self::Kept(kept))
    }

    /// The bytes from the first one on.
    pub(super) fn open(&mut self, path: &Path) -> Result<Box<dyn Read + Send + '_>> {
        match self {
            Self::Path => open_iprof(path),
            Self::Kept(kept) => {
                kept.rewind().map_err(|source| Error::io("cannot read again", source).in_file(path))?;
                Ok(Box::new(kept))
            }
        }
    }
}

/// Opens an input that must be an iprof.
fn open_iprof(path: &Path) -> Result<Box<dyn Read + Send>> {
    let input = input::open_stream(path)?;
    match input.format {
        Format::Raw { .. } | Format::Indexed | Format::Jfr | Format::Pprof => {
            let detail = format!("{} among iprof files", input.format);
            Err(Error::usage(detail).in_file(path).with_hint("`profbridge convert` turns it into an iprof first"))
        }
        _ => Ok(input.stream),
    }
}
