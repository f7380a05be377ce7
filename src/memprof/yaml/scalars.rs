//! Scans scalars and other tokens of more than one byte.

use crate::memprof::yaml::scanner::{Scanner, TokenKind};
use std::borrow::Cow;
use std::ops::Range;

impl Scanner<'_> {
    /// Pushes a token after which no key can follow on the line.
    fn push_piece(&mut self, kind: TokenKind, start: usize, column: usize, is_quoted: bool) -> bool {
        self.push_candidate(kind, start..self.at, column);
        (self.may_be_key, self.may_be_adjacent_value) = (false, is_quoted);
        true
    }

    /// Parses a plain scalar, which continues on lines that are indented more than its block.
    pub(super) fn plain(&mut self) -> bool {
        let (start, start_column) = (self.at, self.column);
        let least = self.indent.map_or(0, |indent| indent + 1);
        let mut on_later_line = false;
        while self.byte(self.at).is_some_and(|byte| byte != b'#') {
            while self.is_plain(if self.byte(self.at) == Some(b':') { self.at + 1 } else { self.at }) {
                let Some(next) = self.after_character(self.at) else { break };
                self.at = next;
                self.column += 1;
            }
            let mut next = self.at;
            while self.is_blank_or_break(next) {
                if let Some(line) = self.after_break(next) {
                    (next, self.line, self.column) = (line, self.line + 1, 0);
                    on_later_line = true;
                } else {
                    if on_later_line && self.column < least && self.byte(next) == Some(b'\t') {
                        self.fail(next, "Found invalid tab character in indentation", "a tab is used for indentation");
                        return false;
                    }
                    next += 1;
                    self.column += 1;
                }
            }
            if next == self.at || (self.flow_level == 0 && self.column < least) {
                break;
            }
            self.at = next;
        }
        if start == self.at {
            self.fail(start, "Got empty plain scalar", "this byte is not allowed in YAML");
            return false;
        }
        self.push_piece(TokenKind::Scalar, start, start_column, false)
    }

    /// Parses a single-quoted scalar. As in LLVM, an invalid byte ends it, and so does the last byte of the file.
    pub(super) fn single_quoted(&mut self) -> bool {
        let (start, column) = (self.at, self.column);
        self.skip(1);
        while let Some(byte) = self.byte(self.at) {
            if self.text[self.at..].starts_with(b"''") {
                self.skip(2);
            } else if byte == b'\'' {
                break;
            } else if let Some(next) = self.after_character(self.at) {
                if next == self.text.len() {
                    break;
                }
                self.at = next;
                self.column += 1;
            } else if let Some(next) = self.after_break(self.at) {
                (self.at, self.line, self.column) = (next, self.line + 1, 0);
            } else {
                break;
            }
        }
        self.closing_quote(start, column)
    }

    pub(super) fn double_quoted(&mut self) -> bool {
        let (start, column) = (self.at, self.column);
        self.at += 1;
        while let Some(byte) = self.byte(self.at).filter(|byte| *byte != b'"') {
            self.at += if byte == b'\\' { 2 } else { 1 };
        }
        self.at = self.at.min(self.text.len());
        self.closing_quote(start, column)
    }

    fn closing_quote(&mut self, start: usize, column: usize) -> bool {
        if self.at == self.text.len() {
            self.fail(self.at, "Expected quote at end of scalar", "a quote is not closed");
            return false;
        }
        self.skip(1);
        self.push_piece(TokenKind::Scalar, start, column, true)
    }

    /// Scans `&name` or `*name`.
    pub(super) fn named(&mut self, kind: TokenKind) -> bool {
        let (start, column) = (self.at, self.column);
        self.skip(1);
        while !matches!(self.byte(self.at), Some(b'[' | b']' | b'{' | b'}' | b',' | b':' | b' ' | b'\t')) {
            let Some(next) = self.after_character(self.at) else { break };
            self.at = next;
            self.column += 1;
        }
        if start + 1 == self.at {
            self.fail(start, "Got empty alias or anchor", "an anchor or alias has no name");
            return false;
        }
        self.push_piece(kind, start, column, false)
    }

    pub(super) fn tag(&mut self) -> bool {
        let (start, column) = (self.at, self.column);
        self.skip(1);
        if self.byte(self.at) != Some(b'<') {
            self.skip_word();
            return self.push_piece(TokenKind::Tag, start, column, false);
        }
        self.skip(1);
        while self.byte(self.at).is_some_and(|byte| self.is_of_address(byte)) {
            self.skip(1);
        }
        match self.byte(self.at) {
            Some(b'>') => self.skip(1),
            Some(0x80..) => {
                self.fail(self.at, "Cannot consume non-ascii characters", "a tag has other characters than ASCII");
                return false;
            }
            _ => return false,
        }
        self.push_piece(TokenKind::Tag, start, column, false)
    }

    fn is_of_address(&self, byte: u8) -> bool {
        let is_digit = |at| self.byte(at).is_some_and(|byte: u8| byte.is_ascii_alphanumeric());
        let is_escape = byte == b'%' && is_digit(self.at + 1) && is_digit(self.at + 2);
        byte.is_ascii_alphabetic() || b"-#;/?:@&=+$,_.!~*'()[]".contains(&byte) || is_escape
    }

    /// Scans a text of several lines after `|` or `>`.
    pub(super) fn block_scalar(&mut self) -> bool {
        let is_folded = self.byte(self.at) == Some(b'>');
        self.skip(1);
        let header = self.at;
        let mut line_ends = self.line_ends();
        let indicated = self.byte(self.at).filter(|byte| matches!(byte, b'1'..=b'9'));
        self.skip(indicated.iter().len());
        line_ends = line_ends.or_else(|| self.line_ends());
        self.skip_blanks();
        self.skip_comment();
        if self.at == self.text.len() {
            self.push(TokenKind::BlockScalar, header..self.at);
            return true;
        }
        if !self.line_end() {
            let detail = "unexpected text on the first line of a block scalar";
            self.fail(self.at, "Expected a line break after block scalar header", detail);
            return false;
        }
        let start = self.at;
        let mut body = Body { text: Vec::new(), breaks: 0, is_folded };
        let least = self.indent.unwrap_or(0);
        let indent = match indicated {
            Some(digit) => Some(usize::from(digit - b'0')),
            None => match self.indent_of_block(least, &mut body.breaks) {
                Ok(indent) => indent,
                Err(Failed) => return false,
            },
        };
        if let Some(indent) = indent
            && self.lines_of_block(indent, least, &mut body).is_err()
        {
            return false;
        }
        if self.at == self.text.len() && body.breaks == 0 {
            body.breaks = 1;
        }
        let breaks = match line_ends {
            Some(b'-') => 0,
            Some(_) => body.breaks,
            None => usize::from(!body.text.is_empty()),
        };
        body.text.resize(body.text.len() + breaks, b'\n');
        self.may_be_key |= self.flow_level == 0;
        self.may_be_adjacent_value = false;
        self.push_text(TokenKind::BlockScalar, start..self.at, body.text);
        true
    }

    /// Scans the treatment of the last line ends: `+` keeps them and `-` drops them.
    fn line_ends(&mut self) -> Option<u8> {
        let found = self.byte(self.at).filter(|byte| matches!(byte, b'+' | b'-'));
        self.skip(found.iter().len());
        found
    }

    fn line_end(&mut self) -> bool {
        let next = self.after_break(self.at);
        if let Some(next) = next {
            (self.at, self.line, self.column) = (next, self.line + 1, 0);
        }
        next.is_some()
    }

    /// Returns the column of the first line that is not blank. `None` if the text ends before.
    fn indent_of_block(&mut self, least: usize, breaks: &mut usize) -> Result<Option<usize>, Failed> {
        let (mut longest, mut longest_at) = (0, self.at);
        loop {
            while self.byte(self.at) == Some(b' ') {
                self.skip(1);
            }
            if self.after_character(self.at).is_some() {
                if self.column <= least {
                    return Ok(None);
                }
                if longest > self.column {
                    let words = "Leading all-spaces line must be smaller than the block indent";
                    self.fail(longest_at, words, "a blank line is indented more than the text after it");
                    return Err(Failed);
                }
                return Ok(Some(self.column));
            }
            if self.after_break(self.at).is_some() && self.column > longest {
                (longest, longest_at) = (self.column, self.at);
            }
            if !self.line_end() {
                return Ok(None);
            }
            *breaks += 1;
        }
    }

    fn lines_of_block(&mut self, indent: usize, least: usize, body: &mut Body) -> Result<(), Failed> {
        loop {
            while self.column < indent && self.byte(self.at) == Some(b' ') {
                self.skip(1);
            }
            if self.after_character(self.at).is_some() {
                if self.column <= least || (self.column < indent && self.byte(self.at) == Some(b'#')) {
                    return Ok(());
                }
                if self.column < indent {
                    let words = "A text line is less indented than the block scalar";
                    self.fail(self.at, words, "a line is indented less than its block scalar");
                    return Err(Failed);
                }
            }
            let start = self.at;
            while let Some(next) = self.after_character(self.at) {
                self.column += next - self.at;
                self.at = next;
            }
            body.push_line(&self.text[start..self.at]);
            if !self.line_end() {
                return Ok(());
            }
            body.breaks += 1;
        }
    }
}

/// The scanner stores the fault.
struct Failed;

/// The lines of a block scalar.
struct Body {
    text: Vec<u8>,
    /// The number of line ends after the text.
    breaks: usize,
    is_folded: bool,
}

impl Body {
    /// Appends a line. In folded text, a single line end becomes a space, and several lose one.
    fn push_line(&mut self, line: &[u8]) {
        let is_blank = |text: &[u8]| text.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
        if line.is_empty() {
            return;
        }
        if self.breaks != 0 && self.is_folded && !is_blank(&self.text) {
            if self.breaks == 1 {
                self.text.push(if is_blank(line) { b'\n' } else { b' ' });
            }
            self.breaks -= 1;
        }
        self.text.resize(self.text.len() + self.breaks, b'\n');
        self.text.extend_from_slice(line);
        self.breaks = 0;
    }
}

// The text of scalars, without quotes, escapes and line ends.

/// Returns the text of a scalar. An unknown escape is a fault of the document.
pub(super) fn of_scalar<'a>(scanner: &mut Scanner<'a>, range: Range<usize>) -> Cow<'a, [u8]> {
    let text: &'a [u8] = scanner.text;
    let (raw, offset) = (&text[range.clone()], range.start + 1);
    match raw.first() {
        Some(b'"') => unfolded(inner(raw), b'\\', |text, out| match unescaped(text, out) {
            Ok(rest) => rest,
            Err(left) => {
                let at = offset + inner(raw).len() - left;
                scanner.fail(at, "Unrecognized escape code", "unknown escape sequence");
                out.clear();
                &[]
            }
        }),
        Some(b'\'') => unfolded(inner(raw), b'\'', |text, out| {
            out.push(b'\'');
            text.get(2..).unwrap_or_default()
        }),
        _ => unfolded(raw.trim_ascii_end(), b'\n', |_, _| &[]),
    }
}

/// Returns the bytes without the first and the last.
fn inner(raw: &[u8]) -> &[u8] {
    raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default()
}

/// Joins lines: a single line end becomes a space, and several lose one. Text that starts with `mark` is passed to
/// `other`, which returns the rest.
fn unfolded<'a>(text: &'a [u8], mark: u8, mut other: impl FnMut(&'a [u8], &mut Vec<u8>) -> &'a [u8]) -> Cow<'a, [u8]> {
    let ends_line = |byte: u8| matches!(byte, b'\n' | b'\r');
    let is_special = |byte: &u8| *byte == mark || ends_line(*byte);
    if !text.iter().any(is_special) {
        return Cow::Borrowed(text);
    }
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    // The bytes of the last line end.
    let mut line_end = None;
    while let Some(at) = rest.iter().position(is_special) {
        if !ends_line(rest[at]) {
            out.extend_from_slice(&rest[..at]);
            rest = other(&rest[at..], &mut out);
            line_end = None;
            continue;
        }
        let line = trim_blanks_end(&rest[..at]);
        out.extend_from_slice(line);
        match line_end.filter(|_| line.is_empty()) {
            None => {
                out.push(b' ');
                line_end = Some(b' ');
            }
            Some(b' ') => {
                out.pop();
                out.push(b'\n');
                line_end = Some(b'\n');
            }
            Some(_) => out.push(b'\n'),
        }
        let len = if rest[at..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = trim_blanks_start(&rest[at + len..]);
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

fn is_blank(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn trim_blanks_end(text: &[u8]) -> &[u8] {
    let len = text.iter().rposition(|byte| !is_blank(byte)).map_or(0, |last| last + 1);
    &text[..len]
}

fn trim_blanks_start(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !is_blank(byte)).unwrap_or(text.len());
    &text[start..]
}

/// Returns the text after an escape, and writes the character. The error is the number of bytes left at an unknown
/// escape. As in LLVM, escapes such as `\x` without two digits are an invalid character.
fn unescaped<'a>(text: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], usize> {
    let Some((letter, rest)) = text.get(1..).and_then(<[u8]>::split_first) else { return Err(text.len()) };
    let digits = match letter {
        b'x' => 2,
        b'u' => 4,
        b'U' => 8,
        b'\r' | b'\n' => {
            let is_pair = *letter == b'\r' && rest.first() == Some(&b'\n');
            return Ok(trim_blanks_start(&rest[usize::from(is_pair)..]));
        }
        _ => {
            const ESCAPES: [(u8, &str); 18] = [
                (b'0', "\0"),
                (b'a', "\x07"),
                (b'b', "\x08"),
                (b't', "\t"),
                (b'\t', "\t"),
                (b'n', "\n"),
                (b'v', "\x0b"),
                (b'f', "\x0c"),
                (b'r', "\r"),
                (b'e', "\x1b"),
                (b' ', " "),
                (b'"', "\""),
                (b'/', "/"),
                (b'\\', "\\"),
                (b'N', "\u{85}"),
                (b'_', "\u{a0}"),
                (b'L', "\u{2028}"),
                (b'P', "\u{2029}"),
            ];
            let meant = ESCAPES.iter().find(|(known, _)| known == letter).ok_or(rest.len() + 1)?;
            out.extend_from_slice(meant.1.as_bytes());
            return Ok(rest);
        }
    };
    // With fewer bytes than digits, only the letter is dropped.
    let Some((digits, rest)) = rest.split_at_checked(digits) else { return Ok(rest) };
    let number = digits.iter().try_fold(0_u32, |number, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(number << 4 | digit)
    });
    push_character(number.unwrap_or(0xfffd), out);
    Ok(rest)
}

/// Appends a character in UTF-8. Surrogates are encoded, too; numbers that are too large are dropped.
fn push_character(number: u32, out: &mut Vec<u8>) {
    if let Some(character) = char::from_u32(number) {
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    } else if number < 0x1_0000 {
        let tail = |bits: u32| 0x80 | (bits & 0x3f) as u8;
        out.extend_from_slice(&[0xe0 | (number >> 12) as u8, tail(number >> 6), tail(number)]);
    }
}
