//! The document member by member: which come in which order, and how the text ends.

use super::entries::{self, EntryReader, Sink};
use super::ids::{Ids, KnownTables};
use super::reading::{ReadOptions, Reading};
use super::tables::TableReader;
use crate::iprof::document::{InstanceofSpelling, Table, TopMember, Version};
use crate::iprof::findings::{Code, Finding, Findings, Level};
use crate::iprof::json::{self, Shape};
use crate::iprof::sections::SectionKind;
use crate::iprof::tables::display_name;
use crate::iprof::window::{StopReason, Window};
use crate::memory;
use std::collections::{BTreeSet, HashSet};
use std::fmt::Display;
use std::io::Read;
use std::sync::Arc;

/// A top-level member, which determines how its value is read.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Version,
    Table(Table),
    /// The monitor section of 2022: an object.
    BareMonitor,
    Other(Vec<u8>),
}

/// Sections that GraalVM or its forks are known to write, beyond the format.
const KNOWN_EXTENSIONS: [&[u8]; 3] = [b"ceConditionalProfilesV2", b"virtualInvokeMethodProfiles", b"llvm"];

/// Whether the format, or a fork of GraalVM, has a top-level member of this name.
pub(crate) fn is_known_member(name: &[u8]) -> bool {
    !matches!(Part::of(name).0, Part::Other(_)) || KNOWN_EXTENSIONS.contains(&name)
}

impl Part {
    /// The part of this name, and whether that is a name of 2022.
    fn of(name: &[u8]) -> (Self, bool) {
        let section = |kind| Self::Table(Table::Section(kind));
        let legacy = match name {
            b"hotnessPoints" => section(SectionKind::CallCount),
            b"conditionalPoints" => section(SectionKind::Conditional),
            b"invokePoints" => section(SectionKind::VirtualInvoke),
            b"monitorsProfile" => Self::BareMonitor,
            b"version" => return (Self::Version, false),
            b"instanceOfProfiles" => return (section(SectionKind::Instanceof), false),
            _ => return (Table::of_name(name).map_or_else(|| Self::Other(name.to_vec()), Self::Table), false),
        };
        (legacy, true)
    }

    /// The name under which its findings and its size are kept.
    fn group(&self) -> &'static str {
        match self {
            Self::Version => "version",
            Self::Table(table) => table.name(),
            Self::BareMonitor => SectionKind::Monitor.name(),
            Self::Other(_) => "other members",
        }
    }
}

/// Reads a whole file from a stream, compressed or not. Entries go to `sink`.
pub(crate) fn read_stream<S: Sink>(stream: impl Read, options: &ReadOptions, sink: &mut S) -> Reading {
    read_with(&mut Window::from_reader(stream, &options.limits), options, sink)
}

/// Like [`read_stream`], but from a window.
pub(crate) fn read_with<S: Sink>(window: &mut Window<'_>, options: &ReadOptions, sink: &mut S) -> Reading {
    window.cancel = options.cancel.clone();
    let known = sink.known_tables().map(KnownTables::new);
    let reading = Reading::default();
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
    let end = reader.run(window);
    reader.conclude(window, end)
}

struct Reader<'r, S> {
    options: &'r ReadOptions,
    sink: &'r mut S,
    reading: Reading,
    ids: Ids,
    known: Option<KnownTables>,
    /// Types and methods, once they came.
    tables_read: BTreeSet<Table>,
    /// The number of tables that are one entry of id -1.
    placeholders: usize,
    /// Parts that came before the tables they need: their text and its position.
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
        if window.byte_order_mark {
            self.report(Code::ByteOrderMark, "$", 0, "$", "the text begins with a byte order mark");
            self.reading.findings.repaired(Code::ByteOrderMark, "dropped", "text", 1);
        }
        let (first, at) = window.step(|scan, base| Ok((scan.peek()?, base + scan.pos as u64)))?;
        if first != b'{' {
            if matches!(first, b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') {
                self.report(Code::RootNotObject, "$", at, "$", "the document is not an object");
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
        let (name, respelled, start, shape, value_at) = window.step(|scan, base| {
            scan.space();
            let start = base + scan.pos as u64;
            let (raw, escapes) = scan.raw_string()?;
            scan.expect(b':', "a colon")?;
            let name = if escapes { json::unescape(raw) } else { raw.to_vec() };
            let shape = scan.shape()?;
            Ok((name, escapes && !json::is_written(raw), start, shape, base + scan.pos as u64))
        })?;
        let (part, legacy) = Part::of(&name);
        self.reading.legacy |= legacy;
        self.reading.respelled |= legacy || respelled;
        if self.options.only_as_written && self.reading.respelled {
            return Err(StopReason::Refused);
        }
        if self.is_repeated(&name, &part, start) {
            window.skip(|_| {})?;
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
            window.skip(|_| {})?;
            return Ok(());
        }
        self.remember(&part, &name);
        let result = match self.is_ready(&part) {
            true => self.value(&part, &name, window),
            false => self.keep_for_later(&part, window),
        };
        self.reading.findings.locate(part.group(), start);
        let place = if let Part::Other(_) = part { display_name(&name) } else { part.group().to_string() };
        let size = self.reading.parts.entry(place).or_default();
        size.bytes += window.offset() - start;
        result
    }

    /// Whether a member was there before; reports it then.
    fn is_repeated(&mut self, name: &[u8], part: &Part, offset: u64) -> bool {
        let path = display_name(name);
        if !self.names_seen.insert(name.to_vec()) {
            self.reading.respelled = true;
            let joined = self.options.join_sections && matches!(part, Part::Table(Table::Section(_)));
            self.report(Code::DuplicateKey, "$", offset, &path, "the member occurs twice");
            if joined {
                self.reading.findings.repaired(Code::DuplicateKey, "joined", part.group(), 1);
            } else {
                self.reading.unreadable = true;
            }
            return !joined;
        }
        if let Part::Table(Table::Section(kind)) = part {
            if self.sections_seen.iter().any(|(seen, _)| seen == kind) {
                self.reading.respelled = true;
                if *kind == SectionKind::Instanceof {
                    let message = "the section occurs under both of its names";
                    self.report(Code::BothInstanceofSpellings, "$", offset, &path, message);
                    self.reading.findings.repaired(Code::BothInstanceofSpellings, "joined", kind.name(), 1);
                } else {
                    self.report(Code::DuplicateKey, "$", offset, &path, "the section occurs under two names");
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
        let path = display_name(name);
        self.report(Code::WrongJsonType, part.group(), offset, path, format_args!("expected {expected}"));
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

    /// Keeps the text of a part that came before the tables it needs.
    fn keep_for_later(&mut self, part: &Part, window: &mut Window<'_>) -> Result<(), StopReason> {
        let (text, base) = window.step(|scan, base| {
            scan.space();
            let at = base + scan.pos as u64;
            Ok((memory::copy_of(scan.skip()?), at))
        })?;
        let Some(text) = text else { return Err(StopReason::OutOfMemory) };
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

    fn value(&mut self, part: &Part, name: &[u8], window: &mut Window<'_>) -> Result<(), StopReason> {
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
        self.reading.respelled |= version.is_none_or(|version| version.to_string() != text);
        self.reading.version = version.or(self.options.assume_version);
        self.reading.unreadable |= self.reading.version.is_none();
        let odd = match version {
            None => Some((Code::BadVersion, "is not a version of the form 1.0.0")),
            Some(Version { major: 0, .. }) => {
                Some((Code::PreReleaseVersion, "is older than the published 1.0.0, and is read like 1.0.0"))
            }
            Some(Version { major: 1, minor: 0 | 1, .. }) => None,
            Some(Version { major: 1, .. }) => {
                Some((Code::NewerMinor, "is newer than 1.1; its additions are not interpreted"))
            }
            Some(_) => Some((Code::UnsupportedMajor, "is not supported; versions 0.2 to 1.x are")),
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
        let entries = reader.finish();
        let valid = match (table, &self.known) {
            (Table::Types, Some(known)) => known.types_count(),
            (Table::Types, None) => self.reading.tables.types_count(),
            _ => self.reading.tables.methods_count(),
        };
        self.count_entries(table, entries, valid as u64);
        result
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
            entries::read_section(window, &mut reader, self.options.threads)
        };
        let size = reader.finish();
        self.count_entries(Table::Section(kind), size.entries, size.valid);
        result
    }

    /// Continues with its own tables, which begin with the known entries.
    fn leave_known(&mut self) {
        if let Some(known) = self.known.take() {
            self.reading.tables = known.into_tables();
        }
    }

    /// Adds to the size of a part.
    fn count_entries(&mut self, table: Table, entries: u64, valid: u64) {
        let size = self.reading.parts.entry(table.name().to_string()).or_default();
        size.entries += entries;
        size.valid += valid;
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
            window.cancel = self.options.cancel.clone();
            self.value(&part, &[], &mut window)?;
        }
        Ok(())
    }

    /// A member that is not part of the format.
    fn other(&mut self, name: &[u8], window: &mut Window<'_>) -> Result<(), StopReason> {
        let offset = window.offset();
        let mut value = Vec::new();
        let keep = !self.options.drop_unknown;
        window.skip(|text| {
            if keep {
                json::write_compact(&mut value, text);
            }
        })?;
        let message = "the member is not part of the format; it is kept unchanged";
        let (level, group) = if KNOWN_EXTENSIONS.contains(&name) {
            (Level::Info, "known members")
        } else {
            (Code::UnknownSection.level(), "members")
        };
        let path = display_name(name);
        self.reading.findings.report_as(level, Code::UnknownSection, group, Some(offset), path, message);
        if keep {
            self.reading.layout.push(TopMember::Other(name.into(), value.into()));
        }
        Ok(())
    }
}

impl<S: Sink> Reader<'_, S> {
    /// Reads what waits for its tables, and reports how the text ended.
    fn conclude(mut self, window: &Window<'_>, mut end: Result<(), StopReason>) -> Reading {
        if end == Err(StopReason::Cancelled) {
            self.reading.unreadable = true;
            return self.reading;
        }
        if !matches!(end, Err(StopReason::Refused | StopReason::OutOfMemory)) {
            let early = self.read_early();
            end = end.and(early);
        }
        self.leave_known();
        self.reading.text_bytes = window.text_len();
        if let Some(failure) = &window.failure {
            self.report(Code::Unreadable, "$", window.text_len(), "$", format_args!("reading stopped: {failure}"));
        }
        let complete = end.is_ok();
        if !matches!(end, Err(StopReason::Truncated(_) | StopReason::Refused | StopReason::OutOfMemory))
            && self.is_foreign()
        {
            let message = "the document has no types, methods or sections, only other members";
            return self.refuse_whole(Code::NotAnIprof, message.to_string());
        }
        if self.placeholders == 2 {
            let message = format!(
                "the type and method tables were never written (each contains one placeholder with id -1), \
                 so the methods of {} are unknown",
                self.counted()
            );
            return self.refuse_whole(Code::PlaceholderTables, message);
        }
        match end {
            Ok(()) | Err(StopReason::Refused) => {}
            Err(StopReason::Cancelled) => self.reading.unreadable = true,
            Err(StopReason::OutOfMemory) => {
                self.report(Code::Unreadable, "$", window.offset(), "$", "reading stopped: out of memory");
                self.reading.unreadable = true;
            }
            Err(StopReason::Truncated(_)) if window.is_blank() => {
                if window.failure.is_none() {
                    self.report(Code::EmptyFile, "$", 0, "$", "the file is empty");
                }
                self.reading.unreadable = true;
            }
            Err(StopReason::Truncated(offset)) => {
                if window.failure.is_none() {
                    let message = format!("the text ends inside the document; {}", self.recovered());
                    self.report(Code::Truncated, "$", offset, "$", message);
                }
                self.reading.findings.repaired(Code::Truncated, "closed", "document", 1);
            }
            Err(StopReason::Syntax(offset, expected)) => {
                let message = format!("expected {expected}; {}", self.recovered());
                self.report(Code::BadJson, "$", offset, "$", message);
                if self.options.salvage {
                    self.reading.findings.repaired(Code::BadJson, "dropped", "text after the error", 1);
                } else {
                    self.reading.unreadable = true;
                }
            }
            Err(StopReason::Encoding(offset)) => {
                self.report(Code::BadEncoding, "$", offset, "$", "the text is not UTF-8");
                self.reading.unreadable = true;
            }
        }
        if complete {
            self.check_whole();
        } else if self.reading.version.is_none() && !self.reading.unreadable {
            // The file is truncated before its version: read it in the form of all producers.
            self.reading.version = Some(self.options.assume_version.unwrap_or_default());
        }
        self.reading
    }

    /// Returns the amount of data that was read before the text ended, by table and section.
    fn recovered(&self) -> String {
        let listed = self.reading.parts.iter().filter(|(name, _)| *name != "version");
        let parts: Vec<String> = listed.map(|(name, part)| format!("{} of {name}", part.entries)).collect();
        if parts.is_empty() { "no entry is complete".to_string() } else { format!("complete: {}", parts.join(", ")) }
    }

    /// Refuses the document for one reason, beside which the others do not matter.
    fn refuse_whole(mut self, code: Code, message: String) -> Reading {
        self.reading.findings = Findings::default();
        self.report(code, "$", 0, "$", message);
        self.reading.unreadable = true;
        self.reading
    }

    /// Returns the number of entries of the sections.
    fn counted(&self) -> String {
        match self.reading.entries() {
            0 => "anything".to_string(),
            1 => "the one entry".to_string(),
            entries => format!("the {entries} entries"),
        }
    }

    /// Whether the document is none of ours: package files, settings and reports
    /// are objects as well, and may even have a version.
    fn is_foreign(&self) -> bool {
        let is_other = |finding: &Finding| finding.code == Code::UnknownSection && finding.level == Level::Warning;
        let is_known = |member: &TopMember| !matches!(member, TopMember::Version | TopMember::Other(..));
        self.reading.findings.iter().any(is_other) && !self.reading.layout.iter().any(is_known)
    }

    /// Checks conditions that are known only at the end of the document.
    fn check_whole(&mut self) {
        let reading = &mut self.reading;
        let present = [
            ("version", reading.version_text.is_some() || self.names_seen.contains(&b"version"[..])),
            ("types", self.tables_read.contains(&Table::Types)),
            ("methods", self.tables_read.contains(&Table::Methods) || self.names_seen.contains(&b"methods"[..])),
        ];
        for (name, present) in present {
            if present {
                continue;
            }
            let message = format_args!("the member \"{name}\" is missing");
            reading.findings.report(Code::MissingField, name, Some(0), name, message);
            match self.options.assume_version {
                Some(assumed) if name == "version" => {
                    reading.version = Some(assumed);
                    reading.findings.repaired(Code::MissingField, "assumed", "version", 1);
                }
                _ => reading.unreadable = true,
            }
        }
        if reading.legacy {
            let message = "the field names are those of 2022; they are read like the current names";
            reading.findings.report(Code::LegacyLayout, "$", Some(0), "$", message);
        }
        let instanceof = self.sections_seen.iter().find(|(kind, _)| *kind == SectionKind::Instanceof);
        if let Some((_, offset)) = instanceof
            && reading.version.is_some_and(|version| version < Version::V1_1)
        {
            let message = "instance-of profiles require version 1.1.0";
            let path = reading.spelling.name();
            reading.findings.report(Code::SectionNewerThanVersion, "$", Some(*offset), path, message);
        }
        if reading.entries() == 0 && !reading.unreadable {
            let message = "all sections are empty";
            reading.findings.report(Code::NoProfiles, "$", Some(0), "$", message);
        }
    }
}
