//! Compact binary sample profiles of LLVM 8 to 16: names are hashes, and a table at the end leads to the records.

use super::binary::{
    BodyReader, BodyWriter, Content, NameForm, VERSION, add_body, read_header, read_index, read_names, read_summary,
    write_record,
};
use super::options::{Encoding, ReadOptions, Rules};
use super::order::hash_range;
use super::profile::SampleProfile;
use super::record::{FunctionRecord, NameId, Names, RecordTable};
use crate::bytes::leb128::{read_uleb128, write_uleb128};
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, Result};
use crate::identify::sample_profiles::COMPACT_MAGIC;
use crate::model::hash_order::prepared_map_order;
use foldhash::HashMap;

/// The function table of a file, by which single records are read.
#[derive(Debug)]
pub(super) struct Index<'data> {
    file: &'data [u8],
    names: Vec<NameId>,
    /// The offset of the function table, which is the end of the records.
    end: usize,
    /// Functions and the offsets of their records, in the order of the table.
    places: Vec<(NameId, u64)>,
}

impl<'data> Index<'data> {
    /// Reads everything but the records. `profile` receives the names, the kind and the summary.
    ///
    /// # Errors
    ///
    /// The errors of the plain form, and offsets beyond the end of the file.
    pub(super) fn read(file: &'data [u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<Self> {
        let mut cursor = Cursor::new(file, 0, Endian::Little, "header");
        read_header(&mut cursor, COMPACT_MAGIC, &[VERSION])?;
        cursor.enter("summary");
        profile.summary = Some(read_summary(&mut cursor)?);
        cursor.enter("names");
        let names = read_names(&mut cursor, NameForm::Hashes, &mut profile.names, options)?;
        let end = cursor.u64("offset of the table of functions")?;
        let mut table = at(file, end, "table of functions")?;
        let mut places = Vec::new();
        for _ in 0..read_uleb128(&mut table, "number of functions")? {
            let name = read_index(&mut table, &names)?;
            places.push((name, read_uleb128(&mut table, "offset of a record")?));
        }
        if options.rules.reads(Encoding::CompactBinary) {
            places = in_map_order(&places, &profile.names, options.rules)?;
        }
        profile.stated.hashed = true;
        profile.stated.flow_sensitive = Some(options.flow_sensitive);
        Ok(Self { file, names, end: end as usize, places })
    }

    /// Adds the records of all functions, or of one, to a profile.
    ///
    /// # Errors
    ///
    /// The errors of the plain form, and offsets that lead to another function.
    pub(super) fn add_records(
        &self,
        only: Option<NameId>,
        options: &ReadOptions,
        profile: &mut SampleProfile,
    ) -> Result<()> {
        let bodies = BodyReader {
            names: &self.names,
            mask: options.discriminator_mask(options.flow_sensitive),
            has_vtables: false,
            names_illegal_lines: false,
        };
        let mut table = RecordTable::default();
        for &(name, offset) in self.places.iter().filter(|(name, _)| only.is_none_or(|only| only == *name)) {
            let mut record = at(&self.file[..self.end], offset, "records")?;
            let head = read_uleb128(&mut record, "head of a record")?;
            if read_index(&mut record, &self.names)? != name {
                return Err(
                    record.place(Error::malformed("the offset in the function table is that of another function"))
                );
            }
            add_body(&mut record, profile, &mut table, &bodies, options, &FunctionRecord::new(name), head)?;
        }
        Ok(())
    }
}

/// Returns the positions in the order of LLVM's map by name, in which the last offset of a name replaces the others.
fn in_map_order(places: &[(NameId, u64)], names: &Names, rules: Rules) -> Result<Vec<(NameId, u64)>> {
    let mut known = HashMap::default();
    let mut distinct: Vec<(NameId, u64)> = Vec::new();
    for &(name, offset) in places {
        let at = *known.entry(name).or_insert(distinct.len());
        match distinct.get_mut(at) {
            Some(place) => place.1 = offset,
            None => distinct.push((name, offset)),
        }
    }
    let hash = |(name, _): &(NameId, u64)| hash_range(&names.get(*name).to_bytes()) as u32;
    let hashes: Vec<u32> = distinct.iter().map(hash).collect();
    let order = prepared_map_order(rules.release(), &hashes);
    Ok(order.into_iter().map(|at| distinct[at as usize]).collect())
}

/// Reads a compact binary. The table at its end lists the records.
///
/// # Errors
///
/// The errors of the plain form, and offsets beyond the end of the file.
pub(super) fn read(file: &[u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<()> {
    let index = Index::read(file, options, profile)?;
    index.add_records(None, options, profile)
}

fn at<'data>(file: &'data [u8], offset: u64, section: &'static str) -> Result<Cursor<'data>> {
    let rest = usize::try_from(offset).ok().and_then(|offset| file.get(offset..));
    let rest = rest.ok_or_else(|| Error::truncated("the target of an offset", offset, file.len() as u64))?;
    Ok(Cursor::new(rest, offset, Endian::Little, section))
}

/// Writes a compact binary. Names become hashes, and cannot become names again.
///
/// # Errors
///
/// Memory for the output is refused.
pub(super) fn write_records(content: &Content<'_>) -> Result<Vec<u8>> {
    let mut sink = content.begin(COMPACT_MAGIC);
    let table = content.name_table();
    write_uleb128(&mut sink, table.names.len() as u64);
    for name in &table.names {
        write_uleb128(&mut sink, content.names.get(*name).hash());
    }
    let place = sink.reserve();
    let bodies = BodyWriter { names: content.names, index: &table.index, with_vtables: false };
    let mut offsets = Vec::with_capacity(content.records.len());
    for record in content.records {
        offsets.push((record.name, sink.len() as u64));
        write_record(&mut sink, &bodies, record);
    }
    let end = sink.len() as u64;
    sink.patch(place, end);
    write_uleb128(&mut sink, offsets.len() as u64);
    for (name, offset) in offsets {
        bodies.name(&mut sink, name);
        write_uleb128(&mut sink, offset);
    }
    Ok(sink.into_bytes())
}
