//! The comparison as numbers and lists, the same for every family, with the status of
//! functions and the thresholds that fail a comparison.

use super::hashes::TargetsFit;
use crate::error::{Error, Result};
use crate::gates::{self, Bound, GateOutcome};
use serde::Serialize;

/// The comparison of a profile with a new build.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FitReport {
    /// The family of the profile: `instr`, `sampleprof` or `iprof`.
    pub family: &'static str,
    /// The description of the profile.
    pub profile_is: String,
    /// Description of the source of the new build's functions.
    pub program_is: String,
    /// The unit of the profile: `counts`, `samples` or `events`.
    pub counted: &'static str,
    /// Share of the profile's functions that can be used unchanged, from 0 to 1, of those that can be compared. `None`
    /// without any.
    pub used_functions: Option<f64>,
    /// Share of the profile's counts that can be used unchanged, of those that can be compared.
    pub used_counts: Option<f64>,
    /// Share of the new build's functions that find their profile; `None`
    /// without functions.
    pub profiled_functions: Option<f64>,
    /// The profile's functions by status, with a row for each status.
    pub functions: Vec<ClassRow>,
    /// The new build's functions by class. All classes are listed.
    pub program: Vec<ProgramRow>,
    /// The functions that lost the most counts, hottest first.
    pub lost: Vec<LostFunction>,
    /// Functions that lost counts beyond those.
    pub more_lost: u64,
    /// First names of the new build's functions that changed.
    pub changed: Vec<String>,
    /// First names of the new build's functions that have no profile at all.
    pub unprofiled: Vec<String>,
    /// The status of call targets; `None` if the profile has none.
    pub targets: Option<TargetsFit>,
    /// The release that reads the profile, and the data for other releases in it. `None` if releases do not matter.
    pub releases: Option<Releases>,
    /// The sections of an iprof; empty for other families.
    pub sections: Vec<SectionRow>,
    /// Notes about the numbers.
    pub notes: Vec<String>,
}

/// The functions of a class.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClassRow {
    /// The class.
    pub class: Class,
    /// Its functions.
    pub functions: u64,
    /// Their share of all functions of the profile, from 0 to 1.
    pub functions_share: f64,
    /// Their counts.
    pub count: u128,
    /// Their share of all counts of the profile, from 0 to 1.
    pub count_share: f64,
}

/// The functions of the new build of a class.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ProgramRow {
    /// The class.
    pub class: ProgramClass,
    /// Its functions.
    pub functions: u64,
    /// Their share of all functions of the new build, from 0 to 1.
    pub share: f64,
}

/// A function of the profile that the new build does not use.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LostFunction {
    /// Its name, escaped.
    pub function: String,
    /// The status.
    pub class: Class,
    /// Its counts.
    pub count: u128,
    /// Their share of all counts of the profile, from 0 to 1.
    pub share: f64,
    /// The escaped name in the new build, if it changed.
    pub now: Option<String>,
    /// Whether that name is a guess.
    pub is_guess: bool,
    /// The differences, if they are known.
    pub detail: Option<String>,
}

/// Who reads the profile.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Releases {
    /// The release of LLVM of the new build's compiler, if it is known.
    pub reader: Option<u32>,
    /// Who said so: `option`, `program`, `profile`.
    pub reader_from: Option<&'static str>,
    /// The version of the indexed file that the compiler reads.
    pub indexed_version: u32,
    /// Whether the profile is that file already, or `merge` has yet to make it.
    pub is_indexed: bool,
    /// Whether that release reads that version at all.
    pub is_readable: bool,
    /// Findings about other releases.
    pub findings: Vec<ReleaseFinding>,
}

/// Functions of which something is as another release has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReleaseFinding {
    /// A word for programs.
    pub kind: &'static str,
    /// Whether the compiler drops them.
    pub is_loss: bool,
    /// The number of functions.
    pub functions: u64,
    /// Their share of all counts, from 0 to 1.
    pub share: f64,
    /// Description with the first names and a hint.
    pub text: String,
}

/// A section of an iprof.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SectionRow {
    /// The section's name.
    pub section: &'static str,
    /// Its entries.
    pub entries: u64,
    /// Entries that fit the new build.
    pub used_entries: u64,
    /// The events of its entries.
    pub events: u128,
    /// The events of those that fit.
    pub used_events: u128,
}

/// The dropped data of a pruned profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Pruned {
    /// Records of functions, or entries of an iprof.
    pub records: u64,
    /// Targets of calls.
    pub values: u64,
    /// Functions in temporal traces, which can contain only functions with records.
    pub traced: u64,
}

/// A function of the profile for a report.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) name: Vec<u8>,
    pub(super) class: Class,
    pub(super) count: u128,
    pub(super) now: Option<Vec<u8>>,
    pub(super) detail: Option<String>,
}

/// The parts of a report that depend on the family.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) family: &'static str,
    pub(super) counted: &'static str,
    pub(super) profile_is: String,
    pub(super) program_is: String,
}

/// A share in words.
pub(super) fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// Creates the report from rows: functions of the profile, and functions of the new build with their names, in the
/// order of the list.
pub(super) fn summarize(
    head: Head,
    rows: Vec<Row>,
    program: &[(ProgramClass, Option<&[u8]>)],
    topn: usize,
) -> FitReport {
    let functions = class_rows(&rows);
    let share_of_compared = |part: fn(&ClassRow) -> u128| {
        let compared = functions.iter().filter(|row| row.class != Class::NotCompared).map(part).sum();
        let used = functions.iter().filter(|row| row.class == Class::Used).map(part).sum();
        share(used, compared)
    };
    let used_functions = share_of_compared(|row| row.functions.into());
    let used_counts = share_of_compared(|row| row.count);
    let has_not_compared = functions.iter().any(|row| row.class == Class::NotCompared && row.functions > 0);
    let program_rows = program_rows(program);
    let profiled = program.iter().filter(|(class, _)| *class == ProgramClass::Used).count();
    let first_names = |wanted: ProgramClass| -> Vec<String> {
        let names = program.iter().filter(|(class, _)| *class == wanted).filter_map(|(_, name)| *name);
        names.take(topn).map(escaped).collect()
    };
    let (changed, unprofiled) = (first_names(ProgramClass::Changed), first_names(ProgramClass::Unprofiled));
    let total: u128 = rows.iter().map(|row| row.count).sum();
    let mut lost: Vec<Row> = rows.into_iter().filter(|row| row.class.is_lost()).collect();
    lost.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)).then(a.class.cmp(&b.class)));
    let more_lost = lost.len().saturating_sub(topn) as u64;
    lost.truncate(topn);
    let mut notes = Vec::new();
    if let (true, Some(counts), Some(of_functions)) = (has_not_compared, used_counts, used_functions) {
        notes.push(format!(
            "used-counts and used-functions are shares of what can be compared: {} of the {} and {} of the functions",
            percent(counts),
            head.counted,
            percent(of_functions)
        ));
    }
    FitReport {
        family: head.family,
        profile_is: head.profile_is,
        program_is: head.program_is,
        counted: head.counted,
        used_functions,
        used_counts,
        profiled_functions: share(profiled as u128, program.len() as u128),
        functions,
        program: program_rows,
        lost: lost.into_iter().map(|row| lost_function(row, total)).collect(),
        more_lost,
        changed,
        unprofiled,
        targets: None,
        releases: None,
        sections: Vec::new(),
        notes,
    }
}

fn lost_function(row: Row, total: u128) -> LostFunction {
    LostFunction {
        function: escaped(&row.name),
        class: row.class,
        count: row.count,
        share: share(row.count, total).unwrap_or(0.0),
        now: row.now.as_deref().map(escaped),
        is_guess: row.class == Class::Renamed,
        detail: row.detail,
    }
}

fn class_rows(rows: &[Row]) -> Vec<ClassRow> {
    let total: u128 = rows.iter().map(|row| row.count).sum();
    let of_class = |class: Class| {
        let own = rows.iter().filter(|row| row.class == class);
        let (functions, count) = own.fold((0u64, 0u128), |(number, sum), row| (number + 1, sum + row.count));
        ClassRow {
            class,
            functions,
            functions_share: share(functions.into(), rows.len() as u128).unwrap_or(0.0),
            count,
            count_share: share(count, total).unwrap_or(0.0),
        }
    };
    Class::ALL.iter().copied().map(of_class).collect()
}

fn program_rows(program: &[(ProgramClass, Option<&[u8]>)]) -> Vec<ProgramRow> {
    let of_class = |wanted: ProgramClass| {
        let functions = program.iter().filter(|(class, _)| *class == wanted).count() as u64;
        ProgramRow { class: wanted, functions, share: share(functions.into(), program.len() as u128).unwrap_or(0.0) }
    };
    ProgramClass::ALL.iter().copied().map(of_class).collect()
}

fn share(part: u128, whole: u128) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Formats a name for reports: UTF-8 unchanged, other bytes escaped.
pub(super) fn escaped(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(text) => text.to_string(),
        Err(_) => name.escape_ascii().to_string(),
    }
}

/// A share with a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GateShare {
    /// Counts of the profile that are used.
    UsedCounts,
    /// Functions of the profile that are used.
    UsedFunctions,
    /// Functions of the new build that have a profile.
    ProfiledFunctions,
}

impl GateShare {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::UsedCounts, Self::UsedFunctions, Self::ProfiledFunctions];

    /// Its name in a gate.
    pub fn name(self) -> &'static str {
        match self {
            Self::UsedCounts => "used-counts",
            Self::UsedFunctions => "used-functions",
            Self::ProfiledFunctions => "profiled-functions",
        }
    }

    fn of(self, report: &FitReport) -> Option<f64> {
        match self {
            Self::UsedCounts => report.used_counts,
            Self::UsedFunctions => report.used_functions,
            Self::ProfiledFunctions => report.profiled_functions,
        }
    }
}

/// Shares and the least that each must be.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gate(Vec<(GateShare, f64)>);

impl Gate {
    /// Parses `used-counts=0.9,used-functions=80%`.
    ///
    /// ```
    /// use profbridge::fit::Gate;
    ///
    /// assert!(Gate::parse("used-counts=0.9,used-functions=80%").is_ok());
    /// assert!(Gate::parse("used=0.9").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// Usage for an unknown name, and for an invalid share.
    pub fn parse(text: &str) -> Result<Self> {
        let known = || GateShare::ALL.iter().map(|share| share.name()).collect::<Vec<_>>().join(", ");
        let mut gate = Vec::new();
        for part in text.split(',') {
            // A plain share is that of the counts.
            let (name, value) = part.split_once('=').unwrap_or((GateShare::UsedCounts.name(), part));
            let share = GateShare::ALL.iter().copied().find(|share| share.name() == name.trim()).ok_or_else(|| {
                Error::usage(format!("unknown share {name:?}")).with_hint(format!("shares: {}", known()))
            })?;
            gate.push((share, parse_share(value)?));
        }
        Ok(Self(gate))
    }

    /// Returns the outcomes of the shares, in the order of the gate.
    pub fn outcomes(&self, report: &FitReport) -> Vec<GateOutcome> {
        let outcome = |(share, least): &(GateShare, f64)| {
            GateOutcome::share(share.name(), Bound::AtLeast, *least, share.of(report))
        };
        self.0.iter().map(outcome).collect()
    }
}

fn parse_share(text: &str) -> Result<f64> {
    gates::parse_share(text)
        .ok_or_else(|| Error::usage(format!("{text:?} is not a share between 0 and 1, or 0% and 100%")))
}

/// The status of a function of the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Class {
    /// It is found and used unchanged.
    Used,
    /// It is the same function, under the name or the hash from another release of
    /// LLVM; `merge --for` makes it one that is used.
    OtherRelease,
    /// A function of that name is there and has changed.
    Changed,
    /// The name is gone; a new function has the same hash and shape and a
    /// similar name. A guess.
    Renamed,
    /// The same function is there under another file, or became local or global.
    Moved,
    /// The new build has no similar function.
    Gone,
    /// The function exists, but without line tables or pseudo-probes, so its samples cannot be used.
    Unusable,
    /// Unknown, because the new build has no such records.
    NotCompared,
}

impl Class {
    /// All of them, in the order of reports.
    pub const ALL: &'static [Self] = &[
        Self::Used,
        Self::OtherRelease,
        Self::Changed,
        Self::Renamed,
        Self::Moved,
        Self::Gone,
        Self::Unusable,
        Self::NotCompared,
    ];

    /// The class in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Used => "used unchanged",
            Self::OtherRelease => "from another release",
            Self::Changed => "changed",
            Self::Renamed => "renamed (a guess)",
            Self::Moved => "moved",
            Self::Gone => "gone",
            Self::Unusable => "not usable",
            Self::NotCompared => "not compared",
        }
    }

    /// Returns true if the compiler drops functions of this class.
    pub fn is_lost(self) -> bool {
        !matches!(self, Self::Used | Self::NotCompared)
    }
}

/// The profile data that a function of the new build gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ProgramClass {
    /// Counts that are used.
    Used,
    /// Counts under the name or the hash from another release.
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
    pub const ALL: &'static [Self] =
        &[Self::Used, Self::OtherRelease, Self::Changed, Self::Renamed, Self::Moved, Self::Unprofiled];

    /// The class in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Used => "with a profile",
            Self::OtherRelease => "with a profile from another release",
            Self::Changed => "changed since",
            Self::Renamed => "renamed (a guess)",
            Self::Moved => "moved since",
            Self::Unprofiled => "new or never profiled",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, class: Class, count: u128) -> Row {
        Row { name: name.into(), class, count, now: None, detail: None }
    }

    #[test]
    fn shares_are_relative_to_comparable_functions() {
        let rows = vec![
            row("a", Class::Used, 60),
            row("b", Class::Gone, 20),
            row("c", Class::NotCompared, 920),
            row("d", Class::Changed, 20),
        ];
        let head = Head { family: "instr", counted: "counts", profile_is: String::new(), program_is: String::new() };
        let program: [(ProgramClass, Option<&[u8]>); 2] =
            [(ProgramClass::Used, Some(b"a")), (ProgramClass::Changed, Some(b"d"))];
        let report = summarize(head, rows, &program, 1);
        assert_eq!((report.used_counts, report.used_functions), (Some(0.6), Some(1.0 / 3.0)));
        assert_eq!(report.profiled_functions, Some(0.5));
        assert_eq!((report.lost[0].function.as_str(), report.more_lost), ("b", 1));
        assert_eq!(report.changed, ["d"]);
        let functions: u64 = report.functions.iter().map(|row| row.functions).sum();
        assert_eq!(functions, 4);
    }
}

#[cfg(test)]
mod gate_tests {
    use crate::fit::report::*;

    #[test]
    fn names_and_shares_are_checked() {
        let gate = Gate::parse("used-counts=0.9,profiled-functions=12.5%").unwrap();
        assert_eq!(gate.0, [(GateShare::UsedCounts, 0.9), (GateShare::ProfiledFunctions, 0.125)]);
        for bad in
            ["", "used-counts", "used-counts=", "used=0.5", "used-counts=1.5", "used-counts=NaN", "used-counts=0.5,"]
        {
            assert!(Gate::parse(bad).is_err(), "{bad:?}");
        }
        assert_eq!(
            Gate::parse("counts=1").unwrap_err().hint().map(ToString::to_string).as_deref(),
            Some("shares: used-counts, used-functions, profiled-functions")
        );
    }
}
