//! The profiles of GCC's AutoFDO, in words of 32 bits: version `*704`, which LLVM reads, and versions 1 and 2, which
//! GCC reads (`-fauto-profile`).
//!
//! The file has no totals: the count of a line location belongs to its function and to every caller into which that
//! function was inlined.
//!
//! GCC up to at least 15 ignores discriminators: of the counts of one line it uses the last one in the file.

use super::binary::check_depth;
use super::options::{ReadOptions, name_index};
use super::order;
use super::profile::SampleProfile;
use super::record::{
    BodyEntry, FunctionName, FunctionRecord, LineLocation, NameId, Names, RecordTable, add_saturating, add_target,
};
use crate::bytes::{Cursor, Endian, Sink};
use crate::error::{Error, ErrorKind, Result};
use crate::identify::sample_profiles::GccVersion;
use std::collections::HashMap;

const MAGIC: &[u8] = b"adcg";
const TAG_NAMES: u32 = 0xaa00_0000;
const TAG_FUNCTIONS: u32 = 0xac00_0000;
const TAG_MODULES: u32 = 0xae00_0000;
/// The kind of histogram that contains call targets.
const INDIRECT_CALLS: u32 = 7;

/// Reads a file.
///
/// # Errors
///
/// Truncated or malformed content.
pub(super) fn read(file: &[u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<()> {
    let counts_bytes = GccVersion::of(file) == Some(GccVersion::Two);
    let mut cursor = Cursor::new(file, 0, Endian::Little, "header");
    cursor.take("magic and version", 8)?;
    cursor.u32("stamp")?;
    cursor.enter("names");
    expect_tag(&mut cursor, TAG_NAMES)?;
    let count = cursor.u32("number of names")?;
    let mut names: Vec<NameId> = Vec::new();
    for _ in 0..count {
        options.cancel.check()?;
        let length = u64::from(cursor.u32("length of a name")?);
        let text = cursor.take("name", if counts_bytes { length } else { length * 4 })?;
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        if text.len() as u64 > options.limits.name_bytes {
            let (found, limit) = (text.len() as u64, options.limits.name_bytes);
            return Err(cursor.place(Error::above_limit(Some("name-bytes"), "length of a name", found, limit)));
        }
        names.push(profile.names.insert(FunctionName::Text(text)));
    }
    cursor.enter("functions");
    expect_tag(&mut cursor, TAG_FUNCTIONS)?;
    let mut reader = Reader { profile, table: RecordTable::default(), names };
    for _ in 0..cursor.u32("number of functions")? {
        options.cancel.check()?;
        reader.function(&mut cursor)?;
    }
    Ok(())
}

fn expect_tag(cursor: &mut Cursor<'_>, tag: u32) -> Result<()> {
    let found = cursor.u32("tag")?;
    if found != tag {
        return Err(cursor.place(Error::malformed(format!("tag {found:#x}, expected {tag:#x}"))));
    }
    cursor.u32("length of a section").map(|_| ())
}

struct Reader<'a> {
    profile: &'a mut SampleProfile,
    table: RecordTable,
    names: Vec<NameId>,
}

impl Reader<'_> {
    fn function(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let head = read_u64(cursor, "head of a function")?;
        let wanted = FunctionRecord::new(self.name(cursor)?);
        let at = self.table.find_or_insert(&mut self.profile.functions, &wanted);
        // A name with samples is an alias that occurred before: it keeps its samples.
        let is_alias = self.profile.functions[at].total > 0;
        let mut record = FunctionRecord::new(wanted.name);
        self.body(cursor, &mut record, 0)?;
        let known = &mut self.profile.functions[at];
        if !is_alias {
            record.head = known.head;
            *known = record;
        }
        add_saturating(&mut known.head, head);
        Ok(())
    }

    fn name(&self, cursor: &mut Cursor<'_>) -> Result<NameId> {
        let index = u64::from(cursor.u32("index of a name")?);
        self.lookup(cursor, index)
    }

    fn lookup(&self, cursor: &Cursor<'_>, index: u64) -> Result<NameId> {
        let found = usize::try_from(index).ok().and_then(|index| self.names.get(index));
        found.copied().ok_or_else(|| cursor.place(name_index(index, self.names.len())))
    }

    /// Reads line locations and inlined callees, and adds them to the totals.
    fn body(&self, cursor: &mut Cursor<'_>, record: &mut FunctionRecord, depth: usize) -> Result<()> {
        check_depth(cursor, depth)?;
        let places = cursor.u32("number of line locations")?;
        let callees = cursor.u32("number of inlined callees")?;
        for _ in 0..places {
            let location = read_location(cursor)?;
            let targets = cursor.u32("number of call targets")?;
            let count = read_u64(cursor, "samples of a line location")?;
            add_saturating(&mut record.total, count);
            let entry = record.body_at(location);
            add_saturating(&mut entry.samples, count);
            for _ in 0..targets {
                let kind = cursor.u32("kind of a histogram")?;
                if kind != INDIRECT_CALLS {
                    let text = format!("a histogram of kind {kind}, expected {INDIRECT_CALLS}");
                    return Err(cursor.place(Error::malformed(text)));
                }
                let index = read_u64(cursor, "index of a call target")?;
                let callee = self.lookup(cursor, index)?;
                let samples = read_u64(cursor, "samples of a call target")?;
                add_target(entry.targets.list_mut(), callee, samples);
            }
        }
        for _ in 0..callees {
            let location = read_location(cursor)?;
            let name = self.name(cursor)?;
            let at = record.call_site_at(location, name);
            let callee = &mut record.call_sites[at].callee;
            let before = callee.total;
            self.body(cursor, callee, depth + 1)?;
            let added = callee.total.saturating_sub(before);
            add_saturating(&mut record.total, added);
        }
        Ok(())
    }
}

fn read_location(cursor: &mut Cursor<'_>) -> Result<LineLocation> {
    let offset = cursor.u32("line location")?;
    Ok(LineLocation::new(offset >> 16, offset & 0xffff))
}

/// Reads two words, the low one first.
fn read_u64(cursor: &mut Cursor<'_>, field: &'static str) -> Result<u64> {
    let low = cursor.u32(field)?;
    Ok(u64::from(cursor.u32(field)?) << 32 | u64::from(low))
}

/// The version of the file to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WrittenVersion(GccVersion);

impl WrittenVersion {
    /// Returns the version with a number; `None` for versions that GCC does not read.
    pub(super) fn of(number: u64) -> Option<Self> {
        match number {
            1 => Some(Self(GccVersion::One)),
            2 => Some(Self(GccVersion::Two)),
            _ => None,
        }
    }

    fn number(self) -> u32 {
        if self.0 == GccVersion::Two { 2 } else { 1 }
    }

    /// Appends a name with its length and the NUL after it.
    fn write_name(self, sink: &mut Sink, name: &[u8]) {
        // The NUL is part of the length.
        let bytes = name.len() as u64 + 1;
        let padded = if self.0 == GccVersion::Two { bytes } else { bytes.next_multiple_of(4) };
        let length = if self.0 == GccVersion::Two { padded } else { padded / 4 };
        sink.u32(length as u32);
        sink.bytes(name);
        sink.zeros((padded - name.len() as u64) as usize);
    }
}

/// Writes a file for GCC.
///
/// # Errors
///
/// Too large for lines of 65536 and above.
pub(super) fn write(names: &Names, records: &[&FunctionRecord], version: WrittenVersion) -> Result<Vec<u8>> {
    let mut writer = Writer { names, order: Vec::new(), index: HashMap::new(), body: Sink::new(Endian::Little) };
    writer.body.u32(records.len() as u32);
    for record in records {
        // GCC scales all counts of a function by its entries, so with 0 entries the function would be cold.
        writer.body.u64(record.head.max(u64::from(record.total != 0)));
        writer.record(record)?;
    }
    let mut table = Sink::new(Endian::Little);
    // GCC fails on the name with the index 0.
    table.u32(writer.order.len() as u32 + 1);
    version.write_name(&mut table, b"");
    for name in &writer.order {
        version.write_name(&mut table, &names.get(*name).to_bytes());
    }
    let mut sink = Sink::new(Endian::Little);
    sink.bytes(MAGIC);
    sink.u32(version.number());
    sink.u32(0);
    let mut modules = Sink::new(Endian::Little);
    modules.u32(0);
    for (tag, section) in [(TAG_NAMES, table), (TAG_FUNCTIONS, writer.body), (TAG_MODULES, modules)] {
        sink.u32(tag);
        // Readers ignore the length. A file of more than 4 GiB cannot state it.
        sink.u32(u32::try_from(section.len().div_ceil(4)).unwrap_or(u32::MAX));
        sink.bytes(section.as_slice());
    }
    Ok(sink.into_bytes())
}

struct Writer<'a> {
    names: &'a Names,
    /// The names, in the order of the file, without the first one.
    order: Vec<NameId>,
    index: HashMap<NameId, u32>,
    body: Sink,
}

impl Writer<'_> {
    fn name(&mut self, name: NameId) -> u32 {
        *self.index.entry(name).or_insert_with(|| {
            self.order.push(name);
            self.order.len() as u32
        })
    }

    fn record(&mut self, record: &FunctionRecord) -> Result<()> {
        let name = self.name(record.name);
        self.body.u32(name);
        self.body.u32(record.body.len() as u32);
        self.body.u32(record.call_sites.len() as u32);
        let mut entries: Vec<&BodyEntry> = record.body.iter().collect();
        // A reader without discriminators uses the last count of a line: that of its hottest block.
        entries.sort_by_key(|entry| (entry.location.line, entry.samples, entry.location.discriminator));
        for entry in entries {
            self.location(entry.location)?;
            let targets = order::targets(self.names, &entry.targets);
            self.body.u32(targets.len() as u32);
            self.body.u64(entry.samples);
            for target in targets.iter() {
                let callee = self.name(target.callee);
                self.body.u32(INDIRECT_CALLS);
                self.body.u64(callee.into());
                self.body.u64(target.samples);
            }
        }
        for site in order::call_sites(self.names, record) {
            self.location(site.location)?;
            self.record(&site.callee)?;
        }
        Ok(())
    }

    /// Appends a line and the low 16 bits of its discriminator.
    fn location(&mut self, location: LineLocation) -> Result<()> {
        const LAST: u32 = 0xffff;
        if location.line > LAST {
            let (found, limit) = (location.line.into(), LAST.into());
            return Err(ErrorKind::TooLarge { field: "a line", found, limit }.into());
        }
        self.body.u32(location.line << 16 | (location.discriminator & LAST));
        Ok(())
    }
}
