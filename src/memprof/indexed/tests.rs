//! Tests with sections built and damaged word by word. `tests/memprof` reads files of the real tools.

use crate::cancel::Cancel;
use crate::compat::Compat;
use crate::error::ErrorKind;
use crate::limits::Limits;
use crate::memprof::indexed::*;
use crate::memprof::{Field, MemoryProfile, Schema, yaml};
use crate::model::Release;

const TEXT: &str = "---
HeapProfileRecords:
  - GUID: main
    AllocSites:
      - Callstack:
          - { Function: grab, LineOffset: 1, Column: 9, IsInlineFrame: true }
          - { Function: main, LineOffset: 3, Column: 5, IsInlineFrame: false }
        MemInfoBlock: { AllocCount: 2, TotalSize: 96, MinSize: 32, TotalLifetime: 7, TotalLifetimeAccessDensity: 9 }
  - GUID: keep
    AllocSites:
      - Callstack:
          - { Function: keep, LineOffset: 2, Column: 1, IsInlineFrame: false }
          - { Function: main, LineOffset: 4, Column: 5, IsInlineFrame: false }
        MemInfoBlock: { AllocCount: 1, TotalSize: 4096, TotalLifetime: 250000 }
    CallSites:
      - Frames:
          - { Function: keep, LineOffset: 8, Column: 2, IsInlineFrame: false }
        CalleeGuids: [ grab, main ]
DataAccessProfiles:
  SampledRecords:
    - Symbol: table
      AccessCount: 5
      Locations:
        - FileName: a.c
          Line: 7
    - Hash: 77
      AccessCount: 9
  KnownColdSymbols: [ unused ]
  KnownColdStrHashes: [ 4, 2 ]
...
";

fn profile() -> MemoryProfile {
    yaml::read(TEXT.as_bytes(), Compat::Profbridge, &Limits::default()).unwrap()
}

fn text_of(profile: &MemoryProfile) -> String {
    let mut text = Vec::new();
    yaml::write(profile, yaml::Comments::None, yaml::EmptySites::Omitted, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn section(version: u32) -> Vec<u8> {
    let release = if version < 4 { Release(19) } else { Release(22) };
    write(&profile(), &WriteOptions::new(release, Some(version), version >= 2).unwrap()).unwrap()
}

#[test]
fn every_version_round_trips_its_fields() {
    for version in 0..=4 {
        let stored = read(&section(version), 0, &Limits::default()).unwrap();
        assert_eq!((stored.version, stored.profile.schema), (version, Schema::FULL));
        let mut expected = profile();
        if version < 4 {
            expected.data_access = None;
            expected.record_mut(crate::memprof::guid(b"keep")).call_sites[0].callees.clear();
        }
        // Records come back in the order of the hash table.
        let record = |profile: &MemoryProfile, name: &[u8]| {
            let mut only = MemoryProfile::new(Schema::FULL);
            only.stacks = profile.stacks.clone();
            let function = crate::memprof::guid(name);
            only.record_mut(function).clone_from(profile.record(function).unwrap());
            text_of(&only)
        };
        for name in [b"main", b"keep"] {
            assert_eq!(record(&stored.profile, name), record(&expected, name), "version {version}");
        }
        assert_eq!(stored.profile.data_access, expected.data_access);
        assert_eq!(stored.summary.is_some(), version == 4);
    }
}

#[test]
fn a_small_schema_leaves_the_rest_out() {
    let options = WriteOptions::new(Release(22), None, false).unwrap();
    let stored = read(&write(&profile(), &options).unwrap(), 0, &Limits::default()).unwrap();
    assert_eq!((stored.version, stored.profile.schema), (3, Schema::HOT_COLD));
    let main = stored.profile.record(crate::memprof::guid(b"main")).unwrap();
    let info = &main.alloc_sites[0].info;
    assert_eq!((info.total_size(), info.value(Field::MinSize)), (96, 0));
}

#[test]
fn unsupported_fields_are_counted_as_losses() {
    let options = |version| WriteOptions::new(Release(22), Some(version), false).unwrap();
    let words: Vec<String> = losses(&profile(), &options(3)).iter().map(ToString::to_string).collect();
    assert_eq!(words, ["2 callees of a memory profile", "5 records of static data of a memory profile"]);
    assert!(losses(&profile(), &options(4)).is_empty());
}

#[test]
fn releases_write_the_versions_that_they_read() {
    let error = |release, version| WriteOptions::new(Release(release), version, false).unwrap_err().to_string();
    assert_eq!(error(14, None), "LLVM 14 does not support memory profiles");
    assert_eq!(error(22, Some(1)), "LLVM 22 does not read version 1 of memory profiles");
    assert_eq!(error(19, Some(4)), "LLVM 19 does not read version 4 of memory profiles");
    for (release, version) in [(15, 0), (16, 0), (18, 0), (19, 0), (20, 3), (21, 3), (22, 3), (23, 3)] {
        assert_eq!(WriteOptions::new(Release(release), None, false).unwrap().version, version, "{release}");
    }
}

/// Returns the message for a section whose word at `at` was replaced.
fn damaged(version: u32, at: usize, word: u64) -> String {
    let mut bytes = section(version);
    bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    match read(&bytes, 0, &Limits::default()) {
        Ok(_) => "accepted".to_string(),
        Err(error) => error.to_string(),
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

#[test]
fn each_damaged_word_is_named() {
    let huge = 1 << 60;
    for (version, at, word, message) in [
        (3, 0, 5, "version 5 is not supported: supported versions of memory profiles are 0 to 4"),
        (3, 8, huge, "the array of frames from 0x100 to 0x1000000000000000 is not inside the section"),
        (3, 8, 7, "the array of frames from 0x100 to 0x7 is not inside the section"),
        (3, 16, huge, "the array of call stacks from"),
        (3, 24, huge, "the table index from 0x1000000000000000"),
        (3, 32, huge, "truncated: schema needs"),
        (3, 40, 99, "the schema has field 99, which is unknown or occurs twice"),
        (3, 40, 2, "the schema has field 2, which is unknown or occurs twice"),
        (4, 32, huge, "the data access profile from 0x1000000000000000"),
        (4, 40, 5, "the summary has 5 numbers, expected at least 6"),
        (0, 0, huge, "the table index from 0x1000000000000000"),
        (0, 8, 0, "the table's index has no bucket that begins here"),
        (2, 32, huge, "the table from 0x1000000000000000"),
        (2, 40, 9, "which is not a power of two"),
    ] {
        let found = damaged(version, at, word);
        assert!(found.contains(message), "version {version}, byte {at}: {found}");
    }
}

#[test]
fn damaged_tables_are_malformed() {
    let bytes = section(3);
    let index = word(&bytes, 24) as usize;
    let bucket = word(&bytes, index + 16) as usize;
    for (at, value, message) in [
        (index, 3, "a table has 3 buckets, which is not a power of two"),
        (index, 1 << 40, "truncated: bucket offsets needs"),
        (index + 8, 1, "the table has more items than its index, which has 1"),
        (index + 8, 1 << 40, "the table's index has no bucket that begins here"),
        (index + 16, 8, "the table's index has no bucket that begins here"),
        (bucket + 2, 1, "with hash 0x1 cannot be in bucket 0"),
        (bucket + 10, 7, "a key of the table has 7 bytes, not 8"),
        (bucket + 18, 1 << 40, "truncated: item needs"),
        (bucket + 34, 1 << 40, "truncated: "),
    ] {
        let found = damaged(3, at, value);
        assert!(found.contains(message), "byte {at}: {found}");
    }
}

#[test]
fn no_cut_and_no_flipped_byte_is_anything_but_an_error_or_a_profile() {
    for version in 0..=4 {
        let bytes = section(version);
        for len in 0..bytes.len() {
            let _ = read(&bytes[..len], 0, &Limits::default());
        }
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x81;
            if let Ok(stored) = read(&bytes, 0, &Limits::default()) {
                text_of(&stored.profile);
            }
        }
    }
}

#[test]
fn stacks_that_expand_to_too_much_are_refused() {
    let mut limits = Limits::default();
    limits.context_depth = 1;
    let error = read(&section(3), 0, &limits).unwrap_err().to_string();
    assert!(error.contains("frames of a call stack"), "{error}");
    limits = Limits::default();
    limits.inflated_bytes = 8;
    let error = read(&section(3), 0, &limits).unwrap_err().to_string();
    assert!(error.contains("frames of all call stacks"), "{error}");
}

#[test]
fn cancellation_ends_every_version() {
    let cancel = Cancel::default();
    cancel.cancel();
    for version in 0..=4 {
        let error = read_until(&section(version), 0, &Limits::default(), &cancel).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Cancelled), "version {version}: {error}");
    }
}
