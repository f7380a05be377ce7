//! The events of a chunk: sample events are counted by what they refer to, all
//! others are passed over unread.

use super::chunk::{Chunk, HEADER_BYTES};
use super::metadata::{ClassIndex, Role, Types};
use super::numbers::Reader;
use crate::error::Result;
use crate::stacks::model::{Certainty, SampleSource};
use foldhash::{HashMap, HashMapExt};

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

/// Sample events of one chunk, equal ones counted.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// In order of first appearance.
    pub(super) samples: Vec<(EventKey, u64)>,
    index: HashMap<EventKey, usize>,
    /// What `jdk.CPUTimeSamplesLost` events say.
    pub(super) lost: u64,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Sample(SampleSource),
    Lost,
}

const EVENTS: [(&str, Kind); 5] = [
    ("jdk.ExecutionSample", Kind::Sample(SampleSource::Execution)),
    ("jdk.NativeMethodSample", Kind::Sample(SampleSource::Native)),
    ("jdk.CPUTimeSample", Kind::Sample(SampleSource::CpuTime)),
    ("profiler.WallClockSample", Kind::Sample(SampleSource::WallClock)),
    ("jdk.CPUTimeSamplesLost", Kind::Lost),
];

impl Counts {
    /// Counts the sample events of a chunk.
    ///
    /// # Errors
    ///
    /// Truncated or malformed, with the place.
    pub(super) fn read(chunk: &Chunk<'_>, types: &mut Types) -> Result<Self> {
        let mut wanted: HashMap<u64, (ClassIndex, Kind)> = HashMap::new();
        for (id, class) in types.ids() {
            if let Some((_, kind)) = EVENTS.iter().find(|(name, _)| *name == types.classes[class].name) {
                wanted.insert(id, (class, *kind));
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
                Some((class, Kind::Sample(source))) => {
                    counts.read_sample(chunk, types, *class, *source, &mut event.reader)?;
                }
                Some((class, Kind::Lost)) => counts.read_lost(types, *class, &mut event.reader)?,
                None => {}
            }
        }
        Ok(counts)
    }

    fn read_sample(
        &mut self,
        chunk: &Chunk<'_>,
        types: &Types,
        class: ClassIndex,
        source: SampleSource,
        reader: &mut Reader<'_>,
    ) -> Result<()> {
        let mut key = EventKey { stack: None, thread: None, source, certainty: Certainty::Unknown };
        let mut weight = 1;
        for field in &types.classes[class].fields {
            match field.role {
                Role::StackTrace => key.stack = read_value(chunk, types, field, reader)?,
                Role::Thread => key.thread = read_value(chunk, types, field, reader)?,
                Role::Biased => {
                    key.certainty = match types.integer(field, reader)? {
                        Some(0) => Certainty::Exact,
                        Some(_) => Certainty::Heuristic,
                        None => Certainty::Unknown,
                    }
                }
                Role::Samples => weight = types.integer(field, reader)?.unwrap_or(1).min(u32::MAX.into()),
                _ => types.skip_field(field, reader)?,
            }
        }
        let index = *self.index.entry(key).or_insert_with(|| {
            self.samples.push((key, 0));
            self.samples.len() - 1
        });
        self.samples[index].1 = self.samples[index].1.saturating_add(weight);
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
