//! A stream of bytes, of which a few records are in memory.

use crate::error::{Error, Result};
use std::io::Read;

/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 1 << 18;

/// A stream with its position.
pub(super) struct Source<'o> {
    stream: Box<dyn Read + 'o>,
    buffer: Vec<u8>,
    at: usize,
    /// The offset in the file of the next byte.
    pub(super) position: u64,
    /// Bytes until the end of the section.
    left: u64,
}

impl<'o> Source<'o> {
    pub(super) fn new(stream: Box<dyn Read + 'o>) -> Self {
        Self { stream, buffer: Vec::new(), at: 0, position: 0, left: u64::MAX }
    }

    /// The next bytes; `None` if fewer are left, which stay.
    pub(super) fn take(&mut self, len: usize) -> Result<Option<&[u8]>> {
        if self.left < len as u64 || !self.fill(len)? {
            return Ok(None);
        }
        let start = self.at;
        self.at += len;
        self.position += len as u64;
        self.left = self.left.saturating_sub(len as u64);
        Ok(self.buffer.get(start..self.at))
    }

    /// Makes bytes available without taking them.
    fn fill(&mut self, len: usize) -> Result<bool> {
        if self.buffer.len() - self.at >= len {
            return Ok(true);
        }
        self.buffer.drain(..self.at);
        self.at = 0;
        while self.buffer.len() < len {
            let more = (&mut self.stream).take(BUFFER_BYTES as u64).read_to_end(&mut self.buffer);
            if more.map_err(|source| Error::io("cannot read", source))? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Limits what follows to a section of this size.
    pub(super) fn enter_section(&mut self, size: u64) {
        self.left = size;
    }

    /// Skips bytes; returns false if fewer are left.
    pub(super) fn skip(&mut self, mut len: u64) -> Result<bool> {
        while len > 0 {
            let step = len.min(BUFFER_BYTES as u64);
            if self.take(step as usize)?.is_none() {
                return Ok(false);
            }
            len -= step;
        }
        Ok(true)
    }

    /// All bytes to the end, at most `most`.
    pub(super) fn rest(&mut self, most: u64) -> Result<Vec<u8>> {
        let mut rest = self.buffer.split_off(self.at);
        let left = most.saturating_sub(rest.len() as u64);
        let read = (&mut self.stream).take(left).read_to_end(&mut rest);
        read.map_err(|source| Error::io("cannot read", source))?;
        rest.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        Ok(rest)
    }
}
