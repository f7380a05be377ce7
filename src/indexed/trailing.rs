//! The sections behind the hash table.

use super::dialect::Dialect;
use super::layout::since;
use super::memprof;
use crate::bytes::names::{Compression, write_chunk};
use crate::bytes::{Endian, Sink};
use crate::error::Result;
use crate::memory::{self, HOLD_NAMES};
use crate::model::hash_order::string_map_order;
use crate::model::{BinaryId, Profile, ProfileKind, TemporalProfile};

/// The sections, and where in the file they are; 0 for one that is not there.
#[derive(Default)]
pub(super) struct Trailing {
    pub(super) bytes: Vec<u8>,
    pub(super) memprof: u64,
    pub(super) binary_ids: u64,
    pub(super) vtable_names: u64,
    pub(super) traces: u64,
}

impl Trailing {
    /// Encodes the sections of `profile` for byte `start` of the file; `bits`
    /// are the variant bits that are written.
    ///
    /// # Errors
    ///
    /// Those of a memory profile that cannot be moved; out of memory.
    pub(super) fn new(profile: &Profile, dialect: Dialect, bits: u64, start: u64) -> Result<Self> {
        let mut sink = Sink::new(Endian::Little);
        let mut trailing = Self::default();
        let here = |sink: &Sink| start.saturating_add(sink.len() as u64);
        if bits & ProfileKind::MEMPROF.bits() != 0 {
            trailing.memprof = here(&sink);
            match &profile.memprof {
                Some(section) => memprof::write_moved(&mut sink, section, trailing.memprof)?,
                None => memprof::write_empty(&mut sink, dialect.release, trailing.memprof),
            }
        }
        if dialect.has(since::BINARY_IDS) {
            trailing.binary_ids = here(&sink);
            write_binary_ids(&mut sink, &sorted_ids(profile));
        }
        if dialect.has(since::VTABLES) {
            trailing.vtable_names = here(&sink);
            write_vtable_names(&mut sink, profile, dialect)?;
        }
        if bits & ProfileKind::TEMPORAL.bits() != 0 {
            trailing.traces = here(&sink);
            write_traces(&mut sink, &profile.temporal);
        }
        trailing.bytes = sink.finish()?;
        Ok(trailing)
    }
}

/// Each identity once, in order.
pub(super) fn sorted_ids(profile: &Profile) -> Vec<&BinaryId> {
    let mut ids: Vec<&BinaryId> = profile.binary_ids.iter().collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn write_binary_ids(sink: &mut Sink, ids: &[&BinaryId]) {
    let size: usize = ids.iter().map(|id| 8 + id.len().next_multiple_of(8)).sum();
    sink.u64(size as u64);
    for id in ids {
        sink.u64(id.len() as u64);
        sink.bytes(id);
        sink.zeros(id.len().next_multiple_of(8) - id.len());
    }
}

fn write_vtable_names(sink: &mut Sink, profile: &Profile, dialect: Dialect) -> Result<()> {
    let names: Vec<&[u8]> = memory::collect(profile.vtable_names.iter().map(Vec::as_slice), HOLD_NAMES)?;
    let order = string_map_order(dialect.release, names.iter().copied())?;
    let mut chunk = Sink::new(Endian::Little);
    write_chunk(&mut chunk, order.into_iter().map(|index| names[index as usize]), Compression::Zlib)?;
    let chunk = chunk.finish()?;
    sink.u64(chunk.len() as u64);
    sink.bytes(&chunk);
    sink.zeros(chunk.len().next_multiple_of(8) - chunk.len());
    Ok(())
}

fn write_traces(sink: &mut Sink, temporal: &TemporalProfile) {
    sink.u64(temporal.traces.len() as u64);
    sink.u64(temporal.stream_size);
    for trace in &temporal.traces {
        sink.u64(trace.weight);
        sink.u64(trace.functions.len() as u64);
        sink.u64s(&trace.functions);
    }
}
