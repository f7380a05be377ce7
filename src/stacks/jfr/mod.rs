//! Flight Recorder recordings (`.jfr`).
//!
//! ```text
//! chunk, chunk, …          each self-contained; joined files are legal
//! └── header               68 bytes, big-endian                        chunk
//!     ├── events           size, type, fields                          events
//!     ├── constant pools   events of type 1, chained backwards         pools
//!     └── metadata         event of type 0: types and field order      metadata
//! ```
//!
//! | version | written by |
//! |---|---|
//! | 2.0 | JDK 9 to 13, OpenJDK 8 from update 262, async-profiler |
//! | 2.1 | JDK 14 and later, GraalVM Native Image |
//!
//! Only samples are decoded (`jdk.ExecutionSample`, `jdk.NativeMethodSample`, `jdk.CPUTimeSample`,
//! `profiler.WallClockSample`), and the event types of [`RecordingOptions::events`]: allocations, locks, waits, reads
//! and writes, and calls of methods (`jdk.MethodTrace`, `jdk.MethodTiming`), of which only stack, thread, time and weight are read. A recording may contain environment variables,
//! system properties and process lists; none of these are read. The metadata determines the field order and the type
//! numbers. Numbers are valid only within one chunk.

mod chunk;
mod events;
mod metadata;
mod resolve;

pub use events::{RecordingOptions, TimeBound};

use crate::call_chains::{SampleSource, SamplingPeriod, StackTable, Unit};
use crate::digits::number_of;
use crate::error::{Error, Result, Warning};
use crate::limits::Limits;
use chunk::{Chunk, Next};
use events::Pools;
use events::{ALWAYS, Counts, Jvm};
use metadata::Types;
use resolve::{MissingData, Resolver, TimedCalls};
use std::io::Read;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// Adds the samples of a recording, and the events asked for, to `table`, chunk by chunk.
///
/// A last chunk whose end is missing (the process was killed, the file was
/// copied while it grew) is left out with a warning as long as a whole chunk
/// came before it.
///
/// # Errors
///
/// Bad magic, unsupported version, truncated or malformed, with section and
/// byte offset; limit exceeded for stacks deeper than
/// [`Limits::context_depth`] and names longer than [`Limits::name_bytes`].
/// `table` holds the chunks before the fault then. Usage as
/// [`RecordingOptions::check`] says.
pub fn read_recording(
    data: &[u8],
    options: &RecordingOptions,
    limits: &Limits,
    table: &mut StackTable,
) -> Result<Vec<Warning>> {
    let mut reading = Reading::new(options, limits, table)?;
    let mut rest = data;
    loop {
        let read = reading.add_chunk(rest).map_err(|error| reading.place(error))?;
        rest = rest.get(read..).unwrap_or_default();
        if read == 0 || rest.is_empty() {
            return Ok(reading.finish());
        }
    }
}

/// Like [`read_recording`], but from a stream, of which one chunk at a time is in memory.
///
/// # Errors
///
/// As [`read_recording`], and those of the stream; limit exceeded beyond
/// [`Limits::stream_bytes`].
pub(crate) fn read_recording_from(
    stream: impl Read,
    options: &RecordingOptions,
    limits: &Limits,
    table: &mut StackTable,
) -> Result<Vec<Warning>> {
    let mut reading = Reading::new(options, limits, table)?;
    let mut stream = stream.take(limits.stream_bytes.saturating_add(1));
    let mut chunk = Vec::new();
    loop {
        let base = reading.base;
        read_chunk_bytes(&mut stream, &mut chunk).map_err(|error| reading.place(error.at("chunk", base)))?;
        if stream.limit() == 0 {
            let found = limits.stream_bytes.saturating_add(1);
            return Err(reading.place(Error::above_limit(
                Some("stream-bytes"),
                "size of the recording",
                found,
                limits.stream_bytes,
            )));
        }
        if chunk.is_empty() && reading.base > 0 {
            return Ok(reading.finish());
        }
        let read = reading.add_chunk(&chunk).map_err(|error| reading.place(error))?;
        if read == 0 {
            return Ok(reading.finish());
        }
    }
}

/// Reads the next chunk, or what is left of it, into `chunk`.
fn read_chunk_bytes(stream: &mut impl Read, chunk: &mut Vec<u8>) -> Result<()> {
    let failed = |source| Error::io("cannot read", source);
    chunk.clear();
    stream.take(chunk::HEADER_BYTES).read_to_end(chunk).map_err(failed)?;
    let rest = chunk::announced_size(chunk).saturating_sub(chunk.len() as u64);
    // Memory grows with the bytes that are there, not with the size in the header.
    stream.take(rest).read_to_end(chunk).map_err(failed)?;
    Ok(())
}

/// A recording being read chunk by chunk.
struct Reading<'a> {
    options: &'a RecordingOptions,
    limits: &'a Limits,
    table: &'a mut StackTable,
    warnings: Vec<Warning>,
    format: String,
    /// Offset of the next chunk in the file.
    base: u64,
    /// When the first chunk began, in nanoseconds since 1970.
    start: Option<u64>,
    gaps: MissingData,
    /// The calls of each method up to the chunk before.
    timed: TimedCalls,
    /// The JVM that wrote the last chunk.
    jvm: Option<Jvm>,
    /// The JVMs whose calls other inputs counted.
    counted: Vec<Jvm>,
    /// The sampling periods of all chunks.
    periods: Vec<(SampleSource, SamplingPeriod)>,
}

impl<'a> Reading<'a> {
    fn new(options: &'a RecordingOptions, limits: &'a Limits, table: &'a mut StackTable) -> Result<Self> {
        options.check()?;
        let format = "Flight Recorder".to_string();
        let (gaps, timed) = (MissingData::default(), TimedCalls::default());
        let (warnings, periods) = (Vec::new(), Vec::new());
        let counted = table.observed.timed_jvms.clone();
        Ok(Self {
            options,
            limits,
            table,
            warnings,
            format,
            base: 0,
            start: None,
            gaps,
            timed,
            jvm: None,
            counted,
            periods,
        })
    }

    /// The requested time, in nanoseconds since 1970.
    fn time(&self) -> Range<u64> {
        let start = self.start.unwrap_or(0);
        let from = self.options.from.map_or(ALWAYS.start, |from| from.nanos(start));
        from..self.options.to.map_or(ALWAYS.end, |to| to.nanos(start))
    }

    fn place(&self, error: Error) -> Error {
        error.in_format(&self.format)
    }

    /// Adds the chunk that `data` begins with; returns its size, 0 for a last
    /// chunk that is cut.
    fn add_chunk(&mut self, data: &[u8]) -> Result<usize> {
        let chunk = match Chunk::read(data, self.base)? {
            Next::Chunk(chunk) => chunk,
            Next::Cut(error) if self.base == 0 => {
                return Err(error.with_hint("let the program end normally, or write the recording with jcmd JFR.dump"));
            }
            Next::Cut(error) => {
                self.table.observed.parts_cut += 1;
                let base = self.base;
                let message = format!(
                    "skipped the last chunk, which is incomplete; the {base} bytes before it are used: {error}"
                );
                self.warnings.push(Warning::of_loss(message));
                return Ok(0);
            }
        };
        self.format = format!("Flight Recorder {}.{}", chunk.version.0, chunk.version.1);
        self.table.observed.add_chunk(xxh3_64(chunk.data));
        self.start.get_or_insert(chunk.start_nanos);
        let time = self.time();
        let gaps = self.read_chunk(&chunk, &time)?;
        self.gaps.missing += gaps.missing;
        self.gaps.nameless += gaps.nameless;
        self.gaps.positions.extend(gaps.positions);
        self.base += chunk.data.len() as u64;
        Ok(chunk.data.len())
    }

    /// Adds one chunk. Returns a description of missing data.
    fn read_chunk(&mut self, chunk: &Chunk<'_>, time: &Range<u64>) -> Result<MissingData> {
        let mut types = Types::read(chunk)?;
        let is_of_async_profiler = types.classes.iter().any(|class| class.name.starts_with("profiler."));
        self.table.observed.add_source(&match is_of_async_profiler {
            true => format!("async-profiler ({})", self.format),
            false => self.format.clone(),
        });
        let counts = Counts::read(chunk, &mut types, self.options, time)?;
        for period in &counts.periods {
            if !self.periods.contains(period) {
                self.periods.push(*period);
            }
        }
        let observed = &mut self.table.observed;
        observed.parts += 1;
        observed.marks_frames = true;
        self.jvm = counts.jvm.or(self.jvm);
        let has_timing = counts.samples.iter().any(|(key, _)| key.source == SampleSource::MethodTiming);
        if let Some(jvm) = self.jvm.filter(|_| has_timing) {
            observed.counts_calls_twice |= self.counted.contains(&jvm);
            observed.add_timed_jvm(jvm);
        }
        for (key, _) in &counts.samples {
            observed.add_unit(key.source, unit(key.source, self.options));
        }
        for (source, events) in &counts.skipped {
            observed.skip_events(*source, *events);
        }
        for (source, events) in &counts.out_of_time {
            observed.add_out_of_time(*source, *events);
        }
        let end = chunk.start_nanos.saturating_add(chunk.duration_nanos).min(time.end);
        let duration = end.saturating_sub(chunk.start_nanos.max(time.start));
        observed.duration_nanos = observed.duration_nanos.saturating_add(duration);
        observed.cpu_time_samples_lost = observed.cpu_time_samples_lost.saturating_add(counts.lost);
        if counts.samples.is_empty() {
            return Ok(MissingData::default());
        }
        let pools = Pools::read(chunk, &mut types)?;
        let mut resolver = Resolver::new(chunk, &mut types, &pools, self.limits, self.table, &mut self.timed, self.jvm);
        resolver.add_samples(&counts)?;
        Ok(resolver.gaps)
    }

    fn finish(mut self) -> Vec<Warning> {
        for (source, period) in &self.periods {
            // The settings may have changed during the recording, and there may be no samples.
            let is_used = self.table.samples().any(|sample| sample.key.source == *source);
            if is_used && self.periods.iter().filter(|(other, _)| other == source).count() == 1 {
                self.table.observed.add_period(*source, *period);
            }
        }
        if self.gaps.missing > 0 {
            let message =
                format!("dropped references to constants that are missing in the recording: {}", self.gaps.missing);
            self.warnings.push(Warning::new(message));
        }
        if self.gaps.nameless > 0 {
            let message = format!("methods without a name: {}; they are shown as [unknown]", self.gaps.nameless);
            self.warnings.push(Warning::new(message));
        }
        if !self.gaps.positions.is_empty() {
            let methods = number_of(self.gaps.positions.len() as u64, "method");
            let message = format!(
                "dropped the bytecode indexes in {methods}: to count calls, the JVM changed the bytecode (method-timing, \
                 method-trace)"
            );
            self.warnings.push(Warning::new(message));
        }
        self.warnings
    }
}

/// The unit of an event type.
fn unit(source: SampleSource, options: &RecordingOptions) -> Unit {
    if source.is_timed() { Unit::Hits } else { source.unit(options.weight).unwrap_or_default() }
}

#[cfg(test)]
mod tests;
