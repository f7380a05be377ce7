//! A view of one profile in a raw file: its sections, and the counters of each record.
//! Numbers are decoded when the caller requests them.

use super::correlate::ImageRecords;
use super::header::{self, Header, Sections, read_binary_ids};
use super::layout::{DataRecord, RecordLayout, Section, VTableRecord, Word};
use super::names::SectionBytes;
use crate::bytes::{Endian, PointerWidth};
use crate::compat::Compat;
use crate::error::{Error, Result};
use crate::model::{BinaryId, ProfileKind};
use crate::threads;
use byteorder::{BigEndian, ByteOrder, LittleEndian};
use std::ops::Range;
use std::sync::Arc;

/// One profile within a raw file. Borrows the file; nothing is copied.
///
/// ```
/// use profbridge::{Compat, raw::RawProfile};
///
/// # fn example(file: &[u8]) -> profbridge::Result<()> {
/// let profile = RawProfile::read(file, 0, Compat::default())?;
/// for (index, record) in profile.records().enumerate() {
///     let entry = profile.counters(index, &record)?.iter().next();
///     println!("{:#018x} ran {entry:?} times", record.name_ref);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RawProfile<'data> {
    file: &'data [u8],
    start: usize,
    header: Header,
    layout: RecordLayout,
    sections: Sections,
    records: Records<'data>,
    addressing: Addressing,
    /// The byte order of the counters, which is not that of the file after [`make_counters_native`].
    counter_endian: Endian,
    compat: Compat,
}

/// The source of the records.
#[derive(Debug, Clone)]
enum Records<'data> {
    /// From the data section.
    File(&'data [u8]),
    /// From the image that wrote the file; pointers are section offsets.
    Image(Arc<ImageRecords>),
}

/// How a pointer of a record becomes an offset in a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Addressing {
    /// Run-time addresses (up to version 7).
    Absolute,
    /// Relative to the record (from version 8, and some files of version 7).
    Relative,
    /// An offset (records from an image).
    Offset,
}

impl<'data> RawProfile<'data> {
    /// Finds the sections of the profile at byte `start` of `file`.
    ///
    /// # Errors
    ///
    /// The errors of `Header::read`; bad header if a section exceeds the file.
    pub fn read(file: &'data [u8], start: usize, compat: Compat) -> Result<Self> {
        let compat = header::compat_of(file.get(start..).unwrap_or_default(), compat);
        let header = Header::read(file, start, compat)?;
        let sections =
            Sections::locate(file, start, &header, compat).map_err(|error| error.in_format(header.format_name()))?;
        let layout = RecordLayout::new(header.encoding());
        let addressing = if header.version() <= 7 { Addressing::Absolute } else { Addressing::Relative };
        let data = file.get(sections.data.clone()).unwrap_or_default();
        let (records, counter_endian) = (Records::File(data), header.encoding().endian);
        let mut profile = Self { file, start, header, layout, sections, records, addressing, counter_endian, compat };
        if header.version() == 7 && !profile.all_counters_fit() {
            profile.addressing = Addressing::Relative;
            if !profile.all_counters_fit() {
                profile.addressing = Addressing::Absolute;
            }
        }
        Ok(profile)
    }

    /// The same profile with records that an image holds for it, whose
    /// pointers are offsets in the counters section.
    #[must_use]
    pub(crate) fn with_records(mut self, records: Arc<ImageRecords>) -> Self {
        self.records = Records::Image(records);
        self.addressing = Addressing::Offset;
        self
    }

    /// The same profile after [`make_counters_native`].
    #[must_use]
    pub(super) fn with_native_counters(self) -> Self {
        Self { counter_endian: Endian::NATIVE, ..self }
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The variant bits.
    pub fn kind(&self) -> ProfileKind {
        self.header.kind()
    }

    /// First byte of the profile in its file.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Whose rules apply to this profile.
    pub(crate) fn compat(&self) -> Compat {
        self.compat
    }

    /// Where value data begins (from version 4), or the end of the profile.
    ///
    /// The padding of the last names section is already passed.
    pub(crate) fn end_of_sections(&self) -> usize {
        match self.header.version() {
            2 | 3 => self.sections.value_data.end,
            _ => self.sections.value_data.start,
        }
    }

    /// Byte range of a section in the file; empty when the version lacks it.
    /// The end of value data is known in versions 2 and 3 only.
    pub(crate) fn section_range(&self, section: Section) -> Range<usize> {
        match section {
            Section::Header => self.start..self.start + self.header.size(),
            Section::BinaryIds => self.sections.binary_ids.clone(),
            Section::Data => self.sections.data.clone(),
            Section::Counters => self.sections.counters.clone(),
            Section::Bitmap => self.sections.bitmap.clone(),
            Section::UniformCounters => self.sections.uniform_counters.clone(),
            Section::Names => self.sections.names.clone(),
            Section::VTables => self.sections.vtables.clone(),
            Section::VTableNames => self.sections.vtable_names.clone(),
            Section::ValueData => self.sections.value_data.clone(),
        }
    }

    /// The bytes of a section.
    pub fn section(&self, section: Section) -> &'data [u8] {
        self.file.get(self.section_range(section)).unwrap_or_default()
    }

    /// The file from the beginning of a section on.
    pub(super) fn bytes_from(&self, section: Section) -> &'data [u8] {
        self.file.get(self.section_range(section).start..).unwrap_or_default()
    }

    /// The layout of the records.
    pub(crate) fn layout(&self) -> &RecordLayout {
        &self.layout
    }

    /// Whether a file of version 7 holds relative pointers, as development
    /// snapshots of LLVM 13 wrote them after August 2021.
    pub(crate) fn is_relative_version_7(&self) -> bool {
        self.header.version() == 7 && self.addressing == Addressing::Relative
    }

    /// Whether the profile has counters and no records of its own, so that
    /// only the image can tell whose counters they are.
    pub(crate) fn needs_correlation(&self) -> bool {
        self.header.word(Word::NumData) == 0
            && self.header.word(Word::NamesSize) == 0
            && self.header.word(Word::NumCounters) != 0
    }

    /// Whether the profile has records or names of its own, so that an image
    /// has nothing to add.
    pub(crate) fn has_own_records(&self) -> bool {
        let words = [Word::NumData, Word::NamesSize, Word::CountersDelta, Word::NamesDelta];
        words.iter().any(|word| self.header.word(*word) != 0)
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        match &self.records {
            Records::File(data) => data.len() / self.layout.size(),
            Records::Image(image) => image.records().len(),
        }
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A record, or `None` past the end.
    #[inline]
    pub fn record(&self, index: usize) -> Option<DataRecord> {
        match &self.records {
            Records::File(data) => {
                let size = self.layout.size();
                let start = index.checked_mul(size)?;
                let mut record = self.layout.read(data.get(start..start.checked_add(size)?)?);
                for sites in record.num_value_sites.iter_mut().skip(self.header.value_kinds()) {
                    *sites = 0;
                }
                Some(record)
            }
            Records::Image(image) => image.records().get(index).copied(),
        }
    }

    /// The records in file order.
    pub fn records(&self) -> impl ExactSizeIterator<Item = DataRecord> {
        (0..self.len()).map(|index| self.record(index).unwrap_or_default())
    }

    /// Whether some record has value sites.
    pub(super) fn has_value_sites(&self) -> bool {
        let Records::File(data) = &self.records else { return self.records().any(|record| record.has_value_sites()) };
        let kinds = self.header.value_kinds();
        let mut records = data.chunks_exact(self.layout.size());
        records.any(|bytes| self.layout.read_value_sites(bytes).iter().take(kinds).any(|sites| *sites != 0))
    }

    /// All counter elements of a record, the timestamp of a temporal profile
    /// among them.
    ///
    /// `index` is the record's place among [`records`](Self::records), on
    /// which relative pointers depend.
    ///
    /// # Errors
    ///
    /// Malformed when there are no counters, or not all of them lie inside
    /// the section.
    #[inline]
    pub fn counters(&self, index: usize, record: &DataRecord) -> Result<Counters<'data>> {
        let bytes = self.counter_bytes(index, record)?;
        Ok(self.as_counters(bytes))
    }

    /// The counters of a record with the timestamp of a temporal profile
    /// taken off.
    ///
    /// # Errors
    ///
    /// As [`counters`](Self::counters); malformed when byte counters leave no
    /// room for the timestamp.
    pub fn timed_counters(&self, index: usize, record: &DataRecord) -> Result<TimedCounters<'data>> {
        let bytes = self.counter_bytes(index, record)?;
        let kind = self.kind();
        if !kind.contains(ProfileKind::TEMPORAL) {
            return Ok(TimedCounters { timestamp: None, counters: self.as_counters(bytes) });
        }
        if let Some((stamp, rest)) = bytes.split_first_chunk::<8>() {
            return Ok(self.split_timestamp(*stamp, rest));
        }
        if self.compat.is_llvm() {
            // LLVM takes the eight bytes from the neighbours and drops the counters.
            let start = self.sections.counters.start + self.counter_offset(index, record)?;
            if let Some(stamp) = self.file.get(start..).and_then(|rest| rest.first_chunk::<8>()) {
                return Ok(self.split_timestamp(*stamp, &[]));
            }
        }
        if kind.contains(ProfileKind::FUNCTION_ENTRY_ONLY) {
            // The compiler leaves no room for a timestamp beside a single entry counter.
            return Ok(TimedCounters { timestamp: None, counters: self.as_counters(bytes) });
        }
        let detail = format!("{} counters are too few for a timestamp of 8 bytes", bytes.len());
        Err(self.record_fault(index, record, Section::Counters, detail))
    }

    fn split_timestamp(&self, stamp: [u8; 8], rest: &'data [u8]) -> TimedCounters<'data> {
        let stamp = self.counter_endian.u64(stamp);
        let timestamp = (stamp != 0 && stamp != u64::MAX).then_some(stamp);
        TimedCounters { timestamp, counters: self.as_counters(rest) }
    }

    /// The MC/DC bitmap of a record; empty for most functions.
    ///
    /// # Errors
    ///
    /// Malformed when it does not lie inside the section.
    #[inline]
    pub fn bitmap(&self, index: usize, record: &DataRecord) -> Result<&'data [u8]> {
        let range = self.bitmap_range(index, record)?;
        Ok(self.section(Section::Bitmap).get(range).unwrap_or_default())
    }

    /// Returns the position of a record's bitmap in its section.
    ///
    /// # Errors
    ///
    /// As [`bitmap`](Self::bitmap).
    #[inline]
    pub(crate) fn bitmap_range(&self, index: usize, record: &DataRecord) -> Result<Range<usize>> {
        if record.num_bitmap_bytes == 0 {
            return Ok(0..0); // the pointer is arbitrary then
        }
        let part = Part {
            section: Section::Bitmap,
            what: "bitmap",
            items: "bitmap bytes",
            pointer: record.bitmap_ptr,
            delta: self.header.word(Word::BitmapDelta),
            count: record.num_bitmap_bytes,
            size: 1,
        };
        self.part_range(index, record, &part)
    }

    /// The uniform counters of a record (version 11, GPU offload); empty when
    /// the profile has none.
    ///
    /// # Errors
    ///
    /// Malformed when they do not lie inside the section.
    pub(crate) fn uniform_counters(&self, index: usize, record: &DataRecord) -> Result<Counters<'data>> {
        let section = self.section(Section::UniformCounters);
        let endian = self.header.encoding().endian;
        if section.is_empty() {
            return Ok(Counters::Words(&[], endian));
        }
        let part = Part {
            section: Section::UniformCounters,
            what: "uniform counter",
            items: "uniform counters",
            pointer: record.uniform_counter_ptr,
            delta: self.header.word(Word::UniformCountersDelta),
            count: record.num_counters,
            size: 8,
        };
        let range = self.part_range(index, record, &part)?;
        Ok(Counters::Words(section.get(range).unwrap_or_default().as_chunks::<8>().0, endian))
    }

    /// The vtable records in file order.
    pub(crate) fn vtables(&self) -> impl ExactSizeIterator<Item = VTableRecord> + 'data {
        let (endian, pointer) = (self.header.encoding().endian, self.header.encoding().pointer);
        let size = VTableRecord::size_in_file(pointer);
        self.section(Section::VTables).chunks_exact(size).map(move |bytes| VTableRecord::read(bytes, endian, pointer))
    }

    /// Identities of the image that wrote the profile.
    ///
    /// # Errors
    ///
    /// Malformed when a length is 0 or leaves the section.
    pub fn binary_ids(&self) -> Result<Vec<BinaryId>> {
        read_binary_ids(self.file, &self.sections.binary_ids, &self.header)
    }

    /// The sections that hold names, as they are stored.
    pub(super) fn name_sections(&self) -> SectionBytes<'data> {
        SectionBytes { functions: self.section(Section::Names), vtables: self.section(Section::VTableNames) }
    }

    /// The name of a record of version 1 or 2, which points to it.
    ///
    /// # Errors
    ///
    /// Malformed when the name is empty or leaves the names section.
    pub fn plain_name(&self, index: usize, record: &DataRecord) -> Result<&'data [u8]> {
        let pointer_width = self.header.encoding().pointer;
        let section = self.section(Section::Names);
        let offset = pointer_width.wrap(record.name_ptr.wrapping_sub(self.header.word(Word::NamesDelta)));
        let start = usize::try_from(offset).ok();
        let end = start.and_then(|start| start.checked_add(record.name_size as usize));
        let name = start.zip(end).and_then(|(start, end)| section.get(start..end));
        match name {
            Some(name) if !name.is_empty() => Ok(name),
            Some(_) => {
                let error = self.record_fault(index, record, Section::Names, "the name is empty".to_string());
                Err(error.with_llvm_detail("symbol name is empty"))
            }
            None => {
                let (size, have) = (record.name_size, section.len());
                let detail = format!("a name of {size} bytes at offset {offset} exceeds the section of {have} bytes");
                Err(self.record_fault(index, record, Section::Names, detail))
            }
        }
    }

    fn as_counters(&self, bytes: &'data [u8]) -> Counters<'data> {
        match self.header.counter_size() {
            1 => Counters::Bytes(bytes),
            _ => Counters::Words(bytes.as_chunks::<8>().0, self.counter_endian),
        }
    }

    fn counters_part(&self, record: &DataRecord) -> Part {
        Part {
            section: Section::Counters,
            what: "counter",
            items: "counters",
            pointer: record.counter_ptr,
            delta: self.header.word(Word::CountersDelta),
            count: record.num_counters,
            size: self.header.counter_size() as u64,
        }
    }

    #[inline]
    fn counter_bytes(&self, index: usize, record: &DataRecord) -> Result<&'data [u8]> {
        let range = self.part_range(index, record, &self.counters_part(record))?;
        Ok(self.section(Section::Counters).get(range).unwrap_or_default())
    }

    /// Byte offset of a record's counters within the counters section.
    ///
    /// # Errors
    ///
    /// As [`counters`](Self::counters).
    pub(crate) fn counter_offset(&self, index: usize, record: &DataRecord) -> Result<usize> {
        Ok(self.part_range(index, record, &self.counters_part(record))?.start)
    }

    fn all_counters_fit(&self) -> bool {
        self.records().enumerate().all(|(index, record)| self.counters(index, &record).is_ok())
    }

    /// Where a record's items lie within their section, with all checks in
    /// LLVM's order.
    #[inline]
    fn part_range(&self, index: usize, record: &DataRecord, part: &Part) -> Result<Range<usize>> {
        let fault =
            |text: String| Err(self.record_fault(index, record, part.section, text.clone()).with_llvm_detail(text));
        if part.count == 0 {
            return fault(format!("number of {} is zero", part.items));
        }
        let size = self.section(part.section).len() as u64;
        let offset = self.part_offset(index, part, size);
        let Ok(start) = u64::try_from(offset) else {
            return fault(format!("{} offset {offset} is negative", part.what));
        };
        if start >= size {
            let most = i128::from(size) - 1;
            return fault(format!("{0} offset {start} is greater than the maximum {0} offset {most}", part.what));
        }
        let most = (size - start) / part.size;
        if u64::from(part.count) > most {
            let (count, items) = (part.count, part.items);
            return fault(format!("number of {items} {count} is greater than the maximum number of {items} {most}"));
        }
        if self.addressing == Addressing::Absolute && !start.is_multiple_of(part.size) {
            return fault(format!("{} offset {start} is not a multiple of {}", part.what, part.size));
        }
        let start = start as usize; // below the length of a slice
        Ok(start..start + part.count as usize * part.size as usize)
    }

    fn part_offset(&self, index: usize, part: &Part, section_size: u64) -> i64 {
        let pointer_width = self.header.encoding().pointer;
        let difference = part.pointer.wrapping_sub(part.delta);
        let bytes_before = (index as u64).wrapping_mul(self.layout.size() as u64);
        let offset = match self.addressing {
            Addressing::Offset => part.pointer,
            Addressing::Absolute => pointer_width.wrap(difference),
            Addressing::Relative => difference.wrapping_add(bytes_before),
        };
        if self.compat.is_llvm() {
            return offset as i64; // in 64 bits, whatever the width
        }
        let inside = |offset: u64| offset < section_size;
        match pointer_width {
            PointerWidth::Bits32 => i64::from(offset as u32 as i32),
            // COFF cuts pointer differences to 32 bits and zero-extends them.
            PointerWidth::Bits64 if !inside(offset) && part.pointer >> 32 == 0 && part.delta >> 32 == 0 => {
                let cut = offset & 0xffff_ffff;
                if inside(cut) { cut as i64 } else { offset as i64 }
            }
            PointerWidth::Bits64 => offset as i64,
        }
    }

    #[cold]
    fn record_fault(&self, index: usize, record: &DataRecord, section: Section, text: String) -> Error {
        let offset = match &self.records {
            Records::File(_) => self.sections.data.start as u64 + index as u64 * self.layout.size() as u64,
            Records::Image(_) => self.sections.counters.start as u64,
        };
        let who = match self.header.version() {
            1 | 2 => format!("record {index}"),
            _ => format!("record {index} (NameRef {:#018x})", record.name_ref),
        };
        Error::malformed(format!("{who}: {text}")).at(section.name(), offset).in_format(self.header.format_name())
    }
}

/// Converts the counters of the first profile of a file to the byte order of this machine, so that they can stay in the
/// file. Returns true if they were converted. `threads` divide the work.
pub(crate) fn make_counters_native(file: &mut [u8], compat: Compat, threads: usize) -> bool {
    let Ok(profile) = RawProfile::read(file, 0, compat) else { return false };
    if profile.counter_endian == Endian::NATIVE || profile.header.counter_size() == 1 {
        return false;
    }
    let counters = profile.section_range(Section::Counters);
    let Some(counters) = file.get_mut(counters) else { return false };
    let words = counters.as_chunks_mut::<8>().0;
    let size = words.len().div_ceil(threads.max(1)).max(1);
    threads::share(words.chunks_mut(size), |part| part.iter_mut().for_each(|word| word.reverse()));
    true
}

/// The data of a record in one section.
struct Part {
    section: Section,
    what: &'static str,
    items: &'static str,
    pointer: u64,
    delta: u64,
    count: u32,
    size: u64,
}

/// The counters of one function, borrowed from the file.
#[derive(Debug, Clone, Copy)]
pub enum Counters<'data> {
    /// Counts of 64 bits.
    Words(&'data [[u8; 8]], Endian),
    /// Byte coverage: 0 in the file means executed.
    Bytes(&'data [u8]),
}

impl<'data> Counters<'data> {
    /// Number of counters.
    pub fn len(&self) -> usize {
        match self {
            Self::Words(words, _) => words.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The counts in the order of the profile, decoded when they are asked
    /// for, so the file need not be aligned. With byte coverage 1 for executed.
    pub fn iter(&self) -> impl Iterator<Item = u64> + 'data {
        let (words, bytes, endian) = match *self {
            Self::Words(words, endian) => (words, &[][..], endian),
            Self::Bytes(bytes) => (&[][..], bytes, Endian::Little),
        };
        words.iter().map(move |word| endian.u64(*word)).chain(bytes.iter().map(|byte| u64::from(*byte == 0)))
    }

    /// Returns the counts in the file itself, if this machine can use them there.
    pub(crate) fn in_place(&self) -> Option<&'data [u64]> {
        match *self {
            Self::Words(words, Endian::NATIVE) => bytemuck::try_cast_slice(words.as_flattened()).ok(),
            _ => None,
        }
    }

    /// Appends the counts to `counts`.
    pub fn append_to(&self, counts: &mut Vec<u64>) {
        match *self {
            Self::Words(words, Endian::Little) => counts.extend(words.iter().map(|word| LittleEndian::read_u64(word))),
            Self::Words(words, Endian::Big) => counts.extend(words.iter().map(|word| BigEndian::read_u64(word))),
            Self::Bytes(bytes) => counts.extend(bytes.iter().map(|byte| u64::from(*byte == 0))),
        }
    }
}

/// A function's timestamp of first execution and its counters, apart.
#[derive(Debug, Clone, Copy)]
pub struct TimedCounters<'data> {
    /// Sequence number of the function's first call, from 1; `None` when it
    /// was never called or the profile is not temporal.
    pub timestamp: Option<u64>,
    /// The counters proper.
    pub counters: Counters<'data>,
}
