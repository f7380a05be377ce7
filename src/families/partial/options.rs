//! How partial merges are made and finished.

use crate::driver::FailureMode;
use crate::families::MergeOptions;
use crate::families::merge::iprof::IprofMergeOptions;
use crate::families::stack_files::StackMergeOptions;
use crate::limits::Limits;
use crate::sampleprof::FileMergeOptions;

/// The options of the merge of each family.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PartialOptions {
    /// Of instrumentation and memory profiles.
    pub instr: MergeOptions,
    /// Of sample profiles.
    pub sample: FileMergeOptions,
    /// Of iprof files.
    pub iprof: IprofMergeOptions,
    /// Of sampled stacks.
    pub stacks: StackMergeOptions,
}

impl PartialOptions {
    /// Merges what can be merged, whatever failed.
    pub(crate) fn tolerate_failures(&mut self) {
        self.instr.failure_mode = FailureMode::Warn;
        self.sample.failure_mode = FailureMode::Warn;
        self.iprof.failure_mode = FailureMode::Warn;
        self.stacks.failure_mode = FailureMode::Warn;
        (self.iprof.accepts_nothing, self.stacks.accepts_nothing) = (true, true);
    }

    /// Bounds on damaged parts.
    pub fn limits(&self) -> &Limits {
        &self.instr.read.limits
    }
}
