//! LLVM releases: which file versions each reads and writes, and which
//! toolchains carry it.
//!
//! The raw versions are from `InstrProfData.inc` of each release, the indexed versions from `InstrProf.h`. For releases
//! since 13, files of the release's compiler and llvm-profdata confirm the versions, and the output for the release is
//! compared with that of its tool. Older rows are marked as inferred. The LLVM version of a rustc is that of
//! `rustc -vV`; since `FIRST_INFERRED_RUSTC` it is inferred from the pull requests that changed it (the nightly of
//! 2026-08-06, 1.99, was the first with LLVM 23, and rust-lang/rust#162476 made it 23.1.1). The LLVM version of a Swift
//! or an Xcode is inferred from the branches of Apple's compilers, because it does not follow from their own version
//! numbers.

use crate::error::{Error, Result};
use crate::hint::Hint;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A major release of LLVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Release(pub u32);

impl Release {
    /// The release that this program targets by default.
    pub const DEFAULT: Self = Self(22);

    /// Returns a release that exists. `Release(major)` does not check this.
    ///
    /// # Errors
    ///
    /// A usage error for a release that is not in the table.
    pub fn new(major: u32) -> Result<Self> {
        let release = Self(major);
        match release.last_row() {
            Some(_) => Ok(release),
            None => Err(Error::usage(format!("there is no LLVM {major}, or it is too new"))),
        }
    }

    /// The raw version that the release writes; `None` for a release that is
    /// not in the table. Releases 3.x count as the last of them.
    pub fn raw_version(self) -> Option<u32> {
        self.last_row().map(|row| row.raw_version)
    }

    /// The indexed version that the release writes; `None` for a release that
    /// is not in the table. Releases 3.x count as the last of them.
    pub fn indexed_version(self) -> Option<u32> {
        self.last_row().map(|row| row.indexed_version)
    }

    fn last_row(self) -> Option<&'static ReleaseRow> {
        RELEASES.iter().rev().find(|row| row.major == self.0)
    }
}

impl Default for Release {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LLVM {}", self.0)
    }
}

/// Accepts every spelling of [`parse`], and the output of `Display`.
///
/// ```
/// use profbridge::instr::Release;
///
/// for text in ["17", "llvm-17", "clang-17.0.6", "rustc-1.75", "LLVM 17"] {
///     assert_eq!(text.parse::<Release>()?, Release(17));
/// }
/// # Ok::<(), profbridge::Error>(())
/// ```
impl FromStr for Release {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        parse(text).map(ReleaseRow::release)
    }
}

/// The formats that one release of LLVM writes, and the toolchains that ship it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReleaseRow {
    /// The release, `3.9` or `14`.
    pub llvm: &'static str,
    /// Its major number.
    pub major: u32,
    /// Version of the raw profiles that its runtime writes.
    pub raw_version: u32,
    /// Version of the indexed profiles that its tools write.
    pub indexed_version: u32,
    /// Whether a version above is inferred rather than seen in a file or tool.
    pub inferred: bool,
    /// First and last minor number of rustc 1.x that bundles it; see `FIRST_INFERRED_RUSTC`.
    pub rustc: Option<(u32, u32)>,
    /// Releases of Swift on swift.org that contain it; inferred.
    pub swift: &'static [&'static str],
    /// Releases of Xcode that contain it, the first and the newest; inferred.
    pub xcode: &'static [&'static str],
}

impl ReleaseRow {
    /// The release.
    pub fn release(&self) -> Release {
        Release(self.major)
    }

    fn is_since(&self, first: Option<Release>) -> bool {
        first.is_none_or(|first| self.release() >= first)
    }

    /// `1.78 to 1.81`, or nothing when no rustc of the table bundles it.
    pub fn rustc_words(&self) -> Option<String> {
        self.rustc.map(|(first, last)| range_words(first, last))
    }

    /// Returns true if the LLVM of a rustc of the row is inferred.
    pub fn rustc_is_inferred(&self) -> bool {
        self.rustc.is_some_and(|(_, last)| last >= FIRST_INFERRED_RUSTC)
    }
}

const fn row(
    llvm: &'static str,
    major: u32,
    (raw_version, indexed_version): (u32, u32),
    inferred: bool,
    rustc: Option<(u32, u32)>,
    swift: &'static [&'static str],
    xcode: &'static [&'static str],
) -> ReleaseRow {
    ReleaseRow { llvm, major, raw_version, indexed_version, inferred, rustc, swift, xcode }
}

/// The first rustc 1.x whose LLVM is inferred: no program of it was available.
const FIRST_INFERRED_RUSTC: u32 = 98;

const SEEN: bool = false;
const INFERRED: bool = true;

/// All releases that write raw profiles, oldest first.
pub const RELEASES: [ReleaseRow; 25] = [
    row("3.5", 3, (1, 1), INFERRED, None, &[], &[]),
    row("3.6", 3, (1, 2), INFERRED, None, &[], &[]),
    row("3.7", 3, (1, 2), INFERRED, None, &[], &[]),
    row("3.8", 3, (2, 3), INFERRED, None, &[], &[]),
    row("3.9", 3, (4, 4), INFERRED, None, &[], &["8.0"]),
    row("4", 4, (4, 4), INFERRED, None, &[], &["9.0"]),
    row("5", 5, (4, 4), INFERRED, None, &["4.2"], &["9.3"]),
    row("6", 6, (4, 5), INFERRED, None, &[], &["10.0"]),
    row("7", 7, (4, 5), INFERRED, None, &["5.0"], &["10.2"]),
    row("8", 8, (4, 5), INFERRED, None, &["5.1"], &["11.0"]),
    row("9", 9, (4, 5), INFERRED, Some((38, 44)), &["5.2"], &["11.4"]),
    row("10", 10, (5, 5), INFERRED, Some((45, 46)), &["5.3"], &["12.0"]),
    row("11", 11, (5, 6), INFERRED, Some((47, 51)), &["5.4"], &["12.5"]),
    row("12", 12, (5, 7), INFERRED, Some((52, 55)), &["5.5"], &["13.0"]),
    row("13", 13, (7, 7), SEEN, Some((56, 59)), &["5.6"], &["13.3"]),
    row("14", 14, (8, 7), SEEN, Some((60, 64)), &["5.7", "5.8"], &["14.0"]),
    row("15", 15, (8, 8), SEEN, Some((65, 69)), &["5.9", "5.10"], &["14.3"]),
    row("16", 16, (8, 9), SEEN, Some((70, 72)), &[], &["15.0"]),
    row("17", 17, (8, 10), SEEN, Some((73, 77)), &["6.0"], &["16.0"]),
    row("18", 18, (9, 11), SEEN, Some((78, 81)), &[], &[]),
    row("19", 19, (10, 12), SEEN, Some((82, 86)), &["6.1", "6.2"], &["16.3", "26.0"]),
    row("20", 20, (10, 12), SEEN, Some((87, 90)), &[], &[]),
    row("21", 21, (10, 12), SEEN, Some((91, 94)), &["6.3", "6.4"], &["26.4", "27.0", "27.1"]),
    row("22", 22, (10, 13), SEEN, Some((95, 98)), &[], &[]),
    row("23", 23, (11, 14), SEEN, Some((99, 102)), &[], &[]),
];

/// The row of a toolchain: `llvm-14`, `clang-3.9`, `rustc-1.75`, `rust-1.75.0`,
/// `swift-5.9`, `xcode-16.3`, also without the hyphen, or a bare LLVM number.
/// Further parts of the version are ignored.
///
/// ```
/// use profbridge::instr::release;
///
/// assert_eq!(release::parse("rustc-1.75").unwrap().llvm, "17");
/// assert_eq!(release::parse("llvm-14.0.6").unwrap().raw_version, 8);
/// ```
///
/// # Errors
///
/// Usage for a name that is not understood, and for a version that is older
/// or newer than those of the table.
pub fn parse(toolchain: &str) -> Result<&'static ReleaseRow> {
    let first_digit = toolchain.find(|c: char| c.is_ascii_digit());
    let (name, version) = match (toolchain.split_once(['-', ' ']), first_digit) {
        (Some((name, version)), _) => (name, Some(version)),
        (None, Some(0)) => ("llvm", Some(toolchain)),
        (None, Some(at)) => (&toolchain[..at], Some(&toolchain[at..])),
        (None, None) => (toolchain, None),
    };
    let unknown = |hint| Error::usage(format!("unknown toolchain {toolchain:?}")).with_hint(hint);
    let Some(family) = Family::of(&name.to_ascii_lowercase()) else { return Err(unknown(hint_for(name))) };
    let Some(wanted) = version.and_then(first_numbers) else {
        let example = match family {
            _ if version.is_some() => SPELLINGS,
            Family::Llvm => "add the version, as in llvm-14",
            Family::Rustc => "add the version, as in rustc-1.75",
            Family::Swift => "add the version, as in swift-5.9",
            Family::Xcode => "add the version, as in xcode-16.3",
        };
        return Err(unknown(example.into()));
    };
    let releases = family.releases();
    let words = |(major, minor): (u32, u32)| match family {
        Family::Llvm if major > 3 => format!("LLVM {major}"),
        _ => format!("{} {major}.{minor}", family.words()),
    };
    let (oldest, newest) = (releases[0].0, releases[releases.len() - 1].0);
    let found = match (family, wanted) {
        (Family::Llvm, (3, None)) => (3, u32::MAX),
        (Family::Llvm, (major @ 4.., _)) => (major, 0),
        (_, (major, minor)) => (major, minor.unwrap_or(0)),
    };
    if found > newest {
        let detail = format!("{} is newer than {}, the newest known release", words(found), words(newest));
        return Err(Error::usage(detail).with_hint(Hint::NameLlvmRelease { newest: RELEASES[RELEASES.len() - 1].llvm }));
    }
    if found < oldest {
        let detail = format!("{} is older than {}, the oldest known release", words(found), words(oldest));
        return Err(Error::usage(detail).with_hint(Hint::ListReleases));
    }
    // The lists name the releases in which LLVM changed.
    let not_after = releases.iter().rev().find(|(version, _)| *version <= found);
    let row = not_after.filter(|(version, _)| version.0 == found.0).map(|(_, row)| *row);
    row.ok_or_else(|| unknown(Hint::ListReleases))
}

/// Returns true for a rustc whose LLVM is inferred, because no program of it was available.
///
/// ```
/// use profbridge::instr::release;
///
/// assert!(release::is_inferred_rustc("rustc-1.99") && !release::is_inferred_rustc("rustc-1.75"));
/// ```
pub fn is_inferred_rustc(toolchain: &str) -> bool {
    let Some((name, version)) = toolchain.split_once(['-', ' ']) else { return false };
    let is_rustc = Family::of(&name.to_ascii_lowercase()) == Some(Family::Rustc);
    is_rustc && matches!(first_numbers(version), Some((1, Some(minor))) if minor >= FIRST_INFERRED_RUSTC)
}

/// Toolchains that have version numbers of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Llvm,
    Rustc,
    Swift,
    Xcode,
}

impl Family {
    fn of(name: &str) -> Option<Self> {
        match name {
            "llvm" | "clang" => Some(Self::Llvm),
            "rustc" | "rust" => Some(Self::Rustc),
            "swift" => Some(Self::Swift),
            "xcode" => Some(Self::Xcode),
            _ => None,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Llvm => "LLVM",
            Self::Rustc => "rustc",
            Self::Swift => "Swift",
            Self::Xcode => "Xcode",
        }
    }

    /// The versions of the table, oldest first.
    fn releases(self) -> Vec<((u32, u32), &'static ReleaseRow)> {
        let listed = |versions: &[&str]| versions.iter().filter_map(|version| first_numbers(version)).collect();
        let of_row = |row: &ReleaseRow| -> Vec<(u32, Option<u32>)> {
            match self {
                Self::Llvm => listed(&[row.llvm]),
                Self::Rustc => {
                    row.rustc.into_iter().flat_map(|(first, last)| first..=last).map(|minor| (1, Some(minor))).collect()
                }
                Self::Swift => listed(row.swift),
                Self::Xcode => listed(row.xcode),
            }
        };
        let with_row = |row| of_row(row).into_iter().map(move |(major, minor)| ((major, minor.unwrap_or(0)), row));
        RELEASES.iter().flat_map(with_row).collect()
    }
}

/// The version of raw memory profiles that the runtime of a release writes; `None` before release 14.
pub fn raw_memory_version(release: Release) -> Option<u32> {
    match release.0 {
        0..14 => None,
        14 | 15 => Some(1),
        16 => Some(2),
        17 | 18 => Some(3),
        19..=21 => Some(4),
        _ => Some(5),
    }
}

/// The releases that write that version of raw memory profiles, in words.
pub fn raw_memory_writers(version: u64) -> Option<String> {
    let rows = rows_where(|row| raw_memory_version(row.release()).map(u64::from) == Some(version));
    llvm_words(&rows)
}

/// Major and minor number of a version; of a minor part such as `0-nightly` the number in front.
fn first_numbers(version: &str) -> Option<(u32, Option<u32>)> {
    let mut parts = version.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().and_then(|part| part.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
    Some((major, minor))
}

/// How toolchains are spelled.
const SPELLINGS: &str = "write llvm-14, rustc-1.75, swift-5.9 or xcode-16.3";

/// Returns the hint for a toolchain without a numbered LLVM release, or whose version does not determine one.
fn hint_for(name: &str) -> Hint {
    match name.to_ascii_lowercase().as_str() {
        "apple" => "write the version of Xcode, such as xcode-16.3".into(),
        "ndk" | "emscripten" | "emcc" => "write the LLVM release that its clang reports, such as llvm-18".into(),
        _ => SPELLINGS.into(),
    }
}

/// The releases that write that raw version, from one on, in words:
/// `LLVM 14 to 17 (rustc 1.60 to 1.77)`.
pub fn raw_writers(version: u64, since: Option<Release>) -> Option<String> {
    match version {
        3 => Some("LLVM before 3.9, in development only".to_string()),
        6 => Some("LLVM between 12 and 13, in development only".to_string()),
        _ => raw_readers(version, since),
    }
}

/// The releases whose llvm-profdata reads that raw version, from one on: those that write it.
pub fn raw_readers(version: u64, since: Option<Release>) -> Option<String> {
    match version {
        3 | 6 => None,
        _ => writers(|row| u64::from(row.raw_version) == version && row.is_since(since)),
    }
}

/// The releases that write that indexed version and a memory profile of this version, from one on, in words.
pub fn indexed_writers(version: u64, since: Option<Release>, memory_version: Option<u32>) -> Option<String> {
    let writes_memory = |row: &ReleaseRow, version| {
        written_memory_versions(row.release()).is_some_and(|versions| versions.contains(&version))
    };
    writers(|row| {
        u64::from(row.indexed_version) == version
            && row.is_since(since)
            && memory_version.is_none_or(|version| writes_memory(row, version))
    })
}

/// Returns the versions of memory profiles in indexed files that the merge of a release can write. Releases before 15 write none.
pub(crate) fn written_memory_versions(release: Release) -> Option<RangeInclusive<u32>> {
    match release.0 {
        0..15 => None,
        15..=18 => Some(0..=0),
        19 => Some(0..=3),
        20 => Some(2..=3),
        _ => Some(2..=4),
    }
}

/// Returns true if a release reads that version of memory profiles. Releases that know no memory profiles skip them.
pub(crate) fn reads_memory_version(release: Release, version: u32) -> bool {
    written_memory_versions(release).is_none_or(|versions| versions.contains(&version))
}

/// The releases that read that indexed version and a memory profile of this version, from one on: those that write it,
/// and later ones.
pub fn indexed_readers(version: u64, since: Option<Release>, memory_version: Option<u32>) -> Option<String> {
    let reads = |row: &ReleaseRow| {
        row.is_since(since) && memory_version.is_none_or(|version| reads_memory_version(row.release(), version))
    };
    let rows = rows_where(|row| u64::from(row.indexed_version) >= version && reads(row));
    match RELEASES.last() == rows.last().copied() {
        true => Some(format!("LLVM {} and later", rows.first()?.llvm)),
        false => llvm_words(&rows),
    }
}

/// The newest release of the table, in words.
pub fn newest_words() -> String {
    format!("LLVM {}", RELEASES[RELEASES.len() - 1].llvm)
}

fn rows_where(writes: impl Fn(&ReleaseRow) -> bool) -> Vec<&'static ReleaseRow> {
    RELEASES.iter().filter(|row| writes(row)).collect()
}

/// `LLVM 14 to 17`.
fn llvm_words(rows: &[&ReleaseRow]) -> Option<String> {
    let (first, last) = (rows.first()?, rows.last()?);
    Some(match rows.len() {
        1 => format!("LLVM {}", first.llvm),
        2 => format!("LLVM {} and {}", first.llvm, last.llvm),
        _ => format!("LLVM {} to {}", first.llvm, last.llvm),
    })
}

fn writers(writes: impl Fn(&ReleaseRow) -> bool) -> Option<String> {
    let rows = rows_where(writes);
    let llvm = llvm_words(&rows)?;
    let rustc_first = rows.iter().find_map(|row| row.rustc.map(|(first, _)| first));
    let rustc_last = rows.iter().rev().find_map(|row| row.rustc.map(|(_, last)| last));
    Some(match rustc_first.zip(rustc_last) {
        Some((first, last)) => format!("{llvm} (rustc {})", range_words(first, last)),
        None => llvm,
    })
}

fn range_words(first: u32, last: u32) -> String {
    if last == first { format!("1.{first}") } else { format!("1.{first} to 1.{last}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_releases_of_the_table_are_created() {
        assert_eq!(Release::new(14).ok(), Some(Release(14)));
        for unknown in [0, 2, 99] {
            assert!(Release::new(unknown).is_err(), "{unknown}");
        }
        for row in RELEASES {
            assert_eq!(Release::new(row.major).ok(), Some(row.release()));
        }
    }

    #[test]
    fn versions_never_fall_from_one_release_to_the_next() {
        for pair in RELEASES.windows(2) {
            assert!(pair[0].raw_version <= pair[1].raw_version, "{}", pair[1].llvm);
            assert!(pair[0].indexed_version <= pair[1].indexed_version, "{}", pair[1].llvm);
            if let (Some((_, last)), Some((first, _))) = (pair[0].rustc, pair[1].rustc) {
                assert_eq!(last + 1, first, "rustc of LLVM {}", pair[1].llvm);
            }
        }
    }

    #[test]
    fn toolchains_are_found_by_their_own_numbers() {
        let cases = [
            ("llvm-14", "14"),
            ("LLVM-14.0.6", "14"),
            ("clang-3.8", "3.8"),
            ("22", "22"),
            ("rustc-1.75", "17"),
            ("rust-1.78.0", "18"),
            ("rustc-1.95", "22"),
            ("swift-5.9", "15"),
            ("swift-5.10.1", "15"),
            ("swift-6.0.3", "17"),
            ("xcode-16.2", "17"),
            ("xcode-16.3", "19"),
            ("rustc-1.98", "22"),
            ("rustc-1.99", "23"),
            ("rustc-1.102.0-nightly", "23"),
            ("swift-6.3.1", "21"),
            ("swift-6.4", "21"),
            ("xcode-26.3", "19"),
            ("xcode-26.6", "21"),
            ("xcode-27.1", "21"),
            ("llvm-3", "3.9"),
            ("llvm16", "16"),
            ("Rustc1.75", "17"),
        ];
        for (name, llvm) in cases {
            assert_eq!(parse(name).unwrap().llvm, llvm, "{name}");
        }
    }

    #[test]
    fn unknown_toolchains_get_an_error_and_a_hint() {
        let spellings = "write llvm-14, rustc-1.75, swift-5.9 or xcode-16.3";
        let newer =
            "use its LLVM release; if that is newer than llvm-23, use llvm-23: later releases read its profiles";
        let older = "choose a toolchain from the release table";
        let cases = [
            ("", "unknown toolchain \"\"", spellings),
            ("llvm-", "unknown toolchain \"llvm-\"", spellings),
            ("llvm24", "LLVM 24 is newer than LLVM 23, the newest known release", newer),
            ("lllvm16", "unknown toolchain \"lllvm16\"", spellings),
            ("rustc", "unknown toolchain \"rustc\"", "add the version, as in rustc-1.75"),
            ("gcc-12", "unknown toolchain \"gcc-12\"", spellings),
            ("rustc-1.103", "rustc 1.103 is newer than rustc 1.102, the newest known release", newer),
            ("rustc-2.0", "rustc 2.0 is newer than rustc 1.102, the newest known release", newer),
            ("llvm-24.1", "LLVM 24 is newer than LLVM 23, the newest known release", newer),
            ("swift-6.5", "Swift 6.5 is newer than Swift 6.4, the newest known release", newer),
            ("xcode-28", "Xcode 28.0 is newer than Xcode 27.1, the newest known release", newer),
            ("llvm-2", "LLVM 2.0 is older than LLVM 3.5, the oldest known release", older),
            ("llvm-3.4", "LLVM 3.4 is older than LLVM 3.5, the oldest known release", older),
            ("rustc-1.3", "rustc 1.3 is older than rustc 1.38, the oldest known release", older),
            ("xcode-20.0", "unknown toolchain \"xcode-20.0\"", older),
        ];
        for (name, message, hint) in cases {
            let error = parse(name).unwrap_err();
            let found = (error.to_string(), error.hint().unwrap().to_string());
            assert_eq!((found.0.as_str(), found.1.as_str()), (message, hint), "{name}");
        }
        for (name, word) in
            [("apple-clang-15", "xcode-16.3"), ("ndk-r26", "its clang"), ("emscripten-3.1", "its clang")]
        {
            assert!(parse(name).unwrap_err().hint().unwrap().to_string().contains(word), "{name}");
        }
    }

    #[test]
    fn writers_are_named_with_their_rustc() {
        assert_eq!(raw_writers(9, None).unwrap(), "LLVM 18 (rustc 1.78 to 1.81)");
        assert_eq!(raw_writers(8, None).unwrap(), "LLVM 14 to 17 (rustc 1.60 to 1.77)");
        assert_eq!(raw_writers(10, None).unwrap(), "LLVM 19 to 22 (rustc 1.82 to 1.98)");
        assert_eq!(raw_writers(12, None), None);
        assert_eq!(indexed_writers(12, None, None).unwrap(), "LLVM 19 to 21 (rustc 1.82 to 1.94)");
        assert_eq!(indexed_readers(9, None, None).unwrap(), "LLVM 16 and later");
        // Releases that do not know a property use the counters for something else.
        let (temporal, loops) = (Some(Release(17)), Some(Release(20)));
        assert_eq!(raw_readers(8, temporal).unwrap(), "LLVM 17 (rustc 1.73 to 1.77)");
        assert_eq!(raw_writers(10, loops).unwrap(), "LLVM 20 to 22 (rustc 1.87 to 1.98)");
        assert_eq!(indexed_writers(12, loops, None).unwrap(), "LLVM 20 and 21 (rustc 1.87 to 1.94)");
        assert_eq!(indexed_readers(12, loops, None).unwrap(), "LLVM 20 and later");
        assert_eq!(indexed_writers(12, None, Some(4)).unwrap(), "LLVM 21 (rustc 1.91 to 1.94)");
        assert_eq!(indexed_readers(12, None, Some(4)).unwrap(), "LLVM 21 and later");
        assert_eq!(Release::DEFAULT.indexed_version(), Some(13));
        let of_memory = [1, 2, 3, 4, 5].map(|version| raw_memory_writers(version).unwrap());
        assert_eq!(of_memory, ["LLVM 14 and 15", "LLVM 16", "LLVM 17 and 18", "LLVM 19 to 21", "LLVM 22 and 23"]);
        assert_eq!(raw_memory_writers(6), None);
    }
}
