//! Single records of an extensible binary, found by its table of offsets.

use super::metadata::MetadataReader;
use super::reader::expect_end;
use super::sections::{Header, Section, SectionKind, content, flags, read_table};
use super::tables::Tables;
use crate::bytes::Cursor;
use crate::bytes::leb128::read_uleb128;
use crate::error::{Error, Result};
use crate::sampleprof::ReadOptions;
use crate::sampleprof::binary::add_body;
use crate::sampleprof::binary::tables::read_summary;
use crate::sampleprof::names::NameId;
use crate::sampleprof::profile::SampleProfile;
use crate::sampleprof::record::FunctionRecord;
use crate::sampleprof::table::RecordTable;
use foldhash::HashMap;
use std::borrow::Cow;

/// The bytes of a section, inflated.
#[derive(Debug)]
struct Content<'data> {
    section: Section,
    bytes: Cow<'data, [u8]>,
}

/// Where the records of a file are.
#[derive(Debug)]
pub(crate) struct Index<'data> {
    tables: Tables,
    records: Vec<Content<'data>>,
    metadata: Vec<Content<'data>>,
    /// Sections and offsets of the records of each function.
    places: HashMap<NameId, Vec<(usize, u64)>>,
}

impl<'data> Index<'data> {
    /// Reads everything but records, metadata and symbols; `profile` gets the
    /// names, the kind and the summary. `None` when some records stand in no
    /// table.
    ///
    /// # Errors
    ///
    /// As of [`read`](super::read).
    pub(crate) fn read(file: &'data [u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<Option<Self>> {
        let Header { sections, .. } = read_table(file, options)?;
        let mut index =
            Self { tables: Tables::default(), records: Vec::new(), metadata: Vec::new(), places: HashMap::default() };
        let mut offsets = Vec::new();
        for section in sections.into_iter().filter(|section| section.size > 0) {
            if matches!(section.kind, SectionKind::Symbols | SectionKind::Other(_)) {
                continue;
            }
            let found = Content { bytes: content(file, &section, &options.limits)?, section };
            match section.kind {
                SectionKind::Records => index.records.push(found),
                SectionKind::Metadata => {
                    profile.stated.probe_based = Some(section.has(flags::PROBES));
                    index.metadata.push(found);
                }
                SectionKind::Offsets => offsets.push(found),
                _ => index.read_table_section(&found, options, profile)?,
            }
        }
        let is_found = index.read_offsets(&offsets)?;
        Ok(is_found.then_some(index))
    }

    fn read_table_section(
        &mut self,
        found: &Content<'_>,
        options: &ReadOptions,
        profile: &mut SampleProfile,
    ) -> Result<()> {
        let section = &found.section;
        let mut cursor = section.cursor(&found.bytes);
        match section.kind {
            SectionKind::Summary => {
                profile.summary = Some(read_summary(&mut cursor)?);
                self.tables.learn_kind(section, options, &mut profile.stated);
            }
            SectionKind::Names => self.tables.read_names(section, &mut cursor, options, profile)?,
            _ => self.tables.read_contexts(&mut cursor, options)?,
        }
        expect_end(&cursor)
    }

    /// Each section of records has its table: in the split layout they share
    /// the flag for functions without inlined callees.
    fn read_offsets(&mut self, offsets: &[Content<'_>]) -> Result<bool> {
        for at in 0..self.records.len() {
            let is_flat = self.records[at].section.has(flags::FLAT);
            let mut of_it = offsets.iter().filter(|table| table.section.has(flags::FLAT) == is_flat);
            let (Some(table), None) = (of_it.next(), of_it.next()) else { return Ok(false) };
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
    /// As of [`read`](super::read), and malformed when an offset leads to
    /// another function.
    pub(crate) fn function(&self, name: NameId, options: &ReadOptions) -> Result<Vec<FunctionRecord>> {
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
                reader.read(&mut cursor, record)?;
            }
        }
        Ok(found.functions)
    }

    /// Whether all offsets lead to the functions that they are said to.
    ///
    /// # Errors
    ///
    /// As of [`function`](Self::function).
    pub(crate) fn check_offsets(&self) -> Result<()> {
        let mut all: Vec<_> =
            self.places.iter().flat_map(|(name, places)| places.iter().map(|place| (*place, *name))).collect();
        all.sort_unstable();
        all.into_iter().try_for_each(|(place, name)| self.begin_record(name, place).map(|_| ()))
    }

    /// Reads head and reference of a record; the cursor is then at its body.
    fn begin_record(&self, name: NameId, (section, offset): (usize, u64)) -> Result<(Cursor<'_>, u64, FunctionRecord)> {
        let mut cursor = self.records[section].cursor_at(offset)?;
        let head = read_uleb128(&mut cursor, "head of a record")?;
        let wanted = self.tables.reference(&mut cursor)?;
        if wanted.name != name {
            return Err(cursor.place(Error::malformed("an offset leads to the record of another function")));
        }
        Ok((cursor, head, wanted))
    }
}

impl Content<'_> {
    /// The bytes from an offset on.
    fn cursor_at(&self, offset: u64) -> Result<Cursor<'_>> {
        let mut cursor = self.section.cursor(&self.bytes);
        if offset >= cursor.left() {
            return Err(cursor.place(Error::truncated("what an offset leads to", offset, cursor.left())));
        }
        cursor.take("records in front", offset)?;
        Ok(cursor)
    }
}
