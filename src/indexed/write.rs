//! Writing indexed profiles, byte for byte like the target release.
//!
//! All sizes are computed first. So every offset is known before the first byte is written,
//! and the file is written in pieces: header and summaries, hash table, later sections.

use super::layout::{Dialect, HEADER_WORDS, ITEM_HEADER, MAGIC, NEWEST_VERSION, header_size, since, writing_release};
use super::memprof;
use super::records::{data_size, too_large, write_record, written_records};
use crate::bytes::names::{Compression, write_chunk};
use crate::bytes::sink::Buckets;
use crate::bytes::{Endian, Sink};
use crate::error::{Error, Result};
use crate::memory;
use crate::model::hash_order::string_map_order;
use crate::model::record::MAX_VALUES_PER_SITE;
use crate::model::summary::cutoffs;
use crate::model::{
    BinaryId, FunctionId, FunctionView, Loss, LossKind, Losses, Profile, ProfileKind, ProfileSummary, RecordView,
    Release, Selection, SummaryBuilder, TemporalProfile, ValueKind,
};
use crate::threads::Task;
use crate::threads::ordered_writer::write_in_order;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::slice::Chunks;
use std::sync::{Mutex, PoisonError};

/// Options of the writer.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct WriteOptions<'a> {
    /// Format version, 1 to 14.
    pub version: u32,
    /// The release whose order and rules the file follows.
    pub release: Release,
    /// Which functions are written.
    pub selection: Selection<'a>,
    /// Threads that may share the work; the bytes do not depend on it.
    pub threads: NonZeroUsize,
}

impl<'a> WriteOptions<'a> {
    /// A version, as the newest release that writes it does.
    pub fn for_version(version: u32) -> Self {
        Self::for_version_by(version, writing_release(version))
    }

    /// Options for a release; an unknown release is treated as the newest one.
    pub fn for_release(release: Release) -> Self {
        Self::for_version_by(release.indexed_version().unwrap_or(NEWEST_VERSION), release)
    }

    /// A version, by the rules of a release that need not be its usual one:
    /// release 22 writes version 11 for `--write-prev-version`.
    pub fn for_version_by(version: u32, release: Release) -> Self {
        Self { version, release, selection: Selection::all(), threads: NonZeroUsize::MIN }
    }

    /// Writes only what `selection` keeps.
    #[must_use]
    pub fn selection(mut self, selection: Selection<'a>) -> Self {
        self.selection = selection;
        self
    }

    /// Sets the number of threads.
    #[must_use]
    pub fn threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// Whether the version has a place for a memory profile.
    pub(crate) fn holds_memory(&self) -> bool {
        self.dialect().has(since::MEMPROF)
    }

    /// Whether the version has a place for several records of one name.
    pub(crate) fn holds_further_records(&self) -> bool {
        self.dialect().has(since::RECORD_COUNTS)
    }

    /// Whether the version has a place for bitmaps.
    pub(crate) fn holds_bitmaps(&self) -> bool {
        self.dialect().has(since::BITMAPS)
    }

    pub(super) fn dialect(&self) -> Dialect {
        Dialect { version: self.version, release: self.release }
    }
}

/// Options for the default release.
impl Default for WriteOptions<'_> {
    fn default() -> Self {
        Self::for_release(Release::DEFAULT)
    }
}

/// Encodes a profile.
///
/// The bytes are those of `llvm-profdata merge --num-threads=1` of
/// [`WriteOptions::release`] for a profile merged by that release's rules. What
/// the version cannot store is dropped; [`losses`](super::losses) counts it.
///
/// # Errors
///
/// Usage for a version that does not exist; too large where a size does not
/// fit its field; I/O where the file does not fit the memory.
pub fn write(profile: &Profile, options: &WriteOptions<'_>) -> Result<Vec<u8>> {
    let encoder = Encoder::new(profile, options)?;
    memory::written(encoder.len(), |out| encoder.write_to(out))
}

/// A profile about to be written: all sizes and offsets are known.
pub(crate) struct Encoder<'a> {
    profile: &'a Profile,
    dialect: Dialect,
    threads: usize,
    /// Header and summaries.
    front: Vec<u8>,
    /// Functions to be written, in order of insertion into the hash table.
    functions: Vec<FunctionId>,
    /// Bytes of the records of each function of the profile, by its index.
    data_sizes: Vec<u64>,
    buckets: Buckets,
    /// Where in the file each bucket's items are; 0 for an empty one.
    offsets: Vec<u64>,
    /// Where the hash table's index is.
    index_offset: u64,
    trailing: Vec<u8>,
}

/// The bytes of items that are encoded before they are written: they should stay
/// in the processor's cache.
const PIECE: u64 = 256 << 10;

/// Below this number of records or bytes, a second thread costs more than it saves.
const FEW_RECORDS: usize = 20_000;
const FEW_BYTES: u64 = 4 << 20;

/// The functions that a thread measures at a time.
const MEASURED_TOGETHER: usize = 1 << 10;

impl<'a> Encoder<'a> {
    /// Computes order, sizes and offsets.
    ///
    /// # Errors
    ///
    /// The errors of [`write()`].
    pub fn new(profile: &'a Profile, options: &WriteOptions<'_>) -> Result<Self> {
        if !(1..=NEWEST_VERSION).contains(&options.version) {
            return Err(Error::usage(format!("there is no indexed profile version {}", options.version))
                .with_hint(format!("choose a version from 1 to {NEWEST_VERSION}")));
        }
        let (dialect, table, threads) = (options.dialect(), &profile.functions, options.threads.get());
        // A name that was only ever mentioned has nothing to be written.
        let kept =
            |function: &FunctionView<'_>| function.record_ids().next().is_some() && options.selection.keeps(*function);
        let kept: Vec<FunctionId> = table.iter().filter(kept).map(FunctionView::id).collect();
        let helpers = if table.records_len() < FEW_RECORDS { 0 } else { threads - 1 };
        let parts = Mutex::new(kept.chunks(MEASURED_TOGETHER));
        let measure = || Measured::new(profile, dialect, &parts);
        let (inserted, measured) = std::thread::scope(|scope| {
            let tasks: Vec<_> = (0..helpers).map(|_| Task::start(scope, &measure)).collect();
            let inserted = insert(profile, dialect, &kept);
            let own = measure();
            (inserted, std::iter::once(own).chain(tasks.into_iter().map(Task::finish)).collect::<Result<Vec<_>>>())
        });
        let (mut data_sizes, mut summaries) = (vec![0; table.len()], Summaries::new(dialect));
        for part in measured? {
            summaries.absorb(part.summaries);
            part.data_sizes.into_iter().for_each(|(id, size)| data_sizes[id.index()] = size);
        }
        let (functions, buckets) = inserted;
        let bits = dialect.kind_bits(profile.kind);
        let mut encoder = Self {
            profile,
            dialect,
            threads,
            front: Vec::new(),
            functions,
            data_sizes,
            offsets: vec![0; buckets.len()],
            buckets,
            index_offset: 0,
            trailing: Vec::new(),
        };
        encoder.place_items(front_size(dialect, bits))?;
        encoder.place_rest(bits, summaries)?;
        Ok(encoder)
    }

    /// Decides where the items of each bucket are; the first one is at `start`.
    fn place_items(&mut self, start: u64) -> Result<()> {
        let mut position = start;
        for (bucket, offset) in self.offsets.iter_mut().enumerate() {
            let mut count = 0u64;
            let first = position;
            for item in self.buckets.items(bucket) {
                let id = self.functions[item as usize];
                let size = (ITEM_HEADER + self.profile.functions.name(id).len()) as u64 + self.data_sizes[id.index()];
                position = position.saturating_add(if count == 0 { 2 } else { 0 }).saturating_add(size);
                count += 1;
            }
            if count > u64::from(u16::MAX) {
                return Err(too_large("hash table bucket", count, u16::MAX.into()));
            }
            *offset = if count == 0 { 0 } else { first };
        }
        self.index_offset = position.next_multiple_of(8);
        Ok(())
    }

    fn place_rest(&mut self, bits: u64, summaries: Summaries) -> Result<()> {
        let after = self.index_offset.saturating_add(16 + 8 * self.offsets.len() as u64);
        let trailing = Trailing::new(self.profile, self.dialect, bits, after)?;
        let (plain, sensitive) = summaries.finish(cutoffs(self.dialect.release));
        self.front = header(self.dialect, bits, self.index_offset, &trailing, &plain);
        if self.dialect.has(since::SUMMARY) {
            self.front.extend(summary_bytes(&plain));
            if bits & ProfileKind::CONTEXT_SENSITIVE.bits() != 0 {
                self.front.extend(summary_bytes(&sensitive));
            }
        }
        debug_assert_eq!(self.front.len() as u64, front_size(self.dialect, bits));
        self.trailing = trailing.bytes;
        Ok(())
    }

    /// Bytes of the file.
    pub fn len(&self) -> u64 {
        self.index_offset + 16 + 8 * self.offsets.len() as u64 + self.trailing.len() as u64
    }

    /// Writes the file, front to back.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn write_to(&self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        out.write_all(&self.front)?;
        let pieces = self.pieces();
        let threads = if self.index_offset < FEW_BYTES { 1 } else { self.threads };
        write_in_order(pieces.len(), threads, &|at, bytes| self.encode_piece(&pieces[at], bytes), out)?;
        let mut index = Sink::with_capacity(Endian::Little, 16 + 8 * self.offsets.len());
        index.u64s(&[self.buckets.len() as u64, self.functions.len() as u64]);
        index.u64s(&self.offsets);
        out.write_all(index.as_slice())?;
        out.write_all(&self.trailing)
    }

    /// Pieces of about [`PIECE`] bytes each; together all up to the index.
    fn pieces(&self) -> Vec<Piece> {
        let (mut pieces, mut first, mut start) = (Vec::new(), 0, self.front.len() as u64);
        for (bucket, &offset) in self.offsets.iter().enumerate() {
            if offset >= start.saturating_add(PIECE) {
                pieces.push(Piece { buckets: first..bucket, start, end: offset });
                (first, start) = (bucket, offset);
            }
        }
        pieces.push(Piece { buckets: first..self.offsets.len(), start, end: self.index_offset });
        pieces
    }

    /// Appends a piece to `bytes`, which is empty.
    fn encode_piece(&self, piece: &Piece, bytes: &mut Vec<u8>) -> io::Result<()> {
        let size = (piece.end - piece.start) as usize;
        // One function may have more counters than memory holds twice.
        bytes.try_reserve_exact(size).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let mut sink = Sink::onto(std::mem::take(bytes), Endian::Little);
        for bucket in piece.buckets.clone() {
            let count = self.buckets.items(bucket).count();
            if count == 0 {
                continue;
            }
            debug_assert_eq!(piece.start + sink.len() as u64, self.offsets[bucket]);
            sink.u16(count as u16); // it was checked when the items were placed
            for item in self.buckets.items(bucket) {
                let id = self.functions[item as usize];
                let function = self.profile.functions.function(id);
                let (name, data_size) = (function.name(), self.data_sizes[id.index()]);
                sink.u64s(&[function.name_ref(), name.len() as u64, data_size]);
                sink.bytes(name);
                let start = sink.len();
                let mut records = function.records();
                match (records.next(), records.next()) {
                    (Some(only), None) => write_record(&mut sink, self.dialect, only),
                    _ => written_records(self.dialect, function)
                        .into_iter()
                        .for_each(|record| write_record(&mut sink, self.dialect, record)),
                }
                debug_assert_eq!((sink.len() - start) as u64, data_size);
            }
        }
        // Only the last piece ends with padding.
        sink.zeros(size - sink.len());
        *bytes = sink.into_bytes();
        Ok(())
    }
}

/// A run of buckets, and where in the file their items are.
struct Piece {
    buckets: Range<usize>,
    start: u64,
    end: u64,
}

/// The sizes and summaries that one thread computes from the records first.
struct Measured {
    /// Bytes of the records of each function.
    data_sizes: Vec<(FunctionId, u64)>,
    summaries: Summaries,
}

impl Measured {
    /// Measures parts until none is left.
    fn new(profile: &Profile, dialect: Dialect, parts: &Mutex<Chunks<'_, FunctionId>>) -> Result<Self> {
        let (mut data_sizes, mut summaries) = (Vec::new(), Summaries::new(dialect));
        let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
        while let Some(part) = next() {
            for id in part {
                let function = profile.functions.function(*id);
                data_sizes.push((*id, data_size(dialect, function)?));
                summaries.add_function(dialect, function);
            }
        }
        summaries.sort();
        Ok(Self { data_sizes, summaries })
    }
}

/// Inserts functions into the hash table in the order of the release.
fn insert(profile: &Profile, dialect: Dialect, kept: &[FunctionId]) -> (Vec<FunctionId>, Buckets) {
    let functions = insertion_order(profile, dialect, kept);
    let hashes: Vec<u64> = functions.iter().map(|id| profile.functions.function(*id).name_ref()).collect();
    let buckets = Buckets::fill(&hashes, dialect.table_shrinks());
    (functions, buckets)
}

/// Returns the insertion order of the release.
fn insertion_order(profile: &Profile, dialect: Dialect, kept: &[FunctionId]) -> Vec<FunctionId> {
    let table = &profile.functions;
    let mut functions = if dialect.release >= Release(17) {
        table.sorted_by_name()
    } else {
        let ids: Vec<FunctionId> = table.iter().map(FunctionView::id).collect();
        let order = string_map_order(dialect.release, table.iter().map(FunctionView::name));
        order.into_iter().map(|index| ids[index as usize]).collect()
    };
    if kept.len() != functions.len() {
        let mut is_kept = vec![false; table.len()];
        kept.iter().for_each(|id| is_kept[id.index()] = true);
        functions.retain(|id| is_kept[id.index()]);
    }
    functions
}

/// Bytes before the hash table.
fn front_size(dialect: Dialect, bits: u64) -> u64 {
    let context_sensitive = bits & ProfileKind::CONTEXT_SENSITIVE.bits() != 0;
    let summaries = if dialect.has(since::SUMMARY) { 1 + usize::from(context_sensitive) } else { 0 };
    (header_size(dialect.version) + summaries * summary_size(cutoffs(dialect.release))) as u64
}

fn header(dialect: Dialect, bits: u64, hash_table: u64, trailing: &Trailing, summary: &ProfileSummary) -> Vec<u8> {
    let version = dialect.version;
    let mut header = Sink::new(Endian::Little);
    header.bytes(&MAGIC);
    header.u64(u64::from(version) | bits);
    // Versions without a summary keep the largest count here.
    header.u64(if version < since::SUMMARY { summary.max_function_count } else { 0 });
    let Trailing { memprof, binary_ids, traces, vtable_names, .. } = *trailing;
    let words = [0, hash_table, memprof, binary_ids, traces, vtable_names];
    for (word, value) in HEADER_WORDS.iter().zip(words) {
        if word.since <= version {
            header.u64(value);
        }
    }
    header.into_bytes()
}

impl std::fmt::Debug for Encoder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").field("dialect", &self.dialect).field("functions", &self.functions.len()).finish()
    }
}

/// Builds both summaries.
pub(super) struct Summaries {
    plain: SummaryBuilder,
    sensitive: SummaryBuilder,
    /// Whether the release tells the two apart.
    separates: bool,
}

impl Summaries {
    pub(super) fn new(dialect: Dialect) -> Self {
        let builder = || SummaryBuilder::new(dialect.summary_rules());
        Self { plain: builder(), sensitive: builder(), separates: dialect.release >= Release(9) }
    }

    /// Adds the records of a function that are written.
    fn add_function(&mut self, dialect: Dialect, function: FunctionView<'_>) {
        if dialect.has(since::RECORD_COUNTS) {
            function.records().for_each(|record| self.add(record));
        } else {
            written_records(dialect, function).into_iter().for_each(|record| self.add(record));
        }
    }

    /// Bit 60 of the hash decides, whatever the kind of the profile: a record
    /// that has it is missing from the summary of a plain profile, as in LLVM.
    fn add(&mut self, record: RecordView<'_>) {
        let sensitive = self.separates && record.is_context_sensitive();
        let builder = if sensitive { &mut self.sensitive } else { &mut self.plain };
        builder.add_record(record);
    }

    /// Does now what [`finish`](Self::finish) would have to do.
    pub(super) fn sort(&mut self) {
        self.plain.sort();
        self.sensitive.sort();
    }

    /// Adds the records of another part of the functions.
    pub(super) fn absorb(&mut self, other: Self) {
        self.plain.absorb(other.plain);
        self.sensitive.absorb(other.sensitive);
    }

    fn finish(self, cutoffs: &[u32]) -> (ProfileSummary, ProfileSummary) {
        (self.plain.finish(cutoffs), self.sensitive.finish(cutoffs))
    }
}

/// Two sizes, six totals, three words for each cutoff.
fn summary_size(cutoffs: &[u32]) -> usize {
    8 * (2 + 6 + 3 * cutoffs.len())
}

fn summary_bytes(summary: &ProfileSummary) -> Vec<u8> {
    let mut sink = Sink::new(Endian::Little);
    sink.u64s(&[6, summary.rows.len() as u64]);
    sink.u64s(&[u64::from(summary.num_functions), u64::from(summary.num_counts)]);
    sink.u64s(&[summary.max_function_count, summary.max_count, summary.max_internal_count, summary.total_count]);
    for row in &summary.rows {
        sink.u64s(&[u64::from(row.cutoff), row.min_count, row.num_counts]);
    }
    sink.into_bytes()
}

/// The sections, and where in the file they are; 0 for one that is not there.
#[derive(Default)]
pub(super) struct Trailing {
    pub(super) bytes: Vec<u8>,
    pub(super) memprof: u64,
    pub(super) binary_ids: u64,
    pub(super) vtable_names: u64,
    pub(super) traces: u64,
}

impl Trailing {
    /// Encodes the sections of `profile` for byte `start` of the file; `bits`
    /// are the variant bits that are written.
    ///
    /// # Errors
    ///
    /// A memory profile that cannot be moved; out of memory.
    pub(super) fn new(profile: &Profile, dialect: Dialect, bits: u64, start: u64) -> Result<Self> {
        let mut sink = Sink::new(Endian::Little);
        let mut trailing = Self::default();
        let here = |sink: &Sink| start.saturating_add(sink.len() as u64);
        if bits & ProfileKind::MEMPROF.bits() != 0 {
            trailing.memprof = here(&sink);
            match &profile.memprof {
                Some(section) => memprof::write_moved(&mut sink, section, trailing.memprof)?,
                None => memprof::write_empty(&mut sink, dialect.release, trailing.memprof),
            }
        }
        if dialect.has(since::BINARY_IDS) {
            trailing.binary_ids = here(&sink);
            write_binary_ids(&mut sink, &sorted_ids(profile));
        }
        if dialect.has(since::VTABLES) {
            trailing.vtable_names = here(&sink);
            write_vtable_names(&mut sink, profile, dialect)?;
        }
        if bits & ProfileKind::TEMPORAL.bits() != 0 {
            trailing.traces = here(&sink);
            write_traces(&mut sink, &profile.temporal);
        }
        trailing.bytes = sink.into_bytes();
        Ok(trailing)
    }
}

/// Each identity once, in order.
fn sorted_ids(profile: &Profile) -> Vec<&BinaryId> {
    let mut ids: Vec<&BinaryId> = profile.binary_ids.iter().collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn write_binary_ids(sink: &mut Sink, ids: &[&BinaryId]) {
    let size: usize = ids.iter().map(|id| 8 + id.len().next_multiple_of(8)).sum();
    sink.u64(size as u64);
    for id in ids {
        sink.u64(id.len() as u64);
        sink.bytes(id);
        sink.zeros(id.len().next_multiple_of(8) - id.len());
    }
}

fn write_vtable_names(sink: &mut Sink, profile: &Profile, dialect: Dialect) -> Result<()> {
    let names: Vec<&[u8]> = profile.vtable_names.iter().map(Vec::as_slice).collect();
    let order = string_map_order(dialect.release, names.iter().copied());
    let mut chunk = Sink::new(Endian::Little);
    write_chunk(&mut chunk, order.into_iter().map(|index| names[index as usize]), Compression::ZlibOfLlvm)?;
    let chunk = chunk.into_bytes();
    sink.u64(chunk.len() as u64);
    sink.bytes(&chunk);
    sink.zeros(chunk.len().next_multiple_of(8) - chunk.len());
    Ok(())
}

fn write_traces(sink: &mut Sink, temporal: &TemporalProfile) {
    sink.u64(temporal.traces.len() as u64);
    sink.u64(temporal.stream_size);
    for trace in &temporal.traces {
        sink.u64(trace.weight);
        sink.u64(trace.functions.len() as u64);
        sink.u64s(&trace.functions);
    }
}

/// Returns the losses of writing a profile with these options.
pub fn losses(profile: &Profile, options: &WriteOptions<'_>) -> Vec<Loss> {
    let dialect = options.dialect();
    let mut losses = Losses::new();
    count_values_beyond_limit(&mut losses, profile, options);
    if !dialect.has(since::BITMAPS) || dialect.value_kinds().len() < ValueKind::COUNT {
        count_unknown_parts(&mut losses, profile, options);
    }
    if !dialect.has(since::UNIFORMITY) {
        let kept = |function: FunctionView<'_>| options.selection.keeps(function);
        losses.add(LossKind::UniformityBits, profile.functions.uniformity_bits(kept));
    }
    if !dialect.has(since::BINARY_IDS) {
        losses.add(LossKind::BinaryIds, sorted_ids(profile).len() as u64);
    }
    if !dialect.has(since::TRACES) {
        losses.add(LossKind::TemporalTraces, profile.temporal.traces.len() as u64);
    }
    if !dialect.has(since::VTABLES) {
        losses.add(LossKind::VTableNames, profile.vtable_names.len() as u64);
    }
    if !dialect.has(since::MEMPROF) {
        losses.add(LossKind::MemProf, u64::from(profile.memprof.is_some()));
    }
    // The bits of parts that are counted above are not a separate loss.
    let counted = ProfileKind::MEMPROF | ProfileKind::TEMPORAL;
    let kind = profile.kind.without(counted);
    losses.add_properties(ProfileKind::from_bits(kind.indexed_bits() & !dialect.kind_bits(kind)));
    losses.into_vec()
}

/// Counts the values that full sites lose; a merge has cut them before.
fn count_values_beyond_limit(losses: &mut Losses, profile: &Profile, options: &WriteOptions<'_>) {
    if !profile.functions.has_value_sites() {
        return;
    }
    let dialect = options.dialect();
    let functions = profile.functions.iter().filter(|function| options.selection.keeps(*function));
    for record in functions.flat_map(FunctionView::records).filter(|record| record.has_value_sites()) {
        for sites in dialect.value_kinds().iter().map(|kind| record.sites(*kind)) {
            let beyond = sites.iter().map(|site| site.len().saturating_sub(MAX_VALUES_PER_SITE)).sum::<usize>();
            losses.add(LossKind::ValuesBeyondLimit, beyond as u64);
        }
    }
}

/// Counts parts of records that the version or the release does not know.
fn count_unknown_parts(losses: &mut Losses, profile: &Profile, options: &WriteOptions<'_>) {
    let dialect = options.dialect();
    for function in profile.functions.iter().filter(|function| options.selection.keeps(*function)) {
        if !dialect.has(since::RECORD_COUNTS) {
            losses.add(LossKind::FurtherRecords, (function.records().count() as u64).saturating_sub(1));
        }
        for record in function.records() {
            if !dialect.has(since::BITMAPS) {
                losses.add(LossKind::BitmapBytes, record.bitmap.len() as u64);
            }
            for kind in ValueKind::EACH.into_iter().filter(|kind| !dialect.value_kinds().contains(kind)) {
                let lost = if kind == ValueKind::VTableTarget { LossKind::VTableSites } else { LossKind::ValueSites };
                losses.add(lost, record.sites(kind).len() as u64);
            }
        }
    }
}
