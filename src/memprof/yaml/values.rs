//! What a scalar says, without quotes, escapes and the ends of its lines.

use super::state::Scanner;
use std::borrow::Cow;
use std::ops::Range;

/// The text of a scalar at a place. An escape that is not known is a fault of
/// the document.
pub(super) fn of_scalar<'a>(scanner: &mut Scanner<'a>, range: Range<usize>) -> Cow<'a, [u8]> {
    let text: &'a [u8] = scanner.text;
    let (raw, offset) = (&text[range.clone()], range.start + 1);
    match raw.first() {
        Some(b'"') => unfolded(inner(raw), b'\\', |text, out| match unescaped(text, out) {
            Ok(rest) => rest,
            Err(left) => {
                let at = offset + inner(raw).len() - left;
                scanner.fail(at, "Unrecognized escape code", "an escape is not known");
                out.clear();
                &[]
            }
        }),
        Some(b'\'') => unfolded(inner(raw), b'\'', |text, out| {
            out.push(b'\'');
            text.get(2..).unwrap_or_default()
        }),
        _ => unfolded(raw.trim_ascii_end(), b'\n', |_, _| &[]),
    }
}

/// Without the first byte and the last.
fn inner(raw: &[u8]) -> &[u8] {
    raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default()
}

/// Joins lines: a single end of a line is a blank, and of several one is
/// dropped. What begins with `mark` is left to `other`, which returns the rest.
fn unfolded<'a>(text: &'a [u8], mark: u8, mut other: impl FnMut(&'a [u8], &mut Vec<u8>) -> &'a [u8]) -> Cow<'a, [u8]> {
    let ends_line = |byte: u8| matches!(byte, b'\n' | b'\r');
    let is_special = |byte: &u8| *byte == mark || ends_line(*byte);
    if !text.iter().any(is_special) {
        return Cow::Borrowed(text);
    }
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    // What the end of the line just before was written as.
    let mut line_end = None;
    while let Some(at) = rest.iter().position(is_special) {
        if !ends_line(rest[at]) {
            out.extend_from_slice(&rest[..at]);
            rest = other(&rest[at..], &mut out);
            line_end = None;
            continue;
        }
        let line = trim_blanks_end(&rest[..at]);
        out.extend_from_slice(line);
        match line_end.filter(|_| line.is_empty()) {
            None => {
                out.push(b' ');
                line_end = Some(b' ');
            }
            Some(b' ') => {
                out.pop();
                out.push(b'\n');
                line_end = Some(b'\n');
            }
            Some(_) => out.push(b'\n'),
        }
        let len = if rest[at..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = trim_blanks_start(&rest[at + len..]);
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn trim_blanks_end(text: &[u8]) -> &[u8] {
    let len = text.iter().rposition(|byte| !is_blank(byte)).map_or(0, |last| last + 1);
    &text[..len]
}

fn trim_blanks_start(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !is_blank(byte)).unwrap_or(text.len());
    &text[start..]
}

/// What an escape at the start of a text means, and what follows it; how many
/// bytes are left where one is not known. As in LLVM, `\x` without two digits,
/// and its like, count as a character that is none.
fn unescaped<'a>(text: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], usize> {
    let Some((letter, rest)) = text.get(1..).and_then(<[u8]>::split_first) else { return Err(text.len()) };
    let digits = match letter {
        b'x' => 2,
        b'u' => 4,
        b'U' => 8,
        b'\r' | b'\n' => {
            let is_pair = *letter == b'\r' && rest.first() == Some(&b'\n');
            return Ok(trim_blanks_start(&rest[usize::from(is_pair)..]));
        }
        _ => {
            const ESCAPES: [(u8, &str); 18] = [
                (b'0', "\0"),
                (b'a', "\x07"),
                (b'b', "\x08"),
                (b't', "\t"),
                (b'\t', "\t"),
                (b'n', "\n"),
                (b'v', "\x0b"),
                (b'f', "\x0c"),
                (b'r', "\r"),
                (b'e', "\x1b"),
                (b' ', " "),
                (b'"', "\""),
                (b'/', "/"),
                (b'\\', "\\"),
                (b'N', "\u{85}"),
                (b'_', "\u{a0}"),
                (b'L', "\u{2028}"),
                (b'P', "\u{2029}"),
            ];
            let meant = ESCAPES.iter().find(|(known, _)| known == letter).ok_or(rest.len() + 1)?;
            out.extend_from_slice(meant.1.as_bytes());
            return Ok(rest);
        }
    };
    // With fewer bytes than digits the letter alone is dropped.
    let Some((digits, rest)) = rest.split_at_checked(digits) else { return Ok(rest) };
    let number = digits.iter().try_fold(0_u32, |number, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(number << 4 | digit)
    });
    push_character(number.unwrap_or(0xfffd), out);
    Ok(rest)
}

/// A character in UTF-8; halves of pairs have a form there, too, and numbers too
/// large have none.
fn push_character(number: u32, out: &mut Vec<u8>) {
    if let Some(character) = char::from_u32(number) {
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    } else if number < 0x1_0000 {
        let tail = |bits: u32| 0x80 | (bits & 0x3f) as u8;
        out.extend_from_slice(&[0xe0 | (number >> 12) as u8, tail(number >> 6), tail(number)]);
    }
}
