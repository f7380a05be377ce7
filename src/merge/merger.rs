//! The merger: state, inputs, records.

use super::counters;
use super::deferred::{Contribution, Deferred, emptied};
use super::kinds::{KindConflict, combine_kinds};
use super::order_events::OrderEvents;
use super::outcome::{AddOutcome, SoftError};
use super::rules::MergeRules;
use super::sites::{SiteMerger, SiteOrder, TakenSites, exceeds, sort_sites};
use super::states::RecordStates;
use super::traces::Reservoir;
use crate::compat::Compat;
use crate::error::Result;
use crate::instr::hash_order::string_map_order;
use crate::instr::{
    BinaryId, FunctionId, FunctionRecord, MemProfSection, Profile, ProfileKind, PseudoCount, RecordId, RecordRef,
    RecordView, Release, TemporalProfile, ValueKind, ValueSites,
};
use crate::limits::Limits;
use crate::memory::{self, HOLD_NAMES, SharedPages};
use crate::memprof::{self, MemoryMerger, MemoryProfile, MergedMemory};
use std::collections::HashSet;

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
    /// Whose rules decide what becomes of several memory profiles.
    pub compat: Compat,
    /// Bounds on what memory profiles expand to.
    pub limits: Limits,
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
    pub(super) states: RecordStates,
    pub(super) sites: SiteMerger,
    pub(super) reservoir: Reservoir,
    pub(super) vtable_names: HashSet<Vec<u8>>,
    pub(super) kinds: KindState,
    pub(super) memory: MemoryMerger,
    /// What joining found.
    pub(super) events: OrderEvents,
    /// Whether inputs before those of this merger are merged elsewhere.
    pub(super) is_later_part: bool,
    /// What a later part leaves to the join.
    pub(super) deferred: Deferred,
    /// Whether some record had a soft error.
    pub(super) had_soft_error: bool,
    /// Whether memory was refused for the counters of a record.
    lacks_memory: bool,
}

/// What was seen of the inputs' kinds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct KindState {
    /// Some input was marked `:fe`.
    pub(super) front_end: bool,
    /// Some input was not marked `:fe`.
    pub(super) unmarked: bool,
}

impl Merger {
    /// A merger without inputs.
    pub fn new(options: MergeOptions) -> Self {
        let rules = MergeRules::of(options.release);
        Self {
            reservoir: Reservoir::new(rules.traces, options.trace_reservoir_size, options.max_trace_length),
            sites: SiteMerger::new(rules.stable_value_sort),
            rules,
            memory: MemoryMerger::new(options.compat),
            options,
            profile: Profile::default(),
            states: RecordStates::default(),
            vtable_names: HashSet::new(),
            kinds: KindState::default(),
            events: OrderEvents::default(),
            had_soft_error: false,
            lacks_memory: false,
            is_later_part: false,
            deferred: Deferred::default(),
        }
    }

    /// A merger for a part of the inputs that is not the first, to be
    /// [joined](Self::join) to the merger of the part before.
    pub fn later_part(options: MergeOptions) -> Self {
        Self { is_later_part: true, ..Self::new(options) }
    }

    /// The rules in use.
    pub fn rules(&self) -> &MergeRules {
        &self.rules
    }

    /// The kind of everything merged so far.
    pub fn kind(&self) -> ProfileKind {
        self.profile.kind
    }

    /// What happened so far that parts of a run cannot get right: soft errors,
    /// whose soft errors belong to certain inputs, and what
    /// [`join`](Self::join) found.
    pub fn order_events(&self) -> OrderEvents {
        OrderEvents { soft_errors: self.events.soft_errors | self.had_soft_error, ..self.events }
    }

    /// What was merged so far; its value sites are in no particular order.
    pub fn functions(&self) -> &crate::instr::FunctionTable {
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

    /// Opens the next input, whose kind is `kind`.
    ///
    /// # Errors
    ///
    /// [`KindConflict`](crate::ErrorKind::KindConflict) when it cannot be combined
    /// with the inputs so far. The input must not be merged then; others may.
    pub fn begin_input(&mut self, kind: ProfileKind) -> Result<()> {
        let combined = combine_kinds(self.rules.kinds, self.profile.kind, kind, self.kinds != KindState::default())
            .map_err(KindConflict::into_error)?;
        self.profile.kind = combined;
        self.kinds.front_end |= kind.contains(ProfileKind::FRONT_END);
        self.kinds.unmarked |= !kind.contains(ProfileKind::FRONT_END);
        Ok(())
    }

    /// Makes room for a record.
    ///
    /// # Errors
    ///
    /// Out of memory: what was merged of its input cannot be taken back.
    pub(super) fn make_room(&mut self, name: &[u8], record: RecordView<'_>) -> Result<()> {
        let made = self.profile.functions.make_room(name, record);
        self.lacks_memory |= made.is_err();
        made
    }

    /// Makes room for a function.
    ///
    /// # Errors
    ///
    /// As [`make_room`](Self::make_room).
    pub(super) fn make_room_for_name(&mut self, name: &[u8]) -> Result<()> {
        let made = self.profile.functions.make_room_for_name(name);
        self.lacks_memory |= made.is_err();
        made
    }

    /// Says that an input was given up half way, for it did not fit the memory.
    pub(crate) fn lack_memory(&mut self) {
        self.lacks_memory = true;
    }

    /// Whether an input was given up half way, for it did not fit the memory.
    pub(crate) fn lacks_memory(&self) -> bool {
        self.lacks_memory || self.states.lacks_memory()
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
        let (record, counters) = self.profile.functions.meet_counters(incoming.name, name_ref, source)?;
        let firsts = [counters.first().copied(), source.counters.first()];
        if self.rules.pseudo_counts
            && firsts.into_iter().flatten().any(|first| PseudoCount::from_counter(first).is_some())
        {
            return None;
        }
        let saturated = counters::add_weighted(counters, source.counters, weight, self.rules.max_count);
        let error = saturated.then_some(SoftError::CounterOverflow);
        Some(AddOutcome { record, is_new: false, error: self.note(record, error) })
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
        match incoming.name_ref.and_then(|hash| functions.meet(incoming.name, hash)) {
            Some(known) => known,
            None => functions.intern(incoming.name),
        }
    }

    /// Makes a new record of a function; the FuncHash must be new to it.
    pub(super) fn push_record(&mut self, function: FunctionId, record: RecordView<'_>, weight: u64) -> AddOutcome {
        self.push_summed(function, record, weight, weight)
    }

    /// Adds a record whose counters are a sum that was weighted before; the
    /// values are those of one input of that weight.
    pub(super) fn add_summed(&mut self, function: FunctionId, sum: RecordView<'_>, value_weight: u64) -> AddOutcome {
        let Some(record) = self.profile.functions.find_record(function, sum.func_hash) else {
            return self.push_summed(function, sum, 1, value_weight);
        };
        let merge_sites = |merger: &mut Self, kind| merger.merge_sites(record, kind, sum.sites(kind), value_weight);
        let error = self.merge_parts(record, sum, 1, merge_sites);
        AddOutcome { record, is_new: false, error: self.note(record, error) }
    }

    fn push_summed(
        &mut self,
        function: FunctionId,
        record: RecordView<'_>,
        counter_weight: u64,
        weight: u64,
    ) -> AddOutcome {
        let id = self.profile.functions.push_record(function, record);
        let mut saturated = false;
        // What is not changed may stay in the file.
        if counter_weight != 1 {
            let counters = self.profile.functions.counters_mut(id);
            saturated = counters::scale(counters, counter_weight, self.rules.max_count);
        }
        if !record.uniformity.is_empty() {
            saturated |= self.take_over_uniformity(id, weight);
        }
        for kind in ValueKind::ALL.into_iter().filter(|kind| !record.sites(*kind).is_empty()) {
            saturated |= self.take_over_sites(id, kind, weight);
        }
        let error = saturated.then_some(SoftError::CounterOverflow);
        AddOutcome { record: id, is_new: true, error: self.note(id, error) }
    }

    /// Makes sites that were copied as they came what a merge makes of the
    /// first ones of a record. Returns whether a count reached its maximum.
    fn take_over_sites(&mut self, id: RecordId, kind: ValueKind, weight: u64) -> bool {
        let state = self.states.of_mut(id);
        let sites = self.profile.functions.sites_mut(id, kind);
        let weighted = weight != 1 && sites.values_len() != 0;
        if self.is_later_part && (weighted || exceeds(sites)) {
            let empty = emptied(sites);
            let contribution = Contribution { sites: std::mem::replace(sites, empty), weight, is_sum: false };
            self.defer(id, kind, contribution);
            return false;
        }
        state.events.weighted_values |= weighted;
        let saturated = weighted && counters::scale_values(sites.values_mut(), weight);
        if exceeds(sites) {
            sort_sites(sites);
            state.events.cut_sites = true;
        }
        saturated
    }

    /// Adds to a record that is there already, as
    /// [`add_record`](Self::add_record) would; for callers that remember where
    /// a record went.
    pub(crate) fn merge_record(&mut self, target: RecordId, source: RecordView<'_>, weight: u64) -> Option<SoftError> {
        let merge_sites = |merger: &mut Self, kind| merger.merge_sites(target, kind, source.sites(kind), weight);
        let error = self.merge_parts(target, source, weight, merge_sites);
        self.note(target, error)
    }

    /// Remembers that a record had an error.
    pub(super) fn note(&mut self, target: RecordId, error: Option<SoftError>) -> Option<SoftError> {
        if error.is_some() {
            self.states.of_mut(target).events.soft_errors = true;
            self.had_soft_error = true;
        }
        error
    }

    /// Merges counters and bitmaps, then values kind by kind.
    pub(super) fn merge_parts(
        &mut self,
        target: RecordId,
        source: RecordView<'_>,
        weight: u64,
        mut merge_sites: impl FnMut(&mut Self, ValueKind) -> Option<SoftError>,
    ) -> Option<SoftError> {
        let functions = &mut self.profile.functions;
        let record = functions.record(target);
        let (same_bitmap, has_sites) = (record.bitmap.len() == source.bitmap.len(), record.has_value_sites());
        let has_uniformity = !record.uniformity.is_empty() || !source.uniformity.is_empty();
        if record.counters.len() != source.counters.len() {
            return Some(SoftError::CountMismatch);
        }
        if functions.make_own(target).is_err() {
            self.lacks_memory = true;
            return None;
        }
        let record = functions.record(target);
        if self.rules.pseudo_counts {
            match (record.pseudo_count(), source.pseudo_count()) {
                (None, None) => {}
                (Some(a), Some(b)) => {
                    let hot = a == PseudoCount::Hot || b == PseudoCount::Hot;
                    let pseudo = if hot { PseudoCount::Hot } else { PseudoCount::Warm };
                    functions.counters_mut(target)[0] = pseudo.counter();
                    return None;
                }
                _ => return Some(SoftError::CountMismatch),
            }
        }
        let counters = functions.counters_mut(target);
        let saturated = counters::add_weighted(counters, source.counters, weight, self.rules.max_count);
        let mut error = saturated.then_some(SoftError::CounterOverflow);
        if has_uniformity {
            let outcome = self.merge_uniformity(target, source, weight);
            if outcome.depends_on_order {
                self.states.of_mut(target).events.uniformity = true;
            }
            error = error.or(outcome.saturated.then_some(SoftError::CounterOverflow));
        }
        let functions = &mut self.profile.functions;
        if !same_bitmap {
            return error.or(Some(SoftError::BitmapMismatch));
        }
        functions.bitmap_mut(target).iter_mut().zip(source.bitmap).for_each(|(a, b)| *a |= b);
        if has_sites || source.has_value_sites() {
            for kind in ValueKind::ALL {
                error = error.or(merge_sites(self, kind));
            }
        }
        error
    }

    pub(super) fn merge_sites(
        &mut self,
        target: RecordId,
        kind: ValueKind,
        source: &ValueSites,
        weight: u64,
    ) -> Option<SoftError> {
        if self.profile.functions.record(target).sites(kind).len() != source.len() {
            return Some(SoftError::ValueSiteCountMismatch);
        }
        if source.is_empty() {
            return None;
        }
        let sites = self.profile.functions.sites_mut(target, kind);
        let state = self.states.of_mut(target);
        let order = &mut state.orders[kind as usize];
        if !self.is_later_part {
            let outcome = self.sites.merge(sites, order, source, weight);
            // New values are taken over without the weight.
            state.events.weighted_values |= weight != 1 && source.values_len() != 0;
            state.events.cut_sites |= outcome.cut;
            state.events.repeated_values |= outcome.repeated;
            return outcome.saturated.then_some(SoftError::CounterOverflow);
        }
        if !self.deferred.has(target, kind) {
            if let Some(saturated) = self.sites.merge_unless_sensitive(sites, order, source, weight) {
                return saturated.then_some(SoftError::CounterOverflow);
            }
            let empty = emptied(sites);
            let is_sum = std::mem::take(order) == SiteOrder::ByValue;
            let so_far = Contribution { sites: std::mem::replace(sites, empty), weight: 1, is_sum };
            self.defer(target, kind, so_far);
        }
        self.defer(target, kind, Contribution { sites: source.clone(), weight, is_sum: false });
        None
    }

    pub(super) fn defer(&mut self, target: RecordId, kind: ValueKind, contribution: Contribution) {
        self.deferred.push(target, kind, contribution);
        self.events.deferred_too_much |= self.deferred.is_full();
    }

    /// Adds counters of a record that is there already.
    ///
    /// For many files of one image, whose records were found once. Neither
    /// side may have a pseudo count where the rules know them; the caller
    /// checks the first counter and takes [`merge_record`](Self::merge_record)
    /// then.
    pub(crate) fn merge_counters(&mut self, target: RecordId, counters: &[u64], weight: u64) -> Option<SoftError> {
        let sums = self.profile.functions.counters_mut(target);
        let error = if sums.len() != counters.len() {
            Some(SoftError::CountMismatch)
        } else {
            counters::add_weighted(sums, counters.into(), weight, self.rules.max_count)
                .then_some(SoftError::CounterOverflow)
        };
        self.note(target, error)
    }

    /// Adds bitmap bytes to a record that is there already; their number must
    /// be that of the record.
    pub(crate) fn merge_bitmap(&mut self, target: RecordId, bitmap: &[u8]) -> Option<SoftError> {
        let sums = self.profile.functions.bitmap_mut(target);
        let error = (sums.len() != bitmap.len()).then_some(SoftError::BitmapMismatch);
        if error.is_none() {
            sums.iter_mut().zip(bitmap).for_each(|(all, byte)| *all |= byte);
        }
        self.note(target, error)
    }

    /// Adds the value sites of one kind to a record that is there already.
    pub(crate) fn merge_value_sites(
        &mut self,
        target: RecordId,
        kind: ValueKind,
        sites: &ValueSites,
        weight: u64,
    ) -> Option<SoftError> {
        let error = self.merge_sites(target, kind, sites, weight);
        self.note(target, error)
    }

    /// Takes the sites of one kind of a record out, so that they can be added
    /// to elsewhere; until they are put back the record has none.
    pub(crate) fn take_sites(&mut self, record: RecordId, kind: ValueKind) -> TakenSites {
        if self.profile.functions.record(record).sites(kind).is_empty() {
            return TakenSites::default();
        }
        let order = self.states.of(record).orders[kind as usize];
        TakenSites { sites: std::mem::take(self.profile.functions.sites_mut(record, kind)), order }
    }

    /// Puts sites back that were taken out.
    pub(crate) fn put_back_sites(&mut self, record: RecordId, kind: ValueKind, taken: TakenSites) {
        if !taken.sites.is_empty() {
            self.states.of_mut(record).orders[kind as usize] = taken.order;
            *self.profile.functions.sites_mut(record, kind) = taken.sites;
        }
    }

    /// What merges sites that were taken out.
    pub(crate) fn site_merger(&self) -> SiteMerger {
        SiteMerger::new(self.rules.stable_value_sort)
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
        self.lacks_memory |= kept.is_err();
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
        for index in string_map_order(self.options.release, distinct.iter().map(Vec::as_slice))? {
            self.keep_vtable_name(&distinct[index as usize]);
        }
        Ok(())
    }

    pub(super) fn keep_vtable_name(&mut self, name: &[u8]) {
        if self.vtable_names.insert(name.to_vec()) {
            self.profile.vtable_names.push(name.to_vec());
        }
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
        let added = self.memory.add(profile, source, weight);
        self.lacks_memory |= added.is_err();
        added
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
        if self.is_later_part {
            let mut whole = Self::new(self.options.clone());
            whole.join(self);
            self = whole;
        }
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
