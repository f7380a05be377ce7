//! The merger: state, inputs, records.

use crate::compat::Compat;
use crate::error::Result;
use crate::instr::add_counters;
use crate::instr::rules::{AddOutcome, SoftError};
use crate::instr::rules::{CounterKind, KindConflict, SharedKind, combine_kinds};
use crate::instr::rules::{KindRule, MergeRules, TraceRule};
use crate::instr::sites::{SiteMerger, SiteOrders, sort_sites};
use crate::limits::Limits;
use crate::memory::{HOLD_NAMES, SharedPages};
use crate::memprof::{MemoryMerger, MemoryProfile, MergedMemory};
use crate::model::hash_order::Mersenne;
use crate::model::hash_order::string_map_order;
use crate::model::{
    BinaryId, FunctionId, FunctionRecord, MemProfSection, Profile, ProfileKind, PseudoCount, RecordRef, RecordView,
    Release, TemporalProfile, TemporalTrace, ValueKind,
};
use crate::{memory, memprof};
use std::collections::HashSet;
use std::path::Path;

/// How profiles are added up.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MergeOptions {
    /// Whose rules apply. Default: release 22.
    pub release: Release,
    /// How many temporal traces are kept. Default: 100.
    pub trace_reservoir_size: u64,
    /// Functions of one trace at most; the rest is cut. Default: 10,000.
    pub max_trace_length: u64,
    /// Whether names of vtables are kept. Default: `false`.
    pub keep_vtable_names: bool,
    /// Whose rules decide which kinds can be merged, and what becomes of several memory profiles.
    pub compat: Compat,
    /// Bounds on what memory profiles expand to.
    pub limits: Limits,
    /// The kind of inputs that were merged elsewhere. Default: there were none.
    pub(crate) shared_kind: SharedKind,
}

impl Default for MergeOptions {
    fn default() -> Self {
        Self {
            release: Release::DEFAULT,
            trace_reservoir_size: 100,
            max_trace_length: 10_000,
            keep_vtable_names: false,
            compat: Compat::default(),
            limits: Limits::default(),
            shared_kind: SharedKind::default(),
        }
    }
}

/// Adds records of any source up into one [`Profile`].
///
/// ```
/// use profbridge::merge::{MergeOptions, Merger};
/// use profbridge::instr::{FunctionRecord, ProfileKind, RecordRef};
///
/// let mut merger = Merger::new(MergeOptions::default());
/// let record = FunctionRecord::new(0x1234, vec![3, 1]);
/// for weight in [1, 2] {
///     merger.begin_input(ProfileKind::IR)?;
///     let outcome = merger.add_record(RecordRef { name: b"main", name_ref: None, text: None, record: record.view() }, weight);
///     assert_eq!(outcome.error, None);
/// }
/// let profile = merger.finish();
/// let main = profile.functions.find(b"main").unwrap();
/// assert_eq!(main.records().next().unwrap().counters, [9, 3]);
/// # Ok::<(), profbridge::Error>(())
/// ```
#[derive(Debug)]
pub struct Merger {
    pub(super) options: MergeOptions,
    pub(super) rules: MergeRules,
    pub(super) profile: Profile,
    pub(super) orders: SiteOrders,
    pub(super) sites: SiteMerger,
    pub(super) reservoir: Reservoir,
    pub(super) vtable_names: HashSet<Vec<u8>>,
    has_inputs: bool,
    /// The kind of the inputs with records, in profbridge mode.
    shared_kind: SharedKind,
    /// All bits of the inputs without records, in profbridge mode.
    without_records: ProfileKind,
    pub(super) memory: MemoryMerger,
    /// Whether memory was refused for the counters of a record.
    pub(super) is_out_of_memory: bool,
}

impl Merger {
    /// A merger without inputs.
    pub fn new(options: MergeOptions) -> Self {
        let mut rules = MergeRules::of(options.release);
        if !options.compat.is_llvm() {
            rules.kinds = KindRule::OneKind;
        }
        let shared_kind = options.shared_kind.clone();
        Self {
            reservoir: Reservoir::new(rules.traces, options.trace_reservoir_size, options.max_trace_length),
            sites: SiteMerger::new(rules.stable_value_sort),
            rules,
            memory: MemoryMerger::new(options.compat),
            options,
            profile: Profile::default(),
            orders: SiteOrders::default(),
            vtable_names: HashSet::new(),
            has_inputs: false,
            shared_kind,
            without_records: ProfileKind::NONE,
            is_out_of_memory: false,
        }
    }

    /// The rules in use.
    pub fn rules(&self) -> &MergeRules {
        &self.rules
    }

    /// The kind of everything merged so far.
    pub fn kind(&self) -> ProfileKind {
        let of_contents = ProfileKind::MEMPROF | ProfileKind::TEMPORAL;
        let others = self.without_records;
        self.profile.kind | if self.has_inputs { others.intersection(of_contents) } else { others }
    }

    /// What the inputs so far share.
    pub(crate) fn shared_kind(&self) -> &SharedKind {
        &self.shared_kind
    }

    /// Takes over what inputs share that were merged elsewhere, those of this merger among them.
    pub(crate) fn set_shared_kind(&mut self, shared: SharedKind) {
        self.shared_kind = shared;
    }

    /// What was merged so far; its value sites are in no particular order.
    pub fn functions(&self) -> &crate::model::FunctionTable {
        &self.profile.functions
    }

    /// Makes room for the records of a first input.
    pub fn reserve(&mut self, records: usize) {
        if self.profile.functions.is_empty() {
            self.profile.functions.reserve(records);
        }
    }

    /// Keeps the file of an input that counts once, the only one of all: counters that are not added up stay in it.
    pub(crate) fn keep(&mut self, file: SharedPages) {
        self.profile.functions.keep(file);
    }

    /// As [`keep`](Self::keep) for an input whose counters stand in no file: they take half of the memory where they fit.
    pub(crate) fn keep_narrow(&mut self) {
        self.profile.functions.keep_narrow();
    }

    /// Opens the next input, which has records of this kind.
    ///
    /// # Errors
    ///
    /// [`KindConflict`](crate::ErrorKind::KindConflict) when it cannot be combined
    /// with the inputs so far. The input must not be merged then; others may.
    pub fn begin_input(&mut self, kind: ProfileKind) -> Result<()> {
        self.begin_named_input(kind, None)
    }

    /// As [`begin_input`](Self::begin_input); errors of later inputs name this one.
    pub(crate) fn begin_named_input(&mut self, kind: ProfileKind, name: Option<&Path>) -> Result<()> {
        if self.rules.kinds == KindRule::OneKind {
            self.shared_kind.add(CounterKind::Of(kind), name)?;
        }
        self.profile.kind = combine_kinds(self.rules.kinds, self.profile.kind, kind, self.has_inputs)
            .map_err(KindConflict::into_error)?;
        self.has_inputs = true;
        Ok(())
    }

    /// Opens the next input, which has no records: a memory profile, or an empty one. In profbridge
    /// mode its counters are of no kind.
    ///
    /// # Errors
    ///
    /// As [`begin_input`](Self::begin_input), in llvm-profdata mode only.
    pub fn begin_without_records(&mut self, kind: ProfileKind) -> Result<()> {
        if self.rules.kinds != KindRule::OneKind {
            return self.begin_input(kind);
        }
        self.without_records |= kind;
        Ok(())
    }

    /// Opens an input whose counts are merged elsewhere, in records that the bridge makes at the end.
    ///
    /// # Errors
    ///
    /// As [`begin_input`](Self::begin_input).
    pub(crate) fn begin_counts(&mut self, name: &Path) -> Result<()> {
        self.shared_kind.add(CounterKind::AnyCount, Some(name))
    }

    /// Makes room for a record.
    ///
    /// # Errors
    ///
    /// Out of memory: what was merged of its input cannot be taken back.
    pub(super) fn try_reserve(&mut self, record: RecordView<'_>) -> Result<()> {
        let made = self.profile.functions.try_reserve_counters(record.counters);
        self.is_out_of_memory |= made.is_err();
        made
    }

    /// Says that an input was given up half way, for it did not fit the memory.
    pub(crate) fn lack_memory(&mut self) {
        self.is_out_of_memory = true;
    }

    /// Whether an input was given up half way, for it did not fit the memory.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.is_out_of_memory || self.orders.is_out_of_memory() || self.sites.is_out_of_memory()
    }

    /// Adds a record, every count times `weight` (1 and up).
    pub fn add_record(&mut self, incoming: RecordRef<'_>, weight: u64) -> AddOutcome {
        let function = self.function(&incoming);
        self.add_to_function(function, incoming.record, weight)
    }

    /// As [`add_record`](Self::add_record), for a record whose `name_ref`, if
    /// it has one, is the hash of its name for certain.
    pub(crate) fn add_hashed_record(&mut self, incoming: RecordRef<'_>, weight: u64) -> AddOutcome {
        let functions = &mut self.profile.functions;
        let function = match incoming.name_ref {
            Some(hash) => functions.intern_shared(incoming.name, hash, incoming.text),
            None => functions.intern(incoming.name),
        };
        self.add_to_function(function, incoming.record, weight)
    }

    /// Adds a record of counters alone to the one that is expected next, as [`add_record`](Self::add_record) would:
    /// most records of files of one program are such.
    #[inline]
    pub(super) fn add_to_expected(&mut self, incoming: &RecordRef<'_>, weight: u64) -> Option<AddOutcome> {
        let (name_ref, source) = (incoming.name_ref?, incoming.record);
        let (record, counters) = self.profile.functions.find_next_counters(incoming.name, name_ref, source)?;
        let firsts = [counters.first().copied(), source.counters.first()];
        if self.rules.pseudo_counts
            && firsts.into_iter().flatten().any(|first| PseudoCount::from_counter(first).is_some())
        {
            return None;
        }
        let saturated = add_counters::add_weighted(counters, source.counters, weight, self.rules.max_count);
        let error = saturated.then_some(SoftError::CounterOverflow);
        Some(AddOutcome { record, is_new: false, error })
    }

    /// Adds a record to a function of this merger.
    pub(super) fn add_to_function(
        &mut self,
        function: FunctionId,
        incoming: RecordView<'_>,
        weight: u64,
    ) -> AddOutcome {
        match self.profile.functions.find_record(function, incoming.func_hash) {
            Some(record) => AddOutcome { record, is_new: false, error: self.merge_record(record, incoming, weight) },
            None => self.push_record(function, incoming, weight),
        }
    }

    /// The function of that name. A hash that an input claims is believed only
    /// when a name of that hash is there already.
    fn function(&mut self, incoming: &RecordRef<'_>) -> FunctionId {
        let functions = &mut self.profile.functions;
        match incoming.name_ref.and_then(|hash| functions.find_next(incoming.name, hash)) {
            Some(known) => known,
            None => functions.intern(incoming.name),
        }
    }

    /// Adds identities of images. Files list each once, in order.
    pub fn add_binary_ids(&mut self, ids: impl IntoIterator<Item = BinaryId>) {
        self.profile.binary_ids.extend(ids);
    }

    /// Adds the traces of one input. Those of a raw file carry the weight of
    /// the input, which the caller sets; others keep their own.
    pub fn add_traces(&mut self, traces: TemporalProfile) {
        self.reservoir.add(traces);
    }

    /// Adds the names of vtables of one input, if they are to be kept.
    ///
    /// LLVM's readers hold them in a hash map, whose order decides which name
    /// comes first.
    pub fn add_vtable_names(&mut self, names: impl IntoIterator<Item = Vec<u8>>) {
        if !self.options.keep_vtable_names {
            return;
        }
        let kept = self.order_vtable_names(names);
        // Whoever has the result asks whether memory was lacking.
        self.is_out_of_memory |= kept.is_err();
    }

    fn order_vtable_names(&mut self, names: impl IntoIterator<Item = Vec<u8>>) -> Result<()> {
        let (mut seen, mut distinct) = (HashSet::new(), Vec::new());
        for name in names {
            memory::reserve(&mut seen, 1, HOLD_NAMES)?;
            if seen.insert(name.clone()) {
                memory::push(&mut distinct, name, HOLD_NAMES)?;
            }
        }
        memory::reserve(&mut self.vtable_names, distinct.len(), HOLD_NAMES)?;
        memory::reserve(&mut self.profile.vtable_names, distinct.len(), HOLD_NAMES)?;
        for index in string_map_order(self.options.release, distinct.iter().map(Vec::as_slice)) {
            let name = &distinct[index as usize];
            if self.vtable_names.insert(name.clone()) {
                self.profile.vtable_names.push(name.clone());
            }
        }
        Ok(())
    }

    /// Adds the memory profile of an indexed input, which counts `weight` times.
    ///
    /// # Errors
    ///
    /// Those of reading it ([`memprof::indexed::read`]), and of [`add_memory`](Self::add_memory).
    pub fn add_memprof(&mut self, section: MemProfSection, weight: u64) -> Result<()> {
        let stored = memprof::indexed::read(&section.bytes, section.offset, &self.options.limits)?;
        self.add_memory(stored.profile, memprof::Source::Indexed(section), weight)
    }

    /// Adds the memory profile of an input.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error: the merge is of no use any more.
    pub fn add_memory(&mut self, profile: MemoryProfile, source: memprof::Source, weight: u64) -> Result<()> {
        self.memory.add(profile, source, weight);
        Ok(())
    }

    /// Whether there are several memory profiles, and no function is in two of them.
    pub fn memory_shares_nothing(&self) -> bool {
        self.memory.shares_nothing()
    }

    /// Takes the memory profiles out, added up; nothing when there was none.
    /// What is not taken out and is the section of one input alone,
    /// [`finish`](Self::finish) leaves in the profile.
    pub fn take_memory(&mut self) -> Option<MergedMemory> {
        std::mem::replace(&mut self.memory, MemoryMerger::new(self.options.compat)).finish()
    }

    /// The result, with value sites in the order that files show.
    pub fn finish(mut self) -> Profile {
        self.profile.kind = self.kind();
        self.profile.functions.all_sites_mut().for_each(sort_sites);
        self.profile.temporal = self.reservoir.into_kept();
        self.profile.memprof = self.memory.finish().and_then(|memory| memory.carried);
        self.profile
    }
}

/// Functions with a memory size that stands twice at one site.
///
/// LLVM takes such a profile for damaged and warns after writing it; only
/// functions that `keep` accepts are examined.
pub fn repeated_sizes<'a>(
    profile: &'a Profile,
    rules: &'a MergeRules,
    keep: impl Fn(&[u8]) -> bool + 'a,
) -> impl Iterator<Item = FunctionId> + 'a {
    let kept = profile.functions.iter().filter(move |function| keep(function.name()));
    kept.filter(|function| function.records().any(|record| repeats_size(record, rules))).map(|function| function.id())
}

/// Whether a memory size stands twice at one site of the record.
pub fn repeats_size(record: RecordView<'_>, rules: &MergeRules) -> bool {
    let sites = record.sites(ValueKind::MemOpSize);
    if sites.is_empty() {
        return false;
    }
    let mut seen = HashSet::new();
    sites.iter().any(|site| {
        seen.clear();
        site.iter().any(|v| !seen.insert(v.value) && (rules.reports_every_repeated_size || v.value == 0))
    })
}

/// Puts the value sites of a record into the order that files show: what a
/// merge does to a record that is the only one of its name and FuncHash.
pub fn sort_record_sites(record: &mut FunctionRecord) {
    for kind in ValueKind::ALL {
        if !record.sites(kind).is_empty() {
            sort_sites(record.sites_mut(kind));
        }
    }
}

// Keeping a bounded sample of temporal traces.
//
// As long as all traces fit they are kept in order. After that each further
// trace takes the place of a random kept one. The random numbers have a fixed
// seed, so the same inputs in the same order keep the same traces.

/// Random numbers drawn for one input at most. A file may claim to have seen
/// 2^64 traces; LLVM would draw for each of them.
const MAX_DRAWS: u64 = 1 << 26;

/// The sample and what decides about it.
#[derive(Debug)]
pub(super) struct Reservoir {
    rule: TraceRule,
    size: usize,
    max_trace_length: usize,
    random: Mersenne,
    kept: TemporalProfile,
}

impl Reservoir {
    pub(super) fn new(rule: TraceRule, size: u64, max_trace_length: u64) -> Self {
        Self {
            rule,
            size: usize::try_from(size).unwrap_or(usize::MAX),
            max_trace_length: usize::try_from(max_trace_length).unwrap_or(usize::MAX),
            random: Mersenne::new(Mersenne::DEFAULT_SEED),
            kept: TemporalProfile::default(),
        }
    }

    pub(super) fn into_kept(self) -> TemporalProfile {
        self.kept
    }

    /// Adds the traces of one input and the number of traces it ever saw. An
    /// input without traces is passed over, whatever number it claims.
    pub(super) fn add(&mut self, mut source: TemporalProfile) {
        if source.traces.is_empty() {
            return;
        }
        if self.rule != TraceRule::Release17 {
            for trace in &mut source.traces {
                trace.functions.truncate(self.max_trace_length);
            }
            source.traces.retain(|trace| !trace.functions.is_empty());
        }
        match self.rule {
            TraceRule::Release17 | TraceRule::Release19 => self.add_as_19(source),
            TraceRule::Release22 => self.add_as_22(source),
        }
    }

    fn add_as_22(&mut self, mut source: TemporalProfile) {
        let kept = &mut self.kept.traces;
        kept.truncate(self.size);
        if source.traces.is_empty() {
            return;
        }
        let room = self.size.saturating_sub(kept.len()).min(source.traces.len());
        kept.extend(source.traces.drain(..room));
        self.random.shuffle(&mut source.traces);
        let mut left = source.traces.into_iter();
        let first = kept.len() as u64;
        for at in first..source.stream_size.min(first.saturating_add(MAX_DRAWS)) {
            if left.len() == 0 || kept.is_empty() {
                break;
            }
            let place = self.random.uniform(saturate(at));
            if let Some(kept) = kept.get_mut(place as usize)
                && let Some(trace) = left.next()
            {
                *kept = trace;
            }
        }
        self.kept.stream_size = self.kept.stream_size.wrapping_add(source.stream_size);
    }

    fn add_as_19(&mut self, mut source: TemporalProfile) {
        let size = self.size as u64;
        if self.kept.stream_size <= size && source.stream_size > size {
            std::mem::swap(&mut self.kept, &mut source);
        }
        if source.stream_size <= size {
            for trace in source.traces {
                self.add_one_as_19(trace, size);
            }
            return;
        }
        let mut replaced: Vec<usize> = Vec::new();
        let first = self.kept.stream_size;
        for seen in 0..source.stream_size.min(MAX_DRAWS) {
            let place = self.random.uniform(saturate(first.wrapping_add(seen))) as usize;
            if place < self.kept.traces.len() && !replaced.contains(&place) {
                replaced.push(place);
            }
        }
        self.kept.stream_size = first.wrapping_add(source.stream_size);
        self.random.shuffle(&mut source.traces);
        for (place, trace) in replaced.into_iter().zip(source.traces) {
            self.kept.traces[place] = trace;
        }
    }

    fn add_one_as_19(&mut self, mut trace: TemporalTrace, size: u64) {
        // Release 17 cuts only here; for 19 this was done before.
        trace.functions.truncate(self.max_trace_length);
        if trace.functions.is_empty() {
            return;
        }
        if self.kept.stream_size < size {
            self.kept.traces.push(trace);
        } else {
            let place = self.random.uniform(saturate(self.kept.stream_size)) as usize;
            if let Some(kept) = self.kept.traces.get_mut(place) {
                *kept = trace;
            }
        }
        self.kept.stream_size = self.kept.stream_size.wrapping_add(1);
    }
}

/// Streams of 2^32 and more traces do not occur; the draw is for 32 bits.
fn saturate(high: u64) -> u32 {
    u32::try_from(high).unwrap_or(u32::MAX - 1)
}
