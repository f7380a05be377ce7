//! How profiles are merged, and when a merge fails.

use crate::cancel::Cancel;
use crate::driver::{FailureMode, RunOptions};
use crate::instr::memory_profiles::MemProfOptions;
use crate::instr::open::ReadOptions;
use crate::instr::{FunctionFilter, Remapping, SharedKind};
use crate::model::Release;
use std::num::NonZeroUsize;

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
    /// Ends the merge early.
    pub cancel: Cancel,
    /// The kind of inputs that were merged before.
    pub(crate) shared_kind: SharedKind,
}

impl MergeOptions {
    /// Whether a bad input gives nothing at all: under our own rules, unless its
    /// good records are asked for, or it ends the merge.
    pub(crate) fn is_all_or_nothing(&self) -> bool {
        !self.read.compat.is_llvm() && !self.salvage && self.failure_mode != FailureMode::Any
    }

    /// Returns true if an input of another kind than those before it is the error of the merge, rather than one of
    /// the inputs that failed.
    pub fn reports_kind_conflict(&self) -> bool {
        !self.read.compat.is_llvm() && self.failure_mode == FailureMode::Any
    }

    /// What of these options the merge loop takes.
    pub(crate) fn run(&self) -> RunOptions {
        RunOptions { threads: self.threads, whole_inputs: self.is_all_or_nothing(), cancel: self.cancel.clone() }
    }

    /// What of these options the merger takes.
    pub(crate) fn merger_options(&self) -> crate::instr::MergeOptions {
        let mut options = crate::instr::MergeOptions::default();
        options.release = self.release;
        options.keep_vtable_names = self.keep_vtable_names;
        (options.compat, options.limits) = (self.read.compat, self.read.limits);
        options.trace_reservoir_size = self.trace_reservoir_size.unwrap_or(options.trace_reservoir_size);
        options.shared_kind = self.shared_kind.clone();
        options.max_trace_length = self.max_trace_length.unwrap_or(options.max_trace_length);
        options
    }
}
