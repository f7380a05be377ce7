//! What is in a profile: functions with their counts, totals, hot functions.
//!
//! One walk over the records (`scan`) decides what is shown and adds up the
//! totals; [`show`] prints it as llvm-profdata does, [`collect`] gives it as
//! data for JSON.

mod collect;
mod scan;
mod text;

pub use collect::{
    BelowCutoff, CutoffCounts, FunctionDetails, HotFunctions, NamedMaximum, ShowReport, SiteStatistics, SummaryDetails,
    SummaryTotals, TraceList, TraceView, ValueView, collect,
};
pub use text::{RecordWriter, show};

use crate::error::{Error, Result};
use crate::model::ValueKind;

/// What is shown. Every field off shows the totals only.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShowOptions {
    /// Details of every function.
    pub all_functions: bool,
    /// Details of the functions whose name contains these bytes; empty is none.
    pub function: Vec<u8>,
    /// Fail before anything is printed if no function has `function` in its name.
    pub must_find: bool,
    /// Add the counters to the details.
    pub counts: bool,
    /// Add the targets of indirect calls.
    pub indirect_call_targets: bool,
    /// Add the sizes of memory operations.
    pub memop_sizes: bool,
    /// Add the vtables of virtual calls.
    pub vtables: bool,
    /// Only the names of functions that ran.
    pub covered: bool,
    /// So many functions with the largest counters; 0 is none.
    pub top: usize,
    /// Functions whose largest counter is below this are hidden and counted.
    pub value_cutoff: u64,
    /// Only the functions below the cutoff.
    pub only_below_cutoff: bool,
    /// The hot functions.
    pub hot_functions: bool,
    /// How few counters hold most of the counts.
    pub detailed_summary: bool,
    /// Cutoffs of the detailed summary and the hot list, in parts per million;
    /// empty: [`CUTOFFS`](crate::model::summary::CUTOFFS).
    pub cutoffs: Vec<u32>,
    /// A function is hot when its largest counter reaches the minimum count at
    /// this cutoff. Default: 990000.
    pub hot_cutoff: u32,
    /// The count from which a function is hot, in place of the cutoff.
    pub hot_count: Option<u64>,
    /// Of IR profiles the context-sensitive records instead of the plain ones.
    pub context_sensitive: bool,
    /// Functions as records of the text format.
    pub text: bool,
    /// Identities of the images that ran.
    pub binary_ids: bool,
    /// The format's version.
    pub profile_version: bool,
    /// Temporal traces.
    pub temporal_traces: bool,
}

impl Default for ShowOptions {
    fn default() -> Self {
        Self {
            all_functions: false,
            function: Vec::new(),
            must_find: false,
            counts: false,
            indirect_call_targets: false,
            memop_sizes: false,
            vtables: false,
            covered: false,
            top: 0,
            value_cutoff: 0,
            only_below_cutoff: false,
            hot_functions: false,
            detailed_summary: false,
            cutoffs: Vec::new(),
            hot_cutoff: 990_000,
            hot_count: None,
            context_sensitive: false,
            text: false,
            binary_ids: false,
            profile_version: false,
            temporal_traces: false,
        }
    }
}

impl ShowOptions {
    /// Whether details of the function of that name are asked for.
    fn selects(&self, name: &[u8]) -> bool {
        self.all_functions || (!self.function.is_empty() && crate::instr::overlap::contains(name, &self.function))
    }

    /// Fails if a function has to be found and none was.
    fn require_found(&self, selected: u64) -> Result<()> {
        if !self.must_find || selected > 0 {
            return Ok(());
        }
        let name = String::from_utf8_lossy(&self.function);
        Err(Error::nothing_found(format!("no function has {name:?} in its name")))
    }

    /// Whether some functions are selected at all.
    fn selects_functions(&self) -> bool {
        self.all_functions || !self.function.is_empty()
    }

    /// Whether values of that kind are shown.
    fn shows(&self, kind: ValueKind) -> bool {
        match kind {
            ValueKind::IndirectCallTarget => self.indirect_call_targets,
            ValueKind::MemOpSize => self.memop_sizes,
            ValueKind::VTableTarget => self.vtables,
        }
    }

    /// Whether the names of values are needed.
    fn shows_names(&self) -> bool {
        self.text || self.indirect_call_targets || self.vtables
    }
}

#[cfg(test)]
mod tests;
