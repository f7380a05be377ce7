//! The table of docs/reference/target.md, and the precedence of settings.

use crate::compat::Compat;
use crate::input::{Input, detect};
use crate::instr::target::*;
use crate::memprof::indexed::default_version;
use crate::model::release::{RELEASES, written_memory_versions};

fn raw(version: u32) -> Vec<u8> {
    let mut head = b"\x81rforpl\xff".to_vec();
    head.extend_from_slice(&(u64::from(version) | 1 << 56).to_le_bytes());
    head
}

fn raw_big(version: u32) -> Vec<u8> {
    let mut head = b"\xfflprofR\x81".to_vec();
    head.extend_from_slice(&u64::from(version).to_be_bytes());
    head
}

fn indexed(version: u32) -> Vec<u8> {
    let mut head = b"\xfflprofi\x81".to_vec();
    head.extend_from_slice(&(u64::from(version) | 1 << 56).to_le_bytes());
    head
}

fn text() -> Vec<u8> {
    b":ir\nmain\n1\n1\n1\n".to_vec()
}

fn versions(heads: &[Vec<u8>]) -> Evidence {
    let mut evidence = Evidence::default();
    heads.iter().for_each(|head| evidence.add(detect(head), head));
    evidence
}

fn raw_memory(version: u64) -> Vec<u8> {
    let mut head = vec![0x81, 0x72, 0x66, 0x6f, 0x72, 0x70, 0x6d, 0xff];
    head.extend_from_slice(&version.to_le_bytes());
    head
}

/// Returns a head with a property in its version word.
fn with(mut head: Vec<u8>, bit: u32) -> Vec<u8> {
    head[8 + bit as usize / 8] |= 1 << (bit % 8);
    head
}

/// The bits of docs/reference/format-raw.md.
#[test]
fn properties_need_the_release_that_writes_them() {
    let cases = [
        (with(raw(10), 55), "llvm-20", "raw version 10 with loop entries"),
        (with(raw(4), 57), "llvm-9", "raw version 4 with context-sensitive counters"),
        (with(raw(5), 58), "llvm-12", "raw version 5 with entry counters first"),
        (with(raw(8), 60), "llvm-14", "raw version 8"),
        (with(raw(8), 63), "llvm-17", "raw version 8 with temporal traces"),
        (with(raw(9), 63), "llvm-18", "raw version 9"),
        (with(indexed(7), 60), "llvm-14", "indexed version 7 with byte coverage"),
        (with(indexed(5), 57), "llvm-9", "indexed version 5 with context-sensitive counters"),
        (with(indexed(12), 55), "llvm-20", "indexed version 12 with loop entries"),
        (with(indexed(13), 55), "llvm-22", "indexed version 13"),
        // A property that no release has.
        (with(raw(10), 40), "llvm-19", "raw version 10"),
        (with(raw(99), 55), "llvm-22", "the default"),
        (raw_memory(1), "llvm-15", "raw memory profile version 1"),
        (raw_memory(4), "llvm-20", "raw memory profile version 4"),
        (raw_memory(9), "llvm-22", "the default"),
        (text(), "llvm-22", "the default"),
        (b"---\nHeapProfileRecords:\n".to_vec(), "llvm-22", "the default"),
    ];
    for (head, toolchain, reason) in cases {
        let evidence = versions(std::slice::from_ref(&head));
        let found = (Target::of_inputs(&evidence).toolchain(), evidence.reason().to_string());
        assert_eq!((found.0.as_str(), found.1.as_str()), (toolchain, reason), "{head:?}");
    }
}

#[test]
fn a_word_keeps_all_evidence() {
    let heads = [with(raw(8), 63), with(raw(10), 55), with(indexed(7), 61), raw_memory(3), text()];
    for chosen in 0..1 << heads.len() {
        let heads: Vec<_> = (0..heads.len()).filter(|at| chosen >> at & 1 == 1).map(|at| heads[at].clone()).collect();
        for section in [None, Some(0), Some(4)] {
            let evidence = Evidence { memory_section: section, ..versions(&heads) };
            assert_eq!(Evidence::from_word(evidence.to_word()), evidence);
        }
    }
    // The word that profbridge 0.2.0 wrote.
    assert_eq!(
        Evidence::from_word(0x0c_0a08),
        Evidence { raw: Some((8, 10)), indexed: Some(12), ..Evidence::default() }
    );
}

#[test]
fn all_compilers_that_write_a_raw_memory_profile_read_the_default_section() {
    for row in RELEASES.iter().filter(|row| written_memory_versions(row.release()).is_some()) {
        let version = release::raw_memory_version(row.release()).unwrap();
        let target = Target::of_inputs(&versions(&[raw_memory(version.into())]));
        let written = default_version(target.release).unwrap();
        assert!(
            written_memory_versions(row.release()).unwrap().contains(&written),
            "{:?}: {version} {written}",
            row.release()
        );
    }
}

#[test]
fn the_section_of_a_memory_profile_is_evidence() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/memprof");
    for (file, section, toolchain) in [
        ("clang-22-plain.v4.profdata", 4, "llvm-22"),
        ("clang-19-plain.v1.profdata", 1, "llvm-19"),
        ("clang-19-plain.v3.profdata", 3, "llvm-20"),
        ("clang-16-plain.v0.profdata", 0, "llvm-16"),
    ] {
        let evidence = Evidence::look([&Input::new(root.join(file))], Compat::Profbridge);
        assert_eq!(evidence.memory_section, Some(section), "{file}");
        assert_eq!(Target::of_inputs(&evidence).toolchain(), toolchain, "{file}");
        let as_llvm = Evidence::look([&Input::new(root.join(file))], Compat::InPlaceOfLlvm22);
        assert_eq!(as_llvm, Evidence { indexed: evidence.indexed, ..Evidence::default() }, "{file}");
    }
    // LLVM 21 writes version 4 into indexed version 12.
    let evidence = Evidence { memory_section: Some(4), ..versions(&[indexed(12)]) };
    assert_eq!(
        (Target::of_inputs(&evidence).toolchain().as_str(), evidence.reason().to_string().as_str()),
        ("llvm-21", "memory profile version 4")
    );
}

/// The table of docs/reference/target.md.
#[test]
fn inputs_tell_the_compilers_that_may_have_written_them() {
    let cases = [
        (vec![raw(1)], "llvm-3.5"),
        (vec![raw(2)], "llvm-3.8"),
        (vec![raw(4)], "llvm-3.9"),
        (vec![raw(5)], "llvm-10"),
        (vec![raw(7)], "llvm-13"),
        (vec![raw(8)], "llvm-14"),
        (vec![raw_big(8)], "llvm-14"),
        (vec![raw(9)], "llvm-18"),
        (vec![raw(10)], "llvm-19"),
        (vec![raw(11)], "llvm-23"),
        (vec![raw(8), raw(10), raw(9)], "llvm-19"),
        (vec![indexed(3)], "llvm-3.8"),
        (vec![indexed(7)], "llvm-12"),
        (vec![indexed(9)], "llvm-16"),
        (vec![indexed(12)], "llvm-19"),
        (vec![indexed(13)], "llvm-22"),
        (vec![indexed(13), indexed(7)], "llvm-22"),
        (vec![text()], "llvm-22"),
        (vec![b"{\"version\": \"1.0.0\"}".to_vec()], "llvm-22"),
        (vec![raw(8), text()], "llvm-22"),
        (vec![raw(11), text()], "llvm-23"),
        (vec![raw(8), indexed(12)], "llvm-19"),
        (vec![raw(10), indexed(7)], "llvm-19"),
        // Unsupported inputs are not evidence.
        (vec![raw(6), raw(99), raw(8)], "llvm-14"),
        (vec![indexed(99), Vec::new(), b"\x7fELF\x02\x01\x01\0".to_vec()], "llvm-22"),
        (vec![raw(8)[..12].to_vec()], "llvm-22"),
    ];
    for (heads, expected) in cases {
        let target = Target::of_inputs(&versions(&heads));
        assert_eq!((target.toolchain().as_str(), target.source), (expected, TargetSource::Inputs), "{heads:?}");
        let row = release::parse(expected).unwrap();
        assert_eq!((target.indexed_version, target.raw_version), (row.indexed_version, row.raw_version));
    }
}

/// Parses `raw 8`, `indexed 7`, `text` in the notation of the page.
fn head(words: &str) -> Vec<u8> {
    match words.trim().split_once(' ') {
        Some(("raw", version)) => raw(version.parse().unwrap()),
        Some(("indexed", version)) => indexed(version.parse().unwrap()),
        _ => text(),
    }
}

/// Rows of docs/reference/target.md: inputs, the release, and optionally its two versions.
#[test]
fn the_page_says_what_is_done() {
    let (mut by_inputs, mut in_place) = (0, 0);
    for line in include_str!("../../../docs/reference/target.md").lines() {
        let cells: Vec<&str> = line.trim_matches(|c| c == '|' || c == ' ').split('|').map(str::trim).collect();
        let Some(release) = cells.get(1).and_then(|cell| cell.strip_prefix("LLVM ")) else { continue };
        let toolchain = format!("llvm-{release}");
        match cells[..] {
            [inputs, _, indexed, raw] if !inputs.contains(',') => {
                let target = Target::of_inputs(&versions(&[head(inputs)]));
                assert_eq!(target.toolchain(), toolchain, "{line}");
                for (cell, version) in [(indexed, target.indexed_version), (raw, target.raw_version)] {
                    assert!(cell.parse::<u32>().map_or(true, |cell| cell == version), "{line}: {version}");
                }
                by_inputs += 1;
            }
            [inputs, _] if inputs.contains("raw") && !inputs.contains(',') => {
                let heads: Vec<Vec<u8>> = inputs.split(" and ").map(head).collect();
                assert_eq!(Target::in_place_of_llvm_22(&versions(&heads)).toolchain(), toolchain, "{line}");
                in_place += 1;
            }
            _ => {}
        }
    }
    assert!(by_inputs >= 7 && in_place >= 4, "{by_inputs} and {in_place} rows");
}

#[test]
fn in_the_place_of_llvm_22_only_refused_versions_choose_another_release() {
    let cases = [
        (vec![raw(10)], "llvm-22"),
        (vec![raw(10), indexed(7), text()], "llvm-22"),
        (vec![indexed(4)], "llvm-22"),
        (vec![raw(8)], "llvm-14"),
        (vec![raw(8), raw(10)], "llvm-19"),
        (vec![raw(8), text()], "llvm-22"),
        (vec![raw(9), indexed(7)], "llvm-18"),
        (vec![raw(11)], "llvm-23"),
        (vec![raw(6)], "llvm-22"),
        (Vec::new(), "llvm-22"),
    ];
    for (heads, expected) in cases {
        assert_eq!(Target::in_place_of_llvm_22(&versions(&heads)).toolchain(), expected, "{heads:?}");
    }
}

fn request<'a>(
    toolchain: Option<&'a str>,
    format_version: Option<u32>,
    environment: Option<&'a str>,
    program: Option<&'a str>,
) -> TargetRequest<'a> {
    let (environment, program) = (environment.map(OsStr::new), program.map(OsStr::new));
    TargetRequest { toolchain, format_version, environment, program }
}

#[test]
fn options_go_before_the_environment_and_that_before_the_name() {
    use TargetSource::{Environment, Inputs, Option, ProgramName};
    let (link, plain) = (Some("/usr/bin/llvm-profdata-15"), Some("llvm-profdata"));
    let cases = [
        (request(Some("llvm-14"), None, Some("llvm-16"), link), "llvm-14", Option),
        (request(None, Some(8), Some("llvm-16"), link), "llvm-15", Option),
        (request(None, Some(12), Some("exact"), link), "llvm-21", Option),
        (request(None, None, Some("llvm-16"), link), "llvm-16", Environment),
        (request(None, None, Some("rustc-1.75"), link), "llvm-17", Environment),
        (request(None, None, Some("exact"), link), "llvm-22", Environment),
        (request(None, None, Some(""), link), "llvm-15", ProgramName),
        (request(None, None, None, link), "llvm-15", ProgramName),
        (request(None, None, None, plain), "llvm-18", Inputs),
        (request(None, None, None, None), "llvm-18", Inputs),
    ];
    let inputs = Target::of_inputs(&versions(&[raw(9)]));
    for (request, expected, source) in cases {
        let target = request.target().unwrap().unwrap_or(inputs);
        assert_eq!((target.toolchain().as_str(), target.source), (expected, source), "{request:?}");
    }
    assert!(request(None, None, Some("exact"), None).is_exact());
    assert!(!request(None, None, Some("llvm-22"), None).is_exact());
}

#[test]
fn a_raw_version_is_for_the_first_release_that_writes_it() {
    for (version, expected) in [(1, "llvm-3.5"), (4, "llvm-3.9"), (8, "llvm-14"), (10, "llvm-19")] {
        let target = Target::of_raw_version(version).unwrap();
        assert_eq!((target.toolchain().as_str(), target.raw_version), (expected, version));
    }
    assert_eq!(Target::of_raw_version(3).unwrap().raw_version, 3);
    assert_eq!([0, 6, 99].map(Target::of_raw_version), [None; 3]);
}

#[test]
fn what_does_not_exist_is_refused_whatever_goes_before_it() {
    let cases = [
        (request(Some("llvm-99"), None, None, None), "LLVM 99 is newer than LLVM 23"),
        (request(None, Some(0), None, None), "no indexed format of version 0"),
        (request(None, Some(99), None, None), "no indexed format of version 99"),
        (
            request(None, None, Some("llvm-2"), None),
            "PROFBRIDGE_FOR must be a toolchain or exact: LLVM 2.0 is older than LLVM 3.5",
        ),
        (
            request(Some("llvm-14"), None, Some("yes"), None),
            "PROFBRIDGE_FOR must be a toolchain or exact: unknown toolchain \"yes\"",
        ),
        (
            request(None, None, Some("EXACT"), None),
            "PROFBRIDGE_FOR must be a toolchain or exact: unknown toolchain \"EXACT\"",
        ),
        (request(None, None, Some("llvm-16"), Some("llvm-profdata-99")), "the program's name selects LLVM 99"),
        (request(None, None, None, Some("llvm-profdata-2")), "but LLVM 3.5 to "),
    ];
    for (request, expected) in cases {
        let message = request.target().unwrap_err().to_string();
        assert!(message.contains(expected), "{request:?}: {message}");
    }
}

#[test]
fn a_number_in_the_program_s_name_is_found() {
    let cases = [
        ("llvm-profdata", None),
        ("llvm-profdata-16", Some("16")),
        ("/usr/lib/llvm-16/bin/llvm-profdata", None),
        ("./bin/llvm-profdata-3.9", Some("3.9")),
        ("llvm-profdata15", Some("15")),
        ("llvm-profdata-16.exe", Some("16")),
        ("llvm-profdata-16.EXE", Some("16")),
        ("llvm-profdata.exe", None),
        ("llvm-profdata-", None),
        ("llvm-profdata-16-real", None),
        ("llvm-profdata-real", None),
        ("llvm-profdata-é16", None),
        ("profbridge-16", None),
        ("", None),
    ];
    for (name, expected) in cases {
        assert_eq!(release_of_program(OsStr::new(name)), expected, "{name}");
    }
}

#[test]
fn heads_are_read_of_files_and_gzip_streams() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let (plain, packed) = (folder.path().join("plain"), folder.path().join("packed"));
    std::fs::write(&plain, raw(8)).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&raw(11)).unwrap();
    std::fs::write(&packed, encoder.finish().unwrap()).unwrap();
    let missing = folder.path().join("missing");
    let inputs = [&plain, &packed, &missing].map(Input::from);
    assert_eq!(Evidence::look(&inputs, Compat::Profbridge).raw, Some((8, 11)));
    assert_eq!(Evidence::look(&inputs, Compat::InPlaceOfLlvm22).raw, Some((8, 8)), "LLVM inflates nothing");
}
