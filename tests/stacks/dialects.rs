//! Lists the stack formats that were tested with files of the programs that write them, and those that were only
//! implemented from their documentation. Missing files are reported, and listed in `docs/reference/stacks.md`.
//!
//! `PROFBRIDGE_DIALECTS` names a directory with such files, called as in [`UNSEEN`]. The test then reads them.

use crate::recordings::unpack;
use profbridge::call_chains::StackTable;
use profbridge::families::stack_files::{StackOptions, read_stacks};
use profbridge::input::Input;
use profbridge::stacks::jfr;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Recordings of the test data, and the programs that wrote them.
const SEEN: [(&str, &str, &str); 4] = [
    ("JDK 11", "shapes-jdk11.jfr.gz", "Flight Recorder 2.0"),
    ("JDK 17", "shapes-jdk17.jfr.gz", "Flight Recorder 2.1"),
    ("JDK 21", "shapes-jdk21.jfr.gz", "Flight Recorder 2.1"),
    ("JDK 25", "shapes-jdk25.jfr.gz", "Flight Recorder 2.1"),
];

/// Missing recordings: the name of the file, and its description in `docs/reference/stacks.md`.
const UNSEEN: [(&str, &str, &str); 3] = [
    ("recordings of JDK 8 (update 262 and later)", "jdk-8.jfr", "JDK 8"),
    ("recordings of JDK 9 and 10", "jdk-10.jfr", "JDK 9 and 10"),
    ("recordings of Native Image", "native-image.jfr", "Native Image"),
];

#[test]
fn known_dialects_name_their_writer() {
    for (name, file, source) in SEEN {
        let mut table = StackTable::new();
        let (options, limits) = (jfr::RecordingOptions::default(), profbridge::Limits::default());
        jfr::read_recording(&unpack(file), &options, &limits, &mut table).unwrap();
        assert_eq!(table.observed.sources, [source], "{name}");
        assert!(!table.is_empty(), "{name}");
    }
}

#[test]
fn unverified_dialects_are_reported() {
    let docs = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/stacks.md")).unwrap();
    let words = docs.split_whitespace().collect::<Vec<_>>().join(" ");
    let start = words.find("no recording").expect("the page says what was not seen");
    let end = start + words[start..].find("was seen").expect("the page says what was not seen");
    // The sentence starts with JDK 8.
    let sentence = &words[words[..start].rfind(". ").unwrap_or(0)..end];
    let folder = std::env::var_os("PROFBRIDGE_DIALECTS").map(PathBuf::from);
    for (what, file, named) in UNSEEN {
        assert!(sentence.contains(named), "docs/reference/stacks.md says that {what} is missing: {sentence}");
        let Some(path) = folder.as_ref().map(|folder| folder.join(file)).filter(|path| path.exists()) else {
            // Not `eprintln!`, because the test harness hides that in a test that passes.
            let said = format!("SKIPPED: {what}: none was seen for real (PROFBRIDGE_DIALECTS/{file} would be read)\n");
            let _ = std::io::stderr().write_all(said.as_bytes());
            continue;
        };
        let (table, warnings) = read_stacks(&[Input::new(&path)], &StackOptions::default()).unwrap();
        assert!(!table.is_empty() && warnings.is_empty(), "{what}: {warnings:?}");
    }
}
