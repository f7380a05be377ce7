//! The profiles that GCC's AutoFDO reads: `adcg*704`, in words of 32 bits.
//!
//! The file has no totals: the count of a line location belongs to its function and to every caller into which that
//! function was inlined.

use super::binary::check_depth;
use super::options::{ReadOptions, name_index};
use super::profile::SampleProfile;
use super::record::{FunctionName, FunctionRecord, LineLocation, NameId, RecordTable, add_saturating, add_target};
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, ErrorKind, Result};

const TAG_NAMES: u32 = 0xaa00_0000;
const TAG_FUNCTIONS: u32 = 0xac00_0000;
/// The kind of histogram that contains call targets.
const INDIRECT_CALLS: u32 = 7;

/// Reads a file.
///
/// # Errors
///
/// Truncated or malformed content.
pub(super) fn read(file: &[u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<()> {
    let mut cursor = Cursor::new(file, 0, Endian::Little, "header");
    cursor.take("magic and version", 8)?;
    cursor.u32("stamp")?;
    cursor.enter("names");
    expect_tag(&mut cursor, TAG_NAMES)?;
    let count = cursor.u32("number of names")?;
    let mut names: Vec<NameId> = Vec::new();
    for _ in 0..count {
        let words = cursor.u32("length of a name")?;
        let text = cursor.take("name", u64::from(words) * 4)?;
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        if text.len() as u64 > options.limits.name_bytes {
            let (found, limit) = (text.len() as u64, options.limits.name_bytes);
            return Err(cursor.place(ErrorKind::LimitExceeded { what: "length of a name", found, limit }.into()));
        }
        names.push(profile.names.insert(FunctionName::Text(text)));
    }
    cursor.enter("functions");
    expect_tag(&mut cursor, TAG_FUNCTIONS)?;
    let mut reader = Reader { profile, table: RecordTable::default(), names };
    for _ in 0..cursor.u32("number of functions")? {
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
