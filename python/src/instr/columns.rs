//! Records as tables.

use super::merged::Merged;
use crate::shared::share;
use crate::table::{Table, numbers, texts};
use crate::text::printable;
use arrow_array::builder::LargeStringBuilder;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, LargeListArray, RecordBatch, UInt64Array};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use profbridge::instr::{Counters, FunctionId, FunctionTable, PseudoCount, RecordId, RecordView, ValueKind, name_ref};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Returns the records in order of first appearance.
pub(super) fn in_order(table: &FunctionTable) -> Vec<(FunctionId, RecordId)> {
    let mut records: Vec<(FunctionId, RecordId)> = Vec::with_capacity(table.records_len());
    records.extend(table.iter().flat_map(|function| function.record_ids().map(move |record| (function.id(), record))));
    records.sort_unstable_by_key(|(_, record)| record.index());
    records
}

/// Returns one row per record, in order of first appearance. Counters are not copied: there is one batch per block of
/// memory.
pub(crate) fn functions(merged: &Arc<Merged>) -> Result<Table, ArrowError> {
    let table = merged.functions();
    let records = in_order(table);
    let mut columns = Columns::with_capacity(records.len());
    for (function, record) in &records {
        let view = table.function(*function);
        columns.push(view.name(), view.name_ref(), table.record(*record));
    }
    let columns = columns.finish(merged.profile.kind.first_counter_is_entry());
    let item = Arc::new(Field::new("item", DataType::UInt64, false));
    let mut fields: Vec<Field> =
        columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true)).collect();
    fields.push(Field::new("counters", DataType::LargeList(item.clone()), false));
    let schema = Arc::new(Schema::new(fields));
    let mut batches = Vec::new();
    for piece in pieces(merged, &records) {
        let mut of_piece: Vec<ArrayRef> =
            columns.iter().map(|(_, column)| column.slice(piece.rows.start, piece.rows.len())).collect();
        let values = UInt64Array::new(piece.counters, None);
        of_piece.push(Arc::new(LargeListArray::try_new(item.clone(), piece.offsets, Arc::new(values), None)?));
        batches.push(RecordBatch::try_new(schema.clone(), of_piece)?);
    }
    let whole = if batches.len() > 1 { columns.into_iter().map(|(_, column)| column).collect() } else { Vec::new() };
    Ok(Table::new(schema, batches, whole))
}

/// Consecutive records whose counters are adjacent in memory.
struct Piece {
    rows: Range<usize>,
    counters: ScalarBuffer<u64>,
    offsets: OffsetBuffer<i64>,
}

fn pieces(merged: &Arc<Merged>, records: &[(FunctionId, RecordId)]) -> Vec<Piece> {
    let table = merged.functions();
    let Some(blocks) = table.counter_blocks().map(Counters::as_words).collect::<Option<Vec<&[u64]>>>() else {
        return vec![copied(records.iter().map(|(_, record)| table.record(*record).counters))];
    };
    let counters_of = |at: usize| table.record(records[at].1).counters.as_words().unwrap_or_default();
    let mut pieces = Vec::new();
    let mut from = 0;
    let mut blocks = blocks.into_iter().enumerate();
    while from < records.len() {
        // Records without counters at the start belong to the first block.
        let Some((number, block)) = blocks.next() else {
            pieces.push(without_counters(from..records.len()));
            break;
        };
        let mut offsets = vec![0i64];
        let mut used = 0;
        let mut to = from;
        while to < records.len() {
            let counters = counters_of(to);
            if !counters.is_empty() && !block[used..].as_ptr_range().contains(&counters.as_ptr()) {
                break;
            }
            used += counters.len();
            offsets.push(used as i64);
            to += 1;
        }
        if to > from {
            let counters = share(merged, |merged| block_of(merged, number));
            pieces.push(Piece { rows: from..to, counters, offsets: OffsetBuffer::new(offsets.into()) });
        }
        from = to;
    }
    pieces
}

fn block_of(merged: &Merged, number: usize) -> &[u64] {
    merged.functions().counter_blocks().nth(number).and_then(Counters::as_words).unwrap_or_default()
}

/// Copies counters whose layout in memory differs from that of the column.
fn copied<'m>(records: impl ExactSizeIterator<Item = Counters<'m>>) -> Piece {
    let (rows, mut counters, mut offsets) = (0..records.len(), Vec::new(), vec![0i64]);
    for record in records {
        record.append_to(&mut counters);
        offsets.push(counters.len() as i64);
    }
    Piece { rows, counters: ScalarBuffer::from(counters), offsets: OffsetBuffer::new(offsets.into()) }
}

fn without_counters(rows: Range<usize>) -> Piece {
    let offsets = OffsetBuffer::new_zeroed(rows.len());
    Piece { rows, counters: ScalarBuffer::from(Vec::<u64>::new()), offsets }
}

/// The columns of numbers and strings.
struct Columns {
    names: LargeStringBuilder,
    name_refs: Vec<u64>,
    func_hashes: Vec<u64>,
    entry_counts: Vec<u64>,
    max_counts: Vec<u64>,
    total_counts: Vec<u64>,
    num_counters: Vec<u32>,
    num_covered: Vec<u32>,
    num_value_sites: Vec<u32>,
    pseudo: Vec<Option<PseudoCount>>,
}

impl Columns {
    fn with_capacity(records: usize) -> Self {
        Self {
            names: LargeStringBuilder::with_capacity(records, records * 32),
            name_refs: Vec::with_capacity(records),
            func_hashes: Vec::with_capacity(records),
            entry_counts: Vec::with_capacity(records),
            max_counts: Vec::with_capacity(records),
            total_counts: Vec::with_capacity(records),
            num_counters: Vec::with_capacity(records),
            num_covered: Vec::with_capacity(records),
            num_value_sites: Vec::with_capacity(records),
            pseudo: Vec::with_capacity(records),
        }
    }

    fn push(&mut self, name: &[u8], name_ref: u64, record: RecordView<'_>) {
        let counters = record.counters;
        let (mut max, mut total, mut covered) = (0u64, 0u64, 0usize);
        for count in counters {
            max = max.max(count);
            total = total.saturating_add(count);
            covered += usize::from(count != 0);
        }
        let sites: usize = ValueKind::ALL.iter().map(|kind| record.sites(*kind).len()).sum();
        self.names.append_value(printable(name));
        self.name_refs.push(name_ref);
        self.func_hashes.push(record.func_hash);
        self.entry_counts.push(counters.first().unwrap_or(0));
        self.max_counts.push(max);
        self.total_counts.push(total);
        self.num_counters.push(counters.len() as u32);
        self.num_covered.push(covered as u32);
        self.num_value_sites.push(sites as u32);
        self.pseudo.push(record.pseudo_count());
    }

    fn finish(mut self, has_entry_counts: bool) -> Vec<(&'static str, ArrayRef)> {
        // A pseudo count states how hot a function is; it is not a number of executions.
        let has_pseudo = self.pseudo.iter().any(Option::is_some);
        let known = has_pseudo.then(|| self.pseudo.iter().map(Option::is_none).collect::<NullBuffer>());
        let counts = |counts: Vec<u64>| -> ArrayRef { Arc::new(UInt64Array::new(counts.into(), known.clone())) };
        let entry_counts = match has_entry_counts {
            true => counts(self.entry_counts),
            false => Arc::new(UInt64Array::new_null(self.entry_counts.len())),
        };
        let word = |pseudo: &Option<PseudoCount>| match pseudo {
            Some(PseudoCount::Hot) => Some("hot"),
            Some(PseudoCount::Warm) => Some("warm"),
            None => None,
        };
        vec![
            ("name", Arc::new(self.names.finish())),
            ("name_ref", numbers::<UInt64Type>(self.name_refs)),
            ("func_hash", numbers::<UInt64Type>(self.func_hashes)),
            ("entry_count", entry_counts),
            ("max_count", counts(self.max_counts)),
            ("total_count", counts(self.total_counts)),
            ("num_counters", numbers::<UInt32Type>(self.num_counters)),
            ("num_covered", numbers::<UInt32Type>(self.num_covered)),
            ("num_value_sites", numbers::<UInt32Type>(self.num_value_sites)),
            ("pseudo_count", texts(self.pseudo.iter().map(word))),
        ]
    }
}

/// Returns one row per value of a value site.
pub(crate) fn value_sites(merged: &Merged) -> Result<Table, ArrowError> {
    let table = merged.functions();
    let mut names = LargeStringBuilder::new();
    let (mut hashes, mut sites, mut values, mut counts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut kinds, mut targets) = (LargeStringBuilder::new(), LargeStringBuilder::new());
    let symbols: HashMap<u64, &[u8]> = table.iter().map(|function| (function.name_ref(), function.name())).collect();
    let vtables: HashMap<u64, &[u8]> =
        merged.profile.vtable_names.iter().map(|name| (name_ref(name), name.as_slice())).collect();
    for function in table {
        let name = printable(function.name());
        for (record, kind) in
            function.records().flat_map(|record| ValueKind::ALL.iter().map(move |kind| (record, *kind)))
        {
            for (site, pairs) in record.sites(kind).iter().enumerate() {
                for pair in pairs {
                    names.append_value(&name);
                    kinds.append_value(kind_word(kind));
                    hashes.push(record.func_hash);
                    sites.push(site as u32);
                    values.push(pair.value);
                    counts.push(pair.count);
                    let target = match kind {
                        ValueKind::IndirectCallTarget => symbols.get(&pair.value),
                        ValueKind::VTableTarget => vtables.get(&pair.value),
                        _ => None,
                    };
                    targets.append_option(target.map(|name| printable(name)));
                }
            }
        }
    }
    Table::of_columns(vec![
        ("name", Arc::new(names.finish())),
        ("func_hash", numbers::<UInt64Type>(hashes)),
        ("kind", Arc::new(kinds.finish())),
        ("site", numbers::<UInt32Type>(sites)),
        ("value", numbers::<UInt64Type>(values)),
        ("count", numbers::<UInt64Type>(counts)),
        ("target", Arc::new(targets.finish())),
    ])
}

/// Returns the name of a kind of values, as in text profiles and `show`.
pub(super) fn kind_word(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::IndirectCallTarget => "indirect-call-target",
        ValueKind::MemOpSize => "memop-size",
        ValueKind::VTableTarget => "vtable-target",
        _ => "other",
    }
}
