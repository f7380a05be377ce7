//! The items of the hash table: a name and its records each.

use super::dialect::Dialect;
use super::layout::since;
use super::order;
use crate::bytes::Sink;
use crate::error::{Error, ErrorKind, Result};
use crate::model::value::MAX_VALUES_PER_SITE;
use crate::model::{FunctionView, RecordView, ValueKind, ValueSites};

/// The records of a function that the version has room for, in file order.
pub(super) fn written_records<'a>(dialect: Dialect, function: FunctionView<'a>) -> Result<Vec<RecordView<'a>>> {
    let mut records = order::records_in_file_order(dialect.release, function)?;
    if !dialect.has(since::RECORD_COUNTS) {
        records.truncate(1);
    }
    Ok(records)
}

/// Bytes of all records of a name.
pub(super) fn data_size(dialect: Dialect, function: FunctionView<'_>) -> Result<u64> {
    let mut size = 0;
    if dialect.has(since::RECORD_COUNTS) {
        for record in function.records() {
            size += record_size(dialect, record)?;
        }
    } else if let Some(record) = written_records(dialect, function)?.first() {
        size = record_size(dialect, *record)?;
    }
    Ok(size)
}

fn record_size(dialect: Dialect, record: RecordView<'_>) -> Result<u64> {
    let mut words = 1 + record.counters.len() as u64;
    words += u64::from(dialect.has(since::RECORD_COUNTS));
    if dialect.has(since::PACKED_BITMAPS) {
        words += 1 + (record.bitmap.len() as u64).div_ceil(8);
    } else if dialect.has(since::BITMAPS) {
        words += 1 + record.bitmap.len() as u64;
    }
    if dialect.has(since::UNIFORMITY) {
        words += 1 + (record.uniformity.bits.len() as u64).div_ceil(8);
    }
    let mut size = words * 8;
    if dialect.has(since::VALUE_SITES) {
        let blob = value_blob_size(record, dialect.value_kinds());
        if blob > u64::from(u32::MAX) {
            return Err(too_large("value sites of a function", blob, u32::MAX.into()));
        }
        size += blob;
    }
    Ok(size)
}

fn value_blob_size(record: RecordView<'_>, kinds: &[ValueKind]) -> u64 {
    if !record.has_value_sites() {
        return 8;
    }
    let of_kind = |sites: &ValueSites| {
        let values: usize = if sites.values_len() <= MAX_VALUES_PER_SITE {
            sites.values_len()
        } else {
            sites.iter().map(|site| site.len().min(MAX_VALUES_PER_SITE)).sum()
        };
        8 + (sites.len() as u64).next_multiple_of(8) + 16 * values as u64
    };
    8 + kinds.iter().map(|kind| record.sites(*kind)).filter(|sites| !sites.is_empty()).map(of_kind).sum::<u64>()
}

/// Appends a function's key and records, whose bytes are `data_size`.
pub(super) fn write_item(sink: &mut Sink, dialect: Dialect, function: FunctionView<'_>, data_size: u64) {
    let name = function.name();
    sink.u64s(&[function.name_ref(), name.len() as u64, data_size]);
    sink.bytes(name);
    let start = sink.len();
    let mut records = function.records();
    match (records.next(), records.next()) {
        (Some(only), None) => write_record(sink, dialect, only),
        _ => match written_records(dialect, function) {
            Ok(records) => records.into_iter().for_each(|record| write_record(sink, dialect, record)),
            Err(_) => sink.lack_memory(),
        },
    }
    debug_assert!(sink.is_out_of_memory() || (sink.len() - start) as u64 == data_size);
}

fn write_record(sink: &mut Sink, dialect: Dialect, record: RecordView<'_>) {
    sink.u64(record.func_hash);
    if dialect.has(since::RECORD_COUNTS) {
        sink.u64(record.counters.len() as u64);
    }
    record.counters.for_each_piece(|counters| sink.u64s(counters));
    if dialect.has(since::PACKED_BITMAPS) {
        write_padded(sink, record.bitmap);
    } else if dialect.has(since::BITMAPS) {
        sink.u64(record.bitmap.len() as u64);
        record.bitmap.iter().for_each(|byte| sink.u64(u64::from(*byte)));
    }
    if dialect.has(since::UNIFORMITY) {
        write_padded(sink, &record.uniformity.bits);
    }
    if dialect.has(since::VALUE_SITES) {
        write_value_blob(sink, record, dialect.value_kinds());
    }
}

/// Appends a number of bytes and the bytes, which end at a multiple of 8.
fn write_padded(sink: &mut Sink, bytes: &[u8]) {
    sink.u64(bytes.len() as u64);
    sink.bytes(bytes);
    sink.zeros(bytes.len().next_multiple_of(8) - bytes.len());
}

fn write_value_blob(sink: &mut Sink, record: RecordView<'_>, kinds: &[ValueKind]) {
    if !record.has_value_sites() {
        sink.u32(8);
        sink.u32(0);
        return;
    }
    sink.u32(value_blob_size(record, kinds) as u32);
    sink.u32(kinds.iter().filter(|kind| !record.sites(**kind).is_empty()).count() as u32);
    for &kind in kinds {
        let sites = record.sites(kind);
        if sites.is_empty() {
            continue;
        }
        sink.u32(kind.number());
        sink.u32(sites.len() as u32);
        let cut = |site: &[_]| site.len().min(MAX_VALUES_PER_SITE);
        sites.iter().for_each(|site| sink.u8(cut(site) as u8));
        sink.zeros(sites.len().next_multiple_of(8) - sites.len());
        for site in sites.iter() {
            site[..cut(site)].iter().for_each(|v| sink.u64s(&[v.value, v.count]));
        }
    }
}

pub(super) fn too_large(field: &'static str, found: u64, limit: u64) -> Error {
    Error::new(ErrorKind::TooLarge { field, found, limit })
}
