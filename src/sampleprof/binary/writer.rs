//! Writing the plain form.

use super::body::BodyWriter;
use super::tables::{NameCollector, NameTable, write_header, write_names, write_summary};
use super::{MAGIC, VERSION};
use crate::bytes::leb128::write_uleb128;
use crate::bytes::{Endian, Sink};
use crate::sampleprof::merge::summarize;
use crate::sampleprof::names::Names;
use crate::sampleprof::order;
use crate::sampleprof::profile::Kind;
use crate::sampleprof::record::FunctionRecord;
use crate::sampleprof::rules::Rules;

/// The plain binary of records in the order given; `container` are the same in
/// LLVM's order.
pub(in crate::sampleprof) fn write_records(
    names: &Names,
    records: &[&FunctionRecord],
    container: &[&FunctionRecord],
    rules: Rules,
    kind: Kind,
) -> Vec<u8> {
    let mut sink = Sink::new(Endian::Little);
    write_header(&mut sink, MAGIC, VERSION);
    write_summary(&mut sink, &summarize(container.iter().copied(), names, kind, rules));
    let table = name_table(names, records);
    write_names(&mut sink, names, &table.names);
    let bodies = BodyWriter { names, index: &table.index, with_vtables: false };
    for record in records {
        write_uleb128(&mut sink, record.head);
        bodies.name(&mut sink, record.name);
        bodies.write(&mut sink, record);
    }
    sink.into_bytes()
}

/// The names that records mention.
pub(super) fn name_table(names: &Names, records: &[&FunctionRecord]) -> NameTable {
    let mut collector = NameCollector::new(names);
    for record in records {
        order::each_name(record, false, &mut |name| collector.add(name));
    }
    collector.finish()
}
