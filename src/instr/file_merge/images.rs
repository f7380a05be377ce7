//! The quick way for many raw files of one image.
//!
//! The first file of an image is read record by record and remembered with the
//! places where its records went. Further files that prove to be of the same
//! image only add their counter section to a flat sum, and the sums go to the
//! merger at the end. Value sites are taken out of the merger for as long as
//! files of one image follow each other, so that several threads add to them:
//! see [`values`](crate::instr::file_merge::values).

use crate::error::Result;
use crate::instr::Merger;
use crate::instr::file_merge::values::Values;
use crate::model::RecordId;
use crate::raw::{Image, ImageSum, PlausibleCounters, RawNames, RawProfile};
use std::sync::{Arc, Mutex, PoisonError};

/// The images met so far.
#[derive(Debug)]
pub(super) struct Images {
    /// The one met last comes last.
    known: Vec<Arc<Known>>,
    /// Bytes that the images take, about.
    size: usize,
    /// Bytes that they may take so far, or a single one more.
    room: usize,
    /// Bytes that they may take if need be.
    most_bytes: usize,
    /// Fingerprints to the images that were forgotten, the last one last.
    forgotten: Vec<u64>,
    /// Fingerprints of images that cannot be remembered, and of those whose
    /// first file is being read, with its place in the list of inputs.
    unfit: Vec<u64>,
    expected: Vec<(u64, usize)>,
}

/// An image and what its files add up to.
#[derive(Debug)]
pub(super) struct Known {
    image: Image,
    /// [`Image::fingerprint`] of its files.
    fingerprint: u64,
    /// Bytes that it takes, about.
    size: usize,
    /// Where the image's records went in the merger.
    targets: Vec<RecordId>,
    /// Sums of files with the same weight; each thread adds to one of its own.
    sums: Mutex<Vec<(u64, ImageSum)>>,
    pub(super) values: Values,
}

/// What is known of the image that a file is of.
pub(super) enum Lookup {
    /// It was met before; the file may be of one of these images.
    Candidates(Vec<Arc<Known>>),
    /// The input at that place is being read, and may be of the same image.
    Expected(usize),
}

/// Images that are remembered at most.
const MOST_IMAGES: usize = 256;
/// Bytes that the remembered images may take together.
pub(super) const MOST_BYTES: usize = 16 << 20;

impl Images {
    /// No images yet; they may take `most_bytes`, about, or a single one more.
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

    /// Images of which the input at place `at` may be.
    pub(super) fn look_up(&mut self, fingerprint: u64, at: usize) -> Lookup {
        let is_it = |known: &&Arc<Known>| known.fingerprint == fingerprint;
        let candidates: Vec<Arc<Known>> = self.known.iter().rev().filter(is_it).cloned().collect();
        let expected = self.expected.iter().find(|(other, place)| *other == fingerprint && *place < at);
        match expected {
            Some((_, place)) if candidates.is_empty() && !self.unfit.contains(&fingerprint) => Lookup::Expected(*place),
            _ => Lookup::Candidates(candidates),
        }
    }

    /// Says that a file of a known image was met.
    pub(super) fn met(&mut self, known: &Arc<Known>) {
        // Neighbours in the list are mostly of one image.
        if let Some(at) = self.known.iter().position(|other| Arc::ptr_eq(other, known)) {
            self.known[at..].rotate_left(1);
        }
    }

    /// Expects the image of a file that is not known and will be read, and makes
    /// room for it: returns those that were longest not met, which are forgotten.
    ///
    /// Mostly the files of one image stand together, so one image is enough.
    /// Room for more is made when one that was forgotten comes again.
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

    /// Remembers an image.
    pub(super) fn remember(&mut self, known: Known) {
        self.size += known.size;
        self.known.push(Arc::new(known));
    }

    /// Hears that the turn of the input at place `at` is over, after which its
    /// image is known or cannot be.
    pub(super) fn passed(&mut self, at: usize) {
        let Some(place) = self.expected.iter().position(|(_, place)| *place == at) else { return };
        let (fingerprint, _) = self.expected.swap_remove(place);
        if !self.known.iter().any(|known| known.fingerprint == fingerprint) {
            self.unfit.push(fingerprint);
            self.unfit.drain(..self.unfit.len().saturating_sub(MOST_IMAGES));
        }
    }

    /// All images, which are forgotten.
    pub(super) fn into_known(self) -> Vec<Arc<Known>> {
        self.known
    }
}

impl Known {
    /// The image of a file whose records went to `targets`; `shards` threads or
    /// more will add to its value sites.
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

    /// The image.
    pub(super) fn image(&self) -> &Image {
        &self.image
    }

    /// Adds the counters of a file whose weight is `weight`, for which an empty
    /// sum [has room](ImageSum::has_room_for).
    ///
    /// # Errors
    ///
    /// Out of memory for a sum; nothing is added then.
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

    /// Hands the sums over to the merger.
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
