//! What hits are a share of, and what they may include.

use crate::stacks::model::SampleSource;

/// Hits in percent of all; 0 when there are none.
pub fn percent(hits: u128, total: u128) -> f64 {
    if total == 0 { 0.0 } else { hits as f64 * 100.0 / total as f64 }
}

/// Whether a sort of sample measures waiting as well as running.
pub(super) fn includes_waiting(source: SampleSource) -> bool {
    matches!(source, SampleSource::WallClock | SampleSource::Native)
}
