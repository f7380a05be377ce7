//! Tests of raw profiles without names and records, and the programs that contain these.

use crate::files::{Job, assert_none, difference, folder, release_of, with_extension};
use profbridge::raw::correlate::{CorrelationKind, Images};
use profbridge::{Compat, Limits};
use std::path::Path;
use std::sync::Arc;

/// Returns a job with the image next to `raw`.
fn correlated(raw: &Path) -> Job {
    let name = raw.file_stem().and_then(|stem| stem.to_str()).expect("names are text");
    let kind = if name.ends_with("debug-info") { CorrelationKind::DebugInfo } else { CorrelationKind::Binary };
    let mut images = Images::new(kind, Compat::Profbridge, Limits::default());
    images.add(&raw.with_extension("binary")).expect("the binary is good");
    let mut job = Job::of(release_of(raw)).input(raw, 1);
    job.merge.read.correlator = Some(Arc::new(images));
    job
}

#[test]
fn correlated_profiles_become_the_files_of_their_release() {
    let files = with_extension(&folder("correlate"), "profraw");
    let mut differences = Vec::new();
    for raw in &files {
        differences.extend(difference(correlated(raw), &raw.with_extension("profdata")));
        differences.extend(difference(correlated(raw).text(), &raw.with_extension("proftext")));
    }
    assert_none(differences, 2 * files.len());
}

#[test]
fn without_the_binary_the_message_asks_for_it() {
    for raw in with_extension(&folder("correlate"), "profraw") {
        let message = Job::of(release_of(&raw)).input(&raw, 1).run().expect_err("there are no names");
        assert!(message.contains("correlated"), "{message}");
    }
}
