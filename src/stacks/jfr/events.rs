//! The events of a chunk. Samples and requested events are added by stack, thread and type; all others are skipped
//! unread.

use crate::call_chains::{Certainty, MAX_HITS, SampleSource, SamplingPeriod, Unit, Weight};
use crate::error::{Error, Result};
use crate::stacks::jfr::chunk::{Chunk, HEADER_BYTES, Reader};
use crate::stacks::jfr::metadata::{ClassIndex, Field, Primitive, Role, Types, decode};
use foldhash::{HashMap, HashMapExt, HashSet};
use std::collections::BTreeMap;
use std::ops::Range;
use std::str::FromStr;

/// A value that a field refers to or holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Value {
    /// A constant.
    Pooled(ClassIndex, u64),
    /// The value itself, at this offset of the chunk.
    Inline(ClassIndex, u64),
}

/// The requested time if all of a recording is.
pub(super) const ALWAYS: Range<u64> = 0..u64::MAX;

/// When a JVM started, and the number of its process.
pub(super) type Jvm = (u64, u64);

/// The key by which samples of a chunk are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct EventKey {
    pub(super) stack: Option<Value>,
    pub(super) thread: Option<Value>,
    /// The called method of an event about calls.
    pub(super) method: Option<Value>,
    pub(super) source: SampleSource,
    pub(super) certainty: Certainty,
}

/// Samples and events of one chunk, equal ones added up.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// In order of first appearance.
    pub(super) samples: Vec<(EventKey, Sum)>,
    index: HashMap<EventKey, usize>,
    /// The methods whose calls are counted. The JVM changes their bytecode for this.
    pub(super) instrumented: HashSet<Value>,
    /// The sum of `jdk.CPUTimeSamplesLost` events.
    pub(super) lost: u64,
    /// Events within the requested time that were not requested.
    pub(super) skipped: BTreeMap<SampleSource, u64>,
    /// Events outside the requested time.
    pub(super) out_of_time: BTreeMap<SampleSource, u64>,
    /// The JVM that wrote the chunk.
    pub(super) jvm: Option<Jvm>,
    /// The sampling periods in the settings of event types.
    pub(super) periods: Vec<(SampleSource, SamplingPeriod)>,
}

/// The sum of equal events.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    /// Their samples, bytes or times.
    pub(super) weight: u64,
    /// Their samples.
    pub(super) samples: u64,
    /// The calls before the requested time, of events that count from the beginning of the recording.
    pub(super) before: u64,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Adds up by this unit.
    Sample(SampleSource, Unit),
    /// Is only counted.
    PassedOver(SampleSource),
    Lost,
    Setting,
    Jvm,
}

const EVENTS: [(&str, SampleSource); 16] = [
    ("jdk.ExecutionSample", SampleSource::Execution),
    ("jdk.NativeMethodSample", SampleSource::Native),
    ("jdk.CPUTimeSample", SampleSource::CpuTime),
    ("profiler.WallClockSample", SampleSource::WallClock),
    ("jdk.ObjectAllocationSample", SampleSource::Allocation),
    ("jdk.ObjectAllocationInNewTLAB", SampleSource::Tlab),
    ("jdk.ObjectAllocationOutsideTLAB", SampleSource::Tlab),
    ("jdk.JavaMonitorEnter", SampleSource::Lock),
    ("jdk.JavaMonitorWait", SampleSource::Wait),
    ("jdk.ThreadPark", SampleSource::Park),
    ("jdk.SocketRead", SampleSource::SocketRead),
    ("jdk.SocketWrite", SampleSource::SocketWrite),
    ("jdk.FileRead", SampleSource::FileRead),
    ("jdk.FileWrite", SampleSource::FileWrite),
    ("jdk.MethodTrace", SampleSource::MethodTrace),
    ("jdk.MethodTiming", SampleSource::MethodTiming),
];

const LOST: &str = "jdk.CPUTimeSamplesLost";
const SETTING: &str = "jdk.ActiveSetting";
const JVM: &str = "jdk.JVMInformation";

fn source_of(event: &str) -> Option<SampleSource> {
    EVENTS.iter().find(|(known, _)| *known == event).map(|(_, source)| *source)
}

/// How events of a name are treated; `None` for most.
fn kind_of(name: &str, options: &RecordingOptions) -> Option<Kind> {
    if name == LOST {
        return Some(Kind::Lost);
    }
    if name == SETTING {
        return Some(Kind::Setting);
    }
    if name == JVM {
        return Some(Kind::Jvm);
    }
    let source = &source_of(name)?;
    if source.is_timed() {
        return Some(Kind::Sample(*source, Unit::Hits));
    }
    let unit = source.unit(options.weight).filter(|_| options.events.contains(source));
    Some(unit.map_or(Kind::PassedOver(*source), |unit| Kind::Sample(*source, unit)))
}

impl Counts {
    /// Adds up the events of a chunk that began within `time`, nanoseconds since 1970.
    ///
    /// # Errors
    ///
    /// Truncated or malformed, with the place.
    pub(super) fn read(
        chunk: &Chunk<'_>,
        types: &mut Types,
        options: &RecordingOptions,
        time: &Range<u64>,
    ) -> Result<Self> {
        let mut wanted: HashMap<u64, (ClassIndex, Kind)> = HashMap::new();
        for (id, class) in types.ids() {
            if let Some(kind) = kind_of(&types.classes[class].name, options) {
                wanted.insert(id, (class, kind));
            }
        }
        for (class, _) in wanted.values() {
            types.prepare(*class)?;
        }
        let mut counts = Self::default();
        let end = chunk.data.len() as u64;
        let mut offset = HEADER_BYTES;
        while offset < end {
            let mut event = chunk.event(offset, "events")?;
            offset += event.size;
            match wanted.get(&event.type_id) {
                Some((class, Kind::Sample(source, unit))) => {
                    let found = Found::read(chunk, types, *class, *source, &mut event.reader)?;
                    counts.instrumented.extend(found.key.method);
                    counts.add(found, *unit, chunk, time);
                }
                Some((class, Kind::PassedOver(source))) => {
                    if source.counts_calls() || *time != ALWAYS {
                        let found = Found::read(chunk, types, *class, *source, &mut event.reader)?;
                        counts.instrumented.extend(found.key.method);
                        if found.start(chunk).is_some_and(|start| !time.contains(&start)) {
                            *counts.out_of_time.entry(*source).or_default() += 1;
                            continue;
                        }
                    }
                    *counts.skipped.entry(*source).or_default() += 1;
                }
                Some((class, Kind::Lost)) => counts.read_lost(chunk, types, *class, &mut event.reader, time)?,
                Some((class, Kind::Jvm)) => counts.read_jvm(types, *class, &mut event.reader)?,
                Some((class, Kind::Setting)) => counts.read_setting(chunk, types, *class, &mut event.reader)?,
                None => {}
            }
        }
        Ok(counts)
    }

    fn add(&mut self, found: Found, unit: Unit, chunk: &Chunk<'_>, time: &Range<u64>) {
        if let Some(start) = found.start(chunk)
            && !time.contains(&start)
        {
            *self.out_of_time.entry(found.key.source).or_default() += 1;
            if found.key.source == SampleSource::MethodTiming && start < time.start {
                let sum = self.sum_of(found.key);
                sum.before = sum.before.max(found.samples);
            }
            return;
        }
        let weight = match unit {
            Unit::Hits | Unit::Millionths => found.samples,
            Unit::Bytes => found.bytes,
            Unit::Nanoseconds => chunk.nanos_of(found.ticks),
        };
        if weight == 0 {
            return;
        }
        let sum = self.sum_of(found.key);
        sum.weight = match found.key.source {
            // Each event has the calls since the recording began.
            SampleSource::MethodTiming => sum.weight.max(weight),
            _ => sum.weight.saturating_add(weight).min(MAX_HITS),
        };
        sum.samples = sum.samples.saturating_add(found.samples);
    }

    fn sum_of(&mut self, key: EventKey) -> &mut Sum {
        let index = *self.index.entry(key).or_insert_with(|| {
            self.samples.push((key, Sum::default()));
            self.samples.len() - 1
        });
        &mut self.samples[index].1
    }

    /// Keeps the setting if it is the period of an event type that is read.
    fn read_setting(
        &mut self,
        chunk: &Chunk<'_>,
        types: &Types,
        class: ClassIndex,
        reader: &mut Reader<'_>,
    ) -> Result<()> {
        let (mut id, mut name, mut value) = (None, None, None);
        for field in &types.classes[class].fields {
            match field.role {
                Role::Id => id = types.integer(field, reader)?,
                Role::Name => name = read_text(chunk, types, field, reader)?,
                Role::Value => value = read_text(chunk, types, field, reader)?,
                _ => types.skip_field(field, reader)?,
            }
        }
        let source = id.and_then(|id| source_of(&types.classes[types.by_id(id)?].name));
        let period = value.as_deref().and_then(parse_time).map(SamplingPeriod::Nanoseconds);
        if name.as_deref() == Some("period")
            && let Some(found) = source.zip(period)
            && !self.periods.contains(&found)
        {
            self.periods.push(found);
        }
        Ok(())
    }

    fn read_jvm(&mut self, types: &Types, class: ClassIndex, reader: &mut Reader<'_>) -> Result<()> {
        let (mut start, mut process) = (None, None);
        for field in &types.classes[class].fields {
            match field.role {
                Role::JvmStart => start = types.integer(field, reader)?,
                Role::ProcessId => process = types.integer(field, reader)?,
                _ => types.skip_field(field, reader)?,
            }
        }
        self.jvm = start.zip(process);
        Ok(())
    }

    fn read_lost(
        &mut self,
        chunk: &Chunk<'_>,
        types: &Types,
        class: ClassIndex,
        reader: &mut Reader<'_>,
        time: &Range<u64>,
    ) -> Result<()> {
        let (mut lost, mut start) = (0, None);
        for field in &types.classes[class].fields {
            match field.role {
                Role::LostSamples => lost = types.integer(field, reader)?.unwrap_or(0),
                Role::StartTime => start = types.integer(field, reader)?,
                _ => types.skip_field(field, reader)?,
            }
        }
        if start.is_none_or(|ticks| time.contains(&chunk.nanos_since_1970(ticks))) {
            self.lost = self.lost.saturating_add(lost);
        }
        Ok(())
    }
}

/// Reads a text that is not in a pool.
fn read_text(chunk: &Chunk<'_>, types: &Types, field: &Field, reader: &mut Reader<'_>) -> Result<Option<String>> {
    let is_text = field.class.is_some_and(|class| types.classes[class].primitive == Some(Primitive::Text));
    if !is_text || field.pooled || field.array {
        types.skip_field(field, reader)?;
        return Ok(None);
    }
    decode(reader.text("text of a setting")?, chunk)
}

/// Parses a time such as `20 ms`. Returns nanoseconds.
fn parse_time(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let nanoseconds = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(nanoseconds).filter(|time| *time > 0)
}

/// The content of one event.
struct Found {
    key: EventKey,
    /// Equal samples that it stands for.
    samples: u64,
    bytes: u64,
    /// How long it took.
    ticks: u64,
    start_ticks: Option<u64>,
}

impl Found {
    fn read(
        chunk: &Chunk<'_>,
        types: &Types,
        class: ClassIndex,
        source: SampleSource,
        reader: &mut Reader<'_>,
    ) -> Result<Self> {
        let key = EventKey { stack: None, thread: None, method: None, source, certainty: Certainty::Unknown };
        let mut found = Self { key, samples: 1, bytes: 0, ticks: 0, start_ticks: None };
        let (mut bytes, mut of_object) = (None, None);
        for field in &types.classes[class].fields {
            match field.role {
                Role::StackTrace => found.key.stack = read_value(chunk, types, field, reader)?,
                Role::Thread => found.key.thread = read_value(chunk, types, field, reader)?,
                Role::Biased => {
                    found.key.certainty = match types.integer(field, reader)? {
                        Some(0) => Certainty::Exact,
                        Some(_) => Certainty::Heuristic,
                        None => Certainty::Unknown,
                    }
                }
                Role::Samples => found.samples = types.integer(field, reader)?.unwrap_or(1).min(u32::MAX.into()),
                Role::Invocations => found.samples = not_negative(types.integer(field, reader)?),
                Role::Method if source.counts_calls() => found.key.method = read_value(chunk, types, field, reader)?,
                Role::StartTime => found.start_ticks = types.integer(field, reader)?,
                Role::Duration => found.ticks = not_negative(types.integer(field, reader)?),
                Role::Bytes => bytes = types.integer(field, reader)?,
                Role::AllocationSize => of_object = types.integer(field, reader)?,
                _ => types.skip_field(field, reader)?,
            }
        }
        found.bytes = not_negative(bytes.or(of_object));
        Ok(found)
    }

    /// When it began, in nanoseconds since 1970.
    fn start(&self, chunk: &Chunk<'_>) -> Option<u64> {
        self.start_ticks.map(|ticks| chunk.nanos_since_1970(ticks))
    }
}

/// Sizes and lengths are signed; −1 says that something is not known or has ended.
fn not_negative(value: Option<u64>) -> u64 {
    value.filter(|value| *value <= MAX_HITS).unwrap_or(0)
}

/// The value or reference of a field; `None` for a list.
///
/// The reference 0 is null in most pools and a constant in some: frame types
/// are counted from 0.
pub(super) fn read_value(
    chunk: &Chunk<'_>,
    types: &Types,
    field: &Field,
    reader: &mut Reader<'_>,
) -> Result<Option<Value>> {
    let Some(class) = field.class.filter(|_| !field.array) else {
        types.skip_field(field, reader)?;
        return Ok(None);
    };
    if field.pooled {
        let key = reader.long("reference")?;
        return Ok(Some(Value::Pooled(class, key)));
    }
    let at = reader.position() - chunk.base;
    types.skip_value(class, reader)?;
    Ok(Some(Value::Inline(class, at)))
}

// The constant pools of a chunk.
//
// They come in events of type 1, each with the distance to the one before it;
// the chunk's header knows the last. An event holds several pools: a type, a
// number of constants, and for each a key and the value's fields.

/// The positions of the constants that samples refer to.
#[derive(Debug, Default)]
pub(super) struct Pools {
    /// By class, then by key: offset of the value in the chunk.
    constants: HashMap<ClassIndex, HashMap<u64, u64>>,
}

/// Classes whose constants are kept; all others are skipped.
const WANTED: [&str; 8] = [
    "jdk.types.StackTrace",
    "jdk.types.StackFrame",
    "jdk.types.Method",
    "jdk.types.Symbol",
    "jdk.types.FrameType",
    "java.lang.Class",
    "java.lang.Thread",
    "java.lang.String",
];

impl Pools {
    /// Walks the chain of constant-pool events from the last to the first.
    ///
    /// # Errors
    ///
    /// Truncated or malformed, with the place; a chain that does not go
    /// backwards is malformed.
    pub(super) fn read(chunk: &Chunk<'_>, types: &mut Types) -> Result<Self> {
        let mut pools = Self::default();
        for name in WANTED {
            if let Some(class) = types.by_name(name) {
                pools.constants.insert(class, HashMap::new());
            }
        }
        if chunk.pools_offset == 0 {
            return Ok(pools);
        }
        let mut offset = chunk.pools_offset;
        loop {
            let distance = pools.read_event(chunk, types, offset)?;
            if distance == 0 {
                return Ok(pools);
            }
            // The distance is a negative number: the chain goes backwards, so it ends.
            let before = offset.checked_add_signed(distance as i64).filter(|before| *before < offset);
            offset = before.ok_or_else(|| {
                let detail = format!(
                    "the distance to the previous constant pool is {}, expected a negative number",
                    distance as i64
                );
                Error::malformed(detail).at("constant pools", chunk.base.saturating_add(offset))
            })?;
        }
    }

    fn read_event(&mut self, chunk: &Chunk<'_>, types: &mut Types, offset: u64) -> Result<u64> {
        let event = chunk.event(offset, "constant pools")?;
        let mut reader = event.reader;
        if event.type_id != 1 {
            let detail = format!("the event at a constant-pool offset has type {}, expected 1", event.type_id);
            return Err(reader.place(Error::malformed(detail)));
        }
        reader.long("start of constant pools")?;
        reader.long("duration of constant pools")?;
        let distance = reader.long("distance to the previous constant pools")?;
        reader.byte("type of constant pools")?;
        for _ in 0..reader.count("number of constant pools")? {
            let class_id = reader.long("type of constants")?;
            let class = types.by_id(class_id).ok_or_else(|| {
                let detail = format!("constants have type {class_id}, which the metadata does not describe");
                reader.place(Error::malformed(detail))
            })?;
            types.prepare(class).map_err(|error| reader.place(error))?;
            let count = reader.count("number of constants")?;
            let mut wanted = self.constants.get_mut(&class);
            for _ in 0..count {
                let key = reader.long("key of a constant")?;
                let at = reader.position() - chunk.base;
                types.skip_value(class, &mut reader)?;
                if let Some(constants) = &mut wanted {
                    // The walk goes backwards, so an existing entry is newer.
                    constants.entry(key).or_insert(at);
                }
            }
        }
        Ok(distance)
    }

    /// Offset in the chunk of a constant.
    pub(super) fn find(&self, class: ClassIndex, key: u64) -> Option<u64> {
        self.constants.get(&class)?.get(&key).copied()
    }
}

// Options of recordings: event types, weight, time.

/// The events to read from a recording in addition to its samples.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RecordingOptions {
    /// Event types that are not samples of time, such as allocations, to read as well. Others are only counted.
    /// Default: none.
    pub events: Vec<SampleSource>,
    /// By what events are counted. Default: nanoseconds or bytes.
    pub weight: Weight,
    /// Only what began at this time or later. Default: from the beginning.
    pub from: Option<TimeBound>,
    /// Only what began before this time. Default: to the end.
    pub to: Option<TimeBound>,
}

impl RecordingOptions {
    /// Fails if the chosen event types do not have the chosen weight.
    ///
    /// # Errors
    ///
    /// Usage, with the events that cannot.
    pub fn check(&self) -> Result<()> {
        let events = if self.events.is_empty() { &[SampleSource::Execution][..] } else { &self.events };
        let cannot: Vec<&str> =
            events.iter().filter(|source| source.unit(self.weight).is_none()).map(|source| source.word()).collect();
        if cannot.is_empty() {
            return Ok(());
        }
        let what = if self.weight == Weight::Bytes { "bytes" } else { "time" };
        Err(Error::usage(format!("events of type {} have no {what}", cannot.join(", ")))
            .with_hint("use bytes for allocations, time for locks and waits, and either for reads and writes"))
    }
}

/// A point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeBound {
    /// Nanoseconds after the recording's first chunk began.
    After(u64),
    /// Nanoseconds since 1970, in UTC.
    At(u64),
}

impl TimeBound {
    /// Nanoseconds since 1970 for a recording that began at `start`.
    pub(super) fn nanos(self, start: u64) -> u64 {
        match self {
            Self::After(nanos) => start.saturating_add(nanos),
            Self::At(nanos) => nanos,
        }
    }
}

impl FromStr for TimeBound {
    type Err = Error;

    /// `90s`, `1.5m`, `250ms`, `2h` after the beginning, a number without unit
    /// in seconds, or a date such as `2026-11-22T04:38:00Z`.
    fn from_str(text: &str) -> Result<Self> {
        let found = if text.contains('T') { parse_date(text).map(Self::At) } else { parse_span(text).map(Self::After) };
        found.ok_or_else(|| {
            Error::usage(format!("{text} is not a time")).with_hint(
                "write a time since the start such as 90s, 1.5m, 250ms or 2h, or a date such as 2026-11-22T04:38:00Z",
            )
        })
    }
}

/// A length of time in nanoseconds.
fn parse_span(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &text[digits.len()..] {
        "ms" => 1_000_000,
        "" | "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    nanos_of(whole.parse().ok()?, fraction, unit)
}

/// Returns a number of units and a decimal fraction in nanoseconds. No sign, and at most nine digits in the fraction.
fn nanos_of(whole: u64, fraction: &str, unit: u64) -> Option<u64> {
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let billionths: u64 = format!("{fraction:0<9}").parse().ok()?;
    let part = u128::from(billionths) * u128::from(unit) / 1_000_000_000;
    whole.checked_mul(unit)?.checked_add(u64::try_from(part).ok()?)
}

/// A date with time of day in UTC, in nanoseconds since 1970.
fn parse_date(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let numbers = |text: &str, mark: char| -> Option<[u64; 3]> {
        let mut parts = text.split(mark);
        let found = [parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?];
        parts.next().is_none().then_some(found)
    };
    let [year, month, day] = numbers(date, '-')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let [hour, minute, second] = numbers(time, ':')?;
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let lengths = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = lengths.get(..usize::try_from(month).ok()?.checked_sub(1)?)?;
    let is_day = (1..=*lengths.get(before.len())?).contains(&day);
    if !(1970..10_000).contains(&year) || !is_day || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let leap_days = |year: u64| year / 4 - year / 100 + year / 400;
    let days = (year - 1970) * 365 + leap_days(year - 1) - leap_days(1969) + before.iter().sum::<u64>() + day - 1;
    nanos_of(((days * 24 + hour) * 60 + minute) * 60 + second, fraction, 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_lengths_or_dates() {
        for (text, expected) in [
            ("90s", TimeBound::After(90_000_000_000)),
            ("1.5m", TimeBound::After(90_000_000_000)),
            ("250ms", TimeBound::After(250_000_000)),
            ("2h", TimeBound::After(7_200_000_000_000)),
            ("7", TimeBound::After(7_000_000_000)),
            ("0.000000001", TimeBound::After(1)),
            ("1970-01-01T00:00:00Z", TimeBound::At(0)),
            ("2000-03-01T00:00:00Z", TimeBound::At(951_868_800_000_000_000)),
            ("2026-11-22T04:38:00.25Z", TimeBound::At(1_795_322_280_250_000_000)),
        ] {
            assert_eq!(text.parse::<TimeBound>().unwrap(), expected, "{text}");
        }
        for text in [
            "",
            "s",
            "-1s",
            "1d",
            "1.2.3",
            "2026-11-22T04:38:00",
            "2026-02-29T00:00:00Z",
            "1e3",
            "2026-00-01T00:00:00Z",
        ] {
            assert!(text.parse::<TimeBound>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_weight_that_an_event_has_not_is_refused() {
        let options = |events: &[SampleSource], weight| RecordingOptions {
            events: events.to_vec(),
            weight,
            ..Default::default()
        };
        let error = options(&[SampleSource::Allocation, SampleSource::Lock], Weight::Bytes).check().unwrap_err();
        assert!(error.to_string().contains("events of type lock have no bytes"), "{error}");
        assert!(options(&[SampleSource::Execution], Weight::Time).check().is_err());
        assert!(options(&[], Weight::Bytes).check().is_err());
        for weight in [Weight::Usual, Weight::Count, Weight::Bytes, Weight::Time] {
            options(&[SampleSource::FileRead], weight).check().unwrap();
        }
    }
}
