//! One line of a text profile.
//!
//! What LLVM accepts goes beyond its grammar, and is decided by how it cuts
//! strings; the cuts here are the same.

use crate::sampleprof::record::LineLocation;

/// Lines of a function are below this where no discriminator follows.
pub(crate) const LINES: u32 = 1 << 16;

/// The first line of a record.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head<'data> {
    pub(super) name: &'data [u8],
    pub(super) total: u64,
    pub(super) head: u64,
}

/// What an indented line holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content<'data> {
    /// Samples of a place; the call targets are in the vector that was lent.
    Body { location: LineLocation, samples: u64 },
    /// Virtual tables of a place, in the vector that was lent.
    Vtables { location: LineLocation },
    /// The head of an inlined callee.
    Callee { location: LineLocation, name: &'data [u8], total: u64 },
    /// Checksum and attributes; what a line does not state is 0.
    Metadata { checksum: u64, attributes: u32 },
}

/// A line of the most common kind, samples of a place without call targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlainLine {
    pub(super) depth: usize,
    pub(super) location: LineLocation,
    pub(super) samples: u64,
    /// Bytes of the line, its end included.
    pub(super) len: usize,
}

/// Understands ` LINE[.DISCRIMINATOR]: SAMPLES` and the end of that line in one
/// pass, where all numbers are short. Whatever else a text begins with is for
/// [`content`], and so are faults.
pub(super) fn plain(text: &[u8]) -> Option<PlainLine> {
    let mut at = 0;
    while *text.get(at)? == b' ' {
        at += 1;
    }
    let depth = at;
    let line = short_number(text, &mut at, 9)?;
    let mut discriminator = 0;
    if text.get(at) == Some(&b'.') {
        at += 1;
        discriminator = short_number(text, &mut at, 9)?;
    } else if line >= u64::from(LINES) {
        return None;
    }
    if depth == 0 || text.get(at..at + 2)? != b": " {
        return None;
    }
    at += 2;
    let samples = short_number(text, &mut at, 18)?;
    if text.get(at) == Some(&b'\r') {
        at += 1;
    }
    let location = LineLocation::new(line as u32, discriminator as u32);
    (*text.get(at)? == b'\n').then_some(PlainLine { depth, location, samples, len: at + 1 })
}

/// A number of at most so many digits, which cannot be too large.
fn short_number(text: &[u8], at: &mut usize, most: usize) -> Option<u64> {
    let start = *at;
    let mut value = 0;
    while let Some(digit) = text.get(*at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        value = value * 10 + u64::from(digit);
        *at += 1;
        if *at - start > most {
            return None;
        }
    }
    (*at > start).then_some(value)
}

/// What a line was taken for that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Line,
    Metadata,
    Vtables,
}

/// A decimal number and nothing else.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |sum, byte| match byte {
        b'0'..=b'9' => sum.checked_mul(10)?.checked_add(u64::from(byte - b'0')),
        _ => None,
    })
}

fn number_32(text: &[u8]) -> Option<u32> {
    number(text).and_then(|value| value.try_into().ok())
}

/// The part from `start` on; nothing when the text ends before.
fn from(text: &[u8], start: usize) -> &[u8] {
    text.get(start..).unwrap_or_default()
}

fn find(text: &[u8], byte: u8) -> Option<usize> {
    text.iter().position(|b| *b == byte)
}

fn find_last(text: &[u8], byte: u8) -> Option<usize> {
    text.iter().rposition(|b| *b == byte)
}

/// `NAME:TOTAL:HEAD`. Where colons are missing the whole text stands for the
/// parts, so that a line of digits is a record with that name.
pub(super) fn head(line: &[u8]) -> Option<Head<'_>> {
    if line.first().is_none_or(|byte| *byte == b' ') {
        return None;
    }
    let last = find_last(line, b':');
    // The search for the other colon ends two bytes before the last one.
    let reach = match last {
        None | Some(0) => line.len(),
        Some(last) => last - 1,
    };
    let first = find_last(&line[..reach], b':');
    let total_start = first.map_or(0, |first| first + 1);
    let total = match (last, first) {
        (None, _) => from(line, total_start),
        // Both are the colon at the very start.
        (Some(last), Some(first)) if last == first => from(line, total_start),
        (Some(last), _) => &line[total_start..last],
    };
    let head = from(line, last.map_or(0, |last| last + 1));
    Some(Head { name: first.map_or(line, |first| &line[..first]), total: number(total)?, head: number(head)? })
}

/// Blanks in front of a line.
pub(super) fn depth(line: &[u8]) -> usize {
    line.iter().take_while(|byte| **byte == b' ').count()
}

/// Understands an indented line. `counts` receives call targets or virtual
/// tables, each once.
pub(super) fn content<'data>(
    line: &'data [u8],
    depth: usize,
    knows_vtables: bool,
    counts: &mut Vec<(&'data [u8], u64)>,
) -> Result<Content<'data>, Fault> {
    counts.clear();
    if line.get(depth) == Some(&b'!') {
        return metadata(&line[depth..], knows_vtables).ok_or(Fault::Metadata);
    }
    let colon = find(line, b':');
    let location = match colon {
        Some(colon) if colon < depth => return Err(Fault::Line),
        Some(colon) => &line[depth..colon],
        None => &line[depth..],
    };
    let location = parse_location(location).ok_or(Fault::Line)?;
    // Two bytes are skipped whatever they are; without a colon, one.
    let rest = from(line, colon.map_or(1, |colon| colon + 2));
    if rest.first().is_some_and(u8::is_ascii_digit) {
        let samples = body(rest, counts).ok_or(Fault::Line)?;
        return Ok(Content::Body { location, samples });
    }
    if let Some(list) = rest.strip_prefix(b"vtables ").filter(|_| knows_vtables) {
        vtables(list, counts).ok_or(Fault::Vtables)?;
        return Ok(Content::Vtables { location });
    }
    let colon = find_last(rest, b':');
    let name = colon.map_or(rest, |colon| &rest[..colon]);
    let total = number(from(rest, colon.map_or(0, |colon| colon + 1))).ok_or(Fault::Line)?;
    Ok(Content::Callee { location, name, total })
}

fn parse_location(text: &[u8]) -> Option<LineLocation> {
    match find(text, b'.') {
        None => {
            let line = number_32(text).filter(|line| *line < LINES)?;
            Some(LineLocation::new(line, 0))
        }
        Some(dot) => Some(LineLocation::new(number_32(&text[..dot])?, number_32(&text[dot + 1..])?)),
    }
}

fn metadata(text: &[u8], knows_flat: bool) -> Option<Content<'_>> {
    if knows_flat && text == b"!Flat" {
        return Some(Content::Metadata { checksum: 0, attributes: 0 });
    }
    if let Some(value) = text.strip_prefix(b"!CFGChecksum:") {
        return Some(Content::Metadata { checksum: number(trim(value))?, attributes: 0 });
    }
    let value = text.strip_prefix(b"!Attributes:")?;
    Some(Content::Metadata { checksum: 0, attributes: number_32(trim(value))? })
}

fn trim(text: &[u8]) -> &[u8] {
    let is_blank = |byte: &u8| matches!(byte, b' ' | 9..=13);
    let start = text.iter().position(|byte| !is_blank(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !is_blank(byte)).map_or(start, |last| last + 1);
    &text[start..end]
}

/// `SAMPLES NAME:COUNT …`. Names may hold blanks and colons: one ends at the
/// first colon behind which a number stands up to the next blank.
fn body<'data>(mut rest: &'data [u8], counts: &mut Vec<(&'data [u8], u64)>) -> Option<u64> {
    let mut blank = find(rest, b' ');
    let samples = number(&rest[..blank.unwrap_or(rest.len())])?;
    while let Some(start) = blank {
        let skipped = rest[start..].iter().position(|byte| *byte != b' ')?;
        rest = &rest[start + skipped..];
        let mut colon = find(rest, b':').filter(|colon| *colon > 0)?;
        let (count, end) = loop {
            let after = &rest[colon + 1..];
            let end = find(after, b' ').map_or(rest.len(), |blank| colon + 1 + blank);
            if let Some(count) = number(&rest[colon + 1..end]) {
                break (count, end);
            }
            colon += 1 + find(after, b':')?;
        };
        set(counts, &rest[..colon], count);
        blank = (end < rest.len()).then_some(end);
    }
    Some(samples)
}

/// `NAME:COUNT …`; a name ends at the first colon, and one that occurs twice is
/// a fault. In lists longer than [`SHORT`] whoever is given them looks for that.
fn vtables<'data>(mut rest: &'data [u8], counts: &mut Vec<(&'data [u8], u64)>) -> Option<()> {
    loop {
        let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
        rest = &rest[blanks..];
        if rest.is_empty() {
            return Some(());
        }
        let colon = find(rest, b':')?;
        let end = find(&rest[colon..], b' ').map_or(rest.len(), |blank| colon + blank);
        let (name, count) = (&rest[..colon], number(&rest[colon + 1..end])?);
        if counts.len() < SHORT && counts.iter().any(|(known, _)| *known == name) {
            return None;
        }
        counts.push((name, count));
        rest = &rest[end..];
    }
}

/// In lists of fewer names each is compared with all others.
pub(super) const SHORT: usize = 16;

/// The last count of a name holds.
fn set<'data>(counts: &mut Vec<(&'data [u8], u64)>, name: &'data [u8], count: u64) {
    // Lists are short; long ones are sorted out by the reader's own map.
    if counts.len() < SHORT
        && let Some(known) = counts.iter_mut().find(|(known, _)| *known == name)
    {
        known.1 = count;
        return;
    }
    counts.push((name, count));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_cut_at_the_last_two_colons() {
        let of = |line: &'static str| head(line.as_bytes()).map(|h| (h.name, h.total, h.head));
        assert_eq!(of("a::b:3:4"), Some((b"a::b".as_slice(), 3, 4)));
        assert_eq!(of(":5:6"), Some((b"".as_slice(), 5, 6)));
        assert_eq!(of("foo"), None);
        assert_eq!(of("foo:1"), None);
        assert_eq!(of("foo::1"), None);
        assert_eq!(of("foo:1:+2"), None);
        // What is cut wrongly is taken all the same.
        assert_eq!(of("12"), Some((b"12".as_slice(), 12, 12)));
        assert_eq!(of("1:5"), Some((b"1:5".as_slice(), 1, 5)));
        assert_eq!(of(":5"), Some((b"".as_slice(), 5, 5)));
    }

    #[test]
    fn names_of_targets_may_hold_blanks_and_colons() {
        let mut counts = Vec::new();
        let line = b" 4.2: 9 a::b:3 c(d: e):4";
        let found = content(line, 1, true, &mut counts).unwrap();
        assert_eq!(found, Content::Body { location: LineLocation::new(4, 2), samples: 9 });
        assert_eq!(counts, [(b"a::b".as_slice(), 3), (b"c(d: e)".as_slice(), 4)]);
    }

    #[test]
    fn one_pass_reads_the_same_as_several() {
        let mut counts = Vec::new();
        let lines = [
            " 1: 5\n",
            "   12.3: 456\r\n",
            " 65535: 0\n",
            " 65536: 1\n",
            " 65536.1: 1\n",
            " 1.0: 1\n",
            " 999999999.999999999: 999999999999999999\n",
            " 4294967296.1: 1\n",
            " 01: 007\n",
            " 1: 18446744073709551615\n",
            " 1: 18446744073709551616\n",
            " 1: 5 foo:3\n",
            " 1: foo:3\n",
            " 1:56\n",
            " 1: 5",
            " 1: 5\r",
            " 1: 5 \n",
            " 1: \n",
            " 1 : 5\n",
            " .1: 5\n",
            " 1.: 5\n",
            "1: 5\n",
            "\t1: 5\n",
            " !Flat\n",
            " 1: 5\0\n",
            "",
            " ",
            "\n",
        ];
        let mut taken = 0;
        for text in lines {
            let Some(found) = plain(text.as_bytes()) else { continue };
            taken += 1;
            let line = text.trim_end_matches('\n');
            let line = line.strip_suffix('\r').unwrap_or(line);
            let expected = Content::Body { location: found.location, samples: found.samples };
            assert_eq!(content(line.as_bytes(), found.depth, true, &mut counts), Ok(expected), "{text:?}");
            assert_eq!((found.depth, found.len), (depth(line.as_bytes()), text.len()), "{text:?}");
            assert!(counts.is_empty(), "{text:?}");
        }
        assert_eq!(taken, 7, "lines of the common kind");
    }

    #[test]
    fn odd_lines_are_read_as_llvm_does() {
        let mut counts = Vec::new();
        let mut of = |line: &'static [u8]| content(line, depth(line), true, &mut counts).map_err(|_| ());
        let body = |line, samples| Ok(Content::Body { location: LineLocation::new(line, 0), samples });
        assert_eq!(of(b" 1:56"), body(1, 6));
        assert_eq!(of(b" 12"), body(12, 12));
        for bad in [&b" 65536: 1"[..], b" 1: 5 ", b" 1:", b" 1: ", b" x: 1", b" 1: foo", b" 1: 5 x", b" -1: 5", b" !X"]
        {
            assert!(of(bad).is_err(), "{}", bad.escape_ascii());
        }
        assert_eq!(of(b" 65536.0: 1"), body(65536, 1));
    }
}
