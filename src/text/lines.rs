//! The lines of a text profile, without empty lines and comments.

use super::directive;
use super::{line_end, parse_line};
use memchr::memchr_iter;

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// A line with the same meaning as in LLVM, or a line that LLVM does not see.
    Plain,
    /// An escaped name.
    Name,
    /// The hash of the next value.
    Target,
    /// The hashes of the trace on the next line.
    Functions,
}

/// A line without its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'data> {
    pub(super) text: &'data [u8],
    pub(super) kind: LineKind,
    /// Byte offset in the chunk.
    pub(super) offset: usize,
}

/// A chunk of the text. It consists of complete lines, except for the last chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'data> {
    pub(super) data: &'data [u8],
    /// Byte offset in the file.
    pub(super) offset: u64,
    /// The number of lines before it.
    pub(super) lines: usize,
    pub(super) is_last: bool,
}

/// The lines without comments and empty lines.
#[derive(Debug, Clone)]
pub(super) struct Lines<'data> {
    piece: Piece<'data>,
    position: usize,
    /// Whether to read lines that only profbridge understands.
    directives: bool,
    /// The line at `position`, and the position of the next one.
    peeked: Option<(Line<'data>, usize)>,
    /// Whether the parser needed another line after the last one.
    ran_out: bool,
}

impl<'data> Lines<'data> {
    /// Returns the lines of a chunk, starting at a position.
    pub(super) fn new(piece: Piece<'data>, position: usize, directives: bool) -> Self {
        Self { piece, position, directives, peeked: None, ran_out: false }
    }

    /// Returns the next line without consuming it.
    pub(super) fn peek(&mut self) -> Option<Line<'data>> {
        if self.peeked.is_none() {
            self.peeked = self.find();
            self.ran_out |= self.peeked.is_none();
        }
        self.peeked.map(|(line, _)| line)
    }

    /// Consumes the next line.
    pub(super) fn next_line(&mut self) -> Option<Line<'data>> {
        let next = self.peeked.take().or_else(|| self.find());
        self.ran_out |= next.is_none();
        let (line, end) = next?;
        self.position = end;
        Some(line)
    }

    /// Returns true if the next chunk may contain the requested line.
    pub(super) fn needs_more(&self) -> bool {
        self.ran_out && !self.piece.is_last
    }

    /// Goes back to an earlier position.
    pub(super) fn go_back(&mut self, position: usize) {
        (self.position, self.peeked) = (position, None);
    }

    /// Consumes up to `most` lines that are plain decimal numbers of at most 19 digits. This is the fast path for the
    /// common case.
    pub(super) fn take_numbers(&mut self, most: u64, numbers: &mut Vec<u64>) {
        if self.peeked.is_some() {
            return;
        }
        let mut rest = &self.piece.data[self.position..];
        for _ in 0..most {
            let Some((number, len)) = parse_line(rest) else { break };
            numbers.push(number);
            rest = &rest[len..];
        }
        self.position = self.piece.data.len() - rest.len();
    }

    /// Returns the position in the chunk.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// Returns the number of remaining bytes.
    pub(super) fn left(&self) -> usize {
        self.piece.data.len() - self.position
    }

    /// Returns the line number, from 1, and the byte offset in the file for a position in the chunk.
    pub(super) fn place_of(&self, position: usize) -> (usize, u64) {
        let in_front = line_ends(&self.piece.data[..position]);
        (self.piece.lines + in_front + 1, self.piece.offset + position as u64)
    }

    fn find(&self) -> Option<(Line<'data>, usize)> {
        let mut start = self.position;
        while start < self.piece.data.len() {
            let rest = &self.piece.data[start..];
            let (len, next) = match line_end(rest) {
                // A CR is only removed before a LF.
                Some(len) if rest[..len].ends_with(b"\r") => (len - 1, start + len + 1),
                Some(len) => (len, start + len + 1),
                None => (rest.len(), self.piece.data.len()),
            };
            if let Some((text, kind)) = self.classify(&rest[..len]) {
                return Some((Line { text, kind, offset: start }, next));
            }
            start = next;
        }
        None
    }

    fn classify(&self, line: &'data [u8]) -> Option<(&'data [u8], LineKind)> {
        match line.first() {
            None => None,
            Some(b'#') if !self.directives || !line.starts_with(b"#!") => None,
            Some(b'#') => {
                let kinds = [
                    (directive::HIDDEN, LineKind::Plain),
                    (directive::NAME, LineKind::Name),
                    (directive::TARGET, LineKind::Target),
                    (directive::FUNCTIONS, LineKind::Functions),
                ];
                kinds.iter().find_map(|(prefix, kind)| line.strip_prefix(*prefix).map(|text| (text, *kind)))
            }
            Some(_) => Some((line, LineKind::Plain)),
        }
    }
}

/// Returns the number of line ends in a text.
pub(super) fn line_ends(text: &[u8]) -> usize {
    memchr_iter(b'\n', text).count()
}

/// Writes a name for a comment, with `%XX` for bytes that a comment cannot contain.
pub(super) fn escape_name(out: &mut Vec<u8>, name: &[u8]) {
    for &byte in name {
        match byte {
            b'!'..=b'~' if byte != b'%' => out.push(byte),
            _ => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ascii::percent_decode;
    use proptest::prelude::*;

    fn whole(data: &[u8]) -> Piece<'_> {
        Piece { data, offset: 0, lines: 0, is_last: true }
    }

    fn texts(file: &[u8], directives: bool) -> Vec<&[u8]> {
        let mut lines = Lines::new(whole(file), 0, directives);
        std::iter::from_fn(|| lines.next_line().map(|line| line.text)).collect()
    }

    #[test]
    fn empty_lines_and_comments_are_skipped() {
        let file = b"a\r\n\r\n\n# c\n \nb\r";
        assert_eq!(texts(file, true), [b"a".as_slice(), b" ", b"b\r"]);
    }

    #[test]
    fn hidden_lines_are_seen_only_when_asked_for() {
        let file = b"#!name=%23x\n#!|7\n#!other\n";
        assert_eq!(texts(file, true), [b"%23x".as_slice(), b"7"]);
        assert!(texts(file, false).is_empty());
    }

    #[test]
    fn quick_numbers_give_way_to_anything_unusual() {
        let mut lines = Lines::new(whole(b"12\n0\n#\n3\n4x\n"), 0, true);
        let mut numbers = Vec::new();
        lines.take_numbers(9, &mut numbers);
        assert_eq!(numbers, [12, 0]);
        assert_eq!(lines.next_line().map(|line| line.text), Some(b"3".as_slice()));
        lines.take_numbers(9, &mut numbers);
        assert_eq!(numbers, [12, 0]);
        assert_eq!(lines.place_of(lines.position()), (5, 9));
    }

    #[test]
    fn no_more_numbers_are_taken_than_wanted() {
        let mut lines = Lines::new(whole(b"1\n2\n3\n"), 0, true);
        let mut numbers = Vec::new();
        lines.take_numbers(2, &mut numbers);
        assert_eq!(lines.next_line().map(|line| line.text), Some(b"3".as_slice()));
        assert_eq!(numbers, [1, 2]);
    }

    proptest! {
        #[test]
        fn any_name_survives_escaping(name in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut text = Vec::new();
            escape_name(&mut text, &name);
            prop_assert!(text.iter().all(u8::is_ascii_graphic));
            prop_assert_eq!(percent_decode(&text), Some(name));
        }
    }
}
