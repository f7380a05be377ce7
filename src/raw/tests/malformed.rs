//! Defects and oddities that are made here, field by field.

use super::super::layout::header_words;
use super::super::{Correlator, Header, ImageRecords, RawOptions, RawReader, Word, WriteOptions, write};
use super::dump;
use crate::bytes::names::Compression;
use crate::bytes::{Encoding, Endian, PointerWidth};
use crate::compat::Compat;
use crate::error::{Error, ErrorKind, Result};
use crate::hint::Hint;
use crate::model::{BinaryId, FunctionRecord, Profile, ProfileKind, ProfileReader, ValueCount, ValueKind};
use std::sync::Arc;

const V10: Encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version: 10 };

/// A file of one function `f` with three counters and sites of two kinds.
struct File {
    bytes: Vec<u8>,
    encoding: Encoding,
}

impl File {
    fn new(encoding: Encoding) -> Self {
        let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
        let f = profile.functions.intern(b"f");
        let mut record = FunctionRecord::new(5, vec![1, 2, 3]);
        record.sites_mut(ValueKind::IndirectCallTarget).push_site(&[ValueCount { value: 0, count: 3 }]);
        record.sites_mut(ValueKind::MemOpSize).push_site(&[ValueCount { value: 8, count: 4 }]);
        profile.functions.push_record(f, &record);
        Self::of(&profile, encoding)
    }

    fn of(profile: &Profile, encoding: Encoding) -> Self {
        let options = WriteOptions::new(encoding).compression(Compression::None);
        Self { bytes: write(profile, &options).unwrap(), encoding }
    }

    fn header(&self) -> Header {
        Header::read(&self.bytes, 0, Compat::Profbridge).unwrap()
    }

    fn set_word(mut self, word: Word, value: u64) -> Self {
        let at = header_words(self.encoding.version).position(|other| other == word).unwrap();
        let start = 16 + 8 * at;
        self.bytes[start..start + 8].copy_from_slice(&self.encoding.endian.u64_bytes(value));
        self
    }

    fn put(mut self, at: usize, bytes: &[u8]) -> Self {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    fn data_start(&self) -> usize {
        self.header().size() + self.header().word(Word::BinaryIdsSize) as usize
    }

    fn values_start(&self) -> usize {
        let reader = RawReader::new(&self.bytes, RawOptions::default()).unwrap();
        reader.profile().end_of_sections()
    }

    fn fault(&self) -> Error {
        dump(&self.bytes, Compat::Profbridge).unwrap_err()
    }
}

#[test]
fn value_kinds_above_the_versions_last_are_malformed() {
    for (version, last) in [(2, 0), (3, 0), (4, 1), (9, 1), (10, 2), (11, 2)] {
        let encoding = Encoding { version, ..V10 };
        assert!(dump(&File::new(encoding).bytes, Compat::Profbridge).is_ok());
        let error = File::new(encoding).set_word(Word::ValueKindLast, last + 1).fault();
        let expected = format!("ValueKindLast is {}, version {version} has kinds up to {last}", last + 1);
        assert!(error.to_string().contains(&expected), "{error}");
    }
    let file = File::new(V10).set_word(Word::ValueKindLast, 9);
    assert!(dump(&file.bytes, Compat::Llvm22).is_ok(), "LLVM ignores the word");
}

#[test]
fn the_size_of_binary_ids_is_checked_before_other_words() {
    for version in 8..=11 {
        let file = File::new(Encoding { version, ..V10 });
        let error = file.set_word(Word::ValueKindLast, 99).set_word(Word::BinaryIdsSize, 63).fault();
        assert_eq!(error.llvm_message(), "invalid instrumentation profile data (file header is corrupt)", "{version}");
    }
}

#[test]
fn with_last_kind_0_version_4_has_one_number_of_sites() {
    // Releases 3.9 and 4 left padding where later ones count memory sizes.
    let mut profile = Profile::default();
    let f = profile.functions.intern(b"f");
    profile.functions.push_record(f, &FunctionRecord::new(1, vec![4]));
    let file = File::of(&profile, Encoding { version: 4, ..V10 }).set_word(Word::ValueKindLast, 0);
    let sites = file.data_start() + 46;
    let file = file.put(sites, &[0xaa, 0xaa]);
    assert_eq!(dump(&file.bytes, Compat::Profbridge).unwrap(), "f 0x1 [4]\n");
}

#[test]
fn faults_inside_a_value_blob_are_malformed() {
    let start = File::new(V10).values_start();
    // TotalSize, NumValueKinds; Kind, NumValueSites, count, padding; Value, Count; Kind …
    let second_kind = start + 8 + 16 + 16;
    let cases: [(&str, File); 6] = [
        ("NumValueKinds is 1, the record has sites of 2 kinds", File::new(V10).put(start + 4, &[1])),
        ("value data has 2 sites of kind 0, the record 1", File::new(V10).put(start + 12, &[2])),
        ("value data has 1 sites of kind 2, the record 0", File::new(V10).put(second_kind, &[2])),
        ("value kinds do not ascend", File::new(V10).put(second_kind, &[0])),
        ("a list of values exceeds the value data of its function", File::new(V10).put(second_kind + 8, &[2])),
        ("16 bytes are left after the last value", File::new(V10).put(second_kind + 8, &[0])),
    ];
    for (expected, file) in cases {
        let error = file.fault();
        assert!(matches!(error.kind(), ErrorKind::Malformed { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        assert_eq!(error.hint(), Some(&"the record belongs to function f".into()));
    }
    let short = File::new(V10).put(start, &[0, 0, 0, 0]).fault();
    assert!(short.to_string().contains("TotalSize of value data is 0, expected at least 8"), "{short}");
}

#[test]
fn a_blob_header_beyond_the_file_is_truncated() {
    let start = File::new(V10).values_start();
    let file = File::new(V10);
    for compat in [Compat::Profbridge, Compat::Llvm22] {
        let error = dump(&file.bytes[..start + 4], compat).unwrap_err();
        assert_eq!(error.llvm_message(), "truncated profile data");
        assert_eq!(error.offset(), Some(start as u64 + 4));
    }
}

#[test]
fn a_file_without_its_value_data_is_read_with_a_warning() {
    for zeros in [0, 4096] {
        let mut file = File::new(V10);
        let start = file.values_start();
        file.bytes.truncate(start);
        file.bytes.resize(start + zeros, 0);
        let text = dump(&file.bytes, Compat::Profbridge).unwrap();
        let expected = "f 0x5 [1, 2, 3] IPVK_IndirectCallTarget [[]] IPVK_MemOPSize [[]]\n\
                        warning: the value data is missing, as in continuous mode; value sites are empty\n";
        assert_eq!(text, expected);
        assert!(dump(&file.bytes, Compat::Llvm22).is_err(), "LLVM rejects it");
    }
    let mut file = File::new(V10);
    let start = file.values_start();
    file.bytes.truncate(start);
    let twice = [&file.bytes[..], &file.bytes[..]].concat();
    assert_eq!(dump(&twice, Compat::Profbridge).unwrap().matches("f 0x5 [1, 2, 3]").count(), 2);
}

#[test]
fn zeros_before_the_first_names_are_harmless() {
    let mut file = File::new(V10);
    let names = file.header().word(Word::NamesSize) as usize;
    let reader = RawReader::new(&file.bytes, RawOptions::default()).unwrap();
    let range = reader.profile().section_range(super::super::Section::Names);
    // Two bytes of padding behind the names move before them.
    file.bytes[range.start..range.end + 2].rotate_right(2);
    let file = file.set_word(Word::NamesSize, names as u64 + 2);
    let text = dump(&file.bytes, Compat::Profbridge).unwrap();
    assert!(text.ends_with("warning: the names begin with zero bytes\n"), "{text}");
    let error = dump(&file.bytes, Compat::Llvm22).unwrap_err();
    assert_eq!(error.llvm_message(), "malformed instrumentation profile data: symbol name is empty");
}

#[test]
fn unknown_variant_bits_are_reported_and_kept() {
    let file = File::new(V10).put(12, &[0x04]);
    let text = dump(&file.bytes, Compat::Profbridge).unwrap();
    assert!(text.ends_with("warning: unknown variant bits 0x400000000 in the version word\n"), "{text}");
}

#[test]
fn version_7_with_relative_pointers_is_recognised() {
    // A snapshot of LLVM 13 wrote the layout of version 8 as version 7; their
    // binary ids differ in padding only, of which this file has none.
    let mut profile = Profile::default();
    for name in [b"a", b"b"] {
        let function = profile.functions.intern(name);
        profile.functions.push_record(function, &FunctionRecord::new(1, vec![4, 5]));
    }
    let file = File::of(&profile, Encoding { version: 8, ..V10 }).put(8, &[7]);
    let text = dump(&file.bytes, Compat::Profbridge).unwrap();
    assert!(text.starts_with("a 0x1 [4, 5]\nb 0x1 [4, 5]\n"), "{text}");
    assert!(text.contains("warning: version 7 with relative pointers"), "{text}");
}

#[test]
fn an_absolute_counter_pointer_is_a_multiple_of_8() {
    let file = File::new(Encoding { version: 5, ..V10 });
    let pointer = file.data_start() + 16;
    let low = file.bytes[pointer];
    let mut profile = Profile::default();
    for name in [b"a", b"b"] {
        let function = profile.functions.intern(name);
        profile.functions.push_record(function, &FunctionRecord::new(1, vec![4, 5]));
    }
    let file = File::of(&profile, file.encoding).put(pointer, &[low + 4]);
    assert!(file.fault().to_string().contains("counter offset 4 is not a multiple of 8"), "{}", file.fault());
}

#[test]
fn coff_differences_that_cross_zero_are_cut_to_32_bits() {
    let mut profile = Profile::default();
    let f = profile.functions.intern(b"f");
    profile.functions.push_record(f, &FunctionRecord::new(1, vec![4, 5]));
    let file = File::of(&profile, Encoding { version: 8, ..V10 });
    let pointer = file.data_start() + 16;
    // The counters are 8 bytes after the record, the section begins 8 bytes before it.
    let mut bytes = file.bytes.clone();
    let section =
        RawReader::new(&bytes, RawOptions::default()).unwrap().profile().section_range(super::super::Section::Counters);
    bytes.splice(section.start..section.start, [0xff; 16]);
    let file = File { bytes, encoding: file.encoding }
        .set_word(Word::NumCounters, 4)
        .set_word(Word::CountersDelta, 0xffff_fff8)
        .put(pointer, &8u64.to_le_bytes());
    assert_eq!(dump(&file.bytes, Compat::Profbridge).unwrap(), "f 0x1 [4, 5]\n");
    let file = file.put(9, &[0]);
    assert!(dump(&file.bytes, Compat::Profbridge).is_ok());
}

#[test]
fn a_section_that_ends_between_counters_holds_the_whole_ones() {
    // COFF: the dump starts one byte late, so offsets are odd and the last
    // counter of the section is cut.
    let file = File::new(Encoding { version: 8, ..V10 });
    let pointer = file.data_start() + 16;
    let low = file.bytes[pointer];
    let file = file.put(pointer, &[low + 7]);
    let error = file.fault().to_string();
    assert!(error.contains("number of counters 3 is greater than the maximum number of counters 2"), "{error}");
}

#[test]
fn several_profiles_follow_each_other_with_zeros_between() {
    let one = File::new(V10).bytes;
    let mut both = one.clone();
    both.resize(both.len().next_multiple_of(4096), 0);
    both.extend_from_slice(&one);
    both.extend_from_slice(&[0; 13]);
    for compat in [Compat::Profbridge, Compat::Llvm22] {
        assert_eq!(dump(&both, compat).unwrap().lines().count(), 2);
    }
    let older = File::new(Encoding { version: 5, ..V10 }).bytes;
    let mixed = [one, older].concat();
    assert_eq!(dump(&mixed, Compat::Profbridge).unwrap().lines().count(), 2, "versions may change");
    assert!(dump(&mixed, Compat::Llvm22).is_err());
}

#[test]
fn after_version_7_the_next_profile_may_start_anywhere() {
    let mut profile = Profile { binary_ids: vec![vec![1; 20]], ..Profile::default() };
    let f = profile.functions.intern(b"f");
    profile.functions.push_record(f, &FunctionRecord::new(1, vec![4]));
    let one = File::of(&profile, Encoding { version: 7, ..V10 }).bytes;
    assert_eq!(one.len() % 8, 4, "the id is not padded");
    let two = [&one[..], &one[..]].concat();
    assert_eq!(dump(&two, Compat::Profbridge).unwrap(), "f 0x1 [4]\n".repeat(2));
}

#[test]
fn large_counters_are_kept_and_named() {
    let mut profile = Profile::default();
    for (name, counter) in [(b"a", 1 << 56), (b"b", (1 << 56) + 1), (b"c", u64::MAX)] {
        let function = profile.functions.intern(name);
        profile.functions.push_record(function, &FunctionRecord::new(1, vec![counter]));
    }
    let file = File::of(&profile, V10);
    let text = dump(&file.bytes, Compat::Profbridge).unwrap();
    assert!(text.contains("c 0x1 [18446744073709551615]"), "{text}");
    assert!(
        text.ends_with(
            "warning: b: counter value 72057594037927937 is above 2^56; the counter has probably wrapped\n\
         warning: counters above 2^56 in 1 more functions\n"
        ),
        "{text}"
    );
    let mut reader = RawReader::new(&file.bytes, RawOptions::new(Compat::Llvm22)).unwrap();
    let mut records = 0;
    let error = loop {
        match reader.next_record() {
            Ok(Some(_)) => records += 1,
            Ok(None) => panic!("the file counts as failed"),
            Err(error) => break error,
        }
    };
    assert_eq!(records, 3, "all records come first");
    assert!(matches!(error.kind(), ErrorKind::CounterValueTooLarge { value: 72_057_594_037_927_937 }));
}

#[test]
fn a_trace_orders_functions_by_their_timestamps() {
    let file = File::of(&temporal_profile(ProfileKind::NONE), V10);
    let expected = format!("trace [{:x}, {:x}]", crate::model::name_ref(b"b"), crate::model::name_ref(b"a"));
    assert!(dump(&file.bytes, Compat::Profbridge).unwrap().contains(&expected));
    let file = File::of(&temporal_profile(ProfileKind::BYTE_COVERAGE), V10);
    assert!(dump(&file.bytes, Compat::Profbridge).unwrap().contains(&expected));
}

fn temporal_profile(more: ProfileKind) -> Profile {
    let mut profile = Profile { kind: ProfileKind::IR | more, ..Profile::default() };
    let names: [&[u8]; 3] = [b"a", b"b", b"never"];
    for name in names {
        let function = profile.functions.intern(name);
        profile.functions.push_record(function, &FunctionRecord::new(1, vec![1, 0, 0, 0, 0, 0, 0, 0, 0]));
    }
    let functions = [names[1], names[0]].map(crate::model::name_ref).to_vec();
    profile.temporal.traces = vec![crate::model::TemporalTrace { weight: 1, functions }];
    profile
}

#[test]
fn entry_coverage_leaves_no_room_for_timestamps() {
    // The compiler emits one byte a function even when traces are asked for.
    let kind = ProfileKind::IR | ProfileKind::BYTE_COVERAGE | ProfileKind::FUNCTION_ENTRY_ONLY;
    let mut profile = Profile { kind, ..Profile::default() };
    let f = profile.functions.intern(b"f");
    profile.functions.push_record(f, &FunctionRecord::new(1, vec![1]));
    let file = File::of(&profile, V10);
    let top = file.bytes[15] | 0x80; // bit 63 of the version word
    let file = file.put(15, &[top]);
    assert_eq!(dump(&file.bytes, Compat::Profbridge).unwrap(), "f 0x1 [1]\n");
    let invented = dump(&file.bytes, Compat::Llvm22).unwrap();
    assert!(invented.starts_with("f 0x1 []\n"), "LLVM takes the neighbours for a timestamp: {invented}");
}

#[test]
fn a_profile_without_records_needs_its_image() {
    let counters_only = || {
        let file = File::of(&Profile { binary_ids: vec![vec![0xab; 2]], ..Profile::default() }, V10);
        let mut bytes = file.bytes;
        bytes.splice(144..144, 7u64.to_le_bytes());
        File { bytes, encoding: V10 }
            .set_word(Word::NumCounters, 1)
            .set_word(Word::CountersDelta, 0)
            .set_word(Word::NamesDelta, 0)
    };
    let error = counters_only().fault();
    assert!(matches!(error.kind(), ErrorKind::MissingCorrelation), "{error}");
    let image = Hint::GiveImage { part: None, build_id: Some("abab".to_string()) };
    assert_eq!(error.hint(), Some(&image));
    assert_eq!(image.to_string(), "pass the unstripped image with build id abab");
    assert_eq!(dump(&counters_only().bytes, Compat::Llvm22).unwrap(), "", "LLVM takes it for an empty profile");

    let image = OneFunction;
    let mut options = RawOptions::new(Compat::Profbridge);
    options.correlator = Some(&image);
    let file = counters_only();
    let mut reader = RawReader::new(&file.bytes, options.clone()).unwrap();
    let item = reader.next_record().unwrap().unwrap();
    assert_eq!((item.name, item.record.counters.to_vec()), (&b"f"[..], vec![7]));
    assert!(reader.next_record().unwrap().is_none());

    let complete = File::new(V10);
    let error = RawReader::new(&complete.bytes, options).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::UnexpectedCorrelation), "{error}");
}

/// An image with a function `f` whose counter is the first of the section.
#[derive(Debug)]
struct OneFunction;

impl Correlator for OneFunction {
    fn correlate(&self, _: &Header, _: &[BinaryId]) -> Result<Arc<ImageRecords>> {
        let mut symbols = crate::model::SymbolTable::new();
        let name_ref = symbols.insert(b"f");
        let record = super::super::DataRecord { name_ref, num_counters: 1, ..Default::default() };
        Ok(Arc::new(ImageRecords::new(vec![record], super::super::RawNames::from_symbols(symbols))))
    }
}

#[test]
fn uniform_counters_are_stepped_over_and_checked() {
    let v11 = Encoding { version: 11, ..V10 };
    let file = File::new(v11);
    let reader = RawReader::new(&file.bytes, RawOptions::default()).unwrap();
    let names = reader.profile().section_range(super::super::Section::Names).start;
    let mut bytes = file.bytes.clone();
    bytes.splice(names..names, [1; 24]);
    let file = File { bytes, encoding: v11 }.set_word(Word::NumUniformCounters, 3);
    let plain = dump(&File::new(v11).bytes, Compat::Profbridge).unwrap();
    assert_eq!(dump(&file.bytes, Compat::Profbridge).unwrap(), plain);
    let pointer = file.data_start() + 24;
    let error = file.put(pointer, &[8]).fault().to_string();
    assert!(
        error.contains("number of uniform counters 3 is greater than the maximum number of uniform counters 2"),
        "{error}"
    );
}

#[test]
fn names_can_be_shared_between_files_of_one_image() {
    let (one, two) = (File::new(V10), File::new(V10));
    let options = RawOptions { known_chunks: Some(Arc::default()), ..RawOptions::default() };
    let first = RawReader::new(&one.bytes, options.clone()).unwrap();
    let options = RawOptions { names: Some(Arc::clone(first.names())), ..RawOptions::default() };
    let second = RawReader::new(&two.bytes, options.clone()).unwrap();
    assert!(Arc::ptr_eq(first.names(), second.names()));
    let mut profile = Profile::default();
    let g = profile.functions.intern(b"g");
    profile.functions.push_record(g, &FunctionRecord::new(1, vec![4]));
    let other = File::of(&profile, V10);
    let third = RawReader::new(&other.bytes, options).unwrap();
    assert!(!Arc::ptr_eq(first.names(), third.names()), "other names are read again");
}
