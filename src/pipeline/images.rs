//! The quick way for many raw files of one image.
//!
//! The first file of an image is read record by record and remembered with the
//! places where its records went. Further files that prove to be of the same
//! image only add their counter section to a flat sum, and the sums go to the
//! merger at the end.

use crate::manner::Manner;
use crate::merge::Merger;
use crate::model::{FunctionRecord, RecordId, ValueKind};
use crate::raw::{Image, ImageSum, RawNames, RawProfile};
use std::sync::Arc;

/// The images met so far.
#[derive(Debug, Default)]
pub(super) struct Images {
    known: Vec<Known>,
    /// Bytes that the images take, about.
    size: usize,
    /// Value data of the file at hand.
    values: Vec<FunctionRecord>,
}

#[derive(Debug)]
struct Known {
    image: Image,
    /// Where the image's records went in the merger.
    targets: Vec<RecordId>,
    /// Sums of files with the same weight.
    sums: Vec<(u64, ImageSum)>,
}

/// Which image a file is of, and how much higher it is loaded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    at: usize,
    slide: u64,
}

/// Images that are remembered; further ones are read record by record.
const MOST_IMAGES: usize = 256;
/// Bytes that remembered images may take together.
const MOST_BYTES: usize = 512 << 20;

impl Images {
    /// Remembers the image of a file whose records went to `targets`.
    pub(super) fn remember(&mut self, profile: &RawProfile<'_>, names: &Arc<RawNames>, targets: Vec<RecordId>) {
        if self.known.len() >= MOST_IMAGES || targets.len() != profile.len() {
            return;
        }
        let Some(image) = Image::new(profile, names) else { return };
        self.size += image.size();
        if self.size <= MOST_BYTES {
            self.known.push(Known { image, targets, sums: Vec::new() });
        }
    }

    /// The names of an image with the same names sections, to be used again.
    pub(super) fn names_of(&self, profile: &RawProfile<'_>) -> Option<Arc<RawNames>> {
        let mut names = self.known.iter().rev().map(|known| known.image.names());
        names.find(|names| names.are_those_of(profile)).map(Arc::clone)
    }

    /// The image that a file is of, if it was met before.
    pub(super) fn find(&mut self, profile: &RawProfile<'_>) -> Option<Found> {
        // Neighbours in the list are mostly of one image: try the last first.
        let mut known = self.known.iter().enumerate().rev();
        let (at, slide) = known.find_map(|(at, known)| Some((at, known.image.slide_of(profile)?)))?;
        let last = self.known.len() - 1;
        self.known.swap(at, last);
        Some(Found { at: last, slide })
    }

    /// Adds a file of an image that was found; `false` when it has to be read
    /// record by record.
    pub(super) fn add(
        &mut self,
        found: Found,
        file: &[u8],
        profile: &RawProfile<'_>,
        weight: u64,
        manner: Manner,
        merger: &mut Merger,
    ) -> bool {
        let Known { image, targets, sums } = &mut self.known[found.at];
        let Some(counters) = ImageSum::plausible(profile) else { return false };
        if !image.read_values(file, profile, found.slide, manner, &mut self.values) {
            return false;
        }
        let place = sums.iter().position(|(of, _)| *of == weight).unwrap_or_else(|| {
            sums.push((weight, ImageSum::new(image)));
            sums.len() - 1
        });
        let sum = &mut sums[place].1;
        if !sum.has_room_for(&counters, weight) {
            flush(image, targets, sum, weight, merger);
            if !sum.has_room_for(&counters, weight) {
                return false;
            }
        }
        sum.add(&counters);
        for (&index, values) in image.records_with_sites().iter().zip(&self.values) {
            for kind in ValueKind::ALL {
                if !values.sites(kind).is_empty() {
                    merger.merge_value_sites(targets[index], kind, values.sites(kind), weight);
                }
            }
        }
        true
    }

    /// Hands all sums to the merger.
    pub(super) fn finish(&mut self, merger: &mut Merger) {
        for known in &mut self.known {
            for (weight, sum) in &mut known.sums {
                flush(&known.image, &known.targets, sum, *weight, merger);
            }
        }
    }
}

/// Adds sums to the records that they belong to and makes them zero.
fn flush(image: &Image, targets: &[RecordId], sum: &mut ImageSum, weight: u64, merger: &mut Merger) {
    if sum.is_empty() {
        return;
    }
    for (record, &target) in image.records().iter().zip(targets) {
        merger.merge_counters(target, &sum.counters[record.counters.clone()], weight);
        if !record.bitmap.is_empty() {
            merger.merge_bitmap(target, &sum.bitmap[record.bitmap.clone()]);
        }
    }
    sum.clear();
}
