//! Converts tokens to nodes, like LLVM's YAML parser.
//!
//! This module handles all syntax and all syntax errors of a document, because LLVM checks the whole syntax before the
//! meaning.

use crate::cancel::Cancel;
use crate::error::Error;
use crate::memprof::yaml::scalars;
use crate::memprof::yaml::scanner::{Fault, NOWHERE, Result};
use crate::memprof::yaml::scanner::{Scanner, Token, TokenKind};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

/// The maximum nesting. Memory profiles have 8 levels.
const DEEPEST: u32 = 32;

/// The key of the records in a document.
pub(super) const RECORDS: &str = "HeapProfileRecords";

/// Receives the records of a document.
type TakeRecord<'r, 'a> = &'r mut dyn FnMut(Node<'a>);

/// The documents of a file.
pub(super) struct Documents<'a> {
    scanner: Scanner<'a>,
    cancel: &'a Cancel,
    /// The position of the token before the last document.
    before: Option<Range<usize>>,
}

/// A node whose first token was read.
enum Head {
    Null(Range<usize>),
    Scalar(Range<usize>),
    BlockScalar(Range<usize>, Vec<u8>),
    Alias(Range<usize>),
    List(ListKind, Range<usize>),
    Map(MapKind, Range<usize>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListKind {
    Block,
    /// Its dashes are in the column of the enclosing map.
    Indentless,
    Flow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MapKind {
    Block,
    Flow,
    /// A key and a value in a list in brackets.
    Pair,
}

impl<'a> Documents<'a> {
    pub(super) fn new(text: &'a [u8], cancel: &'a Cancel) -> Self {
        Self { scanner: Scanner::new(text), cancel, before: None }
    }

    /// Returns the next document that is not empty. Its records go to `take_record`, and its list of them is empty.
    /// `is_strict` also rejects text after a document, and text where LLVM stops silently.
    pub(super) fn next_root(&mut self, is_strict: bool, take_record: TakeRecord<'_, 'a>) -> Result<Option<Node<'a>>> {
        loop {
            let is_marked = self.before.is_some() && self.skip_document_end();
            if self.before.is_some() && (self.scanner.failed || self.scanner.peek().kind == TokenKind::StreamEnd) {
                return self.checked(is_strict, None);
            }
            let start = self.scanner.peek().range.clone();
            if is_strict && self.before.is_some() && !is_marked && !self.is_at_document() {
                let error = Error::malformed("unexpected text after the document");
                return Err(error.at("yaml", start.start.min(self.scanner.at) as u64).into());
            }
            let is_stuck = self.before.replace(start.clone()).is_some_and(|before| before == start);
            self.start_document();
            let Some(head) = self.head(true) else {
                let error = Error::malformed("the document is not YAML").at("yaml", self.scanner.at as u64);
                self.scanner.refuse(error);
                return self.checked(is_strict, None);
            };
            match head {
                Head::Null(_) if is_stuck || self.scanner.failed => return self.checked(is_strict, None),
                Head::Null(_) => {}
                head => {
                    let node = match head {
                        Head::Map(kind, mark) => Node { mark, content: self.map(kind, 1, Some(take_record)) },
                        head => self.node(head, 0),
                    };
                    return self.checked(is_strict, Some(node));
                }
            }
        }
    }

    fn checked(&mut self, is_strict: bool, node: Option<Node<'a>>) -> Result<Option<Node<'a>>> {
        if let Some(fault) = self.scanner.take_fault() {
            return Err(fault);
        }
        if let Some(at) = self.scanner.stopped.filter(|_| is_strict) {
            return Err(Error::malformed("this is not YAML").at("yaml", at as u64).into());
        }
        Ok(node)
    }

    /// Skips the markers that end a document. Returns true if there were any.
    fn skip_document_end(&mut self) -> bool {
        let mut is_marked = false;
        while !self.scanner.failed && self.scanner.peek().kind == TokenKind::DocumentEnd {
            self.scanner.next();
            is_marked = true;
        }
        is_marked
    }

    fn is_at_document(&mut self) -> bool {
        matches!(self.scanner.peek().kind, TokenKind::DocumentStart | TokenKind::Directive)
    }

    fn start_document(&mut self) {
        let mut has_directives = false;
        while self.scanner.peek().kind == TokenKind::Directive {
            self.scanner.next();
            has_directives = true;
        }
        if has_directives {
            let token = self.scanner.next();
            if token.kind != TokenKind::DocumentStart {
                self.fail(&token, "Unexpected token", "--- is missing after the directives");
            }
        }
        if self.scanner.peek().kind == TokenKind::DocumentStart {
            self.scanner.next();
        }
    }

    fn fail(&mut self, token: &Token, words: &'static str, detail: &str) {
        self.scanner.fail(token.range.start, words, detail);
    }

    /// Returns the start of the next token.
    fn here(&mut self) -> Range<usize> {
        let start = self.scanner.peek().range.start;
        start..start
    }

    /// Reads the first token of a node. Returns `None` if there cannot be a node.
    fn head(&mut self, is_root: bool) -> Option<Head> {
        let (mut has_anchor, mut has_tag) = (false, false);
        loop {
            let token = self.scanner.peek().clone();
            let (has_one, words, detail) = match token.kind {
                TokenKind::Anchor => {
                    (&mut has_anchor, "Already encountered an anchor for this node!", "a value has two anchors")
                }
                TokenKind::Tag => (&mut has_tag, "Already encountered a tag for this node!", "a value has two tags"),
                _ => return self.head_without_properties(token, is_root),
            };
            if std::mem::replace(has_one, true) {
                self.fail(&token, words, detail);
                return None;
            }
            self.scanner.next();
        }
    }

    fn head_without_properties(&mut self, token: Token, is_root: bool) -> Option<Head> {
        use TokenKind::{FlowEntry, FlowMappingEnd, FlowSequenceEnd};
        let mut head = match token.kind {
            TokenKind::Alias => Head::Alias(NOWHERE),
            TokenKind::BlockEntry => Head::List(ListKind::Indentless, NOWHERE),
            TokenKind::BlockSequenceStart => Head::List(ListKind::Block, NOWHERE),
            TokenKind::FlowSequenceStart => Head::List(ListKind::Flow, NOWHERE),
            TokenKind::BlockMappingStart => Head::Map(MapKind::Block, NOWHERE),
            TokenKind::FlowMappingStart => Head::Map(MapKind::Flow, NOWHERE),
            TokenKind::Key => Head::Map(MapKind::Pair, NOWHERE),
            TokenKind::Scalar => Head::Scalar(token.range),
            TokenKind::BlockScalar => Head::BlockScalar(token.range, token.text),
            TokenKind::Error => return None,
            FlowMappingEnd | FlowSequenceEnd | FlowEntry if is_root => {
                self.fail(&token, "Unexpected token", "a closing bracket has no opening bracket");
                return None;
            }
            _ => return Some(Head::Null(self.here())),
        };
        // The first dash of a list and the first key of a pair belong to the node.
        if !matches!(token.kind, TokenKind::BlockEntry | TokenKind::Key) {
            self.scanner.next();
        }
        let here = self.here();
        if let Head::Alias(mark) | Head::List(_, mark) | Head::Map(_, mark) = &mut head {
            *mark = here;
        }
        Some(head)
    }

    /// Reads the rest of a node. After a fault the result has no meaning.
    fn node(&mut self, head: Head, depth: u32) -> Node<'a> {
        let (mark, content) = match head {
            Head::Null(mark) => (mark, Content::Null),
            Head::Scalar(range) => {
                let text = scalars::of_scalar(&mut self.scanner, range.clone());
                (range, Content::Scalar(text))
            }
            Head::BlockScalar(range, text) => (range, Content::Scalar(Cow::Owned(text))),
            Head::Alias(mark) => {
                self.scanner.complain(mark.clone(), "unknown node kind", "aliases are not allowed in a memory profile");
                (mark, Content::Null)
            }
            Head::List(..) | Head::Map(..) if depth == DEEPEST => {
                self.scanner.refuse(
                    Error::above_limit(None, "nesting of YAML", u64::from(depth) + 1, DEEPEST.into())
                        .at("yaml", self.scanner.at as u64),
                );
                (NOWHERE, Content::Null)
            }
            Head::List(kind, mark) => (mark, self.list(kind, depth + 1)),
            Head::Map(kind, mark) => (mark, self.map(kind, depth + 1, None)),
        };
        Node { mark, content }
    }

    fn list(&mut self, kind: ListKind, depth: u32) -> Content<'a> {
        let mut items = Vec::new();
        self.each_item(kind, depth, &mut |node| items.push(node));
        Content::List(items)
    }

    fn each_item(&mut self, kind: ListKind, depth: u32, take: TakeRecord<'_, 'a>) {
        let mut behind_comma = true;
        while let Some(head) = self.item(kind, &mut behind_comma) {
            let node = self.node(head, depth);
            if let Err(error) = self.cancel.check() {
                self.scanner.refuse(error);
            }
            if self.scanner.is_faulty() {
                break;
            }
            take(node);
        }
    }

    /// Reads the next item of a list.
    fn item(&mut self, kind: ListKind, behind_comma: &mut bool) -> Option<Head> {
        use TokenKind::{BlockEnd, BlockEntry, DocumentEnd, DocumentStart, FlowEntry, FlowSequenceEnd, StreamEnd};
        loop {
            if self.scanner.failed {
                return None;
            }
            let token = self.scanner.peek().clone();
            match (kind, token.kind) {
                (_, TokenKind::Error) => return None,
                (ListKind::Block | ListKind::Indentless, BlockEntry) => {
                    self.scanner.next();
                    return self.head(false);
                }
                (ListKind::Indentless, _) => return None,
                (ListKind::Block, BlockEnd) | (ListKind::Flow, FlowSequenceEnd) => {
                    self.scanner.next();
                    return None;
                }
                (ListKind::Block, _) => {
                    let words = "Unexpected token. Expected Block Entry or Block End.";
                    self.fail(&token, words, "the line does not belong to the list before it or to an outer block");
                    return None;
                }
                (ListKind::Flow, FlowEntry) => {
                    self.scanner.next();
                    *behind_comma = true;
                }
                (ListKind::Flow, StreamEnd | DocumentEnd | DocumentStart) => {
                    let detail = "a bracket is not closed";
                    self.fail(&token, "Could not find closing ]!", detail);
                    return None;
                }
                (ListKind::Flow, _) if !std::mem::take(behind_comma) => {
                    self.fail(&token, "Expected , between entries!", "a comma is missing between items");
                    return None;
                }
                (ListKind::Flow, _) => return self.head(false),
            }
        }
    }

    /// Reads the entries of a map. For the map of a document, the records go to `take_record`.
    fn map(&mut self, kind: MapKind, depth: u32, mut take_record: Option<TakeRecord<'_, 'a>>) -> Content<'a> {
        let mut entries: Vec<Entry<'a>> = Vec::new();
        let mut keys = HashSet::new();
        while (kind != MapKind::Pair || entries.is_empty()) && self.has_entry(kind) {
            let key = self.key();
            let mark = match &key {
                None => NOWHERE,
                Some(Head::Null(mark) | Head::Alias(mark) | Head::List(_, mark) | Head::Map(_, mark)) => mark.clone(),
                Some(Head::Scalar(range) | Head::BlockScalar(range, _)) => range.clone(),
            };
            let is_scalar = matches!(key, Some(Head::Scalar(_)));
            let value = self.value(key);
            if !is_scalar {
                self.scanner.complain(mark.clone(), "Map key must be a scalar", "a key is not a scalar");
            }
            if value.is_none() {
                let words = "Map value must not be empty";
                self.scanner.complain(mark.clone(), words, "the value of a key cannot be read");
            }
            let Some(value) = value.filter(|_| is_scalar) else { break };
            let text = scalars::of_scalar(&mut self.scanner, mark.clone());
            let key = Node { mark, content: Content::Scalar(text.clone()) };
            if !keys.insert(text) {
                let (detail, words) = key.repeated();
                self.scanner.complain(key.mark.clone(), words, &detail);
            }
            let is_records = key.scalar("a key").is_ok_and(|key| key == RECORDS.as_bytes());
            let value = match (&mut take_record, value) {
                (Some(take_record), Head::List(kind, mark)) if is_records && !self.scanner.is_faulty() => {
                    self.each_item(kind, depth + 1, *take_record);
                    Node { mark, content: Content::List(Vec::new()) }
                }
                (_, value) => self.node(value, depth),
            };
            if self.scanner.is_faulty() {
                break;
            }
            entries.push((key, value));
        }
        Content::Map(entries)
    }

    /// Returns true if another entry of a map follows. Otherwise skips the end of the map.
    fn has_entry(&mut self, kind: MapKind) -> bool {
        loop {
            if self.scanner.failed {
                return false;
            }
            let token = self.scanner.peek().clone();
            match (kind, token.kind) {
                (_, TokenKind::Key | TokenKind::Scalar) => return true,
                (_, TokenKind::Error) => return false,
                (MapKind::Block, TokenKind::BlockEnd) | (MapKind::Flow, TokenKind::FlowMappingEnd) => {
                    self.scanner.next();
                    return false;
                }
                (MapKind::Flow, TokenKind::FlowEntry) => {
                    self.scanner.next();
                }
                (MapKind::Block, _) => {
                    let words = "Unexpected token. Expected Key or Block End";
                    self.fail(&token, words, "this is not a key of its map");
                    return false;
                }
                (MapKind::Flow | MapKind::Pair, _) => {
                    let words = "Unexpected token. Expected Key, Flow Entry, or Flow Mapping End.";
                    self.fail(&token, words, "a comma or closing bracket is missing");
                    return false;
                }
            }
        }
    }

    /// Reads the key of an entry. `None` if it cannot be read.
    fn key(&mut self) -> Option<Head> {
        use TokenKind::{BlockEnd, Value};
        match self.scanner.peek().kind {
            BlockEnd | Value | TokenKind::Error => return Some(Head::Null(self.here())),
            TokenKind::Key => {
                self.scanner.next();
            }
            _ => {}
        }
        match self.scanner.peek().kind {
            BlockEnd | Value => Some(Head::Null(self.here())),
            _ => self.head(false),
        }
    }

    /// The value after a key; `None` if it cannot be read.
    fn value(&mut self, key: Option<Head>) -> Option<Head> {
        use TokenKind::{BlockEnd, FlowEntry, FlowMappingEnd, Key, Value};
        match key {
            Some(key) => self.skip(key, 0),
            None => {
                let token = self.scanner.peek().clone();
                self.fail(&token, "Null key in Key Value.", "a key cannot be read");
                return Some(Head::Null(self.here()));
            }
        }
        if self.scanner.failed {
            return Some(Head::Null(self.here()));
        }
        let token = self.scanner.peek().clone();
        match token.kind {
            BlockEnd | FlowMappingEnd | Key | FlowEntry | TokenKind::Error => return Some(Head::Null(self.here())),
            Value => {
                self.scanner.next();
            }
            _ => {
                self.fail(&token, "Unexpected token in Key Value.", "a colon is missing after a key");
                return Some(Head::Null(self.here()));
            }
        }
        match self.scanner.peek().kind {
            BlockEnd | Key => Some(Head::Null(self.here())),
            _ => self.head(false),
        }
    }

    /// Reads and drops a node.
    fn skip(&mut self, head: Head, depth: u32) {
        match head {
            Head::List(..) | Head::Map(..) if depth == DEEPEST => {
                self.node(head, depth);
            }
            Head::List(kind, _) => {
                let mut behind_comma = true;
                while let Some(head) = self.item(kind, &mut behind_comma) {
                    self.skip(head, depth + 1);
                }
            }
            Head::Map(kind, _) => {
                let mut is_first = true;
                while (kind != MapKind::Pair || std::mem::take(&mut is_first)) && self.has_entry(kind) {
                    let key = self.key();
                    if let Some(value) = self.value(key) {
                        self.skip(value, depth + 1);
                    }
                }
            }
            _ => {}
        }
    }
}

// Kinds of nodes.

/// A part of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node<'a> {
    /// The range that LLVM marks in messages: a whole scalar, or the first byte of a list or map.
    pub(super) mark: Range<usize>,
    pub(super) content: Content<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content<'a> {
    /// Missing.
    Null,
    Scalar(Cow<'a, [u8]>),
    List(Vec<Node<'a>>),
    Map(Vec<Entry<'a>>),
}

/// A key and its value.
pub(super) type Entry<'a> = (Node<'a>, Node<'a>);

impl<'a> Node<'a> {
    /// Returns a fault with LLVM's message.
    pub(super) fn fault(&self, detail: impl Into<String>, words: impl Into<Cow<'static, str>>) -> Box<Fault> {
        Fault::new(self.error(detail), self.mark.clone(), words)
    }

    /// Returns an error that LLVM does not detect.
    pub(super) fn error(&self, detail: impl Into<String>) -> Error {
        Error::malformed(detail).at("yaml", self.mark.start as u64)
    }

    /// Returns the message for a key that occurs twice in its map, in our words and in those of LLVM.
    pub(super) fn repeated(&self) -> (String, String) {
        let name = String::from_utf8_lossy(self.scalar("a key").unwrap_or_default()).into_owned();
        (format!("the key {name:?} occurs twice"), format!("duplicated mapping key '{name}'"))
    }

    fn kind(&self) -> &'static str {
        match self.content {
            Content::Null => "nothing",
            Content::Scalar(_) => "a scalar",
            Content::List(_) => "a list",
            Content::Map(_) => "a map",
        }
    }

    /// Returns the items of a list. A missing node is an empty list.
    pub(super) fn list(&self, what: &str) -> Result<&[Self]> {
        match &self.content {
            Content::Null => Ok(&[]),
            Content::Scalar(text) if [&b"null"[..], b"Null", b"NULL", b"~"].contains(&&**text) => Ok(&[]),
            Content::List(items) => Ok(items),
            _ => Err(self.fault(format!("{what} is {}, not a list", self.kind()), "not a sequence")),
        }
    }

    /// Returns the entries of a map.
    pub(super) fn map(&self, what: &str) -> Result<&[Entry<'a>]> {
        match &self.content {
            Content::Map(entries) => Ok(entries),
            _ => Err(self.fault(format!("{what} is {}, not a map", self.kind()), "not a mapping")),
        }
    }

    /// Returns the text of a scalar.
    pub(super) fn scalar(&self, what: &str) -> Result<&[u8]> {
        match &self.content {
            Content::Scalar(text) => Ok(text),
            _ => Err(self.fault(format!("{what} is {}, not a scalar", self.kind()), "unexpected scalar")),
        }
    }

    /// Returns a number of at most `max`: decimal, `0x`, `0b`, `0o`, or octal after 0.
    pub(super) fn number(&self, what: &str, max: u64) -> Result<u64> {
        self.number_as(what, max, "invalid number")
    }

    /// Returns a number. `words` is LLVM's message if it is not one.
    pub(super) fn number_as(&self, what: &str, max: u64, words: &'static str) -> Result<u64> {
        let text = self.scalar(what).map_err(|fault| fault.and(words))?;
        let (digits, radix) = match text {
            [b'0', b'x' | b'X', rest @ ..] => (rest, 16),
            [b'0', b'b' | b'B', rest @ ..] => (rest, 2),
            [b'0', b'o', rest @ ..] => (rest, 8),
            [b'0', rest @ ..] if !rest.is_empty() => (rest, 8),
            _ => (text, 10),
        };
        let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'));
        let number = digits.and_then(|digits| u64::from_str_radix(digits, radix).ok());
        number.filter(|number| *number <= max).ok_or_else(|| {
            let words = if number.is_some() { "out of range number" } else { words };
            self.fault(format!("{what} is {:?}, not a number from 0 to {max}", String::from_utf8_lossy(text)), words)
        })
    }

    /// Returns a boolean in any of YAML's spellings.
    pub(super) fn boolean(&self, what: &str) -> Result<bool> {
        let text = self.scalar(what).map_err(|fault| fault.and("invalid boolean"))?;
        let is_one_of = |words: [&str; 4]| {
            words.iter().any(|word| {
                let [lower, upper] = [word.to_ascii_lowercase(), word.to_ascii_uppercase()];
                text == word.as_bytes() || text == lower.as_bytes() || text == upper.as_bytes()
            })
        };
        if is_one_of(["True", "Yes", "On", "Y"]) {
            Ok(true)
        } else if is_one_of(["False", "No", "Off", "N"]) {
            Ok(false)
        } else {
            let detail = format!("{what} is {:?}, neither true nor false", String::from_utf8_lossy(text));
            Err(self.fault(detail, "invalid boolean"))
        }
    }
}
