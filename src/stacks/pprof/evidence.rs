//! Whether bytes are a pprof profile.

use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Cursor, Endian};

/// Whether `data`, perhaps cut, is a protocol buffer that begins as writers of
/// pprof begin, with the types of values, before which only single numbers stand:
/// a type is a message of at most two numbers. What follows has a tag of the schema.
/// A profile without values consists of the first string, which is empty.
pub fn is_pprof(data: &[u8]) -> bool {
    if data == [0x32, 0] {
        return true;
    }
    let mut cursor = Cursor::new(data, 0, Endian::Little, "head");
    let number = |cursor: &mut Cursor<'_>| read_uleb128(cursor, "number").ok();
    let mut seen_type = false;
    while !cursor.is_empty() {
        let Some(tag) = number(&mut cursor) else { return seen_type };
        let (field, wire) = (tag >> 3, tag & 7);
        let is_known = matches!((field, wire), (1..=6 | 11, 2) | (7..=10 | 12..=15, 0) | (13, 2));
        if !is_known || (!seen_type && matches!(field, 2..=6)) {
            return false;
        }
        if seen_type && field != 1 {
            // Damage further on is for the reader to name.
            return true;
        }
        let Some(value) = number(&mut cursor) else { return seen_type };
        if wire == 2 {
            let Ok(content) = cursor.take("content", value) else { return seen_type };
            if matches!(field, 1 | 11) && !is_value_type(content) {
                return false;
            }
            seen_type |= field == 1;
        }
    }
    seen_type
}

/// Fields 1 and 2, numbers, each at most once, and at least one of them.
fn is_value_type(content: &[u8]) -> bool {
    let mut cursor = Cursor::new(content, 0, Endian::Little, "value type");
    let mut last = 0;
    while !cursor.is_empty() {
        match cursor.u8("tag") {
            Ok(tag @ (0x08 | 0x10)) if tag > last && read_uleb128(&mut cursor, "text").is_ok() => last = tag,
            _ => return false,
        }
    }
    last > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pprof_profiles_are_recognised_by_their_first_messages() {
        let head = [0x0a, 4, 0x08, 1, 0x10, 2, 0x12, 4, 0x0a, 2, 1, 2];
        assert!(is_pprof(&head));
        // Go's runtime says the time first.
        assert!(is_pprof(&[&[0x48, 0xfb, 0xd3, 0xbf, 0xf9, 0xd6, 0xf5, 0x0e], &head[..]].concat()));
        // Cut anywhere behind the first message.
        assert!(is_pprof(&head[..9]));
        assert!(is_pprof(&super::super::write(&Default::default()).unwrap()));
        for other in [&head[..5], &[0x0a, 4, 0x08, 1, 0x08, 2], &[0x0a, 4, 0x08, 1, 0x10, 2, 0x13], b"\n\x04main\n"] {
            assert!(!is_pprof(other), "{other:?}");
        }
    }
}
