//! Files with one defect each, by the name of the defect.

use super::dump;
use crate::compat::Compat;
use std::path::Path;

/// The errors of a file in `testdata/bad`.
struct Bad {
    file: &'static str,
    /// Part of our message; `""` for a file that is accepted.
    ours: &'static str,
    /// LLVM's text by LLVM's rules; `""` for a file that is accepted.
    llvm: &'static str,
}

const fn bad(file: &'static str, ours: &'static str, llvm: &'static str) -> Bad {
    Bad { file, ours, llvm }
}

const CORRUPT: &str = "invalid instrumentation profile data (file header is corrupt)";
/// The error of LLVM 22 for every file of raw version 11.
const VERSION_11: &str = "raw profile version mismatch: Profile uses raw profile format version = 11; expected version = \
                          10\nPLEASE update this tool to version in the raw profile, or regenerate raw profile with \
                          expected version.";
const UNCOMPRESS: &str = "failed to uncompress data (zlib)";
const BEYOND: &str = "malformed instrumentation profile data: value profile address is greater than total size";

/// LLVM's messages are those of llvm-profdata 22, except for files that crash it: `endless-length-of-names`,
/// `huge-value-sites`, and `names-beyond-section`, for which it reads beyond its buffer.
const FILES: [Bad; 49] = [
    bad("bad-zlib", "section names, byte 0x38a: cannot decompress", UNCOMPRESS),
    bad(
        "bitmap-out-of-range",
        "section bitmap, byte 0xa0: malformed: record 0 (NameRef 0x8d276461654dbd95): bitmap offset 93824992281168 is \
         greater than the maximum bitmap offset -1",
        "malformed instrumentation profile data: bitmap offset 93824992281168 is greater than the maximum bitmap \
         offset -1",
    ),
    bad("counter-above-2-56", "", "excessively large counter value suggests corrupted profile data: 72057594037927937"),
    bad(
        "counters-out-of-range",
        "record 0 (NameRef 0x8d276461654dbd95): counter offset 1099511627944 is greater than the maximum counter \
         offset 167",
        "malformed instrumentation profile data: counter offset 1099511627944 is greater than the maximum counter \
         offset 167",
    ),
    bad("empty", "the file is empty", "empty raw profile file"),
    bad(
        "empty-binary-id",
        "section binary ids, byte 0x88: malformed: the length of a binary id is 0",
        "malformed instrumentation profile data: binary id length is 0",
    ),
    bad(
        "empty-name",
        "section names, byte 0x192: malformed: a name is empty",
        "malformed instrumentation profile data: symbol name is empty",
    ),
    bad("endless-length-of-names", "truncated: names chunk needs 97 bytes, 23 left", UNCOMPRESS),
    bad("four-bytes", "unrecognized format", "unrecognized instrumentation profile encoding format"),
    bad(
        "huge-binary-ids",
        "binary ids take 18446744073709551608 bytes, 1016 are left",
        "malformed instrumentation profile data: symbol name is empty",
    ),
    bad("huge-bitmap", "bitmap take 18446744073709551615 bytes, 240 are left", UNCOMPRESS),
    bad("huge-inflated-names", "53 compressed bytes cannot contain the declared 268435455 bytes", UNCOMPRESS),
    bad("huge-length", "names take 4611686018427387904 bytes, 240 are left", CORRUPT),
    bad(
        "huge-num-counters",
        "counters take more than 2^64 bytes, 408 are left",
        "malformed instrumentation profile data: total size is not multiples of quardword",
    ),
    bad("huge-num-data", "data take more than 2^64 bytes, 984 are left", UNCOMPRESS),
    bad(
        "huge-num-uniform-counters",
        "raw v11, section uniform counters, byte 0x3e8: bad header: uniform counters take 9223372036854775808 bytes",
        VERSION_11,
    ),
    bad("huge-num-vtables", "vtables take more than 2^64 bytes, 160 are left", ""),
    bad("huge-padding", "padding after counters take 18446744073709551600 bytes, 240 are left", UNCOMPRESS),
    bad("huge-value-data", "too large: TotalSize of value data is 4294967288 bytes, 160 left", "too much profile data"),
    bad("huge-value-sites", "value data has 4294967295 sites of kind 0, the record 1", BEYOND),
    bad("huge-vtable-names", "vtable names take 18446744073709551608 bytes, 160 are left", "too much profile data"),
    bad(
        "long-binary-id",
        "a binary id is 4096 bytes, 24 left in its section",
        "malformed instrumentation profile data: not enough data to read binary id data",
    ),
    bad("memprof-bit", "bit 62 (memory profile) is set in the version word", ""),
    bad("name-not-found", "no name has the hash 0x0123456789abcdef of record 0", ""),
    bad("names-beyond-section", "truncated: names chunk needs 127 bytes, 31 left", "truncated profile data"),
    bad(
        "negative-counter-offset",
        "counter offset -1099511627608 is negative",
        "malformed instrumentation profile data: counter offset -1099511627608 is negative",
    ),
    bad(
        "negative-uniform-counter-offset",
        "raw v11, section uniform counters, byte 0xb8: malformed: record 0 (NameRef 0x8d276461654dbd95): uniform counter offset -8 is negative",
        VERSION_11,
    ),
    bad(
        "no-counters",
        "record 0 (NameRef 0x8d276461654dbd95): number of counters is zero",
        "malformed instrumentation profile data: number of counters is zero",
    ),
    bad(
        "no-pointer-to-uniform-counters",
        "record 1 (NameRef 0x0ed491b3dc63a44d): uniform counter offset -744 is negative",
        VERSION_11,
    ),
    bad("not-a-profile", "unrecognized format", "unrecognized instrumentation profile encoding format"),
    bad(
        "other-magic-behind",
        "byte 0x200: bad magic: found 8172526f72706cff, expected 8172666f72706cff as in the first profile",
        "invalid instrumentation profile data (bad magic)",
    ),
    bad(
        "rubbish-behind",
        "malformed: 7 unexpected bytes follow the last profile",
        "malformed instrumentation profile data: not enough space for another header",
    ),
    bad(
        "too-many-counters",
        "number of counters 1048576 is greater than the maximum number of counters 21",
        "malformed instrumentation profile data: number of counters 1048576 is greater than the maximum number of \
         counters 21",
    ),
    bad(
        "too-many-value-kinds",
        "NumValueKinds is 9, expected at most 3",
        "malformed instrumentation profile data: number of value profile kinds is invalid",
    ),
    bad("truncated", "data take 576 bytes, 412 are left in the file", CORRUPT),
    bad("truncated-in-binary-ids", "binary ids take 32 bytes, 9 are left in the file", CORRUPT),
    bad("truncated-in-counters", "counters take 168 bytes, 11 are left in the file", CORRUPT),
    bad("truncated-in-data", "data take 576 bytes, 69 are left in the file", CORRUPT),
    bad("truncated-in-header", "the header of version 10 has 128 bytes, 77 left", CORRUPT),
    bad("truncated-in-names", "names take 78 bytes, 20 are left in the file", CORRUPT),
    bad("truncated-in-value-data", "TotalSize of value data is 88 bytes, 20 left", "too much profile data"),
    bad(
        "truncated-second-profile",
        "section header of the next profile, byte 0x478: malformed: the header of version 10 has 128 bytes, 60 left",
        "malformed instrumentation profile data: not enough space for another header",
    ),
    bad("unaligned-binary-ids", "byte 0x10: bad header: BinaryIdsSize is 31, which is not a multiple of 8", CORRUPT),
    bad(
        "unaligned-second-profile",
        "byte 0x47c: malformed: the next profile does not begin at a multiple of 8 bytes",
        "malformed instrumentation profile data: insufficient padding",
    ),
    bad(
        "unaligned-value-data",
        "TotalSize of value data is 12, which is not a multiple of 8",
        "malformed instrumentation profile data: total size is not multiples of quardword",
    ),
    bad(
        "uniform-counters-out-of-range",
        "uniform counter offset 1073741824 is greater than the maximum uniform counter offset 167",
        VERSION_11,
    ),
    bad(
        "unknown-value-kind",
        "value kind 7 does not exist in this version",
        "malformed instrumentation profile data: value kind is invalid",
    ),
    bad(
        "unsupported-version",
        "raw v99, section header, byte 0x8: version 99 is not supported: supported versions are 1 to 5 and 7 to 11",
        "raw profile version mismatch: Profile uses raw profile format version = 99; expected version = 10\nPLEASE \
         update this tool to version in the raw profile, or regenerate raw profile with expected version.",
    ),
    bad(
        "version-6",
        "version 6 existed only in development, between LLVM 12 and 13",
        "raw profile version mismatch: Profile uses raw profile format version = 6; expected version = 10\nPLEASE \
         update this tool to version in the raw profile, or regenerate raw profile with expected version.",
    ),
];

#[test]
fn each_defect_has_its_message() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/bad");
    if !folder.is_dir() {
        eprintln!("SKIPPED: no folder testdata/bad beside the source");
        return;
    }
    for case in &FILES {
        let file = std::fs::read(folder.join(format!("{}.profraw", case.file))).unwrap();
        match dump(&file, Compat::Profbridge) {
            Ok(text) => assert!(case.ours.is_empty(), "{} was accepted: {text}", case.file),
            Err(error) => {
                let text = error.to_string();
                assert!(!case.ours.is_empty() && text.contains(case.ours), "{}: {text}", case.file);
            }
        }
        let llvm = dump(&file, Compat::Llvm22).err().map_or(String::new(), |error| error.llvm_message());
        assert_eq!(llvm, case.llvm, "{}", case.file);
    }
}

#[test]
fn every_bad_raw_file_has_a_case() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/bad");
    let Ok(entries) = std::fs::read_dir(folder) else {
        eprintln!("SKIPPED: no folder testdata/bad beside the source");
        return;
    };
    for path in
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "profraw"))
    {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        assert!(FILES.iter().any(|case| case.file == stem), "no case for {stem}");
    }
}
