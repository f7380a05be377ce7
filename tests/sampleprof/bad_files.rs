//! Every file in `testdata/bad/sampleprof` (created by `bad.py` in `testdata/sampleprof`) has one defect and an
//! expected message.

use profbridge::sampleprof::{Encoding, ReadOptions, SampleProfileView, WriteOptions, llvm_message, read, write};
use std::path::{Path, PathBuf};

/// The file, our message after the format, and LLVM's message.
type Row = (&'static str, &'static str, &'static str);

const MALFORMED: &str = "Malformed sample profile data";
const TRUNCATED: &str = "Truncated profile data";
const NAMES: &str = "Truncated function name table";
const UNCOMPRESS: &str = "Uncompress failure";
const VERSION: &str = "Unsupported sample profile format version";
const LINE: &str = "Illegal line offset in sample profile data";
const OVERFLOW: &str = "Counter overflow";
const UNRECOGNIZED: &str = "Unrecognized sample profile encoding format";

const TEXTS: &[Row] = &[
    (
        "attributes-of-33-bits.prof",
        "line 2: malformed: Cannot parse metadata:  !Attributes: 4294967296",
        "Cannot parse metadata:  !Attributes: 4294967296",
    ),
    (
        "blank-at-the-end.prof",
        "line 2: malformed: Expected 'NUM[.NUM]: NUM[ mangled_name:NUM]*', found  1: 1 ",
        "Expected 'NUM[.NUM]: NUM[ mangled_name:NUM]*', found  1: 1 ",
    ),
    ("context-without-frames.prof", "line 1: malformed: a context without frames: []", MALFORMED),
    (
        "count-of-65-bits.prof",
        "line 2: malformed: Expected 'NUM[.NUM]: NUM[ mangled_name:NUM]*', found  1: 18446744073709551616",
        "Expected 'NUM[.NUM]: NUM[ mangled_name:NUM]*', found  1: 18446744073709551616",
    ),
    (
        "head-with-one-number.prof",
        "line 2: malformed: Expected 'mangled_name:NUM:NUM', found bar:1",
        "Expected 'mangled_name:NUM:NUM', found bar:1",
    ),
    ("indented-head.prof", "not a profile: unrecognized format", UNRECOGNIZED),
    (
        "line-of-33-bits.prof",
        "line 2: malformed: Expected 'NUM[.NUM]: NUM[ mangled_name:NUM]*', found  4294967296.1: 1",
        "Expected 'NUM[.NUM]: NUM[ mangled_name:NUM]*', found  4294967296.1: 1",
    ),
    (
        "line-too-large.prof",
        "line 2: malformed: Expected 'NUM[.NUM]: NUM[ mangled_name:NUM]*', found  65536: 1",
        "Expected 'NUM[.NUM]: NUM[ mangled_name:NUM]*', found  65536: 1",
    ),
    (
        "location-is-no-number.prof",
        "line 2: malformed: Expected 'NUM[.NUM]: NUM[ mangled_name:NUM]*', found  x",
        "Expected 'NUM[.NUM]: NUM[ mangled_name:NUM]*', found  x",
    ),
    (
        "negative-count.prof",
        "line 2: malformed: Expected 'NUM[.NUM]: NUM[ mangled_name:NUM]*', found  1: a:-3",
        "Expected 'NUM[.NUM]: NUM[ mangled_name:NUM]*', found  1: a:-3",
    ),
    ("only-a-name.prof", "not a profile: unrecognized format", UNRECOGNIZED),
    (
        "samples-after-metadata.prof",
        "line 3: malformed: Found non-metadata after metadata:  1: 1",
        "Found non-metadata after metadata:  1: 1",
    ),
    ("sum-overflows.prof", "malformed: the sum of the counts of one line location exceeds 2^64 - 1", OVERFLOW),
    (
        "tab-for-blank.prof",
        "line 2: malformed: Expected 'mangled_name:NUM:NUM', found \\t1: 1",
        "Expected 'mangled_name:NUM:NUM', found \t1: 1",
    ),
    (
        "target-without-count.prof",
        "line 2: malformed: Expected 'NUM[.NUM]: NUM[ mangled_name:NUM]*', found  1: 1 a:b",
        "Expected 'NUM[.NUM]: NUM[ mangled_name:NUM]*', found  1: 1 a:b",
    ),
    (
        "unknown-metadata.prof",
        "line 2: malformed: Cannot parse metadata:  !Checksum: 5",
        "Cannot parse metadata:  !Checksum: 5",
    ),
    (
        "vtable-twice.prof",
        "line 2: malformed: Expected 'vtables [mangled_vtable:NUM]+', found  1: vtables A:1 A:2",
        "Expected 'vtables [mangled_vtable:NUM]+', found  1: vtables A:1 A:2",
    ),
];

const BINARIES: &[Row] = &[
    ("callee-out-of-range.binary", "section records, byte 0x1d: malformed: name 9 of 1", NAMES),
    (
        "deep-inlining.binary",
        "section records, byte 0x178d: depth of inlined callees is 1001, the limit is 1000",
        MALFORMED,
    ),
    (
        "ends-behind-version.binary",
        "section summary, byte 0xa: truncated: total count needs 1 bytes, 0 left",
        TRUNCATED,
    ),
    ("ends-in-body.binary", "section records, byte 0x19: truncated: line number needs 1 bytes, 0 left", TRUNCATED),
    (
        "ends-in-summary.binary",
        "section summary, byte 0xd: truncated: number of counts needs 1 bytes, 0 left",
        TRUNCATED,
    ),
    ("fewer-names-than-stated.binary", "section names, byte 0x11: truncated: names needs 5 bytes, 2 left", TRUNCATED),
    (
        "huge-number-of-names.binary",
        "section names, byte 0x1a: truncated: names needs 9223372036854775808 bytes, 2 left",
        TRUNCATED,
    ),
    (
        "huge-number-of-places.binary",
        "section records, byte 0x1d: truncated: line number needs 1 bytes, 0 left",
        TRUNCATED,
    ),
    (
        "line-too-large.binary",
        "section records, byte 0x19: malformed: line 65536 of a function is not below 65536",
        LINE,
    ),
    ("name-out-of-range.binary", "section records, byte 0x17: malformed: name 1 of 1", NAMES),
    (
        "name-without-end.binary",
        "section names, byte 0x11: truncated: a name and the NUL after it needs 4 bytes, 3 left",
        TRUNCATED,
    ),
    (
        "number-of-callees-of-33-bits.binary",
        "section records, byte 0x19: malformed: number of inlined callees 4294967296 does not fit 32 bits",
        MALFORMED,
    ),
    (
        "number-of-places-of-33-bits.binary",
        "section records, byte 0x18: malformed: number of line locations 4294967296 does not fit 32 bits",
        MALFORMED,
    ),
    (
        "number-of-targets-of-33-bits.binary",
        "section records, byte 0x1c: malformed: number of call targets 4294967296 does not fit 32 bits",
        MALFORMED,
    ),
    (
        "number-without-end.binary",
        "section records, byte 0x21: malformed: total of a record does not fit 64 bits",
        MALFORMED,
    ),
    ("target-out-of-range.binary", "section records, byte 0x1e: malformed: name 9 of 1", NAMES),
    (
        "version-102.binary",
        "section header, byte 0xa: version 102 is not supported: supported versions are 103 and 104",
        VERSION,
    ),
    (
        "version-105.binary",
        "section header, byte 0xa: version 105 is not supported: it was written by a release after LLVM 23; supported versions are 103 and 104",
        VERSION,
    ),
];

const EXTENSIBLE_BINARIES: &[Row] = &[
    (
        "attributes-of-33-bits.extbinary",
        "section FunctionMetadata, byte 0x7d: malformed: attributes 4294967296 does not fit 32 bits",
        MALFORMED,
    ),
    ("context-out-of-range.extbinary", "section LBRProfileSection, byte 0xa0: malformed: name 0 of 0", NAMES),
    (
        "context-without-frames.extbinary",
        "section LBRProfileSection, byte 0xa1: malformed: a context without frames",
        MALFORMED,
    ),
    ("contexts-of-13.extbinary", "section LBRProfileSection, byte 0x83: malformed: name 0 of 0", NAMES),
    (
        "deep-metadata.extbinary",
        "section FunctionMetadata, byte 0x140a: depth of inlined callees is 1001, the limit is 1000",
        MALFORMED,
    ),
    (
        "ends-behind-version.extbinary",
        "section header table, byte 0xa: truncated: number of sections needs 8 bytes, 0 left",
        TRUNCATED,
    ),
    (
        "ends-in-table.extbinary",
        "section header table, byte 0x12: truncated: table of sections needs 32 bytes, 12 left",
        TRUNCATED,
    ),
    (
        "ends-in-vtables.extbinary",
        "section LBRProfileSection, byte 0x84: truncated: discriminator of vtables needs 1 bytes, 0 left",
        TRUNCATED,
    ),
    (
        "fewer-contexts-than-stated.extbinary",
        "section CSNameTableSection, byte 0x58: truncated: contexts needs 2 bytes, 1 left",
        TRUNCATED,
    ),
    (
        "fewer-frames-than-stated.extbinary",
        "section CSNameTableSection, byte 0x59: truncated: frames needs 27 bytes, 1 left",
        TRUNCATED,
    ),
    (
        "fewer-hashes-than-stated.extbinary",
        "section NameTableSection, byte 0x33: truncated: names needs 16 bytes, 8 left",
        TRUNCATED,
    ),
    ("frame-out-of-range.extbinary", "section CSNameTableSection, byte 0x5a: malformed: name 7 of 1", NAMES),
    (
        "huge-number-of-hashes.extbinary",
        "section NameTableSection, byte 0x3b: truncated: names needs 18446744073709551615 bytes, 8 left",
        TRUNCATED,
    ),
    (
        "huge-number-of-sections.extbinary",
        "section header table, byte 0x12: truncated: table of sections needs 18446744073709551615 bytes, 0 left",
        TRUNCATED,
    ),
    (
        "inflates-to-less.extbinary",
        "section NameTableSection, byte 0x32: malformed: the stream inflates to 5 bytes, not to the stated 6",
        MALFORMED,
    ),
    (
        "inflates-to-more.extbinary",
        "section NameTableSection, byte 0x32: cannot decompress: the stream does not inflate to the stated 4 bytes",
        UNCOMPRESS,
    ),
    (
        "inflates-to-terabytes.extbinary",
        "section NameTableSection, byte 0x32: cannot decompress: 13 bytes cannot inflate to 4398046511104, the limit is 14300",
        UNCOMPRESS,
    ),
    (
        "line-of-frame-too-large.extbinary",
        "section CSNameTableSection, byte 0x5d: malformed: line 65536 of a frame is not below 65536",
        LINE,
    ),
    (
        "metadata-cut.extbinary",
        "section FunctionMetadata, byte 0x7e: truncated: number of inlined callees needs 1 bytes, 0 left",
        TRUNCATED,
    ),
    ("metadata-of-no-function.extbinary", "section FunctionMetadata, byte 0x7d: malformed: name 6 of 1", NAMES),
    ("records-before-names.extbinary", "section LBRProfileSection, byte 0x54: malformed: name 0 of 0", NAMES),
    (
        "rest-behind-contexts.extbinary",
        "section CSNameTableSection, byte 0x58: malformed: 1 bytes are left at the end of the section",
        MALFORMED,
    ),
    (
        "rest-behind-names.extbinary",
        "section NameTableSection, byte 0x37: malformed: 1 bytes are left at the end of the section",
        MALFORMED,
    ),
    (
        "rest-behind-summary.extbinary",
        "section ProfileSummarySection, byte 0x38: malformed: 1 bytes are left at the end of the section",
        MALFORMED,
    ),
    (
        "section-behind-the-end.extbinary",
        "section NameTableSection, byte 0x10000000000: truncated: a section needs 5 bytes, 0 left",
        TRUNCATED,
    ),
    (
        "section-offset-wraps.extbinary",
        "section NameTableSection, byte 0xffffffffffffffff: truncated: a section needs 5 bytes, 0 left",
        TRUNCATED,
    ),
    (
        "section-too-long.extbinary",
        "section NameTableSection, byte 0x32: truncated: a section needs 500 bytes, 5 left",
        TRUNCATED,
    ),
    (
        "stream-is-cut.extbinary",
        "section NameTableSection, byte 0x32: cannot decompress: the stream does not inflate to the stated 5 bytes",
        UNCOMPRESS,
    ),
    (
        "stream-is-none.extbinary",
        "section NameTableSection, byte 0x32: cannot decompress: deflate decompression error: incorrect header check",
        UNCOMPRESS,
    ),
    (
        "symbol-without-end.extbinary",
        "section ProfileSymbolListSection, byte 0x57: malformed: a symbol is not terminated by NUL",
        MALFORMED,
    ),
    (
        "unknown-section-does-not-inflate.extbinary",
        "section UnknownSection, byte 0x57: cannot decompress: deflate decompression error: incorrect header check",
        UNCOMPRESS,
    ),
    (
        "version-105.extbinary",
        "section header, byte 0xa: version 105 is not supported: it was written by a release after LLVM 23; supported versions are 103 and 104",
        VERSION,
    ),
    ("vtable-out-of-range.extbinary", "section LBRProfileSection, byte 0x87: malformed: name 4 of 1", NAMES),
];

const COMPACT_BINARIES: &[Row] = &[
    (
        "another-function.compact",
        "section records, byte 0x20: malformed: the offset in the function table is that of another function",
        MALFORMED,
    ),
    (
        "fewer-functions-than-stated.compact",
        "section table of functions, byte 0x23: truncated: index of a name needs 1 bytes, 0 left",
        TRUNCATED,
    ),
    (
        "huge-number-of-functions.compact",
        "section table of functions, byte 0x2c: truncated: index of a name needs 1 bytes, 0 left",
        TRUNCATED,
    ),
    ("name-out-of-range.compact", "section table of functions, byte 0x22: malformed: name 3 of 1", NAMES),
    (
        "record-behind-the-table.compact",
        "truncated: the target of an offset needs 1099511627776 bytes, 32 left",
        TRUNCATED,
    ),
    (
        "table-behind-the-end.compact",
        "truncated: the target of an offset needs 18446744073709551615 bytes, 32 left",
        TRUNCATED,
    ),
];

const OF_GCC: &[Row] = &[
    (
        "deep-inlining.gcda",
        "section functions, byte 0x3ec8: depth of inlined callees is 1001, the limit is 1000",
        MALFORMED,
    ),
    (
        "ends-in-function.gcda",
        "section functions, byte 0x44: truncated: number of call targets needs 4 bytes, 0 left",
        TRUNCATED,
    ),
    (
        "fewer-names-than-stated.gcda",
        "section names, byte 0x18: truncated: length of a name needs 4 bytes, 0 left",
        TRUNCATED,
    ),
    ("huge-name.gcda", "section names, byte 0x1c: truncated: name needs 17179869180 bytes, 4 left", TRUNCATED),
    ("name-out-of-range.gcda", "section functions, byte 0x38: malformed: name 3 of 1", NAMES),
    ("no-functions.gcda", "section functions, byte 0x20: truncated: tag needs 4 bytes, 0 left", TRUNCATED),
    ("other-histogram.gcda", "section functions, byte 0x54: malformed: a histogram of kind 6, expected 7", MALFORMED),
    ("other-tag.gcda", "section names, byte 0x10: malformed: tag 0x7, expected 0xaa000000", MALFORMED),
    ("other-version-of-gcc.gcda", "not a profile: unrecognized format", UNRECOGNIZED),
    ("target-out-of-range.gcda", "section functions, byte 0x5c: malformed: name 9 of 1", NAMES),
];

const ALL: [&[Row]; 5] = [TEXTS, BINARIES, EXTENSIBLE_BINARIES, COMPACT_BINARIES, OF_GCC];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/bad/sampleprof")
}

#[test]
fn each_defect_has_its_message() {
    let mut faults = Vec::new();
    for (file, ours, llvms) in ALL.into_iter().flatten() {
        let bytes = std::fs::read(folder().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        match read(&bytes, &ReadOptions::default()) {
            Ok(_) => faults.push(format!("{file} is read")),
            Err(error) if !error.to_string().ends_with(ours) => faults.push(format!("{file}: {error}")),
            Err(error) if llvm_message(&error) != *llvms => {
                faults.push(format!("{file}, in LLVM's words: {}", llvm_message(&error)));
            }
            Err(_) => {}
        }
        // Single functions may be readable even if others are not. Nothing panics.
        if let Ok(Some(view)) = SampleProfileView::open(&bytes, &ReadOptions::default()) {
            let _ = view.function(b"foo");
            let _ = view.check_offsets();
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn each_file_has_its_row() {
    let mut known: Vec<String> = ALL.into_iter().flatten().map(|row| row.0.to_string()).collect();
    known.sort();
    let mut found: Vec<String> = std::fs::read_dir(folder())
        .expect("the folder is there")
        .map(|entry| entry.expect("the folder can be read").file_name().to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(found, known);
}

/// Sets flags of the first section of a kind in an extensible binary. The number of sections is at byte 10, followed by
/// their rows.
fn with_flags(file: &[u8], kind: u64, flags: u64) -> Vec<u8> {
    let mut bytes = file.to_vec();
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("eight bytes are left"));
    let count = word(&bytes, 10) as usize;
    let rows = (0..count).map(|row| 18 + 32 * row);
    let at = rows.into_iter().find(|at| word(&bytes, *at) == kind && word(&bytes, at + 24) > 0);
    let at = at.expect("the file has the section") + 8;
    let flags = word(&bytes, at) | flags;
    bytes[at..at + 8].copy_from_slice(&flags.to_le_bytes());
    bytes
}

/// LLVM 24's `--md5-indexed-tables`: three numbers, then hashes in the order of search trees.
#[test]
fn name_tables_of_search_trees_are_read() {
    let text = b"main:30:1\n 1: 10 callee:4\nother:20:2\n 1: 20\n";
    let profile = read(text, &ReadOptions::default()).expect("the profile is valid");
    let mut options = WriteOptions::default();
    (options.use_md5, options.encoding) = (true, Encoding::ExtBinary);
    let file = write(&profile, &options).expect("it can be written");
    let expected = read(&file, &ReadOptions::default()).expect("it is valid");
    let word = |bytes: &[u8], at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().expect("eight bytes are left"));
    let row = (0..word(&file, 10) as usize).map(|row| 18 + 32 * row).find(|at| word(&file, *at) == 2).expect("names");
    let (start, size) = (word(&file, row + 16) as usize, word(&file, row + 24) as usize);
    assert_eq!((file[start], size), (3, 25), "three hashes after their number");
    let hashes = &file[start + 1..start + size];
    let words = [1u64, 1, 1].map(u64::to_le_bytes).concat();
    for (numbers, is_read) in [(&[1, 1, 1][..], true), (&words, true), (&[1, 1, 2], false), (&[1, 1], false)] {
        let section = [numbers, hashes].concat();
        // The section grows, so it goes to the end of the file.
        let mut bytes = with_flags(&with_flags(&file, 2, 1 << 35), 4, 1 << 33);
        let end = bytes.len() as u64;
        bytes.extend_from_slice(&section);
        bytes[row + 16..row + 24].copy_from_slice(&end.to_le_bytes());
        bytes[row + 24..row + 32].copy_from_slice(&(section.len() as u64).to_le_bytes());
        let found = read(&bytes, &ReadOptions::default());
        assert_eq!(found.is_ok(), is_read, "{numbers:?}");
        let Ok(found) = found else { continue };
        assert_eq!((&found.functions, found.stated.hashed), (&expected.functions, true), "{numbers:?}");
        assert!(SampleProfileView::open(&bytes, &ReadOptions::default()).is_ok_and(|view| view.is_none()));
    }
}

/// An unknown flag may change the layout of a section, so its bytes must not be read as names.
#[test]
fn unknown_flags_of_sections_are_errors() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/sampleprof");
    let plain = std::fs::read(folder.join("plain-22.ext")).expect("the profile is there");
    let cases = [
        (2, 35, "reading a name table of MD5 search trees in this form is not supported"),
        (2, 40, "reading a section with the unknown flags 0x10000000000 is not supported"),
        (32, 32, "reading a section with the unknown flags 0x100000000 is not supported"),
        (3, 32, "reading LLVM 24's symbol list of MD5 hashes is not supported"),
        (1, 2, "reading a section with the unknown flags 0x4 is not supported"),
    ];
    for (kind, bit, message) in cases {
        let bytes = with_flags(&plain, kind, 1 << bit);
        let error = read(&bytes, &ReadOptions::default()).expect_err(message);
        assert!(error.to_string().ends_with(message), "{error}");
        assert_eq!(llvm_message(&error), VERSION);
        // The view of single functions does not read the symbols.
        assert_eq!(SampleProfileView::open(&bytes, &ReadOptions::default()).is_err(), kind != 3, "{message}");
        // llvm-profdata 22 ignores the flags.
        let mut as_llvm = ReadOptions::default();
        as_llvm.every_release = false;
        assert!(read(&bytes, &as_llvm).is_ok(), "{message}");
    }
}
