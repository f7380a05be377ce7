//! From bytes to nodes, of documents as LLVM writes them and people do who write
//! them alike: one line for each scalar, a blank behind each colon, and nothing
//! but printable ASCII. All of it means the same to LLVM; what does not, or may
//! not, is irregular and left to `tree.rs`.

use super::fault::Fault;
use super::node::{Content, Entry, Node};
use std::borrow::Cow;

/// Deepest nesting; the form has 8 levels.
const DEEPEST: u32 = 32;

/// Longest scalar: a key must not be longer for LLVM.
const LONGEST: usize = 1000;

/// The document is to be read another way.
#[derive(Debug)]
pub(super) struct NeedsFullParser;

type Result<T> = std::result::Result<T, NeedsFullParser>;

/// A fault of the form is told when the whole document was looked at.
impl From<Box<Fault>> for NeedsFullParser {
    fn from(_: Box<Fault>) -> Self {
        Self
    }
}

/// Adds an item. A list that does not fit the memory is asked for once more the other way, which says so.
fn push<T>(list: &mut Vec<T>, item: T) -> Result<()> {
    list.try_reserve(1).map_err(|_| NeedsFullParser)?;
    list.push(item);
    Ok(())
}

/// A position in a document.
pub(super) struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    /// Where the line at hand begins.
    line: usize,
    depth: u32,
    /// Whether a document came since the last marker.
    is_in_document: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a [u8]) -> Result<Self> {
        let is_regular = text.iter().all(|byte| matches!(byte, b'\n' | b' '..=b'~'));
        if is_regular {
            Ok(Self { text, at: 0, line: 0, depth: 0, is_in_document: false })
        } else {
            Err(NeedsFullParser)
        }
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

    /// A list or map whose first piece begins at `first`.
    fn node(first: usize, content: Content<'a>) -> Node<'a> {
        Node { mark: first..first, content }
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
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// Skips markers of documents. Returns whether another document begins.
    pub(super) fn next_document(&mut self) -> Result<bool> {
        loop {
            self.skip();
            if self.is_at_marker() {
                self.at += 3;
                self.is_in_document = false;
                self.line_end()?;
            } else if self.peek().is_none() {
                return Ok(false);
            } else if std::mem::replace(&mut self.is_in_document, true) {
                return Err(NeedsFullParser);
            } else {
                return Ok(true);
            }
        }
    }

    /// Whether the document ends here.
    fn is_at_marker(&self) -> bool {
        let rest = self.rest();
        let marked = rest.starts_with(b"---") || rest.starts_with(b"...");
        marked && self.column() == 0 && rest.get(3).is_some_and(u8::is_ascii_whitespace)
    }

    fn is_at_end(&self) -> bool {
        self.peek().is_none() || self.is_at_marker()
    }

    /// Whether a bracket opens here.
    pub(super) fn is_at_flow(&self) -> bool {
        matches!(self.peek(), Some(b'[' | b'{'))
    }

    /// Whether an item of a list begins here.
    fn is_at_dash(&self) -> bool {
        self.peek() == Some(b'-') && self.text.get(self.at + 1).is_none_or(u8::is_ascii_whitespace)
    }

    /// The next node, whose column must be `least` at least; nothing when it is
    /// less.
    pub(super) fn block(&mut self, least: usize) -> Result<Node<'a>> {
        self.skip();
        let (start, column) = (self.at, self.column());
        if self.is_at_end() || column < least {
            return Ok(Self::node(start, Content::Null));
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
            return Err(NeedsFullParser);
        }
        let parsed = parse(self)?;
        self.depth -= 1;
        Ok(parsed)
    }

    /// Skips the colon behind a key.
    fn takes_colon(&mut self) -> bool {
        let found = self.peek() == Some(b':') && self.text.get(self.at + 1).is_none_or(u8::is_ascii_whitespace);
        self.at += usize::from(found);
        found
    }

    /// Nothing but a comment may follow on the line.
    fn line_end(&mut self) -> Result<()> {
        self.skip_blanks();
        match self.peek() {
            None | Some(b'\n') => Ok(()),
            Some(b'#') if self.text[self.at - 1].is_ascii_whitespace() => Ok(()),
            _ => Err(NeedsFullParser),
        }
    }

    fn block_list(&mut self, column: usize) -> Result<Node<'a>> {
        let (start, mut items) = (self.at, Vec::new());
        while self.next_item(column)? {
            push(&mut items, self.block(column + 1)?)?;
        }
        // An item of nothing is none: LLVM takes what follows for a list in it.
        if items.iter().any(|item| item.content == Content::Null) {
            return Err(NeedsFullParser);
        }
        Ok(Self::node(start, Content::List(items)))
    }

    /// Skips the dash of another item of a list at `column`.
    pub(super) fn next_item(&mut self, column: usize) -> Result<bool> {
        self.skip();
        if self.is_at_end() || self.column() < column || (self.column() == column && !self.is_at_dash()) {
            return Ok(false);
        }
        if self.column() > column {
            return Err(NeedsFullParser);
        }
        self.at += 1;
        Ok(true)
    }

    /// Whether a list begins here, behind a key at `column`: then the column of
    /// its dashes.
    pub(super) fn list_after_key(&mut self, column: usize) -> Option<usize> {
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
        let start = first.mark.start;
        let mut entries: Vec<Entry<'a>> = Vec::new();
        let mut key = first;
        loop {
            let value = self.map_value(column)?;
            push(&mut entries, (key, value))?;
            match self.next_key(column)? {
                Some(next) => key = next,
                None => return Ok(Self::node(start, Content::Map(entries))),
            }
        }
    }

    /// The value behind a key at `column`.
    pub(super) fn map_value(&mut self, column: usize) -> Result<Node<'a>> {
        self.skip_blanks();
        let on_key_line = !matches!(self.peek(), None | Some(b'\n' | b'#'));
        if !on_key_line {
            return match self.list_after_key(column) {
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
            return Err(NeedsFullParser);
        }
        let key = self.scalar(false)?;
        if !self.takes_colon() {
            return Err(NeedsFullParser);
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
        let mut items = Vec::new();
        let first = self.enter_bracket();
        while !self.closes(b']')? {
            push(&mut items, self.flow()?)?;
            self.comma(b']')?;
        }
        Ok(Self::node(first, Content::List(items)))
    }

    fn flow_map(&mut self) -> Result<Node<'a>> {
        let mut entries = Vec::new();
        let first = self.enter_bracket();
        while !self.closes(b'}')? {
            let key = self.scalar(true)?;
            if !self.takes_colon() {
                return Err(NeedsFullParser);
            }
            self.skip();
            push(&mut entries, (key, self.flow()?))?;
            self.comma(b'}')?;
        }
        Ok(Self::node(first, Content::Map(entries)))
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
            None => Err(NeedsFullParser),
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
            _ => return Err(NeedsFullParser),
        }
        Ok(())
    }

    fn scalar(&mut self, in_flow: bool) -> Result<Node<'a>> {
        let start = self.at;
        let text = match self.peek() {
            Some(b'\'') => self.single_quoted()?,
            Some(b'"') => Cow::Borrowed(self.up_to_quote(b'"')?),
            // Whatever else a scalar may begin with begins other things, too.
            Some(byte) if byte.is_ascii_alphanumeric() || b"_/$<~".contains(&byte) => {
                Cow::Borrowed(self.plain(in_flow)?)
            }
            _ => return Err(NeedsFullParser),
        };
        if self.at - start > LONGEST {
            return Err(NeedsFullParser);
        }
        Ok(Node { mark: start..self.at, content: Content::Scalar(text) })
    }

    fn plain(&mut self, in_flow: bool) -> Result<&'a [u8]> {
        let start = self.at;
        let is_bracket = |byte: &u8| matches!(byte, b',' | b'[' | b']' | b'{' | b'}');
        while let Some(byte) = self.peek() {
            let next = self.text.get(self.at + 1);
            if in_flow && byte == b':' && next.is_some_and(is_bracket) {
                return Err(NeedsFullParser);
            }
            let ends = match byte {
                b'\n' => true,
                b':' => next.is_none_or(u8::is_ascii_whitespace),
                b'#' => self.text[self.at - 1] == b' ',
                _ => in_flow && is_bracket(&byte),
            };
            if ends {
                break;
            }
            self.at += 1;
        }
        Ok(self.text[start..self.at].trim_ascii_end())
    }

    /// The text up to the same quote again, without escapes and line ends.
    fn up_to_quote(&mut self, quote: u8) -> Result<&'a [u8]> {
        self.at += 1;
        let rest = self.rest();
        let ends = |byte: &u8| *byte == quote || matches!(byte, b'\n' | b'\\');
        let len = rest.iter().position(ends).filter(|len| rest[*len] == quote).ok_or(NeedsFullParser)?;
        self.at += len + 1;
        Ok(&rest[..len])
    }

    fn single_quoted(&mut self) -> Result<Cow<'a, [u8]>> {
        let mut text = Cow::Borrowed(self.up_to_quote(b'\'')?);
        while self.peek() == Some(b'\'') {
            let more = self.up_to_quote(b'\'')?;
            let text = text.to_mut();
            text.push(b'\'');
            text.extend_from_slice(more);
        }
        Ok(text)
    }
}
