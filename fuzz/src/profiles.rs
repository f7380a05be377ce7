//! Functions for profiles: create them from bytes, read them completely, compare them.

use super::readers::{ask_for_the_rest, print_error};
use profbridge::Compat;
use profbridge::bytes::{Encoding, Endian, PointerWidth};
use profbridge::families::{OutputFormat, WriteOptions, encode};
use profbridge::instr::{
    BinaryId, FunctionRecord, Profile, ProfileKind, ProfileReader, Release, TemporalTrace, Uniformity, ValueCount,
    ValueKind, name_ref,
};
use profbridge::instr::{MergeOptions, Merger};
use profbridge::{indexed, raw};
use std::collections::BTreeMap;

/// Reads all records and the rest. After an error there must be no more records.
pub fn drain(reader: &mut dyn ProfileReader) {
    loop {
        match reader.next_record() {
            Ok(Some(item)) => drop(item.record.max_counter()),
            Ok(None) => break,
            Err(error) => {
                print_error(&error);
                assert!(matches!(reader.next_record(), Ok(None)), "a reader ends with its first error");
                break;
            }
        }
    }
    ask_for_the_rest(reader);
}

/// Merges the records of a reader. Returns `None` if the input is damaged.
pub fn merged(reader: &mut dyn ProfileReader, compat: Compat) -> Option<Profile> {
    let mut options = MergeOptions::default();
    options.keep_vtable_names = !compat.is_llvm();
    let mut merger = Merger::new(options);
    merger.begin_input(reader.kind()).ok()?;
    while let Some(item) = reader.next_record().ok()? {
        if merger.add_record(item, 1).is_new {
            reader.record_taken_over();
        }
    }
    merger.add_binary_ids(reader.binary_ids().ok()?);
    merger.add_traces(reader.temporal());
    merger.add_vtable_names(reader.vtable_names().ok()?);
    if let Some(section) = reader.memprof().ok()? {
        merger.add_memprof(section, 1).ok()?;
    }
    Some(merger.into_profile())
}

/// Returns the records of a file unchanged.
pub fn read_back(reader: &mut dyn ProfileReader) -> Profile {
    let mut profile = Profile::default();
    while let Some(item) =
        reader.next_record().unwrap_or_else(|error| panic!("what was written cannot be read: {error}"))
    {
        let function = profile.functions.intern(item.name);
        assert!(profile.functions.find_record(function, item.record.func_hash).is_none(), "a record was written twice");
        profile.functions.push_record(function, item.record);
    }
    profile.kind = reader.kind();
    profile.binary_ids = reader.binary_ids().expect("binary ids can be read");
    profile.temporal = reader.temporal();
    profile.vtable_names = reader.vtable_names().expect("vtable names can be read");
    profile
}

/// Writes a profile in every format and version. Errors are allowed, panics are not.
pub fn write_everywhere(profile: &Profile, compat: Compat) {
    let mut formats: Vec<OutputFormat> = all_encodings().map(|encoding| OutputFormat::Raw { encoding }).collect();
    formats.extend((1..=indexed::NEWEST_VERSION).map(|version| {
        let release = indexed::WriteOptions::for_version(version).release;
        OutputFormat::Indexed { release, version }
    }));
    formats.push(OutputFormat::Text { release: Release::DEFAULT });
    for format in formats {
        let mut options = WriteOptions::default();
        options.format = format;
        options.compat = compat;
        let _ = encode(profile, &options);
    }
}

/// Returns every raw version, pointer width and byte order.
pub fn all_encodings() -> impl Iterator<Item = Encoding> {
    let versions = (1..=raw::layout::NEWEST_VERSION).filter(|version| raw::layout::is_known_version(*version));
    versions.flat_map(|version| {
        [PointerWidth::Bits64, PointerWidth::Bits32]
            .into_iter()
            .flat_map(move |pointer| [Endian::Little, Endian::Big].map(|endian| Encoding { endian, pointer, version }))
    })
}

type Sites = Vec<Vec<Vec<ValueCount>>>;

/// Counters, bitmap, uniformity and value sites of the record with a name and FuncHash.
type Records = BTreeMap<(Vec<u8>, u64), (Vec<u64>, Vec<u8>, Uniformity, Sites)>;

/// A profile as a value. Profiles that differ only in their order are equal.
#[derive(Debug, PartialEq, Eq)]
pub struct Content {
    kind: u64,
    records: Records,
    binary_ids: Vec<BinaryId>,
    traces: Vec<(u64, Vec<u64>)>,
    vtable_names: Vec<Vec<u8>>,
}

/// Returns the content of a profile. `targets` maps the name hashes of value sites to those that the format stores.
pub fn content(profile: &Profile, targets: impl Fn(ValueKind, u64) -> u64) -> Content {
    let mut records = BTreeMap::new();
    for function in profile.functions.iter() {
        for record in function.records() {
            let sites: Vec<_> = ValueKind::ALL
                .iter()
                .map(|&kind| {
                    let site = |values: &[ValueCount]| {
                        let map = |v: &ValueCount| ValueCount { value: targets(kind, v.value), count: v.count };
                        let mut values: Vec<ValueCount> = values.iter().map(map).collect();
                        values.sort_unstable();
                        values
                    };
                    record.sites(kind).iter().map(site).collect::<Vec<_>>()
                })
                .collect();
            let key = (function.name().to_vec(), record.func_hash);
            let (counters, bitmap) = (record.counters.to_vec(), record.bitmap.to_vec());
            records.insert(key, (counters, bitmap, record.uniformity.clone(), sites));
        }
    }
    let mut binary_ids = profile.binary_ids.clone();
    binary_ids.sort();
    binary_ids.dedup();
    let traces = profile.temporal.traces.iter().map(|trace| (trace.weight, trace.functions.clone())).collect();
    let mut vtable_names = profile.vtable_names.clone();
    vtable_names.sort();
    let kind = profile.kind.without(ProfileKind::FRONT_END).bits();
    Content { kind, records, binary_ids, traces, vtable_names }
}

/// Returns the profile as stored in indexed files, which have one bit per uniform count.
#[must_use]
pub fn without_uniform_counts(profile: &Profile) -> Profile {
    let mut without = profile.clone();
    let ids: Vec<_> = profile.functions.iter().flat_map(|function| function.record_ids()).collect();
    for id in ids.into_iter().filter(|id| !profile.functions.record(*id).uniformity.is_empty()) {
        without.functions.uniformity_mut(id).counts.clear();
    }
    without
}

/// Makes random choices from bytes, and from zeros after the last byte.
#[derive(Debug)]
pub struct ByteSource<'d>(&'d [u8]);

impl<'d> ByteSource<'d> {
    pub fn new(data: &'d [u8]) -> Self {
        Self(data)
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Returns a number below `limit`, which is from 1 to 256.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit
    }

    pub fn chance(&mut self, of: usize) -> bool {
        self.below(of) == of - 1
    }

    pub fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    /// Returns a count: mostly small, sometimes any value, sometimes near the maximum.
    pub fn count(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => self.word(),
            2 => u64::MAX - self.below(4) as u64,
            3 => 1 << self.below(64),
            _ => self.byte().into(),
        }
    }

    fn counts(&mut self, most: usize) -> Vec<u64> {
        (0..1 + self.below(most)).map(|_| self.count()).collect()
    }

    fn bytes(&mut self, least: usize, most: usize) -> Vec<u8> {
        (0..least + self.below(most - least)).map(|_| self.byte()).collect()
    }

    /// Returns one of a few names, so that profiles share functions, or any name.
    fn name(&mut self) -> Vec<u8> {
        const NAMES: [&[u8]; 9] =
            [b"main", b"f", b"file.c;f", b"_ZN1a1bE", b"10", b"#x", b":ir", b" spaced name ", b"\xff\xfe"];
        match self.below(NAMES.len() + 1) {
            at if at < NAMES.len() => NAMES[at].to_vec(),
            _ => self.bytes(1, 20),
        }
    }

    /// Returns a profile.
    pub fn profile(&mut self) -> Profile {
        let mut profile = Profile::default();
        let kinds = [
            ProfileKind::NONE,
            ProfileKind::IR,
            ProfileKind::IR | ProfileKind::CONTEXT_SENSITIVE,
            ProfileKind::IR | ProfileKind::ENTRY_FIRST,
            ProfileKind::IR | ProfileKind::LOOP_ENTRIES,
            ProfileKind::FRONT_END,
        ];
        profile.kind = kinds[self.below(kinds.len())];
        let names: Vec<Vec<u8>> = (0..1 + self.below(5)).map(|_| self.name()).collect();
        // Either all records of a file have uniform counts, or some have bits.
        let has_counts = self.chance(6);
        profile.vtable_names = (0..self.below(3)).map(|at| format!("_ZTV{at}").into_bytes()).collect();
        for name in &names {
            let function = profile.functions.intern(name);
            for _ in 0..1 + self.below(2) {
                let mut record = self.record(&names, &profile.vtable_names.clone());
                self.uniformity(&mut record, has_counts);
                if profile.functions.find_record(function, record.func_hash).is_none() {
                    profile.functions.push_record(function, &record);
                }
            }
        }
        if self.chance(4) {
            profile.binary_ids = (0..1 + self.below(3)).map(|_| self.bytes(1, 24)).collect();
        }
        if self.chance(4) {
            self.traces(&mut profile, &names);
        }
        profile
    }

    fn record(&mut self, names: &[Vec<u8>], vtables: &[Vec<u8>]) -> FunctionRecord {
        let hash = if self.chance(4) { self.word() } else { self.below(3) as u64 };
        let mut record = FunctionRecord::new(hash, self.counts(5));
        if self.chance(4) {
            record.bitmap = self.bytes(1, 12);
        }
        if self.chance(3) {
            for kind in ValueKind::ALL {
                self.sites(&mut record, *kind, names, vtables);
            }
        }
        record
    }

    fn uniformity(&mut self, record: &mut FunctionRecord, has_counts: bool) {
        if has_counts {
            record.uniformity.counts = record.counters.iter().map(|counter| counter - counter / 8).collect();
        } else if self.chance(6) {
            record.uniformity.bits = self.bytes(0, 4);
        }
    }

    fn sites(&mut self, record: &mut FunctionRecord, kind: ValueKind, names: &[Vec<u8>], vtables: &[Vec<u8>]) {
        for _ in 0..self.below(4) {
            let mut site: BTreeMap<u64, u64> = BTreeMap::new();
            let values = if self.chance(16) { 200 + self.below(60) } else { self.below(5) };
            for number in 0..values {
                let value = match kind {
                    ValueKind::MemOpSize => number as u64 * 3 + self.below(3) as u64,
                    ValueKind::IndirectCallTarget if self.chance(3) => 0,
                    ValueKind::IndirectCallTarget => name_ref(&names[self.below(names.len())]),
                    _ if vtables.is_empty() || self.chance(3) => 0,
                    _ => name_ref(&vtables[self.below(vtables.len())]),
                };
                site.insert(value, self.count());
            }
            let site: Vec<ValueCount> = site.into_iter().map(|(value, count)| ValueCount { value, count }).collect();
            record.sites_mut(kind).push_site(&site);
        }
    }

    fn traces(&mut self, profile: &mut Profile, names: &[Vec<u8>]) {
        profile.kind |= ProfileKind::TEMPORAL;
        for _ in 0..1 + self.below(3) {
            let functions = (0..1 + self.below(4)).map(|_| name_ref(&names[self.below(names.len())])).collect();
            profile.temporal.traces.push(TemporalTrace { weight: 1 + self.below(5) as u64, functions });
        }
        profile.temporal.stream_size = profile.temporal.traces.len() as u64 + self.below(3) as u64;
    }
}
