//! Functions that all tests of the bridge share.

use profbridge::bridge::{ToIprofOptions, ToLlvmOptions, to_iprof, to_llvm};
use profbridge::instr::{Loss, LossKind, Profile, ProfileKind, ProfileReader, Release};
use profbridge::instr::{MergeOptions, Merger};
use profbridge::iprof::{self, Document};
use profbridge::{Compat, Limits, indexed, text};

/// `J` converts LLVM to iprof, with the default options.
pub fn j(profile: &Profile) -> Document {
    j_with_losses(profile).0
}

pub fn j_with_losses(profile: &Profile) -> (Document, Vec<Loss>) {
    to_iprof(profile, &ToIprofOptions::default()).expect("the defaults make no clash an error")
}

/// `L` converts iprof to LLVM, with the default options.
pub fn l(document: &Document) -> Profile {
    let (profile, losses) = to_llvm(document, &ToLlvmOptions::default()).expect("a document that agrees with itself");
    let unexpected: Vec<&Loss> = losses.iter().filter(|loss| loss.kind != LossKind::SaturatedCounts).collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
    profile
}

/// Returns the document's canonical form as text.
pub fn canon(document: &Document) -> String {
    text_of(&iprof::canonical(document))
}

/// Returns the document as text.
pub fn text_of(document: &Document) -> String {
    String::from_utf8(iprof::Writer::new(&iprof::WriteOptions::default()).to_bytes(document))
        .expect("the writer writes UTF-8")
}

/// Returns the document without the member `llvm`, as text.
pub fn without_extension(document: &Document) -> String {
    let mut document = document.clone();
    document.remove_member(b"llvm");
    text_of(&document)
}

/// Parses a document.
pub fn parse(text: &[u8]) -> Document {
    iprof::Reader::from_bytes(text, &iprof::ReadOptions::default()).read().expect("a valid document").0
}

/// `⊕` of LLVM profiles, with the rules of LLVM 22.
pub fn merge_profiles<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> Profile {
    let mut options = MergeOptions::default();
    options.keep_vtable_names = true;
    let mut merger = Merger::new(options);
    for profile in profiles {
        merger.add(profile, 1).expect("kinds that can be combined");
    }
    merger.into_profile()
}

/// Gives the profiles counters of one kind, so that they can be merged: the kind of the first profile with records.
/// Without records, the kind does not matter.
pub fn of_one_kind<const N: usize>(profiles: [Profile; N]) -> [Profile; N] {
    let first = profiles.iter().find(|profile| profile.functions.records_len() > 0).unwrap_or(&profiles[0]);
    of_kind(first.kind, profiles)
}

/// Gives the profiles counters of a kind.
pub fn of_kind<const N: usize>(kind: ProfileKind, profiles: [Profile; N]) -> [Profile; N] {
    let contents = ProfileKind::MEMPROF | ProfileKind::TEMPORAL;
    let kind = kind.without(contents);
    profiles.map(|profile| Profile { kind: kind | profile.kind.intersection(contents), ..profile })
}

/// `⊕` of iprof documents.
pub fn merge_documents<'a>(documents: impl IntoIterator<Item = &'a Document>) -> Document {
    let mut merger = iprof::Merger::new(iprof::MergeOptions::default());
    for document in documents {
        merger.add(document, 1).expect("nothing cancels it");
    }
    merger.finish().expect("documents that can be merged").value
}

/// Returns the indexed file of a profile.
pub fn indexed_bytes(profile: &Profile, version: u32) -> Vec<u8> {
    indexed::write(profile, &indexed::WriteOptions::for_version(version)).expect("a profile that can be written")
}

/// Returns the text file of a profile.
pub fn text_bytes(profile: &Profile) -> Vec<u8> {
    text::write(profile, &text::TextOptions::new(Compat::Profbridge)).bytes
}

/// Reads an LLVM profile of any instrumentation format that must be sound.
pub fn read_profile(bytes: &[u8]) -> Profile {
    try_read_profile(bytes).expect("a sound profile")
}

/// Reads an LLVM profile of any instrumentation format.
pub fn try_read_profile(bytes: &[u8]) -> profbridge::Result<Profile> {
    let mut raw_options = profbridge::raw::RawOptions::new(Compat::Profbridge);
    raw_options.limits = Limits::default();
    let mut reader: Box<dyn ProfileReader + '_> = match profbridge::input::detect(bytes) {
        profbridge::input::Format::Raw { .. } => Box::new(profbridge::raw::RawReader::new(bytes, raw_options)?),
        profbridge::input::Format::Indexed => {
            Box::new(indexed::IndexedReader::new(bytes, indexed::ReadOptions::default())?)
        }
        _ => Box::new(text::TextReader::new(bytes, Compat::Profbridge)?),
    };
    let mut options = MergeOptions::default();
    options.release = Release::DEFAULT;
    options.keep_vtable_names = true;
    let mut merger = Merger::new(options);
    merger.begin_input(reader.kind())?;
    while let Some(record) = reader.next_record()? {
        merger.add_record(record, 1);
    }
    merger.add_binary_ids(reader.binary_ids()?);
    merger.add_traces(reader.temporal());
    merger.add_vtable_names(reader.vtable_names()?);
    if let Some(section) = reader.memprof()? {
        merger.add_memprof(section, 1)?;
    }
    Ok(merger.into_profile())
}
