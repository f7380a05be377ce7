//! Records between a reader and their consumer: all records of an input at once, or in batches with a thread on either
//! side.

use crate::cancel::Cancel;
use crate::compat::Compat;
use crate::driver::trace;
use crate::driver::trace::Step;
use crate::error::{Error, Result, Warning};
use crate::instr::sites::{SiteMerger, TakenSites};
use crate::instr::{InputOptions, Merger, SoftError};
use crate::limits::Limits;
use crate::memory::SharedBytes;
use crate::model::{
    BinaryId, MemProfSection, NameRef, NameText, ProfileKind, ProfileReader, RecordId, RecordRef, RecordStore,
    SymbolTable, TemporalProfile, ValueKind,
};
use crate::raw::{Image, RawProfile};
use crate::threads::batch_channel::{User, batch_channel};
use crate::{memprof, threads};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The number of records per batch.
const BATCH: usize = 512;
/// The maximum number of pending batches.
const WAITING: usize = 4;

/// Records with their names, copied from a reader. Batches are reused.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Concatenated names that are not part of a shared text.
    own: Vec<u8>,
    /// Shared name strings, in the order of the names that refer to them.
    texts: Vec<NameText>,
    names: Vec<Name>,
    /// One record per name.
    records: RecordStore,
    /// The fault that the reader found after these records.
    fault: Option<Error>,
    /// The file in which counters can stay.
    file: Option<SharedBytes>,
}

#[derive(Debug, Clone, Copy)]
struct Name {
    /// Offset in the shared text, otherwise in `own`.
    start: usize,
    len: usize,
    /// Index into `texts`.
    text: Option<usize>,
    name_ref: Option<NameRef>,
}

impl Batch {
    /// Replaces the content with up to `most` records of a reader. Returns false if no more records follow.
    fn fill(&mut self, reader: &mut dyn ProfileReader, most: usize, cancel: &Cancel) -> bool {
        self.own.clear();
        self.texts.clear();
        self.names.clear();
        self.records.clear();
        self.file.iter().for_each(|file| self.records.keep(file.clone()));
        while self.names.len() < most {
            match cancel.check().and_then(|()| reader.next_record()) {
                Ok(Some(record)) => {
                    if let Err(error) = self.records.try_reserve_counters(record.record.counters) {
                        self.fault = Some(error);
                        return false;
                    }
                    self.push(record);
                }
                end => {
                    self.fault = end.err();
                    return false;
                }
            }
        }
        true
    }

    fn push(&mut self, RecordRef { name, name_ref, text, record }: RecordRef<'_>) {
        let shared = text.and_then(|text| Some((text, text.start_of(name)?)));
        let (start, text) = match shared {
            Some((text, start)) => (start, Some(place_of(text, &mut self.texts))),
            None => (self.own.len(), None),
        };
        if text.is_none() {
            self.own.extend_from_slice(name);
        }
        self.names.push(Name { start, len: name.len(), text, name_ref });
        self.records.push(record);
    }

    fn record(&self, at: usize) -> RecordRef<'_> {
        let Name { start, len, text, name_ref } = self.names[at];
        let text = text.map(|text| &self.texts[text]);
        let name = &text.map_or(self.own.as_slice(), |text| text)[start..start + len];
        RecordRef { name, name_ref, text, record: self.records.record(at) }
    }
}

/// Returns the position of a text in `texts`, and appends it if it is new.
fn place_of(text: &NameText, texts: &mut Vec<NameText>) -> usize {
    if !texts.last().is_some_and(|last| last.is(text)) {
        texts.push(text.clone());
    }
    texts.len() - 1
}

/// The content of a reader other than records. Complete after all records were read.
#[derive(Debug)]
struct Rest {
    kind: ProfileKind,
    binary_ids: Result<Vec<BinaryId>>,
    temporal: TemporalProfile,
    vtable_names: Result<Vec<Vec<u8>>>,
    memprof: Result<Option<MemProfSection>>,
    warnings: Vec<Warning>,
}

impl Rest {
    fn of(reader: &mut dyn ProfileReader) -> Self {
        Self {
            kind: reader.kind(),
            binary_ids: reader.binary_ids(),
            temporal: reader.temporal(),
            vtable_names: reader.vtable_names(),
            memprof: reader.memprof(),
            warnings: reader.take_warnings(),
        }
    }
}

/// Takes the result of a section, or its fault.
fn take<T: Default>(found: &mut Result<T>) -> Result<T> {
    std::mem::replace(found, Ok(T::default()))
}

/// A reader of staged records.
#[derive(Debug)]
pub(super) struct Staged<'b> {
    batch: &'b mut Batch,
    /// The number of records of the batch that were returned so far.
    handed_out: usize,
    /// The source of further batches.
    more: Option<User<Batch>>,
    kind: ProfileKind,
    version_word: u64,
    hashes_names: bool,
    traces_take_input_weight: bool,
    /// `None` if only records are needed.
    rest: Option<Rest>,
    symbols: SymbolTable,
}

impl<'b> Staged<'b> {
    fn new(reader: &dyn ProfileReader, batch: &'b mut Batch) -> Self {
        Self {
            batch,
            handed_out: 0,
            more: None,
            kind: reader.kind(),
            version_word: reader.version_word(),
            hashes_names: reader.hashes_names(),
            traces_take_input_weight: reader.traces_take_input_weight(),
            rest: None,
            symbols: SymbolTable::new(),
        }
    }

    /// Reads a whole input. Faults are returned at the same position as by the reader.
    pub(super) fn read(reader: &mut dyn ProfileReader, batch: &'b mut Batch, cancel: &Cancel) -> Self {
        let mut staged = Self::new(reader, batch);
        staged.batch.fill(reader, usize::MAX, cancel);
        staged.rest = Some(Rest::of(reader));
        staged
    }

    /// Finds the faults of an input that was read whole; `records` is the number of records before the fault.
    pub(super) fn check(&mut self, adding: &InputOptions<'_>, limits: &Limits, records: &mut u64) -> Result<()> {
        for at in 0..self.batch.names.len() {
            *records = at as u64 + 1;
            adding.prepare(self.batch.record(at))?;
        }
        if let Some(fault) = self.batch.fault.take() {
            return Err(fault);
        }
        if let Some(rest) = &mut self.rest {
            rest.binary_ids = Ok(take(&mut rest.binary_ids)?);
            rest.vtable_names = Ok(take(&mut rest.vtable_names)?);
            rest.memprof = Ok(take(&mut rest.memprof)?);
            let section = rest.memprof.as_ref().ok().and_then(Option::as_ref);
            if let Some(section) = section.filter(|_| adding.takes_memprof) {
                memprof::indexed::read_until(&section.bytes, section.offset, limits, &adding.cancel)?;
            }
        }
        *records = 0;
        Ok(())
    }
}

impl ProfileReader for Staged<'_> {
    fn kind(&self) -> ProfileKind {
        // A raw file with several profiles reports the data of the last one at its end.
        let is_over = self.handed_out == self.batch.names.len();
        self.rest.as_ref().filter(|_| is_over).map_or(self.kind, |rest| rest.kind)
    }

    fn version_word(&self) -> u64 {
        self.version_word
    }

    fn next_record(&mut self) -> Result<Option<RecordRef<'_>>> {
        while self.handed_out == self.batch.names.len() {
            if let Some(fault) = self.batch.fault.take() {
                return Err(fault);
            }
            if !self.more.as_ref().is_some_and(|more| more.exchange(self.batch)) {
                return Ok(None);
            }
            self.handed_out = 0;
        }
        self.handed_out += 1;
        Ok(Some(self.batch.record(self.handed_out - 1)))
    }

    fn hashes_names(&self) -> bool {
        self.hashes_names
    }

    /// Merges do not need symbols.
    fn symbols(&mut self) -> Result<&SymbolTable> {
        Ok(&self.symbols)
    }

    fn binary_ids(&mut self) -> Result<Vec<BinaryId>> {
        self.rest.as_mut().map_or(Ok(Vec::new()), |rest| take(&mut rest.binary_ids))
    }

    fn temporal(&mut self) -> TemporalProfile {
        self.rest.as_mut().map(|rest| std::mem::take(&mut rest.temporal)).unwrap_or_default()
    }

    fn traces_take_input_weight(&self) -> bool {
        self.traces_take_input_weight
    }

    fn vtable_names(&mut self) -> Result<Vec<Vec<u8>>> {
        self.rest.as_mut().map_or(Ok(Vec::new()), |rest| take(&mut rest.vtable_names))
    }

    fn memprof(&self) -> Result<Option<MemProfSection>> {
        let section = self.rest.as_ref().and_then(|rest| rest.memprof.as_ref().ok()?.as_ref());
        section.map(MemProfSection::try_clone).transpose()
    }

    fn take_warnings(&mut self) -> Vec<Warning> {
        self.rest.as_mut().map(|rest| std::mem::take(&mut rest.warnings)).unwrap_or_default()
    }
}

/// Reads records on this thread while another one uses them, or does both on this thread if no other is available.
/// Counters can stay in `file`.
pub(in crate::instr) fn read_ahead<T: Send>(
    reader: &mut dyn ProfileReader,
    file: Option<&SharedBytes>,
    use_records: impl FnOnce(&mut dyn ProfileReader) -> T + Send,
) -> T {
    let (maker, user) = batch_channel::<Batch>(WAITING);
    let (mut batch, mut used) = (Batch::default(), Batch::default());
    let mut staged = Staged::new(reader, &mut used);
    staged.more = Some(user);
    // The user of the records ends if it is cancelled, and then no more are read.
    let cancel = Cancel::default();
    std::thread::scope(|scope| {
        match threads::start_with(scope, use_records, move |use_records| use_records(&mut staged)) {
            Ok(user) => {
                // The receiver is dropped when it needs no more records.
                batch.file = file.cloned();
                while batch.fill(reader, BATCH, &cancel) && maker.hand_over(&mut batch) {
                    batch.file = file.cloned();
                }
                maker.hand_over(&mut batch);
                drop(maker);
                user.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
            Err(use_records) => use_records(reader),
        }
    })
}

// Value sites of one image, to which several threads add the profiles of a run in the order of the inputs.
//
// The result depends on the order, because a site keeps at most 255 values. So the sites are split into shards, and
// every profile visits them in order: while one profile is at a shard, the next one is at the shard before it.

/// The sites of an image.
#[derive(Debug)]
pub(super) struct Values {
    shards: Vec<Shard>,
    /// The start of each shard in [`Image::with_sites`].
    starts: Vec<usize>,
    /// For each record with sites, its position in its shard.
    slots: Vec<usize>,
    /// The records of each shard.
    targets: Vec<Vec<RecordId>>,
    /// The number of admitted profiles.
    tickets: AtomicUsize,
    /// Set if an admitted profile will not visit all shards because its thread panicked.
    is_abandoned: AtomicBool,
}

#[derive(Debug, Default)]
struct Shard {
    state: Mutex<State>,
    moved_on: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The number of files that visited the shard.
    passed: usize,
    /// The sites of each record, while they are taken out of the merger.
    taken: Vec<[TakenSites; ValueKind::COUNT]>,
    merger: Option<SiteMerger>,
}

/// The values of one file of the image.
pub(super) struct ValueFile<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) profile: &'a RawProfile<'a>,
    pub(super) slide: u64,
    pub(super) compat: Compat,
    pub(super) weight: u64,
    /// The start of the values of each shard.
    pub(super) offsets: Vec<usize>,
}

/// Bytes of value data that justify a shard.
const SHARD: usize = 1 << 16;

impl Values {
    /// Returns the sites of an image whose first file is `file`, for the given number of threads.
    pub(super) fn new(
        image: &Image,
        file: &[u8],
        profile: &RawProfile<'_>,
        targets: &[RecordId],
        threads: usize,
    ) -> Option<Self> {
        let places: Vec<usize> = (0..image.with_sites().len()).collect();
        let offsets = image.find_values(file, profile, profile.compat(), &places)?;
        let records: Vec<RecordId> = image.with_sites().map(|record| targets[record]).collect();
        let mut known = HashMap::new();
        records.iter().for_each(|record| {
            let next = known.len();
            known.entry(*record).or_insert(next);
        });
        let bytes = offsets.last().zip(offsets.first()).map_or(0, |(last, first)| last - first);
        trace::shards(bytes / SHARD);
        // Duplicate records must be in one shard.
        let shards = if known.len() < records.len() { 1 } else { (4 * threads).min(bytes / SHARD).max(1) };
        let first = offsets.first().copied().unwrap_or(0);
        let starts: Vec<usize> =
            (0..shards).map(|at| offsets.partition_point(|offset| offset - first < bytes * at / shards)).collect();
        let ends = starts.iter().skip(1).copied().chain([records.len()]);
        let (mut slots, mut of_shards) = (Vec::with_capacity(records.len()), Vec::new());
        for (start, end) in starts.iter().copied().zip(ends) {
            let mut own = Vec::new();
            let mut places = HashMap::new();
            for record in &records[start..end] {
                slots.push(*places.entry(*record).or_insert_with(|| {
                    own.push(*record);
                    own.len() - 1
                }));
            }
            of_shards.push(own);
        }
        let shards = starts.iter().map(|_| Shard::default()).collect();
        Some(Self {
            shards,
            starts,
            slots,
            targets: of_shards,
            tickets: AtomicUsize::new(0),
            is_abandoned: AtomicBool::new(false),
        })
    }

    /// Returns true if the image has no value sites.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns the start of each shard: see [`Image::find_values`].
    pub(super) fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Takes the sites out of the merger.
    pub(super) fn take_out(&self, merger: &mut Merger) {
        for (shard, records) in self.shards.iter().zip(&self.targets) {
            let mut state = shard.state();
            let take = |record: &RecordId| ValueKind::EACH.map(|kind| merger.take_sites(*record, kind));
            state.taken = records.iter().map(take).collect();
            state.merger.get_or_insert_with(|| merger.site_merger());
        }
    }

    /// Puts the sites back into the merger, after all files visited them.
    pub(super) fn put_back(&self, merger: &mut Merger) {
        for (shard, records) in self.shards.iter().zip(&self.targets) {
            let mut state = shard.wait_for(self.tickets.load(Ordering::Relaxed), &self.is_abandoned);
            if state.merger.as_ref().is_some_and(SiteMerger::is_out_of_memory) {
                merger.lack_memory();
            }
            for (record, sites) in records.iter().zip(std::mem::take(&mut state.taken)) {
                for (kind, sites) in ValueKind::EACH.into_iter().zip(sites) {
                    merger.put_back_sites(*record, kind, sites);
                }
            }
        }
    }
}

/// The place of one profile in the queue for the shards. Dropping it early wakes all waiting threads.
pub(super) struct Ticket<'v> {
    values: &'v Values,
    number: usize,
}

impl<'v> Ticket<'v> {
    /// Admits a profile after those that were admitted before.
    pub(super) fn new(values: &'v Values) -> Self {
        Self { values, number: values.tickets.fetch_add(1, Ordering::Relaxed) }
    }

    /// Adds the values of the profile. Returns the records whose values were not added, or only in part.
    pub(super) fn add(self, image: &Image, file: &ValueFile<'_>) -> Vec<(RecordId, SoftError)> {
        let values = self.values;
        let mut errors = Vec::new();
        for (at, shard) in values.shards.iter().enumerate() {
            let end = values.starts.get(at + 1).copied().unwrap_or(values.slots.len());
            trace::enter(Step::Waiting);
            let mut state = shard.wait_for(self.number, &values.is_abandoned);
            trace::enter(Step::AtShard);
            let State { passed, taken, merger } = &mut *state;
            let part = (values.starts[at]..end, file.offsets[at]);
            image.read_values(file.bytes, file.profile, file.slide, file.compat, part, |place, found| {
                let slot = values.slots[place];
                let (Some(sites), Some(merger)) = (taken.get_mut(slot), merger.as_mut()) else { return };
                let add = |kind: ValueKind| merger.add(&mut sites[kind as usize], found.sites(kind), file.weight);
                let error = ValueKind::EACH.map(add).into_iter().flatten().next();
                trace::shared(|| sites.iter().map(TakenSites::bytes).sum());
                errors.extend(error.map(|error| (values.targets[at][slot], error)));
            });
            *passed += 1;
            drop(state);
            trace::enter(Step::Alone);
            shard.moved_on.notify_all();
        }
        errors
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let has_visited = |shard: &Shard| shard.state().passed > self.number;
        if self.values.shards.iter().all(has_visited) {
            return;
        }
        self.values.is_abandoned.store(true, Ordering::Relaxed);
        for shard in &self.values.shards {
            // No thread may be between its check of `is_abandoned` and its wait.
            drop(shard.state());
            shard.moved_on.notify_all();
        }
    }
}

impl Shard {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the given number of profiles visited the shard, or one of them is abandoned.
    fn wait_for(&self, profiles: usize, is_abandoned: &AtomicBool) -> MutexGuard<'_, State> {
        let waiting = |state: &mut State| state.passed != profiles && !is_abandoned.load(Ordering::Relaxed);
        self.moved_on.wait_while(self.state(), waiting).unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FunctionRecord, RecordView};
    use crate::threads::refusal;

    /// Returns records without end, and counts them.
    #[derive(Debug)]
    struct InfiniteReader {
        record: FunctionRecord,
        symbols: SymbolTable,
        handed_out: usize,
    }

    impl ProfileReader for InfiniteReader {
        fn kind(&self) -> ProfileKind {
            ProfileKind::default()
        }

        fn version_word(&self) -> u64 {
            0
        }

        fn next_record(&mut self) -> Result<Option<RecordRef<'_>>> {
            self.handed_out += 1;
            let record = RecordView::from(&self.record);
            Ok(Some(RecordRef { name: b"f", name_ref: None, text: None, record }))
        }

        fn symbols(&mut self) -> Result<&SymbolTable> {
            Ok(&self.symbols)
        }

        fn binary_ids(&mut self) -> Result<Vec<BinaryId>> {
            Ok(Vec::new())
        }

        fn temporal(&mut self) -> TemporalProfile {
            TemporalProfile::default()
        }

        fn vtable_names(&mut self) -> Result<Vec<Vec<u8>>> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn no_thread_means_that_nothing_is_read_ahead() {
        let record = FunctionRecord::new(1, vec![2, 3]);
        let mut reader = InfiniteReader { record, symbols: SymbolTable::new(), handed_out: 0 };
        let three = |reader: &mut dyn ProfileReader| {
            (0..3).map(|_| reader.next_record().unwrap().unwrap().record.counters.to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(read_ahead(&mut reader, None, three), vec![vec![2, 3]; 3]);
        assert!(reader.handed_out > 3, "a thread reads more than is used");
        reader.handed_out = 0;
        assert_eq!(refusal::after(0, || read_ahead(&mut reader, None, three)), vec![vec![2, 3]; 3]);
        assert_eq!(reader.handed_out, 3);
    }
}
