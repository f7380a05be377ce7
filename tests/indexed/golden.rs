//! Digests of random merges by the real tools: the same test as in `merging.rs`, for machines without LLVM.
//!
//! `golden.txt` has lines of the form `RELEASE CASE SHAPE MD5`. `PROFBRIDGE_WRITE_GOLDEN=1` rewrites it with the
//! installed tools.

use crate::generate::{Knows, profile};
use crate::oracle::{self, BUILT_WITH_LIBCXX, Input, Job, RELEASES, Shape};
use profbridge::generate::Random;
use std::fmt::Write;
use std::path::Path;

/// The releases that Debian packages cover most of the others' behavior, so they have more cases.
fn cases(release: u32) -> u64 {
    if BUILT_WITH_LIBCXX.contains(&release) { 6 } else { 24 }
}

fn inputs(dir: &Path, release: u32, case: u64) -> Vec<Input> {
    let mut random = Random::new(case * 1000 + u64::from(release));
    let family = random.below(1 << 40);
    (0..1 + random.below(4))
        .map(|number| {
            let path = dir.join(format!("{number}.proftext"));
            std::fs::write(&path, profile(random.below(1 << 40), family, Knows::of(release))).unwrap();
            Input { path, weight: [1, 1, 1, 5][random.below(4) as usize] }
        })
        .collect()
}

/// Returns one line per release, case and shape.
fn digests(mut make: impl FnMut(&[Input], u32, &Job) -> Option<Vec<u8>>) -> String {
    let mut lines = String::new();
    let dir = tempfile::tempdir().unwrap();
    for release in RELEASES {
        for case in 0..cases(release) {
            let inputs = inputs(dir.path(), release, case);
            for shape in [Shape::Indexed, Shape::Sparse, Shape::Text] {
                if let Some(bytes) = make(&inputs, release, &Job::new(shape)) {
                    writeln!(lines, "{release} {case} {shape:?} {:x}", md5::compute(bytes)).unwrap();
                }
            }
        }
    }
    lines
}

#[test]
fn random_merges_give_the_recorded_bytes() {
    if std::env::var_os("PROFBRIDGE_WRITE_GOLDEN").is_some() {
        let out = tempfile::tempdir().unwrap();
        let recorded = digests(|inputs, release, job| {
            let run = oracle::tool(release)?.merge(inputs, job, &out.path().join("out"));
            run.success.then_some(run.output)
        });
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/indexed/golden.txt");
        std::fs::write(path, recorded).unwrap();
        return;
    }
    let ours = digests(|inputs, release, job| {
        let merged = oracle::merge(inputs, release, job);
        (merged.failures == 0).then(|| oracle::write(&merged.profile, release, job))
    });
    let recorded = include_str!("golden.txt");
    for (ours, recorded) in ours.lines().zip(recorded.lines()) {
        assert_eq!(ours, recorded);
    }
    assert_eq!(ours.lines().count(), recorded.lines().count());
    assert!(recorded.lines().count() > 300);
}
