//! Value sites of one image, to which several threads add the profiles of a run in the order of the inputs.
//!
//! The outcome depends on the order, because a site keeps at most 255 values. So the sites are split into shards, and
//! every profile visits them in order: while one profile is at a shard, the next one is at the shard before it.

use crate::compat::Compat;
use crate::driver::trace::{self, Step};
use crate::instr::sites::{SiteMerger, TakenSites};
use crate::instr::{Merger, SoftError};
use crate::model::{RecordId, ValueKind};
use crate::raw::{Image, RawProfile};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The sites of an image.
#[derive(Debug)]
pub(super) struct Values {
    shards: Vec<Shard>,
    /// Where each shard begins in [`Image::with_sites`].
    starts: Vec<usize>,
    /// For each record with sites which of its shard's it is.
    slots: Vec<usize>,
    /// Their records, shard by shard.
    targets: Vec<Vec<RecordId>>,
    /// Profiles that were let in.
    tickets: AtomicUsize,
    /// A profile that was let in will not visit all shards: its thread panicked.
    is_abandoned: AtomicBool,
}

#[derive(Debug, Default)]
struct Shard {
    state: Mutex<State>,
    moved_on: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Files that went through.
    passed: usize,
    /// While they are taken out of the merger: the sites of each record.
    taken: Vec<[TakenSites; ValueKind::COUNT]>,
    merger: Option<SiteMerger>,
}

/// A file of the image as far as its values go.
pub(super) struct ValueFile<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) profile: &'a RawProfile<'a>,
    pub(super) slide: u64,
    pub(super) compat: Compat,
    pub(super) weight: u64,
    /// Where the values of each shard begin.
    pub(super) offsets: Vec<usize>,
}

/// Bytes of value data that are worth a shard.
const SHARD: usize = 1 << 16;

impl Values {
    /// The sites of an image whose first file is `file`, for so many threads.
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
        // Records that stand twice have to be met in one shard.
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

    /// Whether the image has no value sites.
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Where the shards begin: see [`Image::find_values`].
    pub(super) fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Takes the sites out of the merger.
    pub(super) fn take_out(&self, merger: &mut Merger) {
        for (shard, records) in self.shards.iter().zip(&self.targets) {
            let mut state = shard.state();
            let take = |record: &RecordId| ValueKind::ALL.map(|kind| merger.take_sites(*record, kind));
            state.taken = records.iter().map(take).collect();
            state.merger.get_or_insert_with(|| merger.site_merger());
        }
    }

    /// Puts the sites back into the merger, once all files went through.
    pub(super) fn put_back(&self, merger: &mut Merger) {
        for (shard, records) in self.shards.iter().zip(&self.targets) {
            let mut state = shard.wait_for(self.tickets.load(Ordering::Relaxed), &self.is_abandoned);
            if state.merger.as_ref().is_some_and(SiteMerger::is_out_of_memory) {
                merger.lack_memory();
            }
            for (record, sites) in records.iter().zip(std::mem::take(&mut state.taken)) {
                for (kind, sites) in ValueKind::ALL.into_iter().zip(sites) {
                    merger.put_back_sites(*record, kind, sites);
                }
            }
        }
    }
}

/// The place of one profile among those that visit the shards. Dropping it early wakes all that wait for it.
pub(super) struct Ticket<'v> {
    values: &'v Values,
    number: usize,
}

impl<'v> Ticket<'v> {
    /// Lets a profile in, after those that were let in before.
    pub(super) fn new(values: &'v Values) -> Self {
        Self { values, number: values.tickets.fetch_add(1, Ordering::Relaxed) }
    }

    /// Adds the values of the profile. Returns the records whose values were not, or only partly, added.
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
                let error = ValueKind::ALL.map(add).into_iter().flatten().next();
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
            // No thread may be between its look at `is_abandoned` and its wait.
            drop(shard.state());
            shard.moved_on.notify_all();
        }
    }
}

impl Shard {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the given number of profiles have visited the shard, or one of them never will.
    fn wait_for(&self, profiles: usize, is_abandoned: &AtomicBool) -> MutexGuard<'_, State> {
        let waiting = |state: &mut State| state.passed != profiles && !is_abandoned.load(Ordering::Relaxed);
        self.moved_on.wait_while(self.state(), waiting).unwrap_or_else(PoisonError::into_inner)
    }
}
