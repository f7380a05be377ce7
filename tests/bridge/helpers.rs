//! Steps that all tests of the bridge share.

use profbridge::bridge::{ToIprofOptions, ToLlvmOptions, to_iprof, to_llvm};
use profbridge::instr::{Loss, LossKind, Profile, ProfileKind, ProfileReader, Release};
use profbridge::instr::{MergeOptions, Merger};
use profbridge::iprof::{self, Document};
use profbridge::{Compat, Limits, indexed, text};

/// `J`: LLVM to iprof, with the defaults.
pub fn j(profile: &Profile) -> Document {
    j_with_losses(profile).0
}

pub fn j_with_losses(profile: &Profile) -> (Document, Vec<Loss>) {
    to_iprof(profile, &ToIprofOptions::default()).expect("the defaults make no clash an error")
}

/// `L`: iprof to LLVM, with the defaults.
pub fn l(document: &Document) -> Profile {
    let (profile, losses) = to_llvm(document, &ToLlvmOptions::default()).expect("a document that agrees with itself");
    let unexpected: Vec<&Loss> = losses.iter().filter(|loss| loss.kind != LossKind::SaturatedCounts).collect();
    assert!(unexpected.is_empty(), "{unexpected:?}");
    profile
}

/// The document's canonical form as text.
pub fn canon(document: &Document) -> String {
    text_of(&iprof::canonical(document))
}

/// The document as it is, as text.
pub fn text_of(document: &Document) -> String {
    String::from_utf8(iprof::write(document, &iprof::WriteOptions::default())).expect("the writer writes UTF-8")
}

/// The document without the member `llvm`, as text.
pub fn without_extension(document: &Document) -> String {
    let mut document = document.clone();
    document.remove_member(b"llvm");
    text_of(&document)
}

/// The document that a text is.
pub fn parse(text: &[u8]) -> Document {
    iprof::read(text, &iprof::ReadOptions::default()).expect("a valid document").0
}

/// `⊕` of LLVM profiles by the rules of release 22.
pub fn merge_profiles<'a>(profiles: impl IntoIterator<Item = &'a Profile>) -> Profile {
    let mut options = MergeOptions::default();
    options.keep_vtable_names = true;
    let mut merger = Merger::new(options);
    for profile in profiles {
        merger.add_profile(profile, 1).expect("kinds that can be combined");
    }
    merger.finish()
}

/// The profiles as inputs that can be merged: their counters have the kind of the first profile that has records. A
/// profile without records has no counters whose kind could matter.
pub fn of_one_kind<const N: usize>(profiles: [Profile; N]) -> [Profile; N] {
    let first = profiles.iter().find(|profile| profile.functions.records_len() > 0).unwrap_or(&profiles[0]);
    of_kind(first.kind, profiles)
}

/// The profiles with counters of a kind.
pub fn of_kind<const N: usize>(kind: ProfileKind, profiles: [Profile; N]) -> [Profile; N] {
    let contents = ProfileKind::MEMPROF | ProfileKind::TEMPORAL;
    let kind = kind.without(contents);
    profiles.map(|profile| Profile { kind: kind | profile.kind.intersection(contents), ..profile })
}

/// `⊕` of iprof documents.
pub fn merge_documents<'a>(documents: impl IntoIterator<Item = &'a Document>) -> Document {
    let mut merger = iprof::Merger::new(iprof::MergeOptions::default());
    for document in documents {
        merger.add(document, &iprof::SectionWeights::default()).expect("nothing cancels it");
    }
    merger.finish().expect("documents that can be merged").0
}

/// The indexed file of a profile.
pub fn indexed_bytes(profile: &Profile, version: u32) -> Vec<u8> {
    indexed::write(profile, &indexed::WriteOptions::for_version(version)).expect("a profile that can be written")
}

/// The text file of a profile.
pub fn text_bytes(profile: &Profile) -> Vec<u8> {
    text::write(profile, &text::TextOptions::new(Compat::Profbridge)).bytes
}

/// Reads an LLVM profile of any format that has a reader of its own name.
pub fn read_profile(bytes: &[u8]) -> Profile {
    let mut raw_options = profbridge::raw::RawOptions::new(Compat::Profbridge);
    raw_options.limits = Limits::default();
    let mut reader: Box<dyn ProfileReader + '_> = match profbridge::input::detect(bytes) {
        profbridge::input::Format::Raw { .. } => {
            Box::new(profbridge::raw::RawReader::new(bytes, raw_options).expect("a raw profile"))
        }
        profbridge::input::Format::Indexed => {
            Box::new(indexed::IndexedReader::new(bytes, indexed::ReadOptions::default()).expect("an indexed profile"))
        }
        _ => Box::new(text::TextReader::new(bytes, Compat::Profbridge).expect("a text profile")),
    };
    let mut options = MergeOptions::default();
    options.release = Release::DEFAULT;
    options.keep_vtable_names = true;
    let mut merger = Merger::new(options);
    merger.begin_input(reader.kind()).expect("one input has one kind");
    while let Some(record) = reader.next_record().expect("a whole profile") {
        merger.add_record(record, 1);
    }
    merger.add_binary_ids(reader.binary_ids().expect("whole binary ids"));
    merger.add_traces(reader.temporal());
    merger.add_vtable_names(reader.vtable_names().expect("whole vtable names"));
    reader.memprof().unwrap().into_iter().for_each(|section| {
        merger.add_memprof(section, 1).expect("a sound memory profile");
    });
    merger.finish()
}
