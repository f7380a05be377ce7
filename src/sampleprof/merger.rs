//! Merges sample profiles.
//!
//! [`Merger`] takes profiles one after another and follows the rules of one release of LLVM. The result depends on the
//! inputs and their order only. Memory grows with the functions of the result, not with the inputs.

use super::merge_record::{RecordFault, merge_record, remap, rename, rename_and_join};
use super::options::{MergeOptions, Rules, SymbolList};
use super::order::{Chain, hash_range, hash_range_xxh3, std_hash};
use super::profile::{Kind, SampleProfile, StatedKind, Summary, push_title, summarize};
use super::record::{Frame, FunctionName, FunctionRecord, LineLocation, NameId, Names};
use crate::error::{Error, ErrorKind, Result, Warning};
use crate::model::Remapping;
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use std::collections::HashSet;

/// Merges sample profiles.
#[derive(Debug, Default)]
pub struct Merger {
    pub(super) options: MergeOptions,
    pub(super) names: Names,
    hashes: NameHashes,
    pub(super) records: Records,
    kind: Kind,
    /// The kind of the first input, which the others must have.
    required: Option<Kind>,
    pub(super) symbols: SymbolList,
    /// Titles of functions that the filters of partial merges dropped. Empty records of them still keep their places.
    pub(super) left_out: HashSet<Vec<u8>>,
    /// The warnings about added profiles.
    pub(super) warnings: Vec<Warning>,
}

/// The context of a record that was added to another, and the fault.
type Merged = (Option<Box<[Frame]>>, Option<RecordFault>);

/// Records by key, in LLVM's order.
#[derive(Debug, Default)]
pub(super) struct Records {
    records: Vec<Option<FunctionRecord>>,
    keys: Vec<u64>,
    chain: Chain,
    index: HashMap<u64, usize, RandomState>,
}

impl Records {
    pub(super) fn find(&self, key: u64) -> Option<usize> {
        self.index.get(&key).copied()
    }

    /// Appends a record. The key must be new.
    pub(super) fn insert(&mut self, key: u64, record: FunctionRecord) -> usize {
        self.chain.insert(key);
        let at = self.records.len();
        self.records.push(Some(record));
        self.keys.push(key);
        self.index.insert(key, at);
        at
    }

    /// Removes a record.
    pub(super) fn remove(&mut self, at: usize) -> Option<FunctionRecord> {
        let record = self.records[at].take()?;
        self.index.remove(&self.keys[at]);
        self.chain.remove(at);
        Some(record)
    }

    pub(super) fn get(&self, at: usize) -> Option<&FunctionRecord> {
        self.records[at].as_ref()
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut FunctionRecord> {
        self.records[at].as_mut()
    }

    pub(super) fn key(&self, at: usize) -> u64 {
        self.keys[at]
    }

    /// Returns the positions of the records, in LLVM's order.
    pub(super) fn order(&self) -> Vec<usize> {
        self.chain.iter().collect()
    }

    /// Returns the records, in LLVM's order.
    pub(super) fn into_ordered(mut self) -> Vec<FunctionRecord> {
        self.chain.iter().filter_map(|at| self.records[at].take()).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.index.len()
    }
}

impl Merger {
    /// Starts a merge.
    pub fn new(options: MergeOptions) -> Self {
        Self { options, ..Self::default() }
    }

    pub(super) fn rules(&self) -> Rules {
        self.options.rules
    }

    /// Learns the kind that an unreadable input stated. LLVM keeps it in variables of the process, from one input to the
    /// next.
    pub(crate) fn learn_failed(&mut self, stated: StatedKind) {
        let hashed = self.kind.hashed;
        self.kind.learn(StatedKind { hashed, ..stated });
    }

    /// Returns the kind of the inputs so far.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Adds the functions and the profile symbol list of a profile, the functions `weight` times; 0 counts as 1. Counts
    /// above 2^64-1 saturate. [`finish`](Self::finish) returns a warning about each record that is not added unchanged.
    ///
    /// # Errors
    ///
    /// A kind conflict, if only some inputs are probe-based or have calling contexts.
    pub fn add(&mut self, profile: &SampleProfile, weight: u64) -> Result<()> {
        let mut warnings = Vec::new();
        self.add_owned(profile.clone(), weight, &mut |title, fault| {
            warnings.push(Warning::of_loss(fault.to_string()).in_function(title));
        })?;
        self.warnings.append(&mut warnings);
        Ok(())
    }

    /// Like [`add`](Self::add), without a copy of the profile. Calls `on_fault` with the name or context of each record
    /// that is not added unchanged.
    ///
    /// # Errors
    ///
    /// The errors of [`add`](Self::add).
    pub fn add_owned(
        &mut self,
        mut profile: SampleProfile,
        weight: u64,
        on_fault: &mut dyn FnMut(&[u8], RecordFault),
    ) -> Result<()> {
        let weight = weight.max(1);
        self.begin(profile.stated)?;
        let mask_of_llvm = self.options.mask_of_llvm();
        if !self.options.remapping.is_empty() && mask_of_llvm.is_none() {
            self.add_renamed(&mut profile, weight, on_fault);
            self.add_symbols(profile.symbols);
            return Ok(());
        }
        self.adopt_names(&mut profile);
        // LLVM adds the functions in the order of its container.
        let mut chain = Chain::default();
        let keys: Vec<u64> = profile.functions.iter().map(|record| self.key(record)).collect();
        keys.iter().for_each(|key| chain.insert(*key));
        let mut functions: Vec<Option<FunctionRecord>> = profile.functions.into_iter().map(Some).collect();
        for at in chain.iter() {
            let Some(mut record) = functions[at].take() else { continue };
            let (mut key, mut fault) = (keys[at], None);
            if let Some(mask) = mask_of_llvm {
                record = remap(&record, &mut self.names, &self.options.remapping, mask, &mut fault);
                key = self.key(&record);
            }
            let name = record.name;
            if let Some((context, merged)) = self.merge_at(key, record, weight)
                && let Some(fault) = fault.or(merged)
            {
                on_fault(&self.title(name, context), fault);
            }
        }
        self.add_symbols(profile.symbols);
        Ok(())
    }

    /// Adds the functions of a profile under their new names, in the order of LLVM's container for the old names.
    fn add_renamed(&mut self, profile: &mut SampleProfile, weight: u64, on_fault: &mut dyn FnMut(&[u8], RecordFault)) {
        let order = order_of_input(self.rules(), profile);
        let faults = profile.rename(&self.options.remapping);
        self.adopt_names(profile);
        let mut functions: Vec<_> = std::mem::take(&mut profile.functions).into_iter().zip(faults).map(Some).collect();
        for (record, of_names) in order.into_iter().filter_map(|at| functions[at].take()) {
            let name = record.name;
            let context = of_names.map(|_| record.context.clone());
            let key = self.key(&record);
            let (merged_context, merged) = self.merge_at(key, record, weight).unzip();
            if let Some(fault) = merged.flatten().or(of_names) {
                on_fault(&self.title(name, merged_context.or(context).flatten()), fault);
            }
        }
    }

    fn title(&self, name: NameId, context: Option<Box<[Frame]>>) -> Vec<u8> {
        let mut title = Vec::new();
        push_title(&mut title, &self.names, &FunctionRecord { context, ..FunctionRecord::new(name) });
        title
    }

    fn add_symbols(&mut self, symbols: Option<SymbolList>) {
        if !self.options.drop_symbols {
            self.symbols.extend(symbols.into_iter().flatten());
        }
    }

    /// Adds the names of a profile, and numbers them like this merger in its records.
    fn adopt_names(&mut self, profile: &mut SampleProfile) {
        let numbers = profile.names.iter().map(|name| self.names.insert(name));
        let numbers: Vec<NameId> = numbers.collect();
        let same_order = numbers.is_sorted();
        let is_same = same_order && numbers.last().is_none_or(|last| last.index() + 1 == numbers.len());
        if !is_same {
            profile.functions.iter_mut().for_each(|record| rename(record, &numbers, same_order));
        }
    }

    /// Learns the kind that an input states, before its functions are added.
    ///
    /// # Errors
    ///
    /// The errors of [`add`](Self::add).
    pub(super) fn begin(&mut self, stated: StatedKind) -> Result<()> {
        // The sum of a partial profile and a whole one is whole.
        let is_partial = stated.partial && (self.kind.partial || self.required.is_none());
        self.kind.learn(stated);
        self.kind.partial = is_partial;
        self.check_kind(if self.options.inherits_kinds { self.kind } else { Kind::of(stated) })
    }

    /// Starts a merge of records that refer to the given names.
    pub(super) fn of_names(options: &MergeOptions, names: Names) -> Self {
        Self { names, ..Self::new(options.clone()) }
    }

    /// Adds a record. Returns the fault.
    pub(super) fn add_sum(&mut self, record: FunctionRecord) -> Option<RecordFault> {
        let key = self.key(&record);
        self.merge_at(key, record, 1)?.1
    }

    /// Adds a record to the one with the key, or as a new one. If it was added to another one, returns its context and the
    /// fault.
    fn merge_at(&mut self, key: u64, mut record: FunctionRecord, weight: u64) -> Option<Merged> {
        let at = match self.records.find(key) {
            Some(at) => at,
            None if weight == 1 => {
                self.records.insert(key, record);
                return None;
            }
            None => {
                let mut fresh = FunctionRecord::new(record.name);
                fresh.context.clone_from(&record.context);
                fresh.attributes = record.attributes;
                self.records.insert(key, fresh)
            }
        };
        let context = record.context.take();
        let into = self.records.get_mut(at)?;
        Some((context, merge_record(into, record, weight)))
    }

    /// Merges a record into the one of the same function and context, or adds it as a new one.
    pub(super) fn merge_record(&mut self, record: FunctionRecord) {
        let key = self.key(&record);
        self.merge_at(key, record, 1);
    }

    /// Checks the kind of an input.
    fn check_kind(&mut self, kind: Kind) -> Result<()> {
        let required = *self.required.get_or_insert(kind);
        let detail = if required.probe_based != kind.probe_based {
            "cannot merge probe-based profile with non-probe-based profile"
        } else if required.context_sensitive != kind.context_sensitive {
            "cannot merge CS profile with non-CS profile"
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::KindConflict { detail: detail.to_string() }).with_llvm_detail(detail))
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns true if there are no records.
    pub fn is_empty(&self) -> bool {
        self.records.len() == 0
    }

    /// Removes the records for whose name or context `keep` returns false.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&[u8]) -> bool) {
        for at in self.records.order() {
            let Some(record) = self.records.get(at) else { continue };
            let mut title = Vec::new();
            push_title(&mut title, &self.names, record);
            if !keep(&title) {
                self.records.remove(at);
            }
        }
    }

    /// Computes the summary of the records so far.
    pub fn summary(&self) -> Summary {
        let records = self.records.order().into_iter().filter_map(|at| self.records.get(at));
        summarize(records, &self.names, self.kind, self.rules())
    }

    /// Returns the records as a profile.
    pub(super) fn into_profile(self) -> SampleProfile {
        let kind = self.kind;
        SampleProfile {
            names: self.names,
            functions: self.records.into_ordered(),
            stated: StatedKind {
                context_sensitive: Some(kind.context_sensitive),
                probe_based: Some(kind.probe_based),
                preinlined: Some(kind.preinlined),
                flow_sensitive: Some(kind.flow_sensitive),
                hashed: kind.hashed,
                partial: kind.partial,
            },
            symbols: Some(self.symbols),
            summary: None,
        }
    }

    /// Removes the calling contexts from the kind.
    pub(super) fn leave_contexts(&mut self) {
        self.kind.context_sensitive = false;
    }

    /// Adds pre-inlining to the kind.
    pub(super) fn mark_preinlined(&mut self) {
        self.kind.preinlined = true;
    }

    /// Returns the key of a record in LLVM's container.
    pub(super) fn key(&mut self, record: &FunctionRecord) -> u64 {
        match &record.context {
            None if self.rules().keys_by_md5() => self.hash_of(record.name),
            None => hash_range(&self.names.get(record.name).to_bytes()),
            Some(frames) => self.context_key(frames),
        }
    }

    fn context_key(&mut self, frames: &[Frame]) -> u64 {
        let mut bytes = Vec::with_capacity(frames.len() * 8);
        for frame in frames {
            let value = if self.rules().keys_by_md5() {
                self.frame_key(frame.function, frame.location)
            } else {
                let name = hash_range(&self.names.get(frame.function).to_bytes());
                let mut parts = [0; 16];
                parts[..8].copy_from_slice(&name.to_le_bytes());
                parts[8..12].copy_from_slice(&frame.location.line.to_le_bytes());
                parts[12..].copy_from_slice(&frame.location.discriminator.to_le_bytes());
                hash_range(&parts)
            };
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        if self.rules().hashes_contexts_with_xxh3() { hash_range_xxh3(&bytes) } else { hash_range(&bytes) }
    }

    /// Returns the key of a frame; see [`NameHashes::frame_key`].
    pub(super) fn frame_key(&mut self, function: NameId, location: LineLocation) -> u64 {
        self.hashes.frame_key(self.options.rules, &self.names, function, location)
    }

    fn hash_of(&mut self, name: NameId) -> u64 {
        self.hashes.of(&self.names, name)
    }
}

/// Hashes of the names that were needed so far, by [`NameId`].
#[derive(Debug, Default)]
pub(crate) struct NameHashes(Vec<Option<u64>>);

impl NameHashes {
    /// The MD5 of a name.
    pub(crate) fn of(&mut self, names: &Names, name: NameId) -> u64 {
        if self.0.len() <= name.index() {
            self.0.resize(names.len(), None);
        }
        *self.0[name.index()].get_or_insert_with(|| names.get(name).hash())
    }

    /// The key of a frame, which is also its key among the children of a node of contexts.
    pub(crate) fn frame_key(&mut self, rules: Rules, names: &Names, function: NameId, location: LineLocation) -> u64 {
        let (name, place) = if !rules.keys_by_md5() {
            let name = std_hash(&names.get(function).to_bytes());
            (name, u64::from(location.line) << 32 | u64::from(location.discriminator))
        } else {
            let name = match names.get(function) {
                FunctionName::Text(text) if rules.hashes_contexts_with_xxh3() => std_hash(text),
                _ => self.of(names, function),
            };
            (name, u64::from(location.discriminator) << 32 | u64::from(location.line))
        };
        name.wrapping_add(place.wrapping_mul(33))
    }
}

/// Returns the positions of the functions of a profile, in the order in which LLVM merges them.
pub(super) fn order_of_input(rules: Rules, profile: &SampleProfile) -> Vec<usize> {
    let mut merger = Merger::of_names(&MergeOptions::of(rules), profile.names.clone());
    let mut chain = Chain::default();
    profile.functions.iter().for_each(|record| chain.insert(merger.key(record)));
    chain.iter().collect()
}

impl SampleProfile {
    /// Orders the functions like LLVM's reader: in the order of its container. Records of one function are merged.
    #[must_use]
    pub fn in_container_order(self, rules: Rules) -> Self {
        self.into_merger(&MergeOptions::of(rules)).into_profile()
    }

    /// Puts the functions into a merger in their order.
    pub(crate) fn into_merger(self, options: &MergeOptions) -> Merger {
        let mut merger = Merger::of_names(options, self.names);
        merger.kind = Kind::of(self.stated);
        merger.symbols = self.symbols.unwrap_or_default();
        self.functions.into_iter().for_each(|record| merger.merge_record(record));
        merger
    }

    /// Gives the functions new names, also in calling contexts. Returns the fault of each record: of callees that have the
    /// same name now.
    pub(super) fn rename(&mut self, remapping: &Remapping) -> Vec<Option<RecordFault>> {
        let mut names = Names::default();
        let new_id = |name: FunctionName<'_>| match name {
            FunctionName::Text(text) => names.insert(FunctionName::Text(remapping.apply(text))),
            hash @ FunctionName::Hash(_) => names.insert(hash),
        };
        let numbers: Vec<NameId> = self.names.iter().map(new_id).collect();
        self.names = names;
        self.functions.iter_mut().map(|record| rename_and_join(record, &numbers)).collect()
    }

    /// Replaces hashes of names by the names, where another input has them.
    #[must_use]
    pub(super) fn with_known_names(mut self, rules: Rules) -> Self {
        let names = &self.names;
        let is_hash = |name: FunctionName<'_>| matches!(name, FunctionName::Hash(_));
        if !names.iter().any(is_hash) || names.iter().all(is_hash) {
            return self;
        }
        let texts = names.numbered().filter(|(_, name)| !is_hash(*name));
        let known: HashMap<u64, NameId, RandomState> = texts.map(|(id, name)| (name.hash(), id)).collect();
        let mut new_names = Names::default();
        let new_id = |name: FunctionName<'_>| match name {
            FunctionName::Hash(hash) => new_names.insert(known.get(&hash).map_or(name, |id| names.get(*id))),
            FunctionName::Text(_) => new_names.insert(name),
        };
        let numbers: Vec<NameId> = names.iter().map(new_id).collect();
        if numbers.len() == new_names.len() {
            return self;
        }
        self.stated.hashed = new_names.iter().any(is_hash);
        self.names = new_names;
        // Sums of two inputs saturate without a message here.
        for record in &mut self.functions {
            rename_and_join(record, &numbers);
        }
        self.in_container_order(rules)
    }

    /// Computes the summary of a profile in [container order](Self::in_container_order).
    pub fn compute_summary(&self, rules: Rules) -> Summary {
        summarize(&self.functions, &self.names, self.kind(), rules)
    }
}
