//! Writing indexed profiles, byte for byte as the release asked for.
//!
//! Everything is sized first, so that every offset is known before the first
//! byte is written, and the file can go out piece by piece.

use super::dialect::Dialect;
use super::layout::{HEADER_WORDS, ITEM_HEADER, MAGIC, NEWEST_VERSION, header_size, since, writing_release};
use super::payload::{data_size, too_large, write_item};
use super::summaries::{Summaries, summary_bytes, summary_size};
use super::trailing::Trailing;
use crate::bytes::hash_table::Buckets;
use crate::bytes::{Endian, Sink};
use crate::error::{Error, Result};
use crate::memory::{self, HOLD_OUTPUT};
use crate::model::hash_order::string_map_order;
use crate::model::{FunctionId, FunctionView, Profile, ProfileKind, ProfileSummary, Release, Selection};
use crate::threads::Task;
use crate::threads::ordered_writer::write_in_order;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::ops::Range;

/// What an indexed profile is written as.
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

    /// What a release writes; releases that are not known write as the newest.
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

    /// Lets so many threads share the work.
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

    pub(super) fn dialect(&self) -> Dialect {
        Dialect { version: self.version, release: self.release }
    }
}

/// What the default release writes.
impl Default for WriteOptions<'_> {
    fn default() -> Self {
        Self::for_release(Release::DEFAULT)
    }
}

/// Encodes a profile.
///
/// The bytes are those of `llvm-profdata merge --num-threads=1` of
/// [`WriteOptions::release`] for a profile merged by that release's rules. What
/// the version cannot hold is left out; [`losses`](super::losses) says what.
///
/// # Errors
///
/// Usage for a version that does not exist; too large where a size does not
/// fit its field; I/O where the file does not fit the memory.
pub fn write(profile: &Profile, options: &WriteOptions<'_>) -> Result<Vec<u8>> {
    let encoder = Encoder::new(profile, options)?;
    let mut bytes = Vec::new();
    let reserved = bytes.try_reserve_exact(usize::try_from(encoder.len()).unwrap_or(usize::MAX));
    reserved.map_err(|_| memory::refused(HOLD_OUTPUT))?;
    encoder.write_to(&mut bytes).map_err(|source| Error::io("cannot write", source))?;
    Ok(bytes)
}

/// A profile about to be written: all sizes and offsets are known.
pub struct Encoder<'a> {
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

/// So many bytes of items are encoded before they are written: they should stay
/// in the processor's cache.
const PIECE: u64 = 256 << 10;

/// Below so many records or bytes, a second thread costs more than it saves.
const FEW_RECORDS: usize = 20_000;
const FEW_BYTES: u64 = 4 << 20;

impl<'a> Encoder<'a> {
    /// Decides on order, sizes and offsets.
    ///
    /// # Errors
    ///
    /// As [`write()`].
    pub fn new(profile: &'a Profile, options: &WriteOptions<'_>) -> Result<Self> {
        if !(1..=NEWEST_VERSION).contains(&options.version) {
            return Err(Error::usage(format!("there is no indexed profile version {}", options.version))
                .with_hint(format!("versions are 1 to {NEWEST_VERSION}")));
        }
        let (dialect, table, threads) = (options.dialect(), &profile.functions, options.threads.get());
        // A name that was only ever mentioned has nothing to be written.
        let kept =
            |function: &FunctionView<'_>| function.record_ids().next().is_some() && options.selection.keeps(*function);
        let kept: Vec<FunctionId> = memory::collect(table.iter().filter(kept).map(FunctionView::id), HOLD_OUTPUT)?;
        let helpers = if table.records_len() < FEW_RECORDS { 0 } else { threads - 1 };
        let (inserted, measured) = std::thread::scope(|scope| {
            let part = kept.len().div_ceil(helpers.max(1)).max(1);
            let measure = |part: &[FunctionId]| Measured::new(profile, dialect, part);
            let tasks: Vec<_> = match helpers {
                0 => Vec::new(),
                _ => kept.chunks(part).map(|part| Task::start(scope, move || measure(part))).collect(),
            };
            let inserted = insert(profile, dialect, &kept);
            let parts = match helpers {
                0 => vec![measure(&kept)],
                _ => tasks.into_iter().map(Task::finish).collect(),
            };
            (inserted, parts)
        });
        let (mut data_sizes, mut summaries) = (memory::filled(0, table.len(), HOLD_OUTPUT)?, Summaries::new(dialect));
        let mut ids = kept.iter();
        for part in measured {
            let part = part?;
            summaries.absorb(part.summaries);
            ids.by_ref().zip(part.data_sizes).for_each(|(id, size)| data_sizes[id.index()] = size);
        }
        let (functions, buckets) = inserted?;
        let bits = dialect.kind_bits(profile.kind);
        let mut encoder = Self {
            profile,
            dialect,
            threads,
            front: Vec::new(),
            functions,
            data_sizes,
            offsets: memory::filled(0, buckets.len(), HOLD_OUTPUT)?,
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
        let (plain, sensitive) = summaries.finish(self.dialect.cutoffs())?;
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

    /// Whether the file has no bytes, which none has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the file, front to back.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_to(&self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        out.write_all(&self.front)?;
        let pieces = self.pieces();
        let threads = if self.index_offset < FEW_BYTES { 1 } else { self.threads };
        write_in_order(pieces.len(), threads, &|at, bytes| self.encode_piece(&pieces[at], bytes), out)?;
        let mut index = Sink::with_capacity(Endian::Little, 16 + 8 * self.offsets.len());
        index.u64s(&[self.buckets.len() as u64, self.functions.len() as u64]);
        index.u64s(&self.offsets);
        out.write_all(&index.finish().map_err(|_| io::ErrorKind::OutOfMemory)?)?;
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
        let mut sink = Sink::onto(std::mem::take(bytes), Endian::Little);
        for bucket in piece.buckets.clone() {
            let count = self.buckets.items(bucket).count();
            if count == 0 {
                continue;
            }
            debug_assert!(sink.is_out_of_memory() || piece.start + sink.len() as u64 == self.offsets[bucket]);
            sink.u16(count as u16); // it was checked when the items were placed
            for item in self.buckets.items(bucket) {
                let id = self.functions[item as usize];
                let function = self.profile.functions.function(id);
                write_item(&mut sink, self.dialect, function, self.data_sizes[id.index()]);
            }
        }
        // Only the last piece ends with padding.
        sink.zeros((piece.end - piece.start) as usize - sink.len());
        // One function may have more counters than memory holds twice.
        *bytes = sink.finish().map_err(|_| io::ErrorKind::OutOfMemory)?;
        Ok(())
    }
}

/// A run of buckets, and where in the file their items are.
struct Piece {
    buckets: Range<usize>,
    start: u64,
    end: u64,
}

/// What a first pass over the records finds.
struct Measured {
    /// Bytes of the records of each function.
    data_sizes: Vec<u64>,
    summaries: Summaries,
}

impl Measured {
    fn new(profile: &Profile, dialect: Dialect, functions: &[FunctionId]) -> Result<Self> {
        let mut summaries = Summaries::new(dialect);
        let mut data_sizes = Vec::new();
        memory::reserve(&mut data_sizes, functions.len(), HOLD_OUTPUT)?;
        for id in functions {
            let function = profile.functions.function(*id);
            data_sizes.push(data_size(dialect, function)?);
            summaries.add_function(dialect, function)?;
        }
        summaries.sort();
        Ok(Self { data_sizes, summaries })
    }
}

/// Puts functions into the hash table, in the order in which the release does.
fn insert(profile: &Profile, dialect: Dialect, kept: &[FunctionId]) -> Result<(Vec<FunctionId>, Buckets)> {
    let functions = insertion_order(profile, dialect, kept)?;
    let hashes = functions.iter().map(|id| profile.functions.function(*id).name_ref());
    let hashes: Vec<u64> = memory::collect(hashes, HOLD_OUTPUT)?;
    let buckets = Buckets::fill(&hashes, dialect.table_shrinks())?;
    Ok((functions, buckets))
}

/// The order in which the release puts functions into the hash table.
fn insertion_order(profile: &Profile, dialect: Dialect, kept: &[FunctionId]) -> Result<Vec<FunctionId>> {
    let table = &profile.functions;
    let mut functions = if dialect.release >= Release(17) {
        table.sorted_by_name()?
    } else {
        let ids: Vec<FunctionId> = memory::collect(table.iter().map(FunctionView::id), HOLD_OUTPUT)?;
        let order = string_map_order(dialect.release, table.iter().map(FunctionView::name))?;
        memory::collect(order.into_iter().map(|index| ids[index as usize]), HOLD_OUTPUT)?
    };
    if kept.len() != functions.len() {
        let mut is_kept = memory::filled(false, table.len(), HOLD_OUTPUT)?;
        kept.iter().for_each(|id| is_kept[id.index()] = true);
        functions.retain(|id| is_kept[id.index()]);
    }
    Ok(functions)
}

/// Bytes before the hash table.
fn front_size(dialect: Dialect, bits: u64) -> u64 {
    let context_sensitive = bits & ProfileKind::CONTEXT_SENSITIVE.bits() != 0;
    let summaries = if dialect.has(since::SUMMARY) { 1 + usize::from(context_sensitive) } else { 0 };
    (header_size(dialect.version) + summaries * summary_size(dialect.cutoffs())) as u64
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
