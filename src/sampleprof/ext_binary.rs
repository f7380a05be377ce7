//! Extensible binary sample profiles: a table of sections follows magic and version.
//!
//! | type | section | holds |
//! |---|---|---|
//! | 1 | ProfileSummarySection | the summary |
//! | 2 | NameTableSection | names, or their MD5 |
//! | 3 | ProfileSymbolListSection | the profile symbol list |
//! | 4 | FuncOffsetTableSection | the offsets of records |
//! | 5 | FunctionMetadata | checksums and attributes |
//! | 6 | CSNameTableSection | calling contexts |
//! | 32 | LBRProfileSection | the records |
//!
//! The table lists the sections in the order in which they are read, which is not that of the file. Any section can be
//! compressed.

use super::binary::{
    BodyReader, NEXT_VERSION, NameForm, VERSION, add_body, check_depth, insert_hash, read_cut, read_header, read_index,
    read_names, read_string, read_summary, read_u32,
};
use super::options::{ReadOptions, Rules, SECTION_TABLE, name_index};
use super::profile::{SampleProfile, StatedKind};
use super::record::{Frame, FunctionRecord, LineLocation, NameId, RecordTable};
use super::search_trees::read_search_trees;
use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, ErrorKind, Result};
use crate::identify::sample_profiles::EXT_BINARY_MAGIC;
use crate::limits::Limits;
use flate2::{Decompress, FlushDecompress, Status};
use foldhash::HashMap;
use std::borrow::Cow;
use std::fmt;

/// Reads an extensible binary.
///
/// # Errors
///
/// Bad magic; another version than 103 and 104; truncated or malformed content; sections beyond the end of the file;
/// sections that cannot be decompressed.
pub(super) fn read(file: &[u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<()> {
    let header = read_table(file, options)?;
    let tables = Tables::of(&header.sections, options);
    let mut reader = Reader { options, profile, table: RecordTable::default(), tables };
    for section in header.sections.iter().filter(|section| section.size > 0) {
        section.check_flags(options)?;
        let bytes = content(file, section, &options.limits)?;
        reader.section(section, &mut section.cursor(&bytes))?;
    }
    Ok(())
}

struct Reader<'a> {
    options: &'a ReadOptions,
    profile: &'a mut SampleProfile,
    table: RecordTable,
    tables: Tables,
}

impl Reader<'_> {
    fn section(&mut self, section: &Section, cursor: &mut Cursor<'_>) -> Result<()> {
        match section.kind {
            SectionKind::Summary | SectionKind::Names | SectionKind::Contexts => {
                self.tables.read_section(section, cursor, self.options, self.profile)
            }
            SectionKind::Records => self.records(cursor),
            SectionKind::Metadata => self.metadata(section, cursor),
            SectionKind::Symbols => self.symbols(cursor),
            SectionKind::Offsets | SectionKind::Other(_) => Ok(()),
        }
    }

    fn records(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let bodies = self.tables.bodies(self.options);
        while !cursor.is_empty() {
            let head = read_uleb128(cursor, "head of a record")?;
            let wanted = self.tables.reference(cursor)?;
            add_body(cursor, self.profile, &mut self.table, &bodies, self.options, &wanted, head)?;
        }
        Ok(())
    }

    fn metadata(&mut self, section: &Section, cursor: &mut Cursor<'_>) -> Result<()> {
        let reader = MetadataReader::new(section, &self.tables);
        self.profile.stated.probe_based = Some(section.has(flags::PROBES));
        while !cursor.is_empty() {
            self.options.cancel.check()?;
            let wanted = self.tables.reference(cursor)?;
            let found = self.table.find(&self.profile.functions, &wanted);
            let record = found.map(|at| &mut self.profile.functions[at]);
            reader.read(cursor, record, 0)?;
        }
        Ok(())
    }

    fn symbols(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let symbols = self.profile.symbols.get_or_insert_default();
        for _ in 0..self.options.most_symbols {
            self.options.cancel.check()?;
            if cursor.is_empty() {
                return Ok(());
            }
            if !cursor.rest().contains(&0) {
                return Err(cursor.place(Error::malformed("a symbol is not terminated by NUL")));
            }
            symbols.insert(read_string(cursor, &self.options.limits)?.to_vec());
        }
        cursor.take("skipped symbols", cursor.left())?;
        Ok(())
    }
}

/// The names, contexts and flags that were read so far.
#[derive(Debug, Default)]
struct Tables {
    names: Vec<NameId>,
    contexts: Vec<Box<[Frame]>>,
    in_contexts: bool,
    /// Whether the metadata of a function contains that of its inlined callees.
    has_metadata_of_callees: bool,
    has_vtables: bool,
    flow_sensitive: bool,
}

impl Tables {
    /// Starts to read a file with these sections.
    fn of(sections: &[Section], options: &ReadOptions) -> Self {
        Self { has_metadata_of_callees: !options.every_release || !is_of_llvm_13(sections), ..Self::default() }
    }

    /// Reads the section of the summary, the names or the contexts.
    fn read_section(
        &mut self,
        section: &Section,
        cursor: &mut Cursor<'_>,
        options: &ReadOptions,
        profile: &mut SampleProfile,
    ) -> Result<()> {
        match section.kind {
            SectionKind::Summary => {
                profile.summary = Some(read_summary(cursor)?);
                self.learn_kind(section, options, &mut profile.stated);
            }
            SectionKind::Names => self.read_names(section, cursor, options, profile)?,
            _ => self.read_contexts(cursor, options)?,
        }
        if cursor.is_empty() {
            return Ok(());
        }
        let error = Error::malformed(format!("{} bytes are left at the end of the section", cursor.left()));
        Err(cursor.place(error))
    }

    /// Reads the flags of the summary.
    fn learn_kind(&mut self, section: &Section, options: &ReadOptions, stated: &mut StatedKind) {
        stated.partial |= section.has(flags::PARTIAL);
        if section.has(flags::CONTEXTS) {
            stated.context_sensitive = Some(true);
            self.in_contexts = true;
        }
        if section.has(flags::PREINLINED) && options.reads_preinlined_flag() {
            stated.preinlined = Some(true);
        }
        if section.has(flags::FLOW_SENSITIVE) {
            stated.flow_sensitive = Some(true);
            self.flow_sensitive = true;
        }
        self.has_vtables |= section.has(flags::VTABLES) && options.reads_vtables();
    }

    /// Reads names, which replace those of an earlier section.
    fn read_names(
        &mut self,
        section: &Section,
        cursor: &mut Cursor<'_>,
        options: &ReadOptions,
        profile: &mut SampleProfile,
    ) -> Result<()> {
        if options.every_release && section.has(flags::SEARCH_TREES) {
            profile.stated.hashed = true;
            let hashes = read_search_trees(cursor)?;
            self.names = hashes.into_iter().map(|hash| insert_hash(&mut profile.names, hash, options)).collect();
            return Ok(());
        }
        let form = if section.has(flags::FIXED_MD5) {
            NameForm::FixedHashes
        } else if section.has(flags::MD5) {
            NameForm::Hashes
        } else {
            NameForm::Strings
        };
        profile.stated.hashed |= form != NameForm::Strings;
        self.names = read_names(cursor, form, &mut profile.names, options)?;
        Ok(())
    }

    /// Reads contexts, which replace those of an earlier section.
    fn read_contexts(&mut self, cursor: &mut Cursor<'_>, options: &ReadOptions) -> Result<()> {
        let count = read_uleb128(cursor, "number of contexts")?;
        if count > cursor.left() {
            return Err(cursor.place(Error::truncated("contexts", count, cursor.left())));
        }
        let limit = u64::from(options.limits.context_depth);
        self.contexts.clear();
        for _ in 0..count {
            options.cancel.check()?;
            let frames = read_uleb128(cursor, "number of frames")?;
            if frames > cursor.left() / 3 {
                return Err(cursor.place(Error::truncated("frames", frames.saturating_mul(3), cursor.left())));
            }
            if frames > limit {
                return Err(cursor.place(Error::above_limit(
                    Some("context-depth"),
                    "number of frames of a context",
                    frames,
                    limit,
                )));
            }
            self.contexts.push((0..frames).map(|_| self.frame(cursor, options)).collect::<Result<_>>()?);
        }
        Ok(())
    }

    fn frame(&self, cursor: &mut Cursor<'_>, options: &ReadOptions) -> Result<Frame> {
        let function = read_index(cursor, &self.names)?;
        let line = read_cut(cursor, "line of a frame")?;
        if line >= 1 << 16 {
            let error = Error::malformed(format!("line {line} of a frame is not below 65536"));
            let words = "Illegal line offset in sample profile data";
            let named = options.rules.names_illegal_lines();
            return Err(cursor.place(if named { error.with_llvm_detail(words) } else { error }));
        }
        let discriminator = read_cut(cursor, "discriminator of a frame")?;
        Ok(Frame { function, location: LineLocation::new(line, discriminator) })
    }

    /// Returns the reader of bodies.
    fn bodies(&self, options: &ReadOptions) -> BodyReader<'_> {
        BodyReader {
            names: &self.names,
            mask: options.discriminator_mask(self.flow_sensitive),
            has_vtables: self.has_vtables,
            names_illegal_lines: options.rules.names_illegal_lines(),
        }
    }

    /// Reads the index of a function or context, and returns an empty record of it.
    fn reference(&self, cursor: &mut Cursor<'_>) -> Result<FunctionRecord> {
        if !self.in_contexts {
            return Ok(FunctionRecord::new(read_index(cursor, &self.names)?));
        }
        let index = read_uleb128(cursor, "index of a context")?;
        let frames = usize::try_from(index).ok().and_then(|index| self.contexts.get(index));
        let frames = frames.ok_or_else(|| cursor.place(name_index(index, self.contexts.len())))?;
        FunctionRecord::in_context(frames.clone())
            .ok_or_else(|| cursor.place(Error::malformed("a context without frames")))
    }
}

/// Returns true for the section table of LLVM 13 and earlier. Later releases have a section for contexts, or two sections
/// of records. Tables of partial merges have a further section.
fn is_of_llvm_13(sections: &[Section]) -> bool {
    use SectionKind::{Metadata, Names, Offsets, Records, Summary, Symbols};
    let known = sections.iter().map(|section| section.kind).filter(|kind| !matches!(kind, SectionKind::Other(_)));
    known.eq([Summary, Names, Offsets, Records, Symbols, Metadata])
}

/// Reads metadata.
struct MetadataReader<'a> {
    names: &'a [NameId],
    has_checksums: bool,
    has_attributes: bool,
    has_callees: bool,
}

impl<'a> MetadataReader<'a> {
    fn new(section: &Section, tables: &'a Tables) -> Self {
        Self {
            names: &tables.names,
            has_checksums: section.has(flags::PROBES),
            has_attributes: section.has(flags::ATTRIBUTES),
            has_callees: tables.has_metadata_of_callees && !tables.in_contexts,
        }
    }

    /// Reads the metadata of a record that is inlined at `depth`. Without a record they are skipped.
    fn read(&self, cursor: &mut Cursor<'_>, mut record: Option<&mut FunctionRecord>, depth: usize) -> Result<()> {
        check_depth(cursor, depth)?;
        // As in LLVM, a section may end after any reference.
        if cursor.is_empty() {
            return Ok(());
        }
        if self.has_checksums {
            let checksum = read_uleb128(cursor, "checksum")?;
            if let Some(record) = record.as_deref_mut().filter(|_| checksum != 0) {
                record.checksum = checksum;
            }
        }
        if self.has_attributes {
            let attributes = read_u32(cursor, "attributes")?;
            if let Some(record) = record.as_deref_mut() {
                record.attributes = attributes;
            }
        }
        if !self.has_callees {
            return Ok(());
        }
        for _ in 0..read_u32(cursor, "number of inlined callees")? {
            let line = read_cut(cursor, "line of an inlined callee")?;
            let discriminator = read_cut(cursor, "discriminator of an inlined callee")?;
            let name = read_index(cursor, self.names)?;
            let callee = match record.as_deref_mut() {
                Some(record) => {
                    let at = record.call_site_at(LineLocation::new(line, discriminator), name);
                    Some(&mut record.call_sites[at].callee)
                }
                None => None,
            };
            self.read(cursor, callee, depth + 1)?;
        }
        Ok(())
    }
}

/// A section and its bytes, decompressed.
#[derive(Debug)]
struct Content<'data> {
    section: Section,
    bytes: Cow<'data, [u8]>,
}

/// The offset tables of a file, by which single records are read.
#[derive(Debug)]
pub(super) struct Index<'data> {
    tables: Tables,
    records: Vec<Content<'data>>,
    metadata: Vec<Content<'data>>,
    /// The sections and offsets of the records of each function.
    places: HashMap<NameId, Vec<(usize, u64)>>,
}

impl<'data> Index<'data> {
    /// Reads everything but records, metadata and symbols. `profile` receives the names, the kind and the summary.
    /// Returns `None` if a section of records has no table of offsets.
    ///
    /// # Errors
    ///
    /// The errors of [`read`].
    pub(super) fn read(file: &'data [u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<Option<Self>> {
        let Header { sections, .. } = read_table(file, options)?;
        let mut index = Self {
            tables: Tables::of(&sections, options),
            records: Vec::new(),
            metadata: Vec::new(),
            places: HashMap::default(),
        };
        let mut offsets = Vec::new();
        for section in sections.into_iter().filter(|section| section.size > 0) {
            if matches!(section.kind, SectionKind::Symbols | SectionKind::Other(_)) {
                continue;
            }
            section.check_flags(options)?;
            let found = Content { bytes: content(file, &section, &options.limits)?, section };
            match section.kind {
                SectionKind::Records => index.records.push(found),
                SectionKind::Metadata => {
                    profile.stated.probe_based = Some(section.has(flags::PROBES));
                    index.metadata.push(found);
                }
                SectionKind::Offsets => offsets.push(found),
                _ => {
                    let mut cursor = section.cursor(&found.bytes);
                    index.tables.read_section(&section, &mut cursor, options, profile)?;
                }
            }
        }
        let is_found = index.read_offsets(&offsets, options)?;
        Ok(is_found.then_some(index))
    }

    /// Reads the table of each section of records. In the split layout, both have the same flag for functions without
    /// inlined callees.
    fn read_offsets(&mut self, offsets: &[Content<'_>], options: &ReadOptions) -> Result<bool> {
        for at in 0..self.records.len() {
            let is_flat = self.records[at].section.has(flags::FLAT);
            let mut of_it = offsets.iter().filter(|table| table.section.has(flags::FLAT) == is_flat);
            let (Some(table), None) = (of_it.next(), of_it.next()) else { return Ok(false) };
            if options.every_release && table.section.has(flags::PARALLEL) {
                // It has no names. All records are read instead.
                return Ok(false);
            }
            let mut cursor = table.section.cursor(&table.bytes);
            for _ in 0..read_uleb128(&mut cursor, "number of offsets")? {
                let name = self.tables.reference(&mut cursor)?.name;
                let offset = read_uleb128(&mut cursor, "offset of a record")?;
                self.places.entry(name).or_default().push((at, offset));
            }
        }
        Ok(true)
    }

    /// Reads the records of a function.
    ///
    /// # Errors
    ///
    /// The errors of [`read`], and offsets that lead to another function.
    pub(super) fn function(&self, name: NameId, options: &ReadOptions) -> Result<Vec<FunctionRecord>> {
        let mut found = SampleProfile::default();
        let mut table = RecordTable::default();
        let bodies = self.tables.bodies(options);
        for place in self.places.get(&name).into_iter().flatten() {
            let (mut cursor, head, wanted) = self.begin_record(name, *place)?;
            add_body(&mut cursor, &mut found, &mut table, &bodies, options, &wanted, head)?;
        }
        let has_found = !found.functions.is_empty();
        for Content { section, bytes } in self.metadata.iter().filter(|_| has_found) {
            let (reader, mut cursor) = (MetadataReader::new(section, &self.tables), section.cursor(bytes));
            while !cursor.is_empty() {
                let wanted = self.tables.reference(&mut cursor)?;
                let record = table.find(&found.functions, &wanted).map(|at| &mut found.functions[at]);
                reader.read(&mut cursor, record, 0)?;
            }
        }
        Ok(found.functions)
    }

    /// Checks that every offset is that of its function's record, and that every record has one.
    ///
    /// # Errors
    ///
    /// The errors of [`function`](Self::function); malformed for a record without an offset.
    pub(super) fn check_offsets(&self, options: &ReadOptions) -> Result<()> {
        let (bodies, mut scratch) = (self.tables.bodies(options), SampleProfile::default());
        let mut all: Vec<_> =
            self.places.iter().flat_map(|(name, places)| places.iter().map(|place| (*place, *name))).collect();
        all.sort_unstable();
        // Records follow each other without gaps.
        let mut ends = vec![0; self.records.len()];
        for (place, name) in all {
            let (mut cursor, head, wanted) = self.begin_record(name, place)?;
            self.check_end(place.0, ends[place.0], place.1)?;
            scratch.functions.clear();
            let mut table = RecordTable::default();
            add_body(&mut cursor, &mut scratch, &mut table, &bodies, options, &wanted, head)?;
            ends[place.0] = self.records[place.0].len() - cursor.left();
        }
        (0..self.records.len()).try_for_each(|at| self.check_end(at, ends[at], self.records[at].len()))
    }

    /// Checks that the next record of a section begins where the previous one ends.
    fn check_end(&self, section: usize, end: u64, next: u64) -> Result<()> {
        match end == next {
            true => Ok(()),
            false if end < next => {
                let cursor = self.records[section].cursor_at(end)?;
                Err(cursor.place(Error::malformed("the table of offsets lacks the record that begins here")))
            }
            false => {
                let cursor = self.records[section].cursor_at(next)?;
                Err(cursor.place(Error::malformed("no record begins at this offset of the table")))
            }
        }
    }

    /// Reads the head and the reference of a record, and returns a cursor at its body.
    fn begin_record(&self, name: NameId, (section, offset): (usize, u64)) -> Result<(Cursor<'_>, u64, FunctionRecord)> {
        let mut cursor = self.records[section].cursor_at(offset)?;
        let head = read_uleb128(&mut cursor, "head of a record")?;
        let wanted = self.tables.reference(&mut cursor)?;
        if wanted.name != name {
            return Err(cursor.place(Error::malformed("an offset is that of another function's record")));
        }
        Ok((cursor, head, wanted))
    }
}

impl Content<'_> {
    fn len(&self) -> u64 {
        self.section.cursor(&self.bytes).left()
    }

    /// Returns a cursor at an offset.
    fn cursor_at(&self, offset: u64) -> Result<Cursor<'_>> {
        let mut cursor = self.section.cursor(&self.bytes);
        if offset >= cursor.left() {
            return Err(cursor.place(Error::truncated("the target of an offset", offset, cursor.left())));
        }
        cursor.take("earlier records", offset)?;
        Ok(cursor)
    }
}

/// The content of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SectionKind {
    /// The summary.
    Summary,
    /// Names.
    Names,
    /// The profile symbol list.
    Symbols,
    /// Offsets of records.
    Offsets,
    /// Checksums and attributes.
    Metadata,
    /// Calling contexts.
    Contexts,
    /// The records.
    Records,
    /// Another content, by its number.
    Other(u32),
}

impl SectionKind {
    /// Returns the kind with the given number.
    pub fn of(number: u32) -> Self {
        match number {
            1 => Self::Summary,
            2 => Self::Names,
            3 => Self::Symbols,
            4 => Self::Offsets,
            5 => Self::Metadata,
            6 => Self::Contexts,
            32 => Self::Records,
            other => Self::Other(other),
        }
    }

    /// Returns the number of the kind in the file.
    pub fn number(self) -> u32 {
        match self {
            Self::Summary => 1,
            Self::Names => 2,
            Self::Symbols => 3,
            Self::Offsets => 4,
            Self::Metadata => 5,
            Self::Contexts => 6,
            Self::Records => 32,
            Self::Other(number) => number,
        }
    }

    /// Returns the flags that a section of the kind can have.
    fn known_flags(self) -> u64 {
        use flags::*;
        let of_kind = match self {
            Self::Summary => PARTIAL | CONTEXTS | FLOW_SENSITIVE | PREINLINED | VTABLES,
            Self::Names => MD5 | FIXED_MD5 | UNIQUE_SUFFIX | SEARCH_TREES,
            Self::Offsets => ORDERED | PARALLEL,
            Self::Metadata => PROBES | ATTRIBUTES,
            Self::Symbols | Self::Contexts | Self::Records => 0,
            Self::Other(_) => return u64::MAX,
        };
        COMPRESSED | FLAT | of_kind
    }

    /// Returns LLVM's name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Summary => "ProfileSummarySection",
            Self::Names => "NameTableSection",
            Self::Symbols => "ProfileSymbolListSection",
            Self::Offsets => "FuncOffsetTableSection",
            Self::Metadata => "FunctionMetadata",
            Self::Contexts => "CSNameTableSection",
            Self::Records => "LBRProfileSection",
            Self::Other(0) => "InvalidSection",
            Self::Other(_) => "UnknownSection",
        }
    }
}

/// Bits of [`Section::flags`](super::Section::flags): those of all sections, and those of each kind.
pub(super) mod flags {
    pub(in super::super) const COMPRESSED: u64 = 1;
    pub(in super::super) const FLAT: u64 = 1 << 1;
    /// For the summary.
    pub(in super::super) const PARTIAL: u64 = 1 << 32;
    pub(in super::super) const CONTEXTS: u64 = 1 << 33;
    pub(in super::super) const FLOW_SENSITIVE: u64 = 1 << 34;
    pub(in super::super) const PREINLINED: u64 = 1 << 36;
    pub(in super::super) const VTABLES: u64 = 1 << 37;
    /// For the names.
    pub(in super::super) const MD5: u64 = 1 << 32;
    pub(in super::super) const FIXED_MD5: u64 = 1 << 33;
    pub(in super::super) const UNIQUE_SUFFIX: u64 = 1 << 34;
    /// LLVM 24: the names are three arrays of hashes in the order of a search tree.
    pub(in super::super) const SEARCH_TREES: u64 = 1 << 35;
    /// For the offsets.
    pub(in super::super) const ORDERED: u64 = 1 << 32;
    /// LLVM 24: the offsets are an array of 32-bit numbers in the order of the names.
    pub(in super::super) const PARALLEL: u64 = 1 << 33;
    /// For the symbols. LLVM 24: they are hashes in the order of a search tree.
    pub(in super::super) const HASHED_SYMBOLS: u64 = 1 << 32;
    /// For the metadata.
    pub(in super::super) const PROBES: u64 = 1 << 32;
    pub(in super::super) const ATTRIBUTES: u64 = 1 << 33;
}

/// A row of the section table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Section {
    /// The content.
    pub kind: SectionKind,
    /// Bits of all sections in the low half, bits of the kind in the high half.
    pub flags: u64,
    /// The offset from the start of the file.
    pub offset: u64,
    /// The stored size.
    pub size: u64,
}

impl Section {
    pub(super) fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }

    /// Checks that this program knows every flag: an unknown flag changes the layout of the section. Sections of unknown
    /// kinds are skipped, so their flags do not matter.
    fn check_flags(&self, options: &ReadOptions) -> Result<()> {
        if !options.every_release {
            // llvm-profdata ignores them.
            return Ok(());
        }
        let newer = match self.kind {
            SectionKind::Symbols => (flags::HASHED_SYMBOLS, "LLVM 24's symbol list of MD5 hashes"),
            _ => (0, ""),
        };
        let unknown = self.flags & !self.kind.known_flags();
        if unknown == 0 {
            return Ok(());
        }
        let is_newer = unknown == newer.0;
        let what = if is_newer {
            format!("reading {}", newer.1)
        } else {
            format!("reading a section with the unknown flags {unknown:#x}")
        };
        let hint = if is_newer {
            "write the profile without the MD5 tables of LLVM 24"
        } else {
            "write the profile with LLVM 23 or earlier"
        };
        let error = Error::from(ErrorKind::Unsupported { what }).with_hint(hint);
        // In llvm-profdata mode, a newer layout is reported like a newer version.
        Err(error.with_llvm_detail("Unsupported sample profile format version").at(self.kind.name(), self.offset))
    }

    /// Returns a cursor over the content. Its positions are offsets in the file unless the section is compressed.
    pub(super) fn cursor<'data>(&self, content: &'data [u8]) -> Cursor<'data> {
        let base = if self.has(flags::COMPRESSED) { 0 } else { self.offset };
        Cursor::new(content, base, Endian::Little, self.kind.name())
    }

    /// Returns LLVM's words for the flags.
    fn flag_words(&self) -> Vec<&'static str> {
        let mut words = Vec::new();
        let mut push_if = |flag, word| {
            if self.flags & flag != 0 {
                words.push(word);
            }
        };
        push_if(flags::COMPRESSED, "compressed");
        push_if(flags::FLAT, "flat");
        match self.kind {
            SectionKind::Names => {
                let fixed = self.flags & flags::FIXED_MD5 != 0;
                push_if(if fixed { flags::FIXED_MD5 } else { flags::MD5 }, if fixed { "fixlenmd5" } else { "md5" });
                push_if(flags::UNIQUE_SUFFIX, "uniq");
            }
            SectionKind::Summary => {
                push_if(flags::PARTIAL, "partial");
                push_if(flags::CONTEXTS, "context");
                push_if(flags::PREINLINED, "preInlined");
                push_if(flags::FLOW_SENSITIVE, "fs-discriminator");
            }
            SectionKind::Offsets => push_if(flags::ORDERED, "ordered"),
            SectionKind::Metadata => {
                push_if(flags::PROBES, "probe");
                push_if(flags::ATTRIBUTES, "attr");
            }
            _ => {}
        }
        words
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.flag_words().join(",");
        write!(f, "{} - Offset: {}, Size: {}, Flags: {{{words}}}", self.kind.name(), self.offset, self.size)
    }
}

/// The section table, and the size of what precedes the sections.
struct Header {
    sections: Vec<Section>,
    size: u64,
}

/// Returns true if a file has version 104.
pub(super) fn is_next_version(file: &[u8]) -> bool {
    let mut cursor = Cursor::new(file, 0, Endian::Little, "header");
    read_header(&mut cursor, EXT_BINARY_MAGIC, &[NEXT_VERSION]).is_ok()
}

/// Returns true if a release knows the properties of the sections of a file.
pub(super) fn knows_sections(rules: Rules, file: &[u8]) -> bool {
    let is_known = |section: &Section| match section.kind {
        SectionKind::Summary if section.has(flags::VTABLES) => rules.knows_vtables(),
        SectionKind::Summary if section.has(flags::CONTEXTS) => rules.has_context_table(),
        SectionKind::Names if section.has(flags::FIXED_MD5) => rules.has_fixed_length_hashes(),
        SectionKind::Names if section.has(flags::MD5) => rules.has_hashes_of_names(),
        SectionKind::Metadata if section.has(flags::PROBES) => rules.knows_contexts_and_probes(),
        _ => true,
    };
    let sections = read_table(file, &ReadOptions::default()).map(|header| header.sections).unwrap_or_default();
    sections.iter().all(is_known)
}

fn read_table(file: &[u8], options: &ReadOptions) -> Result<Header> {
    let mut cursor = Cursor::new(file, 0, Endian::Little, "header");
    let versions = if options.reads_104() { &[VERSION, NEXT_VERSION][..] } else { &[VERSION] };
    read_header(&mut cursor, EXT_BINARY_MAGIC, versions)?;
    cursor.enter(SECTION_TABLE);
    let count = cursor.u64("number of sections")?;
    if count > cursor.left() / 32 {
        return Err(cursor.place(Error::truncated("table of sections", count.saturating_mul(32), cursor.left())));
    }
    let mut sections = Vec::with_capacity(count as usize);
    for _ in 0..count {
        sections.push(Section {
            kind: SectionKind::of(cursor.u64("type of a section")? as u32),
            flags: cursor.u64("flags of a section")?,
            offset: cursor.u64("offset of a section")?,
            size: cursor.u64("size of a section")?,
        });
    }
    Ok(Header { sections, size: cursor.position() })
}

/// Returns the content of a section, decompressed.
fn content<'data>(file: &'data [u8], section: &Section, limits: &Limits) -> Result<Cow<'data, [u8]>> {
    let name = section.kind.name();
    let end = section.offset.checked_add(section.size).and_then(|end| usize::try_from(end).ok());
    let stored = end.and_then(|end| file.get(section.offset as usize..end)).ok_or_else(|| {
        let left = (file.len() as u64).saturating_sub(section.offset);
        Error::truncated("a section", section.size, left).at(name, section.offset)
    })?;
    if !section.has(flags::COMPRESSED) {
        return Ok(Cow::Borrowed(stored));
    }
    let mut cursor = Cursor::new(stored, section.offset, Endian::Little, name);
    let size = read_uleb128(&mut cursor, "uncompressed size")?;
    let compressed = read_uleb128(&mut cursor, "compressed size")?;
    // If the size is too large, the stream does not end, which is an error below.
    let stream = cursor.take("compressed data", compressed.min(cursor.left()))?;
    inflate(stream, size, limits).map(Cow::Owned).map_err(|error| error.at(name, section.offset))
}

fn inflate(stream: &[u8], size: u64, limits: &Limits) -> Result<Vec<u8>> {
    let failed = |detail: String| Error::new(ErrorKind::UncompressFailed { detail });
    let most = (stream.len() as u64).saturating_mul(limits.inflate_ratio).min(limits.inflated_bytes);
    if size > most {
        return Err(failed(format!("{} bytes cannot inflate to {size}, the limit is {most}", stream.len())));
    }
    let mut text = crate::bytes::names::try_with_capacity(size as usize)?;
    let mut inflater = Decompress::new(true);
    match inflater.decompress_vec(stream, &mut text, FlushDecompress::Finish) {
        Ok(Status::StreamEnd) if text.len() as u64 == size => Ok(text),
        // LLVM uses the bytes that there are, and fails when it reads the rest of the section.
        Ok(Status::StreamEnd) => {
            Err(Error::malformed(format!("the stream inflates to {} bytes, not to the stated {size}", text.len())))
        }
        Ok(_) => Err(failed(format!("the stream does not inflate to the stated {size} bytes"))),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Returns the offset at which the last section of an extensible binary ends. Readers ignore the bytes after it.
///
/// # Errors
///
/// Truncated or malformed, if the section table is not valid.
pub(crate) fn extent(file: &[u8], options: &ReadOptions) -> Result<u64> {
    let header = read_table(file, options)?;
    let ends = header.sections.iter().map(|section| section.offset.saturating_add(section.size));
    Ok(ends.max().unwrap_or_default().max(header.size))
}

/// Returns true if the file states that it has names with the suffixes of `-funique-internal-linkage-names`.
///
/// # Errors
///
/// Truncated or malformed, if the section table is not valid.
#[cfg(feature = "families")]
pub(crate) fn states_unique_names(file: &[u8], options: &ReadOptions) -> Result<bool> {
    Ok(read_table(file, options)?
        .sections
        .iter()
        .any(|section| section.kind == SectionKind::Names && section.has(flags::UNIQUE_SUFFIX)))
}

/// Returns the output of `llvm-profdata show --show-sec-info-only`.
///
/// # Errors
///
/// Truncated or malformed, if the section table is not valid.
pub fn describe_sections(file: &[u8], options: &ReadOptions) -> Result<String> {
    let header = read_table(file, options)?;
    let mut text = String::new();
    let mut total = 0u64;
    for section in &header.sections {
        text += &format!("{section}\n");
        total = total.wrapping_add(section.size);
    }
    text += &format!("Header Size: {}\nTotal Sections Size: {total}\nFile Size: {}\n", header.size, file.len());
    Ok(text)
}
