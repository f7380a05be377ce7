//! Contexts as they are written: `5:0<3:2<2:9<1:3`, leaf first.

/// A frame whose method is still the file's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RawFrame {
    /// `i64::MAX` when the number has more than 18 digits.
    pub(super) method: i64,
    pub(super) bci: i32,
}

/// How far a context's text was understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parsed {
    /// Position of the first byte that is no part of it.
    pub(super) end: usize,
    /// Whether it ends after a whole frame, and every number is a Java int.
    pub(super) sound: bool,
    /// Whether a number has a leading zero, so that equal contexts may differ as text.
    pub(super) leading_zeros: bool,
}

/// Parses frames from `start` on, as long as the grammar goes.
#[inline]
pub(super) fn parse(data: &[u8], start: usize, separator: u8, frames: &mut Vec<RawFrame>) -> Parsed {
    frames.clear();
    let mut at = start;
    let mut leading_zeros = false;
    loop {
        let (method, after) = digits(data, at);
        if after == at || data.get(after) != Some(&b':') {
            return Parsed { end: after, sound: false, leading_zeros };
        }
        leading_zeros |= after - at > 1 && data[at] == b'0';
        at = after + 1;
        let negative = data.get(at) == Some(&b'-');
        at += usize::from(negative);
        let (bci, after) = digits(data, at);
        if after == at {
            return Parsed { end: after, sound: false, leading_zeros };
        }
        leading_zeros |= (after - at > 1 || negative) && data[at] == b'0';
        at = after;
        let Ok(bci) = i32::try_from(if negative { -bci } else { bci }) else {
            return Parsed { end: at, sound: false, leading_zeros };
        };
        frames.push(RawFrame { method, bci });
        if data.get(at) != Some(&separator) {
            return Parsed { end: at, sound: true, leading_zeros };
        }
        at += 1;
    }
}

/// A decimal number of at most 18 digits without needless zeros, and where it ends.
#[inline]
pub(super) fn plain_number(data: &[u8], start: usize) -> Option<(i64, usize)> {
    match Digits::at(data, start).filter(|digits| digits.len < 8) {
        Some(digits) => (digits.len > 0 && !digits.has_needless_zero()).then(|| (digits.value(), start + digits.len)),
        None => long_plain_number(data, start),
    }
}

/// As [`plain_number`], for numbers of any length and at the end of the text.
#[cold]
fn long_plain_number(data: &[u8], start: usize) -> Option<(i64, usize)> {
    let (value, end) = many_digits(data, start);
    let len = end - start;
    (len > 0 && value < i64::MAX && (len == 1 || data[start] != b'0')).then_some((value, end))
}

/// A decimal number, `i64::MAX` if it has more digits than any id.
#[inline]
fn digits(data: &[u8], start: usize) -> (i64, usize) {
    match Digits::at(data, start) {
        Some(digits) if digits.len == 0 => (0, start),
        Some(digits) if digits.len < 8 => (digits.value(), start + digits.len),
        _ => many_digits(data, start),
    }
}

/// Eight bytes of text that begin with a number: lengths vary from frame to
/// frame, and a loop would guess most of them wrong.
#[derive(Clone, Copy)]
pub(super) struct Digits {
    /// The bytes, first one lowest, with the digits' values in place of their characters.
    word: u64,
    /// How many of the bytes are digits, up to the first that is none.
    pub(super) len: usize,
}

impl Digits {
    /// The bytes at `start`, if there are eight.
    #[inline]
    pub(super) fn at(data: &[u8], start: usize) -> Option<Self> {
        const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
        let word = u64::from_le_bytes(*data.get(start..)?.first_chunk::<8>()?) ^ 0x3030_3030_3030_3030;
        // The first byte that is no digit sets its high bit; digits before it carry nothing over.
        let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & HIGH_BITS;
        Some(Self { word, len: others.trailing_zeros() as usize / 8 })
    }

    /// The byte behind the digits; something if there are eight of them.
    #[inline]
    pub(super) fn next(self) -> u8 {
        (self.word >> ((8 * self.len as u32) & 63)) as u8 ^ b'0'
    }

    /// Whether there is more than one digit, and the first is 0.
    #[inline]
    pub(super) fn has_needless_zero(self) -> bool {
        self.word as u8 == 0 && self.len > 1
    }

    /// The number, of one to eight digits.
    #[inline]
    pub(super) fn value(self) -> i64 {
        // The digits move to the upper bytes, zeros in front of them: eight digits, pairs first.
        let digits = self.word << ((64 - 8 * self.len as u32) & 63);
        let pairs = (digits.wrapping_mul(2561) >> 8) & 0x00ff_00ff_00ff_00ff;
        let fours = (pairs.wrapping_mul(6_553_601) >> 16) & 0x0000_ffff_0000_ffff;
        (fours.wrapping_mul(42_949_672_960_001) >> 32) as i64
    }
}

/// As [`digits`], for numbers of any length and at the end of the text.
#[cold]
fn many_digits(data: &[u8], start: usize) -> (i64, usize) {
    let mut value = 0i64;
    let mut at = start;
    while let Some(digit) = data.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        // Up to 18 digits cannot overflow, and beyond that the value is not used.
        value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
        at += 1;
    }
    (if at - start > 18 { i64::MAX } else { value }, at)
}

/// A key under which equal contexts are equal, of one without needless zeros.
#[inline]
pub(super) fn plain_identity(text: &[u8]) -> u128 {
    xxhash_rust::xxh3::xxh3_128(text)
}

/// A key under which equal contexts are equal.
pub(super) fn identity(text: &[u8], parsed: Parsed, frames: &[RawFrame]) -> u128 {
    if !parsed.leading_zeros {
        return plain_identity(text);
    }
    let plain: Vec<String> = frames.iter().map(|frame| format!("{}:{}", frame.method, frame.bci)).collect();
    plain_identity(plain.join("<").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_leaf_first() {
        let mut frames = Vec::new();
        let parsed = parse(b"2:-6<1:3\"", 0, b'<', &mut frames);
        assert_eq!(parsed, Parsed { end: 8, sound: true, leading_zeros: false });
        assert_eq!(frames, [RawFrame { method: 2, bci: -6 }, RawFrame { method: 1, bci: 3 }]);
    }

    #[test]
    fn anything_but_the_grammar_stops_it() {
        let mut frames = Vec::new();
        for text in ["", "1", "1:", "1:-", "1:2<", "-1:2", "+1:2", "1 :2", "1:2147483648", "a"] {
            let parsed = parse(text.as_bytes(), 0, b'<', &mut frames);
            assert!(!parsed.sound || parsed.end < text.len(), "{text}");
        }
    }

    #[test]
    fn numbers_are_the_same_by_words_and_by_digits() {
        for number in ["", "0", "7", "42", "999", "65534", "278000", "9999999", "12345678", "2147483648", "00012"] {
            for after in
                ["", ":", "<1:23456789", "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}", "/0000000", ":9999999", "é9999999"]
            {
                let text = format!("x{number}{after}");
                let (value, end) = many_digits(text.as_bytes(), 1);
                assert_eq!(digits(text.as_bytes(), 1), (value, end), "{text}");
                assert_eq!((value, end), (number.parse().unwrap_or(0), 1 + number.len()), "{text}");
            }
        }
    }

    #[test]
    fn leading_zeros_make_no_other_context() {
        let key = |text: &str| {
            let mut frames = Vec::new();
            let parsed = parse(text.as_bytes(), 0, b'<', &mut frames);
            identity(text.as_bytes(), parsed, &frames)
        };
        assert_eq!(key("01:00<2:-0"), key("1:0<2:0"));
        assert_ne!(key("1:0<2:0"), key("1:0<2:1"));
    }
}
