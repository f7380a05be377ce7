//! The content of a profile: functions with their counts, totals, hot functions.
//!
//! A single read of the records (`scan`) selects the output and computes the totals. [`show`] prints it like
//! llvm-profdata, [`collect`] returns it as data for JSON.

mod collect;
mod scan;
mod text;

pub use collect::{
    BelowCutoff, CutoffCounts, FunctionDetails, HotFunctions, NamedMaximum, ShowReport, SiteStatistics, SummaryDetails,
    SummaryTotals, TraceList, TraceView, ValueView, collect,
};
pub use text::{RecordWriter, show};

use crate::error::Result;
use crate::model::ValueKind;
use crate::names::NamePattern;

/// Options for `show`. The default shows only the totals.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ShowOptions {
    /// Show details of every function.
    pub all_functions: bool,
    /// Show details of the functions that this selects.
    pub function: Option<NamePattern>,
    /// Fail before anything is printed if `function` selects none.
    pub must_find: bool,
    /// Add the counters to the details.
    pub counts: bool,
    /// Add the targets of indirect calls.
    pub indirect_call_targets: bool,
    /// Add the sizes of memory operations.
    pub memop_sizes: bool,
    /// Add the vtables of virtual calls.
    pub vtables: bool,
    /// Show only the names of functions that ran.
    pub covered: bool,
    /// The number of functions with the largest counters to show; 0 shows none.
    pub top: usize,
    /// Hide and count functions whose largest counter is below this value.
    pub value_cutoff: u64,
    /// Show only the functions below the cutoff.
    pub only_below_cutoff: bool,
    /// Show the hot functions.
    pub hot_functions: bool,
    /// Show the number of counters that contain most of the counts.
    pub detailed_summary: bool,
    /// Cutoffs of the detailed summary and the hot list, in parts per million; if empty,
    /// [`CUTOFFS`](crate::model::summary::CUTOFFS).
    pub cutoffs: Vec<u32>,
    /// The cutoff of the hot list: a function is hot if its largest counter reaches the minimum count of this cutoff.
    /// Default: 990000.
    pub hot_cutoff: u32,
    /// The minimum count of a hot function; overrides the cutoff.
    pub hot_count: Option<u64>,
    /// Show the context-sensitive records of IR profiles instead of the plain ones.
    pub context_sensitive: bool,
    /// Show functions as records of the text format.
    pub text: bool,
    /// Show the binary ids.
    pub binary_ids: bool,
    /// Show the version of the format.
    pub profile_version: bool,
    /// Show the temporal traces.
    pub temporal_traces: bool,
}

impl Default for ShowOptions {
    fn default() -> Self {
        Self {
            all_functions: false,
            function: None,
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
    /// Returns true if details of the function are requested by name.
    fn selects(&self, name: &[u8]) -> bool {
        self.all_functions || self.function.as_ref().is_some_and(|pattern| pattern.matches(name))
    }

    /// Fails if a function must be found and none was.
    fn require_found(&self, selected: u64) -> Result<()> {
        match &self.function {
            Some(pattern) if self.must_find && selected == 0 => Err(pattern.nothing_found()),
            _ => Ok(()),
        }
    }

    /// Returns true if functions are selected at all.
    fn selects_functions(&self) -> bool {
        self.all_functions || self.function.is_some()
    }

    /// Returns true if values of that kind are shown.
    fn shows(&self, kind: ValueKind) -> bool {
        match kind {
            ValueKind::IndirectCallTarget => self.indirect_call_targets,
            ValueKind::MemOpSize => self.memop_sizes,
            ValueKind::VTableTarget => self.vtables,
        }
    }

    /// Returns true if the names of values are needed.
    fn shows_names(&self) -> bool {
        self.text || self.indirect_call_targets || self.vtables
    }
}

#[cfg(test)]
mod tests;
