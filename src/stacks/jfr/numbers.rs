//! Numbers and texts of a recording.
//!
//! All are big-endian. With bit 0 of the chunk's flags, which every JDK sets,
//! 16- to 64-bit integers are base-128 numbers instead, the least significant
//! group first, of at most nine bytes: the ninth carries eight bits.

use crate::bytes::{Cursor, Endian};
use crate::error::{Error, Result};

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
    /// Stands in the pool of `java.lang.String` under this number.
    Pooled(u64),
    /// UTF-8, as far as the writer says.
    Utf8(&'data [u8]),
    /// One byte a character.
    Latin1(&'data [u8]),
    /// UTF-16, each unit an integer: where it begins and how many there are.
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

    /// Passes over `len` bytes.
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

    /// A number of things that take at least one byte each, of which there can
    /// be no more than bytes left.
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
                let error = Error::malformed(format!("{field} has the unknown text encoding {other}, expected 0 to 5"));
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
        assert!(reader.text("t").unwrap_err().to_string().contains("unknown text encoding 6"));
    }
}
