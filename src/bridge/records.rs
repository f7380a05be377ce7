//! Converts the counts of a document to LLVM function records.

use crate::bridge::chain_order::{self, Named, Target};
use crate::bridge::names::{EncodedNames, MONITORS, func_hash};
use crate::bridge::shape::{Branch, Shape};
use crate::error::{Error, Result};
use crate::iprof::{
    ContextHandle, ContextTree, Document, Frame, MAX_COUNT, MethodHandle, Records, SectionKind, TypeCount,
};
use crate::model::record::MAX_VALUES_PER_SITE;
use crate::model::{FunctionRecord, FunctionTable, LossKind, Losses, ProfileKind, ValueCount, ValueKind, ValueSites};
use foldhash::{HashMap, HashSet};
use std::borrow::Cow;
use std::collections::BTreeMap;

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

impl ContextCounts {
    /// Adds an entry of a section. Returns the number of sums that exceeded the maximum count.
    fn add(&mut self, section: SectionKind, bci: i32, records: Records<'_>, spelling: &EncodedNames) -> u64 {
        match records {
            Records::Count(count) => {
                let (sum, over) = add(self.calls.unwrap_or(0), count);
                self.calls = Some(sum);
                u64::from(over)
            }
            Records::Branches(rows) => {
                let mut rows = rows.to_vec();
                // The sort must be stable: rows of one pair are cases of one switch and keep their order.
                rows.sort_by_key(|row| (row.index, row.bci));
                let branches: Vec<Branch> = rows.iter().map(|row| Branch { index: row.index, bci: row.bci }).collect();
                let shapes = self.conditionals.entry(bci).or_default();
                let sums = shapes.entry(branches).or_insert_with(|| vec![0; rows.len()]);
                let mut saturated = 0;
                for (sum, row) in sums.iter_mut().zip(&rows) {
                    let (total, over) = add(*sum, row.count);
                    *sum = total;
                    saturated += u64::from(over);
                }
                saturated
            }
            Records::Types(pairs) => {
                let is_invoke = section == SectionKind::VirtualInvoke;
                let sites = if is_invoke { &mut self.virtual_invokes } else { &mut self.instanceofs };
                add_types(sites.entry(bci).or_default(), pairs, spelling)
            }
        }
    }
}

/// The selected entries of a document, by the record that stores them.
#[derive(Debug)]
pub(super) struct Content<'d> {
    document: &'d Document,
    spelling: &'d EncodedNames,
    /// The contexts, in which methods that are spelled alike are one.
    contexts: Cow<'d, ContextTree>,
    /// Entries, by record and section.
    entries: Vec<StoredEntry>,
    /// Samples by stack.
    stacks: Vec<(ContextHandle, u64)>,
    /// The monitors, if the section has entries.
    monitors: Option<TypeCounts>,
    /// Hashes of the types that occur as values.
    value_types: HashSet<u64>,
    /// Methods of the document that occur in a name, by index.
    named_methods: Vec<bool>,
    /// The number of sums that exceeded the maximum count.
    saturated: u64,
}

/// An entry of a section, and the record that stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct StoredEntry {
    caller: ContextHandle,
    method: MethodHandle,
    section: SectionKind,
    /// The place in its section.
    at: u32,
    bci: i32,
}

impl StoredEntry {
    fn is_of_record(&self, other: &Self) -> bool {
        (self.caller, self.method) == (other.caller, other.method)
    }
}

/// Finds the entries that `wanted` selects.
///
/// # Errors
///
/// Malformed if an entry has a position that its section does not allow.
pub(super) fn gather<'d>(
    document: &'d Document,
    spelling: &'d EncodedNames,
    wanted: &dyn Fn(SectionKind, ContextHandle) -> bool,
) -> Result<Content<'d>> {
    let (contexts, moved) = without_repeated_methods(document, spelling);
    let mut content = Content {
        document,
        spelling,
        contexts,
        entries: Vec::new(),
        stacks: Vec::new(),
        monitors: None,
        value_types: HashSet::default(),
        named_methods: vec![false; document.tables.methods_count()],
        saturated: 0,
    };
    let mut is_named = vec![false; document.contexts.len()];
    let malformed =
        |section: SectionKind, detail: String| Error::malformed(detail).in_section(section.name()).in_format("iprof");
    use SectionKind::{CallCount, Conditional, Instanceof, Monitor, Sampling, VirtualInvoke};
    for section in [CallCount, Conditional, VirtualInvoke, Instanceof, Monitor, Sampling] {
        for (at, (context, records)) in (0..).zip(document.sections.entries(section)) {
            if !wanted(section, context) {
                continue;
            }
            if let Records::Types(pairs) = records {
                content.value_types.extend(pairs.iter().map(|pair| spelling.type_hash(pair.class)));
                if section == Monitor {
                    content.saturated += add_types(content.monitors.get_or_insert_default(), pairs, spelling);
                    continue;
                }
            }
            is_named[context.index()] = true;
            let context = moved.as_ref().map_or(context, |moved| moved[context.index()]);
            let Some(Frame { method, bci }) = content.contexts.leaf(context) else {
                return Err(malformed(section, "an entry has no context".to_string()));
            };
            match records {
                Records::Count(count) if section == Sampling => content.stacks.push((context, count)),
                Records::Count(_) if bci != 0 => {
                    return Err(malformed(section, format!("a call count at BCI {bci}, expected 0")));
                }
                _ => {
                    let caller = content.contexts.caller(context);
                    content.entries.push(StoredEntry { caller, method, section, at, bci });
                }
            }
        }
    }
    content.entries.sort_unstable();
    content.add_up_stacks();
    // Contexts follow their callers.
    for (context, caller, frame) in document.contexts.iter().rev() {
        if is_named[context.index()] {
            is_named[caller.index()] = true;
            content.named_methods[frame.method.index()] = true;
        }
    }
    Ok(content)
}

/// Returns contexts in which the first of several methods that are spelled alike replaces the others, and the new
/// handles of all contexts if there are several.
fn without_repeated_methods<'d>(
    document: &'d Document,
    spelling: &EncodedNames,
) -> (Cow<'d, ContextTree>, Option<Vec<ContextHandle>>) {
    let mut first: HashMap<&[u8], MethodHandle> = HashMap::default();
    let methods: Vec<MethodHandle> =
        document.tables.methods().map(|method| *first.entry(spelling.method(method)).or_insert(method)).collect();
    if first.len() == methods.len() {
        return (Cow::Borrowed(&document.contexts), None);
    }
    let mut contexts = ContextTree::default();
    let moved = contexts.adopt(&document.contexts, &methods, |_| true);
    (Cow::Owned(contexts), Some(moved))
}

impl<'d> Content<'d> {
    fn add_up_stacks(&mut self) {
        self.stacks.sort_by_key(|(context, _)| *context);
        let saturated = &mut self.saturated;
        self.stacks.dedup_by(|later, first| {
            let is_same = later.0 == first.0;
            if is_same {
                let (sum, over) = add(first.1, later.1);
                first.1 = sum;
                *saturated += u64::from(over);
            }
            is_same
        });
    }

    /// Returns the methods of the document that occur in names.
    pub(super) fn named_methods(&self) -> impl Iterator<Item = MethodHandle> {
        self.document.tables.methods().filter(|method| self.named_methods[method.index()])
    }

    /// Returns true if the type with this hash occurs as a value.
    pub(super) fn has_value(&self, type_hash: u64) -> bool {
        self.value_types.contains(&type_hash)
    }

    /// Returns the counts of methods without known callers, by the name of the method.
    pub(super) fn by_method(&self) -> BTreeMap<&'d [u8], ContextCounts> {
        let records = self.entries.chunk_by(StoredEntry::is_of_record);
        let methods = records.filter(|entries| entries[0].caller == ContextHandle::ROOT);
        methods.map(|entries| (self.spelling.method(entries[0].method), self.counts(entries).0)).collect()
    }

    /// Returns the entries of the record whose first entry is at this index.
    fn record_from(&self, first: usize) -> &[StoredEntry] {
        self.entries[first..].chunk_by(StoredEntry::is_of_record).next().unwrap_or_default()
    }

    /// Adds up the entries of one record. Also returns the number of sums that exceeded the maximum count.
    fn counts(&self, entries: &[StoredEntry]) -> (ContextCounts, u64) {
        let mut counts = ContextCounts::default();
        let add = |entry: &StoredEntry| {
            let (_, records) = self.document.sections.entry(entry.section, entry.at as usize);
            counts.add(entry.section, entry.bci, records, self.spelling)
        };
        let saturated = entries.iter().map(add).sum();
        (counts, saturated)
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
type NamedRecord = (Vec<u8>, FunctionRecord);

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
    /// Records that are not in the table yet.
    records: Vec<NamedRecord>,
}

impl<'l> RecordMaker<'l> {
    pub(super) fn new(form: RecordForm, losses: &'l mut Losses) -> Self {
        Self { form, losses, records: Vec::new() }
    }

    /// Adds the records of a document's counts and all others to a table, in the order of their names.
    ///
    /// # Errors
    ///
    /// Malformed if the table has one of the records.
    pub(super) fn finish(mut self, content: &Content<'_>, functions: &mut FunctionTable) -> Result<()> {
        let mut saturated = content.saturated;
        let (mut named, mut at) = (Vec::new(), 0);
        for entries in content.entries.chunk_by(StoredEntry::is_of_record) {
            let StoredEntry { caller, method, .. } = entries[0];
            if caller == ContextHandle::ROOT {
                let (counts, over) = content.counts(entries);
                saturated += over;
                self.context(content.spelling.method(method), counts);
            } else {
                named.push(Named { caller, frame: Frame { method, bci: 0 }, target: Target::Method(at) });
            }
            at += entries.len() as u32;
        }
        for (at, (stack, _)) in (0..).zip(&content.stacks) {
            let caller = content.contexts.caller(*stack);
            named.extend(content.contexts.leaf(*stack).map(|frame| Named { caller, frame, target: Target::Stack(at) }));
        }
        if let Some(types) = &content.monitors {
            self.monitors(types);
        }
        // The names of chains begin with a bracket, and no others do.
        self.records.sort_by(|a, b| a.0.cmp(&b.0));
        let later = self.records.split_off(self.records.partition_point(|(name, _)| name < &b"[".to_vec()));
        self.flush(functions)?;
        chain_order::walk(&content.contexts, content.spelling, named, |name, target| {
            match target {
                Target::Method(at) => {
                    let (counts, over) = content.counts(content.record_from(at as usize));
                    saturated += over;
                    self.context(name, counts);
                    self.records.sort_by(|a, b| a.0.cmp(&b.0));
                }
                Target::Stack(at) => {
                    let (_, samples) = content.stacks[at as usize];
                    self.push(name.to_vec(), vec![samples], ValueSites::new(), true);
                }
                Target::Caller(_) => {}
            }
            self.flush(functions)
        })?;
        self.records = later;
        self.flush(functions)?;
        self.losses.add(LossKind::SaturatedCounts, saturated);
        Ok(())
    }

    /// Moves the records to the table.
    fn flush(&mut self, functions: &mut FunctionTable) -> Result<()> {
        for (name, record) in self.records.drain(..) {
            let id = functions.intern(&name);
            if functions.find_record(id, record.func_hash).is_some() {
                let detail = format!("the extension repeats the sections' data of {}", name.escape_ascii());
                return Err(Error::malformed(detail).in_section("llvm").in_format("iprof"));
            }
            functions.push_record(id, &record);
        }
        Ok(())
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
