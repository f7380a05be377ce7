//! Round trips: every version, width and byte order.

use super::super::layout::{NEWEST_VERSION, OLDEST_VERSION, is_known_version};
use super::super::{NameChunks, RawOptions, RawReader, WriteOptions, losses, write};
use crate::bytes::names::Compression;
use crate::bytes::{Encoding, Endian, PointerWidth};
use crate::compat::Compat;
use crate::error::{ErrorKind, Warning};
use crate::model::{
    FunctionRecord, LossKind, Profile, ProfileKind, ProfileReader, RecordView, TemporalTrace, ValueCount, ValueKind,
    name_ref,
};
use proptest::prelude::*;
use std::sync::Arc;

fn all_encodings() -> impl Iterator<Item = Encoding> {
    let versions = (OLDEST_VERSION..=NEWEST_VERSION).filter(|version| is_known_version(*version));
    versions.flat_map(|version| {
        [PointerWidth::Bits64, PointerWidth::Bits32]
            .into_iter()
            .flat_map(move |pointer| [Endian::Little, Endian::Big].map(|endian| Encoding { endian, pointer, version }))
    })
}

/// Reads a file back into a profile; the file has each name and hash once.
fn read(file: &[u8]) -> (Profile, Vec<Warning>) {
    let mut reader = RawReader::new(file, RawOptions::new(Compat::Profbridge)).unwrap();
    let mut profile = Profile::default();
    while let Some(item) = reader.next_record().unwrap() {
        assert_eq!(item.name_ref, Some(name_ref(item.name)));
        let function = profile.functions.intern(item.name);
        profile.functions.push_record(function, item.record);
    }
    profile.kind = reader.kind();
    profile.binary_ids = reader.binary_ids().unwrap();
    profile.temporal = reader.temporal();
    profile.vtable_names = reader.vtable_names().unwrap();
    (profile, reader.take_warnings())
}

/// Name, hash, counters, bitmap, and the sites of each kind.
type Comparable = (Vec<u8>, u64, Vec<u64>, Vec<u8>, [Vec<Vec<ValueCount>>; ValueKind::COUNT]);

/// Converts all records to values that can be compared; an empty kind counts as missing.
fn records(profile: &Profile) -> Vec<Comparable> {
    let of_record = |name: &[u8], record: RecordView<'_>| {
        let sites = ValueKind::EACH.map(|kind| record.sites(kind).iter().map(<[_]>::to_vec).collect::<Vec<_>>());
        (name.to_vec(), record.func_hash, record.counters.to_vec(), record.bitmap.to_vec(), sites)
    };
    let functions = profile.functions.iter();
    functions.flat_map(|f| f.records().map(move |record| of_record(f.name(), record)).collect::<Vec<_>>()).collect()
}

/// Returns `profile` without the data that a version cannot store, according to the format's table of versions.
fn as_far_as_known(profile: &Profile, version: u32) -> Profile {
    let mut known = profile.clone();
    let kinds: &[ValueKind] = match version {
        2 => &[ValueKind::IndirectCallTarget],
        1 | 3 => &[],
        4..=9 => &[ValueKind::IndirectCallTarget, ValueKind::MemOpSize],
        _ => &ValueKind::EACH,
    };
    known.functions = Default::default();
    for function in profile.functions.iter() {
        let id = known.functions.intern(function.name());
        for record in function.records() {
            let mut record = record.to_record();
            for kind in ValueKind::EACH.iter().filter(|kind| !kinds.contains(kind)) {
                record.sites_mut(*kind).clear();
            }
            if version < 9 {
                record.bitmap.clear();
            }
            known.functions.push_record(id, &record);
        }
    }
    if version < 7 {
        known.binary_ids.clear();
    }
    if version < 8 {
        known.temporal = Default::default();
        known.kind = known.kind.without(ProfileKind::TEMPORAL);
    }
    if version < 10 {
        known.vtable_names.clear();
        known.kind = known.kind.without(ProfileKind::LOOP_ENTRIES);
    }
    if version < 5 {
        known.kind = known.kind.without(ProfileKind::ENTRY_FIRST);
    }
    if version < 3 {
        known.kind = known.kind.without(ProfileKind::IR);
    }
    known
}

fn value(value: u64, count: u64) -> ValueCount {
    ValueCount { value, count }
}

/// A profile with everything that a raw file of version 10 holds.
fn full_profile() -> Profile {
    let mut profile = Profile {
        kind: ProfileKind::IR | ProfileKind::ENTRY_FIRST | ProfileKind::LOOP_ENTRIES | ProfileKind::TEMPORAL,
        binary_ids: vec![vec![7; 20], vec![9; 16]],
        vtable_names: vec![b"_ZTV4Base".to_vec(), b"_ZTV7Derived".to_vec()],
        ..Profile::default()
    };
    let main = profile.functions.intern(b"main");
    let mut record = FunctionRecord::new(0x1234, vec![1, 20, u64::from(u32::MAX) + 7]);
    record.bitmap = vec![0xcf, 0x07, 0x01];
    record.sites_mut(ValueKind::IndirectCallTarget).push_site(&[value(name_ref(b"callee"), 9), value(0, 3)]);
    record.sites_mut(ValueKind::IndirectCallTarget).push_site(&[]);
    record.sites_mut(ValueKind::MemOpSize).push_site(&[value(0, 1), value(17, 2), value(513, 3)]);
    let tables = [value(name_ref(b"_ZTV7Derived"), 5), value(name_ref(b"_ZTV4Base"), 6), value(0, 1)];
    record.sites_mut(ValueKind::VTableTarget).push_site(&tables);
    profile.functions.push_record(main, &record);
    let callee = profile.functions.intern(b"callee");
    profile.functions.push_record(callee, &FunctionRecord::new(1, vec![29]));
    profile.functions.push_record(callee, &FunctionRecord::new(2, vec![0, 0]));
    let local = profile.functions.intern(b"file.c;local");
    let mut record = FunctionRecord::new(u64::MAX, vec![3; 9]);
    record.sites_mut(ValueKind::MemOpSize).push_site(&[value(8, 255)]);
    record.bitmap = vec![0x80];
    profile.functions.push_record(local, &record);
    let functions = vec![name_ref(b"callee"), name_ref(b"main")];
    profile.temporal.traces = vec![TemporalTrace { weight: 1, functions }];
    profile.temporal.stream_size = 1;
    profile
}

#[test]
fn every_version_width_and_byte_order_round_trips() {
    let profile = full_profile();
    for encoding in all_encodings() {
        for compression in [Compression::Zlib, Compression::None] {
            let options = WriteOptions::new(encoding).compression(compression);
            let file = write(&profile, &options).unwrap();
            let (found, warnings) = read(&file);
            let expected = as_far_as_known(&profile, encoding.version);
            assert_eq!(records(&found), records(&expected), "{encoding:?}");
            assert_eq!(found.kind, expected.kind, "{encoding:?}");
            assert_eq!(found.binary_ids, expected.binary_ids, "{encoding:?}");
            assert_eq!(found.temporal, expected.temporal, "{encoding:?}");
            assert_eq!(found.vtable_names, expected.vtable_names, "{encoding:?}");
            assert_eq!(warnings, [], "{encoding:?}");
            assert_eq!(write(&profile, &options).unwrap(), file, "the same bytes again");
        }
    }
}

#[test]
fn losses_list_the_unsupported_data_of_a_version() {
    let profile = full_profile();
    let found = |version| {
        let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version };
        let losses = losses(&profile, &WriteOptions::new(encoding)).unwrap();
        losses.into_iter().map(|loss| (loss.kind, loss.count)).collect::<Vec<_>>()
    };
    assert_eq!(found(11), []);
    assert_eq!(found(10), []);
    use LossKind::*;
    assert_eq!(found(9), [(VTableSites, 1), (VTableNames, 2), (KindBits, 1)]);
    assert_eq!(found(8), [(VTableSites, 1), (BitmapBytes, 4), (VTableNames, 2), (KindBits, 1)]);
    assert_eq!(found(7), [(VTableSites, 1), (BitmapBytes, 4), (TemporalTraces, 1), (VTableNames, 2), (KindBits, 1)]);
    assert_eq!(
        found(1),
        [
            (ValueSites, 4),
            (VTableSites, 1),
            (BitmapBytes, 4),
            (BinaryIds, 2),
            (TemporalTraces, 1),
            (VTableNames, 2),
            (KindBits, 3)
        ]
    );
}

#[test]
fn data_unsupported_by_raw_files_is_dropped_and_counted() {
    let mut profile = Profile::default();
    let caller = profile.functions.intern(b"caller");
    let mut record = FunctionRecord::new(1, vec![5]);
    let many: Vec<ValueCount> = (0..300).map(|size| value(size, 1000 - size)).collect();
    record.sites_mut(ValueKind::MemOpSize).push_site(&many);
    record.sites_mut(ValueKind::IndirectCallTarget).push_site(&[value(name_ref(b"elsewhere"), 4)]);
    profile.functions.push_record(caller, &record);
    profile.functions.push_record(caller, &FunctionRecord::new(2, vec![]));
    for name in [b"".as_slice(), b"a\x01b"] {
        let function = profile.functions.intern(name);
        profile.functions.push_record(function, &FunctionRecord::new(1, vec![1]));
    }
    let traces = [vec![name_ref(b"caller"), name_ref(b"elsewhere"), name_ref(b"caller")], vec![]];
    profile.temporal.traces = traces.map(|functions| TemporalTrace { weight: 1, functions }).to_vec();
    let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version: 10 };
    let options = WriteOptions::new(encoding);
    let found: Vec<String> = losses(&profile, &options).unwrap().iter().map(ToString::to_string).collect();
    let expected = [
        "1 temporal trace",
        "2 functions whose names cannot be written",
        "1 target without a name",
        "45 values beyond 255 of a site",
        "2 entries of a temporal trace",
    ];
    assert_eq!(found, expected);
    let (read, _) = read(&write(&profile, &options).unwrap());
    let names: Vec<&[u8]> = read.functions.iter().map(|function| function.name()).collect();
    assert_eq!(names, [b"caller"]);
    let caller = read.functions.find(b"caller").unwrap();
    assert_eq!(caller.records().count(), 2, "a timestamp takes the place of the missing counter");
    let record = caller.records().next().unwrap();
    assert_eq!(record.sites(ValueKind::MemOpSize).site(0), &many[..255], "the most frequent stay, in their order");
    assert_eq!(record.sites(ValueKind::IndirectCallTarget).site(0), [value(0, 4)]);
}

#[test]
fn byte_counters_keep_covered_and_not_covered() {
    let mut profile = Profile { kind: ProfileKind::IR | ProfileKind::BYTE_COVERAGE, ..Profile::default() };
    for (name, counters) in [(b"a", vec![1, 0, 7]), (b"b", vec![0, 1, 1])] {
        let function = profile.functions.intern(name);
        profile.functions.push_record(function, &FunctionRecord::new(3, counters));
    }
    for encoding in all_encodings().filter(|encoding| encoding.version >= 8) {
        let options = WriteOptions::new(encoding);
        let lost = losses(&profile, &options).unwrap();
        assert_eq!(lost.iter().map(|l| (l.kind, l.count)).collect::<Vec<_>>(), [(LossKind::CounterValues, 1)]);
        let (read, _) = read(&write(&profile, &options).unwrap());
        let counters: Vec<Vec<u64>> =
            read.functions.iter().flat_map(|f| f.records()).map(|r| r.counters.to_vec()).collect();
        assert_eq!(counters, [&[1, 0, 1], &[0, 1, 1]], "{encoding:?}");
        assert_eq!(read.kind, profile.kind);
    }
}

#[test]
fn counts_that_readers_reject_are_a_loss() {
    let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
    for (name, counters) in [(b"a", vec![1 << 56, 2]), (b"b", vec![0, (1 << 56) + 1, u64::MAX])] {
        let function = profile.functions.intern(name);
        profile.functions.push_record(function, &FunctionRecord::new(3, counters));
    }
    for encoding in all_encodings().filter(|encoding| encoding.version >= 3) {
        let lost = losses(&profile, &WriteOptions::new(encoding)).unwrap();
        let large = lost.iter().find(|loss| loss.kind == LossKind::LargeCounts).map(|loss| loss.count);
        assert_eq!(large, (encoding.version >= 9).then_some(2), "{encoding:?}");
    }
}

#[test]
fn an_empty_profile_is_a_header() {
    for encoding in all_encodings() {
        let file = write(&Profile::default(), &WriteOptions::new(encoding)).unwrap();
        let (read, warnings) = read(&file);
        assert!(read.functions.is_empty() && warnings.is_empty(), "{encoding:?}");
    }
}

#[test]
fn unknown_versions_are_not_written() {
    for version in [0, 6, 12, u32::MAX] {
        let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version };
        let error = write(&Profile::default(), &WriteOptions::new(encoding)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Usage { .. }), "{version}: {error}");
    }
}

fn arbitrary_profile() -> impl Strategy<Value = Profile> {
    let site = prop::collection::vec((0..6u64, 1..1000u64), 0..5);
    let record = (
        prop::collection::vec(any::<u64>().prop_map(|count| count >> 8), 1..6),
        prop::collection::vec(any::<u8>(), 0..4),
        prop::collection::vec(site.clone(), 0..4),
        prop::collection::vec(site.clone(), 0..4),
        prop::collection::vec(site, 0..3),
    );
    let function = (prop::collection::vec(2u8..=255, 1..12), prop::collection::vec((any::<u64>(), record), 1..3));
    prop::collection::vec(function, 0..12).prop_map(|functions| {
        let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
        for (name, _) in &functions {
            profile.functions.intern(name);
        }
        let names: Vec<u64> = profile.functions.iter().map(|function| function.name_ref()).collect();
        // Targets are functions of the profile, or unknown; vtables are any hashes.
        let target = |index: u64| names.get(index as usize).copied().unwrap_or(0);
        for (name, records) in functions {
            let function = profile.functions.intern(&name);
            for (hash, (counters, bitmap, calls, sizes, tables)) in records {
                if profile.functions.find_record(function, hash).is_some() {
                    continue;
                }
                let mut record = FunctionRecord::new(hash, counters);
                record.bitmap = bitmap;
                for (kind, sites) in ValueKind::EACH.into_iter().zip([calls, sizes, tables]) {
                    for site in sites {
                        let map = |at| if kind == ValueKind::IndirectCallTarget { target(at) } else { at };
                        let values: Vec<ValueCount> = site.into_iter().map(|(at, n)| value(map(at), n)).collect();
                        record.sites_mut(kind).push_site(&values);
                    }
                }
                profile.functions.push_record(function, &record);
            }
        }
        profile
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_profile_survives_the_versions_that_hold_it(profile in arbitrary_profile(), big in any::<bool>(), narrow in any::<bool>()) {
        let endian = if big { Endian::Big } else { Endian::Little };
        let pointer = if narrow { PointerWidth::Bits32 } else { PointerWidth::Bits64 };
        for version in [4, 5, 7, 8, 9, 10, 11] {
            let file = write(&profile, &WriteOptions::new(Encoding { endian, pointer, version })).unwrap();
            let (found, _) = read(&file);
            prop_assert_eq!(records(&found), records(&as_far_as_known(&profile, version)));
        }
    }

    #[test]
    fn damaged_bytes_never_panic(profile in arbitrary_profile(), version in prop::sample::select(vec![1u32, 2, 4, 7, 8, 10, 11]),
                                 changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>()) {
        let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version };
        let mut file = write(&profile, &WriteOptions::new(encoding).compression(Compression::None)).unwrap();
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        file.truncate(cut.index(file.len()) + 1);
        for compat in [Compat::Profbridge, Compat::Llvm22] {
            let Ok(mut reader) = RawReader::new(&file, RawOptions::new(compat)) else { continue };
            while let Ok(Some(_)) = reader.next_record() {}
            prop_assert!(matches!(reader.next_record(), Ok(None)), "an error ends the reading");
        }
    }
}

/// Files of one program share the first names of a run between all readers. Another program has its own names, which
/// are read with the stored chunks.
#[test]
fn the_first_names_of_a_run_are_shared_and_others_are_not_mistaken_for_them() {
    let written = |functions: &[&str], version| {
        let mut profile = Profile::default();
        for name in functions {
            let function = profile.functions.intern(name.as_bytes());
            profile.functions.push_record(function, &FunctionRecord::new(1, vec![1]));
        }
        let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version };
        write(&profile, &WriteOptions::new(encoding)).unwrap()
    };
    let known = Arc::new(NameChunks::default());
    let names = |file: &[u8], known: &Arc<NameChunks>| {
        let options = RawOptions { known_chunks: Some(Arc::clone(known)), ..RawOptions::new(Compat::Profbridge) };
        Arc::clone(RawReader::new(file, options).unwrap().names())
    };
    let (one, other) = (written(&["f", "g"], 10), written(&["f", "h"], 10));
    let first = names(&one, &known);
    assert!(Arc::ptr_eq(&first, &names(&one, &known)));
    for _ in 0..2 {
        let different = names(&other, &known);
        assert!(!Arc::ptr_eq(&first, &different));
        assert_eq!(different.symbols().name(name_ref(b"h")), Some(&b"h"[..]));
        assert_eq!(different.symbols().name(name_ref(b"g")), None);
    }
    // A fault affects only its own file.
    let known = Arc::new(NameChunks::default());
    let mut damaged = one.clone();
    let at = damaged.len() - 8;
    damaged[at..].fill(0xff);
    let options = RawOptions { known_chunks: Some(Arc::clone(&known)), ..RawOptions::new(Compat::Profbridge) };
    assert!(RawReader::new(&damaged, options).is_err());
    assert_eq!(names(&one, &known).symbols().name(name_ref(b"g")), Some(&b"g"[..]));
    // Old versions have names that their records point to.
    let (old, known) = (written(&["f", "g"], 1), Arc::new(NameChunks::default()));
    for _ in 0..2 {
        assert_eq!(names(&old, &known).symbols().name(name_ref(b"f")), Some(&b"f"[..]));
    }
}
