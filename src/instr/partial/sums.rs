//! The sums over a sequence of inputs.

use crate::error::Result;
use crate::instr::file_merge::read_ahead;
use crate::instr::partial::runs::SiteLog;
use crate::instr::{FunctionFilter, InputOptions, MergeRules, records};
use crate::limits::Limits;
use crate::memory::SharedBytes;
use crate::memprof;
use crate::memprof::{MemoryProfile, ProfileOrder};
use crate::model::{
    BinaryId, FunctionId, FunctionRecord, FunctionTable, FunctionView, LARGEST_COUNT, MemProfSection, ProfileKind,
    ProfileReader, RecordStore, RecordView, Release, Remapping, TemporalProfile, ValueKind, name_ref,
};
use crate::partial::PartialInput;
use foldhash::fast::RandomState;
use foldhash::{HashMap, HashMapExt};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::collections::HashSet;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

/// The sums of inputs that one merge would accept or reject together: those of one kind. Unmarked front-end profiles
/// after a marked one form a separate group.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    pub(super) kind: ProfileKind,
    pub(super) is_after_front_end: bool,
    pub(super) records: Vec<Summed>,
    /// The counters and bitmap of each record.
    pub(super) sums: RecordStore,
    /// Positions in `records`, by their keys. The last records are not listed before one of them is searched for.
    pub(super) places: HashTable<u32>,
    pub(super) hasher: RandomState,
    /// Positions of the records that inputs visit, in order.
    pub(super) sequences: Pool<Vec<u32>>,
}

/// The data that one input contributed, without its records.
#[derive(Debug, Clone)]
pub(super) struct Contribution {
    pub(super) group: u32,
    /// Position in the group's `sequences`.
    pub(super) sequence: u32,
    /// Positions in the lists of the partial merge.
    pub(super) binary_ids: u32,
    pub(super) vtable_names: u32,
    pub(super) traces: TemporalProfile,
    pub(super) memory: Option<MemoryInput>,
}

/// The memory profile of an input, in the form of indexed files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MemoryInput {
    pub(super) section: MemProfSection,
    /// Whether the input was an indexed profile.
    pub(super) is_indexed: bool,
    /// The order of a profile of another format; earlier versions did not store it.
    pub(super) order: Option<ProfileOrder>,
}

/// The version of sections that store all known data (LLVM 21).
const SECTION_VERSION: u32 = 4;

/// Sums over a sequence of inputs, from which a merge can continue.
#[derive(Debug, Clone)]
pub struct PartialMerge {
    /// The maximum of a counter.
    pub(super) max_count: u64,
    /// Limits on the expansion of memory profiles.
    pub(super) limits: Limits,
    pub(super) inputs: Vec<PartialInput>,
    /// One per input; `None` if the input could not be used.
    pub(super) contributions: Vec<Option<Contribution>>,
    /// Names of functions, in arbitrary order.
    pub(super) names: FunctionTable,
    pub(super) groups: Vec<Group>,
    pub(super) binary_ids: Pool<Vec<BinaryId>>,
    pub(super) vtable_names: Pool<Vec<Vec<u8>>>,
    /// The function filters and renamings that were applied, in words.
    pub(super) applied: Vec<String>,
    /// The sums of a new group: none, with the file in which counters can stay.
    pub(super) no_sums: RecordStore,
    /// Known facts about the next input.
    pub(super) next: NextInput,
}

/// Facts about an input that are known before it is read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NextInput {
    /// The number of its records, or 0.
    pub(super) records: usize,
    /// Whether another thread adds its records while they are read.
    pub(super) is_read_ahead: bool,
}

impl PartialMerge {
    /// Creates an empty partial merge for a release with these rules.
    pub fn new(rules: &MergeRules, limits: Limits) -> Self {
        Self::with_ceiling(rules.max_count, limits)
    }

    fn with_ceiling(max_count: u64, limits: Limits) -> Self {
        Self {
            max_count,
            limits,
            inputs: Vec::new(),
            contributions: Vec::new(),
            names: FunctionTable::new(),
            groups: Vec::new(),
            binary_ids: Pool::default(),
            vtable_names: Pool::default(),
            applied: Vec::new(),
            no_sums: RecordStore::new(),
            next: NextInput::default(),
        }
    }

    /// Keeps the file of a single input, so that its counters can stay in it. Other counters take 32 bits if they fit.
    pub(crate) fn keep(&mut self, file: SharedBytes) {
        self.no_sums.keep(file);
        self.no_sums.keep_narrow();
    }

    /// Returns the inputs, in order.
    pub fn inputs(&self) -> &[PartialInput] {
        &self.inputs
    }

    /// Returns the inputs to change what is known about them. Their number cannot change.
    pub(crate) fn inputs_mut(&mut self) -> &mut [PartialInput] {
        &mut self.inputs
    }

    /// Returns the function filters and renamings that were applied to inputs, in words, each once.
    pub fn applied(&self) -> &[String] {
        &self.applied
    }

    /// Records a function filter or renaming, in words.
    pub fn note_applied(&mut self, words: String) {
        if !self.applied.contains(&words) {
            self.applied.push(words);
        }
    }

    /// Returns the number of sums: one for each name, FuncHash and shape.
    pub fn records(&self) -> usize {
        self.groups.iter().map(|group| group.records.len()).sum()
    }

    /// Returns the used inputs that have records, with their binary ids.
    pub(crate) fn binary_ids_of_inputs(&self) -> impl Iterator<Item = (&PartialInput, &[BinaryId])> {
        let both = self.inputs.iter().zip(&self.contributions).filter(|(input, _)| input.records > 0);
        both.filter_map(|(input, used)| Some((input, &**self.binary_ids.at(used.as_ref()?.binary_ids))))
    }

    /// Fails if a rule would rename a function.
    pub(crate) fn require_unchanged(&self, remapping: &Remapping) -> Result<()> {
        let rules = (!remapping.is_empty()).then_some(remapping);
        rules
            .map_or(Ok(()), |rules| self.names.iter().try_for_each(|function| rules.require_unchanged(function.name())))
    }

    /// Adds an input that contributes nothing, because it is empty or unreadable.
    pub(crate) fn add_unused(&mut self, input: PartialInput) {
        self.inputs.push(input);
        self.contributions.push(None);
    }

    /// Adds an input.
    ///
    /// # Errors
    ///
    /// The errors of the reader. Then the input was not added, except with `salvage` for the records before the fault.
    /// In both cases it is not recorded as failed.
    pub fn add_reader(
        &mut self,
        reader: &mut dyn ProfileReader,
        input: PartialInput,
        options: &InputOptions<'_>,
        filter: &FunctionFilter,
        salvage: bool,
    ) -> Result<()> {
        let mut one = Self::with_ceiling(self.max_count, self.limits);
        one.no_sums.clone_from(&self.no_sums);
        let mut group = Group { kind: reader.kind(), sums: self.no_sums.clone(), ..Group::default() };
        let next = std::mem::take(&mut self.next);
        one.names.reserve(next.records);
        group.reserve(next.records);
        let mut contribution = one.contribution();
        let mut read_records = |reader: &mut dyn ProfileReader| one.read_records(reader, &mut group, options, filter);
        let read = match next.is_read_ahead {
            true => read_ahead(reader, self.no_sums.file(), read_records),
            false => read_records(reader),
        };
        let read = read.and_then(|()| one.read_rest(reader, &mut contribution, options));
        if read.is_err() && !salvage {
            return read;
        }
        one.finish_input(input, group, contribution);
        self.append(one);
        read
    }

    /// Adds a memory profile as an input of its own.
    ///
    /// # Errors
    ///
    /// The errors of writing it as a section.
    pub fn add_memory(&mut self, profile: &MemoryProfile, input: PartialInput) -> Result<()> {
        let mut options = memprof::indexed::WriteOptions::new(Release::DEFAULT, Some(SECTION_VERSION), true)?;
        options.schema = profile.schema;
        let bytes = memprof::indexed::write(profile, &options)?;
        let order = Some(ProfileOrder::of(profile, memprof::indexed::read(&bytes, 0, &self.limits)?.profile));
        let section = MemProfSection { bytes, offset: 0, indexed_version: 0 };
        let mut one = Self::with_ceiling(self.max_count, self.limits);
        let mut group = Group { kind: ProfileKind::MEMPROF, ..Group::default() };
        group.sequences.place(Vec::new());
        let contribution =
            Contribution { memory: Some(MemoryInput { section, is_indexed: false, order }), ..one.contribution() };
        let records = profile.records().len() as u64;
        one.finish_input(PartialInput { records, ..input }, group, contribution);
        self.append(one);
        Ok(())
    }

    /// Returns the contribution of a single input, initially empty.
    fn contribution(&mut self) -> Contribution {
        let (binary_ids, vtable_names) = (self.binary_ids.place(Vec::new()), self.vtable_names.place(Vec::new()));
        let traces = TemporalProfile::default();
        Contribution { group: 0, sequence: 0, binary_ids, vtable_names, traces, memory: None }
    }

    fn finish_input(&mut self, input: PartialInput, group: Group, contribution: Contribution) {
        let visits: usize = group.sequences.iter().map(Vec::len).sum();
        let (records, kind) = (input.records + visits as u64, Some(group.kind.bits()));
        self.inputs.push(PartialInput { records, kind, ..input });
        self.groups.push(group);
        self.contributions.push(Some(contribution));
    }

    fn read_records(
        &mut self,
        reader: &mut dyn ProfileReader,
        group: &mut Group,
        options: &InputOptions<'_>,
        filter: &FunctionFilter,
    ) -> Result<()> {
        let is_hashed = reader.hashes_names();
        let mut visits = Vec::new();
        let mut read = Ok(());
        loop {
            let incoming = match options.cancel.check().and_then(|()| reader.next_record()) {
                Ok(Some(incoming)) => incoming,
                Ok(None) => break,
                Err(error) => {
                    read = Err(error);
                    break;
                }
            };
            let incoming = options.prepare(incoming)?;
            let hash = incoming.name_ref.filter(|_| is_hashed).unwrap_or_else(|| name_ref(incoming.name));
            let known = self.names.len();
            let function = self.names.intern_shared(incoming.name, hash, incoming.text);
            let record = incoming.record;
            let key = (function, record.func_hash, Shape::of(record, !filter.keeps(incoming.name)));
            let place = if function.index() < known { group.place(key) } else { group.push(key) };
            group.add(place, record, options.weight, self.max_count);
            visits.push(place);
        }
        group.kind = reader.kind();
        group.sequences.place(visits);
        read
    }

    fn read_rest(
        &mut self,
        reader: &mut dyn ProfileReader,
        contribution: &mut Contribution,
        options: &InputOptions<'_>,
    ) -> Result<()> {
        contribution.binary_ids = self.binary_ids.place(reader.binary_ids()?);
        if reader.kind().contains(ProfileKind::TEMPORAL) {
            contribution.traces = reader.temporal();
            if reader.traces_take_input_weight() {
                contribution.traces.traces.iter_mut().for_each(|trace| trace.weight = options.weight);
            }
        }
        let mut seen = HashSet::new();
        let names = reader.vtable_names()?.into_iter().filter(|name| seen.insert(name.clone())).collect();
        contribution.vtable_names = self.vtable_names.place(names);
        let section = reader.memprof()?.filter(|_| options.takes_memprof);
        if let Some(section) = &section {
            memprof::indexed::read_until(&section.bytes, section.offset, &self.limits, &options.cancel)?;
        }
        contribution.memory = section.map(|section| MemoryInput { section, is_indexed: true, order: None });
        Ok(())
    }

    /// Appends the sums of later inputs.
    pub fn append(&mut self, mut other: Self) {
        if self.inputs.is_empty() && other.max_count == self.max_count {
            std::mem::take(&mut other.applied).into_iter().for_each(|words| self.note_applied(words));
            let applied = std::mem::take(&mut self.applied);
            *self = Self { max_count: self.max_count, limits: self.limits, applied, ..other };
            return;
        }
        let first_input = u32::try_from(self.inputs.len()).expect("fewer than 2^32 inputs fit in memory");
        let has_front_end = self.groups.iter().any(|group| group.kind.contains(ProfileKind::FRONT_END));
        let Self { inputs, contributions, names, groups, binary_ids, vtable_names, applied, max_count, .. } = other;
        let id_places: Vec<u32> = binary_ids.iter().map(|list| self.binary_ids.place(list.clone())).collect();
        let name_places: Vec<u32> = vtable_names.iter().map(|list| self.vtable_names.place(list.clone())).collect();
        // Runs of one program have their functions and records in the same order.
        let is_same = |(ours, theirs): &(FunctionView<'_>, FunctionView<'_>)| ours.name() == theirs.name();
        let same_functions = self.names.iter().zip(names.iter()).take_while(is_same).count();
        let mut overflowed: Vec<(u32, u32)> = Vec::new();
        let mut moved: Vec<(u32, Vec<u32>)> = Vec::new();
        for group in groups {
            let is_after = group.is_after_front_end || (has_front_end && group.kind.is_none());
            let into = self.group(group.kind, is_after);
            let target = &mut self.groups[into as usize];
            let mut places = Vec::with_capacity(group.records.len());
            for (at, record) in group.records.into_iter().enumerate() {
                let (name, sum) = (names.function(record.function), group.sums.record(at));
                let is_same_function = |known: FunctionId| match known == record.function {
                    true if known.index() < same_functions => true,
                    _ => self.names.name(known) == name.name(),
                };
                let known = target.records.get(at).filter(|known| {
                    (known.func_hash, known.shape) == (record.func_hash, record.shape)
                        && is_same_function(known.function)
                });
                let place = match known {
                    Some(_) => at as u32,
                    None => {
                        let function = self.names.intern_shared(name.name(), name.name_ref(), name.text());
                        target.place((function, record.func_hash, record.shape))
                    }
                };
                let exceeds = target.add_counts(place, sum, 1, max_count, self.max_count);
                if target.records[place as usize].append(record, exceeds, first_input) {
                    overflowed.push((into, place));
                }
                places.push(place);
            }
            let visits = group.sequences.iter().map(|visits| visits.iter().map(|at| places[*at as usize]).collect());
            moved.push((into, visits.map(|visits| target.sequences.place(visits)).collect()));
        }
        for (at, contribution) in contributions.iter().enumerate() {
            let moved = contribution.as_ref().map(|old| {
                let (group, sequences) = &moved[old.group as usize];
                Contribution {
                    group: *group,
                    sequence: sequences[old.sequence as usize],
                    binary_ids: id_places[old.binary_ids as usize],
                    vtable_names: name_places[old.vtable_names as usize],
                    ..old.clone()
                }
            });
            if let Some(moved) = moved.as_ref().filter(|_| !overflowed.is_empty()) {
                self.note_overflows(&mut overflowed, moved, first_input + at as u32);
            }
            self.contributions.push(moved);
        }
        self.inputs.extend(inputs);
        applied.into_iter().for_each(|words| self.note_applied(words));
    }

    /// Records `input` for the sums that exceeded the maximum of a counter when they were joined. The first input that
    /// adds to such a sum is recorded, because the actual one is unknown.
    fn note_overflows(&mut self, overflowed: &mut Vec<(u32, u32)>, contribution: &Contribution, input: u32) {
        let Group { records, sequences, .. } = &mut self.groups[contribution.group as usize];
        let visits = sequences.at(contribution.sequence);
        overflowed.retain(|(group, place)| {
            let is_here = *group == contribution.group && visits.contains(place);
            if is_here {
                records[*place as usize].extra_mut().overflows.push(input);
            }
            !is_here
        });
    }

    /// Finds or creates the group of a kind.
    fn group(&mut self, kind: ProfileKind, is_after_front_end: bool) -> u32 {
        let known = |group: &Group| group.kind == kind && group.is_after_front_end == is_after_front_end;
        let place = self.groups.iter().position(known).unwrap_or_else(|| {
            self.groups.push(Group { kind, is_after_front_end, sums: self.no_sums.clone(), ..Group::default() });
            self.groups.len() - 1
        });
        place as u32
    }
}

impl Group {
    /// Adds a record of the single input, which has the number 0, to the sum at `place`.
    fn add(&mut self, place: u32, record: RecordView<'_>, weight: u64, max: u64) {
        let shape = self.records[place as usize].shape;
        let mut counts = counts_of(record);
        let zeros;
        if shape.is_left_out {
            zeros = (vec![0; record.counters.len()], vec![0; record.bitmap.len()]);
            (counts.counters, counts.bitmap) = ((&zeros.0).into(), &zeros.1);
        }
        // Records that are not whole have no higher count.
        let exceeds = self.add_counts(place, counts, weight, LARGEST_COUNT, max);
        let sum = &mut self.records[place as usize];
        if shape.is_whole {
            let mut copy = FunctionRecord::default();
            copy.copy_from(record);
            sum.extra_mut().whole.push(Whole { record: copy, weight });
        } else if !shape.is_left_out {
            if exceeds {
                sum.extra_mut().overflows.push(0);
            }
            if shape.has_sites() {
                sum.extra_mut().sites.push(record);
            }
        }
    }

    /// Adds counters of at most `found_max`, and a bitmap, to the sum at `place`. Returns true if a counter exceeded
    /// `max`.
    fn add_counts(&mut self, place: u32, record: RecordView<'_>, weight: u64, found_max: u64, max: u64) -> bool {
        let place = place as usize;
        let is_new = place == self.sums.len();
        let Summed { func_hash, shape, .. } = self.records[place];
        if shape.is_whole {
            if is_new {
                self.sums.push(RecordView::of_counters(func_hash, (&[][..]).into()));
            }
            return false;
        }
        if !is_new {
            self.sums.bitmap_mut(place).iter_mut().zip(record.bitmap).for_each(|(all, byte)| *all |= byte);
            return records::add_weighted(self.sums.counters_mut(place), record.counters, weight, max);
        }
        // Unchanged counters can stay in the file.
        let mut counts = counts_of(record);
        if weight == 1 && found_max <= max {
            self.sums.push(counts);
            return false;
        }
        let mut counters = record.counters.to_vec();
        let exceeds = records::scale(&mut counters, weight, max);
        counts.counters = (&counters).into();
        self.sums.push(counts);
        exceeds
    }

    /// Finds or creates the position of a sum. The caller adds counts to a new one.
    fn place(&mut self, key: (FunctionId, u64, Shape)) -> u32 {
        self.list_all();
        let Self { records, places, hasher, .. } = self;
        let known = places.find(hasher.hash_one(key), |at| records[*at as usize].key() == key);
        known.copied().unwrap_or_else(|| self.push(key))
    }

    /// Creates a sum that the group does not have. The caller adds its counts.
    fn push(&mut self, (function, func_hash, shape): (FunctionId, u64, Shape)) -> u32 {
        let place = u32::try_from(self.records.len()).expect("fewer than 2^32 records fit in memory");
        self.records.push(Summed { function, func_hash, shape, extra: None });
        place
    }

    /// Reserves memory for `records` more sums.
    fn reserve(&mut self, records: usize) {
        self.records.reserve(records);
        self.sums.reserve(records);
    }

    /// Lists the sums that are not listed yet. Returns false if one occurs twice.
    pub(super) fn list_all(&mut self) -> bool {
        let Self { records, places, hasher, .. } = self;
        let hash_of = |at: &u32| hasher.hash_one(records[*at as usize].key());
        places.reserve(records.len() - places.len(), hash_of);
        (places.len()..records.len()).all(|at| {
            let key = records[at].key();
            match places.entry(hasher.hash_one(key), |at| records[*at as usize].key() == key, hash_of) {
                Entry::Occupied(_) => false,
                Entry::Vacant(place) => {
                    place.insert(at as u32);
                    true
                }
            }
        })
    }
}

/// Returns the counters and the bitmap of a record.
pub(super) fn counts_of(record: RecordView<'_>) -> RecordView<'_> {
    let mut counts = RecordView::of_counters(record.func_hash, record.counters);
    counts.bitmap = record.bitmap;
    counts
}

// Lists with many equal entries, each stored once.

/// Distinct items in order of first appearance.
#[derive(Debug, Clone)]
pub(super) struct Pool<T> {
    items: Vec<Arc<T>>,
    places: HashMap<Arc<T>, u32>,
}

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self { items: Vec::new(), places: HashMap::new() }
    }
}

impl<T: Hash + Eq> Pool<T> {
    /// Returns the position of an item that equals `item`, which is stored if it is new.
    pub(super) fn place(&mut self, item: T) -> u32 {
        if let Some(place) = self.places.get(&item) {
            return *place;
        }
        let place = u32::try_from(self.items.len()).expect("fewer than 2^32 lists fit in memory");
        let item = Arc::new(item);
        self.items.push(item.clone());
        self.places.insert(item, place);
        place
    }

    pub(super) fn at(&self, place: u32) -> &T {
        &self.items[place as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        self.items.iter().map(|item| &**item)
    }
}

// The sum of the records of one name, FuncHash and shape.

/// Properties that must match to add two records of one name and FuncHash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) counters: u32,
    pub(super) bitmap: u32,
    /// Value sites by kind.
    pub(super) sites: [u32; ValueKind::COUNT],
    /// Whether records are stored one by one: those with pseudo counts, counts beyond the maximum, or uniformity.
    pub(super) is_whole: bool,
    /// Whether a function filter dropped it: its counts are not stored, but its name still determines the order of
    /// others.
    pub(super) is_left_out: bool,
}

impl Shape {
    pub(super) fn of(record: RecordView<'_>, is_left_out: bool) -> Self {
        // A pseudo count, or a count that a sum would change. The bits of all counters are no less than the largest one, and
        // are faster to find.
        let bits = record.counters.iter().fold(0, |bits, count| bits | count);
        let beyond = bits > LARGEST_COUNT && record.max_counter() > LARGEST_COUNT;
        let length = |len: usize| u32::try_from(len).expect("a record has fewer than 2^32 parts");
        Self {
            counters: length(record.counters.len()),
            bitmap: length(record.bitmap.len()),
            sites: ValueKind::EACH.map(|kind| length(record.sites(kind).len())),
            is_whole: beyond || !record.uniformity.is_empty(),
            is_left_out,
        }
    }

    pub(super) fn has_sites(self) -> bool {
        self.sites != [0; ValueKind::COUNT]
    }
}

/// A record of one input that is stored separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Whole {
    pub(super) record: FunctionRecord,
    pub(super) weight: u64,
}

/// Data that few records have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Extra {
    /// The sites of each visit.
    pub(super) sites: SiteLog,
    /// The records of each visit, if `is_whole` is set in the shape.
    pub(super) whole: Vec<Whole>,
    /// Inputs that brought a counter beyond its maximum, in order.
    pub(super) overflows: Vec<u32>,
}

/// A sum. An input *visits* it with each record that it adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Summed {
    pub(super) function: FunctionId,
    pub(super) func_hash: u64,
    pub(super) shape: Shape,
    pub(super) extra: Option<Box<Extra>>,
}

impl Summed {
    fn key(&self) -> (FunctionId, u64, Shape) {
        (self.function, self.func_hash, self.shape)
    }

    pub(super) fn extra_mut(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }

    /// Returns true if every visit matters when the merge continues.
    pub(super) fn is_visited_one_by_one(&self) -> bool {
        self.shape.is_whole || self.extra.is_some() || (self.shape.has_sites() && !self.shape.is_left_out)
    }

    /// Adds the data of a sum of later inputs other than its counts; the numbers of these inputs begin at `first_input`.
    /// Returns true if this brought a counter beyond its maximum, which `exceeds` states, and none of them did.
    fn append(&mut self, other: Self, exceeds: bool, first_input: u32) -> bool {
        let mut new = exceeds;
        if let Some(theirs) = other.extra {
            new &= theirs.overflows.is_empty();
            let ours = self.extra_mut();
            ours.sites.append(theirs.sites);
            ours.whole.extend(theirs.whole);
            ours.overflows.extend(theirs.overflows.iter().map(|input| first_input + input));
        }
        new
    }
}
