//! Bodies of records: samples by place, and inlined callees.

use crate::bytes::leb128::{read_uleb128, write_uleb128};
use crate::bytes::{Cursor, Sink};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{self, HOLD_RECORDS};
use crate::sampleprof::error::name_index;
use crate::sampleprof::names::{NameId, Names};
use crate::sampleprof::order;
use crate::sampleprof::record::{FunctionRecord, LineLocation, MAX_INLINE_DEPTH, add_saturating, add_target};
use crate::sampleprof::targets::CallTarget;

/// Lines of a function are below this.
const LINES: u32 = 1 << 16;

/// Elements for which a list makes room before they are read: most lists are
/// shorter, and what a damaged file announces costs no more.
const MOST_ROOM: u32 = 32;

/// Makes room for elements that are to be read.
fn expect<T>(list: &mut Vec<T>, count: u32) {
    list.reserve_exact(count.min(MOST_ROOM) as usize);
}

/// What reading bodies needs to know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyReader<'a> {
    /// Names by their index in the file.
    pub(crate) names: &'a [NameId],
    /// Bits of discriminators that are kept.
    pub(crate) mask: u32,
    /// Whether virtual tables follow each body.
    pub(crate) has_vtables: bool,
    /// Whether a line that is too large has a message of its own.
    pub(crate) names_illegal_lines: bool,
}

/// A number of 32 bits.
pub(crate) fn read_u32(cursor: &mut Cursor<'_>, field: &'static str) -> Result<u32> {
    let start = cursor.position();
    let value = read_uleb128(cursor, field)?;
    let too_large = |_| Error::malformed(format!("{field} {value} does not fit 32 bits"));
    u32::try_from(value).map_err(|error| cursor.place_at(too_large(error), start))
}

/// A number of 64 bits of which 32 are kept, as LLVM does with lines and
/// discriminators.
pub(crate) fn read_cut(cursor: &mut Cursor<'_>, field: &'static str) -> Result<u32> {
    Ok(read_uleb128(cursor, field)? as u32)
}

/// An index into a table of names, or of contexts.
pub(crate) fn read_index<T: Copy>(cursor: &mut Cursor<'_>, table: &[T]) -> Result<T> {
    let index = read_uleb128(cursor, "index of a name")?;
    let found = usize::try_from(index).ok().and_then(|index| table.get(index));
    found.copied().ok_or_else(|| cursor.place(name_index(index, table.len())))
}

impl BodyReader<'_> {
    /// Adds the body at the cursor to a record.
    pub(crate) fn read(&self, cursor: &mut Cursor<'_>, record: &mut FunctionRecord) -> Result<()> {
        self.read_at(cursor, record, 0)
    }

    fn read_at(&self, cursor: &mut Cursor<'_>, record: &mut FunctionRecord, depth: usize) -> Result<()> {
        if depth > MAX_INLINE_DEPTH {
            let (found, limit) = (depth as u64, MAX_INLINE_DEPTH as u64);
            return Err(
                cursor.place(ErrorKind::LimitExceeded { what: "depth of inlined callees", found, limit }.into())
            );
        }
        add_saturating(&mut record.total, read_uleb128(cursor, "total of a record")?);
        let places = read_u32(cursor, "number of places")?;
        expect(&mut record.body, places);
        for _ in 0..places {
            self.read_entry(cursor, record)?;
        }
        let callees = read_u32(cursor, "number of inlined callees")?;
        expect(&mut record.call_sites, callees);
        for _ in 0..callees {
            let line = read_cut(cursor, "line of an inlined callee")?;
            let discriminator = read_cut(cursor, "discriminator of an inlined callee")? & self.mask;
            let name = read_index(cursor, self.names)?;
            memory::reserve(&mut record.call_sites, 1, HOLD_RECORDS)?;
            let at = record.call_site_at(LineLocation::new(line, discriminator), name);
            self.read_at(cursor, &mut record.call_sites[at].callee, depth + 1)?;
        }
        if self.has_vtables {
            self.read_vtables(cursor, record)?;
        }
        Ok(())
    }

    fn read_entry(&self, cursor: &mut Cursor<'_>, record: &mut FunctionRecord) -> Result<()> {
        let start = cursor.position();
        let line = read_cut(cursor, "line of a place")?;
        if line >= LINES {
            let error = Error::malformed(format!("line {line} of a function is not below {LINES}"));
            let words = "Illegal line offset in sample profile data";
            let error = if self.names_illegal_lines { error.with_llvm_detail(words) } else { error };
            return Err(cursor.place_at(error, start));
        }
        let discriminator = read_cut(cursor, "discriminator of a place")? & self.mask;
        let samples = read_uleb128(cursor, "samples of a place")?;
        let targets = read_u32(cursor, "number of call targets")?;
        memory::reserve(&mut record.body, 1, HOLD_RECORDS)?;
        let entry = record.body_at(LineLocation::new(line, discriminator));
        if targets > 0 {
            expect(entry.targets.list_mut(), targets);
        }
        for _ in 0..targets {
            let callee = read_index(cursor, self.names)?;
            memory::reserve(entry.targets.list_mut(), 1, HOLD_RECORDS)?;
            add_target(entry.targets.list_mut(), callee, read_uleb128(cursor, "samples of a call target")?);
        }
        add_saturating(&mut entry.samples, samples);
        Ok(())
    }

    fn read_vtables(&self, cursor: &mut Cursor<'_>, record: &mut FunctionRecord) -> Result<()> {
        for _ in 0..read_u32(cursor, "number of places with virtual tables")? {
            let line = read_cut(cursor, "line of virtual tables")?;
            let discriminator = read_cut(cursor, "discriminator of virtual tables")? & self.mask;
            for _ in 0..read_u32(cursor, "number of virtual tables")? {
                let table = read_index(cursor, self.names)?;
                let samples = read_uleb128(cursor, "samples of a virtual table")?;
                memory::reserve(&mut record.vtables, 1, HOLD_RECORDS)?;
                let tables = record.vtables_at(LineLocation::new(line, discriminator));
                memory::reserve(tables, 1, HOLD_RECORDS)?;
                add_target(tables, table, samples);
            }
        }
        Ok(())
    }
}

/// What writing bodies needs to know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyWriter<'a> {
    /// The names of the profile.
    pub(crate) names: &'a Names,
    /// Index in the file of each name.
    pub(crate) index: &'a [u32],
    /// Whether virtual tables follow each body.
    pub(crate) with_vtables: bool,
}

impl BodyWriter<'_> {
    /// Appends the body of a record.
    pub(crate) fn write(&self, sink: &mut Sink, record: &FunctionRecord) {
        write_uleb128(sink, record.total);
        write_uleb128(sink, record.body.len() as u64);
        for entry in &record.body {
            self.location(sink, entry.location);
            write_uleb128(sink, entry.samples);
            write_uleb128(sink, entry.targets.len() as u64);
            self.counts(sink, &order::targets(self.names, &entry.targets));
        }
        write_uleb128(sink, record.call_sites.len() as u64);
        for site in order::call_sites(self.names, record) {
            self.location(sink, site.location);
            self.name(sink, site.callee.name);
            self.write(sink, &site.callee);
        }
        if self.with_vtables {
            write_uleb128(sink, record.vtables.len() as u64);
            for entry in &record.vtables {
                self.location(sink, entry.location);
                write_uleb128(sink, entry.tables.len() as u64);
                self.counts(sink, &order::tables(self.names, &entry.tables));
            }
        }
    }

    /// Appends the index of a name.
    pub(crate) fn name(&self, sink: &mut Sink, name: NameId) {
        write_uleb128(sink, u64::from(self.index[name.index()]));
    }

    /// Appends a place.
    pub(crate) fn location(&self, sink: &mut Sink, location: LineLocation) {
        write_uleb128(sink, u64::from(location.line));
        write_uleb128(sink, u64::from(location.discriminator));
    }

    fn counts(&self, sink: &mut Sink, counts: &[CallTarget]) {
        for target in counts {
            self.name(sink, target.callee);
            write_uleb128(sink, target.samples);
        }
    }
}
