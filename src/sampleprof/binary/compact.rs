//! The compact form of LLVM 16 and earlier: names are hashes.

use super::body::{BodyReader, BodyWriter, read_index};
use super::reader::add_body;
use super::tables::{NameForm, read_header, read_names, read_summary, write_header, write_summary};
use super::writer::name_table;
use super::{COMPACT_MAGIC, VERSION};
use crate::bytes::leb128::{read_uleb128, write_uleb128};
use crate::bytes::{Cursor, Endian, Sink};
use crate::error::{Error, Result};
use crate::sampleprof::ReadOptions;
use crate::sampleprof::merge::summarize;
use crate::sampleprof::names::Names;
use crate::sampleprof::profile::{Kind, SampleProfile};
use crate::sampleprof::record::FunctionRecord;
use crate::sampleprof::rules::Rules;
use crate::sampleprof::table::RecordTable;

/// Reads a compact binary. Which records there are is said by the table at its
/// end.
///
/// # Errors
///
/// As of the plain form, and offsets that lead out of the file.
pub(in crate::sampleprof) fn read(file: &[u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<()> {
    let mut cursor = Cursor::new(file, 0, Endian::Little, "header");
    read_header(&mut cursor, COMPACT_MAGIC, &[VERSION])?;
    cursor.enter("summary");
    profile.summary = Some(read_summary(&mut cursor)?);
    cursor.enter("names");
    let names = read_names(&mut cursor, NameForm::Hashes, &mut profile.names, options.rules, &options.limits)?;
    let table_offset = cursor.u64("offset of the table of functions")?;
    let bodies = BodyReader {
        names: &names,
        mask: options.discriminator_mask(options.flow_sensitive),
        has_vtables: false,
        names_illegal_lines: false,
    };
    let mut at_table = at(file, table_offset, "table of functions")?;
    let mut table = RecordTable::default();
    for _ in 0..read_uleb128(&mut at_table, "number of functions")? {
        let name = read_index(&mut at_table, &names)?;
        let offset = read_uleb128(&mut at_table, "offset of a record")?;
        let mut record = at(&file[..table_offset as usize], offset, "records")?;
        let head = read_uleb128(&mut record, "head of a record")?;
        let stated = read_index(&mut record, &names)?;
        if stated != name {
            return Err(record.place(Error::malformed("the table of functions leads to another function")));
        }
        add_body(&mut record, profile, &mut table, &bodies, options, &FunctionRecord::new(name), head)?;
    }
    profile.stated.hashed = true;
    profile.stated.flow_sensitive = Some(options.flow_sensitive);
    Ok(())
}

fn at<'data>(file: &'data [u8], offset: u64, section: &'static str) -> Result<Cursor<'data>> {
    let rest = usize::try_from(offset).ok().and_then(|offset| file.get(offset..));
    let rest = rest.ok_or_else(|| Error::truncated("what an offset leads to", offset, file.len() as u64))?;
    Ok(Cursor::new(rest, offset, Endian::Little, section))
}

/// The compact binary of records in the order given; names become hashes for
/// good. `container` are the same records in LLVM's order.
pub(in crate::sampleprof) fn write_records(
    names: &Names,
    records: &[&FunctionRecord],
    container: &[&FunctionRecord],
    rules: Rules,
    kind: Kind,
) -> Vec<u8> {
    let mut sink = Sink::new(Endian::Little);
    write_header(&mut sink, COMPACT_MAGIC, VERSION);
    write_summary(&mut sink, &summarize(container.iter().copied(), names, kind, rules));
    let table = name_table(names, records);
    write_uleb128(&mut sink, table.names.len() as u64);
    for name in &table.names {
        write_uleb128(&mut sink, names.get(*name).hash());
    }
    let place = sink.reserve();
    let bodies = BodyWriter { names, index: &table.index, with_vtables: false };
    let mut offsets = Vec::with_capacity(records.len());
    for record in records {
        offsets.push((record.name, sink.len() as u64));
        write_uleb128(&mut sink, record.head);
        bodies.name(&mut sink, record.name);
        bodies.write(&mut sink, record);
    }
    let end = sink.len() as u64;
    sink.patch(place, end);
    write_uleb128(&mut sink, offsets.len() as u64);
    for (name, offset) in offsets {
        bodies.name(&mut sink, name);
        write_uleb128(&mut sink, offset);
    }
    sink.into_bytes()
}
