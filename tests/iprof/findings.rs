//! Tests with one file per finding: it is detected, and repaired if possible.

use crate::testdata;
use profbridge::families::check_file;
use profbridge::iprof::{Code, Level, ReadOptions, Reader, RepairOptions, WriteOptions, Writer, repair_from};
use std::collections::BTreeSet;

/// Returns every file with the code in its name.
fn bad_files() -> Vec<(Code, Vec<u8>)> {
    let file = |code: &Code| {
        let path = testdata("bad").join(format!("{code}.iprof"));
        (*code, std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    };
    Code::ALL.iter().map(file).collect()
}

#[test]
fn every_finding_has_a_file_and_every_file_a_finding() {
    let expected: BTreeSet<String> = Code::ALL.iter().map(|code| format!("{code}.iprof")).collect();
    let entries = std::fs::read_dir(testdata("bad")).expect("the folder is there");
    let found: BTreeSet<String> =
        entries.map(|entry| entry.expect("entry").file_name().into_string().expect("text")).collect();
    assert_eq!(found, expected);
}

#[test]
fn each_file_has_its_finding_and_no_other() {
    for (code, bytes) in bad_files() {
        let report = Reader::new(&bytes[..], &ReadOptions::default()).check();
        let found: Vec<Code> = report.findings.iter().map(|finding| finding.code).collect();
        assert!(found.contains(&code), "{code}: {found:?}");
        let others: Vec<_> = found.iter().filter(|other| **other != code).collect();
        assert!(others.is_empty(), "{code}: also {others:?}");
        let level = report.findings.iter().map(|finding| finding.level).max();
        assert_eq!(level, Some(code.level()), "{code}");
        assert!(report.findings.iter().all(|finding| finding.more == 0), "{code} has one case");
        assert!(report.findings.iter().all(|finding| finding.offset.is_some()), "{code} has no offset");
    }
}

#[test]
fn offsets_point_at_the_defect() {
    for (code, start) in [
        (Code::BadContext, "\"2:0<\""),
        (Code::EmptyName, "\"\""),
        (Code::DuplicateKey, "\"callCountProfiles\":[]}"),
        (Code::NotAnInteger, "2e1"),
        (Code::CountRange, "9223372036854775808"),
        (Code::BadArity, "[7,0,15,12,1]"),
        (Code::DanglingMethod, "\"77:0\""),
        (Code::WrongJsonType, "[\"1:5\",1]"),
        (Code::MonitorCount, "\"monitorProfiles\":"),
        (Code::PackedCounts, "\"virtualInvokeProfiles\":"),
        (Code::SectionNewerThanVersion, "\"instanceofProfiles\":"),
    ] {
        let bytes = std::fs::read(testdata("bad").join(format!("{code}.iprof"))).expect("the file is there");
        let text = String::from_utf8(bytes).expect("text");
        let report = Reader::new(text.as_bytes(), &ReadOptions::default()).check();
        let finding = report.findings.iter().find(|finding| finding.code == code).expect("found");
        let offset = usize::try_from(finding.offset.expect("an offset")).expect("fits");
        assert!(text[offset..].starts_with(start), "{code}: {}", &text[offset..]);
    }
}

#[test]
fn repaired_files_pass_check() {
    // Without further options, no data of these can be recovered.
    let hopeless = [
        Code::BadJson,
        Code::EmptyFile,
        Code::BadEncoding,
        Code::RootNotObject,
        Code::NotAnIprof,
        Code::PlaceholderTables,
        Code::DuplicateKey,
        Code::BadVersion,
        Code::UnsupportedMajor,
    ];
    for (code, bytes) in bad_files() {
        let repaired = repair_from(&bytes[..], &RepairOptions::default());
        if hopeless.contains(&code) {
            let error = repaired.expect_err("nothing can be repaired").to_string();
            assert!(error.contains(code.name()), "{code}: {error}");
            continue;
        }
        let repaired = repaired.unwrap_or_else(|error| panic!("{code}: {error}"));
        if code.level() == Level::Error {
            assert!(repaired.findings.repairs().next().is_some(), "{code}: nothing was done");
        }
        let text = Writer::new(&WriteOptions::default()).to_bytes(&repaired.document);
        let report = Reader::new(&text[..], &ReadOptions::default()).check();
        assert!(!report.findings.has_errors(), "{code}: {:?}", report.findings);
    }
}

#[test]
fn options_repair_otherwise_unusable_files() {
    let with = |code: Code, set: fn(&mut RepairOptions)| {
        let bytes = std::fs::read(testdata("bad").join(format!("{code}.iprof"))).expect("the file is there");
        let mut options = RepairOptions::default();
        set(&mut options);
        repair_from(&bytes[..], &options).unwrap_or_else(|error| panic!("{code}: {error}")).document
    };
    let salvaged = with(Code::BadJson, |options| options.read.salvage = true);
    assert_eq!(salvaged.sections.call_counts.len(), 1);
    let assumed =
        with(Code::BadVersion, |options| options.read.assume_version = profbridge::iprof::Version::parse("1.1.0"));
    assert_eq!(assumed.version.to_string(), "1.1.0");
    let joined = with(Code::DuplicateKey, |options| options.read.join_sections = true);
    assert_eq!(joined.sections.call_counts.len(), 2);
    let reset = with(Code::CallCountLeafBci, |options| options.read.reset_call_count_leaf = true);
    assert_eq!(reset.sections.call_counts.len(), 3);
    let cut = with(Code::BadArity, |options| options.read.keep_whole_rows = true);
    assert_eq!(cut.sections.conditionals.entry(0).1.len(), 1);
    let executed = with(Code::NeverExecuted, |options| options.drop_never_executed = true);
    assert!(executed.sections.conditionals.is_empty());
}

#[test]
fn verdicts_are_plain() {
    let verdict = |name: &str| check_file(testdata(name), &ReadOptions::default()).verdict;
    assert_eq!(verdict("fibonacci.iprof"), "usable");
    assert_eq!(verdict("bad/truncated.iprof"), "partly usable");
    assert_eq!(verdict("bad/no-profiles.iprof"), "tables only: record again");
    assert_eq!(verdict("bad/unsupported-major.iprof"), "unusable: record again");
}
