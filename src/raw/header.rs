//! The header of a raw profile, and the sections that its sizes announce.
//!
//! Every size is compared with the bytes that are left in the file before it is used.

use super::layout::{self, RecordLayout, Section, VTableRecord, Word};
use crate::bytes::{Cursor, Encoding, Endian, PointerWidth};
use crate::compat::{Compat, LLVM_22_RAW_VERSION};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{BinaryId, ProfileKind, release};
use std::ops::Range;

/// Bytes of the magic number.
pub(crate) const MAGIC_SIZE: usize = 8;

/// The magic number of a byte order and pointer width.
pub(crate) fn magic(endian: Endian, pointer: PointerWidth) -> [u8; MAGIC_SIZE] {
    let letter = match pointer {
        PointerWidth::Bits32 => b'R',
        PointerWidth::Bits64 => b'r',
    };
    let number = u64::from_be_bytes([0xff, b'l', b'p', b'r', b'o', b'f', letter, 0x81]);
    endian.u64_bytes(number)
}

/// Byte order and pointer width that the first bytes of `data` announce, or
/// `None` if they do not begin a raw profile.
pub(crate) fn detect(data: &[u8]) -> Option<(Endian, PointerWidth)> {
    let found = data.first_chunk::<MAGIC_SIZE>()?;
    let all = [Endian::Little, Endian::Big]
        .into_iter()
        .flat_map(|endian| [PointerWidth::Bits64, PointerWidth::Bits32].map(|pointer| (endian, pointer)));
    all.into_iter().find(|(endian, pointer)| magic(*endian, *pointer) == *found)
}

/// Whose rules apply to the profile that begins with `bytes`, where `asked` is
/// what the whole run follows; see [`Compat::for_raw_version`].
pub(crate) fn compat_of(bytes: &[u8], asked: Compat) -> Compat {
    let word = detect(bytes).and_then(|(endian, _)| Some(endian.u64(*bytes.get(MAGIC_SIZE..)?.first_chunk()?)));
    match word.map(|word| word as u32) {
        Some(version) if layout::is_known_version(version) => asked.for_raw_version(version),
        _ => asked,
    }
}

/// The header of one profile in a raw file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    encoding: Encoding,
    version_word: u64,
    words: [u64; Word::COUNT],
}

impl Header {
    /// Decodes the header at byte `start` of `file`.
    ///
    /// # Errors
    ///
    /// Empty profile, unrecognized format, bad header if the file ends inside, unsupported version, and malformed for
    /// invalid values.
    pub(crate) fn read(file: &[u8], start: usize, compat: Compat) -> Result<Self> {
        let bytes = file.get(start..).unwrap_or_default();
        let compat = compat_of(bytes, compat);
        if file.is_empty() {
            return Err(ErrorKind::EmptyProfile.into());
        }
        let Some((endian, pointer)) = detect(bytes) else {
            return Err(Error::new(ErrorKind::UnrecognizedFormat).at("header", start as u64));
        };
        let too_short = |what: String| Error::bad_header(what).at("header", start as u64).with_hint(CUT_SHORT);
        // LLVM requires a whole header of its own version before it checks the version.
        let least = if compat.is_llvm() { layout::header_size(LLVM_22_RAW_VERSION) } else { 16 };
        if bytes.len() < least {
            return Err(too_short(format!("the header has at least {least} bytes, {} left", bytes.len())));
        }
        let mut cursor = Cursor::new(bytes, start as u64, endian, "header");
        cursor.take("Magic", MAGIC_SIZE as u64)?;
        let version_word = cursor.u64("Version")?;
        let version = version_word as u32; // the low half is the number, the high half the variant
        check_version(version, compat)
            .map_err(|error| error.at("header", start as u64 + 8).in_format(format!("raw v{version}")))?;
        let size = layout::header_size(version);
        if bytes.len() < size {
            let detail = format!("the header of version {version} has {size} bytes, {} left", bytes.len());
            return Err(too_short(detail).in_format(format!("raw v{version}")));
        }
        let mut words = [0; Word::COUNT];
        for word in layout::header_words(version) {
            words[word as usize] = cursor.u64(word.name())?;
        }
        let header = Self { encoding: Encoding { endian, pointer, version }, version_word, words };
        header
            .check_ids_size()
            .map_err(|error| error.at("header", start as u64 + 16).in_format(header.format_name()))?;
        if !compat.is_llvm() {
            header.check_words().map_err(|error| error.at("header", start as u64).in_format(header.format_name()))?;
        }
        Ok(header)
    }

    /// A header to be filled and written; all words are 0.
    pub(crate) fn new(encoding: Encoding, kind: ProfileKind) -> Self {
        let variant = kind.bits() & 0xffff_ffff_0000_0000;
        Self { encoding, version_word: variant | u64::from(encoding.version), words: [0; Word::COUNT] }
    }

    /// Version, byte order and pointer width.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the version word: version in the low half, variant bits in the high half.
    pub(crate) fn version_word(&self) -> u64 {
        self.version_word
    }

    /// The format version.
    pub fn version(&self) -> u32 {
        self.encoding.version
    }

    /// The variant bits, unknown ones included.
    pub fn kind(&self) -> ProfileKind {
        ProfileKind::from_version_word(self.version_word)
    }

    /// A word; 0 when the version does not have it.
    #[inline]
    pub(crate) fn word(&self, word: Word) -> u64 {
        self.words[word as usize]
    }

    /// Changes a word; one that the version lacks is not written.
    pub(crate) fn set_word(&mut self, word: Word, value: u64) {
        self.words[word as usize] = value;
    }

    /// The words in file order.
    pub(crate) fn words(&self) -> impl Iterator<Item = (Word, u64)> {
        layout::header_words(self.version()).map(|word| (word, self.word(word)))
    }

    /// Bytes of the header.
    pub(crate) fn size(&self) -> usize {
        layout::header_size(self.version())
    }

    /// Returns the bytes of a counter element: 1 with byte coverage, otherwise 8.
    #[inline]
    pub(crate) fn counter_size(&self) -> usize {
        if self.kind().contains(ProfileKind::BYTE_COVERAGE) { 1 } else { 8 }
    }

    /// Number of value kinds whose sites the records count.
    pub(crate) fn value_kinds(&self) -> usize {
        match (self.version(), self.word(Word::ValueKindLast)) {
            (1, _) => 0,
            (2 | 3, _) => 1,
            // Releases 3.9 and 4 had one kind; the second number was padding.
            (4, 0) => 1,
            (4..=9, _) => 2,
            _ => 3,
        }
    }

    /// `raw v8`, as errors name the format.
    pub(crate) fn format_name(&self) -> String {
        format!("raw v{}", self.version())
    }

    /// LLVM checks it before the other words.
    fn check_ids_size(&self) -> Result<()> {
        let size = self.word(Word::BinaryIdsSize);
        if self.version() >= 8 && !size.is_multiple_of(8) {
            return Err(Error::bad_header(format!("BinaryIdsSize is {size}, which is not a multiple of 8")));
        }
        Ok(())
    }

    fn check_words(&self) -> Result<()> {
        if self.kind().contains(ProfileKind::MEMPROF) {
            let detail =
                "bit 62 (memory profile) is set in the version word, but raw profiles cannot contain memory profiles";
            return Err(Error::malformed(detail));
        }
        let last = self.word(Word::ValueKindLast);
        let most = last_value_kind(self.version());
        if last > most {
            let detail = format!("ValueKindLast is {last}, version {} has kinds up to {most}", self.version());
            return Err(Error::malformed(detail));
        }
        Ok(())
    }
}

/// The highest value kind that a version knows.
pub(super) fn last_value_kind(version: u32) -> u64 {
    match version {
        1..=3 => 0,
        4..=9 => 1,
        _ => 2,
    }
}

/// The hint for a truncated file.
const CUT_SHORT: &str = "run the program again; it may have been killed while it wrote the file";

fn check_version(version: u32, compat: Compat) -> Result<()> {
    if compat.is_llvm() {
        if version == LLVM_22_RAW_VERSION {
            return Ok(());
        }
        let kind = ErrorKind::RawVersionMismatch { found: version.into(), expected: LLVM_22_RAW_VERSION.into() };
        return Err(Error::new(kind));
    }
    if layout::is_known_version(version) {
        return Ok(());
    }
    let known = "supported versions are 1 to 5 and 7 to 11";
    let detail = match version {
        6 => format!("{known}; version 6 existed only in development, between LLVM 12 and 13"),
        _ => known.to_string(),
    };
    let error = Error::new(ErrorKind::UnsupportedVersion { found: version.into(), detail });
    Err(match version {
        6 => error.with_hint("run the program again, built with a released compiler"),
        12.. => error.with_hint(format!(
            "update profbridge; the profile was written by a release after {}",
            release::newest_words()
        )),
        _ => error,
    })
}

/// Byte ranges within the file; a section that the version lacks is empty.
#[derive(Debug, Clone)]
pub(super) struct Sections {
    pub(super) binary_ids: Range<usize>,
    pub(super) data: Range<usize>,
    pub(super) counters: Range<usize>,
    pub(super) bitmap: Range<usize>,
    pub(super) uniform_counters: Range<usize>,
    pub(super) names: Range<usize>,
    pub(super) vtables: Range<usize>,
    pub(super) vtable_names: Range<usize>,
    /// Known size in versions 2 and 3 only; from 4 on the range is empty and
    /// says where value data begins.
    pub(super) value_data: Range<usize>,
}

impl Sections {
    pub(super) fn locate(file: &[u8], start: usize, header: &Header, compat: Compat) -> Result<Self> {
        let mut walk =
            Walk { position: (start + header.size()) as u64, end: file.len() as u64, wraps: compat.is_llvm() };
        let version = header.version();
        let word = |word| Some(header.word(word));
        let times = |count: Word, size: usize| {
            let count = header.word(count);
            if compat.is_llvm() { Some(count.wrapping_mul(size as u64)) } else { count.checked_mul(size as u64) }
        };
        let pad = |size: usize| Some(size.next_multiple_of(8).wrapping_sub(size) as u64);

        let binary_ids = walk.take("binary ids", word(Word::BinaryIdsSize))?;
        if compat.is_llvm() {
            walk.finish()?;
            // LLVM complains about the ids before it looks at what follows.
            read_binary_ids(file, &binary_ids, header)?;
        }
        let data = walk.take("data", times(Word::NumData, RecordLayout::new(header.encoding()).size()))?;
        walk.take("padding before counters", word(Word::PadBeforeCounters))?;
        let counters = walk.take("counters", times(Word::NumCounters, header.counter_size()))?;
        walk.take("padding after counters", word(Word::PadAfterCounters))?;
        let bitmap = walk.take("bitmap", word(Word::NumBitmapBytes))?;
        walk.take("padding after bitmap", word(Word::PadAfterBitmap))?;
        let uniform_counters = walk.take("uniform counters", times(Word::NumUniformCounters, 8))?;
        walk.take("padding after uniform counters", word(Word::PadAfterUniformCounters))?;
        let names = walk.take("names", word(Word::NamesSize))?;
        if version >= 2 {
            walk.take("padding after names", pad(names.len()))?;
        }
        let vtable_size = VTableRecord::size_in_file(header.encoding().pointer);
        let vtables = walk.take("vtables", times(Word::NumVTables, vtable_size))?;
        let vtable_names = walk.take("vtable names", word(Word::VNamesSize))?;
        walk.take("padding after vtable names", pad(vtable_names.len()))?;
        let value_data = walk.take("value data", word(Word::ValueDataSize))?;
        walk.finish()?;
        Ok(Self { binary_ids, data, counters, bitmap, uniform_counters, names, vtables, vtable_names, value_data })
    }
}

/// Reads the identities in their section of the file.
pub(super) fn read_binary_ids(file: &[u8], range: &Range<usize>, header: &Header) -> Result<Vec<BinaryId>> {
    let section = file.get(range.clone()).unwrap_or_default();
    let endian = header.encoding().endian;
    let mut cursor = Cursor::new(section, range.start as u64, endian, Section::BinaryIds.name());
    let mut ids = Vec::new();
    let fault = |cursor: &Cursor<'_>, detail: String, llvm: &str| {
        cursor.place(Error::malformed(detail)).with_llvm_detail(llvm).in_format(header.format_name())
    };
    while !cursor.is_empty() {
        if cursor.left() < 8 {
            let detail = format!("{} bytes are left for the length of a binary id, expected 8", cursor.left());
            return Err(fault(&cursor, detail, "not enough data to read binary id length"));
        }
        let len = cursor.u64("length of a binary id")?;
        if len == 0 {
            return Err(fault(&cursor, "the length of a binary id is 0".to_string(), "binary id length is 0"));
        }
        let padded = if header.version() == 7 { Some(len) } else { len.checked_next_multiple_of(8) };
        let Some(padded) = padded.filter(|padded| *padded <= cursor.left()) else {
            let detail = format!("a binary id is {len} bytes, {} left in its section", cursor.left());
            return Err(fault(&cursor, detail, "not enough data to read binary id data"));
        };
        ids.push(cursor.take("binary id", len)?.to_vec());
        cursor.take("padding of a binary id", padded - len)?;
    }
    Ok(ids)
}

/// Walks the file section by section; every size is compared with what is left.
struct Walk {
    position: u64,
    end: u64,
    /// LLVM adds modulo 2^64 and looks only where all sections end.
    wraps: bool,
}

impl Walk {
    /// The next `size` bytes; `None` stands for a size above 2^64.
    fn take(&mut self, section: &'static str, size: Option<u64>) -> Result<Range<usize>> {
        let start = self.position;
        if self.wraps {
            self.position = start.wrapping_add(size.unwrap_or_default());
            // A range that lies outside the file, or ends before it begins, is
            // never read unless the walk ends inside the file by accident.
            let inside = start <= self.position && self.position <= self.end;
            let range = if inside { start..self.position } else { start.min(self.end)..start.min(self.end) };
            return Ok(range.start as usize..range.end as usize);
        }
        let left = self.end - start;
        let Some(size) = size.filter(|size| *size <= left) else {
            let found = size.map_or("more than 2^64".to_string(), |size| size.to_string());
            let detail = format!("{section} take {found} bytes, {left} are left in the file");
            return Err(Error::bad_header(detail).at(section, start).with_hint(CUT_SHORT));
        };
        self.position += size;
        Ok(start as usize..self.position as usize)
    }

    fn finish(&self) -> Result<()> {
        if self.position > self.end {
            let detail = format!("the sections end at byte {}, the file at {}", self.position, self.end);
            return Err(Error::bad_header(detail).with_hint(CUT_SHORT));
        }
        Ok(())
    }
}
