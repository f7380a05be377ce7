//! Tests of harmless deviations, and of profiles that cannot be written. `bad_files.rs` has the files with defects.

use profbridge::sampleprof::{Encoding, ReadOptions, WriteOptions, llvm_message, read, write};

/// Returns an extensible binary with one section, and the content after its table.
fn ext(kind: u64, flags: u64, offset: u64, size: u64, content: &[u8]) -> Vec<u8> {
    const EXT: [u8; 10] = [0x84, 0xe4, 0xd0, 0xb1, 0xf4, 0xc9, 0x94, 0xa8, 0x53, 0x67];
    let words = [1, kind, flags, offset, size].map(u64::to_le_bytes).concat();
    [&EXT[..], &words, content].concat()
}

#[test]
fn unused_bytes_are_ignored() {
    assert!(read(&ext(4, 0, 50, 2, b"xy"), &ReadOptions::default()).unwrap().functions.is_empty());
    assert!(read(&ext(2, 1, 1 << 50, 0, b""), &ReadOptions::default()).unwrap().functions.is_empty());
}

#[test]
fn contexts_have_a_bound() {
    let text = format!("[{}b]:1:1\n", "a:1 @ ".repeat(5000));
    let error = read(text.as_bytes(), &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("number of frames of a context is 5001, the limit is 4096"), "{error}");
}

#[test]
fn the_smallest_profile_of_gcc_is_read() {
    let words = [0, 0xaa00_0000, 0, 1, 1, u32::from_le_bytes(*b"foo\0"), 0xac00_0000, 0, 1, 5, 0];
    let words = [&words[..], &[0, 1, 0, 3 << 16 | 2, 0, 9, 0]].concat();
    let bytes = [&b"adcg*704"[..], &words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()].concat();
    let valid = read(&bytes, &ReadOptions::default()).unwrap();
    let mut text = WriteOptions::default();
    text.encoding = Encoding::Text;
    assert_eq!(write(&valid, &text).unwrap(), b"foo:9:5\n 3.2: 9\n");
}

#[test]
fn encodings_that_cannot_hold_a_profile() {
    let contexts = read(b"[a:1 @ b]:1:1\n 1: 1\n", &ReadOptions::default()).unwrap();
    let probes = read(b"a:1:1\n 1: 1\n !CFGChecksum: 5\n", &ReadOptions::default()).unwrap();
    let mixed = read(b"[a:1 @ b]:1:1\n 1: 1\nc:1:1\n 1: 1 d:1\n", &ReadOptions::default()).unwrap();
    for (profile, encoding, expected) in [
        (&contexts, Encoding::Binary, "writing calling contexts in a plain or compact binary is not supported"),
        (
            &probes,
            Encoding::Binary,
            "writing a profile with pseudo-probes in a plain or compact binary is not supported",
        ),
        (&probes, Encoding::Gcc, "writing pseudo-probes for GCC is not supported"),
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
    // LLVM writes a file that it cannot read, so the message is not one of its own.
    let what = "writing a function without a calling context in an extensible binary of calling contexts";
    let error = write(&mixed, &WriteOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), format!("{what} is not supported"));
    assert_eq!(llvm_message(&error), format!("{what}, which no tool could read; write text"));
    let mut tiny = WriteOptions::default();
    tiny.size_limit = 10;
    let error = write(&probes, &tiny).unwrap_err();
    let mut one = probes.clone();
    one.functions.truncate(1);
    let size = write(&one, &WriteOptions::default()).unwrap().len();
    let message = error.to_string();
    assert!(message.contains(&format!("too large: the output with one function is {size} bytes")), "{error}");
    assert_eq!(llvm_message(&error), "Too much profile data");
}
