//! Samples as stacks of places, before anything is looked up in programs.

use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::perf::event::{ChainFrame, CpuMode, Event, Sample};
use crate::perf::processes::{Place, Processes};
use foldhash::{HashMap, HashMapExt};

/// Entries of the cache of raw frames; it is cleared when it is full.
const MOST_RAW_FRAMES: usize = 1 << 20;

/// One place in code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CodePlace {
    /// `None` for an address without a mapping.
    pub(super) place: Option<Place>,
    /// Whether the call before the place is meant.
    pub(super) is_return: bool,
    /// Whether it ran in the kernel.
    pub(super) is_kernel: bool,
}

/// A stack: its innermost place and its callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) parent: Option<u32>,
    pub(super) place: u32,
}

/// The key of samples that are counted together.
type Key = (u32, Option<u32>, u32);

/// Samples with the same stack, thread name and event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    pub(super) event: u32,
    pub(super) stack: Option<u32>,
    pub(super) command: u32,
    pub(super) count: u64,
    pub(super) period: u64,
}

/// All samples of a recording.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) processes: Processes,
    places: Vec<CodePlace>,
    by_place: HashMap<CodePlace, u32>,
    nodes: Vec<Node>,
    by_node: HashMap<Node, u32>,
    /// Stacks by parent, generation of the mappings and raw frame.
    raw: HashMap<(Option<u32>, u32, RawFrame), u32>,
    samples: Vec<Counted>,
    by_key: HashMap<Key, usize>,
    frames: Vec<ChainFrame>,
    times: Option<(u64, u64)>,
}

/// An address with its mode.
type RawFrame = (u64, CpuMode, bool);

impl Collected {
    /// Adds an event.
    ///
    /// # Errors
    ///
    /// Limit exceeded for a stack deeper than [`Limits::context_depth`], and for more than 2^32 stacks.
    pub(super) fn add(&mut self, event: Event<'_>, limits: &Limits) -> Result<()> {
        match event {
            Event::Mapping(mapping) => self.processes.map(&mapping),
            Event::Command { pid, tid, name, is_exec } => self.processes.name(pid, tid, name, is_exec),
            Event::Fork { pid, tid, parent, parent_tid } => self.processes.fork(pid, tid, parent, parent_tid),
            Event::Sample(sample) => self.add_sample(&sample, limits)?,
            Event::Exit { .. } | Event::Lost(_) => {}
        }
        Ok(())
    }

    fn add_sample(&mut self, sample: &Sample<'_>, limits: &Limits) -> Result<()> {
        let mut frames = std::mem::take(&mut self.frames);
        frames.clear();
        frames.extend(sample.frames());
        // A broken frame at the end.
        while frames.last().is_some_and(|frame| frame.address == 0 && frame.is_return) {
            frames.pop();
        }
        if frames.is_empty() {
            let innermost = sample.ip.map(|address| ChainFrame { address, mode: sample.mode, is_return: false });
            frames.extend(innermost);
        }
        if frames.len() as u64 > u64::from(limits.context_depth) {
            let (what, found) = ("number of frames of a stack", frames.len() as u64);
            return Err(Error::above_limit(Some("context-depth"), what, found, limits.context_depth.into()));
        }
        let mut stack = None;
        for frame in frames.iter().rev() {
            stack = Some(self.push(stack, *frame, sample.pid)?);
        }
        self.frames = frames;
        if let Some(time) = sample.time {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
        let (event, command) = (number(sample.event)?, self.processes.command(sample.tid));
        let next = self.samples.len();
        let at = *self.by_key.entry((event, stack, command)).or_insert(next);
        if at == next {
            self.samples.push(Counted { event, stack, command, count: 0, period: 0 });
        }
        let counted = &mut self.samples[at];
        counted.count += 1;
        counted.period = counted.period.saturating_add(sample.period);
        Ok(())
    }

    fn push(&mut self, parent: Option<u32>, frame: ChainFrame, pid: Option<u32>) -> Result<u32> {
        let ChainFrame { address, mode, is_return } = frame;
        let generation = self.processes.generation(pid, mode, address);
        let raw = (parent, generation, (address, mode, is_return));
        // Without mappings all addresses are one place.
        if let Some(known) = self.raw.get(&raw) {
            return Ok(*known);
        }
        let place = self.processes.find(pid, mode, address);
        let is_kernel = !matches!(mode, CpuMode::User | CpuMode::GuestUser)
            && (mode != CpuMode::Unknown || address.leading_ones() > 0);
        let place = CodePlace { place, is_return: is_return && place.is_some(), is_kernel };
        let place = intern(&mut self.places, &mut self.by_place, place)?;
        let node = intern(&mut self.nodes, &mut self.by_node, Node { parent, place })?;
        if self.raw.len() >= MOST_RAW_FRAMES {
            self.raw = HashMap::new();
        }
        self.raw.insert(raw, node);
        Ok(node)
    }

    /// All places.
    pub(super) fn places(&self) -> &[CodePlace] {
        &self.places
    }

    /// All stacks, callers before what they call.
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Drops the other samples, after the last event.
    pub(super) fn keep(&mut self, is_kept: impl Fn(&Counted) -> bool) {
        self.by_key.clear();
        self.samples.retain(is_kept);
    }

    /// All samples, in order of first appearance.
    pub(super) fn samples(&self) -> &[Counted] {
        &self.samples
    }

    /// Nanoseconds from the first to the last sample.
    pub(super) fn duration(&self) -> u64 {
        self.times.map_or(0, |(first, last)| last - first)
    }
}

fn number(at: usize) -> Result<u32> {
    u32::try_from(at).map_err(|_| {
        let what = "number of distinct stacks";
        Error::above_limit(None, what, at as u64, u32::MAX.into())
    })
}

/// The number of a value, new or old.
fn intern<T: Copy + Eq + std::hash::Hash>(list: &mut Vec<T>, known: &mut HashMap<T, u32>, value: T) -> Result<u32> {
    if let Some(found) = known.get(&value) {
        return Ok(*found);
    }
    let at = number(list.len())?;
    list.push(value);
    known.insert(value, at);
    Ok(at)
}
