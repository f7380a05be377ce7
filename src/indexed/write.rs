//! Writing indexed profiles, byte for byte as the release asked for.
//!
//! Everything is sized first, so that the file is made in one buffer in one
//! pass and every offset is known when it is written.

use super::layout::{HEADER_WORDS, ITEM_HEADER, MAGIC, NEWEST_VERSION, header_size, since, writing_release};
use super::{memprof, order, table::Buckets};
use crate::bytes::names::{Compression, write_chunk};
use crate::bytes::{Endian, Sink};
use crate::error::{Error, ErrorKind, Result};
use crate::model::hash_order::string_map_order;
use crate::model::summary::{CUTOFFS, SummaryRules};
use crate::model::value::MAX_VALUES_PER_SITE;
use crate::model::{
    BinaryId, FunctionId, FunctionRecord, FunctionView, Loss, LossKind, Losses, Profile, ProfileKind, ProfileSummary,
    Release, Selection, SummaryBuilder, TemporalProfile, ValueKind, ValueSites,
};

/// What an indexed profile is written as.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct WriteOptions<'a> {
    /// Format version, 1 to 13.
    pub version: u32,
    /// The release whose order and rules the file follows.
    pub release: Release,
    /// Which functions are written.
    pub selection: Selection<'a>,
}

impl<'a> WriteOptions<'a> {
    /// A version, as the newest release that writes it does.
    pub fn for_version(version: u32) -> Self {
        Self { version, release: writing_release(version), selection: Selection::all() }
    }

    /// What a release writes; releases that are not known write as the newest.
    pub fn for_release(release: Release) -> Self {
        Self { version: release.indexed_version().unwrap_or(NEWEST_VERSION), release, selection: Selection::all() }
    }

    /// A version, by the rules of a release that need not be its usual one:
    /// release 22 writes version 11 for `--write-prev-version`.
    pub fn for_version_by(version: u32, release: Release) -> Self {
        Self { version, release, selection: Selection::all() }
    }

    /// Writes only what `selection` keeps.
    #[must_use]
    pub fn selection(mut self, selection: Selection<'a>) -> Self {
        self.selection = selection;
        self
    }

    fn has(&self, since: u32) -> bool {
        self.version >= since
    }

    fn value_kinds(&self) -> &'static [ValueKind] {
        if !self.has(since::VALUE_SITES) {
            &[]
        } else if self.release >= Release(19) {
            &ValueKind::ALL
        } else {
            &ValueKind::ALL[..2]
        }
    }

    /// The variant bits that the release knows.
    fn kind_bits(&self, kind: ProfileKind) -> u64 {
        const SINCE: [(ProfileKind, u32); 8] = [
            (ProfileKind::IR, 3),
            (ProfileKind::CONTEXT_SENSITIVE, 9),
            (ProfileKind::ENTRY_FIRST, 11),
            (ProfileKind::BYTE_COVERAGE, 14),
            (ProfileKind::FUNCTION_ENTRY_ONLY, 14),
            (ProfileKind::MEMPROF, 15),
            (ProfileKind::TEMPORAL, 17),
            (ProfileKind::LOOP_ENTRIES, 20),
        ];
        let known = SINCE.iter().filter(|(_, since)| self.release >= Release(*since));
        let known = known.fold(ProfileKind::NONE, |all, (bit, _)| all | *bit);
        let mut kind = kind.intersection(known);
        if !self.has(since::MEMPROF) {
            kind = kind.without(ProfileKind::MEMPROF);
        }
        if !self.has(since::TRACES) {
            kind = kind.without(ProfileKind::TEMPORAL);
        }
        if !self.has(since::SUMMARY) {
            kind = kind.without(ProfileKind::CONTEXT_SENSITIVE);
        }
        kind.indexed_bits()
    }

    /// Releases up to 6 list two cutoffs twice.
    fn cutoffs(&self) -> &'static [u32] {
        if self.release <= Release(6) { &EARLY_CUTOFFS } else { &CUTOFFS }
    }

    /// Releases up to 3.9 never make the hash table smaller than it was at the
    /// start.
    fn table_shrinks(&self) -> bool {
        self.release > Release(3)
    }

    fn summary_rules(&self) -> SummaryRules {
        if self.release >= Release(16) { SummaryRules::PseudoCounts } else { SummaryRules::BeforePseudoCounts }
    }
}

impl Default for WriteOptions<'_> {
    fn default() -> Self {
        Self::for_version(NEWEST_VERSION)
    }
}

/// Encodes a profile.
///
/// The bytes are those of `llvm-profdata merge --num-threads=1` of
/// [`WriteOptions::release`] for a profile merged by that release's rules. What
/// the version cannot hold is left out; [`losses`] says what.
///
/// # Errors
///
/// Usage for a version that does not exist; too large where a size does not
/// fit its field.
pub fn write(profile: &Profile, options: &WriteOptions<'_>) -> Result<Vec<u8>> {
    if !(1..=NEWEST_VERSION).contains(&options.version) {
        return Err(Error::usage(format!("there is no indexed profile version {}", options.version))
            .with_hint(format!("versions are 1 to {NEWEST_VERSION}")));
    }
    Writer::new(profile, options)?.write()
}

/// What the version asked for cannot hold of a profile.
pub fn losses(profile: &Profile, options: &WriteOptions<'_>) -> Vec<Loss> {
    let mut losses = Losses::new();
    count_values_beyond_limit(&mut losses, profile, options);
    if !options.has(since::BITMAPS) || options.value_kinds().len() < ValueKind::COUNT {
        count_unknown_parts(&mut losses, profile, options);
    }
    if !options.has(since::BINARY_IDS) {
        losses.add(LossKind::BinaryIds, sorted_ids(profile).len() as u64);
    }
    if !options.has(since::TRACES) {
        losses.add(LossKind::TemporalTraces, profile.temporal.traces.len() as u64);
    }
    if !options.has(since::VTABLES) {
        losses.add(LossKind::VTableNames, profile.vtable_names.len() as u64);
    }
    if !options.has(since::MEMPROF) {
        losses.add(LossKind::MemProf, u64::from(profile.memprof.is_some()));
    }
    // The bits of parts that are counted above are no loss of their own.
    let counted = ProfileKind::MEMPROF | ProfileKind::TEMPORAL;
    let kind = profile.kind.without(counted);
    losses.add(LossKind::KindBits, u64::from((kind.indexed_bits() & !options.kind_bits(kind)).count_ones()));
    losses.into_vec()
}

/// Counts the values that full sites lose; a merge has cut them before.
fn count_values_beyond_limit(losses: &mut Losses, profile: &Profile, options: &WriteOptions<'_>) {
    let functions = profile.functions.iter().filter(|function| options.selection.keeps(*function));
    for record in functions.flat_map(FunctionView::records).filter(|record| record.has_value_sites()) {
        for sites in options.value_kinds().iter().map(|kind| record.sites(*kind)) {
            let beyond = sites.iter().map(|site| site.len().saturating_sub(MAX_VALUES_PER_SITE)).sum::<usize>();
            losses.add(LossKind::ValuesBeyondLimit, beyond as u64);
        }
    }
}

/// Counts parts of records that the version or the release does not know.
fn count_unknown_parts(losses: &mut Losses, profile: &Profile, options: &WriteOptions<'_>) {
    for function in profile.functions.iter().filter(|function| options.selection.keeps(*function)) {
        if !options.has(since::RECORD_COUNTS) {
            losses.add(LossKind::FurtherRecords, (function.records().count() as u64).saturating_sub(1));
        }
        for record in function.records() {
            if !options.has(since::BITMAPS) {
                losses.add(LossKind::BitmapBytes, record.bitmap.len() as u64);
            }
            for kind in ValueKind::ALL.into_iter().filter(|kind| !options.value_kinds().contains(kind)) {
                let lost = if kind == ValueKind::VTableTarget { LossKind::VTableSites } else { LossKind::ValueSites };
                losses.add(lost, record.sites(kind).len() as u64);
            }
        }
    }
}

/// The records of a function that the version has room for, in file order.
fn written_records<'a>(options: &WriteOptions<'_>, function: FunctionView<'a>) -> Vec<&'a FunctionRecord> {
    let mut records = order::records_in_file_order(options.release, function);
    if !options.has(since::RECORD_COUNTS) {
        records.truncate(1);
    }
    records
}

fn sorted_ids(profile: &Profile) -> Vec<&BinaryId> {
    let mut ids: Vec<&BinaryId> = profile.binary_ids.iter().collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

struct Writer<'a> {
    profile: &'a Profile,
    options: &'a WriteOptions<'a>,
    /// Functions to be written, in order of insertion into the hash table.
    functions: Vec<FunctionId>,
    /// Bytes of each one's records.
    data_sizes: Vec<u64>,
    /// Variant bits to be written.
    bits: u64,
}

impl<'a> Writer<'a> {
    fn new(profile: &'a Profile, options: &'a WriteOptions<'a>) -> Result<Self> {
        let table = &profile.functions;
        let mut functions = if options.release >= Release(17) {
            table.sorted_by_name()
        } else {
            let ids: Vec<FunctionId> = table.iter().map(FunctionView::id).collect();
            let order = string_map_order(options.release, table.iter().map(FunctionView::name));
            order.into_iter().map(|index| ids[index as usize]).collect()
        };
        functions.retain(|id| options.selection.keeps(table.function(*id)));
        // A name that was only ever mentioned has nothing to be written.
        functions.retain(|id| table.function(*id).record_ids().next().is_some());
        let data_sizes = functions.iter().map(|id| data_size(options, table.function(*id))).collect::<Result<_>>()?;
        Ok(Self { profile, options, functions, data_sizes, bits: options.kind_bits(profile.kind) })
    }

    fn write(&self) -> Result<Vec<u8>> {
        let table = &self.profile.functions;
        let hashes: Vec<u64> = self.functions.iter().map(|id| table.function(*id).name_ref()).collect();
        let buckets = Buckets::fill(&hashes, self.options.table_shrinks());
        let mut sink = Sink::with_capacity(Endian::Little, self.size_estimate(buckets.len()));
        let header_size = header_size(self.options.version);
        let context_sensitive = self.bits & ProfileKind::CONTEXT_SENSITIVE.bits() != 0;
        let summaries = if !self.options.has(since::SUMMARY) { 0 } else { 1 + usize::from(context_sensitive) };
        let summary_size = summary_size(self.options.cutoffs());
        sink.zeros(header_size + summaries * summary_size);

        let mut summary = Summaries::new(self.options);
        let mut offsets = vec![0u64; buckets.len()];
        for (items, offset) in buckets.iter().zip(&mut offsets) {
            let count = items.clone().count();
            if count == 0 {
                continue;
            }
            *offset = sink.len() as u64;
            sink.u16(u16::try_from(count).map_err(|_| too_large("hash table bucket", count as u64, u16::MAX.into()))?);
            for item in items {
                self.write_item(&mut sink, item as usize, &mut summary);
            }
        }
        sink.align(8);
        let mut places = HeaderPlaces { hash_table: sink.len() as u64, ..HeaderPlaces::default() };
        sink.u64(buckets.len() as u64);
        sink.u64(self.functions.len() as u64);
        sink.u64s(&offsets);
        self.write_trailing_sections(&mut sink, &mut places)?;

        let (plain, sensitive) = summary.finish(self.options.cutoffs());
        let header = self.header(&places, &plain);
        debug_assert_eq!(header.len(), header_size);
        sink.overwrite(0, &header);
        if summaries > 0 {
            sink.overwrite(header_size, &summary_bytes(&plain));
        }
        if summaries > 1 {
            sink.overwrite(header_size + summary_size, &summary_bytes(&sensitive));
        }
        Ok(sink.into_bytes())
    }

    fn size_estimate(&self, buckets: usize) -> usize {
        let table = &self.profile.functions;
        let names: usize = self.functions.iter().map(|id| table.name(*id).len() + ITEM_HEADER + 2).sum();
        let data = self.data_sizes.iter().fold(0u64, |sum, size| sum.saturating_add(*size));
        names.saturating_add(usize::try_from(data).unwrap_or(usize::MAX)).saturating_add(buckets * 8 + 4096)
    }

    fn write_item(&self, sink: &mut Sink, item: usize, summary: &mut Summaries) {
        let function = self.profile.functions.function(self.functions[item]);
        let name = function.name();
        sink.u64(function.name_ref());
        sink.u64(name.len() as u64);
        sink.u64(self.data_sizes[item]);
        sink.bytes(name);
        let start = sink.len();
        let mut records = function.records();
        match (records.next(), records.next()) {
            (Some(only), None) => self.write_record(sink, only, summary),
            _ => {
                for record in written_records(self.options, function) {
                    self.write_record(sink, record, summary);
                }
            }
        }
        debug_assert_eq!((sink.len() - start) as u64, self.data_sizes[item]);
    }

    fn write_record(&self, sink: &mut Sink, record: &FunctionRecord, summary: &mut Summaries) {
        summary.add(record);
        sink.u64(record.func_hash);
        if self.options.has(since::RECORD_COUNTS) {
            sink.u64(record.counters.len() as u64);
        }
        sink.u64s(&record.counters);
        if self.options.has(since::BITMAPS) {
            sink.u64(record.bitmap.len() as u64);
            record.bitmap.iter().for_each(|byte| sink.u64(u64::from(*byte)));
        }
        if self.options.has(since::VALUE_SITES) {
            write_value_blob(sink, record, self.options.value_kinds());
        }
    }

    fn write_trailing_sections(&self, sink: &mut Sink, places: &mut HeaderPlaces) -> Result<()> {
        if self.bits & ProfileKind::MEMPROF.bits() != 0 {
            places.memprof = sink.len() as u64;
            match &self.profile.memprof {
                Some(section) => memprof::write_moved(sink, section)?,
                None => memprof::write_empty(sink, self.options.release),
            }
        }
        if self.options.has(since::BINARY_IDS) {
            places.binary_ids = sink.len() as u64;
            write_binary_ids(sink, &sorted_ids(self.profile));
        }
        if self.options.has(since::VTABLES) {
            places.vtable_names = sink.len() as u64;
            self.write_vtable_names(sink);
        }
        if self.bits & ProfileKind::TEMPORAL.bits() != 0 {
            places.traces = sink.len() as u64;
            write_traces(sink, &self.profile.temporal);
        }
        Ok(())
    }

    fn write_vtable_names(&self, sink: &mut Sink) {
        let names: Vec<&[u8]> = self.profile.vtable_names.iter().map(Vec::as_slice).collect();
        let order = string_map_order(self.options.release, names.iter().copied());
        let mut chunk = Sink::new(Endian::Little);
        write_chunk(&mut chunk, order.into_iter().map(|index| names[index as usize]), Compression::Zlib);
        sink.u64(chunk.len() as u64);
        sink.bytes(chunk.as_slice());
        sink.zeros(chunk.len().next_multiple_of(8) - chunk.len());
    }

    fn header(&self, places: &HeaderPlaces, summary: &ProfileSummary) -> Vec<u8> {
        let version = self.options.version;
        let mut header = Sink::new(Endian::Little);
        header.bytes(&MAGIC);
        header.u64(u64::from(version) | self.bits);
        // Versions without a summary keep the largest count here.
        header.u64(if version < since::SUMMARY { summary.max_function_count } else { 0 });
        let words = [0, places.hash_table, places.memprof, places.binary_ids, places.traces, places.vtable_names];
        for (word, value) in HEADER_WORDS.iter().zip(words) {
            if word.since <= version {
                header.u64(value);
            }
        }
        header.into_bytes()
    }
}

/// Offsets that the header holds; 0 for a section that is not there.
#[derive(Default)]
struct HeaderPlaces {
    hash_table: u64,
    memprof: u64,
    binary_ids: u64,
    traces: u64,
    vtable_names: u64,
}

/// The plain summary and that of context-sensitive records.
struct Summaries {
    plain: SummaryBuilder,
    sensitive: SummaryBuilder,
    /// Whether the release tells the two apart.
    separates: bool,
}

impl Summaries {
    fn new(options: &WriteOptions<'_>) -> Self {
        let builder = || SummaryBuilder::new(options.summary_rules());
        Self { plain: builder(), sensitive: builder(), separates: options.release >= Release(9) }
    }

    /// Bit 60 of the hash decides, whatever the kind of the profile: a record
    /// that has it is missing from the summary of a plain profile, as in LLVM.
    fn add(&mut self, record: &FunctionRecord) {
        let sensitive = self.separates && record.is_context_sensitive();
        let builder = if sensitive { &mut self.sensitive } else { &mut self.plain };
        builder.add_record(record);
    }

    fn finish(self, cutoffs: &[u32]) -> (ProfileSummary, ProfileSummary) {
        (self.plain.finish(cutoffs), self.sensitive.finish(cutoffs))
    }
}

/// Cutoffs of the summary in releases 3.9 to 6.
const EARLY_CUTOFFS: [u32; 18] = [
    10_000, 100_000, 200_000, 300_000, 400_000, 500_000, 500_000, 600_000, 600_000, 700_000, 800_000, 900_000, 950_000,
    990_000, 999_000, 999_900, 999_990, 999_999,
];

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

/// Bytes of all records of a name.
fn data_size(options: &WriteOptions<'_>, function: FunctionView<'_>) -> Result<u64> {
    let mut size = 0;
    if options.has(since::RECORD_COUNTS) {
        for record in function.records() {
            size += record_size(options, record)?;
        }
    } else if let Some(record) = written_records(options, function).first() {
        size = record_size(options, record)?;
    }
    Ok(size)
}

fn record_size(options: &WriteOptions<'_>, record: &FunctionRecord) -> Result<u64> {
    let mut words = 1 + record.counters.len() as u64;
    words += u64::from(options.has(since::RECORD_COUNTS));
    if options.has(since::BITMAPS) {
        words += 1 + record.bitmap.len() as u64;
    }
    let mut size = words * 8;
    if options.has(since::VALUE_SITES) {
        let blob = value_blob_size(record, options.value_kinds());
        if blob > u64::from(u32::MAX) {
            return Err(too_large("value sites of a function", blob, u32::MAX.into()));
        }
        size += blob;
    }
    Ok(size)
}

fn value_blob_size(record: &FunctionRecord, kinds: &[ValueKind]) -> u64 {
    if !record.has_value_sites() {
        return 8;
    }
    let of_kind = |sites: &ValueSites| {
        let values: usize = if sites.values_len() <= MAX_VALUES_PER_SITE {
            sites.values_len()
        } else {
            sites.iter().map(|site| site.len().min(MAX_VALUES_PER_SITE)).sum()
        };
        8 + (sites.len() as u64).next_multiple_of(8) + 16 * values as u64
    };
    8 + kinds.iter().map(|kind| record.sites(*kind)).filter(|sites| !sites.is_empty()).map(of_kind).sum::<u64>()
}

fn write_value_blob(sink: &mut Sink, record: &FunctionRecord, kinds: &[ValueKind]) {
    if !record.has_value_sites() {
        sink.u32(8);
        sink.u32(0);
        return;
    }
    sink.u32(value_blob_size(record, kinds) as u32);
    sink.u32(kinds.iter().filter(|kind| !record.sites(**kind).is_empty()).count() as u32);
    for &kind in kinds {
        let sites = record.sites(kind);
        if sites.is_empty() {
            continue;
        }
        sink.u32(kind.number());
        sink.u32(sites.len() as u32);
        let cut = |site: &[_]| site.len().min(MAX_VALUES_PER_SITE);
        sites.iter().for_each(|site| sink.u8(cut(site) as u8));
        sink.zeros(sites.len().next_multiple_of(8) - sites.len());
        for site in sites.iter() {
            site[..cut(site)].iter().for_each(|v| sink.u64s(&[v.value, v.count]));
        }
    }
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

fn write_traces(sink: &mut Sink, temporal: &TemporalProfile) {
    sink.u64(temporal.traces.len() as u64);
    sink.u64(temporal.stream_size);
    for trace in &temporal.traces {
        sink.u64(trace.weight);
        sink.u64(trace.functions.len() as u64);
        sink.u64s(&trace.functions);
    }
}

fn too_large(field: &'static str, found: u64, limit: u64) -> Error {
    Error::new(ErrorKind::TooLarge { field, found, limit })
}
