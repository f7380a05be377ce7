//! ASCII notations in files: blanks, hexadecimal, and escapes with a percent sign.

/// Returns text without blanks at both ends. Blanks are those of C, which has one more than the standard library: the
/// vertical tab.
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    trim_end(trim_start(text))
}

/// Returns text without blanks at its start.
pub(crate) fn trim_start(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !is_blank(*byte)).unwrap_or(text.len());
    &text[start..]
}

/// Returns text without blanks at its end.
pub(crate) fn trim_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !is_blank(*byte)).map_or(0, |last| last + 1);
    &text[..end]
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Formats bytes in lower-case hexadecimal, like build ids.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses hexadecimal text. Returns `None` for an odd length or an invalid character.
pub(crate) fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_chunks::<2>();
    if rest.is_empty() { pairs.iter().map(hex_byte).collect() } else { None }
}

/// Decodes `%` and two hexadecimal digits. Returns `None` if a `%` is not followed by two digits.
///
/// No encoder creates all strings that this accepts. To reject the others, encode the result and compare.
pub(crate) fn percent_decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let (digits, tail) = rest.split_first_chunk()?;
        out.push(hex_byte(digits)?);
        rest = tail;
    }
    Some(out)
}

fn hex_byte(digits: &[u8; 2]) -> Option<u8> {
    let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
    u8::try_from(high? << 4 | low?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_those_of_c() {
        assert_eq!(trim(b"\x0b\x0c \t\r\na b\n\x0b"), b"a b");
        assert_eq!((trim(b" \x0b"), trim_start(b" a "), trim_end(b" a ")), (&b""[..], &b"a "[..], &b" a"[..]));
        assert_eq!(trim("\u{85}a".as_bytes()), "\u{85}a".as_bytes());
    }

    #[test]
    fn hexadecimal_has_pairs_of_digits() {
        assert_eq!(to_hex(&[0, 0xab, 255]), "00abff");
        assert_eq!(from_hex(b"00ABff"), Some(vec![0, 0xab, 255]));
        assert_eq!((from_hex(b"abc"), from_hex(b"+1"), from_hex(b"")), (None, None, Some(Vec::new())));
    }

    #[test]
    fn escapes_have_two_digits() {
        assert_eq!(percent_decode(b"a%2Cb%ff"), Some(b"a,b\xff".to_vec()));
        assert_eq!((percent_decode(b"%"), percent_decode(b"%1"), percent_decode(b"%+1")), (None, None, None));
    }
}
