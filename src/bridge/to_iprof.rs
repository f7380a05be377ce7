//! Converts an LLVM profile to an iprof document.

use crate::bridge::decode::{BridgeRecord, add_records, own_records};
use crate::bridge::demangle::method_of_pgo_name;
use crate::bridge::extension;
use crate::bridge::extension::Extension;
use crate::bridge::records::PROFILE_KIND;
use crate::bridge::sections::{
    ForeignOptions, ForeignParts, LLVM_NAME, METHOD_TARGETS, MethodTargets, add_foreign, foreign, is_plain,
};
use crate::digits::{push_decimal, push_signed};
use crate::error::Result;
use crate::iprof::{
    BranchClash, Document, Mapping, MergeOptions, Merger, MethodHandle, Table, Tables, WriteOptions, Writer, sorted,
    write_string,
};
use crate::model::{FunctionTable, Loss, LossKind, Losses, Profile, ProfileKind, RecordId, TemporalProfile, ValueKind};
use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Write};

/// Options of the conversion from an LLVM profile to an iprof document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToIprofOptions {
    /// Whether to store LLVM's own records unchanged in the member `llvm`. Default: `true`. Without it the reverse
    /// conversion returns another profile.
    pub extension: bool,
    /// Whether to also write LLVM's further counters, as one conditional per function. Default: `false`, because they
    /// are not branches.
    pub counters_as_branches: bool,
    /// The treatment of branch lists of one site that contradict each other.
    pub branch_clash: BranchClash,
}

impl Default for ToIprofOptions {
    fn default() -> Self {
        Self { extension: true, counters_as_branches: false, branch_clash: BranchClash::default() }
    }
}

/// Converts a profile to an iprof document, and returns the losses.
///
/// The document is in canonical form. Records of the bridge become their original entries. LLVM's own records are
/// stored in the member `llvm`, and in the standard sections as far as these can represent them.
///
/// # Errors
///
/// Contradicting branch lists, if the options make them an error.
pub fn to_iprof(profile: &Profile, options: &ToIprofOptions) -> Result<(Document, Vec<Loss>)> {
    let ConvertedProfile { mut document, extension, losses } = ConvertedProfile::new(profile, options)?;
    if !extension.is_empty() {
        document.set_compact_member(extension::MEMBER, extension.to_bytes());
    }
    Ok((document, losses))
}

/// A profile as an iprof document. The document does not contain the member `llvm`, which is most of a file: its text is
/// made when the file is written.
#[derive(Debug)]
pub(crate) struct ConvertedProfile<'p> {
    /// The other members.
    pub document: Document,
    extension: Extension<'p>,
    /// The data that iprof cannot store.
    pub losses: Vec<Loss>,
}

impl<'p> ConvertedProfile<'p> {
    /// Converts a profile.
    ///
    /// # Errors
    ///
    /// The errors of [`to_iprof`].
    pub fn new(profile: &'p Profile, options: &ToIprofOptions) -> Result<Self> {
        let mut losses = Losses::new();
        let own = own_records(profile);
        let (mut document, parts) = sections(profile, &own, options, &mut losses)?;
        let foreign_profile = foreign_part(profile, &own);
        let mut extension = Extension { approximate: parts.approximate.clone(), ..Extension::default() };
        attach(&mut document, &parts);
        match foreign_profile {
            Some(foreign) if options.extension => {
                extension.profile = Some(foreign);
                // Records of the bridge add their own entries.
                extension.checksum = own.is_empty().then(|| checksum(&document));
            }
            Some(foreign) => {
                losses.add(LossKind::SaturatedCounts, parts.clamped);
                extension_losses(&foreign, options, &mut losses);
            }
            None => {}
        }
        Ok(Self { document, extension, losses: losses.into_vec() })
    }

    /// Returns true if the member `llvm` has records.
    pub fn carries_records(&self) -> bool {
        self.extension.carries_records()
    }

    /// Writes the file.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub fn write(&self, options: &WriteOptions, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let writer = Writer::new(options);
        if self.extension.is_empty() {
            return writer.write(&self.document, out);
        }
        let value = |threads: usize, out: &mut (dyn Write + Send)| self.extension.write_to(threads, out);
        writer.write_with_member(&self.document, extension::MEMBER, &value, out)
    }
}

/// Returns a checksum of the data of a document without its extension, in the order of the file.
pub(super) fn checksum(document: &Document) -> u64 {
    Writer::default().checksum_without(document, extension::MEMBER)
}

/// Creates the document of all records, without the members that the format does not define.
pub(super) fn sections(
    profile: &Profile,
    own: &[BridgeRecord<'_>],
    options: &ToIprofOptions,
    losses: &mut Losses,
) -> Result<(Document, ForeignParts)> {
    let mut document = Document::new();
    let own_ids: HashSet<RecordId> = own.iter().map(|record| record.id).collect();
    let foreign_options = ForeignOptions { counters_as_branches: options.counters_as_branches };
    let parts = add_foreign(&mut document, profile, &own_ids, foreign_options);
    add_records(&mut document, own, losses);
    let (document, moved) = resolve_branches(document, options.branch_clash, losses)?;
    Ok((document, parts.moved(&moved.types, &moved.methods)))
}

/// Returns the part of a profile that the extension stores: LLVM's own records; `None` if there are none.
///
/// The extension also stores a record of the bridge if LLVM's own records have the same context: the standard sections
/// then contain the sum, which cannot be separated again.
fn foreign_part<'p>(profile: &'p Profile, own: &[BridgeRecord<'_>]) -> Option<Cow<'p, Profile>> {
    if own.is_empty() {
        return (!is_plain_rest(profile, own)).then_some(Cow::Borrowed(profile));
    }
    let own_ids: HashSet<RecordId> = own.iter().map(|record| record.id).collect();
    let methods: HashSet<Vec<u8>> =
        foreign(profile, &own_ids).map(|function| method_of_pgo_name(function.name()).identity.notation()).collect();
    let shared =
        |record: &&BridgeRecord<'_>| record.method_without_callers().is_some_and(|name| methods.contains(name));
    let shared: HashSet<RecordId> = own.iter().filter(shared).map(|record| record.id).collect();
    let mut kept = without_records(profile, &|id| own_ids.contains(&id) && !shared.contains(&id));
    // Text has no vtable sites: it stores receivers as indirect-call targets, which readers cannot distinguish from
    // other targets.
    let types: HashSet<&[u8]> = own.iter().filter_map(BridgeRecord::type_name).collect();
    kept.vtable_names.retain(|name| !types.contains(name.as_slice()));
    (!is_plain_rest(&kept, own)).then_some(Cow::Owned(kept))
}

/// Returns true if a profile has nothing to store, except its records of the bridge.
fn is_plain_rest(kept: &Profile, own: &[BridgeRecord<'_>]) -> bool {
    // Old versions cannot store all bits of the kind.
    let usual_kind = kept.kind == PROFILE_KIND || (!own.is_empty() && PROFILE_KIND.contains(kept.kind));
    usual_kind
        && kept.functions.is_empty()
        && kept.binary_ids.is_empty()
        && kept.temporal == TemporalProfile::default()
        && kept.vtable_names.is_empty()
        && kept.memprof.is_none()
}

/// Returns a copy without some records, and without functions that have no other records.
pub(super) fn without_records(profile: &Profile, drops: &dyn Fn(RecordId) -> bool) -> Profile {
    let mut functions = FunctionTable::new();
    for function in profile.functions.iter() {
        let mut kept = function.record_ids().filter(|id| !drops(*id)).peekable();
        if kept.peek().is_none() && function.record_ids().next().is_some() {
            continue;
        }
        let id = functions.intern_hashed(function.name(), function.name_ref());
        kept.for_each(|record| {
            functions.push_record(id, profile.functions.record(record));
        });
    }
    Profile {
        kind: profile.kind,
        functions,
        binary_ids: profile.binary_ids.clone(),
        temporal: profile.temporal.clone(),
        vtable_names: profile.vtable_names.clone(),
        memprof: profile.memprof.clone(),
    }
}

/// Adds the data of LLVM's own records that does not belong to a standard section.
fn attach(document: &mut Document, parts: &ForeignParts) {
    let types = parts.llvm_types.iter().map(|(class, name)| (Table::Types, class.index(), name));
    let methods = parts.llvm_methods.iter().map(|(method, name)| (Table::Methods, method.index(), name));
    let mut text = Vec::new();
    for (table, at, name) in types.chain(methods) {
        text.clear();
        write_string(&mut text, name);
        document.set_entry_member(table, at, LLVM_NAME, &text);
    }
    if !parts.method_targets.is_empty() {
        document.set_compact_member(METHOD_TARGETS, method_targets_json(&document.tables, &parts.method_targets));
    }
}

/// Returns the section of method targets. Its entries and pairs are ordered by id, as the methods are.
fn method_targets_json(tables: &Tables, targets: &MethodTargets<MethodHandle>) -> Vec<u8> {
    let push_id = |text: &mut Vec<u8>, method: MethodHandle| push_decimal(text, tables.method_id(method).into());
    let mut text = b"[".to_vec();
    for (at, ((method, bci), counts)) in targets.iter().enumerate() {
        text.extend_from_slice(if at > 0 { b",{\"ctx\":\"" } else { b"{\"ctx\":\"" });
        push_id(&mut text, *method);
        text.push(b':');
        push_signed(&mut text, (*bci).into());
        text.extend_from_slice(b"\",\"records\":[");
        for (at, (target, count)) in counts.iter().enumerate() {
            text.extend_from_slice(if at > 0 { b"," } else { b"" });
            push_id(&mut text, *target);
            text.push(b',');
            push_decimal(&mut text, *count);
        }
        text.extend_from_slice(b"]}");
    }
    text.push(b']');
    text
}

/// Counts the losses of a conversion without the extension.
fn extension_losses(foreign: &Profile, options: &ToIprofOptions, losses: &mut Losses) {
    for record in foreign.functions.iter().flat_map(|function| function.records()) {
        let plain = is_plain(record, foreign.kind);
        losses.add(LossKind::FuncHashes, 1);
        losses.add(LossKind::BitmapBytes, record.bitmap.len() as u64);
        let known = if record.uniformity.is_empty() { 0 } else { record.counters.len() as u64 };
        losses.add(LossKind::UniformityBits, known);
        losses.add(LossKind::ValueSites, record.sites(ValueKind::MemOpSize).len() as u64);
        losses.add(LossKind::PseudoCounts, u64::from(record.pseudo_count().is_some()));
        if plain && !options.counters_as_branches {
            losses.add(LossKind::FurtherCounters, record.counters.len().saturating_sub(1) as u64);
        }
        if !plain && record.pseudo_count().is_none() {
            losses.add(LossKind::ContextSensitiveRecords, 1);
        }
    }
    losses.add(LossKind::ProfileKinds, u64::from(foreign.kind != ProfileKind::NONE));
    losses.add(LossKind::BinaryIds, foreign.binary_ids.len() as u64);
    losses.add(LossKind::TemporalTraces, foreign.temporal.traces.len() as u64);
    losses.add(LossKind::VTableNames, foreign.vtable_names.len() as u64);
    losses.add(LossKind::MemProf, u64::from(foreign.memprof.is_some()));
}

/// Returns the canonical form of a document whose contexts may repeat, and the places of its types and methods there. The
/// document declares each of them once.
///
/// # Errors
///
/// Contradicting branch lists, if the options make them an error.
pub(super) fn resolve_branches(
    document: Document,
    branch_clash: BranchClash,
    losses: &mut Losses,
) -> Result<(Document, Mapping)> {
    let mut merger = Merger::new(MergeOptions::resolving(branch_clash));
    merger.add_owned(document)?;
    let (resolved, report) = merger.finish_with_report()?;
    losses.add(LossKind::SaturatedCounts, report.saturated.iter().map(|(_, count)| count).sum());
    if branch_clash != BranchClash::Keep {
        losses.add(LossKind::BranchClashes, report.clashed_lists);
    }
    Ok(sorted(&resolved))
}
