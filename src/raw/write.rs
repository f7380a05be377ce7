//! Writing a profile as the raw file of an image that never ran.
//!
//! A raw file contains addresses. The writer invents an image that could have written it:
//! the sections follow each other in memory in file order, so every relative pointer is
//! positive. Functions and vtables that occur as values get addresses, by which readers find
//! their names again. Parts that the version cannot store are counted, see [`losses`].

use super::header::{self, Header};
use super::layout::{self, DataRecord, RecordLayout, Word};
use super::plan::{Item, Plan};
use crate::bytes::names::{Compression, write_chunk};
use crate::bytes::{Encoding, Endian, PointerWidth, Sink};
use crate::error::{Error, Result};
use crate::memory::{self, HOLD_OUTPUT};
use crate::model::symbols::NameRefMap;
use crate::model::{Loss, NameRef, Profile, RecordView, ValueCount, ValueKind, ValueSites};
use std::io::{self, Write};

/// How a raw file is written.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Version, byte order and pointer width.
    pub encoding: Encoding,
    /// How names are stored (from version 3). Default: compressed.
    pub compression: Compression,
}

impl WriteOptions {
    /// The defaults for an encoding.
    pub fn new(encoding: Encoding) -> Self {
        Self { encoding, compression: Compression::default() }
    }

    /// Stores names that way.
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }
}

/// Parses `64le`, `64be`, `32le` or `32be`.
///
/// # Errors
///
/// A usage error that lists the four.
pub(crate) fn parse_architecture(text: &str) -> Result<(PointerWidth, Endian)> {
    match text {
        "64le" => Ok((PointerWidth::Bits64, Endian::Little)),
        "64be" => Ok((PointerWidth::Bits64, Endian::Big)),
        "32le" => Ok((PointerWidth::Bits32, Endian::Little)),
        "32be" => Ok((PointerWidth::Bits32, Endian::Big)),
        _ => Err(Error::usage(format!("unknown architecture {text:?}: write 64le, 64be, 32le or 32be"))),
    }
}

/// Returns the losses of writing `profile` in that version.
///
/// # Errors
///
/// As [`write()`].
pub fn losses(profile: &Profile, options: &WriteOptions) -> Result<Vec<Loss>> {
    check_version(options.encoding.version)?;
    Ok(Plan::new(profile, options.encoding).losses())
}

/// The number of functions of a profile that the version can store, and of their records.
///
/// # Errors
///
/// As [`write()`].
pub(crate) fn written<'p>(profile: &'p Profile, options: &WriteOptions) -> Result<(usize, Vec<RecordView<'p>>)> {
    check_version(options.encoding.version)?;
    let plan = Plan::new(profile, options.encoding);
    Ok((plan.names.len(), plan.items.iter().map(|item| item.record).collect()))
}

/// A raw file with `profile`, whose records keep their order. What the version
/// cannot hold is left out; [`losses`] tells.
///
/// # Errors
///
/// A usage error for a version that cannot be written; limit exceeded when a
/// section is larger than the pointer width allows; I/O where the file does not
/// fit the memory.
pub fn write(profile: &Profile, options: &WriteOptions) -> Result<Vec<u8>> {
    Encoder::new(profile, options)?.to_bytes()
}

/// A profile about to be written. All sections are encoded, except the counters: they are most of the file.
pub(crate) struct Encoder<'a> {
    plan: Plan<'a>,
    endian: Endian,
    /// From the magic number to the data records.
    front: Vec<u8>,
    counters_size: u64,
    /// The padding after the counters and the sections after it.
    trailing: Vec<u8>,
}

/// The bytes of counters that are encoded before they are written: they should stay in the processor's cache.
const PIECE: usize = 256 << 10;

impl<'a> Encoder<'a> {
    /// Plans the file, and encodes everything except the counters.
    ///
    /// # Errors
    ///
    /// The errors of [`write()`].
    pub fn new(profile: &'a Profile, options: &WriteOptions) -> Result<Self> {
        check_version(options.encoding.version)?;
        let plan = Plan::new(profile, options.encoding);
        let (front, counters_size, trailing) = Writer::new(&plan, options).encode()?;
        Ok(Self { plan, endian: options.encoding.endian, front, counters_size, trailing })
    }

    /// Returns the data that the version cannot store.
    pub fn losses(&self) -> Vec<Loss> {
        self.plan.losses()
    }

    /// Returns the file.
    ///
    /// # Errors
    ///
    /// I/O where the file does not fit the memory.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let around = (self.front.len() + self.trailing.len()) as u64;
        memory::written(around.saturating_add(self.counters_size), |out| self.write_to(out))
    }

    /// Writes the file, front to back.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.front)?;
        self.write_counters(out)?;
        out.write_all(&self.trailing)
    }

    fn write_counters(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(PIECE);
        for item in &self.plan.items {
            // One function may have more counters than memory holds twice.
            let size = usize::try_from(self.plan.counter_bytes(item)).unwrap_or(usize::MAX);
            bytes.try_reserve(size).map_err(|_| io::ErrorKind::OutOfMemory)?;
            let mut sink = Sink::onto(bytes, self.endian);
            if self.plan.temporal {
                sink.u64(item.timestamp);
            }
            if self.plan.byte_counters {
                item.record.counters.iter().for_each(|counter| sink.u8(if counter == 0 { 0xff } else { 0 }));
            } else {
                item.record.counters.for_each_piece(|counters| sink.u64s(counters));
            }
            bytes = sink.into_bytes();
            if bytes.len() >= PIECE {
                out.write_all(&bytes)?;
                bytes.clear();
            }
        }
        out.write_all(&bytes)
    }
}

fn check_version(version: u32) -> Result<()> {
    if layout::is_known_version(version) {
        return Ok(());
    }
    Err(Error::usage(format!("cannot write raw version {version}; supported versions are 1 to 5 and 7 to 11")))
}

/// Invented run-time addresses, below 2^32 so that they fit either width.
mod address {
    pub(super) const FUNCTIONS: u64 = 0x1000_0000;
    pub(super) const FUNCTION_STEP: u64 = 16;
    pub(super) const VTABLES: u64 = 0x3000_0000;
    pub(super) const VTABLE_STEP: u64 = 24;
    pub(super) const VTABLE_SIZE: u32 = 24;
    /// Where an object's pointer to its vtable points, as in C++.
    pub(super) const ADDRESS_POINT: u64 = 16;
    pub(super) const COUNTERS: u64 = 0x2000_0000;
    pub(super) const NAMES: u64 = 0x0800_0000;
    pub(super) const VALUES: u64 = 0x0400_0000;
}

struct Writer<'a> {
    plan: &'a Plan<'a>,
    encoding: Encoding,
    compression: Compression,
    layout: RecordLayout,
    /// NameRef → invented address, for functions that occur as values.
    functions: NameRefMap<u64>,
    /// Hash → invented address of vtables that occur as values.
    vtables: NameRefMap<u64>,
}

/// The sections of the file.
#[derive(Default)]
struct Parts {
    binary_ids: Vec<u8>,
    data: Vec<u8>,
    counters_size: u64,
    counters_count: u64,
    bitmap: Vec<u8>,
    uniform_counters: Vec<u8>,
    names: Vec<u8>,
    vtables: Vec<u8>,
    vtables_count: u64,
    vtable_names: Vec<u8>,
    values: Vec<u8>,
}

impl<'a> Writer<'a> {
    fn new(plan: &'a Plan<'a>, options: &WriteOptions) -> Self {
        let number = |at: usize, base: u64, step: u64| base + at as u64 * step;
        let functions = plan.called.iter().enumerate();
        let vtables = plan.vtables.iter().enumerate();
        Self {
            plan,
            encoding: options.encoding,
            compression: options.compression,
            layout: RecordLayout::new(options.encoding),
            functions: functions
                .map(|(at, hash)| (*hash, number(at, address::FUNCTIONS, address::FUNCTION_STEP)))
                .collect(),
            vtables: vtables.map(|(at, hash)| (*hash, number(at, address::VTABLES, address::VTABLE_STEP))).collect(),
        }
    }

    fn version(&self) -> u32 {
        self.encoding.version
    }

    fn sink(&self) -> Sink {
        Sink::new(self.encoding.endian)
    }

    fn sink_for(&self, size: usize) -> Result<Sink> {
        let mut bytes = Vec::new();
        memory::reserve(&mut bytes, size, HOLD_OUTPUT)?;
        Ok(Sink::onto(bytes, self.encoding.endian))
    }

    /// Returns the bytes before the counters, the size of the counters, and the bytes after them.
    fn encode(&self) -> Result<(Vec<u8>, u64, Vec<u8>)> {
        self.check_records()?;
        let mut parts = Parts { binary_ids: self.binary_ids(), ..Parts::default() };
        let names = self.names(&mut parts)?;
        self.vtables(&mut parts)?;
        self.records(&mut parts, &names)?;
        self.check_size(&parts)?;
        Ok((self.front(&parts)?, parts.counters_size, self.trailing(&parts)?))
    }

    /// A record counts its parts in 32 bits.
    fn check_records(&self) -> Result<()> {
        let limit = u64::from(u32::MAX) - 8; // a timestamp takes up to 8 byte counters
        for item in &self.plan.items {
            let largest = item.record.counters.len().max(item.record.bitmap.len()).max(item.name.len()) as u64;
            if largest > limit {
                let what = "counters, bitmap bytes or length of the name of one function";
                return Err(Error::above_limit(None, what, largest, limit));
            }
        }
        Ok(())
    }

    /// Offsets in a 32-bit file are signed.
    fn check_size(&self, parts: &Parts) -> Result<()> {
        let limit = match self.encoding.pointer {
            PointerWidth::Bits32 => 0x5fff_ffff,
            PointerWidth::Bits64 => u64::MAX >> 1,
        };
        let Parts { data, bitmap, uniform_counters, names, vtables, values, .. } = parts;
        let found = [data, bitmap, uniform_counters, names, vtables, values];
        let found = found.iter().fold(parts.counters_size, |sum, part| sum.saturating_add(part.len() as u64));
        if found > limit {
            let what = "size of the sections in bytes";
            return Err(Error::above_limit(None, what, found, limit));
        }
        Ok(())
    }

    fn binary_ids(&self) -> Vec<u8> {
        let mut sink = self.sink();
        for id in &self.plan.binary_ids {
            sink.u64(id.len() as u64);
            sink.bytes(id);
            if self.version() >= 8 {
                sink.align(8);
            }
        }
        sink.into_bytes()
    }

    /// Writes the names; in versions 1 and 2 returns where each begins.
    fn names(&self, parts: &mut Parts) -> Result<Vec<u64>> {
        let mut starts = Vec::new();
        if self.version() <= 2 {
            for name in &self.plan.names {
                starts.push(parts.names.len() as u64);
                parts.names.extend_from_slice(name);
            }
            return Ok(starts);
        }
        let mut sink = self.sink();
        write_chunk(&mut sink, self.plan.names.iter().copied(), self.compression)?;
        parts.names = sink.into_bytes();
        Ok(starts)
    }

    fn vtables(&self, parts: &mut Parts) -> Result<()> {
        let mut sink = self.sink();
        for hash in &self.plan.vtables {
            sink.u64(*hash);
            let start = self.vtables.get(hash).copied().unwrap_or_default();
            match self.encoding.pointer {
                PointerWidth::Bits32 => sink.u32(start as u32),
                PointerWidth::Bits64 => sink.u64(start),
            }
            sink.u32(address::VTABLE_SIZE);
            sink.align(8);
        }
        parts.vtables = sink.into_bytes();
        parts.vtables_count = self.plan.vtables.len() as u64;
        let mut sink = self.sink();
        write_chunk(&mut sink, self.plan.vtable_names.iter().copied(), self.compression)?;
        parts.vtable_names = sink.into_bytes();
        Ok(())
    }

    fn records(&self, parts: &mut Parts, name_starts: &[u64]) -> Result<()> {
        let size = self.layout.size();
        let data_size = self.plan.items.len() as u64 * size as u64;
        let counters_size = self.plan.items.iter().map(|item| self.plan.counter_bytes(item)).sum::<u64>();
        let (counters_start, bitmap_start) = (data_size, data_size + counters_size.next_multiple_of(8));
        let bitmap_size = self.plan.items.iter().map(|item| self.plan.bitmap(item).len() as u64).sum::<u64>();
        let uniform_start = bitmap_start + bitmap_size.next_multiple_of(8);
        let uniform_size = self.plan.items.iter().map(|item| item.record.uniformity.counts.len()).sum::<usize>() * 8;
        let sections = [&mut parts.data, &mut parts.bitmap, &mut parts.uniform_counters];
        let sizes = [data_size, bitmap_size, if self.plan.uniform { uniform_size as u64 } else { 0 }];
        for (section, size) in sections.into_iter().zip(sizes) {
            memory::reserve(section, usize::try_from(size).unwrap_or(usize::MAX), HOLD_OUTPUT)?;
        }
        parts.data.resize(data_size as usize, 0);
        let mut addressed = NameRefMap::<()>::default();
        for (index, (item, bytes)) in self.plan.items.iter().zip(parts.data.chunks_exact_mut(size)).enumerate() {
            let before = index as u64 * size as u64;
            let mut record = DataRecord {
                name_ref: item.name_ref,
                func_hash: item.record.func_hash,
                counter_ptr: match self.version() {
                    ..=7 => address::COUNTERS + parts.counters_size,
                    _ => counters_start + parts.counters_size - before,
                },
                num_bitmap_bytes: self.plan.bitmap(item).len() as u32,
                ..DataRecord::default()
            };
            if record.num_bitmap_bytes != 0 {
                record.bitmap_ptr = bitmap_start + parts.bitmap.len() as u64 - before;
                parts.bitmap.extend_from_slice(self.plan.bitmap(item));
            }
            if self.plan.uniform {
                record.uniform_counter_ptr = uniform_start + parts.uniform_counters.len() as u64 - before;
                let counts = item.record.uniformity.counts.iter();
                counts.for_each(|count| parts.uniform_counters.extend(self.encoding.endian.u64_bytes(*count)));
            }
            if let Some(start) = name_starts.get(item.name_index) {
                record.name_ptr = address::NAMES + start;
                record.name_size = item.name.len() as u32;
            }
            if addressed.insert(item.name_ref, ()).is_none() {
                record.function_ptr = self.functions.get(&item.name_ref).copied().unwrap_or(0);
            }
            let count = self.plan.elements(item);
            record.num_counters = count as u32;
            parts.counters_count += count;
            parts.counters_size += self.plan.counter_bytes(item);
            self.values(item, &mut record, &mut parts.values);
            self.layout.write(&record, bytes);
        }
        Ok(())
    }

    fn values(&self, item: &Item<'_>, record: &mut DataRecord, values: &mut Vec<u8>) {
        let kinds: Vec<(ValueKind, &ValueSites)> = self.plan.value_sites(item).collect();
        if kinds.is_empty() {
            return;
        }
        for (kind, sites) in &kinds {
            record.num_value_sites[*kind as usize] = sites.len().min(usize::from(u16::MAX)) as u16;
        }
        let mut sink = self.sink();
        if self.version() == 2 {
            record.values_ptr = address::VALUES + values.len() as u64;
            for (kind, sites) in kinds {
                self.sites(&mut sink, kind, sites);
            }
        } else {
            let total = sink.len();
            sink.u32(0);
            sink.u32(kinds.len() as u32);
            for (kind, sites) in kinds {
                sink.u32(kind.number());
                sink.u32(u32::from(record.num_value_sites[kind as usize]));
                self.sites(&mut sink, kind, sites);
            }
            let size = self.encoding.endian.u32_bytes(sink.len() as u32);
            sink.overwrite(total, &size);
        }
        values.extend_from_slice(sink.as_slice());
    }

    /// The number of values of each site, and the values.
    fn sites(&self, sink: &mut Sink, kind: ValueKind, sites: &ValueSites) {
        let kept: Vec<Vec<ValueCount>> = sites.iter().take(usize::from(u16::MAX)).map(Plan::kept_values).collect();
        kept.iter().for_each(|site| sink.u8(site.len() as u8));
        sink.align(8);
        for value in kept.iter().flatten() {
            sink.u64(self.run_time_value(kind, value.value));
            sink.u64(value.count);
        }
    }

    /// Returns the value that the program would have recorded; 0 without an address.
    fn run_time_value(&self, kind: ValueKind, value: NameRef) -> u64 {
        match kind {
            ValueKind::IndirectCallTarget => self.functions.get(&value).copied().unwrap_or(0),
            ValueKind::MemOpSize => value,
            ValueKind::VTableTarget => self.vtables.get(&value).map_or(0, |start| start + address::ADDRESS_POINT),
        }
    }

    /// Magic number, header, binary ids and data records.
    fn front(&self, parts: &Parts) -> Result<Vec<u8>> {
        let mut header = Header::new(self.encoding, self.plan.kind);
        let version = self.version();
        // Version 4 and older have no padding words; their counters fill whole words.
        let counters_end = parts.data.len() as u64 + parts.counters_size + padding(parts.counters_size);
        let bitmap_size = parts.bitmap.len() as u64;
        header.set_word(Word::BinaryIdsSize, parts.binary_ids.len() as u64);
        header.set_word(Word::NumData, self.plan.items.len() as u64);
        header.set_word(Word::NumCounters, parts.counters_count);
        header.set_word(Word::PadAfterCounters, padding(parts.counters_size));
        header.set_word(Word::NumBitmapBytes, bitmap_size);
        header.set_word(Word::PadAfterBitmap, padding(bitmap_size));
        header.set_word(Word::NumUniformCounters, parts.uniform_counters.len() as u64 / 8);
        if self.plan.uniform {
            header.set_word(Word::UniformCountersDelta, counters_end + bitmap_size + padding(bitmap_size));
        }
        header.set_word(Word::NamesSize, parts.names.len() as u64);
        let (counters_delta, bitmap_delta) = match version {
            ..=7 => (address::COUNTERS, 0),
            _ => (parts.data.len() as u64, counters_end),
        };
        header.set_word(Word::CountersDelta, counters_delta);
        header.set_word(Word::BitmapDelta, bitmap_delta);
        header.set_word(Word::NamesDelta, address::NAMES);
        header.set_word(Word::NumVTables, parts.vtables_count);
        header.set_word(Word::VNamesSize, parts.vtable_names.len() as u64);
        header.set_word(Word::ValueKindLast, header::last_value_kind(version));
        header.set_word(Word::ValueDataSize, parts.values.len() as u64);
        header.set_word(Word::ValueDataDelta, address::VALUES);

        let mut sink = self.sink_for(header.size() + parts.binary_ids.len() + parts.data.len())?;
        sink.bytes(&header::magic(self.encoding.endian, self.encoding.pointer));
        sink.u64(header.version_word());
        header.words().for_each(|(_, value)| sink.u64(value));
        sink.bytes(&parts.binary_ids);
        sink.bytes(&parts.data);
        Ok(sink.into_bytes())
    }

    /// The padding of the counters, and the sections after them.
    fn trailing(&self, parts: &Parts) -> Result<Vec<u8>> {
        let Parts { bitmap, uniform_counters, names, vtables, vtable_names, values, .. } = parts;
        let padded = [bitmap, uniform_counters, names, vtables, vtable_names];
        let size =
            padded.iter().fold(values.len(), |sum, section| sum.saturating_add(section.len().next_multiple_of(8)));
        let mut sink = self.sink_for(size.saturating_add(8))?;
        sink.zeros(padding(parts.counters_size) as usize);
        for section in padded {
            sink.bytes(section);
            // Padding counts from the section: unpadded ids of version 7 shift all later sections.
            sink.zeros(padding(section.len() as u64) as usize);
        }
        sink.bytes(values);
        Ok(sink.into_bytes())
    }
}

/// The bytes that fill up a section to whole words.
fn padding(size: u64) -> u64 {
    size.next_multiple_of(8) - size
}
