//! How partial merges are made and finished.

use crate::limits::Limits;
use crate::pipeline::merge::MergeOptions;
use crate::pipeline::merge::iprof::IprofMergeOptions;
use crate::pipeline::merge::sampleprof::SampleMergeOptions;
use crate::pipeline::merge::stacks::StackMergeOptions;

/// The options of the merge of each family.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PartialOptions {
    /// Of instrumentation and memory profiles.
    pub instr: MergeOptions,
    /// Of sample profiles.
    pub sample: SampleMergeOptions,
    /// Of iprof files.
    pub iprof: IprofMergeOptions,
    /// Of sampled stacks.
    pub stacks: StackMergeOptions,
}

impl PartialOptions {
    /// Bounds on damaged parts.
    pub fn limits(&self) -> &Limits {
        &self.instr.read.limits
    }
}
