//! Finding the record of a function while a file is read.

use super::names::NameId;
use super::record::{Frame, FunctionRecord};
use crate::error::Result;
use crate::memory::{self, HOLD_RECORDS};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// Positions of records by name and context.
#[derive(Debug, Default)]
pub(super) struct RecordTable {
    table: HashTable<u32>,
    hasher: RandomState,
}

fn key(record: &FunctionRecord) -> (NameId, Option<&[Frame]>) {
    (record.name, record.context.as_deref())
}

impl RecordTable {
    /// The position of the record of the same function and context; without
    /// one a copy of `wanted` is appended.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(super) fn find_or_insert(
        &mut self,
        records: &mut Vec<FunctionRecord>,
        wanted: &FunctionRecord,
    ) -> Result<usize> {
        match self.find(records, wanted) {
            Some(found) => Ok(found),
            None => {
                let hash = self.hasher.hash_one(key(wanted));
                let at = records.len();
                memory::push(records, wanted.clone(), HOLD_RECORDS)?;
                let hasher = &self.hasher;
                let grown = self.table.try_reserve(1, |at| hasher.hash_one(key(&records[*at as usize])));
                grown.map_err(|_| memory::refused(HOLD_RECORDS))?;
                self.table.insert_unique(hash, at as u32, |at| hasher.hash_one(key(&records[*at as usize])));
                Ok(at)
            }
        }
    }

    /// The position of the record of the same function and context.
    pub(super) fn find(&self, records: &[FunctionRecord], wanted: &FunctionRecord) -> Option<usize> {
        let hash = self.hasher.hash_one(key(wanted));
        self.table.find(hash, |at| key(&records[*at as usize]) == key(wanted)).map(|at| *at as usize)
    }
}
