//! Options of a merge, and when a merge fails.

use crate::cancel::Cancel;
use crate::driver::{FailureMode, RunOptions};
use crate::instr::memory_profiles::MemProfOptions;
use crate::instr::open::ReadOptions;
use crate::instr::{FunctionFilter, Remapping, SharedKind};
use crate::model::Release;
use std::num::NonZeroUsize;

/// Options for merging profiles.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MergeOptions {
    /// Options for reading the inputs.
    pub read: ReadOptions,
    /// The release whose merge rules apply: the target of the output.
    pub release: Release,
    /// When damaged inputs end the merge.
    pub failure_mode: FailureMode,
    /// Worker threads; `None` uses the number of processors. The result does not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// The maximum number of temporal traces. Default: LLVM's 100.
    pub trace_reservoir_size: Option<u64>,
    /// The maximum number of functions per trace. Default: LLVM's 10000.
    pub max_trace_length: Option<u64>,
    /// Keep the names of vtables.
    pub keep_vtable_names: bool,
    /// Functions that are renamed during reading.
    pub remapping: Remapping,
    /// Functions to write. The merged profile contains all of them, because in files of older releases dropped
    /// functions still determine the order of the rest. The writer needs the same filter.
    pub filter: FunctionFilter,
    /// Options for writing the merged memory profile.
    pub memprof: MemProfOptions,
    /// Keep the records of damaged inputs up to the damage, if the merge continues.
    pub salvage: bool,
    /// Count a profile twice that occurs in a partial merge and in another input.
    pub allow_duplicates: bool,
    /// Cancels the merge.
    pub cancel: Cancel,
    /// The kind of the inputs that were merged before.
    pub(crate) shared_kind: SharedKind,
    /// Apply weights to values that are new to a site, which LLVM does not.
    pub(crate) weighs_new_values: bool,
}

impl MergeOptions {
    /// Returns true if a damaged input contributes nothing: in profbridge mode, unless its valid records are requested
    /// or it ends the merge.
    pub(crate) fn is_all_or_nothing(&self) -> bool {
        !self.read.compat.is_llvm() && !self.salvage && self.failure_mode != FailureMode::Any
    }

    /// Returns true if an input of a different kind is the error of the merge, instead of one of the failed inputs.
    pub(crate) fn reports_kind_conflict(&self) -> bool {
        !self.read.compat.is_llvm() && self.failure_mode == FailureMode::Any
    }

    /// Returns the options with weights for values that are new to a site.
    pub(crate) fn weighing_new_values(self) -> Self {
        Self { weighs_new_values: true, ..self }
    }

    /// Returns the options for the merge loop.
    pub(crate) fn run(&self) -> RunOptions {
        RunOptions { threads: self.threads, whole_inputs: self.is_all_or_nothing(), cancel: self.cancel.clone() }
    }

    /// Returns the options for the merger.
    pub(crate) fn merger_options(&self) -> crate::instr::MergeOptions {
        let mut options = crate::instr::MergeOptions::default();
        options.release = self.release;
        options.keep_vtable_names = self.keep_vtable_names;
        options.weighs_new_values = self.weighs_new_values;
        (options.compat, options.limits) = (self.read.compat, self.read.limits);
        options.trace_reservoir_size = self.trace_reservoir_size.unwrap_or(options.trace_reservoir_size);
        options.shared_kind = self.shared_kind.clone();
        options.max_trace_length = self.max_trace_length.unwrap_or(options.max_trace_length);
        options
    }
}
