//! Which samples of a table are meant.

use super::{Sample, SampleSource, StackTable};

/// Samples that count, of a table that may hold several sorts.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Selection {
    /// Sorts of samples; empty takes the one sort that
    /// [`StackTable::main_source`] names. Sorts measure different things (time
    /// on a CPU, time in native code, waiting), so they are not added up
    /// unless asked for. Default: empty.
    pub sources: Vec<SampleSource>,
    /// Leave out stacks whose outermost frames are missing. Default: `false`.
    pub drop_truncated: bool,
    /// Only samples of the thread of this name. Default: all threads.
    pub thread: Option<String>,
}

/// What a [`Selection`] left out, in hits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NotSelected {
    /// Of sorts that were not asked for.
    pub other_sources: u128,
    /// Truncated.
    pub truncated: u128,
    /// Of other threads.
    pub other_threads: u128,
}

impl StackTable {
    /// The sort of samples that a table is mostly for: samples without a
    /// source, else execution, CPU time, wall clock, native, whichever comes
    /// first in this order.
    pub fn main_source(&self) -> Option<SampleSource> {
        let order = [
            SampleSource::Unknown,
            SampleSource::Execution,
            SampleSource::CpuTime,
            SampleSource::WallClock,
            SampleSource::Native,
        ];
        order.into_iter().find(|source| self.samples().any(|sample| sample.key.source == *source))
    }

    /// Hits by sort of sample, in the order of [`SampleSource::ALL`], without zeros.
    pub fn hits_by_source(&self) -> Vec<(SampleSource, u128)> {
        let hits = |source| {
            let of_source = self.samples().filter(move |sample| sample.key.source == source);
            (source, of_source.map(|sample| u128::from(sample.hits)).sum())
        };
        SampleSource::ALL.into_iter().map(hits).filter(|(_, hits)| *hits > 0).collect()
    }

    /// The selected samples, and how many hits were not selected.
    pub fn select(&self, selection: &Selection) -> (StackTable, NotSelected) {
        let main = self.main_source();
        let thread = selection.thread.as_deref().map(|name| self.find_thread(name));
        let wanted_source = |sample: &Sample| {
            if selection.sources.is_empty() {
                Some(sample.key.source) == main
            } else {
                selection.sources.contains(&sample.key.source)
            }
        };
        let mut left_out = NotSelected::default();
        for sample in self.samples() {
            let hits = u128::from(sample.hits);
            if !wanted_source(&sample) {
                left_out.other_sources += hits;
            } else if selection.drop_truncated && sample.key.truncated {
                left_out.truncated += hits;
            } else if thread.is_some_and(|thread| thread.is_none() || thread != sample.key.thread) {
                left_out.other_threads += hits;
            }
        }
        let selected = self.filter_samples(|sample| {
            wanted_source(sample)
                && !(selection.drop_truncated && sample.key.truncated)
                && thread.is_none_or(|thread| thread.is_some() && thread == sample.key.thread)
        });
        (selected, left_out)
    }
}
