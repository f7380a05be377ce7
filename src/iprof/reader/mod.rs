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
mod options;
mod other;
mod part;
mod pieces;
mod records;
mod sink;
mod table_text;
mod tables;

use super::document::{Extras, InstanceofSpelling, Table, TopMember};
use super::findings::{Code, Findings, Verdict};
use super::json::Shape;
use super::sections::SectionKind;
use super::tables::Tables;
use super::version::Version;
use super::window::{Elements, Halt, Window};
use entries::{EntryContext, EntryReader};
use ids::IdMap;
use known::KnownTables;
pub use options::ReadOptions;
use part::Part;
pub use part::PartSize;
pub(super) use part::is_known_member;
pub(crate) use sink::{Entry, Nobody, Sink};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use tables::TableReader;

/// Everything about a file but its entries.
#[derive(Debug)]
pub(crate) struct Reading {
    /// The version in the file, or the one assumed.
    pub(crate) version: Option<Version>,
    pub(crate) version_text: Option<String>,
    pub(crate) tables: Arc<Tables>,
    pub(crate) extras: Extras,
    pub(crate) layout: Vec<TopMember>,
    pub(crate) spelling: InstanceofSpelling,
    pub(crate) findings: Findings,
    /// Tables, sections and other members, by name.
    pub(crate) parts: BTreeMap<String, PartSize>,
    pub(crate) text_bytes: u64,
    /// No sound document can be made of this, with the options given.
    pub(crate) unreadable: bool,
    /// The names of 2022 were used.
    pub(crate) legacy: bool,
    /// Where the text ends as far as a writer would write what was read in the same way; none when
    /// it would not, to the byte.
    as_written: Option<u64>,
}

impl Reading {
    /// Entries that were handed on, of all sections.
    pub(crate) fn sound_entries(&self) -> u64 {
        let sections = SectionKind::ALL.iter().filter_map(|kind| self.parts.get(kind.name()));
        sections.map(|part| part.sound).sum()
    }

    /// Whether a writer would write the text that was read.
    pub(crate) fn is_as_written(&self) -> bool {
        // What is left is the last brace.
        self.as_written.is_some_and(|end| end + 1 == self.text_bytes)
    }

    /// What the file is good for.
    pub(crate) fn verdict(&self) -> Verdict {
        if self.unreadable {
            Verdict::Unusable
        } else if self.sound_entries() == 0 {
            Verdict::TablesOnly
        } else if self.findings.has_errors() {
            Verdict::PartlyUsable
        } else {
            Verdict::Usable
        }
    }
}

/// Reads a whole file. Entries go to `sink`.
pub(crate) fn read_with<S: Sink>(mut window: Window<'_>, options: &ReadOptions, sink: &mut S) -> Reading {
    let mut reader = Reader::new(options, sink);
    let end = reader.run(&mut window);
    reader.conclude(&window, end)
}

struct Reader<'r, S> {
    options: &'r ReadOptions,
    sink: &'r mut S,
    reading: Reading,
    types: IdMap,
    methods: IdMap,
    known: Option<KnownTables>,
    types_read: bool,
    methods_read: bool,
    /// Whether types, and methods, are one entry of id -1.
    placeholders: [bool; 2],
    /// Parts that came before the tables they need: their text and where it stood.
    early: Vec<(Part, Vec<u8>, u64)>,
    names_seen: HashSet<Vec<u8>>,
    /// With the offset of the section's name.
    sections_seen: Vec<(SectionKind, u64)>,
}

impl<'r, S: Sink> Reader<'r, S> {
    fn new(options: &'r ReadOptions, sink: &'r mut S) -> Self {
        let reading = Reading {
            version: None,
            version_text: None,
            tables: Arc::default(),
            extras: Extras::new(),
            layout: Vec::new(),
            spelling: InstanceofSpelling::default(),
            findings: Findings::default(),
            parts: BTreeMap::new(),
            text_bytes: 0,
            unreadable: false,
            legacy: false,
            as_written: Some(0),
        };
        let known = sink.known_tables().map(KnownTables::new);
        Self {
            options,
            sink,
            reading,
            known,
            types: IdMap::default(),
            methods: IdMap::default(),
            types_read: false,
            placeholders: [false; 2],
            methods_read: false,
            early: Vec::new(),
            names_seen: HashSet::new(),
            sections_seen: Vec::new(),
        }
    }

    fn report(&mut self, code: Code, group: &'static str, offset: u64, path: &str, message: impl Into<String>) {
        self.reading.findings.report(code, group, Some(offset), || (path.to_string(), message.into()));
    }

    /// The document, member by member.
    fn run(&mut self, window: &mut Window<'_>) -> Result<(), Halt> {
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
                return Err(Halt::Refused);
            }
            return Err(Halt::Syntax(at, "an object"));
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

    fn member(&mut self, window: &mut Window<'_>) -> Result<(), Halt> {
        let (name, start, shape, value_at) = window.step(|scan, base| {
            scan.space();
            let start = base + scan.pos as u64;
            let name = scan.string()?.into_owned();
            scan.expect(b':', "a colon")?;
            let shape = scan.shape()?;
            Ok((name, start, shape, base + scan.pos as u64))
        })?;
        let (part, legacy) = Part::of(&name);
        self.reading.legacy |= legacy;
        // Before the first name stands a brace and before any other a comma, behind it a colon.
        let head = (name.len() + 3) as u64;
        let as_usual = !legacy && self.reading.as_written == Some(start - 1) && start + head == value_at;
        self.reading.as_written = as_usual.then_some(value_at);
        if self.options.only_as_written && !as_usual {
            return Err(Halt::Refused);
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
        let part =
            if part == Part::BareMonitor && shape == Shape::Array { Part::Section(SectionKind::Monitor) } else { part };
        if shape != wanted && part != Part::Section(SectionKind::Monitor) {
            self.wrong_shape(&part, &name, value_at, wanted);
            window.step(|scan, _| scan.skip().map(drop))?;
            return Ok(());
        }
        self.remember(&part, &name);
        let result = self.value(&part, &name, window);
        self.reading.findings.locate(part.group(), start);
        let size = self.reading.parts.entry(part_name(&part, &name)).or_default();
        size.bytes += window.offset() - start;
        self.reading.as_written = self.reading.as_written.filter(|end| *end == window.offset());
        result
    }

    /// Whether a member was there before; reports it then.
    fn is_repeated(&mut self, name: &[u8], part: &Part, offset: u64) -> bool {
        let path = names_path(name);
        if !self.names_seen.insert(name.to_vec()) {
            self.reading.as_written = None;
            let joined = self.options.join_sections && matches!(part, Part::Section(_));
            self.report(Code::DuplicateKey, "$", offset, &path, "the member is there twice");
            if joined {
                self.reading.findings.repaired(Code::DuplicateKey, "joined", part.group(), 1);
            } else {
                self.reading.unreadable = true;
            }
            return !joined;
        }
        if let Part::Section(kind) = part {
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
        self.report(Code::WrongJsonType, part.group(), offset, &names_path(name), format!("{expected} was expected"));
        match part {
            Part::Version | Part::Types | Part::Methods => self.reading.unreadable = true,
            _ => self.reading.findings.repaired(Code::WrongJsonType, "dropped section", part.group(), 1),
        }
        // It is there, only not as it should be; that it is missing would be a second finding.
        match part {
            Part::Types => self.types_read = true,
            Part::Methods => self.methods_read = true,
            _ => {}
        }
    }

    /// Keeps the member's place in the document.
    fn remember(&mut self, part: &Part, name: &[u8]) {
        let member = match part {
            Part::Version => TopMember::Version,
            Part::Types => TopMember::Types,
            Part::Methods => TopMember::Methods,
            Part::Section(kind) => TopMember::Section(*kind),
            Part::BareMonitor => TopMember::Section(SectionKind::Monitor),
            Part::Other(_) => return,
        };
        if member == TopMember::Section(SectionKind::Instanceof)
            && name == InstanceofSpelling::Graal.name().as_bytes()
            && !self.reading.layout.contains(&member)
        {
            self.reading.spelling = InstanceofSpelling::Graal;
        }
        if !self.reading.layout.contains(&member) {
            self.reading.layout.push(member);
        }
    }

    fn value(&mut self, part: &Part, name: &[u8], window: &mut Window<'_>) -> Result<(), Halt> {
        let ready = match part {
            Part::Methods => self.types_read,
            Part::Section(_) | Part::BareMonitor => self.types_read && self.methods_read,
            _ => true,
        };
        if ready {
            return self.parse_value(part, name, window);
        }
        let (text, base) = window.step(|scan, base| {
            scan.space();
            let at = base + scan.pos as u64;
            Ok((scan.skip()?.to_vec(), at))
        })?;
        self.reading.as_written = None;
        self.early.push((part.clone(), text, base));
        Ok(())
    }

    fn parse_value(&mut self, part: &Part, name: &[u8], window: &mut Window<'_>) -> Result<(), Halt> {
        match part {
            Part::Version => self.version(window),
            Part::Types => {
                self.types_read = true;
                self.table(Table::Types, window)
            }
            Part::Methods => {
                self.methods_read = true;
                self.table(Table::Methods, window)
            }
            Part::Section(kind) => self.section(*kind, window),
            Part::BareMonitor => self.bare_monitor(window),
            Part::Other(_) => self.other(name, window),
        }
    }

    fn version(&mut self, window: &mut Window<'_>) -> Result<(), Halt> {
        let (text, at) = window.step(|scan, base| {
            scan.space();
            let at = base + scan.pos as u64;
            Ok((String::from_utf8_lossy(&scan.string()?).into_owned(), at))
        })?;
        let version = Version::parse(&text);
        self.wrote(version.map_or(0, |version| version.to_string().len() as u64 + 2));
        self.reading.version = version;
        match version {
            None => {
                let message = format!("\"{}\" is no version of the form 1.0.0", text.escape_debug());
                self.report(Code::BadVersion, "version", at, "version", message);
                if let Some(assumed) = self.options.assume_version {
                    self.reading.version = Some(assumed);
                    self.reading.findings.repaired(Code::BadVersion, "replaced", "version", 1);
                } else {
                    self.reading.unreadable = true;
                }
            }
            Some(Version { major: 0, .. }) => {
                let message = format!("version {text} is older than the published 1.0.0 and read like it");
                self.report(Code::PreReleaseVersion, "version", at, "version", message);
            }
            Some(Version { major: 1, minor, .. }) if minor > 1 => {
                let message = format!("version {text} is newer than 1.1; what it added is not interpreted");
                self.report(Code::NewerMinor, "version", at, "version", message);
            }
            Some(Version { major: 1, .. }) => {}
            Some(_) => {
                let message = format!("version {text} has another encoding; versions 0.2 to 1.x are known");
                self.report(Code::UnsupportedMajor, "version", at, "version", message);
                self.reading.version_text = Some(text);
                self.reading.unreadable = true;
                return Err(Halt::Refused);
            }
        }
        self.reading.version_text = Some(text);
        Ok(())
    }

    fn table(&mut self, table: Table, window: &mut Window<'_>) -> Result<(), Halt> {
        let reading = &mut self.reading;
        let mut reader = TableReader::new(
            table,
            tables::Context {
                tables: &mut reading.tables,
                known: &mut self.known,
                types: &mut self.types,
                methods: &mut self.methods,
                findings: &mut reading.findings,
                extras: &mut reading.extras,
                legacy: &mut reading.legacy,
                keep_others: self.options.keep_unknown,
                name_limit: self.options.limits.name_bytes,
            },
        );
        let result = window.elements(&mut reader);
        let of_types = table == Table::Types;
        self.placeholders[usize::from(!of_types)] = reader.is_placeholder();
        let (entries, usual_bytes) = reader.finish();
        let known = self.known.as_ref().filter(|_| of_types).map(KnownTables::types_count);
        let sound = if of_types { reading.tables.types_count() } else { reading.tables.methods_count() };
        let size = reading.parts.entry(if of_types { "types" } else { "methods" }.to_string()).or_default();
        size.entries += entries;
        size.sound = known.unwrap_or(sound) as u64;
        self.wrote(list_bytes(entries, usual_bytes));
        result
    }

    /// Takes note of the bytes that a writer would write for a member's value.
    fn wrote(&mut self, bytes: u64) {
        self.reading.as_written = self.reading.as_written.map(|start| start + bytes);
    }

    fn entry_reader(&mut self, kind: SectionKind, bare: bool) -> EntryReader<'_, S> {
        if let Some(known) = self.known.take() {
            // Methods that were no table left the types as they are known.
            self.reading.tables = known.into_tables();
        }
        self.sink.tables(&self.reading.tables);
        let delivered = self.reading.parts.get(kind.name()).map_or(0, |part| part.sound);
        EntryReader::new(
            kind,
            bare,
            EntryContext {
                tables: &self.reading.tables,
                types: &self.types,
                methods: &self.methods,
                findings: &mut self.reading.findings,
                sink: self.sink,
                options: self.options,
                legacy: &mut self.reading.legacy,
                delivered,
            },
        )
    }

    fn section(&mut self, kind: SectionKind, window: &mut Window<'_>) -> Result<(), Halt> {
        let threads = self.options.threads;
        let mut reader = self.entry_reader(kind, false);
        let result = pieces::read_section(window, &mut reader, threads);
        let counts = reader.finish();
        self.count_entries(kind, counts);
        result
    }

    fn bare_monitor(&mut self, window: &mut Window<'_>) -> Result<(), Halt> {
        let mut reader = self.entry_reader(SectionKind::Monitor, true);
        let result = window.step(|scan, base| reader.parse(scan, base, 0));
        if result.is_ok() {
            reader.commit(0);
        }
        let counts = reader.finish();
        self.count_entries(SectionKind::Monitor, counts);
        result
    }

    fn count_entries(&mut self, kind: SectionKind, (found, usual_bytes): (PartSize, u64)) {
        let size = self.reading.parts.entry(kind.name().to_string()).or_default();
        size.entries += found.entries;
        size.sound += found.sound;
        self.wrote(list_bytes(found.entries, usual_bytes));
    }

    /// Reads the parts that came before their tables.
    fn read_early(&mut self) -> Result<(), Halt> {
        let mut early = std::mem::take(&mut self.early);
        // Methods explain contexts, so they come first.
        early.sort_by_key(|(part, ..)| *part != Part::Methods);
        for (part, text, base) in early {
            let needs_methods = part != Part::Methods;
            if !self.types_read || (needs_methods && !self.methods_read) {
                continue;
            }
            let mut window = Window::from_part(&text, base, self.options.limits.json_depth);
            self.parse_value(&part, &[], &mut window)?;
        }
        Ok(())
    }
}

/// Bytes of a list in brackets of so many entries, which have so many bytes.
fn list_bytes(entries: u64, bytes: u64) -> u64 {
    2 + bytes + entries.saturating_sub(1)
}

/// A member's name as a path.
fn names_path(name: &[u8]) -> String {
    super::names::display(name)
}

/// Under which name a part's size is kept.
fn part_name(part: &Part, name: &[u8]) -> String {
    match part {
        Part::Other(_) => names_path(name),
        known => known.group().to_string(),
    }
}
