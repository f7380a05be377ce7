//! One file for each thing that can be wrong, with what is said about it.

use profbridge::sampleprof::{Encoding, ReadOptions, WriteOptions, llvm_message, read, write};

/// Our words and LLVM's.
#[track_caller]
fn assert_refused(bytes: &[u8], ours: &str, llvms: &str) {
    let error = read(bytes, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains(ours), "{error}");
    assert_eq!(llvm_message(&error), llvms);
}

const MALFORMED: &str = "Malformed sample profile data";
const TRUNCATED: &str = "Truncated profile data";
const NAMES: &str = "Truncated function name table";
const PLAIN: [u8; 10] = [0xff, 0xe5, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67];
const EXT: [u8; 10] = [0x84, 0xe4, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67];

#[test]
fn texts() {
    let line = "Expected 'NUM[.NUM]: NUM[ mangled_name:NUM]*', found ";
    let cases = [
        ("foo:1:1\n x\n", format!("{line} x")),
        ("foo:1:1\n 65536: 1\n", format!("{line} 65536: 1")),
        ("foo:1:1\n 1: 1 \n", format!("{line} 1: 1 ")),
        ("foo:1:1\n 1: 1 a:b\n", format!("{line} 1: 1 a:b")),
        ("foo:1:1\n 1: a:-3\n", format!("{line} 1: a:-3")),
        ("foo:1:1\n 1: 99999999999999999999\n", format!("{line} 1: 99999999999999999999")),
        ("foo:1:1\nbar:1\n", "Expected 'mangled_name:NUM:NUM', found bar:1".to_string()),
        ("foo:1:1\n !Checksum: 5\n", "Cannot parse metadata:  !Checksum: 5".to_string()),
        ("foo:1:1\n !Attributes: 4294967296\n", "Cannot parse metadata:  !Attributes: 4294967296".to_string()),
        (
            "foo:1:1\n 1: vtables A:1 A:2\n",
            "Expected 'vtables [mangled_vtable:NUM]+', found  1: vtables A:1 A:2".to_string(),
        ),
        ("foo:1:1\n !CFGChecksum: 1\n 1: 1\n", "Found non-metadata after metadata:  1: 1".to_string()),
    ];
    for (text, expected) in cases {
        assert_refused(text.as_bytes(), &expected, &expected);
    }
    assert_refused(b"[]:1:1\n", "line 1: malformed: a context without frames: []", MALFORMED);
    let overflow = format!("foo:{0}:1\nfoo:1:1\n", u64::MAX);
    assert_refused(overflow.as_bytes(), "counts of one place add up to more than 2^64 - 1", "Counter overflow");
}

#[test]
fn other_files() {
    for bytes in [&b""[..], b"foo\n", b"  foo:1:1\n", b"{\"version\": 1}", b"\xfflprofi\x81", b"adcg*705\0\0\0\0"] {
        assert_refused(bytes, "not a profile: unrecognized format", "Unrecognized sample profile encoding format");
    }
}

/// Magic, version, an empty summary, these names, and what follows.
fn plain(names: &[u8], rest: &[u8]) -> Vec<u8> {
    [&PLAIN[..], &[0; 6], names, rest].concat()
}

#[test]
fn plain_binaries() {
    let mut other_version = PLAIN.to_vec();
    other_version[9] = 105;
    assert_refused(&other_version, "version 105 is not supported", "Unsupported sample profile format version");
    assert_refused(&PLAIN, "section summary, byte 0xa: truncated: total count", TRUNCATED);
    assert_refused(&plain(&[5], b"a\0"), "section names, byte 0x11: truncated: names needs 5 bytes, 2 left", TRUNCATED);
    assert_refused(&plain(&[1], b"abc"), "a name and the NUL behind it", TRUNCATED);
    let foo = [&[1], &b"foo\0"[..]].concat();
    assert_refused(&plain(&foo, &[1, 1]), "malformed: name 1 of 1", NAMES);
    assert_refused(&plain(&foo, &[1, 0, 5, 1]), "truncated: line of a place", TRUNCATED);
    assert_refused(&plain(&foo, &[1, 0, 5, 1, 1, 0, 5, 1, 9, 1]), "malformed: name 9 of 1", NAMES);
    let large = [1, 0, 5, 0x80, 0x80, 0x80, 0x80, 0x10];
    assert_refused(&plain(&foo, &large), "number of places 4294967296 does not fit 32 bits", MALFORMED);
    let line = [1, 0, 5, 1, 0x80, 0x80, 4, 0, 1, 0, 0];
    let illegal = "Illegal line offset in sample profile data";
    assert_refused(&plain(&foo, &line), "line 65536 of a function is not below 65536", illegal);
    let endless = [1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    assert_refused(&plain(&foo, &endless), "total of a record does not fit 64 bits", MALFORMED);
    // Each level: total, no place, one callee at line 0 that is function 0.
    let mut deep = vec![1, 0];
    (0..1200).for_each(|_| deep.extend([1, 0, 1, 0, 0, 0]));
    assert_refused(&plain(&foo, &deep), "depth of inlined callees is 1001, the limit is 1000", MALFORMED);
}

/// A table with one section, and what stands behind it.
fn ext(kind: u64, flags: u64, offset: u64, size: u64, content: &[u8]) -> Vec<u8> {
    let words = [1, kind, flags, offset, size].map(u64::to_le_bytes).concat();
    [&EXT[..], &words, content].concat()
}

#[test]
fn extensible_binaries() {
    assert_refused(&EXT, "section table of sections, byte 0xa: truncated: number of sections", TRUNCATED);
    let many = [&EXT[..], &u64::MAX.to_le_bytes()].concat();
    assert_refused(&many, "truncated: table of sections needs", TRUNCATED);
    assert_refused(
        &ext(2, 0, 1 << 40, 4, b""),
        "section NameTableSection, byte 0x10000000000: truncated: a section",
        TRUNCATED,
    );
    assert_refused(&ext(2, 0, u64::MAX, 4, b""), "truncated: a section", TRUNCATED);
    assert_refused(
        &ext(2, 0, 50, 4, b"\x01a\0xyz"),
        "byte 0x35: malformed: 1 bytes are left behind what the section holds",
        MALFORMED,
    );
    assert_refused(&ext(2, 3 << 32, 50, 9, b"\xff\xff\xff\xff\x0f\0\0\0\0"), "truncated: names", TRUNCATED);
    assert_refused(&ext(32, 0, 50, 2, b"\x01\0"), "malformed: name 0 of 0", NAMES);
    assert_refused(&ext(6, 0, 50, 2, b"\x02\0"), "truncated: contexts needs 2 bytes", TRUNCATED);
    assert_refused(&ext(6, 0, 50, 3, b"\x01\x09\0"), "truncated: frames needs 27 bytes", TRUNCATED);
    assert_refused(&ext(3, 0, 50, 3, b"abc"), "a name and the NUL behind it", TRUNCATED);
    let bomb = b"\xff\xff\xff\xff\xff\x0f\x03abc";
    assert_refused(
        &ext(2, 1, 50, 10, bomb),
        "cannot decompress: 549755813887 bytes cannot come of 3",
        "Uncompress failure",
    );
    assert_refused(&ext(2, 1, 50, 5, b"\x04\x03abc"), "cannot decompress", "Uncompress failure");
    assert_refused(&ext(2, 1, 50, 3, b"\x04\x7fa"), "cannot decompress", "Uncompress failure");
    // A section that nobody reads may say what it likes; what is empty counts for nothing.
    assert!(read(&ext(4, 0, 50, 2, b"xy"), &ReadOptions::default()).unwrap().functions.is_empty());
    assert!(read(&ext(2, 1, 1 << 50, 0, b""), &ReadOptions::default()).unwrap().functions.is_empty());
}

#[test]
fn gcc_and_compact_binaries() {
    let words =
        |words: &[u32]| [&b"adcg*704"[..], &words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>()].concat();
    const NAME: u32 = u32::from_le_bytes(*b"foo\0");
    assert_refused(&words(&[0, 7]), "malformed: tag 0x7, expected 0xaa000000", MALFORMED);
    assert_refused(&words(&[0, 0xaa00_0000, 0, 9]), "truncated: length of a name", TRUNCATED);
    let head = [0, 0xaa00_0000, 0, 1, 1, NAME, 0xac00_0000, 0, 1, 5, 0];
    assert_refused(&words(&[&head[..], &[3]].concat()), "malformed: name 3 of 1", NAMES);
    let histogram = [&head[..], &[0, 1, 0, 1, 1, 5, 0, 6]].concat();
    assert_refused(&words(&histogram), "a histogram of kind 6, expected 7", MALFORMED);
    let sound = read(&words(&[&head[..], &[0, 1, 0, 3 << 16 | 2, 0, 9, 0]].concat()), &ReadOptions::default()).unwrap();
    let mut text = WriteOptions::default();
    text.encoding = Encoding::Text;
    assert_eq!(write(&sound, &text).unwrap(), b"foo:9:5\n 3.2: 9\n");
    let mut compact = [&PLAIN[..], &[0; 6], &[1, 5], &u64::MAX.to_le_bytes()].concat();
    compact[..2].copy_from_slice(&[0x82, 0xe4]);
    assert_refused(&compact, "truncated: what an offset leads to", TRUNCATED);
}

#[test]
fn encodings_that_cannot_hold_a_profile() {
    let contexts = read(b"[a:1 @ b]:1:1\n 1: 1\n", &ReadOptions::default()).unwrap();
    let probes = read(b"a:1:1\n 1: 1\n !CFGChecksum: 5\n", &ReadOptions::default()).unwrap();
    for (profile, encoding, expected) in [
        (&contexts, Encoding::Binary, "writing calling contexts in a plain or compact binary is not supported"),
        (
            &probes,
            Encoding::Binary,
            "writing a profile with pseudo-probes in a plain or compact binary is not supported",
        ),
        (&probes, Encoding::Gcc, "writing GCC's form is not supported"),
        (
            &read(b"a:1:1\n", &ReadOptions::default()).unwrap(),
            Encoding::CompactBinary,
            "a compact binary for LLVM 22 is not supported",
        ),
    ] {
        let mut options = WriteOptions::default();
        options.encoding = encoding;
        let error = write(profile, &options).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(llvm_message(&error), "Profile encoding format unsupported for writing operations");
    }
    let mut tiny = WriteOptions::default();
    tiny.size_limit = 10;
    let error = write(&probes, &tiny).unwrap_err();
    assert!(error.to_string().contains("too large: the output with one function"), "{error}");
    assert_eq!(llvm_message(&error), "Too much profile data");
}
