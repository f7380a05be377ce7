//! Comparison of two instrumentation or memory profiles.

use crate::compat::Compat;
use crate::driver::diff::{DiffOptions, DiffReport, Facts, Names, diff};
use crate::error::{Error, Result};
use crate::input::{Access, Input};
use crate::instr::cross_release::apply::following;
use crate::instr::cross_release::{Followed, Following};
use crate::instr::memory_profiles::{find_in_bytes, is_memory_profile};
use crate::instr::open::{ReadOptions, open_reader};
use crate::memprof::{self, MemoryProfile};
use crate::model::{NameRef, ProfileReader, RecordRef, ValueKind, name_ref};
use foldhash::HashMap;

/// Names of LLVM functions and sites, numbered across both files.
#[derive(Debug, Default)]
struct LlvmSpace {
    functions: HashMap<Vec<u8>, u64>,
    names: Vec<Vec<u8>>,
    sites: HashMap<(u64, u64, usize), u64>,
    site_names: Vec<(u64, usize)>,
    values: HashMap<NameRef, Vec<u8>>,
    /// Frames of allocations: a function, a line offset and a column.
    frames: HashMap<(u64, u32, u32), u32>,
    /// Call stacks of allocations, by their frames.
    stacks: HashMap<Box<[u32]>, u64>,
}

const COUNTERS: &str = "counters";
/// Bytes of all allocations, by call stack.
const MEMORY_BYTES: &str = "memory bytes";
/// Number of allocations, by call stack.
const ALLOCATIONS: &str = "allocations";

impl LlvmSpace {
    fn function(&mut self, name: &[u8]) -> u64 {
        if let Some(known) = self.functions.get(name) {
            return *known;
        }
        let number = self.names.len() as u64;
        self.functions.insert(name.to_vec(), number);
        self.names.push(name.to_vec());
        number
    }

    /// Returns the site number of a record (identified by its FuncHash) or of a value site in it.
    fn site(&mut self, function: u64, hash: u64, place: usize) -> u64 {
        let next = self.site_names.len() as u64;
        let number = *self.sites.entry((function, hash, place)).or_insert(next);
        if number == next {
            self.site_names.push((function, place));
        }
        number
    }

    /// Returns the number of a frame of a memory profile.
    fn frame(&mut self, profile: &MemoryProfile, frame: &memprof::Frame) -> u32 {
        let function = self.function(memprof::report::function_name(profile, frame.function).as_bytes());
        let next = u32::try_from(self.frames.len()).expect("fewer than 2^32 frames fit in memory");
        *self.frames.entry((function, frame.line_offset, frame.column)).or_insert(next)
    }

    /// Adds the call stacks of a memory profile.
    fn memory(&mut self, profile: &MemoryProfile, facts: &mut Facts) {
        let frames: Vec<u32> = profile.stacks.frames().iter().map(|frame| self.frame(profile, frame)).collect();
        for (stack, site) in memprof::report::contexts(profile) {
            let stack: Box<[u32]> = profile.stacks.stack(stack).iter().map(|frame| frames[frame.index()]).collect();
            let next = self.stacks.len() as u64;
            let number = *self.stacks.entry(stack).or_insert(next);
            for (section, events) in [(MEMORY_BYTES, site.info.total_size()), (ALLOCATIONS, site.info.alloc_count())] {
                facts.sections.entry(section).or_default().push(((number, 0), u128::from(events)));
            }
        }
    }

    fn read(&mut self, reader: &mut dyn ProfileReader) -> Result<Facts> {
        let mut facts = Facts::default();
        while let Some(record) = reader.next_record()? {
            self.record(record, &mut facts);
        }
        let symbols = reader.symbols()?;
        let targets = facts.sections.iter().filter(|(section, _)| is_named(section));
        for value in targets.flat_map(|(_, events)| events.iter().map(|((_, value), _)| value.cast_unsigned())) {
            if let Some(name) = symbols.name(value) {
                self.values.entry(value).or_insert_with(|| name.to_vec());
            }
        }
        Ok(facts)
    }

    fn record(&mut self, read: RecordRef<'_>, facts: &mut Facts) {
        let function = self.function(read.name);
        let hash = read.record.func_hash;
        if read.record.pseudo_count().is_none() {
            let site = self.site(function, hash, 0);
            let counters = facts.sections.entry(COUNTERS).or_default();
            counters.extend((0..).zip(read.record.counters).map(|(at, count)| ((site, at), u128::from(count))));
            let events = read.record.counters.iter().map(u128::from).sum();
            facts.functions.push((function, events));
        }
        for kind in ValueKind::ALL {
            for (at, values) in read.record.sites(kind).iter().enumerate() {
                // The sites of all value kinds interleave, so that each has its own number; 0 is the record.
                let site = self.site(function, hash, 1 + at * ValueKind::COUNT + kind as usize);
                let section = facts.sections.entry(kind.label()).or_default();
                section.extend(values.iter().map(|v| ((site, v.value.cast_signed()), u128::from(v.count))));
            }
        }
    }
}

/// Returns true if the values of a section are hashes of names.
fn is_named(section: &str) -> bool {
    ValueKind::ALL.iter().any(|kind| kind.is_name() && kind.label() == section)
}

impl Names for LlvmSpace {
    fn function(&self, function: u64) -> String {
        let name = usize::try_from(function).ok().and_then(|at| self.names.get(at));
        name.map(|name| String::from_utf8_lossy(name).into_owned()).unwrap_or_default()
    }

    fn site(&self, _: &str, site: u64) -> String {
        match usize::try_from(site).ok().and_then(|at| self.site_names.get(at)) {
            Some((function, 0)) => Names::function(self, *function),
            Some((function, place)) => {
                format!("{} site {}", Names::function(self, *function), (place - 1) / ValueKind::COUNT)
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
        let bytes = input.bytes(Access::Read, &options.limits)?;
        let read = &read;
        let mut read_both = || {
            let mut facts = if is_memory_profile(&bytes, read.compat) {
                Facts::default()
            } else {
                space.read(&mut following.reader(&mut *open_reader(&bytes, read)?))?
            };
            if let Some(memory) = find_in_bytes(&bytes, read)? {
                space.memory(&memory, &mut facts);
            }
            Ok(facts)
        };
        read_both().map_err(|error: Error| error.in_file(&input.path))
    };
    let (first, second) = (facts(first)?, facts(second)?);
    let mut options = options.clone();
    options.functions_by = COUNTERS;
    options.apart = vec![MEMORY_BYTES, ALLOCATIONS];
    options.receivers = vec![ValueKind::IndirectCallTarget.label(), ValueKind::VTableTarget.label()];
    let report = diff(first, second, &space, &options);
    Ok((report, following.into_followed()))
}
