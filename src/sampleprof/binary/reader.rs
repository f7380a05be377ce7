//! Reading the plain form.

use super::body::{BodyReader, read_index};
use super::tables::{NameForm, read_header, read_names, read_summary};
use super::{MAGIC, NEXT_VERSION, VERSION};
use crate::bytes::leb128::read_uleb128;
use crate::bytes::{Cursor, Endian};
use crate::error::Result;
use crate::sampleprof::ReadOptions;
use crate::sampleprof::names::NameId;
use crate::sampleprof::profile::SampleProfile;
use crate::sampleprof::record::{FunctionRecord, add_saturating};
use crate::sampleprof::table::RecordTable;

/// Reads a plain binary.
///
/// # Errors
///
/// Bad magic, another version than 103 (and 104 by the rules of LLVM 23),
/// truncated or malformed content.
pub(crate) fn read(file: &[u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<()> {
    let mut cursor = Cursor::new(file, 0, Endian::Little, "header");
    profile.stated.flow_sensitive = Some(options.flow_sensitive);
    let versions = if options.reads_104() { &[VERSION, NEXT_VERSION][..] } else { &[VERSION] };
    read_header(&mut cursor, MAGIC, versions)?;
    cursor.enter("summary");
    profile.summary = Some(read_summary(&mut cursor)?);
    cursor.enter("names");
    let names = read_names(&mut cursor, NameForm::Strings, &mut profile.names, options.rules, &options.limits)?;
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
    let name: NameId = read_index(cursor, bodies.names)?;
    let wanted = FunctionRecord::new(name);
    add_body(cursor, profile, table, bodies, options, &wanted, head)
}

/// Adds a head and the body at the cursor to the record of a function.
pub(crate) fn add_body(
    cursor: &mut Cursor<'_>,
    profile: &mut SampleProfile,
    table: &mut RecordTable,
    bodies: &BodyReader<'_>,
    options: &ReadOptions,
    wanted: &FunctionRecord,
    head: u64,
) -> Result<()> {
    let at = table.find_or_insert(&mut profile.functions, wanted)?;
    let record = &mut profile.functions[at];
    if !options.adds_repeated_records() {
        *record = wanted.clone();
    }
    add_saturating(&mut record.head, head);
    bodies.read(cursor, record)
}
