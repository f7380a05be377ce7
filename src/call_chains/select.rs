//! Which samples of a table are meant.

use super::samples::{CALLS_TWICE, CHUNKS_TWICE, PERIODS_DIFFER, SampleSource, SamplingPeriod, Unit, different_events};
use super::table::{Frame, FrameId, FrameKind, FunctionId, Sample, SampleKey, StackTable};
use std::collections::{BTreeMap, BTreeSet};

/// Samples that count, of a table that may hold several sorts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Selection {
    /// The event types to use. Empty for the one type that `StackTable::main_source` returns: event types measure
    /// different things (time on a CPU, time in native code, waiting), so they are only added on request. Samples of
    /// unknown type, such as those of collapsed stacks, and those of the main type of a recording are added up. Default:
    /// empty.
    pub sources: Vec<SampleSource>,
    /// Leave out stacks whose outermost frames are missing. Default: `false`.
    pub drop_truncated: bool,
    /// Only samples of the thread of this name. Default: all threads.
    pub thread: Option<String>,
}

/// Hits that a [`Selection`] drops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotSelected {
    /// Of other event types.
    pub other_sources: u128,
    /// Truncated.
    pub truncated: u128,
    /// Of other threads.
    pub other_threads: u128,
}

impl StackTable {
    /// Returns the main event type of a table: samples of unknown type, otherwise the first of execution, CPU time,
    /// wall clock and native; other events, such as allocations, only if there are no samples.
    pub(crate) fn main_source(&self) -> Option<SampleSource> {
        let there = self.sources();
        let mut sources = [SampleSource::Unknown].iter().chain(TIMED).chain(SampleSource::ALL).copied();
        sources.find(|source| there.contains(source))
    }

    /// Returns the type of samples that count as samples of unknown type, if the main type is unknown: they measure time,
    /// too, and have the same unit.
    fn as_unknown(&self, selection: &Selection) -> Option<SampleSource> {
        let there = self.sources();
        if !selection.sources.is_empty() || !there.contains(&SampleSource::Unknown) {
            return None;
        }
        let units = |source| self.observed.units.iter().filter(move |(of, _)| *of == source).map(|(_, unit)| unit);
        let known = TIMED.iter().copied().find(|source| there.contains(source))?;
        let units: BTreeSet<&Unit> = units(SampleSource::Unknown).chain(units(known)).collect();
        (units.len() < 2).then_some(known)
    }

    /// Returns the event types that have samples.
    fn sources(&self) -> BTreeSet<SampleSource> {
        self.samples().map(|sample| sample.key.source).collect()
    }

    /// Returns the unit of the sample counts; `None` if the samples have different units.
    pub fn unit(&self) -> Option<Unit> {
        let there = self.sources();
        let units = self.observed.units.iter().filter(|(source, _)| there.contains(source));
        let units: BTreeSet<Unit> = units.map(|(_, unit)| *unit).collect();
        match units.len() {
            0 => Some(Unit::Hits),
            1 => units.first().copied(),
            _ => None,
        }
    }

    /// Returns warnings about samples that do not add up.
    pub(crate) fn warnings_about_counts(&self) -> Vec<String> {
        // Different events usually have different rates.
        let rates = self.mixes_rates().then(|| PERIODS_DIFFER.to_string());
        let mut warnings = Vec::from_iter(different_events(&self.observed.events).or(rates));
        if self.observed.repeats_chunks {
            warnings.push(CHUNKS_TWICE.to_string());
        }
        if self.observed.counts_calls_twice && self.sources().contains(&SampleSource::MethodTiming) {
            warnings.push(CALLS_TWICE.to_string());
        }
        warnings
    }

    /// Returns true if samples of different rates were added as such.
    pub(crate) fn mixes_rates(&self) -> bool {
        if self.observed.periods.len() < 2 || self.observed.has_weights {
            return false;
        }
        let (there, as_unknown) = (self.sources(), self.as_unknown(&Selection::default()));
        let mut periods: BTreeMap<SampleSource, BTreeSet<SamplingPeriod>> = BTreeMap::new();
        for (source, period) in self.observed.periods.iter().filter(|(source, _)| there.contains(source)) {
            let source = if as_unknown == Some(*source) { SampleSource::Unknown } else { *source };
            periods.entry(source).or_default().insert(*period);
        }
        self.unit() == Some(Unit::Hits) && periods.values().any(|periods| periods.len() > 1)
    }

    /// Returns hits by event type, in the order of [`SampleSource::ALL`], without zeros.
    pub fn hits_by_source(&self) -> Vec<(SampleSource, u128)> {
        let mut hits: BTreeMap<SampleSource, u128> = BTreeMap::new();
        for sample in self.samples().filter(|sample| sample.hits > 0) {
            *hits.entry(sample.key.source).or_default() += u128::from(sample.hits);
        }
        hits.into_iter().collect()
    }

    /// Returns the selected samples, and the number of other hits. Samples of other event types count as skipped events.
    pub fn select(&self, selection: &Selection) -> (StackTable, NotSelected) {
        let has_source = self.source_chooser(selection);
        let thread = selection.thread.as_deref().map(|name| self.find_thread(name));
        let mut left_out = NotSelected::default();
        let mut skipped: BTreeMap<SampleSource, u64> = BTreeMap::new();
        for sample in self.samples() {
            let hits = u128::from(sample.hits);
            if !has_source(sample.key.source) {
                left_out.other_sources += hits;
                let sum = skipped.entry(sample.key.source).or_default();
                *sum = sum.saturating_add(sample.hits);
            } else if selection.drop_truncated && sample.key.truncated {
                left_out.truncated += hits;
            } else if thread.is_some_and(|thread| thread.is_none() || thread != sample.key.thread) {
                left_out.other_threads += hits;
            }
        }
        let (is_selected, known) = (self.chooser(selection), self.as_unknown(selection));
        let mut selected = self.map_samples(|sample| {
            let source = if Some(sample.key.source) == known { SampleSource::Unknown } else { sample.key.source };
            is_selected(sample).then_some(SampleKey { source, ..sample.key })
        });
        for (source, events) in skipped {
            // Bytes and times do not count events.
            let counts = self.observed.units.iter().all(|(of, unit)| *of != source || *unit == Unit::Hits);
            selected.observed.skip_events(source, if counts { events } else { 0 });
        }
        selected.observed.samples_out_of_time.retain(|source, _| has_source(*source));
        selected.observed.has_one_thread |= thread.is_some();
        (selected, left_out)
    }

    /// Returns the hits of other event types than the selected ones, by unit.
    pub(crate) fn hits_of_other_sources(&self, selection: &Selection) -> Vec<(Unit, u128)> {
        let has_source = self.source_chooser(selection);
        let unit_of = |source| self.observed.units.iter().find(|(of, _)| *of == source).map(|(_, unit)| *unit);
        let mut hits: BTreeMap<Unit, u128> = BTreeMap::new();
        for sample in self.samples().filter(|sample| sample.hits > 0 && !has_source(sample.key.source)) {
            *hits.entry(unit_of(sample.key.source).unwrap_or_default()).or_default() += u128::from(sample.hits);
        }
        hits.into_iter().collect()
    }

    /// Whether a sample is selected.
    pub(crate) fn chooser<'a>(&'a self, selection: &'a Selection) -> impl Fn(&Sample) -> bool + 'a {
        let has_source = self.source_chooser(selection);
        let thread = selection.thread.as_deref().map(|name| self.find_thread(name));
        move |sample| {
            has_source(sample.key.source)
                && !(selection.drop_truncated && sample.key.truncated)
                && thread.is_none_or(|thread| thread.is_some() && thread == sample.key.thread)
        }
    }

    /// Whether an event type is selected.
    fn source_chooser<'a>(&self, selection: &'a Selection) -> impl Fn(SampleSource) -> bool + use<'a> {
        let (main, as_main) = (self.main_source(), self.as_unknown(selection));
        move |source| match selection.sources.is_empty() {
            true => [main, as_main].contains(&Some(source)),
            false => selection.sources.contains(&source),
        }
    }
}

/// The known types of samples that measure time, the most usual first.
const TIMED: &[SampleSource] =
    &[SampleSource::Execution, SampleSource::CpuTime, SampleSource::WallClock, SampleSource::Native];

/// The frame below samples without a thread.
const NO_THREAD: &str = "(no thread)";

impl StackTable {
    /// Returns the same samples with reversed stacks: the running function comes first, then its callers.
    pub fn reversed(&self) -> StackTable {
        let mut out = self.with_same_names();
        for sample in self.samples() {
            let frames: Vec<FrameId> = self.frames(sample.key.stack).collect();
            self.add_turned(&mut out, sample, &frames);
        }
        out
    }

    /// The same samples with the name of its thread below every stack.
    pub fn by_thread(&self) -> StackTable {
        let mut out = self.with_same_names();
        for sample in self.samples() {
            let name = sample.key.thread.map_or(NO_THREAD, |thread| self.thread(thread));
            let function = out.intern_symbol(name);
            let thread = Frame { function, bci: None, line: None, kind: FrameKind::Unknown };
            let thread = out.intern_frame(thread);
            let mut stack = out.push_frame(None, thread);
            let mut frames: Vec<FrameId> = self.frames(sample.key.stack).collect();
            frames.reverse();
            for frame in frames {
                let frame = out.intern_frame(self.frame(frame));
                stack = out.push_frame(Some(stack), frame);
            }
            out.add_sample(Sample { key: SampleKey { stack, ..sample.key }, ..sample });
        }
        out
    }

    /// Returns the samples whose stacks contain a method for which `is_one` returns true, without the callers of the
    /// outermost such frame: the callees of a method, with any callers. With `callers`, returns the callers of its
    /// innermost frame instead, the nearest first.
    pub(crate) fn of_method(&self, callers: bool, mut is_one: impl FnMut(FunctionId) -> bool) -> StackTable {
        let is_one: Vec<bool> = self.functions().map(&mut is_one).collect();
        let holds = |frame: &FrameId| is_one[self.frame(*frame).function.index()];
        let mut out = self.with_same_names();
        for sample in self.samples() {
            let mut frames: Vec<FrameId> = self.frames(sample.key.stack).collect();
            let kept = if callers {
                let Some(at) = frames.iter().position(holds) else { continue };
                &frames[at..]
            } else {
                frames.reverse();
                let Some(at) = frames.iter().position(holds) else { continue };
                &frames[at..]
            };
            self.add_turned(&mut out, sample, kept);
        }
        out
    }

    /// Adds a sample with a stack of these frames, of which the first has no caller.
    fn add_turned(&self, out: &mut StackTable, sample: Sample, frames: &[FrameId]) {
        let mut turned = None;
        for frame in frames {
            let frame = out.intern_frame(self.frame(*frame));
            turned = Some(out.push_frame(turned, frame));
        }
        if let Some(stack) = turned {
            out.add_sample(Sample { key: SampleKey { stack, ..sample.key }, ..sample });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use crate::stacks::collapsed::{CollapsedOptions, TextOptions, read_stacks, write_collapsed};

    fn table(text: &str) -> StackTable {
        let mut table = StackTable::new();
        read_stacks(text.as_bytes(), &TextOptions::default(), &Limits::default(), &mut table).unwrap();
        table
    }

    fn text(table: &StackTable) -> String {
        write_collapsed(table, &CollapsedOptions::default()).0
    }

    const STACKS: &str = "[one tid=1];main;sort;less 3\n[one tid=1];main;less 1\nmain;sort;sort;swap 5\nidle 2\n";

    #[test]
    fn threads_come_below_their_stacks() {
        let expected = "(no thread);idle 2\n(no thread);main;sort;sort;swap 5\none;main;less 1\none;main;sort;less 3\n";
        assert_eq!(text(&table(STACKS).by_thread()), expected);
    }

    #[test]
    fn one_method_is_merged_from_wherever_it_is_called() {
        let table = table(STACKS);
        let is_sort = |id| table.display_function(id) == "sort";
        assert_eq!(text(&table.of_method(false, is_sort)), "sort;less 3\nsort;sort;swap 5\n");
        assert_eq!(text(&table.of_method(true, is_sort)), "sort;main 3\nsort;sort;main 5\n");
        let is_less = |id| table.display_function(id) == "less";
        assert_eq!(text(&table.of_method(true, is_less)), "less;main 1\nless;sort;main 3\n");
        assert_eq!(text(&table.reversed()), "idle 2\nless;main 1\nless;sort;main 3\nswap;sort;sort;main 5\n");
    }
}
