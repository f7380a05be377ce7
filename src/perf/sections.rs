//! The header of `perf.data` in a file, and its sections around the records.

use super::attributes::{Attribute, Attributes, LEAST_BYTES};
use super::features::Features;
use super::source::Source;
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, ErrorKind, Result};
use std::io::Read;

/// The size of the header of a recording in a pipe.
pub(super) const PIPE_HEADER_BYTES: usize = 16;
/// The size of the header of a file.
const FILE_HEADER_BYTES: u64 = 104;
const MAGIC: &[u8; 8] = b"PERFILE2";
const OLD_MAGIC: &[u8; 8] = b"PERFFILE";

/// The most bytes before the records, and after them.
const MOST_BYTES: u64 = 256 << 20;

/// A part of the file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Section {
    pub(super) offset: u64,
    pub(super) size: u64,
}

impl Section {
    fn read(cursor: &mut Cursor<'_>, name: &'static str) -> Result<Self> {
        Ok(Self { offset: cursor.u64(name)?, size: cursor.u64(name)? })
    }

    /// # Errors
    ///
    /// Malformed for an end beyond the largest offset.
    fn end(&self) -> Result<u64> {
        let end = self.offset.checked_add(self.size);
        end.ok_or_else(|| Error::bad_header(format!("a section of {} bytes at {}", self.size, self.offset)))
    }
}

/// The header of a file.
#[derive(Debug, Clone)]
pub(super) struct FileHeader {
    attribute_size: u64,
    attributes: Section,
    pub(super) data: Section,
    features: [u64; 4],
}

impl FileHeader {
    /// The byte order and the size of the header, from its first bytes.
    ///
    /// # Errors
    ///
    /// Bad magic; unsupported version for recordings of perf before 2009.
    pub(super) fn byte_order(start: &[u8]) -> Result<(Endian, u64)> {
        let Some((magic, size)) = start.split_first_chunk::<8>() else {
            return Err(Error::truncated("header", PIPE_HEADER_BYTES as u64, start.len() as u64).at("header", 0));
        };
        let reversed = { *magic }.map(|byte| byte).into_iter().rev();
        let endian = if magic == MAGIC {
            Endian::Little
        } else if reversed.eq(*MAGIC) {
            Endian::Big
        } else if magic == OLD_MAGIC {
            let detail = "perf of Linux 2.6.32 and later writes version 2".to_string();
            return Err(Error::new(ErrorKind::UnsupportedVersion { found: 1, detail }).at("header", 0));
        } else {
            let detail = format!("{} instead of PERFILE2", magic.escape_ascii());
            return Err(Error::new(ErrorKind::BadMagic { detail }).at("header", 0));
        };
        let size = size.first_chunk().map_or(0, |size| endian.u64(*size));
        Ok((endian, size))
    }

    /// Reads the header; the tail that an old one lacks is zero.
    fn read(bytes: &[u8], endian: Endian) -> Result<Self> {
        let mut whole = bytes.to_vec();
        whole.resize(FILE_HEADER_BYTES as usize, 0);
        let mut cursor = Cursor::new(&whole, 0, endian, "header");
        cursor.take("magic", PIPE_HEADER_BYTES as u64)?;
        let attribute_size = cursor.u64("attribute size")?;
        let attributes = Section::read(&mut cursor, "attributes")?;
        let data = Section::read(&mut cursor, "data")?;
        Section::read(&mut cursor, "event types")?;
        let mut features = [0; 4];
        for word in &mut features {
            *word = cursor.u64("features")?;
        }
        Ok(Self { attribute_size, attributes, data, features })
    }

    /// The numbers of the features, in order.
    fn features(&self) -> impl Iterator<Item = u32> + '_ {
        (0..256u32).filter(|bit| self.features[(bit / 64) as usize] >> (bit % 64) & 1 != 0)
    }
}

/// The bytes of a file before and after its records.
pub(super) struct Sections {
    pub(super) header: FileHeader,
    endian: Endian,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Sections {
    /// Reads everything before the records.
    ///
    /// # Errors
    ///
    /// Truncated; bad header; limit exceeded.
    pub(super) fn read_start(start: Vec<u8>, size: u64, source: &mut Source<'_>, endian: Endian) -> Result<Self> {
        let mut before = start;
        let rest = size.clamp(PIPE_HEADER_BYTES as u64, FILE_HEADER_BYTES) - PIPE_HEADER_BYTES as u64;
        let read = |source: &mut Source<'_>, len: u64, before: &mut Vec<u8>| -> Result<()> {
            let have = before.len() as u64;
            let error = || Error::truncated("header", have.saturating_add(len), have).at("header", have);
            if len > MOST_BYTES {
                let what = "size of the header of a recording";
                return Err(Error::above_limit(None, what, len, MOST_BYTES));
            }
            let len = usize::try_from(len).map_err(|_| error())?;
            before.extend_from_slice(source.take(len)?.ok_or_else(error)?);
            Ok(())
        };
        if size < 72 {
            return Err(Error::bad_header(format!("the header has {size} bytes")).at("header", 8));
        }
        read(source, rest, &mut before)?;
        let header = FileHeader::read(&before, endian)?;
        header.data.end()?;
        let Some(rest) = header.data.offset.checked_sub(before.len() as u64) else {
            let detail = format!("the data begin at {}, in the header", header.data.offset);
            return Err(Error::bad_header(detail).at("header", 40));
        };
        read(source, rest, &mut before)?;
        Ok(Self { header, endian, before, after: Vec::new() })
    }

    /// Whether the attributes are before the records.
    pub(super) fn has_attributes(&self) -> bool {
        let end = self.header.attributes.end();
        end.is_ok_and(|end| end <= self.before.len() as u64)
    }

    /// Reads what follows the records, from the beginning of the file.
    pub(super) fn read_end(&mut self, stream: &mut dyn Read) -> Result<()> {
        let failed = |source| Error::io("cannot read", source);
        let end = self.header.data.end()?;
        std::io::copy(&mut stream.take(end), &mut std::io::sink()).map_err(failed)?;
        stream.take(MOST_BYTES).read_to_end(&mut self.after).map_err(failed)?;
        Ok(())
    }

    /// Reads what follows the records, if it was not read yet.
    pub(super) fn read_rest(&mut self, source: &mut Source<'_>) -> Result<()> {
        if self.after.is_empty() {
            self.after = source.rest(MOST_BYTES)?;
        }
        Ok(())
    }

    /// The bytes of a section outside the records.
    ///
    /// # Errors
    ///
    /// Truncated; malformed.
    fn bytes(&self, section: Section, name: &'static str) -> Result<&[u8]> {
        let end = section.end()?;
        let start = self.header.data.end()?;
        let (bytes, base) = if end <= self.before.len() as u64 { (&self.before, 0) } else { (&self.after, start) };
        let from = section.offset.checked_sub(base).and_then(|from| usize::try_from(from).ok());
        let found = from.and_then(|from| bytes.get(from..)?.get(..usize::try_from(section.size).ok()?));
        let have = (bytes.len() as u64).saturating_add(base).saturating_sub(section.offset);
        found.ok_or_else(|| Error::truncated(name, section.size, have).at(name, section.offset))
    }

    /// Reads the attributes with their ids.
    ///
    /// # Errors
    ///
    /// Bad header; truncated; limit exceeded.
    pub(super) fn add_attributes(&self, attributes: &mut Attributes) -> Result<()> {
        let (size, section) = (self.header.attribute_size, self.header.attributes);
        if size < LEAST_BYTES + 16 || !section.size.is_multiple_of(size) {
            let detail = format!("{} bytes of attributes of {size} bytes each", section.size);
            return Err(Error::bad_header(detail).at("header", 16));
        }
        let bytes = self.bytes(section, "attributes")?;
        let mut cursor = Cursor::new(bytes, section.offset, self.endian, "attributes");
        while !cursor.is_empty() {
            let at = cursor.position();
            let attribute = Attribute::read(cursor.take("event attribute", size - 16)?, at, self.endian)?;
            let ids = self.bytes(Section::read(&mut cursor, "ids")?, "ids")?;
            attributes.add(attribute, ids.as_chunks::<8>().0.iter().map(|id| self.endian.u64(*id)))?;
        }
        Ok(())
    }

    /// Reads the features.
    ///
    /// # Errors
    ///
    /// Truncated for the first feature that is not there; the ones before were read.
    pub(super) fn read_features(&self, features: &mut Features, attributes: &mut Attributes) -> Result<()> {
        let start = self.header.data.end()?;
        let mut table = Cursor::new(&self.after, start, self.endian, "features");
        for number in self.header.features() {
            let section = Section::read(&mut table, "feature")?;
            let content = self.bytes(section, "feature")?;
            features.read(number, content, section.offset, self.endian, attributes)?;
        }
        Ok(())
    }
}
