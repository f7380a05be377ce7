//! From bytes to tokens, by the rules of LLVM's YAML.
//!
//! A key is known as one only when its colon comes, so tokens wait in a queue
//! for as long as the first of them may still be a key: until the line ends, or
//! 1024 columns are gone.

use super::fault::NOWHERE;
use super::state::{Scanner, Token, TokenKind};

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

    /// Pushes at least one token more; nothing when that cannot be.
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
                self.fail(self.at, "Unrecognized character while tokenizing.", "no text begins with this character");
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

    /// A token of one byte, before which no candidate becomes a key.
    fn separator(&mut self, kind: TokenKind, key_may_follow: bool) -> bool {
        self.forget_last_key();
        (self.may_be_key, self.may_be_adjacent_value) = (key_may_follow, false);
        self.push(kind, self.at..self.at + 1);
        self.skip(1);
        true
    }

    /// A colon: the candidate that came last is a key.
    fn value(&mut self) -> bool {
        if let Some(key) = self.keys.pop() {
            // A candidate waits in the queue for as long as it is one.
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
