//! An indexed file read front to back.

use super::lookup::{Entry, Walk};
use super::profile::{IndexedProfile, ReadOptions};
use crate::error::{Error, Result};
use crate::instr::{
    BinaryId, FunctionRecord, MemProfSection, ProfileKind, ProfileReader, RecordRef, SymbolTable, TemporalProfile,
};

/// Hands out the records of an indexed file in the order of its payload.
#[derive(Debug)]
pub struct IndexedReader<'data> {
    profile: IndexedProfile<'data>,
    walk: Walk<'data>,
    entry: Option<Entry<'data>>,
    record: FunctionRecord,
    symbols: Option<SymbolTable>,
    failed: bool,
}

impl<'data> IndexedReader<'data> {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// As [`IndexedProfile::read`].
    pub fn new(file: &'data [u8], options: ReadOptions) -> Result<Self> {
        Ok(Self::over(IndexedProfile::read(file, options)?))
    }

    /// Reads an opened file.
    pub fn over(profile: IndexedProfile<'data>) -> Self {
        let walk = profile.walk();
        Self { profile, walk, entry: None, record: FunctionRecord::default(), symbols: None, failed: false }
    }

    /// The view that is being read.
    pub fn profile(&self) -> &IndexedProfile<'data> {
        &self.profile
    }

    /// Decodes the next record; `false` at the end.
    fn advance(&mut self) -> Result<bool> {
        loop {
            if let Some(entry) = &mut self.entry
                && entry.records.next_into(&mut self.record)?
            {
                return Ok(true);
            }
            self.entry = self.walk.next().transpose()?;
            if self.entry.is_none() {
                return Ok(false);
            }
        }
    }

    fn check(&self, name: &[u8]) -> Result<()> {
        if self.record.counters.is_empty() && self.profile.refuses_empty_records() {
            let detail = format!("a record of {} has no counters", name.escape_ascii());
            return Err(Error::malformed(detail).in_section("function records"));
        }
        Ok(())
    }
}

impl ProfileReader for IndexedReader<'_> {
    fn kind(&self) -> ProfileKind {
        self.profile.kind()
    }

    fn version_word(&self) -> u64 {
        u64::from(self.profile.version())
    }

    fn next_record(&mut self) -> Result<Option<RecordRef<'_>>> {
        if self.failed {
            return Ok(None);
        }
        let found = self.advance().and_then(|found| match &self.entry {
            Some(entry) if found => self.check(entry.name).map(|()| true),
            _ => Ok(false),
        });
        if let Err(error) = found {
            self.failed = true;
            return Err(self.profile.in_format(error));
        }
        let record = self.record.view();
        Ok(self.entry.as_ref().map(|entry| RecordRef {
            name: entry.name,
            name_ref: Some(entry.name_ref),
            text: None,
            record,
        }))
    }

    /// All names of the file, whatever was read so far.
    fn symbols(&mut self) -> Result<&SymbolTable> {
        let profile = &self.profile;
        let table = self.symbols.get_or_insert_with(|| {
            let mut table = SymbolTable::new();
            // A damaged rest of the file is reported where it is read.
            for entry in profile.walk().map_while(Result::ok) {
                table.insert_hashed(entry.name_ref, entry.name);
            }
            for name in profile.vtable_names().unwrap_or_default() {
                table.insert(&name);
            }
            table
        });
        Ok(table)
    }

    fn binary_ids(&mut self) -> Result<Vec<BinaryId>> {
        self.profile.binary_ids()
    }

    fn lists_binary_ids(&self) -> bool {
        true
    }

    fn temporal(&mut self) -> TemporalProfile {
        // Checked when the file was opened.
        self.profile.temporal().unwrap_or_default()
    }

    fn vtable_names(&mut self) -> Result<Vec<Vec<u8>>> {
        self.profile.vtable_names()
    }

    fn memprof(&self) -> Option<MemProfSection> {
        self.profile.memprof()
    }
}
