//! Tests of the checks when an indexed file with a memory profile is opened. In llvm-profdata mode these are the checks
//! of llvm-profdata 22.

use crate::files::{file, folder};
use profbridge::indexed::{IndexedProfile, ReadOptions};
use profbridge::{Compat, Limits};
use std::process::Command;

const TOOL: &str = "llvm-profdata-22";

/// Returns a recorded file with a section of this version, and the offset of the section.
fn golden(version: u32) -> (Vec<u8>, usize) {
    let path = file(&folder().join("clang-22-plain"), &format!("v{version}.profdata"));
    let bytes = std::fs::read(path).unwrap();
    let section = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    (bytes, section)
}

/// Returns the offset of the schema in a section.
fn schema_of(version: u32) -> usize {
    match version {
        2 => 48,
        3 => 32,
        _ => 92,
    }
}

fn with_word(bytes: &[u8], at: usize, value: u64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    bytes
}

/// Returns damaged schemas by name: version, length and fields. Some values are accepted.
fn damages(version: u32) -> Vec<(String, Vec<u8>)> {
    let (good, section) = golden(version);
    let schema = section + schema_of(version);
    let mut damages = vec![("nothing".to_string(), good.clone())];
    for (what, at, values) in [
        ("version", section, &[0, 1, 5, 9, 23, 24, 600, 1 << 32, u64::MAX][..]),
        ("fields", schema, &[27, 28, 29, 100, 1 << 32, u64::MAX][..]),
        ("first field", schema + 8, &[0, 1, 5, 27, 28, 99, 1 << 32, u64::MAX][..]),
        ("last field", schema + 32, &[0, 1, 27, 28, 256, u64::MAX][..]),
    ] {
        for value in values {
            damages.push((format!("version {version}, {what} {value:#x}"), with_word(&good, at, *value)));
        }
    }
    damages
}

#[test]
fn damaged_headers_are_refused_with_llvms_words() {
    let message = |bytes: &[u8], compat| {
        let options = ReadOptions::new(Limits::default(), compat);
        IndexedProfile::read(bytes, options).err().map(|error| error.llvm_message().to_string())
    };
    for version in 2..=4 {
        let (good, section) = golden(version);
        let schema = section + schema_of(version);
        for compat in [Compat::Llvm22, Compat::InPlaceOfLlvm22] {
            let said = |at, value| message(&with_word(&good, at, value), compat);
            let invalid = Some("malformed instrumentation profile data: memprof schema invalid".to_string());
            assert_eq!(message(&good, compat), None);
            assert_eq!(said(schema, 29), invalid);
            assert_eq!(said(schema + 8, 28), invalid);
            // LLVM accepts a duplicate id, and the id 0.
            assert_eq!((said(schema + 8, 5), said(schema + 8, 0)), (None, None));
            let unsupported = "unsupported instrumentation profile format version: MemProf version 600 not supported; \
                               requires version between 2 and 4, inclusive";
            assert_eq!(said(section, 600).as_deref(), Some(unsupported));
        }
    }
}

#[test]
fn names_of_static_data_are_inflated() {
    let (good, section) = golden(4);
    let accesses = with_word(&good, section + 32, good.len() as u64 - 4);
    let options = |compat| ReadOptions::new(Limits::default(), compat);
    assert!(IndexedProfile::read(&accesses, options(Compat::Llvm22)).is_err());
    // An offset before the records' index means that there are no records.
    let nothing = with_word(&good, section + 32, section as u64);
    assert!(IndexedProfile::read(&nothing, options(Compat::Llvm22)).is_ok());
}

#[test]
fn older_sections_with_whole_headers_are_read_in_llvm_mode() {
    let bytes = std::fs::read(file(&folder().join("clang-19-plain"), "v0.profdata")).unwrap();
    let section = u64::from_le_bytes(bytes[40..48].try_into().unwrap()) as usize;
    let opened = |bytes: &[u8], compat| {
        IndexedProfile::read(bytes, ReadOptions::new(Limits::default(), compat))
            .map(|_| ())
            .map_err(|e| e.llvm_message().to_string())
    };
    assert_eq!(opened(&bytes, Compat::InPlaceOfLlvm22), Ok(()));
    let first = u64::from_le_bytes(bytes[section..section + 8].try_into().unwrap());
    let refused = |found: u64| {
        Err(format!(
            "unsupported instrumentation profile format version: MemProf version {found} not supported; requires \
             version between 2 and 4, inclusive"
        ))
    };
    assert_eq!(opened(&bytes, Compat::Llvm22), refused(first));
    let damaged = with_word(&bytes, section + 24, 1 << 40);
    assert_eq!(opened(&damaged, Compat::InPlaceOfLlvm22), refused(first));
}

#[test]
fn damaged_headers_end_as_in_release_22() {
    if Command::new(TOOL).arg("--version").output().is_err() {
        let _ =
            std::io::Write::write_all(&mut std::io::stderr(), format!("SKIPPED: {TOOL} is not installed\n").as_bytes());
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("damaged.profdata");
    for (name, bytes) in (2..=4).flat_map(damages) {
        std::fs::write(&path, bytes).unwrap();
        for arguments in [&["merge", "--text", "-o", "-"][..], &["show", "--counts"]] {
            let run = |command: &mut Command| {
                command
                    .args(arguments)
                    .arg(&path)
                    .envs([("PROFBRIDGE_FOR", "exact"), ("LLVM_DISABLE_SYMBOLIZATION", "1")])
                    .output()
                    .unwrap()
            };
            let theirs = run(&mut Command::new(TOOL));
            let ours = run(Command::new(env!("CARGO_BIN_EXE_profbridge")).arg("llvm-profdata"));
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&format!("{TOOL}: "), "");
            // With fields of other widths, LLVM reads outside its buffers and may crash.
            let Some(code) = theirs.status.code() else { continue };
            assert_eq!(Some(code), ours.status.code(), "{name}, {arguments:?}: {}", text(&theirs.stderr));
            assert_eq!(text(&theirs.stderr), text(&ours.stderr), "{name}, {arguments:?}");
            assert!(theirs.stdout == ours.stdout, "{name}, {arguments:?}");
        }
    }
}
