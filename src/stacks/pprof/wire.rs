//! The encoding of protocol buffers: fields of a number, a wire type and a value.

use crate::bytes::leb128::{read_uleb128, write_uleb128};
use crate::bytes::{Cursor, Endian, Sink};
use crate::error::{Error, Result};

/// What a field holds.
#[derive(Debug, Clone)]
pub(super) enum Value<'data> {
    /// Wire type 0.
    Number(u64),
    /// Wire type 2: a message, a text, or numbers end to end.
    Bytes(Cursor<'data>),
    /// Wire types 1 and 5, which no field of the schema has.
    Fixed,
}

/// A field of a message.
#[derive(Debug, Clone)]
pub(super) struct Field<'data> {
    /// Number of the field in the schema.
    pub(super) number: u64,
    /// Absolute byte offset of its tag.
    pub(super) offset: u64,
    /// What it holds.
    pub(super) value: Value<'data>,
}

/// The next field of a message; `None` at its end.
pub(super) fn next_field<'data>(cursor: &mut Cursor<'data>, section: &'static str) -> Result<Option<Field<'data>>> {
    if cursor.is_empty() {
        return Ok(None);
    }
    let offset = cursor.position();
    let tag = read_uleb128(cursor, "tag")?;
    let number = tag >> 3;
    let value = match tag & 7 {
        0 => Value::Number(read_uleb128(cursor, "number")?),
        2 => {
            let length = read_uleb128(cursor, "length")?;
            let start = cursor.position();
            Value::Bytes(Cursor::new(cursor.take("content", length)?, start, Endian::Little, section))
        }
        1 => cursor.array::<8>("fixed 64-bit number").map(|_| Value::Fixed)?,
        5 => cursor.array::<4>("fixed 32-bit number").map(|_| Value::Fixed)?,
        other => return Err(Error::malformed(format!("wire type {other}, expected 0, 1, 2 or 5")).at(section, offset)),
    };
    if number == 0 {
        return Err(Error::malformed("field number 0").at(section, offset));
    }
    Ok(Some(Field { number, offset, value }))
}

impl<'data> Field<'data> {
    /// The number that the schema has here.
    pub(super) fn number(&self, section: &'static str) -> Result<u64> {
        match self.value {
            Value::Number(number) => Ok(number),
            _ => Err(self.other_type("a number", section)),
        }
    }

    /// The signed number that the schema has here.
    pub(super) fn signed(&self, section: &'static str) -> Result<i64> {
        self.number(section).map(u64::cast_signed)
    }

    /// The message or text that the schema has here.
    pub(super) fn bytes(&self, section: &'static str) -> Result<Cursor<'data>> {
        match &self.value {
            Value::Bytes(cursor) => Ok(cursor.clone()),
            _ => Err(self.other_type("bytes", section)),
        }
    }

    /// Calls `take` with the number or, packed, the numbers of a repeated field.
    pub(super) fn numbers(&self, section: &'static str, mut take: impl FnMut(u64) -> Result<()>) -> Result<()> {
        match &self.value {
            Value::Number(number) => take(*number),
            Value::Bytes(cursor) => {
                let mut cursor = cursor.clone();
                while !cursor.is_empty() {
                    take(read_uleb128(&mut cursor, "packed number")?)?;
                }
                Ok(())
            }
            Value::Fixed => Err(self.other_type("numbers", section)),
        }
    }

    fn other_type(&self, expected: &str, section: &'static str) -> Error {
        let found = match self.value {
            Value::Number(_) => "a number",
            Value::Bytes(_) => "bytes",
            Value::Fixed => "a fixed number",
        };
        let detail = format!("field {} holds {found}, expected {expected}", self.number);
        Error::malformed(detail).at(section, self.offset)
    }
}

/// A message under construction.
#[derive(Debug, Default)]
pub(super) struct Message(Sink);

impl Message {
    /// A number, unless it is 0, which is what its absence means.
    pub(super) fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            write_uleb128(&mut self.0, field << 3);
            write_uleb128(&mut self.0, value);
        }
    }

    /// A signed number, unless it is 0.
    pub(super) fn signed(&mut self, field: u64, value: i64) {
        self.number(field, value.cast_unsigned());
    }

    /// Bytes, the empty ones too.
    pub(super) fn bytes(&mut self, field: u64, bytes: &[u8]) {
        write_uleb128(&mut self.0, field << 3 | 2);
        write_uleb128(&mut self.0, bytes.len() as u64);
        self.0.bytes(bytes);
    }

    /// A message.
    pub(super) fn message(&mut self, field: u64, message: &Message) {
        self.piece(field, &message.0);
    }

    fn piece(&mut self, field: u64, piece: &Sink) {
        self.bytes(field, piece.as_slice());
    }

    /// Numbers end to end; nothing when there is none.
    pub(super) fn packed(&mut self, field: u64, numbers: impl Iterator<Item = u64>) {
        let mut packed = Sink::new(Endian::Little);
        numbers.for_each(|number| write_uleb128(&mut packed, number));
        if !packed.is_empty() {
            self.piece(field, &packed);
        }
    }

    /// Returns the encoded bytes.
    pub(super) fn finish(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}
