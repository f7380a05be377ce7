//! Records parsed together.

use crate::error::{Error, Result};
use crate::memory::{self, HOLD_NAMES};
use crate::model::{FunctionRecord, NameRef, name_refs};
use std::ops::Range;

/// Some records of a file, and the error behind them if there is one. Its
/// memory is used again.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Those from `len` on are spare.
    items: Vec<Item>,
    len: usize,
    /// Targets of all records, and of the one that the error is in.
    pub(super) targets: Vec<Target>,
    /// The names of the targets, one behind the other.
    target_names: Vec<u8>,
    pub(super) error: Option<Error>,
}

/// One record.
#[derive(Debug, Default)]
pub(super) struct Item {
    pub(super) name: Vec<u8>,
    pub(super) name_ref: NameRef,
    pub(super) record: FunctionRecord,
    /// Whether the record has a bitmap of its own, empty or not.
    pub(super) has_bitmap: bool,
    /// Number of targets of the batch up to and with this record's.
    pub(super) targets_end: usize,
}

/// A name that a value was called by.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) hash: NameRef,
    /// Where it stands among the names of targets.
    name: Range<usize>,
    pub(super) is_vtable: bool,
}

impl Batch {
    /// Most records of a batch.
    const RECORDS: usize = 256;
    /// So many bytes of text are enough for a batch of fewer records.
    const BYTES: usize = 1 << 18;

    pub(super) fn clear(&mut self) {
        self.forget(0, 0);
        self.error = None;
    }

    /// Adds a target of the record at hand.
    ///
    /// # Errors
    ///
    /// Where memory does not hold it.
    pub(super) fn push_target(&mut self, hash: NameRef, name: &[u8], is_vtable: bool) -> Result<()> {
        let start = self.target_names.len();
        memory::extend(&mut self.target_names, name, HOLD_NAMES)?;
        let target = Target { hash, name: start..start + name.len(), is_vtable };
        memory::push(&mut self.targets, target, HOLD_NAMES)
    }

    /// The name of one of its targets.
    pub(super) fn target_name(&self, target: &Target) -> &[u8] {
        &self.target_names[target.name.clone()]
    }

    /// Forgets all but the first records and targets.
    pub(super) fn forget(&mut self, records: usize, targets: usize) {
        self.len = records;
        let end = self.targets.get(targets).map_or(self.target_names.len(), |target| target.name.start);
        self.targets.truncate(targets);
        self.target_names.truncate(end);
    }

    /// Whether another record may be added after so many bytes of text.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.len < Self::RECORDS && bytes < Self::BYTES
    }

    /// An empty record, out of the batch.
    pub(super) fn spare_item(&mut self) -> Item {
        let mut item = self.items.get_mut(self.len).map(std::mem::take).unwrap_or_default();
        item.name.clear();
        item.record.clear();
        item.has_bitmap = false;
        item
    }

    /// Adds a record.
    pub(super) fn push(&mut self, mut item: Item) {
        item.targets_end = self.targets.len();
        match self.items.get_mut(self.len) {
            Some(place) => *place = item,
            None => self.items.push(item),
        }
        self.len += 1;
    }

    /// Hashes the names of all records.
    pub(super) fn hash_names(&mut self) {
        let names: Vec<&[u8]> = self.items().iter().map(|item| item.name.as_slice()).collect();
        let hashes = name_refs(&names);
        self.items.iter_mut().zip(hashes).for_each(|(item, hash)| item.name_ref = hash);
    }

    /// The records, in file order.
    pub(super) fn items(&self) -> &[Item] {
        &self.items[..self.len]
    }

    /// One of [`items`](Self::items), to change in place.
    pub(super) fn item_mut(&mut self, at: usize) -> &mut Item {
        &mut self.items[..self.len][at]
    }
}
