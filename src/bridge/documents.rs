//! Documents that carry an LLVM profile, taken apart for merging and joined again.
//!
//! LLVM's records are merged like LLVM profiles, the rest like iprof files. Then the standard sections of LLVM's
//! records are written again.

use super::consistency::{Ownership, Trust};
use super::decode::{add_records as add_to_document, own_records};
use super::extension::{self, Extension};
use super::records::PROFILE_KIND;
use super::records::RecordForm;
use super::to_iprof::{ToIprofOptions, to_iprof, without_records};
use super::to_llvm::{add_records, document_records, unknown_members};
use crate::error::Result;
use crate::iprof::Document;
use crate::model::{Loss, Losses, Profile, RecordId};
use std::collections::HashSet;

/// A document in two parts.
#[derive(Debug, Clone)]
pub struct Parts {
    /// The entries that LLVM's records do not explain, in any order.
    pub rest: Document,
    /// LLVM's own part; for a document without any, an empty profile of the
    /// kind that the bridge makes.
    pub profile: Profile,
}

/// Whether a document carries an LLVM profile.
///
/// # Errors
///
/// Malformed when the member `llvm` cannot be read.
pub fn carries_profile(document: &Document) -> Result<bool> {
    let extension = document.member(extension::MEMBER).map(Extension::read).transpose()?;
    Ok(extension.is_some_and(|extension| extension.profile.is_some()))
}

/// Takes a document apart, and says what neither part can hold.
///
/// # Errors
///
/// As for [`to_llvm`](super::to_llvm()).
pub fn split(document: &Document, trust: Option<Trust>) -> Result<(Parts, Vec<Loss>)> {
    let mut losses = Losses::new();
    let ownership = Ownership::of(document, trust)?;
    unknown_members(document, &ownership, &mut losses);
    let rest_of = |section, context| !ownership.owns(document, section, context);
    let records = document_records(document, &ownership, RecordForm::in_memory(), &rest_of, &mut losses)?;
    let mut own = Profile { kind: PROFILE_KIND, ..Profile::default() };
    add_records(&mut own, records)?;
    let mut rest = Document::new();
    rest.version = document.version;
    add_to_document(&mut rest, &own_records(&own), &mut losses);
    let Some(profile) = ownership.into_profile() else {
        let profile = Profile { kind: PROFILE_KIND, ..Profile::default() };
        return Ok((Parts { rest, profile }, losses.into_vec()));
    };
    // The extension contains records of the bridge only to distinguish sums.
    let profile = move_own_records(profile, &mut rest, &mut losses);
    Ok((Parts { rest, profile }, losses.into_vec()))
}

/// Puts two parts together as an iprof document, and says what could not cross.
///
/// # Errors
///
/// As for [`to_iprof`].
pub fn join(parts: Parts, options: &ToIprofOptions) -> Result<(Document, Vec<Loss>)> {
    let mut losses = Losses::new();
    let Parts { mut rest, profile } = parts;
    // The profile may also have records of the bridge: each must occur once.
    let mut profile = move_own_records(profile, &mut rest, &mut losses);
    let all = |_, _| true;
    let records = document_records(&rest, &Ownership::none(), RecordForm::in_memory(), &all, &mut losses)?;
    add_records(&mut profile, records)?;
    let (document, more) = to_iprof(&profile, options)?;
    more.iter().for_each(|loss| losses.add(loss.kind, loss.count));
    Ok((document, losses.into_vec()))
}

/// Moves what the bridge's records count from a profile to a document.
fn move_own_records(profile: Profile, rest: &mut Document, losses: &mut Losses) -> Profile {
    let own = own_records(&profile);
    if own.is_empty() {
        return profile;
    }
    add_to_document(rest, &own, losses);
    let ids: HashSet<RecordId> = own.iter().map(|record| record.id).collect();
    without_records(&profile, &|id| ids.contains(&id))
}
