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

/// Appends an unsigned LEB128 number in its shortest form.
pub fn write_uleb128(sink: &mut Sink, mut value: u64) {
    while value >= 0x80 {
        sink.u8((value as u8 & 0x7f) | 0x80);
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
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut sink = Sink::new(Endian::Little);
            write_uleb128(&mut sink, value);
            let mut cursor = Cursor::new(sink.as_slice(), 0, Endian::Little, "x");
            assert_eq!(read_uleb128(&mut cursor, "n").unwrap(), value);
            assert!(cursor.is_empty());
        }
    }

    #[test]
    fn eleven_groups_do_not_fit() {
        let bytes = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03];
        let mut cursor = Cursor::new(&bytes, 0, Endian::Little, "x");
        assert!(read_uleb128(&mut cursor, "n").is_err());
    }
}
