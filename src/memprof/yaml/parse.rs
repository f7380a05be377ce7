//! From bytes to nodes.

use super::fault::{Fault, Result};
use super::node::{Content, Entry, Node};
use crate::error::{Error, ErrorKind};
use std::borrow::Cow;

/// Deepest nesting; the form has 8 levels.
const DEEPEST: u32 = 32;

/// A position in a document.
pub(super) struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    /// Where the line at hand begins.
    line: usize,
    depth: u32,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, line: 0, depth: 0 }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    fn column(&self) -> usize {
        self.at - self.line
    }

    /// It is no YAML, or none that is known here. LLVM's words for such faults
    /// are its parser's own; these are ours.
    pub(super) fn error(&self, detail: impl Into<String>) -> Box<Fault> {
        let detail = detail.into();
        Fault::new(Error::malformed(detail.as_str()).at("yaml", self.at as u64), self.at..self.at, detail)
    }

    /// A list or map whose first piece begins at `first`.
    fn node(&self, offset: usize, first: usize, content: Content<'a>) -> Node<'a> {
        Node { offset: offset as u64, mark: first..first, content }
    }

    /// Skips blanks, comments and line ends; stands then at the next token.
    pub(super) fn skip(&mut self) {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b'#') if self.at == self.line || self.text[self.at - 1].is_ascii_whitespace() => {
                    let rest = self.rest();
                    self.at += rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                }
                Some(b'\n') => {
                    self.at += 1;
                    self.line = self.at;
                }
                _ => return,
            }
        }
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    /// Skips markers of documents. Returns whether another document begins.
    pub(super) fn next_document(&mut self) -> Result<bool> {
        loop {
            self.skip();
            if self.is_at_marker() {
                self.at += 3;
            } else if self.peek().is_none() {
                return Ok(false);
            } else if self.peek() == Some(b'%') && self.column() == 0 {
                return Err(self.error("directives are no part of a memory profile"));
            } else {
                return Ok(true);
            }
        }
    }

    /// Whether the document ends here.
    fn is_at_marker(&self) -> bool {
        let rest = self.rest();
        let marked = rest.starts_with(b"---") || rest.starts_with(b"...");
        marked && self.column() == 0 && rest.get(3).is_none_or(u8::is_ascii_whitespace)
    }

    fn is_at_end(&self) -> bool {
        self.peek().is_none() || self.is_at_marker()
    }

    /// Whether a bracket opens here.
    pub(super) fn is_at_flow(&self) -> bool {
        matches!(self.peek(), Some(b'[' | b'{'))
    }

    /// Whether an item of a list begins here.
    pub(super) fn is_at_dash(&self) -> bool {
        self.peek() == Some(b'-') && self.text.get(self.at + 1).is_none_or(u8::is_ascii_whitespace)
    }

    /// The next node, whose column must be `least` at least; nothing when it is
    /// less.
    pub(super) fn block(&mut self, least: usize) -> Result<Node<'a>> {
        self.skip();
        let (start, column) = (self.at, self.column());
        if self.is_at_end() || column < least {
            return Ok(self.node(start, start, Content::Null));
        }
        if self.is_at_dash() {
            return self.nested(|parser| parser.block_list(column));
        }
        if let Some(b'[' | b'{') = self.peek() {
            let node = self.flow()?;
            return self.line_end().map(|()| node);
        }
        let scalar = self.scalar(false)?;
        if self.takes_colon() {
            return self.nested(|parser| parser.block_map(column, scalar));
        }
        self.line_end().map(|()| scalar)
    }

    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let kind =
                ErrorKind::LimitExceeded { what: "nesting of YAML", found: self.depth.into(), limit: DEEPEST.into() };
            return Err(Error::new(kind).at("yaml", self.at as u64).into());
        }
        let parsed = parse(self)?;
        self.depth -= 1;
        Ok(parsed)
    }

    /// Skips the colon behind a key.
    fn takes_colon(&mut self) -> bool {
        let start = self.at;
        self.skip_blanks();
        let found = self.peek() == Some(b':') && self.text.get(self.at + 1).is_none_or(u8::is_ascii_whitespace);
        self.at = if found { self.at + 1 } else { start };
        found
    }

    /// Nothing but a comment may follow on the line.
    fn line_end(&mut self) -> Result<()> {
        self.skip_blanks();
        match self.peek() {
            None | Some(b'\n') => Ok(()),
            Some(b'#') if self.text[self.at - 1].is_ascii_whitespace() => Ok(()),
            _ => Err(self.error("something follows on the line that cannot stand here")),
        }
    }

    fn block_list(&mut self, column: usize) -> Result<Node<'a>> {
        let (start, mut items) = (self.at, Vec::new());
        while self.next_item(column)? {
            items.push(self.block(column + 1)?);
        }
        Ok(self.node(start, start, Content::List(items)))
    }

    /// Skips the dash of another item of a list at `column`.
    pub(super) fn next_item(&mut self, column: usize) -> Result<bool> {
        self.skip();
        if self.is_at_end() || self.column() < column || (self.column() == column && !self.is_at_dash()) {
            return Ok(false);
        }
        if self.column() > column {
            return Err(self.error("the line is indented more than the list that it belongs to"));
        }
        self.at += 1;
        Ok(true)
    }

    /// Whether a list begins here, behind a key at `column`: then the column of
    /// its dashes.
    pub(super) fn list_behind_key(&mut self, column: usize) -> Option<usize> {
        let before = (self.at, self.line);
        self.skip();
        let found = !self.is_at_end() && self.is_at_dash() && self.column() >= column;
        let at = self.column();
        if !found {
            (self.at, self.line) = before;
        }
        found.then_some(at)
    }

    fn block_map(&mut self, column: usize, first: Node<'a>) -> Result<Node<'a>> {
        let offset = first.offset as usize;
        let mut entries: Vec<Entry<'a>> = Vec::new();
        let mut key = first;
        loop {
            let value = self.map_value(column)?;
            entries.push((key, value));
            match self.next_key(column)? {
                Some(next) => key = next,
                None => return Ok(self.node(offset, offset, Content::Map(entries))),
            }
        }
    }

    /// The value behind a key at `column`.
    pub(super) fn map_value(&mut self, column: usize) -> Result<Node<'a>> {
        self.skip_blanks();
        let on_key_line = !matches!(self.peek(), None | Some(b'\n' | b'#'));
        if !on_key_line {
            return match self.list_behind_key(column) {
                Some(at) => self.nested(|parser| parser.block_list(at)),
                None => self.block(column + 1),
            };
        }
        let node = if matches!(self.peek(), Some(b'[' | b'{')) { self.flow()? } else { self.scalar(false)? };
        self.line_end().map(|()| node)
    }

    /// The next key of a map at `column`, its colon skipped.
    pub(super) fn next_key(&mut self, column: usize) -> Result<Option<Node<'a>>> {
        self.skip();
        if self.is_at_end() || self.column() < column {
            return Ok(None);
        }
        if self.column() > column {
            return Err(self.error("the line is indented more than the map that it belongs to"));
        }
        let key = self.scalar(false)?;
        if !self.takes_colon() {
            return Err(self.error("a key and a colon are missing"));
        }
        Ok(Some(key))
    }

    /// A list or map in brackets, or a scalar inside one.
    fn flow(&mut self) -> Result<Node<'a>> {
        match self.peek() {
            Some(b'[') => self.nested(Self::flow_list),
            Some(b'{') => self.nested(Self::flow_map),
            _ => self.scalar(true),
        }
    }

    fn flow_list(&mut self) -> Result<Node<'a>> {
        let (start, mut items) = (self.at, Vec::new());
        let first = self.enter_bracket();
        while !self.closes(b']')? {
            items.push(self.flow()?);
            self.comma(b']')?;
        }
        Ok(self.node(start, first, Content::List(items)))
    }

    fn flow_map(&mut self) -> Result<Node<'a>> {
        let (start, mut entries) = (self.at, Vec::new());
        let first = self.enter_bracket();
        while !self.closes(b'}')? {
            let key = self.scalar(true)?;
            if !self.takes_colon() {
                return Err(self.error("a colon is missing behind a key"));
            }
            self.skip();
            entries.push((key, self.flow()?));
            self.comma(b'}')?;
        }
        Ok(self.node(start, first, Content::Map(entries)))
    }

    /// Skips an opening bracket, and returns where what is inside begins.
    fn enter_bracket(&mut self) -> usize {
        self.at += 1;
        self.skip();
        self.at
    }

    fn closes(&mut self, bracket: u8) -> Result<bool> {
        self.skip();
        match self.peek() {
            None => Err(self.error("the end of the file comes before that of a bracket")),
            Some(byte) if byte == bracket => {
                self.at += 1;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// A comma, unless the bracket closes.
    fn comma(&mut self, bracket: u8) -> Result<()> {
        self.skip();
        match self.peek() {
            Some(b',') => self.at += 1,
            Some(byte) if byte == bracket => {}
            _ => return Err(self.error("a comma or the end of a bracket is missing")),
        }
        Ok(())
    }

    fn scalar(&mut self, in_flow: bool) -> Result<Node<'a>> {
        let start = self.at;
        let text = match self.peek() {
            Some(b'\'') => self.single_quoted()?,
            Some(b'"') => self.double_quoted()?,
            Some(b'&' | b'*' | b'!' | b'|' | b'>' | b'@' | b'`' | b'%') => {
                return Err(self.error("anchors, tags and texts of several lines are no part of a memory profile"));
            }
            _ => Cow::Borrowed(self.plain(in_flow)),
        };
        if text.is_empty() && self.at == start {
            return Err(self.error("a value is missing"));
        }
        Ok(Node { offset: start as u64, mark: start..self.at, content: Content::Scalar(text) })
    }

    fn plain(&mut self, in_flow: bool) -> &'a [u8] {
        let start = self.at;
        while let Some(byte) = self.peek() {
            let next_is_blank = self.text.get(self.at + 1).is_none_or(u8::is_ascii_whitespace);
            let ends = match byte {
                b'\n' => true,
                b':' => next_is_blank,
                b'#' => self.at > start && self.text[self.at - 1].is_ascii_whitespace(),
                b',' | b'[' | b']' | b'{' | b'}' => in_flow,
                _ => false,
            };
            if ends {
                break;
            }
            self.at += 1;
        }
        self.text[start..self.at].trim_ascii_end()
    }

    /// The text up to a quote, without line ends.
    fn up_to_quote(&mut self, ends: impl Fn(u8) -> bool) -> Result<&'a [u8]> {
        let rest = self.rest();
        let len = rest.iter().position(|byte| ends(*byte) || *byte == b'\n');
        match len.filter(|len| rest[*len] != b'\n') {
            Some(len) => {
                self.at += len + 1;
                Ok(&rest[..len])
            }
            None => Err(self.error("a quote is not closed on its line")),
        }
    }

    fn single_quoted(&mut self) -> Result<Cow<'a, [u8]>> {
        self.at += 1;
        let mut text = Cow::Borrowed(self.up_to_quote(|byte| byte == b'\'')?);
        while self.peek() == Some(b'\'') {
            self.at += 1;
            let more = self.up_to_quote(|byte| byte == b'\'')?;
            let text = text.to_mut();
            text.push(b'\'');
            text.extend_from_slice(more);
        }
        Ok(text)
    }

    fn double_quoted(&mut self) -> Result<Cow<'a, [u8]>> {
        self.at += 1;
        let mut text = Vec::new();
        loop {
            let plain = self.up_to_quote(|byte| byte == b'"' || byte == b'\\')?;
            text.extend_from_slice(plain);
            if self.text[self.at - 1] == b'"' {
                return Ok(Cow::Owned(text));
            }
            self.escape(&mut text)?;
        }
    }

    fn escape(&mut self, text: &mut Vec<u8>) -> Result<()> {
        let digits = match self.peek() {
            Some(b'x') => 2,
            Some(b'u') => 4,
            Some(b'U') => 8,
            Some(byte) => {
                const ESCAPES: [(u8, u8); 9] = [
                    (b'n', b'\n'),
                    (b't', b'\t'),
                    (b'r', b'\r'),
                    (b'0', 0),
                    (b'"', b'"'),
                    (b'\\', b'\\'),
                    (b'/', b'/'),
                    (b' ', b' '),
                    (b'e', 0x1b),
                ];
                let Some((_, meant)) = ESCAPES.iter().find(|(letter, _)| *letter == byte) else {
                    return Err(self.error("an escape is not known"));
                };
                text.push(*meant);
                self.at += 1;
                return Ok(());
            }
            None => return Err(self.error("a quote is not closed on its line")),
        };
        let code = self.text.get(self.at + 1..self.at + 1 + digits).and_then(|code| std::str::from_utf8(code).ok());
        let character = code.and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32);
        let Some(character) = character else { return Err(self.error("an escape is not a character")) };
        text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        self.at += 1 + digits;
        Ok(())
    }
}
