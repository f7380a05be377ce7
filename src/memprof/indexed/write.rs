//! Writes the section with the bytes of a release.

use crate::bytes::{Endian, Sink};
use crate::error::{Error, ErrorKind, Result};
use crate::memprof::fields::{Field, MemInfoBlock, Schema};
use crate::memprof::hotness::{HotnessThresholds, MemProfSummary};
use crate::memprof::indexed::layout::RadixArray;
use crate::memprof::indexed::layout::{ItemHeader, write_table};
use crate::memprof::indexed::layout::{default_version, header_words, schema_of, since};
use crate::memprof::indexed::layout::{frame_ids, stack_ids, write_frame};
use crate::memprof::indexed::{NEWEST_VERSION, data_access};
use crate::memprof::model::MemoryProfile;
use crate::memprof::model::StackHandle;
use crate::model::hash_order::large_number_map_order;
use crate::model::release::written_memory_versions;
use crate::model::{Loss, LossKind, Losses, Release};

/// Options for writing the section.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Version of the section, 0 to 4.
    pub version: u32,
    /// The release that determines the order.
    pub release: Release,
    /// The fields to write, if the version has a choice.
    pub schema: Schema,
    /// The thresholds of the summary, which version 4 has.
    pub thresholds: HotnessThresholds,
}

impl WriteOptions {
    /// Returns the options of a release, for its own version or for `version`, with all fields that it supports if
    /// `full_schema` is true.
    ///
    /// # Errors
    ///
    /// Usage for a version that the release cannot write.
    pub fn new(release: Release, version: Option<u32>, full_schema: bool) -> Result<Self> {
        let Some((written, default)) = written_memory_versions(release).zip(default_version(release)) else {
            return Err(Error::usage(format!("{release} does not support memory profiles"))
                .with_hint("target LLVM 15 or later"));
        };
        let version = version.unwrap_or(default);
        if !written.contains(&version) {
            let (first, last) = (written.start(), written.end());
            return Err(Error::usage(format!("{release} does not read version {version} of memory profiles"))
                .with_hint(format!("choose a version from {first} to {last}")));
        }
        let schema = schema_of(version, release, full_schema);
        Ok(Self { version, release, schema, thresholds: HotnessThresholds::default() })
    }
}

/// Returns what a section cannot store of a profile. Fields that were not requested do not count.
pub fn losses(profile: &MemoryProfile, options: &WriteOptions) -> Vec<Loss> {
    let mut losses = Losses::new();
    if options.version < since::CALLEES {
        let sites = profile.records().iter().flat_map(|record| &record.call_sites);
        losses.add(LossKind::MemProfCallees, sites.map(|site| site.callees.len() as u64).sum());
        let data = profile.data_access.as_ref().map_or(0, |data| data.records.len() + data.cold_len());
        losses.add(LossKind::MemProfDataRecords, data as u64);
    }
    losses.into_vec()
}

/// Encodes a profile for byte 0 of a file. The section's offsets are relative to its start, so the caller must relocate
/// them.
///
/// # Errors
///
/// Usage for an unknown version; too large if a number does not fit; I/O if memory runs out.
pub fn write(profile: &MemoryProfile, options: &WriteOptions) -> Result<Vec<u8>> {
    if options.version > NEWEST_VERSION {
        return Err(Error::usage(format!("there is no memory profile version {}", options.version)));
    }
    let frame_ids = frame_ids(options.release, profile.stacks.frames());
    let writer = Writer { profile, options: *options, frame_ids };
    if options.version >= since::ARRAYS { writer.arrays() } else { writer.tables() }
}

struct Writer<'a> {
    profile: &'a MemoryProfile,
    options: WriteOptions,
    frame_ids: Vec<u64>,
}

impl Writer<'_> {
    /// Encodes versions 3 and 4.
    fn arrays(&self) -> Result<Vec<u8>> {
        let version = self.options.version;
        let mut sink = Sink::new(Endian::Little);
        sink.u64(version.into());
        let mut words: Vec<_> = (1..header_words(version)).map(|_| sink.reserve()).collect();
        if version >= since::CALLEES {
            let numbers = MemProfSummary::of(self.profile, &self.options.thresholds).numbers();
            sink.u32(numbers.len() as u32);
            sink.u64s(&numbers);
        }
        self.write_schema(&mut sink);
        let array = RadixArray::encode(&self.profile.stacks, &self.frame_ids);
        if array.elements.len() > i32::MAX as usize {
            let (found, limit) = (array.elements.len() as u64, i32::MAX as u64);
            return Err(ErrorKind::TooLarge { field: "array of call stacks", found, limit }.into());
        }
        for frame in &array.frames {
            write_frame(&mut sink, &self.profile.stacks.frame(*frame));
        }
        let mut places = vec![sink.len() as u64];
        array.elements.iter().for_each(|element| sink.u32(*element));
        places.push(sink.len() as u64);
        places.push(self.write_records(&mut sink, |sink, stack| sink.u32(array.positions[stack.index()]))?);
        let data_access = self.profile.data_access.as_ref().filter(|_| version >= since::CALLEES);
        if let Some(data_access) = data_access.filter(|profile| !profile.is_empty()) {
            places.push(sink.len() as u64);
            data_access::write(&mut sink, data_access)?;
        }
        words.drain(..).zip(places).for_each(|(word, place)| sink.patch(word, place));
        Ok(sink.into_bytes())
    }

    /// Encodes versions 0 to 2.
    fn tables(&self) -> Result<Vec<u8>> {
        let version = self.options.version;
        let (stacks, ids) = (&self.profile.stacks, &self.frame_ids);
        let has_stack_table = version >= since::STACK_TABLE;
        let stack_keys = if has_stack_table { stack_ids(stacks, ids) } else { Vec::new() };
        let mut sink = Sink::new(Endian::Little);
        if version >= since::VERSION_WORD {
            sink.u64(version.into());
        }
        let words: Vec<_> = (sink.len() / 8..header_words(version)).map(|_| sink.reserve()).collect();
        self.write_schema(&mut sink);
        let records = if has_stack_table {
            self.write_records(&mut sink, |sink, stack| sink.u64(stack_keys[stack.index()]))?
        } else {
            self.write_records(&mut sink, |sink, stack| {
                let frames = stacks.stack(stack);
                sink.u64(frames.len() as u64);
                frames.iter().for_each(|frame| sink.u64(ids[frame.index()]));
            })?
        };
        let mut places = vec![records, sink.len() as u64];
        places.push(self.write_frames(&mut sink)?);
        if has_stack_table {
            places.push(sink.len() as u64);
            places.push(self.write_stacks(&mut sink, &stack_keys)?);
        }
        words.into_iter().zip(places).for_each(|(word, place)| sink.patch(word, place));
        Ok(sink.into_bytes())
    }

    fn write_schema(&self, sink: &mut Sink) {
        let schema = self.options.schema;
        sink.u64(schema.len() as u64);
        schema.fields().for_each(|field| sink.u64(field as u64));
    }

    /// Writes the table of records. `write_stack` writes the reference to a call stack.
    fn write_records(&self, sink: &mut Sink, mut write_stack: impl FnMut(&mut Sink, StackHandle)) -> Result<u64> {
        let fields: Vec<Field> = self.options.schema.fields().collect();
        let functions = self.profile.records().iter().map(|record| record.function);
        let keys: Vec<u64> = functions.collect();
        write_table(sink, &keys, ItemHeader::WithKeyLength, |sink, at| {
            let record = &self.profile.records()[at];
            sink.u64(record.alloc_sites.len() as u64);
            for site in &record.alloc_sites {
                write_stack(sink, site.stack);
                write_block(sink, &site.info, &fields);
            }
            sink.u64(record.call_sites.len() as u64);
            for site in &record.call_sites {
                write_stack(sink, site.frames);
                if self.options.version >= since::CALLEES {
                    sink.u64(site.callees.len() as u64);
                    sink.u64s(&site.callees);
                }
            }
        })
    }

    fn write_frames(&self, sink: &mut Sink) -> Result<u64> {
        let frames = self.profile.stacks.frames();
        let (keys, order) = self.insertion_order(&self.frame_ids);
        write_table(sink, &keys, ItemHeader::WithKeyLength, |sink, at| write_frame(sink, &frames[order[at]]))
    }

    fn write_stacks(&self, sink: &mut Sink, keys: &[u64]) -> Result<u64> {
        let stacks: Vec<_> = self.profile.stacks.iter().collect();
        let (keys, order) = self.insertion_order(keys);
        write_table(sink, &keys, ItemHeader::WithoutKeyLength, |sink, at| {
            stacks[order[at]].iter().for_each(|frame| sink.u64(self.frame_ids[frame.index()]));
        })
    }

    /// In LLVM 19 and earlier, frames and stacks go through another map before the table. Returns the keys in the order
    /// of the table, and their original positions.
    fn insertion_order(&self, keys: &[u64]) -> (Vec<u64>, Vec<usize>) {
        if self.options.release >= Release(20) {
            return (keys.to_vec(), (0..keys.len()).collect::<Vec<_>>());
        }
        let order = large_number_map_order(self.options.release, keys).into_iter().map(|at| at as usize);
        let order = order.collect::<Vec<_>>();
        (order.iter().map(|at| keys[*at]).collect::<Vec<_>>(), order)
    }
}

fn write_block(sink: &mut Sink, info: &MemInfoBlock, fields: &[Field]) {
    for field in fields {
        let value = info.value(*field);
        if field.width() == 4 { sink.u32(value as u32) } else { sink.u64(value) }
    }
}
