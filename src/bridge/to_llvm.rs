//! iprof → LLVM.

use super::consistency::{Ownership, Trust};
use super::content::gather;
use super::extension;
use super::records::{NamedRecord, PROFILE_KIND, RecordForm, RecordMaker};
use super::sections::{LLVM_NAME, METHOD_TARGETS};
use super::spelling::EncodedNames;
use crate::error::{Error, Result};
use crate::iprof::document::EntryMember;
use crate::iprof::{ContextHandle, Document, SectionKind};
use crate::model::{Loss, LossKind, Losses, Profile};
use std::collections::HashSet;

/// How an iprof document becomes an LLVM profile.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToLlvmOptions {
    /// Which sections cross. Default: all. LLVM's `overlap` adds counts and
    /// samples to one figure, so files for it hold one or the other.
    pub sections: Vec<SectionKind>,
    /// Whether the member `llvm` or the standard sections are right when they
    /// contradict each other. Default: neither, that is an error.
    pub trust: Option<Trust>,
    /// The indexed version that the profile is meant for. Default: 12, which
    /// LLVM 19 and later read. Before 12 receivers are indirect-call targets,
    /// before 11 there is no bitmap, and `-sparse` drops what is all zero.
    pub indexed_version: u32,
}

impl Default for ToLlvmOptions {
    fn default() -> Self {
        Self { sections: SectionKind::ALL.to_vec(), trust: None, indexed_version: 12 }
    }
}

/// Converts a document to an LLVM profile, and returns the losses.
///
/// # Errors
///
/// Malformed if the member `llvm` cannot be read or contradicts the standard sections (see [`ToLlvmOptions::trust`]),
/// or if an entry has a position that its section does not allow.
pub fn to_llvm(document: &Document, options: &ToLlvmOptions) -> Result<(Profile, Vec<Loss>)> {
    let mut losses = Losses::new();
    let ownership = Ownership::of(document, options.trust)?;
    unknown_members(document, &ownership, &mut losses);
    let form = RecordForm::for_indexed_version(options.indexed_version);
    let wanted = |section, context| options.sections.contains(&section) && !ownership.owns(document, section, context);
    let records = document_records(document, &ownership, form, &wanted, &mut losses)?;
    let mut profile = ownership.into_profile().unwrap_or_else(|| Profile { kind: PROFILE_KIND, ..Profile::default() });
    add_records(&mut profile, records)?;
    Ok((profile, losses.into_vec()))
}

/// The records for what `wanted` lets through, ordered by name.
pub(super) fn document_records(
    document: &Document,
    ownership: &Ownership,
    form: RecordForm,
    wanted: &dyn Fn(SectionKind, ContextHandle) -> bool,
    losses: &mut Losses,
) -> Result<Vec<NamedRecord>> {
    let tables = &document.tables;
    let spelling = EncodedNames::of(tables);
    let mut content = gather(document, &spelling, wanted)?;
    let mut maker = RecordMaker::new(form, losses);
    let value_types = std::mem::take(&mut content.value_types);
    let mut done: HashSet<&[u8]> = content.named_methods.iter().map(|handle| spelling.method(*handle)).collect();
    maker.content(content);
    for handle in tables.methods() {
        let name = spelling.method(handle);
        if !ownership.derives_method(name) && done.insert(name) {
            maker.method(name);
        }
    }
    let in_signatures: HashSet<&[u8]> =
        tables.methods().flat_map(|method| tables.signature(method)).map(|part| tables.type_name(*part)).collect();
    let mut done: HashSet<&[u8]> = HashSet::new();
    for handle in tables.types() {
        let name = tables.type_name(handle);
        let needed = value_types.contains(&spelling.type_hash(handle))
            || !(in_signatures.contains(name) || ownership.derives_type(name));
        if needed && done.insert(name) {
            maker.type_name(spelling.type_name(handle));
        }
    }
    Ok(maker.finish())
}

/// Adds records that the profile must not have.
pub(super) fn add_records(profile: &mut Profile, records: Vec<NamedRecord>) -> Result<()> {
    for (name, record) in records {
        let id = profile.functions.intern(&name);
        if profile.functions.find_record(id, record.func_hash).is_some() {
            let detail = format!("the extension repeats the sections' data of {}", name.escape_ascii());
            return Err(Error::malformed(detail).in_section("llvm").in_format("iprof"));
        }
        profile.functions.push_record(id, &record);
    }
    Ok(())
}

/// Counts what the format does not know.
pub(super) fn unknown_members(document: &Document, ownership: &Ownership, losses: &mut Losses) {
    let unknown = document
        .members()
        .filter(|(name, _)| *name != extension::MEMBER && !(ownership.has_profile() && *name == METHOD_TARGETS));
    losses.add(LossKind::UnknownSections, unknown.count() as u64);
    let names = document.extras.values().flat_map(|members| members.iter()).filter_map(|member| match member {
        EntryMember::Other(name, _) => Some(&**name),
        EntryMember::Known(_) => None,
    });
    let unknown = names.filter(|name| !(ownership.has_profile() && *name == LLVM_NAME));
    losses.add(LossKind::UnknownMembers, unknown.count() as u64);
}
