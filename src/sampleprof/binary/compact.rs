//! The compact form of LLVM 16 and earlier: names are hashes.

use super::body::{BodyReader, BodyWriter, read_index};
use super::reader::add_body;
use super::tables::{NameForm, read_header, read_names, read_summary};
use super::writer::{Content, write_record};
use super::{COMPACT_MAGIC, VERSION};
use crate::bytes::leb128::{read_uleb128, write_uleb128};
use crate::bytes::{Cursor, Endian};
use crate::error::{Error, Result};
use crate::memory::{self, HOLD_NAMES};
use crate::model::hash_order::prepared_map_order;
use crate::sampleprof::ReadOptions;
use crate::sampleprof::hash::hash_range;
use crate::sampleprof::names::{NameId, Names};
use crate::sampleprof::profile::SampleProfile;
use crate::sampleprof::record::FunctionRecord;
use crate::sampleprof::rules::Rules;
use crate::sampleprof::table::RecordTable;
use foldhash::HashMap;

/// Where the records of a file are.
#[derive(Debug)]
pub(crate) struct Index<'data> {
    file: &'data [u8],
    names: Vec<NameId>,
    /// Where the table of functions begins; records stand in front of it.
    end: usize,
    /// Functions and offsets in the order of the table.
    places: Vec<(NameId, u64)>,
}

impl<'data> Index<'data> {
    /// Reads everything but records; `profile` gets the names, the kind and the
    /// summary.
    ///
    /// # Errors
    ///
    /// As of the plain form, and offsets that lead out of the file.
    pub(crate) fn read(file: &'data [u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<Self> {
        let mut cursor = Cursor::new(file, 0, Endian::Little, "header");
        read_header(&mut cursor, COMPACT_MAGIC, &[VERSION])?;
        cursor.enter("summary");
        profile.summary = Some(read_summary(&mut cursor)?);
        cursor.enter("names");
        let names = read_names(&mut cursor, NameForm::Hashes, &mut profile.names, options.rules, &options.limits)?;
        let end = cursor.u64("offset of the table of functions")?;
        let mut table = at(file, end, "table of functions")?;
        let mut places = Vec::new();
        for _ in 0..read_uleb128(&mut table, "number of functions")? {
            let name = read_index(&mut table, &names)?;
            places.push((name, read_uleb128(&mut table, "offset of a record")?));
        }
        if options.rules.has_compact_binary() {
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
    /// As of the plain form, and offsets that lead to another function.
    pub(crate) fn add_records(
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
                return Err(record.place(Error::malformed("the table of functions leads to another function")));
            }
            add_body(&mut record, profile, &mut table, &bodies, options, &FunctionRecord::new(name), head)?;
        }
        Ok(())
    }
}

/// The places in the order in which the releases that know the form read them:
/// that of a map by name, in which the last offset of a name holds.
fn in_map_order(places: &[(NameId, u64)], names: &Names, rules: Rules) -> Result<Vec<(NameId, u64)>> {
    let mut known = HashMap::default();
    let mut distinct: Vec<(NameId, u64)> = Vec::new();
    memory::reserve(&mut distinct, places.len(), HOLD_NAMES)?;
    for &(name, offset) in places {
        memory::reserve(&mut known, 1, HOLD_NAMES)?;
        let at = *known.entry(name).or_insert(distinct.len());
        match distinct.get_mut(at) {
            Some(place) => place.1 = offset,
            None => distinct.push((name, offset)),
        }
    }
    let hash = |(name, _): &(NameId, u64)| hash_range(&names.get(*name).to_bytes()) as u32;
    let hashes: Vec<u32> = memory::collect(distinct.iter().map(hash), HOLD_NAMES)?;
    let order = prepared_map_order(rules.release(), &hashes)?;
    memory::collect(order.into_iter().map(|at| distinct[at as usize]), HOLD_NAMES)
}

/// Reads a compact binary. Which records there are is said by the table at its
/// end.
///
/// # Errors
///
/// As of the plain form, and offsets that lead out of the file.
pub(crate) fn read(file: &[u8], options: &ReadOptions, profile: &mut SampleProfile) -> Result<()> {
    let index = Index::read(file, options, profile)?;
    index.add_records(None, options, profile)
}

fn at<'data>(file: &'data [u8], offset: u64, section: &'static str) -> Result<Cursor<'data>> {
    let rest = usize::try_from(offset).ok().and_then(|offset| file.get(offset..));
    let rest = rest.ok_or_else(|| Error::truncated("what an offset leads to", offset, file.len() as u64))?;
    Ok(Cursor::new(rest, offset, Endian::Little, section))
}

/// The compact binary; names become hashes for good.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub(crate) fn write_records(content: &Content<'_>) -> Result<Vec<u8>> {
    let mut sink = content.begin(COMPACT_MAGIC)?;
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
    sink.finish()
}
