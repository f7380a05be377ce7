//! The event type of a sample, and the unit of its count.

use crate::digits::number_of;
use crate::error::Warning;
use std::collections::{BTreeMap, BTreeSet};

/// The word for the counts of sources without event types.
pub(crate) const SAMPLES: &str = "samples";

/// The event type of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum SampleSource {
    /// Unknown: collapsed and folded stacks, iprof.
    #[default]
    Unknown,
    /// `jdk.ExecutionSample`: a thread that executes Java, by the wall clock.
    Execution,
    /// `jdk.NativeMethodSample`: a thread inside a native method.
    Native,
    /// `jdk.CPUTimeSample` (JDK 25): by the CPU time of the thread.
    CpuTime,
    /// `profiler.WallClockSample` of async-profiler: any thread, waiting or not.
    WallClock,
    /// `jdk.ObjectAllocationSample` (JDK 16 and later): some allocations, each
    /// with the bytes that it stands for.
    Allocation,
    /// `jdk.ObjectAllocationInNewTLAB` and `jdk.ObjectAllocationOutsideTLAB`:
    /// the first allocation in each buffer of a thread, with the bytes of the
    /// buffer, and every allocation that has none, with its own.
    Tlab,
    /// `jdk.JavaMonitorEnter`: waiting for a monitor that another thread holds.
    Lock,
    /// `jdk.JavaMonitorWait`: inside `Object.wait`.
    Wait,
    /// `jdk.ThreadPark`: parked, as by the locks of `java.util.concurrent`.
    Park,
    /// `jdk.SocketRead`.
    SocketRead,
    /// `jdk.SocketWrite`.
    SocketWrite,
    /// `jdk.FileRead`.
    FileRead,
    /// `jdk.FileWrite`.
    FileWrite,
    /// `jdk.MethodTrace` (JDK 25): every call of the methods of a filter, with its callers.
    MethodTrace,
    /// `jdk.MethodTiming` (JDK 25): the number of calls of each method of a filter, without callers.
    MethodTiming,
}

impl SampleSource {
    /// All, in the order of reports.
    pub const ALL: &'static [Self] = &[
        Self::Unknown,
        Self::Execution,
        Self::Native,
        Self::CpuTime,
        Self::WallClock,
        Self::Allocation,
        Self::Tlab,
        Self::Lock,
        Self::Wait,
        Self::Park,
        Self::SocketRead,
        Self::SocketWrite,
        Self::FileRead,
        Self::FileWrite,
        Self::MethodTrace,
        Self::MethodTiming,
    ];

    /// The sources of exact call counts.
    pub const CALLS: &'static [Self] = &[Self::MethodTrace, Self::MethodTiming];

    /// One word for reports and options.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unknown => SAMPLES,
            Self::Execution => "execution",
            Self::Native => "native",
            Self::CpuTime => "cpu-time",
            Self::WallClock => "wall-clock",
            Self::Allocation => "allocation",
            Self::Tlab => "tlab",
            Self::Lock => "lock",
            Self::Wait => "wait",
            Self::Park => "park",
            Self::SocketRead => "socket-read",
            Self::SocketWrite => "socket-write",
            Self::FileRead => "file-read",
            Self::FileWrite => "file-write",
            Self::MethodTrace => "method-trace",
            Self::MethodTiming => "method-timing",
        }
    }

    /// Returns true for event types that are sampled at intervals, so that the number of samples measures time. Other
    /// events have a weight.
    pub fn is_timed(self) -> bool {
        matches!(self, Self::Unknown | Self::Execution | Self::Native | Self::CpuTime | Self::WallClock)
    }

    /// Returns true if the counts are exact numbers of calls.
    pub(crate) fn counts_calls(self) -> bool {
        Self::CALLS.contains(&self)
    }

    /// Returns the unit of a weight for this event type; `None` if its events do not have it.
    pub fn unit(self, weight: Weight) -> Option<Unit> {
        let (bytes, time) = match self {
            Self::Allocation | Self::Tlab => (Some(Unit::Bytes), None),
            Self::Lock | Self::Wait | Self::Park => (None, Some(Unit::Nanoseconds)),
            Self::SocketRead | Self::SocketWrite | Self::FileRead | Self::FileWrite => {
                (Some(Unit::Bytes), Some(Unit::Nanoseconds))
            }
            _ => (None, None),
        };
        match weight {
            Weight::Count => Some(Unit::Hits),
            Weight::Bytes => bytes,
            Weight::Time => time,
            Weight::Usual => time.or(bytes).or(Some(Unit::Hits)),
        }
    }
}

/// The weight of an event in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Weight {
    /// Nanoseconds for events with a duration, bytes for allocations, otherwise the number of samples.
    #[default]
    #[cfg_attr(feature = "cli", value(skip))]
    Usual,
    /// The number of events.
    Count,
    /// Bytes allocated, read or written.
    Bytes,
    /// Duration in nanoseconds.
    Time,
}

/// The unit of sample counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Unit {
    /// Samples, or events.
    #[default]
    Hits,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
    /// Millionths of a unit, for text with fractional counts.
    Millionths,
}

impl Unit {
    /// One word for reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hits => "hits",
            Self::Bytes => "bytes",
            Self::Nanoseconds => "ns",
            Self::Millionths => "millionths",
        }
    }

    /// Returns the unit in which values of a named unit are added, and how many of it one is; `None` for other names.
    /// A kilobyte has 1024 bytes, as in pprof's tools.
    pub(crate) fn named(name: &str) -> Option<(Self, u64)> {
        const UNITS: &[(Unit, u64, &[&str])] = &[
            (Unit::Hits, 1, &["", "count", "hit", "sample", "event", "object"]),
            (Unit::Millionths, 1, &["millionth"]),
            (Unit::Bytes, 1, &["b", "byte"]),
            (Unit::Bytes, 1 << 10, &["kb", "kib", "kbyte", "kilobyte", "kibibyte"]),
            (Unit::Bytes, 1 << 20, &["mb", "mib", "mbyte", "megabyte", "mebibyte"]),
            (Unit::Bytes, 1 << 30, &["gb", "gib", "gbyte", "gigabyte", "gibibyte"]),
            (Unit::Nanoseconds, 1, &["ns", "nanosecond"]),
            (Unit::Nanoseconds, 1_000, &["us", "\u{b5}s", "\u{3bc}s", "microsecond"]),
            (Unit::Nanoseconds, 1_000_000, &["ms", "millisecond"]),
            (Unit::Nanoseconds, 1_000_000_000, &["s", "sec", "second"]),
            (Unit::Nanoseconds, 60_000_000_000, &["min", "minute"]),
            (Unit::Nanoseconds, 3_600_000_000_000, &["h", "hr", "hour"]),
        ];
        let name = name.to_lowercase();
        let singular = name.strip_suffix('s').unwrap_or(&name);
        let is_called = |known: &&&str| **known == name || (singular.len() > 1 && **known == singular);
        let found = UNITS.iter().find(|(_, _, names)| names.iter().any(|known| is_called(&known)))?;
        Some((found.0, found.1))
    }

    /// The warning about values whose unit is not known.
    pub(crate) fn unknown(name: &str) -> Warning {
        Warning::new(format!("the unit {name:?} is not known, so its values count as hits"))
    }
}

/// Returns a number of hits in words. Hits of several units have no sum.
pub(crate) fn hits_in(unit: Option<Unit>, count: u128) -> String {
    match unit {
        Some(Unit::Hits) => number_of(count, "sample"),
        Some(unit) => format!("{count} {}", unit.word()),
        None => "samples".to_string(),
    }
}

/// The distance between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum SamplingPeriod {
    /// Time in nanoseconds.
    Nanoseconds(u64),
    /// Occurrences of an event.
    Events(u64),
}

/// The warning about recordings of which one contains the other.
pub(super) const CHUNKS_TWICE: &str = "several inputs have the same chunk of a recording, whose samples are counted more than once; of several files of one \
     recording, take the last one";

/// The warning about calls that several sources count from the start of one JVM.
pub(super) const CALLS_TWICE: &str = "several recordings of one JVM have method-timing, which counts calls from the start of the JVM, so these calls are \
     counted more than once; take them from the last recording";

/// The warning about recordings of different events. Each text has the events of a recording.
pub(crate) fn different_events(recordings: &BTreeSet<String>) -> Option<String> {
    let words = || {
        let events: Vec<&str> = recordings.iter().map(String::as_str).collect();
        format!("the recordings are of different events, whose samples are added up: {}", events.join("; "))
    };
    (recordings.len() > 1).then(words)
}

/// The warning about samples whose periods differ.
pub(crate) const PERIODS_DIFFER: &str =
    "the inputs have different sampling rates, so their sample counts are not comparable; set input weights";

/// Properties of the source and counts of dropped data, collected during the read, and hints about the bias of its
/// sampler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ReadStats {
    /// The producers of the samples without duplicates: `Flight Recorder 2.1`, `collapsed stacks`, `iprof`.
    pub sources: Vec<String>,
    /// Self-contained parts of the source: chunks of a recording, files of text.
    pub parts: u64,
    /// The recorded time in nanoseconds, if the source has it.
    pub duration_nanos: u64,
    /// Samples that had no stack at all (`failed` CPU-time samples, events
    /// whose stack is null).
    pub samples_without_stack: u64,
    /// The units of each event type. There are several if sources with different units were read into one table.
    pub units: Vec<(SampleSource, Unit)>,
    /// The counts of sources without event types, in words, without duplicates: `samples`, `inuse_space`. Text does not state
    /// them.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) values: Vec<String>,
    /// Events of a recording within the requested time whose type was not requested, and samples of types that were not
    /// selected; 0 for samples that count bytes or time.
    pub skipped_events: BTreeMap<SampleSource, u64>,
    /// Events outside the requested time.
    pub samples_out_of_time: BTreeMap<SampleSource, u64>,
    /// Lines of text that are not stacks.
    pub(crate) lines_skipped: u64,
    /// Entries of iprof files in other sections than that of the stacks.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) other_entries: u64,
    /// Data of pprof profiles that stacks do not have: how much, by its name in the singular.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) left_out: BTreeMap<String, u64>,
    /// Parts at the end that were cut off.
    pub(crate) parts_cut: u64,
    /// Bytecode indexes that are unknown, although the source has others.
    pub(crate) unknown_bci_frames: u64,
    /// Stacks with names that were not UTF-8 and were changed.
    pub(crate) names_mended: u64,
    /// Samples that the sampler reported as lost.
    pub(crate) samples_lost: u64,
    /// CPU-time samples of Flight Recorder that were lost.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) cpu_time_samples_lost: u64,
    /// Whether the samples are those of one thread. The counts of other data are those of all threads.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) has_one_thread: bool,
    /// Frames without package, from a profiler that shortens names.
    pub(crate) simple_names: bool,
    /// Whether the source marks how frames ran. Otherwise, native and compiled are guesses from the names of functions.
    pub(crate) marks_frames: bool,
    /// Whether the source has copies of stacks that were not unwound.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) lacks_unwinding: bool,
    /// The sampling periods of each event type, as far as sources have them.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) periods: Vec<(SampleSource, SamplingPeriod)>,
    /// The events of each recording of perf, without duplicates: `cpu-clock, page-faults`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) events: BTreeSet<String>,
    /// Whether inputs have weights, which can make samples of different periods comparable.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) has_weights: bool,
    /// The digests of the chunks of recordings.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) chunks: Vec<u64>,
    /// Whether a chunk was read more than once.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) repeats_chunks: bool,
    /// The JVMs that counted calls from their start: start and process.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) timed_jvms: Vec<(u64, u64)>,
    /// Whether several sources have counts of one JVM.
    #[cfg_attr(feature = "serde", serde(default))]
    pub(crate) counts_calls_twice: bool,
}

fn add_events(counts: &mut BTreeMap<SampleSource, u64>, source: SampleSource, events: u64) {
    let sum = counts.entry(source).or_default();
    *sum = sum.saturating_add(events);
}

impl ReadStats {
    /// Counts events that are not used because of their type.
    pub(crate) fn skip_events(&mut self, source: SampleSource, events: u64) {
        add_events(&mut self.skipped_events, source, events);
    }

    /// Counts events outside the requested time.
    pub(crate) fn add_out_of_time(&mut self, source: SampleSource, events: u64) {
        add_events(&mut self.samples_out_of_time, source, events);
    }

    /// Adds the data of another source, whose samples count `weight` times.
    pub(crate) fn absorb(&mut self, other: &ReadStats, weight: u64) {
        for source in &other.sources {
            self.add_source(source);
        }
        self.simple_names |= other.simple_names;
        self.marks_frames |= other.marks_frames;
        self.lacks_unwinding |= other.lacks_unwinding;
        other.periods.iter().for_each(|(source, period)| self.add_period(*source, *period));
        self.has_weights |= other.has_weights || weight > 1;
        self.repeats_chunks |= other.repeats_chunks;
        other.chunks.iter().for_each(|chunk| self.add_chunk(*chunk));
        self.counts_calls_twice |= other.counts_calls_twice;
        for jvm in &other.timed_jvms {
            self.counts_calls_twice |= self.timed_jvms.contains(jvm);
            self.add_timed_jvm(*jvm);
        }
        for (source, unit) in &other.units {
            self.add_unit(*source, *unit);
        }
        other.values.iter().for_each(|kind| self.add_value(kind));
        self.events.extend(other.events.iter().cloned());
        other.skipped_events.iter().for_each(|(source, events)| self.skip_events(*source, *events));
        other.samples_out_of_time.iter().for_each(|(source, events)| self.add_out_of_time(*source, *events));
        for (what, count) in &other.left_out {
            self.leave_out(what, *count);
        }
        for (sum, part) in [
            (&mut self.parts, other.parts),
            (&mut self.duration_nanos, other.duration_nanos.saturating_mul(weight)),
            (&mut self.samples_without_stack, other.samples_without_stack.saturating_mul(weight)),
            (&mut self.lines_skipped, other.lines_skipped),
            (&mut self.other_entries, other.other_entries),
            (&mut self.parts_cut, other.parts_cut),
            (&mut self.unknown_bci_frames, other.unknown_bci_frames),
            (&mut self.names_mended, other.names_mended),
            (&mut self.samples_lost, other.samples_lost.saturating_mul(weight)),
            (&mut self.cpu_time_samples_lost, other.cpu_time_samples_lost.saturating_mul(weight)),
        ] {
            *sum = sum.saturating_add(part);
        }
    }

    /// Counts data that stacks do not have.
    pub(crate) fn leave_out(&mut self, what: &str, count: u64) {
        if count > 0 {
            let sum = self.left_out.entry(what.to_string()).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    /// Adds a unit of an event type.
    pub(crate) fn add_unit(&mut self, source: SampleSource, unit: Unit) {
        if !self.units.contains(&(source, unit)) {
            self.units.push((source, unit));
        }
    }

    /// Adds a word for the counts of a source without event types; an empty one is ignored.
    pub(crate) fn add_value(&mut self, kind: &str) {
        if !kind.is_empty() && !self.values.iter().any(|known| known == kind) {
            self.values.push(kind.to_string());
        }
    }

    /// Adds the events of a recording of perf.
    pub(crate) fn add_events(&mut self, events: String) {
        if !events.is_empty() {
            self.events.insert(events);
        }
    }

    /// Adds a sampling period of an event type. A source without one may have any.
    pub(crate) fn add_period(&mut self, source: SampleSource, period: SamplingPeriod) {
        if !self.periods.contains(&(source, period)) {
            self.periods.push((source, period));
        }
    }

    /// Adds a chunk of a recording by its digest.
    pub(crate) fn add_chunk(&mut self, chunk: u64) {
        match self.chunks.contains(&chunk) {
            true => self.repeats_chunks = true,
            false => self.chunks.push(chunk),
        }
    }

    /// Adds a JVM that counted calls from its start.
    pub(crate) fn add_timed_jvm(&mut self, jvm: (u64, u64)) {
        if !self.timed_jvms.contains(&jvm) {
            self.timed_jvms.push(jvm);
        }
    }

    /// Adds a source in words unless it is there already.
    pub(crate) fn add_source(&mut self, source: &str) {
        if !self.sources.iter().any(|known| known == source) {
            self.sources.push(source.to_string());
        }
    }
}
