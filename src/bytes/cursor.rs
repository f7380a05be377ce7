//! A reader of numbers and slices that knows its position in the file.

use super::Endian;
use crate::error::{Error, Result};

/// Reads numbers and slices front to back; every error knows its byte offset.
///
/// Lengths stay `u64` until they are checked: a 64-bit length must not wrap on
/// a 32-bit host.
#[derive(Debug, Clone)]
pub struct Cursor<'data> {
    data: &'data [u8],
    position: u64,
    endian: Endian,
    section: &'static str,
}

impl<'data> Cursor<'data> {
    /// A cursor at the start of `data`, which begins at byte `base` of the file.
    pub fn new(data: &'data [u8], base: u64, endian: Endian, section: &'static str) -> Self {
        Self { data, position: base, endian, section }
    }

    /// Absolute offset in the file of the next byte.
    #[inline]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The bytes not read yet.
    #[inline]
    pub fn rest(&self) -> &'data [u8] {
        self.data
    }

    /// Returns the number of unread bytes.
    #[inline]
    pub fn left(&self) -> u64 {
        self.data.len() as u64
    }

    /// Whether all bytes were read.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Names the section that later errors will carry.
    pub fn enter(&mut self, section: &'static str) {
        self.section = section;
    }

    /// Adds this cursor's position to an error.
    pub fn place(&self, error: Error) -> Error {
        error.at(self.section, self.position)
    }

    /// Adds this cursor's section and an earlier position to an error.
    pub fn place_at(&self, error: Error, position: u64) -> Error {
        error.at(self.section, position)
    }

    /// Takes `len` bytes, borrowed from the file.
    ///
    /// # Errors
    ///
    /// [`Truncated`](crate::error::ErrorKind::Truncated) when fewer than `len`
    /// bytes are left. The cursor does not move then.
    #[inline]
    pub fn take(&mut self, field: &'static str, len: u64) -> Result<&'data [u8]> {
        let split = usize::try_from(len).ok().and_then(|n| self.data.split_at_checked(n));
        let Some((head, tail)) = split else {
            return Err(self.truncated(field, len));
        };
        self.data = tail;
        self.position += len;
        Ok(head)
    }

    // A separate function, so that the callers are small enough for inlining.
    #[cold]
    fn truncated(&self, field: &'static str, needed: u64) -> Error {
        self.place(Error::truncated(field, needed, self.left()))
    }

    /// Takes `N` bytes as an array.
    ///
    /// # Errors
    ///
    /// As [`take`](Self::take).
    #[inline]
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N]> {
        let Some((head, tail)) = self.data.split_first_chunk::<N>() else {
            return Err(self.truncated(field, N as u64));
        };
        self.data = tail;
        self.position += N as u64;
        Ok(*head)
    }

    /// One byte.
    ///
    /// # Errors
    ///
    /// As [`take`](Self::take).
    #[inline]
    pub fn u8(&mut self, field: &'static str) -> Result<u8> {
        Ok(self.array::<1>(field)?[0])
    }

    /// Two bytes in the file's byte order.
    ///
    /// # Errors
    ///
    /// As [`take`](Self::take).
    #[inline]
    pub fn u16(&mut self, field: &'static str) -> Result<u16> {
        Ok(self.endian.u16(self.array(field)?))
    }

    /// Four bytes in the file's byte order.
    ///
    /// # Errors
    ///
    /// As [`take`](Self::take).
    #[inline]
    pub fn u32(&mut self, field: &'static str) -> Result<u32> {
        Ok(self.endian.u32(self.array(field)?))
    }

    /// Eight bytes in the file's byte order.
    ///
    /// # Errors
    ///
    /// As [`take`](Self::take).
    #[inline]
    pub fn u64(&mut self, field: &'static str) -> Result<u64> {
        Ok(self.endian.u64(self.array(field)?))
    }

    /// Skips bytes equal to 0. Returns their number.
    pub fn skip_zeros(&mut self) -> u64 {
        let zeros = self.data.iter().position(|b| *b != 0).unwrap_or(self.data.len());
        self.data = &self.data[zeros..];
        self.position += zeros as u64;
        zeros as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_header_names_the_missing_field_and_the_cursor_stays() {
        let mut cursor = Cursor::new(&[0; 5], 16, Endian::Little, "header");
        let error = cursor.u64("NumData").unwrap_err();
        assert_eq!(error.to_string(), "section header, byte 0x10: truncated: NumData needs 8 bytes, 5 left");
        assert_eq!((cursor.position(), cursor.left()), (16, 5));
    }

    #[test]
    fn numbers_follow_the_byte_order() {
        let mut big = Cursor::new(&[0, 1, 2, 3, 4, 5, 6], 0, Endian::Big, "x");
        assert_eq!(big.u16("a").unwrap(), 1);
        assert_eq!(big.u32("b").unwrap(), 0x0203_0405);
        assert_eq!(big.u8("c").unwrap(), 6);
        assert!(big.is_empty());
    }
}
