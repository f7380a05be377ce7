//! Text profiles (`.proftext`), as written by `llvm-profdata merge --text`.
//!
//! ```text
//! file    = header* record*
//! header  = ":" keyword
//! record  = name hash count counter{count}
//!           [ "$" size byte{size} ]
//!           [ kinds ( kind sites site{sites} ){kinds} ]
//! site    = values ( value ":" count ){values}
//! ```
//!
//! One item per line. Empty lines and lines that start with `#` are skipped anywhere (`TextInstrProfReader` in LLVM's
//! `InstrProfReader.cpp`).
//!
//! LLVM's text format cannot store everything. LLVM reads names that start with `#` as comments, and a name that starts
//! with `$` after a record without bitmap as a bitmap. It writes call targets without a record as external symbols.
//! With [`Compat::Profbridge`](crate::Compat), the writer adds lines that LLVM skips as comments:
//!
//! | line | meaning |
//! |---|---|
//! | `#!name=NAME` | a name that cannot be written as a line, with `%XX` for special bytes |
//! | `#!\|LINE` | a line of the record with that name: LLVM skips the whole record |
//! | `#!target=HASH` | the name hash of the next value, which is written as an external symbol |
//! | `#!functions=HASH,…` | the name hashes of the trace on the next line |
//! | `#!names=file:function` | local functions have the names of LLVM 17 and earlier, although some name contains a `;` |
//!
//! and an empty bitmap (`$0`) before a name that starts with `$`. The reader reads both forms. With
//! [`Compat::Llvm22`](crate::Compat), such lines are comments, as in LLVM.
//!
//! Numbers have the syntax of LLVM's `StringRef::getAsInteger`.

use crate::digits::parse_decimal;

pub(crate) use describe::describe;
pub(crate) use parser::{evidence, is_blank};
pub use reader::TextReader;
pub(crate) use write::{Functions, Source, is_plain_name, write_source};
pub use write::{TextOptions, Written, losses, write, write_record, write_to};

mod describe;
mod lines;
mod parser;
mod reader;
mod write;

/// The text for a target without a name.
const EXTERNAL: &[u8] = b"** External Symbol **";

/// Prefixes of lines that only profbridge reads.
mod directive {
    pub(super) const NAME: &[u8] = b"#!name=";
    pub(super) const HIDDEN: &[u8] = b"#!|";
    pub(super) const TARGET: &[u8] = b"#!target=";
    pub(super) const FUNCTIONS: &[u8] = b"#!functions=";
    pub(super) const COLON_NAMES: &[u8] = b"#!names=file:function";
}

/// Returns true if the text declares that its local functions have names of the form `file:function`, as in LLVM 17 and
/// earlier. The names alone are ambiguous if the name of a file contains a `;`.
pub(crate) fn has_colon_names(text: &[u8]) -> bool {
    head_has_colon_names(text).unwrap_or(false)
}

/// Like [`has_colon_names`], but for the start of a text. `None` if more text is needed.
fn head_has_colon_names(text: &[u8]) -> Option<bool> {
    let mut lines = text.split(|byte| *byte == b'\n');
    let is_head = |line: &&[u8]| line.first().is_some_and(|first| matches!(first, b'#' | b':'));
    let has = lines.by_ref().take_while(is_head).any(|line| line == directive::COLON_NAMES);
    // The text after the last line feed counts as a line.
    (has || lines.next().is_some()).then_some(has)
}

/// Returns true if a record of the text may have a bitmap: a line starts like one.
pub(crate) fn has_bitmaps(text: &[u8]) -> bool {
    text.contains(&b'$') && text.windows(2).any(|pair| pair == b"\n$")
}

/// Parses a number with an optional radix prefix: `0x`, `0b`, `0o`, or `0` for octal.
pub(super) fn parse_any_radix(text: &[u8]) -> Option<u64> {
    match text {
        [b'0', b'x' | b'X', digits @ ..] => parse_digits(digits, 16),
        [b'0', b'b' | b'B', digits @ ..] => parse_digits(digits, 2),
        [b'0', b'o', digits @ ..] => parse_digits(digits, 8),
        [b'0', digits @ ..] if digits.first().is_some_and(u8::is_ascii_digit) => parse_digits(digits, 8),
        _ => parse_digits(text, 10),
    }
}

fn parse_digits(text: &[u8], radix: u32) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |number, &byte| {
        let digit = char::from(byte).to_digit(radix)?;
        number.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))
    })
}

/// A line feed in every byte.
const LINE_FEEDS: u64 = 0x0a0a_0a0a_0a0a_0a0a;
/// `0` in every byte.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Returns the position of the first line feed.
pub(super) fn line_end(text: &[u8]) -> Option<usize> {
    let (words, rest) = text.as_chunks::<8>();
    let hint_text = words.iter().zip(0..).find_map(|(word, at)| Some(at * 8 + first_line_feed(*word)?));
    hint_text.or_else(|| Some(words.len() * 8 + rest.iter().position(|byte| *byte == b'\n')?))
}

fn first_line_feed(word: [u8; 8]) -> Option<usize> {
    // A byte is zero at a line feed. The lowest byte whose highest bit is set by a borrow is the first line feed.
    let word = u64::from_le_bytes(word) ^ LINE_FEEDS;
    let found = word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080;
    (found != 0).then_some(found.trailing_zeros() as usize / 8)
}

/// Parses a line that is a decimal number. Returns the number, and the length of the line with its end. `None` for more
/// than 19 digits, a line without end, and other text.
pub(super) fn parse_line(text: &[u8]) -> Option<(u64, usize)> {
    let Some((word, len)) = text.first_chunk::<8>().and_then(|word| Some((*word, first_line_feed(*word)?))) else {
        return parse_long_line(text);
    };
    if len == 0 {
        return None;
    }
    Some((parse_start(word, len)?, len + 1))
}

/// Parses the first 1 to 7 digits of a word.
fn parse_start(word: [u8; 8], len: usize) -> Option<u64> {
    // Zeros before the digits and nothing after them.
    let shift = 64 - 8 * len as u32;
    parse_eight(u64::from_le_bytes(word) << shift | ZEROS & ((1 << shift) - 1))
}

/// Parses a line whose first eight bytes have no line feed, or a short text.
fn parse_long_line(text: &[u8]) -> Option<(u64, usize)> {
    // Most long counts have 9 to 15 digits.
    if let Some((high, rest)) = text.split_first_chunk::<8>()
        && let Some(low) = rest.first_chunk::<8>()
        && let Some(len) = first_line_feed(*low).filter(|len| *len > 0)
    {
        let (high, low) = (parse_eight(u64::from_le_bytes(*high))?, parse_start(*low, len)?);
        return Some((high * 10u64.pow(len as u32) + low, 8 + len + 1));
    }
    let len = text.iter().take(20).position(|byte| *byte == b'\n').filter(|len| *len > 0)?;
    Some((parse_decimal(&text[..len])?, len + 1))
}

/// Returns the number of eight digits, with the first digit in the lowest byte.
fn parse_eight(digits: u64) -> Option<u64> {
    let digits = digits ^ ZEROS;
    // Values above 9 set the highest bit of their byte.
    if (digits | digits.wrapping_add(0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    Some((fours * 10_000 + (fours >> 32)) & 0xffff_ffff)
}

/// Appends a number in lower-case hexadecimal with `0x`.
pub(super) fn push_hex(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(b"0x");
    let digits = (64 - number.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        out.push(b"0123456789abcdef"[(number >> (digit * 4)) as usize & 15]);
    }
}

#[cfg(test)]
mod tests {
    use crate::text::*;
    use proptest::prelude::*;

    #[test]
    fn radix_follows_the_prefix() {
        let cases: [(&str, Option<u64>); 14] = [
            ("0x1F", Some(31)),
            ("0XfF", Some(255)),
            ("0b101", Some(5)),
            ("0o17", Some(15)),
            ("017", Some(15)),
            ("18", Some(18)),
            ("0", Some(0)),
            ("", None),
            ("0x", None),
            ("08", None),
            ("+1", None),
            (" 1", None),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
        ];
        for (text, number) in cases {
            assert_eq!(parse_any_radix(text.as_bytes()), number, "{text:?}");
        }
        assert_eq!(parse_decimal(b"017"), Some(17));
    }

    #[test]
    fn only_digits_up_to_the_line_feed_are_a_line() {
        let cases = [
            (&b"0\n"[..], Some((0, 2))),
            (&b"7\n12345678"[..], Some((7, 2))),
            (&b"1234567\n"[..], Some((1_234_567, 8))),
            (&b"12345678\n"[..], Some((12_345_678, 9))),
            (&b"1234567890123456789\n"[..], Some((1_234_567_890_123_456_789, 20))),
            (&b"12345678901234567890\n"[..], None),
            (&b"\n1234567"[..], None),
            (&b"\n"[..], None),
            (&b"12"[..], None),
            (&b"12\r\n45678"[..], None),
            (&b"1:\n45678901"[..], None),
            (&b"1/\n45678901"[..], None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_line(text), expected, "{}", text.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn a_fused_line_parse_equals_search_and_parse(
            text in prop::collection::vec(prop_oneof![b'0'..=b'9', Just(b'\n'), any::<u8>()], 0..40),
            number in any::<u64>(), shift in 0..64, at in 0usize..40,
        ) {
            let mut lines = text.clone();
            lines.splice(at.min(text.len()).., format!("{}\n", number >> shift).into_bytes());
            for text in [&text, &lines] {
                for start in 0..text.len() {
                    let text = &text[start..];
                    let end = text.iter().position(|byte| *byte == b'\n');
                    prop_assert_eq!(line_end(text), end);
                    let short = end.filter(|end| *end < 20).and_then(|end| Some((parse_decimal(&text[..end])?, end + 1)));
                    prop_assert_eq!(parse_line(text), short);
                }
            }
        }

        #[test]
        fn numbers_survive_the_round_trip(number in prop_oneof![any::<u64>(), 0u64..2000]) {
            prop_assert_eq!(parse_decimal(number.to_string().as_bytes()), Some(number));
            let mut text = Vec::new();
            push_hex(&mut text, number);
            prop_assert_eq!(&text, &format!("{number:#x}").into_bytes());
        }
    }
}
