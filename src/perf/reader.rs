//! `perf.data`, in a file or from a pipe: one pass, and memory for the records of two rounds.
//!
//! ```text
//! file   header, ids, attributes, data (records), features
//! pipe   short header, records to the end; attributes and features are records
//! ```

use super::attributes::Attributes;
use super::event::Event;
use super::features::{Features, read_attribute_record};
use super::order::Queue;
use super::records::{EventReader, HEADER_BYTES, Header, Record, kind};
use super::sections::{FileHeader, PIPE_HEADER_BYTES, Sections};
use super::source::Source;
use crate::bytes::Endian;
use crate::compression::ZstdChunks;
use crate::digits::number_of;
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::limits::Limits;
use std::collections::BTreeMap;
use std::io::Read;

/// Counts of what was read, and of what was not.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadCounts {
    /// Samples that were delivered.
    pub(crate) samples: Vec<u64>,
    /// Records that the kernel could not write.
    pub(crate) lost: u64,
    /// Records that could not be read, by reason.
    pub(crate) dropped: BTreeMap<&'static str, u64>,
    /// Records that say nothing about code, by type.
    pub(crate) skipped: BTreeMap<u32, u64>,
    /// Samples of an unknown id, counted for the first event.
    pub(crate) unknown_ids: u64,
    /// Records that came later than the rounds allow.
    pub(crate) late: u64,
    /// Why the records after an offset were not read.
    pub(crate) stopped: Option<String>,
    /// Whether records were compressed.
    pub(crate) is_compressed: bool,
}

impl ReadCounts {
    /// Returns warnings about the data that was not read.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if let Some(reason) = &self.stopped {
            warnings.push(Warning::of_loss(format!("the end of the recording was not read: {reason}")));
        }
        for (reason, count) in &self.dropped {
            warnings.push(Warning::of_loss(format!("dropped {}: {reason}", number_of(*count, "record"))));
        }
        if self.lost > 0 {
            warnings.push(Warning::new(format!("the kernel lost {}", number_of(self.lost, "record"))));
        }
        if self.unknown_ids > 0 {
            warnings.push(Warning::new(format!(
                "{} of an unknown event count for the first",
                number_of(self.unknown_ids, "sample")
            )));
        }
        if self.late > 0 {
            warnings.push(Warning::new(format!("{} too late for the order of time", number_of(self.late, "record"))));
        }
        warnings
    }
}

/// A recording without its records.
#[derive(Debug)]
pub(crate) struct Recording {
    /// The events.
    pub(crate) attributes: Attributes,
    /// The machine and the run.
    pub(crate) features: Features,
    /// Counts.
    pub(crate) counts: ReadCounts,
    /// The byte order.
    pub(crate) endian: Endian,
    /// Whether it was written to a pipe.
    pub(crate) is_piped: bool,
}

/// Opens the recording; called again if the attributes of a file follow its data.
pub(crate) type Open<'o> = dyn Fn() -> Result<Box<dyn Read + 'o>> + 'o;

/// Returns true for the start of a recording.
pub(crate) fn is_recording(bytes: &[u8]) -> bool {
    [b"PERFILE2", b"2ELIFREP"].iter().any(|magic| bytes.starts_with(*magic))
}

/// Reads a recording; `visit` gets its events in order of time.
///
/// Damage in the records ends the reading: [`ReadCounts::stopped`] has the reason.
///
/// # Errors
///
/// Bad magic, bad header, truncated, for a header that cannot be read; unsupported for version 1, and for the file `data` of
/// `perf record --threads` if it has no samples; limit exceeded; the
/// errors of `visit` and of the stream.
pub(crate) fn read_recording(
    open: &Open<'_>,
    limits: &Limits,
    visit: &mut dyn FnMut(&Attributes, Event<'_>) -> Result<()>,
) -> Result<Recording> {
    let mut source = Source::new(open()?);
    let Some(start) = source.take(PIPE_HEADER_BYTES)?.map(<[u8]>::to_vec) else {
        return Err(Error::truncated(
            "header",
            PIPE_HEADER_BYTES as u64,
            source.rest(PIPE_HEADER_BYTES as u64)?.len() as u64,
        )
        .at("header", 0));
    };
    let (endian, header_size) = FileHeader::byte_order(&start)?;
    let is_piped = header_size == PIPE_HEADER_BYTES as u64;
    let mut reader = Reader {
        recording: Recording {
            attributes: Attributes::default(),
            features: Features::default(),
            counts: ReadCounts::default(),
            endian,
            is_piped,
        },
        queue: Queue::default(),
        events: EventReader::default(),
        zstd: None,
        split: Vec::new(),
        limits,
        visit,
    };
    if is_piped {
        reader.read_records(&mut source, None)?;
        reader.finish()?;
        return Ok(reader.recording);
    }
    let mut sections = Sections::read_start(start, header_size, &mut source, endian)?;
    if !sections.has_attributes() {
        sections.read_end(&mut *open()?)?;
    }
    sections.add_attributes(&mut reader.recording.attributes)?;
    let data = sections.header.data;
    reader.read_records(&mut source, (data.size != 0).then_some(data.size))?;
    reader.finish()?;
    let mut recording = reader.recording;
    if data.size == 0 {
        recording.counts.stopped.get_or_insert_with(|| "the recording was not finished".to_string());
    } else if recording.counts.stopped.is_none() {
        sections.read_rest(&mut source)?;
        let Recording { features, attributes, counts, .. } = &mut recording;
        counts.stopped = sections.read_features(features, attributes).err().map(|error| error.to_string());
    }
    if recording.features.is_directory && recording.counts.samples.iter().all(|count| *count == 0) {
        return Err(samples_elsewhere());
    }
    Ok(recording)
}

/// Returns the error for the file `data` in the directory that `perf record --threads` writes.
fn samples_elsewhere() -> Error {
    let what = "a recording whose samples are in the other files of its directory (perf record --threads)".to_string();
    Error::new(ErrorKind::Unsupported { what }).with_hint(
        "pass the output of `perf script -i DIRECTORY`, which reads all files, or record without this option",
    )
}

struct Reader<'r> {
    recording: Recording,
    queue: Queue,
    events: EventReader,
    zstd: Option<ZstdChunks>,
    /// The beginning of a record whose rest is in the next compressed record.
    split: Vec<u8>,
    limits: &'r Limits,
    visit: &'r mut dyn FnMut(&Attributes, Event<'_>) -> Result<()>,
}

impl Reader<'_> {
    /// Reads the records of a section, or of the stream.
    fn read_records(&mut self, source: &mut Source<'_>, size: Option<u64>) -> Result<()> {
        source.enter_section(size.unwrap_or(u64::MAX));
        let mut record = Vec::new();
        let end = size.map(|size| source.position.saturating_add(size));
        loop {
            let offset = source.position;
            if source.position > self.limits.stream_bytes && end.is_none() {
                let (what, limit) = ("size of the recording", self.limits.stream_bytes);
                return Err(Error::above_limit(Some("stream-bytes"), what, source.position, limit));
            }
            let Some(start) = source.take(HEADER_BYTES)? else {
                let is_whole = end.is_none_or(|end| end == offset) && source.take(1)?.is_none();
                if !is_whole {
                    self.stop(offset, "the last record is truncated");
                }
                return Ok(());
            };
            let Some(start) = start.first_chunk() else { return Ok(()) };
            let header = Header::read(*start, self.recording.endian);
            let Some(len) = usize::from(header.size).checked_sub(HEADER_BYTES) else {
                self.stop(offset, &format!("a record has {} bytes", header.size));
                return Ok(());
            };
            record.clear();
            record.extend_from_slice(start);
            let Some(body) = source.take(len)? else {
                self.stop(offset, "the last record is truncated");
                return Ok(());
            };
            record.extend_from_slice(body);
            if let Some(data) = data_after(&header, &record, self.recording.endian)
                && !source.skip(data)?
            {
                self.stop(offset, "the data after a record is truncated");
                return Ok(());
            }
            if !self.add_record(header, &record, offset)? {
                return Ok(());
            }
        }
    }

    fn stop(&mut self, offset: u64, reason: &str) {
        let reason = format!("{reason} at offset {offset}");
        self.recording.counts.stopped.get_or_insert(reason);
    }

    /// Adds a record of the file; returns false if none can follow.
    fn add_record(&mut self, header: Header, bytes: &[u8], offset: u64) -> Result<bool> {
        let body = bytes.get(HEADER_BYTES..).unwrap_or_default();
        let payload = match header.kind {
            kind::COMPRESSED => Some(body),
            kind::COMPRESSED2 => {
                let len = body.first_chunk().map(|len| self.recording.endian.u64(*len));
                let len = len.and_then(|len| usize::try_from(len).ok());
                Some(len.and_then(|len| body.get(8..)?.get(..len)).unwrap_or_default())
            }
            _ => None,
        };
        match payload {
            Some(payload) => self.add_compressed(payload, offset),
            None => self.add_plain(header, bytes, offset).map(|()| true),
        }
    }

    /// Adds the records of compressed data; the last one may be continued in the next data.
    fn add_compressed(&mut self, payload: &[u8], offset: u64) -> Result<bool> {
        self.recording.counts.is_compressed = true;
        let mut zstd = match self.zstd.take() {
            Some(zstd) => zstd,
            None => ZstdChunks::new(self.limits)?,
        };
        let mut rest = payload;
        let mut decompressed = std::mem::take(&mut self.split);
        loop {
            match zstd.decompress(&mut rest, &mut decompressed) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::LimitExceeded { .. }) => return Err(error),
                Err(error) => {
                    self.stop(offset, &error.to_string());
                    return Ok(false);
                }
            }
            let mut used = 0;
            while let Some(start) = decompressed.get(used..).and_then(|left| left.first_chunk()) {
                let header = Header::read(*start, self.recording.endian);
                let is_compressed = matches!(header.kind, kind::COMPRESSED | kind::COMPRESSED2);
                if usize::from(header.size) < HEADER_BYTES || is_compressed {
                    self.stop(offset, "compressed data holds no record");
                    return Ok(false);
                }
                let end = used + usize::from(header.size);
                let Some(record) = decompressed.get(used..end) else { break };
                self.add_plain(header, record, offset)?;
                used = end;
            }
            decompressed.drain(..used);
        }
        self.split = decompressed;
        self.zstd = Some(zstd);
        Ok(true)
    }

    /// Handles a record of perf at once, and puts the others in order.
    fn add_plain(&mut self, header: Header, bytes: &[u8], offset: u64) -> Result<()> {
        let endian = self.recording.endian;
        let record = record_of(header, bytes, offset, endian);
        if header.kind >= kind::FIRST_OF_PERF {
            return self.handle(record);
        }
        let attributes = &self.recording.attributes;
        let attribute = attributes.get(record.event(attributes).0);
        match attribute.and_then(|attribute| record.time(attribute)) {
            Some(time) => {
                self.queue.push(time, bytes, offset);
                if self.queue.is_full() { self.deliver() } else { Ok(()) }
            }
            None => deliver(&mut self.recording, &mut self.events, record, self.visit),
        }
    }

    /// Handles a record that perf wrote.
    fn handle(&mut self, record: Record<'_>) -> Result<()> {
        let Recording { attributes, features, counts, endian, is_piped } = &mut self.recording;
        let (body, offset, endian) = (record.body, record.offset, *endian);
        let read = match record.header.kind {
            kind::ATTR => read_attribute_record(body, offset, endian, attributes),
            kind::BUILD_ID => {
                features.add_build_id(record.header.misc, body);
                Ok(())
            }
            kind::FINISHED_ROUND => {
                self.queue.finish_round();
                return self.deliver();
            }
            kind::EVENT_UPDATE => read_update(&record, attributes),
            kind::FEATURE if *is_piped => {
                let mut cursor = record.cursor();
                cursor.u64("feature").and_then(|number| {
                    let number = u32::try_from(number).unwrap_or(u32::MAX);
                    features.read(number, cursor.rest(), cursor.position(), endian, attributes)
                })
            }
            other => {
                *counts.skipped.entry(other).or_default() += 1;
                Ok(())
            }
        };
        match read {
            Err(error) if matches!(error.kind(), ErrorKind::LimitExceeded { .. }) => Err(error),
            Err(_) => {
                *counts.dropped.entry(MALFORMED).or_default() += 1;
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Delivers what is due.
    fn deliver(&mut self) -> Result<()> {
        while let Some(waiting) = self.queue.pop() {
            let bytes = self.queue.bytes(&waiting);
            let Some(start) = bytes.first_chunk() else { continue };
            let header = Header::read(*start, self.recording.endian);
            let record = record_of(header, bytes, waiting.offset, self.recording.endian);
            deliver(&mut self.recording, &mut self.events, record, self.visit)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        if !self.split.is_empty() && self.recording.counts.stopped.is_none() {
            self.recording.counts.stopped = Some("the compressed records are truncated".to_string());
        }
        self.queue.finish();
        self.deliver()?;
        self.recording.counts.late = self.queue.late;
        Ok(())
    }
}

fn record_of(header: Header, bytes: &[u8], offset: u64, endian: Endian) -> Record<'_> {
    let body = bytes.get(HEADER_BYTES..).unwrap_or_default();
    Record { header, body, offset: offset + HEADER_BYTES as u64, endian }
}

/// The reason of records with fields beyond their end.
const MALFORMED: &str = "malformed";

/// Reads a record and passes its event on.
fn deliver(
    recording: &mut Recording,
    events: &mut EventReader,
    record: Record<'_>,
    visit: &mut dyn FnMut(&Attributes, Event<'_>) -> Result<()>,
) -> Result<()> {
    let Recording { attributes, counts, .. } = recording;
    let (at, is_known) = record.event(attributes);
    let unknown = super::attributes::Attribute::default();
    if record.header.kind == kind::SAMPLE && attributes.list().is_empty() {
        *counts.dropped.entry("samples before the description of their event").or_default() += 1;
        return Ok(());
    }
    match events.read(&record, at, attributes.get(at).unwrap_or(&unknown)) {
        Ok(Some(event)) => {
            match &event {
                Event::Sample(_) => {
                    if counts.samples.len() <= at {
                        counts.samples.resize(at + 1, 0);
                    }
                    counts.samples[at] += 1;
                    counts.unknown_ids += u64::from(!is_known);
                }
                Event::Lost(lost) => counts.lost = counts.lost.saturating_add(*lost),
                _ => {}
            }
            visit(attributes, event)
        }
        Ok(None) => {
            *counts.skipped.entry(record.header.kind).or_default() += 1;
            Ok(())
        }
        Err(_) => {
            let reason = if record.header.kind == kind::SAMPLE { "malformed samples" } else { MALFORMED };
            *counts.dropped.entry(reason).or_default() += 1;
            Ok(())
        }
    }
}

/// Reads the name that an event gets later.
fn read_update(record: &Record<'_>, attributes: &mut Attributes) -> Result<()> {
    const NAME: u64 = 2;
    let mut cursor = record.cursor();
    let (what, id) = (cursor.u64("kind of update")?, cursor.u64("id")?);
    if what == NAME {
        attributes.name(id, &String::from_utf8_lossy(super::records::until_zero(cursor.rest())));
    }
    Ok(())
}

/// The number of bytes that follow a record and belong to it.
fn data_after(header: &Header, record: &[u8], endian: Endian) -> Option<u64> {
    let body = record.get(HEADER_BYTES..)?;
    match header.kind {
        kind::AUXTRACE => Some(endian.u64(*body.first_chunk()?)),
        kind::TRACING_DATA => Some(u64::from(endian.u32(*body.first_chunk()?)).next_multiple_of(8)),
        _ => None,
    }
}
