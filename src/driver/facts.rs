//! The figures of a result, counted once for messages, JSON documents, thresholds and Python.

use crate::digits::number_of;
use crate::error::{Error, Result};
use crate::gates::{self, GateOutcome};
use crate::hint::Hint;

/// The content of a result in its output format: after filters, renamings and conversions, and without data that the
/// format cannot store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Facts {
    /// The number of used inputs.
    pub inputs: u64,
    /// Functions of an LLVM profile, functions with allocations or with calls that lead to them if it contains only a memory
    /// profile; functions of a sample profile; methods with an entry in an iprof or in any stack. `None` if counting takes time and they are
    /// not [requested](FactsRequest).
    pub functions: Option<u64>,
    /// The sum of the counts; saturates. `None` if it is not requested.
    pub total_count: Option<u64>,
    /// Records of an instrumentation profile, one per name and FuncHash, or of a sample profile, one per function or context.
    pub records: Option<u64>,
    /// Distinct stacks.
    pub stacks: Option<u64>,
    /// Names of the sections of an iprof that have entries, and the number of entries.
    pub entries: Option<Vec<(&'static str, u64)>>,
    /// The reason why the result is empty, in words; `None` if it is not empty.
    pub lack: Option<String>,
}

/// Figures that take time to count, and are counted on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FactsRequest {
    /// [`Facts::functions`], for every family.
    pub functions: bool,
    /// [`Facts::total_count`].
    pub total_count: bool,
}

/// Returns `26 functions`, or `26 functions (31 records)` if some have several records.
pub(crate) fn functions_in_words(functions: u64, records: Option<u64>) -> String {
    let words = number_of(functions, "function");
    match records.filter(|records| *records > functions) {
        Some(records) => format!("{words} ({})", number_of(records, "record")),
        None => words,
    }
}

impl Facts {
    /// Returns the facts of a result with a number of functions and a sum of counts.
    pub(crate) fn new(functions: usize, total_count: Option<u128>) -> Self {
        Self { functions: Some(functions as u64), ..Self::default() }.with_total(total_count)
    }

    /// Returns these facts with another sum of counts.
    pub(crate) fn with_total(self, total_count: Option<u128>) -> Self {
        let total_count = total_count.map(|total| u64::try_from(total).unwrap_or(u64::MAX));
        Self { total_count, ..self }
    }

    /// Returns these facts with the number of used inputs.
    #[must_use]
    pub fn of_inputs(self, used: usize) -> Self {
        Self { inputs: used as u64, ..self }
    }

    /// Returns the number of functions in words, and that of records if it differs.
    pub fn functions_in_words(&self) -> String {
        functions_in_words(self.functions.unwrap_or_default(), self.records)
    }

    /// Fails if there is nothing to write.
    ///
    /// # Errors
    ///
    /// Nothing found, with the missing data.
    pub fn require_something(&self) -> Result<()> {
        match &self.lack {
            Some(lack) => {
                Err(Error::nothing_found(format!("there is nothing to write: {lack}")).with_hint(Hint::AllowEmpty))
            }
            None => Ok(()),
        }
    }
}

/// Minimum figures of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Minimums {
    /// The number of used inputs.
    pub inputs: u64,
    /// The number of functions in the result.
    pub functions: u64,
    /// The sum of all counters in the result.
    pub total_count: u64,
}

impl Minimums {
    /// Returns thresholds for the inputs, functions and counts; 0 means none.
    pub fn new(inputs: u64, functions: u64, total_count: u64) -> Self {
        Self { inputs, functions, total_count }
    }

    /// Returns the figures that must be counted.
    pub fn wanted(&self) -> FactsRequest {
        FactsRequest { functions: self.functions > 0, total_count: self.total_count > 0 }
    }

    /// Returns the outcome of each threshold that is set. Figures that were not counted are 0.
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

    /// Checks that a result may be written.
    ///
    /// # Errors
    ///
    /// Gate failed if a figure is below its minimum.
    pub fn check(&self, facts: &Facts) -> Result<()> {
        gates::require(&self.outcomes(facts))
    }
}
