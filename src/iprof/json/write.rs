//! Writing JSON text.

/// Appends `text` as a JSON string: escapes only for `"`, `\`, control characters and lone surrogates.
pub(crate) fn write_string(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    let special = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\' | 0xed);
    if !text.iter().fold(false, |found, byte| found | special(byte)) {
        out.extend_from_slice(text);
        out.push(b'"');
        return;
    }
    let mut plain = 0;
    for (at, byte) in text.iter().enumerate() {
        let surrogate = *byte == 0xed && text.get(at + 1).is_some_and(|next| *next >= 0xa0);
        if *byte >= 0x20 && *byte != b'"' && *byte != b'\\' && !surrogate {
            continue;
        }
        // The tail of a surrogate is behind us once its escape was written.
        out.extend_from_slice(text.get(plain..at).unwrap_or_default());
        plain = at + 1;
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            8 => out.extend(b"\\b"),
            12 => out.extend(b"\\f"),
            0xed => {
                let tail = |n: usize| u32::from(text.get(at + n).copied().unwrap_or(0x80) & 0x3f);
                out.extend(format!("\\u{:04x}", 0xd000 | (tail(1) << 6) | tail(2)).bytes());
                plain = at + 3;
            }
            control => out.extend(format!("\\u{control:04x}").bytes()),
        }
    }
    out.extend_from_slice(text.get(plain..).unwrap_or_default());
    out.push(b'"');
}

/// Appends a checked JSON value without the white space between its tokens.
pub(crate) fn write_compact(out: &mut Vec<u8>, value: &[u8]) {
    let mut in_string = false;
    let mut escaped = false;
    for byte in value {
        if in_string {
            out.push(*byte);
            in_string = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
        } else if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
            out.push(*byte);
            in_string = *byte == b'"';
        }
    }
}

/// Appends a checked, compact JSON value indented by two from `level` on.
pub(crate) fn write_pretty(out: &mut Vec<u8>, value: &[u8], level: usize) {
    let mut level = level;
    let mut bytes = value.iter().copied().peekable();
    let line = |out: &mut Vec<u8>, level: usize| {
        out.push(b'\n');
        out.resize(out.len() + 2 * level, b' ');
    };
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                out.push(byte);
                while let Some(inner) = bytes.next() {
                    out.push(inner);
                    match inner {
                        b'\\' => out.extend(bytes.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            b'{' | b'[' => {
                out.push(byte);
                if let Some(close) = bytes.next_if(|next| *next == byte + 2) {
                    out.push(close);
                } else {
                    level += 1;
                    line(out, level);
                }
            }
            b'}' | b']' => {
                level = level.saturating_sub(1);
                line(out, level);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(out, level);
            }
            b':' => out.extend(b": "),
            other => out.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_goes_and_comes_back() {
        let mut compact = Vec::new();
        write_compact(&mut compact, b" { \"a b\\\" \" : [ 1 , 2 ] , \"c\" : { } } ");
        assert_eq!(compact, br#"{"a b\" ":[1,2],"c":{}}"#);
        let mut pretty = Vec::new();
        write_pretty(&mut pretty, &compact, 0);
        assert_eq!(String::from_utf8(pretty).unwrap(), "{\n  \"a b\\\" \": [\n    1,\n    2\n  ],\n  \"c\": {}\n}");
    }
}
