//! Tests of memory profiles in indexed files: copied, or written empty as in LLVM.

use crate::oracle::{self, Input, Job, Shape, difference};
use profbridge::Compat;
use profbridge::indexed::{self, WriteOptions};
use profbridge::instr::Profile;
use profbridge::instr::{InputOptions, MergeOptions, Merger};
use std::path::Path;
use std::process::Command;

const DOCUMENT: &str = "---
HeapProfileRecords:
  - GUID:            0x1234
    AllocSites:
      - Callstack:
          - { Function: 0x1234, LineOffset: 1, Column: 2, IsInlineFrame: false }
          - { Function: 0x5678, LineOffset: 3, Column: 4, IsInlineFrame: true }
        MemInfoBlock: { AllocCount: 7, TotalSize: 99 }
    CallSites:
      - Frames:
          - { Function: 0x1234, LineOffset: 1, Column: 2, IsInlineFrame: false }
  - GUID:            main
    AllocSites:
      - Callstack:
          - { Function: main, LineOffset: 10, Column: 2, IsInlineFrame: false }
        MemInfoBlock: { AllocCount: 3 }
DataAccessProfiles:
  SampledRecords:
    - Symbol: abcde
      AccessCount: 4
      Locations: [ { FileName: x.c, Line: 3 } ]
...
";

const COUNTS: &str = ":ir\nf\n1\n2\n3\n4\n\nlonger name\n1\n1\n7\n";

/// Returns an indexed file of the real tool with a memory profile of this version.
fn memory_profile(dir: &Path, version: u32) -> std::path::PathBuf {
    let document = dir.join("document.yaml");
    std::fs::write(&document, DOCUMENT).unwrap();
    let path = dir.join(format!("memory-{version}.profdata"));
    let run = Command::new("llvm-profdata-22")
        .args(["merge", &format!("--memprof-version={version}"), "-o"])
        .args([&path, &document])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    path
}

fn shown_memory(path: &Path) -> String {
    let run = Command::new("llvm-profdata-22").args(["show", "--memory"]).arg(path).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}

fn merged(files: &[Vec<u8>]) -> Profile {
    let mut merger = Merger::new(MergeOptions::default());
    for bytes in files {
        let mut reader = oracle::open(bytes, Compat::Profbridge).unwrap();
        merger.add_reader(reader.as_mut(), &InputOptions::default(), &mut |_, _| {}).unwrap();
    }
    merger.into_profile()
}

#[test]
fn a_carried_memory_profile_reads_the_same() {
    if oracle::tool(22).is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for version in 2..=4 {
        let path = memory_profile(dir.path(), version);
        let profile = merged(&[COUNTS.as_bytes().to_vec(), std::fs::read(&path).unwrap()]);
        for format_version in [8, 9, 11, 13] {
            let bytes = indexed::write(&profile, &WriteOptions::for_version(format_version)).unwrap();
            let carried = dir.path().join("carried.profdata");
            std::fs::write(&carried, &bytes).unwrap();
            assert_eq!(shown_memory(&carried), shown_memory(&path), "section {version} in v{format_version}");
            // If it is merged alone, the output equals the original file.
            let alone = merged(&[std::fs::read(&path).unwrap()]);
            let again = indexed::write(&alone, &WriteOptions::default()).unwrap();
            let original = std::fs::read(&path).unwrap();
            assert!(again == original, "{}", difference(&again, &original));
        }
    }
}

#[test]
fn an_empty_memory_profile_is_written_as_by_the_tool() {
    let Some(newest) = oracle::tool(22) else { return };
    let dir = tempfile::tempdir().unwrap();
    let counts = dir.path().join("counts.proftext");
    std::fs::write(&counts, COUNTS).unwrap();
    let memory = memory_profile(dir.path(), 3);
    let inputs = [counts, memory].map(|path| Input { path, weight: 1 });
    let job = Job::new(Shape::Indexed);
    let theirs = newest.merge(&inputs, &job, &dir.path().join("out"));
    let merged = oracle::merge(&inputs, 22, &job);
    let ours = oracle::write(&merged.profile, 22, &job);
    assert!(ours == theirs.output, "{}", difference(&ours, &theirs.output));
    for (release, version) in [(15, 8), (16, 9), (19, 11)] {
        let Some(tool) = oracle::tool(release) else { continue };
        // The older tool can only read the empty section of its own release.
        let path = dir.path().join("old.profdata");
        let options = WriteOptions::for_version_by(version, profbridge::instr::Release(release));
        std::fs::write(&path, indexed::write(&merged.profile, &options).unwrap()).unwrap();
        let inputs = [Input { path, weight: 1 }];
        let theirs = tool.merge(&inputs, &job, &dir.path().join("out"));
        assert!(theirs.success, "release {release}: {}", theirs.stderr);
        // Like LLVM, drop the content of the section.
        let profile = Profile { memprof: None, ..self::merged(&[std::fs::read(&inputs[0].path).unwrap()]) };
        let ours = oracle::write(&profile, release, &job);
        assert!(ours == theirs.output, "release {release}: {}", difference(&ours, &theirs.output));
    }
}
