//! The lines of a text of stacks, before their frames are looked at.

use super::names;

/// How many lines are looked at to tell the form.
const SAMPLE_LINES: usize = 2000;

/// The text behind its byte order mark.
pub(super) fn without_mark(data: &[u8]) -> &[u8] {
    data.strip_prefix(b"\xef\xbb\xbf").unwrap_or(data)
}

/// One line of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    /// From 1 on.
    pub(super) number: u64,
    /// Of its first byte.
    pub(super) offset: u64,
    /// Without the end of the line.
    pub(super) bytes: &'a [u8],
}

/// All lines.
pub(super) fn lines(data: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut offset = 0;
    data.split(|byte| *byte == b'\n').zip(1..).map(move |(line, number)| {
        let start = offset;
        offset += line.len() as u64 + 1;
        Line { number, offset: start, bytes: line.strip_suffix(b"\r").unwrap_or(line) }
    })
}

/// The lines that are to hold a stack: neither empty nor comments.
pub(super) fn stack_lines(data: &[u8]) -> impl Iterator<Item = Line<'_>> {
    lines(data).filter(|line| !line.bytes.trim_ascii().is_empty() && !is_comment(line.bytes))
}

/// Whether a line is a comment: `#`, alone or before a blank.
pub(super) fn is_comment(line: &[u8]) -> bool {
    line.strip_prefix(b"#").is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
}

/// The count at the end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count {
    /// The digits before the point; stops at the largest number.
    pub(super) whole: u64,
    /// The digits after the point, rounded to millionths; `None` without such digits.
    pub(super) millionths: Option<u64>,
}

/// Millionths of a whole count.
const MILLION: u64 = 1_000_000;

impl Count {
    /// Parses `12`, `1.5` and `2.`, as flamegraph.pl takes them.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let mut parts = text.splitn(2, |byte| *byte == b'.');
        let (whole, fraction) = (parts.next()?, parts.next().unwrap_or_default());
        if whole.is_empty() || !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
            return None;
        }
        let digit = |byte: &u8| u64::from(byte - b'0');
        let whole = whole.iter().fold(0u64, |sum, byte| sum.saturating_mul(10).saturating_add(digit(byte)));
        if fraction.is_empty() {
            return Some(Self { whole, millionths: None });
        }
        let mut places = fraction.iter().map(digit).chain(std::iter::repeat(0));
        let millionths = places.by_ref().take(6).fold(0, |sum, digit| sum * 10 + digit);
        let rounded = millionths + u64::from(places.next() >= Some(5));
        Some(Self { whole, millionths: Some(rounded) })
    }

    /// The count in millionths; stops at the largest number.
    pub(super) fn in_millionths(self) -> u64 {
        self.whole.saturating_mul(MILLION).saturating_add(self.millionths.unwrap_or(0))
    }
}

/// A number of millionths as [`Count::parse`] reads it.
pub(super) fn write_millionths(count: u64) -> String {
    let text = format!("{}.{:06}", count / MILLION, count % MILLION);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Splits a line into its stack and its count.
pub(super) fn split_count(line: &[u8]) -> Option<(&[u8], Count)> {
    let line = line.trim_ascii_end();
    let at = line.iter().rposition(|byte| *byte == b' ')?;
    Some((&line[..at], Count::parse(&line[at + 1..])?))
}

/// Whether some count has digits after a point.
pub(super) fn has_fractions(data: &[u8]) -> bool {
    let may_be_fraction = |line: &Line<'_>| {
        let line = line.bytes.trim_ascii_end();
        let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0 && line[..line.len() - digits].ends_with(b".")
    };
    let mut found = stack_lines(data).filter(may_be_fraction);
    found.any(|line| split_count(line.bytes).is_some_and(|(_, count)| count.millionths.is_some()))
}

/// Whether a text is of perf's form, by its frames.
pub(super) fn is_folded(data: &[u8]) -> bool {
    stack_lines(data).take(SAMPLE_LINES).any(|line| {
        let line = String::from_utf8_lossy(line.bytes);
        let stack = line.rsplit_once(' ').map_or(&*line, |(stack, _)| stack);
        stack.split(';').skip(1).any(names::is_perf_frame)
    })
}

/// How many of the first lines are stacks, and how many of these end in a class
/// as in profiles of allocations and locks.
pub(super) fn class_leaves(data: &[u8]) -> (u64, u64) {
    let (mut all, mut classes) = (0u64, 0u64);
    for line in stack_lines(data).take(SAMPLE_LINES) {
        let line = String::from_utf8_lossy(line.bytes);
        let Some((stack, _)) = line.rsplit_once(' ') else { continue };
        all += 1;
        classes += u64::from(names::is_class_leaf(stack.rsplit(';').next().unwrap_or(stack)));
    }
    (all, classes)
}

/// Takes `[name tid=123]` off the front; the name may hold anything.
pub(super) fn split_thread(stack: &str) -> (Option<&str>, &str) {
    if let Some(rest) = stack.strip_prefix('[') {
        let mut from = 0;
        while let Some(at) = rest.get(from..).and_then(|rest| rest.find(" tid=")) {
            let at = from + at;
            let after = &rest[at + " tid=".len()..];
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0
                && let Some(end) = after[digits..].strip_prefix(']')
            {
                match end.strip_prefix(';') {
                    Some(frames) => return (Some(&rest[..at]), frames),
                    None if end.is_empty() => return (Some(&rest[..at]), ""),
                    None => {}
                }
            }
            from = at + 1;
        }
    }
    (None, stack)
}
