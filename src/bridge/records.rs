//! Converts the counts of a document to LLVM function records.

use crate::bridge::names::{EncodedNames, MONITORS, NamedFrame, func_hash, push_context, push_stack};
use crate::bridge::shape::{Branch, Shape};
use crate::error::{Error, Result};
use crate::iprof::{
    BranchRow, ContextHandle, CountEntry, Document, Frame, MAX_COUNT, MethodHandle, RowSection, SectionKind, TypeCount,
};
use crate::model::record::MAX_VALUES_PER_SITE;
use crate::model::{FunctionRecord, LossKind, Losses, ProfileKind, ValueCount, ValueKind, ValueSites};
use std::collections::{BTreeMap, BTreeSet};

/// Counts by type (the hash of its name).
pub(super) type TypeCounts = BTreeMap<u64, u64>;

/// Counts by branches in canonical order.
pub(super) type BranchShapes = BTreeMap<Vec<Branch>, Vec<u64>>;

/// All counts of one method with one chain of callers. Sites are ordered by BCI.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ContextCounts {
    pub(super) calls: Option<u64>,
    pub(super) conditionals: BTreeMap<i32, BranchShapes>,
    pub(super) virtual_invokes: BTreeMap<i32, TypeCounts>,
    pub(super) instanceofs: BTreeMap<i32, TypeCounts>,
}

/// The counts of a document.
#[derive(Debug, Clone, Default)]
pub(super) struct Content {
    /// By the name of the context, see [`push_context`].
    pub(super) contexts: BTreeMap<Vec<u8>, ContextCounts>,
    /// Samples by the name of the stack, see [`push_stack`].
    pub(super) stacks: BTreeMap<Vec<u8>, u64>,
    /// The monitors, if the section has entries.
    pub(super) monitors: Option<TypeCounts>,
    /// Hashes of the types that occur as values.
    pub(super) value_types: BTreeSet<u64>,
    /// Methods of the document that occur in a name.
    pub(super) named_methods: BTreeSet<MethodHandle>,
    /// The number of sums that exceeded the maximum count.
    pub(super) saturated: u64,
}

/// Adds up the sections that `wanted` selects.
///
/// # Errors
///
/// Malformed if an entry has a position that its section does not allow.
pub(super) fn gather(
    document: &Document,
    spelling: &EncodedNames,
    wanted: &dyn Fn(SectionKind, ContextHandle) -> bool,
) -> Result<Content> {
    let mut gatherer = Gatherer { document, spelling, content: Content::default() };
    let sections = &document.sections;
    gatherer.call_counts(&sections.call_counts, wanted)?;
    gatherer.conditionals(&sections.conditionals, wanted)?;
    gatherer.receivers(SectionKind::VirtualInvoke, &sections.virtual_invokes, wanted, |counts| {
        &mut counts.virtual_invokes
    })?;
    gatherer.receivers(SectionKind::Instanceof, &sections.instanceofs, wanted, |counts| &mut counts.instanceofs)?;
    gatherer.monitors(&sections.monitors, wanted);
    gatherer.samples(&sections.samples, wanted)?;
    Ok(gatherer.content)
}

struct Gatherer<'a> {
    document: &'a Document,
    spelling: &'a EncodedNames,
    content: Content,
}

impl Gatherer<'_> {
    /// Returns the counts for a context's method and callers, and the leaf's BCI.
    fn counts(&mut self, section: SectionKind, context: ContextHandle) -> Result<(&mut ContextCounts, i32)> {
        let frames = self.frames(section, context)?;
        let (leaf, callers) = frames.split_first().expect("frames() refuses contexts without any");
        let mut name = Vec::new();
        push_context(
            &mut name,
            callers.iter().rev().map(|frame| self.named(*frame)),
            self.spelling.method(leaf.method),
        );
        Ok((self.content.contexts.entry(name).or_default(), leaf.bci))
    }

    /// Returns the frames, leaf first; at least one. Records their methods as named.
    fn frames(&mut self, section: SectionKind, context: ContextHandle) -> Result<Vec<Frame>> {
        let frames: Vec<Frame> = self.document.contexts.frames(context).collect();
        if frames.is_empty() {
            return Err(Error::malformed("an entry has no context").in_section(section.name()).in_format("iprof"));
        }
        self.content.named_methods.extend(frames.iter().map(|frame| frame.method));
        Ok(frames)
    }

    fn named(&self, frame: Frame) -> NamedFrame<'_> {
        NamedFrame { method: self.spelling.method(frame.method), bci: frame.bci }
    }

    fn call_counts(
        &mut self,
        entries: &[CountEntry],
        wanted: &dyn Fn(SectionKind, ContextHandle) -> bool,
    ) -> Result<()> {
        for entry in entries.iter().filter(|entry| wanted(SectionKind::CallCount, entry.context)) {
            let (counts, bci) = self.counts(SectionKind::CallCount, entry.context)?;
            if bci != 0 {
                let error = Error::malformed(format!("a call count at BCI {bci}, expected 0"));
                return Err(error.in_section(SectionKind::CallCount.name()).in_format("iprof"));
            }
            let sum = add(counts.calls.unwrap_or(0), entry.count);
            counts.calls = Some(sum.0);
            self.content.saturated += u64::from(sum.1);
        }
        Ok(())
    }

    fn conditionals(
        &mut self,
        entries: &RowSection<BranchRow>,
        wanted: &dyn Fn(SectionKind, ContextHandle) -> bool,
    ) -> Result<()> {
        for (context, rows) in entries.iter().filter(|(context, _)| wanted(SectionKind::Conditional, *context)) {
            let mut rows = rows.to_vec();
            // The sort must be stable: rows of one pair are cases of one switch and keep their order.
            rows.sort_by_key(|row| (row.index, row.bci));
            let branches: Vec<Branch> = rows.iter().map(|row| Branch { index: row.index, bci: row.bci }).collect();
            let (counts, bci) = self.counts(SectionKind::Conditional, context)?;
            let shapes = counts.conditionals.entry(bci).or_default();
            let sums = shapes.entry(branches).or_insert_with(|| vec![0; rows.len()]);
            let mut saturated = 0;
            for (sum, row) in sums.iter_mut().zip(&rows) {
                let (total, over) = add(*sum, row.count);
                *sum = total;
                saturated += u64::from(over);
            }
            self.content.saturated += saturated;
        }
        Ok(())
    }

    fn receivers(
        &mut self,
        section: SectionKind,
        entries: &RowSection<TypeCount>,
        wanted: &dyn Fn(SectionKind, ContextHandle) -> bool,
        sites: impl Fn(&mut ContextCounts) -> &mut BTreeMap<i32, TypeCounts>,
    ) -> Result<()> {
        for (context, pairs) in entries.iter().filter(|(context, _)| wanted(section, *context)) {
            let spelling = self.spelling;
            let (counts, bci) = self.counts(section, context)?;
            let site = sites(counts).entry(bci).or_default();
            let saturated = add_types(site, pairs, spelling);
            self.note_types(pairs, saturated);
        }
        Ok(())
    }

    fn monitors(&mut self, entries: &RowSection<TypeCount>, wanted: &dyn Fn(SectionKind, ContextHandle) -> bool) {
        for (_, pairs) in entries.iter().filter(|(context, _)| wanted(SectionKind::Monitor, *context)) {
            let site = self.content.monitors.get_or_insert_default();
            let saturated = add_types(site, pairs, self.spelling);
            self.note_types(pairs, saturated);
        }
    }

    fn note_types(&mut self, pairs: &[TypeCount], saturated: u64) {
        self.content.value_types.extend(pairs.iter().map(|pair| self.spelling.type_hash(pair.class)));
        self.content.saturated += saturated;
    }

    fn samples(&mut self, entries: &[CountEntry], wanted: &dyn Fn(SectionKind, ContextHandle) -> bool) -> Result<()> {
        for entry in entries.iter().filter(|entry| wanted(SectionKind::Sampling, entry.context)) {
            let frames = self.frames(SectionKind::Sampling, entry.context)?;
            let mut name = Vec::new();
            push_stack(&mut name, frames.iter().rev().map(|frame| self.named(*frame)));
            let sum = self.content.stacks.entry(name).or_default();
            let (total, over) = add(*sum, entry.count);
            *sum = total;
            self.content.saturated += u64::from(over);
        }
        Ok(())
    }
}

/// Adds like iprof. Returns true if the sum exceeds the maximum count.
fn add(a: u64, b: u64) -> (u64, bool) {
    let sum = a.saturating_add(b);
    (sum.min(MAX_COUNT), sum > MAX_COUNT)
}

fn add_types(site: &mut TypeCounts, pairs: &[TypeCount], spelling: &EncodedNames) -> u64 {
    let mut saturated = 0;
    for pair in pairs {
        let sum = site.entry(spelling.type_hash(pair.class)).or_default();
        let (total, over) = add(*sum, pair.count);
        *sum = total;
        saturated += u64::from(over);
    }
    saturated
}

/// The kind of the profiles that the bridge creates: IR instrumentation with entry counters first, and
/// context-sensitive records together with the others.
pub const PROFILE_KIND: ProfileKind = ProfileKind::from_bits(
    ProfileKind::IR.bits() | ProfileKind::CONTEXT_SENSITIVE.bits() | ProfileKind::ENTRY_FIRST.bits(),
);

/// The number of value sites in the monitors' record, because one site cannot hold all types.
pub(super) const MONITOR_SITES: usize = 256;

/// A record and its name.
pub(super) type NamedRecord = (Vec<u8>, FunctionRecord);

/// The form of the created records.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordForm {
    /// The kind of value sites, see [`func_hash`].
    pub(super) receivers: ValueKind,
    /// Whether records have the bitmap byte that preserves zero counts with `-sparse`.
    pub(super) bitmap: bool,
    /// The maximum number of values of a site.
    pub(super) values_per_site: usize,
}

impl RecordForm {
    /// Returns the limits of the readers of an indexed version.
    pub(super) fn for_indexed_version(version: u32) -> Self {
        Self {
            receivers: if version < 12 { ValueKind::IndirectCallTarget } else { ValueKind::VTableTarget },
            bitmap: version >= 11,
            values_per_site: MAX_VALUES_PER_SITE,
        }
    }

    /// The form of records that no LLVM file stores: nothing is shortened.
    pub(super) fn in_memory() -> Self {
        Self { values_per_site: usize::MAX, ..Self::for_indexed_version(12) }
    }
}

/// Creates records.
#[derive(Debug)]
pub(super) struct RecordMaker<'l> {
    form: RecordForm,
    losses: &'l mut Losses,
    records: Vec<NamedRecord>,
}

impl<'l> RecordMaker<'l> {
    pub(super) fn new(form: RecordForm, losses: &'l mut Losses) -> Self {
        Self { form, losses, records: Vec::new() }
    }

    /// The records, ordered by name.
    pub(super) fn finish(mut self) -> Vec<NamedRecord> {
        self.records.sort_by(|a, b| a.0.cmp(&b.0));
        self.records
    }

    fn push(&mut self, name: Vec<u8>, counters: Vec<u64>, sites: ValueSites, context_sensitive: bool) {
        let mut record = FunctionRecord::new(func_hash(&name, self.form.receivers, context_sensitive), counters);
        if self.form.bitmap {
            record.bitmap.push(1);
        }
        if !sites.is_empty() {
            *record.sites_mut(self.form.receivers) = sites;
        }
        self.records.push((name, record));
    }

    /// Creates all records for a document's counts, except for types and unnamed methods.
    pub(super) fn content(&mut self, content: Content) {
        self.losses.add(LossKind::SaturatedCounts, content.saturated);
        for (subject, counts) in content.contexts {
            self.context(&subject, counts);
        }
        for (name, samples) in content.stacks {
            self.push(name, vec![samples], ValueSites::new(), true);
        }
        if let Some(types) = content.monitors {
            self.monitors(&types);
        }
    }

    /// Creates a record that only declares a method.
    pub(super) fn method(&mut self, name: &[u8]) {
        self.context(name, ContextCounts::default());
    }

    /// Creates a record that only declares a type.
    pub(super) fn type_name(&mut self, name: &[u8]) {
        self.push(name.to_vec(), vec![0], ValueSites::new(), true);
    }

    /// Creates one record per shape of the site with the most shapes.
    fn context(&mut self, subject: &[u8], counts: ContextCounts) {
        let shapes_count = counts.conditionals.values().map(BranchShapes::len).max().unwrap_or(0);
        for nth in 0..shapes_count.max(1) {
            let mut shape = Shape::default();
            let mut counters = vec![0];
            let mut sites = ValueSites::new();
            for (bci, shapes) in &counts.conditionals {
                let Some((branches, sums)) = shapes.iter().nth(nth) else { continue };
                shape.conditionals.push((*bci, branches.clone()));
                counters.extend_from_slice(sums);
            }
            if nth == 0 {
                shape.calls = counts.calls.is_some();
                counters[0] = counts.calls.unwrap_or(0);
                for (bcis, by_bci) in [
                    (&mut shape.virtual_invokes, &counts.virtual_invokes),
                    (&mut shape.instanceofs, &counts.instanceofs),
                ] {
                    for (bci, types) in by_bci {
                        bcis.push(*bci);
                        self.site(&mut sites, types.iter().map(|(value, count)| (*value, *count)));
                    }
                }
            }
            let mut name = subject.to_vec();
            shape.push_to(&mut name);
            self.push(name, counters, sites, false);
        }
    }

    fn monitors(&mut self, types: &TypeCounts) {
        let mut sites = ValueSites::new();
        for site in 0..MONITOR_SITES as u64 {
            let here = types.iter().filter(|(value, _)| **value % MONITOR_SITES as u64 == site);
            self.site(&mut sites, here.map(|(value, count)| (*value, *count)));
        }
        self.push(MONITORS.to_vec(), vec![0], sites, true);
    }

    /// Adds a site in LLVM's form: the values with the highest counts, in descending order.
    fn site(&mut self, sites: &mut ValueSites, types: impl Iterator<Item = (u64, u64)>) {
        let mut values: Vec<ValueCount> = types.map(|(value, count)| ValueCount { value, count }).collect();
        values.sort_by(|a, b| b.count.cmp(&a.count).then(a.value.cmp(&b.value)));
        self.losses.add(LossKind::ValuesBeyondLimit, values.len().saturating_sub(self.form.values_per_site) as u64);
        values.truncate(self.form.values_per_site);
        sites.push_site(&values);
    }
}

/// The branches and counts of one conditional, in the order of its counters.
pub(super) fn branch_counters<'a>(
    branches: &'a [Branch],
    counters: &'a [u64],
) -> impl Iterator<Item = (Branch, u64)> + 'a {
    branches.iter().copied().zip(counters.iter().copied())
}
