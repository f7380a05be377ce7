//! Keeping a bounded sample of temporal traces.
//!
//! As long as all traces fit they are kept in order. After that each further
//! trace takes the place of a random kept one. The random numbers have a fixed
//! seed, so the same inputs in the same order keep the same traces.

use crate::instr::rules::TraceRule;
use crate::model::mersenne::Mersenne;
use crate::model::{TemporalProfile, TemporalTrace};

/// Random numbers drawn for one input at most. A file may claim to have seen
/// 2^64 traces; LLVM would draw for each of them.
const MAX_DRAWS: u64 = 1 << 26;

/// The sample and what decides about it.
#[derive(Debug)]
pub(super) struct Reservoir {
    rule: TraceRule,
    size: usize,
    max_trace_length: usize,
    random: Mersenne,
    kept: TemporalProfile,
}

impl Reservoir {
    pub(super) fn new(rule: TraceRule, size: u64, max_trace_length: u64) -> Self {
        Self {
            rule,
            size: usize::try_from(size).unwrap_or(usize::MAX),
            max_trace_length: usize::try_from(max_trace_length).unwrap_or(usize::MAX),
            random: Mersenne::new(Mersenne::DEFAULT_SEED),
            kept: TemporalProfile::default(),
        }
    }

    pub(super) fn into_kept(self) -> TemporalProfile {
        self.kept
    }

    /// Adds the traces of one input and the number of traces it ever saw. An
    /// input without traces is passed over, whatever number it claims.
    pub(super) fn add(&mut self, mut source: TemporalProfile) {
        if source.traces.is_empty() {
            return;
        }
        if self.rule != TraceRule::Release17 {
            for trace in &mut source.traces {
                trace.functions.truncate(self.max_trace_length);
            }
            source.traces.retain(|trace| !trace.functions.is_empty());
        }
        match self.rule {
            TraceRule::Release17 | TraceRule::Release19 => self.add_as_19(source),
            TraceRule::Release22 => self.add_as_22(source),
        }
    }

    fn add_as_22(&mut self, mut source: TemporalProfile) {
        let kept = &mut self.kept.traces;
        kept.truncate(self.size);
        if source.traces.is_empty() {
            return;
        }
        let room = self.size.saturating_sub(kept.len()).min(source.traces.len());
        kept.extend(source.traces.drain(..room));
        self.random.shuffle(&mut source.traces);
        let mut left = source.traces.into_iter();
        let first = kept.len() as u64;
        for at in first..source.stream_size.min(first.saturating_add(MAX_DRAWS)) {
            if left.len() == 0 || kept.is_empty() {
                break;
            }
            let place = self.random.uniform(saturate(at));
            if let Some(kept) = kept.get_mut(place as usize)
                && let Some(trace) = left.next()
            {
                *kept = trace;
            }
        }
        self.kept.stream_size = self.kept.stream_size.wrapping_add(source.stream_size);
    }

    fn add_as_19(&mut self, mut source: TemporalProfile) {
        let size = self.size as u64;
        if self.kept.stream_size <= size && source.stream_size > size {
            std::mem::swap(&mut self.kept, &mut source);
        }
        if source.stream_size <= size {
            for trace in source.traces {
                self.add_one_as_19(trace, size);
            }
            return;
        }
        let mut replaced: Vec<usize> = Vec::new();
        let first = self.kept.stream_size;
        for seen in 0..source.stream_size.min(MAX_DRAWS) {
            let place = self.random.uniform(saturate(first.wrapping_add(seen))) as usize;
            if place < self.kept.traces.len() && !replaced.contains(&place) {
                replaced.push(place);
            }
        }
        self.kept.stream_size = first.wrapping_add(source.stream_size);
        self.random.shuffle(&mut source.traces);
        for (place, trace) in replaced.into_iter().zip(source.traces) {
            self.kept.traces[place] = trace;
        }
    }

    fn add_one_as_19(&mut self, mut trace: TemporalTrace, size: u64) {
        // Release 17 cuts only here; for 19 this was done before.
        trace.functions.truncate(self.max_trace_length);
        if trace.functions.is_empty() {
            return;
        }
        if self.kept.stream_size < size {
            self.kept.traces.push(trace);
        } else {
            let place = self.random.uniform(saturate(self.kept.stream_size)) as usize;
            if let Some(kept) = self.kept.traces.get_mut(place) {
                *kept = trace;
            }
        }
        self.kept.stream_size = self.kept.stream_size.wrapping_add(1);
    }
}

/// Streams of 2^32 and more traces do not occur; the draw is for 32 bits.
fn saturate(high: u64) -> u32 {
    u32::try_from(high).unwrap_or(u32::MAX - 1)
}
