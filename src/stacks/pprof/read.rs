//! The reader of pprof.
//!
//! The top level is read several times, so that referenced items come first: strings, then mappings and functions, then
//! locations, then samples. So every reference is checked immediately, and no data is stored twice. Memory grows with
//! the number of bytes in the file, because no number in the file is a size.

use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Cursor, Endian};
use crate::cancel::Cancel;
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::limits::Limits;
use crate::stacks::pprof::{Function, Label, Line, Location, Mapping, Profile, Samples, StringId, ValueType};
use foldhash::HashMap;

/// The format in words, as errors and reports name it.
pub const FORMAT: &str = "pprof profile";

/// Reads an inflated profile.
///
/// # Errors
///
/// Truncated and malformed, with the byte offset: fields that exceed their message, missing strings and ids, duplicate
/// ids, samples with a wrong number of values. Limit exceeded for strings longer than [`Limits::name_bytes`] and stacks
/// deeper than [`Limits::context_depth`].
pub fn read(data: &[u8], limits: &Limits) -> Result<(Profile, Vec<Warning>)> {
    read_until(data, limits, &Cancel::default())
}

/// Like [`read`], until it is cancelled.
pub(crate) fn read_until(data: &[u8], limits: &Limits, cancel: &Cancel) -> Result<(Profile, Vec<Warning>)> {
    let mut reader = Reader::new(data, limits, cancel);
    reader.read().map_err(|error| error.in_format(FORMAT))?;
    let warnings = reader.warnings();
    Ok((reader.profile, warnings))
}

/// Ids of one kind of message, as positions in order of the file.
struct Ids {
    what: &'static str,
    count: u32,
    /// Kept only when ids are not 1, 2, 3 … as nearly all writers give them.
    positions: Option<HashMap<u64, u32>>,
}

impl Ids {
    fn new(what: &'static str) -> Self {
        Self { what, count: 0, positions: None }
    }

    fn add(&mut self, id: u64) -> Result<()> {
        let what = self.what;
        if id == 0 {
            return Err(Error::malformed(format!("a {what} has the id 0, which is reserved")));
        }
        let position = self.count;
        self.count = position.checked_add(1).ok_or_else(|| Error::malformed(format!("more than 2^32 {what}s")))?;
        if self.positions.is_none() && id == u64::from(self.count) {
            return Ok(());
        }
        if self.positions.is_none() {
            let mut positions = HashMap::default();
            positions.extend((0..position).map(|at| (u64::from(at) + 1, at)));
            self.positions = Some(positions);
        }
        let Some(positions) = &mut self.positions else { return Ok(()) };
        match positions.insert(id, position) {
            None => Ok(()),
            Some(_) => Err(Error::malformed(format!("two {what}s have the id {id}"))),
        }
    }

    fn find(&self, id: u64) -> Result<u32> {
        let found = match &self.positions {
            Some(positions) => positions.get(&id).copied(),
            None => u32::try_from(id).ok().and_then(|id| id.checked_sub(1)).filter(|at| *at < self.count),
        };
        found.ok_or_else(|| Error::malformed(format!("{} {id} does not exist, there are {}", self.what, self.count)))
    }

    /// Like [`find`](Self::find), but 0 means none.
    fn find_optional(&self, id: u64) -> Result<Option<u32>> {
        if id == 0 { Ok(None) } else { self.find(id).map(Some) }
    }
}

struct Reader<'a> {
    data: &'a [u8],
    limits: &'a Limits,
    cancel: &'a Cancel,
    profile: Profile,
    texts: u64,
    mappings: Ids,
    functions: Ids,
    locations: Ids,
    unknown_fields: u64,
    first_unknown: Option<u64>,
}

impl<'a> Reader<'a> {
    fn new(data: &'a [u8], limits: &'a Limits, cancel: &'a Cancel) -> Self {
        Self {
            data,
            limits,
            cancel,
            profile: Profile::default(),
            texts: 0,
            mappings: Ids::new("mapping"),
            functions: Ids::new("function"),
            locations: Ids::new("location"),
            unknown_fields: 0,
            first_unknown: None,
        }
    }

    fn read(&mut self) -> Result<()> {
        if self.data.is_empty() {
            return Err(ErrorKind::EmptyProfile.into());
        }
        self.each_field(Self::text)?;
        self.each_field(Self::head)?;
        self.each_field(Self::location)?;
        self.profile.samples = Samples::new(self.profile.sample_types.len());
        let mut scratch = Scratch::default();
        self.each_field(|reader, field| reader.sample(field, &mut scratch))
    }

    fn each_field(&mut self, mut take: impl FnMut(&mut Self, &Field<'a>) -> Result<()>) -> Result<()> {
        let mut cursor = Cursor::new(self.data, 0, Endian::Little, "profile");
        while let Some(field) = next_field(&mut cursor, "profile")? {
            self.cancel.check()?;
            take(self, &field).map_err(|error| error.at("profile", field.offset))?;
        }
        Ok(())
    }

    fn unknown(&mut self, field: &Field<'_>) {
        self.unknown_fields += 1;
        self.first_unknown.get_or_insert(field.offset);
    }

    fn warnings(&self) -> Vec<Warning> {
        let Some(first) = self.first_unknown else { return Vec::new() };
        let count = self.unknown_fields;
        vec![Warning::of_loss(format!("dropped {count} unknown fields, the first at byte {first:#x}"))]
    }

    fn text(&mut self, field: &Field<'a>) -> Result<()> {
        if field.number != 6 {
            return Ok(());
        }
        let text = field.bytes("string table")?.rest();
        let length = text.len() as u64;
        if length > self.limits.name_bytes {
            let limit = self.limits.name_bytes;
            return Err(Error::above_limit(Some("name-bytes"), "length of a string", length, limit));
        }
        self.texts += 1;
        if self.texts == 1 {
            // The first text is there already.
            return match length {
                0 => Ok(()),
                _ => Err(Error::malformed("the first string is not empty").at("string table", field.offset)),
            };
        }
        let pushed = self.profile.strings.push(text);
        pushed.map(|_| ()).ok_or_else(|| Error::malformed("more than 2^32 strings"))
    }

    fn string(&self, id: u64) -> Result<StringId> {
        let known = self.profile.strings.len() as u64;
        match u32::try_from(id) {
            Ok(at) if id < known => Ok(StringId(at)),
            _ => Err(Error::malformed(format!("string {id} does not exist, there are {known}"))),
        }
    }

    fn string_field(&self, field: &Field<'_>, section: &'static str) -> Result<StringId> {
        self.string(field.number(section)?).map_err(|error| error.at(section, field.offset))
    }

    /// All but strings, locations and samples.
    fn head(&mut self, field: &Field<'a>) -> Result<()> {
        match field.number {
            1 => {
                let value_type = self.value_type(field, "sample type")?;
                self.profile.sample_types.push(value_type);
            }
            2 | 4 | 6 => {}
            3 => self.mapping(field)?,
            5 => self.function(field)?,
            7 => self.profile.drop_frames = self.string_field(field, "profile")?,
            8 => self.profile.keep_frames = self.string_field(field, "profile")?,
            9 => self.profile.time_nanos = field.signed("profile")?,
            10 => self.profile.duration_nanos = field.signed("profile")?,
            11 => self.profile.period_type = Some(self.value_type(field, "period type")?),
            12 => self.profile.period = field.signed("profile")?,
            13 => {
                let mut comments = Vec::new();
                field.numbers("comment", |id| {
                    comments.push(self.string(id)?);
                    Ok(())
                })?;
                self.profile.comments.extend_from_slice(&comments);
            }
            14 => self.profile.default_sample_type = self.string_field(field, "profile")?,
            15 => self.profile.doc_url = self.string_field(field, "profile")?,
            _ => self.unknown(field),
        }
        Ok(())
    }

    fn value_type(&mut self, field: &Field<'a>, section: &'static str) -> Result<ValueType> {
        let mut of = ValueType::default();
        let mut cursor = field.bytes(section)?;
        while let Some(part) = next_field(&mut cursor, section)? {
            match part.number {
                1 => of.kind = self.string_field(&part, section)?,
                2 => of.unit = self.string_field(&part, section)?,
                _ => self.unknown(&part),
            }
        }
        Ok(of)
    }

    fn mapping(&mut self, field: &Field<'a>) -> Result<()> {
        const SECTION: &str = "mapping";
        let (mut id, mut mapping) = (0, Mapping::default());
        let mut cursor = field.bytes(SECTION)?;
        while let Some(part) = next_field(&mut cursor, SECTION)? {
            match part.number {
                1 => id = part.number(SECTION)?,
                2 => mapping.start = part.number(SECTION)?,
                3 => mapping.limit = part.number(SECTION)?,
                4 => mapping.offset = part.number(SECTION)?,
                5 => mapping.file = self.string_field(&part, SECTION)?,
                6 => mapping.build_id = self.string_field(&part, SECTION)?,
                flag @ 7..=10 => mapping.resolved[flag as usize - 7] = part.number(SECTION)? != 0,
                _ => self.unknown(&part),
            }
        }
        self.mappings.add(id).map_err(|error| error.at(SECTION, field.offset))?;
        self.profile.mappings.push(mapping);
        Ok(())
    }

    fn function(&mut self, field: &Field<'a>) -> Result<()> {
        const SECTION: &str = "function";
        let (mut id, mut function) = (0, Function::default());
        let mut cursor = field.bytes(SECTION)?;
        while let Some(part) = next_field(&mut cursor, SECTION)? {
            match part.number {
                1 => id = part.number(SECTION)?,
                2 => function.name = self.string_field(&part, SECTION)?,
                3 => function.system_name = self.string_field(&part, SECTION)?,
                4 => function.file = self.string_field(&part, SECTION)?,
                5 => function.start_line = part.signed(SECTION)?,
                _ => self.unknown(&part),
            }
        }
        self.functions.add(id).map_err(|error| error.at(SECTION, field.offset))?;
        self.profile.functions.push(function);
        Ok(())
    }

    fn location(&mut self, field: &Field<'a>) -> Result<()> {
        const SECTION: &str = "location";
        if field.number != 4 {
            return Ok(());
        }
        let (mut id, mut location, mut lines) = (0, Location::default(), Vec::new());
        let mut cursor = field.bytes(SECTION)?;
        while let Some(part) = next_field(&mut cursor, SECTION)? {
            match part.number {
                1 => id = part.number(SECTION)?,
                2 => {
                    let mapping = self.mappings.find_optional(part.number(SECTION)?);
                    location.mapping = mapping.map_err(|error| error.at(SECTION, part.offset))?;
                }
                3 => location.address = part.number(SECTION)?,
                4 => lines.push(self.line(&part)?),
                5 => location.is_folded = part.number(SECTION)? != 0,
                _ => self.unknown(&part),
            }
        }
        self.locations.add(id).map_err(|error| error.at(SECTION, field.offset))?;
        location.lines = lines.into();
        self.profile.locations.push(location);
        Ok(())
    }

    fn line(&mut self, field: &Field<'a>) -> Result<Line> {
        const SECTION: &str = "line";
        let mut line = Line::default();
        let mut cursor = field.bytes(SECTION)?;
        while let Some(part) = next_field(&mut cursor, SECTION)? {
            match part.number {
                1 => {
                    let function = self.functions.find_optional(part.number(SECTION)?);
                    line.function = function.map_err(|error| error.at(SECTION, part.offset))?;
                }
                2 => line.line = part.signed(SECTION)?,
                3 => line.column = part.signed(SECTION)?,
                _ => self.unknown(&part),
            }
        }
        Ok(line)
    }

    fn sample(&mut self, field: &Field<'a>, scratch: &mut Scratch) -> Result<()> {
        const SECTION: &str = "sample";
        if field.number != 2 {
            return Ok(());
        }
        scratch.clear();
        let mut cursor = field.bytes(SECTION)?;
        while let Some(part) = next_field(&mut cursor, SECTION)? {
            let place = |error: Error| error.at(SECTION, part.offset);
            match part.number {
                1 => {
                    let take = |id| {
                        scratch.locations.push(self.locations.find(id)?);
                        Ok(())
                    };
                    part.numbers(SECTION, take).map_err(place)?;
                }
                2 => {
                    let take = |value: u64| {
                        scratch.values.push(value.cast_signed());
                        Ok(())
                    };
                    part.numbers(SECTION, take)?;
                }
                3 => scratch.labels.push(self.label(&part)?),
                _ => self.unknown(&part),
            }
        }
        let (found, expected) = (scratch.values.len(), self.profile.sample_types.len());
        if found != expected || found == 0 {
            let detail = format!("a sample has {found} values, expected {expected}");
            return Err(Error::malformed(detail).at(SECTION, field.offset));
        }
        let (depth, limit) = (scratch.locations.len() as u64, u64::from(self.limits.context_depth));
        if depth > limit {
            return Err(
                Error::above_limit(Some("context-depth"), "depth of a stack", depth, limit).at(SECTION, field.offset)
            );
        }
        self.profile.samples.push(&scratch.locations, &scratch.values, &scratch.labels);
        Ok(())
    }

    fn label(&mut self, field: &Field<'a>) -> Result<Label> {
        const SECTION: &str = "label";
        let mut label = Label::default();
        let mut cursor = field.bytes(SECTION)?;
        while let Some(part) = next_field(&mut cursor, SECTION)? {
            match part.number {
                1 => label.key = self.string_field(&part, SECTION)?,
                2 => label.text = self.string_field(&part, SECTION)?,
                3 => label.number = part.signed(SECTION)?,
                4 => label.unit = self.string_field(&part, SECTION)?,
                _ => self.unknown(&part),
            }
        }
        Ok(label)
    }
}

/// Memory that every sample uses again.
#[derive(Default)]
struct Scratch {
    locations: Vec<u32>,
    values: Vec<i64>,
    labels: Vec<Label>,
}

impl Scratch {
    fn clear(&mut self) {
        self.locations.clear();
        self.values.clear();
        self.labels.clear();
    }
}

// Whether bytes are a pprof profile.

/// Returns true if `data`, which may be truncated, is a protocol buffer that begins like a pprof: with sample types,
/// before which there are only single numbers. A type is a message of at most two numbers. The next field must have a
/// tag of the schema. A profile without values consists of the first string, which is empty.
pub(crate) fn is_pprof(data: &[u8]) -> bool {
    if data == [0x32, 0] {
        return true;
    }
    let mut cursor = Cursor::new(data, 0, Endian::Little, "head");
    let number = |cursor: &mut Cursor<'_>| read_uleb128(cursor, "number").ok();
    let mut seen_type = false;
    while !cursor.is_empty() {
        let Some(tag) = number(&mut cursor) else { return seen_type };
        let (field, wire) = (tag >> 3, tag & 7);
        let is_known = matches!((field, wire), (1..=6 | 11, 2) | (7..=10 | 12..=15, 0) | (13, 2));
        if !is_known || (!seen_type && matches!(field, 2..=6)) {
            return false;
        }
        if seen_type && field != 1 {
            // Damage further on is for the reader to name.
            return true;
        }
        let Some(value) = number(&mut cursor) else { return seen_type };
        if wire == 2 {
            let Ok(content) = cursor.take("content", value) else { return seen_type };
            if matches!(field, 1 | 11) && !is_value_type(content) {
                return false;
            }
            seen_type |= field == 1;
        }
    }
    seen_type
}

/// Fields 1 and 2, numbers, each at most once, and at least one of them.
fn is_value_type(content: &[u8]) -> bool {
    let mut cursor = Cursor::new(content, 0, Endian::Little, "value type");
    let mut last = 0;
    while !cursor.is_empty() {
        match cursor.u8("tag") {
            Ok(tag @ (0x08 | 0x10)) if tag > last && read_uleb128(&mut cursor, "text").is_ok() => last = tag,
            _ => return false,
        }
    }
    last > 0
}

// The encoding of protocol buffers: fields of a number, a wire type and a value.

/// The value of a field.
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
    /// The value.
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
        let detail = format!("field {} has {found}, expected {expected}", self.number);
        Error::malformed(detail).at(section, self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pprof_profiles_are_recognised_by_their_first_messages() {
        let head = [0x0a, 4, 0x08, 1, 0x10, 2, 0x12, 4, 0x0a, 2, 1, 2];
        assert!(is_pprof(&head));
        // Go's runtime says the time first.
        assert!(is_pprof(&[&[0x48, 0xfb, 0xd3, 0xbf, 0xf9, 0xd6, 0xf5, 0x0e], &head[..]].concat()));
        // Truncated anywhere after the first message.
        assert!(is_pprof(&head[..9]));
        assert!(is_pprof(&crate::stacks::pprof::write(&Default::default()).unwrap()));
        for other in [&head[..5], &[0x0a, 4, 0x08, 1, 0x08, 2], &[0x0a, 4, 0x08, 1, 0x10, 2, 0x13], b"\n\x04main\n"] {
            assert!(!is_pprof(other), "{other:?}");
        }
    }
}
