//! The records of a merge.

use super::fold::{RecordFault, merge_record};
use super::remap::remap;
use super::rename::rename;
use crate::error::{Error, ErrorKind, Result};
use crate::instr::Remapping;
use crate::memory::{self, HOLD_NAMES, HOLD_RECORDS};
use crate::sampleprof::chain::Chain;
use crate::sampleprof::hash::{hash_range, hash_range_xxh3, std_hash};
use crate::sampleprof::names::{FunctionName, NameId, Names};
use crate::sampleprof::profile::{Kind, SampleProfile, StatedKind, SymbolList, push_title};
use crate::sampleprof::record::{Frame, FunctionRecord, LineLocation};
use crate::sampleprof::rules::Rules;
use crate::sampleprof::summary::Summary;
use foldhash::fast::RandomState;
use hashbrown::HashMap;

/// Adds up sample profiles.
#[derive(Debug, Default)]
pub struct Merger {
    pub(super) rules: Rules,
    pub(super) names: Names,
    /// Hashes of names that were needed so far, by [`NameId`].
    hashes: Vec<Option<u64>>,
    pub(super) records: Records,
    kind: Kind,
    /// The kinds of the first input, which the others must have.
    required: Option<Kind>,
    symbols: SymbolList,
    remapping: Remapping,
    remapping_mask: u32,
}

/// The context of a record that was added to another, and what was wrong.
type Merged = (Option<Box<[Frame]>>, Option<RecordFault>);

/// Records by key, in LLVM's order.
#[derive(Debug, Default)]
pub(super) struct Records {
    records: Vec<Option<FunctionRecord>>,
    keys: Vec<u64>,
    chain: Chain,
    index: HashMap<u64, u32, RandomState>,
}

impl Records {
    pub(super) fn find(&self, key: u64) -> Option<usize> {
        self.index.get(&key).map(|at| *at as usize)
    }

    /// Appends a record whose key is new.
    pub(super) fn insert(&mut self, key: u64, record: FunctionRecord) -> Result<usize> {
        memory::reserve(&mut self.records, 1, HOLD_RECORDS)?;
        memory::reserve(&mut self.keys, 1, HOLD_RECORDS)?;
        memory::reserve(&mut self.index, 1, HOLD_RECORDS)?;
        self.chain.insert(key)?;
        let at = self.records.len();
        self.records.push(Some(record));
        self.keys.push(key);
        self.index.insert(key, at as u32);
        Ok(at)
    }

    /// Takes out the record at a place.
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

    /// Places of the records in LLVM's order.
    pub(super) fn order(&self) -> Result<Vec<usize>> {
        memory::collect(self.chain.iter(), HOLD_RECORDS)
    }

    /// The records in LLVM's order.
    pub(super) fn into_ordered(mut self) -> Result<Vec<FunctionRecord>> {
        let order = self.order()?;
        memory::collect(order.into_iter().filter_map(|at| self.records[at].take()), HOLD_RECORDS)
    }

    pub(super) fn len(&self) -> usize {
        self.index.len()
    }
}

impl Merger {
    /// A merge by the rules of a release.
    pub fn new(rules: Rules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Renames functions as they are added, and keeps so many low bits of their
    /// discriminators (whatever the kind of the profile, as LLVM does).
    pub fn set_remapping(&mut self, remapping: Remapping, discriminator_bits: u32) {
        self.remapping = remapping;
        self.remapping_mask = if discriminator_bits < 32 { (1 << discriminator_bits) - 1 } else { u32::MAX };
    }

    /// Takes note of what an input stated of its kind that could not be read to
    /// its end: LLVM keeps that in variables of the process, from one input to
    /// the next.
    pub fn learn_failed(&mut self, stated: StatedKind) {
        let hashed = self.kind.hashed;
        self.kind.learn(StatedKind { hashed, ..stated });
    }

    /// The kind of what was added so far.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Adds the functions of a profile, `weight` times; `on_fault` hears of the
    /// records that were not added as they are, by name or context.
    ///
    /// # Errors
    ///
    /// A kind conflict when one of the inputs is probe-based, or in contexts,
    /// and another is not.
    pub fn add(
        &mut self,
        mut profile: SampleProfile,
        weight: u64,
        on_fault: &mut dyn FnMut(&[u8], RecordFault),
    ) -> Result<()> {
        self.begin(profile.stated)?;
        let numbers = profile.names.iter().map(|name| self.names.insert(name));
        let numbers: Vec<NameId> = memory::collect(numbers, HOLD_NAMES)?;
        self.names.check_memory()?;
        let same_order = numbers.is_sorted();
        let is_same = same_order && numbers.last().is_none_or(|last| last.index() + 1 == numbers.len());
        if !is_same {
            profile.functions.iter_mut().for_each(|record| rename(record, &numbers, same_order));
        }
        // The order in which the functions stand in LLVM's container.
        let mut chain = Chain::default();
        let keys: Vec<u64> = memory::collect(profile.functions.iter().map(|record| self.key(record)), HOLD_RECORDS)?;
        keys.iter().try_for_each(|key| chain.insert(*key))?;
        let functions = profile.functions.into_iter().map(Some);
        let mut functions: Vec<Option<FunctionRecord>> = memory::collect(functions, HOLD_RECORDS)?;
        for at in chain.iter() {
            let Some(record) = functions[at].take() else { continue };
            self.add_record(keys[at], record, weight, on_fault)?;
        }
        Ok(())
    }

    /// Takes note of what an input states of its kind, before its functions are added.
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add).
    pub(crate) fn begin(&mut self, stated: StatedKind) -> Result<()> {
        self.kind.learn(stated);
        self.check_kind()
    }

    /// A merge of records that refer to these names.
    pub(crate) fn of_names(rules: Rules, names: Names) -> Self {
        Self { names, ..Self::new(rules) }
    }

    /// Adds a record; says whether it was added to another, and what was wrong then.
    pub(crate) fn add_sum(&mut self, record: FunctionRecord) -> Result<(bool, Option<RecordFault>)> {
        let key = self.key(&record);
        let merged = self.merge_at(key, record, 1)?;
        Ok((merged.is_some(), merged.and_then(|(_, fault)| fault)))
    }

    fn add_record(
        &mut self,
        mut key: u64,
        mut record: FunctionRecord,
        weight: u64,
        on_fault: &mut dyn FnMut(&[u8], RecordFault),
    ) -> Result<()> {
        let mut fault = None;
        if !self.remapping.is_empty() {
            record = remap(&record, &mut self.names, &self.remapping, self.remapping_mask, &mut fault)?;
            self.names.check_memory()?;
            key = self.key(&record);
        }
        let (name, found) = (record.name, self.merge_at(key, record, weight)?);
        if let Some((context, merged)) = found
            && let Some(fault) = fault.or(merged)
        {
            let mut title = Vec::new();
            push_title(&mut title, &self.names, &FunctionRecord { context, ..FunctionRecord::new(name) });
            on_fault(&title, fault);
        }
        Ok(())
    }

    /// Adds a record to the one of that key, or as a new one; gives the context
    /// of a record that was added to another, and what was wrong.
    fn merge_at(&mut self, key: u64, mut record: FunctionRecord, weight: u64) -> Result<Option<Merged>> {
        let at = match self.records.find(key) {
            Some(at) => at,
            None if weight == 1 => {
                self.records.insert(key, record)?;
                return Ok(None);
            }
            None => {
                let mut fresh = FunctionRecord::new(record.name);
                fresh.context.clone_from(&record.context);
                fresh.attributes = record.attributes;
                self.records.insert(key, fresh)?
            }
        };
        let context = record.context.take();
        let into = self.records.get_mut(at);
        into.map(|into| Ok((context, merge_record(into, record, weight)?))).transpose()
    }

    /// Merges a record into the one of the same function and context, or adds
    /// it as a new one.
    pub(super) fn merge_record(&mut self, record: FunctionRecord) -> Result<()> {
        let key = self.key(&record);
        self.merge_at(key, record, 1).map(drop)
    }

    fn check_kind(&mut self) -> Result<()> {
        let Some(required) = self.required else {
            self.required = Some(self.kind);
            return Ok(());
        };
        let detail = if required.probe_based != self.kind.probe_based {
            "cannot merge probe-based profile with non-probe-based profile"
        } else if required.context_sensitive != self.kind.context_sensitive {
            "cannot merge CS profile with non-CS profile"
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::KindConflict { detail: detail.to_string() }).with_llvm_detail(detail))
    }

    /// Takes the functions of a profile in the order in which they were read, as
    /// LLVM's reader does: what [`finish`](Self::finish) gives stands in the
    /// order of its container.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn load(rules: Rules, profile: SampleProfile) -> Result<Self> {
        let mut merger = Self::new(rules);
        merger.kind = profile.kind();
        merger.names = profile.names;
        merger.symbols = profile.symbols.unwrap_or_default();
        for record in profile.functions {
            merger.merge_record(record)?;
        }
        Ok(merger)
    }

    /// Adds symbols to the list.
    pub fn add_symbols(&mut self, symbols: impl IntoIterator<Item = Vec<u8>>) {
        self.symbols.extend(symbols);
    }

    /// The symbols so far.
    pub fn symbols(&self) -> &SymbolList {
        &self.symbols
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.records.len() == 0
    }

    /// Keeps the records whose name or context `keep` wants.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8]) -> bool) -> Result<()> {
        for at in self.records.order()? {
            let Some(record) = self.records.get(at) else { continue };
            let mut title = Vec::new();
            push_title(&mut title, &self.names, record);
            if !keep(&title) {
                self.records.remove(at);
            }
        }
        Ok(())
    }

    /// The summary of what was added so far.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn summary(&self) -> Result<Summary> {
        let records = self.records.order()?.into_iter().filter_map(|at| self.records.get(at));
        summarize(records, &self.names, self.kind, self.rules)
    }

    /// The profile; its functions stand in the order in which LLVM's container
    /// has them, which is that of the function metadata.
    ///
    /// # Errors
    ///
    /// Out of memory, as an I/O error.
    pub fn finish(self) -> Result<SampleProfile> {
        let kind = self.kind;
        self.names.check_memory()?;
        Ok(SampleProfile {
            names: self.names,
            functions: self.records.into_ordered()?,
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
        })
    }

    /// The functions are no longer in contexts.
    pub(super) fn leave_contexts(&mut self) {
        self.kind.context_sensitive = false;
    }

    /// The functions are stated to be pre-inlined.
    pub(super) fn mark_preinlined(&mut self) {
        self.kind.preinlined = true;
    }

    /// The key of a record in LLVM's container.
    pub(super) fn key(&mut self, record: &FunctionRecord) -> u64 {
        match &record.context {
            None if self.rules.keys_by_md5() => self.hash_of(record.name),
            None => hash_range(&self.names.get(record.name).to_bytes()),
            Some(frames) => self.context_key(frames),
        }
    }

    fn context_key(&mut self, frames: &[Frame]) -> u64 {
        let mut bytes = Vec::with_capacity(frames.len() * 8);
        for frame in frames {
            let value = if self.rules.keys_by_md5() {
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
        if self.rules.hashes_contexts_with_xxh3() { hash_range_xxh3(&bytes) } else { hash_range(&bytes) }
    }

    /// The key of a frame, also among the children of a node of contexts.
    pub(super) fn frame_key(&mut self, function: NameId, location: LineLocation) -> u64 {
        let (name, place) = if !self.rules.keys_by_md5() {
            let name = std_hash(&self.names.get(function).to_bytes());
            (name, u64::from(location.line) << 32 | u64::from(location.discriminator))
        } else {
            let name = match self.names.get(function) {
                FunctionName::Text(text) if self.rules.hashes_contexts_with_xxh3() => std_hash(text),
                _ => self.hash_of(function),
            };
            (name, u64::from(location.discriminator) << 32 | u64::from(location.line))
        };
        name.wrapping_add(place.wrapping_mul(33))
    }

    fn hash_of(&mut self, name: NameId) -> u64 {
        if self.hashes.len() <= name.index() {
            // Without room they are computed each time.
            if self.hashes.try_reserve(self.names.len() - self.hashes.len()).is_err() {
                return self.names.get(name).hash();
            }
            self.hashes.resize(self.names.len(), None);
        }
        let names = &self.names;
        *self.hashes[name.index()].get_or_insert_with(|| names.get(name).hash())
    }
}

/// Places of the functions of a profile in the order in which LLVM's container
/// gives them to a merge.
pub(crate) fn order_of_input(rules: Rules, profile: &SampleProfile) -> Result<Vec<usize>> {
    let mut merger = Merger::of_names(rules, profile.names.try_clone()?);
    let mut chain = Chain::default();
    profile.functions.iter().try_for_each(|record| chain.insert(merger.key(record)))?;
    memory::collect(chain.iter(), HOLD_RECORDS)
}

/// The summary of records in LLVM's order. Those of one function in several
/// contexts are added up first.
pub(crate) fn summarize<'a>(
    records: impl IntoIterator<Item = &'a FunctionRecord>,
    names: &Names,
    kind: Kind,
    rules: Rules,
) -> Result<Summary> {
    if !kind.context_sensitive {
        return Summary::of(records, rules);
    }
    let mut functions: HashMap<u64, usize, RandomState> = HashMap::default();
    let mut folded: Vec<FunctionRecord> = Vec::new();
    for record in records {
        memory::reserve(&mut functions, 1, HOLD_RECORDS)?;
        memory::reserve(&mut folded, 1, HOLD_RECORDS)?;
        let at = *functions.entry(names.get(record.name).hash()).or_insert_with(|| {
            folded.push(FunctionRecord::new(record.name));
            folded.len() - 1
        });
        merge_record(&mut folded[at], record.clone(), 1)?;
    }
    Summary::of(&folded, rules)
}
