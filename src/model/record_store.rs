//! Many records in few allocations.
//!
//! Most functions have a handful of counters and nothing else. One allocation per
//! record would cost more than the counters, so all counters are in one list, and
//! rare parts are stored separately.

use super::counters::{NO_UNIFORMITY, Uniformity};
use super::record::{ValueKind, ValueSites};
use crate::error::Result;
use crate::memory::SharedBytes;
use crate::model::counter_list::{CounterList, Place};
use crate::model::counters::Counters;
use crate::model::record::{FunctionRecord, RecordView, SitesByKind};
use std::ops::Range;

/// Records in insertion order. Counters, bitmaps and values can be changed in place;
/// the number of counters of a record is fixed.
#[derive(Debug, Clone, Default)]
pub struct RecordStore {
    counters: CounterList,
    records: Vec<Stored>,
    extras: Vec<Extra>,
    /// The bitmaps of all records, one after the other.
    bitmaps: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Stored {
    func_hash: u64,
    counters: Place,
    /// Index into `extras`, or [`NONE`].
    extra: u32,
    /// A link that the owner sets, see [`RecordStore::next`].
    next: u32,
}

/// The parts that most records do not have.
#[derive(Debug, Clone, Default)]
struct Extra {
    /// Where the bitmap is.
    bitmap: Range<usize>,
    sites: SitesByKind,
    /// Only records of GPU programs have it.
    uniformity: Option<Box<Uniformity>>,
}

/// No index.
pub(super) const NONE: u32 = u32::MAX;

impl RecordStore {
    /// No records.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reserves memory for `records` more records without their counters.
    pub fn reserve(&mut self, records: usize) {
        self.records.reserve(records);
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
        self.bitmaps.clear();
    }

    /// Keeps a file: counters of later records that lie in it are not copied.
    pub(crate) fn keep(&mut self, file: SharedBytes) {
        self.counters.keep(file);
    }

    /// Returns the file that is kept.
    pub(crate) fn file(&self) -> Option<&SharedBytes> {
        self.counters.file()
    }

    /// Stores later counters in 32 bits if they fit.
    pub(crate) fn keep_narrow(&mut self) {
        self.counters.keep_narrow();
    }

    /// Reserves memory for the counters of one more record.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(crate) fn try_reserve_counters(&mut self, counters: Counters<'_>) -> Result<()> {
        self.counters.try_reserve(counters)
    }

    /// Moves the counters of a record into memory where they can be changed.
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
            let start = self.bitmaps.len();
            self.bitmaps.extend_from_slice(record.bitmap);
            let uniformity = (!record.uniformity.is_empty()).then(|| Box::new(record.uniformity.clone()));
            let bitmap = start..self.bitmaps.len();
            extra = self.push_extra(Extra { bitmap, sites: record.sites.to_compact(), uniformity });
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
            Some(extra) => (&self.bitmaps[extra.bitmap.clone()], &extra.sites, extra.uniformity.as_deref()),
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

    /// Returns the counters of all records as a few slices, in the order of the records.
    /// The counters of a record are in one slice. If some counters lie in a file or take
    /// 32 bits, there is one slice per record.
    pub fn counter_blocks(&self) -> impl Iterator<Item = Counters<'_>> {
        let (blocks, apart) = match self.counters.is_wide() {
            true => (Some(self.counters.blocks()), &[][..]),
            false => (None, self.records.as_slice()),
        };
        let blocks = blocks.into_iter().flatten().map(Counters::from);
        blocks.chain(apart.iter().map(|record| self.counters.at(record.counters)))
    }

    /// Returns the mutable counters of a record without other data, if they can be changed in place.
    #[inline]
    pub(super) fn only_counters_mut(&mut self, index: usize) -> Option<&mut [u64]> {
        let stored = &self.records[index];
        if stored.extra == NONE { self.counters.own_mut(stored.counters) } else { None }
    }

    /// The bitmap of a record, to change in place; panics as [`record`](Self::record).
    #[inline]
    pub fn bitmap_mut(&mut self, index: usize) -> &mut [u8] {
        let extra = self.records[index].extra;
        self.extras.get(extra as usize).map_or(&mut [], |extra| &mut self.bitmaps[extra.bitmap.clone()])
    }

    /// Returns the sites of one kind of a record, to be changed; panics as [`record`](Self::record).
    pub fn sites_mut(&mut self, index: usize, kind: ValueKind) -> &mut ValueSites {
        self.extra_mut(index).sites.of_mut(kind)
    }

    /// Returns how evenly the waves ran, to be changed; panics as [`record`](Self::record).
    pub fn uniformity_mut(&mut self, index: usize) -> &mut Uniformity {
        self.extra_mut(index).uniformity.get_or_insert_default()
    }

    /// Returns the rare parts of a record, created on demand.
    fn extra_mut(&mut self, index: usize) -> &mut Extra {
        if self.records[index].extra == NONE {
            self.records[index].extra = self.push_extra(Extra::default());
        }
        &mut self.extras[self.records[index].extra as usize]
    }

    /// Returns true if some record says how evenly the waves ran.
    pub(super) fn has_uniformity(&self) -> bool {
        self.extras.iter().any(|extra| extra.uniformity.is_some())
    }

    /// Returns true if some record has value sites.
    pub(super) fn has_value_sites(&self) -> bool {
        self.extras.iter().any(|extra| !extra.sites.is_empty())
    }

    /// The sites of all records and kinds that have some.
    pub fn all_sites_mut(&mut self) -> impl Iterator<Item = &mut ValueSites> {
        self.extras.iter_mut().flat_map(|extra| extra.sites.iter_mut())
    }

    /// Returns the record that the owner linked to the one at `index`, or [`NONE`].
    pub(super) fn next(&self, index: usize) -> u32 {
        self.records[index].next
    }

    /// Links a record to the one at `index`.
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
