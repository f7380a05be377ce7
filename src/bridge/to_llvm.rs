//! Converts an iprof document to LLVM, either as one profile or, for a merge, split into LLVM's records and the rest.
//! LLVM's records merge as in LLVM and the rest as in iprof; joining the parts creates the standard sections again.

use crate::bridge::consistency::{Ownership, Trust};
use crate::bridge::decode::{add_records as add_to_document, own_records};
use crate::bridge::extension;
use crate::bridge::names::EncodedNames;
use crate::bridge::records::{PROFILE_KIND, RecordForm, RecordMaker, gather};
use crate::bridge::sections::{LLVM_NAME, METHOD_TARGETS};
use crate::bridge::to_iprof::{ToIprofOptions, to_iprof, without_records};
use crate::error::Result;
use crate::iprof::document::EntryMember;
use crate::iprof::{ContextHandle, Document, SectionKind};
use crate::model::{Loss, LossKind, Losses, Profile, RecordId};
use std::collections::HashSet;

/// Options of the conversion from an iprof document to an LLVM profile.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToLlvmOptions {
    /// The sections to convert. Default: all. LLVM's `overlap` adds counts and samples to one number, so write them to
    /// separate files before a comparison.
    pub sections: Vec<SectionKind>,
    /// The trusted side if the member `llvm` and the standard sections contradict each other. Default: neither, which
    /// makes it an error.
    pub trust: Option<Trust>,
    /// The indexed version of the output. Default: 12, which LLVM 19 and later read. Below 12, receivers become
    /// indirect-call targets. Below 11 there are no bitmaps, so `-sparse` drops records whose counts are all 0.
    pub indexed_version: u32,
}

impl Default for ToLlvmOptions {
    fn default() -> Self {
        Self { sections: SectionKind::EACH.to_vec(), trust: None, indexed_version: 12 }
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
    let mut ownership = Ownership::of(document, options.trust)?;
    unknown_members(document, &ownership, &mut losses);
    let mut profile = ownership.take_profile().unwrap_or_else(|| Profile { kind: PROFILE_KIND, ..Profile::default() });
    let form = RecordForm::for_indexed_version(options.indexed_version);
    let wanted = |section, context| options.sections.contains(&section) && !ownership.owns(document, section, context);
    add_document(&mut profile, document, &ownership, form, &wanted, &mut losses)?;
    Ok((profile, losses.into_vec()))
}

/// Adds the records for the sections that `wanted` selects, in the order of their names.
///
/// # Errors
///
/// Malformed if the profile has one of the records, or if an entry has a position that its section does not allow.
fn add_document(
    profile: &mut Profile,
    document: &Document,
    ownership: &Ownership,
    form: RecordForm,
    wanted: &dyn Fn(SectionKind, ContextHandle) -> bool,
    losses: &mut Losses,
) -> Result<()> {
    if ownership.is_whole() {
        return Ok(());
    }
    let tables = &document.tables;
    let spelling = EncodedNames::of(tables);
    let content = gather(document, &spelling, wanted)?;
    let mut maker = RecordMaker::new(form, losses);
    let mut done: HashSet<&[u8]> = content.named_methods().map(|handle| spelling.method(handle)).collect();
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
        let needed = content.has_value(spelling.type_hash(handle))
            || !(in_signatures.contains(name) || ownership.derives_type(name));
        if needed && done.insert(name) {
            maker.type_name(spelling.type_name(handle));
        }
    }
    maker.finish(&content, &mut profile.functions)
}

/// Counts the data that the format cannot store.
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

/// A document in two parts.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The counts that LLVM's records do not explain, in no particular order.
    pub rest: Document,
    /// LLVM's own part; an empty profile of the bridge's kind if the document has none.
    pub profile: Profile,
}

/// Splits a document. Returns the parts and the losses.
///
/// # Errors
///
/// As for [`to_llvm`](crate::bridge::to_llvm()).
pub fn split(document: &Document, trust: Option<Trust>) -> Result<(Parts, Vec<Loss>)> {
    let mut losses = Losses::new();
    let mut ownership = Ownership::of(document, trust)?;
    unknown_members(document, &ownership, &mut losses);
    let rest_of = |section, context| !ownership.owns(document, section, context);
    let mut own = Profile { kind: PROFILE_KIND, ..Profile::default() };
    add_document(&mut own, document, &ownership, RecordForm::in_memory(), &rest_of, &mut losses)?;
    let mut rest = Document::new();
    rest.version = document.version;
    add_to_document(&mut rest, &own_records(&own), &mut losses);
    let Some(profile) = ownership.take_profile() else {
        let profile = Profile { kind: PROFILE_KIND, ..Profile::default() };
        return Ok((Parts { rest, profile }, losses.into_vec()));
    };
    // The extension contains records of the bridge only so that sums can be separated; remove them.
    let profile = move_own_records(profile, &mut rest, &mut losses);
    Ok((Parts { rest, profile }, losses.into_vec()))
}

/// Joins two parts to an iprof document. Returns it and the losses.
///
/// # Errors
///
/// As for [`to_iprof`].
pub fn join(parts: Parts, options: &ToIprofOptions) -> Result<(Document, Vec<Loss>)> {
    let mut losses = Losses::new();
    let Parts { mut rest, profile } = parts;
    // The profile may also have records of the bridge. Each must occur only once.
    let mut profile = move_own_records(profile, &mut rest, &mut losses);
    let all = |_, _| true;
    add_document(&mut profile, &rest, &Ownership::none(), RecordForm::in_memory(), &all, &mut losses)?;
    let (document, more) = to_iprof(&profile, options)?;
    more.iter().for_each(|loss| losses.add(loss.kind, loss.count));
    Ok((document, losses.into_vec()))
}

/// Moves the counts of the bridge's records from a profile to a document.
fn move_own_records(profile: Profile, rest: &mut Document, losses: &mut Losses) -> Profile {
    let own = own_records(&profile);
    if own.is_empty() {
        return profile;
    }
    add_to_document(rest, &own, losses);
    let ids: HashSet<RecordId> = own.iter().map(|record| record.id).collect();
    without_records(&profile, &|id| ids.contains(&id))
}
