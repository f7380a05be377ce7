//! A text that is parsed piece by piece, as a window of it is in memory.

use super::batch::Batch;
use super::head_has_colon_names;
use super::lines::{Piece, line_ends};
use super::parser::{Header, Parser};
use crate::bytes::window::Window;
use crate::compat::Compat;
use crate::error::Result;
use memchr::{memchr, memrchr};

/// Parses a text front to back. An item that does not end in the piece at hand
/// is parsed once more when there is more of it.
#[derive(Debug)]
pub(super) struct Pieces<'data> {
    window: Window<'data>,
    compat: Compat,
    /// Bytes in view that are the piece at hand.
    len: usize,
    /// Lines in front of it.
    lines: usize,
    /// Whether a NUL byte ends the text, as for LLVM.
    is_cut: bool,
}

impl<'data> Pieces<'data> {
    pub(super) fn new(window: Window<'data>, compat: Compat) -> Self {
        let mut pieces = Self { window, compat, len: 0, lines: 0, is_cut: false };
        pieces.take_lines(0);
        pieces
    }

    /// Parses the header lines and the traces.
    pub(super) fn read_header(&mut self) -> Result<Header> {
        loop {
            let mut parser = self.parser();
            let header = parser.read_header();
            if !parser.needs_more() {
                let position = parser.position();
                self.window.pass(position);
                return header;
            }
            self.more()?;
        }
    }

    /// Parses the next records; none at the end.
    pub(super) fn parse_batch(&mut self, batch: &mut Batch) {
        loop {
            let mut parser = self.parser();
            parser.parse_batch(batch);
            let (position, needs_more) = (parser.position(), parser.needs_more());
            self.window.pass(position - self.window.passed());
            if !needs_more || !batch.items().is_empty() {
                return;
            }
            if let Err(error) = self.more() {
                batch.error = Some(error);
                return;
            }
        }
    }

    /// See [`has_colon_names`](super::has_colon_names); to be asked before anything is parsed.
    pub(super) fn has_colon_names(&mut self) -> Result<bool> {
        loop {
            let piece = self.piece();
            match head_has_colon_names(piece.data) {
                None if !piece.is_last => self.more()?,
                has => return Ok(has.unwrap_or(false)),
            }
        }
    }

    fn piece(&self) -> Piece<'_> {
        let is_last = self.is_cut || self.window.is_last();
        Piece { data: &self.window.view()[..self.len], offset: self.window.base(), lines: self.lines, is_last }
    }

    fn parser(&self) -> Parser<'_> {
        Parser::new(self.piece(), self.window.passed(), self.compat)
    }

    /// Makes the piece longer by what follows it, and drops what was passed of it.
    fn more(&mut self) -> Result<()> {
        let passed = self.window.passed();
        self.lines += line_ends(&self.window.view()[..passed]);
        let known = self.window.bytes().len();
        self.window.more()?;
        self.take_lines(known);
        Ok(())
    }

    /// All lines in view that are whole are the piece at hand; so many bytes were looked at before.
    fn take_lines(&mut self, known: usize) {
        let view = self.window.view();
        let nul = memchr(0, &view[known..]);
        self.is_cut = nul.is_some();
        self.len = match nul {
            Some(nul) => known + nul,
            None if self.window.is_last() => view.len(),
            None => memrchr(b'\n', view).map_or(0, |last| last + 1),
        };
    }
}
