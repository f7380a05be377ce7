//! Checks of a file of any format: findings with codes, and a verdict.
//!
//! `crate::iprof::findings` lists the codes of iprof files. Codes of other profiles begin with the format:
//! `raw.truncated`, `indexed.bad-magic`.

use crate::driver::distribution::Distribution;
use crate::error::{Error, ErrorKind};
use crate::error::{Level, Verdict};
use crate::hint::Hint;
use serde::Serialize;

/// The result of checking a file.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct FileCheck {
    /// The path as given.
    pub path: String,
    /// The format, see [`Format::name`](crate::input::Format::name).
    pub format: &'static str,
    /// The version in the notation of the format, if it has one.
    pub version: Option<String>,
    /// The verdict about the file.
    pub verdict: &'static str,
    /// The findings.
    pub findings: Vec<CheckFinding>,
    /// A remedy, if a repair is not enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Hint>,
    /// Whether the file could not be opened.
    #[serde(skip)]
    pub failed: bool,
    /// For a sample profile with samples: the samples per line location of its hot functions, as llvm-profgen computes
    /// them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub density: Option<f64>,
    /// The hot functions of a sample profile with their samples per line location, least first.
    #[serde(skip)]
    pub(crate) hot: Vec<(String, f64)>,
    /// The distribution of the counts.
    #[serde(skip)]
    pub(crate) distribution: Option<Distribution>,
}

/// A finding in a file of any format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CheckFinding {
    /// `info`, `warning` or `error`.
    pub level: &'static str,
    /// The kind of finding.
    pub code: String,
    /// JSON path, or section of an LLVM profile.
    pub path: String,
    /// Bytes from the start of the (decompressed) file, if known.
    pub offset: Option<u64>,
    /// The found and the expected content.
    pub message: String,
    /// A remedy that is part of the message. The program appends it when it prints the message.
    #[serde(skip)]
    pub hint: Option<Hint>,
    /// The number of further cases.
    pub more: u64,
}

impl FileCheck {
    /// Adds an error if the density is below a minimum, or if there is none.
    pub fn require_density(&mut self, least: f64) {
        let message = match self.density {
            _ if self.failed => return,
            Some(density) if density >= least => return,
            Some(density) => {
                let times = least / density;
                let thin = self.thin(least);
                format!(
                    "the density is {density:.1} samples per line location, below {least}: sample {times:.1} times as long{thin}"
                )
            }
            None => "the file has no density: it is not a sample profile, or has no samples".to_string(),
        };
        self.findings.push(CheckFinding {
            level: Level::Error.name(),
            code: "sample.low-density".to_string(),
            path: "$".to_string(),
            offset: None,
            message,
            hint: None,
            more: 0,
        });
    }

    /// Names the hot functions whose density is below a minimum, if there are any.
    fn thin(&self, least: f64) -> String {
        let thin: Vec<String> =
            self.hot.iter().take_while(|(_, density)| *density < least).map(thin_function).collect();
        let first = thin.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
        match thin.len() {
            0 => String::new(),
            count @ 1..=3 => format!("; {count} of {} hot functions are below it: {first}", self.hot.len()),
            count => {
                format!("; {count} of {} hot functions are below it: {first} and {} more", self.hot.len(), count - 3)
            }
        }
    }

    /// Returns the number of findings of a level, including further cases.
    pub fn count(&self, level: Level) -> u64 {
        self.findings.iter().filter(|finding| finding.level == level.name()).map(|finding| finding.more + 1).sum()
    }
}

fn thin_function((name, density): &(String, f64)) -> String {
    format!("{name} ({density:.1})")
}

/// Returns the result for a file that cannot be opened, or whose compression is damaged.
pub(crate) fn failed(error: &Error) -> FileCheck {
    let is_damaged = matches!(error.kind(), ErrorKind::UncompressFailed { .. });
    let finding = CheckFinding {
        level: Level::Error.name(),
        code: if is_damaged { error.kind().name() } else { "unreadable" }.to_string(),
        path: "$".to_string(),
        offset: error.offset(),
        message: match error.kind() {
            ErrorKind::Io { action, source } => format!("{action}: {}", crate::error::io_message(source)),
            other => other.to_string(),
        },
        hint: error.hint().filter(|_| is_damaged).cloned(),
        more: 0,
    };
    FileCheck {
        path: String::new(),
        format: "unknown",
        version: None,
        verdict: if is_damaged { Verdict::Unusable } else { Verdict::Unreadable }.name(),
        findings: vec![finding],
        hint: None,
        failed: !is_damaged,
        density: None,
        hot: Vec::new(),
        distribution: None,
    }
}
