//! How profiles are merged, and when a merge fails.

use crate::error::{Error, Result};
use crate::instr::Release;
use crate::merge::{FunctionFilter, Remapping};
use crate::pipeline::memory::MemProfOptions;
use crate::pipeline::open::ReadOptions;
use std::num::NonZeroUsize;

/// When bad inputs make the whole merge fail (`--failure-mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FailureMode {
    /// One bad input is enough.
    #[default]
    Any,
    /// Only when every input is bad.
    All,
    /// Never; bad inputs are warned about.
    Warn,
}

impl FailureMode {
    /// Whether a merge may go on, of whose inputs so many failed.
    ///
    /// # Errors
    ///
    /// Usage when too many failed.
    pub(in crate::pipeline) fn verdict(self, failures: usize, inputs: usize) -> Result<()> {
        let failed = match self {
            Self::Any => failures > 0,
            Self::All => failures > 0 && failures == inputs,
            Self::Warn => false,
        };
        if failed { Err(Error::usage("no profile can be merged")) } else { Ok(()) }
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
    /// Whether a result that holds so much may be written.
    ///
    /// # Errors
    ///
    /// Usage when it is below one of these.
    pub(in crate::pipeline) fn check(&self, held: &Self) -> Result<()> {
        let minimums = [
            ("inputs were used", held.inputs, self.inputs, "--min-inputs"),
            ("functions are in the result", held.functions, self.functions, "--min-functions"),
            ("is the total count of the result", held.total_count, self.total_count, "--min-total-count"),
        ];
        for (what, found, least, option) in minimums {
            if found < least {
                let detail = format!("the result is too thin: {found} {what}, {option} asks for {least}");
                return Err(Error::usage(detail).with_hint("nothing was written; look at the inputs that were skipped"));
            }
        }
        Ok(())
    }
}

/// How profiles are merged.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MergeOptions {
    /// How inputs are read.
    pub read: ReadOptions,
    /// Whose merge rules apply: the release that the result is written for.
    pub release: Release,
    /// When bad inputs end the merge.
    pub failure_mode: FailureMode,
    /// Worker threads; `None` asks the machine. The result does not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// Most temporal traces kept. Default: LLVM's 100.
    pub trace_reservoir_size: Option<u64>,
    /// Functions kept of each trace. Default: LLVM's 10000.
    pub max_trace_length: Option<u64>,
    /// Keep the names of vtables.
    pub keep_vtable_names: bool,
    /// Functions whose names are changed while reading.
    pub remapping: Remapping,
    /// Functions that will be written. The merged profile holds all of them,
    /// since those left out still decide the order of the rest in files of
    /// older releases; give the same filter to the writer.
    pub filter: FunctionFilter,
    /// How the sum of memory profiles is written.
    pub memprof: MemProfOptions,
    /// Keep the good records of bad inputs when the merge goes on.
    pub salvage: bool,
    /// The least that the result must hold.
    pub minimums: Minimums,
}

impl MergeOptions {
    /// What of these options the merger takes.
    pub(in crate::pipeline) fn merger_options(&self) -> crate::merge::MergeOptions {
        let mut options = crate::merge::MergeOptions::default();
        options.release = self.release;
        options.keep_vtable_names = self.keep_vtable_names;
        (options.compat, options.limits) = (self.read.compat, self.read.limits);
        options.trace_reservoir_size = self.trace_reservoir_size.unwrap_or(options.trace_reservoir_size);
        options.max_trace_length = self.max_trace_length.unwrap_or(options.max_trace_length);
        options
    }
}
