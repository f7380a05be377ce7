//! Adaptation of a merged profile to its target.

use crate::error::{Error, ErrorKind, Result};
use crate::hint::Hint;
use crate::input::{Family, Input};
use crate::instr::FunctionFilter;
use crate::instr::cross_release::{self, Candidates, CrossReleaseOptions, Finding, Following};
use crate::instr::open::{ReadOptions, with_reader};
use crate::model::record::is_of_bridge;
use crate::model::{Profile, ProfileKind, Release};

/// The target of a profile, chosen after a look at its content.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AdaptationReport {
    /// The release whose rules apply to the output.
    pub release: Release,
    /// The version of the indexed format.
    pub indexed_version: u32,
    /// The changes, and the records that the target cannot use.
    pub findings: Vec<Finding>,
}

/// Gives a profile the names and hashes that its target computes. From then on, `filter` finds renamed functions under
/// both names.
///
/// # Errors
///
/// A kind conflict if the target takes counters of this kind for those of other places. With `strict`, a loss error if the
/// target cannot use some records; the profile must not be written then.
pub fn cross(
    profile: &mut Profile,
    filter: &mut FunctionFilter,
    options: &CrossReleaseOptions,
    strict: bool,
) -> Result<AdaptationReport> {
    refuse_unknown_kind(profile, options)?;
    let crossed = cross_release::cross_kept(std::mem::take(profile), options, filter);
    *profile = crossed.profile;
    if !crossed.former_names.is_empty() {
        *filter = std::mem::take(filter).former_names(crossed.former_names);
    }
    if strict {
        refuse_losses(&crossed.findings, options.release)?;
    }
    let (release, indexed_version) = (crossed.release, crossed.indexed_version);
    Ok(AdaptationReport { release, indexed_version, findings: crossed.findings })
}

/// Returns the kinds of counters that a release does not know: without their mark, it would use the counts for other places
/// of a function.
pub(crate) fn unknown_counters(kind: ProfileKind, release: Release) -> ProfileKind {
    kind.of_counters().without(ProfileKind::IR | ProfileKind::known_by(release))
}

/// The first indexed version of LLVM 3.9, the first release with counters of the IR.
const FIRST_VERSION_WITH_IR: u32 = 4;

fn refuse_unknown_kind(profile: &Profile, options: &CrossReleaseOptions) -> Result<()> {
    let release = options.release;
    if profile.kind.contains(ProfileKind::IR) && options.indexed_version < FIRST_VERSION_WITH_IR {
        let detail = "releases before LLVM 3.9 do not know IR counters".to_string();
        return Err(Error::new(ErrorKind::KindConflict { detail }).with_hint("target LLVM 3.9 or later"));
    }
    let unknown = unknown_counters(profile.kind, release);
    // Records of the bridge have counters that fit every kind.
    let has_counters = || {
        let mut all = profile.functions.iter();
        all.any(|function| function.records().any(|record| !is_of_bridge(function.name(), record.func_hash)))
    };
    let Some((since, _)) = unknown.first_release().filter(|_| has_counters()) else { return Ok(()) };
    let detail = format!("{release} does not know {}, and would use the counts for other places", unknown.nouns());
    let hint = format!("target {since} or later, or record without this kind of counters");
    Err(Error::new(ErrorKind::KindConflict { detail }).with_hint(hint))
}

/// Finds the functions that two files have under different names or hashes because different releases wrote them.
/// Memory profiles have no such functions.
///
/// # Errors
///
/// The errors of the files' readers, with the path; unable to compare if their counters have different kinds.
pub(crate) fn following(first: &Input, second: &Input, read: &ReadOptions) -> Result<Following> {
    let (mut candidates, mut kinds) = (Candidates::default(), Vec::new());
    for input in [first, second] {
        if input.family()? == Some(Family::MemProf) {
            return Ok(Following::default());
        }
        with_reader(input, read, |reader| {
            let mut has_functions = false;
            loop {
                let kind = reader.kind();
                let Some(read) = reader.next_record()? else {
                    kinds.extend(has_functions.then_some(kind));
                    return Ok(());
                };
                has_functions = true;
                candidates.add(kind, read.name, read.record.func_hash);
            }
        })?;
    }
    if let [first, second] = kinds[..] {
        require_comparable(first, second)?;
    }
    Ok(candidates.following())
}

/// Rejects counters of different kinds: those of one function count different places.
pub(crate) fn require_comparable(first: ProfileKind, second: ProfileKind) -> Result<()> {
    let (first, second) = (first.of_counters(), second.of_counters());
    if first == second {
        return Ok(());
    }
    let words = |kind: ProfileKind| kind.sentence_words().join(", ");
    let detail = format!("the kinds of their counters differ ({}; {})", words(first), words(second));
    Err(Error::new(ErrorKind::UnableToCompare { detail }).with_hint("use the same kind of instrumentation for both"))
}

fn refuse_losses(findings: &[Finding], release: Release) -> Result<()> {
    let losses: Vec<String> = findings.iter().filter(|found| found.kind.is_loss()).map(Finding::to_string).collect();
    if losses.is_empty() {
        return Ok(());
    }
    let detail = format!("{release} will ignore a part of the profile: {}", losses.join("; "));
    Err(Error::new(ErrorKind::WouldLose { detail }).with_hint(Hint::AllowUnused))
}
