//! Reading the dumps of a file and adding them up.

use crate::bytes::{Cursor, Endian};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::memprof::fields::{Field, MemInfoBlock, Schema};
use foldhash::{HashMap, HashSet};

/// First word of every dump: `\xFFmprofr\x81` read as a big-endian number.
pub(crate) const MAGIC: u64 = 0xff6d_7072_6f66_7281;

/// Bytes of the header.
const HEADER_SIZE: u64 = 48;

/// Versions with build ids.
const BUILD_IDS_SINCE: u64 = 3;
/// Versions with histograms.
const HISTOGRAMS_SINCE: u64 = 4;
/// Versions with histograms of 16 bits an entry.
const SHORT_HISTOGRAMS_SINCE: u64 = 5;

/// An executable part of an image of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Where it began in memory.
    pub start: u64,
    /// Where it ended.
    pub end: u64,
    /// Where the image was loaded.
    pub offset: u64,
    /// The image's build id, from version 3 on; empty when it has none.
    pub build_id: Vec<u8>,
}

/// What was measured along one stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// Its stack.
    pub stack_id: u64,
    /// The numbers.
    pub info: MemInfoBlock,
    /// Accesses to each 8 bytes; empty when they were not counted.
    pub histogram: Vec<u64>,
}

/// The dumps of a file, added up.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RawMemProf {
    /// Version of the last dump, 1 to 5.
    pub version: u64,
    /// How many dumps there are.
    pub dumps: usize,
    /// Executable parts, the program's own first.
    pub segments: Vec<Segment>,
    /// Contexts, in order of first appearance.
    pub contexts: Vec<Context>,
    by_stack: HashMap<u64, usize>,
    /// Addresses of each stack, leaf first.
    stacks: HashMap<u64, Vec<u64>>,
    /// Stack ids dump by dump, as they stand there; each only once.
    stack_order: Vec<Vec<u64>>,
    /// Those of the dump at hand.
    stacks_of_dump: HashSet<u64>,
}

impl RawMemProf {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Bad magic, unsupported version; truncated or malformed where a size, an
    /// offset or a number leads outside of a dump; limit exceeded for stacks
    /// that are too deep.
    pub fn read(data: &[u8], limits: &Limits) -> Result<Self> {
        let mut profile = Self::default();
        let mut cursor = Cursor::new(data, 0, Endian::Little, "header");
        while profile.dumps == 0 || !cursor.is_empty() {
            let (start, header) = (cursor.position(), Header::read(&mut cursor.clone())?);
            let version = header.version;
            let bytes = cursor
                .take("dump", header.total)
                .map_err(|error| error.in_format(format!("memprof raw v{version}")))?;
            let dump = Dump { bytes, start, header };
            profile.add_dump(&dump, limits).map_err(|error| error.in_format(format!("memprof raw v{version}")))?;
        }
        Ok(profile)
    }

    /// The addresses of a stack, leaf first.
    pub fn stack(&self, id: u64) -> Option<&[u64]> {
        self.stacks.get(&id).map(Vec::as_slice)
    }

    /// The ids of all stacks, as a map of a release of LLVM yields them into
    /// which they were put dump by dump.
    #[cfg(feature = "correlate")]
    pub(super) fn stack_ids(&self, map_order: impl Fn(&[u64]) -> Vec<u32>) -> Vec<u64> {
        let mut inserted: Vec<u64> = Vec::new();
        for ids in &self.stack_order {
            let order = map_order(ids);
            let known: HashSet<u64> = inserted.iter().copied().collect();
            // The first dump's map is kept; others are walked and put into it.
            if inserted.is_empty() {
                inserted.clone_from(ids);
            } else {
                inserted.extend(order.into_iter().map(|at| ids[at as usize]).filter(|id| !known.contains(id)));
            }
        }
        map_order(&inserted).into_iter().map(|at| inserted[at as usize]).collect()
    }

    /// The build ids of all segments that have one, each once.
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

    fn add_dump(&mut self, dump: &Dump<'_>, limits: &Limits) -> Result<()> {
        let segments = dump.segments()?;
        if self.dumps != 0 && segments != self.segments {
            let detail = "the dumps of the file come from different processes: their segments differ";
            return Err(Error::malformed(detail).at("segments", dump.start + HEADER_SIZE));
        }
        (self.version, self.segments) = (dump.header.version, segments);
        self.dumps += 1;
        dump.contexts(|context| self.add_context(context))?;
        self.stack_order.push(Vec::new());
        self.stacks_of_dump.clear();
        dump.stacks(limits, |id, addresses, place| self.add_stack(id, addresses, place))?;
        if let Some(context) = self.contexts.iter().find(|context| !self.stacks.contains_key(&context.stack_id)) {
            let id = context.stack_id;
            return Err(Error::malformed(format!("there is no stack with the id {id:#x} of a record"))
                .at("stacks", dump.start + dump.header.stacks)
                .with_llvm_detail(format!("memprof callstack record does not contain id: {id}")));
        }
        Ok(())
    }

    fn add_context(&mut self, context: Context) {
        match self.by_stack.get(&context.stack_id) {
            None => {
                self.by_stack.insert(context.stack_id, self.contexts.len());
                self.contexts.push(context);
            }
            Some(at) => {
                let known = &mut self.contexts[*at];
                known.info.add_later_dump(&context.info);
                let (mut sum, other) = (std::mem::take(&mut known.histogram), context.histogram);
                sum.resize(sum.len().max(other.len()), 0);
                sum.iter_mut().zip(other).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
                known.histogram = sum;
            }
        }
    }

    fn add_stack(&mut self, id: u64, addresses: Vec<u64>, place: u64) -> Result<()> {
        let differs = self.stacks.get(&id).is_some_and(|known| *known != addresses);
        if differs {
            let detail = format!("the stack with the id {id:#x} has other addresses than before");
            return Err(Error::malformed(detail).at("stacks", place));
        }
        self.stacks.insert(id, addresses);
        if self.stacks_of_dump.insert(id) {
            self.stack_order.last_mut().expect("a dump was begun").push(id);
        }
        Ok(())
    }
}

/// The header of a dump.
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
            let detail = "raw memory profile versions 1 to 5 are known".to_string();
            return Err(place(ErrorKind::UnsupportedVersion { found: version, detail }.into()));
        }
        let (total, segments) = (cursor.u64("size of the dump")?, cursor.u64("offset of segments")?);
        let (records, stacks) = (cursor.u64("offset of records")?, cursor.u64("offset of stacks")?);
        let header = Self { version, total, segments, records, stacks };
        if total < HEADER_SIZE {
            return Err(place(Error::malformed(format!("a dump of {total} bytes is shorter than its header"))));
        }
        if !(HEADER_SIZE <= segments && segments <= records && records <= stacks && stacks <= total) {
            let detail =
                format!("segments at {segments}, records at {records} and stacks at {stacks} of {total} bytes");
            return Err(place(Error::bad_header(detail)));
        }
        Ok(header)
    }
}

/// One dump.
struct Dump<'data> {
    bytes: &'data [u8],
    start: u64,
    header: Header,
}

impl<'data> Dump<'data> {
    fn part(&self, from: u64, to: u64, name: &'static str) -> Cursor<'data> {
        // The header was checked: from <= to <= size of the dump.
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

    fn contexts(&self, mut take: impl FnMut(Context)) -> Result<()> {
        let mut cursor = self.part(self.header.records, self.header.stacks, "records");
        let version = self.header.version;
        let schema = match version {
            1 => Schema::BEFORE_DENSITIES,
            2 | 3 => Schema::BEFORE_HISTOGRAMS,
            _ => Schema::FULL,
        };
        for _ in 0..cursor.u64("number of records")? {
            let stack_id = cursor.u64("stack id of a record")?;
            let mut info = MemInfoBlock::default();
            for field in schema.fields() {
                let value =
                    if field.width() == 4 { cursor.u32(field.name())?.into() } else { cursor.u64(field.name())? };
                info.set(field, value);
            }
            let entries = if version >= HISTOGRAMS_SINCE { info.value(Field::AccessHistogramSize) } else { 0 };
            take(Context { stack_id, info, histogram: read_histogram(&mut cursor, entries, version)? });
        }
        Ok(())
    }

    fn stacks(&self, limits: &Limits, mut take: impl FnMut(u64, Vec<u64>, u64) -> Result<()>) -> Result<()> {
        let mut cursor = self.part(self.header.stacks, self.header.total, "stacks");
        for _ in 0..cursor.u64("number of stacks")? {
            let place = cursor.position();
            let (id, count) = (cursor.u64("stack id")?, cursor.u64("number of addresses")?);
            if count > limits.context_depth.into() {
                return Err(crate::memprof::too_deep(count, limits).at("stacks", place));
            }
            let addresses = cursor.take("addresses of a stack", count * 8)?.as_chunks::<8>().0;
            take(id, addresses.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect(), place)?;
        }
        Ok(())
    }
}

fn read_histogram(cursor: &mut Cursor<'_>, entries: u64, version: u64) -> Result<Vec<u64>> {
    if version >= SHORT_HISTOGRAMS_SINCE {
        // 12 bits of number and 4 bits of exponent.
        let decode = |bytes: &[u8; 2]| {
            let entry = u64::from(u16::from_le_bytes(*bytes));
            (entry & 0xfff) << (entry >> 12)
        };
        let entries = cursor.take("histogram", entries.saturating_mul(2))?;
        return Ok(entries.as_chunks::<2>().0.iter().map(decode).collect());
    }
    let entries = cursor.take("histogram", entries.saturating_mul(8))?;
    Ok(entries.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
}
