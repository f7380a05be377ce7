//! Written profiles read back equal, and writing them again gives the same bytes.

use super::profiles::{ByteSource, all_encodings, content, read_back, without_uniform_counts};
use profbridge::indexed::{self, IndexedReader};
use profbridge::instr::{Profile, ValueKind};
use profbridge::raw::{self, RawOptions, RawReader};
use profbridge::text::{self, TextOptions, TextReader};
use profbridge::{Compat, Limits};

/// Raw profiles in every version, width and byte order.
pub fn raw(data: &[u8]) {
    let mut feed = ByteSource::new(data);
    let encodings: Vec<_> = all_encodings().collect();
    let encoding = encodings[feed.below(encodings.len())];
    let profile = feed.profile();
    let options = raw::WriteOptions::new(encoding);
    let (Ok(losses), Ok(bytes)) = (raw::losses(&profile, &options), raw::write(&profile, &options)) else { return };
    let mut reader = RawReader::new(&bytes, RawOptions::new(Compat::Profbridge)).expect("what was written can be read");
    let found = read_back(&mut reader);
    if losses.is_empty() {
        assert_eq!(content(&found, by_name), content(&profile, by_name), "{encoding:?}");
        // Dropped data leaves gaps that the second output closes, for example between the times of a trace that names a
        // function twice.
        assert_eq!(raw::write(&found, &options).expect("it was written before"), bytes, "{encoding:?}");
    }
}

/// Indexed profiles in every version.
pub fn indexed(data: &[u8]) {
    let mut feed = ByteSource::new(data);
    let version = 1 + feed.below(indexed::NEWEST_VERSION as usize) as u32;
    let profile = without_uniform_counts(&feed.profile());
    let options = indexed::WriteOptions::for_version(version);
    let losses = indexed::losses(&profile, &options);
    let bytes = indexed::write(&profile, &options).expect("every version can be written");
    let read = indexed::ReadOptions::new(Limits::default(), Compat::Profbridge);
    let found = read_back(&mut IndexedReader::new(&bytes, read).expect("what was written can be read"));
    if losses.is_empty() {
        assert_eq!(content(&found, by_name), content(&profile, by_name), "version {version}");
    }
    let view = indexed::IndexedProfile::read(&bytes, read).expect("what was written can be read");
    for function in profile.functions.iter().filter(|_| losses.is_empty()) {
        assert!(view.get(function.name()).expect("the index is sound").is_some(), "every name can be looked up");
    }
}

/// Text. Names that it cannot store are changed.
pub fn text(data: &[u8]) {
    let mut feed = ByteSource::new(data);
    let mut profile = without_uniform_counts(&feed.profile());
    // Text names vtables where they occur and does not list them.
    profile.vtable_names.clear();
    let options = TextOptions::new(Compat::Profbridge);
    let losses = text::losses(&profile, &options);
    let written = text::write(&profile, &options);
    assert!(written.stopped.is_none());
    let found = read_text(&written.bytes);
    if losses.is_empty() {
        assert_eq!(content(&found, by_name), content(&profile, by_name));
    }
    let again = text::write(&found, &options).bytes;
    assert_eq!(text::write(&read_text(&again), &options).bytes, again);
}

fn read_text(bytes: &[u8]) -> Profile {
    read_back(&mut TextReader::new(bytes, Compat::Profbridge).expect("what was written can be read"))
}

fn by_name(_: ValueKind, value: u64) -> u64 {
    value
}
