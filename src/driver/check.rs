//! Checking a file of any format: findings with codes, and a verdict.
//!
//! Codes of iprof files are those of [`crate::iprof::findings`]. Codes of other
//! profiles begin with the format: `raw.truncated`, `indexed.bad-magic`.

use crate::error::{Error, ErrorKind};
use crate::error::{Level, Verdict};
use crate::hint::Hint;
use serde::Serialize;

/// What a check found in a file.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct FileCheck {
    /// As given.
    pub path: String,
    /// The format, see [`Format::name`](crate::input::Format::name).
    pub format: &'static str,
    /// The version as the file says it, if it does.
    pub version: Option<String>,
    /// What the file is good for.
    pub verdict: &'static str,
    /// What is wrong or odd.
    pub findings: Vec<CheckFinding>,
    /// What can be done where a plain repair is not enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Hint>,
    /// The file could not be opened at all.
    #[serde(skip)]
    pub failed: bool,
}

/// A finding in a file of any format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CheckFinding {
    /// `info`, `warning` or `error`.
    pub level: &'static str,
    /// What kind.
    pub code: String,
    /// JSON path, or section of an LLVM profile.
    pub path: String,
    /// Bytes from the start of the (decompressed) file, if known.
    pub offset: Option<u64>,
    /// What was found and what was expected.
    pub message: String,
    /// What to do about it, where the message is to tell; whoever prints it puts it behind.
    #[serde(skip)]
    pub hint: Option<Hint>,
    /// Further cases.
    pub more: u64,
}

impl FileCheck {
    /// How many findings of a level there are, further cases included.
    pub fn count(&self, level: Level) -> u64 {
        self.findings.iter().filter(|finding| finding.level == level.name()).map(|finding| finding.more + 1).sum()
    }
}

/// What there is to say of a file that cannot be opened.
pub(crate) fn failed(error: &Error) -> FileCheck {
    let finding = CheckFinding {
        level: Level::Error.name(),
        code: "unreadable".to_string(),
        path: "$".to_string(),
        offset: error.offset(),
        message: match error.kind() {
            ErrorKind::Io { action, source } => format!("{action}: {}", crate::error::io_message(source)),
            other => other.to_string(),
        },
        hint: None,
        more: 0,
    };
    FileCheck {
        path: String::new(),
        format: "unknown",
        version: None,
        verdict: Verdict::Unusable.name(),
        findings: vec![finding],
        hint: None,
        failed: true,
    }
}
