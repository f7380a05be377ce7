//! One cell of the matrix: a reader uses the profiles of a writer, directly and through profbridge.

use super::kind::{Kind, Source};
use super::measure::Used;
use super::process::Failure;
use super::toolchain::Toolchain;
use super::work::{Merged, Work, Written};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The profiles of a writer with the counts that it uses itself, by kind, toolchain and file.
pub(super) type AllWritten = BTreeMap<(Kind, usize, &'static str), Result<(Written, Used), Unwritten>>;

/// Why there are no counts of a writer, by way.
#[derive(Debug)]
pub(super) struct Unwritten {
    pub(super) direct: Failure,
    pub(super) through: Failure,
}

impl From<Failure> for Unwritten {
    fn from(failure: Failure) -> Self {
        Self { direct: failure.clone(), through: failure }
    }
}

/// A writer and a reader; see `docs/json-schema/interop-1.json`.
#[derive(Debug, Serialize)]
pub(super) struct Cell {
    pub(super) kind: Kind,
    pub(super) writer: String,
    pub(super) reader: String,
    /// Whether the reader uses everything that it can use through profbridge; `None` if the kind is not supported.
    pub(super) holds: Option<bool>,
    pub(super) direct: Outcome,
    pub(super) through: Outcome,
    /// One merge of the profiles of the writer and the reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) together: Option<Outcome>,
}

/// The end of one way from a writer to a reader.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Outcome {
    pub(super) status: Status,
    /// The functions of which the reader uses all counts.
    pub(super) used: usize,
    /// The functions that the writer counted and the reader compiles to the same code.
    pub(super) total: usize,
    /// The functions whose loss profbridge reported, because the reader cannot find them.
    pub(super) lost: usize,
    /// The functions that the reader compiles to other code, so that no profile of the writer has their counts.
    pub(super) different: usize,
    /// The warnings that the reader does not print for its own profile.
    pub(super) warnings: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

/// The kind of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    /// The reader read the profile.
    Used,
    /// A tool of the reader rejected the profile.
    Refused,
    /// The writer or the reader does not have the kind, or a tool is not installed.
    Unsupported,
    /// There is no profile: the program cannot be built or run.
    Failed,
}

impl Outcome {
    fn new(status: Status, reason: impl Into<String>) -> Self {
        let reason = Some(reason.into());
        Self { status, used: 0, total: 0, lost: 0, different: 0, warnings: 0, reason }
    }

    fn of_failure(status: Status, failure: &Failure) -> Self {
        let status = if failure.is_missing { Status::Unsupported } else { status };
        Self::new(status, failure.reason())
    }

    /// Returns true if the reader uses all counts, except for those whose loss profbridge reported.
    fn holds(&self) -> bool {
        let is_explained = self.warnings == 0 || self.lost > 0 || self.different > 0;
        let is_complete = self.used.saturating_add(self.lost) >= self.total;
        matches!(self.status, Status::Used | Status::Refused) && self.total > 0 && is_complete && is_explained
    }

    /// Adds the outcome of another program.
    fn add(&mut self, other: Self) {
        self.status = self.status.max(other.status);
        self.used += other.used;
        self.total += other.total;
        self.lost += other.lost;
        self.different += other.different;
        self.warnings += other.warnings;
        self.reason = match (self.reason.take(), other.reason) {
            (Some(one), Some(other)) if one != other => Some(format!("{one}; {other}")),
            (one, other) => one.or(other),
        };
    }
}

impl Cell {
    /// Compares a writer and a reader.
    pub(super) fn measure(work: &Work, toolchains: &[Toolchain], all: &AllWritten, at: (Kind, usize, usize)) -> Self {
        let (kind, from, to) = at;
        let (writer, reader) = (&toolchains[from], &toolchains[to]);
        let cell = |direct: Outcome, through: Outcome, together: Option<Outcome>| {
            let supported = through.status != Status::Unsupported;
            let holds = supported.then(|| through.holds() && together.as_ref().is_none_or(Outcome::holds));
            let (writer, reader) = (writer.name.clone(), reader.name.clone());
            Self { kind, writer, reader, holds, direct, through, together }
        };
        if let Some(reason) = lack(kind, writer, reader) {
            let outcome = Outcome::new(Status::Unsupported, reason);
            return cell(outcome.clone(), outcome, None);
        }
        let pair = Pair { work, kind, reader };
        let mut sum: Option<(Outcome, Outcome, Option<Outcome>)> = None;
        for source in sources(kind, writer, reader) {
            let of_reader = all.get(&(kind, to, source.file)).and_then(|written| written.as_ref().ok());
            let outcomes = match &all[&(kind, from, source.file)] {
                Ok(written) => pair.outcomes(source, written, of_reader.filter(|_| from != to), of_reader),
                Err(Unwritten { direct, through }) => {
                    let [direct, through] = [direct, through].map(|why| Outcome::of_failure(Status::Failed, why));
                    (direct, through, None)
                }
            };
            sum = Some(match sum.take() {
                None => outcomes,
                Some((mut direct, mut through, together)) => {
                    direct.add(outcomes.0);
                    through.add(outcomes.1);
                    let together = match (together, outcomes.2) {
                        (Some(mut one), Some(other)) => {
                            one.add(other);
                            Some(one)
                        }
                        (one, other) => one.or(other),
                    };
                    (direct, through, together)
                }
            });
        }
        match sum {
            Some((direct, through, together)) => cell(direct, through, together),
            None => {
                let outcome = Outcome::new(Status::Unsupported, "the compilers have no language in common");
                cell(outcome.clone(), outcome, None)
            }
        }
    }
}

/// Returns the reason why a writer or a reader does not have a kind.
pub(super) fn lack(kind: Kind, writer: &Toolchain, reader: &Toolchain) -> Option<String> {
    // llvm-cov reads the programs of all compilers.
    let reads = if kind.is_coverage() { reader.llvm >= kind.first_llvm() } else { reader.supports(kind) };
    if writer.supports(kind) && reads {
        return None;
    }
    let is_new_enough = |toolchain: &Toolchain| toolchain.llvm >= kind.first_llvm();
    Some(match is_new_enough(writer) && is_new_enough(reader) {
        true => format!("rustc does not support {}", kind.name()),
        false => format!("{} needs LLVM {} or later", kind.name(), kind.first_llvm()),
    })
}

/// Returns the programs that a writer compiles and a reader can use.
fn sources<'a>(kind: Kind, writer: &'a Toolchain, reader: &'a Toolchain) -> impl Iterator<Item = &'static Source> + 'a {
    let is_common = move |source: &&Source| {
        writer.compiles(source.language) && (kind.is_coverage() || reader.compiles(source.language))
    };
    kind.sources().iter().filter(is_common)
}

/// The reader of a cell.
struct Pair<'a> {
    work: &'a Work,
    kind: Kind,
    reader: &'a Toolchain,
}

impl Pair<'_> {
    /// Uses the profile of a program directly, through profbridge, and with the reader's own profile.
    fn outcomes(
        &self,
        source: &Source,
        (written, counted): &(Written, Used),
        other: Option<&(Written, Used)>,
        own: Option<&(Written, Used)>,
    ) -> (Outcome, Outcome, Option<Outcome>) {
        let comparison = Comparison { kind: self.kind, written, counted, own };
        let read = |profile: &std::path::Path| self.work.read(profile, self.reader, self.kind, source, written);
        let refused = |failure: &Failure| Outcome::of_failure(Status::Refused, failure);
        let direct = self.work.merge_directly(written, self.reader, self.kind).and_then(|profile| read(&profile));
        let direct = direct.map_or_else(|failure| refused(&failure), |used| comparison.outcome(&used, None));
        let use_merged = |merged: Merged, before: Option<&Used>| {
            let mut outcome = match read(&merged.profile) {
                Ok(used) => comparison.outcome(&used, before),
                // Some tools crash instead of rejecting data of other releases.
                Err(failure) => match &merged.loss {
                    Some(loss) => {
                        let reason = format!("{}; {loss}", failure.reason());
                        let total = counted.counts.len();
                        return Ok(Outcome { lost: merged.lost, total, ..Outcome::new(Status::Refused, reason) });
                    }
                    None => return Err(failure),
                },
            };
            outcome.lost = merged.lost;
            outcome.reason = merged.loss.filter(|_| outcome.used < outcome.total).or(outcome.reason);
            Ok(outcome)
        };
        let through = self.work.merge_through(&[written], self.reader, self.kind);
        let through = through.and_then(|merged| use_merged(merged, None));
        let through = through.unwrap_or_else(|failure| refused(&failure));
        if through.status == Status::Refused && through.reason.as_deref().is_some_and(is_of_program) {
            // The reader cannot read the program of the writer, whatever the profile is.
            let outcome = Outcome { status: Status::Unsupported, ..through };
            return (outcome.clone(), outcome, None);
        }
        let other = other.filter(|_| self.kind.is_merged_together());
        let together = other.map(|(other, used)| {
            let merged = self.work.merge_through(&[written, other], self.reader, self.kind);
            let outcome = merged.and_then(|merged| use_merged(merged, Some(used)));
            outcome.unwrap_or_else(|failure| refused(&failure))
        });
        // A tool that rejects the profile still misses the counts that another way provides.
        let total = through.total.max(direct.total);
        let with_total = |outcome: Outcome| if outcome.total == 0 { Outcome { total, ..outcome } } else { outcome };
        (with_total(direct), with_total(through), together)
    }
}

/// Returns true if llvm-cov rejects the coverage map of a program.
fn is_of_program(reason: &str) -> bool {
    reason.to_lowercase().contains("coverage format version")
}

/// The counts that a reader should use.
struct Comparison<'a> {
    kind: Kind,
    written: &'a Written,
    counted: &'a Used,
    /// The profile of the reader's own program.
    own: Option<&'a (Written, Used)>,
}

impl Comparison<'_> {
    /// Compares the counts of a reader with those of the writer. `before` are counts that the profile also contains.
    fn outcome(&self, used: &Used, before: Option<&Used>) -> Outcome {
        let (mut found, mut total, mut different) = (0, 0, 0);
        let mut missing: Vec<&str> = Vec::new();
        for (name, counts) in &self.counted.counts {
            if used.defined.as_ref().is_some_and(|defined| !defined.contains(name)) {
                continue;
            }
            if self.has_other_code(name) {
                different += 1;
                continue;
            }
            total += 1;
            let is_used = match before {
                None => used.counts.get(name) == Some(counts),
                Some(before) => {
                    let sums = |counts: &Vec<u64>| counts.iter().take(2).copied().collect::<Vec<u64>>();
                    let before = before.counts.get(name).map(sums).unwrap_or_default();
                    let sum = |(at, count): (usize, u64)| count + before.get(at).copied().unwrap_or_default();
                    let expected: Vec<u64> = sums(counts).into_iter().enumerate().map(sum).collect();
                    used.counts.get(name).map(sums) == Some(expected)
                }
            };
            if is_used && self.calls_are_direct(name, used) { found += 1 } else { missing.push(name) }
        }
        let of_own = self.own.map(|(_, own)| &own.warnings);
        let nothing = BTreeSet::new();
        let warnings = used.warnings.difference(of_own.unwrap_or(&nothing)).count();
        let mut reasons = Vec::new();
        if let [first, others @ ..] = missing.as_slice() {
            let others = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            reasons.push(format!("counts not used: {first}{others}"));
        }
        if different > 0 {
            reasons.push(format!("{different} of the functions have other code in the reader"));
        }
        let reason = (!reasons.is_empty()).then(|| reasons.join("; "));
        Outcome { status: Status::Used, used: found, total, lost: 0, different, warnings, reason }
    }

    /// Returns true if the reader computes another FuncHash for its own program. LLVM 22 and later clear the four
    /// highest bits of front-end hashes, which does not make the code different. Context-sensitive counters belong to
    /// optimized code: compilers can place them at other edges of a function with the same FuncHash.
    fn has_other_code(&self, name: &str) -> bool {
        let own = self.own.and_then(|(own, _)| own.records.get(name));
        let Some((own, other)) = own.zip(self.written.records.get(name)) else { return false };
        match self.kind {
            Kind::Fe => own.hash << 4 != other.hash << 4,
            Kind::Cs => own != other,
            _ => own.hash != other.hash,
        }
    }

    /// Returns true if the reader makes the same calls direct as with its own profile.
    fn calls_are_direct(&self, name: &str, used: &Used) -> bool {
        self.own.is_none_or(|(_, own)| own.direct_calls.get(name) == used.direct_calls.get(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(used: usize, total: usize, lost: usize) -> Outcome {
        Outcome { status: Status::Used, used, total, lost, different: 0, warnings: 0, reason: None }
    }

    #[test]
    fn a_cell_holds_if_only_reported_losses_are_missing() {
        assert!(outcome(3, 3, 0).holds() && outcome(2, 3, 1).holds());
        assert!(!outcome(2, 3, 0).holds() && !outcome(0, 0, 0).holds());
        assert!(!Outcome { warnings: 1, ..outcome(3, 3, 0) }.holds());
        let refused = Outcome::new(Status::Refused, "a reason");
        assert!(!refused.holds() && !Outcome { total: 3, lost: 2, ..refused.clone() }.holds());
        assert!(Outcome { total: 3, lost: 3, ..refused }.holds());
    }

    #[test]
    fn outcomes_of_programs_are_added() {
        let mut sum = outcome(1, 2, 0);
        sum.add(Outcome { reason: Some("b".to_string()), ..outcome(3, 4, 1) });
        assert_eq!((sum.status, sum.used, sum.total, sum.lost), (Status::Used, 4, 6, 1));
        sum.add(Outcome::new(Status::Refused, "c"));
        assert_eq!((sum.status, sum.reason.as_deref()), (Status::Refused, Some("b; c")));
    }
}
