//! Sampled stacks in memory, independent of file formats: the table that all families draw from, selections,
//! statistics, and call chains, which iprof files also have.

#[cfg(feature = "families")]
mod chains;
mod pattern;
mod samples;
mod select;
#[cfg(feature = "serde")]
mod serialize;
#[cfg(feature = "families")]
mod statistics;
#[cfg(all(test, feature = "families"))]
mod statistics_tests;
mod table;
#[cfg(test)]
mod tests;

#[cfg(feature = "families")]
pub(crate) use chains::ChainTree;
#[cfg(feature = "families")]
pub(crate) use chains::functions_meant;
#[cfg(feature = "families")]
pub use chains::{CallChain, ChainOptions, Direction, call_chains, samples_with_methods};
pub use pattern::MethodPattern;
pub(crate) use samples::hits_in;
pub(crate) use samples::{PERIODS_DIFFER, SAMPLES, SamplingPeriod, different_events};
pub use samples::{ReadStats, SampleSource, Unit, Weight};
pub use select::{NotSelected, Selection};
#[cfg(feature = "families")]
pub use statistics::{HotMethod, SampleStatistics, ThreadHits, percent, statistics, write_chains, write_statistics};
pub(crate) use table::MAX_HITS;
pub use table::{
    Certainty, Frame, FrameId, FrameKind, Function, FunctionId, NameId, Sample, SampleKey, SignatureId, StackId,
    StackTable, ThreadId,
};
