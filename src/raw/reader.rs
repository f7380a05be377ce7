//! The reader of raw files: hands out the records of all profiles in a file, one after
//! the other.

use super::correlate::{Correlator, ImageRecords};
use super::header;
use super::layout::{self, DataRecord, Section};
use super::names::{NameChunks, RawNames, SectionBytes};
use super::profile::RawProfile;
use super::values::{self, BlobReader, Strictness, Targets};
use crate::ascii::to_hex;
use crate::bytes::Cursor;
use crate::compat::{Compat, LLVM_22_RAW_VERSION};
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::hint::{Hint, ImagePart};
use crate::limits::Limits;
use crate::memory::{self, HOLD_COUNTERS};
use crate::model::symbols::Symbol;
use crate::model::{
    BinaryId, Counters, FunctionRecord, NameRef, ProfileKind, ProfileReader, RecordRef, SymbolTable, TemporalProfile,
    TemporalTrace, name_ref,
};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// How a raw file is read.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RawOptions<'a> {
    /// Whose rules apply.
    pub compat: Compat,
    /// Bounds on hostile input.
    pub limits: Limits,
    /// Finds the records of profiles that have none of their own.
    pub correlator: Option<&'a dyn Correlator>,
    /// Names read from another file with `known_chunks`, used again if they are this file's too.
    pub(crate) names: Option<Arc<RawNames>>,
    /// Chunks of names met in other files, which need no work again.
    pub(crate) known_chunks: Option<Arc<NameChunks>>,
    /// The meaning of a counter above 2^56, which has probably wrapped below zero.
    pub large_counters: LargeCounters,
    /// Whether the counters of the first profile have the byte order of this machine.
    pub(crate) has_native_counters: bool,
    /// Reject a profile of another version after the first one, because the version of an input is kept.
    pub(crate) has_one_version: bool,
    /// Threads that may share reading the names; `None` is one.
    pub threads: Option<NonZeroUsize>,
}

/// The meaning of a counter above 2^56, which has probably wrapped below zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LargeCounters {
    /// As `Compat` says: a failure at the end of the file for LLVM's
    /// `merge`, otherwise a warning.
    #[default]
    ByCompat,
    /// A warning; the value is kept.
    Warn,
    /// Accepted silently, as in LLVM's `show`.
    Accept,
}

impl RawOptions<'_> {
    /// The defaults under those rules.
    pub fn new(compat: Compat) -> Self {
        Self { compat, ..Self::default() }
    }
}

/// Counters above this have probably wrapped below zero (LLVM 18 on,
/// `MaxCounterValue` in `InstrProfReader.cpp`).
pub(crate) const LARGEST_PLAUSIBLE_COUNTER: u64 = 1 << 56;

/// Reads a raw file: one or more profiles, each an image's.
///
/// What is wrong ends the reading; what is odd but harmless becomes a warning.
#[derive(Debug)]
pub struct RawReader<'data> {
    file: &'data [u8],
    /// The rules are those of the profile being read.
    options: RawOptions<'data>,
    /// The rules of the whole run.
    asked: Compat,
    profile: RawProfile<'data>,
    names: Arc<RawNames>,
    /// The sections of this file that the names were read from.
    names_read: Option<SectionBytes<'data>>,
    /// The profiles before the current one, and where their value data ends.
    earlier_profiles: Vec<(RawProfile<'data>, usize)>,
    /// Names of the profiles before the current one, with other names.
    earlier_names: Vec<Arc<RawNames>>,
    all_symbols: Option<SymbolTable>,
    targets: Option<Targets>,
    next_index: usize,
    /// The name of the last record.
    last_symbol: Option<Symbol>,
    /// Where the value data of the next record begins.
    values_position: usize,
    values_missing: bool,
    /// The last record, but for counters in the file.
    record: FunctionRecord,
    /// The counters of the last record in the file itself, if this machine can use them there.
    in_place: Option<&'data [u64]>,
    timestamps: Vec<(u64, NameRef)>,
    binary_ids: Vec<BinaryId>,
    large: OversizedCounters,
    warnings: Vec<Warning>,
    finished: bool,
}

/// The counters that were too large to be true.
#[derive(Debug, Clone, Copy, Default)]
struct OversizedCounters {
    first: Option<u64>,
    functions: u64,
}

impl<'data> RawReader<'data> {
    /// Reads the first header and its names.
    ///
    /// # Errors
    ///
    /// The errors of [`RawProfile::read`] and [`RawProfile::read_names`]; missing or unexpected correlation.
    pub fn new(file: &'data [u8], mut options: RawOptions<'data>) -> Result<Self> {
        let asked = options.compat;
        options.compat = header::compat_of(file, asked);
        let mut profile = RawProfile::read(file, 0, asked)?;
        if options.has_native_counters {
            profile = profile.with_native_counters();
        }
        let mut reader = Self {
            file,
            names: options.names.clone().unwrap_or_default(),
            names_read: None,
            options,
            asked,
            values_position: 0,
            profile,
            earlier_profiles: Vec::new(),
            earlier_names: Vec::new(),
            all_symbols: None,
            targets: None,
            next_index: 0,
            last_symbol: None,
            values_missing: false,
            record: FunctionRecord::default(),
            in_place: None,
            timestamps: Vec::new(),
            binary_ids: Vec::new(),
            large: OversizedCounters::default(),
            warnings: Vec::new(),
            finished: false,
        };
        reader.enter_profile()?;
        Ok(reader)
    }

    /// The profile being read.
    pub(crate) fn profile(&self) -> &RawProfile<'data> {
        &self.profile
    }

    /// All profiles so far, the one being read last, and where the value data
    /// of each ends, as far as it was read.
    pub(crate) fn profiles(&self) -> impl Iterator<Item = (&RawProfile<'data>, usize)> {
        let earlier = self.earlier_profiles.iter().map(|(profile, end)| (profile, *end));
        earlier.chain([(&self.profile, self.values_position)])
    }

    /// The names of the profile being read, to be handed to the next reader.
    pub(crate) fn names(&self) -> &Arc<RawNames> {
        &self.names
    }

    fn read_names(&self) -> Result<Arc<RawNames>> {
        let threads = self.options.threads.map_or(1, NonZeroUsize::get);
        let read = |known: Option<&NameChunks>| self.profile.read_names_with(&self.options.limits, known, threads);
        match &self.options.known_chunks {
            Some(known) => known.names_of(self.profile.name_sections(), |known| read(Some(known))),
            None => read(None).map(Arc::new),
        }
    }

    /// Prepares for the records of `self.profile`.
    fn enter_profile(&mut self) -> Result<()> {
        let ids = self.profile.binary_ids()?;
        self.binary_ids.extend_from_slice(&ids);
        let correlated = self.correlate(&ids)?;
        let sections = self.profile.name_sections();
        match correlated {
            Some(image) => {
                (self.names, self.names_read) = (image.names(), None);
                self.profile = self.profile.clone().with_records(image);
            }
            None if self.names_read == Some(sections) || self.names.are_of(sections) => {}
            None => {
                // Frees the names of the previous profile before these are read.
                self.names = Arc::default();
                self.names = self.read_names()?;
                // Records of versions 1 and 2 cut their names themselves.
                self.names_read = (self.profile.header().version() > 2).then_some(sections);
            }
        }
        self.targets = None;
        self.next_index = 0;
        self.last_symbol = None;
        self.values_position = self.profile.end_of_sections();
        self.values_missing = self.find_values_missing();
        if !self.options.compat.is_llvm() {
            self.warn_about_profile();
        }
        Ok(())
    }

    fn correlate(&self, ids: &[BinaryId]) -> Result<Option<Arc<ImageRecords>>> {
        let format = self.profile.header().format_name();
        let place = |error: Error| error.in_format(format).at("header", self.profile.start() as u64);
        match self.options.correlator {
            Some(_) if self.profile.has_own_records() => Err(place(ErrorKind::UnexpectedCorrelation.into())),
            Some(correlator) => correlator.correlate(self.profile.header(), ids).map(Some).map_err(place),
            None if self.profile.needs_correlation() && !self.options.compat.is_llvm() => {
                let kind = self.profile.kind();
                // Only IR instrumentation marks its profiles.
                let part = match kind.contains(ProfileKind::DEBUG_INFO_CORRELATE) {
                    true => Some(ImagePart::DebugInfo),
                    false => kind.contains(ProfileKind::IR).then_some(ImagePart::Sections),
                };
                let hint = Hint::GiveImage { part, build_id: ids.first().map(|id| to_hex(id)) };
                Err(place(Error::new(ErrorKind::MissingCorrelation).with_hint(hint)))
            }
            None => Ok(None),
        }
    }

    /// Whether the file lacks the value data that the records announce:
    /// continuous mode and writing to a buffer leave it out.
    fn find_values_missing(&self) -> bool {
        let (compat, version) = (self.options.compat, self.profile.header().version());
        if !compat.accepts_missing_value_data() || version < 4 {
            return false;
        }
        let rest = self.file.get(self.values_position..).unwrap_or_default();
        let magic = header::magic(self.profile.header().encoding().endian, self.profile.header().encoding().pointer);
        // No blob begins with a magic number: TotalSize would be no multiple of 8.
        let ends_here = rest.starts_with(&magic) || rest.iter().all(|byte| *byte == 0);
        ends_here && self.profile.has_value_sites()
    }

    fn warn_about_profile(&mut self) {
        let profile = &self.profile;
        let mut warn = |message: String| self.warnings.push(Warning::new(message));
        if profile.is_relative_version_7() {
            warn("version 7 with relative pointers, as LLVM 13 wrote it in development".to_string());
        }
        if self.values_missing {
            warn("the value data is missing, as in continuous mode; value sites are empty".to_string());
        }
        if profile.header().version() == 3 && !profile.section(Section::ValueData).is_empty() {
            warn("the value data of version 3 is not read".to_string());
        }
        const KNOWN: u64 = 0xff80_0000_0000_0000;
        let unknown = profile.kind().bits() & !KNOWN;
        if unknown != 0 {
            warn(format!("unknown variant bits {unknown:#x} in the version word"));
        }
        if profile.header().version() >= 3 && profile.section(Section::Names).first() == Some(&0) {
            warn("the names begin with zero bytes".to_string());
        }
    }

    /// Decodes the next record into `self.record`.
    fn read_record(&mut self) -> Result<Option<DataRecord>> {
        while self.next_index >= self.profile.len() {
            if !self.next_profile()? {
                return Ok(None);
            }
        }
        let index = self.next_index;
        let Some(data) = self.profile.record(index) else { return Ok(None) };
        self.record.clear();
        self.record.func_hash = data.func_hash;
        let timed = self.profile.timed_counters(index, &data).map_err(|error| self.name_function(error, &data))?;
        self.in_place = timed.counters.in_place();
        if self.in_place.is_none() {
            memory::reserve(&mut self.record.counters, timed.counters.len(), HOLD_COUNTERS)?;
            timed.counters.append_to(&mut self.record.counters);
        }
        if let Some(timestamp) = timed.timestamp {
            self.timestamps.push((timestamp, data.name_ref));
        }
        let bitmap = self.profile.bitmap(index, &data).map_err(|error| self.name_function(error, &data))?;
        self.record.bitmap.extend_from_slice(bitmap);
        if self.profile.header().version() >= 11 {
            let uniform = self.profile.uniform_counters(index, &data);
            let uniform = uniform.map_err(|error| self.name_function(error, &data))?;
            uniform.append_to(&mut self.record.uniformity.counts);
        }
        if data.has_value_sites() {
            let format = self.profile.header().format_name();
            self.read_values(&data).map_err(|error| self.name_function(error, &data).in_format(format))?;
        }
        self.next_index += 1;
        Ok(Some(data))
    }

    fn read_values(&mut self, data: &DataRecord) -> Result<()> {
        if self.values_missing {
            values::append_empty_sites(data, &mut self.record);
            return Ok(());
        }
        let profile = &self.profile;
        let llvm = self.options.compat.is_llvm();
        let targets = self.targets.get_or_insert_with(|| {
            let targets = Targets::read(profile);
            if targets.vtables_overlap() && !llvm {
                self.warnings.push(Warning::new("vtables overlap; values go to the one that starts last"));
            }
            targets
        });
        match profile.header().version() {
            2 => return values::read_version_2(profile, targets, data, &mut self.record),
            3 => {
                values::append_empty_sites(data, &mut self.record);
                return Ok(());
            }
            _ => {}
        }
        let endian = profile.header().encoding().endian;
        let rest = self.file.get(self.values_position..).unwrap_or_default();
        let mut cursor = Cursor::new(rest, self.values_position as u64, endian, Section::ValueData.name());
        let blob = BlobReader {
            targets,
            endian,
            kinds: profile.header().value_kinds(),
            strictness: if llvm { Strictness::Lax } else { Strictness::Strict },
        };
        blob.read(&mut cursor, data.num_value_sites, &mut self.record)?;
        self.values_position = self.file.len() - cursor.rest().len();
        Ok(())
    }

    /// Goes on to the next profile of the file; `false` at the end.
    fn next_profile(&mut self) -> Result<bool> {
        let rest = self.file.get(self.values_position..).unwrap_or_default();
        let Some(zeros) = rest.iter().position(|byte| *byte != 0) else { return Ok(false) };
        let start = self.values_position + zeros;
        let format = self.profile.header().format_name();
        let place = |error: Error| error.at("header of the next profile", start as u64).in_format(format.clone());
        self.options.compat = header::compat_of(&self.file[start..], self.asked);
        self.check_next_start(start).map_err(place)?;
        let next = RawProfile::read(self.file, start, self.asked)?;
        self.check_next_kind(next.kind()).map_err(place)?;
        self.check_next_version(next.header().version()).map_err(place)?;
        let finished = std::mem::replace(&mut self.profile, next);
        self.earlier_profiles.push((finished, self.values_position));
        let before = Arc::clone(&self.names);
        self.enter_profile()?;
        if !Arc::ptr_eq(&before, &self.names) {
            self.earlier_names.push(before);
            self.all_symbols = None;
        }
        Ok(true)
    }

    /// Checks that the counters of the next profile have the same kind. llvm-profdata uses the last kind for all of
    /// them.
    fn check_next_kind(&self, next: ProfileKind) -> Result<()> {
        let kind = self.profile.kind();
        if self.options.compat.is_llvm() || next.of_counters() == kind.of_counters() {
            return Ok(());
        }
        let words = |kind: ProfileKind| kind.of_counters().sentence_words().join(", ");
        Err(Error::kind_conflict(format!(
            "its kind ({}) differs from that of the profile before it ({})",
            words(next),
            words(kind)
        )))
    }

    fn check_next_version(&self, next: u32) -> Result<()> {
        let version = self.profile.header().version();
        if !self.options.has_one_version || next == version {
            return Ok(());
        }
        let detail = format!("its version ({next}) differs from that of the profile before it ({version})");
        Err(Error::kind_conflict(detail).with_hint("split the file: a partial merge stores one version for each input"))
    }

    /// Checks the bytes after a profile, in the order of `Compat`.
    fn check_next_start(&self, start: usize) -> Result<()> {
        let llvm = self.options.compat.is_llvm();
        let left = self.file.len() - start;
        let least = if llvm { layout::header_size(LLVM_22_RAW_VERSION) } else { 16 };
        if left < least {
            let detail = format!("{left} unexpected bytes follow the last profile");
            return Err(Error::malformed(detail).with_llvm_detail("not enough space for another header"));
        }
        let misaligned = || {
            let detail = "the next profile does not begin at a multiple of 8 bytes";
            Err(Error::malformed(detail).with_llvm_detail("insufficient padding"))
        };
        // Unpadded binary ids of version 7 shift whatever follows them.
        let must_align = !start.is_multiple_of(8) && (llvm || self.profile.header().version() >= 8);
        if llvm && must_align {
            return misaligned();
        }
        let encoding = self.profile.header().encoding();
        let expected = header::magic(encoding.endian, encoding.pointer);
        let found = self.file.get(start..start + header::MAGIC_SIZE).unwrap_or_default();
        if found != expected {
            let detail = format!("found {}, expected {} as in the first profile", to_hex(found), to_hex(&expected));
            return Err(ErrorKind::BadMagic { detail }.into());
        }
        let version = self.file.get(start + header::MAGIC_SIZE..).and_then(|rest| rest.first_chunk());
        let version = version.map_or(0, |word| encoding.endian.u64(*word) as u32); // the upper half is the variant
        let whole = layout::header_size(version);
        if left < whole {
            let detail = format!("the header of version {version} has {whole} bytes, {left} left");
            return Err(Error::malformed(detail).with_llvm_detail("not enough space for another header"));
        }
        if must_align { misaligned() } else { Ok(()) }
    }

    #[cold]
    fn name_function(&self, error: Error, data: &DataRecord) -> Error {
        match self.names.symbols().name(data.name_ref) {
            Some(name) => error.with_hint(format!("the record belongs to function {}", name.escape_ascii())),
            None => error,
        }
    }

    fn counters(&self) -> &[u64] {
        self.in_place.unwrap_or(&self.record.counters)
    }

    fn note_large_counters(&mut self, data: &DataRecord) {
        if self.options.large_counters == LargeCounters::Accept {
            return;
        }
        let large = self.counters().iter().copied().find(|counter| *counter > LARGEST_PLAUSIBLE_COUNTER);
        let Some(value) = large else { return };
        self.large.functions += 1;
        if self.large.first.replace(self.large.first.unwrap_or(value)).is_none() && self.warns_of_large_counters() {
            let message = format!("counter value {value} is above 2^56; the counter has probably wrapped");
            let name = match self.profile.header().version() {
                1 | 2 => self.profile.plain_name(self.next_index - 1, data).unwrap_or_default(),
                _ => self.names.symbols().name(data.name_ref).unwrap_or_default(),
            };
            self.warnings.push(Warning::new(message).in_function(name));
        }
    }

    fn warns_of_large_counters(&self) -> bool {
        match self.options.large_counters {
            LargeCounters::ByCompat => !self.options.compat.large_counter_fails_the_file(),
            LargeCounters::Warn => true,
            LargeCounters::Accept => false,
        }
    }

    /// Reports the warnings that need all records.
    fn finish(&mut self) -> Result<()> {
        let Some(value) = self.large.first else { return Ok(()) };
        let fails = self.options.compat.large_counter_fails_the_file();
        if self.options.large_counters == LargeCounters::ByCompat && fails {
            return Err(ErrorKind::CounterValueTooLarge { value }.into());
        }
        if self.large.functions > 1 && self.warns_of_large_counters() {
            let message = format!("counters above 2^56 in {} more functions", self.large.functions - 1);
            self.warnings.push(Warning::new(message));
        }
        Ok(())
    }

    fn nameless(&self, data: &DataRecord) -> Error {
        let detail = format!("no name has the hash {:#018x} of record {}", data.name_ref, self.next_index - 1);
        let size = self.profile.layout().size();
        let offset = self.profile.section_range(Section::Data).start + (self.next_index - 1) * size;
        Error::malformed(detail).at("data", offset as u64).in_format(self.profile.header().format_name())
    }
}

/// Whether none of the profiles in a raw file has a record.
pub(crate) fn is_blank(file: &[u8]) -> bool {
    let reader = RawReader::new(file, RawOptions::default());
    reader.is_ok_and(|mut reader| matches!(reader.next_record(), Ok(None)))
}

impl ProfileReader for RawReader<'_> {
    fn kind(&self) -> ProfileKind {
        self.profile.kind()
    }

    fn version_word(&self) -> u64 {
        self.profile.header().version_word()
    }

    fn next_record(&mut self) -> Result<Option<RecordRef<'_>>> {
        if self.finished {
            return Ok(None);
        }
        let data = match self.read_record() {
            Ok(Some(data)) => data,
            end => {
                self.finished = true;
                end?;
                self.finish()?;
                return Ok(None);
            }
        };
        self.note_large_counters(&data);
        let mut record = self.record.view();
        record.counters = self.in_place.map_or(record.counters, Counters::from);
        if self.profile.header().version() <= 2 {
            // Checked when the names were read.
            let name = self.profile.plain_name(self.next_index - 1, &data)?;
            return Ok(Some(RecordRef { name, name_ref: Some(name_ref(name)), text: None, record }));
        }
        let symbols = self.names.symbols();
        match symbols.find_after(self.last_symbol, data.name_ref) {
            Some(symbol) => {
                self.last_symbol = Some(symbol);
                let (name, name_ref) = (symbols.resolve(symbol), Some(data.name_ref));
                Ok(Some(RecordRef { name, name_ref, text: symbols.text(symbol), record }))
            }
            None if self.options.compat.is_llvm() => {
                Ok(Some(RecordRef { name: &[], name_ref: None, text: None, record }))
            }
            None => {
                self.finished = true;
                Err(self.nameless(&data))
            }
        }
    }

    /// A record's name is the one with the record's hash; only names from
    /// elsewhere may have been given another.
    fn hashes_names(&self) -> bool {
        self.options.correlator.is_none()
    }

    fn traces_take_input_weight(&self) -> bool {
        true
    }

    /// In llvm-profdata mode the data of the current profile, otherwise of all profiles so far.
    fn symbols(&mut self) -> Result<&SymbolTable> {
        if self.options.compat.is_llvm() || self.earlier_names.is_empty() {
            return Ok(self.names.symbols());
        }
        if self.all_symbols.is_none() {
            let mut all = SymbolTable::new();
            for names in self.earlier_names.iter().chain([&self.names]) {
                all.absorb(names.symbols());
            }
            self.all_symbols = Some(all);
        }
        Ok(self.all_symbols.as_ref().unwrap_or(self.names.symbols()))
    }

    fn binary_ids(&mut self) -> Result<Vec<BinaryId>> {
        Ok(self.binary_ids.clone())
    }

    /// One trace of all functions that ran, by their timestamps. LLVM asks
    /// only the last profile whether there is one.
    fn temporal(&mut self) -> TemporalProfile {
        let hidden = self.options.compat.is_llvm() && !self.kind().contains(ProfileKind::TEMPORAL);
        if self.timestamps.is_empty() || hidden {
            return TemporalProfile::default();
        }
        self.timestamps.sort_unstable();
        let functions = self.timestamps.iter().map(|(_, function)| *function).collect();
        TemporalProfile { traces: vec![TemporalTrace { weight: 1, functions }], stream_size: 1 }
    }

    /// In llvm-profdata mode the data of the current profile, otherwise of all profiles so far.
    fn vtable_names(&mut self) -> Result<Vec<Vec<u8>>> {
        let earlier = if self.options.compat.is_llvm() { &[][..] } else { &self.earlier_names };
        let all = earlier.iter().chain([&self.names]);
        Ok(all.flat_map(|names| names.vtable_names().iter().cloned()).collect())
    }

    fn take_warnings(&mut self) -> Vec<Warning> {
        std::mem::take(&mut self.warnings)
    }
}
