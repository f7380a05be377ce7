//! The quick way for many raw files of one image.
//!
//! The first file of an image is read record by record and remembered with the
//! places where its records went. Further files that prove to be of the same
//! image only add their counter section to a flat sum, and the sums go to the
//! merger at the end.

use crate::compat::Compat;
use crate::instr::{RecordId, ValueKind};
use crate::merge::Merger;
use crate::raw::{Image, ImageSum, RawNames, RawProfile};

/// The images met so far.
#[derive(Debug)]
pub(super) struct Images {
    /// The one met last comes last.
    known: Vec<Known>,
    /// Bytes that the images take, about.
    size: usize,
    /// Bytes that they may take so far, or a single one more.
    room: usize,
    /// Bytes that they may take if need be.
    most_bytes: usize,
    /// Fingerprints to the images that were forgotten, the last one last.
    forgotten: Vec<u64>,
}

#[derive(Debug)]
struct Known {
    image: Image,
    /// [`Image::fingerprint`] of its files.
    fingerprint: u64,
    /// Bytes that it takes, about.
    size: usize,
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

/// Images that are remembered at most.
const MOST_IMAGES: usize = 256;
/// Bytes that the remembered images of all threads may take together.
pub(super) const MOST_BYTES: usize = 16 << 20;

impl Images {
    /// No images yet; they may take `most_bytes`, about, or a single one more.
    pub(super) fn new(most_bytes: usize) -> Self {
        Self { known: Vec::new(), size: 0, room: 0, most_bytes, forgotten: Vec::new() }
    }

    /// Makes room for the image of a file that is not known and will be read:
    /// those that were longest not met are forgotten.
    ///
    /// Mostly the files of one image stand together, so one image is enough.
    /// Room for more is made when one that was forgotten comes again.
    pub(super) fn make_room_for(&mut self, profile: &RawProfile<'_>, merger: &mut Merger) {
        if !Image::can_be_of(profile) {
            return;
        }
        let (fingerprint, size) = (Image::fingerprint(profile), Image::size_of(profile));
        if let Some(at) = self.forgotten.iter().position(|forgotten| *forgotten == fingerprint) {
            self.forgotten.remove(at);
            self.room = self.room.max((self.size + size).min(self.most_bytes));
        }
        while !self.known.is_empty() && (self.known.len() >= MOST_IMAGES || self.size + size > self.room) {
            let mut oldest = self.known.remove(0);
            oldest.flush(merger);
            self.size -= oldest.size;
            self.forgotten.push(oldest.fingerprint);
        }
        self.forgotten.drain(..self.forgotten.len().saturating_sub(MOST_IMAGES));
    }

    /// Remembers the image of a file that [room was made
    /// for](Self::make_room_for), and whose records went to `targets`.
    pub(super) fn remember(&mut self, profile: &RawProfile<'_>, names: &RawNames, targets: Vec<RecordId>) {
        if targets.len() != profile.len() {
            return;
        }
        if let Some(image) = Image::new(profile, names) {
            let (fingerprint, size) = (Image::fingerprint(profile), Image::size_of(profile));
            self.known.push(Known { image, fingerprint, size, targets, sums: Vec::new() });
            self.size += size;
        }
    }

    /// The image that a file is of, if it was met before.
    pub(super) fn find(&mut self, profile: &RawProfile<'_>) -> Option<Found> {
        // Neighbours in the list are mostly of one image: try the last first.
        let mut known = self.known.iter().enumerate().rev();
        let (at, slide) = known.find_map(|(at, known)| Some((at, known.image.slide_of(profile)?)))?;
        self.known[at..].rotate_left(1);
        Some(Found { at: self.known.len() - 1, slide })
    }

    /// Adds a file of an image that was found; `false` when it has to be read
    /// record by record.
    pub(super) fn add(
        &mut self,
        found: Found,
        file: &[u8],
        profile: &RawProfile<'_>,
        weight: u64,
        compat: Compat,
        merger: &mut Merger,
    ) -> bool {
        let Known { image, targets, sums, .. } = &mut self.known[found.at];
        let Some(counters) = ImageSum::plausible(profile) else { return false };
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
        let is_sound = image.read_values(file, profile, found.slide, compat, |index, values| {
            for kind in ValueKind::ALL.into_iter().filter(|kind| !values.sites(*kind).is_empty()) {
                merger.merge_value_sites(targets[index], kind, values.sites(kind), weight);
            }
        });
        if is_sound {
            sum.add(&counters);
        }
        is_sound
    }

    /// Hands all sums to the merger.
    pub(super) fn finish(&mut self, merger: &mut Merger) {
        self.known.iter_mut().for_each(|known| known.flush(merger));
    }
}

impl Known {
    /// Hands the sums to the merger.
    fn flush(&mut self, merger: &mut Merger) {
        for (weight, sum) in &mut self.sums {
            flush(&self.image, &self.targets, sum, *weight, merger);
        }
    }
}

/// Adds sums to the records that they belong to and makes them zero.
fn flush(image: &Image, targets: &[RecordId], sum: &mut ImageSum, weight: u64, merger: &mut Merger) {
    if sum.is_empty() {
        return;
    }
    for (counters, &target) in image.counters().zip(targets) {
        merger.merge_counters(target, &sum.counters[counters], weight);
    }
    for (record, bitmap) in image.bitmaps() {
        merger.merge_bitmap(targets[record], &sum.bitmap[bitmap]);
    }
    sum.clear();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::{Encoding, Endian, PointerWidth};
    use crate::instr::{Profile, ProfileReader};
    use crate::raw::{self, RawOptions, RawReader, WriteOptions};

    /// A file of the program of that number, with so many functions.
    fn file_of(program: usize, functions: usize) -> Vec<u8> {
        let mut profile = Profile { kind: crate::instr::ProfileKind::IR, ..Profile::default() };
        for at in 0..functions {
            let function = profile.functions.intern(format!("f{at}_of_{program}").as_bytes());
            profile.functions.push_record(function, &crate::instr::FunctionRecord::new(1, vec![at as u64, 2]));
        }
        let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version: 10 };
        raw::write(&profile, &WriteOptions::new(encoding)).unwrap()
    }

    /// Meets a file as a worker does; whether its image was known.
    fn meet(images: &mut Images, merger: &mut Merger, file: &[u8]) -> bool {
        let mut reader = RawReader::new(file, RawOptions::new(Compat::Profbridge)).unwrap();
        if let Some(found) = images.find(reader.profile()) {
            assert!(images.add(found, file, reader.profile(), 1, Compat::Profbridge, merger));
            return true;
        }
        images.make_room_for(reader.profile(), merger);
        let mut targets = Vec::new();
        while let Some(record) = reader.next_record().unwrap() {
            targets.push(merger.add_record(record, 1).record);
        }
        images.remember(reader.profile(), reader.names(), targets);
        false
    }

    fn met(images: &mut Images, files: &[Vec<u8>], order: &[usize]) -> Vec<bool> {
        let mut merger = Merger::new(Default::default());
        merger.begin_input(crate::instr::ProfileKind::IR).unwrap();
        let known = order.iter().map(|program| meet(images, &mut merger, &files[*program])).collect();
        images.finish(&mut merger);
        // However the sums came about, each file is in them once.
        let profile = merger.finish();
        for program in 0..files.len() {
            let runs = order.iter().filter(|other| **other == program).count() as u64;
            let counters =
                |function: crate::instr::FunctionView<'_>| function.records().next().unwrap().counters.to_vec();
            let name = format!("f3_of_{program}");
            assert_eq!(
                profile.functions.find(name.as_bytes()).map(counters),
                (runs > 0).then(|| vec![3 * runs, 2 * runs])
            );
        }
        known
    }

    #[test]
    fn room_is_made_for_images_that_come_again() {
        let files: Vec<Vec<u8>> = (0..3).map(|program| file_of(program, 50 - program)).collect();
        let order = [0, 0, 1, 1, 0, 1, 0, 1, 2, 2, 0, 1, 2, 0];
        let known = met(&mut Images::new(MOST_BYTES), &files, &order);
        assert_eq!(
            known,
            [
                false, true, false, true, // one after the other: the last one is known
                false, true, true, true, // the first one came again: both are
                false, true, false, true, true, true, // the same with a third one
            ]
        );
    }

    #[test]
    fn no_more_is_remembered_than_there_is_room_for() {
        let files: Vec<Vec<u8>> = (0..2).map(|program| file_of(program, 50 + program)).collect();
        let mut images = Images::new(1);
        assert_eq!(met(&mut images, &files, &[0, 1, 0, 1, 1]), [false, false, false, false, true]);
        assert_eq!(images.known.len(), 1);
    }
}
