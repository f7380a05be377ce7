//! All functions of a profile, by name.
//!
//! Invariants: functions and records keep the order of first appearance; the records of one function form a list in
//! that order; a name occurs once.

use super::counters::Uniformity;
use super::hash_order::name_order;
use super::record::{ValueKind, ValueSites};
use super::symbols::{NamePlace, NameStore, NameText};
use crate::error::Result;
use crate::memory::SharedBytes;
use crate::model::counters::Counters;
use crate::model::record::RecordView;
use crate::model::record_store::{NONE, RecordStore};
use crate::model::symbols::{NameRef, name_ref};
use hashbrown::{HashMap, HashTable};
use std::fmt;
use std::iter::FusedIterator;
use std::ops::Range;

/// A handle of a function (a name) in a [`FunctionTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(u32);

/// A handle of a record in a [`FunctionTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId(u32);

impl FunctionId {
    /// Returns the index in order of first appearance, from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl RecordId {
    /// Returns the index in order of first appearance, from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    name: NamePlace,
    first: u32,
    last: u32,
    records: u32,
    name_ref: NameRef,
}

/// Records by name, one per FuncHash.
#[derive(Clone, Default)]
pub struct FunctionTable {
    names: NameStore,
    entries: Vec<Entry>,
    /// Each record links to the next one of its function.
    records: RecordStore,
    index: HashTable<u32>,
    /// Records of functions with more than [`FEW_RECORDS`], by function and FuncHash.
    many: HashMap<(u32, u64), u32, foldhash::fast::RandomState>,
    /// The function after the last one found: all files of one program have the same order.
    expected: u32,
}

/// Equal if the functions and their records are equal and in the same order.
impl PartialEq for FunctionTable {
    fn eq(&self, other: &Self) -> bool {
        let is_same = |(own, other): (FunctionView<'_>, FunctionView<'_>)| {
            own.name() == other.name() && own.name_ref() == other.name_ref() && own.records().eq(other.records())
        };
        self.len() == other.len() && self.iter().zip(other.iter()).all(is_same)
    }
}

impl fmt::Debug for FunctionTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let records = |function: FunctionView<'_>| function.records().map(RecordView::to_record).collect::<Vec<_>>();
        let functions = self.iter().map(|function| (String::from_utf8_lossy(function.name()), records(function)));
        f.debug_map().entries(functions).finish()
    }
}

/// A function with at most this many records is searched linearly.
const FEW_RECORDS: u32 = 16;

/// Counts the steps of linear searches, for the tests.
#[inline]
fn count_step() {
    #[cfg(test)]
    tests::STEPS.set(tests::STEPS.get() + 1);
}

/// One function of a table.
#[derive(Debug, Clone, Copy)]
pub struct FunctionView<'a> {
    table: &'a FunctionTable,
    id: FunctionId,
}

impl<'a> FunctionView<'a> {
    /// Returns the handle.
    pub fn id(self) -> FunctionId {
        self.id
    }

    /// Returns the PGO name, as bytes.
    pub fn name(self) -> &'a [u8] {
        self.table.name(self.id)
    }

    /// Returns the shared text that contains the name, if there is one.
    pub fn text(self) -> Option<&'a NameText> {
        self.table.names.text_at(self.table.entries[self.id.index()].name)
    }

    /// Returns the hash of the name.
    pub fn name_ref(self) -> NameRef {
        self.table.entries[self.id.index()].name_ref
    }

    /// Returns the records in order of first appearance of their FuncHash.
    pub fn records(self) -> impl Iterator<Item = RecordView<'a>> {
        self.record_ids().map(|id| self.table.record(id))
    }

    /// Returns the handles of the records, in the same order.
    pub fn record_ids(self) -> impl Iterator<Item = RecordId> + 'a {
        let table = self.table;
        let mut next = table.entries[self.id.index()].first;
        std::iter::from_fn(move || {
            let id = next;
            (id != NONE).then(|| {
                next = table.records.next(id as usize);
                RecordId(id)
            })
        })
    }
}

/// The functions of a table in order of first appearance.
#[derive(Debug, Clone)]
pub struct Functions<'a> {
    table: &'a FunctionTable,
    left: Range<u32>,
}

impl<'a> Functions<'a> {
    fn view(&self, at: u32) -> FunctionView<'a> {
        FunctionView { table: self.table, id: FunctionId(at) }
    }
}

impl<'a> Iterator for Functions<'a> {
    type Item = FunctionView<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left.next().map(|at| self.view(at))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }

    fn nth(&mut self, count: usize) -> Option<Self::Item> {
        self.left.nth(count).map(|at| self.view(at))
    }
}

impl DoubleEndedIterator for Functions<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.left.next_back().map(|at| self.view(at))
    }
}

impl ExactSizeIterator for Functions<'_> {}

impl FusedIterator for Functions<'_> {}

impl<'a> IntoIterator for &'a FunctionTable {
    type Item = FunctionView<'a>;
    type IntoIter = Functions<'a>;

    fn into_iter(self) -> Functions<'a> {
        self.iter()
    }
}

impl FunctionTable {
    /// Creates an empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reserves memory for `records` more records, each of a new function.
    pub fn reserve(&mut self, records: usize) {
        let entries = &self.entries;
        self.index.reserve(records, |&at| spread(entries[at as usize].name_ref));
        self.entries.reserve(records);
        self.records.reserve(records);
    }

    /// Returns the number of functions (names).
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if there are no functions.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the number of records of all functions.
    pub fn records_len(&self) -> usize {
        self.records.len()
    }

    /// Finds a function by name.
    pub fn find(&self, name: &[u8]) -> Option<FunctionView<'_>> {
        self.find_hashed(name, name_ref(name))
    }

    /// Finds a function by name and the hash of that name.
    pub fn find_hashed(&self, name: &[u8], hash: NameRef) -> Option<FunctionView<'_>> {
        let found = self.index.find(spread(hash), |&at| {
            let entry = &self.entries[at as usize];
            entry.name_ref == hash && self.name(FunctionId(at)) == name
        });
        found.map(|&at| FunctionView { table: self, id: FunctionId(at) })
    }

    /// Finds a function like [`find_hashed`](Self::find_hashed), but first looks after the function found last:
    /// a file mostly has functions in the order of the table.
    #[inline]
    pub(crate) fn find_next(&mut self, name: &[u8], hash: NameRef) -> Option<FunctionId> {
        let is_it = |at: &u32| {
            let entry = self.entries.get(*at as usize);
            entry.is_some_and(|entry| entry.name_ref == hash && self.names.at(entry.name) == name)
        };
        // A function with several records occurs several times in a row.
        let near = [self.expected, self.expected.wrapping_sub(1)].into_iter().find(is_it);
        let known = near.or_else(|| self.find_hashed(name, hash).map(|view| view.id.0))?;
        self.expected = known.wrapping_add(1);
        Some(FunctionId(known))
    }

    /// Finds the only record of the function after the one found last. Returns its counters if name, FuncHash and
    /// number of counters match and neither record has other data.
    #[inline]
    pub(crate) fn find_next_counters(
        &mut self,
        name: &[u8],
        hash: NameRef,
        record: RecordView<'_>,
    ) -> Option<(RecordId, &mut [u64])> {
        let entry = self.entries.get(self.expected as usize)?;
        let is_it = entry.name_ref == hash && entry.records == 1 && self.names.at(entry.name) == name;
        let id = RecordId(entry.first);
        if !is_it || self.records.func_hash(id.index()) != record.func_hash || !record.has_only_counters() {
            return None;
        }
        let counters = self.records.only_counters_mut(id.index())?;
        (counters.len() == record.counters.len()).then(|| {
            self.expected += 1;
            (id, counters)
        })
    }

    /// Finds the function with a name. Creates it without records if it is new.
    pub fn intern(&mut self, name: &[u8]) -> FunctionId {
        self.intern_hashed(name, name_ref(name))
    }

    /// Interns a name with a known hash.
    ///
    /// `hash` must be [`name_ref`] of `name`, because writers store it.
    pub fn intern_hashed(&mut self, name: &[u8], hash: NameRef) -> FunctionId {
        self.intern_shared(name, hash, None)
    }

    /// Interns a name with a known hash. Shares `text` instead of copying the name if the text contains the name and
    /// [stays](NameText::stays) in memory anyway.
    pub fn intern_shared(&mut self, name: &[u8], hash: NameRef, text: Option<&NameText>) -> FunctionId {
        if let Some(known) = self.find_next(name, hash) {
            return known;
        }
        let at = u32::try_from(self.entries.len()).expect("fewer than 2^32 functions fit in memory");
        let name = self.names.push(name, text.filter(|text| text.stays()));
        self.entries.push(Entry { name, first: NONE, last: NONE, records: 0, name_ref: hash });
        let entries = &self.entries;
        self.index.insert_unique(spread(hash), at, |&at| spread(entries[at as usize].name_ref));
        self.expected = at.wrapping_add(1);
        FunctionId(at)
    }

    /// Gives a function a name that no function has.
    pub(crate) fn rename(&mut self, id: FunctionId, name: &[u8]) {
        let (hash, place) = (name_ref(name), self.names.push(name, None));
        let old = std::mem::replace(&mut self.entries[id.index()].name_ref, hash);
        self.entries[id.index()].name = place;
        if let Ok(known) = self.index.find_entry(spread(old), |at| *at == id.0) {
            known.remove();
        }
        let entries = &self.entries;
        self.index.insert_unique(spread(hash), id.0, |&at| spread(entries[at as usize].name_ref));
    }

    /// Finds the record of a function with a FuncHash.
    pub fn find_record(&self, function: FunctionId, func_hash: u64) -> Option<RecordId> {
        if self.entries[function.index()].records > FEW_RECORDS {
            return self.many.get(&(function.0, func_hash)).copied().map(RecordId);
        }
        let view = FunctionView { table: self, id: function };
        view.record_ids().inspect(|_| count_step()).find(|id| self.records.func_hash(id.index()) == func_hash)
    }

    /// Stores a file. Counters of later records that are part of it are not copied.
    pub(crate) fn keep(&mut self, file: SharedBytes) {
        self.records.keep(file);
    }

    /// Stores later counters in 32 bits if they fit, which halves the memory.
    pub(crate) fn keep_narrow(&mut self) {
        self.records.keep_narrow();
    }

    /// Removes all records, but no function.
    pub(crate) fn clear_records(&mut self) {
        self.records = RecordStore::default();
        self.many.clear();
        self.entries.iter_mut().for_each(|entry| (entry.first, entry.last, entry.records) = (NONE, NONE, 0));
    }

    /// Moves the counters of a record into memory where they can be changed.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(crate) fn make_own(&mut self, id: RecordId) -> Result<()> {
        self.records.make_own(id.index())
    }

    /// Reserves memory for the counters of one more record.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub(crate) fn try_reserve_counters(&mut self, counters: Counters<'_>) -> Result<()> {
        self.records.try_reserve_counters(counters)
    }

    /// Adds a copy of a record to a function that has no record of the same FuncHash.
    pub fn push_record<'r>(&mut self, function: FunctionId, record: impl Into<RecordView<'r>>) -> RecordId {
        let record = record.into();
        let at = u32::try_from(self.records.len()).expect("fewer than 2^32 records fit in memory");
        let func_hash = record.func_hash;
        self.records.push(record);
        let entry = &mut self.entries[function.index()];
        match entry.last {
            NONE => entry.first = at,
            last => self.records.set_next(last as usize, at),
        }
        entry.last = at;
        entry.records += 1;
        if entry.records > FEW_RECORDS {
            self.index_record(function, at, func_hash);
        }
        RecordId(at)
    }

    /// Indexes the records of a function with many of them, because an input may give
    /// one name to all its records.
    fn index_record(&mut self, function: FunctionId, at: u32, func_hash: u64) {
        if self.entries[function.index()].records == FEW_RECORDS + 1 {
            let ids: Vec<RecordId> = self.function(function).record_ids().collect();
            for id in ids {
                self.many.entry((function.0, self.records.func_hash(id.index()))).or_insert(id.0);
            }
        } else {
            self.many.entry((function.0, func_hash)).or_insert(at);
        }
    }

    /// Returns a record.
    #[inline]
    pub fn record(&self, id: RecordId) -> RecordView<'_> {
        self.records.record(id.index())
    }

    /// Returns the counters of all records as a few slices, in the order of
    /// [`RecordId`]. The counters of a record are in one slice. If some counters lie in a
    /// file, there is one slice per record.
    pub fn counter_blocks(&self) -> impl Iterator<Item = Counters<'_>> {
        self.records.counter_blocks()
    }

    /// Returns the mutable counters of a record.
    #[inline]
    pub fn counters_mut(&mut self, id: RecordId) -> &mut [u64] {
        self.records.counters_mut(id.index())
    }

    /// Returns the mutable bitmap of a record.
    #[inline]
    pub fn bitmap_mut(&mut self, id: RecordId) -> &mut [u8] {
        self.records.bitmap_mut(id.index())
    }

    /// Returns the mutable uniformity of a record.
    pub fn uniformity_mut(&mut self, id: RecordId) -> &mut Uniformity {
        self.records.uniformity_mut(id.index())
    }

    /// Returns the mutable sites of one kind of a record.
    #[inline]
    pub fn sites_mut(&mut self, id: RecordId, kind: ValueKind) -> &mut ValueSites {
        self.records.sites_mut(id.index(), kind)
    }

    /// Returns the non-empty value sites of all records and kinds.
    pub fn all_sites_mut(&mut self) -> impl Iterator<Item = &mut ValueSites> {
        self.records.all_sites_mut()
    }

    /// Returns the number of blocks with known uniformity in the functions that `keep` accepts. Fast if there are none.
    pub fn uniformity_bits(&self, mut keep: impl FnMut(FunctionView<'_>) -> bool) -> u64 {
        if !self.records.has_uniformity() {
            return 0;
        }
        let kept = self.iter().filter(|function| keep(*function));
        let known = kept.flat_map(FunctionView::records).filter(|record| !record.uniformity.bits.is_empty());
        known.map(|record| record.counters.len() as u64).sum()
    }

    /// Returns true if a record has value sites. Fast if there are none.
    pub(crate) fn has_value_sites(&self) -> bool {
        self.records.has_value_sites()
    }

    /// Returns a function's name.
    #[inline]
    pub(crate) fn name_at(&self, index: usize) -> Option<&[u8]> {
        self.entries.get(index).map(|entry| self.names.at(entry.name))
    }

    /// Returns the name of a function.
    pub fn name(&self, id: FunctionId) -> &[u8] {
        self.names.at(self.entries[id.index()].name)
    }

    /// Returns the function with a handle.
    pub fn function(&self, id: FunctionId) -> FunctionView<'_> {
        FunctionView { table: self, id }
    }

    /// Returns all functions in order of first appearance.
    pub fn iter(&self) -> Functions<'_> {
        Functions { table: self, left: 0..self.entries.len() as u32 }
    }

    /// Returns all functions ordered by name, a prefix before its extensions.
    pub fn sorted_by_name(&self) -> Vec<FunctionId> {
        let (order, _) = name_order(self.entries.len() as u32, |at| self.name(FunctionId(at)));
        order.into_iter().map(FunctionId).collect()
    }

    /// Returns a table with only the functions that `keep` accepts, in the same order.
    #[must_use]
    pub fn filtered(&self, mut keep: impl FnMut(&[u8]) -> bool) -> Self {
        let mut kept = Self::new();
        for function in self.iter().filter(|function| keep(function.name())) {
            let id = kept.intern_shared(function.name(), function.name_ref(), function.text());
            function.records().for_each(|record| {
                kept.push_record(id, record);
            });
        }
        kept
    }
}

/// Mixes a name hash for the table, because the file determines its bits.
fn spread(hash: NameRef) -> u64 {
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32) ^ hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::record::FunctionRecord;
    use std::cell::Cell;

    thread_local! {
        /// The number of records in linear searches.
        pub(super) static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    /// A file may give one name to all its records: the work must not grow with their square.
    #[test]
    fn few_records_are_looked_through_however_many_there_are() {
        let mut table = FunctionTable::new();
        let function = table.intern(b"f");
        let before = STEPS.get();
        for hash in 0..20_000 {
            assert_eq!(table.find_record(function, hash), None);
            table.push_record(function, &FunctionRecord::new(hash, vec![]));
        }
        let (steps, few) = (STEPS.get() - before, u64::from(FEW_RECORDS));
        assert!((few..=few * few).contains(&steps), "{steps} records were looked at");
    }

    #[test]
    fn one_of_many_records_is_found_as_one_of_few_is() {
        let mut table = FunctionTable::new();
        let (f, g) = (table.intern(b"f"), table.intern(b"g"));
        for hash in 0..100 {
            table.push_record(f, &FunctionRecord::new(hash, vec![hash]));
            for known in 0..=hash {
                let found = table.find_record(f, known).map(|id| table.record(id).counters.to_vec());
                assert_eq!(found, Some(vec![known]), "{known} of {hash}");
            }
            assert_eq!(table.find_record(f, hash + 1), None);
            assert_eq!(table.find_record(g, hash), None);
        }
    }

    #[test]
    fn a_text_is_held_for_single_names_only_if_it_stays_anyway() {
        let text = NameText::from(b"f\x01g".to_vec());
        let mut table = FunctionTable::new();
        let mut intern = |name: &[u8]| {
            let id = table.intern_shared(name, name_ref(name), Some(&text));
            assert_eq!(table.name(id), name);
            table.function(id).text().is_some()
        };
        assert!(!intern(&text[..1]));
        text.stay();
        assert!(intern(&text[2..]));
        // A copied name is copied once.
        assert!(!intern(&text[..1]));
    }

    #[test]
    fn records_of_a_name_keep_their_order() {
        let mut table = FunctionTable::new();
        let f = table.intern(b"f");
        table.push_record(f, &FunctionRecord::new(9, vec![1]));
        let g = table.intern(b"g");
        table.push_record(g, &FunctionRecord::new(1, vec![2]));
        table.push_record(f, &FunctionRecord::new(3, vec![4]));
        assert_eq!(table.intern(b"f"), f);
        let hashes: Vec<u64> = table.find(b"f").unwrap().records().map(|r| r.func_hash).collect();
        assert_eq!(hashes, [9, 3]);
        assert_eq!(table.find_record(f, 3).map(RecordId::index), Some(2));
        let kept = table.filtered(|name| name == b"f");
        assert_eq!((kept.len(), kept.records_len()), (1, 2));
        assert!(kept.find(b"g").is_none());
    }
}
