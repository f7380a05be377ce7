//! Reads the raw profiles of a file and merges them.

use crate::bytes::{Cursor, Endian};
use crate::cancel::Cancel;
use crate::digits::push_decimal;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::memory;
use crate::memory::{HOLD_INPUT, HOLD_STACKS};
use crate::memprof::fields::{Field, MemInfoBlock, Schema};
use crate::memprof::hotness::{HotnessThresholds, MemProfSummary};
use crate::memprof::model::{AllocSite, Frame, MemoryProfile, StackHandle};
use crate::memprof::yaml::write_summary;
use foldhash::HashMap;
#[cfg(feature = "correlate")]
use foldhash::HashSet;
use std::io;
use std::io::Write;

/// The first word of every raw profile: `\xFFmprofr\x81` as a big-endian number.
pub(crate) const MAGIC: u64 = 0xff6d_7072_6f66_7281;

/// Returns true if bytes start like a raw memory profile, in either byte order.
pub fn is_raw(data: &[u8]) -> bool {
    data.first_chunk().is_some_and(|magic| [u64::from_le_bytes(*magic), u64::from_be_bytes(*magic)].contains(&MAGIC))
}

/// Size of the header in bytes.
const HEADER_SIZE: u64 = 48;

/// The first version with build ids.
const BUILD_IDS_SINCE: u64 = 3;
/// The first version with histograms.
const HISTOGRAMS_SINCE: u64 = 4;
/// The first version with histograms of 16 bits per entry.
const SHORT_HISTOGRAMS_SINCE: u64 = 5;

/// An executable part of an image in the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Start address in memory.
    pub start: u64,
    /// End address in memory.
    pub end: u64,
    /// Load address of the image.
    pub offset: u64,
    /// The image's build id, in version 3 and later; empty if it has none.
    pub build_id: Vec<u8>,
}

/// The measurements of one call stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context<'data> {
    /// The id of the stack.
    pub stack_id: u64,
    /// The measurements.
    pub info: MemInfoBlock,
    /// Accesses to each 8 bytes. Empty if they were not counted.
    pub histogram: Vec<u64>,
    /// The addresses of the stack, leaf first.
    pub stack: Addresses<'data>,
}

/// The encoded addresses of a stack, leaf first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Addresses<'data>(&'data [[u8; 8]]);

impl Addresses<'_> {
    /// Returns the addresses.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.0.iter().map(|bytes| u64::from_le_bytes(*bytes))
    }
}

/// The merged raw profiles of a file. Data that only one of them has stays in the bytes of the file.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RawMemProf<'data> {
    /// The version of the last raw profile, 1 to 5.
    pub version: u64,
    /// The number of raw profiles.
    pub dumps: usize,
    /// Executable parts. Those of the program come first.
    pub segments: Vec<Segment>,
    /// Ends the reading and the look-up of addresses.
    pub(super) cancel: Cancel,
    /// The size of the file in bytes.
    size: usize,
    entries: Vec<Entry<'data>>,
    by_id: HashMap<u64, u32>,
    /// Entries with measurements, in order of first appearance.
    contexts: Vec<u32>,
    /// Entries with stacks, in the order of each raw profile, without duplicates.
    stack_order: Vec<Vec<u32>>,
}

/// The measurements and the stack of a stack id.
#[derive(Debug, Clone)]
struct Entry<'data> {
    id: u64,
    numbers: Numbers<'data>,
    stack: Option<Addresses<'data>>,
    /// The number of the last raw profile with the stack.
    dump: u32,
}

/// The measurements of a context.
#[derive(Debug, Clone)]
enum Numbers<'data> {
    /// Missing.
    None,
    /// From one raw profile: the block, and its histogram.
    Stored { bytes: &'data [u8], version: u8 },
    /// The sum of several raw profiles.
    Sum(Box<(MemInfoBlock, Vec<u64>)>),
}

impl<'data> RawMemProf<'data> {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Bad magic, unsupported version; truncated or malformed if a size, an offset or a number leads outside the raw
    /// profile; limit exceeded for stacks that are too deep.
    pub fn read(data: &'data [u8], limits: &Limits) -> Result<Self> {
        Self::read_until(data, limits, Cancel::default())
    }

    /// Like [`read`](Self::read), but this and [`resolve`](super::resolve()) fail at the next context or stack after
    /// cancellation.
    ///
    /// # Errors
    ///
    /// The errors of [`read`](Self::read); cancelled.
    pub(crate) fn read_until(data: &'data [u8], limits: &Limits, cancel: Cancel) -> Result<Self> {
        let mut profile = Self { size: data.len(), cancel, ..Self::default() };
        let mut cursor = Cursor::new(data, 0, Endian::Little, "header");
        while profile.dumps == 0 || !cursor.is_empty() {
            let (start, header) = (cursor.position(), Header::read(&mut cursor.clone())?);
            let version = header.version;
            let bytes = cursor.take("dump", header.total).map_err(|error| error.in_raw_memory_profile(version))?;
            let dump = Dump { bytes, start, header };
            profile.add_dump(&dump, limits).map_err(|error| error.in_raw_memory_profile(version))?;
        }
        Ok(profile)
    }

    /// Returns the size of the file in bytes.
    #[cfg(feature = "correlate")]
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Returns the contexts, in order of first appearance. Out of memory if a histogram cannot be allocated.
    pub fn contexts(&self) -> impl ExactSizeIterator<Item = Result<Context<'data>>> {
        self.contexts.iter().map(|at| {
            let entry = &self.entries[*at as usize];
            let (info, histogram) = entry.numbers.decode()?;
            Ok(Context { stack_id: entry.id, info, histogram, stack: entry.stack.unwrap_or_default() })
        })
    }

    /// Returns the stacks of the contexts, in the same order.
    pub fn stacks(&self) -> impl ExactSizeIterator<Item = Addresses<'data>> {
        self.contexts.iter().map(|at| self.entries[*at as usize].stack.unwrap_or_default())
    }

    /// Returns all stacks, in the iteration order of the map that a release of LLVM fills.
    #[cfg(feature = "correlate")]
    pub(super) fn stacks_in_map_order(
        &self,
        map_order: impl Fn(&[u64]) -> Vec<u32>,
    ) -> impl Iterator<Item = Addresses<'data>> {
        let in_map_order = |entries: &[u32]| -> Vec<u32> {
            let ids: Vec<u64> = entries.iter().map(|at| self.entries[*at as usize].id).collect();
            map_order(&ids).into_iter().map(|at| entries[at as usize]).collect()
        };
        // The map of the first raw profile is used directly. The others are iterated, and inserted into it.
        let mut dumps = self.stack_order.iter();
        let mut inserted = dumps.next().map_or(&[][..], Vec::as_slice).to_vec();
        let mut known: HashSet<u32> = HashSet::default();
        for dump in dumps {
            known.extend(&inserted);
            inserted.extend(in_map_order(dump).into_iter().filter(|at| !known.contains(at)));
        }
        in_map_order(&inserted).into_iter().filter_map(|at| self.entries[at as usize].stack)
    }

    /// Returns the distinct build ids of all segments.
    pub fn build_ids(&self) -> Vec<&[u8]> {
        let mut ids = Vec::new();
        for segment in &self.segments {
            let id = segment.build_id.as_slice();
            if !id.is_empty() && !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    fn add_dump(&mut self, dump: &Dump<'data>, limits: &Limits) -> Result<()> {
        let segments = dump.segments()?;
        if self.dumps != 0 && segments != self.segments {
            let detail = "the profiles in the file are from different processes: their segments differ";
            return Err(Error::malformed(detail).at("segments", dump.start + HEADER_SIZE));
        }
        (self.version, self.segments) = (dump.header.version, segments);
        self.dumps += 1;
        self.reserve(dump.most_contexts().saturating_sub(self.entries.len()))?;
        let version = dump.header.version as u8;
        dump.contexts(|id, bytes| self.add_numbers(id, Numbers::Stored { bytes, version }))?;
        self.stack_order.push(Vec::new());
        dump.stacks(limits, |id, addresses, place| self.add_stack(id, addresses, place))?;
        if let Some(at) = self.contexts.iter().find(|at| self.entries[**at as usize].stack.is_none()) {
            let id = self.entries[*at as usize].id;
            return Err(Error::malformed(format!("there is no stack with the id {id:#x} of a record"))
                .at("stacks", dump.start + dump.header.stacks)
                .with_llvm_detail(format!("memprof callstack record does not contain id: {id}")));
        }
        Ok(())
    }

    fn reserve(&mut self, entries: usize) -> Result<()> {
        memory::reserve(&mut self.by_id, entries, HOLD_STACKS)?;
        let made = self.entries.try_reserve_exact(entries).and_then(|()| self.contexts.try_reserve_exact(entries));
        made.map_err(|_| memory::refused(HOLD_STACKS))
    }

    /// Returns the entry of a stack id. Adds it if it is new.
    fn entry(&mut self, id: u64) -> u32 {
        // A stack takes at least 16 bytes, so 2^32 of them are more than an input can have.
        let at = *self.by_id.entry(id).or_insert(self.entries.len() as u32);
        if at as usize == self.entries.len() {
            let entry = Entry { id, numbers: Numbers::None, stack: None, dump: 0 };
            self.entries.push(entry);
        }
        at
    }

    fn add_numbers(&mut self, id: u64, later: Numbers<'data>) -> Result<()> {
        self.cancel.check()?;
        let at = self.entry(id);
        let known = &mut self.entries[at as usize].numbers;
        if let Numbers::None = known {
            *known = later;
            self.contexts.push(at);
            return Ok(());
        }
        let (mut info, mut histogram) = known.decode()?;
        let (later, more) = later.decode()?;
        info.add_later_dump(&later);
        histogram.resize(histogram.len().max(more.len()), 0);
        histogram.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
        *known = Numbers::Sum(Box::new((info, histogram)));
        Ok(())
    }

    fn add_stack(&mut self, id: u64, addresses: Addresses<'data>, place: u64) -> Result<()> {
        self.cancel.check()?;
        let dump = self.dumps as u32;
        // Stacks have the order of their records, so try the next one before a search.
        let next = self.stack_order.last().and_then(|order| order.last()).map_or(0, |last| *last + 1);
        let at = match self.entries.get(next as usize) {
            Some(entry) if entry.id == id => next,
            _ => self.entry(id),
        };
        let entry = &mut self.entries[at as usize];
        if entry.stack.is_some_and(|known| known != addresses) {
            let detail = format!("two stacks with the id {id:#x} have different addresses");
            return Err(Error::malformed(detail).at("stacks", place));
        }
        entry.stack = Some(addresses);
        if entry.dump != dump {
            entry.dump = dump;
            self.stack_order.last_mut().expect("a dump was begun").push(at);
        }
        Ok(())
    }
}

impl Numbers<'_> {
    fn decode(&self) -> Result<(MemInfoBlock, Vec<u64>)> {
        Ok(match self {
            Self::None => Default::default(),
            Self::Stored { bytes, version } => {
                let version = u64::from(*version);
                let (block, histogram) = bytes.split_at(schema_of(version).block_size().min(bytes.len()));
                (MemInfoBlock::from_stored(block), decode_histogram(histogram, version)?)
            }
            Self::Sum(sum) => (sum.0, sum.1.to_vec()),
        })
    }
}

/// Returns the fields of a version.
fn schema_of(version: u64) -> Schema {
    match version {
        1 => Schema::BEFORE_DENSITIES,
        2 | 3 => Schema::BEFORE_HISTOGRAMS,
        _ => Schema::FULL,
    }
}

/// The header of a raw profile.
#[derive(Debug, Clone, Copy)]
struct Header {
    version: u64,
    total: u64,
    segments: u64,
    records: u64,
    stacks: u64,
}

impl Header {
    fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let start = cursor.position();
        let place = |error: Error| error.at("header", start);
        let magic = cursor.u64("magic")?;
        if magic != MAGIC {
            let detail = format!("found {magic:#018x}, expected {MAGIC:#018x}");
            return Err(place(ErrorKind::BadMagic { detail }.into()));
        }
        let version = cursor.u64("version")?;
        if !(1..=5).contains(&version) {
            let detail = "supported versions of raw memory profiles are 1 to 5".to_string();
            return Err(place(ErrorKind::UnsupportedVersion { found: version, detail }.into()));
        }
        let (total, segments) = (cursor.u64("size of the profile")?, cursor.u64("offset of segments")?);
        let (records, stacks) = (cursor.u64("offset of records")?, cursor.u64("offset of stacks")?);
        let header = Self { version, total, segments, records, stacks };
        if total < HEADER_SIZE {
            return Err(place(Error::malformed(format!("a profile of {total} bytes is shorter than its header"))));
        }
        if !(HEADER_SIZE <= segments && segments <= records && records <= stacks && stacks <= total) {
            let detail =
                format!("segments at {segments}, records at {records} and stacks at {stacks} of {total} bytes");
            return Err(place(Error::bad_header(detail)));
        }
        Ok(header)
    }
}

/// One raw profile.
struct Dump<'data> {
    bytes: &'data [u8],
    start: u64,
    header: Header,
}

impl<'data> Dump<'data> {
    fn part(&self, from: u64, to: u64, name: &'static str) -> Cursor<'data> {
        // The header was checked: from <= to <= size of the raw profile.
        Cursor::new(&self.bytes[from as usize..to as usize], self.start + from, Endian::Little, name)
    }

    fn segments(&self) -> Result<Vec<Segment>> {
        let mut cursor = self.part(self.header.segments, self.header.records, "segments");
        let count = cursor.u64("number of segments")?;
        let mut segments = Vec::new();
        for _ in 0..count {
            let (start, end) = (cursor.u64("start of a segment")?, cursor.u64("end of a segment")?);
            let offset = cursor.u64("offset of a segment")?;
            let place = cursor.position();
            let has_id = self.header.version >= BUILD_IDS_SINCE;
            let len = if has_id { cursor.u64("size of a build id")? } else { 0 };
            let id = cursor.array::<32>("build id")?;
            let Some(id) = usize::try_from(len).ok().and_then(|len| id.get(..len)) else {
                return Err(
                    Error::malformed(format!("a build id has {len} bytes, at most 32 fit")).at("segments", place)
                );
            };
            segments.push(Segment { start, end, offset, build_id: id.to_vec() });
        }
        Ok(segments)
    }

    /// Returns the maximum number of contexts in a raw profile of this size.
    fn most_contexts(&self) -> usize {
        let size = 8 + schema_of(self.header.version).block_size() as u64;
        let fit = (self.header.stacks - self.header.records) / size;
        let said = self.part(self.header.records, self.header.stacks, "records").u64("number of records");
        said.map_or(0, |said| said.min(fit) as usize)
    }

    /// Passes the encoded measurements of each context to `take`.
    fn contexts(&self, mut take: impl FnMut(u64, &'data [u8]) -> Result<()>) -> Result<()> {
        let mut cursor = self.part(self.header.records, self.header.stacks, "records");
        let version = self.header.version;
        let size = schema_of(version).block_size() as u64;
        let entry_size = if version >= SHORT_HISTOGRAMS_SINCE { 2 } else { 8 };
        for _ in 0..cursor.u64("number of records")? {
            let stack_id = cursor.u64("stack id of a record")?;
            let mut ahead = cursor.clone();
            let block = MemInfoBlock::from_stored(ahead.take("numbers of a record", size)?);
            let entries = if version >= HISTOGRAMS_SINCE { block.value(Field::AccessHistogramSize) } else { 0 };
            ahead.take("histogram", entries * entry_size)?;
            take(stack_id, cursor.take("record", size + entries * entry_size)?)?;
        }
        Ok(())
    }

    fn stacks(&self, limits: &Limits, mut take: impl FnMut(u64, Addresses<'data>, u64) -> Result<()>) -> Result<()> {
        let mut cursor = self.part(self.header.stacks, self.header.total, "stacks");
        for _ in 0..cursor.u64("number of stacks")? {
            let place = cursor.position();
            let (id, count) = (cursor.u64("stack id")?, cursor.u64("number of addresses")?);
            if count > limits.context_depth.into() {
                return Err(crate::memprof::model::too_deep(count, limits).at("stacks", place));
            }
            let addresses = cursor.take("addresses of a stack", count * 8)?.as_chunks::<8>().0;
            take(id, Addresses(addresses), place)?;
        }
        Ok(())
    }
}

fn decode_histogram(stored: &[u8], version: u64) -> Result<Vec<u64>> {
    if version >= SHORT_HISTOGRAMS_SINCE {
        // 12 bits of number and 4 bits of exponent.
        let decode = |bytes: &[u8; 2]| {
            let entry = u64::from(u16::from_le_bytes(*bytes));
            (entry & 0xfff) << (entry >> 12)
        };
        return memory::collect(stored.as_chunks::<2>().0.iter().map(decode), HOLD_INPUT);
    }
    memory::collect(stored.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)), HOLD_INPUT)
}

// `show --memory` of a raw profile, with the bytes of LLVM 22.

/// Prints a raw profile. `profile` is the same profile with symbolized addresses, and `stacks` its number of call
/// stacks.
///
/// # Errors
///
/// The errors of `out`.
pub fn write(
    raw: &RawMemProf<'_>,
    profile: &MemoryProfile,
    stacks: usize,
    thresholds: &HotnessThresholds,
    out: &mut dyn Write,
) -> io::Result<()> {
    let summary = MemProfSummary::of(profile, thresholds);
    write_summary(&summary, None, out)?;
    let with_sites = profile.records().iter().filter(|record| !record.alloc_sites.is_empty()).count();
    writeln!(out, "MemprofProfile:\n  Summary:")?;
    writeln!(out, "    Version: {}", raw.version)?;
    writeln!(out, "    NumSegments: {}", raw.segments.len())?;
    writeln!(out, "    NumMibInfo: {}", profile.alloc_sites().count())?;
    writeln!(out, "    NumAllocFunctions: {with_sites}")?;
    writeln!(out, "    NumStackOffsets: {stacks}")?;
    writeln!(out, "  Segments:")?;
    for segment in &raw.segments {
        let id = match segment.build_id.as_slice() {
            [] => "<None>".to_string(),
            id => crate::ascii::to_hex(id),
        };
        writeln!(out, "  -\n    BuildId: {id}")?;
        for (name, address) in [("Start", segment.start), ("End", segment.end), ("Offset", segment.offset)] {
            writeln!(out, "    {name}: 0x{address:X}")?;
        }
    }
    writeln!(out, "  Records:")?;
    let frames = vec![Vec::new(); profile.stacks.frames().len()];
    let mut printer = Printer { profile, frames, text: Vec::new() };
    for record in profile.records() {
        printer.text.extend_from_slice(b"  -\n    FunctionGUID: ");
        printer.number(record.function);
        if !record.alloc_sites.is_empty() {
            printer.text.extend_from_slice(b"    AllocSites:\n");
        }
        for site in &record.alloc_sites {
            printer.alloc_site(site);
            printer.hand_over(out, PART)?;
        }
        if !record.call_sites.is_empty() {
            printer.text.extend_from_slice(b"    CallSites:\n");
        }
        for site in &record.call_sites {
            printer.frames(site.frames, b"    -\n      -\n");
            printer.hand_over(out, PART)?;
        }
    }
    printer.hand_over(out, 0)
}

/// The minimum number of bytes per write.
const PART: usize = 1 << 16;

struct Printer<'a> {
    profile: &'a MemoryProfile,
    /// The lines of each frame, created on demand.
    frames: Vec<Vec<u8>>,
    text: Vec<u8>,
}

impl Printer<'_> {
    /// Writes the text if it is long enough.
    fn hand_over(&mut self, out: &mut dyn Write, least: usize) -> io::Result<()> {
        if self.text.len() >= least {
            out.write_all(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }

    /// Appends a number and ends the line.
    fn number(&mut self, number: u64) {
        push_decimal(&mut self.text, number);
        self.text.push(b'\n');
    }

    fn alloc_site(&mut self, site: &AllocSite) {
        self.text.extend_from_slice(b"    -\n      Callstack:\n");
        self.frames(site.stack, b"      -\n");
        self.text.extend_from_slice(b"      MemInfoBlock:\n");
        for field in Field::all() {
            for part in ["        ", field.name(), ": "] {
                self.text.extend_from_slice(part.as_bytes());
            }
            self.number(site.info.value(field));
        }
        if let Some(histogram) = &site.histogram {
            self.text.extend_from_slice(b"        AccessHistogramValues:");
            for value in histogram.iter() {
                self.text.push(b' ');
                push_decimal(&mut self.text, *value);
            }
            self.text.push(b'\n');
        }
    }

    /// Appends the frames of a stack, each after `before`.
    fn frames(&mut self, stack: StackHandle, before: &[u8]) {
        for frame in self.profile.stacks.stack(stack) {
            let lines = &mut self.frames[frame.index()];
            if lines.is_empty() {
                *lines = frame_lines(self.profile.stacks.frame(*frame), self.profile);
            }
            self.text.extend_from_slice(before);
            self.text.extend_from_slice(lines);
        }
    }
}

fn frame_lines(frame: Frame, profile: &MemoryProfile) -> Vec<u8> {
    let Frame { function, line_offset, column, is_inline } = frame;
    let mut lines = format!("        Function: {function}\n").into_bytes();
    if let Some(name) = profile.names.get(&function) {
        lines.extend_from_slice(b"        SymbolName: ");
        lines.extend_from_slice(name);
        lines.push(b'\n');
    }
    let inline = u8::from(is_inline);
    let rest = format!("        LineOffset: {line_offset}\n        Column: {column}\n        Inline: {inline}\n");
    lines.extend_from_slice(rest.as_bytes());
    lines
}
