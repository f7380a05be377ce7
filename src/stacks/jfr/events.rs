//! The events of a chunk: samples, and the events that were asked for, are added
//! up by what they refer to, all others are passed over unread.

use super::chunk::{Chunk, HEADER_BYTES};
use super::metadata::{ClassIndex, Role, Types};
use super::numbers::Reader;
use super::options::RecordingOptions;
use crate::error::Result;
use crate::memory::{self, HOLD_STACKS};
use crate::stacks::model::{Certainty, MAX_HITS, SampleSource, Unit};
use foldhash::{HashMap, HashMapExt};
use std::collections::BTreeMap;
use std::ops::Range;

/// A value that a field refers to or holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Value {
    /// A constant.
    Pooled(ClassIndex, u64),
    /// The value itself, at this offset of the chunk.
    Inline(ClassIndex, u64),
}

/// What equal samples have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct EventKey {
    pub(super) stack: Option<Value>,
    pub(super) thread: Option<Value>,
    pub(super) source: SampleSource,
    pub(super) certainty: Certainty,
}

/// Samples and events of one chunk, equal ones added up.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// In order of first appearance.
    pub(super) samples: Vec<(EventKey, u64)>,
    index: HashMap<EventKey, usize>,
    /// What `jdk.CPUTimeSamplesLost` events say.
    pub(super) lost: u64,
    /// Events that were not asked for.
    pub(super) skipped: BTreeMap<SampleSource, u64>,
    /// Samples and events outside the time that was asked for.
    pub(super) out_of_time: u64,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    /// Adds up by this unit.
    Sample(SampleSource, Unit),
    /// Is only counted.
    PassedOver(SampleSource),
    Lost,
}

const EVENTS: [(&str, SampleSource); 14] = [
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
];

const LOST: &str = "jdk.CPUTimeSamplesLost";

/// What is to be done with events of a name; `None` for most.
fn kind_of(name: &str, options: &RecordingOptions) -> Option<Kind> {
    if name == LOST {
        return Some(Kind::Lost);
    }
    let (_, source) = EVENTS.iter().find(|(known, _)| *known == name)?;
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
        for (id, class) in types.ids()? {
            if let Some(kind) = kind_of(&types.classes[class].name, options) {
                memory::reserve(&mut wanted, 1, HOLD_STACKS)?;
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
                    counts.add(found, *unit, chunk, time)?;
                }
                Some((_, Kind::PassedOver(source))) => *counts.skipped.entry(*source).or_default() += 1,
                Some((class, Kind::Lost)) => counts.read_lost(types, *class, &mut event.reader)?,
                None => {}
            }
        }
        Ok(counts)
    }

    fn add(&mut self, found: Found, unit: Unit, chunk: &Chunk<'_>, time: &Range<u64>) -> Result<()> {
        if found.start_ticks.is_some_and(|ticks| !time.contains(&chunk.nanos_since_1970(ticks))) {
            self.out_of_time += 1;
            return Ok(());
        }
        let weight = match unit {
            Unit::Hits | Unit::Millionths => found.samples,
            Unit::Bytes => found.bytes,
            Unit::Nanoseconds => chunk.nanos_of(found.ticks),
        };
        if weight == 0 {
            return Ok(());
        }
        memory::reserve(&mut self.index, 1, HOLD_STACKS)?;
        memory::reserve(&mut self.samples, 1, HOLD_STACKS)?;
        let index = *self.index.entry(found.key).or_insert_with(|| {
            self.samples.push((found.key, 0));
            self.samples.len() - 1
        });
        self.samples[index].1 = self.samples[index].1.saturating_add(weight).min(MAX_HITS);
        Ok(())
    }

    fn read_lost(&mut self, types: &Types, class: ClassIndex, reader: &mut Reader<'_>) -> Result<()> {
        for field in &types.classes[class].fields {
            if field.role == Role::LostSamples {
                let lost = types.integer(field, reader)?.unwrap_or(0);
                self.lost = self.lost.saturating_add(lost);
            } else {
                types.skip_field(field, reader)?;
            }
        }
        Ok(())
    }
}

/// What one event says.
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
        let key = EventKey { stack: None, thread: None, source, certainty: Certainty::Unknown };
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
}

/// Sizes and lengths are signed; −1 says that something is not known or has ended.
fn not_negative(value: Option<u64>) -> u64 {
    value.filter(|value| *value <= MAX_HITS).unwrap_or(0)
}

/// What a field refers to or holds; `None` for a list.
///
/// The reference 0 is null in most pools and a constant in some: frame types
/// are counted from 0.
pub(super) fn read_value(
    chunk: &Chunk<'_>,
    types: &Types,
    field: &super::metadata::Field,
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
