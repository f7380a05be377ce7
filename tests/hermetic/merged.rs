//! Merges four runs of one program with the options that the names of the results state.

use crate::files::{Job, assert_none, difference, folder, release_of, with_extension};
use profbridge::families::OutputFormat;
use profbridge::instr::FunctionFilter;
use profbridge::instr::Release;
use std::path::{Path, PathBuf};

/// Returns each directory of `merge/` with the results that end in `suffix`.
fn results(suffix: &str) -> Vec<(PathBuf, PathBuf)> {
    let mut found = Vec::new();
    for compiler in [13, 14, 18, 19, 22, 23] {
        let folder = folder(&format!("merge/clang-{compiler}"));
        let (_, extension) = suffix.rsplit_once('.').expect("an ending has an extension");
        for file in with_extension(&folder, extension) {
            let name = file.file_name().and_then(|name| name.to_str()).expect("names are text");
            let release = release_of(&file).0;
            if name == format!("llvm-{release}{suffix}") {
                found.push((folder.clone(), file));
            }
        }
    }
    found
}

fn runs(folder: &Path, job: Job) -> Job {
    (1..=4).fold(job, |job, run| job.input(folder.join(format!("run-{run}.profraw")), 1))
}

fn weighted(folder: &Path, job: Job) -> Job {
    let run = |number: u32| folder.join(format!("run-{number}.profraw"));
    job.input(run(1), 1).input(run(2), 5).input(run(4), 2)
}

/// Compares all results that end in `suffix` with the output of `job` for the directory.
#[track_caller]
fn compare(suffix: &str, job: impl Fn(&Path, Job) -> Job) {
    let results = results(suffix);
    let differences = results
        .iter()
        .filter_map(|(folder, golden)| {
            let job = job(folder, Job::of(release_of(golden)));
            let job = if suffix.ends_with("proftext") { job.text() } else { job };
            difference(job, golden)
        })
        .collect();
    assert_none(differences, results.len());
}

#[test]
fn four_runs_give_the_bytes_of_every_release() {
    compare(".profdata", runs);
}

#[test]
fn four_runs_give_the_text_of_every_release() {
    compare(".proftext", runs);
}

#[test]
fn weights_multiply_as_in_every_release() {
    compare("-weighted.profdata", weighted);
    compare("-weighted.proftext", weighted);
}

#[test]
fn sparse_drops_functions_that_never_ran() {
    compare("-sparse.profdata", |folder, job| {
        let mut job = runs(folder, job);
        job.write.sparse = true;
        job
    });
}

#[test]
fn filters_choose_by_name() {
    compare("-filtered.profdata", |folder, job| {
        let mut job = runs(folder, job);
        job.merge.filter = FunctionFilter::new(Some("a[dp]"), Some("apply")).expect("the expressions are valid");
        job.write.filter = job.merge.filter.clone();
        job
    });
}

#[test]
fn previous_version_matches_the_release() {
    compare("-previous.profdata", |folder, job| {
        let mut job = runs(folder, job);
        job.write.format = OutputFormat::Indexed { release: job.merge.release, version: 11 };
        job
    });
}

#[test]
fn merging_partial_results_is_merging_the_runs() {
    let release = Release(22);
    let folder = folder("merge/clang-22");
    let run = |number: u32| folder.join(format!("run-{number}.profraw"));
    let temporary = tempfile::tempdir().expect("a temporary folder");
    for format in ["profdata", "proftext"] {
        let partial = |first: u32, second: u32| {
            let job = Job::of(release).input(run(first), 1).input(run(second), 1);
            let job = if format == "proftext" { job.text() } else { job };
            let path = temporary.path().join(format!("{first}-{second}.{format}"));
            std::fs::write(&path, job.run().expect("the files are good")).expect("file can be written");
            path
        };
        let of_partials = Job::of(release).input(partial(1, 2), 1).input(partial(3, 4), 1).text();
        assert_none(difference(of_partials, &folder.join("llvm-22.proftext")).into_iter().collect(), 1);
    }
}

#[test]
fn uniform_counts_add_up_and_bits_are_and_ed() {
    compare("-uniform.profdata", |folder, job| {
        job.input(folder.join("uniform-1.profraw"), 1).input(folder.join("uniform-2.profraw"), 3)
    });
    compare("-mixed.profdata", |folder, job| {
        let first = job.input(folder.join("llvm-23-uniform.profdata"), 1);
        first.input(folder.join("uniform-1.profraw"), 1).input(folder.join("run-3.profraw"), 1)
    });
}
