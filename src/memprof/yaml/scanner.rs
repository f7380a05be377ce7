//! Converts bytes to tokens, like LLVM's YAML scanner.
//!
//! A key is only recognized at its colon. So tokens stay in a queue while the first of them may be a key: until the end
//! of the line, or for 1024 columns.

use crate::error::Error;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

impl Scanner<'_> {
    pub(super) fn peek(&mut self) -> &Token {
        let mut needs_more = self.tokens.is_empty();
        loop {
            if needs_more && !self.fetch() {
                self.stopped.get_or_insert(self.at);
                self.taken += self.tokens.len();
                self.tokens.clear();
                self.keys.clear();
                self.tokens.push_back(Token::new(TokenKind::Error, NOWHERE));
                break;
            }
            self.forget_stale_keys();
            needs_more = self.tokens.is_empty() || self.keys.iter().any(|key| key.token == self.taken);
            if !needs_more {
                break;
            }
        }
        self.tokens.front().expect("a token was fetched")
    }

    pub(super) fn next(&mut self) -> Token {
        self.peek();
        self.taken += 1;
        self.tokens.pop_front().expect("a token was looked at")
    }

    /// Pushes at least one more token. Returns false if there is none.
    fn fetch(&mut self) -> bool {
        use TokenKind::{
            DocumentEnd, DocumentStart, FlowMappingEnd, FlowMappingStart, FlowSequenceEnd, FlowSequenceStart,
        };
        if !self.started {
            self.started = true;
            self.at += if self.text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        }
        self.skip_to_token();
        let Some(byte) = self.byte(self.at) else {
            self.leave_blocks();
            self.push(TokenKind::StreamEnd, self.at..self.at);
            return true;
        };
        self.forget_stale_keys();
        self.end_blocks(Some(self.column));
        let next_is_blank_or_end = self.at + 1 == self.text.len() || self.is_blank_or_break(self.at + 1);
        match byte {
            b'%' if self.column == 0 => self.directive(),
            b'-' if self.is_marker(b"---") => self.marker(DocumentStart),
            b'.' if self.is_marker(b"...") => self.marker(DocumentEnd),
            b'[' => self.open_bracket(FlowSequenceStart),
            b'{' => self.open_bracket(FlowMappingStart),
            b']' => self.close_bracket(FlowSequenceEnd),
            b'}' => self.close_bracket(FlowMappingEnd),
            b',' => self.separator(TokenKind::FlowEntry, true),
            b'-' if next_is_blank_or_end => {
                self.begin_block(self.column, TokenKind::BlockSequenceStart, self.next_number());
                self.separator(TokenKind::BlockEntry, true)
            }
            b'?' if next_is_blank_or_end => {
                self.begin_block(self.column, TokenKind::BlockMappingStart, self.next_number());
                self.separator(TokenKind::Key, self.flow_level == 0)
            }
            b':' if self.may_be_adjacent_value || !self.is_plain(self.at + 1) => self.value(),
            b'*' => self.named(TokenKind::Alias),
            b'&' => self.named(TokenKind::Anchor),
            b'!' => self.tag(),
            b'|' | b'>' if self.flow_level == 0 => self.block_scalar(),
            b'\'' => self.single_quoted(),
            b'"' => self.double_quoted(),
            b'?' | b':' | b'-' if self.is_plain(self.at + 1) => self.plain(),
            b'?' | b':' | b'-' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`' => {
                self.fail(self.at, "Unrecognized character while tokenizing.", "unexpected character");
                false
            }
            _ => self.plain(),
        }
    }

    fn skip_to_token(&mut self) {
        loop {
            while matches!(self.byte(self.at), Some(b' ' | b'\t')) {
                self.skip(1);
            }
            self.skip_comment();
            let Some(next) = self.after_break(self.at) else { return };
            (self.at, self.line, self.column) = (next, self.line + 1, 0);
            self.may_be_key |= self.flow_level == 0;
        }
    }

    fn is_marker(&self, marker: &[u8]) -> bool {
        self.column == 0 && self.text[self.at..].starts_with(marker) && self.is_blank_or_break(self.at + marker.len())
    }

    fn marker(&mut self, kind: TokenKind) -> bool {
        self.leave_blocks();
        self.push(kind, self.at..self.at + 3);
        self.skip(3);
        true
    }

    fn directive(&mut self) -> bool {
        self.leave_blocks();
        let start = self.at;
        self.skip(1);
        let name = self.skip_word();
        let words = match &self.text[name] {
            b"YAML" => 1,
            b"TAG" => 2,
            _ => 0,
        };
        self.skip_blanks();
        for word in 0..words {
            if word != 0 {
                self.skip_blanks();
            }
            self.skip_word();
        }
        if words != 0 {
            self.push(TokenKind::Directive, start..self.at);
        }
        words != 0
    }

    fn open_bracket(&mut self, kind: TokenKind) -> bool {
        let start = self.at;
        self.skip(1);
        self.push_candidate(kind, start..self.at, self.column - 1);
        (self.may_be_key, self.may_be_adjacent_value) = (true, false);
        self.flow_level += 1;
        true
    }

    fn close_bracket(&mut self, kind: TokenKind) -> bool {
        self.separator(kind, false);
        self.may_be_adjacent_value = true;
        self.flow_level = self.flow_level.saturating_sub(1);
        true
    }

    /// Pushes a token of one byte. No earlier token can become a key.
    fn separator(&mut self, kind: TokenKind, key_may_follow: bool) -> bool {
        self.forget_last_key();
        (self.may_be_key, self.may_be_adjacent_value) = (key_may_follow, false);
        self.push(kind, self.at..self.at + 1);
        self.skip(1);
        true
    }

    /// Handles a colon: the last candidate is a key.
    fn value(&mut self) -> bool {
        if let Some(key) = self.keys.pop() {
            // A candidate stays in the queue.
            let Some(at) = key.token.checked_sub(self.taken).filter(|at| *at < self.tokens.len()) else { return false };
            let range = self.tokens[at].range.clone();
            self.tokens.insert(at, Token::new(TokenKind::Key, range));
            self.begin_block(key.column, TokenKind::BlockMappingStart, key.token);
            self.may_be_key = false;
        } else {
            self.begin_block(self.column, TokenKind::BlockMappingStart, self.next_number());
            self.may_be_key = self.flow_level == 0;
        }
        self.may_be_adjacent_value = false;
        self.push(TokenKind::Value, self.at..self.at + 1);
        self.skip(1);
        true
    }
}

// The state of the scanner, and the queue of tokens.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Text that is not a token. The scanner may continue after it.
    Error,
    StreamEnd,
    /// `%YAML` and `%TAG` with their arguments.
    Directive,
    DocumentStart,
    DocumentEnd,
    BlockEntry,
    BlockEnd,
    BlockSequenceStart,
    BlockMappingStart,
    FlowEntry,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    Key,
    Value,
    Scalar,
    BlockScalar,
    Alias,
    Anchor,
    Tag,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) range: Range<usize>,
    /// The text of a block scalar, whose lines are joined by the scanner.
    pub(super) text: Vec<u8>,
}

impl Token {
    pub(super) fn new(kind: TokenKind, range: Range<usize>) -> Self {
        Self { kind, range, text: Vec::new() }
    }
}

/// A token that becomes a key if a colon follows.
#[derive(Debug)]
pub(super) struct SimpleKey {
    /// The number of the token since the start of the text.
    pub(super) token: usize,
    pub(super) column: usize,
    pub(super) line: usize,
    pub(super) flow_level: u32,
}

/// The maximum number of columns between a key and its colon.
const LONGEST_KEY: usize = 1024;

pub(super) struct Scanner<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
    /// The number of characters before `at` on the line. As in LLVM, double-quoted text does not count.
    pub(super) column: usize,
    pub(super) line: usize,
    /// The column of the innermost block. `None` outside of blocks.
    pub(super) indent: Option<usize>,
    indents: Vec<Option<usize>>,
    /// The number of open brackets.
    pub(super) flow_level: u32,
    pub(super) may_be_key: bool,
    /// Whether a colon needs no space after it, as after quotes and brackets.
    pub(super) may_be_adjacent_value: bool,
    pub(super) started: bool,
    pub(super) tokens: VecDeque<Token>,
    /// The number of tokens that were removed from the queue.
    pub(super) taken: usize,
    pub(super) keys: Vec<SimpleKey>,
    /// Whether the scanner has stopped.
    pub(super) failed: bool,
    /// The position where LLVM stops silently and uses the data before it.
    pub(super) stopped: Option<usize>,
    fault: Option<Box<Fault>>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            at: 0,
            column: 0,
            line: 0,
            indent: None,
            indents: Vec::new(),
            flow_level: 0,
            may_be_key: true,
            may_be_adjacent_value: false,
            started: false,
            tokens: VecDeque::new(),
            taken: 0,
            keys: Vec::new(),
            failed: false,
            stopped: None,
            fault: None,
        }
    }

    /// Returns true if there is a fault that makes the whole document invalid.
    pub(super) fn is_faulty(&self) -> bool {
        self.fault.is_some()
    }

    pub(super) fn take_fault(&mut self) -> Option<Box<Fault>> {
        self.fault.take()
    }

    /// Reports a syntax error. LLVM prints only the first one.
    pub(super) fn fail(&mut self, at: usize, words: &'static str, detail: &str) {
        if !self.failed {
            let at = at.min(self.text.len().saturating_sub(1));
            self.complain(at..at, words, detail);
        }
        self.failed = true;
    }

    /// Reports a fault in a part of the document, independent of earlier ones.
    pub(super) fn complain(&mut self, mark: Range<usize>, words: impl Into<Cow<'static, str>>, detail: &str) {
        match &mut self.fault {
            Some(fault) => fault.add(mark, words),
            None => {
                let offset = if mark == NOWHERE { self.at } else { mark.start };
                self.fault = Some(Fault::new(Error::malformed(detail).at("yaml", offset as u64), mark, words));
            }
        }
    }

    /// Rejects the document with an error that LLVM does not have.
    pub(super) fn refuse(&mut self, error: Error) {
        self.fault.get_or_insert_with(|| error.into());
        self.failed = true;
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.text.get(at).copied()
    }

    /// Skips one-byte characters.
    pub(super) fn skip(&mut self, len: usize) {
        self.at += len;
        self.column += len;
    }

    /// Returns the position after a character that YAML allows.
    pub(super) fn after_character(&self, at: usize) -> Option<usize> {
        match self.byte(at)? {
            b'\t' | b' '..=b'~' => Some(at + 1),
            byte if byte < 0x80 => None,
            first => {
                let len = match first {
                    ..0xe0 => 2,
                    0xe0..0xf0 => 3,
                    _ => 4,
                };
                let character = std::str::from_utf8(self.text.get(at..at + len)?).ok()?.chars().next()?;
                let is_printable = matches!(character, '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
                (is_printable && character != '\u{feff}').then_some(at + len)
            }
        }
    }

    /// Returns the position after the end of a line.
    pub(super) fn after_break(&self, at: usize) -> Option<usize> {
        match self.byte(at)? {
            b'\r' if self.byte(at + 1) == Some(b'\n') => Some(at + 2),
            b'\r' | b'\n' => Some(at + 1),
            _ => None,
        }
    }

    pub(super) fn is_blank_or_break(&self, at: usize) -> bool {
        matches!(self.byte(at), Some(b' ' | b'\t' | b'\r' | b'\n'))
    }

    /// Returns true if a plain scalar may contain this byte. Colons are checked separately.
    pub(super) fn is_plain(&self, at: usize) -> bool {
        let ends = |byte| self.flow_level != 0 && matches!(byte, b',' | b'[' | b']' | b'{' | b'}');
        self.byte(at).is_some_and(|byte| !self.is_blank_or_break(at) && !ends(byte))
    }

    pub(super) fn push(&mut self, kind: TokenKind, range: Range<usize>) {
        self.push_text(kind, range, Vec::new());
    }

    pub(super) fn push_text(&mut self, kind: TokenKind, range: Range<usize>, text: Vec<u8>) {
        self.tokens.push_back(Token { text, ..Token::new(kind, range) });
    }

    /// The last token may become a key.
    pub(super) fn push_candidate(&mut self, kind: TokenKind, range: Range<usize>, column: usize) {
        self.push(kind, range);
        if self.may_be_key {
            let token = self.taken + self.tokens.len() - 1;
            self.keys.push(SimpleKey { token, column, line: self.line, flow_level: self.flow_level });
        }
    }

    pub(super) fn forget_stale_keys(&mut self) {
        let (line, column) = (self.line, self.column);
        self.keys.retain(|key| key.line == line && key.column + LONGEST_KEY >= column);
    }

    /// No candidate of the innermost bracket can become a key any more.
    pub(super) fn forget_last_key(&mut self) {
        self.keys.pop_if(|key| key.flow_level == self.flow_level);
    }

    /// Ends the blocks that are indented more than a column.
    pub(super) fn end_blocks(&mut self, column: Option<usize>) {
        while self.flow_level == 0 && self.indent > column {
            self.push(TokenKind::BlockEnd, self.at..self.at);
            self.indent = self.indents.pop().flatten();
        }
    }

    /// Starts a block at a column, before the token with a number, unless there is one.
    pub(super) fn begin_block(&mut self, column: usize, kind: TokenKind, before: usize) {
        if self.flow_level == 0 && self.indent < Some(column) {
            self.indents.push(self.indent);
            self.indent = Some(column);
            self.tokens.insert(before - self.taken, Token::new(kind, self.at..self.at));
        }
    }

    /// Returns the number of the next token.
    pub(super) fn next_number(&self) -> usize {
        self.taken + self.tokens.len()
    }

    pub(super) fn skip_comment(&mut self) {
        if self.byte(self.at) == Some(b'#') {
            while let Some(next) = self.after_character(self.at) {
                self.at = next;
                self.column += 1;
            }
        }
    }

    /// Ends all blocks and drops all candidates for keys.
    pub(super) fn leave_blocks(&mut self) {
        if self.at == self.text.len() && self.column != 0 {
            (self.line, self.column) = (self.line + 1, 0);
        }
        self.end_blocks(None);
        self.keys.clear();
        (self.may_be_key, self.may_be_adjacent_value) = (false, false);
    }

    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.byte(self.at), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// Skips all characters up to a space. Their columns do not count.
    pub(super) fn skip_word(&mut self) -> Range<usize> {
        let start = self.at;
        while let Some(next) = self.after_character(self.at).filter(|_| !self.is_blank_or_break(self.at)) {
            self.at = next;
        }
        start..self.at
    }
}

// Faults of a document, with our messages and LLVM's.

/// The result of reading a part of a document.
pub(super) type Result<T> = std::result::Result<T, Box<Fault>>;

/// The mark of faults without a position.
pub(super) const NOWHERE: Range<usize> = usize::MAX..usize::MAX;

/// A fault of a document.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) error: Error,
    /// LLVM's messages, in order.
    diagnostics: Vec<Diagnostic>,
}

/// A message, and the bytes that LLVM marks.
#[derive(Debug)]
struct Diagnostic {
    mark: Range<usize>,
    words: Cow<'static, str>,
}

impl Fault {
    /// Creates a fault with LLVM's message, which is empty if LLVM does not detect it.
    pub(super) fn new(error: Error, mark: Range<usize>, words: impl Into<Cow<'static, str>>) -> Box<Self> {
        Box::new(Self { error, diagnostics: vec![Diagnostic { mark, words: words.into() }] })
    }

    /// Adds another LLVM message for the same position.
    #[must_use]
    pub(super) fn and(mut self: Box<Self>, words: impl Into<Cow<'static, str>>) -> Box<Self> {
        let mark = self.diagnostics.last().map_or(NOWHERE, |last| last.mark.clone());
        self.add(mark, words);
        self
    }

    /// Adds an LLVM message.
    pub(super) fn add(&mut self, mark: Range<usize>, words: impl Into<Cow<'static, str>>) {
        self.diagnostics.push(Diagnostic { mark, words: words.into() });
    }

    /// Returns the error with LLVM's output for the document.
    pub(super) fn into_error(self, text: &[u8]) -> Error {
        let printed: String = self.diagnostics.iter().map(|diagnostic| diagnostic.printed(text)).collect();
        if printed.is_empty() { self.error } else { self.error.with_llvm_diagnostic(printed) }
    }
}

impl From<Error> for Box<Fault> {
    fn from(error: Error) -> Self {
        Box::new(Fault { error, diagnostics: Vec::new() })
    }
}

impl Diagnostic {
    /// Formats a message like LLVM's source manager: the position, the line, and a mark below it, unless the line
    /// contains characters that are not ASCII.
    fn printed(&self, text: &[u8]) -> String {
        let Self { mark, words } = self;
        if *mark == NOWHERE {
            return format!("<unknown>:0: error: {words}\n");
        }
        let start = mark.start.min(text.len());
        let ends_line = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let before = &text[..start];
        let line_start = before.iter().rposition(ends_line).map_or(0, |at| at + 1);
        let line_end = text[start..].iter().position(ends_line).map_or(text.len(), |len| start + len);
        // LLVM only counts these line ends.
        let line_number = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = start - line_start;
        let line = &text[line_start..line_end];
        let (mut shown, mut marks) = (Vec::new(), Vec::new());
        for (at, byte) in (line_start..).zip(line) {
            let mark = match at {
                _ if at == start => b'^',
                _ if (start..mark.end).contains(&at) => b'~',
                _ => b' ',
            };
            let is_tab = *byte == b'\t';
            shown.push(if is_tab { b' ' } else { *byte });
            marks.push(mark);
            while is_tab && shown.len() % TAB != 0 {
                shown.push(b' ');
                marks.push(mark);
            }
        }
        if start == line_end {
            marks.push(b'^');
        }
        let [shown, marks] = [shown, marks].map(|line| String::from_utf8_lossy(&line).into_owned());
        let place = format!("YAML:{line_number}:{}: error: {words}\n{shown}\n", column + 1);
        if line.is_ascii() { format!("{place}{}\n", marks.trim_end()) } else { place }
    }
}

/// Columns per tab.
const TAB: usize = 8;
