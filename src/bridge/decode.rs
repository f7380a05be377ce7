//! Converts the bridge's own records in an LLVM profile back to iprof.
//!
//! A record belongs to the bridge if its FuncHash marks it and its counters and sites fit the shape in its name. All
//! other records are LLVM's own.

use crate::bridge::demangle::type_of_hash;
use crate::bridge::names::{MethodIdentity, parse_type, push_type};
use crate::bridge::names::{NamedFrame, RecordName, func_hash};
use crate::bridge::records::{MONITOR_SITES, branch_counters};
use crate::bridge::shape::Shape;
use crate::iprof::{
    BranchRow, ContextHandle, CountEntry, Document, Frame, MAX_COUNT, MethodHandle, TypeCount, TypeHandle,
};
use crate::model::record::{MAX_VALUES_PER_SITE, may_be_of_bridge};
use crate::model::{LossKind, Losses, Profile, RecordId, RecordView, ValueKind, ValueSites, name_ref};
use std::collections::HashMap;

/// A decoded record of the bridge.
#[derive(Debug, Clone)]
pub(super) struct BridgeRecord<'p> {
    pub(super) id: RecordId,
    pub(super) name: RecordName<'p>,
    record: RecordView<'p>,
    /// The kind of value sites that holds receivers.
    receivers: ValueKind,
}

impl<'p> BridgeRecord<'p> {
    /// Decodes a record. Returns `None` for LLVM's own records.
    fn decode(
        id: RecordId,
        name: &'p [u8],
        record: RecordView<'p>,
        is_method: &mut dyn FnMut(&'p [u8]) -> bool,
    ) -> Option<Self> {
        if !may_be_of_bridge(name, record.func_hash) {
            return None;
        }
        let parsed = RecordName::parse(name, is_method)?;
        let kinds = [ValueKind::VTableTarget, ValueKind::IndirectCallTarget];
        let context_sensitive = parsed.is_context_sensitive();
        let receivers = kinds.into_iter().find(|kind| func_hash(name, *kind, context_sensitive) == record.func_hash)?;
        let none = ValueSites::new();
        let others_empty = ValueKind::EACH.iter().filter(|kind| **kind != receivers).all(|k| *record.sites(*k) == none);
        let (counters, sites) = (record.counters, record.sites(receivers).len());
        let fits = match &parsed {
            RecordName::Context { shape, .. } => {
                counters.len() == shape.counters_len()
                    && sites == shape.sites_len()
                    && (shape.calls || counters.first() == Some(0))
            }
            RecordName::Stack(_) => counters.len() == 1 && sites == 0,
            RecordName::Type(_) => counters == [0] && sites == 0,
            RecordName::Monitors => counters == [0] && sites == MONITOR_SITES,
        };
        (fits && others_empty).then_some(Self { id, name: parsed, record, receivers })
    }

    /// Returns the type, if the record only declares a type.
    pub(super) fn type_name(&self) -> Option<&'p [u8]> {
        match &self.name {
            RecordName::Type(name) => Some(name),
            _ => None,
        }
    }

    /// Returns the method, if the record belongs to a method without callers.
    pub(super) fn method_without_callers(&self) -> Option<&'p [u8]> {
        match &self.name {
            RecordName::Context { callers, method, .. } if callers.is_empty() => Some(method),
            _ => None,
        }
    }
}

/// All records of the bridge in a profile, in the order of the profile.
pub(super) fn own_records(profile: &Profile) -> Vec<BridgeRecord<'_>> {
    let mut known: HashMap<&[u8], bool> = HashMap::new();
    let mut is_method = |text| *known.entry(text).or_insert_with(|| MethodIdentity::parse(text).is_some());
    let mut own = Vec::new();
    for function in profile.functions.iter() {
        for id in function.record_ids() {
            let record = profile.functions.record(id);
            own.extend(BridgeRecord::decode(id, function.name(), record, &mut is_method));
        }
    }
    own
}

/// Adds the contents of records to a document, in the order of the records.
///
/// Entries of the same context and site are not added up here.
pub(super) fn add_records<'p>(document: &mut Document, records: &[BridgeRecord<'p>], losses: &mut Losses) {
    if records.is_empty() {
        return;
    }
    let mut builder = Builder { document, methods: HashMap::new(), types: HashMap::new() };
    for record in records {
        builder.declare(&record.name);
    }
    // Collect all type names first: the types of values may be declared after the record.
    builder.index_types();
    for record in records {
        builder.add(record, losses);
    }
}

struct Builder<'d, 'p> {
    document: &'d mut Document,
    methods: HashMap<&'p [u8], MethodHandle>,
    /// Types by the hash of their name in the bridge's notation.
    types: HashMap<u64, TypeHandle>,
}

impl<'p> Builder<'_, 'p> {
    fn declare(&mut self, name: &RecordName<'p>) {
        for frame in name.frames() {
            self.method(frame.method);
        }
        match name {
            RecordName::Context { method, .. } => {
                self.method(method);
            }
            RecordName::Type(text) => {
                let type_name = parse_type(text).expect("RecordName::parse accepts types of the notation only");
                self.document.add_type(&type_name);
            }
            RecordName::Stack(_) | RecordName::Monitors => {}
        }
    }

    fn method(&mut self, text: &'p [u8]) -> MethodHandle {
        let document = &mut *self.document;
        *self.methods.entry(text).or_insert_with(|| {
            let method = MethodIdentity::parse(text).expect("RecordName::parse accepts methods of the notation only");
            add_method(document, &method)
        })
    }

    fn index_types(&mut self) {
        for handle in self.document.tables.types() {
            let mut text = Vec::new();
            push_type(&mut text, self.document.tables.type_name(handle));
            self.types.insert(name_ref(&text), handle);
        }
    }

    fn add(&mut self, own: &BridgeRecord<'p>, losses: &mut Losses) {
        match &own.name {
            RecordName::Context { callers, method, shape } => self.add_context(own, callers, method, shape, losses),
            RecordName::Stack(frames) => {
                let frames: Vec<Frame> = frames.iter().rev().map(|frame| self.frame(*frame)).collect();
                let context = self.document.add_context(&frames);
                let count = clamped(own.record.counters.first().unwrap_or(0), losses);
                self.document.sections.samples.push(CountEntry { context, count });
            }
            RecordName::Monitors => {
                let sites = own.record.sites(own.receivers);
                let pairs: Vec<TypeCount> = sites.iter().flat_map(|site| self.pairs(site, losses)).collect();
                self.document.sections.monitors.push(ContextHandle::ROOT, &pairs);
            }
            RecordName::Type(_) => {}
        }
    }

    fn add_context(
        &mut self,
        own: &BridgeRecord<'p>,
        callers: &[NamedFrame<'p>],
        method: &'p [u8],
        shape: &Shape,
        losses: &mut Losses,
    ) {
        let method = self.method(method);
        let mut frames: Vec<Frame> = vec![Frame { method, bci: 0 }];
        frames.extend(callers.iter().rev().map(|frame| self.frame(*frame)));
        let mut at = |document: &mut Document, bci: i32| {
            frames[0].bci = bci;
            document.add_context(&frames)
        };
        let counters = own.record.counters.to_words();
        let (calls, mut counters) = counters.split_first().map_or((0, &[][..]), |(calls, rest)| (*calls, rest));
        if shape.calls {
            let entry = CountEntry { context: at(self.document, 0), count: clamped(calls, losses) };
            self.document.sections.call_counts.push(entry);
        }
        for (bci, branches) in &shape.conditionals {
            let rows: Vec<BranchRow> = branch_counters(branches, counters)
                .map(|(branch, count)| BranchRow {
                    index: branch.index,
                    bci: branch.bci,
                    count: clamped(count, losses),
                })
                .collect();
            counters = counters.get(branches.len()..).unwrap_or_default();
            let context = at(self.document, *bci);
            self.document.sections.conditionals.push(context, &rows);
        }
        let mut sites = own.record.sites(own.receivers).iter();
        for (bci, site) in shape.virtual_invokes.iter().zip(&mut sites) {
            let pairs = self.pairs(site, losses);
            let context = at(self.document, *bci);
            self.document.sections.virtual_invokes.push(context, &pairs);
        }
        for (bci, site) in shape.instanceofs.iter().zip(&mut sites) {
            let pairs = self.pairs(site, losses);
            let context = at(self.document, *bci);
            self.document.sections.instanceofs.push(context, &pairs);
        }
    }

    fn frame(&mut self, frame: NamedFrame<'p>) -> Frame {
        Frame { method: self.method(frame.method), bci: frame.bci }
    }

    /// Returns the types and counts of a site.
    fn pairs(&mut self, site: &[crate::model::ValueCount], losses: &mut Losses) -> Vec<TypeCount> {
        losses.add(LossKind::FullSites, u64::from(site.len() == MAX_VALUES_PER_SITE));
        let mut pairs = Vec::with_capacity(site.len());
        for value in site {
            let known = self.types.get(&value.value).copied();
            losses.add(LossKind::TargetNames, u64::from(known.is_none()));
            let class = known.unwrap_or_else(|| self.document.add_type(&type_of_hash(value.value)));
            pairs.push(TypeCount { class, count: clamped(value.count, losses) });
        }
        pairs
    }
}

/// Returns the method of an identity. Adds missing types.
pub(super) fn add_method(document: &mut Document, method: &MethodIdentity) -> MethodHandle {
    let mut signature = vec![document.add_type(&method.declaring), document.add_type(&method.returns)];
    signature.extend(method.parameters.iter().map(|name| document.add_type(name)));
    document.add_method(&method.name, &signature)
}

/// Converts a count to the range of iprof.
pub(super) fn clamped(count: u64, losses: &mut Losses) -> u64 {
    losses.add(LossKind::SaturatedCounts, u64::from(count > MAX_COUNT));
    count.min(MAX_COUNT)
}
