//! Numbers, texts and lists of a state.
//!
//! Numbers are ULEB128 unless said otherwise, texts have their length before them.

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
    /// Writes behind what is there.
    pub fn onto(bytes: Vec<u8>) -> Self {
        Self(Sink::onto(bytes, Endian::Little))
    }

    /// A number.
    pub fn number(&mut self, value: u64) {
        leb128::write_uleb128(&mut self.0, value);
    }

    /// A number of things.
    pub fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    /// A hash: eight bytes, since it has no short form.
    pub fn hash(&mut self, value: u64) {
        self.0.u64(value);
    }

    /// Bytes, their number first.
    pub fn text(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.bytes(bytes);
    }

    /// A list, its length first.
    pub fn list<T>(&mut self, items: impl ExactSizeIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.count(items.len());
        items.for_each(|item| write(self, item));
    }

    /// Numbers, their count first.
    pub fn numbers(&mut self, values: &[u64]) {
        self.list(values.iter(), |out, value| out.number(*value));
    }

    /// What was written; where memory was refused, the process ends.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }

    /// Returns the encoded state.
    pub fn finish(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}

/// Reads a state. Offsets in errors count from its start, inflated.
#[derive(Debug, Clone)]
pub struct Decoder<'data>(Cursor<'data>);

impl<'data> Decoder<'data> {
    /// At the start of a state.
    pub fn new(state: &'data [u8]) -> Self {
        Self(Cursor::new(state, 0, Endian::Little, "state of a partial merge"))
    }

    /// At `position` of a log of value sites, which stands in a state as a whole.
    pub fn of_sites(log: &'data [u8], position: u64) -> Self {
        Self(Cursor::new(log, position, Endian::Little, "value sites of a record"))
    }

    /// A number.
    ///
    /// # Errors
    ///
    /// Truncated; malformed when it does not fit 64 bits.
    pub fn number(&mut self, field: &'static str) -> Result<u64> {
        leb128::read_uleb128(&mut self.0, field)
    }

    /// A number below `limit`: a place in a list of so many.
    ///
    /// # Errors
    ///
    /// As [`number`](Self::number); malformed for a place that is not there.
    pub fn place(&mut self, field: &'static str, limit: usize) -> Result<usize> {
        let place = self.number(field)?;
        match usize::try_from(place) {
            Ok(place) if place < limit => Ok(place),
            _ => Err(self.malformed(format!("{field} {place}, there are {limit}"))),
        }
    }

    /// A number of things, each of which takes a byte at least.
    ///
    /// # Errors
    ///
    /// As [`number`](Self::number); truncated when so many cannot follow.
    pub fn count(&mut self, field: &'static str) -> Result<usize> {
        let count = self.number(field)?;
        let left = self.0.left();
        match usize::try_from(count) {
            Ok(fits) if count <= left => Ok(fits),
            _ => Err(self.0.place(Error::truncated(field, count, left))),
        }
    }

    /// Eight bytes.
    ///
    /// # Errors
    ///
    /// Truncated.
    pub fn hash(&mut self, field: &'static str) -> Result<u64> {
        self.0.u64(field)
    }

    /// Bytes, their number first.
    ///
    /// # Errors
    ///
    /// As [`number`](Self::number).
    pub fn text(&mut self, field: &'static str) -> Result<&'data [u8]> {
        let len = self.number(field)?;
        self.0.take(field, len)
    }

    /// A list.
    ///
    /// # Errors
    ///
    /// As [`count`](Self::count), and those of `read`.
    pub fn list<T>(&mut self, field: &'static str, mut read: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let count = self.count(field)?;
        // Items may be larger in memory than in the file: no more than is likely is asked for at once.
        let mut items = Vec::new();
        memory::reserve(&mut items, count.min(1 << 16), HOLD_INPUT)?;
        for _ in 0..count {
            memory::push(&mut items, read(self)?, HOLD_INPUT)?;
        }
        Ok(items)
    }

    /// Numbers, their count first.
    ///
    /// # Errors
    ///
    /// As [`list`](Self::list).
    pub fn numbers(&mut self, field: &'static str) -> Result<Vec<u64>> {
        self.list(field, |from| from.number(field))
    }

    /// Bytes not read yet.
    pub fn left(&self) -> usize {
        self.0.rest().len()
    }

    /// Says that nothing more follows.
    ///
    /// # Errors
    ///
    /// Malformed when something does.
    pub fn end(self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(self.malformed(format!("{} bytes too many", self.0.left()))) }
    }

    /// An error at this place.
    pub fn malformed(&self, detail: impl Into<String>) -> Error {
        self.placed(Error::malformed(detail))
    }

    /// An error that knows no place of its own, at this one.
    pub fn placed(&self, error: Error) -> Error {
        self.0.place(error)
    }
}
