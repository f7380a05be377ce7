//! Converts LLVM's own records to sections of an iprof document. Only data that fits the meaning of a section is
//! stored; approximations get a remark.

use crate::bridge::decode::add_method;
use crate::bridge::demangle::{method_of_hash, method_of_pgo_name, type_of_hash, type_of_vtable};
use crate::bridge::extension::Approximations;
use crate::iprof::{
    BranchRow, CountEntry, Document, Frame, MAX_COUNT, MethodHandle, SectionKind, TypeCount, TypeHandle,
};
use crate::model::{
    FunctionId, FunctionView, Profile, ProfileKind, RecordId, RecordView, ValueCount, ValueKind, name_ref,
};
use foldhash::HashMap;
use std::collections::{BTreeMap, HashSet};

/// The section of indirect-call targets. The published format does not have it.
pub(super) const METHOD_TARGETS_NAME: &str = "virtualInvokeMethodProfiles";
/// Its name.
pub(super) const METHOD_TARGETS: &[u8] = METHOD_TARGETS_NAME.as_bytes();

/// The member of a type or method that stores the LLVM name if the mapping changes it.
pub(super) const LLVM_NAME: &[u8] = b"llvmName";

/// The BCI of a function's counters with `--counters-as-branches`.
const COUNTERS_BCI: i32 = 1;

/// The maximum bytecode index in Java.
const MAX_BCI: usize = 65534;

/// Targets of indirect calls: counts by method and position, then by called method.
pub(super) type MethodTargets<M> = BTreeMap<(M, i32), BTreeMap<M, u64>>;

/// Data of LLVM's own records that is not in the document's standard sections.
#[derive(Debug, Clone, Default)]
pub(super) struct ForeignParts {
    /// The LLVM names of methods, if their own names do not show them.
    pub(super) llvm_methods: Vec<(MethodHandle, Vec<u8>)>,
    /// The LLVM names of types.
    pub(super) llvm_types: Vec<(TypeHandle, Vec<u8>)>,
    pub(super) method_targets: MethodTargets<MethodHandle>,
    pub(super) approximate: Approximations,
    /// Counts that were reduced to the maximum of iprof.
    pub(super) clamped: u64,
}

impl ForeignParts {
    /// Changes all types and methods to those of another document.
    pub(super) fn moved(self, types: &[TypeHandle], methods: &[MethodHandle]) -> Self {
        let moved = |method: MethodHandle| methods[method.index()];
        let targets = |targets: BTreeMap<MethodHandle, u64>| {
            targets.into_iter().map(|(target, count)| (moved(target), count)).collect()
        };
        let sites = self.method_targets.into_iter();
        Self {
            llvm_methods: self.llvm_methods.into_iter().map(|(method, name)| (moved(method), name)).collect(),
            llvm_types: self.llvm_types.into_iter().map(|(class, name)| (types[class.index()], name)).collect(),
            method_targets: sites.map(|((method, bci), counts)| ((moved(method), bci), targets(counts))).collect(),
            ..self
        }
    }
}

/// The options of the mapping.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ForeignOptions {
    /// Whether to also write the counters, as one conditional per function.
    pub(super) counters_as_branches: bool,
}

/// Adds all records of `profile` except the bridge's own to `document`.
pub(super) fn add_foreign(
    document: &mut Document,
    profile: &Profile,
    own: &HashSet<RecordId>,
    options: ForeignOptions,
) -> ForeignParts {
    let mut builder = Builder {
        document,
        profile,
        own,
        options,
        vtables: profile.vtable_names.iter().map(|name| (name_ref(name), name.as_slice())).collect(),
        functions: targets(profile, own),
        classes: HashMap::default(),
        methods: vec![None; profile.functions.len()],
        parts: ForeignParts::default(),
        clamped: BTreeMap::new(),
    };
    foreign(profile, own).for_each(|function| builder.function(function));
    builder.remarks();
    builder.parts.clamped = builder.clamped.values().sum();
    builder.parts
}

/// Returns the functions that can be targets, by the hashes of their names. Functions that only the bridge has are not
/// targets, because the extension does not have them.
fn targets(profile: &Profile, own: &HashSet<RecordId>) -> HashMap<u64, FunctionId> {
    if !profile.functions.has_value_sites() {
        return HashMap::default();
    }
    foreign(profile, own).map(|function| (function.name_ref(), function.id())).collect()
}

/// Returns true if a function has records of LLVM's own, or no records.
fn is_foreign(function: FunctionView<'_>, own: &HashSet<RecordId>) -> bool {
    let mut ids = function.record_ids().peekable();
    ids.peek().is_none() || ids.any(|id| !own.contains(&id))
}

/// Returns the functions that are LLVM's own.
pub(super) fn foreign<'p>(profile: &'p Profile, own: &HashSet<RecordId>) -> impl Iterator<Item = FunctionView<'p>> {
    profile.functions.iter().filter(|function| is_foreign(*function, own))
}

struct Builder<'a> {
    document: &'a mut Document,
    profile: &'a Profile,
    own: &'a HashSet<RecordId>,
    options: ForeignOptions,
    vtables: HashMap<u64, &'a [u8]>,
    functions: HashMap<u64, FunctionId>,
    /// The types of vtables' values, and the methods of functions, so far.
    classes: HashMap<u64, TypeHandle>,
    methods: Vec<Option<MethodHandle>>,
    parts: ForeignParts,
    /// Counts above the maximum of iprof, by section.
    clamped: BTreeMap<&'static str, u64>,
}

impl<'a> Builder<'a> {
    fn function(&mut self, function: FunctionView<'a>) {
        let method = self.method(function.id());
        let kind = self.profile.kind;
        let own = self.own;
        let records: Vec<RecordView<'_>> = function
            .record_ids()
            .filter(|id| !own.contains(id))
            .map(|id| self.profile.functions.record(id))
            .filter(|record| is_plain(*record, kind))
            .collect();
        self.call_count(method, &records);
        self.receivers(method, &records);
        self.targets(method, &records);
        if self.options.counters_as_branches {
            self.counters_as_branches(method, &records);
        }
    }

    /// Returns the method of a function, which is added to the document when it first occurs.
    fn method(&mut self, function: FunctionId) -> MethodHandle {
        if let Some(known) = self.methods[function.index()] {
            return known;
        }
        let mapped = method_of_pgo_name(self.profile.functions.name(function));
        let method = add_method(self.document, &mapped.identity);
        self.parts.llvm_methods.extend(mapped.llvm_name.map(|name| (method, name)));
        self.methods[function.index()] = Some(method);
        method
    }

    /// Returns the type of a vtable's value, which is added to the document when it first occurs.
    fn class(&mut self, value: u64) -> TypeHandle {
        if let Some(known) = self.classes.get(&value) {
            return *known;
        }
        let class = match self.vtables.get(&value).copied() {
            Some(name) => {
                let mapped = type_of_vtable(name);
                let class = self.document.add_type(&mapped.identity);
                self.parts.llvm_types.extend(mapped.llvm_name.map(|name| (class, name)));
                class
            }
            None => self.document.add_type(&type_of_hash(value)),
        };
        self.classes.insert(value, class);
        class
    }

    fn call_count(&mut self, method: MethodHandle, records: &[RecordView<'_>]) {
        let first_counters = records.iter().filter_map(|record| record.counters.first());
        if let Some(calls) = first_counters.reduce(u64::saturating_add) {
            let context = self.document.add_context(&[Frame { method, bci: 0 }]);
            let count = self.clamp(SectionKind::CallCount.name(), calls);
            self.document.sections.call_counts.push(CountEntry { context, count });
        }
    }

    /// Converts vtable sites to receiver classes.
    fn receivers(&mut self, method: MethodHandle, records: &[RecordView<'_>]) {
        for (bci, values) in sites_by_place(records, ValueKind::VTableTarget) {
            let mut pairs = Vec::with_capacity(values.len());
            for (value, count) in values {
                let class = self.class(value);
                let count = self.clamp(SectionKind::VirtualInvoke.name(), count);
                pairs.push(TypeCount { class, count });
            }
            let context = self.document.add_context(&[Frame { method, bci }]);
            self.document.sections.virtual_invokes.push(context, &pairs);
        }
    }

    /// Converts indirect-call sites to called functions.
    fn targets(&mut self, caller: MethodHandle, records: &[RecordView<'_>]) {
        for (bci, values) in sites_by_place(records, ValueKind::IndirectCallTarget) {
            let mut targets: BTreeMap<MethodHandle, u64> = BTreeMap::new();
            for (value, count) in values {
                let target = match self.functions.get(&value).copied() {
                    Some(function) => self.method(function),
                    None => add_method(self.document, &method_of_hash(value)),
                };
                let sum = targets.entry(target).or_default();
                *sum = self.clamp(METHOD_TARGETS_NAME, sum.saturating_add(count));
            }
            self.parts.method_targets.insert((caller, bci), targets);
        }
    }

    fn counters_as_branches(&mut self, method: MethodHandle, records: &[RecordView<'_>]) {
        for record in records {
            let numbered = record.counters.iter().enumerate().skip(1).take(MAX_BCI);
            let rows: Vec<BranchRow> = numbered
                .map(|(at, count)| {
                    let number = u16::try_from(at).expect("at most MAX_BCI, which 16 bits hold");
                    BranchRow {
                        index: number.into(),
                        bci: number.into(),
                        count: self.clamp(SectionKind::Conditional.name(), count),
                    }
                })
                .collect();
            if !rows.is_empty() {
                let context = self.document.add_context(&[Frame { method, bci: COUNTERS_BCI }]);
                self.document.sections.conditionals.push(context, &rows);
            }
        }
    }

    /// Converts a count to the range of iprof.
    fn clamp(&mut self, section: &'static str, count: u64) -> u64 {
        if count > MAX_COUNT {
            *self.clamped.entry(section).or_default() += 1;
        }
        count.min(MAX_COUNT)
    }

    /// Adds remarks about sections whose content differs from the meaning of the format.
    fn remarks(&mut self) {
        let sections = &self.document.sections;
        let approximate = &mut self.parts.approximate;
        let mut remark = |section: &str, text: &str| {
            let remarks = approximate.entry(section.to_string()).or_default();
            remarks.push_str(if remarks.is_empty() { "" } else { "; " });
            remarks.push_str(text);
        };
        if !sections.call_counts.is_empty() {
            let kind = self.profile.kind;
            let section = SectionKind::CallCount.name();
            if kind.contains(ProfileKind::BYTE_COVERAGE) {
                remark(section, "coverage: a count of 1 means at least once");
            } else if kind.is_ir() && !kind.intersects(ProfileKind::ENTRY_FIRST | ProfileKind::FUNCTION_ENTRY_ONLY) {
                remark(section, "counter 0 of a profile that is not entry-first, which may belong to another edge");
            }
        }
        if self.options.counters_as_branches {
            let section = SectionKind::Conditional.name();
            remark(section, "LLVM's counters by index at BCI 1: they are edges or regions, not branches");
        }
        for (section, count) in &self.clamped {
            remark(section, &format!("{count} counts above 2^63-1 were set to 2^63-1"));
        }
    }
}

/// Returns true if the standard sections can have the record's counts: they are real counts, and counted once.
pub(super) fn is_plain(record: RecordView<'_>, kind: ProfileKind) -> bool {
    !(kind.is_ir() && record.is_context_sensitive()) && record.pseudo_count().is_none()
}

/// Returns the values of all records' sites, added up by the position of the site, without empty sites.
fn sites_by_place(records: &[RecordView<'_>], kind: ValueKind) -> BTreeMap<i32, BTreeMap<u64, u64>> {
    let mut places: BTreeMap<i32, BTreeMap<u64, u64>> = BTreeMap::new();
    for record in records {
        for (bci, site) in (0..).zip(record.sites(kind).iter()) {
            for ValueCount { value, count } in site {
                let sum = places.entry(bci).or_default().entry(*value).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
    }
    places
}
