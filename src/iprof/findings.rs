//! Problems of a file: codes, levels and positions.

use crate::error::{Error, ErrorKind};
pub use crate::error::{Level, Verdict};
use crate::hint::Hint;
use crate::limits::Limits;
use std::collections::BTreeMap;
use std::fmt;

/// Declares [`Code`] with the name and level of each, in one table.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident $name:literal $level:ident;)*) => {
        /// The kind of a finding.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum Code { $($(#[$doc])* #[cfg_attr(feature = "serde", serde(rename = $name))] $code,)* }

        impl Code {
            /// All codes.
            pub const ALL: &'static [Self] = &[$(Self::$code),*];

            /// Returns the printed code, for example `bad-context`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$code => $name),* }
            }

            /// Returns the level of findings with this code. An unknown section whose purpose is known has a lower
            /// level, see [`Finding::level`].
            pub fn level(self) -> Level {
                match self { $(Self::$code => Level::$level),* }
            }

            /// Returns true if it only states that the file is old, which does not matter to readers.
            pub fn is_about_age(self) -> bool {
                matches!(self, Self::PreReleaseVersion | Self::LegacyLayout)
            }

            /// Returns true if it affects the interpretation of the whole file. Commands other than `check` also print
            /// these.
            pub fn is_about_content(self) -> bool {
                matches!(self, Self::NewerMinor | Self::BothInstanceofSpellings | Self::PackedCounts)
            }

            /// Returns the finding that made a reader reject a file.
            pub fn of(error: &Error) -> Option<Self> {
                let ErrorKind::IprofFinding { code: name, .. } = error.kind() else { return None };
                Self::ALL.iter().copied().find(|code| code.name() == *name)
            }
        }
    };
}

codes! {
    /// The input ends before the object does.
    Truncated "truncated" Error;
    /// Not JSON.
    BadJson "bad-json" Error;
    /// The operating system or the decompressor failed.
    Unreadable "unreadable" Error;
    /// No bytes.
    EmptyFile "empty-file" Error;
    /// Not UTF-8.
    BadEncoding "bad-encoding" Error;
    /// The text starts with a byte order mark.
    ByteOrderMark "byte-order-mark" Warning;
    /// The file is JSON, but not an object.
    RootNotObject "root-not-object" Error;
    /// JSON of another kind: no table and no section, but other members.
    NotAnIprof "not-an-iprof" Error;
    /// Another JSON type was expected.
    WrongJsonType "wrong-json-type" Error;
    /// A required member is absent.
    MissingField "missing-field" Error;
    /// A member that occurs twice.
    DuplicateKey "duplicate-key" Error;
    /// The version is malformed.
    BadVersion "bad-version" Error;
    /// The encoding of the version is unknown.
    UnsupportedMajor "unsupported-major" Error;
    /// A version before 1.0.
    PreReleaseVersion "pre-release-version" Warning;
    /// A version after 1.1.
    NewerMinor "newer-minor" Warning;
    /// The field names of 2022.
    LegacyLayout "legacy-layout" Warning;
    /// Both tables have one entry of id -1, so the counted methods are unknown.
    PlaceholderTables "placeholder-tables" Error;
    /// A name with a line terminator.
    BadName "bad-name" Error;
    /// A name without characters.
    EmptyName "empty-name" Error;
    /// A name that no class can have.
    OddTypeName "odd-type-name" Warning;
    /// An id below 0 or above 2^31-1.
    IdRange "id-range" Error;
    /// A type declared twice with one id.
    RepeatedType "repeated-type" Warning;
    /// A method declared twice with one id.
    RepeatedMethod "repeated-method" Warning;
    /// One id for two types.
    DuplicateTypeId "duplicate-type-id" Error;
    /// One id for two methods.
    DuplicateMethodId "duplicate-method-id" Error;
    /// Two ids for one type.
    DuplicateTypeName "duplicate-type-name" Warning;
    /// Two ids for one method.
    DuplicateMethod "duplicate-method" Warning;
    /// A signature of fewer than two types.
    ShortSignature "short-signature" Error;
    /// A method of a primitive type.
    PrimitiveDeclarer "primitive-declarer" Warning;
    /// A parameter of type `void`.
    VoidParameter "void-parameter" Warning;
    /// A type id without a type.
    DanglingType "dangling-type" Error;
    /// A method id without a method.
    DanglingMethod "dangling-method" Error;
    /// A context that breaks the grammar.
    BadContext "bad-context" Error;
    /// A call count at a position other than 0.
    CallCountLeafBci "callcount-leaf-bci" Error;
    /// A monitor entry whose context is not `0:0`.
    MonitorContext "monitor-context" Error;
    /// More than one monitor entry.
    MonitorCount "monitor-count" Warning;
    /// A number of values that is not a multiple of the row length.
    BadArity "bad-arity" Error;
    /// An entry without rows.
    EmptyRecords "empty-records" Warning;
    /// A number with a fraction or exponent.
    NotAnInteger "not-an-integer" Error;
    /// A count above 2^63-1.
    CountRange "count-range" Error;
    /// A count below 0.
    NegativeCount "negative-count" Error;
    /// A branch index below 0.
    NegativeBranchIndex "negative-branch-index" Error;
    /// One branch index for two targets.
    BranchIndexClash "branch-index-clash" Warning;
    /// A branch whose counts are all 0.
    NeverExecuted "never-executed" Warning;
    /// A position that is neither a bytecode index nor a placeholder.
    OddBci "odd-bci" Warning;
    /// A context that occurs twice in a section.
    DuplicateContext "duplicate-context" Warning;
    /// A type that occurs twice at a site.
    RepeatedTypeInRecords "repeated-type-in-records" Warning;
    /// More types at a site than producers record.
    ManyReceivers "many-receivers" Warning;
    /// A receiver that is not an object.
    PrimitiveReceiver "primitive-receiver" Warning;
    /// Counts that look like two 32-bit counters read as one number.
    PackedCounts "packed-counts" Warning;
    /// Both spellings of the instance-of section.
    BothInstanceofSpellings "both-instanceof-spellings" Warning;
    /// A section that the file's version does not have.
    SectionNewerThanVersion "section-newer-than-version" Warning;
    /// A section that is not part of the format.
    UnknownSection "unknown-section" Warning;
    /// No entry in any section.
    NoProfiles "no-profiles" Warning;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The first case of a code in one part of the file, and the number of further cases.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Finding {
    /// The level.
    pub level: Level,
    /// The kind.
    pub code: Code,
    /// The position, for example `types[3].name`; `$` is the whole document.
    pub path: String,
    /// Bytes from the start of the (decompressed) text.
    pub offset: Option<u64>,
    /// The values that were found and expected.
    pub message: String,
    /// Further cases in the same table or section.
    pub more: u64,
}

impl Finding {
    /// Returns the remedy for findings that a plain repair rejects; `None` if a repair fixes them.
    pub fn remedy(&self) -> Option<Hint> {
        Some(match (self.code, self.path.as_str()) {
            (Code::BadJson, _) => Hint::RepairSalvage,
            (Code::BadVersion, _) | (Code::MissingField, "version") => Hint::RepairAssumeVersion,
            (Code::DuplicateKey, _) => Hint::RepairJoinSections,
            (Code::UnsupportedMajor, _) => Hint::LayOutAnew,
            (Code::NotAnIprof, _) => "an iprof has the members version, types and methods".into(),
            (Code::PlaceholderTables, _) => {
                "the names cannot be recovered: build again with --pgo-instrument, run the program to its normal end, \
                 and use the file that this run writes"
                    .into()
            }
            (Code::EmptyFile, _) => "wait until the program that writes it ends normally, or run it again".into(),
            (Code::BadEncoding | Code::RootNotObject, _) | (Code::MissingField, "types" | "methods") => {
                "no entry can be recovered: record the profile again".into()
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.level.name(), self.code, self.path)?;
        if let Some(offset) = self.offset {
            write!(f, ", byte {offset}")?;
        }
        write!(f, ": {}", self.message)?;
        match self.more {
            0 => Ok(()),
            more => write!(f, " (and {more} more)"),
        }
    }
}

/// The repairs of findings, by code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Repair {
    /// The code of the findings.
    pub code: Code,
    /// The repair: `dropped`, `clamped`, `added` …
    pub action: &'static str,
    /// The table or section of the repaired entries, or the repaired part of entries.
    pub what: &'static str,
}

/// All findings of a file, and the repairs that reading made because of them.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    list: Vec<Finding>,
    first: BTreeMap<(Code, &'static str), usize>,
    repairs: BTreeMap<Repair, u64>,
}

impl<'f> IntoIterator for &'f Findings {
    type Item = &'f Finding;
    type IntoIter = std::slice::Iter<'f, Finding>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl Findings {
    /// Returns the first error, because of which strict readers reject the file.
    pub(crate) fn first_error(&self) -> Option<&Finding> {
        self.list.iter().find(|finding| finding.level == Level::Error)
    }

    /// Reports a case. Path and message are formatted only for the first one.
    pub(crate) fn report(
        &mut self,
        code: Code,
        group: &'static str,
        offset: Option<u64>,
        path: impl fmt::Display,
        message: impl fmt::Display,
    ) {
        self.report_as(code.level(), code, group, offset, path, message);
    }

    /// Like [`report`](Self::report), but with another level. All cases of a group have the same level.
    pub(crate) fn report_as(
        &mut self,
        level: Level,
        code: Code,
        group: &'static str,
        offset: Option<u64>,
        path: impl fmt::Display,
        message: impl fmt::Display,
    ) {
        match self.first.get(&(code, group)) {
            Some(at) => self.list[*at].more += 1,
            None => {
                let (path, message) = (path.to_string(), message.to_string());
                self.first.insert((code, group), self.list.len());
                self.list.push(Finding { level, code, path, offset, message, more: 0 });
            }
        }
    }

    /// Records a repair of `count` parts because of a code.
    pub(crate) fn repaired(&mut self, code: Code, action: &'static str, what: &'static str, count: u64) {
        if count > 0 {
            *self.repairs.entry(Repair { code, action, what }).or_default() += count;
        }
    }

    /// Stores the position of a table or section, for findings about the whole of it.
    pub(super) fn locate(&mut self, path: &str, offset: u64) {
        for finding in self.list.iter_mut().filter(|finding| finding.offset.is_none() && finding.path == path) {
            finding.offset = Some(offset);
        }
    }

    /// Returns the findings, in the order of reading.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Finding> {
        self.list.iter()
    }

    /// Returns the repairs, with the number of repaired parts.
    pub fn repairs(&self) -> impl Iterator<Item = (Repair, u64)> + '_ {
        self.repairs.iter().map(|(repair, count)| (*repair, *count))
    }

    /// Returns true if there is a finding with this code.
    pub fn has(&self, code: Code) -> bool {
        self.list.iter().any(|finding| finding.code == code)
    }

    /// Returns the first finding with the highest level.
    pub fn worst(&self) -> Option<&Finding> {
        // `max_by_key` returns the last of equal items, so iterate in reverse order.
        self.list.iter().rev().max_by_key(|finding| finding.level)
    }

    /// Returns the number of cases with a level.
    pub fn count(&self, level: Level) -> u64 {
        self.list.iter().filter(|finding| finding.level == level).map(|finding| finding.more + 1).sum()
    }

    /// Returns true if a finding is an error.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|finding| finding.level == Level::Error)
    }
}

/// Returns the error for a file that is rejected because of a finding.
pub(crate) fn refusal(finding: Option<&Finding>, version: Option<&str>) -> Error {
    let format = version.map_or("iprof".to_string(), |version| format!("iprof {}", version.escape_debug()));
    let Some(finding) = finding else { return Error::malformed("no entry can be read").in_format(format) };
    let detail = format!("{}: {}", finding.path, finding.message);
    let error = Error::new(ErrorKind::IprofFinding { code: finding.code.name(), detail }).in_format(format);
    let error = match finding.offset {
        Some(offset) => error.at(section_of(&finding.path), offset),
        None => error,
    };
    match exceeded_limit(finding) {
        Some(name) => error.above_named_limit(name),
        None => error.with_hint(finding.remedy().unwrap_or(Hint::Repair)),
    }
}

/// Returns the limit that the message of a finding names, if the file exceeds one.
fn exceeded_limit(finding: &Finding) -> Option<&'static str> {
    let (_, named) = finding.message.rsplit_once(" the limit ")?;
    let named = named.split(';').next()?;
    Limits::NAMES.iter().copied().find(|name| *name == named)
}

fn section_of(path: &str) -> &str {
    match path.split(['[', '.']).next() {
        Some("$") | None => "document",
        Some(section) => section,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn further_cases_are_counted_by_section() {
        let mut findings = Findings::default();
        for (group, offset) in [("a", 1), ("b", 2), ("a", 3)] {
            findings.report(Code::OddBci, group, Some(offset), format_args!("{group}[0]"), "odd");
        }
        let shown: Vec<_> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["warning: odd-bci: a[0], byte 1: odd (and 1 more)", "warning: odd-bci: b[0], byte 2: odd"]);
        assert_eq!((findings.count(Level::Warning), findings.has_errors()), (3, false));
        findings.report(Code::BadContext, "a", None, "a[9].ctx", "empty");
        assert_eq!(findings.worst().map(|finding| finding.code), Some(Code::BadContext));
    }

    #[test]
    fn every_code_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
    }
}
