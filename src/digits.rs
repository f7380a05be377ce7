//! Formatting of numbers, eight digits at a time, and in sentences.
//!
//! Text profiles and reports consist mostly of counts, so writing them spends most of its time here.

use std::fmt::Display;

/// The number of digits of the largest number.
const MAX_DIGITS: usize = 20;
/// Eight digits are stored at once, even if fewer are needed.
const STORE: usize = 8;
const STORED: u64 = 100_000_000;
/// The number of numbers for which the output grows once.
const BATCH: usize = 16;

/// The digits of numbers below 1000, and how many there are.
const SMALL: [[u8; 4]; 1000] = {
    let mut texts = [[b'0'; 4]; 1000];
    let mut number = 0;
    while number < 1000 {
        let digits = [(number / 100) as u8, (number / 10 % 10) as u8, (number % 10) as u8];
        let first = if number >= 100 {
            0
        } else if number >= 10 {
            1
        } else {
            2
        };
        let mut at = first;
        while at < 3 {
            texts[number][at - first] += digits[at];
            at += 1;
        }
        texts[number][3] = 3 - first as u8;
        number += 1;
    }
    texts
};

/// Returns the width of a column, which is the largest of some widths. Formatting panics if a width exceeds 16 bits.
pub(crate) fn column_width(widths: impl IntoIterator<Item = usize>) -> usize {
    widths.into_iter().max().unwrap_or(0).min(usize::from(u16::MAX))
}

/// The widest column of names.
const WIDEST_NAMES: usize = 100;

/// Returns the width of a column of names. Longer names move the rest of their own rows only.
pub(crate) fn name_column<'n>(names: impl IntoIterator<Item = &'n str>, least: usize) -> usize {
    column_width(names.into_iter().map(|name| name.chars().count()).chain([least])).min(WIDEST_NAMES)
}

/// Returns `1 function`, `2 functions` or `2 addresses`, for words whose plural ends with s.
pub(crate) fn number_of<N: Display + PartialEq + From<u8>>(count: N, what: &str) -> String {
    let plural = if what.ends_with('s') { "es" } else { "s" };
    if count == N::from(1) { format!("1 {what}") } else { format!("{count} {what}{plural}") }
}

/// Appends a number.
#[inline]
pub(crate) fn push_decimal(out: &mut Vec<u8>, number: u64) {
    let Some(text) = SMALL.get(usize::try_from(number).unwrap_or(usize::MAX)) else {
        return push_decimals(out, &[number], []);
    };
    // A copy of constant length is faster than one of the exact length.
    let end = out.len() + usize::from(text[3]);
    out.extend_from_slice(text);
    out.truncate(end);
}

/// Appends a number that may be negative.
#[inline]
pub(crate) fn push_signed(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    push_decimal(out, number.unsigned_abs());
}

/// Appends a number with leading spaces, so that it takes at least `width` characters.
pub(crate) fn push_padded(out: &mut Vec<u8>, number: u64, width: usize) {
    let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
    out.resize(out.len() + width.saturating_sub(digits), b' ');
    push_decimal(out, number);
}

/// Appends numbers, each followed by `end`.
pub(crate) fn push_decimals<const N: usize>(out: &mut Vec<u8>, numbers: &[u64], end: [u8; N]) {
    for batch in numbers.chunks(BATCH) {
        let mut at = out.len();
        out.resize(at + batch.len() * (MAX_DIGITS + N) + STORE, 0);
        for &number in batch {
            at = put(out, at, number);
            out[at..at + N].copy_from_slice(&end);
            at += N;
        }
        out.truncate(at);
    }
}

/// Appends a number as 16 hexadecimal digits in lower case.
pub(crate) fn push_hex_16(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&hex_digits((number >> 32) as u32).to_le_bytes());
    out.extend_from_slice(&hex_digits(number as u32).to_le_bytes());
}

/// Reads a number of decimal digits only; `None` for other text and for more than 64 bits.
pub(crate) fn parse_decimal(text: &[u8]) -> Option<u64> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u64::from(byte - b'0'));
    let add = |sum: u64, byte: &u8| sum.checked_mul(10)?.checked_add(digit(byte)?);
    if text.is_empty() { None } else { text.iter().try_fold(0, add) }
}

/// Reads a number of hexadecimal digits only, in either case; `None` for other text and for more than 64 bits.
pub(crate) fn parse_hex(text: &[u8]) -> Option<u64> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    };
    let add = |sum: u64, byte: &u8| (sum >> 60 == 0).then_some(sum << 4 | u64::from(digit(*byte)?));
    if text.is_empty() { None } else { text.iter().try_fold(0, add) }
}

/// Returns eight hexadecimal digits, the first one in the lowest byte.
fn hex_digits(number: u32) -> u64 {
    // Spread the half-bytes, the first one to the highest byte.
    let spread = u64::from(number);
    let spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff;
    let spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff;
    let spread = (spread | spread << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // A half-byte of at least 10 plus 6 carries into the next one.
    let letters = ((spread + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
    (spread + ASCII + letters * u64::from(b'a' - b'0' - 10)).swap_bytes()
}

/// Stores a number at `at` and returns the end of its digits. Up to seven bytes after them change, too.
#[inline]
fn put(buffer: &mut [u8], at: usize, number: u64) -> usize {
    if number >= STORED {
        return put_large(buffer, at, number);
    }
    let (digits, len) = short_digits(number as u32);
    store(buffer, at, digits);
    at + len
}

/// Returns the digits of a number below 10^8, the first one in the lowest byte, and their number.
#[inline]
fn short_digits(number: u32) -> (u64, usize) {
    let digits = eight_digits(number);
    // The last digit is kept, even if it is zero.
    let leading = (digits | 1 << 63).trailing_zeros() / 8;
    ((digits | ASCII) >> (8 * leading), STORE - leading as usize)
}

#[cold]
#[inline(never)]
fn put_large(buffer: &mut [u8], at: usize, number: u64) -> usize {
    let at = put(buffer, at, number / STORED);
    store(buffer, at, eight_digits((number % STORED) as u32) | ASCII);
    at + STORE
}

#[inline]
fn store(buffer: &mut [u8], at: usize, digits: u64) {
    buffer[at..at + STORE].copy_from_slice(&digits.to_le_bytes());
}

/// `0` in every byte.
const ASCII: u64 = 0x3030_3030_3030_3030;

/// Returns the digits of a number below 10^8, the first one in the lowest byte. Splits the number into halves, these
/// into pairs, and these into digits, each level in parallel. A division is a multiplication and a shift that is exact
/// for the range.
#[inline]
fn eight_digits(number: u32) -> u64 {
    let (high, low) = (u64::from(number / 10_000), u64::from(number % 10_000));
    let halves = high | low << 32;
    let hundreds = ((halves * 5243) >> 19) & 0x0000_007f_0000_007f;
    let pairs = hundreds | (halves - hundreds * 100) << 16;
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (pairs - tens * 10) << 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wider_columns_than_formatting_accepts_are_narrowed() {
        let width = column_width([3, 70_000]);
        assert_eq!(format!("{:<width$}", "x").len(), 65_535);
        assert_eq!((column_width([3, 5]), column_width([])), (5, 0));
    }

    #[test]
    fn every_length_of_number_is_spelled() {
        let mut edges = vec![0, u64::MAX];
        edges.extend((0..20).map(|power| 10u64.pow(power)).flat_map(|n| [n - 1, n, n + 1]));
        for number in edges {
            let mut text = b"x".to_vec();
            push_decimal(&mut text, number);
            assert_eq!(text, format!("x{number}").into_bytes());
        }
    }

    #[test]
    fn every_half_has_its_digits() {
        for number in 0..10_000 {
            let digits = (eight_digits(number * 10_000 + number) | ASCII).to_le_bytes();
            assert_eq!(digits, format!("{number:04}{number:04}").as_bytes());
        }
    }

    proptest! {
        #[test]
        fn hexadecimal_digits_are_those_of_the_standard_library(number in any::<u64>(), shift in 0..64) {
            let mut text = Vec::new();
            push_hex_16(&mut text, number >> shift);
            prop_assert_eq!(String::from_utf8(text).unwrap(), format!("{:016x}", number >> shift));
        }

        #[test]
        fn numbers_are_padded_on_the_left(number in any::<u64>(), shift in 0..64, width in 0usize..12) {
            let number = number >> shift;
            let mut text = Vec::new();
            push_padded(&mut text, number, width);
            prop_assert_eq!(String::from_utf8(text).unwrap(), format!("{number:>width$}"));
        }

        #[test]
        fn numbers_in_a_row_are_those_one_by_one(
            numbers in prop::collection::vec(prop_oneof![any::<u64>(), 0u64..200_000_000, 0u64..2000], 0..50)
        ) {
            let mut text = Vec::new();
            push_decimals(&mut text, &numbers, *b", ");
            let expected: String = numbers.iter().map(|number| format!("{number}, ")).collect();
            prop_assert_eq!(String::from_utf8(text).unwrap(), expected);
        }
    }
}
