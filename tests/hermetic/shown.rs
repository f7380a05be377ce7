//! Tests of `show` with raw profiles of version 10 and with a merged profile.

use crate::files::{assert_none, folder, with_extension};
use profbridge::families::{self, ReadOptions};
use profbridge::instr::show::{ShowOptions, show};
use std::path::Path;

/// Compares the output for `profile` with `golden`.
fn difference(profile: &Path, golden: &Path, context_sensitive: bool) -> Option<String> {
    let data = std::fs::read(profile).unwrap_or_else(|error| panic!("{}: {error}", profile.display()));
    let expected = std::fs::read_to_string(golden).expect("what was shown is text");
    let read = ReadOptions::default();
    let mut reader = families::open_reader(&data, &read).expect("the file is good");
    let mut options = ShowOptions::default();
    options.all_functions = true;
    options.counts = true;
    options.indirect_call_targets = true;
    options.memop_sizes = true;
    options.context_sensitive = context_sensitive;
    let mut found = Vec::new();
    let no_text = |_: &mut dyn std::io::Write, _: &[u8], _: profbridge::instr::RecordView<'_>, _: &_| Ok(());
    show(reader.as_mut(), &options, &no_text, &mut found).expect("the file is good");
    let found = String::from_utf8(found).expect("the names of these files are text");
    let first = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    (found != expected).then(|| format!("{}: first different line {first:?}", golden.display()))
}

/// Compares each file in `folder` with the given extension with the output for its profile.
fn compare(folder: &Path, extension: &str, profile_extension: &str, context_sensitive: bool) {
    let goldens = with_extension(folder, extension);
    let differences = goldens
        .iter()
        .filter_map(|golden| difference(&golden.with_extension(profile_extension), golden, context_sensitive))
        .collect();
    assert_none(differences, goldens.len());
}

#[test]
fn raw_profiles_are_shown_as_llvm_profdata_shows_them() {
    compare(&folder("raw"), "show", "profraw", false);
}

#[test]
fn context_sensitive_records_are_shown_on_request() {
    compare(&folder("raw"), "showcs", "profraw", true);
}

#[test]
fn merged_profiles_are_shown_as_llvm_profdata_shows_them() {
    compare(&folder("merge/clang-19"), "show", "profdata", false);
    compare(&folder("merge/clang-22"), "show", "profdata", false);
    compare(&folder("merge/clang-23"), "show", "profdata", false);
}
