//! Levels of findings, and verdicts about files.

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Level {
    /// Useful to know.
    Info,
    /// Readable, but unusual, or read differently by different readers.
    Warning,
    /// A strict reader rejects the file, or data is lost.
    Error,
}

impl Level {
    /// Returns `info`, `warning` or `error`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The verdict about a checked file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Verdict {
    /// No errors, and at least one profile.
    Usable,
    /// Errors, but there are entries without damage.
    PartlyUsable,
    /// Types and methods, but no profile.
    TablesOnly,
    /// No errors, and no profile.
    Empty,
    /// No data can be recovered.
    Unusable,
    /// An error that another recording would not fix: a limit, or a version that is not supported.
    Rejected,
    /// Not a file of a format that is read.
    NotAProfile,
    /// The file cannot be opened.
    Unreadable,
}

impl Verdict {
    /// Returns the verdict in plain words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Usable => "usable",
            Self::PartlyUsable => "partly usable",
            Self::TablesOnly => "tables only: record again",
            Self::Empty => "empty",
            Self::Unusable => "unusable: record again",
            Self::Rejected => "unusable",
            Self::NotAProfile => "not a profile",
            Self::Unreadable => "unreadable",
        }
    }
}
