//! What a memory profile says, whatever file it came from.

use super::data_access::DataAccessProfile;
use super::fields::{MemInfoBlock, Schema};
use super::stacks::{CallStacks, StackHandle};
use crate::error::Result;
use crate::memory::{self, HOLD_RECORDS};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// An allocation in a function, made along one call stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocSite {
    /// The whole stack, from the allocation to the program's start.
    pub stack: StackHandle,
    /// What was measured.
    pub info: MemInfoBlock,
    /// Accesses to each 8 bytes of the objects, where the runtime counted them.
    /// Only raw profiles hold it.
    pub histogram: Option<Arc<Vec<u64>>>,
}

/// A call in a function that leads to an allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSite {
    /// The frames at one address: the call, and the functions that its function
    /// is inlined into.
    pub frames: StackHandle,
    /// Functions that were called there, in ascending order; empty when unknown.
    pub callees: Vec<u64>,
}

/// What is known of one function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemProfRecord {
    /// The function ([`guid`]).
    pub function: u64,
    /// Allocations in it, or in what is inlined into it.
    pub alloc_sites: Vec<AllocSite>,
    /// Calls in it that lead to allocations.
    pub call_sites: Vec<CallSite>,
}

/// A memory profile. [`check_memory`](Self::check_memory) says whether all of it fits the memory.
#[derive(Debug, Clone, Default)]
pub struct MemoryProfile {
    /// The fields that are known of every allocation.
    pub schema: Schema,
    /// Frames and call stacks.
    pub stacks: CallStacks,
    records: Vec<MemProfRecord>,
    by_function: HashMap<u64, usize, foldhash::fast::RandomState>,
    /// Accesses to static data.
    pub data_access: Option<DataAccessProfile>,
    /// Names of functions, where the source has them.
    pub names: BTreeMap<u64, Vec<u8>>,
    /// Whether a function has the record of the first one, for its own did not fit.
    is_out_of_memory: bool,
}

impl Default for Schema {
    fn default() -> Self {
        Self::FULL
    }
}

impl MemoryProfile {
    /// A profile without records that knows these fields.
    pub fn new(schema: Schema) -> Self {
        Self { schema, ..Self::default() }
    }

    /// The records, in order of first mention.
    pub fn records(&self) -> &[MemProfRecord] {
        &self.records
    }

    /// The record of a function.
    pub fn record(&self, function: u64) -> Option<&MemProfRecord> {
        self.by_function.get(&function).map(|at| &self.records[*at])
    }

    /// Whether all records and stacks that were added are there.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn check_memory(&self) -> Result<()> {
        if self.is_out_of_memory {
            return Err(memory::refused(HOLD_RECORDS));
        }
        self.stacks.check_memory()
    }

    /// The record of a function, which is added if it is new.
    pub fn record_mut(&mut self, function: u64) -> &mut MemProfRecord {
        let at = self.record_index(function);
        &mut self.records[at]
    }

    /// The position of a function's record, which is added if it is new.
    pub(super) fn record_index(&mut self, function: u64) -> usize {
        let has_room = self.records.try_reserve(1).is_ok() && self.by_function.try_reserve(1).is_ok();
        if !has_room && !self.records.is_empty() {
            self.is_out_of_memory = true;
            return 0;
        }
        let at = *self.by_function.entry(function).or_insert(self.records.len());
        if at == self.records.len() {
            self.records.push(MemProfRecord { function, ..MemProfRecord::default() });
        }
        at
    }

    /// All records, to be changed.
    pub(super) fn records_mut(&mut self) -> &mut [MemProfRecord] {
        &mut self.records
    }

    /// All allocation sites, record by record.
    pub fn alloc_sites(&self) -> impl Iterator<Item = &AllocSite> {
        self.records.iter().flat_map(|record| &record.alloc_sites)
    }

    /// Whether there is neither a record nor an access to static data.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.data_access.is_none()
    }
}

/// The id of a function: the low 64 bits of the MD5 of its
/// [canonical name](canonical_name).
pub fn guid(name: &[u8]) -> u64 {
    let digest = md5::compute(canonical_name(name));
    u64::from_le_bytes(*digest.first_chunk().expect("an MD5 digest has 16 bytes"))
}

/// A function's name without what optimizations put behind it: `.llvm.` and
/// `.part.` with the number that follows.
pub fn canonical_name(name: &[u8]) -> &[u8] {
    [b".llvm.".as_slice(), b".part."].into_iter().fold(name, |name, suffix| {
        let last = name.windows(suffix.len()).rposition(|part| part == suffix);
        match last {
            Some(at) if !name[at + suffix.len()..].contains(&b'.') => &name[..at],
            _ => name,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optimization_suffixes_are_not_part_of_a_name() {
        for (name, canonical) in [
            ("main", "main"),
            ("f.llvm.123", "f"),
            ("f.part.0", "f"),
            ("f.part.0.llvm.123", "f"),
            ("f.llvm.1.cold", "f.llvm.1.cold"),
            ("f.__uniq.7.llvm.1", "f.__uniq.7"),
        ] {
            assert_eq!(canonical_name(name.as_bytes()), canonical.as_bytes(), "{name}");
        }
        assert_eq!(guid(b"main.llvm.4"), 0xdb95_6436_e78d_d5fa);
    }

    #[test]
    fn records_stay_in_order_of_first_mention() {
        let mut profile = MemoryProfile::default();
        for function in [7, 3, 7] {
            profile.record_mut(function);
        }
        assert!(profile.records().iter().map(|record| record.function).eq([7, 3]));
        assert!(profile.record(3).is_some() && profile.record(4).is_none());
    }
}
