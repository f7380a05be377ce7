//! What a source of samples shows about itself.

use super::{SampleSource, Unit};
use std::collections::BTreeMap;

/// Counts kept while samples are read: what the source is, what was left out,
/// and what hints at the bias of its sampler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ReadStats {
    /// What wrote the samples, in words, each once: `Flight Recorder 2.1`,
    /// `collapsed stacks`, `iprof`.
    pub sources: Vec<String>,
    /// Self-contained parts of the source: chunks of a recording, files of text.
    pub parts: u64,
    /// Nanoseconds covered, where the source tells.
    pub duration_nanos: u64,
    /// Samples that had no stack at all (`failed` CPU-time samples, events
    /// whose stack is null).
    pub samples_without_stack: u64,
    /// What the numbers of each sort of sample count; a sort has several units
    /// where sources that do not add up were read into one table.
    pub units: Vec<(SampleSource, Unit)>,
    /// Events of a recording that the reader was not asked for.
    pub skipped_events: BTreeMap<SampleSource, u64>,
    /// Samples and events before or after the time asked for.
    pub samples_out_of_time: u64,
    /// Lines of text that are no stack.
    pub lines_skipped: u64,
    /// Parts at the end that were cut off.
    pub parts_cut: u64,
    /// Bytecode indexes that the source did not know although it tells them
    /// elsewhere.
    pub unknown_bci_frames: u64,
    /// Stacks whose names were not UTF-8 and were mended.
    pub names_mended: u64,
    /// Samples that the sampler itself says it lost.
    pub samples_lost: u64,
    /// Frames without package, from a profiler told to shorten names.
    pub simple_names: bool,
}

impl ReadStats {
    /// Adds what another source showed.
    pub fn absorb(&mut self, other: &ReadStats) {
        for source in &other.sources {
            self.add_source(source);
        }
        self.simple_names |= other.simple_names;
        for (source, unit) in &other.units {
            self.add_unit(*source, *unit);
        }
        for (source, events) in &other.skipped_events {
            let sum = self.skipped_events.entry(*source).or_default();
            *sum = sum.saturating_add(*events);
        }
        for (sum, part) in [
            (&mut self.parts, other.parts),
            (&mut self.duration_nanos, other.duration_nanos),
            (&mut self.samples_without_stack, other.samples_without_stack),
            (&mut self.samples_out_of_time, other.samples_out_of_time),
            (&mut self.lines_skipped, other.lines_skipped),
            (&mut self.parts_cut, other.parts_cut),
            (&mut self.unknown_bci_frames, other.unknown_bci_frames),
            (&mut self.names_mended, other.names_mended),
            (&mut self.samples_lost, other.samples_lost),
        ] {
            *sum = sum.saturating_add(part);
        }
    }

    /// Says what the numbers of a sort of sample count.
    pub fn add_unit(&mut self, source: SampleSource, unit: Unit) {
        if !self.units.contains(&(source, unit)) {
            self.units.push((source, unit));
        }
    }

    /// Adds a source in words unless it is there already.
    pub fn add_source(&mut self, source: &str) {
        if !self.sources.iter().any(|known| known == source) {
            self.sources.push(source.to_string());
        }
    }
}
