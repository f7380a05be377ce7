//! The merge of one input: how it is opened, and when its records are read.

use crate::bytes::Head;
use crate::bytes::window::Window;
use crate::compression::{Compression, decompress};
use crate::driver::trace;
use crate::driver::{InputReport, InputTurn, InputVersion};
use crate::error::{Error, Result, Warning};
use crate::input::buffer::{ReadBuffer, read_shared};
use crate::input::{self, Input};
use crate::instr::file_merge::MergeOptions;
use crate::instr::file_merge::staged::{Batch, Staged, read_ahead};
use crate::instr::file_merge::state::Known;
use crate::instr::file_merge::state::KnownFile;
use crate::instr::file_merge::state::{FileMerge, Sums, Worker};
use crate::instr::memory_profiles;
use crate::instr::open::{WORTH_A_WINDOW, outline_of, read_with, window_of_text};
use crate::instr::{AddOutcome, InputOptions};
use crate::memory::{self, SharedBytes};
use crate::memprof::report::warning_about_lines;
use crate::memprof::{MemoryProfile, Source};
use crate::model::{ProfileKind, ProfileReader, RecordId, RecordRef, RecordView, ValueCount, ValueKind};
use crate::partial::Frame;
use crate::raw::{RawNames, RawProfile, RawReader, make_counters_native};
use crate::text::{self, TextReader};
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::sync::Arc;

/// When the records of an input are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Before its turn.
    Early,
    /// In its turn, because they depend on the inputs before, or because copying them would take longer.
    InTurn,
    /// In its turn, while another thread adds them: it is large and the last one.
    Ahead,
}

/// The number of records that justify a second thread for a raw profile.
pub(in crate::instr) const MANY_RECORDS: usize = 20_000;

/// The memory of a single input that the merger can keep instead of copies of its counters.
enum Keep {
    Copies,
    /// Counters of half the size if they fit.
    Narrow,
    /// The file that contains the counters.
    File(SharedBytes),
}

/// The bytes of an input.
enum Content<'b> {
    Buffered(&'b [u8]),
    Shared(SharedBytes),
}

impl Deref for Content<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Buffered(bytes) => bytes,
            Self::Shared(bytes) => bytes,
        }
    }
}

/// One input of a merge.
pub(super) struct InputMerge<'m, 't, 'l> {
    merge: &'m FileMerge<'m>,
    options: &'m MergeOptions,
    input: &'t Input,
    /// The size of the input when the merge began; 0 if unknown.
    size: u64,
    turn: &'t mut InputTurn<'l, Sums>,
    report: &'t mut InputReport,
    keep: Keep,
    /// Whether the counters of a raw profile were converted to the byte order of this machine.
    has_native_counters: bool,
}

impl<'m, 't, 'l> InputMerge<'m, 't, 'l> {
    pub(super) fn new(
        merge: &'m FileMerge<'_>,
        input: &'t Input,
        turn: &'t mut InputTurn<'l, Sums>,
        report: &'t mut InputReport,
    ) -> Self {
        let size = merge.sizes[turn.place()];
        let keep = Keep::Copies;
        Self { merge, options: merge.options, input, size, turn, report, keep, has_native_counters: false }
    }

    /// Merges the input.
    pub(super) fn run(mut self, worker: &mut Worker) -> Result<()> {
        let Worker { buffer, batch, names } = worker;
        if self.size >= WORTH_A_WINDOW
            && let Some(added) = self.add_through_window(batch)
        {
            return added;
        }
        let data = self.read(buffer)?;
        if matches!(input::detect(&data), input::Format::Raw { .. }) {
            self.add_raw(&data, batch, names)
        } else if memory_profiles::is_memory_profile(&data, self.options.read.compat) {
            self.add_memory(&data)
        } else {
            self.add_indexed_or_text(&data, batch)
        }
    }

    /// Reads the input. Only large single inputs are kept.
    fn read<'b>(&mut self, buffer: &'b mut ReadBuffer) -> Result<Content<'b>> {
        let (read, threads) = (&self.options.read, self.merge.threads_per_input);
        let is_compressed = |data: &[u8]| read.compat.decompresses() && Compression::of(data).is_some();
        if !self.may_keep() {
            let data = buffer.read(self.input, &read.limits, threads)?;
            self.warn_of_size(data.len() as u64);
            return Ok(match is_compressed(data) {
                true => Content::Shared(SharedBytes::Heap(Arc::new(decompress(data, &read.limits)?))),
                false => Content::Buffered(data),
            });
        }
        let mut file = read_shared(self.input, &read.limits, threads)?;
        self.warn_of_size(file.len() as u64);
        if is_compressed(&file) {
            file = SharedBytes::Heap(Arc::new(decompress(&file, &read.limits)?));
        }
        self.keep = self.keep_of_length(file.len() as u64);
        if matches!(self.keep, Keep::Narrow) && matches!(input::detect(&file), input::Format::Raw { .. }) {
            self.has_native_counters =
                file.get_mut().is_some_and(|file| make_counters_native(file, read.compat, threads));
            self.keep = Keep::File(file.clone());
        }
        Ok(Content::Shared(file))
    }

    /// Returns true if the merger may keep the bytes of the input.
    fn may_keep(&self) -> bool {
        self.merge.sizes.len() == 1 && self.input.weight.get() == 1
    }

    fn keep_of_length(&self, len: u64) -> Keep {
        if self.may_keep() && len >= memory::LARGE as u64 { Keep::Narrow } else { Keep::Copies }
    }

    /// Merges a large file of which only a window is in memory. Returns `None` for files that must be read whole.
    fn add_through_window(&mut self, batch: &mut Batch) -> Option<Result<()>> {
        let read = &self.options.read;
        // Earlier inputs determine which bitmaps stick, and only the whole text shows whether it has any.
        let may_stick = read.compat.text_bitmaps_stick() && self.merge.sizes.len() > 1;
        if let Some((len, window)) = (!may_stick).then(|| window_of_text(self.input, read)).flatten() {
            self.begin_window(len);
            return Some(self.add_text(window, batch));
        }
        // Avoid waiting for records of an indexed file that are read in the input's turn.
        let is_early = self.turn.place() == 0 || self.merge.workers == 1 || self.options.is_all_or_nothing();
        let (len, outline) = is_early.then(|| outline_of(self.input, read)).flatten()?;
        self.begin_window(len);
        Some(outline.reader(read.indexed()).and_then(|mut reader| {
            self.report.version = Some(InputVersion::Indexed(reader.version_word()));
            self.add_reader(&mut reader, Reading::Early, batch, None).map(|_| ())
        }))
    }

    fn begin_window(&mut self, len: u64) {
        self.warn_of_size(len);
        self.keep = self.keep_of_length(len);
    }

    /// Warns if the size of the input changed since the start of the merge.
    fn warn_of_size(&mut self, found: u64) {
        if found == self.size || self.input.is_pipe() {
            return;
        }
        let message = format!(
            "the file size changed from {} to {found} bytes during the merge; another process may be writing it",
            self.size
        );
        self.report.warnings.push(Warning::new(message).in_file(&self.input.path));
    }

    /// Merges a text profile. If there are several threads, one parses ahead.
    fn add_text(&mut self, window: Window<'_>, batch: &mut Batch) -> Result<()> {
        let mut reader = TextReader::through(window, self.options.read.compat)?.without_symbols();
        self.report.version = Some(InputVersion::Text { has_colon_names: reader.has_colon_names() });
        if self.merge.threads_per_input > 1 {
            reader.ahead(|reader| self.add_reader(reader, Reading::Early, batch, None))?;
        } else {
            self.add_reader(&mut reader, Reading::Early, batch, None)?;
        }
        Ok(())
    }

    fn add_indexed_or_text(&mut self, data: &[u8], batch: &mut Batch) -> Result<()> {
        let (read, format) = (&self.options.read, input::detect(data));
        let is_text = format != input::Format::Indexed;
        // A blank text must not determine the kind of the result.
        if !read.compat.is_llvm() && format == input::Format::Text && text::is_blank(&Head::new(data)) {
            return Ok(());
        }
        if !is_text && !read.compat.is_llvm() && Frame::is_at_end_of(data) {
            // A partial merge in a regular file was detected earlier.
            let error = Error::usage("a partial merge cannot be read from a pipe or a compressed file");
            return Err(error.with_hint("pass the uncompressed file"));
        }
        // Earlier inputs determine which bitmaps stick.
        let sticks = is_text && read.compat.text_bitmaps_stick() && text::has_bitmaps(data);
        // Two threads need longer to copy the records of an indexed file than one needs to add them directly.
        let is_quick = !is_text && self.merge.workers <= 2;
        let reading = if sticks || is_quick { Reading::InTurn } else { Reading::Early };
        read_with(data, read, self.merge.threads_per_input, |reader| {
            self.report.version = Some(match is_text {
                false => InputVersion::Indexed(reader.version_word()),
                true => InputVersion::Text { has_colon_names: text::has_colon_names(data) },
            });
            self.add_reader(reader, reading, batch, None).map(|_| ())
        })
    }

    /// Merges a memory profile that is a file of its own.
    fn add_memory(&mut self, data: &[u8]) -> Result<()> {
        let options = self.options;
        let read = memory_profiles::read(data, &options.read.of_input(self.input), options.release);
        let merger = &mut self.turn.wait()?.merger;
        if options.read.compat.is_llvm() && input::detect(data) != input::Format::RawMemProf {
            // LLVM checks its kind before its content.
            self.report.kind = Some(ProfileKind::MEMPROF);
            let begun = merger.begin_without_records(ProfileKind::MEMPROF);
            begun.map_err(|error| memory_profiles::conflict(error, &Source::Yaml))?;
            if read.is_err() {
                // LLVM adds an empty profile, which drops the static data of other inputs.
                merger.add_memory(MemoryProfile::default(), Source::Yaml, 1)?;
            }
        }
        let (profile, source) = read?;
        if !options.read.compat.is_llvm() {
            let warning = warning_about_lines(&profile);
            self.report.warnings.extend(warning.map(|warning| warning.in_file(&self.input.path)));
        }
        self.report.kind = Some(ProfileKind::MEMPROF);
        merger
            .begin_without_records(ProfileKind::MEMPROF)
            .map_err(|error| memory_profiles::conflict(error, &source))?;
        self.report.records = profile.records().len() as u64;
        merger.add_memory(profile, source, self.input.weight.get())
    }

    /// Merges a raw profile: only its counters and values if its image is known, otherwise record by record. Then its
    /// image is stored.
    fn add_raw(&mut self, data: &[u8], batch: &mut Batch, names: &mut Option<Arc<RawNames>>) -> Result<()> {
        let (merge, options) = (self.merge, self.options);
        let uses_images = merge.images.is_some() && options.read.correlator.is_none();
        if uses_images && let Some(added) = self.add_to_image(data)? {
            return Ok(added);
        }
        let mut reading = options.read.raw();
        reading.names = names.take();
        reading.known_chunks = merge.chunks.clone();
        reading.threads = NonZeroUsize::new(merge.threads_per_input);
        reading.has_native_counters = self.has_native_counters;
        let mut reader = RawReader::new(data, reading)?;
        self.report.version = Some(InputVersion::Raw(reader.profile().header().version().into()));
        if merge.chunks.is_none() {
            // For a single input, its names are in memory anyway.
            reader.names().stay();
        }
        let records = reader.profile().len();
        let mut placed = Vec::new();
        // If memory is short, the image is not stored.
        let remembers = uses_images && !self.is_last() && placed.try_reserve_exact(records).is_ok();
        if self.turn.place() == 0 {
            self.turn.wait()?.merger.reserve(records);
        }
        let is_large = self.is_last() && merge.threads_per_input > 1 && records >= MANY_RECORDS;
        let reading = if is_large { Reading::Ahead } else { Reading::Early };
        let added = self.add_reader(&mut reader, reading, batch, remembers.then_some(&mut placed));
        *names = Some(Arc::clone(reader.names()));
        let is_whole = added?;
        let later = reader.profiles().skip(1).map(|(profile, _)| profile.header().version().into());
        self.report.later_versions = later.collect();
        // A file with several profiles, or one that was merged in part, cannot serve as the image of others.
        if remembers && is_whole && self.report.warnings.is_empty() && reader.profile().start() == 0 {
            let known = Known::new(data, reader.profile(), reader.names(), placed, merge.workers);
            if let (Some(mut images), Some(known)) = (merge.images(), known) {
                images.remember(known);
            }
        }
        Ok(())
    }

    /// Adds only the counters and values of a raw profile. Returns `None` if its image is not known.
    fn add_to_image(&mut self, data: &[u8]) -> Result<Option<()>> {
        let profile = RawProfile::read(data, 0, self.options.read.compat)?;
        self.report.version = Some(InputVersion::Raw(profile.header().version().into()));
        if let Some(file) = KnownFile::find(self.merge, data, &profile, self.input.weight.get(), self.turn) {
            return file.add(self.merge, data, self.turn, self.report).map(Some);
        }
        if !self.is_last() {
            self.expect_image(&profile);
        }
        Ok(None)
    }

    fn is_last(&self) -> bool {
        self.turn.place() + 1 == self.merge.sizes.len()
    }

    /// Reserves memory for the image of a profile before it is read, so that the old and the new image are not in
    /// memory together.
    fn expect_image(&mut self, profile: &RawProfile<'_>) {
        let place = self.turn.place();
        let evicted = self.merge.images().map(|mut images| images.expect(profile, place)).unwrap_or_default();
        if !evicted.is_empty() {
            self.turn.with_merger_early(|sums| {
                sums.evicted.extend(evicted);
                sums.flush_evicted();
            });
        }
    }

    /// Merges the content of a reader. Returns true if all of it was merged.
    fn add_reader(
        &mut self,
        reader: &mut dyn ProfileReader,
        reading: Reading,
        batch: &mut Batch,
        mut placed: Option<&mut Vec<RecordId>>,
    ) -> Result<bool> {
        let adding = &input_options(self.options, self.input);
        self.report.kind = Some(reader.kind());
        let mut staged;
        let (reader, reading): (&mut dyn ProfileReader, _) = if self.is_staged(reading) {
            staged = self.stage(reader, batch, adding)?;
            (&mut staged, Reading::InTurn)
        } else {
            (reader, reading)
        };
        let uses_images = self.merge.images.is_some();
        let sums = self.turn.wait()?;
        let file = match &self.keep {
            Keep::Copies => None,
            Keep::Narrow => {
                sums.merger.keep_narrow();
                None
            }
            Keep::File(file) => {
                sums.merger.keep(file.clone());
                Some(file)
            }
        };
        sums.restore_value_sites(None);
        let Sums { merger, has_uniformity, .. } = sums;
        let (mut soft_errors, mut bits) = (Vec::new(), 0);
        let mut observe = |incoming: RecordRef<'_>, outcome: AddOutcome| {
            if let Some(error) = outcome.error {
                soft_errors.push((outcome.record, error));
            }
            trace::shared(|| bytes_of(incoming.record));
            if let Some(placed) = &mut placed {
                placed.push(outcome.record);
            }
            if uses_images && incoming.record.pseudo_count().is_none() {
                bits |= incoming.record.counters.iter().fold(0, |bits, count| bits | count);
                *has_uniformity |= !incoming.record.uniformity.is_empty();
            }
        };
        let records = &mut self.report.records;
        let read = match reading == Reading::Ahead {
            true => read_ahead(reader, file, |reader| merger.add_records(reader, adding, records, &mut observe)),
            false => merger.add_records(reader, adding, records, &mut observe),
        };
        sums.bound = sums.bound.saturating_add(bits.saturating_mul(adding.weight));
        let is_whole = soft_errors.is_empty();
        // A damaged input that is rolled back contributes no records.
        let is_taken_back = self.options.is_all_or_nothing() && read.is_err();
        if is_taken_back {
            *records = 0;
        } else {
            self.merge.add_soft_errors(self.turn.place(), soft_errors);
        }
        self.take_warnings(reader);
        // In llvm-profdata mode, records after a damaged one can be added.
        let read = if self.options.is_all_or_nothing() { Ok(read?) } else { read };
        self.turn.wait()?.merger.add_rest(reader, adding, read)?;
        Ok(is_whole)
    }

    /// Returns true if the input is read before its turn. An input that may have to be rolled back is read whole.
    fn is_staged(&self, reading: Reading) -> bool {
        // The driver replaces the merger if the first input is damaged.
        let is_first = self.turn.place() == 0;
        !is_first && (self.options.is_all_or_nothing() || (reading == Reading::Early && self.merge.workers != 1))
    }

    /// Reads a whole input, and checks it if it may have to be rolled back.
    fn stage<'b>(
        &mut self,
        reader: &mut dyn ProfileReader,
        batch: &'b mut Batch,
        adding: &InputOptions<'_>,
    ) -> Result<Staged<'b>> {
        let mut staged = Staged::read(reader, batch, &adding.cancel);
        if self.options.is_all_or_nothing()
            && let Err(error) = staged.check(adding, &self.options.read.limits, &mut self.report.records)
        {
            self.take_warnings(&mut staged);
            self.report.records = 0;
            return Err(error);
        }
        Ok(staged)
    }

    fn take_warnings(&mut self, reader: &mut dyn ProfileReader) {
        let warnings = reader.take_warnings();
        self.report.warnings.extend(warnings.into_iter().map(|warning| warning.in_file(&self.input.path)));
    }
}

/// Returns the options for adding an input.
fn input_options<'a>(options: &'a MergeOptions, input: &'a Input) -> InputOptions<'a> {
    let mut adding = InputOptions::weighted(input.weight.get());
    adding.remapping = Some(&options.remapping).filter(|remapping| !remapping.is_empty());
    adding.renames_both_forms = !options.read.compat.is_llvm();
    adding.most_name_bytes = options.read.limits.name_bytes;
    adding.path = Some(&input.path);
    adding.cancel = input.token();
    // LLVM's merge writes an empty section instead.
    adding.takes_memprof = !options.read.compat.is_llvm();
    adding
}

/// Returns the size of counters and values in bytes.
fn bytes_of(record: RecordView<'_>) -> usize {
    let values = ValueKind::EACH.map(|kind| record.sites(kind).values_len() * size_of::<ValueCount>());
    record.counters.len() * size_of::<u64>() + values.iter().sum::<usize>()
}
