//! Conversions between LLVM and iprof, and back.

use super::profiles::{ByteSource, content};
use profbridge::bridge::{ToIprofOptions, ToLlvmOptions, to_iprof, to_llvm};
use profbridge::instr::{MergeOptions, Merger};
use profbridge::instr::{Profile, RecordRef};
use profbridge::iprof::{self, ReadOptions, WriteOptions};

/// An LLVM profile survives the conversion to iprof and back, and a converted document survives further conversions.
///
/// The bytes are a document if they parse as one. Otherwise they determine a random profile.
pub fn laws(data: &[u8]) {
    if data.trim_ascii_start().first() == Some(&b'{') {
        document(data);
    } else {
        profile(data);
    }
}

fn document(data: &[u8]) {
    let Ok((document, _)) = iprof::Reader::from_bytes(data, &ReadOptions::default()).read() else { return };
    let Ok((profile, _)) = to_llvm(&document, &ToLlvmOptions::default()) else { return };
    let Ok((once, _)) = to_iprof(&profile, &ToIprofOptions::default()) else { return };
    let text = text_of(&once);
    let (read, _) = iprof::Reader::from_bytes(&text, &ReadOptions::default())
        .read()
        .expect("what crossed over is a sound document");
    let (again, _) = to_llvm(&read, &ToLlvmOptions::default()).expect("what came over goes back");
    let (twice, _) = to_iprof(&again, &ToIprofOptions::default()).expect("what came over once comes over again");
    assert_eq!(text_of(&twice).escape_ascii().to_string(), text.escape_ascii().to_string());
}

fn profile(data: &[u8]) {
    let profile = settled(&ByteSource::new(data).profile());
    let Ok((document, losses)) = to_iprof(&profile, &ToIprofOptions::default()) else { return };
    let text = text_of(&document);
    let (read, _) = iprof::Reader::from_bytes(&text, &ReadOptions::default())
        .read()
        .expect("what crossed over is a sound document");
    let (back, _) = to_llvm(&read, &ToLlvmOptions::default()).expect("what came over goes back");
    if losses.is_empty() {
        assert_eq!(content(&back, |_, value| value), content(&profile, |_, value| value));
    }
}

/// Returns the profile after a merge without other inputs.
fn settled(profile: &Profile) -> Profile {
    let mut options = MergeOptions::default();
    options.keep_vtable_names = true;
    let mut merger = Merger::new(options);
    merger.begin_input(profile.kind).expect("a first input conflicts with nothing");
    for function in profile.functions.iter() {
        for record in function.records() {
            merger.add_record(RecordRef { name: function.name(), name_ref: None, text: None, record }, 1);
        }
    }
    merger.add_binary_ids(profile.binary_ids.iter().cloned());
    merger.add_traces(profile.temporal.clone());
    merger.add_vtable_names(profile.vtable_names.iter().cloned());
    merger.into_profile()
}

fn text_of(document: &iprof::Document) -> Vec<u8> {
    iprof::Writer::new(&WriteOptions::default()).to_bytes(document)
}
