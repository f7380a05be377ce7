//! Comparison of two instrumentation or memory profiles.
//!
//! Both files are read in parallel, each once, with numbers of their own. Then their functions, records and sites get
//! the same numbers.

use crate::compat::Compat;
use crate::driver::diff::{DiffOptions, DiffReport, Facts, Names, SectionComparison, SectionDiff, diff_with};
use crate::error::{Result, Warning};
use crate::input::{Format, Input};
use crate::instr::cross_release::apply::require_comparable;
use crate::instr::cross_release::{Candidates, Followed, Following};
use crate::instr::memory_profiles::load;
use crate::instr::open::{ReadOptions, with_reader};
use crate::memprof::{self, DataSymbol, MemoryProfile};
use crate::model::{
    Counters, FunctionId, FunctionTable, FunctionView, NameRef, ProfileKind, ProfileReader, RecordRef, ValueKind,
    name_ref,
};
use crate::threads;
use foldhash::fast::RandomState;
use std::collections::HashMap;

const COUNTERS: &str = "counters";
/// Bytes of all allocations, by call stack.
const MEMORY_BYTES: &str = "memory bytes";
/// Number of allocations, by call stack.
const ALLOCATIONS: &str = "allocations";
/// Sampled accesses to static data, by variable or string literal.
const DATA_ACCESSES: &str = "data accesses";

/// The data of one profile that are compared. Functions, records and sites are numbered in the order of the file.
#[derive(Debug, Default)]
struct ProfileFacts {
    /// The kind of the profile, if it has functions.
    kind: Option<ProfileKind>,
    functions: FunctionTable,
    records: Vec<Record>,
    /// Value sites: a record, and the place of the site in it.
    sites: Vec<(usize, usize)>,
    facts: Facts,
    counters: RecordCounters,
    /// The names of values that are hashes of names.
    value_names: HashMap<NameRef, Vec<u8>>,
    memory: Option<MemoryProfile>,
    warnings: Vec<Warning>,
}

#[derive(Debug)]
struct Record {
    function: FunctionId,
    func_hash: u64,
}

impl ProfileFacts {
    fn open(input: &Input, options: &ReadOptions) -> Result<Self> {
        let mut profile = Self::default();
        let mut has_memory = matches!(input.format()?, Format::RawMemProf | Format::YamlMemProf);
        if !has_memory {
            (has_memory, profile.warnings) = with_reader(input, options, |reader| {
                profile.read(reader)?;
                Ok(reader.memprof()?.is_some())
            })?;
        }
        if has_memory {
            profile.memory = Some(load(input, options)?);
        }
        Ok(profile)
    }

    fn read(&mut self, reader: &mut dyn ProfileReader) -> Result<()> {
        while let Some(record) = reader.next_record()? {
            self.add(record);
        }
        self.kind = (!self.records.is_empty()).then(|| reader.kind());
        let targets: Vec<_> = self.facts.sections.iter().filter(|(section, _)| is_named(section)).collect();
        if targets.is_empty() {
            return Ok(());
        }
        let symbols = reader.symbols()?;
        for ((_, value), _) in targets.into_iter().flat_map(|(_, events)| events) {
            let value = value.cast_unsigned();
            if let Some(name) = symbols.name(value) {
                self.value_names.entry(value).or_insert_with(|| name.to_vec());
            }
        }
        Ok(())
    }

    fn add(&mut self, read: RecordRef<'_>) {
        let name_ref = read.name_ref.unwrap_or_else(|| name_ref(read.name));
        let function = self.functions.intern_shared(read.name, name_ref, read.text);
        let counts = read.record.pseudo_count().is_none();
        let events = self.counters.push(read.record.counters, counts);
        if counts {
            self.facts.functions.push((function.index() as u64, events));
        }
        for kind in ValueKind::EACH {
            for (at, values) in read.record.sites(kind).iter().enumerate() {
                let site = self.sites.len() as u64;
                // The sites of all value kinds interleave, so that each has its own place.
                self.sites.push((self.records.len(), at * ValueKind::COUNT + kind as usize));
                let section = self.facts.sections.entry(kind.label()).or_default();
                section.extend(values.iter().map(|v| ((site, v.value.cast_signed()), u128::from(v.count))));
            }
        }
        self.records.push(Record { function, func_hash: read.record.func_hash });
    }
}

/// The counters of the records of one profile. In a large profile, a key for each would need several times the memory
/// of the file.
#[derive(Debug, Default)]
struct RecordCounters {
    places: Vec<Place>,
    /// The counters of a record have as many bytes as the largest of them needs.
    bytes: Vec<u8>,
    total: u128,
    /// The record that is stored or read.
    buffer: Vec<u64>,
}

/// The position of the counters of a record.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    start: usize,
    len: usize,
    /// Bytes of a counter.
    width: usize,
}

impl RecordCounters {
    /// Adds the counters of the next record, or as many zeros if they do not count. Returns their sum.
    fn push(&mut self, counters: Counters<'_>, counts: bool) -> u128 {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        counters.append_to(&mut buffer);
        if !counts {
            buffer.fill(0);
        }
        let place = self.store(&buffer);
        self.places.push(place);
        let sum = buffer.iter().copied().map(u128::from).sum();
        self.total += sum;
        self.buffer = buffer;
        sum
    }

    fn store<T: Copy + Into<u128>>(&mut self, counters: &[T]) -> Place {
        let (start, len) = (self.bytes.len(), counters.len());
        let bits = counters.iter().fold(0, |bits, counter| bits | (*counter).into());
        let width = match 128 - bits.leading_zeros() {
            0 => 0,
            1..=16 => self.append::<2, T>(counters),
            17..=32 => self.append::<4, T>(counters),
            33..=48 => self.append::<6, T>(counters),
            49..=64 => self.append::<8, T>(counters),
            _ => self.append::<16, T>(counters),
        };
        Place { start, len, width }
    }

    /// Appends the lowest `WIDTH` bytes of the counters. Returns their number per counter.
    fn append<const WIDTH: usize, T: Copy + Into<u128>>(&mut self, counters: &[T]) -> usize {
        let start = self.bytes.len();
        self.bytes.resize(start + counters.len() * WIDTH, 0);
        let (places, _) = self.bytes[start..].as_chunks_mut::<WIDTH>();
        for (place, counter) in places.iter_mut().zip(counters) {
            place.copy_from_slice(&(*counter).into().to_le_bytes()[..WIDTH]);
        }
        WIDTH
    }

    /// Replaces `counters` by those of a record; none if the profile does not have the record.
    fn load(&self, record: usize, counters: &mut Vec<u128>) {
        counters.clear();
        let Place { start, len, width } = self.places.get(record).copied().unwrap_or_default();
        let bytes = &self.bytes[start..start + len * width];
        match width {
            0 => counters.resize(len, 0),
            2 => widen::<2>(bytes, counters),
            4 => widen::<4>(bytes, counters),
            6 => widen::<6>(bytes, counters),
            8 => widen::<8>(bytes, counters),
            _ => widen::<16>(bytes, counters),
        }
    }

    /// Gives each record its number. Counters of records with the same number are added.
    fn renumber(&mut self, numbers: &[u32]) {
        let places = std::mem::take(&mut self.places);
        self.places.resize(numbers.iter().max().map_or(0, |last| *last as usize + 1), Place::default());
        let (mut known, mut added) = (Vec::new(), Vec::new());
        for (place, number) in places.into_iter().zip(numbers.iter().map(|number| *number as usize)) {
            if self.places[number].len == 0 {
                self.places[number] = place;
                continue;
            }
            self.load(number, &mut known);
            self.places[number] = place;
            self.load(number, &mut added);
            known.iter_mut().zip(&added).for_each(|(sum, counter)| *sum += counter);
            self.places[number] = self.store(&known);
        }
    }

    /// Compares the counters of two profiles.
    fn compare(&self, other: &Self) -> SectionDiff {
        let mut diff = SectionComparison::new(COUNTERS, self.total, other.total);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for record in 0..self.places.len().max(other.places.len()) {
            self.load(record, &mut first);
            other.load(record, &mut second);
            let len = first.len().max(second.len());
            first.resize(len, 0);
            second.resize(len, 0);
            first.iter().zip(&second).for_each(|(first, second)| diff.add(*first, *second));
        }
        diff.finish()
    }
}

/// Appends little-endian counters of `WIDTH` bytes.
fn widen<const WIDTH: usize>(bytes: &[u8], counters: &mut Vec<u128>) {
    counters.extend(bytes.as_chunks::<WIDTH>().0.iter().map(|counter| {
        let mut wide = [0; 16];
        wide[..WIDTH].copy_from_slice(counter);
        u128::from_le_bytes(wide)
    }));
}

/// Numbers of functions, records and sites that are the same in both profiles, and their names.
#[derive(Debug, Default)]
struct LlvmSpace {
    functions: FunctionTable,
    /// Numbers of records, by function, FuncHash and number of counters: records with other numbers of counters cannot
    /// be compared.
    records: HashMap<(FunctionId, u64, usize), u32, RandomState>,
    /// Numbers of value sites, by record and place.
    sites: HashMap<(u32, usize), u64, RandomState>,
    site_names: Vec<(FunctionId, usize)>,
    values: HashMap<NameRef, Vec<u8>>,
    /// Frames of allocations: the GUID of a function, whose name may be unknown, a line offset and a column.
    frames: HashMap<(u64, u32, u32), u32, RandomState>,
    /// Call stacks of allocations, by their frames.
    stacks: HashMap<Box<[u32]>, u64, RandomState>,
    data: HashMap<DataSymbol, u64, RandomState>,
}

impl LlvmSpace {
    /// Gives the functions, records and sites of a profile their numbers, under the names and hashes of the comparison.
    fn add(&mut self, profile: ProfileFacts, following: &Following) -> (Facts, RecordCounters) {
        let ProfileFacts { functions, records, sites, mut facts, mut counters, value_names, memory, .. } = profile;
        let ids: Vec<FunctionId> = functions.iter().map(|function| self.function(function, following)).collect();
        let numbers: Vec<u32> = records
            .iter()
            .zip(&counters.places)
            .map(|(record, counters)| {
                let hash = following.hash(functions.name(record.function), record.func_hash);
                let key = (ids[record.function.index()], hash.unwrap_or(record.func_hash), counters.len);
                let next = u32::try_from(self.records.len()).expect("fewer than 2^32 records fit in memory");
                *self.records.entry(key).or_insert(next)
            })
            .collect();
        counters.renumber(&numbers);
        for (function, _) in &mut facts.functions {
            *function = ids[*function as usize].index() as u64;
        }
        let site_of =
            |(record, place): (usize, usize)| self.site(ids[records[record].function.index()], numbers[record], place);
        let sites: Vec<u64> = sites.into_iter().map(site_of).collect();
        for (section, events) in &mut facts.sections {
            let is_named = is_named(section);
            for ((site, value), _) in events {
                *site = sites[*site as usize];
                if is_named {
                    *value = following.target(value.cast_unsigned()).cast_signed();
                }
            }
        }
        for (value, name) in value_names {
            self.values.entry(value).or_insert(name);
        }
        if let Some(memory) = memory {
            self.memory(&memory, &mut facts);
        }
        (facts, counters)
    }

    fn function(&mut self, function: FunctionView<'_>, following: &Following) -> FunctionId {
        match following.name(function.name()) {
            same if same == function.name() => {
                self.functions.intern_shared(function.name(), function.name_ref(), function.text())
            }
            name => self.functions.intern(name),
        }
    }

    /// Returns the number of a value site.
    fn site(&mut self, function: FunctionId, record: u32, place: usize) -> u64 {
        let next = self.site_names.len() as u64;
        let number = *self.sites.entry((record, place)).or_insert(next);
        if number == next {
            self.site_names.push((function, place));
        }
        number
    }

    /// Returns the number of a frame of a memory profile.
    fn frame(&mut self, frame: &memprof::Frame) -> u32 {
        let next = u32::try_from(self.frames.len()).expect("fewer than 2^32 frames fit in memory");
        *self.frames.entry((frame.function, frame.line_offset, frame.column)).or_insert(next)
    }

    /// Adds the call stacks and data accesses of a memory profile.
    fn memory(&mut self, profile: &MemoryProfile, facts: &mut Facts) {
        let frames: Vec<u32> = profile.stacks.frames().iter().map(|frame| self.frame(frame)).collect();
        for (stack, site) in memprof::report::contexts(profile) {
            let stack: Box<[u32]> = profile.stacks.stack(stack).iter().map(|frame| frames[frame.index()]).collect();
            let next = self.stacks.len() as u64;
            let number = *self.stacks.entry(stack).or_insert(next);
            for (section, events) in [(MEMORY_BYTES, site.info.total_size()), (ALLOCATIONS, site.info.alloc_count())] {
                facts.sections.entry(section).or_default().push(((number, 0), u128::from(events)));
            }
        }
        for record in profile.data_access.iter().flat_map(|data| &data.records) {
            let next = self.data.len() as u64;
            let number = *self.data.entry(record.symbol.clone()).or_insert(next);
            facts.sections.entry(DATA_ACCESSES).or_default().push(((number, 0), record.access_count.into()));
        }
    }
}

/// Returns true if the values of a section are hashes of names.
fn is_named(section: &str) -> bool {
    ValueKind::EACH.iter().any(|kind| kind.is_name() && kind.label() == section)
}

impl Names for LlvmSpace {
    fn function(&self, function: u64) -> String {
        let found = usize::try_from(function).ok().and_then(|at| self.functions.name_at(at));
        found.map(|name| String::from_utf8_lossy(name).into_owned()).unwrap_or_default()
    }

    fn site(&self, _: &str, site: u64) -> String {
        match usize::try_from(site).ok().and_then(|at| self.site_names.get(at)) {
            Some((function, place)) => {
                let name = String::from_utf8_lossy(self.functions.name(*function));
                format!("{name} site {}", place / ValueKind::COUNT)
            }
            None => String::new(),
        }
    }

    /// The runtime writes 0 for a target that it does not know.
    fn is_known(&self, section: &str, part: i64) -> bool {
        part != 0 || !is_named(section)
    }

    fn part(&self, section: &str, part: i64) -> String {
        let value = part.cast_unsigned();
        match self.values.get(&value) {
            Some(name) if is_named(section) => String::from_utf8_lossy(name).into_owned(),
            _ if is_named(section) => format!("{value:#018x}"),
            _ => value.to_string(),
        }
    }
}

/// The differences between two profiles.
pub(crate) struct LlvmDiff {
    pub(crate) report: DiffReport,
    /// The functions that were compared although their names or hashes differ.
    pub(crate) followed: Vec<Followed>,
    /// Warnings about the files.
    pub(crate) warnings: Vec<Warning>,
}

/// Compares two instrumentation or memory profiles.
pub(crate) fn diff_llvm(first: &Input, second: &Input, options: &DiffOptions) -> Result<LlvmDiff> {
    let read = ReadOptions { limits: options.limits, ..ReadOptions::new(Compat::Profbridge) };
    let mut profiles = threads::share([first, second], |input| ProfileFacts::open(input, &read)).into_iter();
    let mut next = || profiles.next().expect("there are two inputs");
    let (mut first, mut second) = (next()?, next()?);
    let warnings =
        [&mut first, &mut second].into_iter().flat_map(|facts| std::mem::take(&mut facts.warnings)).collect();
    let following = if options.exact_names { Following::default() } else { following(&first, &second)? };
    let mut space = LlvmSpace::default();
    space.values.extend(following.new_names().map(|name| (name_ref(name), name.to_vec())));
    let (first, first_counters) = space.add(first, &following);
    let (second, second_counters) = space.add(second, &following);
    let counters = first_counters.compare(&second_counters);
    drop((first_counters, second_counters));
    let mut options = options.clone();
    options.functions_by = COUNTERS;
    options.apart = vec![MEMORY_BYTES, ALLOCATIONS, DATA_ACCESSES];
    options.receivers = vec![ValueKind::IndirectCallTarget.label(), ValueKind::VTableTarget.label()];
    let report = diff_with(vec![counters], first, second, &space, &options);
    Ok(LlvmDiff { report, followed: following.into_followed(), warnings })
}

/// Finds the functions that two profiles have under different names or hashes because different releases wrote them.
///
/// # Errors
///
/// Unable to compare if their counters have different kinds.
fn following(first: &ProfileFacts, second: &ProfileFacts) -> Result<Following> {
    let (Some(first_kind), Some(second_kind)) = (first.kind, second.kind) else { return Ok(Following::default()) };
    require_comparable(first_kind, second_kind)?;
    let mut candidates = Candidates::default();
    for (profile, kind) in [(first, first_kind), (second, second_kind)] {
        for record in &profile.records {
            candidates.add(kind, profile.functions.name(record.function), record.func_hash);
        }
    }
    Ok(candidates.following())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_repeated_records_are_added() {
        let counters = |records: &[(u32, &[u64])]| {
            let mut all = RecordCounters::default();
            for (_, counters) in records {
                let sum = all.push((*counters).into(), true);
                assert_eq!(sum, counters.iter().copied().map(u128::from).sum());
            }
            all.renumber(&records.iter().map(|(record, _)| *record).collect::<Vec<u32>>());
            all
        };
        let of = |counters: &RecordCounters, record: usize| {
            let mut of = Vec::new();
            counters.load(record, &mut of);
            of
        };
        let large = u64::from(u32::MAX) + 1;
        let a = counters(&[(0, &[1, 0, large - 1]), (2, &[u64::MAX, large]), (0, &[2, 5, 1]), (2, &[u64::MAX, 0])]);
        assert_eq!(of(&a, 0), [3, 5, u128::from(large)]);
        assert_eq!((of(&a, 1), of(&a, 2), of(&a, 3)), (vec![], vec![2 * u128::from(u64::MAX), large.into()], vec![]));
        assert_eq!(a.total, of(&a, 0).iter().chain(&of(&a, 2)).sum());
        let same = a.compare(&a);
        assert_eq!((same.overlap, same.jaccard, same.common), (1.0, 1.0, 5));
        // Counters beyond the shorter of two records exist on one side only.
        let (b, c) = (counters(&[(0, &[4, 4])]), counters(&[(0, &[8]), (3, &[8])]));
        let found = b.compare(&c);
        assert_eq!((found.overlap, found.common, found.only_first, found.only_second), (0.5, 1, 1, 1));
    }

    #[test]
    fn counters_of_every_size_are_kept() {
        let mut all = RecordCounters::default();
        let records: Vec<[u64; 3]> = (0..64).map(|bit| [1 << bit, (1 << bit) - 1, 0]).chain([[0; 3]]).collect();
        for counters in &records {
            all.push(counters[..].into(), true);
        }
        for (record, counters) in records.iter().enumerate() {
            let mut loaded = Vec::new();
            all.load(record, &mut loaded);
            assert_eq!(loaded, counters.map(u128::from));
        }
    }
}
