//! Raw profiles against the genuine tools: what we write they read, and what
//! an image tells us it tells them.

mod correlate;
mod info;
mod tools;
mod written;

use profbridge::families::{MergeOptions, OutputFormat, WriteOptions, encode, merge_files};
use profbridge::input::WeightedInput;
use profbridge::instr::{Profile, Release};
use std::path::{Path, PathBuf};

/// A file of the project's test data.
fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata").join(path)
}

/// Merges one file by the rules of a release.
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

/// The profile in a format.
#[track_caller]
fn encoded(profile: &Profile, format: OutputFormat) -> Vec<u8> {
    let mut options = WriteOptions::default();
    options.format = format;
    encode(profile, &options).expect("every profile can be written").bytes
}

/// The profile as text of a release.
#[track_caller]
fn text(profile: &Profile, release: Release) -> String {
    String::from_utf8_lossy(&encoded(profile, OutputFormat::Text { release })).into_owned()
}
