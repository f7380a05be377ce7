//! Which parts of a profile a raw file of some version can store.

use crate::bytes::Encoding;
use crate::bytes::names::SEPARATOR;
use crate::model::record::MAX_VALUES_PER_SITE;
use crate::model::symbols::NameRefMap;
use crate::model::{
    Loss, LossKind, Losses, NameRef, Profile, ProfileKind, RecordView, ValueCount, ValueKind, ValueSites,
};
use crate::raw::reader::LARGEST_PLAUSIBLE_COUNTER;

/// One record to be written.
pub(super) struct Item<'p> {
    pub(super) name: &'p [u8],
    pub(super) name_index: usize,
    pub(super) name_ref: NameRef,
    pub(super) record: RecordView<'p>,
    /// Place in the trace from 1, 0 for a function that was not called.
    pub(super) timestamp: u64,
}

/// The content of the file to be written.
pub(super) struct Plan<'p> {
    encoding: Encoding,
    pub(super) kind: ProfileKind,
    pub(super) byte_counters: bool,
    pub(super) temporal: bool,
    /// Whether uniform counts are written: all records of a file have some, or none.
    pub(super) uniform: bool,
    pub(super) items: Vec<Item<'p>>,
    /// Each name once, in the order of the items.
    pub(super) names: Vec<&'p [u8]>,
    pub(super) binary_ids: Vec<&'p [u8]>,
    pub(super) vtable_names: Vec<&'p [u8]>,
    /// Functions of the file that occur as call targets, in order of occurrence.
    pub(super) called: Vec<NameRef>,
    /// Vtables that occur as values, in order of occurrence.
    pub(super) vtables: Vec<NameRef>,
    losses: Losses,
}

impl<'p> Plan<'p> {
    pub(super) fn new(profile: &'p Profile, encoding: Encoding) -> Self {
        let mut plan = Self {
            encoding,
            kind: ProfileKind::NONE,
            byte_counters: false,
            temporal: false,
            uniform: false,
            items: Vec::with_capacity(profile.functions.records_len()),
            names: Vec::with_capacity(profile.functions.len()),
            binary_ids: Vec::new(),
            vtable_names: Vec::new(),
            called: Vec::new(),
            vtables: Vec::new(),
            losses: Losses::new(),
        };
        plan.choose_kind(profile);
        plan.choose_records(profile);
        plan.choose_uniform_counts();
        plan.choose_trace(profile);
        plan.choose_targets();
        plan.choose_rest(profile);
        plan
    }

    pub(super) fn losses(&self) -> Vec<Loss> {
        self.losses.clone().into_vec()
    }

    fn choose_kind(&mut self, profile: &Profile) {
        // Memory profiles are counted separately; the other two are not properties of counts.
        let aside = ProfileKind::MEMPROF | ProfileKind::FRONT_END | ProfileKind::DEBUG_INFO_CORRELATE;
        let mut wanted = profile.kind.without(aside);
        if !profile.temporal.traces.is_empty() {
            wanted |= ProfileKind::TEMPORAL;
        }
        let known = known_bits(self.encoding.version);
        let unknown = wanted.without(known).without(ProfileKind::TEMPORAL);
        self.losses.add_properties(unknown);
        self.kind = wanted.intersection(known);
        self.byte_counters = self.kind.contains(ProfileKind::BYTE_COVERAGE);
        self.temporal = self.kind.contains(ProfileKind::TEMPORAL);
    }

    fn choose_records(&mut self, profile: &'p Profile) {
        for function in profile.functions.iter() {
            let name = function.name();
            let speakable = !name.is_empty() && (self.encoding.version <= 2 || fits_chunk(name));
            let mut written = false;
            for record in function.records() {
                if !speakable {
                    self.losses.add(LossKind::UnrepresentableNames, u64::from(!written));
                    written = true;
                    continue;
                }
                if record.counters.is_empty() && !self.temporal {
                    self.losses.add(LossKind::RecordsWithoutCounters, 1);
                    continue;
                }
                if !written {
                    self.names.push(name);
                    written = true;
                }
                let name_index = self.names.len() - 1;
                self.items.push(Item { name, name_index, name_ref: function.name_ref(), record, timestamp: 0 });
                self.count_record_losses(record);
            }
        }
    }

    /// Uniform counts are written where every record has them, one for each
    /// counter element. The bits of such a file follow from the counts; others
    /// have no place in it.
    fn choose_uniform_counts(&mut self) {
        let complete = |item: &Item<'_>| {
            let uniformity = item.record.uniformity;
            let fits = uniformity.counts.len() as u64 == self.elements(item);
            let follows = uniformity.bits.is_empty()
                || uniformity.bits == uniformity.derived_bits(&item.record.counters.to_words());
            fits && !uniformity.counts.is_empty() && follows
        };
        self.uniform = self.encoding.version >= 11 && self.items.iter().all(complete) && !self.items.is_empty();
        if self.uniform {
            return;
        }
        let (mut bits, mut counts) = (0, 0);
        for record in self.items.iter().map(|item| item.record).filter(|record| !record.uniformity.is_empty()) {
            bits += if record.uniformity.bits.is_empty() { 0 } else { record.counters.len() };
            counts += record.uniformity.counts.len();
        }
        self.losses.add(LossKind::UniformityBits, bits as u64);
        self.losses.add(LossKind::UniformCounts, counts as u64);
    }

    /// Counter elements of a record, those of a timestamp included.
    pub(super) fn elements(&self, item: &Item<'_>) -> u64 {
        let timestamp = match (self.temporal, self.byte_counters) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 8,
        };
        item.record.counters.len() as u64 + timestamp
    }

    /// Bytes of the counters of a record, its timestamp included.
    pub(super) fn counter_bytes(&self, item: &Item<'_>) -> u64 {
        self.elements(item).saturating_mul(if self.byte_counters { 1 } else { 8 })
    }

    fn count_record_losses(&mut self, record: RecordView<'_>) {
        if self.byte_counters {
            let counted = record.counters.iter().filter(|counter| *counter > 1).count();
            self.losses.add(LossKind::CounterValues, counted as u64);
        }
        if self.encoding.version < 9 {
            self.losses.add(LossKind::BitmapBytes, record.bitmap.len() as u64);
        } else if !self.byte_counters && record.max_counter() > LARGEST_PLAUSIBLE_COUNTER {
            let large = record.counters.iter().filter(|counter| *counter > LARGEST_PLAUSIBLE_COUNTER).count();
            self.losses.add(LossKind::LargeCounts, large as u64);
        }
        for kind in ValueKind::EACH {
            let sites = record.sites(kind);
            let lost = if self.holds(kind) { sites.len().saturating_sub(usize::from(u16::MAX)) } else { sites.len() };
            let sort = if kind == ValueKind::VTableTarget { LossKind::VTableSites } else { LossKind::ValueSites };
            self.losses.add(sort, lost as u64);
            if self.holds(kind) {
                let beyond = sites.iter().map(|site| site.len().saturating_sub(MAX_VALUES_PER_SITE)).sum::<usize>();
                self.losses.add(LossKind::ValuesBeyondLimit, beyond as u64);
            }
        }
    }

    /// Whether the version has a place for values of that kind. Version 3 was
    /// in development only and no reader knows its value data.
    fn holds(&self, kind: ValueKind) -> bool {
        match self.encoding.version {
            2 => kind == ValueKind::IndirectCallTarget,
            1 | 3 => false,
            4..=9 => kind != ValueKind::VTableTarget,
            _ => true,
        }
    }

    /// One trace becomes timestamps.
    fn choose_trace(&mut self, profile: &Profile) {
        let traces = &profile.temporal.traces;
        if !self.temporal {
            self.losses.add(LossKind::TemporalTraces, traces.len() as u64);
            return;
        }
        let Some((trace, further)) = traces.split_first() else { return };
        self.losses.add(LossKind::TemporalTraces, further.len() as u64);
        self.losses.add(LossKind::TraceWeights, u64::from(trace.weight != 1));
        let mut first_items = NameRefMap::<usize>::default();
        for (at, item) in self.items.iter().enumerate() {
            first_items.entry(item.name_ref).or_insert(at);
        }
        for (place, function) in trace.functions.iter().enumerate() {
            match first_items.get(function) {
                Some(&at) if self.items[at].timestamp == 0 => self.items[at].timestamp = place as u64 + 1,
                _ => self.losses.add(LossKind::TraceEntries, 1),
            }
        }
    }

    fn choose_targets(&mut self) {
        let mut written = NameRefMap::<bool>::default();
        for item in &self.items {
            written.insert(item.name_ref, false);
        }
        let (mut called, mut vtables, mut lost) = (Vec::new(), Vec::new(), 0);
        let mut seen_vtables = NameRefMap::<()>::default();
        let sites = self.items.iter().flat_map(|item| self.value_sites(item));
        let values = sites.flat_map(|(kind, sites)| sites.values().iter().map(move |value| (kind, value.value)));
        for (kind, value) in values.filter(|(_, value)| *value != 0) {
            match kind {
                ValueKind::IndirectCallTarget => match written.insert(value, true) {
                    Some(false) => called.push(value),
                    Some(true) => {}
                    None => {
                        written.remove(&value);
                        lost += 1;
                    }
                },
                ValueKind::VTableTarget if seen_vtables.insert(value, ()).is_none() => vtables.push(value),
                _ => {}
            }
        }
        (self.called, self.vtables) = (called, vtables);
        self.losses.add(LossKind::TargetNames, lost);
    }

    fn choose_rest(&mut self, profile: &'p Profile) {
        let ids = profile.binary_ids.iter().filter(|id| !id.is_empty());
        if self.encoding.version >= 7 {
            self.binary_ids = ids.map(Vec::as_slice).collect();
        } else {
            self.losses.add(LossKind::BinaryIds, ids.count() as u64);
        }
        let names = profile.vtable_names.iter();
        if self.encoding.version >= 10 {
            self.vtable_names = names.map(Vec::as_slice).filter(|name| fits_chunk(name)).collect();
        } else {
            self.losses.add(LossKind::VTableNames, names.count() as u64);
        }
        self.losses.add(LossKind::MemProf, u64::from(profile.memprof.is_some()));
    }

    /// The bitmap of an item, as far as the version has one.
    pub(super) fn bitmap<'a>(&self, item: &Item<'a>) -> &'a [u8] {
        if self.encoding.version >= 9 { item.record.bitmap } else { &[] }
    }

    /// The kinds of an item with sites that the version has a place for.
    pub(super) fn value_sites<'a>(&self, item: &Item<'a>) -> impl Iterator<Item = (ValueKind, &'a ValueSites)> {
        let record = item.record;
        ValueKind::EACH
            .into_iter()
            .filter(|kind| self.holds(*kind))
            .map(move |kind| (kind, record.sites(kind)))
            .filter(|(_, sites)| !sites.is_empty())
    }

    /// The values of a site, the most frequent ones if there are too many.
    pub(super) fn kept_values(site: &[ValueCount]) -> Vec<ValueCount> {
        if site.len() <= MAX_VALUES_PER_SITE {
            return site.to_vec();
        }
        let mut order: Vec<usize> = (0..site.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(site[*at].count));
        order.truncate(MAX_VALUES_PER_SITE);
        order.sort_unstable();
        order.into_iter().map(|at| site[at]).collect()
    }
}

/// Whether a chunk of names can hold that name.
fn fits_chunk(name: &[u8]) -> bool {
    !name.is_empty() && !name.contains(&SEPARATOR)
}

/// The variant bits that the last release of each version knows.
fn known_bits(version: u32) -> ProfileKind {
    let mut bits = ProfileKind::NONE;
    let since: [(u32, ProfileKind); 7] = [
        (3, ProfileKind::IR),
        (4, ProfileKind::CONTEXT_SENSITIVE),
        (5, ProfileKind::ENTRY_FIRST),
        (8, ProfileKind::BYTE_COVERAGE),
        (8, ProfileKind::FUNCTION_ENTRY_ONLY),
        (8, ProfileKind::TEMPORAL),
        (10, ProfileKind::LOOP_ENTRIES),
    ];
    since.iter().filter(|(first, _)| version >= *first).for_each(|(_, bit)| bits |= *bit);
    bits
}
