//! The merger: its state, inputs and records.

use crate::cancel::Cancel;
use crate::compat::Compat;
use crate::error::{Result, Warning, WithWarnings};
use crate::instr::rules::AddOutcome;
use crate::instr::rules::Weights;
use crate::instr::rules::{CounterKind, KindConflict, SharedKind, combine_kinds};
use crate::instr::rules::{KindRule, MergeRules, TraceRule};
use crate::instr::sites::{SiteMerger, SiteOrders, sort_sites};
use crate::limits::Limits;
use crate::memory::{HOLD_NAMES, SharedBytes};
use crate::memprof::{MemoryProfile, MergedMemory};
use crate::model::hash_order::Mersenne;
use crate::model::hash_order::string_map_order;
use crate::model::{
    BinaryId, FunctionId, FunctionRecord, MemProfSection, Profile, ProfileKind, RecordRef, RecordView, Release,
    TemporalProfile, TemporalTrace, ValueKind,
};
use crate::{memory, memprof};
use std::collections::HashSet;
use std::path::Path;

/// Options for merging profiles.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MergeOptions {
    /// The release whose rules apply. Default: release 22.
    pub release: Release,
    /// The maximum number of temporal traces. Default: 100.
    pub trace_reservoir_size: u64,
    /// The maximum number of functions per trace; the rest is cut. Default: 10,000.
    pub max_trace_length: u64,
    /// Whether to keep the names of vtables. Default: `false`.
    pub keep_vtable_names: bool,
    /// The mode that determines which kinds can be merged, and how several memory profiles are combined.
    pub compat: Compat,
    /// Limits on the expansion of memory profiles.
    pub limits: Limits,
    /// The kind of the inputs that were merged elsewhere. Default: no inputs.
    pub(crate) shared_kind: SharedKind,
    /// See [`MergeRules::weighs_new_values`].
    pub(crate) weighs_new_values: bool,
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
            weighs_new_values: false,
        }
    }
}

/// Merges records of any source into one [`Profile`].
///
/// ```
/// use profbridge::instr::{MergeOptions, Merger};
/// use profbridge::instr::{FunctionRecord, ProfileKind, RecordRef};
///
/// let mut merger = Merger::new(MergeOptions::default());
/// let record = FunctionRecord::new(0x1234, vec![3, 1]);
/// for weight in [1, 2] {
///     merger.begin_input(ProfileKind::IR)?;
///     let outcome = merger.add_record(RecordRef { name: b"main", name_ref: None, text: None, record: record.view() }, weight);
///     assert_eq!(outcome.error, None);
/// }
/// let profile = merger.finish()?.value;
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
    /// All property bits of the inputs without records, in profbridge mode.
    without_records: ProfileKind,
    pub(super) memory: memprof::Merger,
    /// The warnings about added profiles.
    pub(super) warnings: Vec<Warning>,
    /// Whether memory for the counters of a record was refused.
    pub(super) is_out_of_memory: bool,
}

impl Merger {
    /// Creates a merger without inputs.
    pub fn new(options: MergeOptions) -> Self {
        let mut rules = MergeRules::of(options.release);
        rules.weighs_new_values = options.weighs_new_values;
        if !options.compat.is_llvm() {
            rules.kinds = KindRule::OneKind;
        }
        let shared_kind = options.shared_kind.clone();
        Self {
            reservoir: Reservoir::new(rules.traces, options.trace_reservoir_size, options.max_trace_length),
            sites: SiteMerger::new(&rules),
            rules,
            memory: memprof::Merger::for_mode(options.compat, options.release),
            warnings: Vec::new(),
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

    /// Returns the rules in use.
    pub fn rules(&self) -> &MergeRules {
        &self.rules
    }

    /// Returns the kind of everything merged so far.
    pub fn kind(&self) -> ProfileKind {
        let of_contents = ProfileKind::MEMPROF | ProfileKind::TEMPORAL;
        let others = self.without_records;
        self.profile.kind | if self.has_inputs { others.intersection(of_contents) } else { others }
    }

    /// Returns the kind that the inputs share so far.
    pub(crate) fn shared_kind(&self) -> &SharedKind {
        &self.shared_kind
    }

    /// Sets the kind that inputs share which were merged elsewhere, including those of this merger.
    pub(crate) fn set_shared_kind(&mut self, shared: SharedKind) {
        self.shared_kind = shared;
    }

    /// Returns the functions merged so far. Their value sites have no particular order.
    pub fn functions(&self) -> &crate::model::FunctionTable {
        &self.profile.functions
    }

    /// Reserves memory for the records of a first input.
    pub fn reserve(&mut self, records: usize) {
        if self.profile.functions.is_empty() {
            self.profile.functions.reserve(records);
        }
    }

    /// Keeps the file of a single input with weight 1, so that its counters can stay in it.
    pub(crate) fn keep(&mut self, file: SharedBytes) {
        self.profile.functions.keep(file);
    }

    /// Like [`keep`](Self::keep) for an input whose counters are not in a file. They take half of the memory if they
    /// fit in 32 bits.
    pub(crate) fn keep_narrow(&mut self) {
        self.profile.functions.keep_narrow();
    }

    /// Begins the next input, which has records of this kind.
    ///
    /// # Errors
    ///
    /// [`KindConflict`](crate::ErrorKind::KindConflict) if it cannot be combined with the inputs so far. This input
    /// must not be merged then; others can be.
    pub fn begin_input(&mut self, kind: ProfileKind) -> Result<()> {
        self.begin_named_input(kind, None)
    }

    /// Like [`begin_input`](Self::begin_input); errors of later inputs name this one.
    pub(crate) fn begin_named_input(&mut self, kind: ProfileKind, name: Option<&Path>) -> Result<()> {
        if self.rules.kinds == KindRule::OneKind {
            self.shared_kind.add(CounterKind::Of(kind), name)?;
        }
        self.profile.kind = combine_kinds(self.rules.kinds, self.profile.kind, kind, self.has_inputs)
            .map_err(KindConflict::into_error)?;
        self.has_inputs = true;
        Ok(())
    }

    /// Begins the next input, which has no records: a memory profile or an empty profile. In profbridge mode it
    /// determines no kind.
    ///
    /// # Errors
    ///
    /// The errors of [`begin_input`](Self::begin_input), in llvm-profdata mode only.
    pub(crate) fn begin_without_records(&mut self, kind: ProfileKind) -> Result<()> {
        if self.rules.kinds != KindRule::OneKind {
            return self.begin_input(kind);
        }
        self.without_records |= kind;
        Ok(())
    }

    /// Begins an input whose counts are merged elsewhere, in records that the bridge creates at the end.
    ///
    /// # Errors
    ///
    /// The errors of [`begin_input`](Self::begin_input).
    pub(crate) fn begin_counts(&mut self, name: &Path) -> Result<()> {
        self.shared_kind.add(CounterKind::AnyCount, Some(name))
    }

    /// Reserves memory for a record.
    ///
    /// # Errors
    ///
    /// Out of memory. The records of its input that were merged before cannot be removed.
    pub(super) fn try_reserve(&mut self, record: RecordView<'_>) -> Result<()> {
        let made = self.profile.functions.try_reserve_counters(record.counters);
        self.is_out_of_memory |= made.is_err();
        made
    }

    /// Records that an input was abandoned because it did not fit in memory.
    pub(crate) fn lack_memory(&mut self) {
        self.is_out_of_memory = true;
    }

    /// Returns true if an input was abandoned because it did not fit in memory.
    pub(crate) fn is_out_of_memory(&self) -> bool {
        self.is_out_of_memory || self.orders.is_out_of_memory() || self.sites.is_out_of_memory()
    }

    /// Adds a record, with every count multiplied by `weight`; 0 counts as 1. Counts above 2^64-1 saturate, which the
    /// outcome reports.
    pub fn add_record(&mut self, incoming: RecordRef<'_>, weight: u64) -> AddOutcome {
        let function = self.function(&incoming, false);
        self.add_to_function(function, incoming.record, Weights::of_input(weight.max(1)))
    }

    /// Finds or creates the function of a record. If `is_hashed`, its `name_ref` is certainly the hash of its name.
    /// Otherwise it is used only if the merger already has a name with this hash.
    pub(super) fn function(&mut self, incoming: &RecordRef<'_>, is_hashed: bool) -> FunctionId {
        let functions = &mut self.profile.functions;
        match incoming.name_ref {
            Some(hash) if is_hashed => functions.intern_shared(incoming.name, hash, incoming.text),
            Some(hash) => functions.find_next(incoming.name, hash).unwrap_or_else(|| functions.intern(incoming.name)),
            None => functions.intern(incoming.name),
        }
    }

    /// Adds binary ids. Files list each id once, in order.
    pub fn add_binary_ids(&mut self, ids: impl IntoIterator<Item = BinaryId>) {
        self.profile.binary_ids.extend(ids);
    }

    /// Adds the traces of one input. The caller sets the weight of traces from a raw file to that of the input; other
    /// traces keep their own weight.
    pub fn add_traces(&mut self, traces: TemporalProfile) {
        self.reservoir.add(traces);
    }

    /// Adds the names of vtables of one input, if names are kept.
    ///
    /// LLVM's readers store them in a hash map, whose order determines which name comes first.
    pub fn add_vtable_names(&mut self, names: impl IntoIterator<Item = Vec<u8>>) {
        if !self.options.keep_vtable_names {
            return;
        }
        let kept = self.order_vtable_names(names);
        // The caller checks for lack of memory after the merge.
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

    /// Adds the memory profile of an indexed input, with every sum multiplied by `weight`; 0 counts as 1.
    ///
    /// # Errors
    ///
    /// The errors of [`memprof::indexed::read`] and of [`add_memory`](Self::add_memory).
    pub fn add_memprof(&mut self, section: MemProfSection, weight: u64) -> Result<()> {
        self.add_memprof_until(section, weight, &Cancel::default())
    }

    /// Like [`add_memprof`](Self::add_memprof), but fails after cancellation.
    pub(super) fn add_memprof_until(&mut self, section: MemProfSection, weight: u64, cancel: &Cancel) -> Result<()> {
        let limits = &self.options.limits;
        let stored = memprof::indexed::read_until(&section.bytes, section.offset, limits, cancel)?;
        self.add_memory(stored.profile, memprof::Source::Indexed(section), weight)
    }

    /// Adds the memory profile of an input, with every sum multiplied by `weight`; 0 counts as 1. Sums saturate at the
    /// maximum of their field.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error. The merger cannot be used any more.
    pub fn add_memory(&mut self, profile: MemoryProfile, source: memprof::Source, weight: u64) -> Result<()> {
        self.memory.add_owned(profile, source, weight);
        Ok(())
    }

    /// Returns true if there are several memory profiles that have no function in common.
    pub(crate) fn memory_shares_nothing(&self) -> bool {
        self.memory.shares_nothing()
    }

    /// Removes and returns the merged memory profile. `None` if there is none. If it is not removed and only one input
    /// had a section, [`finish`](Self::finish) leaves that section in the profile.
    pub(crate) fn take_memory(&mut self) -> Option<MergedMemory> {
        let empty = memprof::Merger::for_mode(self.options.compat, self.options.release);
        std::mem::replace(&mut self.memory, empty).into_merged()
    }

    /// Returns the merged profile, with value sites in the order of files, and the warnings about the profiles that
    /// [`add`](Self::add) added.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn finish(mut self) -> Result<WithWarnings<Profile>> {
        if self.is_out_of_memory() {
            return Err(memory::refused(HOLD_NAMES));
        }
        let warnings = std::mem::take(&mut self.warnings);
        Ok(WithWarnings::new(self.into_profile(), warnings))
    }

    /// Returns the merged profile without warnings, for callers who have reported lack of memory.
    #[doc(hidden)]
    pub fn into_profile(mut self) -> Profile {
        self.profile.kind = self.kind();
        let mut listed = HashSet::new();
        self.profile.binary_ids.retain(|id| listed.insert(id.clone()));
        self.profile.functions.all_sites_mut().for_each(sort_sites);
        self.profile.temporal = self.reservoir.into_kept();
        self.profile.memprof = self.memory.into_merged().and_then(|memory| memory.carried);
        self.profile
    }
}

/// Finds functions with a memory size that occurs twice at one site.
///
/// LLVM treats such a profile as damaged and warns after writing it. Only functions that `keep` accepts are examined.
pub(crate) fn repeated_sizes<'a>(
    profile: &'a Profile,
    rules: &'a MergeRules,
    keep: impl Fn(&[u8]) -> bool + 'a,
) -> impl Iterator<Item = FunctionId> + 'a {
    let kept = profile.functions.iter().filter(move |function| keep(function.name()));
    kept.filter(|function| function.records().any(|record| repeats_size(record, rules))).map(|function| function.id())
}

/// Returns true if a memory size occurs twice at one site of the record.
pub(crate) fn repeats_size(record: RecordView<'_>, rules: &MergeRules) -> bool {
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

/// Sorts the value sites of a record into the order of files, as a merge does with a record that is the only one of its
/// name and FuncHash.
pub(crate) fn sort_record_sites(record: &mut FunctionRecord) {
    for kind in ValueKind::EACH {
        if !record.sites(kind).is_empty() {
            sort_sites(record.sites_mut(kind));
        }
    }
}

// A bounded sample of temporal traces.
//
// Traces are kept in order until the sample is full. Each further trace replaces a random one. The random numbers have
// a fixed seed, so the same inputs in the same order keep the same traces.

/// The maximum number of random draws per input. A file can claim 2^64 traces, and LLVM would draw for each of them.
const MAX_DRAWS: u64 = 1 << 26;

/// The sample and the state of the random choice.
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

    /// Adds the traces of one input and the number of traces that it ever saw. An input without traces is skipped,
    /// whatever number it claims.
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
        if self.size == usize::MAX && self.kept.traces.is_empty() {
            // Without a limit, nothing is drawn, and the number of traces ever seen stays.
            self.kept = source;
            return;
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
        // Release 17 cuts traces only here. For 19 they were cut before.
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

/// Clamps to 32 bits, the range of the random draw. Streams of 2^32 traces do not occur.
fn saturate(high: u64) -> u32 {
    u32::try_from(high).unwrap_or(u32::MAX - 1)
}
