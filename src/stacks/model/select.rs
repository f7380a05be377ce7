//! Which samples of a table are meant.

use super::{Sample, SampleSource, StackTable, Unit};
use crate::error::Result;
use std::collections::{BTreeMap, BTreeSet};

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
#[non_exhaustive]
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
    /// first in this order; events, such as allocations, where there is nothing else.
    pub fn main_source(&self) -> Option<SampleSource> {
        let timed = [
            SampleSource::Unknown,
            SampleSource::Execution,
            SampleSource::CpuTime,
            SampleSource::WallClock,
            SampleSource::Native,
        ];
        let there: BTreeSet<SampleSource> = self.samples().map(|sample| sample.key.source).collect();
        timed.into_iter().chain(SampleSource::ALL).find(|source| there.contains(source))
    }

    /// What the numbers of the samples count; `None` where they count different things.
    pub fn unit(&self) -> Option<Unit> {
        let there: BTreeSet<SampleSource> = self.samples().map(|sample| sample.key.source).collect();
        let units = self.observed.units.iter().filter(|(source, _)| there.contains(source));
        let units: BTreeSet<Unit> = units.map(|(_, unit)| *unit).collect();
        match units.len() {
            0 => Some(Unit::Hits),
            1 => units.first().copied(),
            _ => None,
        }
    }

    /// Hits by sort of sample, in the order of [`SampleSource::ALL`], without zeros.
    pub fn hits_by_source(&self) -> Vec<(SampleSource, u128)> {
        let mut hits: BTreeMap<SampleSource, u128> = BTreeMap::new();
        for sample in self.samples().filter(|sample| sample.hits > 0) {
            *hits.entry(sample.key.source).or_default() += u128::from(sample.hits);
        }
        hits.into_iter().collect()
    }

    /// The selected samples, and how many hits were not selected.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn select(&self, selection: &Selection) -> Result<(StackTable, NotSelected)> {
        let has_source = self.source_chooser(selection);
        let thread = selection.thread.as_deref().map(|name| self.find_thread(name));
        let mut left_out = NotSelected::default();
        for sample in self.samples() {
            let hits = u128::from(sample.hits);
            if !has_source(&sample) {
                left_out.other_sources += hits;
            } else if selection.drop_truncated && sample.key.truncated {
                left_out.truncated += hits;
            } else if thread.is_some_and(|thread| thread.is_none() || thread != sample.key.thread) {
                left_out.other_threads += hits;
            }
        }
        let selected = self.filter_samples(self.chooser(selection))?;
        Ok((selected, left_out))
    }

    /// Whether a sample is selected.
    pub(crate) fn chooser<'a>(&'a self, selection: &'a Selection) -> impl Fn(&Sample) -> bool + 'a {
        let has_source = self.source_chooser(selection);
        let thread = selection.thread.as_deref().map(|name| self.find_thread(name));
        move |sample| {
            has_source(sample)
                && !(selection.drop_truncated && sample.key.truncated)
                && thread.is_none_or(|thread| thread.is_some() && thread == sample.key.thread)
        }
    }

    /// Whether a sample is of a sort that is selected.
    fn source_chooser<'a>(&self, selection: &'a Selection) -> impl Fn(&Sample) -> bool + use<'a> {
        let main = self.main_source();
        move |sample| match selection.sources.is_empty() {
            true => Some(sample.key.source) == main,
            false => selection.sources.contains(&sample.key.source),
        }
    }
}
