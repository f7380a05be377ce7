//! Scalars, and what else is more than one byte: where they end.

use super::state::{Scanner, TokenKind};

impl Scanner<'_> {
    /// The token pushed last is a whole piece; no key follows on the line.
    fn push_piece(&mut self, kind: TokenKind, start: usize, column: usize, is_quoted: bool) -> bool {
        self.push_candidate(kind, start..self.at, column);
        (self.may_be_key, self.may_be_adjacent_value) = (false, is_quoted);
        true
    }

    /// Text without quotes; it goes on where the next lines are indented more
    /// than their block.
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
                        self.fail(next, "Found invalid tab character in indentation", "a tab is no indentation");
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
            self.fail(start, "Got empty plain scalar", "this byte is no character that may stand in YAML");
            return false;
        }
        self.push_piece(TokenKind::Scalar, start, start_column, false)
    }

    /// Text in single quotes. As in LLVM a byte that is no character ends it,
    /// and so does the last byte of the file.
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

    /// `&name` or `*name`.
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

    /// Text of several lines behind `|` or `>`.
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
            let detail = "something follows on the line where a text of several lines begins";
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

    /// What becomes of the ends of the last lines: `+` keeps and `-` drops them.
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

    /// The column of the first line that is not blank; none when the text ends
    /// before.
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
                    self.fail(longest_at, words, "a blank line is indented more than the text behind it");
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
                    self.fail(self.at, words, "a line is indented less than the text that it belongs to");
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

/// The fault is noted in the scanner.
struct Failed;

/// The lines of a block scalar so far.
struct Body {
    text: Vec<u8>,
    /// Ends of lines behind the text.
    breaks: usize,
    is_folded: bool,
}

impl Body {
    /// Folded text has a blank for a single end of a line, and one end less for
    /// several.
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
