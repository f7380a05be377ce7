//! Numbers as they stand in the text.

/// Digits as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    /// `i64::MAX` if there are more digits than any id has.
    pub(super) value: i64,
    /// How many digits there are.
    pub(super) len: usize,
    /// Where they end.
    pub(super) end: usize,
    /// Whether there are several, and the first is 0.
    pub(super) leading_zero: bool,
}

impl Number {
    /// The digits at `start`, if any.
    pub(super) fn at(data: &[u8], start: usize) -> Self {
        let (mut value, mut end) = (0i64, start);
        while let Some(digit) = data.get(end).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
            // Up to 18 digits cannot overflow, and beyond that the value is not used.
            value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
            end += 1;
        }
        let len = end - start;
        let value = if len > 18 { i64::MAX } else { value };
        Self { value, len, end, leading_zero: len > 1 && data[start] == b'0' }
    }
}

/// A number of at most 18 digits as it is usually written, and where it ends.
#[inline]
pub(super) fn plain(data: &[u8], start: usize) -> Option<(i64, usize)> {
    match short(data.get(start..)?) {
        Some((value, rest)) => Some((value, data.len() - rest.len())),
        None => plain_of_any_length(data, start),
    }
}

#[cold]
fn plain_of_any_length(data: &[u8], start: usize) -> Option<(i64, usize)> {
    let number = Number::at(data, start);
    (number.len > 0 && !number.leading_zero && number.value < i64::MAX).then_some((number.value, number.end))
}

/// A number of up to seven digits as it is usually written, from eight bytes of text, and what follows it:
/// lengths vary from frame to frame, and a loop would guess most of them wrong.
#[inline(always)]
pub(super) fn short(text: &[u8]) -> Option<(i64, &[u8])> {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    // The bytes, first one lowest, with the digits' values in place of their characters.
    let word = u64::from_le_bytes(*text.first_chunk::<8>()?) ^ 0x3030_3030_3030_3030;
    // The first byte that is no digit sets its high bit; digits before it carry nothing over.
    let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & HIGH_BITS;
    let len = others.trailing_zeros() as usize / 8;
    if !(1..8).contains(&len) || (word as u8 == 0 && len > 1) {
        return None;
    }
    // The digits move to the upper bytes, zeros in front of them. Pairs come first.
    let digits = word << (64 - 8 * len as u32);
    let pairs = (digits.wrapping_mul(2561) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(6_553_601) >> 16) & 0x0000_ffff_0000_ffff;
    Some(((fours.wrapping_mul(42_949_672_960_001) >> 32) as i64, &text[len..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_same_by_words_and_by_digits() {
        for number in ["", "0", "7", "42", "999", "65534", "278000", "9999999", "12345678", "2147483648", "00012"] {
            for after in
                ["", ":", "<1:23456789", "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}", "/0000000", ":9999999", "é9999999"]
            {
                let text = format!("x{number}{after}");
                let found = Number::at(text.as_bytes(), 1);
                assert_eq!((found.value, found.end), (number.parse().unwrap_or(0), 1 + number.len()), "{text}");
                assert_eq!((found.len, found.leading_zero), (number.len(), number == "00012"), "{text}");
                let plain_one = (found.len > 0 && !found.leading_zero).then_some((found.value, found.end));
                assert_eq!(plain(text.as_bytes(), 1), plain_one, "{text}");
                let short_one = short(&text.as_bytes()[1..]).map(|(value, rest)| (value, text.len() - rest.len()));
                let is_short = found.len < 8 && text.len() > 8;
                assert_eq!(short_one, plain_one.filter(|_| is_short), "{text}");
            }
        }
        assert_eq!(plain(b"1234567890123456789", 0), None);
        assert_eq!(plain(b"123456789012345678", 0), Some((123_456_789_012_345_678, 18)));
        assert_eq!(plain(b"1", 2), None);
    }
}
