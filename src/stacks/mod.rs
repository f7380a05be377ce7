//! Sampled stacks: Flight Recorder recordings, collapsed stacks of
//! async-profiler, folded stacks of Linux perf, pprof profiles.
//!
//! ```text
//! .jfr ────────▶ jfr ──────┐
//! perf.data ───▶ perf_data ┤
//! .collapsed ──▶ text ─────├─▶ call_chains::StackTable ─▶ report, bridge (iprof), write_collapsed
//! .folded ─────▶           │             ▲
//! .pprof ──────▶ pprof ────┘             │      └─▶ pprof
//! class files, jars ─▶ reference ────────┘ descriptors that the stacks lack
//! ```
//!
//! | source | method | types | BCI | line | thread | hits |
//! |---|---|---|---|---|---|---|
//! | Flight Recorder | yes | yes | yes | yes | yes | by counting |
//! | perf | symbols | no | no | with debug info | process | yes |
//! | collapsed | yes | option `sig` | our own form | no | option | yes |
//! | pprof | if we wrote it | if we wrote it | if we wrote it | yes | label | yes |
//! | folded | yes | option, or the JDK's own map | no | no | process | yes |
//!
//! Samples measure time. They do not count calls or branches, so profbridge never derives such counts from them.

#[doc(hidden)]
pub mod classes;
pub mod collapsed;
#[cfg(feature = "families")]
mod draw;
pub mod jfr;
pub mod perf_data;
mod perf_script;
pub mod pprof;

#[cfg(feature = "families")]
pub use draw::graph_of_outline;
#[cfg(feature = "families")]
pub use draw::report;
pub(crate) use perf_script::{are_branch_records, lacks_fields};

use crate::bytes::{Confidence, Head};

/// A format that holds stacks and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StackFormat {
    /// A Flight Recorder recording.
    Jfr,
    /// A recording of Linux perf.
    PerfData,
    /// Collapsed or folded text.
    Collapsed,
    /// A pprof profile, inflated.
    Pprof,
}

/// Detects a source of stacks: a magic number, the messages that a pprof begins with, or lines that end in a number.
pub fn evidence(head: &Head<'_>) -> Option<(StackFormat, Confidence)> {
    if head.begins(b"FLR\0") {
        return Some((StackFormat::Jfr, Confidence::Certain));
    }
    // Also in the other byte order, and version 1, which the reader rejects.
    if head.begins(b"PERFILE2") || head.begins(b"2ELIFREP") || head.begins(b"PERFFILE") {
        return Some((StackFormat::PerfData, Confidence::Certain));
    }
    if pprof::is_pprof(head.bytes()) {
        return Some((StackFormat::Pprof, Confidence::Certain));
    }
    if head.begins(collapsed::UNIT_COMMENT.as_bytes()) {
        return Some((StackFormat::Collapsed, Confidence::Certain));
    }
    collapsed::text_evidence(head).map(|confidence| (StackFormat::Collapsed, confidence))
}
