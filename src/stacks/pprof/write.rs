//! pprof out.

use crate::bytes::leb128::write_uleb128;
use crate::bytes::{Endian, Sink};
use crate::error::Result;
use crate::stacks::pprof::{Function, Label, Location, Mapping, Profile, SampleRef, StringId, ValueType};

/// Encodes the profile without compression. Fields are in order of their numbers and ids are counted from 1, so equal
/// profiles have equal bytes.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub fn write(profile: &Profile) -> Result<Vec<u8>> {
    let mut out = Message::default();
    profile.sample_types.iter().for_each(|of| out.message(1, &value_type(*of)));
    profile.samples.iter().for_each(|of| out.message(2, &sample(of)));
    for (id, of) in (1..).zip(&profile.mappings) {
        out.message(3, &mapping(id, of));
    }
    for (id, of) in (1..).zip(&profile.locations) {
        out.message(4, &location(id, of));
    }
    for (id, of) in (1..).zip(&profile.functions) {
        out.message(5, &function(id, of));
    }
    profile.strings.iter().for_each(|text| out.bytes(6, text));
    out.number(7, number(profile.drop_frames));
    out.number(8, number(profile.keep_frames));
    out.signed(9, profile.time_nanos);
    out.signed(10, profile.duration_nanos);
    if let Some(of) = profile.period_type {
        out.message(11, &value_type(of));
    }
    out.signed(12, profile.period);
    out.packed(13, profile.comments.iter().map(|id| number(*id)));
    out.number(14, number(profile.default_sample_type));
    out.number(15, number(profile.doc_url));
    Ok(out.finish())
}

fn number(id: StringId) -> u64 {
    id.0.into()
}

/// The id of a position, 0 for none.
fn id(position: Option<u32>) -> u64 {
    position.map_or(0, |position| u64::from(position) + 1)
}

fn value_type(of: ValueType) -> Message {
    let mut message = Message::default();
    message.number(1, number(of.kind));
    message.number(2, number(of.unit));
    message
}

fn sample(of: SampleRef<'_>) -> Message {
    let mut message = Message::default();
    message.packed(1, of.locations.iter().map(|position| id(Some(*position))));
    message.packed(2, of.values.iter().map(|value| value.cast_unsigned()));
    of.labels.iter().for_each(|of| message.message(3, &label(of)));
    message
}

fn label(of: &Label) -> Message {
    let mut message = Message::default();
    message.number(1, number(of.key));
    message.number(2, number(of.text));
    message.signed(3, of.number);
    message.number(4, number(of.unit));
    message
}

fn mapping(id: u64, of: &Mapping) -> Message {
    let mut message = Message::default();
    message.number(1, id);
    message.number(2, of.start);
    message.number(3, of.limit);
    message.number(4, of.offset);
    message.number(5, number(of.file));
    message.number(6, number(of.build_id));
    for (field, resolved) in (7..).zip(of.resolved) {
        message.number(field, resolved.into());
    }
    message
}

fn location(own: u64, of: &Location) -> Message {
    let mut message = Message::default();
    message.number(1, own);
    message.number(2, id(of.mapping));
    message.number(3, of.address);
    for line in &of.lines {
        let mut part = Message::default();
        part.number(1, id(line.function));
        part.signed(2, line.line);
        part.signed(3, line.column);
        message.message(4, &part);
    }
    message.number(5, of.is_folded.into());
    message
}

fn function(id: u64, of: &Function) -> Message {
    let mut message = Message::default();
    message.number(1, id);
    message.number(2, number(of.name));
    message.number(3, number(of.system_name));
    message.number(4, number(of.file));
    message.signed(5, of.start_line);
    message
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
