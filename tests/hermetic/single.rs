//! Tests of single raw profiles of each compiler and kind of instrumentation.

use crate::files::{Job, assert_none, difference, folder, release_of, with_extension};

fn raw_files() -> Vec<std::path::PathBuf> {
    with_extension(&folder("raw"), "profraw")
}

/// LLVM 16 and 17 lose the binary ids of all images of a file except the last. profbridge keeps them.
const MORE_BINARY_IDS: [&str; 2] = ["clang-16-shared-library", "clang-17-shared-library"];

#[test]
fn raw_profiles_become_the_indexed_files_of_their_release() {
    let mut files = raw_files();
    files.retain(|raw| !MORE_BINARY_IDS.iter().any(|forgotten| raw.ends_with(format!("{forgotten}.profraw"))));
    let differences = files
        .iter()
        .filter_map(|raw| {
            let job = Job::of(release_of(raw)).input(raw, 1);
            difference(job, &raw.with_extension("profdata"))
        })
        .collect();
    assert_none(differences, files.len());
}

#[test]
fn ids_of_all_images_of_a_file_are_kept() {
    for (name, id) in MORE_BINARY_IDS.into_iter().zip([20, 8]) {
        let raw = folder("raw").join(name).with_extension("profraw");
        let found = Job::of(release_of(&raw)).input(&raw, 1).run().expect("the file is good");
        let theirs = std::fs::read(raw.with_extension("profdata")).expect("the file is there");
        // The ids are at the end. Each has 8 bytes of length, the id and padding. The size of the section, which
        // differs, is before them.
        let entry = 8 + usize::next_multiple_of(id, 8);
        let section = theirs.len() - (8 + entry);
        assert_eq!(found.len(), theirs.len() + entry, "{name}");
        assert_eq!(found[..section], theirs[..section], "{name}");
        assert_eq!(found[section..section + 8], (2 * entry as u64).to_le_bytes(), "{name}");
        let ids = &found[section + 8..];
        assert!(ids.chunks(entry).any(|id| *id == theirs[section + 8..]), "{name}: the id that LLVM kept is there");
        assert!(ids[..entry] < ids[entry..], "{name}: the ids are sorted");
    }
}

#[test]
fn raw_profiles_become_the_text_of_their_release() {
    let files = raw_files();
    let differences = files
        .iter()
        .filter_map(|raw| {
            let release = release_of(raw);
            let job = Job::of(release).input(raw, 1).text();
            difference(job, &raw.with_extension("proftext"))
        })
        .collect();
    assert_none(differences, files.len());
}

#[test]
fn indexed_files_match_the_raw_profiles() {
    let files = raw_files();
    let differences = files
        .iter()
        .filter_map(|raw| {
            let release = release_of(raw);
            let job = Job::of(release).input(raw.with_extension("profdata"), 1).text();
            difference(job, &raw.with_extension("proftext"))
        })
        .collect();
    assert_none(differences, files.len());
}

#[test]
fn text_files_come_back_unchanged() {
    let files = raw_files();
    let differences = files
        .iter()
        .filter_map(|raw| {
            let text = raw.with_extension("proftext");
            difference(Job::of(release_of(raw)).input(&text, 1).text(), &text)
        })
        .collect();
    assert_none(differences, files.len());
}

#[test]
fn kept_vtable_names_are_those_the_genuine_tool_keeps() {
    let files: Vec<_> = raw_files().into_iter().filter(|raw| raw.with_extension("kept.profdata").exists()).collect();
    let mut differences = Vec::new();
    for raw in &files {
        let keep = |job: Job| {
            let mut job = job.input(raw, 1);
            job.merge.keep_vtable_names = true;
            job
        };
        let release = release_of(raw);
        differences.extend(difference(keep(Job::of(release)), &raw.with_extension("kept.profdata")));
        differences.extend(difference(keep(Job::of(release)).text(), &raw.with_extension("kept.proftext")));
    }
    assert_none(differences, 2 * files.len());
}
