//! Contexts as they are written: `5:0<3:2<2:9<1:3`, leaf first.

use super::ids::IdMap;
use super::number::{self, Number};
use crate::iprof::context::{Frame, bci};
use crate::iprof::tables::MethodHandle;

/// What a context's text says, as far as it was understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ContextText {
    /// Position of the first byte that is no part of it.
    pub(super) end: usize,
    /// Whether it ends after a whole frame, and every number is a Java int.
    pub(super) valid: bool,
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
    let mut text = &data[start..];
    loop {
        let rest = match usual_frame(text, methods) {
            Some((frame, rest)) => {
                frames.push(frame);
                rest
            }
            None => match context.add_frame(text, methods, frames) {
                Ok(rest) => rest,
                Err(rest) => {
                    context.end = data.len() - rest.len();
                    return context;
                }
            },
        };
        match rest.split_first() {
            Some((byte, next)) if *byte == separator => text = next,
            _ => {
                (context.valid, context.end) = (true, data.len() - rest.len());
                context.is_somewhere = data[start..context.end].iter().any(|byte| !b"0:-".contains(byte));
                return context;
            }
        }
    }
}

/// A frame that there is nothing to say about, and what follows it: one of a known method at a real
/// bytecode index, of short numbers as they are usually written.
#[inline(always)]
fn usual_frame<'d>(text: &'d [u8], methods: &IdMap) -> Option<(Frame, &'d [u8])> {
    let (method, rest) = number::short(text)?;
    let (bci, rest) = number::short(rest.strip_prefix(b":")?)?;
    let bci = bci as i32;
    if bci::is_odd(bci) {
        return None;
    }
    Some((Frame { method: MethodHandle::from_number(methods.entry(method)?), bci }, rest))
}

impl ContextText {
    /// Takes any frame; returns what follows it, or where it is none.
    #[cold]
    fn add_frame<'d>(
        &mut self,
        text: &'d [u8],
        methods: &IdMap,
        frames: &mut Vec<Frame>,
    ) -> Result<&'d [u8], &'d [u8]> {
        let method = Number::at(text, 0);
        if method.len == 0 || text.get(method.end) != Some(&b':') {
            return Err(&text[method.end..]);
        }
        let start = method.end + 1;
        let negative = text.get(start) == Some(&b'-');
        let position = Number::at(text, start + usize::from(negative));
        let rest = &text[position.end..];
        let Ok(bci) = i32::try_from(if negative { -position.value } else { position.value }) else { return Err(rest) };
        if position.len == 0 {
            return Err(rest);
        }
        // Nobody writes a zero with a sign.
        self.leading_zeros |= method.leading_zero | position.leading_zero | (negative && bci == 0);
        if bci::is_odd(bci) {
            self.odd = Some(bci);
        }
        match methods.entry(method.value) {
            Some(handle) => frames.push(Frame { method: MethodHandle::from_number(handle), bci }),
            None => self.unknown = self.unknown.or(Some(method.value)),
        }
        Ok(rest)
    }
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
        let expected = ContextText { end: 8, valid: true, is_somewhere: true, ..ContextText::default() };
        assert_eq!((context, &frames[..]), (expected, &[frame(2, -6), frame(1, 3)][..]));
        let context = parse(b"0:0", 0, b'<', &methods(), &mut frames);
        assert!(context.valid && !context.is_somewhere);
        let context = parse(b"0:70000<12:0<99:1", 0, b'<', &methods(), &mut frames);
        assert_eq!((context.unknown, context.odd, context.valid), (Some(12), Some(70000), true));
    }

    #[test]
    fn anything_but_the_grammar_stops_it() {
        let mut frames = Vec::new();
        for text in ["", "1", "1:", "1:-", "1:2<", "-1:2", "+1:2", "1 :2", "1:2147483648", "a"] {
            let context = parse(text.as_bytes(), 0, b'<', &methods(), &mut frames);
            assert!(!context.valid || context.end < text.len(), "{text}");
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
