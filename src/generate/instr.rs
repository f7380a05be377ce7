//! Instrumentation profiles: raw, indexed and text.

use super::generated::{Checksum, Generated, Landmarks, Lengths, add};
use super::kind::{Format, Kind};
use super::names;
use super::random::Random;
use super::request::Generator;
use crate::bytes::Endian;
use crate::bytes::names::Compression;
use crate::error::{Error, Result};
use crate::instr::encode::{OutputFormat, losses};
use crate::model::{
    FunctionRecord, Profile, ProfileKind, Release, TemporalTrace, Uniformity, ValueCount, ValueKind, name_ref,
};
use crate::raw;
use std::collections::BTreeMap;

/// The bit of a FuncHash that marks a context-sensitive record.
const CONTEXT_SENSITIVE_HASH: u64 = 1 << 60;

/// The longest temporal trace, in functions.
const TRACE_LENGTH: u32 = 1000;

/// The number of distinct vtables.
const VTABLES: u64 = 64;

/// Sizes of memory operations.
const SIZES: [u64; 12] = [0, 1, 2, 3, 4, 7, 8, 16, 24, 64, 200, 4096];

/// Generates a file.
pub(super) fn file(generator: &Generator, number: u32) -> Result<Generated> {
    let profile = profile(generator, number);
    let format = generator.output_format();
    generator.check_properties(&profile)?;
    generator.refuse_losses(&losses(&profile, format)?)?;
    let bytes = match format {
        OutputFormat::Raw { encoding } => {
            // Names that are not compressed do not depend on the version of a library.
            raw::write(&profile, &raw::WriteOptions::new(encoding).compression(Compression::None))?
        }
        _ => profile.to_bytes(format)?.bytes,
    };
    let landmarks = landmarks(generator, &profile);
    Ok(Generated { bytes, totals: totals(&profile), landmarks })
}

impl Generator {
    fn check_properties(&self, profile: &Profile) -> Result<()> {
        let unknown = profile.kind.without(ProfileKind::known_by(self.target.release));
        if unknown.is_none() {
            return Ok(());
        }
        Err(Error::usage(format!("{} does not know {}", self.target.release_words(), unknown.nouns())))
    }

    /// Local functions are named `file.c;name` since LLVM 18, `file.c:name` before.
    fn local(&self) -> char {
        if self.target.release >= Release(18) { ';' } else { ':' }
    }

    /// Returns the variant bits.
    fn profile_kind(&self) -> ProfileKind {
        let knows_ir = match self.request.format {
            Format::Raw => self.encoding().version >= 4,
            Format::Indexed => self.indexed_version() >= 4,
            _ => true,
        };
        let bits = [
            (knows_ir && !self.has(Kind::FrontEnd), ProfileKind::IR),
            (self.has(Kind::ContextSensitive), ProfileKind::CONTEXT_SENSITIVE),
            (self.has(Kind::EntryFirst), ProfileKind::ENTRY_FIRST),
            (self.has(Kind::LoopEntries), ProfileKind::LOOP_ENTRIES),
            (self.has(Kind::ByteCoverage), ProfileKind::BYTE_COVERAGE),
            (self.has(Kind::EntryCoverage), ProfileKind::FUNCTION_ENTRY_ONLY),
            (self.has(Kind::Temporal), ProfileKind::TEMPORAL),
        ];
        let given = bits.into_iter().filter(|(given, _)| *given);
        given.fold(ProfileKind::NONE, |kind, (_, bit)| kind | bit)
    }

    /// Returns a count, small ones most often.
    fn count(&self, random: &mut Random) -> u64 {
        let Some(distinct) = self.request.distinct_counts else { return random.count() };
        let limit = 1 + random.below(distinct.into());
        let number = random.below(limit);
        // Large counts need no table: each number has its own.
        if number < 1000 { number } else { Random::new(number).next_number() >> 28 }
    }

    /// Returns true if the format stores sizes of memory operations.
    fn stores_sizes(&self) -> bool {
        self.request.format != Format::Raw || self.encoding().version >= 4
    }
}

fn profile(generator: &Generator, number: u32) -> Profile {
    let mut profile = Profile { kind: generator.profile_kind(), ..Profile::default() };
    let functions = generator.request.functions;
    let all: Vec<String> = (0..functions).map(|index| names::function(index, Some(generator.local()))).collect();
    profile.functions.reserve(all.len());
    for (index, name) in (0..functions).zip(&all) {
        let function = profile.functions.intern(name.as_bytes());
        let record = record(generator, number, index, &all);
        profile.functions.push_record(function, &record);
    }
    if generator.has(Kind::Vtables) {
        profile.vtable_names = (0..VTABLES).map(|index| names::vtable(index).into_bytes()).collect();
    }
    if generator.has(Kind::BinaryIds) {
        let mut random = generator.shape(u32::MAX);
        profile.binary_ids.push((0..20).map(|_| random.below(256) as u8).collect());
    }
    if generator.has(Kind::Temporal) && functions > 0 {
        add_traces(&mut profile, generator, number, &all);
    }
    profile
}

fn record(generator: &Generator, number: u32, index: u32, all: &[String]) -> FunctionRecord {
    let (mut shape, mut counts) = (generator.shape(index), generator.counts(number, index));
    let mut func_hash = shape.next_number() >> 4;
    if generator.has(Kind::ContextSensitive) {
        func_hash |= CONTEXT_SENSITIVE_HASH;
    }
    let blocks = match shape.below(50) {
        0 => 13 + shape.below(200),
        _ => 1 + shape.below(12),
    };
    let blocks = match generator.request.counters {
        Some(counters) => counters.into(),
        None if generator.has(Kind::EntryCoverage) => 1,
        None => blocks,
    };
    let is_covered = !counts.chance(20);
    let is_byte = generator.has(Kind::ByteCoverage);
    let counters = (0..blocks).map(|_| match (is_covered, is_byte) {
        (false, _) => 0,
        (true, true) => counts.below(2),
        (true, false) => generator.count(&mut counts),
    });
    let mut record = FunctionRecord::new(func_hash, counters.collect());
    if generator.has(Kind::Values) {
        add_sites(&mut record, ValueKind::IndirectCallTarget, &mut shape, &mut counts, |random| {
            name_ref(all[random.position(all.len())].as_bytes())
        });
        if generator.stores_sizes() {
            add_sites(&mut record, ValueKind::MemOpSize, &mut shape, &mut counts, |random| {
                SIZES[random.position(SIZES.len())]
            });
        }
    }
    if generator.has(Kind::Vtables) {
        add_sites(&mut record, ValueKind::VTableTarget, &mut shape, &mut counts, |random| {
            name_ref(names::vtable(random.below(VTABLES)).as_bytes())
        });
    }
    if generator.has(Kind::Bitmaps) && shape.chance(40) {
        let size = 1 + shape.below(9);
        record.bitmap = (0..size).map(|_| counts.below(256) as u8).collect();
    }
    if generator.has(Kind::Uniformity) {
        record.uniformity = uniformity(&record.counters, &mut counts, generator.request.format == Format::Raw);
    }
    record
}

/// Adds up to three value sites of a kind to some functions, each with up to four distinct values.
fn add_sites(
    record: &mut FunctionRecord,
    kind: ValueKind,
    shape: &mut Random,
    counts: &mut Random,
    mut value: impl FnMut(&mut Random) -> u64,
) {
    if !shape.chance(30) {
        return;
    }
    for _ in 0..1 + shape.below(3) {
        let mut site: Vec<ValueCount> = Vec::new();
        for _ in 0..counts.below(5) {
            let value = value(counts);
            let count = 1 + counts.below(1000);
            // Readers of text reject a value that occurs twice.
            if site.iter().all(|known| known.value != value) {
                site.push(ValueCount { value, count });
            }
        }
        site.sort_by(|a, b| b.count.cmp(&a.count).then(a.value.cmp(&b.value)));
        record.sites_mut(kind).push_site(&site);
    }
}

/// Raw profiles count uniform entries of blocks; other formats have one bit per block.
fn uniformity(counters: &[u64], random: &mut Random, is_raw: bool) -> Uniformity {
    let whole =
        counters.iter().map(|count| if random.chance(60) { *count } else { random.below(count.saturating_add(1)) });
    let mut uniformity = Uniformity::default();
    uniformity.counts = whole.collect();
    if !is_raw {
        uniformity.bits = uniformity.derived_bits(counters);
        uniformity.counts.clear();
    }
    uniformity
}

/// Adds one trace to a raw profile, which is one run, and up to four to other profiles.
fn add_traces(profile: &mut Profile, generator: &Generator, number: u32, all: &[String]) {
    let is_raw = generator.request.format == Format::Raw;
    let mut random = generator.counts(number, u32::MAX);
    let traces = if is_raw { 1 } else { 1 + random.below(4) };
    for _ in 0..traces {
        let weight = if is_raw { 1 } else { 1 + random.below(5) };
        let length = 1 + random.below(u64::from(generator.request.functions.min(TRACE_LENGTH)));
        let start = random.position(all.len());
        // Each function occurs once: the order begins anywhere and wraps around.
        let functions = (0..length as usize).map(|at| name_ref(all[(start + at) % all.len()].as_bytes()));
        profile.temporal.traces.push(TemporalTrace { weight, functions: functions.collect() });
    }
    profile.temporal.stream_size = traces;
}

fn totals(profile: &Profile) -> BTreeMap<&'static str, u64> {
    let mut totals = BTreeMap::new();
    for name in ["counters", "count_sum", "max_count", "value_sites", "values", "bitmap_bytes"] {
        totals.insert(name, 0);
    }
    for function in profile.functions.iter() {
        for record in function.records() {
            add(&mut totals, "counters", record.counters.len() as u64);
            record.counters.iter().for_each(|count| add(&mut totals, "count_sum", count));
            let max = totals.entry("max_count").or_default();
            *max = (*max).max(record.max_counter());
            for kind in ValueKind::EACH {
                add(&mut totals, "value_sites", record.sites(kind).len() as u64);
                add(&mut totals, "values", record.sites(kind).values_len() as u64);
            }
            add(&mut totals, "bitmap_bytes", record.bitmap.len() as u64);
        }
    }
    totals.insert("functions", profile.functions.len() as u64);
    totals.insert("records", profile.functions.records_len() as u64);
    totals.insert("traces", profile.temporal.traces.len() as u64);
    totals.insert("binary_ids", profile.binary_ids.len() as u64);
    totals
}

/// Chooses the function that damage hits.
fn landmarks(generator: &Generator, profile: &Profile) -> Landmarks {
    let at = generator.shape(u32::MAX - 1).position(profile.functions.len());
    let found = profile.functions.iter().nth(at);
    let name = found.map(|function| function.name().to_vec());
    let hash = found.and_then(|function| function.records().next()).map(|record| record.func_hash);
    let (checksum, lengths) = match generator.request.format {
        Format::Text => (hash.map(|hash| Checksum::Line(hash.to_string())), Lengths::LineAfterChecksum),
        Format::Raw => {
            let endian = generator.encoding().endian;
            (hash.map(|hash| Checksum::Bytes(endian.u64_bytes(hash).to_vec())), Lengths::RawHeader(endian))
        }
        _ => (hash.map(|hash| Checksum::Bytes(Endian::Little.u64_bytes(hash).to_vec())), Lengths::KeyAndData),
    };
    Landmarks { name, checksum, lengths }
}
