//! Where the scanner is, and the tokens that wait.

use super::fault::{Fault, NOWHERE};
use crate::error::Error;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Nothing could be made of the text; the scanner may go on behind it.
    Error,
    StreamEnd,
    /// `%YAML` and `%TAG` with what belongs to them.
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
    /// What a block scalar says; its lines are joined while they are read.
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
    /// Number of the token since the start of the text.
    pub(super) token: usize,
    pub(super) column: usize,
    pub(super) line: usize,
    pub(super) flow_level: u32,
}

/// Columns between a key and its colon, at most.
const LONGEST_KEY: usize = 1024;

pub(super) struct Scanner<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
    /// Characters before `at` on the line, as LLVM counts them: what stands in
    /// double quotes does not count.
    pub(super) column: usize,
    pub(super) line: usize,
    /// The column of the innermost block; none outside of all.
    pub(super) indent: Option<usize>,
    indents: Vec<Option<usize>>,
    /// How many brackets are open.
    pub(super) flow_level: u32,
    pub(super) may_be_key: bool,
    /// Whether a colon needs no blank behind it: behind quotes and brackets.
    pub(super) may_be_adjacent_value: bool,
    pub(super) started: bool,
    pub(super) tokens: VecDeque<Token>,
    /// Tokens that were taken out of the queue.
    pub(super) taken: usize,
    pub(super) keys: Vec<SimpleKey>,
    /// Nothing more is read.
    pub(super) failed: bool,
    /// Where LLVM stopped without a word, and takes what it has.
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

    /// Whether something is wrong that makes the whole document wrong.
    pub(super) fn is_faulty(&self) -> bool {
        self.fault.is_some()
    }

    pub(super) fn take_fault(&mut self) -> Option<Box<Fault>> {
        self.fault.take()
    }

    /// The text is wrong at a place. LLVM says only the first such thing.
    pub(super) fn fail(&mut self, at: usize, words: &'static str, detail: &str) {
        if !self.failed {
            let at = at.min(self.text.len().saturating_sub(1));
            self.complain(at..at, words, detail);
        }
        self.failed = true;
    }

    /// Something is wrong with a piece of the document, whatever was before.
    pub(super) fn complain(&mut self, mark: Range<usize>, words: impl Into<Cow<'static, str>>, detail: &str) {
        match &mut self.fault {
            Some(fault) => fault.add(mark, words),
            None => {
                let offset = if mark == NOWHERE { self.at } else { mark.start };
                self.fault = Some(Fault::new(Error::malformed(detail).at("yaml", offset as u64), mark, words));
            }
        }
    }

    /// The document is refused without a word of LLVM.
    pub(super) fn refuse(&mut self, error: Error) {
        self.fault.get_or_insert_with(|| error.into());
        self.failed = true;
    }

    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.text.get(at).copied()
    }

    /// Goes on by characters of one byte.
    pub(super) fn skip(&mut self, len: usize) {
        self.at += len;
        self.column += len;
    }

    /// What is behind a character that may stand in a text.
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

    /// What is behind the end of a line.
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

    /// Whether a plain scalar may have this byte, colons aside.
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

    /// The token pushed last may become a key.
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

    /// No candidate of the innermost bracket becomes a key any more.
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

    /// A block begins at a column, before the token of a number, unless one is
    /// there already.
    pub(super) fn begin_block(&mut self, column: usize, kind: TokenKind, before: usize) {
        if self.flow_level == 0 && self.indent < Some(column) {
            self.indents.push(self.indent);
            self.indent = Some(column);
            self.tokens.insert(before - self.taken, Token::new(kind, self.at..self.at));
        }
    }

    /// The number of the token that is pushed next.
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

    /// Ends all blocks, and no key waits for its colon any more.
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

    /// Skips all characters up to a blank. Their columns do not count.
    pub(super) fn skip_word(&mut self) -> Range<usize> {
        let start = self.at;
        while let Some(next) = self.after_character(self.at).filter(|_| !self.is_blank_or_break(self.at)) {
            self.at = next;
        }
        start..self.at
    }
}
