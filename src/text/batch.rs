//! Records parsed together.

use crate::error::Error;
use crate::instr::{FunctionRecord, NameRef, name_refs};
use std::borrow::Cow;

/// Some records of a file, and the error behind them if there is one. Its
/// memory is used again.
#[derive(Debug, Default)]
pub(super) struct Batch<'data> {
    /// Those from `len` on are spare.
    items: Vec<Item<'data>>,
    len: usize,
    /// Targets of all records, and of the one that the error is in.
    pub(super) targets: Vec<Target<'data>>,
    pub(super) error: Option<Error>,
}

/// One record.
#[derive(Debug, Default)]
pub(super) struct Item<'data> {
    pub(super) name: Cow<'data, [u8]>,
    pub(super) name_ref: NameRef,
    pub(super) record: FunctionRecord,
    /// Whether the record has a bitmap of its own, empty or not.
    pub(super) has_bitmap: bool,
    /// Number of targets of the batch up to and with this record's.
    pub(super) targets_end: usize,
}

/// A name that a value was called by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'data> {
    pub(super) hash: NameRef,
    pub(super) name: &'data [u8],
    pub(super) is_vtable: bool,
}

impl<'data> Batch<'data> {
    /// Most records of a batch.
    const RECORDS: usize = 256;
    /// So many bytes of text are enough for a batch of fewer records.
    const BYTES: usize = 1 << 18;

    pub(super) fn clear(&mut self) {
        self.len = 0;
        self.targets.clear();
        self.error = None;
    }

    /// Whether another record may be added after so many bytes of text.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.len < Self::RECORDS && bytes < Self::BYTES
    }

    /// An empty record, out of the batch.
    pub(super) fn spare_item(&mut self) -> Item<'data> {
        let mut item = self.items.get_mut(self.len).map(std::mem::take).unwrap_or_default();
        item.record.clear();
        item.has_bitmap = false;
        item
    }

    /// Adds a record.
    pub(super) fn push(&mut self, mut item: Item<'data>) {
        item.targets_end = self.targets.len();
        match self.items.get_mut(self.len) {
            Some(place) => *place = item,
            None => self.items.push(item),
        }
        self.len += 1;
    }

    /// Hashes the names of all records.
    pub(super) fn hash_names(&mut self) {
        let names: Vec<&[u8]> = self.items().iter().map(|item| &*item.name).collect();
        let hashes = name_refs(&names);
        self.items.iter_mut().zip(hashes).for_each(|(item, hash)| item.name_ref = hash);
    }

    /// The records, in file order.
    pub(super) fn items(&self) -> &[Item<'data>] {
        &self.items[..self.len]
    }

    /// One of [`items`](Self::items), to change in place.
    pub(super) fn item_mut(&mut self, at: usize) -> &mut Item<'data> {
        &mut self.items[..self.len][at]
    }
}
