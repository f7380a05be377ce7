//! The order of the records of one name.

use crate::instr::hash_order::number_map_order;
use crate::instr::{FunctionView, RecordView, Release};

/// The records of one name in the order of files: that of a map keyed by
/// FuncHash into which they were inserted by first appearance.
pub(super) fn records_in_file_order<'a>(release: Release, function: FunctionView<'a>) -> Vec<RecordView<'a>> {
    let records: Vec<RecordView<'_>> = function.records().collect();
    if records.len() < 2 {
        return records;
    }
    let hashes: Vec<u64> = records.iter().map(|record| record.func_hash).collect();
    number_map_order(release, &hashes).into_iter().map(|index| records[index as usize]).collect()
}
