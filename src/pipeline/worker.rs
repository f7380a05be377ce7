//! The engine behind [`merge_files`](super::merge_files): who merges which
//! inputs, and when it has to be done again.

use super::ahead::{self, merge_ahead};
use super::images::{self, Images};
use super::memory;
use super::merge::{FailureMode, InputOutcome, InputReport, InputVersion, MergeObserver, MergeOptions};
use super::open::read_with;
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::input::{self, ReadBuffer, WeightedInput};
use crate::instr::{ProfileKind, ProfileReader, RecordId};
use crate::limits::Limits;
use crate::memprof::{MemoryProfile, Source};
use crate::merge::{InputOptions, Merger, SoftError};
use crate::raw::{NameChunks, RawNames, RawProfile, RawReader};
use crate::text;
use crate::threads;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// An input and what is known of it before it is merged.
#[derive(Debug)]
pub(super) struct Prepared {
    input: WeightedInput,
    /// Size when the run began; 0 when unknown.
    size: u64,
    /// Bytes of what can be read once only: standard input, pipes, devices.
    preloaded: Option<Result<Vec<u8>>>,
}

impl Prepared {
    pub(super) fn new(input: WeightedInput, limits: &Limits) -> Self {
        let metadata = std::fs::metadata(&input.path);
        let is_stdin = input.path.as_os_str() == "-";
        let once = is_stdin || metadata.as_ref().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
        let preloaded = once.then(|| {
            let mut bytes = Vec::new();
            input::read_into(&input.path, &mut bytes, limits).map(|()| bytes)
        });
        let size = if once { 0 } else { metadata.map_or(0, |metadata| metadata.len()) };
        Self { input, size, preloaded }
    }
}

/// What a run over all inputs gave.
pub(super) struct Run {
    pub(super) merger: Merger,
    pub(super) reports: Vec<InputReport>,
}

/// Merges all inputs, with as many threads as allowed and useful.
///
/// Three ways, from the quickest to the one that is always right: several
/// threads, one thread with sums per image, one thread record by record. Each
/// gives up when something happens that it would get wrong.
pub(super) fn run(inputs: &[Prepared], options: &MergeOptions, observer: &mut dyn MergeObserver) -> Run {
    let nothing = BTreeSet::new();
    let threads = threads(inputs.len(), options);
    let quick = (threads > 1)
        .then(|| run_quick(inputs, options, threads, images::MOST_BYTES, observer))
        .flatten()
        .or_else(|| run_quick(inputs, options, 1, images::MOST_BYTES, observer));
    let run = quick.unwrap_or_else(|| run_exact(inputs, options, &nothing, observer));
    without_failed(run, inputs, options, observer)
}

/// Under our own rules a bad input gives nothing at all, unless its good
/// records are asked for: merges once more without the inputs that failed
/// after something of them was merged.
fn without_failed(run: Run, inputs: &[Prepared], options: &MergeOptions, observer: &mut dyn MergeObserver) -> Run {
    let keeps_parts = options.read.compat.is_llvm() || options.salvage;
    // The result is not used when a bad input ends the merge.
    if keeps_parts || options.failure_mode == FailureMode::Any {
        return run;
    }
    let failed: BTreeSet<usize> = (0..inputs.len())
        .filter(|at| matches!(run.reports[*at].outcome, InputOutcome::Failed(_)) && run.reports[*at].begun)
        .collect();
    if failed.is_empty() {
        return run;
    }
    let mut again = run_exact(inputs, options, &failed, observer);
    for (at, report) in run.reports.into_iter().enumerate() {
        if failed.contains(&at) {
            again.reports[at] = report;
        }
    }
    again
}

fn threads(inputs: usize, options: &MergeOptions) -> usize {
    // A thread with a single input costs more to join than it saves.
    threads::wanted(options.threads).get().min(inputs / 2).max(1)
}

/// What remembers chunks of names; of no use to a single input.
fn known_chunks(inputs: &[Prepared]) -> Option<Arc<NameChunks>> {
    (inputs.len() > 1).then(Arc::default)
}

/// One input after the other, record by record, with all soft errors.
pub(super) fn run_exact(
    inputs: &[Prepared],
    options: &MergeOptions,
    skip: &BTreeSet<usize>,
    observer: &mut dyn MergeObserver,
) -> Run {
    let mut worker = Worker::new(options, None, known_chunks(inputs), Merger::new);
    worker.threads = threads::wanted(options.threads).get();
    let mut reported = BTreeSet::new();
    for (at, prepared) in inputs.iter().enumerate() {
        if skip.contains(&at) {
            worker.reports.push(InputReport::new(&prepared.input, InputOutcome::Empty));
            continue;
        }
        worker.merge_input(prepared, &mut |function, error| {
            let first = reported.insert(error);
            observer.soft_error(&prepared.input, function, error, first);
        });
        observer.progress(at + 1, inputs.len());
    }
    Run { merger: worker.merger, reports: worker.reports }
}

/// Contiguous runs of the inputs, one a thread, joined in order, with sums per
/// image, which may take `image_bytes`. `None` when something happened that
/// only [`run_exact`] gets right.
pub(super) fn run_quick(
    inputs: &[Prepared],
    options: &MergeOptions,
    threads: usize,
    image_bytes: usize,
    observer: &mut dyn MergeObserver,
) -> Option<Run> {
    let stop = AtomicBool::new(false);
    let progress = Progress { done: AtomicUsize::new(0), total: inputs.len(), observer: Mutex::new(observer) };
    let runs = split(inputs, threads);
    let chunks = known_chunks(inputs);
    let share = Share { threads: threads::wanted(options.threads).get() / threads, image_bytes: image_bytes / threads };
    let workers: Vec<Option<Worker<'_>>> = std::thread::scope(|scope| {
        let (stop, progress, chunks) = (&stop, &progress, &chunks);
        let work = move |run, new_merger| {
            let worker = merge_run(run, new_merger, options, share, chunks.as_ref(), stop, progress);
            if worker.is_none() {
                // Others need not go on: the work must be done again.
                stop.store(true, Ordering::Relaxed);
            }
            worker
        };
        let mut runs = runs.into_iter();
        let first = runs.next();
        let others: Vec<_> = runs.map(|run| scope.spawn(move || work(run, Merger::later_part))).collect();
        let first = first.map(|run| work(run, Merger::new as NewMerger));
        first.into_iter().chain(others.into_iter().map(|handle| handle.join().unwrap_or(None))).collect()
    });
    let mut workers = workers.into_iter().collect::<Option<Vec<_>>>()?.into_iter();
    let mut all = workers.next()?;
    for worker in workers {
        if all.merger.join(worker.merger).any() {
            return None;
        }
        all.reports.extend(worker.reports);
    }
    Some(Run { merger: all.merger, reports: all.reports })
}

/// Makes the merger of the first part of a run, or of a later one.
type NewMerger = fn(crate::merge::MergeOptions) -> Merger;

/// What each thread of a run may use.
#[derive(Clone, Copy)]
struct Share {
    /// Threads for each input, itself included.
    threads: usize,
    /// Bytes of remembered images.
    image_bytes: usize,
}

/// Merges one contiguous run; `None` when the quick way fails or others did.
fn merge_run<'a>(
    run: &[Prepared],
    new_merger: NewMerger,
    options: &'a MergeOptions,
    share: Share,
    chunks: Option<&Arc<NameChunks>>,
    stop: &AtomicBool,
    progress: &Progress<'_>,
) -> Option<Worker<'a>> {
    let mut worker = Worker::new(options, Some(Images::new(share.image_bytes)), chunks.cloned(), new_merger);
    worker.threads = share.threads;
    for (at, prepared) in run.iter().enumerate() {
        worker.is_last = at + 1 == run.len();
        worker.merge_input(prepared, &mut |_, _| {});
        let events = worker.merger.order_events();
        let sticks = worker.bitmap_may_stick && worker.merger.is_later_part();
        if events.soft_errors || events.deferred_too_much || sticks || stop.load(Ordering::Relaxed) {
            return None;
        }
        progress.one_more();
    }
    worker.finish();
    (!worker.merger.order_events().soft_errors).then_some(worker)
}

/// Tells the observer, whichever thread is done with an input.
struct Progress<'o> {
    done: AtomicUsize,
    total: usize,
    observer: Mutex<&'o mut dyn MergeObserver>,
}

impl Progress<'_> {
    fn one_more(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        // Whoever finds the observer busy has nothing newer to tell.
        if let Ok(mut observer) = self.observer.try_lock() {
            observer.progress(done, self.total);
        }
    }
}

/// Splits inputs into `parts` contiguous runs of about the same size in bytes.
fn split(inputs: &[Prepared], parts: usize) -> Vec<&[Prepared]> {
    let weight = |prepared: &Prepared| prepared.size.saturating_add(4096);
    let total: u64 = inputs.iter().map(weight).fold(0, u64::saturating_add);
    let mut runs = Vec::with_capacity(parts);
    let (mut start, mut sum) = (0, 0u64);
    for (at, prepared) in inputs.iter().enumerate() {
        sum = sum.saturating_add(weight(prepared));
        let share = u128::from(total) * (runs.len() as u128 + 1) / parts as u128;
        if u128::from(sum) >= share && runs.len() + 1 < parts {
            runs.push(&inputs[start..=at]);
            start = at + 1;
        }
    }
    runs.push(&inputs[start..]);
    runs
}

/// Merges inputs one after another.
struct Worker<'a> {
    options: &'a MergeOptions,
    merger: Merger,
    reports: Vec<InputReport>,
    /// The bytes of the current input; one buffer serves all.
    buffer: ReadBuffer,
    /// The images met so far; `None` when every file is read record by record.
    images: Option<Images>,
    /// Names of the last raw file read record by record, for the next one.
    names: Option<Arc<RawNames>>,
    /// Chunks of names of all files so far; shared by the workers of a run.
    chunks: Option<Arc<NameChunks>>,
    /// Where the records of the current input went, while `images` wants it.
    placed: Vec<RecordId>,
    /// Whether no input follows that could be of the same image.
    is_last: bool,
    /// Threads for each input, this one included.
    threads: usize,
    /// Whether the records at hand are added by another thread than reads them.
    reads_ahead: bool,
    /// Whether a text's records may depend on inputs before those of this
    /// worker: see [`Compat::text_bitmaps_stick`](crate::compat::Compat::text_bitmaps_stick).
    bitmap_may_stick: bool,
}

type OnSoftError<'a> = dyn FnMut(&[u8], SoftError) + 'a;

impl<'a> Worker<'a> {
    fn new(
        options: &'a MergeOptions,
        images: Option<Images>,
        chunks: Option<Arc<NameChunks>>,
        new_merger: NewMerger,
    ) -> Self {
        Self {
            options,
            merger: new_merger(options.merger_options()),
            reports: Vec::new(),
            buffer: ReadBuffer::default(),
            images,
            names: None,
            chunks,
            placed: Vec::new(),
            is_last: false,
            threads: 1,
            reads_ahead: false,
            bitmap_may_stick: false,
        }
    }

    /// Hands the sums over to the merger, when all inputs are done, and lets go
    /// of what was of use to inputs only.
    fn finish(&mut self) {
        if let Some(mut images) = self.images.take() {
            images.finish(&mut self.merger);
        }
        (self.names, self.chunks) = (None, None);
        (self.buffer, self.placed) = (ReadBuffer::default(), Vec::new());
    }

    /// Merges one input and notes what became of it.
    fn merge_input(&mut self, prepared: &Prepared, on_soft_error: &mut OnSoftError<'_>) {
        let mut report = InputReport::new(&prepared.input, InputOutcome::Used);
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = load(prepared, &mut buffer, self.threads, &self.options.read.limits, &mut report);
        let merged = read.and_then(|data| self.merge_bytes(data, prepared, &mut report, on_soft_error));
        if let Err(error) = merged {
            let error = error.in_file(&prepared.input.path);
            report.outcome = match error.kind() {
                ErrorKind::EmptyProfile => InputOutcome::Empty,
                _ => InputOutcome::Failed(error),
            };
        }
        self.buffer = buffer;
        self.reports.push(report);
    }

    fn merge_bytes(
        &mut self,
        data: &[u8],
        prepared: &Prepared,
        report: &mut InputReport,
        on_soft_error: &mut OnSoftError<'_>,
    ) -> Result<()> {
        let inflated;
        let gzip = !self.options.read.compat.is_llvm() && input::detect(data) == input::Format::Gzip;
        let data = if gzip {
            inflated = input::inflate(data, &self.options.read.limits)?;
            &inflated
        } else {
            data
        };
        let format = input::detect(data);
        if matches!(format, input::Format::Raw { .. }) {
            return self.merge_raw(data, prepared, report, on_soft_error);
        }
        if memory::is_memory_profile(data, self.options.read.compat) {
            return self.merge_memory(data, prepared, report);
        }
        let options = self.options;
        read_with(data, &options.read, self.threads, |reader| {
            let is_indexed = format == input::Format::Indexed;
            let version = match is_indexed {
                true => InputVersion::Indexed(reader.version_word()),
                false => InputVersion::Text { has_colon_names: text::has_colon_names(data) },
            };
            report.version = Some(version);
            self.merge_reader(reader, prepared, report, on_soft_error)
        })
    }

    /// Merges a memory profile that is a file of its own.
    fn merge_memory(&mut self, data: &[u8], prepared: &Prepared, report: &mut InputReport) -> Result<()> {
        let read = memory::read(data, &self.options.read, self.options.release);
        if self.options.read.compat.is_llvm() && input::detect(data) != input::Format::RawMemProf {
            // LLVM knows of its kind before it finds out what is wrong with it.
            let begun = self.merger.begin_input(ProfileKind::MEMPROF);
            begun.map_err(|error| memory::conflict(error, &Source::Yaml))?;
            if read.is_err() {
                // What it says of static data counts: nothing.
                self.merger.add_memory(MemoryProfile::default(), Source::Yaml, 1);
            }
        }
        let (profile, source) = read?;
        self.merger.begin_input(ProfileKind::MEMPROF).map_err(|error| memory::conflict(error, &source))?;
        report.begun = true;
        report.records = profile.records().len() as u64;
        self.merger.add_memory(profile, source, prepared.input.weight.get());
        Ok(())
    }

    /// Merges a raw file: quickly when it is of an image met before, else
    /// record by record.
    fn merge_raw(
        &mut self,
        data: &[u8],
        prepared: &Prepared,
        report: &mut InputReport,
        on_soft_error: &mut OnSoftError<'_>,
    ) -> Result<()> {
        let read = &self.options.read;
        let mut options = read.raw();
        options.names = self.names.take();
        options.known_chunks = self.chunks.clone();
        if let Some(images) = self.images.as_mut().filter(|_| read.correlator.is_none()) {
            let profile = RawProfile::read(data, 0, read.compat)?;
            report.version = Some(InputVersion::Raw(profile.header().version().into()));
            if let Some(found) = images.find(&profile) {
                report.kind = Some(profile.kind());
                self.merger.begin_input(profile.kind())?;
                report.begun = true;
                let weight = prepared.input.weight.get();
                if images.add(found, data, &profile, weight, profile.compat(), &mut self.merger) {
                    report.records = profile.len() as u64;
                    return Ok(());
                }
            }
            if !self.is_last {
                // Before it is read, so that the old and the new are not held together.
                images.make_room_for(&profile, &mut self.merger);
            }
        }
        options.threads = NonZeroUsize::new(self.threads);
        let mut reader = RawReader::new(data, options)?;
        report.version = Some(InputVersion::Raw(reader.profile().header().version().into()));
        if self.chunks.is_none() {
            // The only input: its names are in memory anyway.
            reader.names().stay();
        }
        let records = reader.profile().len();
        self.merger.reserve(records);
        self.reads_ahead = self.threads > 1 && self.is_last && records >= ahead::FEW_RECORDS;
        self.placed.clear();
        if self.images.is_some() && !self.is_last {
            self.placed.reserve_exact(records);
        }
        let merged = self.merge_reader(&mut reader, prepared, report, on_soft_error);
        // A file of several profiles, or with records from elsewhere, is no pattern for others.
        let is_pattern =
            merged.is_ok() && report.warnings.is_empty() && reader.profile().start() == 0 && read.correlator.is_none();
        if let Some(images) = self.images.as_mut().filter(|_| is_pattern && !self.is_last) {
            let placed = std::mem::take(&mut self.placed);
            images.remember(reader.profile(), reader.names(), placed);
        }
        self.names = Some(Arc::clone(reader.names()));
        merged
    }

    fn merge_reader(
        &mut self,
        reader: &mut dyn ProfileReader,
        prepared: &Prepared,
        report: &mut InputReport,
        on_soft_error: &mut OnSoftError<'_>,
    ) -> Result<()> {
        report.kind = Some(reader.kind());
        self.merger.begin_input(reader.kind())?;
        report.begun = true;
        let mut adding = InputOptions::weighted(prepared.input.weight.get());
        adding.remapping = Some(&self.options.remapping).filter(|remapping| !remapping.is_empty());
        adding.most_name_bytes = self.options.read.limits.name_bytes;
        // LLVM's merge leaves an empty section in its place.
        adding.takes_memprof = !self.options.read.compat.is_llvm();
        let records = self.merge_records(reader, &adding, report, on_soft_error);
        let warnings = reader.take_warnings();
        report.warnings.extend(warnings.into_iter().map(|warning| warning.in_file(&prepared.input.path)));
        self.merger.add_rest(reader, &adding, records)
    }

    fn merge_records(
        &mut self,
        reader: &mut dyn ProfileReader,
        adding: &InputOptions<'_>,
        report: &mut InputReport,
        on_soft_error: &mut OnSoftError<'_>,
    ) -> Result<()> {
        if std::mem::take(&mut self.reads_ahead) {
            return merge_ahead(reader, &mut self.merger, adding, &mut report.records);
        }
        let is_text = matches!(report.version, Some(InputVersion::Text { .. }));
        let sticks = is_text && self.options.read.compat.text_bitmaps_stick();
        let places = self.images.is_some() && !self.is_last;
        let Self { merger, placed, bitmap_may_stick, .. } = self;
        merger.add_records(reader, adding, &mut report.records, &mut |incoming, outcome| {
            if let Some(error) = outcome.error {
                on_soft_error(incoming.name, error);
            }
            if places {
                placed.push(outcome.record);
            }
            // Had an input before this part the record, it would not be taken over.
            *bitmap_may_stick |= sticks && outcome.is_new && !incoming.record.bitmap.is_empty();
        })
    }
}

/// The bytes of an input, in `buffer` unless they are in memory already.
fn load<'b>(
    prepared: &'b Prepared,
    buffer: &'b mut ReadBuffer,
    threads: usize,
    limits: &Limits,
    report: &mut InputReport,
) -> Result<&'b [u8]> {
    match &prepared.preloaded {
        Some(Ok(bytes)) => Ok(bytes),
        Some(Err(error)) => Err(Error::usage(error.to_string())),
        None => {
            let bytes = buffer.read(&prepared.input.path, limits, threads)?;
            if bytes.len() as u64 != prepared.size {
                let message = format!(
                    "the file had {} bytes when the run began and {} when it was read; is it still being written?",
                    prepared.size,
                    bytes.len()
                );
                report.warnings.push(Warning::new(message).in_file(&prepared.input.path));
            }
            Ok(bytes)
        }
    }
}

impl InputReport {
    pub(super) fn new(input: &WeightedInput, outcome: InputOutcome) -> Self {
        Self {
            input: input.clone(),
            outcome,
            version: None,
            records: 0,
            kind: None,
            begun: false,
            warnings: Vec::new(),
        }
    }
}
