//! Reading extensible binaries.

use super::metadata::MetadataReader;
use super::sections::{Section, SectionKind, content, flags, read_table};
use super::tables::Tables;
use crate::bytes::Cursor;
use crate::bytes::leb128::read_uleb128;
use crate::error::{Error, Result};
use crate::sampleprof::ReadOptions;
use crate::sampleprof::binary::add_body;
use crate::sampleprof::binary::tables::{read_string, read_summary};
use crate::sampleprof::profile::SampleProfile;
use crate::sampleprof::table::RecordTable;

/// Reads an extensible binary.
///
/// # Errors
///
/// Bad magic, another version than 103 and 104, truncated or malformed content,
/// sections that lead out of the file or do not inflate.
pub(crate) fn read(file: &[u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<()> {
    let header = read_table(file, options)?;
    let mut reader = Reader { options, profile, table: RecordTable::default(), tables: Tables::default() };
    for section in header.sections.iter().filter(|section| section.size > 0) {
        let bytes = content(file, section, &options.limits)?;
        let mut cursor = section.cursor(&bytes);
        reader.section(section, &mut cursor)?;
        let is_known = !matches!(section.kind, SectionKind::Other(_) | SectionKind::Offsets);
        if is_known {
            expect_end(&cursor)?;
        }
    }
    Ok(())
}

/// A section holds nothing but what it should.
pub(super) fn expect_end(cursor: &Cursor<'_>) -> Result<()> {
    if cursor.is_empty() {
        return Ok(());
    }
    let error = Error::malformed(format!("{} bytes are left behind what the section holds", cursor.left()));
    Err(cursor.place(error))
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
            SectionKind::Summary => {
                self.profile.summary = Some(read_summary(cursor)?);
                self.tables.learn_kind(section, self.options, &mut self.profile.stated);
                Ok(())
            }
            SectionKind::Names => self.tables.read_names(section, cursor, self.options, self.profile),
            SectionKind::Contexts => self.tables.read_contexts(cursor, self.options),
            SectionKind::Records => self.records(cursor),
            SectionKind::Metadata => self.metadata(section, cursor),
            SectionKind::Symbols => self.symbols(cursor),
            // Whoever reads all records needs no offsets.
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
            let wanted = self.tables.reference(cursor)?;
            let found = self.table.find(&self.profile.functions, &wanted);
            let record = found.map(|at| &mut self.profile.functions[at]);
            reader.read(cursor, record)?;
        }
        Ok(())
    }

    fn symbols(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let symbols = self.profile.symbols.get_or_insert_default();
        for _ in 0..self.options.most_symbols {
            if cursor.is_empty() {
                return Ok(());
            }
            if !cursor.rest().contains(&0) {
                return Err(cursor.place(Error::malformed("a symbol without the NUL behind it")));
            }
            symbols.insert(read_string(cursor, &self.options.limits)?.to_vec());
        }
        cursor.take("symbols that are passed over", cursor.left())?;
        Ok(())
    }
}
