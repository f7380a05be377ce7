//! Inputs of a merge that are iprof files: opened, read whole, taken or left out.

use crate::error::{Error, Result};
use crate::families::merge::{FailureMode, InputOutcome};
use crate::hint::Hint;
use crate::input::{Format, Input};
use crate::iprof::{self, Code, Document, Finding, Findings};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// One iprof input and what became of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct IprofInputReport {
    /// The input.
    pub input: Input,
    /// What became of it.
    pub outcome: InputOutcome,
    /// What is wrong with it, or odd.
    pub findings: Vec<Finding>,
    /// Whether nothing was counted in it: it has types and methods at most.
    pub is_empty: bool,
}

/// What ends a merge and what does not.
#[derive(Debug, Clone, Default)]
pub(crate) struct ErrorPolicy {
    pub(crate) failure_mode: FailureMode,
    /// Keep what is sound of bad inputs.
    pub(crate) salvage: bool,
    /// Inputs that were found in directories; see
    /// [`IprofMergeOptions::found`](crate::families::merge::iprof_merge::IprofMergeOptions::found).
    pub(crate) found: BTreeSet<PathBuf>,
}

impl ErrorPolicy {
    /// Whether a bad input may be left out, so that it must not be added before it was read to its end.
    pub(crate) fn continues_after_error(&self) -> bool {
        self.failure_mode != FailureMode::Any
    }

    /// Returns the outcome of a rejected input.
    ///
    /// # Errors
    ///
    /// The reason itself, if one bad input is enough to fail.
    pub(crate) fn judge(&self, path: &Path, error: Error) -> Result<InputOutcome> {
        match Code::of(&error) {
            Some(Code::EmptyFile) => Ok(InputOutcome::Empty),
            Some(Code::NotAnIprof) if self.found.contains(path) => Ok(InputOutcome::NotAProfile),
            _ if self.continues_after_error() => Ok(InputOutcome::Failed(error.in_file(path))),
            _ => Err(error.in_file(path)),
        }
    }

    /// Reads an input into memory: what there is to add of it, and what became of it.
    ///
    /// # Errors
    ///
    /// As [`judge`](Self::judge).
    pub(crate) fn read(
        &self,
        input: &Input,
        options: &iprof::ReadOptions,
    ) -> Result<(Option<Document>, IprofInputReport)> {
        let mut options = options.clone();
        options.salvage |= self.salvage && self.continues_after_error();
        let report = |outcome, findings: &Findings, is_empty| IprofInputReport {
            input: input.clone(),
            outcome,
            findings: findings.iter().cloned().collect(),
            is_empty,
        };
        let stream = match open_iprof(input) {
            Ok(stream) => stream,
            Err(error) => return Ok((None, report(self.judge(&input.path, error)?, &Findings::default(), false))),
        };
        let read = iprof::examine_from(stream, &options);
        let refusal = read.refusal().filter(|_| read.document.is_none() || !options.accept_errors);
        let Some(refusal) = refusal else {
            let is_empty = read.has_tables_only();
            return Ok((read.document, report(InputOutcome::Used, &read.findings, is_empty)));
        };
        let outcome = self.judge(&input.path, refusal)?;
        let is_empty = matches!(outcome, InputOutcome::Empty);
        Ok((read.document.filter(|_| self.salvage), report(outcome, &read.findings, is_empty)))
    }
}

/// Opens an input that must be an iprof.
pub(crate) fn open_iprof(input: &Input) -> Result<Box<dyn Read + Send>> {
    match input.format()? {
        format @ (Format::Raw { .. } | Format::Indexed | Format::Jfr | Format::Pprof) => {
            let detail = format!("{format} among iprof files");
            Err(Error::kind_conflict(detail).in_file(&input.path).with_hint(Hint::ConvertToIprofFirst))
        }
        _ => input.stream(),
    }
}
