//! Reads the section.

use crate::bytes::{Cursor, Endian};
use crate::cancel::Cancel;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::memory::{self, HOLD_RECORDS, HOLD_STACKS};
use crate::memprof::fields::{Field, MemInfoBlock, Schema};
use crate::memprof::hotness::MemProfSummary;
use crate::memprof::indexed::layout::FRAME_SIZE;
use crate::memprof::indexed::layout::RadixReader;
use crate::memprof::indexed::layout::{ItemHeader, Table, part};
use crate::memprof::indexed::layout::{header_words, since};
use crate::memprof::indexed::{NEWEST_VERSION, data_access};
use crate::memprof::model::{AllocSite, CallSite, MemProfRecord, MemoryProfile};
use crate::memprof::model::{Frame, FrameHandle, StackHandle};
use foldhash::HashMap;

/// The contents of a section.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoredProfile {
    /// Version of the section, 0 to 4.
    pub version: u32,
    /// The profile.
    pub profile: MemoryProfile,
    /// The stored summary, in version 4 and later.
    pub summary: Option<MemProfSummary>,
}

/// Reads a section that starts at byte `base` of the file.
///
/// # Errors
///
/// Unsupported version; truncated or malformed if an offset, a length or a number is outside the section; limit
/// exceeded if call stacks are too deep or expand to too much.
pub fn read(section: &[u8], base: u64, limits: &Limits) -> Result<StoredProfile> {
    read_until(section, base, limits, &Cancel::default())
}

/// Like [`read`], but fails at the next item of a table after cancellation.
///
/// # Errors
///
/// The errors of [`read`]; cancelled.
pub(crate) fn read_until(section: &[u8], base: u64, limits: &Limits, cancel: &Cancel) -> Result<StoredProfile> {
    let mut cursor = Cursor::new(section, base, Endian::Little, "memprof");
    let first = cursor.clone().u64("first word")?;
    let version = match first {
        24.. => 0,
        1..=4 => first as u32,
        _ => {
            let detail = format!("supported versions of memory profiles are 0 to {NEWEST_VERSION}");
            return Err(cursor.place(ErrorKind::UnsupportedVersion { found: first, detail }.into()));
        }
    };
    read_version(&mut cursor, section, base, version, limits, cancel)
        .map_err(|error| error.in_format(format!("memprof v{version}")))
}

fn read_version(
    cursor: &mut Cursor<'_>,
    section: &[u8],
    base: u64,
    version: u32,
    limits: &Limits,
    cancel: &Cancel,
) -> Result<StoredProfile> {
    let mut words = [0u64; 6];
    for word in &mut words[..header_words(version)] {
        *word = cursor.u64("header word")?;
    }
    let summary = (version >= since::CALLEES).then(|| read_summary(cursor)).transpose()?;
    let schema = read_schema(cursor)?;
    let mut profile = MemoryProfile::new(Schema::EMPTY);
    schema.iter().for_each(|field| profile.schema = profile.schema.with(*field));
    let behind_schema = cursor.position();
    let mut section = Section { bytes: section, base, version, schema, limits: *limits, cancel, profile };
    if version >= since::ARRAYS {
        let [_, stacks, payload, index, ..] = words;
        section.read_arrays(behind_schema, stacks, payload, index)?;
        if version >= since::CALLEES {
            section.read_data_access(words[4], index)?;
        }
    } else {
        let offsets = if version >= since::VERSION_WORD { &words[1..] } else { &words[..] };
        section.read_tables(behind_schema, offsets)?;
    }
    Ok(StoredProfile { version, profile: section.profile, summary })
}

/// Reads the fields in the order of the blocks.
fn read_schema(cursor: &mut Cursor<'_>) -> Result<Vec<Field>> {
    let count = cursor.u64("fields of the schema")?;
    let offset = cursor.position();
    let ids = cursor.take("schema", count.saturating_mul(8))?;
    let mut fields = Vec::new();
    for id in ids.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)) {
        let field = Field::from_id(id).filter(|field| !fields.contains(field));
        let Some(field) = field else {
            let detail = format!("the schema has field {id}, which is unknown or occurs twice");
            return Err(Error::malformed(detail).at("memprof", offset).with_llvm_detail("memprof schema invalid"));
        };
        fields.push(field);
    }
    Ok(fields)
}

fn read_summary(cursor: &mut Cursor<'_>) -> Result<MemProfSummary> {
    let count = cursor.u32("fields of the summary")?;
    let offset = cursor.position();
    let numbers = cursor.take("summary", u64::from(count) * 8)?.as_chunks::<8>().0;
    let Some(first) = numbers.first_chunk::<6>() else {
        let detail = format!("the summary has {count} numbers, expected at least 6");
        return Err(Error::malformed(detail).at("memprof", offset));
    };
    Ok(MemProfSummary::from_numbers(first.map(u64::from_le_bytes)))
}

struct Section<'data> {
    bytes: &'data [u8],
    base: u64,
    version: u32,
    schema: Vec<Field>,
    limits: Limits,
    cancel: &'data Cancel,
    profile: MemoryProfile,
}

impl<'data> Section<'data> {
    fn table(&self, payload: u64, index: u64, header: ItemHeader) -> Result<Table<'data>> {
        Table::locate(self.bytes, self.base, payload, index, header)
    }

    /// Reads versions 3 and 4.
    fn read_arrays(&mut self, frames: u64, stacks: u64, payload: u64, index: u64) -> Result<()> {
        let mut cursor = part(self.bytes, self.base, frames, stacks, "array of frames")?;
        let mut handles = Vec::new();
        memory::reserve(&mut handles, cursor.left() as usize / FRAME_SIZE, HOLD_STACKS)?;
        while !cursor.is_empty() {
            self.cancel.check()?;
            let frame = read_frame(&mut cursor)?;
            handles.push(self.profile.stacks.intern_frame(frame));
        }
        let elements = part(self.bytes, self.base, stacks, payload, "array of call stacks")?;
        let (array, rest) = elements.rest().as_chunks::<4>();
        if !rest.is_empty() {
            let detail =
                format!("the array of call stacks has {} bytes, which is not a multiple of 4", elements.left());
            return Err(elements.place(Error::malformed(detail)));
        }
        let mut reader = RadixReader::new(array, stacks, &handles, self.limits);
        let mut known = HashMap::default();
        let mut frames = Vec::new();
        self.read_records(payload, index, |profile, cursor| {
            let position = cursor.u32("position of a call stack")?;
            if let Some(stack) = known.get(&position) {
                return Ok(*stack);
            }
            reader.read(position, &mut frames)?;
            let stack = profile.stacks.intern(&frames);
            known.insert(position, stack);
            Ok(stack)
        })
    }

    /// Reads versions 0 to 2.
    fn read_tables(&mut self, payload: u64, offsets: &[u64]) -> Result<()> {
        let frames = self.read_frame_table(offsets[1], offsets[2])?;
        if self.version >= since::STACK_TABLE {
            let stacks = self.read_stack_table(offsets[3], offsets[4], &frames)?;
            return self.read_records(payload, offsets[0], |_, cursor| {
                let id = cursor.u64("id of a call stack")?;
                stacks.get(&id).copied().ok_or_else(|| unknown("call stack", id, cursor))
            });
        }
        let (most, mut stack) = (u64::from(self.limits.context_depth), Vec::new());
        let limits = self.limits;
        self.read_records(payload, offsets[0], |profile, cursor| {
            let len = cursor.u64("frames of a call stack")?;
            if len > most {
                return Err(cursor.place(crate::memprof::model::too_deep(len, &limits)));
            }
            stack.clear();
            for _ in 0..len {
                stack.push(read_frame_id(cursor, &frames)?);
            }
            Ok(profile.stacks.intern(&stack))
        })
    }

    fn read_frame_table(&mut self, payload: u64, index: u64) -> Result<HashMap<u64, FrameHandle>> {
        let mut frames = HashMap::default();
        let (stacks, cancel) = (&mut self.profile.stacks, self.cancel);
        Table::locate(self.bytes, self.base, payload, index, ItemHeader::WithKeyLength)?.walk(|id, mut cursor| {
            cancel.check()?;
            frames.insert(id, stacks.intern_frame(read_frame(&mut cursor)?));
            at_end(&cursor)
        })?;
        Ok(frames)
    }

    fn read_stack_table(
        &mut self,
        payload: u64,
        index: u64,
        frames: &HashMap<u64, FrameHandle>,
    ) -> Result<HashMap<u64, StackHandle>> {
        let (mut stacks, mut stack) = (HashMap::default(), Vec::new());
        let (interned, limits, cancel) = (&mut self.profile.stacks, self.limits, self.cancel);
        Table::locate(self.bytes, self.base, payload, index, ItemHeader::WithoutKeyLength)?.walk(
            |id, mut cursor| {
                cancel.check()?;
                let len = cursor.left() / 8;
                if len > limits.context_depth.into() {
                    return Err(cursor.place(crate::memprof::model::too_deep(len, &limits)));
                }
                stack.clear();
                while !cursor.is_empty() {
                    stack.push(read_frame_id(&mut cursor, frames)?);
                }
                stacks.insert(id, interned.intern(&stack));
                Ok(())
            },
        )?;
        Ok(stacks)
    }

    /// Reads all records; `read_stack` reads the reference to a call stack.
    fn read_records(
        &mut self,
        payload: u64,
        index: u64,
        mut read_stack: impl FnMut(&mut MemoryProfile, &mut Cursor<'data>) -> Result<StackHandle>,
    ) -> Result<()> {
        let table = self.table(payload, index, ItemHeader::WithKeyLength)?;
        let Self { profile, schema, version, cancel, .. } = self;
        // The minimum bytes of an allocation site: the reference to its stack, and the block.
        let least = 4 + schema.iter().map(|field| field.width() as u64).sum::<u64>();
        table.walk(|function, mut cursor| {
            cancel.check()?;
            let key = cursor.position();
            let mut record = MemProfRecord { function, ..MemProfRecord::default() };
            let sites = cursor.u64("number of allocation sites")?;
            // Reserve the exact size, because growing lists would need twice the memory.
            let fit = sites.min(cursor.left() / least) as usize;
            record.alloc_sites.try_reserve_exact(fit).map_err(|_| memory::refused(HOLD_RECORDS))?;
            for _ in 0..sites {
                let stack = read_stack(profile, &mut cursor)?;
                let info = read_block(&mut cursor, schema)?;
                record.alloc_sites.push(AllocSite { stack, info, histogram: None });
            }
            for _ in 0..cursor.u64("number of call sites")? {
                let frames = read_stack(profile, &mut cursor)?;
                let callees = if *version >= since::CALLEES { read_callees(&mut cursor)? } else { Vec::new() };
                record.call_sites.push(CallSite { frames, callees });
            }
            at_end(&cursor)?;
            if profile.record(function).is_some() {
                return Err(Error::malformed(format!("function {function:#x} has two records")).at("memprof", key));
            }
            *profile.record_mut(function) = record;
            Ok(())
        })
    }

    /// Reads the data access profile. It exists if its offset is after the records' index.
    fn read_data_access(&mut self, offset: u64, record_index: u64) -> Result<()> {
        if offset <= record_index {
            return Ok(());
        }
        let end = self.base + self.bytes.len() as u64;
        let mut cursor = part(self.bytes, self.base, offset, end, "data access profile")?;
        self.profile.data_access = Some(data_access::read(&mut cursor, &self.limits)?);
        Ok(())
    }
}

fn read_frame(cursor: &mut Cursor<'_>) -> Result<Frame> {
    let function = cursor.u64("function of a frame")?;
    let line_offset = cursor.u32("line of a frame")?;
    let column = cursor.u32("column of a frame")?;
    let is_inline = cursor.u8("inline flag of a frame")? != 0;
    Ok(Frame { function, line_offset, column, is_inline })
}

fn read_frame_id(cursor: &mut Cursor<'_>, frames: &HashMap<u64, FrameHandle>) -> Result<FrameHandle> {
    let id = cursor.u64("id of a frame")?;
    frames.get(&id).copied().ok_or_else(|| unknown("frame", id, cursor))
}

fn unknown(what: &str, id: u64, cursor: &Cursor<'_>) -> Error {
    Error::malformed(format!("there is no {what} with the id {id:#x}")).at("memprof", cursor.position() - 8)
}

fn read_block(cursor: &mut Cursor<'_>, schema: &[Field]) -> Result<MemInfoBlock> {
    let mut info = MemInfoBlock::default();
    for field in schema {
        let value = if field.width() == 4 { cursor.u32(field.name())?.into() } else { cursor.u64(field.name())? };
        info.set(*field, value);
    }
    Ok(info)
}

fn read_callees(cursor: &mut Cursor<'_>) -> Result<Vec<u64>> {
    let count = cursor.u64("number of callees")?;
    let callees = cursor.take("callees", count.saturating_mul(8))?;
    Ok(callees.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
}

fn at_end(cursor: &Cursor<'_>) -> Result<()> {
    if cursor.is_empty() {
        return Ok(());
    }
    Err(cursor.place(Error::malformed(format!("{} bytes are left after an item of a table", cursor.left()))))
}
