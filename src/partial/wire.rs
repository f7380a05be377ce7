//! Numbers, strings and lists of a state.
//!
//! Numbers are ULEB128 unless specified otherwise. Strings follow their length.

use crate::bytes::{Cursor, Endian, Sink, leb128};
use crate::error::{Error, Result};
use crate::memory::{self, HOLD_INPUT};

/// Writes a state.
#[derive(Debug)]
pub struct Encoder(Sink);

impl Default for Encoder {
    fn default() -> Self {
        Self(Sink::new(Endian::Little))
    }
}

impl Encoder {
    /// Creates an encoder that appends to `bytes`.
    pub(crate) fn onto(bytes: Vec<u8>) -> Self {
        Self(Sink::onto(bytes, Endian::Little))
    }

    /// Writes a number.
    pub fn number(&mut self, value: u64) {
        leb128::write_uleb128(&mut self.0, value);
    }

    /// Writes the number of items.
    pub fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    /// Writes a hash of eight bytes, because its values are not small.
    pub fn hash(&mut self, value: u64) {
        self.0.u64(value);
    }

    /// Writes bytes after their number.
    pub fn text(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.bytes(bytes);
    }

    /// Writes a list after its length.
    pub fn list<T>(&mut self, items: impl ExactSizeIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.count(items.len());
        items.for_each(|item| write(self, item));
    }

    /// Writes numbers after their count.
    pub fn numbers(&mut self, values: &[u64]) {
        self.list(values.iter(), |out, value| out.number(*value));
    }

    /// Returns the written bytes. The process ends if memory was refused.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }

    /// Returns the encoded state.
    pub fn finish(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}

/// Reads a state. Offsets in errors count from the start of the decompressed state.
#[derive(Debug, Clone)]
pub struct Decoder<'data>(Cursor<'data>);

impl<'data> Decoder<'data> {
    /// Creates a decoder at the start of a state.
    pub fn new(state: &'data [u8]) -> Self {
        Self(Cursor::new(state, 0, Endian::Little, "state of a partial merge"))
    }

    /// Creates a decoder at `position` of a log of value sites, which is part of a state.
    pub(crate) fn of_sites(log: &'data [u8], position: u64) -> Self {
        Self(Cursor::new(log, position, Endian::Little, "value sites of a record"))
    }

    /// Reads a number.
    ///
    /// # Errors
    ///
    /// Truncated; malformed if it does not fit in 64 bits.
    pub fn number(&mut self, field: &'static str) -> Result<u64> {
        leb128::read_uleb128(&mut self.0, field)
    }

    /// Reads a number below `limit`: a position in a list of this length.
    ///
    /// # Errors
    ///
    /// The errors of [`number`](Self::number); malformed for a position outside the list.
    pub fn place(&mut self, field: &'static str, limit: usize) -> Result<usize> {
        let place = self.number(field)?;
        match usize::try_from(place) {
            Ok(place) if place < limit => Ok(place),
            _ => Err(self.malformed(format!("{field} {place} does not exist, there are {limit}"))),
        }
    }

    /// Reads the number of items, each of which takes at least one byte.
    ///
    /// # Errors
    ///
    /// The errors of [`number`](Self::number); truncated if fewer bytes follow.
    pub fn count(&mut self, field: &'static str) -> Result<usize> {
        let count = self.number(field)?;
        let left = self.0.left();
        match usize::try_from(count) {
            Ok(fits) if count <= left => Ok(fits),
            _ => Err(self.0.place(Error::truncated(field, count, left))),
        }
    }

    /// Reads eight bytes.
    ///
    /// # Errors
    ///
    /// Truncated.
    pub fn hash(&mut self, field: &'static str) -> Result<u64> {
        self.0.u64(field)
    }

    /// Reads bytes after their number.
    ///
    /// # Errors
    ///
    /// The errors of [`number`](Self::number).
    pub fn text(&mut self, field: &'static str) -> Result<&'data [u8]> {
        let len = self.number(field)?;
        self.0.take(field, len)
    }

    /// Reads a list.
    ///
    /// # Errors
    ///
    /// The errors of [`count`](Self::count) and of `read`.
    pub fn list<T>(&mut self, field: &'static str, mut read: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.count(field)?;
        // Items can be larger in memory than in the file, so the list grows while it is read.
        let mut items = Vec::new();
        memory::reserve(&mut items, count.min(1 << 16), HOLD_INPUT)?;
        for _ in 0..count {
            memory::push(&mut items, read(self)?, HOLD_INPUT)?;
        }
        Ok(items)
    }

    /// Reads numbers after their count.
    ///
    /// # Errors
    ///
    /// The errors of [`list`](Self::list).
    pub fn numbers(&mut self, field: &'static str) -> Result<Vec<u64>> {
        let mut left = self.count(field)?;
        let mut values = Vec::new();
        while left > 0 {
            // A number can be larger in memory than in the file.
            let next = left.min(1 << 16);
            memory::reserve(&mut values, next, HOLD_INPUT)?;
            for _ in 0..next {
                values.push(self.number(field)?);
            }
            left -= next;
        }
        Ok(values)
    }

    /// Returns the number of remaining bytes.
    pub fn left(&self) -> usize {
        self.0.rest().len()
    }

    /// Checks that no bytes remain.
    ///
    /// # Errors
    ///
    /// Malformed if bytes remain.
    pub fn end(self) -> Result<()> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(self.malformed(format!("{} unexpected bytes at the end", self.0.left())))
        }
    }

    /// Returns an error at this offset.
    pub fn malformed(&self, detail: impl Into<String>) -> Error {
        self.placed(Error::malformed(detail))
    }

    /// Adds this offset to an error that has none.
    pub(crate) fn placed(&self, error: Error) -> Error {
        self.0.place(error)
    }
}
