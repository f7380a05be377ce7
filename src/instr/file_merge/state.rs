//! The state of a merge of files: shared by all threads, changed in input order, or reused by one thread.

use crate::driver::{Attempt, InputReport, InputTurn, MergeJob};
use crate::error::Result;
use crate::input::{Input, ReadBuffer};
use crate::instr::file_merge::MergeOptions;
use crate::instr::file_merge::RecordError;
use crate::instr::file_merge::staged::Batch;
use crate::instr::file_merge::staged::{Ticket, ValueFile, Values};
use crate::instr::{Merger, SoftError};
use crate::model::RecordId;
use crate::raw::{Image, ImageSum, NameChunks, PlausibleCounters, RawNames, RawProfile};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A merge of files.
pub(crate) struct FileMerge<'a> {
    pub(super) options: &'a MergeOptions,
    /// The size of each input when the merge began; 0 if unknown.
    pub(super) sizes: Vec<u64>,
    pub(super) workers: usize,
    pub(super) threads_per_input: usize,
    /// Programs seen so far; `None` if every input is read record by record.
    pub(super) images: Option<Mutex<Images>>,
    /// Chunks of names of all raw profiles so far; `None` for a single input.
    pub(super) chunks: Option<Arc<NameChunks>>,
    pub(super) soft_errors: Mutex<Vec<(usize, RecordId, SoftError)>>,
}

/// The accumulated state of a merge.
pub(crate) struct Sums {
    pub(super) merger: Merger,
    /// The image whose value sites are not in the merger.
    pub(super) values_out: Option<Arc<Known>>,
    /// Dropped images whose counters are not in the merger yet.
    pub(super) evicted: Vec<Arc<Known>>,
    /// An upper bound of the counters of the result, used for images.
    pub(super) bound: u64,
    pub(super) has_image_sums: bool,
    pub(super) has_uniformity: bool,
}

/// Buffers of one thread.
#[derive(Default)]
pub(crate) struct Worker {
    /// The bytes of the current input.
    pub(super) buffer: ReadBuffer,
    /// The records of the input, if they are read before its turn.
    pub(super) batch: Batch,
    /// Names of the last raw profile that was read record by record. The next profile usually has the same names.
    pub(super) names: Option<Arc<RawNames>>,
}

/// The result of a merge of files.
pub(crate) struct MergedFiles {
    pub(crate) merger: Merger,
    /// Records that were not merged, or only in part, in the order of the inputs.
    pub(crate) soft_errors: Vec<RecordError>,
}

impl<'a> FileMerge<'a> {
    /// Starts a merge.
    pub(crate) fn new(job: &MergeJob<'_>, options: &'a MergeOptions) -> Self {
        let is_single = job.inputs.len() == 1;
        let size = |input: &Input| match input.is_pipe() {
            true => 0,
            false => std::fs::metadata(&input.path).map_or(0, |found| found.len()),
        };
        Self {
            options,
            sizes: job.inputs.iter().map(size).collect(),
            workers: job.workers,
            threads_per_input: job.threads_per_input,
            images: (job.attempt == Attempt::Fast && !is_single).then(|| Mutex::new(Images::new(MOST_BYTES))),
            chunks: (!is_single).then(Arc::default),
            soft_errors: Mutex::default(),
        }
    }

    pub(super) fn images(&self) -> Option<MutexGuard<'_, Images>> {
        self.images.as_ref().map(|images| images.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn add_soft_errors(&self, place: usize, errors: Vec<(RecordId, SoftError)>) {
        if !errors.is_empty() {
            let mut all = self.soft_errors.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend(errors.into_iter().map(|(record, error)| (place, record, error)));
        }
    }
}

impl Sums {
    /// Puts the value sites of an image back into the merger, unless it is `next`.
    pub(super) fn restore_value_sites(&mut self, next: Option<&Arc<Known>>) {
        let is_another = |known: &mut Arc<Known>| !next.is_some_and(|next| Arc::ptr_eq(known, next));
        if let Some(known) = self.values_out.take_if(is_another) {
            known.values.put_back(&mut self.merger);
        }
    }

    /// Adds the counters of dropped images that no thread uses any more.
    pub(super) fn flush_evicted(&mut self) {
        let Self { evicted, merger, .. } = self;
        evicted.retain(|known| {
            let is_in_use = Arc::strong_count(known) > 1;
            if !is_in_use {
                known.flush(merger);
            }
            is_in_use
        });
    }
}

// A fast path for many raw files of one image.
//
// The first file of an image is read record by record, and the image stores where its records went in the merger.
// Further files of the same image only add their counter section to a flat sum. The sums go to the merger at the end.
// Value sites are taken out of the merger while files of one image follow each other, so that several threads can add
// to them: see [`values`](crate::instr::file_merge::staged).

/// The images found so far.
#[derive(Debug)]
pub(super) struct Images {
    /// The most recently used image is last.
    known: Vec<Arc<Known>>,
    /// The approximate size of all images in bytes.
    size: usize,
    /// The current budget in bytes. A single larger image is allowed.
    room: usize,
    /// The maximum budget in bytes.
    most_bytes: usize,
    /// Fingerprints of evicted images, the most recent one last.
    forgotten: Vec<u64>,
    /// Fingerprints of images that cannot be stored, and of those whose first file is being read, with its position in
    /// the list of inputs.
    unfit: Vec<u64>,
    expected: Vec<(u64, usize)>,
}

/// An image and the sums of its files.
#[derive(Debug)]
pub(super) struct Known {
    image: Image,
    /// [`Image::fingerprint`] of its files.
    fingerprint: u64,
    /// Its approximate size in bytes.
    size: usize,
    /// The merger's records of the image.
    targets: Vec<RecordId>,
    /// Sums of files with the same weight. Each thread adds to its own sum.
    sums: Mutex<Vec<(u64, ImageSum)>>,
    pub(super) values: Values,
}

/// The state of the image of a file.
pub(super) enum Lookup {
    /// Known images that may be the image of the file.
    Candidates(Vec<Arc<Known>>),
    /// The input at this position is being read, and may have the same image.
    Expected(usize),
}

/// The maximum number of stored images.
const MOST_IMAGES: usize = 256;
/// The maximum size of all stored images in bytes.
pub(super) const MOST_BYTES: usize = 16 << 20;

impl Images {
    /// Returns an empty list of images with a budget of about `most_bytes`. A single larger image is allowed.
    pub(super) fn new(most_bytes: usize) -> Self {
        Self {
            known: Vec::new(),
            size: 0,
            room: 0,
            most_bytes,
            forgotten: Vec::new(),
            unfit: Vec::new(),
            expected: Vec::new(),
        }
    }

    /// Finds images that may be the image of the input at position `at`.
    pub(super) fn look_up(&mut self, fingerprint: u64, at: usize) -> Lookup {
        let is_it = |known: &&Arc<Known>| known.fingerprint == fingerprint;
        let candidates: Vec<Arc<Known>> = self.known.iter().rev().filter(is_it).cloned().collect();
        let expected = self.expected.iter().find(|(other, place)| *other == fingerprint && *place < at);
        match expected {
            Some((_, place)) if candidates.is_empty() && !self.unfit.contains(&fingerprint) => Lookup::Expected(*place),
            _ => Lookup::Candidates(candidates),
        }
    }

    /// Marks an image as most recently used.
    pub(super) fn met(&mut self, known: &Arc<Known>) {
        // Neighbours in the list usually have the same image.
        if let Some(at) = self.known.iter().position(|other| Arc::ptr_eq(other, known)) {
            self.known[at..].rotate_left(1);
        }
    }

    /// Announces the image of a file that will be read, and makes space for it: returns the least recently used images,
    /// which are evicted.
    ///
    /// Files of one image are usually adjacent, so one image is enough. The budget grows when an evicted image occurs
    /// again.
    pub(super) fn expect(&mut self, profile: &RawProfile<'_>, at: usize) -> Vec<Arc<Known>> {
        if !Image::supports_image_sum(profile) {
            return Vec::new();
        }
        let (fingerprint, size) = (Image::fingerprint(profile), Image::size_of(profile));
        self.expected.push((fingerprint, at));
        if let Some(at) = self.forgotten.iter().position(|forgotten| *forgotten == fingerprint) {
            self.forgotten.remove(at);
            self.room = self.room.max((self.size + size).min(self.most_bytes));
        }
        let mut evicted = Vec::new();
        while !self.known.is_empty() && (self.known.len() >= MOST_IMAGES || self.size + size > self.room) {
            let oldest = self.known.remove(0);
            self.size -= oldest.size;
            self.forgotten.push(oldest.fingerprint);
            evicted.push(oldest);
        }
        self.forgotten.drain(..self.forgotten.len().saturating_sub(MOST_IMAGES));
        evicted
    }

    /// Stores an image.
    pub(super) fn remember(&mut self, known: Known) {
        self.size += known.size;
        self.known.push(Arc::new(known));
    }

    /// Ends the turn of the input at position `at`. After it, its image is known or cannot be stored.
    pub(super) fn passed(&mut self, at: usize) {
        let Some(place) = self.expected.iter().position(|(_, place)| *place == at) else { return };
        let (fingerprint, _) = self.expected.swap_remove(place);
        if !self.known.iter().any(|known| known.fingerprint == fingerprint) {
            self.unfit.push(fingerprint);
            self.unfit.drain(..self.unfit.len().saturating_sub(MOST_IMAGES));
        }
    }

    /// Removes and returns all images.
    pub(super) fn into_known(self) -> Vec<Arc<Known>> {
        self.known
    }
}

impl Known {
    /// Creates the image of a file whose records went to `targets`; at least `shards` threads will add to its value
    /// sites.
    pub(super) fn new(
        file: &[u8],
        profile: &RawProfile<'_>,
        names: &RawNames,
        targets: Vec<RecordId>,
        shards: usize,
    ) -> Option<Self> {
        if targets.len() != profile.len() {
            return None;
        }
        let image = Image::new(profile, names)?;
        let values = Values::new(&image, file, profile, &targets, shards)?;
        let (fingerprint, size) = (Image::fingerprint(profile), Image::size_of(profile));
        Some(Self { image, fingerprint, size, targets, sums: Mutex::default(), values })
    }

    /// Returns the image.
    pub(super) fn image(&self) -> &Image {
        &self.image
    }

    /// Adds the counters of a file with the given weight, for which an empty sum [has room](ImageSum::has_room_for).
    ///
    /// # Errors
    ///
    /// Out of memory for a sum. Nothing is added then.
    pub(super) fn add_counters(&self, counters: &PlausibleCounters<'_>, weight: u64) -> Result<()> {
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |(of, sum): &(u64, ImageSum)| *of == weight && sum.has_room_for(counters, weight);
        let place = sums.iter().position(fits);
        let known = place.map(|at| sums.swap_remove(at).1);
        drop(sums);
        let mut sum = known.map_or_else(|| ImageSum::new(&self.image), Ok)?;
        sum.add(counters);
        self.sums.lock().unwrap_or_else(PoisonError::into_inner).push((weight, sum));
        Ok(())
    }

    /// Adds the sums to the merger.
    pub(super) fn flush(&self, merger: &mut Merger) {
        for (weight, sum) in std::mem::take(&mut *self.sums.lock().unwrap_or_else(PoisonError::into_inner)) {
            for (counters, &target) in self.image.counters().zip(&self.targets) {
                merger.merge_counters(target, &sum.counters[counters], weight);
            }
            for (record, bitmap) in self.image.bitmaps() {
                merger.merge_bitmap(self.targets[record], &sum.bitmap[bitmap]);
            }
        }
    }
}

// A raw profile of a known image: only its counters and values are added.

/// A raw profile of a known image. Its counts are added after its turn.
pub(super) struct KnownFile<'d> {
    known: Arc<Known>,
    slide: u64,
    profile: RawProfile<'d>,
    counters: PlausibleCounters<'d>,
    /// The start of the values of each shard.
    offsets: Vec<usize>,
    weight: u64,
}

impl<'d> KnownFile<'d> {
    /// Returns the profile if its image is known and all of it is valid.
    pub(super) fn find(
        merge: &FileMerge<'_>,
        data: &'d [u8],
        profile: &RawProfile<'d>,
        weight: u64,
        turn: &InputTurn<'_, Sums>,
    ) -> Option<Self> {
        let fingerprint = Image::fingerprint(profile);
        let candidates = loop {
            let found = merge.images()?.look_up(fingerprint, turn.place());
            match found {
                Lookup::Candidates(candidates) => break candidates,
                Lookup::Expected(place) => turn.wait_for_input(place).ok()?,
            }
        };
        let slide_of = |known: Arc<Known>| known.image().slide_of(profile).map(|slide| (known, slide));
        let (known, slide) = candidates.into_iter().find_map(slide_of)?;
        let counters = ImageSum::plausible(profile)?;
        if !ImageSum::can_hold(&counters, weight) {
            return None;
        }
        let offsets = known.image().find_values(data, profile, profile.compat(), known.values.starts())?;
        merge.images()?.met(&known);
        Some(Self { known, slide, profile: profile.clone(), counters, offsets, weight })
    }

    /// Adds the profile: its kind in its turn, its counts after it.
    pub(super) fn add(
        self,
        merge: &FileMerge<'_>,
        data: &[u8],
        turn: &mut InputTurn<'_, Sums>,
        report: &mut InputReport,
    ) -> Result<()> {
        let Self { known, slide, profile, counters, offsets, weight } = self;
        report.kind = Some(profile.kind());
        let sums = turn.wait()?;
        match profile.len() {
            0 => sums.merger.begin_without_records(profile.kind())?,
            _ => sums.merger.begin_named_input(profile.kind(), Some(&report.input.path))?,
        }
        report.records = profile.len() as u64;
        sums.bound = sums.bound.saturating_add(counters.bound().saturating_mul(weight));
        sums.has_image_sums = true;
        let ticket = (!known.values.is_empty()).then(|| {
            sums.restore_value_sites(Some(&known));
            if sums.values_out.is_none() {
                known.values.take_out(&mut sums.merger);
                sums.values_out = Some(Arc::clone(&known));
            }
            Ticket::new(&known.values)
        });
        sums.flush_evicted();
        turn.pass()?;
        known.add_counters(&counters, weight)?;
        if let Some(ticket) = ticket {
            let file = ValueFile { bytes: data, profile: &profile, slide, compat: profile.compat(), weight, offsets };
            merge.add_soft_errors(turn.place(), ticket.add(known.image(), &file));
        }
        Ok(())
    }
}
