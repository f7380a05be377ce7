//! What one thread does with each input that it takes.

use super::images::Known;
use super::known_file::KnownFile;
use super::staged::{Batch, Staged, read_ahead};
use super::state::{EndOnPanic, Prepared, Shared, State, Turn};
use super::trace;
use crate::bytes::window::Window;
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::input::{self, ReadBuffer};
use crate::instr::{ProfileKind, ProfileReader, RecordId, RecordRef, RecordView, ValueCount, ValueKind};
use crate::limits::Limits;
use crate::memory::{self, SharedPages};
use crate::memprof::{MemoryProfile, Source};
use crate::merge::{AddOutcome, InputOptions};
use crate::partial::Frame;
use crate::pipeline::merge::{InputOutcome, InputReport, InputVersion};
use crate::pipeline::open::{WORTH_A_WINDOW, outline_of, read_with, window_of_text};
use crate::pipeline::read::memprof;
use crate::raw::{RawNames, RawOptions, RawProfile, RawReader};
use crate::text::{self, TextReader};
use crate::threads;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Merges inputs until none is left.
pub(super) fn work(shared: &Shared<'_, '_>) {
    let _end = EndOnPanic(shared);
    trace::begin();
    let mut worker = Worker::new(shared);
    while !shared.is_over.load(Ordering::Relaxed) {
        let at = shared.begun.fetch_add(1, Ordering::Relaxed);
        if at >= shared.inputs.len() {
            break;
        }
        worker.merge_input(at);
    }
    trace::end();
}

/// When the records of an input may be read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Before its turn.
    Early,
    /// In its turn: what they are depends on the inputs before.
    InTurn,
    /// In its turn, while another thread adds them: it is large and the last one.
    Ahead,
}

/// From so many records on a raw file is worth a thread that adds them.
pub(super) const MANY_RECORDS: usize = 20_000;

/// Merges the inputs that one thread takes.
struct Worker<'s, 'a, 'o> {
    shared: &'s Shared<'a, 'o>,
    /// The bytes of the current input; one buffer serves all.
    buffer: ReadBuffer,
    /// Its records, where they are read before its turn.
    batch: Batch,
    /// Names of the last raw file read record by record, for the next one.
    names: Option<Arc<RawNames>>,
    /// Nothing is added to the counters of the input at hand, which are many.
    is_narrow: bool,
    /// Its file, in which counters may stay, where it is kept.
    file: Option<SharedPages>,
    /// Threads for each input, this one included.
    threads: usize,
}

impl<'s, 'a, 'o> Worker<'s, 'a, 'o> {
    fn new(shared: &'s Shared<'a, 'o>) -> Self {
        let threads = threads::wanted(shared.options.threads).get() / shared.threads;
        Self {
            shared,
            buffer: ReadBuffer::default(),
            batch: Batch::default(),
            names: None,
            is_narrow: false,
            file: None,
            threads,
        }
    }

    /// Merges one input and notes what became of it.
    fn merge_input(&mut self, at: usize) {
        let prepared = &self.shared.inputs[at];
        let mut report = InputReport::new(&prepared.input, InputOutcome::Used);
        let mut turn = Turn { shared: self.shared, at, state: None };
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut inflated = Vec::new();
        let merged = match self.merge_through_window(prepared, &mut turn, &mut report) {
            Some(merged) => merged.map(|()| (None, &[][..])),
            None => self.merge_whole(prepared, (&mut buffer, &mut inflated), &mut turn, &mut report),
        };
        let known = merged.unwrap_or_else(|error| {
            let error = error.in_file(&prepared.input.path);
            report.outcome = match error.kind() {
                ErrorKind::EmptyProfile => InputOutcome::Empty,
                _ => InputOutcome::Failed(error),
            };
            (None, &[])
        });
        turn.pass_on(report);
        if let (Some(file), data) = known {
            file.add(self.shared, data, at);
        }
        self.buffer = buffer;
    }

    /// Merges an input all of which is read first; `memory` is for its bytes, and for what is inflated of them.
    fn merge_whole<'d>(
        &mut self,
        prepared: &'d Prepared,
        memory: (&'d mut ReadBuffer, &'d mut Vec<u8>),
        turn: &mut Turn<'_, '_, '_>,
        report: &mut InputReport,
    ) -> Result<(Option<KnownFile<'d>>, &'d [u8])> {
        let options = self.shared.options;
        let (buffer, inflated) = memory;
        let (mut data, file) = load(prepared, buffer, self.threads, &options.read.limits, report)?;
        let has_counters = matches!(input::detect(data), input::Format::Raw { .. });
        self.is_narrow = prepared.may_keep() && data.len() >= memory::LARGE;
        self.file = file.filter(|_| has_counters && prepared.may_keep());
        if !options.read.compat.is_llvm() && input::detect(data) == input::Format::Gzip {
            *inflated = input::inflate(data, &options.read.limits)?;
            data = inflated;
        }
        Ok((self.merge_bytes(data, turn, report)?, data))
    }

    /// Merges a large file of which a window is in memory; `None` for what has to be read whole.
    fn merge_through_window(
        &mut self,
        prepared: &Prepared,
        turn: &mut Turn<'_, '_, '_>,
        report: &mut InputReport,
    ) -> Option<Result<()>> {
        let Shared { inputs, options, threads, .. } = self.shared;
        if prepared.size < WORTH_A_WINDOW {
            return None;
        }
        // Which bitmaps stick depends on the inputs before, and all of a text tells whether it has some.
        let may_stick = options.read.compat.text_bitmaps_stick() && inputs.len() > 1;
        if let Some((len, window)) = (!may_stick).then(|| window_of_text(&prepared.input, &options.read)).flatten() {
            self.begin_window(prepared, len, report);
            return Some(self.merge_text(window, turn, report));
        }
        // Where records are added in the input's turn, nothing should have to be waited for then.
        let is_early = turn.at == 0 || *threads == 1 || options.is_all_or_nothing();
        if let Some((len, outline)) = is_early.then(|| outline_of(&prepared.input, &options.read)).flatten() {
            self.begin_window(prepared, len, report);
            let merged = outline.reader(options.read.indexed()).and_then(|mut reader| {
                report.version = Some(InputVersion::Indexed(reader.version_word()));
                self.merge_reader(&mut reader, Reading::Early, turn, report, None)
            });
            return Some(merged.map(|_| ()));
        }
        None
    }

    fn begin_window(&mut self, prepared: &Prepared, len: u64, report: &mut InputReport) {
        #[cfg(test)]
        prepared.readings.fetch_add(1, Ordering::Relaxed);
        warn_of_size(prepared, len, report);
        self.is_narrow = prepared.may_keep() && len >= memory::LARGE as u64;
        self.file = None;
    }

    /// Merges a text, with a thread that helps if there are several.
    fn merge_text(&mut self, window: Window<'_>, turn: &mut Turn<'_, '_, '_>, report: &mut InputReport) -> Result<()> {
        let mut reader = TextReader::through(window, self.shared.options.read.compat)?.without_symbols();
        report.version = Some(InputVersion::Text { has_colon_names: reader.has_colon_names() });
        if self.threads > 1 {
            reader.ahead(|reader| self.merge_reader(reader, Reading::Early, turn, report, None))?;
        } else {
            self.merge_reader(&mut reader, Reading::Early, turn, report, None)?;
        }
        Ok(())
    }

    fn merge_bytes<'d>(
        &mut self,
        data: &'d [u8],
        turn: &mut Turn<'_, '_, '_>,
        report: &mut InputReport,
    ) -> Result<Option<KnownFile<'d>>> {
        let options = self.shared.options;
        let format = input::detect(data);
        if matches!(format, input::Format::Raw { .. }) {
            return self.merge_raw(data, turn, report);
        }
        if memprof::is_memory_profile(data, options.read.compat) {
            return self.merge_memory(data, turn, report).map(|()| None);
        }
        let is_text = format != input::Format::Indexed;
        if !is_text && !options.read.compat.is_llvm() && Frame::is_at_end_of(data) {
            // Of a file that would have been seen before.
            let error = Error::usage("a partial merge cannot come through a pipe or compressed");
            return Err(error.with_hint("name the file itself"));
        }
        // Which bitmaps stick depends on the inputs before.
        let sticks = is_text && options.read.compat.text_bitmaps_stick() && text::has_bitmaps(data);
        // Two threads copy the records of indexed files for longer than one adds them as they stand there.
        let is_quick = !is_text && self.shared.threads <= 2;
        let reading = if sticks || is_quick { Reading::InTurn } else { Reading::Early };
        read_with(data, &options.read, self.threads, |reader| {
            report.version = Some(match is_text {
                false => InputVersion::Indexed(reader.version_word()),
                true => InputVersion::Text { has_colon_names: text::has_colon_names(data) },
            });
            self.merge_reader(reader, reading, turn, report, None)
        })?;
        Ok(None)
    }

    /// Merges a memory profile that is a file of its own.
    fn merge_memory(&mut self, data: &[u8], turn: &mut Turn<'_, '_, '_>, report: &mut InputReport) -> Result<()> {
        let options = self.shared.options;
        let read = memprof::read(data, &options.read, options.release);
        let merger = &mut turn.state().merger;
        if options.read.compat.is_llvm() && input::detect(data) != input::Format::RawMemProf {
            // LLVM knows of its kind before it finds out what is wrong with it.
            report.kind = Some(ProfileKind::MEMPROF);
            let begun = merger.begin_input(ProfileKind::MEMPROF);
            begun.map_err(|error| memprof::conflict(error, &Source::Yaml))?;
            if read.is_err() {
                // What it says of static data counts: nothing.
                merger.add_memory(MemoryProfile::default(), Source::Yaml, 1)?;
            }
        }
        let (profile, source) = read?;
        report.kind = Some(ProfileKind::MEMPROF);
        merger.begin_input(ProfileKind::MEMPROF).map_err(|error| memprof::conflict(error, &source))?;
        report.records = profile.records().len() as u64;
        merger.add_memory(profile, source, report.input.weight.get())
    }

    /// Merges a raw file: quickly when it is of an image met before, else
    /// record by record.
    fn merge_raw<'d>(
        &mut self,
        data: &'d [u8],
        turn: &mut Turn<'_, '_, '_>,
        report: &mut InputReport,
    ) -> Result<Option<KnownFile<'d>>> {
        let Shared { options, .. } = self.shared;
        let mut reading = options.read.raw();
        reading.names = self.names.take();
        reading.known_chunks = self.shared.chunks.clone();
        reading.threads = NonZeroUsize::new(self.threads);
        let uses_images = self.shared.images.is_some() && options.read.correlator.is_none();
        let is_last = turn.at + 1 == self.shared.inputs.len();
        if uses_images {
            let profile = RawProfile::read(data, 0, options.read.compat)?;
            report.version = Some(InputVersion::Raw(profile.header().version().into()));
            if let Some(file) = KnownFile::find(self.shared, data, &profile, turn.at) {
                return file.take_over(turn, report).map(Some);
            }
            if !is_last {
                // Before it is read, so that the old and the new are not held together.
                let evicted = self.shared.images().map(|mut images| images.expect(&profile, turn.at));
                if let Some(evicted) = evicted.filter(|evicted| !evicted.is_empty()) {
                    let mut state = self.shared.wait_for(0);
                    state.evicted.extend(evicted);
                    state.flush_evicted();
                }
            }
        }
        let merged = self.merge_raw_records(data, reading, uses_images && !is_last, turn, report);
        merged.map(|()| None)
    }

    /// Merges a raw file record by record, and remembers its image if it is to.
    fn merge_raw_records(
        &mut self,
        data: &[u8],
        reading: RawOptions<'_>,
        remembers: bool,
        turn: &mut Turn<'_, '_, '_>,
        report: &mut InputReport,
    ) -> Result<()> {
        let mut reader = RawReader::new(data, reading)?;
        report.version = Some(InputVersion::Raw(reader.profile().header().version().into()));
        if self.shared.chunks.is_none() {
            // The only input: its names are in memory anyway.
            reader.names().stay();
        }
        let records = reader.profile().len();
        let mut placed = Vec::new();
        // Without room for it the image is not remembered.
        let remembers = remembers && placed.try_reserve_exact(records).is_ok();
        if turn.at == 0 {
            turn.state().merger.reserve(records);
        }
        let is_last = turn.at + 1 == self.shared.inputs.len();
        let is_large = is_last && self.threads > 1 && records >= MANY_RECORDS;
        let how = if is_large { Reading::Ahead } else { Reading::Early };
        let merged = self.merge_reader(&mut reader, how, turn, report, remembers.then_some(&mut placed));
        if remembers {
            // A file of several profiles, or of which not all was merged, is no pattern for others.
            let is_pattern = merged.as_ref().is_ok_and(|is_whole| *is_whole)
                && report.warnings.is_empty()
                && reader.profile().start() == 0;
            let (profile, names) = (reader.profile(), reader.names());
            let known = is_pattern.then(|| Known::new(data, profile, names, placed, self.shared.threads)).flatten();
            if let (Some(mut images), Some(known)) = (self.shared.images(), known) {
                images.remember(known);
            }
        }
        self.names = Some(Arc::clone(reader.names()));
        merged.map(|_| ())
    }

    /// Merges what a reader has; says whether all of it was merged.
    fn merge_reader(
        &mut self,
        reader: &mut dyn ProfileReader,
        reading: Reading,
        turn: &mut Turn<'_, '_, '_>,
        report: &mut InputReport,
        placed: Option<&mut Vec<RecordId>>,
    ) -> Result<bool> {
        let Shared { options, threads, .. } = self.shared;
        report.kind = Some(reader.kind());
        let mut adding = InputOptions::weighted(report.input.weight.get());
        adding.remapping = Some(&options.remapping).filter(|remapping| !remapping.is_empty());
        adding.most_name_bytes = options.read.limits.name_bytes;
        // LLVM's merge leaves an empty section in its place.
        adding.takes_memprof = !options.read.compat.is_llvm();
        let all_or_nothing = options.is_all_or_nothing();
        if turn.at == 0 {
            // It is its turn, and what was merged of a bad one is all there is to give back.
            let merged = self.add_reader(reader, reading, &adding, turn, report, placed);
            if all_or_nothing && merged.is_err() {
                turn.state().begin_again(options);
            }
            return merged;
        }
        if !all_or_nothing && (reading != Reading::Early || *threads == 1) {
            return self.add_reader(reader, reading, &adding, turn, report, placed);
        }
        let mut batch = std::mem::take(&mut self.batch);
        let mut staged = Staged::read(reader, &mut batch);
        let is_sound = match all_or_nothing {
            true => staged.check(&adding, &options.read.limits, &mut report.records),
            false => Ok(()),
        };
        let merged = match is_sound {
            Ok(()) => self.add_reader(&mut staged, Reading::InTurn, &adding, turn, report, placed),
            Err(error) => {
                let warnings = staged.take_warnings();
                report.warnings.extend(warnings.into_iter().map(|warning| warning.in_file(&report.input.path)));
                Err(error)
            }
        };
        self.batch = batch;
        merged
    }

    /// Adds what a reader has, in the input's turn.
    fn add_reader(
        &self,
        reader: &mut dyn ProfileReader,
        reading: Reading,
        adding: &InputOptions<'_>,
        turn: &mut Turn<'_, '_, '_>,
        report: &mut InputReport,
        mut placed: Option<&mut Vec<RecordId>>,
    ) -> Result<bool> {
        let (at, uses_images) = (turn.at, self.shared.images.is_some());
        let state = turn.state();
        state.merger.begin_input(reader.kind())?;
        match &self.file {
            Some(file) => state.merger.keep(file.clone()),
            None if self.is_narrow => state.merger.keep_narrow(),
            None => {}
        }
        state.bring_values_back(None, &self.shared.is_over);
        let State { merger, soft_errors, has_uniformity, .. } = state;
        let (errors_before, mut bits) = (soft_errors.len(), 0);
        let mut observe = |incoming: RecordRef<'_>, outcome: AddOutcome| {
            if let Some(error) = outcome.error {
                soft_errors.push((at, outcome.record, error));
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
        let records = &mut report.records;
        let read = match reading == Reading::Ahead {
            true => read_ahead(reader, self.file.as_ref(), |reader| {
                merger.add_records(reader, adding, records, &mut observe)
            }),
            false => merger.add_records(reader, adding, records, &mut observe),
        };
        state.bound = state.bound.saturating_add(bits.saturating_mul(adding.weight));
        let warnings = reader.take_warnings();
        report.warnings.extend(warnings.into_iter().map(|warning| warning.in_file(&report.input.path)));
        // With LLVM what stands behind the fault of a record may count.
        let read = if self.shared.options.is_all_or_nothing() { Ok(read?) } else { read };
        state.merger.add_rest(reader, adding, read)?;
        Ok(state.soft_errors.len() == errors_before)
    }
}

/// Bytes of counters and values.
fn bytes_of(record: RecordView<'_>) -> usize {
    let values = ValueKind::ALL.map(|kind| record.sites(kind).values_len() * size_of::<ValueCount>());
    record.counters.len() * size_of::<u64>() + values.iter().sum::<usize>()
}

/// The bytes of an input, in `buffer`; those of a large file can be kept.
fn load<'b>(
    prepared: &'b Prepared,
    buffer: &'b mut ReadBuffer,
    threads: usize,
    limits: &Limits,
    report: &mut InputReport,
) -> Result<(&'b [u8], Option<SharedPages>)> {
    #[cfg(test)]
    prepared.readings.fetch_add(1, Ordering::Relaxed);
    let (bytes, file) = buffer.read_to_keep(&prepared.input, limits, threads)?;
    warn_of_size(prepared, bytes.len() as u64, report);
    Ok((bytes, file))
}

/// Warns of an input that has another length than when the run began.
fn warn_of_size(prepared: &Prepared, found: u64, report: &mut InputReport) {
    if found == prepared.size || prepared.input.is_pipe() {
        return;
    }
    let message = format!(
        "the file had {} bytes when the run began and {found} when it was read; is it still being written?",
        prepared.size
    );
    report.warnings.push(Warning::new(message).in_file(&prepared.input.path));
}
