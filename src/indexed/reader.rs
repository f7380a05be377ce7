//! An indexed file read front to back.

use super::entries::Entries;
use super::profile::{IndexedProfile, ReadOptions};
use crate::bytes::window::Window;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    BinaryId, FunctionRecord, MemProfSection, ProfileKind, ProfileReader, RecordRef, SymbolTable, TemporalProfile,
};

/// Hands out the records of an indexed file in the order of its payload.
#[derive(Debug)]
pub struct IndexedReader<'data> {
    profile: IndexedProfile<'data>,
    entries: Entries<'data>,
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
        let payload = Window::over(profile.table.payload, profile.table.payload_offset);
        Self::through(payload, profile)
    }

    /// Reads an opened file through a window of its payload.
    pub(super) fn through(payload: Window<'data>, profile: IndexedProfile<'data>) -> Self {
        let entries = Entries::new(payload, &profile.table, profile.version());
        Self { profile, entries, record: FunctionRecord::default(), symbols: None, failed: false }
    }

    /// The view that is being read.
    pub fn profile(&self) -> &IndexedProfile<'data> {
        &self.profile
    }

    /// Decodes the next record; `false` at the end.
    fn advance(&mut self) -> Result<bool> {
        while !self.entries.next_record(&mut self.record)? {
            if !self.entries.advance()? {
                return Ok(false);
            }
        }
        self.check()?;
        Ok(true)
    }

    fn all_names(&self) -> Result<SymbolTable> {
        let mut table = SymbolTable::new();
        let mut entries = self.entries.again(&self.profile.table);
        loop {
            match entries.advance() {
                Ok(true) => table.insert_hashed(entries.name_ref(), entries.name()),
                Err(error) if matches!(error.kind(), ErrorKind::Io { .. }) => return Err(error),
                // A damaged rest of the file is reported where it is read.
                Ok(false) | Err(_) => break,
            }
        }
        for name in self.profile.vtable_names().unwrap_or_default() {
            table.insert(&name);
        }
        Ok(table)
    }

    fn check(&self) -> Result<()> {
        if self.record.counters.is_empty() && self.profile.refuses_empty_records() {
            let detail = format!("a record of {} has no counters", self.entries.name().escape_ascii());
            return Err(Error::malformed(detail).in_section("function records"));
        }
        Ok(())
    }
}

/// Whether an indexed file has neither a record nor a memory profile.
pub fn is_blank(file: &[u8]) -> bool {
    let is_blank = |mut reader: IndexedReader<'_>| {
        !reader.kind().contains(ProfileKind::MEMPROF) && matches!(reader.next_record(), Ok(None))
    };
    IndexedReader::new(file, ReadOptions::default()).is_ok_and(is_blank)
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
        if self.entries.advance_plain() {
            return Ok(Some(self.entries.plain()));
        }
        match self.advance() {
            Ok(true) => {}
            Ok(false) => return Ok(None),
            Err(error) => {
                self.failed = true;
                return Err(self.profile.in_format(error));
            }
        }
        let (name, name_ref) = (self.entries.name(), Some(self.entries.name_ref()));
        Ok(Some(RecordRef { name, name_ref, text: None, record: self.record.view() }))
    }

    /// All names of the file, whatever was read so far.
    fn symbols(&mut self) -> Result<&SymbolTable> {
        if self.symbols.is_none() {
            self.symbols = Some(self.all_names()?);
        }
        Ok(self.symbols.get_or_insert_default())
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

    fn memprof(&self) -> Result<Option<MemProfSection>> {
        self.profile.memprof()
    }
}
