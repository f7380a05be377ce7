//! What crossing from one release to another changed or could not keep.

use crate::hint::Hint;
use crate::model::{FunctionId, Profile, Release};
use std::collections::BTreeMap;
use std::fmt;

/// What happened to functions on the way to their reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FindingKind {
    /// Local functions got the name that the reader computes.
    Renamed,
    /// Local functions stood under both forms of their name and were added up.
    Joined,
    /// Hashes became those that the reader computes; binaries with the old ones
    /// cannot use the profile for coverage any more.
    Rehashed,
    /// Functions stand twice, with the hash of either algorithm: the reader
    /// uses one of them.
    TwoHashes,
    /// One name would become that of two functions, so that neither was renamed.
    AmbiguousName,
    /// Both forms of a name have a record of one FuncHash, but of another shape.
    ShapeMismatch,
    /// Call targets whose names no input has cannot be renamed.
    UnknownTarget,
    /// Hashes of LLVM 22 or later, which the reader does not compute.
    HashOfLaterRelease,
    /// Hashes of LLVM 21 or earlier, which the reader does not compute for the
    /// version asked for.
    HashOfEarlierRelease,
    /// Hashes of LLVM 10 or earlier, whose algorithm no later release has.
    HashOfFirstAlgorithms,
}

impl FindingKind {
    /// Whether the reader will not use something that the inputs have.
    pub fn is_loss(self) -> bool {
        !matches!(self, Self::Renamed | Self::Joined | Self::Rehashed | Self::TwoHashes)
    }

    /// A word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Renamed => "renamed",
            Self::Joined => "joined",
            Self::Rehashed => "rehashed",
            Self::TwoHashes => "stand-twice",
            Self::AmbiguousName => "ambiguous-name",
            Self::ShapeMismatch => "shape-mismatch",
            Self::UnknownTarget => "unknown-target",
            Self::HashOfLaterRelease => "hash-of-later-release",
            Self::HashOfEarlierRelease => "hash-of-earlier-release",
            Self::HashOfFirstAlgorithms => "hash-of-first-algorithms",
        }
    }

    /// What is said of one function, and of several.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Renamed => ("local function was renamed", "local functions were renamed"),
            Self::Joined => (
                "local function stood under two names and was added up",
                "local functions stood under two names and were added up",
            ),
            Self::Rehashed => (
                "function got the hash that the compiler computes",
                "functions got the hashes that the compiler computes",
            ),
            Self::TwoHashes => (
                "function stands twice, with the hash of either era",
                "functions stand twice, with the hashes of both eras",
            ),
            Self::AmbiguousName => (
                "function shares its name with another in the reader's form and was not renamed",
                "functions share their names with others in the reader's form and were not renamed",
            ),
            Self::ShapeMismatch => (
                "function stands under two names with different numbers of counters",
                "functions stand under two names with different numbers of counters",
            ),
            Self::UnknownTarget => (
                "function calls targets whose names are not in the inputs",
                "functions call targets whose names are not in the inputs",
            ),
            Self::HashOfLaterRelease => (
                "function has a hash as LLVM 22 and later compute it",
                "functions have hashes as LLVM 22 and later compute them",
            ),
            Self::HashOfEarlierRelease => (
                "function has a hash as LLVM 11 to 21 compute it",
                "functions have hashes as LLVM 11 to 21 compute them",
            ),
            Self::HashOfFirstAlgorithms => (
                "function has a hash as LLVM 10 and earlier compute it",
                "functions have hashes as LLVM 10 and earlier compute them",
            ),
        }
    }

    /// What the reader does with it, and what can be done.
    pub fn advice(self) -> Option<Hint> {
        match self {
            Self::TwoHashes => Some(Hint::UniteHashes),
            Self::Rehashed => Some("coverage of binaries with the old hashes does not work with this profile".into()),
            Self::HashOfLaterRelease => Some(
                "the compiler drops them: write for LLVM 22 or later, or make dumps with the compiler that reads"
                    .into(),
            ),
            Self::HashOfEarlierRelease => Some(Hint::ChooseNoVersion),
            Self::HashOfFirstAlgorithms => Some("the compiler drops them: make new dumps with a newer compiler".into()),
            Self::UnknownTarget => Some("they stay as they are; give the dumps of the whole program".into()),
            Self::Renamed | Self::Joined | Self::AmbiguousName | Self::ShapeMismatch => None,
        }
    }
}

/// Functions to which the same thing happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What happened.
    pub kind: FindingKind,
    /// To how many functions.
    pub functions: u64,
    /// Sum of the counters of these functions.
    pub count: u64,
    /// Sum of all counters of the profile.
    pub total: u64,
    /// The names of the first of them, in order of appearance.
    pub first_names: Vec<Vec<u8>>,
}

/// So many names are kept of a finding.
const FIRST_NAMES: usize = 3;

impl Finding {
    /// Their share of all counts, from 0 to 1.
    pub fn share(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.count as f64 / self.total as f64 }
    }
}

/// `3 functions have … (12.50 % of all counts): f, g, h`.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (one, several) = self.kind.words();
        let words = if self.functions == 1 { one } else { several };
        write!(f, "{} {words} ({:.2} % of all counts): ", self.functions, 100.0 * self.share())?;
        for (at, name) in self.first_names.iter().enumerate() {
            write!(f, "{}{}", if at == 0 { "" } else { ", " }, name.escape_ascii())?;
        }
        if self.functions > self.first_names.len() as u64 { f.write_str(", …") } else { Ok(()) }
    }
}

/// Collects findings of functions of one profile.
#[derive(Default)]
pub(super) struct Counted {
    /// Sum of all counters of the profile, once somebody needs it.
    total: Option<u64>,
    findings: BTreeMap<FindingKind, Finding>,
}

impl Counted {
    /// Takes note of one function of the profile.
    pub(super) fn add(&mut self, kind: FindingKind, profile: &Profile, function: FunctionId) {
        let total = *self.total.get_or_insert_with(|| {
            let sums = profile.functions.iter().map(|function| sum_of(profile, function.id()));
            sums.fold(0, u64::saturating_add)
        });
        let empty = Finding { kind, functions: 0, count: 0, total, first_names: Vec::new() };
        let finding = self.findings.entry(kind).or_insert(empty);
        finding.functions += 1;
        finding.count = finding.count.saturating_add(sum_of(profile, function));
        if finding.first_names.len() < FIRST_NAMES {
            finding.first_names.push(profile.functions.name(function).to_vec());
        }
    }

    /// All findings, in the order of their kinds.
    pub(super) fn into_findings(self) -> Vec<Finding> {
        self.findings.into_values().collect()
    }
}

/// Sum of the counters of a function, marks left out.
fn sum_of(profile: &Profile, function: FunctionId) -> u64 {
    let records = profile.functions.function(function).records();
    let counted = records.filter(|record| record.pseudo_count().is_none());
    counted.flat_map(|record| record.counters).fold(0, |sum: u64, count| sum.saturating_add(count))
}

// Who will read a profile, and who may have written what it was merged from.

/// What becomes of the FuncHashes of front-end records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum HashPolicy {
    /// They stay as they are: coverage compares them with those in the binary.
    #[default]
    Keep,
    /// They become those that the reading compiler computes.
    Reader,
}

/// Which releases may have written the inputs of a merge, as far as names and
/// hashes go by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Origins {
    /// Some input is certainly of LLVM 17 or earlier: its local functions are
    /// `file:function`.
    pub before_18: bool,
    /// Some input may hold names of LLVM 17 or earlier.
    pub may_be_before_18: bool,
    /// Some input may hold names of LLVM 18 or later: `file;function`.
    pub may_be_from_18: bool,
    /// Some input is of LLVM 5 or earlier, whose front end computes hashes by
    /// its first algorithm.
    pub first_algorithm: bool,
    /// Some input may be of LLVM 6 to 10, the second algorithm.
    pub second_algorithm: bool,
    /// Some input may be of LLVM 22 or later, the fourth algorithm.
    pub may_be_fourth: bool,
}

impl Origins {
    /// Takes note of a raw profile of that version.
    pub fn add_raw(&mut self, version: u64) {
        self.before_18 |= version <= 8;
        self.may_be_before_18 |= version <= 8;
        self.may_be_from_18 |= version > 8;
        self.first_algorithm |= version <= 4;
        self.second_algorithm |= version == 5;
        self.may_be_fourth |= version >= 10;
    }

    /// Takes note of an indexed profile of that version. What it was merged
    /// from may be older.
    pub fn add_indexed(&mut self, version: u64) {
        self.before_18 |= version <= 10;
        self.may_be_before_18 = true;
        self.may_be_from_18 |= version > 10;
        self.first_algorithm |= version <= 4;
        self.second_algorithm |= version == 5;
        self.may_be_fourth |= version >= 12;
    }

    /// Takes note of a text that says that its names are of LLVM 17 or earlier.
    pub fn add_colon_names(&mut self) {
        self.before_18 = true;
        self.may_be_before_18 = true;
        self.may_be_fourth = true;
    }

    /// Takes note of a profile that does not say who wrote it: text, iprof.
    pub fn add_unknown(&mut self) {
        self.may_be_before_18 = true;
        self.may_be_from_18 = true;
        self.may_be_fourth = true;
    }
}

/// Who will read a profile, and what is known of its inputs.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CrossReleaseOptions {
    /// The release that reads.
    pub release: Release,
    /// The version of the indexed format to be written.
    pub indexed_version: u32,
    /// Whether somebody asked for that release; else it follows from the inputs
    /// and gives way to what the hashes tell.
    pub release_is_given: bool,
    /// Whether somebody asked for that very version.
    pub version_is_given: bool,
    /// What becomes of the hashes of front-end records.
    pub hashes: HashPolicy,
    /// Who may have written the inputs.
    pub origins: Origins,
}

impl CrossReleaseOptions {
    /// For a release that somebody asked for, with its own version of the
    /// indexed format.
    pub fn new(release: Release, indexed_version: u32, origins: Origins) -> Self {
        Self {
            release,
            indexed_version,
            release_is_given: true,
            version_is_given: false,
            hashes: HashPolicy::Keep,
            origins,
        }
    }
}
