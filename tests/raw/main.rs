//! Compares raw profiles with the real tools: they read our files, and correlation with an image gives the same
//! results.

mod correlate;
mod info;
mod tools;
mod written;

use profbridge::families::{MergeOptions, OutputFormat, WriteOptions, encode, merge_files};
use profbridge::input::WeightedInput;
use profbridge::instr::{Profile, Release};
use std::path::{Path, PathBuf};

/// The path of a file in `testdata`.
fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(path)
}

/// Merges one file with the rules of a release.
#[track_caller]
fn merged(path: &Path, release: Release, change: impl FnOnce(&mut MergeOptions)) -> Profile {
    let mut options = MergeOptions::default();
    options.release = release;
    change(&mut options);
    let report = merge_files(&[WeightedInput::new(path)], &options, &mut |_, _| {}).expect("nothing ends the merge");
    let failed: Vec<String> = report.failures().map(|(_, error)| error.to_string()).collect();
    assert!(failed.is_empty(), "{}: {failed:?}", path.display());
    report.profile
}

/// Writes the profile in a format.
#[track_caller]
fn encoded(profile: &Profile, format: OutputFormat) -> Vec<u8> {
    let mut options = WriteOptions::default();
    options.format = format;
    encode(profile, &options).expect("every profile can be written").bytes
}

/// Writes the profile as text of a release.
#[track_caller]
fn text(profile: &Profile, release: Release) -> String {
    String::from_utf8_lossy(&encoded(profile, OutputFormat::Text { release })).into_owned()
}
