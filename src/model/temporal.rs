//! Temporal profiles: in which order functions first ran.

use crate::model::symbols::NameRef;

/// Functions in order of their first execution in one run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TemporalTrace {
    /// How much the trace counts; the input's weight for raw files.
    pub weight: u64,
    /// Hashes of the functions' names.
    pub functions: Vec<NameRef>,
}

/// The traces that were kept, and how many were ever seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TemporalProfile {
    /// Kept traces.
    pub traces: Vec<TemporalTrace>,
    /// Traces ever seen, those included that the reservoir dropped.
    pub stream_size: u64,
}
