//! Tests of every version: written, read back, and read by the real tools.

use crate::generate::{Knows, profile};
use crate::oracle::{self, Input, Job, Shape, difference};
use profbridge::Compat;
use profbridge::indexed::{self, IndexedProfile, ReadOptions, Records, WriteOptions};
use profbridge::instr::{FunctionRecord, FunctionTable, Loss, Profile, ProfileKind, Release, ValueKind};
use profbridge::instr::{MergeOptions, Merger};
use profbridge::text::{self, TextOptions};
use std::path::Path;

/// Merges the contents of one file with the rules of a release.
fn load(bytes: &[u8], release: Release) -> profbridge::Result<Profile> {
    let mut reader = oracle::open(bytes, Compat::Profbridge)?;
    let mut options = MergeOptions::default();
    options.release = release;
    options.keep_vtable_names = true;
    let mut merger = Merger::new(options);
    merger.begin_input(reader.kind())?;
    while let Some(record) = reader.next_record()? {
        merger.add_record(record, 1);
    }
    merger.add_traces(reader.temporal());
    merger.add_binary_ids(reader.binary_ids()?);
    merger.add_vtable_names(reader.vtable_names()?);
    if let Some(section) = reader.memprof().unwrap() {
        merger.add_memprof(section, 1)?;
    }
    Ok(merger.into_profile())
}

/// Returns the data of a profile that a version can store.
fn reduced(mut profile: Profile, version: u32) -> Profile {
    let mut functions = FunctionTable::new();
    for function in profile.functions.iter() {
        let id = functions.intern(function.name());
        for record in function.records() {
            let mut record = record.to_record();
            if version < 11 {
                record.bitmap.clear();
            }
            if version < 3 {
                record.drop_value_sites();
            } else if version < 12 {
                record.sites_mut(ValueKind::VTableTarget).clear();
            }
            functions.push_record(id, &record);
        }
    }
    profile.functions = functions;
    profile
}

fn records(profile: &Profile) -> Vec<(Vec<u8>, Vec<FunctionRecord>)> {
    let mut all: Vec<_> = profile
        .functions
        .iter()
        .map(|f| {
            let mut records: Vec<FunctionRecord> = f.records().map(|record| record.to_record()).collect();
            records.sort_by_key(|record| record.func_hash);
            for record in &mut records {
                if !record.has_value_sites() {
                    record.drop_value_sites();
                }
            }
            (f.name().to_vec(), records)
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

#[test]
fn every_version_round_trips_its_data() {
    for seed in 0..20 {
        let text = profile(seed, seed, Knows::of(22));
        for version in 2..=14 {
            let options = WriteOptions::for_version(version);
            let whole = load(text.as_bytes(), options.release).unwrap();
            let bytes = indexed::write(&whole, &options).unwrap();
            let again = load(&bytes, options.release).unwrap();
            let expected = reduced(whole, version);
            assert_eq!(records(&again), records(&expected), "version {version} seed {seed}");
        }
    }
}

#[test]
fn lookup_finds_the_records_of_the_walk() {
    for seed in 0..10 {
        let whole = load(profile(seed, seed, Knows::of(22)).as_bytes(), Release(22)).unwrap();
        for version in 1..=14 {
            let bytes = indexed::write(&whole, &WriteOptions::for_version(version)).unwrap();
            let view = IndexedProfile::read(&bytes, ReadOptions::default()).unwrap();
            let mut walked = 0;
            for entry in view.entries() {
                let entry = entry.unwrap();
                let found = view.get(entry.name).unwrap().expect("a name that was walked over");
                let all = |records: Records<'_>| records.map(Result::unwrap).collect::<Vec<FunctionRecord>>();
                assert_eq!(entry.records.len(), all(entry.records.clone()).len());
                assert_eq!(all(entry.records), all(found.records));
                walked += 1;
            }
            assert_eq!(walked, view.len());
            assert!(view.get(b"no such name").unwrap().is_none());
        }
    }
}

#[test]
fn one_record_a_name_is_all_that_version_1_holds() {
    let text = "f\n1\n2\n3\n4\n\nf\n2\n1\n9\n\ng\n1\n1\n5\n";
    let whole = load(text.as_bytes(), Release(22)).unwrap();
    let options = WriteOptions::for_version(1);
    let words: Vec<String> = indexed::losses(&whole, &options).iter().map(Loss::to_string).collect();
    assert_eq!(words, ["1 further record of a name"]);
    let again = load(&indexed::write(&whole, &options).unwrap(), Release(22)).unwrap();
    assert_eq!(again.functions.records_len(), 2);
}

#[test]
fn unsupported_fields_are_counted_as_losses() {
    let text = ":ir\n:temporal_prof_traces\n1\n1\n1\nf,\nf\n1\n1\n4\n$2\n1\n2\n2\n1\n1\n1\n8:1\n2\n1\n1\nv:3\n";
    let mut whole = load(text.as_bytes(), Release(22)).unwrap();
    whole.binary_ids = vec![vec![1, 2], vec![1, 2], vec![3]];
    let words = |version| -> Vec<String> {
        indexed::losses(&whole, &WriteOptions::for_version(version)).iter().map(Loss::to_string).collect()
    };
    assert!(words(13).is_empty() && words(12).is_empty());
    assert_eq!(words(11), ["1 vtable value site", "1 vtable name"]);
    assert_eq!(words(10)[1], "2 bitmap bytes");
    assert!(words(9).contains(&"1 temporal trace".to_string()));
    assert!(words(8).contains(&"2 binary ids".to_string()));
    assert!(words(2).contains(&"1 value site".to_string()));
}

/// llvm-profdata 22 reads all versions and must find the written data.
#[test]
fn the_newest_tool_reads_every_version() {
    let Some(tool) = oracle::tool(22) else { return };
    let dir = tempfile::tempdir().unwrap();
    for seed in 0..6 {
        let whole = load(profile(seed, seed, Knows::of(22)).as_bytes(), Release(22)).unwrap();
        for version in 2..=13 {
            let bytes = indexed::write(&whole, &WriteOptions::for_version(version)).unwrap();
            let path = dir.path().join("in.profdata");
            std::fs::write(&path, &bytes).unwrap();
            let run = tool.merge(&[Input { path, weight: 1 }], &Job::new(Shape::Text), &dir.path().join("out"));
            assert!(run.success, "version {version}: {}", run.stderr);
            let mut expected = load(&bytes, Release(22)).unwrap();
            expected.vtable_names.clear();
            let ours = text::write(&expected, &TextOptions::new(Compat::Llvm22)).bytes;
            assert!(ours == run.output, "version {version}: {}", difference(&ours, &run.output));
        }
    }
}

/// Files of releases whose tools are not installed, written again. They come from LLVM's own tests, in the directory
/// `PROFBRIDGE_REAL_PROFILES`.
#[test]
fn files_of_old_releases_come_out_as_they_went_in() {
    let Some(dir) = std::env::var_os("PROFBRIDGE_REAL_PROFILES") else {
        eprintln!("SKIPPED: PROFBRIDGE_REAL_PROFILES does not name a folder of old profiles");
        return;
    };
    let dir = Path::new(&dir);
    for (name, version, release) in [
        ("compat.v1.profdata", 1, 3),
        ("compat.v2.profdata", 2, 3),
        ("compat.v4.profdata", 4, 3),
        ("compat.v10.profdata", 10, 17),
        ("entry-coverage.profdata", 7, 14),
    ] {
        let Ok(bytes) = std::fs::read(dir.join(name)) else {
            eprintln!("SKIPPED: {name} is not here");
            continue;
        };
        let release = Release(release);
        let whole = load(&bytes, release).unwrap();
        let again = indexed::write(&whole, &WriteOptions::for_version_by(version, release)).unwrap();
        assert!(again == bytes, "{name}: {}", difference(&again, &bytes));
    }
}

/// Files of real compilers and tools, from `testdata/`.
#[test]
fn indexed_files_come_out_as_they_went_in() {
    let mut seen = 0;
    for path in testdata(".profdata") {
        let bytes = std::fs::read(&path).unwrap();
        let release = release_of(&path);
        // If a release merges its own file again, it reorders names (16 and earlier) and the records of a name (18 and
        // earlier).
        if release < Release(19) {
            continue;
        }
        let whole = load(&bytes, release).unwrap();
        let view = IndexedProfile::read(&bytes, ReadOptions::default()).unwrap();
        let options = WriteOptions::for_version_by(view.version(), release);
        let again = indexed::write(&whole, &options).unwrap();
        assert!(again == bytes, "{}: {}", path.display(), difference(&again, &bytes));
        seen += 1;
    }
    assert!(seen > 30, "{seen} files");
}

#[test]
fn indexed_files_give_the_text_of_their_release() {
    let mut seen = 0;
    for path in testdata(".profdata") {
        let Ok(theirs) = std::fs::read(path.with_extension("proftext")) else { continue };
        let release = release_of(&path);
        let whole = load(&std::fs::read(&path).unwrap(), release).unwrap();
        let ours = text::write(&whole, &TextOptions::new(Compat::Llvm22).release(release)).bytes;
        assert!(ours == theirs, "{}: {}", path.display(), difference(&ours, &theirs));
        seen += 1;
    }
    assert!(seen > 50, "{seen} files");
}

/// Returns the release whose tool wrote a file, from the file name.
fn release_of(path: &Path) -> Release {
    let name = path.file_name().unwrap().to_str().unwrap();
    let number = name.split(['-', '.']).nth(1).unwrap();
    Release(if name.starts_with("rustc") { 22 } else { number.parse().unwrap() })
}

fn testdata(suffix: &str) -> Vec<std::path::PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut folders = vec![root.join("raw"), root.join("merge")];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            eprintln!("SKIPPED: {} is not here", folder.display());
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_str().unwrap().ends_with(suffix) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn the_kind_survives_where_the_release_knows_it() {
    let all = ProfileKind::IR | ProfileKind::ENTRY_FIRST | ProfileKind::LOOP_ENTRIES | ProfileKind::BYTE_COVERAGE;
    let mut whole = Profile { kind: all, ..Profile::default() };
    whole.functions.intern(b"unused");
    for (version, kept) in [(13, all), (7, all.without(ProfileKind::LOOP_ENTRIES)), (4, ProfileKind::IR)] {
        let bytes = indexed::write(&whole, &WriteOptions::for_version(version)).unwrap();
        let view = IndexedProfile::read(&bytes, ReadOptions::default()).unwrap();
        assert_eq!((view.kind(), view.len()), (kept, 0));
    }
}
