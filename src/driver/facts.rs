//! The numbers of a result: counted once, for messages, documents, gates and Python alike.

use crate::error::{Error, Result};
use crate::gates::{self, GateOutcome};
use crate::hint::Hint;

/// What a result holds in the form in which it is written: after filters, renamings and conversions, and without what
/// the format has no place for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Facts {
    /// Inputs that were used.
    pub inputs: u64,
    /// Functions of an LLVM profile, those with allocations if it holds a memory profile and nothing else; contexts of
    /// a sample profile; methods with an entry of an iprof, in any stack of stacks. `None` if they take time to count
    /// and are not [wanted](FactsRequest).
    pub functions: Option<u64>,
    /// The sum of the counts; stops at the largest number. `None` if it is not wanted.
    pub total_count: Option<u64>,
    /// Records of an instrumentation profile, one for each name and FuncHash.
    pub records: Option<u64>,
    /// Distinct stacks.
    pub stacks: Option<u64>,
    /// Names of the sections of an iprof that have entries, and the number of entries.
    pub entries: Option<Vec<(&'static str, u64)>>,
    /// Why the result is empty, in words; `None` if it is not.
    pub lack: Option<String>,
}

/// Numbers that take time to count, so that they are counted on demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FactsRequest {
    /// [`Facts::functions`], of every family.
    pub functions: bool,
    /// [`Facts::total_count`].
    pub total_count: bool,
}

impl Facts {
    /// A result of so many functions, whose counts add up to that.
    pub(crate) fn new(functions: usize, total_count: Option<u128>) -> Self {
        Self { functions: Some(functions as u64), ..Self::default() }.with_total(total_count)
    }

    /// The same with another sum of counts.
    pub(crate) fn with_total(self, total_count: Option<u128>) -> Self {
        let total_count = total_count.map(|total| u64::try_from(total).unwrap_or(u64::MAX));
        Self { total_count, ..self }
    }

    /// The same result of so many inputs that were used.
    #[must_use]
    pub fn of_inputs(self, used: usize) -> Self {
        Self { inputs: used as u64, ..self }
    }

    /// Fails if there is nothing to write.
    ///
    /// # Errors
    ///
    /// Nothing found, with what the result lacks.
    pub fn require_something(&self) -> Result<()> {
        match &self.lack {
            Some(lack) => {
                Err(Error::nothing_found(format!("there is nothing to write: {lack}")).with_hint(Hint::AllowEmpty))
            }
            None => Ok(()),
        }
    }
}

/// The least that a result must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Minimums {
    /// Inputs that were used.
    pub inputs: u64,
    /// Functions in the result.
    pub functions: u64,
    /// Sum of all counters in the result.
    pub total_count: u64,
}

impl Minimums {
    /// So many inputs, functions, and counts; 0 asks for nothing.
    pub fn new(inputs: u64, functions: u64, total_count: u64) -> Self {
        Self { inputs, functions, total_count }
    }

    /// The numbers that have to be counted.
    pub fn wanted(&self) -> FactsRequest {
        FactsRequest { functions: self.functions > 0, total_count: self.total_count > 0 }
    }

    /// How a result fares with what was asked for; nothing for what was not. What was not counted is 0.
    pub fn outcomes(&self, facts: &Facts) -> Vec<GateOutcome> {
        let asked = [
            ("inputs", "the number of inputs used", self.inputs, Some(facts.inputs)),
            ("functions", "the number of functions", self.functions, facts.functions),
            ("total-count", "the total count", self.total_count, facts.total_count),
        ];
        let asked = asked.into_iter().filter(|(_, _, least, _)| *least > 0);
        asked
            .map(|(gate, words, least, found)| {
                GateOutcome::count(gate, least, found.unwrap_or_default()).hint_text(words)
            })
            .collect()
    }

    /// Whether a result that holds so much may be written.
    ///
    /// # Errors
    ///
    /// Gate failed when it is below one of these.
    pub fn check(&self, facts: &Facts) -> Result<()> {
        gates::require(&self.outcomes(facts))
    }
}
