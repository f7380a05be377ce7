//! A profile in memory that reads like a file, for the tests of the reports.

use crate::error::{Error, Result};
use crate::model::{
    BinaryId, FunctionRecord, NameRef, ProfileKind, ProfileReader, RecordRef, SymbolTable, TemporalProfile,
    TemporalTrace, name_ref,
};

/// Records in the order they were added; optionally a fault at the end.
#[derive(Default)]
pub(crate) struct MemoryReader {
    pub(crate) kind: ProfileKind,
    pub(crate) version: u64,
    pub(crate) binary_ids: Vec<BinaryId>,
    pub(crate) temporal: TemporalProfile,
    pub(crate) fails: bool,
    records: Vec<(Vec<u8>, FunctionRecord)>,
    symbols: SymbolTable,
    next: usize,
}

impl MemoryReader {
    pub(crate) fn new(kind: ProfileKind) -> Self {
        Self { kind, ..Self::default() }
    }

    pub(crate) fn record(mut self, name: &str, record: FunctionRecord) -> Self {
        self.symbols.insert(name.as_bytes());
        self.records.push((name.into(), record));
        self
    }

    pub(crate) fn counters(self, name: &str, func_hash: u64, counters: &[u64]) -> Self {
        self.record(name, FunctionRecord::new(func_hash, counters.to_vec()))
    }

    /// Adds a trace and the names in it.
    pub(crate) fn trace(mut self, weight: u64, names: &[&str]) -> Self {
        let functions: Vec<NameRef> = names.iter().map(|name| self.symbols.insert(name.as_bytes())).collect();
        assert!(functions.iter().zip(names).all(|(hash, name)| *hash == name_ref(name.as_bytes())));
        self.temporal.traces.push(TemporalTrace { weight, functions });
        self.temporal.stream_size += 1;
        self
    }
}

impl ProfileReader for MemoryReader {
    fn kind(&self) -> ProfileKind {
        self.kind
    }

    fn version_word(&self) -> u64 {
        self.version
    }

    fn next_record(&mut self) -> Result<Option<RecordRef<'_>>> {
        let Some((name, record)) = self.records.get(self.next) else {
            return if std::mem::take(&mut self.fails) {
                Err(Error::malformed("the last record is truncated"))
            } else {
                Ok(None)
            };
        };
        self.next += 1;
        Ok(Some(RecordRef { name, name_ref: None, text: None, record: record.view() }))
    }

    fn symbols(&mut self) -> Result<&SymbolTable> {
        Ok(&self.symbols)
    }

    fn binary_ids(&mut self) -> Result<Vec<BinaryId>> {
        Ok(self.binary_ids.clone())
    }

    fn temporal(&mut self) -> TemporalProfile {
        self.temporal.clone()
    }

    fn vtable_names(&mut self) -> Result<Vec<Vec<u8>>> {
        Ok(Vec::new())
    }
}
