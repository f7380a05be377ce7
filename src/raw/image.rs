//! Merging many files of one image.
//!
//! Two runs of one binary write files that differ only in counters, value data and load
//! addresses. An [`Image`] stores the first file. Later files are compared with it section
//! by section ([`Image::slide_of`]), never trusted because of a key. Then their counters are
//! added as one array ([`ImageSum`]).

use super::layout::{Section, Word};
use super::names::{NameSections, RawNames};
use super::profile::RawProfile;
use super::reader::LARGEST_PLAUSIBLE_COUNTER;
use super::values::{BlobReader, DeclaredSites, Strictness, Targets};
use crate::bytes::{Cursor, Endian, PointerWidth};
use crate::compat::Compat;
use crate::error::Result;
use crate::memory::{self, HOLD_SUMS};
use crate::model::{FunctionRecord, ProfileKind};
use byteorder::{BigEndian, ByteOrder, LittleEndian};
use std::ops::Range;
use std::sync::Arc;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The data that all files of one image share, copied from the first file.
#[derive(Debug)]
pub struct Image {
    header: Vec<(Word, u64)>,
    version_word: u64,
    endian: Endian,
    pointer: PointerWidth,
    binary_ids: Vec<u8>,
    data: Vec<u8>,
    vtables: Vec<u8>,
    names: Arc<NameSections>,
    record_size: usize,
    counters_count: usize,
    bitmap_bytes: usize,
    /// The addresses in a record that move with the image.
    addresses: Range<usize>,
    /// Where each record's counters begin in their section and how many there
    /// are, in elements.
    counters: Vec<(u32, u32)>,
    /// Records with a bitmap, and its position in the section.
    bitmaps: Vec<(usize, Range<usize>)>,
    /// Indices of the records that have value sites, and how many.
    with_sites: Vec<(usize, DeclaredSites)>,
    targets: Targets,
}

/// Sums over many files of one image, each a flat array as the section is.
#[derive(Debug, Clone)]
pub struct ImageSum {
    /// One sum for each element of the counters section.
    pub counters: Vec<u64>,
    /// The bitmap section, or-ed together.
    pub bitmap: Vec<u8>,
    /// No sum is larger than this.
    bound: u64,
}

impl Image {
    /// Whether files like this one may be read as files of one image. Others
    /// have to be read record by record: those before version 8 (counters are
    /// found by load addresses), with timestamps, with uniform counters, or with
    /// records from elsewhere.
    pub fn supports_image_sum(profile: &RawProfile<'_>) -> bool {
        profile.header().version() >= 8
            && !profile.kind().contains(ProfileKind::TEMPORAL)
            && profile.section(Section::UniformCounters).is_empty()
            && profile.has_own_records()
    }

    /// Remembers a profile that was read without fault or warning, with its names.
    ///
    /// `None` when it [cannot](Self::supports_image_sum) be, has counters at odd places, or
    /// does not fit the memory.
    pub fn new(profile: &RawProfile<'_>, names: &RawNames) -> Option<Self> {
        if !Self::supports_image_sum(profile) {
            return None;
        }
        let header = profile.header();
        let encoding = header.encoding();
        let counter_size = header.counter_size();
        let mut counters = Vec::new();
        counters.try_reserve_exact(profile.len()).ok()?;
        let mut bitmaps = Vec::new();
        let mut with_sites = Vec::new();
        for (index, record) in profile.records().enumerate() {
            let offset = profile.counter_offset(index, &record).ok()?;
            if !offset.is_multiple_of(counter_size) {
                return None;
            }
            counters.push((u32::try_from(offset / counter_size).ok()?, record.num_counters));
            let bitmap = profile.bitmap_range(index, &record).ok()?;
            if !bitmap.is_empty() {
                bitmaps.push((index, bitmap));
            }
            if record.has_value_sites() {
                with_sites.push((index, record.num_value_sites));
            }
        }
        Some(Self {
            header: header.words().collect(),
            version_word: header.version_word(),
            endian: encoding.endian,
            pointer: encoding.pointer,
            binary_ids: profile.section(Section::BinaryIds).to_vec(),
            data: memory::copy_of(profile.section(Section::Data))?,
            vtables: memory::copy_of(profile.section(Section::VTables))?,
            names: Arc::clone(names.sections()?),
            record_size: profile.layout().size(),
            // Use the real length: the header's words may be wrapped numbers, which LLVM accepts if the sum of the
            // sections fits the file.
            counters_count: profile.section(Section::Counters).len() / counter_size,
            bitmap_bytes: profile.section(Section::Bitmap).len(),
            addresses: profile.layout().moving_addresses(),
            counters,
            bitmaps,
            targets: if with_sites.is_empty() { Targets::default() } else { Targets::read(profile) },
            with_sites,
        })
    }

    /// Returns the range of each record's counters, in elements of their section,
    /// in file order.
    pub fn counters(&self) -> impl ExactSizeIterator<Item = Range<usize>> {
        self.counters.iter().map(|&(start, len)| start as usize..start as usize + len as usize)
    }

    /// Indices of the records that have a bitmap, ascending, and where in its
    /// section each lies.
    pub fn bitmaps(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        self.bitmaps.iter().cloned()
    }

    /// Bytes that remembering the image of a profile takes, about, with one sum.
    pub fn size_of(profile: &RawProfile<'_>) -> usize {
        let kept = [Section::Data, Section::VTables, Section::Names, Section::VTableNames, Section::Bitmap];
        let sections: usize = kept.map(|section| profile.section(section).len()).iter().sum();
        let counters = profile.section(Section::Counters).len() / profile.header().counter_size();
        // The range of its counters and the number of its function; more with value sites.
        let each_record = size_of::<(u32, u32)>() + size_of::<u32>();
        sections + counters * size_of::<u64>() + profile.len() * each_record
    }

    /// Returns a fingerprint that is equal for files of one image, and probably different for others. The data is not
    /// compared.
    pub fn fingerprint(profile: &RawProfile<'_>) -> u64 {
        let header = profile.header();
        let sizes = [Word::NumData, Word::NumCounters, Word::NamesSize].map(|word| header.word(word).to_le_bytes());
        xxh3_64_with_seed(profile.section(Section::BinaryIds), xxh3_64(sizes.as_flattened()))
    }

    /// Returns the difference of the load addresses of `profile` and the first file, or `None` if the images differ.
    /// Compares all data that affects reading: header, binary ids, records, names and vtables.
    pub fn slide_of(&self, profile: &RawProfile<'_>) -> Option<u64> {
        let header = profile.header();
        let encoding = header.encoding();
        let same_header = header.version_word() == self.version_word
            && encoding.endian == self.endian
            && encoding.pointer == self.pointer
            && header.words().zip(&self.header).all(|(found, known)| found == *known || self.may_move(found.0));
        if !same_header || profile.section(Section::BinaryIds) != self.binary_ids {
            return None;
        }
        let slide = self.slide_of_records(profile.section(Section::Data))?;
        let same =
            self.same_vtables(profile.section(Section::VTables), slide) && self.names.are(profile.name_sections());
        // Addresses of 32 bits would have to wrap in 32 bits; such images are not moved.
        (same && (slide == 0 || self.pointer == PointerWidth::Bits64)).then_some(slide)
    }

    /// Header words that depend on the load address and decide nothing.
    fn may_move(&self, word: Word) -> bool {
        let empty = |size: Word| self.header.iter().any(|(word, value)| *word == size && *value == 0);
        match word {
            Word::NamesDelta => true,
            Word::BitmapDelta => empty(Word::NumBitmapBytes),
            Word::UniformCountersDelta => empty(Word::NumUniformCounters),
            _ => false,
        }
    }

    fn slide_of_records(&self, data: &[u8]) -> Option<u64> {
        if data == self.data {
            return Some(0);
        }
        if data.len() != self.data.len() {
            return None;
        }
        let mut slide = None;
        let width = self.pointer.bytes();
        let Range { start, end } = self.addresses.clone();
        for (found, known) in data.chunks_exact(self.record_size).zip(self.data.chunks_exact(self.record_size)) {
            if found[..start] != known[..start] || found[end..] != known[end..] {
                return None;
            }
            // FunctionPtr must move like all others; ValuesPtr, after it, is not used.
            let (found, known) =
                (self.address(&found[start..start + width]), self.address(&known[start..start + width]));
            match (found, known) {
                (0, 0) => {}
                (0, _) | (_, 0) => return None,
                _ if *slide.get_or_insert(found.wrapping_sub(known)) != found.wrapping_sub(known) => return None,
                _ => {}
            }
        }
        Some(slide.unwrap_or(0))
    }

    fn same_vtables(&self, vtables: &[u8], slide: u64) -> bool {
        if vtables == self.vtables {
            return slide == 0 || vtables.is_empty();
        }
        let width = self.pointer.bytes();
        let size = super::layout::VTableRecord::size_in_file(self.pointer);
        vtables.len() == self.vtables.len()
            && vtables.chunks_exact(size).zip(self.vtables.chunks_exact(size)).all(|(found, known)| {
                let (moved, first) = (self.address(&found[8..8 + width]), self.address(&known[8..8 + width]));
                found[..8] == known[..8]
                    && found[8 + width..] == known[8 + width..]
                    && (moved == 0) == (first == 0)
                    && (first == 0 || moved == first.wrapping_add(slide))
            })
    }

    fn address(&self, bytes: &[u8]) -> u64 {
        match (bytes.first_chunk::<8>(), bytes.first_chunk::<4>()) {
            (Some(bytes), _) => self.endian.u64(*bytes),
            (None, Some(bytes)) => self.endian.u32(*bytes).into(),
            (None, None) => 0,
        }
    }

    /// Indices of the records that have value sites, ascending.
    pub fn with_sites(&self) -> impl ExactSizeIterator<Item = usize> {
        self.with_sites.iter().map(|(index, _)| *index)
    }

    /// Checks the value data of a file of this image. Returns the positions in the file of the data for the requested
    /// records, which are given as ascending indexes of [`with_sites`](Self::with_sites).
    ///
    /// `None` when the data is damaged or missing, or when another profile
    /// follows in the file; such files are for the ordinary reader.
    pub fn find_values(
        &self,
        file: &[u8],
        profile: &RawProfile<'_>,
        compat: Compat,
        asked: &[usize],
    ) -> Option<Vec<usize>> {
        let blob = self.blob_reader(profile, &self.targets, compat);
        let mut cursor = self.values_from(file, profile.end_of_sections());
        let mut found = Vec::with_capacity(asked.len());
        for (place, (_, sites)) in self.with_sites.iter().enumerate() {
            while asked.get(found.len()) == Some(&place) {
                found.push(file.len() - cursor.rest().len());
            }
            blob.check(&mut cursor, *sites).ok()?;
        }
        found.resize(asked.len(), file.len() - cursor.rest().len());
        cursor.rest().iter().all(|byte| *byte == 0).then_some(found)
    }

    /// Reads value data that was checked and begins at `start` of the file: that
    /// of the records at these places of [`with_sites`](Self::with_sites), with
    /// their places.
    pub fn read_values(
        &self,
        file: &[u8],
        profile: &RawProfile<'_>,
        slide: u64,
        compat: Compat,
        (places, start): (Range<usize>, usize),
        mut each: impl FnMut(usize, &FunctionRecord),
    ) {
        let targets = self.targets.moved_by(slide);
        let blob = self.blob_reader(profile, &targets, compat);
        let (mut cursor, mut values) = (self.values_from(file, start), FunctionRecord::default());
        for place in places {
            values.clear();
            if blob.read(&mut cursor, self.with_sites[place].1, &mut values).is_ok() {
                each(place, &values);
            }
        }
    }

    fn blob_reader<'t>(&self, profile: &RawProfile<'_>, targets: &'t Targets, compat: Compat) -> BlobReader<'t> {
        let strictness = if compat.is_llvm() { Strictness::Lax } else { Strictness::Strict };
        BlobReader { targets, endian: self.endian, kinds: profile.header().value_kinds(), strictness }
    }

    fn values_from<'file>(&self, file: &'file [u8], start: usize) -> Cursor<'file> {
        let rest = file.get(start..).unwrap_or_default();
        Cursor::new(rest, start as u64, self.endian, Section::ValueData.name())
    }
}

impl ImageSum {
    /// Sums of no file yet.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn new(image: &Image) -> Result<Self> {
        let (mut counters, mut bitmap) = (Vec::new(), Vec::new());
        memory::reserve(&mut counters, image.counters_count, HOLD_SUMS)?;
        memory::reserve(&mut bitmap, image.bitmap_bytes, HOLD_SUMS)?;
        counters.resize(image.counters_count, 0);
        bitmap.resize(image.bitmap_bytes, 0);
        Ok(Self { counters, bitmap, bound: 0 })
    }

    /// Returns the counters of a file for adding, unless one of them is so large that it has probably wrapped.
    pub fn plausible<'data>(profile: &RawProfile<'data>) -> Option<PlausibleCounters<'data>> {
        let section = profile.section(Section::Counters);
        if profile.header().counter_size() == 1 {
            return Some(PlausibleCounters {
                counters: Elements::Bytes(section),
                bits: 1,
                profile_bitmap: profile.section(Section::Bitmap),
            });
        }
        let (words, _) = section.as_chunks::<8>();
        let endian = profile.header().encoding().endian;
        // The bits of all counters together are no smaller than the largest.
        let bits = match endian {
            Endian::Little => words.iter().fold(0, |bits, word| bits | LittleEndian::read_u64(word)),
            Endian::Big => words.iter().fold(0, |bits, word| bits | BigEndian::read_u64(word)),
        };
        (bits < LARGEST_PLAUSIBLE_COUNTER).then(|| PlausibleCounters {
            counters: Elements::Words(words, endian),
            bits,
            profile_bitmap: profile.section(Section::Bitmap),
        })
    }

    /// Whether an empty sum has room for these counters.
    pub fn can_hold(counters: &PlausibleCounters<'_>, weight: u64) -> bool {
        counters.bits.max(1).checked_mul(weight).is_some_and(|sum| sum < 1 << 62)
    }

    /// Whether `more` can be added and the sums, times `weight`, still be far
    /// below the largest count.
    pub fn has_room_for(&self, more: &PlausibleCounters<'_>, weight: u64) -> bool {
        let sum = self.bound.checked_add(more.bits.max(1));
        sum.and_then(|sum| sum.checked_mul(weight)).is_some_and(|sum| sum < 1 << 62)
    }

    /// Adds a file's counters; see [`has_room_for`](Self::has_room_for).
    pub fn add(&mut self, more: &PlausibleCounters<'_>) {
        self.bound = self.bound.saturating_add(more.bits.max(1));
        match more.counters {
            Elements::Words(words, Endian::Little) => {
                self.counters.iter_mut().zip(words).for_each(|(sum, word)| *sum += LittleEndian::read_u64(word));
            }
            Elements::Words(words, Endian::Big) => {
                self.counters.iter_mut().zip(words).for_each(|(sum, word)| *sum += BigEndian::read_u64(word));
            }
            Elements::Bytes(bytes) => {
                self.counters.iter_mut().zip(bytes).for_each(|(sum, byte)| *sum += u64::from(*byte == 0));
            }
        }
        self.bitmap.iter_mut().zip(more.profile_bitmap).for_each(|(all, byte)| *all |= byte);
    }
}

impl PlausibleCounters<'_> {
    /// No counter is larger than this.
    pub fn bound(&self) -> u64 {
        self.bits
    }
}

/// The counters of a file, none of them above `LARGEST_PLAUSIBLE_COUNTER`.
#[derive(Debug, Clone, Copy)]
pub struct PlausibleCounters<'data> {
    counters: Elements<'data>,
    profile_bitmap: &'data [u8],
    /// No counter is larger than this.
    bits: u64,
}

#[derive(Debug, Clone, Copy)]
enum Elements<'data> {
    Words(&'data [[u8; 8]], Endian),
    Bytes(&'data [u8]),
}
