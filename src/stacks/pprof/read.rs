//! pprof in.
//!
//! The top level is walked several times, and what others refer to is read
//! first: texts, then mappings and functions, then locations, then samples. So
//! every reference is checked where it stands, and nothing is kept twice.
//! Memory grows with the bytes that are there; no number in the file is a size.

use super::wire::{Field, next_field};
use super::{Function, Label, Line, Location, Mapping, Profile, Samples, StringId, ValueType};
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::limits::Limits;
use crate::memory::{self, HOLD_NAMES, HOLD_STACKS};
use foldhash::HashMap;

/// The format in words, as errors and reports name it.
pub const FORMAT: &str = "pprof profile";

/// Reads an inflated profile.
///
/// # Errors
///
/// Truncated and malformed, with the byte offset: fields that end behind their
/// message, texts and ids that are not there, ids given twice, samples with
/// another number of values than there are types. Limit exceeded for texts
/// longer than [`Limits::name_bytes`] and stacks deeper than [`Limits::context_depth`].
pub fn read(data: &[u8], limits: &Limits) -> Result<(Profile, Vec<Warning>)> {
    let mut reader = Reader::new(data, limits);
    reader.read().map_err(|error| error.in_format(FORMAT))?;
    let warnings = reader.warnings();
    Ok((reader.profile, warnings))
}

/// Ids of one sort of message, as positions in order of the file.
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
            return Err(Error::malformed(format!("a {what} has the id 0, which means none")));
        }
        let position = self.count;
        self.count = position.checked_add(1).ok_or_else(|| Error::malformed(format!("more than 2^32 {what}s")))?;
        if self.positions.is_none() && id == u64::from(self.count) {
            return Ok(());
        }
        if self.positions.is_none() {
            let mut positions = HashMap::default();
            memory::reserve(&mut positions, position as usize, HOLD_STACKS)?;
            positions.extend((0..position).map(|at| (u64::from(at) + 1, at)));
            self.positions = Some(positions);
        }
        let Some(positions) = &mut self.positions else { return Ok(()) };
        memory::reserve(positions, 1, HOLD_STACKS)?;
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
        found.ok_or_else(|| {
            Error::malformed(format!("{} {id} is not there, the file has {} of them", self.what, self.count))
        })
    }

    /// As [`find`](Self::find), where 0 means none.
    fn find_optional(&self, id: u64) -> Result<Option<u32>> {
        if id == 0 { Ok(None) } else { self.find(id).map(Some) }
    }
}

struct Reader<'a> {
    data: &'a [u8],
    limits: &'a Limits,
    profile: Profile,
    texts: u64,
    mappings: Ids,
    functions: Ids,
    locations: Ids,
    unknown_fields: u64,
    first_unknown: Option<u64>,
}

impl<'a> Reader<'a> {
    fn new(data: &'a [u8], limits: &'a Limits) -> Self {
        Self {
            data,
            limits,
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
        vec![Warning::new(format!("{count} fields are not known and left out, the first at byte {first:#x}"))]
    }

    fn text(&mut self, field: &Field<'a>) -> Result<()> {
        if field.number != 6 {
            return Ok(());
        }
        let text = field.bytes("string table")?.rest();
        let length = text.len() as u64;
        if length > self.limits.name_bytes {
            let limit = self.limits.name_bytes;
            return Err(ErrorKind::LimitExceeded { what: "length of a text", found: length, limit }.into());
        }
        self.texts += 1;
        if self.texts == 1 {
            // The first text is there already.
            return match length {
                0 => Ok(()),
                _ => Err(Error::malformed("the first text is not empty").at("string table", field.offset)),
            };
        }
        self.profile.strings.try_reserve(text.len())?;
        let pushed = self.profile.strings.push(text);
        pushed.map(|_| ()).ok_or_else(|| Error::malformed("more than 2^32 texts"))
    }

    fn string(&self, id: u64) -> Result<StringId> {
        let known = self.profile.strings.len() as u64;
        match u32::try_from(id) {
            Ok(at) if id < known => Ok(StringId(at)),
            _ => Err(Error::malformed(format!("text {id} is not there, the file has {known} of them"))),
        }
    }

    fn string_field(&self, field: &Field<'_>, section: &'static str) -> Result<StringId> {
        self.string(field.number(section)?).map_err(|error| error.at(section, field.offset))
    }

    /// All but texts, locations and samples.
    fn head(&mut self, field: &Field<'a>) -> Result<()> {
        match field.number {
            1 => {
                let value_type = self.value_type(field, "sample type")?;
                memory::push(&mut self.profile.sample_types, value_type, HOLD_STACKS)?;
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
                field.numbers("comment", |id| memory::push(&mut comments, self.string(id)?, HOLD_NAMES))?;
                memory::extend(&mut self.profile.comments, &comments, HOLD_NAMES)?;
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
        memory::push(&mut self.profile.mappings, mapping, HOLD_STACKS)
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
        memory::push(&mut self.profile.functions, function, HOLD_STACKS)
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
                4 => memory::push(&mut lines, self.line(&part)?, HOLD_STACKS)?,
                5 => location.is_folded = part.number(SECTION)? != 0,
                _ => self.unknown(&part),
            }
        }
        self.locations.add(id).map_err(|error| error.at(SECTION, field.offset))?;
        // Exactly as long: making a slice of it takes no memory.
        location.lines = memory::copied(&lines, HOLD_STACKS)?.into();
        memory::push(&mut self.profile.locations, location, HOLD_STACKS)
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
                    let take = |id| memory::push(&mut scratch.locations, self.locations.find(id)?, HOLD_STACKS);
                    part.numbers(SECTION, take).map_err(place)?;
                }
                2 => {
                    let take = |value: u64| memory::push(&mut scratch.values, value.cast_signed(), HOLD_STACKS);
                    part.numbers(SECTION, take)?;
                }
                3 => memory::push(&mut scratch.labels, self.label(&part)?, HOLD_STACKS)?,
                _ => self.unknown(&part),
            }
        }
        let (found, expected) = (scratch.values.len(), self.profile.sample_types.len());
        if found != expected || found == 0 {
            let detail = format!("a sample has {found} values, the profile has {expected} types of values");
            return Err(Error::malformed(detail).at(SECTION, field.offset));
        }
        let (depth, limit) = (scratch.locations.len() as u64, u64::from(self.limits.context_depth));
        if depth > limit {
            let kind = ErrorKind::LimitExceeded { what: "depth of a stack", found: depth, limit };
            return Err(Error::new(kind).at(SECTION, field.offset));
        }
        self.profile.samples.try_reserve(scratch.locations.len(), scratch.labels.len())?;
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
