//! The engine behind [`merge_files`](super::merge_files).
//!
//! Inputs are handed to threads one by one, and each is taken over in its turn,
//! in the order of the list: what comes of it, and every message, is what one
//! thread would make of it. What takes time is done before the turn (reading,
//! decoding, comparing with known images) or after it, where the order does not
//! matter (adding the counters of a known image) or is kept otherwise
//! ([`values`](super::values)).

use super::images::{Images, Known, Lookup};
use super::memory;
use super::merge::{FailureMode, InputOutcome, InputReport, InputVersion, MergeObserver, MergeOptions};
use super::open::read_with;
use super::staged::{Batch, Staged, read_ahead};
use super::values::ValueFile;
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::input::{self, ReadBuffer, WeightedInput};
use crate::instr::{FunctionTable, ProfileKind, ProfileReader, RecordId, RecordRef};
use crate::limits::Limits;
use crate::memprof::{MemoryProfile, Source};
use crate::merge::{AddOutcome, InputOptions, Merger, SoftError};
use crate::partial::Frame;
use crate::raw::{Image, ImageSum, NameChunks, PlausibleCounters, RawNames, RawOptions, RawProfile, RawReader};
use crate::text;
use crate::threads;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// An input and what is known of it before it is merged.
#[derive(Debug)]
pub(super) struct Prepared {
    input: WeightedInput,
    /// Size when the run began; 0 when unknown.
    size: u64,
    /// How often it was read.
    #[cfg(test)]
    pub(super) readings: AtomicUsize,
}

impl Prepared {
    pub(super) fn new(input: WeightedInput) -> Self {
        let size = if input.is_pipe() { 0 } else { std::fs::metadata(&input.path).map_or(0, |found| found.len()) };
        Self {
            input,
            size,
            #[cfg(test)]
            readings: AtomicUsize::new(0),
        }
    }
}

/// What a run over all inputs gave.
pub(super) struct Run {
    pub(super) merger: Merger,
    pub(super) reports: Vec<InputReport>,
    /// Records that were not, or not wholly, merged, in order.
    soft_errors: Vec<InputError>,
}

/// A soft error of the input at that place of the list.
type InputError = (usize, RecordId, SoftError);

/// Merges all inputs, with as many threads as allowed and useful.
pub(super) fn run(inputs: &[Prepared], options: &MergeOptions, observer: &mut dyn MergeObserver) -> Run {
    // A thread with a single input costs more than it saves.
    let threads = threads::wanted(options.threads).get().min(inputs.len() / 2).max(1);
    let quick = run_quick(inputs, options, threads, super::images::MOST_BYTES, observer);
    let run = quick.unwrap_or_else(|| run_exact(inputs, options, observer));
    let mut seen = BTreeSet::new();
    let names = if run.soft_errors.is_empty() { Vec::new() } else { names_of_records(run.merger.functions()) };
    for &(at, record, error) in &run.soft_errors {
        observer.soft_error(&inputs[at].input, names[record.index()], error, seen.insert(error));
    }
    run
}

/// The name of each record's function.
fn names_of_records(functions: &FunctionTable) -> Vec<&[u8]> {
    let mut names = vec![&[][..]; functions.records_len()];
    for function in functions.iter() {
        function.record_ids().for_each(|record| names[record.index()] = function.name());
    }
    names
}

/// One input after the other, record by record.
pub(super) fn run_exact(inputs: &[Prepared], options: &MergeOptions, observer: &mut dyn MergeObserver) -> Run {
    let shared = Shared::new(inputs, options, 1, None, observer);
    shared.work();
    shared.finish().0
}

/// Several threads, and sums for images, which may take `image_bytes`. `None`
/// when something happened that only [`run_exact`] gets right: counts so near
/// to the largest that it matters when a sum is added, or uniformity of waves.
pub(super) fn run_quick(
    inputs: &[Prepared],
    options: &MergeOptions,
    threads: usize,
    image_bytes: usize,
    observer: &mut dyn MergeObserver,
) -> Option<Run> {
    // A single input has nothing in common with others.
    let images = (inputs.len() > 1).then(|| Images::new(image_bytes));
    let shared = Shared::new(inputs, options, threads, images, observer);
    std::thread::scope(|scope| {
        // Whoever is there does the work: the fewer there are the longer it takes.
        let started = (1..threads).map_while(|_| threads::start(scope, || shared.work()).ok());
        started.for_each(drop);
        shared.work();
    });
    let (run, must_start_over) = shared.finish();
    (!must_start_over).then_some(run)
}

/// What the threads of a run share.
struct Shared<'a, 'o> {
    inputs: &'a [Prepared],
    options: &'a MergeOptions,
    threads: usize,
    /// `None` when every file is read record by record.
    images: Option<Mutex<Images>>,
    /// Chunks of names of all files so far; of no use to a single input.
    chunks: Option<Arc<NameChunks>>,
    /// The first input that no thread has taken.
    begun: AtomicUsize,
    state: Mutex<State<'o>>,
    moved_on: Condvar,
    /// Nobody's work is needed any more: it starts over, or a thread panicked.
    is_over: AtomicBool,
}

/// What changes in the order of the inputs.
struct State<'o> {
    /// Whose turn it is.
    next: usize,
    merger: Merger,
    reports: Vec<InputReport>,
    soft_errors: Vec<InputError>,
    observer: &'o mut dyn MergeObserver,
    /// The image whose value sites are not in the merger.
    values_out: Option<Arc<Known>>,
    /// Forgotten images whose sums are not in the merger.
    evicted: Vec<Arc<Known>>,
    /// No counter of the result is larger, as far as images matter.
    bound: u64,
    has_sums: bool,
    has_uniformity: bool,
}

impl State<'_> {
    /// Whether sums of images that wait may have been added too late.
    fn must_start_over(&self) -> bool {
        self.has_sums && (self.has_uniformity || self.bound > 1 << 63)
    }

    /// Brings the value sites of an image back, unless it is `other`.
    fn bring_values_back(&mut self, other: Option<&Arc<Known>>, is_over: &AtomicBool) {
        let stays = |known: &mut Arc<Known>| !other.is_some_and(|other| Arc::ptr_eq(known, other));
        if let Some(known) = self.values_out.take_if(stays) {
            known.values.put_back(&mut self.merger, is_over);
        }
    }

    /// Adds the sums of forgotten images to which no thread adds any more.
    fn flush_evicted(&mut self) {
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

impl<'a, 'o> Shared<'a, 'o> {
    fn new(
        inputs: &'a [Prepared],
        options: &'a MergeOptions,
        threads: usize,
        images: Option<Images>,
        observer: &'o mut dyn MergeObserver,
    ) -> Self {
        let state = State {
            next: 0,
            merger: Merger::new(options.merger_options()),
            reports: Vec::with_capacity(inputs.len()),
            soft_errors: Vec::new(),
            observer,
            values_out: None,
            evicted: Vec::new(),
            bound: 0,
            has_sums: false,
            has_uniformity: false,
        };
        Self {
            inputs,
            options,
            threads,
            images: images.map(Mutex::new),
            chunks: (inputs.len() > 1).then(Arc::default),
            begun: AtomicUsize::new(0),
            state: Mutex::new(state),
            moved_on: Condvar::new(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Merges inputs until none is left.
    fn work(&self) {
        let _end = EndOnPanic(self);
        let mut worker = Worker::new(self);
        while !self.is_over.load(Ordering::Relaxed) {
            let at = self.begun.fetch_add(1, Ordering::Relaxed);
            if at >= self.inputs.len() {
                return;
            }
            worker.merge_input(at);
        }
    }

    /// Waits until all inputs before `at` were taken over, or all is over.
    fn wait_for(&self, at: usize) -> MutexGuard<'_, State<'o>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = |state: &mut State<'_>| state.next < at && !self.is_over.load(Ordering::Relaxed);
        self.moved_on.wait_while(state, waiting).unwrap_or_else(PoisonError::into_inner)
    }

    fn images(&self) -> Option<MutexGuard<'_, Images>> {
        self.images.as_ref().map(|images| images.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Nobody may be between looking and waiting.
        drop(self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.moved_on.notify_all();
    }

    /// The result, and whether it is of no use.
    fn finish(self) -> (Run, bool) {
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.bring_values_back(None, &self.is_over);
        let images = self.images.map(|images| images.into_inner().unwrap_or_else(PoisonError::into_inner));
        let known = images.map(Images::into_known).unwrap_or_default();
        state.evicted.iter().chain(&known).for_each(|known| known.flush(&mut state.merger));
        let must_start_over = state.must_start_over();
        let State { merger, reports, mut soft_errors, .. } = state;
        soft_errors.sort_by_key(|(at, ..)| *at);
        (Run { merger, reports, soft_errors }, must_start_over)
    }
}

/// Lets nobody wait for a thread that panicked.
struct EndOnPanic<'s, 'a, 'o>(&'s Shared<'a, 'o>);

impl Drop for EndOnPanic<'_, '_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

/// The turn of an input, for which is waited when it is needed.
struct Turn<'s, 'a, 'o> {
    shared: &'s Shared<'a, 'o>,
    at: usize,
    state: Option<MutexGuard<'s, State<'o>>>,
}

impl<'o> Turn<'_, '_, 'o> {
    /// What may be changed now.
    fn state(&mut self) -> &mut State<'o> {
        self.state.get_or_insert_with(|| self.shared.wait_for(self.at))
    }

    /// Lets the next input have its turn.
    fn pass_on(mut self, report: InputReport) {
        let (shared, at) = (self.shared, self.at);
        self.state();
        if let Some(mut images) = shared.images() {
            images.passed(at);
        }
        let state = self.state();
        state.reports.push(report);
        state.next = at + 1;
        state.flush_evicted();
        state.observer.progress(at + 1, shared.inputs.len());
        let must_start_over = state.must_start_over();
        self.state = None;
        shared.moved_on.notify_all();
        if must_start_over {
            shared.end();
        }
    }
}

/// A file of a known image, whose counts are added when the turn has passed on.
struct KnownFile<'d> {
    known: Arc<Known>,
    slide: u64,
    profile: RawProfile<'d>,
    counters: PlausibleCounters<'d>,
    /// Where the values of each shard begin.
    offsets: Vec<usize>,
    /// The place among the files whose values are added.
    ticket: Option<usize>,
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
    /// Threads for each input, this one included.
    threads: usize,
}

impl<'s, 'a, 'o> Worker<'s, 'a, 'o> {
    fn new(shared: &'s Shared<'a, 'o>) -> Self {
        let threads = threads::wanted(shared.options.threads).get() / shared.threads;
        Self { shared, buffer: ReadBuffer::default(), batch: Batch::default(), names: None, threads }
    }

    /// Merges one input and notes what became of it.
    fn merge_input(&mut self, at: usize) {
        let Shared { inputs, options, .. } = self.shared;
        let prepared = &inputs[at];
        let mut report = InputReport::new(&prepared.input, InputOutcome::Used);
        let mut turn = Turn { shared: self.shared, at, state: None };
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = load(prepared, &mut buffer, self.threads, &options.read.limits, &mut report);
        let inflates = |data: &[u8]| !options.read.compat.is_llvm() && input::detect(data) == input::Format::Gzip;
        let inflated;
        let data = match read {
            Ok(data) if inflates(data) => match input::inflate(data, &options.read.limits) {
                Ok(bytes) => {
                    inflated = bytes;
                    Ok(inflated.as_slice())
                }
                Err(error) => Err(error),
            },
            read => read,
        };
        let merged = data.and_then(|data| Ok((self.merge_bytes(data, &mut turn, &mut report)?, data)));
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
            self.add(file, data, at);
        }
        self.buffer = buffer;
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
        if memory::is_memory_profile(data, options.read.compat) {
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
        let reading = if sticks { Reading::InTurn } else { Reading::Early };
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
        let read = memory::read(data, &options.read, options.release);
        let merger = &mut turn.state().merger;
        if options.read.compat.is_llvm() && input::detect(data) != input::Format::RawMemProf {
            // LLVM knows of its kind before it finds out what is wrong with it.
            let begun = merger.begin_input(ProfileKind::MEMPROF);
            begun.map_err(|error| memory::conflict(error, &Source::Yaml))?;
            if read.is_err() {
                // What it says of static data counts: nothing.
                merger.add_memory(MemoryProfile::default(), Source::Yaml, 1);
            }
        }
        let (profile, source) = read?;
        merger.begin_input(ProfileKind::MEMPROF).map_err(|error| memory::conflict(error, &source))?;
        report.records = profile.records().len() as u64;
        merger.add_memory(profile, source, report.input.weight.get());
        Ok(())
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
            if let Some(file) = self.find_image(data, &profile, turn) {
                return self.take_over(file, turn, report).map(Some);
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
        let mut placed = Vec::with_capacity(if remembers { reader.profile().len() } else { 0 });
        let records = reader.profile().len();
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

    /// The known image that a file is of, when all of it is as it has to be.
    fn find_image<'d>(
        &self,
        data: &'d [u8],
        profile: &RawProfile<'d>,
        turn: &Turn<'_, '_, '_>,
    ) -> Option<KnownFile<'d>> {
        let fingerprint = Image::fingerprint(profile);
        let candidates = loop {
            let found = self.shared.images()?.look_up(fingerprint, turn.at);
            match found {
                Lookup::Candidates(candidates) => break candidates,
                Lookup::Expected(place) => drop(self.shared.wait_for(place + 1)),
            }
            if self.shared.is_over.load(Ordering::Relaxed) {
                return None;
            }
        };
        let slide_of = |known: Arc<Known>| known.image().slide_of(profile).map(|slide| (known, slide));
        let (known, slide) = candidates.into_iter().find_map(slide_of)?;
        let counters = ImageSum::plausible(profile)?;
        let weight = self.shared.inputs[turn.at].input.weight.get();
        if !ImageSum::can_hold(&counters, weight) {
            return None;
        }
        let offsets = known.image().find_values(data, profile, profile.compat(), known.values.starts())?;
        self.shared.images()?.met(&known);
        Some(KnownFile { known, slide, profile: profile.clone(), counters, offsets, ticket: None })
    }

    /// Takes a file of a known image over.
    fn take_over<'d>(
        &self,
        mut file: KnownFile<'d>,
        turn: &mut Turn<'_, '_, '_>,
        report: &mut InputReport,
    ) -> Result<KnownFile<'d>> {
        report.kind = Some(file.profile.kind());
        let is_over = &self.shared.is_over;
        let state = turn.state();
        state.merger.begin_input(file.profile.kind())?;
        report.records = file.profile.len() as u64;
        state.bound = state.bound.saturating_add(file.counters.bound().saturating_mul(report.input.weight.get()));
        state.has_sums = true;
        if !file.known.values.is_empty() {
            state.bring_values_back(Some(&file.known), is_over);
            if state.values_out.is_none() {
                file.known.values.take_out(&mut state.merger);
                state.values_out = Some(Arc::clone(&file.known));
            }
            file.ticket = Some(file.known.values.let_in());
        }
        Ok(file)
    }

    /// Adds what a file of a known image counted.
    fn add(&self, file: KnownFile<'_>, data: &[u8], at: usize) {
        let KnownFile { known, slide, profile, counters, offsets, ticket } = file;
        let weight = self.shared.inputs[at].input.weight.get();
        known.add_counters(&counters, weight);
        let Some(ticket) = ticket else { return };
        let compat = profile.compat();
        let values = ValueFile { bytes: data, profile: &profile, slide, compat, weight, offsets };
        let errors = known.values.add(known.image(), &values, ticket, &self.shared.is_over);
        if !errors.is_empty() {
            let errors = errors.into_iter().map(|(record, error)| (at, record, error));
            self.shared.wait_for(0).soft_errors.extend(errors);
        }
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
        // Under our own rules a bad input gives nothing at all, unless its good
        // records are asked for, or it ends the merge.
        let all_or_nothing =
            !options.read.compat.is_llvm() && !options.salvage && options.failure_mode != FailureMode::Any;
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
        state.bring_values_back(None, &self.shared.is_over);
        let State { merger, soft_errors, has_uniformity, .. } = state;
        let (errors_before, mut bits) = (soft_errors.len(), 0);
        let mut observe = |incoming: RecordRef<'_>, outcome: AddOutcome| {
            if let Some(error) = outcome.error {
                soft_errors.push((at, outcome.record, error));
            }
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
            true => read_ahead(reader, |reader| merger.add_records(reader, adding, records, &mut observe)),
            false => merger.add_records(reader, adding, records, &mut observe),
        };
        state.bound = state.bound.saturating_add(bits.saturating_mul(adding.weight));
        let warnings = reader.take_warnings();
        report.warnings.extend(warnings.into_iter().map(|warning| warning.in_file(&report.input.path)));
        state.merger.add_rest(reader, adding, read)?;
        Ok(state.soft_errors.len() == errors_before)
    }
}

/// The bytes of an input, in `buffer`.
fn load<'b>(
    prepared: &'b Prepared,
    buffer: &'b mut ReadBuffer,
    threads: usize,
    limits: &Limits,
    report: &mut InputReport,
) -> Result<&'b [u8]> {
    #[cfg(test)]
    prepared.readings.fetch_add(1, Ordering::Relaxed);
    let bytes = buffer.read(&prepared.input, limits, threads)?;
    if bytes.len() as u64 != prepared.size && !prepared.input.is_pipe() {
        let message = format!(
            "the file had {} bytes when the run began and {} when it was read; is it still being written?",
            prepared.size,
            bytes.len()
        );
        report.warnings.push(Warning::new(message).in_file(&prepared.input.path));
    }
    Ok(bytes)
}
