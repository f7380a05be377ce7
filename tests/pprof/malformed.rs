//! Tests with one file per defect of a pprof profile, with its message.

use crate::support::{Folder, data};

/// Every file in `bad/` except the valid one, with its error.
const FAULTS: &[(&str, &str)] = &[
    ("field-0", "section profile, byte 0x84: malformed: field number 0"),
    ("first-text-not-empty", "section string table, byte 0x53: malformed: the first string is not empty"),
    ("fixed-cut", "section profile, byte 0x85: truncated: fixed 64-bit number needs 8 bytes, 1 left"),
    ("function-not-there", "section line, byte 0x36: malformed: function 9 does not exist, there are 2"),
    ("function-twice", "section function, byte 0x49: malformed: two functions have the id 1"),
    ("group", "section profile, byte 0x84: malformed: wire type 3, expected 0, 1, 2 or 5"),
    ("gzip-cut", "cannot decompress: gzip: the data ends early"),
    ("label-text-not-there", "section label, byte 0x11: malformed: string 99 does not exist, there are 6"),
    (
        "location-id-huge",
        "section sample, byte 0x8: malformed: location 18446744073709551615 does not exist, there are 2",
    ),
    ("location-not-there", "section sample, byte 0x8: malformed: location 9 does not exist, there are 2"),
    ("location-twice", "section location, byte 0x30: malformed: two locations have the id 1"),
    ("location-without-id", "section location, byte 0x21: malformed: a location has the id 0, which is reserved"),
    ("mapping-not-there", "section location, byte 0x25: malformed: mapping 9 does not exist, there are 1"),
    ("mapping-without-id", "section mapping, byte 0x15: malformed: a mapping has the id 0, which is reserved"),
    ("message-for-number", "section profile, byte 0x84: malformed: field 9 has bytes, expected a number"),
    ("nested-length-beyond-parent", "section profile, byte 0x27: truncated: content needs 64 bytes, 1 left"),
    ("number-endless", "section profile, byte 0x8f: malformed: number does not fit 64 bits"),
    ("number-for-message", "section sample type, byte 0x84: malformed: field 1 has a number, expected bytes"),
    ("tag-cut", "section profile, byte 0x85: truncated: tag needs 1 bytes, 0 left"),
    ("text-cut", "section profile, byte 0x86: truncated: content needs 127 bytes, 3 left"),
    ("text-not-there", "section sample type, byte 0x2: malformed: string 77 does not exist, there are 6"),
    ("values-missing", "section sample, byte 0x6: malformed: a sample has 0 values, expected 1"),
    ("values-too-many", "section sample, byte 0x6: malformed: a sample has 2 values, expected 1"),
];

#[test]
fn every_fault_is_named_with_its_place() {
    let folder = Folder::new("malformed");
    let mut files: Vec<String> = std::fs::read_dir(data("bad"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap().replace(".pprof", ""))
        .collect();
    files.retain(|name| name != "good" && name != "gzip-of-zeros");
    files.sort();
    assert!(files.iter().eq(FAULTS.iter().map(|(name, _)| name)), "each file has its line: {files:?}");
    for (name, expected) in FAULTS {
        let file = data("bad").join(format!("{name}.pprof"));
        for command in ["show", "convert -o out.pprof", "merge -o out.pprof"] {
            let (_, said) = folder.ends(1, &format!("{command} {}", file.display()));
            assert!(said.contains(expected), "{command}: {said}\nexpected {expected}");
        }
    }
    assert!(!folder.0.join("out.pprof").exists(), "nothing is written of what is broken");
}

#[test]
fn whole_profiles_read_and_oversized_ones_do_not() {
    let folder = Folder::new("malformed-bounds");
    let [good, zeros] = ["good", "gzip-of-zeros"].map(|name| data("bad").join(format!("{name}.pprof")));
    let (shown, _) = folder.ends(0, &format!("show {}", good.display()));
    assert!(shown.contains("main.loop"), "{shown}");
    let (_, said) = folder.ends(1, &format!("show {} --limit inflate-ratio=100", zeros.display()));
    assert!(said.contains("size of the inflated input is"), "{said}");
}
