//! Levels of findings, and what a checked file is good for.

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Level {
    /// Worth knowing.
    Info,
    /// Readable, but odd, or read differently by different readers.
    Warning,
    /// A strict reader rejects the file, or meaning is lost.
    Error,
}

impl Level {
    /// `info`, `warning` or `error`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What a file is still good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Verdict {
    /// No errors, and profiles.
    Usable,
    /// Errors, but entries are left without what is damaged.
    PartlyUsable,
    /// Types and methods, but no profile.
    TablesOnly,
    /// No errors, and no profile.
    Empty,
    /// Nothing can be had from it.
    Unusable,
}

impl Verdict {
    /// The verdict in plain words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Usable => "usable",
            Self::PartlyUsable => "partly usable",
            Self::TablesOnly => "tables only: record again",
            Self::Empty => "empty",
            Self::Unusable => "unusable: record again",
        }
    }
}
