//! What becomes of a function's counts in the new build.

use serde::Serialize;

/// What a compiler of the new build does with a function of the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Class {
    /// It is found and used as it is.
    Used,
    /// It is the same function, under the name or the hash of another release of
    /// LLVM; `merge --for` makes it one that is used.
    OtherRelease,
    /// A function of that name is there and has changed.
    Changed,
    /// The name is gone; a new function has the same hash and shape and a
    /// similar name. A guess.
    Renamed,
    /// The same function is there under another file, or became local or global.
    Moved,
    /// Nothing of the new build is like it.
    Gone,
    /// Nothing can be said: the new build does not tell of such records.
    NotCompared,
}

impl Class {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 7] =
        [Self::Used, Self::OtherRelease, Self::Changed, Self::Renamed, Self::Moved, Self::Gone, Self::NotCompared];

    /// The class in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Used => "used as it is",
            Self::OtherRelease => "of another release",
            Self::Changed => "changed",
            Self::Renamed => "renamed (a guess)",
            Self::Moved => "moved",
            Self::Gone => "gone",
            Self::NotCompared => "not compared",
        }
    }

    /// Whether the compiler drops what is of this class.
    pub fn is_lost(self) -> bool {
        !matches!(self, Self::Used | Self::NotCompared)
    }
}

/// What a function of the new build finds in the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ProgramClass {
    /// Counts that are used.
    Used,
    /// Counts under the name or the hash of another release.
    OtherRelease,
    /// Counts of a function of its name that was another one.
    Changed,
    /// Counts of a function that probably had another name.
    Renamed,
    /// Counts of itself in another file, or as a local or global function.
    Moved,
    /// No counts: it is new, or was never profiled.
    Unprofiled,
}

impl ProgramClass {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 6] =
        [Self::Used, Self::OtherRelease, Self::Changed, Self::Renamed, Self::Moved, Self::Unprofiled];

    /// The class in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Used => "have their profile",
            Self::OtherRelease => "have one of another release",
            Self::Changed => "changed since",
            Self::Renamed => "renamed since (a guess)",
            Self::Moved => "moved since",
            Self::Unprofiled => "new or never profiled",
        }
    }
}
