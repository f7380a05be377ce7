//! Tests of damaged indexed files: every fault is detected and reported with its position.

use profbridge::indexed::{self, IndexedProfile, IndexedReader, ReadOptions, WriteOptions};
use profbridge::instr::{FunctionRecord, Profile, ProfileKind, ProfileReader, TemporalTrace, ValueCount, ValueKind};
use profbridge::{Compat, Error, Limits};

/// Returns a valid file with one item of every kind.
fn valid(version: u32) -> Vec<u8> {
    let mut record = FunctionRecord::new(7, vec![1, 2]);
    record.bitmap = vec![3];
    record.sites_mut(ValueKind::MemOpSize).push_site(&[ValueCount { value: 8, count: 1 }]);
    let mut profile = Profile { kind: ProfileKind::IR | ProfileKind::TEMPORAL, ..Profile::default() };
    let function = profile.functions.intern(b"main");
    profile.functions.push_record(function, &record);
    profile.binary_ids.push(vec![1, 2, 3, 4]);
    profile.vtable_names.push(b"_ZTV1A".to_vec());
    profile.temporal.stream_size = 1;
    profile.temporal.traces.push(TemporalTrace { weight: 1, functions: vec![5] });
    indexed::write(&profile, &WriteOptions::for_version(version)).unwrap()
}

/// Reads the whole file.
fn read(bytes: &[u8], compat: Compat) -> Result<usize, Error> {
    let mut reader = IndexedReader::new(bytes, ReadOptions::new(Limits::default(), compat))?;
    let mut records = 0;
    while reader.next_record()?.is_some() {
        records += 1;
    }
    reader.binary_ids()?;
    reader.vtable_names()?;
    Ok(records)
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// Offsets in version 13 of the file from [`valid`].
const SUMMARY: usize = 72;
const PAYLOAD: usize = SUMMARY + 448;
const DATA: usize = PAYLOAD + 2 + 24 + 4;

/// Returns the error message for `damage`.
fn fault(damage: impl FnOnce(&mut Vec<u8>)) -> String {
    fault_in(13, Compat::Profbridge, damage)
}

fn fault_in(version: u32, compat: Compat, damage: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = valid(version);
    damage(&mut bytes);
    match read(&bytes, compat) {
        Ok(records) => format!("{records} records"),
        Err(error) if compat.is_llvm() => error.llvm_message(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_valid_file_of_any_version_is_read() {
    for version in 1..=14 {
        assert_eq!(fault_in(version, Compat::Profbridge, |_| {}), "1 records");
    }
    for version in 1..=13 {
        assert_eq!(fault_in(version, Compat::Llvm22, |_| {}), "1 records");
    }
}

#[test]
fn a_cut_file_is_never_read_whole_and_never_panics() {
    for version in 1..=14 {
        let bytes = valid(version);
        for len in 0..bytes.len() {
            let error = read(&bytes[..len], Compat::Profbridge);
            assert!(error.is_err(), "version {version}, {len} bytes");
            // Reading all records does not use the index, so LLVM does not notice that its end is missing.
            let whole = version < 9 && len >= word(&bytes, 32) as usize + 16;
            assert_eq!(read(&bytes[..len], Compat::Llvm22).is_ok(), whole, "version {version}, {len} bytes");
        }
    }
}

#[test]
fn any_byte_may_be_wrong_without_a_panic() {
    for version in [1, 3, 8, 11, 13] {
        let bytes = valid(version);
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                for compat in [Compat::Profbridge, Compat::Llvm22] {
                    let _ = read(&damaged, compat);
                    if let Ok(profile) = IndexedProfile::read(&damaged, ReadOptions::new(Limits::default(), compat)) {
                        let _ = profile.get(b"main");
                        let _ = profile.get(b"other");
                    }
                }
            }
        }
    }
}

#[test]
fn eight_to_twenty_three_bytes_are_truncated() {
    assert_eq!(
        fault(|b| b.truncate(12)),
        "indexed, section header, byte 0x8: truncated: version word needs 8 bytes, 4 left"
    );
    assert_eq!(fault_in(13, Compat::Llvm22, |b| b.truncate(20)), "truncated profile data");
}

#[test]
fn a_header_cut_short_is_truncated() {
    assert_eq!(
        fault(|b| b.truncate(70)),
        "indexed v13, section header, byte 0x40: truncated: VTableNamesOffset needs 8 bytes, 6 left"
    );
}

#[test]
fn another_magic_is_bad() {
    assert_eq!(
        fault(|b| b[7] = 0),
        "indexed, section header, byte 0x0: bad magic: found \\xfflprofi\\x00, expected \\xfflprofi\\x81"
    );
    assert_eq!(fault_in(13, Compat::Llvm22, |b| b[7] = 0), "invalid instrumentation profile data (bad magic)");
}

#[test]
fn versions_0_and_15_are_not_supported() {
    assert_eq!(
        fault(|b| b[8] = 0),
        "indexed, section header, byte 0x8: version 0 is not supported: supported versions are 1 to 14; LLVM 23 writes 14"
    );
    assert_eq!(
        fault(|b| b[8] = 15),
        "indexed, section header, byte 0x8: version 15 is not supported: supported versions are 1 to 14; LLVM 23 writes 14"
    );
    // Valid for LLVM 23; LLVM 22 would not read it.
    assert_eq!(fault_in(14, Compat::Llvm22, |_| {}), "unsupported instrumentation profile format version");
    assert_eq!(fault_in(13, Compat::Llvm22, |b| b[8] = 14), "unsupported instrumentation profile format version");
}

#[test]
fn another_hash_type_is_not_supported() {
    assert_eq!(
        fault(|b| b[24] = 1),
        "indexed v13, section header, byte 0x18: unsupported hash type 1, expected 0 (MD5)"
    );
    assert_eq!(fault_in(13, Compat::Llvm22, |b| b[24] = 1), "unsupported instrumentation profile hash type");
}

#[test]
fn a_summary_with_too_few_fields_is_malformed() {
    assert_eq!(
        fault(|b| put(b, SUMMARY, 5)),
        "indexed v13, section summary, byte 0x48: malformed: the summary has 5 fields, expected at least 6"
    );
}

#[test]
fn a_summary_with_too_many_rows_is_truncated() {
    assert!(fault(|b| put(b, SUMMARY + 8, u64::MAX)).starts_with(
        "indexed v13, section summary, byte 0x88: truncated: summary rows needs 18446744073709551615 bytes"
    ));
}

#[test]
fn more_summary_fields_and_rows_are_accepted() {
    let mut bytes = valid(4);
    // Adds a seventh field, like a future version; the following fields move.
    put(&mut bytes, 40, 7);
    for _ in 0..8 {
        bytes.insert(104, 9);
    }
    let index = word(&bytes, 32);
    put(&mut bytes, 32, index + 8);
    assert_eq!(read(&bytes, Compat::Profbridge).unwrap(), 1);
}

#[test]
fn a_hash_table_outside_the_file_is_truncated() {
    assert!(
        fault(|b| put(b, 32, 1 << 40))
            .starts_with("indexed v13, section hash table index, byte 0x10000000000: truncated: hash table index")
    );
}

#[test]
fn a_hash_table_before_its_payload_is_malformed() {
    assert_eq!(
        fault(|b| put(b, 32, 80)),
        "indexed v13, section hash table index, byte 0x50: malformed: the index begins before the payload, which is at 0x208"
    );
}

#[test]
fn the_number_of_buckets_is_a_power_of_two_that_fits() {
    let index = word(&valid(13), 32) as usize;
    assert!(fault(|b| put(b, index, 3)).ends_with("malformed: 3 buckets, which is not a power of two"));
    assert!(fault(|b| put(b, index, 0)).ends_with("malformed: 0 buckets, which is not a power of two"));
    assert!(fault(|b| put(b, index, 1 << 50)).contains("malformed: 1125899906842624 buckets, but the file has only"));
    // llvm-profdata does not check this in a merge.
    assert_eq!(fault_in(13, Compat::Llvm22, |b| put(b, index, 3)), "1 records");
}

#[test]
fn a_bucket_outside_the_payload_is_malformed_on_lookup() {
    let mut bytes = valid(13);
    let index = word(&bytes, 32) as usize;
    put(&mut bytes, index + 16, 1 << 33);
    assert_eq!(read(&bytes, Compat::Profbridge).unwrap(), 1, "a walk does not use the index");
    let profile = IndexedProfile::read(&bytes, ReadOptions::default()).unwrap();
    let error = profile.get(b"main").unwrap_err();
    assert!(error.to_string().ends_with("malformed: bucket 0 is at 0x200000000, outside the payload"), "{error}");
}

#[test]
fn the_number_of_entries_bounds_the_walk() {
    let index = word(&valid(13), 32) as usize;
    assert_eq!(fault(|b| put(b, index + 8, 0)), "0 records");
    let llvm = "malformed instrumentation profile data: profile data is empty";
    assert_eq!(fault_in(13, Compat::Llvm22, |b| put(b, index + 8, 2)), llvm);
    assert!(fault(|b| put(b, index + 8, u64::MAX)).contains("left before the hash table index"));
}

#[test]
fn items_past_the_index_are_malformed() {
    let llvm = "malformed instrumentation profile data: profile data is empty";
    for at in [PAYLOAD + 10, PAYLOAD + 18] {
        assert_eq!(fault_in(13, Compat::Llvm22, |b| put(b, at, 1 << 20)), llvm);
        assert!(fault(|b| put(b, at, u64::MAX)).contains("malformed: "));
    }
}

#[test]
fn data_of_a_name_is_whole_words_and_not_empty() {
    assert_eq!(
        fault(|b| put(b, PAYLOAD + 18, 0)),
        "indexed v13, section function records, byte 0x226: malformed: \
         a name has 0 bytes of records, which is not a multiple of 8 above 0"
    );
    assert!(fault(|b| put(b, PAYLOAD + 18, 12)).contains("a name has 12 bytes of records"));
}

#[test]
fn counters_past_the_data_are_malformed() {
    assert_eq!(
        fault(|b| put(b, DATA + 8, 1 << 61)),
        "indexed v13, section function records, byte 0x236: malformed: \
         counters needs 18446744073709551615 bytes, 72 left in the data of this name"
    );
}

#[test]
fn a_record_without_counters_is_malformed_in_our_compat() {
    let damage = |b: &mut Vec<u8>| {
        // The two counters become the bitmap size and its byte. The following fields move.
        put(b, DATA + 8, 0);
        put(b, DATA + 16, 3);
    };
    assert_eq!(fault(damage), "indexed v13, section function records: malformed: a record of main has no counters");
    assert_eq!(fault_in(13, Compat::Llvm22, damage), "1 records");
}

#[test]
fn bitmap_bytes_past_the_data_are_malformed() {
    // LLVM's own limit is eight times too high.
    assert!(fault(|b| put(b, DATA + 32, 20)).contains("malformed: bitmap bytes needs 160 bytes, 48 left"));
}

#[test]
fn every_fault_of_value_data_is_malformed() {
    let blob = DATA + 48;
    let put32 = |b: &mut [u8], at: usize, value: u32| b[at..at + 4].copy_from_slice(&value.to_le_bytes());
    let faults = [
        (0, 4, "value data of 4 bytes, which is not a multiple of 8 above 0"),
        (0, 20, "value data of 20 bytes, which is not a multiple of 8 above 0"),
        (0, 4096, "value data needs 4096 bytes, 40 left in the data of this name"),
        (4, 4, "4 value kinds, expected at most 3"),
        (8, 3, "value kind 3, expected 0 to 2"),
        (12, 900, "values per site needs 900 bytes, 24 left in the data of this name"),
        (16, 2, "values needs 32 bytes, 16 left in the data of this name"),
    ];
    for (at, value, message) in faults {
        let found = fault(|b| put32(b, blob + at, value));
        assert!(found.ends_with(&format!("malformed: {message}")), "{found}");
        let llvm = fault_in(13, Compat::Llvm22, |b| put32(b, blob + at, value));
        assert_eq!(llvm, "malformed instrumentation profile data: profile data is empty");
    }
}

#[test]
fn a_kind_that_comes_twice_has_all_its_sites() {
    let mut profile = Profile::default();
    let mut record = FunctionRecord::new(1, vec![1]);
    for kind in [ValueKind::IndirectCallTarget, ValueKind::MemOpSize] {
        record.sites_mut(kind).push_site(&[ValueCount { value: 8, count: 1 }]);
    }
    let function = profile.functions.intern(b"f");
    profile.functions.push_record(function, &record);
    let mut bytes = indexed::write(&profile, &WriteOptions::default()).unwrap();
    // Hash, number of counters, counter, number of bitmap bytes, blob header.
    let first_kind = PAYLOAD + 2 + 24 + 1 + 4 * 8 + 8;
    assert_eq!(bytes[first_kind], 0);
    bytes[first_kind] = 1;
    let view = IndexedProfile::read(&bytes, ReadOptions::default()).unwrap();
    let read = view.get(b"f").unwrap().unwrap().records.next().unwrap().unwrap();
    assert_eq!((read.sites(ValueKind::MemOpSize).len(), read.sites(ValueKind::IndirectCallTarget).len()), (2, 0));
}

#[test]
fn binary_ids_are_checked_for_size_and_length() {
    let section = word(&valid(13), 48) as usize;
    let at = |b: &mut Vec<u8>, offset: usize, value: u64| {
        put(b, section + offset, value);
    };
    assert_eq!(
        fault_in(13, Compat::Llvm22, |b| put(b, 48, 1 << 40)),
        "truncated profile data",
        "the section lies outside"
    );
    assert!(
        fault(|b| at(b, 0, 12)).ends_with("bad header: the size of binary ids is 12, which is not a multiple of 8")
    );
    assert!(fault(|b| at(b, 0, 1 << 40)).contains("malformed: binary ids of 1099511627776 bytes, "));
    assert!(fault(|b| at(b, 8, 0)).ends_with("malformed: a binary id has no bytes"));
    assert!(fault(|b| at(b, 8, 9)).ends_with("malformed: a binary id of 9 bytes, 8 left in the section"));
    let llvm = |offset, value| fault_in(13, Compat::Llvm22, |b| at(b, offset, value));
    let malformed = "malformed instrumentation profile data: ";
    assert_eq!(llvm(0, 12), "invalid instrumentation profile data (file header is corrupt)");
    assert_eq!(llvm(0, 1 << 40), format!("{malformed}corrupted binary ids"));
    assert_eq!(llvm(8, 0), format!("{malformed}binary id length is 0"));
    assert_eq!(llvm(8, u64::MAX), format!("{malformed}not enough data to read binary id data"));
}

#[test]
fn vtable_names_are_checked() {
    let section = word(&valid(13), 64) as usize;
    assert!(fault(|b| put(b, 64, 1 << 40)).contains("section vtable names, byte 0x10000000000: truncated"));
    assert!(fault(|b| put(b, section, 1 << 40)).contains("truncated: vtable names needs 1099511627776 bytes"));
    assert!(fault(|b| b[section + 12] ^= 0xff).contains("cannot decompress"));
}

#[test]
fn traces_cut_off_are_truncated() {
    let section = word(&valid(13), 56) as usize;
    assert!(fault(|b| put(b, section, 2)).contains("truncated: trace weight needs 8 bytes, 0 left"));
    assert!(fault(|b| put(b, section + 24, u64::MAX)).contains("truncated: functions of a trace needs"));
    assert_eq!(fault_in(13, Compat::Llvm22, |b| put(b, section, 2)), "truncated profile data");
}

#[test]
fn a_memory_profile_of_an_unknown_version_is_not_supported() {
    let mut bytes = {
        let mut profile = Profile { kind: ProfileKind::IR | ProfileKind::MEMPROF, ..Profile::default() };
        profile.binary_ids.push(vec![1]);
        indexed::write(&profile, &WriteOptions::default()).unwrap()
    };
    assert_eq!(read(&bytes, Compat::Llvm22).unwrap(), 0);
    let section = word(&bytes, 40) as usize;
    put(&mut bytes, section, 9);
    assert!(
        read(&bytes, Compat::Profbridge)
            .unwrap_err()
            .to_string()
            .ends_with("version 9 is not supported: supported versions of memory profiles are 0 to 4")
    );
    assert_eq!(
        read(&bytes, Compat::Llvm22).unwrap_err().llvm_message(),
        "unsupported instrumentation profile format version: \
         MemProf version 9 not supported; requires version between 2 and 4, inclusive"
    );
}

/// Returns the error of the strict comparison between index and payload.
fn disagreement(damage: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut bytes = valid(13);
    damage(&mut bytes);
    let profile = IndexedProfile::read(&bytes, ReadOptions::default()).unwrap();
    profile.verify().expect_err("index and payload should disagree").to_string()
}

#[test]
fn index_and_payload_have_to_agree_when_asked() {
    for version in 1..=14 {
        let bytes = valid(version);
        IndexedProfile::read(&bytes, ReadOptions::default()).unwrap().verify().unwrap();
    }
    let index = word(&valid(13), 32) as usize;
    assert_eq!(
        disagreement(|b| b[PAYLOAD + 2] ^= 1),
        "indexed v13, section hash table, byte 0x20a: malformed: \
         the key hash of main is 0xdb956436e78dd5fb, expected the MD5 0xdb956436e78dd5fa"
    );
    assert_eq!(
        disagreement(|b| put(b, index + 16, 0x20c)),
        "indexed v13, section hash table, byte 0x208: malformed: \
         bucket 0 begins here, but the index has 0x20c"
    );
    assert!(
        disagreement(|b| put(b, index + 8, 0)).ends_with("malformed: the index counts 0 entries, its buckets hold 1")
    );
    assert!(disagreement(|b| b[index - 1] = 1).contains("before the index belong to no bucket"));
}

#[test]
fn llvm_checks_where_the_names_of_vtables_begin() {
    const VTABLE_NAMES_OFFSET: usize = 64;
    for (before_end, is_read) in [(8, true), (7, false), (1, false), (0, false)] {
        let mut bytes = valid(13);
        let offset = bytes.len() as u64 - before_end;
        put(&mut bytes, VTABLE_NAMES_OFFSET, offset);
        let options = ReadOptions::new(Limits::default(), Compat::Llvm22);
        let error = IndexedReader::new(&bytes, options).err().map(|error| error.llvm_message());
        assert_eq!(error.as_deref(), (!is_read).then_some("truncated profile data"), "{before_end} bytes");
    }
}
