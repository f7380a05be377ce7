//! Plain binary sample profiles, and the parts that the compact and the extensible form share with them.
//!
//! | part | plain | compact |
//! |---|---|---|
//! | magic, version 103 | ULEB128 | ULEB128 |
//! | summary | six totals, then rows of three | the same |
//! | names | count, strings with a NUL | count, MD5 as ULEB128, then the offset of the function table |
//! | records | head, index of the name, body | the same |
//! | function table | – | count, index of the name and offset of the record |
//!
//! A body is the total, the line locations with their call targets, and the inlined callees with bodies of their own.

use super::options::{ReadOptions, Rules, name_index};
use super::order;
use super::profile::{Kind, SampleProfile, Summary, SummaryRow, summarize};
use super::record::{
    CallTarget, FunctionName, FunctionRecord, LineLocation, MAX_INLINE_DEPTH, NameId, Names, RecordTable,
    add_saturating, add_target,
};
use crate::bytes::leb128::{read_uleb128, write_uleb128};
use crate::bytes::{Cursor, Endian, Sink};
use crate::error::{Error, ErrorKind, Result};
use crate::identify::sample_profiles::BINARY_MAGIC;
use crate::limits::Limits;
use crate::memory::{self, HOLD_NAMES};

/// The version of all forms.
pub(super) const VERSION: u64 = 103;
/// The version that LLVM 23 writes into extensible binaries on request.
pub(super) const NEXT_VERSION: u64 = 104;

/// Reads a plain binary.
///
/// # Errors
///
/// Bad magic, another version than 103 (and 104 by the rules of LLVM 23),
/// truncated or malformed content.
pub(super) fn read(file: &[u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<()> {
    let mut cursor = Cursor::new(file, 0, Endian::Little, "header");
    profile.stated.flow_sensitive = Some(options.flow_sensitive);
    let versions = if options.reads_104() { &[VERSION, NEXT_VERSION][..] } else { &[VERSION] };
    read_header(&mut cursor, BINARY_MAGIC, versions)?;
    cursor.enter("summary");
    profile.summary = Some(read_summary(&mut cursor)?);
    cursor.enter("names");
    let names = read_names(&mut cursor, NameForm::Strings, &mut profile.names, options)?;
    cursor.enter("records");
    let bodies = BodyReader {
        names: &names,
        mask: options.discriminator_mask(options.flow_sensitive),
        has_vtables: false,
        names_illegal_lines: options.rules.names_illegal_lines(),
    };
    let mut table = RecordTable::default();
    while !cursor.is_empty() {
        read_record(&mut cursor, profile, &mut table, &bodies, options)?;
    }
    Ok(())
}

/// Reads a head, the index of a name and a body.
pub(super) fn read_record(
    cursor: &mut Cursor<'_>,
    profile: &mut SampleProfile,
    table: &mut RecordTable,
    bodies: &BodyReader<'_>,
    options: &ReadOptions,
) -> Result<()> {
    let head = read_uleb128(cursor, "head of a record")?;
    let wanted = FunctionRecord::new(read_index(cursor, bodies.names)?);
    add_body(cursor, profile, table, bodies, options, &wanted, head)
}

/// Adds a head and the body at the cursor to the record of the function and context of `wanted`.
pub(super) fn add_body(
    cursor: &mut Cursor<'_>,
    profile: &mut SampleProfile,
    table: &mut RecordTable,
    bodies: &BodyReader<'_>,
    options: &ReadOptions,
    wanted: &FunctionRecord,
    head: u64,
) -> Result<()> {
    options.cancel.check()?;
    let at = table.find_or_insert(&mut profile.functions, wanted);
    let record = &mut profile.functions[at];
    if !options.adds_repeated_records() {
        *record = wanted.clone();
    }
    add_saturating(&mut record.head, head);
    bodies.read(cursor, record, 0)
}

/// Reads magic and version.
pub(super) fn read_header(cursor: &mut Cursor<'_>, magic: u64, versions: &[u64]) -> Result<u64> {
    let found = read_uleb128(cursor, "magic")?;
    if found != magic {
        return Err(ErrorKind::BadMagic { detail: format!("found {found:#x}, expected {magic:#x}") }.into());
    }
    let version = read_uleb128(cursor, "version")?;
    if !versions.contains(&version) {
        let known: Vec<String> = versions.iter().map(ToString::to_string).collect();
        let detail = match version {
            NEXT_VERSION => "only LLVM 23 reads it".to_string(),
            105.. => {
                format!("it was written by a release after LLVM 23; supported versions are {}", known.join(" and "))
            }
            _ => format!("supported versions are {}", known.join(" and ")),
        };
        return Err(cursor.place(ErrorKind::UnsupportedVersion { found: version, detail }.into()));
    }
    Ok(version)
}

/// Appends magic and version.
pub(super) fn write_header(sink: &mut Sink, magic: u64, version: u64) {
    write_uleb128(sink, magic);
    write_uleb128(sink, version);
}

/// Reads a summary.
pub(super) fn read_summary(cursor: &mut Cursor<'_>) -> Result<Summary> {
    let mut summary = Summary {
        total: read_uleb128(cursor, "total count")?,
        max: read_uleb128(cursor, "largest count")?,
        max_head: read_uleb128(cursor, "largest head")?,
        counts: read_uleb128(cursor, "number of counts")?,
        functions: read_uleb128(cursor, "number of functions")?,
        rows: Vec::new(),
    };
    for _ in 0..read_uleb128(cursor, "number of summary rows")? {
        summary.rows.push(SummaryRow {
            cutoff: read_cut(cursor, "cutoff")?,
            min_count: read_uleb128(cursor, "smallest count of a cutoff")?,
            counts: read_uleb128(cursor, "counts of a cutoff")?,
        });
    }
    Ok(summary)
}

/// Appends a summary.
pub(super) fn write_summary(sink: &mut Sink, summary: &Summary) {
    for value in [summary.total, summary.max, summary.max_head, summary.counts, summary.functions] {
        write_uleb128(sink, value);
    }
    write_uleb128(sink, summary.rows.len() as u64);
    for row in &summary.rows {
        write_uleb128(sink, u64::from(row.cutoff));
        write_uleb128(sink, row.min_count);
        write_uleb128(sink, row.counts);
    }
}

/// The form in which names are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameForm {
    /// Strings that end with a NUL.
    Strings,
    /// MD5 hashes as ULEB128 numbers.
    Hashes,
    /// MD5 hashes of eight bytes.
    FixedHashes,
}

/// Reads a table of names.
pub(super) fn read_names(
    cursor: &mut Cursor<'_>,
    form: NameForm,
    names: &mut Names,
    options: &ReadOptions,
) -> Result<Vec<NameId>> {
    let count = read_uleb128(cursor, "number of names")?;
    // Each name takes at least one byte.
    let least = if form == NameForm::FixedHashes { 8 } else { 1 };
    if count > cursor.left() / least {
        return Err(cursor.place(Error::truncated("names", count.saturating_mul(least), cursor.left())));
    }
    let mut table = Vec::new();
    memory::reserve(&mut table, count as usize, HOLD_NAMES)?;
    for _ in 0..count {
        options.cancel.check()?;
        table.push(match form {
            NameForm::Strings => names.insert(FunctionName::Text(read_string(cursor, &options.limits)?)),
            NameForm::Hashes => insert_hash(names, read_uleb128(cursor, "MD5 of a name")?, options),
            NameForm::FixedHashes => insert_hash(names, cursor.u64("MD5 of a name")?, options),
        });
    }
    Ok(table)
}

/// Adds a hash. In LLVM up to 17 it becomes the string of its digits.
pub(super) fn insert_hash(names: &mut Names, hash: u64, options: &ReadOptions) -> NameId {
    if options.keeps_hashes() {
        names.insert(FunctionName::Hash(hash))
    } else {
        names.insert(FunctionName::Text(hash.to_string().as_bytes()))
    }
}

/// Reads a string and the NUL after it.
pub(super) fn read_string<'data>(cursor: &mut Cursor<'data>, limits: &Limits) -> Result<&'data [u8]> {
    let Some(len) = cursor.rest().iter().position(|byte| *byte == 0) else {
        return Err(cursor.place(Error::truncated("a name and the NUL after it", cursor.left() + 1, cursor.left())));
    };
    if len as u64 > limits.name_bytes {
        let (found, limit) = (len as u64, limits.name_bytes);
        return Err(cursor.place(Error::above_limit(Some("name-bytes"), "length of a name", found, limit)));
    }
    let text = cursor.take("name", len as u64)?;
    cursor.take("NUL after a name", 1)?;
    Ok(text)
}

/// The names of a profile that a file contains, and their order.
#[derive(Debug, Default)]
pub(super) struct NameTable {
    /// The names, in the order of the file.
    pub(super) names: Vec<NameId>,
    /// The index in the file, for each name of the profile that is in the file.
    pub(super) index: Vec<u32>,
}

/// Collects names that are used.
#[derive(Debug)]
pub(super) struct NameCollector<'a> {
    names: &'a Names,
    used: Vec<bool>,
}

impl<'a> NameCollector<'a> {
    pub(super) fn new(names: &'a Names) -> Self {
        Self { names, used: vec![false; names.len()] }
    }

    pub(super) fn add(&mut self, name: NameId) {
        self.used[name.index()] = true;
    }

    /// Makes the table, in the order of names.
    pub(super) fn finish(self) -> NameTable {
        let mut names: Vec<NameId> = self.names.ids().filter(|name| self.used[name.index()]).collect();
        names.sort_unstable_by(|a, b| self.names.compare(*a, *b));
        let mut index = vec![u32::MAX; self.names.len()];
        for (at, name) in names.iter().enumerate() {
            index[name.index()] = at as u32;
        }
        NameTable { names, index }
    }
}

/// Appends a table of names as strings.
pub(super) fn write_names(sink: &mut Sink, names: &Names, table: &[NameId]) {
    write_uleb128(sink, table.len() as u64);
    for name in table {
        sink.bytes(&names.get(*name).to_bytes());
        sink.u8(0);
    }
}

/// The limit of line numbers.
const LINES: u32 = 1 << 16;

/// The number of elements for which a list reserves memory before they are read. Most lists are shorter, and a damaged
/// file cannot make it reserve more.
const MOST_RESERVED: u32 = 32;

/// Reserves memory for elements that a file announces.
fn reserve_announced<T>(list: &mut Vec<T>, count: u32) {
    list.reserve_exact(count.min(MOST_RESERVED) as usize);
}

/// Reads bodies.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyReader<'a> {
    /// The names, by their index in the file.
    pub(super) names: &'a [NameId],
    /// The bits of discriminators that are kept.
    pub(super) mask: u32,
    /// Whether vtables follow each body.
    pub(super) has_vtables: bool,
    /// Whether a line number that is too large has its own message.
    pub(super) names_illegal_lines: bool,
}

/// Reads a number of 32 bits.
pub(super) fn read_u32(cursor: &mut Cursor<'_>, field: &'static str) -> Result<u32> {
    let start = cursor.position();
    let value = read_uleb128(cursor, field)?;
    let too_large = |_| Error::malformed(format!("{field} {value} does not fit 32 bits"));
    u32::try_from(value).map_err(|error| cursor.place_at(too_large(error), start))
}

/// Reads a number of 64 bits and keeps 32, as LLVM does with lines and discriminators.
pub(super) fn read_cut(cursor: &mut Cursor<'_>, field: &'static str) -> Result<u32> {
    Ok(read_uleb128(cursor, field)? as u32)
}

/// Reads an index into a table, and returns its element.
pub(super) fn read_index<T: Copy>(cursor: &mut Cursor<'_>, table: &[T]) -> Result<T> {
    let index = read_uleb128(cursor, "index of a name")?;
    let found = usize::try_from(index).ok().and_then(|index| table.get(index));
    found.copied().ok_or_else(|| cursor.place(name_index(index, table.len())))
}

/// Fails if inlined callees are nested too deeply.
pub(super) fn check_depth(cursor: &Cursor<'_>, depth: usize) -> Result<()> {
    if depth <= MAX_INLINE_DEPTH {
        return Ok(());
    }
    let (found, limit) = (depth as u64, MAX_INLINE_DEPTH as u64);
    Err(cursor.place(Error::above_limit(None, "depth of inlined callees", found, limit)))
}

impl BodyReader<'_> {
    /// Adds the body at the cursor to a record that is inlined at `depth`.
    fn read(&self, cursor: &mut Cursor<'_>, record: &mut FunctionRecord, depth: usize) -> Result<()> {
        check_depth(cursor, depth)?;
        add_saturating(&mut record.total, read_uleb128(cursor, "total of a record")?);
        let places = read_u32(cursor, "number of line locations")?;
        reserve_announced(&mut record.body, places);
        for _ in 0..places {
            self.read_entry(cursor, record)?;
        }
        let callees = read_u32(cursor, "number of inlined callees")?;
        reserve_announced(&mut record.call_sites, callees);
        for _ in 0..callees {
            let line = read_cut(cursor, "line of an inlined callee")?;
            let discriminator = read_cut(cursor, "discriminator of an inlined callee")? & self.mask;
            let name = read_index(cursor, self.names)?;
            let at = record.call_site_at(LineLocation::new(line, discriminator), name);
            self.read(cursor, &mut record.call_sites[at].callee, depth + 1)?;
        }
        if self.has_vtables {
            self.read_vtables(cursor, record)?;
        }
        Ok(())
    }

    fn read_entry(&self, cursor: &mut Cursor<'_>, record: &mut FunctionRecord) -> Result<()> {
        let start = cursor.position();
        let line = read_cut(cursor, "line number")?;
        if line >= LINES {
            let error = Error::malformed(format!("line {line} of a function is not below {LINES}"));
            let words = "Illegal line offset in sample profile data";
            let error = if self.names_illegal_lines { error.with_llvm_detail(words) } else { error };
            return Err(cursor.place_at(error, start));
        }
        let discriminator = read_cut(cursor, "discriminator")? & self.mask;
        let samples = read_uleb128(cursor, "samples of a line location")?;
        let targets = read_u32(cursor, "number of call targets")?;
        let entry = record.body_at(LineLocation::new(line, discriminator));
        if targets > 0 {
            reserve_announced(entry.targets.list_mut(), targets);
        }
        for _ in 0..targets {
            let callee = read_index(cursor, self.names)?;
            add_target(entry.targets.list_mut(), callee, read_uleb128(cursor, "samples of a call target")?);
        }
        add_saturating(&mut entry.samples, samples);
        Ok(())
    }

    fn read_vtables(&self, cursor: &mut Cursor<'_>, record: &mut FunctionRecord) -> Result<()> {
        for _ in 0..read_u32(cursor, "number of line locations with vtables")? {
            let line = read_cut(cursor, "line of vtables")?;
            let discriminator = read_cut(cursor, "discriminator of vtables")? & self.mask;
            for _ in 0..read_u32(cursor, "number of vtables")? {
                let table = read_index(cursor, self.names)?;
                let samples = read_uleb128(cursor, "samples of a vtable")?;
                add_target(record.vtables_at(LineLocation::new(line, discriminator)), table, samples);
            }
        }
        Ok(())
    }
}

/// Writes bodies.
#[derive(Debug, Clone, Copy)]
pub(super) struct BodyWriter<'a> {
    /// The names of the profile.
    pub(super) names: &'a Names,
    /// The index in the file, for each name.
    pub(super) index: &'a [u32],
    /// Whether vtables follow each body.
    pub(super) with_vtables: bool,
}

impl BodyWriter<'_> {
    /// Appends the body of a record.
    pub(super) fn write(&self, sink: &mut Sink, record: &FunctionRecord) {
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
    pub(super) fn name(&self, sink: &mut Sink, name: NameId) {
        write_uleb128(sink, u64::from(self.index[name.index()]));
    }

    /// Appends a line location.
    pub(super) fn location(&self, sink: &mut Sink, location: LineLocation) {
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

/// The records to write in the plain or compact form.
#[derive(Debug, Clone, Copy)]
pub(super) struct Content<'a> {
    /// The names of the profile.
    pub(super) names: &'a Names,
    /// The records, in the order of the file.
    pub(super) records: &'a [&'a FunctionRecord],
    /// The same records, in the order of LLVM's container.
    pub(super) container: &'a [&'a FunctionRecord],
    pub(super) rules: Rules,
    pub(super) kind: Kind,
}

impl Content<'_> {
    /// Begins a file with the parts of both forms: magic, version and summary.
    pub(super) fn begin(&self, magic: u64) -> Sink {
        let mut sink = Sink::new(Endian::Little);
        write_header(&mut sink, magic, VERSION);
        let records = self.container.iter().copied();
        write_summary(&mut sink, &summarize(records, self.names, self.kind, self.rules));
        sink
    }

    /// Returns the names of all records and their bodies.
    pub(super) fn name_table(&self) -> NameTable {
        let mut collector = NameCollector::new(self.names);
        for record in self.records {
            order::each_name(record, false, &mut |name| collector.add(name));
        }
        collector.finish()
    }
}

/// Appends a record: its head, the index of its name, and its body.
pub(super) fn write_record(sink: &mut Sink, bodies: &BodyWriter<'_>, record: &FunctionRecord) {
    write_uleb128(sink, record.head);
    bodies.name(sink, record.name);
    bodies.write(sink, record);
}

/// Writes a plain binary.
///
/// # Errors
///
/// Memory for the output is refused.
pub(super) fn write_records(content: &Content<'_>) -> Result<Vec<u8>> {
    let mut sink = content.begin(BINARY_MAGIC);
    let table = content.name_table();
    write_names(&mut sink, content.names, &table.names);
    let bodies = BodyWriter { names: content.names, index: &table.index, with_vtables: false };
    content.records.iter().for_each(|record| write_record(&mut sink, &bodies, record));
    Ok(sink.into_bytes())
}
