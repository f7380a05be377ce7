//! The order of the records of one name.

use crate::error::Result;
use crate::memory::{self, HOLD_OUTPUT};
use crate::model::hash_order::number_map_order;
use crate::model::{FunctionView, RecordView, Release};

/// The records of one name in the order of files: that of a map keyed by
/// FuncHash into which they were inserted by first appearance.
pub(super) fn records_in_file_order<'a>(release: Release, function: FunctionView<'a>) -> Result<Vec<RecordView<'a>>> {
    let records: Vec<RecordView<'_>> = memory::collect(function.records(), HOLD_OUTPUT)?;
    if records.len() < 2 {
        return Ok(records);
    }
    let hashes: Vec<u64> = memory::collect(records.iter().map(|record| record.func_hash), HOLD_OUTPUT)?;
    let order = number_map_order(release, &hashes)?;
    memory::collect(order.into_iter().map(|index| records[index as usize]), HOLD_OUTPUT)
}
