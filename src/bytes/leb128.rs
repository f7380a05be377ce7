//! Unsigned LEB128 numbers, as the name chunks use them.

use super::{Cursor, Sink};
use crate::error::{Error, Result};

/// Reads an unsigned LEB128 number.
///
/// # Errors
///
/// Truncated when the bytes end before the number does, malformed when it does
/// not fit 64 bits.
#[inline]
pub fn read_uleb128(cursor: &mut Cursor<'_>, field: &'static str) -> Result<u64> {
    // Most numbers are of one byte.
    match cursor.rest().first() {
        Some(byte) if *byte < 0x80 => cursor.u8(field).map(u64::from),
        _ => read_long(cursor, field),
    }
}

fn read_long(cursor: &mut Cursor<'_>, field: &'static str) -> Result<u64> {
    if let Some((value, len)) = cursor.rest().first_chunk().and_then(|word| of_word(u64::from_le_bytes(*word))) {
        cursor.take(field, len)?;
        return Ok(value);
    }
    let mut value = 0u64;
    let mut shift = 0u32;
    loop {
        let byte = cursor.u8(field)?;
        let part = u64::from(byte & 0x7f);
        if part != 0 {
            if shift > 63 || (part << shift) >> shift != part {
                return Err(cursor.place(Error::malformed(format!("{field} does not fit 64 bits"))));
            }
            value |= part << shift;
        }
        if byte & 0x80 == 0 {
            return Ok(value);
        }
        shift = shift.saturating_add(7);
    }
}

/// Returns the number in the low bytes of a word, and its length; `None` if it does not end in the word.
fn of_word(word: u64) -> Option<(u64, u64)> {
    let ends = !word & 0x8080_8080_8080_8080;
    if ends == 0 {
        return None;
    }
    let len = u64::from(ends.trailing_zeros()) / 8 + 1;
    let parts = word & (u64::MAX >> (64 - 8 * len)) & 0x7f7f_7f7f_7f7f_7f7f;
    // Neighbours join: parts of 7 bits to pairs of 14, these to fours of 28.
    let pairs = (parts & 0x007f_007f_007f_007f) | (parts & 0x7f00_7f00_7f00_7f00) >> 1;
    let fours = (pairs & 0x0000_3fff_0000_3fff) | (pairs & 0x3fff_0000_3fff_0000) >> 2;
    Some(((fours & 0x0fff_ffff) | (fours >> 32) << 28, len))
}

/// Appends an unsigned LEB128 number in its shortest form.
#[inline]
pub fn write_uleb128(sink: &mut Sink, mut value: u64) {
    if value < 0x80 {
        return sink.u8(value as u8);
    }
    if value >> 56 == 0 {
        let len = value.ilog2() as usize / 7 + 1;
        let fours = (value & 0x0fff_ffff) | (value >> 28) << 32;
        let pairs = (fours & 0x0000_3fff_0000_3fff) | (fours & 0x0fff_c000_0fff_c000) << 2;
        let parts = (pairs & 0x007f_007f_007f_007f) | (pairs & 0x3f80_3f80_3f80_3f80) << 1;
        let marks = 0x0080_8080_8080_8080 & ((1 << (8 * len - 8)) - 1);
        return sink.start_of_word((parts | marks).to_le_bytes(), len);
    }
    while value >= 0x80 {
        sink.u8(value as u8 | 0x80);
        value >>= 7;
    }
    sink.u8(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::Endian;

    #[test]
    fn numbers_survive_the_round_trip() {
        let mut values: Vec<u64> =
            (0..64).flat_map(|bit| [1 << bit, (1 << bit) - 1, 0x0102_0408_1020_4081 >> bit]).collect();
        values.push(u64::MAX);
        // A number at the end is read byte by byte, one before others as a word.
        for following in [0, 9] {
            for value in &values {
                let mut sink = Sink::new(Endian::Little);
                write_uleb128(&mut sink, *value);
                let len = sink.len();
                sink.bytes(&vec![0xff; following]);
                let mut cursor = Cursor::new(sink.as_slice(), 0, Endian::Little, "x");
                assert_eq!(read_uleb128(&mut cursor, "n").unwrap(), *value);
                assert_eq!(cursor.rest().len(), following);
                assert_eq!(len, value.max(&1).ilog2() as usize / 7 + 1);
            }
        }
    }

    #[test]
    fn eleven_groups_do_not_fit() {
        let bytes = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03];
        let mut cursor = Cursor::new(&bytes, 0, Endian::Little, "x");
        assert!(read_uleb128(&mut cursor, "n").is_err());
    }
}
