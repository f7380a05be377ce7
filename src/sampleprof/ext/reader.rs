//! Reading extensible binaries.

use super::metadata::MetadataReader;
use super::sections::{Section, SectionKind, content, flags, read_table};
use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, ErrorKind, Result};
use crate::sampleprof::ReadOptions;
use crate::sampleprof::binary::add_body;
use crate::sampleprof::binary::body::{BodyReader, read_cut, read_index};
use crate::sampleprof::binary::tables::{NameForm, read_names, read_string, read_summary};
use crate::sampleprof::error::name_index;
use crate::sampleprof::names::NameId;
use crate::sampleprof::profile::SampleProfile;
use crate::sampleprof::record::{Frame, FunctionRecord, LineLocation};
use crate::sampleprof::table::RecordTable;

/// Reads an extensible binary.
///
/// # Errors
///
/// Bad magic, another version than 103 and 104, truncated or malformed content,
/// sections that lead out of the file or do not inflate.
pub(in crate::sampleprof) fn read(file: &[u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<()> {
    let header = read_table(file, options)?;
    let mut reader = Reader {
        options,
        profile,
        table: RecordTable::default(),
        names: Vec::new(),
        contexts: Vec::new(),
        in_contexts: false,
        has_vtables: false,
        flow_sensitive: false,
    };
    for section in header.sections.iter().filter(|section| section.size > 0) {
        let bytes = content(file, section, &options.limits)?;
        let base = if section.has(flags::COMPRESSED) { 0 } else { section.offset };
        let mut cursor = Cursor::new(&bytes, base, Endian::Little, section.kind.name());
        reader.section(section, &mut cursor)?;
        let is_known = !matches!(section.kind, SectionKind::Other(_) | SectionKind::Offsets);
        if is_known && !cursor.is_empty() {
            let error = Error::malformed(format!("{} bytes are left behind what the section holds", cursor.left()));
            return Err(cursor.place(error));
        }
    }
    Ok(())
}

struct Reader<'a> {
    options: &'a ReadOptions,
    profile: &'a mut SampleProfile,
    table: RecordTable,
    names: Vec<NameId>,
    contexts: Vec<Box<[Frame]>>,
    in_contexts: bool,
    has_vtables: bool,
    flow_sensitive: bool,
}

impl Reader<'_> {
    fn section(&mut self, section: &Section, cursor: &mut Cursor<'_>) -> Result<()> {
        match section.kind {
            SectionKind::Summary => self.summary(section, cursor),
            SectionKind::Names => self.names(section, cursor),
            SectionKind::Contexts => self.contexts(cursor),
            SectionKind::Records => self.records(cursor),
            SectionKind::Metadata => self.metadata(section, cursor),
            SectionKind::Symbols => self.symbols(cursor),
            // Compilers use the offsets; whoever reads all records does not.
            SectionKind::Offsets | SectionKind::Other(_) => Ok(()),
        }
    }

    fn summary(&mut self, section: &Section, cursor: &mut Cursor<'_>) -> Result<()> {
        self.profile.summary = Some(read_summary(cursor)?);
        let stated = &mut self.profile.stated;
        stated.partial |= section.has(flags::PARTIAL);
        if section.has(flags::CONTEXTS) {
            stated.context_sensitive = Some(true);
            self.in_contexts = true;
        }
        if section.has(flags::PREINLINED) && self.options.reads_preinlined_flag() {
            stated.preinlined = Some(true);
        }
        if section.has(flags::FLOW_SENSITIVE) {
            stated.flow_sensitive = Some(true);
            self.flow_sensitive = true;
        }
        self.has_vtables |= section.has(flags::VTABLES) && self.options.reads_vtables();
        Ok(())
    }

    fn names(&mut self, section: &Section, cursor: &mut Cursor<'_>) -> Result<()> {
        let form = if section.has(flags::FIXED_MD5) {
            NameForm::FixedHashes
        } else if section.has(flags::MD5) {
            NameForm::Hashes
        } else {
            NameForm::Strings
        };
        self.profile.stated.hashed |= form != NameForm::Strings;
        let options = self.options;
        self.names = read_names(cursor, form, &mut self.profile.names, options.rules, &options.limits)?;
        Ok(())
    }

    fn contexts(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let count = read_uleb128(cursor, "number of contexts")?;
        if count > cursor.left() {
            return Err(cursor.place(Error::truncated("contexts", count, cursor.left())));
        }
        let limit = u64::from(self.options.limits.context_depth);
        self.contexts.clear();
        for _ in 0..count {
            let frames = read_uleb128(cursor, "number of frames")?;
            if frames > cursor.left() / 3 {
                return Err(cursor.place(Error::truncated("frames", frames.saturating_mul(3), cursor.left())));
            }
            if frames > limit {
                let kind = ErrorKind::LimitExceeded { what: "number of frames of a context", found: frames, limit };
                return Err(cursor.place(kind.into()));
            }
            let frames: Result<Vec<Frame>> = (0..frames).map(|_| self.frame(cursor)).collect();
            self.contexts.push(frames?.into());
        }
        Ok(())
    }

    fn frame(&self, cursor: &mut Cursor<'_>) -> Result<Frame> {
        let function = read_index(cursor, &self.names)?;
        let line = read_cut(cursor, "line of a frame")?;
        if line >= 1 << 16 {
            let error = Error::malformed(format!("line {line} of a frame is not below 65536"));
            let words = "Illegal line offset in sample profile data";
            let named = self.options.rules.names_illegal_lines();
            return Err(cursor.place(if named { error.with_llvm_detail(words) } else { error }));
        }
        let discriminator = read_cut(cursor, "discriminator of a frame")?;
        Ok(Frame { function, location: LineLocation::new(line, discriminator) })
    }

    /// The function or context that an index stands for.
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

    fn records(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let names = std::mem::take(&mut self.names);
        let bodies = BodyReader {
            names: &names,
            mask: self.options.discriminator_mask(self.flow_sensitive),
            has_vtables: self.has_vtables,
            names_illegal_lines: self.options.rules.names_illegal_lines(),
        };
        while !cursor.is_empty() {
            let head = read_uleb128(cursor, "head of a record")?;
            let wanted = if self.in_contexts {
                self.reference(cursor)?
            } else {
                FunctionRecord::new(read_index(cursor, &names)?)
            };
            add_body(cursor, self.profile, &mut self.table, &bodies, self.options, &wanted, head)?;
        }
        self.names = names;
        Ok(())
    }

    fn metadata(&mut self, section: &Section, cursor: &mut Cursor<'_>) -> Result<()> {
        let reader = MetadataReader {
            names: &self.names,
            has_checksums: section.has(flags::PROBES),
            has_attributes: section.has(flags::ATTRIBUTES),
            in_contexts: self.in_contexts,
        };
        self.profile.stated.probe_based = Some(reader.has_checksums);
        while !cursor.is_empty() {
            let wanted = self.reference(cursor)?;
            let found = self.table.find(&self.profile.functions, &wanted);
            let record = found.map(|at| &mut self.profile.functions[at]);
            reader.read(cursor, record)?;
        }
        Ok(())
    }

    fn symbols(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let symbols = self.profile.symbols.get_or_insert_default();
        while !cursor.is_empty() {
            symbols.insert(read_string(cursor, &self.options.limits)?.to_vec());
        }
        Ok(())
    }
}
