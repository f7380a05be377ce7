//! Percent-encoding of names, byte by byte and one to one.
//!
//! Names are bytes: UTF-8, with lone surrogates of Java strings encoded like other characters, in three bytes. Bytes
//! that text cannot store (invalid UTF-8, control characters, line separators) and the escape character itself become
//! `%` and two hexadecimal digits.

/// Additional characters to encode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    /// The characters of the bridge's own notation, and spaces at either end.
    Notation,
    /// Nothing: an LLVM name as a name of an iprof file.
    EncodedNames,
}

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

impl Escapes {
    fn covers(self, byte: u8) -> bool {
        self == Self::Notation && b":;@[]#(),{}".contains(&byte)
    }
}

/// Appends `%` and the two digits of `byte`.
pub(super) fn push_encoded(out: &mut Vec<u8>, byte: u8) {
    out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

/// Appends `name`, encoded where it must be.
pub(super) fn push_escaped(out: &mut Vec<u8>, name: &[u8], escapes: Escapes) {
    let last = name.len().saturating_sub(1);
    let mut at = 0;
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            let end = at + character.len_utf8();
            let edge = escapes == Escapes::Notation && character == ' ' && (at == 0 || at == last);
            let own = u8::try_from(character).is_ok_and(|byte| byte == b'%' || escapes.covers(byte));
            let separator = matches!(character, '\u{2028}' | '\u{2029}');
            if edge || own || separator || character.is_control() {
                name[at..end].iter().for_each(|byte| push_encoded(out, *byte));
            } else {
                out.extend_from_slice(&name[at..end]);
            }
            at = end;
        }
        chunk.invalid().iter().for_each(|byte| push_encoded(out, *byte));
        at += chunk.invalid().len();
    }
}

/// `name`, encoded where it must be.
pub(super) fn escaped(name: &[u8], escapes: Escapes) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    push_escaped(&mut out, name, escapes);
    out
}

/// Undoes the encoding; `None` where a `%` is not followed by two digits.
///
/// More strings can be decoded than the encoder writes. To check that a string is canonical, encode the result and
/// compare.
pub(super) fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let (digits, tail) = rest.split_at_checked(2)?;
        out.push(hex_digit(digits[0])? << 4 | hex_digit(digits[1])?);
        rest = tail;
    }
    Some(out)
}

/// The value of a hexadecimal digit.
pub(super) fn hex_digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Bytes as lower-case hexadecimal text.
pub(super) fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a String takes everything");
        text
    })
}

/// The bytes of a hexadecimal text; `None` for an odd length or another character.
pub(super) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |[high, low]: &[u8; 2]| Some(hex_digit(*high)? << 4 | hex_digit(*low)?);
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_ambiguous_bytes_are_encoded() {
        let notation = |name: &[u8]| String::from_utf8(escaped(name, Escapes::Notation)).unwrap();
        assert_eq!(notation(b"lambda$main$0"), "lambda$main$0");
        assert_eq!(notation(b"String(AAAZ)"), "String%28AAAZ%29");
        assert_eq!(notation(b"computeValue%1"), "computeValue%251");
        assert_eq!(notation(b" a b "), "%20a b%20");
        assert_eq!(notation("zäh\u{85}\u{2028}".as_bytes()), "zäh%C2%85%E2%80%A8");
        assert_eq!(notation(b"\xed\xa0\x80x\xff"), "%ED%A0%80x%FF");
        assert_eq!(escaped(b"a(b) %\n", Escapes::EncodedNames), b"a(b) %25%0A");
    }

    #[test]
    fn hexadecimal_text_is_strict() {
        assert_eq!(from_hex(&to_hex(&[0, 0xab, 255])), Some(vec![0, 0xab, 255]));
        assert_eq!(from_hex("abc"), None);
        assert_eq!(from_hex("+1"), None);
    }

    proptest! {
        #[test]
        fn encoding_is_undone(name: Vec<u8>) {
            for escapes in [Escapes::Notation, Escapes::EncodedNames] {
                let text = escaped(&name, escapes);
                prop_assert!(std::str::from_utf8(&text).is_ok());
                prop_assert_eq!(unescape(&text), Some(name.clone()));
            }
        }
    }
}
