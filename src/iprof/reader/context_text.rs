//! Contexts as they are written: `5:0<3:2<2:9<1:3`, leaf first.

use super::ids::IdMap;
use crate::iprof::context::{Frame, bci};
use crate::iprof::tables::MethodHandle;

/// What a context's text says, as far as it was understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ContextText {
    /// Position of the first byte that is no part of it.
    pub(super) end: usize,
    /// Whether it ends after a whole frame, and every number is a Java int.
    pub(super) sound: bool,
    /// Whether a number has a leading zero, so that equal contexts may differ as text.
    pub(super) leading_zeros: bool,
    /// The first method that is not in the table; `i64::MAX` when it has more than 18 digits.
    pub(super) unknown: Option<i64>,
    /// A position that is neither a bytecode index nor a placeholder.
    pub(super) odd: Option<i32>,
    /// Whether it has other numbers than 0, or several frames.
    pub(super) is_somewhere: bool,
}

/// Parses frames from `start` on, as long as the grammar goes, and appends those
/// whose methods are known.
#[inline]
pub(super) fn parse(data: &[u8], start: usize, separator: u8, methods: &IdMap, frames: &mut Vec<Frame>) -> ContextText {
    let mut context = ContextText { end: start, ..ContextText::default() };
    loop {
        let method = Number::at(data, context.end);
        context.end = method.end;
        if method.len == 0 || data.get(method.end) != Some(&b':') {
            return context;
        }
        let start = method.end + 1;
        let negative = data.get(start) == Some(&b'-');
        let position = Number::at(data, start + usize::from(negative));
        context.end = position.end;
        let Ok(bci) = i32::try_from(if negative { -position.value } else { position.value }) else { return context };
        if position.len == 0 {
            return context;
        }
        // Nobody writes a zero with a sign.
        context.leading_zeros |= method.leading_zero | position.leading_zero | (negative && bci == 0);
        context.is_somewhere |= method.value != 0 || bci != 0;
        if bci::is_odd(bci) {
            context.odd = Some(bci);
        }
        match methods.entry(method.value) {
            Some(handle) => frames.push(Frame { method: MethodHandle::from_number(handle), bci }),
            None => context.unknown = context.unknown.or(Some(method.value)),
        }
        if data.get(context.end) != Some(&separator) {
            context.sound = true;
            return context;
        }
        context.is_somewhere = true;
        context.end += 1;
    }
}

/// Digits as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number {
    /// `i64::MAX` if there are more digits than any id has.
    pub(super) value: i64,
    /// How many digits there are.
    len: usize,
    /// Where they end.
    pub(super) end: usize,
    /// Whether there are several, and the first is 0.
    leading_zero: bool,
}

impl Number {
    /// The digits at `start`, if any.
    #[inline]
    fn at(data: &[u8], start: usize) -> Self {
        match short(data, start) {
            Some(number) => number,
            None => Self::of_any_length(data, start),
        }
    }

    /// A number of at most 18 digits as it is usually written.
    #[inline]
    pub(super) fn plain(data: &[u8], start: usize) -> Option<Self> {
        Some(Self::at(data, start)).filter(|number| number.len > 0 && !number.leading_zero && number.value < i64::MAX)
    }

    /// As [`at`](Self::at), for numbers of any length and at the end of the text.
    #[cold]
    fn of_any_length(data: &[u8], start: usize) -> Self {
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

/// A number of up to seven digits, from eight bytes of text: lengths vary from
/// frame to frame, and a loop would guess most of them wrong.
#[inline]
fn short(data: &[u8], start: usize) -> Option<Number> {
    const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
    // The bytes, first one lowest, with the digits' values in place of their characters.
    let word = u64::from_le_bytes(*data.get(start..)?.first_chunk::<8>()?) ^ 0x3030_3030_3030_3030;
    // The first byte that is no digit sets its high bit; digits before it carry nothing over.
    let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & HIGH_BITS;
    let len = others.trailing_zeros() as usize / 8;
    if len == 8 {
        return None;
    }
    // The digits move to the upper bytes, zeros in front of them; of none nothing is left. Pairs come first.
    let digits = (word << 8) << (56 - 8 * len as u32);
    let pairs = (digits.wrapping_mul(2561) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(6_553_601) >> 16) & 0x0000_ffff_0000_ffff;
    let value = (fours.wrapping_mul(42_949_672_960_001) >> 32) as i64;
    Some(Number { value, len, end: start + len, leading_zero: len > 1 && word as u8 == 0 })
}

/// A key under which equal contexts are equal, whatever zeros stand in front of their numbers.
pub(super) fn identity(text: &[u8], separator: u8, leading_zeros: bool) -> u128 {
    if !leading_zeros {
        return xxhash_rust::xxh3::xxh3_128(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    for number in text.split_inclusive(|byte| matches!(byte, b':') || *byte == separator) {
        let digits = number.iter().position(|byte| !matches!(byte, b'0' | b'-'));
        let is_zero = digits.is_none_or(|at| !number[at].is_ascii_digit());
        if number.starts_with(b"-") && !is_zero {
            plain.push(b'-');
        } else if is_zero {
            plain.push(b'0');
        }
        plain.extend_from_slice(&number[digits.unwrap_or(number.len())..]);
    }
    xxhash_rust::xxh3::xxh3_128(&plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Methods 0 to 9, which have their ids.
    fn methods() -> IdMap {
        let mut methods = IdMap::default();
        (0..10).for_each(|id| methods.set(i64::from(id), id));
        methods
    }

    fn frame(method: u32, bci: i32) -> Frame {
        Frame { method: MethodHandle::from_number(method), bci }
    }

    #[test]
    fn contexts_are_leaf_first() {
        let mut frames = Vec::new();
        let context = parse(b"2:-6<1:3\"", 0, b'<', &methods(), &mut frames);
        let expected = ContextText { end: 8, sound: true, is_somewhere: true, ..ContextText::default() };
        assert_eq!((context, &frames[..]), (expected, &[frame(2, -6), frame(1, 3)][..]));
        let context = parse(b"0:0", 0, b'<', &methods(), &mut frames);
        assert!(context.sound && !context.is_somewhere);
        let context = parse(b"0:70000<12:0<99:1", 0, b'<', &methods(), &mut frames);
        assert_eq!((context.unknown, context.odd, context.sound), (Some(12), Some(70000), true));
    }

    #[test]
    fn anything_but_the_grammar_stops_it() {
        let mut frames = Vec::new();
        for text in ["", "1", "1:", "1:-", "1:2<", "-1:2", "+1:2", "1 :2", "1:2147483648", "a"] {
            let context = parse(text.as_bytes(), 0, b'<', &methods(), &mut frames);
            assert!(!context.sound || context.end < text.len(), "{text}");
        }
    }

    #[test]
    fn numbers_are_the_same_by_words_and_by_digits() {
        for number in ["", "0", "7", "42", "999", "65534", "278000", "9999999", "12345678", "2147483648", "00012"] {
            for after in
                ["", ":", "<1:23456789", "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}", "/0000000", ":9999999", "é9999999"]
            {
                let text = format!("x{number}{after}");
                let found = Number::at(text.as_bytes(), 1);
                assert_eq!(found, Number::of_any_length(text.as_bytes(), 1), "{text}");
                assert_eq!((found.value, found.end), (number.parse().unwrap_or(0), 1 + number.len()), "{text}");
            }
        }
    }

    #[test]
    fn leading_zeros_make_no_other_context() {
        let key = |text: &str, separator| {
            let context = parse(text.as_bytes(), 0, separator, &methods(), &mut Vec::new());
            identity(text.as_bytes(), separator, context.leading_zeros)
        };
        assert_eq!(key("01:00<2:-0", b'<'), key("1:0<2:0", b'<'));
        assert_eq!(key("007:-010<0:20", b'<'), key("7:-10<0:20", b'<'));
        assert_eq!(key("1:05,2:3", b','), key("1:5,2:3", b','));
        assert_ne!(key("01:0<2:0", b'<'), key("1:0<2:1", b'<'));
        assert_ne!(key("01:1", b'<'), key("1:-1", b'<'));
    }
}
