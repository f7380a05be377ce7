//! Tests of the layout of uniformity data in files, and of damaged files.

use crate::generate::{ENCODINGS, raw_file};
use profbridge::Compat;
use profbridge::bytes::Encoding;
use profbridge::indexed::{self, IndexedReader, ReadOptions, WriteOptions};
use profbridge::instr::show::{self, ShowOptions};
use profbridge::instr::{
    FunctionRecord, Loss, Profile, ProfileKind, ProfileReader, RecordView, TemporalTrace, name_ref,
};
use profbridge::raw::{self, RawOptions, RawReader};
use profbridge::text::{self, TextOptions};

/// Returns a profile with one function `f` with one record.
fn profile(record: &FunctionRecord) -> Profile {
    let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
    let function = profile.functions.intern(b"f");
    profile.functions.push_record(function, record);
    profile
}

fn record(counters: &[u64], counts: &[u64], bits: &[u8], bitmap: &[u8]) -> FunctionRecord {
    let mut record = FunctionRecord::new(100, counters.to_vec());
    record.uniformity.counts = counts.to_vec();
    record.uniformity.bits = bits.to_vec();
    record.bitmap = bitmap.to_vec();
    record
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The offset of the data of the only name in an indexed file of version 14.
const DATA: usize = 72 + 448 + 2 + 24 + 1;

fn indexed_14(record: &FunctionRecord) -> Vec<u8> {
    indexed::write(&profile(record), &WriteOptions::for_version(14)).expect("the profile is small")
}

/// Returns the record of an indexed file, or the message of its fault.
fn read_indexed(file: &[u8]) -> Result<FunctionRecord, String> {
    let words = |error: profbridge::Error| error.to_string();
    let mut reader = IndexedReader::new(file, ReadOptions::default()).map_err(words)?;
    let found = reader.next_record().map_err(words)?.expect("the file has a record");
    Ok(found.record.to_record())
}

#[test]
fn bitmaps_and_bits_are_packed_and_padded() {
    let bitmap: Vec<u8> = (1..=11).collect();
    let file = indexed_14(&record(&[10, 20], &[], &[], &bitmap));
    let mut expected = words(&[100, 2, 10, 20, 11, 0x0807_0605_0403_0201, 0x0b_0a09]);
    expected.extend(words(&[0, 8]));
    assert_eq!(file[DATA..DATA + 72], expected);
    // U U D U D D U U D
    let file = indexed_14(&record(&[1; 9], &[], &[0xcb, 0xfe], &[]));
    let mut expected = words(&[100, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2]);
    expected.extend([0xcb, 0xfe, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(file[DATA..DATA + expected.len()], expected);
}

#[test]
fn any_number_of_bits_is_kept_and_padding_is_not_looked_at() {
    let long = record(&[1, 2, 3], &[], &[1, 2, 3, 4, 5, 6, 7, 8, 9], &[7]);
    let file = indexed_14(&long);
    assert_eq!(read_indexed(&file).as_ref(), Ok(&long));
    let mut padded = file.clone();
    let bits = DATA + 8 * (2 + 3 + 1);
    assert_eq!(padded[bits], 7);
    padded[bits + 1..bits + 8].fill(0xee);
    assert_eq!(read_indexed(&padded).as_ref(), Ok(&long));
    assert_eq!(indexed_14(&read_indexed(&padded).expect("it was read before")), file);
}

#[test]
fn lengths_beyond_the_data_are_malformed() {
    let file = indexed_14(&record(&[10, 20], &[], &[0xff], &[1, 2]));
    let (bitmap, uniformity) = (DATA + 8 * 4, DATA + 8 * 6);
    for (at, field) in [(bitmap, "bitmap bytes"), (uniformity, "uniformity bits")] {
        for length in [100, 1 << 61, u64::MAX - 8, u64::MAX - 7, u64::MAX - 6, u64::MAX] {
            let mut damaged = file.clone();
            damaged[at..at + 8].copy_from_slice(&length.to_le_bytes());
            let message = read_indexed(&damaged).expect_err("the length is wrong");
            let place = format!("indexed v14, section function records, byte {:#x}: malformed: {field} needs", at + 8);
            assert!(message.starts_with(&place), "{length}: {message}");
        }
    }
}

#[test]
fn every_older_version_and_text_report_their_losses() {
    let profile = profile(&record(&[10, 20, 30], &[], &[0xfd], &[]));
    let words = |losses: Vec<Loss>| losses.iter().map(Loss::to_string).collect::<Vec<_>>();
    for version in [3, 10, 11, 12, 13] {
        let losses = words(indexed::losses(&profile, &WriteOptions::for_version(version)));
        assert_eq!(losses[0], "3 uniformity bits of blocks", "version {version}");
    }
    assert!(indexed::losses(&profile, &WriteOptions::for_version(14)).is_empty());
    let of_text = text::losses(&profile, &TextOptions::new(Compat::Profbridge));
    assert_eq!(words(of_text), ["3 uniformity bits of blocks"]);
    for version in [10, 11] {
        let options = raw::WriteOptions::new(encoding(version));
        assert_eq!(words(raw::losses(&profile, &options).expect("a known version")), ["3 uniformity bits of blocks"]);
    }
}

fn encoding(version: u32) -> Encoding {
    let (pointer, endian) = ENCODINGS[0];
    Encoding { endian, pointer, version }
}

#[test]
fn raw_files_hold_uniform_counts_of_all_records_or_of_none() {
    let whole = profile(&record(&[10, 20], &[9, 3], &[0xfd], &[]));
    let options = raw::WriteOptions::new(encoding(11));
    assert_eq!(raw::losses(&whole, &options).expect("a known version"), []);
    let file = raw_file(&whole, ENCODINGS[0]);
    let counts = read_raw(&file).map(|record| record.uniformity.counts);
    assert_eq!(counts, Ok(vec![9, 3]));
    let mut mixed = whole.clone();
    let other = mixed.functions.intern(b"g");
    mixed.functions.push_record(other, &record(&[1], &[], &[], &[]));
    let losses = raw::losses(&mixed, &options).expect("a known version");
    let words: Vec<String> = losses.iter().map(Loss::to_string).collect();
    assert_eq!(words, ["2 uniformity bits of blocks", "2 uniform counts of blocks"]);
    let older = raw::losses(&whole, &raw::WriteOptions::new(encoding(10))).expect("a known version");
    assert_eq!(older.len(), 2);
}

/// Returns the first record of a raw file, or the message of its fault.
fn read_raw(file: &[u8]) -> Result<FunctionRecord, String> {
    let words = |error: profbridge::Error| error.to_string();
    let mut reader = RawReader::new(file, RawOptions::new(Compat::Profbridge)).map_err(words)?;
    Ok(reader.next_record().map_err(words)?.expect("the file has a record").record.to_record())
}

#[test]
fn pointers_to_uniform_counters_must_lie_in_their_section() {
    let file = raw_file(&profile(&record(&[10, 20], &[9, 3], &[], &[])), ENCODINGS[0]);
    // The record follows the header. Its third pointer follows two hashes.
    let (header, pointer) = (152, 152 + 24);
    let at = u64::from_le_bytes(file[pointer..pointer + 8].try_into().expect("8 bytes"));
    let section = header + 72 + 16;
    assert_eq!(at as usize, section - header);
    for (offset, message) in [
        (-8, "uniform counter offset -8 is negative"),
        (16, "uniform counter offset 16 is greater than the maximum uniform counter offset 15"),
        (8, "number of uniform counters 2 is greater than the maximum number of uniform counters 1"),
        (1, "number of uniform counters 2 is greater than the maximum number of uniform counters 1"),
    ] {
        let mut damaged = file.clone();
        damaged[pointer..pointer + 8].copy_from_slice(&at.wrapping_add_signed(offset).to_le_bytes());
        let found = read_raw(&damaged).expect_err("the pointer is wrong");
        assert!(found.starts_with("raw v11"), "{found}");
        assert!(
            found.contains(&format!("malformed: record 0 (NameRef {:#018x}): {message}", name_ref(b"f"))),
            "{found}"
        );
    }
    // The fault of the counters is reported first.
    let mut damaged = file.clone();
    damaged[pointer..pointer + 8].fill(0xff);
    damaged[pointer - 8..pointer].fill(0xff);
    assert!(read_raw(&damaged).expect_err("both are wrong").contains(": counter offset"));
}

#[test]
fn a_timestamp_leaves_no_bits() {
    // The uniform counters have one counter more than the record.
    let mut timed = profile(&record(&[10, 20], &[0, 10, 20], &[], &[]));
    timed.kind |= ProfileKind::TEMPORAL;
    timed.temporal.traces.push(TemporalTrace { weight: 1, functions: vec![name_ref(b"f")] });
    let file = raw_file(&timed, ENCODINGS[0]);
    let read = read_raw(&file).expect("the file is sound");
    assert_eq!((read.counters.len(), read.uniformity.counts.len()), (2, 3));
    assert!(read.uniformity.derived_bits(&read.counters).is_empty());
}

fn shown(kind: ProfileKind, record: &FunctionRecord) -> String {
    let mut profile = profile(record);
    profile.kind = kind;
    let file = indexed::write(&profile, &WriteOptions::for_version(14)).expect("the profile is small");
    let mut reader = IndexedReader::new(&file, ReadOptions::default()).expect("the file is sound");
    let mut options = ShowOptions::default();
    (options.all_functions, options.counts) = (true, true);
    let mut out = Vec::new();
    show::show(&mut reader, &options, &|_, _, _, _| Ok(()), &mut out).expect("the profile can be shown");
    let text = String::from_utf8(out).expect("text");
    text.lines().filter(|line| line.contains("Block")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn show_has_a_letter_for_each_block() {
    let gpu = record(&[100, 90, 89, 10], &[], &[0b1111_1011], &[]);
    assert_eq!(
        shown(ProfileKind::IR, &gpu),
        "    Block counts: [100, 90, 89, 10]\n    Block uniformity: [U, U, D, U]\n"
    );
    // Front-end profiles show the first counter at another position.
    assert_eq!(shown(ProfileKind::NONE, &gpu), "    Block counts: [90, 89, 10]\n    Block uniformity: [U, D, U]\n");
    let single = record(&[1], &[], &[0], &[]);
    assert_eq!(shown(ProfileKind::NONE, &single), "    Block counts: []\n    Block uniformity: []\n");
    // After the last bit, everything is uniform.
    let short = record(&[1; 10], &[], &[0], &[]);
    let letters = "D, D, D, D, D, D, D, D, U, U";
    assert!(shown(ProfileKind::IR, &short).ends_with(&format!("    Block uniformity: [{letters}]\n")));
    assert!(!shown(ProfileKind::IR, &record(&[1], &[], &[], &[])).contains("uniformity"));
}

#[test]
fn records_are_equal_when_their_uniformity_is() {
    let (one, other) = (record(&[1], &[], &[1], &[]), record(&[1], &[], &[3], &[]));
    assert_ne!(RecordView::from(&one), RecordView::from(&other));
}
