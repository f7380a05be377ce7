//! Tests of the messages about YAML documents that are not memory profiles, compared with release 22.

use std::path::Path;
use std::process::{Command, Output};

const TOOL: &str = "llvm-profdata-22";

fn merge(mut command: Command, document: &Path) -> Output {
    command.args(["merge", "--num-threads=1", "-o"]).arg(document.with_extension("out")).arg(document).output().unwrap()
}

/// Documents with one syntax error each.
fn faults() -> Vec<String> {
    let site = |block: &str| {
        format!(
            "HeapProfileRecords:\n  - GUID: f\n    AllocSites:\n      - Callstack: []\n        MemInfoBlock: {block}\n"
        )
    };
    let call = |rest: &str| format!("HeapProfileRecords:\n  - GUID: f\n    CallSites:\n      - Frames: {rest}\n");
    let record = |rest: &str| format!("HeapProfileRecords:\n  - {rest}\n");
    let frame = |change: [&str; 2]| {
        let good = "[ { Function: g, LineOffset: 1, Column: 1, IsInlineFrame: true } ]";
        call(&good.replace(change[0], change[1]))
    };
    let mut faults = vec![
        "Heap: 1\n".to_string(),
        "HeapProfileRecords: 7\n".to_string(),
        "HeapProfileRecords: []\nDataAccessProfiles: {}\nHeapProfileRecords: []\n".to_string(),
        "HeapProfileRecords:\n  - GUID: f\n    AllocSites:\n      - Callstack: []\n".to_string(),
        call("[]\n        CalleeGuids: [ 7 ]"),
    ];
    faults.extend(["GUID: 12", "AllocSites: []", "'x y'", "GUID: 0xzz", "GUID: f\n    GUID: g"].map(record));
    faults.extend(["GUID: [ f ]", "GUID:\n      a: 1", "GUID: f\n    Unknown: 1\n    AllSites: 3"].map(record));
    faults.extend(["GUID: f\n    AllocSites: {a: 1,\n  b: 2}", "GUID: f\n    AllocSites: [ 5 ]"].map(record));
    faults.extend(["{ AllocCount: x }", "{ Bogus: 1 }", "4", "{ AllocCount: [ 1 ] }", "{ AllocCount: -1 }"].map(site));
    faults.extend([
        frame(["LineOffset: 1", "LineOffset: 99999999999"]),
        frame(["true", "maybe"]),
        frame(["Function: g", "Function: 5"]),
        frame(["Column: 1", "Column: x"]),
        frame(["Function: g, ", ""]),
        frame(["true", "true, More: 1"]),
    ]);
    faults.extend(
        [
            "  SampledRecords:\n    - Symbol: a\n",
            "  SampledRecords:\n    - Symbol: a\n      AccessCount: -2\n",
            "  SampledRecords:\n    - Symbol: a\n      AccessCount: 2\n      Locations: [ { FileName: x, Line: y } ]\n",
            "  KnownColdStrHashes: [ 3, x ]\n",
            "  KnownColdSymbols: 4\n",
            "  Foo: 1\n",
        ]
        .map(|data| format!("DataAccessProfiles:\n{data}")),
    );
    faults
}

#[test]
fn syntax_errors_match_release_22() {
    if Command::new(TOOL).arg("--version").output().is_err() {
        let _ =
            std::io::Write::write_all(&mut std::io::stderr(), format!("SKIPPED: {TOOL} is not installed\n").as_bytes());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("document.yaml");
    for document in faults() {
        std::fs::write(&path, format!("---\n{document}")).unwrap();
        let theirs = merge(Command::new(TOOL), &path);
        let mut ours = Command::new(env!("CARGO_BIN_EXE_profbridge"));
        ours.arg("llvm-profdata");
        let ours = merge(ours, &path);
        let text = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(text(&ours), text(&theirs), "{document}");
        assert_eq!(ours.status.code(), theirs.status.code(), "{document}");
    }
}

#[test]
fn a_fault_is_shown_with_its_line_and_marked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("document.yaml");
    std::fs::write(&path, "---\nHeapProfileRecords:\n  - GUID: f\n    Unknown: 1\n").unwrap();
    let mut ours = Command::new(env!("CARGO_BIN_EXE_profbridge"));
    ours.arg("llvm-profdata");
    let said = String::from_utf8(merge(ours, &path).stderr).unwrap();
    assert!(said.starts_with("YAML:4:5: error: unknown key 'Unknown'\n    Unknown: 1\n    ^~~~~~~\n"), "{said}");
    assert!(said.ends_with(": The profile is empty.\nerror: no profile can be merged\n"), "{said}");
}
