//! Merges random profiles: the output has the bytes of each release's tool.

use crate::generate::{Knows, profile};
use crate::oracle::{self, BUILT_WITH_LIBCXX, Input, Job, RELEASES, Shape};
use profbridge::generate::Random;
use std::path::Path;

/// Random merges per release, fewer for the releases between those that Debian packages. `PROFBRIDGE_CASES` sets a
/// larger number.
fn cases(release: u32) -> u64 {
    let few = if BUILT_WITH_LIBCXX.contains(&release) { 8 } else { 25 };
    std::env::var("PROFBRIDGE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(few)
}

fn write_inputs(dir: &Path, seed: u64, release: u32, count: u64, indexed_by: Option<&oracle::Tool>) -> Vec<Input> {
    let mut random = Random::new(seed ^ 0xabcd);
    let mut inputs = Vec::new();
    for number in 0..count {
        let path = dir.join(format!("in{number}.proftext"));
        std::fs::write(&path, profile(seed * 100 + number, seed, Knows::of(release))).unwrap();
        let weight = if random.chance(30) { [2, 7, 1 << 50][random.below(3) as usize] } else { 1 };
        let mut input = Input { path, weight };
        if let Some(tool) = indexed_by.filter(|_| random.chance(40)) {
            let path = dir.join(format!("in{number}.profdata"));
            let alone = [Input { weight: 1, ..input.clone() }];
            if tool.merge(&alone, &Job::new(Shape::Indexed), &path).success {
                input.path = path;
            }
        }
        inputs.push(input);
    }
    inputs
}

/// Returns the lines that name a record, in order.
fn complaints(stderr: &str) -> Vec<&str> {
    let advice = "Make sure that all profile data";
    stderr
        .lines()
        .filter(|line| !line.starts_with(advice) && !line.starts_with("warning: invalid profile created"))
        .collect()
}

fn compare(release: u32, jobs: impl Fn(&mut Random) -> Vec<Job>) {
    let Some(tool) = oracle::tool(release) else { return };
    let dir = tempfile::tempdir().unwrap();
    for case in 0..cases(release) {
        let mut random = Random::new(case ^ u64::from(release) << 32);
        let seed = random.next_number() >> 20;
        let count = 1 + random.below(5);
        let inputs = write_inputs(dir.path(), seed, release, count, Some(&tool));
        for job in jobs(&mut random) {
            let theirs = tool.merge(&inputs, &job, &dir.path().join("out"));
            let merged = oracle::merge(&inputs, release, &job);
            let what = format!("release {release} case {case} {job:?} {inputs:?}");
            assert_eq!(merged.failures == 0, theirs.success, "{what}: {}", theirs.stderr);
            if merged.failures > 0 {
                continue;
            }
            if release != 13 {
                assert_eq!(merged.complaints, complaints(&theirs.stderr), "{what}");
            }
            let ours = oracle::write(&merged.profile, release, &job);
            if ours != theirs.output {
                let kept = dir.keep();
                std::fs::write(kept.join("ours"), &ours).unwrap();
                panic!("{what} in {}: {}", kept.display(), oracle::difference(&ours, &theirs.output));
            }
        }
    }
}

fn all_shapes(_: &mut Random) -> Vec<Job> {
    [Shape::Indexed, Shape::Sparse, Shape::Text].map(Job::new).to_vec()
}

#[test]
fn every_release_gives_the_same_bytes() {
    for release in RELEASES {
        compare(release, all_shapes);
    }
}

#[test]
fn small_reservoirs_keep_the_same_traces() {
    for release in [19, 22] {
        compare(release, |random| {
            let mut job = Job::new(Shape::Text);
            job.reservoir = Some(random.below(8));
            job.max_trace = Some(1 + random.below(9));
            vec![job]
        });
    }
}

#[test]
fn the_previous_version_gives_the_same_bytes() {
    for release in [19, 20, 21, 22, 23] {
        compare(release, |_| vec![Job { previous_version: true, ..Job::new(Shape::Indexed) }]);
    }
}

#[test]
fn kept_vtable_names_give_the_same_bytes() {
    for release in [19, 20, 21, 22, 23] {
        compare(release, |_| {
            [Shape::Indexed, Shape::Text].map(|shape| Job { keep_vtables: true, ..Job::new(shape) }).to_vec()
        });
    }
}

/// More traces were seen than fit, but none is sampled: the traces of the first input are used directly; some releases
/// truncate the list and others do not.
#[test]
fn a_first_long_stream_is_cut_as_in_every_release() {
    for release in 17..=23 {
        let Some(tool) = oracle::tool(release) else { continue };
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("in.proftext");
        std::fs::write(
            &path,
            ":temporal_prof_traces\n2\n300\n1\nf,g,h\n7\nh,g\n\nf\n1\n1\n5\n\ng\n1\n1\n6\n\nh\n1\n1\n7\n",
        )
        .unwrap();
        for max_trace in [0, 1, 2] {
            let job = Job { max_trace: Some(max_trace), reservoir: Some(5), ..Job::new(Shape::Text) };
            let inputs = [Input { path: path.clone(), weight: 1 }];
            let theirs = tool.merge(&inputs, &job, &dir.path().join("out"));
            let ours = oracle::write(&oracle::merge(&inputs, release, &job).profile, release, &job);
            let what = format!("release {release}, traces of {max_trace}");
            assert_eq!(ours.escape_ascii().to_string(), theirs.output.escape_ascii().to_string(), "{what}");
        }
    }
}
