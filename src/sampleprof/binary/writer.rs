//! Writing the plain form, and what it shares with the compact one.

use super::body::BodyWriter;
use super::tables::{NameCollector, NameTable, write_header, write_names, write_summary};
use super::{MAGIC, VERSION};
use crate::bytes::leb128::write_uleb128;
use crate::bytes::{Endian, Sink};
use crate::error::Result;
use crate::sampleprof::merge::summarize;
use crate::sampleprof::names::Names;
use crate::sampleprof::order;
use crate::sampleprof::profile::Kind;
use crate::sampleprof::record::FunctionRecord;
use crate::sampleprof::rules::Rules;

/// What is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Content<'a> {
    /// Names of the profile.
    pub(crate) names: &'a Names,
    /// Records in the order of the file.
    pub(crate) records: &'a [&'a FunctionRecord],
    /// The same records in the order of LLVM's container.
    pub(crate) container: &'a [&'a FunctionRecord],
    pub(crate) rules: Rules,
    pub(crate) kind: Kind,
}

impl Content<'_> {
    /// What both forms begin with: magic, version and summary.
    pub(super) fn begin(&self, magic: u64) -> Result<Sink> {
        let mut sink = Sink::new(Endian::Little);
        write_header(&mut sink, magic, VERSION);
        let records = self.container.iter().copied();
        write_summary(&mut sink, &summarize(records, self.names, self.kind, self.rules)?);
        Ok(sink)
    }

    /// The names that records mention.
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

/// The plain binary.
///
/// # Errors
///
/// Out of memory, as an I/O error.
pub(crate) fn write_records(content: &Content<'_>) -> Result<Vec<u8>> {
    let mut sink = content.begin(MAGIC)?;
    let table = content.name_table();
    write_names(&mut sink, content.names, &table.names);
    let bodies = BodyWriter { names: content.names, index: &table.index, with_vtables: false };
    content.records.iter().for_each(|record| write_record(&mut sink, &bodies, record));
    sink.finish()
}
