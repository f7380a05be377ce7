//! Comparison of two instrumentation or memory profiles.

use crate::compat::Compat;
use crate::driver::diff::{DiffOptions, DiffReport, Facts, Names, SectionComparison, SectionDiff, diff_with};
use crate::error::{Error, Result};
use crate::input::{Format, Input};
use crate::instr::cross_release::apply::following;
use crate::instr::cross_release::{Followed, Following};
use crate::instr::memory_profiles::load;
use crate::instr::open::{ReadOptions, with_reader};
use crate::memprof::{self, MemoryProfile};
use crate::model::{
    Counters, FunctionId, FunctionTable, NameRef, ProfileReader, RecordId, RecordRef, RecordView, ValueKind, name_ref,
};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Names of LLVM functions and sites, numbered across both files.
#[derive(Debug, Default)]
struct LlvmSpace {
    /// All functions and their FuncHashes, without counters.
    functions: FunctionTable,
    /// For each record of `functions`, its number, and its number of counters.
    records: Vec<(usize, usize)>,
    /// Numbers of further records with the same name and FuncHash, by their number of counters: records with other
    /// numbers of counters cannot be compared.
    other_records: HashMap<(RecordId, usize), usize, RandomState>,
    /// Numbers of value sites, by record and place.
    sites: HashMap<(usize, usize), u64, RandomState>,
    site_names: Vec<(FunctionId, usize)>,
    values: HashMap<NameRef, Vec<u8>>,
    /// Frames of allocations: the GUID of a function, whose name may be unknown, a line offset and a column.
    frames: HashMap<(u64, u32, u32), u32, RandomState>,
    /// Call stacks of allocations, by their frames.
    stacks: HashMap<Box<[u32]>, u64, RandomState>,
}

const COUNTERS: &str = "counters";
/// Bytes of all allocations, by call stack.
const MEMORY_BYTES: &str = "memory bytes";
/// Number of allocations, by call stack.
const ALLOCATIONS: &str = "allocations";

/// The counters of the records of one profile, by the numbers of the records. In a large profile, a key for
/// each would need several times the memory of the file.
#[derive(Debug, Default)]
struct RecordCounters {
    places: Vec<Place>,
    /// Counters of records whose counters all fit 32 bits.
    narrow: Vec<u32>,
    /// Counters of other records.
    wide: Vec<u64>,
    /// Sums of several records with one name and hash.
    sums: Vec<u128>,
    total: u128,
}

/// The positions of the counters of a record.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    width: Width,
    start: usize,
    len: usize,
}

/// The list that has the counters of a record.
#[derive(Debug, Clone, Copy, Default)]
enum Width {
    #[default]
    Narrow,
    Wide,
    Sums,
}

impl RecordCounters {
    /// Adds the counters of a record. Returns their sum.
    fn add(&mut self, record: usize, counters: Counters<'_>) -> u128 {
        if self.places.len() <= record {
            self.places.resize(record + 1, Place::default());
        }
        self.places[record] = if self.places[record].len == 0 {
            self.push(counters)
        } else {
            // The file has several records with one name and hash.
            let mut sums: Vec<u128> = self.of(record).collect();
            sums.resize(sums.len().max(counters.len()), 0);
            sums.iter_mut().zip(counters.iter()).for_each(|(sum, count)| *sum += u128::from(count));
            let start = self.sums.len();
            self.sums.extend_from_slice(&sums);
            Place { width: Width::Sums, start, len: sums.len() }
        };
        let mut sum = 0;
        counters.for_each_piece(|piece| sum += piece.iter().copied().map(u128::from).sum::<u128>());
        self.total += sum;
        sum
    }

    fn push(&mut self, counters: Counters<'_>) -> Place {
        let mut bits = 0;
        counters.for_each_piece(|piece| bits = piece.iter().fold(bits, |bits, counter| bits | counter));
        let (width, start);
        if bits <= u32::MAX.into() {
            (width, start) = (Width::Narrow, self.narrow.len());
            counters.for_each_piece(|piece| self.narrow.extend(piece.iter().map(|count| *count as u32)));
        } else {
            (width, start) = (Width::Wide, self.wide.len());
            counters.append_to(&mut self.wide);
        }
        Place { width, start, len: counters.len() }
    }

    /// Returns the counters of a record; none for a record that the profile does not have.
    fn of(&self, record: usize) -> impl Iterator<Item = u128> + '_ {
        let Place { width, start, len } = self.places.get(record).copied().unwrap_or_default();
        (start..start + len).map(move |at| match width {
            Width::Narrow => self.narrow[at].into(),
            Width::Wide => self.wide[at].into(),
            Width::Sums => self.sums[at],
        })
    }

    /// Compares the counters of two profiles.
    fn compare(&self, other: &Self) -> SectionDiff {
        let mut diff = SectionComparison::new(COUNTERS, self.total, other.total);
        for record in 0..self.places.len().max(other.places.len()) {
            let (mut first, mut second) = (self.of(record), other.of(record));
            loop {
                match (first.next(), second.next()) {
                    (None, None) => break,
                    (first, second) => diff.add(first.unwrap_or(0), second.unwrap_or(0)),
                }
            }
        }
        diff.finish()
    }
}

impl LlvmSpace {
    /// Returns the number of a record.
    fn record(&mut self, function: FunctionId, hash: u64, counters: usize) -> usize {
        let next = self.records.len() + self.other_records.len();
        let Some(known) = self.functions.find_record(function, hash) else {
            self.functions.push_record(function, RecordView::of_counters(hash, (&[][..]).into()));
            self.records.push((next, counters));
            return next;
        };
        match self.records[known.index()] {
            (number, same) if same == counters => number,
            _ => *self.other_records.entry((known, counters)).or_insert(next),
        }
    }

    /// Returns the number of a value site.
    fn site(&mut self, function: FunctionId, record: usize, place: usize) -> u64 {
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

    /// Adds the call stacks of a memory profile.
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
    }

    fn read(&mut self, reader: &mut dyn ProfileReader) -> Result<(Facts, RecordCounters)> {
        let (mut facts, mut counters) = (Facts::default(), RecordCounters::default());
        while let Some(record) = reader.next_record()? {
            self.add(record, &mut facts, &mut counters);
        }
        let targets: Vec<_> = facts.sections.iter().filter(|(section, _)| is_named(section)).collect();
        if targets.is_empty() {
            return Ok((facts, counters));
        }
        let symbols = reader.symbols()?;
        for value in
            targets.into_iter().flat_map(|(_, events)| events.iter().map(|((_, value), _)| value.cast_unsigned()))
        {
            if let Some(name) = symbols.name(value) {
                self.values.entry(value).or_insert_with(|| name.to_vec());
            }
        }
        Ok((facts, counters))
    }

    fn add(&mut self, read: RecordRef<'_>, facts: &mut Facts, counters: &mut RecordCounters) {
        let name_ref = read.name_ref.unwrap_or_else(|| name_ref(read.name));
        let function = self.functions.intern_shared(read.name, name_ref, read.text);
        let record = self.record(function, read.record.func_hash, read.record.counters.len());
        if read.record.pseudo_count().is_none() {
            let events = counters.add(record, read.record.counters);
            facts.functions.push((function.index() as u64, events));
        }
        for kind in ValueKind::EACH {
            for (at, values) in read.record.sites(kind).iter().enumerate() {
                // The sites of all value kinds interleave, so that each has its own number.
                let site = self.site(function, record, at * ValueKind::COUNT + kind as usize);
                let section = facts.sections.entry(kind.label()).or_default();
                section.extend(values.iter().map(|v| ((site, v.value.cast_signed()), u128::from(v.count))));
            }
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

    fn part(&self, section: &str, part: i64) -> String {
        let value = part.cast_unsigned();
        match self.values.get(&value) {
            Some(name) if is_named(section) => String::from_utf8_lossy(name).into_owned(),
            _ if is_named(section) => format!("{value:#018x}"),
            _ => value.to_string(),
        }
    }
}

/// Compares two instrumentation or memory profiles.
pub(crate) fn diff_llvm(first: &Input, second: &Input, options: &DiffOptions) -> Result<(DiffReport, Vec<Followed>)> {
    let read = ReadOptions { limits: options.limits, ..ReadOptions::new(Compat::Profbridge) };
    let following = if options.exact_names { Following::default() } else { following(first, second, &read)? };
    let mut space = LlvmSpace::default();
    space.values.extend(following.new_names().map(|name| (name_ref(name), name.to_vec())));
    let mut facts = |input: &Input| {
        let mut found = (Facts::default(), RecordCounters::default());
        let mut has_memory = matches!(input.format()?, Format::RawMemProf | Format::YamlMemProf);
        if !has_memory {
            (found, has_memory) = with_reader(input, &read, |reader| {
                Ok((space.read(&mut following.reader(reader))?, reader.memprof()?.is_some()))
            })?
            .0;
        }
        if has_memory {
            space.memory(&load(input, &read)?, &mut found.0);
        }
        Ok::<_, Error>(found)
    };
    let ((first, first_counters), (second, second_counters)) = (facts(first)?, facts(second)?);
    let counters = first_counters.compare(&second_counters);
    drop((first_counters, second_counters));
    let mut options = options.clone();
    options.functions_by = COUNTERS;
    options.apart = vec![MEMORY_BYTES, ALLOCATIONS];
    options.receivers = vec![ValueKind::IndirectCallTarget.label(), ValueKind::VTableTarget.label()];
    let report = diff_with(vec![counters], first, second, &space, &options);
    Ok((report, following.into_followed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_repeated_records_are_added() {
        let counters = |records: &[(usize, &[u64])]| {
            let mut all = RecordCounters::default();
            for (record, counters) in records {
                let sum = all.add(*record, (*counters).into());
                assert_eq!(sum, counters.iter().copied().map(u128::from).sum());
            }
            all
        };
        let large = u64::from(u32::MAX) + 1;
        let a = counters(&[(0, &[1, 0, large - 1]), (2, &[u64::MAX, large]), (0, &[2, 5, 1, 9]), (2, &[u64::MAX, 0])]);
        let of = |record: usize| a.of(record).collect::<Vec<u128>>();
        assert_eq!(of(0), [3, 5, u128::from(large), 9]);
        assert_eq!((of(1), of(2), of(3)), (vec![], vec![2 * u128::from(u64::MAX), large.into()], vec![]));
        assert_eq!(a.total, of(0).iter().chain(&of(2)).sum());
        let same = a.compare(&a);
        assert_eq!((same.overlap, same.jaccard, same.common), (1.0, 1.0, 6));
        // Counters beyond the shorter of two records exist on one side only.
        let (b, c) = (counters(&[(0, &[4, 4])]), counters(&[(0, &[8]), (3, &[8])]));
        let found = b.compare(&c);
        assert_eq!((found.overlap, found.common, found.only_first, found.only_second), (0.5, 1, 1, 1));
    }
}
