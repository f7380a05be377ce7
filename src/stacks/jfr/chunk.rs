//! The header of a chunk.
//!
//! | byte | field | |
//! |---|---|---|
//! | 0 | magic | `FLR\0` |
//! | 4 | major, minor | two 16-bit numbers; 2.0 and 2.1 are known |
//! | 8 | size | of the whole chunk, this header included |
//! | 16 | offset of the last constant-pool event | from the chunk's start |
//! | 24 | offset of the metadata event | from the chunk's start |
//! | 32 | start | ns since 1970 |
//! | 40 | duration | ns |
//! | 48 | start | ticks |
//! | 56 | ticks per second | |
//! | 64 | state, flags | bit 0: integers are base 128; bit 1: final chunk |

use crate::bytes::{Cursor, Endian};
use crate::error::{Error, ErrorKind, Result};

/// Bytes of a chunk header.
pub(super) const HEADER_BYTES: u64 = 68;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

const MAGIC: [u8; 4] = *b"FLR\0";

/// The size that the header of a chunk announces; 0 when `header` is cut or no
/// header, which [`Chunk::read`] will say.
pub(super) fn announced_size(header: &[u8]) -> u64 {
    match header.get(8..16).and_then(|size| size.first_chunk::<8>()) {
        Some(size) if header.starts_with(&MAGIC) => u64::from_be_bytes(*size),
        _ => 0,
    }
}

/// One chunk of a recording, whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk<'data> {
    /// All bytes of the chunk.
    pub(super) data: &'data [u8],
    /// Absolute offset of the chunk in the file.
    pub(super) base: u64,
    /// Major and minor version.
    pub(super) version: (u16, u16),
    /// Offset in the chunk of the last constant-pool event.
    pub(super) pools_offset: u64,
    /// Offset in the chunk of the metadata event.
    pub(super) metadata_offset: u64,
    /// When it began, in nanoseconds since 1970.
    pub(super) start_nanos: u64,
    /// Nanoseconds covered.
    pub(super) duration_nanos: u64,
    /// When it began, in ticks.
    start_ticks: u64,
    ticks_per_second: u64,
    /// Integers are base 128.
    pub(super) compressed: bool,
}

/// The content at the position of a possible chunk.
#[derive(Debug)]
pub(super) enum Next<'data> {
    /// A chunk.
    Chunk(Chunk<'data>),
    /// The beginning of one whose end is missing.
    Cut(Error),
}

impl<'data> Chunk<'data> {
    /// The chunk that begins at byte `base` of the file, of which `data` is the rest.
    ///
    /// # Errors
    ///
    /// Bad magic, unsupported version, or a size that cannot be right.
    pub(super) fn read(data: &'data [u8], base: u64) -> Result<Next<'data>> {
        let mut header = Cursor::new(data, base, Endian::Big, "chunk header");
        let magic_there = &data[..data.len().min(MAGIC.len())];
        if !MAGIC.starts_with(magic_there) {
            let detail = format!("found {}, expected FLR\\0", magic_there.escape_ascii());
            return Err(header.place(Error::new(ErrorKind::BadMagic { detail })));
        }
        if header.left() < HEADER_BYTES {
            return Ok(Next::Cut(header.place(Error::truncated("chunk header", HEADER_BYTES, header.left()))));
        }
        header.take("magic", 4)?;
        let version = (header.u16("major")?, header.u16("minor")?);
        if version.0 != 2 {
            let kind = ErrorKind::UnsupportedVersion {
                found: version.0.into(),
                detail: format!(
                    "version {}.{} is not supported; JDK 9 and later write 2.0 and 2.1",
                    version.0, version.1
                ),
            };
            let hint = "convert recordings of JDK 7, and of JDK 8 before 8u262, with JDK Mission Control";
            return Err(Error::new(kind).at("chunk header", base + 4).with_hint(hint));
        }
        let size = header.u64("chunk size")?;
        let pools_offset = header.u64("offset of constant pools")?;
        let metadata_offset = header.u64("offset of metadata")?;
        let start_nanos = header.u64("start")?;
        let duration_nanos = header.u64("duration")?;
        let start_ticks = header.u64("start ticks")?;
        let ticks_per_second = header.u64("ticks per second")?;
        let flags = header.u32("flags")?;
        let have = data.len() as u64;
        if size > have || metadata_offset == 0 {
            // The writer fills in sizes and offsets when it finishes a chunk.
            return Ok(Next::Cut(Error::truncated("chunk", size, have).at("chunk", base)));
        }
        if size < HEADER_BYTES {
            let detail = format!("chunk size is {size}, less than the {HEADER_BYTES} bytes of its header");
            return Err(Error::bad_header(detail).at("chunk header", base + 8));
        }
        let data = usize::try_from(size).ok().and_then(|size| data.get(..size)).unwrap_or(data);
        let compressed = flags & 1 != 0;
        Ok(Next::Chunk(Self {
            data,
            base,
            version,
            pools_offset,
            metadata_offset,
            start_nanos,
            duration_nanos,
            start_ticks,
            ticks_per_second,
            compressed,
        }))
    }

    /// Ticks as nanoseconds. A clock without a rate ticks in nanoseconds.
    pub(super) fn nanos_of(&self, ticks: u64) -> u64 {
        if matches!(self.ticks_per_second, 0 | NANOS_PER_SECOND) {
            return ticks;
        }
        let nanos = u128::from(ticks) * u128::from(NANOS_PER_SECOND) / u128::from(self.ticks_per_second);
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }

    /// A time in ticks as nanoseconds since 1970.
    pub(super) fn nanos_since_1970(&self, ticks: u64) -> u64 {
        match ticks.checked_sub(self.start_ticks) {
            Some(after) => self.start_nanos.saturating_add(self.nanos_of(after)),
            // What began before the chunk, such as a long wait, is written when it ends.
            None => self.start_nanos.saturating_sub(self.nanos_of(self.start_ticks - ticks)),
        }
    }

    /// A reader at `offset` of the chunk; at its end when `offset` lies beyond.
    pub(super) fn reader(&self, offset: u64, section: &'static str) -> Reader<'data> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.data.len());
        Reader::new(&self.data[start..], self.base.saturating_add(start as u64), self.compressed, section)
    }

    /// The event at `offset`: its type, and a reader of what follows the type.
    ///
    /// # Errors
    ///
    /// Truncated or malformed when the event does not lie in the chunk.
    pub(super) fn event(&self, offset: u64, section: &'static str) -> Result<Event<'data>> {
        if offset < HEADER_BYTES {
            let error = Error::malformed(format!("{section} at byte {offset} of the chunk lies inside its header"));
            return Err(error.at(section, self.base));
        }
        let mut start = self.reader(offset, section);
        let at = start.position();
        let size = u64::from(start.int("event size")?);
        let before = start.position() - at;
        let whole = start.left() + before;
        if size <= before || size > whole {
            let error = Error::malformed(format!("event size is {size}, {whole} bytes are left in the chunk"));
            return Err(error.at(section, at));
        }
        let end = usize::try_from(offset.saturating_add(size)).unwrap_or(usize::MAX).min(self.data.len());
        let from = usize::try_from(offset + before).unwrap_or(usize::MAX).min(end);
        let mut reader = Reader::new(&self.data[from..end], at + before, self.compressed, section);
        let type_id = reader.long("event type")?;
        Ok(Event { size, type_id, reader })
    }
}

/// One event of a chunk.
#[derive(Debug)]
pub(super) struct Event<'data> {
    /// Bytes of the whole event.
    pub(super) size: u64,
    /// Number of its type.
    pub(super) type_id: u64,
    /// At its first field; ends where the event ends.
    pub(super) reader: Reader<'data>,
}

// Numbers and strings of a recording.
//
// All are big-endian. With bit 0 of the chunk's flags, which every JDK sets,
// 16- to 64-bit integers are base-128 numbers instead, the least significant
// group first, of at most nine bytes: the ninth carries eight bits.

/// Reads the values of one chunk front to back.
#[derive(Debug, Clone)]
pub(super) struct Reader<'data> {
    cursor: Cursor<'data>,
    compressed: bool,
}

/// A text as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text<'data> {
    /// No text.
    Null,
    /// A text of no characters.
    Empty,
    /// In the pool of `java.lang.String` under this number.
    Pooled(u64),
    /// UTF-8, as far as the writer says.
    Utf8(&'data [u8]),
    /// One byte a character.
    Latin1(&'data [u8]),
    /// UTF-16 with an integer per code unit: the offset, and the number of units.
    Chars(u64, u32),
}

impl<'data> Reader<'data> {
    /// A reader of `data`, which begins at byte `base` of the file.
    pub(super) fn new(data: &'data [u8], base: u64, compressed: bool, section: &'static str) -> Self {
        Self { cursor: Cursor::new(data, base, Endian::Big, section), compressed }
    }

    /// Absolute offset of the next byte.
    pub(super) fn position(&self) -> u64 {
        self.cursor.position()
    }

    /// Bytes not read yet.
    pub(super) fn left(&self) -> u64 {
        self.cursor.left()
    }

    /// Puts this place on an error.
    pub(super) fn place(&self, error: Error) -> Error {
        self.cursor.place(error)
    }

    /// Skips `len` bytes.
    pub(super) fn skip(&mut self, field: &'static str, len: u64) -> Result<()> {
        self.cursor.take(field, len).map(|_| ())
    }

    /// One byte.
    #[inline]
    pub(super) fn byte(&mut self, field: &'static str) -> Result<u8> {
        self.cursor.u8(field)
    }

    /// A 64-bit integer, or a reference into a pool.
    #[inline]
    pub(super) fn long(&mut self, field: &'static str) -> Result<u64> {
        if self.compressed { self.base128(field) } else { self.cursor.u64(field) }
    }

    /// A 32-bit integer.
    #[inline]
    pub(super) fn int(&mut self, field: &'static str) -> Result<u32> {
        if !self.compressed {
            return self.cursor.u32(field);
        }
        // Writers store negative numbers as 32 bits; a sign extended to 64 is cut.
        Ok(self.base128(field)? as u32)
    }

    /// A 16-bit integer.
    #[inline]
    pub(super) fn short(&mut self, field: &'static str) -> Result<u16> {
        if self.compressed { Ok(self.base128(field)? as u16) } else { self.cursor.u16(field) }
    }

    #[inline]
    fn base128(&mut self, field: &'static str) -> Result<u64> {
        let mut value = 0u64;
        for group in 0..9 {
            let byte = self.cursor.u8(field)?;
            if group == 8 {
                return Ok(value | u64::from(byte) << 56);
            }
            value |= u64::from(byte & 0x7f) << (7 * group);
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok(value)
    }

    /// Reads the number of items that take at least one byte each, so there cannot be more than bytes left.
    pub(super) fn count(&mut self, field: &'static str) -> Result<u32> {
        let at = self.position();
        let count = self.int(field)?;
        if u64::from(count) > self.left() {
            let error = Error::malformed(format!("{field} is {count}, but only {} bytes are left", self.left()));
            return Err(error.at("chunk", at));
        }
        Ok(count)
    }

    /// A text; its bytes are borrowed.
    pub(super) fn text(&mut self, field: &'static str) -> Result<Text<'data>> {
        Ok(match self.byte(field)? {
            0 => Text::Null,
            1 => Text::Empty,
            2 => Text::Pooled(self.long(field)?),
            3 => {
                let len = self.int(field)?;
                Text::Utf8(self.cursor.take(field, len.into())?)
            }
            4 => {
                let count = self.count(field)?;
                let start = self.position();
                for _ in 0..count {
                    self.short(field)?;
                }
                Text::Chars(start, count)
            }
            5 => {
                let len = self.int(field)?;
                Text::Latin1(self.cursor.take(field, len.into())?)
            }
            other => {
                let error =
                    Error::malformed(format!("{field} has the unknown string encoding {other}, expected 0 to 5"));
                return Err(self.place(error));
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(bytes: &[u8]) -> Result<u64> {
        Reader::new(bytes, 0, true, "chunk").long("n")
    }

    #[test]
    fn the_ninth_byte_carries_eight_bits() {
        assert_eq!(long(&[0x7f]).unwrap(), 127);
        assert_eq!(long(&[0x80, 0x01]).unwrap(), 128);
        assert_eq!(long(&[0xff; 9]).unwrap(), u64::MAX);
        let mut bytes = [0x80; 9];
        bytes[8] = 0x80;
        assert_eq!(long(&bytes).unwrap(), 1 << 63);
        assert!(long(&[0x80, 0x80]).unwrap_err().to_string().contains("n needs 1 bytes, 0 left"));
    }

    #[test]
    fn a_negative_int_is_stored_as_32_bits() {
        let mut reader = Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x0f], 0, true, "chunk");
        assert_eq!(reader.int("bci").unwrap() as i32, -1);
        let mut plain = Reader::new(&[0xff, 0xff, 0xff, 0xff, 0, 7], 0, false, "chunk");
        assert_eq!(plain.int("bci").unwrap() as i32, -1);
        assert_eq!(plain.short("n").unwrap(), 7);
    }

    #[test]
    fn a_count_beyond_the_bytes_left_is_refused_before_it_is_used() {
        let error = Reader::new(&[0xff, 0xff, 0x03, 0], 0, true, "chunk").count("number of frames").unwrap_err();
        assert!(error.to_string().contains("number of frames is 65535, but only 1 bytes are left"), "{error}");
    }

    #[test]
    fn texts_come_in_six_encodings() {
        let bytes = [0, 1, 2, 9, 3, 2, b'h', b'i', 5, 1, 0xe9, 4, 2, 0x41, 0xac, 0x41, 6];
        let mut reader = Reader::new(&bytes, 100, true, "chunk");
        let texts: Vec<Text> = (0..6).map(|_| reader.text("t").unwrap()).collect();
        assert_eq!(
            texts,
            [Text::Null, Text::Empty, Text::Pooled(9), Text::Utf8(b"hi"), Text::Latin1(&[0xe9]), Text::Chars(113, 2)]
        );
        assert!(reader.text("t").unwrap_err().to_string().contains("unknown string encoding 6"));
    }
}
