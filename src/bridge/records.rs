//! From the counts of a document to LLVM's function records.

use super::content::{BranchShapes, Content, ContextCounts, TypeCounts};
use super::record_name::{MONITORS, func_hash};
use super::shape::{Branch, Shape};
use crate::model::record::MAX_VALUES_PER_SITE;
use crate::model::{FunctionRecord, LossKind, Losses, ProfileKind, ValueCount, ValueKind, ValueSites};

/// The kind of the profiles that the bridge makes: counters by the IR pass, the
/// entry first, context-sensitive records beside the others.
pub const PROFILE_KIND: ProfileKind = ProfileKind::from_bits(
    ProfileKind::IR.bits() | ProfileKind::CONTEXT_SENSITIVE.bits() | ProfileKind::ENTRY_FIRST.bits(),
);

/// Value sites of the monitors' record: one may not hold all types.
pub(super) const MONITOR_SITES: usize = 256;

/// A record and its name.
pub(super) type NamedRecord = (Vec<u8>, FunctionRecord);

/// In which form records are made.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordForm {
    /// The kind of value sites: see [`func_hash`].
    pub(super) receivers: ValueKind,
    /// Whether records have the bitmap byte that carries zeros through `-sparse`.
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

    /// For records that no LLVM file will hold: nothing is cut.
    pub(super) fn in_memory() -> Self {
        Self { values_per_site: usize::MAX, ..Self::for_indexed_version(12) }
    }
}

/// Makes records.
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

    /// The records in order of their names.
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

    /// All records of a document's counts, but for types and unnamed methods.
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

    /// A record that only says that a method exists.
    pub(super) fn method(&mut self, name: &[u8]) {
        self.context(name, ContextCounts::default());
    }

    /// A record that only says that a type exists.
    pub(super) fn type_name(&mut self, name: &[u8]) {
        self.push(name.to_vec(), vec![0], ValueSites::new(), true);
    }

    /// As many records as the site with the most shapes needs.
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

/// Branches and counters of one conditional, in the order of its counters.
pub(super) fn branch_counters<'a>(
    branches: &'a [Branch],
    counters: &'a [u64],
) -> impl Iterator<Item = (Branch, u64)> + 'a {
    branches.iter().copied().zip(counters.iter().copied())
}
