//! Merges of memory profiles.
//!
//! The merged profile has one entry for each function and call stack. Its values are the sums of all inputs, and its
//! calls the union. It does not depend on the grouping of inputs; their order only affects the order of records. This
//! module also implements LLVM's merge, which keeps the first input of a writer, for the same bytes.

use crate::compat::Compat;
use crate::error::{Result, WithWarnings};
use crate::memprof::fields::{Field, Schema, Sum};
use crate::memprof::model::StackHandle;
use crate::memprof::model::{AllocSite, CallSite, MemProfRecord, MemoryProfile};
use crate::memprof::model::{DataAccessProfile, DataSymbol};
use crate::model::{Loss, LossKind, Losses, MemProfSection, Release};
use std::collections::{HashMap, HashSet};

/// The source of a memory profile.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A raw profile.
    Raw,
    /// A YAML document.
    Yaml,
    /// The section of an indexed profile.
    Indexed(MemProfSection),
}

/// Options of a merge of memory profiles.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MergeOptions {
    /// The mode that determines how several profiles are combined.
    pub compat: Compat,
}

/// Merges memory profiles.
#[derive(Debug, Default)]
pub struct Merger {
    compat: Compat,
    /// The release whose llvm-profdata merges, in its mode.
    release: Release,
    sum: MemoryProfile,
    inputs: usize,
    /// The section, if it is the only input.
    carried: Option<MemProfSection>,
    /// Fields that at least one indexed input has.
    stored: Schema,
    /// Fields with values that not all inputs have.
    lost: Schema,
    /// The number of histograms.
    histograms: u64,
    /// Whether an input was multiplied.
    is_weighted: bool,
    /// The positions of sites in the merged profile, if there is more than one input.
    places: Places,
    /// The number of inputs with functions, and the sum of their function counts.
    counted: (usize, usize),
}

/// Positions in the lists of a record, by function and call stack.
#[derive(Debug, Default)]
struct Places {
    alloc_sites: HashMap<(u64, StackHandle), usize, foldhash::fast::RandomState>,
    call_sites: HashMap<(u64, StackHandle), usize, foldhash::fast::RandomState>,
}

/// The last release whose llvm-profdata keeps the sites of all raw profiles.
const LAST_THAT_KEEPS_ALL: Release = Release(19);

/// A merged memory profile.
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct MergedMemory {
    /// The merged profile.
    pub profile: MemoryProfile,
    /// The section, if it is the only input.
    pub(crate) carried: Option<MemProfSection>,
    /// Fields that at least one indexed input has.
    pub(crate) stored: Schema,
    /// The number of fields with values that not all inputs have.
    pub(crate) lost: usize,
    /// Sums that reached the maximum of their field.
    pub(crate) saturated: u64,
    /// The number of histograms of accesses in the inputs.
    pub(crate) histograms: u64,
}

impl From<MemoryProfile> for MergedMemory {
    fn from(profile: MemoryProfile) -> Self {
        Self { profile, ..Self::default() }
    }
}

impl MergedMemory {
    /// Returns the values of the inputs that are not in the profile.
    pub(crate) fn losses(&self) -> Vec<Loss> {
        let mut losses = Losses::new();
        losses.add(LossKind::SaturatedMemProfSums, self.saturated);
        losses.add(LossKind::MemProfFields, self.lost as u64);
        losses.add(LossKind::AccessHistograms, self.histograms);
        losses.into_vec()
    }
}

/// Returns the number of sums that reached the maximum of their field.
fn count_saturated(profile: &MemoryProfile) -> u64 {
    let sums = || Field::all().filter(|field| field.sum() == Sum::Add);
    let at_maximum =
        |site: &AllocSite| sums().filter(|field| site.info.value(*field) == Field::max(*field)).count() as u64;
    profile.alloc_sites().map(at_maximum).sum()
}

impl Merger {
    /// Creates a merger without inputs.
    pub fn new(options: MergeOptions) -> Self {
        Self::for_mode(options.compat, Release::DEFAULT)
    }

    pub(crate) fn for_mode(compat: Compat, release: Release) -> Self {
        Self { compat, release, stored: Schema::EMPTY, lost: Schema::EMPTY, ..Self::default() }
    }

    /// Adds a profile with every sum multiplied by `weight`; 0 counts as 1. Sums saturate at the maximum of their field.
    ///
    /// # Errors
    ///
    /// None so far; the mergers of all families have the same signature.
    pub fn add(&mut self, profile: &MemoryProfile, weight: u64) -> Result<()> {
        self.add_owned(profile.clone(), Source::Yaml, weight);
        Ok(())
    }

    /// Like [`add`](Self::add), without a copy of the profile, and with its source.
    pub fn add_owned(&mut self, mut profile: MemoryProfile, source: Source, weight: u64) {
        let weight = weight.max(1);
        self.is_weighted |= weight != 1;
        if self.compat.is_llvm() {
            self.add_as_llvm(profile, &source);
            return;
        }
        if weight != 1 {
            let sites = profile.records_mut().iter_mut().flat_map(|record| &mut record.alloc_sites);
            sites.for_each(|site| site.info.scale(weight));
            let counts = profile.data_access.iter_mut().flat_map(|data| &mut data.records);
            counts.for_each(|record| record.access_count = record.access_count.saturating_mul(weight));
        }
        if let Source::Indexed(_) = source {
            profile.schema.fields().for_each(|field| self.stored = self.stored.with(field));
        }
        let carried = match source {
            Source::Indexed(section) if weight == 1 => Some(section),
            _ => None,
        };
        self.histograms += profile.alloc_sites().filter(|site| site.histogram.is_some()).count() as u64;
        let functions = profile.records().len();
        self.counted.0 += usize::from(functions > 0);
        self.counted.1 += functions;
        self.add_to_sum(profile, carried);
    }

    /// Merges like llvm-profdata with one writer. Until LLVM 19, all sites stay, also equal ones. Since then, the first
    /// input stays, and of a later input only the first frame is added, because a check is inverted. Data access profiles
    /// come from the last YAML document.
    fn add_as_llvm(&mut self, profile: MemoryProfile, source: &Source) {
        if let Source::Indexed(_) = source {
            return;
        }
        self.inputs += 1;
        if *source == Source::Yaml {
            self.sum.data_access.clone_from(&profile.data_access);
        }
        self.add_parts_as_llvm(profile);
    }

    fn add_parts_as_llvm(&mut self, mut profile: MemoryProfile) {
        let sum = &self.sum;
        if sum.records().is_empty() && sum.stacks.is_empty() && sum.stacks.frames().is_empty() {
            profile.data_access = self.sum.data_access.take();
            profile.names.append(&mut self.sum.names);
            self.sum = profile;
            return;
        }
        let keeps_all = self.release <= LAST_THAT_KEEPS_ALL;
        let (ours, theirs) = (&mut self.sum.stacks, &profile.stacks);
        if !keeps_all {
            if ours.frames().is_empty() {
                theirs.frames().iter().for_each(|frame| {
                    ours.intern_frame(*frame);
                });
            } else if let Some(first) = theirs.frames().first() {
                ours.intern_frame(*first);
                return;
            }
            if !ours.is_empty() && !theirs.is_empty() {
                // Without frames, the only stack is the empty one.
                ours.intern(&[]);
                return;
            }
        }
        let handles = ours.absorb(theirs);
        for record in profile.records() {
            let ours = self.sum.record_mut(record.function);
            let is_new = ours.alloc_sites.is_empty() && ours.call_sites.is_empty();
            let moved = |stack: StackHandle| handles[stack.index()];
            ours.alloc_sites
                .extend(record.alloc_sites.iter().map(|site| AllocSite { stack: moved(site.stack), ..site.clone() }));
            if is_new || keeps_all {
                let calls = record.call_sites.iter();
                ours.call_sites.extend(calls.map(|site| CallSite { frames: moved(site.frames), ..site.clone() }));
            }
        }
        self.sum.names.extend(profile.names);
    }

    fn add_to_sum(&mut self, profile: MemoryProfile, carried: Option<MemProfSection>) {
        match self.inputs {
            0 => (self.sum, self.carried) = (profile, carried),
            1 => {
                let first = std::mem::take(&mut self.sum);
                self.carried = None;
                self.sum.schema = first.schema;
                self.unite(first);
                self.unite(profile);
            }
            _ => self.unite(profile),
        }
        self.inputs += 1;
    }

    fn unite(&mut self, other: MemoryProfile) {
        let common = self.sum.schema.intersection(other.schema);
        let lost = fields_beyond(&self.sum, common).chain(fields_beyond(&other, common));
        self.lost = lost.fold(self.lost, Schema::with);
        self.sum.schema = common;
        let handles = self.sum.stacks.absorb(&other.stacks);
        for record in other.records() {
            self.unite_record(record, &handles);
        }
        self.sum.names.extend(other.names);
        self.sum.data_access = match (self.sum.data_access.take(), other.data_access) {
            (Some(ours), Some(theirs)) => Some(unite_data(ours, theirs)),
            (ours, theirs) => ours.or(theirs),
        };
    }

    fn unite_record(&mut self, record: &MemProfRecord, handles: &[StackHandle]) {
        let function = record.function;
        let ours = self.sum.record_mut(function);
        for site in &record.alloc_sites {
            let stack = handles[site.stack.index()];
            let at = *self.places.alloc_sites.entry((function, stack)).or_insert(ours.alloc_sites.len());
            match ours.alloc_sites.get_mut(at) {
                Some(known) => known.info.add_run(&site.info),
                // Histograms are not written, and other runs have other lengths.
                None => {
                    let site = AllocSite { stack, info: site.info, histogram: None };
                    ours.alloc_sites.push(site);
                }
            }
        }
        for site in &record.call_sites {
            let frames = handles[site.frames.index()];
            let at = *self.places.call_sites.entry((function, frames)).or_insert(ours.call_sites.len());
            let mut callees = site.callees.to_vec();
            let Some(known) = ours.call_sites.get_mut(at) else {
                callees.sort_unstable();
                callees.dedup();
                ours.call_sites.push(CallSite { frames, callees });
                continue;
            };
            known.callees.append(&mut callees);
            known.callees.sort_unstable();
            known.callees.dedup();
        }
    }

    /// Returns true if several inputs have functions, and no function is in two of them. Not computed in llvm-profdata
    /// mode.
    pub(crate) fn shares_nothing(&self) -> bool {
        let (inputs, functions) = self.counted;
        inputs > 1 && functions == self.sum.records().len()
    }

    /// Returns the merged profile. It is empty if there were no profiles.
    ///
    /// # Errors
    ///
    /// None so far; the mergers of all families have the same signature.
    pub fn finish(self) -> Result<WithWarnings<MemoryProfile>> {
        Ok(WithWarnings::new(self.into_merged().map(|merged| merged.profile).unwrap_or_default(), Vec::new()))
    }

    /// Returns the merged profile with its section, or `None` without inputs.
    #[doc(hidden)]
    pub fn into_merged(self) -> Option<MergedMemory> {
        let is_sum = !self.compat.is_llvm() && (self.inputs > 1 || self.is_weighted);
        let saturated = if is_sum { count_saturated(&self.sum) } else { 0 };
        (self.inputs != 0).then_some(MergedMemory {
            profile: self.sum,
            carried: self.carried,
            stored: self.stored,
            lost: self.lost.len(),
            saturated,
            histograms: self.histograms,
        })
    }
}

/// Returns the fields of a profile that have values and are not in a schema.
fn fields_beyond(profile: &MemoryProfile, schema: Schema) -> impl Iterator<Item = Field> {
    let has_value = |field: &Field| profile.alloc_sites().any(|site| site.info.value(*field) != 0);
    profile.schema.fields().filter(move |field| !schema.contains(*field)).filter(has_value)
}

/// Adds counts. Data is only cold if no input has accesses to it.
fn unite_data(mut ours: DataAccessProfile, theirs: DataAccessProfile) -> DataAccessProfile {
    let known = ours.records.iter().enumerate().map(|(at, record)| (record.symbol.clone(), at));
    let mut places: HashMap<DataSymbol, usize> = HashMap::new();
    places.extend(known);
    for record in theirs.records {
        let next = ours.records.len();
        let at = *places.entry(record.symbol.clone()).or_insert(next);
        let Some(known) = ours.records.get_mut(at) else {
            ours.records.push(record);
            continue;
        };
        known.access_count = known.access_count.saturating_add(record.access_count);
        for location in record.locations {
            if !known.locations.contains(&location) {
                known.locations.push(location);
            }
        }
    }
    let mut seen: HashSet<DataSymbol> = HashSet::new();
    seen.extend(ours.records.iter().map(|record| record.symbol.clone()));
    ours.cold_symbols.extend(theirs.cold_symbols);
    ours.cold_symbols.retain(|name| seen.insert(DataSymbol::Name(name.clone())));
    ours.cold_string_hashes.extend(theirs.cold_string_hashes);
    ours.cold_string_hashes.retain(|hash| seen.insert(DataSymbol::StringHash(*hash)));
    ours
}
