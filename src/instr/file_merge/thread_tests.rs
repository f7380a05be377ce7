//! Merges of every family produce the same bytes with one thread, two threads and more threads than inputs.
//! ThreadSanitizer and Miri run this module too (see docs/internals/testing.md).

use crate::families::merge::iprof::{IprofMergeOptions, merge_iprof_files};
use crate::families::partial::{Finished, Partial, PartialOptions};
use crate::input::{Family, Input, WeightedInput};
use crate::instr::encode::{OutputFormat, WriteOptions, encode};
use crate::instr::file_merge::{MergeOptions, merge_files};
use crate::model::{FunctionRecord, Profile, ProfileKind, Release};
use crate::{iprof, sampleprof, stacks, text};
use std::num::NonZeroUsize;
use std::path::Path;

type Threads = Option<NonZeroUsize>;

/// Runs `work` with each number of threads and compares the results.
fn assert_alike(what: &str, work: impl Fn(Threads) -> Vec<u8>) {
    let expected = work(NonZeroUsize::new(1));
    assert!(expected.len() > 50, "{what}: {} bytes", expected.len());
    for threads in [2, 8] {
        assert!(work(NonZeroUsize::new(threads)) == expected, "{what} by {threads} threads");
    }
}

/// Returns files of `testdata`, three times each.
fn files(names: &[&str]) -> Vec<WeightedInput> {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    names.repeat(3).iter().map(|name| WeightedInput::new(testdata.join(name))).collect()
}

/// Returns records for several batches and blocks.
fn large_text() -> Vec<u8> {
    let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
    // Miri is about a thousand times slower.
    for number in 0..if cfg!(miri) { 300 } else { 5000u64 } {
        let function = profile.functions.intern(format!("function{number}").as_bytes());
        profile.functions.push_record(function, &FunctionRecord::new(number, vec![number; 5]));
    }
    text::write(&profile, &text::TextOptions::new(crate::Compat::Profbridge)).bytes
}

/// Returns an iprof document of several chunks.
fn large_iprof(name: &str) -> Input {
    let entries = if cfg!(miri) { 100 } else { 20_000 };
    let entry = |number: usize| format!("{{\"ctx\":\"0:0<1:{number}\",\"records\":[{number}]}}");
    let entries: Vec<String> = (0..entries).map(entry).collect();
    let head = "{\"version\":\"1.0.0\",\"types\":[{\"id\":0,\"name\":\"a.A\"},{\"id\":1,\"name\":\"void\"}],\
                \"methods\":[{\"id\":0,\"name\":\"m\",\"signature\":[0,1]},{\"id\":1,\"name\":\"n\",\"signature\":[0,1]}],";
    Input::from_bytes(name, format!("{head}\"callCountProfiles\":[{}]}}", entries.join(",")).into_bytes())
}

fn merge_options(threads: Threads) -> MergeOptions {
    MergeOptions { threads, ..MergeOptions::default() }
}

fn encoded(profile: &Profile, format: OutputFormat, threads: Threads) -> Vec<u8> {
    let mut write = WriteOptions::default();
    (write.threads, write.format) = (threads, format);
    encode(profile, &write).unwrap().bytes
}

fn merged(inputs: &[WeightedInput], options: &MergeOptions, format: OutputFormat) -> Vec<u8> {
    let report = merge_files(inputs, options, &mut |_, _| {}).unwrap();
    report.verdict(options).unwrap();
    encoded(&report.profile, format, options.threads)
}

#[test]
fn llvm_profiles() {
    let runs =
        ["run-1.profraw", "run-2.profraw", "run-3.profraw", "run-4.profraw", "llvm-22.profdata", "llvm-22.proftext"];
    let runs = runs.map(|name| format!("merge/clang-22/{name}"));
    let mut inputs = files(&runs.each_ref().map(String::as_str));
    inputs.push(Input::from_bytes("large", large_text()));
    for format in [OutputFormat::for_release(Release::DEFAULT), OutputFormat::Text { release: Release::DEFAULT }] {
        assert_alike("LLVM profiles", |threads| merged(&inputs, &merge_options(threads), format));
    }
}

#[test]
fn memory_profiles() {
    let inputs = files(&["memprof/clang-22-plain.yaml", "memprof/clang-22-plain.v4.profdata"]);
    let format = OutputFormat::for_release(Release::DEFAULT);
    assert_alike("memory profiles", |threads| merged(&inputs, &merge_options(threads), format));
}

#[cfg(feature = "correlate")]
#[test]
fn memory_dumps_of_one_program() {
    let inputs = files(&["memprof/clang-22-plain.memprofraw", "memprof/clang-22-two-dumps.memprofraw"]);
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/memprof");
    let paths = ["plain", "two-dumps"].map(|name| testdata.join(format!("clang-22-{name}.binary")));
    assert_alike("memory dumps", |threads| {
        let mut options = merge_options(threads);
        // Opened again each time: the first user opens them for all.
        options.read.programs =
            std::sync::Arc::new(crate::memprof::raw::Programs::new(paths.to_vec(), &options.read.limits));
        merged(&inputs, &options, OutputFormat::for_release(Release::DEFAULT))
    });
}

fn sample_options(threads: Threads) -> sampleprof::FileMergeOptions {
    sampleprof::FileMergeOptions { threads, ..sampleprof::FileMergeOptions::default() }
}

#[test]
fn sample_profiles() {
    let inputs = files(&["sampleprof/plain.prof", "sampleprof/plain-22.ext", "sampleprof/plain-22.md5"]);
    assert_alike("sample profiles", |threads| {
        let report = sampleprof::merge_files(&inputs, &sample_options(threads), &mut |_, _| {}).unwrap();
        sampleprof::write(&report.profile, &sampleprof::WriteOptions::default()).unwrap()
    });
}

fn written(document: &iprof::Document, threads: Threads) -> Vec<u8> {
    let mut write = iprof::WriteOptions::default();
    write.threads = threads;
    iprof::Writer::new(&write).to_bytes(document)
}

#[test]
fn iprof_files() {
    let mut inputs = files(&["iprof/fibonacci.iprof", "iprof/even-or-odd.iprof"]);
    inputs.extend(["first", "second"].map(large_iprof));
    assert_alike("iprof", |threads| {
        let mut options = IprofMergeOptions::default();
        options.read.threads = threads;
        written(&merge_iprof_files(&inputs, &options, &mut |_, _| {}).unwrap().document, threads)
    });
}

/// Merges every other input and the rest partially, joins both parts and finishes.
fn joined(inputs: &[Input], family: Family, options: &PartialOptions) -> Finished {
    let (first, second) = inputs.split_at(inputs.len() / 2);
    let part = |inputs| Partial::of(inputs, family, options).unwrap().to_bytes().unwrap();
    let mut all = Partial::from_bytes(&part(first), options).unwrap();
    all.append(Partial::from_bytes(&part(second), options).unwrap()).unwrap();
    all.finish(options).unwrap()
}

#[test]
fn partial_merges_of_every_family() {
    let text = Input::from_bytes("large", large_text());
    let instr = [files(&["merge/clang-22/run-1.profraw", "merge/clang-22/run-2.profraw"]), vec![text]].concat();
    let families = [
        (Family::Instr, instr),
        (Family::SampleProf, files(&["sampleprof/plain.prof", "sampleprof/plain-22.ext"])),
        (Family::Iprof, files(&["iprof/fibonacci.iprof", "iprof/even-or-odd.iprof"])),
        (Family::Stacks, files(&["pprof/circles.pprof", "pprof/squares.pprof"])),
    ];
    for (family, inputs) in families {
        assert_alike(&format!("partial merges of {family:?}"), |threads| {
            let mut options = PartialOptions { instr: merge_options(threads), ..PartialOptions::default() };
            options.sample = sample_options(threads);
            options.iprof.read.threads = threads;
            match joined(&inputs, family, &options) {
                Finished::Instr(report) => {
                    encoded(&report.profile, OutputFormat::for_release(Release::DEFAULT), threads)
                }
                Finished::SampleProf(report) => {
                    sampleprof::write(&report.profile, &sampleprof::WriteOptions::default()).unwrap()
                }
                Finished::Iprof(report) => written(&report.document, threads),
                Finished::Pprof(sum) => stacks::pprof::write(&sum.sum.0).unwrap(),
                Finished::Stacks(sum) => panic!("{} stacks are not a pprof", sum.sum.functions().len()),
            }
        });
    }
}
