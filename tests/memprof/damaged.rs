//! Tests with one file per defect of a section or a raw profile: `testdata/memprof/bad` and the expected messages in
//! its `messages.txt`.
//!
//! With `PROFBRIDGE_RENEW` in the environment, the files are created again: the test changes bytes of valid files, and
//! stores the first file for each message.

use crate::files::{folder, merged};
use profbridge::families::MergeOptions;
use profbridge::indexed::{IndexedProfile, ReadOptions};
use profbridge::instr::Release;
use profbridge::memprof::indexed;
use profbridge::memprof::raw::RawMemProf;
use profbridge::{Limits, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn bad() -> PathBuf {
    folder().join("bad")
}

fn read(bytes: &[u8]) -> Result<()> {
    let limits = Limits::default();
    if bytes.starts_with(b"\x81rfor") {
        return RawMemProf::read(bytes, &limits).map(drop);
    }
    let section = IndexedProfile::read(bytes, ReadOptions::default())?.memprof()?.expect("a memory profile is there");
    indexed::read(&section.bytes, section.offset, &limits).map(drop)
}

fn fault(bytes: &[u8]) -> Option<String> {
    read(bytes).err().map(|error| error.to_string())
}

#[test]
fn every_damage_has_a_file_and_a_message() {
    if std::env::var_os("PROFBRIDGE_RENEW").is_some() {
        renew();
    }
    let listed = std::fs::read_to_string(bad().join("messages.txt")).unwrap();
    let listed: BTreeMap<&str, &str> = listed.lines().filter_map(|line| line.split_once(": ")).collect();
    let entries = std::fs::read_dir(bad()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut files: Vec<String> = entries.filter(|name| name != "messages.txt").collect();
    files.sort();
    assert!(files.iter().eq(listed.keys()), "each file has its line");
    assert!(files.len() > 40, "{}", files.len());
    let out = tempfile::tempdir().unwrap();
    let merged = out.path().join("merged");
    for (name, message) in listed {
        let path = bad().join(name);
        assert_eq!(fault(&std::fs::read(&path).unwrap()).as_deref(), Some(message), "{name}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_profbridge"));
        let done = command.args(["merge", "-o"]).arg(&merged).arg(&path).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        let words = message.split(": ").last().unwrap();
        assert!(done.status.code() == Some(1) && said.contains(words) && !merged.exists(), "{name}: {said}");
    }
}

const DOCUMENT: &str = "---
HeapProfileRecords:
  - GUID: 0x10
    AllocSites:
      - Callstack:
          - { Function: 0x10, LineOffset: 1, Column: 2, IsInlineFrame: false }
          - { Function: 0x20, LineOffset: 3, Column: 4, IsInlineFrame: false }
        MemInfoBlock: { AllocCount: 1, TotalSize: 2, TotalLifetime: 3, TotalLifetimeAccessDensity: 4 }
  - GUID: 0x50
    CallSites:
      - Frames: [ { Function: 0x50, LineOffset: 5, Column: 6, IsInlineFrame: false } ]
        CalleeGuids: [ 0x10 ]
DataAccessProfiles:
  SampledRecords:
    - Symbol: a
      AccessCount: 3
      Locations: [ { FileName: b, Line: 7 } ]
  KnownColdSymbols: [ c ]
  KnownColdStrHashes: [ 9 ]
";

/// Valid files, with the prefix and extension of their names, and the offset where changes start.
fn valid_files() -> Vec<(String, &'static str, Vec<u8>, usize)> {
    let temporary = tempfile::tempdir().unwrap();
    let document = temporary.path().join("document.yaml");
    std::fs::write(&document, DOCUMENT).unwrap();
    let mut files = Vec::new();
    for (version, release) in [(0, 19), (1, 19), (2, 22), (3, 22), (4, 22)] {
        let mut options = MergeOptions::default();
        options.release = Release(release);
        options.memprof.version = Some(version);
        let bytes = merged(std::slice::from_ref(&document), &options);
        let section = IndexedProfile::read(&bytes, ReadOptions::default()).unwrap().memprof().unwrap().unwrap();
        files.push((format!("v{version}"), "profdata", bytes, section.offset as usize));
    }
    let raw = std::fs::read(folder().join("clang-22-plain.memprofraw")).unwrap();
    files.push(("raw".to_string(), "memprofraw", raw, 8));
    files
}

/// Searches for faults and writes a file for each.
fn renew() {
    let mut found: BTreeMap<String, (String, Vec<u8>)> = BTreeMap::new();
    let mut look_at = |tag: &str, extension: &str, bytes: Vec<u8>| {
        let Some(message) = fault(&bytes).filter(|message| message.contains("memprof")) else { return };
        if message.contains("decompress") {
            return; // a message of the decompression library
        }
        let said = message.split(": ").skip(1).collect::<Vec<_>>().join(" ").replace("malformed", "");
        let is_word = |word: &&str| !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit());
        let class: Vec<&str> = said.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_word).collect();
        // The same fault in another version counts as the same.
        let name = format!("{}.{extension}", class.join("-").to_lowercase());
        if !found.keys().any(|known| known.ends_with(&name)) {
            found.insert(format!("{tag}-{name}"), (message, bytes));
        }
    };
    let changes: [fn(u8) -> u8; 3] = [|byte| byte ^ 1, |_| 0xff, |_| 0];
    for (tag, extension, good, start) in valid_files() {
        for at in start..good.len() {
            for change in changes {
                let mut bytes = good.clone();
                bytes[at] = change(bytes[at]);
                look_at(&tag, extension, bytes);
            }
        }
        // The second of two functions becomes the first: hash, key, and position.
        if tag == "v3" {
            let key = |number: u64| number.to_le_bytes();
            let mut bytes = good.clone();
            while let Some(at) = bytes[start..].windows(8).position(|word| word == key(0x50)) {
                bytes[start + at..start + at + 8].copy_from_slice(&key(0x10));
            }
            look_at(&tag, extension, bytes);
        }
        if extension == "memprofraw" {
            for at in (8..good.len()).step_by(101) {
                look_at(&tag, extension, good[..at].to_vec());
            }
        }
    }
    let _ = std::fs::remove_dir_all(bad());
    std::fs::create_dir_all(bad()).unwrap();
    let mut lines = String::new();
    for (name, (message, bytes)) in found {
        assert!(!message.contains('\n'), "{message}");
        std::fs::write(bad().join(Path::new(&name)), bytes).unwrap();
        lines += &format!("{name}: {message}\n");
    }
    std::fs::write(bad().join("messages.txt"), lines).unwrap();
}
