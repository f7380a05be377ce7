//! The entries of a hash table through a window of its payload.

use super::lookup::{Progress, Table};
use super::plain::{PlainEntry, end_of_plain};
use super::records::Records;
use crate::bytes::window::Window;
use crate::bytes::{Cursor, Endian};
use crate::error::Result;
use crate::model::{Counters, FunctionRecord, NameRef, RecordRef, RecordView};
use std::ops::Range;

/// Goes from entry to entry, in the order of the payload.
#[derive(Debug)]
pub(super) struct Entries<'data> {
    window: Window<'data>,
    progress: Progress,
    version: u32,
    name_ref: NameRef,
    /// Where the name of the entry at hand is in view.
    name: Range<usize>,
    /// Where its records are that were not decoded.
    records: Range<usize>,
    /// What ends a record of counters alone.
    plain_end: Option<&'static [u8]>,
    /// FuncHash of such a record, and where its counters are in view.
    plain: (u64, Range<usize>),
}

impl<'data> Entries<'data> {
    /// Before the first entry of a table, whose payload is in the window.
    pub(super) fn new(window: Window<'data>, table: &Table<'_>, version: u32) -> Self {
        let plain_end = end_of_plain(version);
        let (progress, name, records, plain) = (table.start(), 0..0, 0..0, (0, 0..0));
        Self { window, progress, version, name_ref: 0, name, records, plain_end, plain }
    }

    /// Before the first entry once more.
    pub(super) fn again(&self, table: &Table<'_>) -> Self {
        Self::new(self.window.again(table.payload_offset), table, self.version)
    }

    /// Goes to the next entry if it has one record with counters alone and all of it is in view; it is
    /// [`plain`](Self::plain) then.
    #[inline]
    pub(super) fn advance_plain(&mut self) -> bool {
        let Some(end) = self.plain_end.filter(|_| self.records.is_empty()) else { return false };
        let bytes = self.window.bytes();
        let Some((start, progress)) = self.progress.quick_step(bytes) else { return false };
        let Some(plain) = PlainEntry::find(&bytes[start..], end) else { return false };
        let at = self.window.passed() + start;
        self.window.pass(start + plain.len);
        self.progress = progress;
        self.name_ref = plain.name_ref;
        self.name = at + plain.name.start..at + plain.name.end;
        self.plain = (plain.func_hash, at + plain.counters.start..at + plain.counters.end);
        true
    }

    /// The one record of the entry at hand.
    #[inline]
    pub(super) fn plain(&self) -> RecordRef<'_> {
        let (func_hash, counters) = &self.plain;
        let (counters, _) = self.window.view()[counters.clone()].as_chunks();
        let record = RecordView::of_counters(*func_hash, Counters::stored(counters));
        RecordRef { name: self.name(), name_ref: Some(self.name_ref), text: None, record }
    }

    /// Goes to the next entry, which is checked from end to end; `false` at the end.
    ///
    /// # Errors
    ///
    /// Malformed for a damaged entry, the last one then; I/O where the window cannot move.
    pub(super) fn advance(&mut self) -> Result<bool> {
        loop {
            let mut progress = self.progress;
            let offset = self.window.base() + self.window.passed() as u64;
            let mut cursor = Cursor::new(self.window.bytes(), offset, Endian::Little, "hash table");
            let Some(entry) = progress.next_entry(&mut cursor, self.version) else { return Ok(false) };
            let end = self.window.view().len() - cursor.rest().len();
            match entry.map(|entry| (entry.name_ref, entry.name.len(), entry.records.bytes_left())) {
                Ok((name_ref, name_len, records_len)) => {
                    self.records = end - records_len..end;
                    self.name = self.records.start - name_len..self.records.start;
                    (self.name_ref, self.progress) = (name_ref, progress);
                    self.window.pass(end - self.window.passed());
                    return Ok(true);
                }
                // What does not fit the view may fit a longer one.
                Err(_) if self.window.more()? => {}
                Err(error) => {
                    self.progress = progress;
                    return Err(error);
                }
            }
        }
    }

    /// Decodes the next record of the entry at hand; `false` when it has no more.
    ///
    /// # Errors
    ///
    /// I/O where memory does not hold the record.
    pub(super) fn next_record(&mut self, record: &mut FunctionRecord) -> Result<bool> {
        let Range { start, end } = self.records;
        let offset = self.window.base() + start as u64;
        let mut records = Records::unchecked(&self.window.view()[start..end], offset, self.version);
        let found = records.next_into(record)?;
        self.records.start = end - records.bytes_left();
        Ok(found)
    }

    /// Name of the entry at hand.
    pub(super) fn name(&self) -> &[u8] {
        &self.window.view()[self.name.clone()]
    }

    /// Its hash as the file says it.
    pub(super) fn name_ref(&self) -> NameRef {
        self.name_ref
    }
}
