//! Records: their fields, in the byte order of the file.

use super::attributes::{Attribute, Attributes, GROUP_VALUES, field};
use super::event::{Branch, CpuMode, Event, Mapping, Sample};
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, Result};

/// The size of the header of every record.
pub(super) const HEADER_BYTES: usize = 8;

/// Numbers of records.
pub(super) mod kind {
    pub(crate) const MMAP: u32 = 1;
    pub(crate) const LOST: u32 = 2;
    pub(crate) const COMM: u32 = 3;
    pub(crate) const EXIT: u32 = 4;
    pub(crate) const FORK: u32 = 7;
    pub(crate) const SAMPLE: u32 = 9;
    pub(crate) const MMAP2: u32 = 10;
    pub(crate) const LOST_SAMPLES: u32 = 13;
    /// Records of perf itself begin here.
    pub(crate) const FIRST_OF_PERF: u32 = 64;
    pub(crate) const ATTR: u32 = 64;
    pub(crate) const TRACING_DATA: u32 = 66;
    pub(crate) const BUILD_ID: u32 = 67;
    pub(crate) const FINISHED_ROUND: u32 = 68;
    pub(crate) const AUXTRACE: u32 = 71;
    pub(crate) const EVENT_UPDATE: u32 = 78;
    pub(crate) const FEATURE: u32 = 80;
    pub(crate) const COMPRESSED: u32 = 81;
    pub(crate) const COMPRESSED2: u32 = 83;
}

/// In `misc`: a mapping of data, and a name because of `exec`.
const MISC_DATA_OR_EXEC: u16 = 1 << 13;
/// In `misc`: a mapping with a build id, a build id with its size.
pub(super) const MISC_BUILD_ID: u16 = 1 << 14;
const PROT_EXEC: u32 = 4;

/// The header of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: u32,
    pub(super) misc: u16,
    /// Bytes with the header.
    pub(super) size: u16,
}

impl Header {
    pub(super) fn read(bytes: [u8; HEADER_BYTES], endian: Endian) -> Self {
        let [a, b, c, d, e, f, g, h] = bytes;
        let (kind, misc, size) = (endian.u32([a, b, c, d]), endian.u16([e, f]), endian.u16([g, h]));
        Self { kind, misc, size }
    }
}

/// A record: its header, and the bytes after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) header: Header,
    pub(super) body: &'a [u8],
    /// The offset of the body in the file.
    pub(super) offset: u64,
    pub(super) endian: Endian,
}

impl<'a> Record<'a> {
    pub(super) fn cursor(&self) -> Cursor<'a> {
        Cursor::new(self.body, self.offset, self.endian, "record")
    }

    fn word(&self, at: usize) -> Option<u64> {
        Some(self.endian.u64(*self.body.get(at..)?.first_chunk()?))
    }

    /// The word before `after` bytes from the end.
    fn word_before_end(&self, after: usize) -> Option<u64> {
        self.word(self.body.len().checked_sub(after)?)
    }

    /// The event of the record: its place, and whether its id is known.
    pub(super) fn event(&self, attributes: &Attributes) -> (usize, bool) {
        let [first, rest @ ..] = attributes.list() else { return (0, false) };
        if rest.is_empty() {
            return (0, true);
        }
        let id = if self.header.kind == kind::SAMPLE { self.sample_id(first) } else { self.trailer_id(first) };
        match id {
            // Records that perf made before the recording have no id.
            Some(0) | None => (0, self.header.kind != kind::SAMPLE),
            Some(id) => attributes.find(id).map_or((0, false), |at| (at, true)),
        }
    }

    /// The id of a sample: the first word, or where all events have it.
    fn sample_id(&self, attribute: &Attribute) -> Option<u64> {
        if attribute.has(field::IDENTIFIER) {
            return self.word(0);
        }
        let before = [field::IP, field::TID, field::TIME, field::ADDR];
        let words = before.into_iter().filter(|field| attribute.has(*field)).count();
        if attribute.has(field::ID) { self.word(words * 8) } else { None }
    }

    fn trailer_id(&self, attribute: &Attribute) -> Option<u64> {
        if !attribute.has_trailer() {
            return None;
        }
        if attribute.has(field::IDENTIFIER) {
            return self.word_before_end(8);
        }
        let after = [field::ID, field::STREAM_ID, field::CPU];
        let words = after.into_iter().filter(|field| attribute.has(*field)).count();
        if attribute.has(field::ID) { self.word_before_end(words * 8) } else { None }
    }

    /// The time of the record, if it has one.
    pub(super) fn time(&self, attribute: &Attribute) -> Option<u64> {
        if !attribute.has(field::TIME) {
            return None;
        }
        let words = |fields: &[u64]| fields.iter().filter(|field| attribute.has(**field)).count() * 8;
        let time = if self.header.kind == kind::SAMPLE {
            self.word(words(&[field::IDENTIFIER, field::IP, field::TID]))?
        } else if attribute.has_trailer() && self.header.kind < kind::FIRST_OF_PERF {
            let after = [field::TIME, field::ID, field::STREAM_ID, field::CPU, field::IDENTIFIER];
            self.word_before_end(words(&after))?
        } else {
            return None;
        };
        (time != 0 && time != u64::MAX).then_some(time)
    }

    /// A mapping; `None` for one of a guest.
    fn mapping(&self) -> Result<Option<Mapping>> {
        let mut cursor = self.cursor();
        let pid = cursor.u32("pid")?;
        cursor.u32("tid")?;
        let (start, len, offset) = (cursor.u64("start")?, cursor.u64("length")?, cursor.u64("offset")?);
        let (mut build_id, mut is_executable) = (None, self.header.misc & MISC_DATA_OR_EXEC == 0);
        if self.header.kind == kind::MMAP2 {
            let id = cursor.take("build id", 24)?;
            if self.header.misc & MISC_BUILD_ID != 0 {
                let size = usize::from(id.first().copied().unwrap_or(0)).min(20);
                build_id = id.get(4..4 + size).filter(|id| !id.is_empty()).map(<[u8]>::to_vec);
            }
            is_executable = cursor.u32("protection")? & PROT_EXEC != 0;
            cursor.u32("flags")?;
        }
        let is_of_guest = matches!(CpuMode::of_misc(self.header.misc), CpuMode::GuestKernel | CpuMode::GuestUser);
        if is_of_guest {
            return Ok(None);
        }
        if len == 0 || start.checked_add(len).is_none() {
            return Err(cursor.place(Error::malformed(format!("a mapping of {len} bytes at {start:#x}"))));
        }
        let path = until_zero(cursor.rest()).to_vec();
        Ok(Some(Mapping { pid, start, len, offset, path, build_id, is_executable }))
    }
}

/// The bytes before the first zero.
pub(super) fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Reads events; it owns the lists of the current sample.
#[derive(Debug, Default)]
pub(super) struct EventReader {
    call_chain: Vec<u64>,
    branches: Vec<Branch>,
}

impl EventReader {
    /// The event of a record; `None` for a record that says nothing about code.
    ///
    /// # Errors
    ///
    /// Truncated or malformed for fields that do not fit into the record.
    pub(super) fn read<'a>(
        &'a mut self,
        record: &Record<'a>,
        event: usize,
        attribute: &Attribute,
    ) -> Result<Option<Event<'a>>> {
        let mut cursor = record.cursor();
        Ok(match record.header.kind {
            kind::SAMPLE => Some(Event::Sample(self.sample(record, event, attribute)?)),
            kind::MMAP | kind::MMAP2 => record.mapping()?.map(Event::Mapping),
            kind::COMM => {
                let (pid, tid) = (cursor.u32("pid")?, cursor.u32("tid")?);
                let is_exec = record.header.misc & MISC_DATA_OR_EXEC != 0;
                Some(Event::Command { pid, tid, name: until_zero(cursor.rest()), is_exec })
            }
            kind::FORK | kind::EXIT => {
                let (pid, parent) = (cursor.u32("pid")?, cursor.u32("ppid")?);
                let (tid, parent_tid) = (cursor.u32("tid")?, cursor.u32("ptid")?);
                Some(match record.header.kind {
                    kind::FORK => Event::Fork { pid, tid, parent, parent_tid },
                    _ => Event::Exit { pid, tid },
                })
            }
            kind::LOST => {
                cursor.u64("id")?;
                Some(Event::Lost(cursor.u64("lost")?))
            }
            kind::LOST_SAMPLES => Some(Event::Lost(cursor.u64("lost")?)),
            _ => None,
        })
    }

    fn sample<'a>(&'a mut self, record: &Record<'a>, event: usize, attribute: &Attribute) -> Result<Sample<'a>> {
        let mut cursor = record.cursor();
        let mut word = |bit: u64, name| if attribute.has(bit) { cursor.u64(name).map(Some) } else { Ok(None) };
        word(field::IDENTIFIER, "identifier")?;
        let ip = word(field::IP, "ip")?;
        let mut ids = (None, None);
        if attribute.has(field::TID) {
            ids = (Some(cursor.u32("pid")?), Some(cursor.u32("tid")?));
        }
        let mut word = |bit: u64, name| if attribute.has(bit) { cursor.u64(name).map(Some) } else { Ok(None) };
        let time = word(field::TIME, "time")?;
        word(field::ADDR, "address")?;
        word(field::ID, "id")?;
        word(field::STREAM_ID, "stream id")?;
        word(field::CPU, "cpu")?;
        let period = word(field::PERIOD, "period")?.unwrap_or_else(|| attribute.default_period());
        if attribute.has(field::READ) {
            skip_read_values(&mut cursor, attribute.read_format)?;
        }
        self.call_chain.clear();
        if attribute.has(field::CALLCHAIN) {
            let words = words(&mut cursor, "call chain")?;
            self.call_chain.extend(words.map(|word| record.endian.u64(word)));
        }
        if attribute.has(field::RAW) {
            let size = cursor.u32("raw size")?;
            cursor.take("raw data", size.into())?;
        }
        self.branches.clear();
        if attribute.has(field::BRANCH_STACK) {
            self.read_branches(&mut cursor, record.endian, attribute)?;
        }
        let mode = CpuMode::of_misc(record.header.misc);
        let (call_chain, branches) = (&self.call_chain[..], &self.branches[..]);
        Ok(Sample { pid: ids.0, tid: ids.1, time, event, period, ip, mode, call_chain, branches })
    }

    fn read_branches(&mut self, cursor: &mut Cursor<'_>, endian: Endian, attribute: &Attribute) -> Result<()> {
        let count = cursor.u64("number of branches")?;
        if attribute.has_hardware_index() {
            cursor.u64("hardware index")?;
        }
        let bytes = count.checked_mul(24).ok_or_else(|| cursor.place(too_many("branches", count)))?;
        for entry in cursor.take("branches", bytes)?.as_chunks::<24>().0 {
            let [from, to, _] = entry.as_chunks::<8>().0 else { continue };
            let branch = Branch { from: endian.u64(*from), to: endian.u64(*to) };
            // Unused entries of the hardware are zero.
            if branch != (Branch { from: 0, to: 0 }) {
                self.branches.push(branch);
            }
        }
        Ok(())
    }
}

/// The words of a list that begins with their number.
fn words<'a>(cursor: &mut Cursor<'a>, what: &'static str) -> Result<impl Iterator<Item = [u8; 8]> + use<'a>> {
    let count = cursor.u64(what)?;
    let bytes = count.checked_mul(8).ok_or_else(|| cursor.place(too_many(what, count)))?;
    Ok(cursor.take(what, bytes)?.as_chunks::<8>().0.iter().copied())
}

fn too_many(what: &str, count: u64) -> Error {
    Error::malformed(format!("{count} entries of the {what} do not fit into a record"))
}

/// Skips the values of counters in a sample.
fn skip_read_values(cursor: &mut Cursor<'_>, format: u64) -> Result<()> {
    let has = |bit: u32| format >> bit & 1;
    let (times, per_value) = (has(0) + has(1), 1 + has(2) + has(4));
    let is_group = format & GROUP_VALUES != 0;
    let count = if is_group { cursor.u64("number of values")? } else { 1 };
    let words = count.checked_mul(per_value).and_then(|words| words.checked_add(times));
    let bytes = words.and_then(|words| words.checked_mul(8));
    let bytes = bytes.ok_or_else(|| cursor.place(too_many("values", count)))?;
    cursor.take("values", bytes)?;
    Ok(())
}
