//! The table of sections.

use super::MAGIC;
use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::sampleprof::ReadOptions;
use crate::sampleprof::binary::tables::read_header;
use crate::sampleprof::binary::{NEXT_VERSION, VERSION};
use flate2::{Decompress, FlushDecompress, Status};
use std::borrow::Cow;
use std::fmt;

/// What a section holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SectionKind {
    /// The summary.
    Summary,
    /// Names.
    Names,
    /// The list of symbols.
    Symbols,
    /// Offsets of records.
    Offsets,
    /// Checksums and attributes.
    Metadata,
    /// Calling contexts.
    Contexts,
    /// The records.
    Records,
    /// Something else, by its number.
    Other(u32),
}

impl SectionKind {
    /// The kind of that number.
    pub fn of(number: u32) -> Self {
        match number {
            1 => Self::Summary,
            2 => Self::Names,
            3 => Self::Symbols,
            4 => Self::Offsets,
            5 => Self::Metadata,
            6 => Self::Contexts,
            32 => Self::Records,
            other => Self::Other(other),
        }
    }

    /// The number in the file.
    pub fn number(self) -> u32 {
        match self {
            Self::Summary => 1,
            Self::Names => 2,
            Self::Symbols => 3,
            Self::Offsets => 4,
            Self::Metadata => 5,
            Self::Contexts => 6,
            Self::Records => 32,
            Self::Other(number) => number,
        }
    }

    /// What LLVM calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Summary => "ProfileSummarySection",
            Self::Names => "NameTableSection",
            Self::Symbols => "ProfileSymbolListSection",
            Self::Offsets => "FuncOffsetTableSection",
            Self::Metadata => "FunctionMetadata",
            Self::Contexts => "CSNameTableSection",
            Self::Records => "LBRProfileSection",
            Self::Other(0) => "InvalidSection",
            Self::Other(_) => "UnknownSection",
        }
    }
}

/// Bits of [`Section::flags`] that all sections have, and that each kind has.
pub(super) mod flags {
    pub(in super::super) const COMPRESSED: u64 = 1;
    pub(in super::super) const FLAT: u64 = 1 << 1;
    /// Of the summary.
    pub(in super::super) const PARTIAL: u64 = 1 << 32;
    pub(in super::super) const CONTEXTS: u64 = 1 << 33;
    pub(in super::super) const FLOW_SENSITIVE: u64 = 1 << 34;
    pub(in super::super) const PREINLINED: u64 = 1 << 36;
    pub(in super::super) const VTABLES: u64 = 1 << 37;
    /// Of the names.
    pub(in super::super) const MD5: u64 = 1 << 32;
    pub(in super::super) const FIXED_MD5: u64 = 1 << 33;
    pub(in super::super) const UNIQUE_SUFFIX: u64 = 1 << 34;
    /// Of the offsets.
    pub(in super::super) const ORDERED: u64 = 1 << 32;
    /// Of the metadata.
    pub(in super::super) const PROBES: u64 = 1 << 32;
    pub(in super::super) const ATTRIBUTES: u64 = 1 << 33;
}

/// A row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// What it holds.
    pub kind: SectionKind,
    /// Common bits in the low half, those of the kind in the high one.
    pub flags: u64,
    /// From the start of the file.
    pub offset: u64,
    /// As stored.
    pub size: u64,
}

impl Section {
    pub(super) fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }

    /// A cursor in its content, whose places are those of the file unless it
    /// was compressed.
    pub(super) fn cursor<'data>(&self, content: &'data [u8]) -> Cursor<'data> {
        let base = if self.has(flags::COMPRESSED) { 0 } else { self.offset };
        Cursor::new(content, base, Endian::Little, self.kind.name())
    }

    /// The words that LLVM has for the flags.
    fn flag_words(&self) -> Vec<&'static str> {
        let mut words = Vec::new();
        let mut say = |flag, word| {
            if self.flags & flag != 0 {
                words.push(word);
            }
        };
        say(flags::COMPRESSED, "compressed");
        say(flags::FLAT, "flat");
        match self.kind {
            SectionKind::Names => {
                let fixed = self.flags & flags::FIXED_MD5 != 0;
                say(if fixed { flags::FIXED_MD5 } else { flags::MD5 }, if fixed { "fixlenmd5" } else { "md5" });
                say(flags::UNIQUE_SUFFIX, "uniq");
            }
            SectionKind::Summary => {
                say(flags::PARTIAL, "partial");
                say(flags::CONTEXTS, "context");
                say(flags::PREINLINED, "preInlined");
                say(flags::FLOW_SENSITIVE, "fs-discriminator");
            }
            SectionKind::Offsets => say(flags::ORDERED, "ordered"),
            SectionKind::Metadata => {
                say(flags::PROBES, "probe");
                say(flags::ATTRIBUTES, "attr");
            }
            _ => {}
        }
        words
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.flag_words().join(",");
        write!(f, "{} - Offset: {}, Size: {}, Flags: {{{words}}}", self.kind.name(), self.offset, self.size)
    }
}

/// The table, and where it ends.
pub(super) struct Header {
    pub(super) sections: Vec<Section>,
    pub(super) size: u64,
}

pub(super) fn read_table(file: &[u8], options: &ReadOptions) -> Result<Header> {
    let mut cursor = Cursor::new(file, 0, Endian::Little, "header");
    let versions = if options.reads_104() { &[VERSION, NEXT_VERSION][..] } else { &[VERSION] };
    read_header(&mut cursor, MAGIC, versions)?;
    cursor.enter("header table");
    let count = cursor.u64("number of sections")?;
    if count > cursor.left() / 32 {
        return Err(cursor.place(Error::truncated("table of sections", count.saturating_mul(32), cursor.left())));
    }
    let mut sections = Vec::with_capacity(count as usize);
    for _ in 0..count {
        sections.push(Section {
            kind: SectionKind::of(cursor.u64("type of a section")? as u32),
            flags: cursor.u64("flags of a section")?,
            offset: cursor.u64("offset of a section")?,
            size: cursor.u64("size of a section")?,
        });
    }
    Ok(Header { sections, size: cursor.position() })
}

/// The content of a section, decompressed.
pub(super) fn content<'data>(file: &'data [u8], section: &Section, limits: &Limits) -> Result<Cow<'data, [u8]>> {
    let name = section.kind.name();
    let end = section.offset.checked_add(section.size).and_then(|end| usize::try_from(end).ok());
    let stored = end.and_then(|end| file.get(section.offset as usize..end)).ok_or_else(|| {
        let left = (file.len() as u64).saturating_sub(section.offset);
        Error::truncated("a section", section.size, left).at(name, section.offset)
    })?;
    if !section.has(flags::COMPRESSED) {
        return Ok(Cow::Borrowed(stored));
    }
    let mut cursor = Cursor::new(stored, section.offset, Endian::Little, name);
    let size = read_uleb128(&mut cursor, "uncompressed size")?;
    let compressed = read_uleb128(&mut cursor, "compressed size")?;
    // A size that is too large shows when the stream does not end.
    let stream = cursor.take("compressed data", compressed.min(cursor.left()))?;
    inflate(stream, size, limits).map(Cow::Owned).map_err(|error| error.at(name, section.offset))
}

fn inflate(stream: &[u8], size: u64, limits: &Limits) -> Result<Vec<u8>> {
    let failed = |detail: String| Error::new(ErrorKind::UncompressFailed { detail });
    let most = (stream.len() as u64).saturating_mul(limits.inflate_ratio).min(limits.inflated_bytes);
    if size > most {
        return Err(failed(format!("{size} bytes cannot come of {}, the limit is {most}", stream.len())));
    }
    let mut text = crate::bytes::names::try_with_capacity(size as usize)?;
    let mut inflater = Decompress::new(true);
    match inflater.decompress_vec(stream, &mut text, FlushDecompress::Finish) {
        Ok(Status::StreamEnd) if text.len() as u64 == size => Ok(text),
        // LLVM takes what there is, and misses the rest when it reads the section.
        Ok(Status::StreamEnd) => {
            Err(Error::malformed(format!("the stream inflates to {} bytes, {size} were promised", text.len())))
        }
        Ok(_) => Err(failed(format!("the stream inflates to another size than the promised {size} bytes"))),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Where the last section of an extensible binary ends; what stands behind it no
/// reader looks at.
///
/// # Errors
///
/// Truncated and malformed, when there is no sound table of sections.
pub fn extent(file: &[u8], options: &ReadOptions) -> Result<u64> {
    let header = read_table(file, options)?;
    let ends = header.sections.iter().map(|section| section.offset.saturating_add(section.size));
    Ok(ends.max().unwrap_or_default().max(header.size))
}

/// What `llvm-profdata show --show-sec-info-only` prints.
///
/// # Errors
///
/// Those of reading the table.
pub fn describe_sections(file: &[u8], options: &ReadOptions) -> Result<String> {
    let header = read_table(file, options)?;
    let mut text = String::new();
    let mut total = 0u64;
    for section in &header.sections {
        text += &format!("{section}\n");
        total = total.wrapping_add(section.size);
    }
    text += &format!("Header Size: {}\nTotal Sections Size: {total}\nFile Size: {}\n", header.size, file.len());
    Ok(text)
}
