//! Changes and losses of an adaptation to another release.

use crate::hint::Hint;
use crate::model::{FunctionId, Profile, Release};
use crate::names::separator;
use std::collections::BTreeMap;
use std::fmt;

/// A change or loss of functions during the adaptation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FindingKind {
    /// Local functions got the name that the target computes.
    Renamed,
    /// Local functions occurred under both forms of their name and were merged.
    Joined,
    /// Hashes were replaced by those that the target computes. Binaries with the old hashes can no longer use the
    /// profile for coverage.
    Rehashed,
    /// Functions occur twice, with the hashes of two algorithms. The target uses one of them.
    TwoHashes,
    /// Both forms of a name have a record with the same FuncHash but with different shapes.
    ShapeMismatch,
    /// Call targets cannot be renamed because no input contains their names.
    UnknownTarget,
    /// Hashes of LLVM 22 or later, which the target does not compute.
    HashOfLaterRelease,
    /// Hashes of LLVM 21 or earlier, which the target does not compute for the requested version.
    HashOfEarlierRelease,
    /// Front-end hashes of LLVM 10 or earlier for a later release, or the reverse. LLVM 6 and 11 changed them.
    HashOfFirstAlgorithms,
    /// Front-end hashes that may be of a release with another algorithm. Raw profiles of LLVM 3.9 to 9 have one version,
    /// and those of LLVM 10 to 12. One of sixteen large hashes of LLVM 21 or earlier looks like one of LLVM 22.
    AmbiguousHash,
    /// Hashes of IR profiles of LLVM 11 or earlier for a later release, or the reverse. LLVM 12 changed them.
    IrHashOfOtherRelease,
    /// MC/DC bitmaps of LLVM 18 for a later release, or the reverse, or both together.
    BitmapOfOtherRelease,
}

impl FindingKind {
    /// Returns true if the target will not use data that the inputs have.
    pub fn is_loss(self) -> bool {
        !matches!(self, Self::Renamed | Self::Joined | Self::Rehashed | Self::TwoHashes | Self::AmbiguousHash)
    }

    /// Returns the identifier in JSON output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Renamed => "renamed",
            Self::Joined => "joined",
            Self::Rehashed => "rehashed",
            Self::TwoHashes => "stand-twice",
            Self::ShapeMismatch => "shape-mismatch",
            Self::UnknownTarget => "unknown-target",
            Self::HashOfLaterRelease => "hash-of-later-release",
            Self::HashOfEarlierRelease => "hash-of-earlier-release",
            Self::HashOfFirstAlgorithms => "hash-of-first-algorithms",
            Self::AmbiguousHash => "ambiguous-hash",
            Self::IrHashOfOtherRelease => "ir-hash-of-other-release",
            Self::BitmapOfOtherRelease => "bitmap-of-other-release",
        }
    }

    /// Returns the message for one function, and the message for several.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Renamed => ("local function was renamed", "local functions were renamed"),
            Self::Joined => {
                ("local function had two names and was merged", "local functions had two names and were merged")
            }
            Self::Rehashed => (
                "function has the hash of the target compiler now",
                "functions have the hashes of the target compiler now",
            ),
            Self::TwoHashes => {
                ("function has two records, one per hash version", "functions have two records, one per hash version")
            }
            Self::ShapeMismatch => (
                "function has two names with different numbers of counters",
                "functions have two names with different numbers of counters",
            ),
            Self::UnknownTarget => (
                "function calls targets whose names are not in the inputs",
                "functions call targets whose names are not in the inputs",
            ),
            Self::HashOfLaterRelease => (
                "function has a hash like those of LLVM 22 or later",
                "functions have hashes like those of LLVM 22 or later",
            ),
            Self::HashOfEarlierRelease => {
                ("function has a hash of LLVM 11 to 21", "functions have hashes of LLVM 11 to 21")
            }
            Self::HashOfFirstAlgorithms => (
                "function has a front-end hash that the target does not compute",
                "functions have front-end hashes that the target does not compute",
            ),
            Self::AmbiguousHash => (
                "function has a hash that may be of another release",
                "functions have hashes that may be of another release",
            ),
            Self::IrHashOfOtherRelease => (
                "function has an IR hash that the target does not compute",
                "functions have IR hashes that the target does not compute",
            ),
            Self::BitmapOfOtherRelease => (
                "function has an MC/DC bitmap that the target does not understand",
                "functions have MC/DC bitmaps that the target does not understand",
            ),
        }
    }

    /// Returns how the target treats these functions, and a remedy.
    pub fn advice(self) -> Option<Hint> {
        match self {
            Self::TwoHashes => Some(Hint::UniteHashes),
            Self::Rehashed => Some("do not use this profile for the coverage of binaries with the old hashes".into()),
            Self::HashOfLaterRelease => Some(
                "the compiler ignores these records, except for about one in 16 that both releases hash alike; target \
                 LLVM 22 or later, or record new profiles with the target compiler"
                    .into(),
            ),
            Self::HashOfEarlierRelease => Some(Hint::FollowReader),
            Self::HashOfFirstAlgorithms => Some(
                "LLVM 6 and 11 changed these hashes, and compilers ignore records with other hashes than their own; \
                 record new profiles with the target compiler"
                    .into(),
            ),
            Self::AmbiguousHash => Some(
                "LLVM 6, 11 and 22 changed front-end hashes, and it is not known which release wrote these; compilers \
                 ignore records with other hashes than their own"
                    .into(),
            ),
            Self::IrHashOfOtherRelease => Some(
                "LLVM 12 changed the hashes of IR profiles, and compilers ignore records with other hashes than their \
                 own; record new profiles with the target compiler"
                    .into(),
            ),
            Self::BitmapOfOtherRelease => Some(
                "LLVM 19 changed MC/DC bitmaps, and llvm-cov can crash on the others; merge profiles of LLVM 18 for LLVM \
                 18, and those of later releases separately, for LLVM 19 or later"
                    .into(),
            ),
            Self::UnknownTarget => Some("pass the raw profiles of the whole program; the targets are unchanged".into()),
            Self::Renamed | Self::Joined | Self::ShapeMismatch => None,
        }
    }
}

/// Functions with the same finding.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The kind of finding.
    pub kind: FindingKind,
    /// The number of functions.
    pub functions: u64,
    /// Sum of the counters of these functions.
    pub count: u64,
    /// Sum of all counters of the profile.
    pub total: u64,
    /// Names of the first functions, in order of appearance.
    pub first_names: Vec<Vec<u8>>,
}

/// The number of names that a finding stores.
const FIRST_NAMES: usize = 3;

impl Finding {
    /// Returns the share of these functions in all counts, from 0 to 1.
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
            f.write_str(if at == 0 { "" } else { ", " })?;
            match std::str::from_utf8(name) {
                Ok(name) if !name.contains(char::is_control) => f.write_str(name)?,
                _ => write!(f, "{}", name.escape_ascii())?,
            }
        }
        if self.functions > self.first_names.len() as u64 { f.write_str(", …") } else { Ok(()) }
    }
}

/// The functions of one profile with findings, in order of appearance.
#[derive(Default)]
pub(super) struct Counted {
    functions: BTreeMap<FindingKind, Vec<FunctionId>>,
    /// The functions that others are merged with.
    merged_with: BTreeMap<FunctionId, FunctionId>,
}

impl Counted {
    /// Records a finding for one function of the profile.
    pub(super) fn add(&mut self, kind: FindingKind, function: FunctionId) {
        self.functions.entry(kind).or_default().push(function);
    }

    /// Records that a function is merged with another one, whose counts are also those of the finding.
    pub(super) fn add_joined(&mut self, function: FunctionId, other: FunctionId) {
        self.add(FindingKind::Joined, function);
        self.merged_with.insert(function, other);
    }

    /// Returns all findings for the functions that are kept, in the order of their kinds.
    pub(super) fn into_findings(self, profile: &Profile, is_kept: impl Fn(&[u8]) -> bool) -> Vec<Finding> {
        if self.functions.is_empty() {
            return Vec::new();
        }
        let name = |id: FunctionId| profile.functions.name(id);
        let kept = profile.functions.iter().map(|function| function.id()).filter(|id| is_kept(name(*id)));
        let total = kept.fold(0, |sum: u64, id| sum.saturating_add(sum_of(profile, id)));
        let of_kind = |(kind, mut functions): (FindingKind, Vec<FunctionId>)| {
            functions.retain(|id| is_kept(name(*id)));
            let others =
                functions.iter().filter_map(|id| self.merged_with.get(id).filter(|_| kind == FindingKind::Joined));
            let counted = functions.iter().chain(others);
            let count = counted.fold(0, |sum: u64, id| sum.saturating_add(sum_of(profile, *id)));
            let first_names = functions.iter().take(FIRST_NAMES).map(|id| name(*id).to_vec()).collect();
            let finding = Finding { kind, functions: functions.len() as u64, count, total, first_names };
            (!functions.is_empty()).then_some(finding)
        };
        self.functions.into_iter().filter_map(of_kind).collect()
    }
}

/// Returns the sum of a function's counters without pseudo counts.
fn sum_of(profile: &Profile, function: FunctionId) -> u64 {
    let records = profile.functions.function(function).records();
    let counted = records.filter(|record| record.pseudo_count().is_none());
    counted.flat_map(|record| record.counters).fold(0, |sum: u64, count| sum.saturating_add(count))
}

// The target of a profile, and the releases that may have written its inputs.

/// The treatment of the FuncHashes of front-end records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum HashPolicy {
    /// Keep the hashes: coverage compares them with those in the binary.
    #[default]
    Keep,
    /// Replace the hashes by those that the target compiler computes.
    Reader,
}

/// The releases that may have written the inputs of a merge, as far as they differ in names and hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Origins {
    /// At least one input was certainly written by LLVM 17 or earlier, which names local functions `file:function`.
    pub before_18: bool,
    /// Some input may contain names of LLVM 17 or earlier.
    pub may_be_before_18: bool,
    /// Some input may contain names of LLVM 18 or later: `file;function`.
    pub may_be_from_18: bool,
    /// Some input was written by LLVM 5 or earlier, whose front end uses hash version 1.
    pub first_algorithm: bool,
    /// Some input was written by LLVM 3.9 to 9: hash version 1 or 2.
    pub(crate) first_or_second_algorithm: bool,
    /// Some input was written by LLVM 6 to 10: hash version 2.
    pub second_algorithm: bool,
    /// Some input was written by LLVM 10 to 12: hash version 2 or 3.
    pub(crate) second_or_third_algorithm: bool,
    /// Some input was written by LLVM 11 or later: hash version 3 or 4.
    pub(crate) later_algorithm: bool,
    /// Some input may have IR hashes of LLVM 11 or earlier.
    pub(crate) may_be_early_ir: bool,
    /// Some input may have IR hashes of LLVM 12 or later.
    pub(crate) may_be_later_ir: bool,
    /// Some input may have been written by LLVM 22 or later: hash version 4.
    pub may_be_fourth: bool,
    /// Some input was written by LLVM 18, whose MC/DC bitmaps differ from those of later releases.
    pub(crate) bitmaps_of_18: bool,
    /// Some input was written by LLVM 19 or later.
    pub(crate) bitmaps_since_19: bool,
}

impl Origins {
    /// Returns the first and the last front-end hash version that inputs of each kind can have; 3 is also 4.
    pub(super) fn front_end_algorithms(self) -> impl Iterator<Item = (u32, u32)> + Clone {
        let ranges = [
            (self.first_algorithm, (1, 1)),
            (self.first_or_second_algorithm, (1, 2)),
            (self.second_algorithm, (2, 2)),
            (self.second_or_third_algorithm, (2, 3)),
            (self.later_algorithm, (3, 3)),
        ];
        ranges.into_iter().filter_map(|(has_some, range)| has_some.then_some(range))
    }

    /// Adds a raw profile of the given version.
    pub(crate) fn add_raw(&mut self, version: u64) {
        self.before_18 |= version <= 8;
        self.may_be_before_18 |= version <= 8;
        self.may_be_from_18 |= version > 8;
        self.first_algorithm |= version <= 3;
        self.first_or_second_algorithm |= version == 4;
        self.second_or_third_algorithm |= version == 5;
        self.later_algorithm |= version > 5;
        self.may_be_early_ir |= version <= 5;
        self.may_be_later_ir |= version >= 5;
        self.may_be_fourth |= version >= 10;
        self.bitmaps_of_18 |= version == 9;
        self.bitmaps_since_19 |= version >= 10;
    }

    /// Adds an indexed profile of the given version. It may have been merged from older profiles.
    pub(crate) fn add_indexed(&mut self, version: u64) {
        self.before_18 |= version <= 10;
        self.may_be_before_18 = true;
        self.may_be_from_18 |= version > 10;
        self.first_algorithm |= version <= 4;
        self.second_algorithm |= version == 5;
        self.later_algorithm |= version > 5;
        self.may_be_early_ir = true;
        self.may_be_later_ir |= version >= 7;
        self.may_be_fourth |= version >= 12;
        self.bitmaps_of_18 |= version == 11;
        self.bitmaps_since_19 |= version >= 12;
    }

    /// Adds a text profile that declares names of LLVM 17 or earlier.
    pub(crate) fn add_colon_names(&mut self) {
        self.before_18 = true;
        self.may_be_before_18 = true;
        self.may_be_early_ir = true;
        self.may_be_later_ir = true;
        self.may_be_fourth = true;
    }

    /// Adds names that functions got by a remapping, in the form of any release.
    pub(crate) fn add_new_names<'n>(&mut self, names: impl Iterator<Item = &'n [u8]>) {
        for name in names {
            match separator(name) {
                Some(b':') => self.may_be_before_18 = true,
                Some(_) => self.may_be_from_18 = true,
                None => {}
            }
        }
    }

    /// Adds a profile that does not identify its producer: text, iprof.
    pub fn add_unknown(&mut self) {
        self.may_be_before_18 = true;
        self.may_be_from_18 = true;
        self.may_be_early_ir = true;
        self.may_be_later_ir = true;
        self.may_be_fourth = true;
    }
}

/// The target of a profile, and what is known about its inputs.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CrossReleaseOptions {
    /// The target release.
    pub release: Release,
    /// The version of the indexed format to write.
    pub indexed_version: u32,
    /// Whether the user requested the release. Otherwise it follows from the inputs, and the hashes can change it.
    pub release_is_given: bool,
    /// Whether the user requested this version.
    pub version_is_given: bool,
    /// The treatment of the hashes of front-end records.
    pub hashes: HashPolicy,
    /// The releases that may have written the inputs.
    pub origins: Origins,
    /// Whether the output is a raw profile, which has no indexed version.
    pub(crate) is_raw: bool,
}

impl CrossReleaseOptions {
    /// Returns options for a requested release with its default version of the indexed format.
    pub fn new(release: Release, indexed_version: u32, origins: Origins) -> Self {
        Self {
            release,
            indexed_version,
            release_is_given: true,
            version_is_given: false,
            hashes: HashPolicy::Keep,
            origins,
            is_raw: false,
        }
    }
}
