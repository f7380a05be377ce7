//! Reading iprof files: element by element, from memory or from a stream.
//!
//! The tables are kept, entries are handed to a [`Sink`] one at a time, and
//! what is wrong becomes a [finding](super::findings). A sink sees sound
//! entries only: an entry with an error is left out or, where the meaning is
//! beyond doubt, mended, and the findings say so. So the same reader serves
//! strict readers (who refuse a file with errors), the check and the repair.
//!
//! Sections may stand before the tables that explain them; their text is then
//! kept until the tables were read.

mod batch;
mod conclude;
mod context_text;
mod entries;
mod entry_text;
mod ids;
mod judge;
mod known;
mod members;
mod number;
mod options;
mod other;
mod part;
mod pieces;
mod reading;
mod records;
mod sink;
mod table_text;
mod tables;

use super::document::{InstanceofSpelling, Table, TopMember};
use super::findings::Code;
use super::json::Shape;
use super::names;
use super::sections::SectionKind;
use super::version::Version;
use super::window::{StopReason, Window};
use crate::memory;
use entries::EntryReader;
use ids::Ids;
use known::KnownTables;
pub use options::ReadOptions;
use part::Part;
pub use part::PartSize;
pub(super) use part::is_known_member;
pub(crate) use reading::Reading;
pub(crate) use sink::{Entry, EntrySizes, NullSink, Sink};
use std::collections::{BTreeSet, HashSet};
use std::fmt::Display;
use std::io::Read;
use std::sync::Arc;
use tables::TableReader;

/// Reads a whole file from a stream, compressed or not. Entries go to `sink`.
pub(crate) fn read_stream<S: Sink>(stream: impl Read, options: &ReadOptions, sink: &mut S) -> Reading {
    read_with(Window::from_reader(stream, &options.limits), options, sink)
}

/// As [`read_stream`], from what is in a window.
pub(crate) fn read_with<S: Sink>(mut window: Window<'_>, options: &ReadOptions, sink: &mut S) -> Reading {
    let known = sink.known_tables().map(KnownTables::new);
    let reading = Reading { as_written: Some(0), ..Reading::default() };
    let mut reader = Reader {
        options,
        sink,
        reading,
        ids: Ids::default(),
        known,
        tables_read: BTreeSet::new(),
        placeholders: 0,
        early: Vec::new(),
        names_seen: HashSet::new(),
        sections_seen: Vec::new(),
    };
    let end = reader.run(&mut window);
    reader.conclude(&window, end)
}

struct Reader<'r, S> {
    options: &'r ReadOptions,
    sink: &'r mut S,
    reading: Reading,
    ids: Ids,
    known: Option<KnownTables>,
    /// Types and methods, once they came.
    tables_read: BTreeSet<Table>,
    /// How many of the two are one entry of id -1.
    placeholders: usize,
    /// Parts that came before the tables they need: their text and where it stood.
    early: Vec<(Part, Vec<u8>, u64)>,
    names_seen: HashSet<Vec<u8>>,
    /// With the offset of the section's name.
    sections_seen: Vec<(SectionKind, u64)>,
}

impl<S: Sink> Reader<'_, S> {
    fn report(&mut self, code: Code, group: &'static str, offset: u64, path: impl Display, message: impl Display) {
        self.reading.findings.report(code, group, Some(offset), path, message);
    }

    /// The document, member by member.
    fn run(&mut self, window: &mut Window<'_>) -> Result<(), StopReason> {
        if window.is_compressed {
            self.reading.as_written = None;
        }
        if window.byte_order_mark {
            self.report(Code::ByteOrderMark, "$", 0, "$", "the text begins with a byte order mark");
            self.reading.findings.repaired(Code::ByteOrderMark, "dropped", "text", 1);
        }
        let (first, at) = window.step(|scan, base| Ok((scan.peek()?, base + scan.pos as u64)))?;
        if first != b'{' {
            if matches!(first, b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') {
                self.report(Code::RootNotObject, "$", at, "$", "the document is no object");
                self.reading.unreadable = true;
                return Err(StopReason::Refused);
            }
            return Err(StopReason::Syntax(at, "an object"));
        }
        window.step(|scan, _| scan.expect(b'{', "an object"))?;
        let mut more = !window.step(|scan, _| scan.take(b'}'))?;
        while more {
            self.member(window)?;
            more = window.step(|scan, _| {
                let comma = scan.take(b',')?;
                if !comma {
                    scan.expect(b'}', "a comma or the end of the object")?;
                }
                Ok(comma)
            })?;
        }
        window.finish()
    }

    fn member(&mut self, window: &mut Window<'_>) -> Result<(), StopReason> {
        let (name, start, shape, value_at) = window.step(|scan, base| {
            scan.space();
            let start = base + scan.pos as u64;
            let name = scan.key()?.into_owned();
            let shape = scan.shape()?;
            Ok((name, start, shape, base + scan.pos as u64))
        })?;
        let (part, legacy) = Part::of(&name);
        self.reading.legacy |= legacy;
        // Before the first name stands a brace and before any other a comma, behind it a colon.
        let head = (name.len() + 3) as u64;
        let parse_canonical_entry = !legacy && self.reading.as_written == Some(start - 1) && start + head == value_at;
        self.reading.as_written = parse_canonical_entry.then_some(value_at);
        if self.options.only_as_written && !parse_canonical_entry {
            return Err(StopReason::Refused);
        }
        if self.is_repeated(&name, &part, start) {
            window.step(|scan, _| scan.skip().map(drop))?;
            return Ok(());
        }
        let wanted = match part {
            Part::Version => Shape::String,
            Part::BareMonitor => Shape::Object,
            Part::Other(_) => shape,
            _ => Shape::Array,
        };
        // A 0.2 file may write its monitors as later ones do.
        let monitors = Part::Table(Table::Section(SectionKind::Monitor));
        let part = if part == Part::BareMonitor && shape == Shape::Array { monitors.clone() } else { part };
        if shape != wanted && part != monitors {
            self.wrong_shape(&part, &name, value_at, wanted);
            window.step(|scan, _| scan.skip().map(drop))?;
            return Ok(());
        }
        self.remember(&part, &name);
        let result = self.value(&part, &name, window);
        self.reading.findings.locate(part.group(), start);
        let place = if let Part::Other(_) = part { names::display(&name) } else { part.group().to_string() };
        let size = self.reading.parts.entry(place).or_default();
        size.bytes += window.offset() - start;
        self.reading.as_written = self.reading.as_written.filter(|end| *end == window.offset());
        result
    }

    /// Whether a member was there before; reports it then.
    fn is_repeated(&mut self, name: &[u8], part: &Part, offset: u64) -> bool {
        let path = names::display(name);
        if !self.names_seen.insert(name.to_vec()) {
            self.reading.as_written = None;
            let joined = self.options.join_sections && matches!(part, Part::Table(Table::Section(_)));
            self.report(Code::DuplicateKey, "$", offset, &path, "the member is there twice");
            if joined {
                self.reading.findings.repaired(Code::DuplicateKey, "joined", part.group(), 1);
            } else {
                self.reading.unreadable = true;
            }
            return !joined;
        }
        if let Part::Table(Table::Section(kind)) = part {
            if self.sections_seen.iter().any(|(seen, _)| seen == kind) {
                self.reading.as_written = None;
                if *kind == SectionKind::Instanceof {
                    let message = "the section is there under both its names";
                    self.report(Code::BothInstanceofSpellings, "$", offset, &path, message);
                    self.reading.findings.repaired(Code::BothInstanceofSpellings, "joined", kind.name(), 1);
                } else {
                    self.report(Code::DuplicateKey, "$", offset, &path, "the section is there under two names");
                    self.reading.unreadable |= !self.options.join_sections;
                    return !self.options.join_sections;
                }
            }
            self.sections_seen.push((*kind, offset));
        }
        false
    }

    fn wrong_shape(&mut self, part: &Part, name: &[u8], offset: u64, wanted: Shape) {
        let expected = match wanted {
            Shape::Object => "an object",
            Shape::String => "a string",
            _ => "an array",
        };
        let path = names::display(name);
        self.report(Code::WrongJsonType, part.group(), offset, path, format_args!("{expected} was expected"));
        match part {
            Part::Version => self.reading.unreadable = true,
            Part::Table(table @ (Table::Types | Table::Methods)) => {
                self.reading.unreadable = true;
                // It is there, only not as it should be; that it is missing would be a second finding.
                self.tables_read.insert(*table);
            }
            _ => self.reading.findings.repaired(Code::WrongJsonType, "dropped section", part.group(), 1),
        }
    }

    /// Keeps the member's place in the document.
    fn remember(&mut self, part: &Part, name: &[u8]) {
        let member = match part {
            Part::Version => TopMember::Version,
            Part::Table(table) => TopMember::Table(*table),
            Part::BareMonitor => TopMember::Table(Table::Section(SectionKind::Monitor)),
            Part::Other(_) => return,
        };
        if self.reading.layout.contains(&member) {
            return;
        }
        if name == InstanceofSpelling::Graal.name().as_bytes() {
            self.reading.spelling = InstanceofSpelling::Graal;
        }
        self.reading.layout.push(member);
    }

    fn value(&mut self, part: &Part, name: &[u8], window: &mut Window<'_>) -> Result<(), StopReason> {
        if self.is_ready(part) {
            return self.parse_value(part, name, window);
        }
        let (text, base) = window.step(|scan, base| {
            scan.space();
            let at = base + scan.pos as u64;
            Ok((memory::copy_of(scan.skip()?), at))
        })?;
        let Some(text) = text else { return Err(StopReason::OutOfMemory) };
        self.reading.as_written = None;
        self.early.push((part.clone(), text, base));
        Ok(())
    }

    /// Whether the tables that explain a part were read.
    fn is_ready(&self, part: &Part) -> bool {
        let is_read = |table| self.tables_read.contains(&table);
        match part {
            Part::Table(Table::Methods) => is_read(Table::Types),
            Part::Table(Table::Section(_)) | Part::BareMonitor => is_read(Table::Types) && is_read(Table::Methods),
            _ => true,
        }
    }

    fn parse_value(&mut self, part: &Part, name: &[u8], window: &mut Window<'_>) -> Result<(), StopReason> {
        match part {
            Part::Version => self.version(window),
            Part::Table(Table::Section(kind)) => self.section(*kind, false, window),
            Part::BareMonitor => self.section(SectionKind::Monitor, true, window),
            Part::Table(table) => self.table(*table, window),
            Part::Other(_) => self.other(name, window),
        }
    }

    fn version(&mut self, window: &mut Window<'_>) -> Result<(), StopReason> {
        let (text, at) = window.step(|scan, base| {
            scan.space();
            let at = base + scan.pos as u64;
            Ok((String::from_utf8_lossy(&scan.string()?).into_owned(), at))
        })?;
        let version = Version::parse(&text);
        self.wrote(version.map_or(0, |version| version.to_string().len() as u64 + 2));
        self.reading.version = version.or(self.options.assume_version);
        self.reading.unreadable |= self.reading.version.is_none();
        let odd = match version {
            None => Some((Code::BadVersion, "is no version of the form 1.0.0")),
            Some(Version { major: 0, .. }) => {
                Some((Code::PreReleaseVersion, "is older than the published 1.0.0 and read like it"))
            }
            Some(Version { major: 1, minor: 0 | 1, .. }) => None,
            Some(Version { major: 1, .. }) => {
                Some((Code::NewerMinor, "is newer than 1.1; what it added is not interpreted"))
            }
            Some(_) => Some((Code::UnsupportedMajor, "has another encoding; versions 0.2 to 1.x are known")),
        };
        if let Some((code, what)) = odd {
            let named =
                if version.is_none() { format!("\"{}\"", text.escape_debug()) } else { format!("version {text}") };
            self.report(code, "version", at, "version", format_args!("{named} {what}"));
        }
        self.reading.version_text = Some(text);
        match version {
            None if self.reading.version.is_some() => {
                self.reading.findings.repaired(Code::BadVersion, "replaced", "version", 1);
            }
            Some(version) if version.major > 1 => {
                self.reading.unreadable = true;
                return Err(StopReason::Refused);
            }
            _ => {}
        }
        Ok(())
    }

    fn table(&mut self, table: Table, window: &mut Window<'_>) -> Result<(), StopReason> {
        self.tables_read.insert(table);
        let mut reader = TableReader::new(table, &mut self.reading, &mut self.ids, &mut self.known, self.options);
        let result = window.elements(&mut reader);
        self.placeholders += usize::from(reader.is_placeholder());
        let (entries, usual_bytes) = reader.finish();
        let valid = match (table, &self.known) {
            (Table::Types, Some(known)) => known.types_count(),
            (Table::Types, None) => self.reading.tables.types_count(),
            _ => self.reading.tables.methods_count(),
        };
        self.count_entries(table, entries, valid as u64, usual_bytes);
        result
    }

    /// Takes note of the bytes that a writer would write for a member's value.
    fn wrote(&mut self, bytes: u64) {
        self.reading.as_written = self.reading.as_written.map(|start| start + bytes);
    }

    /// The entries of a section; a bare one is the object of 2022.
    fn section(&mut self, kind: SectionKind, bare: bool, window: &mut Window<'_>) -> Result<(), StopReason> {
        self.leave_known();
        let tables = Arc::clone(&self.reading.tables);
        self.sink.tables(&tables);
        let mut reader = EntryReader::new(kind, bare, &tables, &self.ids, &mut self.reading, self.sink, self.options);
        let result = if bare {
            window.value(&mut reader)
        } else {
            pieces::read_section(window, &mut reader, self.options.threads)
        };
        let (size, usual_bytes) = reader.finish();
        self.count_entries(Table::Section(kind), size.entries, size.valid, usual_bytes);
        result
    }

    /// Goes on with tables of its own, of which those that were known are the beginning.
    fn leave_known(&mut self) {
        if let Some(known) = self.known.take() {
            self.reading.tables = known.into_tables();
        }
    }

    /// Takes note of a list of entries, of which some are sound and some bytes are what a writer would write.
    fn count_entries(&mut self, table: Table, entries: u64, valid: u64, usual_bytes: u64) {
        let size = self.reading.parts.entry(table.name().to_string()).or_default();
        size.entries += entries;
        size.valid += valid;
        // Brackets, and what stands between entries.
        self.wrote(2 + usual_bytes + entries.saturating_sub(1));
    }

    /// Reads the parts that came before their tables.
    fn read_early(&mut self) -> Result<(), StopReason> {
        let mut early = std::mem::take(&mut self.early);
        // Methods explain contexts, so they come first.
        early.sort_by_key(|(part, ..)| *part != Part::Table(Table::Methods));
        for (part, text, base) in early {
            if !self.is_ready(&part) {
                continue;
            }
            let mut window = Window::from_part(&text, base, self.options.limits.json_depth);
            self.parse_value(&part, &[], &mut window)?;
        }
        Ok(())
    }
}
