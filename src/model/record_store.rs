//! Many records in few pieces of memory.
//!
//! Most functions have a handful of counters and nothing else. An allocation
//! for each of them costs more than the counters, so all counters stand in one
//! list, and what few records have stands apart.

use super::counters::{NO_UNIFORMITY, Uniformity};
use super::record::{ValueKind, ValueSites};
use crate::error::Result;
use crate::memory::{self, HOLD_RECORDS, SharedPages};
use crate::model::counter_list::{CounterList, Place};
use crate::model::counters::Counters;
use crate::model::record::{FunctionRecord, RecordView, SitesByKind};

/// Records by their place in the order in which they were pushed. Numbers can
/// be changed in place, how many there are cannot.
#[derive(Debug, Clone, Default)]
pub struct RecordStore {
    counters: CounterList,
    records: Vec<Stored>,
    extras: Vec<Extra>,
    /// Room for what the record has that comes next, where that is much.
    prepared: Option<Extra>,
}

#[derive(Debug, Clone, Copy)]
struct Stored {
    func_hash: u64,
    counters: Place,
    /// Index into `extras`, or [`NONE`].
    extra: u32,
    /// For the owner, see [`RecordStore::next`].
    next: u32,
}

/// What most records do not have.
#[derive(Debug, Clone, Default)]
struct Extra {
    bitmap: Vec<u8>,
    sites: SitesByKind,
    /// Rarer still.
    uniformity: Option<Box<Uniformity>>,
}

/// From so many bytes on what most records do not have is asked for in a way that can be refused.
const MUCH: usize = 16 << 10;

impl Extra {
    /// Room for what a record has.
    fn with_capacity_for(record: RecordView<'_>) -> Result<Self> {
        let mut extra = Self::default();
        memory::reserve(&mut extra.bitmap, record.bitmap.len(), HOLD_RECORDS)?;
        for kind in ValueKind::ALL.into_iter().filter(|kind| !record.sites(*kind).is_empty()) {
            extra.sites.of_mut(kind).make_room_for_copy(record.sites(kind))?;
        }
        Ok(extra)
    }

    /// A copy of what a record has, in the room that was made for it.
    fn filled_with(mut self, record: RecordView<'_>) -> Result<Self> {
        memory::extend(&mut self.bitmap, record.bitmap, HOLD_RECORDS)?;
        for kind in ValueKind::ALL.into_iter().filter(|kind| !record.sites(*kind).is_empty()) {
            self.sites.of_mut(kind).copy_from(record.sites(kind))?;
        }
        Ok(self)
    }

    /// A copy of what a record has.
    fn copy_of(record: RecordView<'_>) -> Self {
        Self { bitmap: record.bitmap.to_vec(), sites: record.sites.to_compact(), uniformity: None }
    }
}

/// Bytes of what most records do not have.
fn extra_bytes(record: RecordView<'_>) -> usize {
    let of_sites = |kind| size_of_val(record.sites(kind).values()) + size_of_val(record.sites(kind).ends());
    record.bitmap.len() + ValueKind::ALL.into_iter().map(of_sites).sum::<usize>()
}

/// No index.
pub(super) const NONE: u32 = u32::MAX;

impl RecordStore {
    /// No records.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for so many more records, as far as there is memory for it.
    pub fn reserve(&mut self, records: usize) {
        let _ = self.records.try_reserve(records);
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Removes all records and keeps the memory of their counters, but no file.
    pub fn clear(&mut self) {
        self.counters.clear();
        self.records.clear();
        self.extras.clear();
    }

    /// Keeps a file: the counters of records that are added while they stand in it stay there.
    pub(crate) fn keep(&mut self, file: SharedPages) {
        self.counters.keep(file);
    }

    /// Keeps counters that are added from now on in half of the memory where they fit.
    pub(crate) fn keep_narrow(&mut self) {
        self.counters.keep_narrow();
    }

    /// Makes room for one more record: adding a record without ends the process
    /// where there is none.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(crate) fn try_reserve(&mut self, record: RecordView<'_>) -> Result<()> {
        memory::reserve(&mut self.records, 1, HOLD_RECORDS)?;
        if !record.has_only_counters() {
            memory::reserve(&mut self.extras, 1, HOLD_RECORDS)?;
            let is_much = extra_bytes(record) >= MUCH;
            self.prepared = if is_much { Some(Extra::with_capacity_for(record)?) } else { None };
        }
        self.counters.make_room_for(record.counters)
    }

    /// Takes the counters of a record out of the file in which they may stand and widens them, so that they can be changed.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(crate) fn make_own(&mut self, index: usize) -> Result<()> {
        self.counters.make_own(&mut self.records[index].counters)
    }

    /// Adds a copy of a record.
    pub fn push(&mut self, record: RecordView<'_>) {
        let mut extra = NONE;
        if !record.has_only_counters() {
            let uniformity = (!record.uniformity.is_empty()).then(|| Box::new(record.uniformity.clone()));
            let prepared = self.prepared.take().and_then(|room| room.filled_with(record).ok());
            let copy = prepared.unwrap_or_else(|| Extra::copy_of(record));
            extra = self.push_extra(Extra { uniformity, ..copy });
        }
        let counters = self.counters.push(record.counters);
        self.records.push(Stored { func_hash: record.func_hash, counters, extra, next: NONE });
    }

    fn push_extra(&mut self, extra: Extra) -> u32 {
        let at = u32::try_from(self.extras.len()).expect("there are no more of them than records");
        self.extras.push(extra);
        at
    }

    /// The record at `index`.
    ///
    /// # Panics
    ///
    /// When `index` is not below [`len`](Self::len).
    #[inline]
    pub fn record(&self, index: usize) -> RecordView<'_> {
        let stored = &self.records[index];
        let (bitmap, sites, uniformity) = match self.extras.get(stored.extra as usize) {
            Some(extra) => (extra.bitmap.as_slice(), &extra.sites, extra.uniformity.as_deref()),
            None => (&[][..], SitesByKind::NONE, None),
        };
        let counters = self.counters.at(stored.counters);
        let uniformity = uniformity.unwrap_or(&NO_UNIFORMITY);
        RecordView { func_hash: stored.func_hash, counters, bitmap, uniformity, sites }
    }

    /// The FuncHash of the record at `index`; panics as [`record`](Self::record).
    #[inline]
    pub fn func_hash(&self, index: usize) -> u64 {
        self.records[index].func_hash
    }

    /// The counters of a record, to change in place; panics as [`record`](Self::record).
    #[inline]
    pub fn counters_mut(&mut self, index: usize) -> &mut [u64] {
        self.counters.at_mut(&mut self.records[index].counters)
    }

    /// The counters of all records in a few pieces of memory, in the order of
    /// the records: those of one record are never apart. Where some stay in a file
    /// or take 32 bits there is a piece for each record.
    pub fn counter_blocks(&self) -> impl Iterator<Item = Counters<'_>> {
        let (blocks, apart) = match self.counters.is_wide() {
            true => (Some(self.counters.blocks()), &[][..]),
            false => (None, self.records.as_slice()),
        };
        let blocks = blocks.into_iter().flatten().map(Counters::from);
        blocks.chain(apart.iter().map(|record| self.counters.at(record.counters)))
    }

    /// The counters of a record that has nothing else, as far as they can be changed where they are.
    #[inline]
    pub(super) fn only_counters_mut(&mut self, index: usize) -> Option<&mut [u64]> {
        let stored = &self.records[index];
        if stored.extra == NONE { self.counters.own_mut(stored.counters) } else { None }
    }

    /// The bitmap of a record, to change in place; panics as [`record`](Self::record).
    #[inline]
    pub fn bitmap_mut(&mut self, index: usize) -> &mut [u8] {
        let extra = self.records[index].extra;
        self.extras.get_mut(extra as usize).map_or(&mut [], |extra| extra.bitmap.as_mut_slice())
    }

    /// The sites of one kind of a record, to be changed; panics as [`record`](Self::record).
    pub fn sites_mut(&mut self, index: usize, kind: ValueKind) -> &mut ValueSites {
        self.extra_mut(index).sites.of_mut(kind)
    }

    /// How evenly the waves ran, to be changed; panics as [`record`](Self::record).
    pub fn uniformity_mut(&mut self, index: usize) -> &mut Uniformity {
        self.extra_mut(index).uniformity.get_or_insert_default()
    }

    /// What most records do not have, made if need be.
    fn extra_mut(&mut self, index: usize) -> &mut Extra {
        if self.records[index].extra == NONE {
            self.records[index].extra = self.push_extra(Extra::default());
        }
        &mut self.extras[self.records[index].extra as usize]
    }

    /// Whether of some record it is known how evenly the waves ran.
    pub(super) fn has_uniformity(&self) -> bool {
        self.extras.iter().any(|extra| extra.uniformity.is_some())
    }

    /// Whether some record has value sites.
    pub(super) fn has_value_sites(&self) -> bool {
        self.extras.iter().any(|extra| !extra.sites.is_empty())
    }

    /// The sites of all records and kinds that have some.
    pub fn all_sites_mut(&mut self) -> impl Iterator<Item = &mut ValueSites> {
        self.extras.iter_mut().flat_map(|extra| extra.sites.iter_mut())
    }

    /// Which record the owner put behind the one at `index`, or [`NONE`].
    pub(super) fn next(&self, index: usize) -> u32 {
        self.records[index].next
    }

    /// Puts a record behind the one at `index`.
    pub(super) fn set_next(&mut self, index: usize, next: u32) {
        self.records[index].next = next;
    }
}

impl<'a> FromIterator<&'a FunctionRecord> for RecordStore {
    fn from_iter<T: IntoIterator<Item = &'a FunctionRecord>>(records: T) -> Self {
        let mut store = Self::new();
        records.into_iter().for_each(|record| store.push(record.view()));
        store
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ValueCount;

    fn records() -> [FunctionRecord; 4] {
        let plain = FunctionRecord::new(7, vec![1, 2, 3]);
        let mut covered = FunctionRecord::new(8, vec![]);
        covered.bitmap = vec![0x81, 2];
        covered.uniformity.bits = vec![0xfd];
        let mut valued = FunctionRecord::new(9, vec![u64::MAX]);
        valued.sites_mut(ValueKind::MemOpSize).push_site(&[ValueCount { value: 8, count: 5 }]);
        [plain, covered, valued, FunctionRecord::new(10, vec![4])]
    }

    #[test]
    fn pushed_records_are_stored() {
        let records = records();
        let mut store: RecordStore = records.iter().collect();
        assert_eq!(store.len(), 4);
        for (index, record) in records.iter().enumerate() {
            assert_eq!(store.record(index), record.view());
            assert_eq!(store.record(index).to_record(), *record);
            assert_eq!(store.func_hash(index), record.func_hash);
        }
        store.clear();
        assert!(store.is_empty());
        store.push(records[2].view());
        assert_eq!(store.record(0).to_record(), records[2]);
    }

    #[test]
    fn a_change_touches_one_record_alone() {
        let mut records = records();
        let mut store: RecordStore = records.iter().collect();
        let site = [ValueCount { value: 1, count: 2 }];
        store.counters_mut(0)[1] = 20;
        store.bitmap_mut(1)[0] = 0;
        store.sites_mut(2, ValueKind::MemOpSize).push_site(&site);
        store.sites_mut(3, ValueKind::IndirectCallTarget).push_site(&site);
        store.uniformity_mut(0).counts.push(7);
        assert!(store.bitmap_mut(0).is_empty() && store.bitmap_mut(3).is_empty());
        records[0].counters[1] = 20;
        records[1].bitmap[0] = 0;
        records[0].uniformity.counts.push(7);
        records[2].sites_mut(ValueKind::MemOpSize).push_site(&site);
        records[3].sites_mut(ValueKind::IndirectCallTarget).push_site(&site);
        for (index, record) in records.iter().enumerate() {
            assert_eq!(store.record(index).to_record(), *record);
        }
        assert_eq!(store.all_sites_mut().filter(|sites| !sites.is_empty()).count(), 2);
    }
}
