//! Counters of runs of code and of branches, gathered from branch records.

use super::program::Program;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// The address that stands for everything outside of the program.
pub(super) const EXTERNAL: u64 = 1;

/// Counts by two addresses, in their order.
pub(super) type Counts = BTreeMap<(u64, u64), u64>;

/// Counts of accesses, by instruction and vtable.
pub(super) type VtableAccesses = BTreeMap<(u64, Vec<u8>), u64>;

/// Samples as addresses of the program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// Runs of code without a taken branch: first and last instruction.
    pub(super) runs: Counts,
    /// Taken branches: source and target.
    pub(super) branches: Counts,
    /// Accesses of vtables.
    pub(super) vtables: VtableAccesses,
    /// Whether the samples have no branch records: runs are single instructions, branches are calls of call chains.
    pub(super) is_plain: bool,
}

impl Counters {
    /// Returns true if there is nothing to make a profile of.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.branches.is_empty()
    }

    /// The starts of runs, and both ends of branches.
    pub(super) fn addresses(&self) -> impl Iterator<Item = u64> {
        let runs = self.runs.keys().map(|(start, _)| *start);
        runs.chain(self.branches.keys().flat_map(|(source, target)| [*source, *target]))
    }

    /// Returns true if the samples have no branch records, so that counts are numbers of samples.
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Adds the counters of other samples of the same program, multiplied by a weight. Samples without branch records do
    /// not count next to samples with them.
    pub fn add(&mut self, other: &Self, weight: u64) {
        if other.is_empty() || (other.is_plain && !self.is_plain && !self.is_empty()) {
            return;
        }
        if self.is_plain != other.is_plain {
            *self = Self { is_plain: other.is_plain, ..Self::default() };
        }
        for (sum, more) in [(&mut self.runs, &other.runs), (&mut self.branches, &other.branches)] {
            for (key, count) in more {
                let sum = sum.entry(*key).or_default();
                *sum = sum.saturating_add(count.saturating_mul(weight));
            }
        }
    }

    /// Returns the counters without their average weight. None becomes zero.
    pub(super) fn divided_by(&self, weight: f64) -> Self {
        let divided = |counts: &Counts| {
            counts.iter().map(|(key, count)| (*key, (*count as f64 / weight).round().max(1.0) as u64)).collect()
        };
        Self {
            runs: divided(&self.runs),
            branches: divided(&self.branches),
            is_plain: self.is_plain,
            ..Self::default()
        }
    }
}

/// A map from two addresses to a count, without order.
type Gathered = HashMap<(u64, u64), u64, RandomState>;

/// Gathers branch records of one program.
#[derive(Debug, Default)]
pub(super) struct Gatherer {
    /// Everything between two branches, whether it is a run of code or not. Either end can be external.
    between: Gathered,
    branches: Gathered,
}

fn count(gathered: &mut Gathered, key: (u64, u64), times: u64) {
    let sum = gathered.entry(key).or_default();
    *sum = sum.wrapping_add(times);
}

/// Counts of samples whose runs of code are impossible, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RunFindings {
    /// All runs.
    pub all: u64,
    /// An end of the run is not an instruction, or the last instruction is not a branch.
    pub not_on_boundary: u64,
    /// In no function.
    pub without_function: u64,
    /// In a function that debug info does not have, or has with another name than the symbol table.
    pub in_symbol_functions: u64,
    /// Into the next function.
    pub crossing_functions: u64,
    /// Not executable from one end to the other.
    pub impossible: u64,
}

impl RunFindings {
    /// Adds the counts of other samples.
    pub(super) fn add(&mut self, other: &Self) {
        let Self { all, not_on_boundary, without_function, in_symbol_functions, crossing_functions, impossible } =
            other;
        self.all = self.all.saturating_add(*all);
        self.not_on_boundary = self.not_on_boundary.saturating_add(*not_on_boundary);
        self.without_function = self.without_function.saturating_add(*without_function);
        self.in_symbol_functions = self.in_symbol_functions.saturating_add(*in_symbol_functions);
        self.crossing_functions = self.crossing_functions.saturating_add(*crossing_functions);
        self.impossible = self.impossible.saturating_add(*impossible);
    }
}

/// Why a run of code is impossible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RunFault {
    /// See [`RunFindings::not_on_boundary`].
    NotOnBoundary,
    /// See [`RunFindings::without_function`].
    WithoutFunction,
    /// See [`RunFindings::crossing_functions`].
    CrossingFunctions,
    /// See [`RunFindings::impossible`].
    Impossible,
}

/// Cuts the branches of a sample, newest first, as before LLVM 15: at the first branch out of or into the program without
/// the other one. A sample can begin with a branch out of the program.
pub(super) fn cut_unpaired(branches: &mut Vec<(u64, u64)>) {
    let (mut kept, mut is_outside) = (0, false);
    for (at, &(source, target)) in branches.iter().enumerate() {
        let leaves = target == EXTERNAL;
        if source == EXTERNAL && !is_outside {
            is_outside = true;
            continue;
        }
        if source == EXTERNAL || (leaves != is_outside && at > 0) {
            break;
        }
        (kept, is_outside) = (at + 1, false);
    }
    branches.truncate(kept);
}

impl Gatherer {
    /// Counts the branches of a sample, newest first; both ends of each are instructions of the program or
    /// [`EXTERNAL`].
    pub(super) fn add(&mut self, program: &Program<'_>, branches: &[(u64, u64)], times: u64) {
        let mut end = None;
        for &(source, target) in branches {
            if program.code.is_instruction(target) {
                count(&mut self.branches, (source, target), times);
            }
            if let Some(end) = end {
                count(&mut self.between, (target, end), times);
            }
            end = Some(source).filter(|source| *source != 0);
        }
    }

    /// Returns the counts of impossible runs, or `None` if there are no runs. `each` gets the fault and both ends of each.
    pub(super) fn findings(
        &self,
        program: &Program<'_>,
        mut each: impl FnMut(u64, u64, RunFault),
    ) -> Option<RunFindings> {
        let mut found = RunFindings::default();
        for (&(start, end), &times) in &self.between {
            found.all = found.all.wrapping_add(times);
            let (starts, ends) = (program.code.is_instruction(start), program.code.is_instruction(end));
            if !starts && !ends {
                continue;
            }
            if !starts || !program.code.is_transfer(end) {
                found.not_on_boundary = found.not_on_boundary.wrapping_add(times);
                each(start, end, RunFault::NotOnBoundary);
            }
            let Some(range) = program.functions.range_at(start) else {
                found.without_function = found.without_function.wrapping_add(times);
                each(start, end, RunFault::WithoutFunction);
                continue;
            };
            if program.functions.is_from_symbols(range) {
                found.in_symbol_functions = found.in_symbol_functions.wrapping_add(times);
            }
            if end >= range.end {
                found.crossing_functions = found.crossing_functions.wrapping_add(times);
                each(start, end, RunFault::CrossingFunctions);
            }
            if starts && ends && !program.code.falls_through(start, end) {
                found.impossible = found.impossible.wrapping_add(times);
                each(start, end, RunFault::Impossible);
            }
        }
        (!self.between.is_empty()).then_some(found)
    }

    /// The counters, of which runs that cannot be are left out.
    pub(super) fn finish(self, program: &Program<'_>) -> Counters {
        let (is_newer, code) = (program.rules.counts_external_branches(), &program.code);
        let is_run = |(start, end): (u64, u64)| {
            code.is_instruction(start) && code.is_instruction(end) && (code.falls_through(start, end) || !is_newer)
        };
        let runs = self.between.into_iter().filter(|(ends, _)| is_run(*ends)).collect();
        let branches = self.branches.into_iter().filter(|((source, _), _)| is_newer || *source != EXTERNAL).collect();
        Counters { runs, branches, ..Counters::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_ends_where_the_program_is_left_only_in_one_direction() {
        let (out, back, inside) = ((8, EXTERNAL), (EXTERNAL, 9), (4, 5));
        for (branches, kept) in [
            (&[inside, back, out, inside][..], 4),
            (&[out, inside, out, inside], 2),
            (&[inside, back, inside], 1),
            (&[back, back, out], 0),
            (&[inside, back], 1),
            (&[back, out, back, out, out], 4),
        ] {
            let mut cut = branches.to_vec();
            cut_unpaired(&mut cut);
            assert_eq!(cut, branches[..kept], "{branches:?}");
        }
    }

    #[test]
    fn counters_are_divided_by_the_weight_they_were_multiplied_with() {
        let runs = Counts::from([((1, 1), 1), ((4, 4), 31)]);
        let branches = Counts::from([((9, 1), 7)]);
        let one = Counters { runs, branches, is_plain: true, ..Counters::default() };
        for weight in [1, 3, 1000] {
            let mut weighted = Counters::default();
            weighted.add(&one, weight);
            assert_eq!(weighted.divided_by(weight as f64), one, "{weight}");
        }
        let mut mixed = one.clone();
        mixed.add(&Counters { runs: Counts::from([((4, 4), 2)]), ..one.clone() }, 1000);
        assert_eq!(mixed.divided_by(500.5).runs, Counts::from([((1, 1), 1), ((4, 4), 4)]), "none becomes zero");
    }
}
