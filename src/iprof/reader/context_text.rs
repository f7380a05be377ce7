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

/// A decimal number, `i64::MAX` if it has more digits than any id.
#[inline]
fn digits(data: &[u8], start: usize) -> (i64, usize) {
    let mut value = 0i64;
    let mut at = start;
    while let Some(byte) = data.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        // Up to 18 digits cannot overflow, and beyond that the value is not used.
        value = value.wrapping_mul(10).wrapping_add(i64::from(digit));
        at += 1;
    }
    (if at - start > 18 { i64::MAX } else { value }, at)
}

/// A key under which equal contexts are equal.
pub(super) fn identity(text: &[u8], parsed: Parsed, frames: &[RawFrame]) -> u128 {
    if !parsed.leading_zeros {
        return xxhash_rust::xxh3::xxh3_128(text);
    }
    let plain: Vec<String> = frames.iter().map(|frame| format!("{}:{}", frame.method, frame.bci)).collect();
    xxhash_rust::xxh3::xxh3_128(plain.join("<").as_bytes())
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
