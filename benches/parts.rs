//! Benchmarks of the steps of a merge, on generated profiles of 20,000 functions or an iprof of 20,000 contexts, with one
//! thread.
//!
//! Run with `cargo bench --bench parts`. `benches/compare.sh` compares whole runs with llvm-profdata.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use profbridge::bytes::{Encoding, Endian, PointerWidth};
use profbridge::families::{self, OutputFormat, ReadOptions};
use profbridge::generate::{Format, Generator, Request};
use profbridge::input::WeightedInput;
use profbridge::instr::{MergeOptions, Merger, Profile, ProfileReader, Release};
use profbridge::iprof::statistics::{StatisticsOptions, statistics_from};
use profbridge::iprof::{self, Document, Reader};
use profbridge::raw;
use std::hint::black_box;
use std::num::NonZeroUsize;

const FUNCTIONS: u32 = 20_000;
/// Raw files of one program in the benchmark of a whole merge.
const FILES: u32 = 20;

/// Generates the profile of a run.
fn generated(format: Format, run: u32) -> Vec<u8> {
    let mut request = Request::new(format);
    (request.functions, request.counters) = (FUNCTIONS, Some(12));
    Generator::new(&request).and_then(|generator| generator.file(run)).expect("the request is possible").bytes
}

/// Reads the profile of a run.
fn profile() -> Profile {
    let mut merger = Merger::new(MergeOptions::default());
    let bytes = generated(Format::Indexed, 1);
    merge_into(&mut merger, families::open_reader(&bytes, &ReadOptions::default()).expect("the file is good").as_mut());
    merger.into_profile()
}

fn raw_bytes(profile: &Profile) -> Vec<u8> {
    let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version: 10 };
    raw::write(profile, &raw::WriteOptions::new(encoding)).expect("the profile fits")
}

fn encoded(profile: &Profile, format: OutputFormat) -> Vec<u8> {
    let mut options = families::WriteOptions::default();
    options.format = format;
    families::encode(profile, &options).expect("the profile fits").bytes
}

/// Reads every record and returns the sum of the first counters.
fn read_all(data: &[u8]) -> u64 {
    let options = ReadOptions::default();
    let mut reader = families::open_reader(data, &options).expect("the file is good");
    let mut sum = 0u64;
    while let Some(found) = reader.next_record().expect("the file is good") {
        sum = sum.wrapping_add(found.record.counters.first().unwrap_or(0));
    }
    sum
}

fn merge_into(merger: &mut Merger, reader: &mut dyn ProfileReader) {
    merger.begin_input(reader.kind()).expect("one kind only");
    while let Some(found) = reader.next_record().expect("the file is good") {
        merger.add_record(found, 1);
    }
}

fn formats() -> [(&'static str, OutputFormat); 2] {
    let release = Release::DEFAULT;
    let version = release.indexed_version().expect("the release is in the table");
    [("indexed", OutputFormat::Indexed { release, version }), ("text", OutputFormat::Text { release })]
}

fn reading_and_writing(criterion: &mut Criterion) {
    let profile = profile();
    let mut group = criterion.benchmark_group("read");
    for (name, format) in [("raw", Format::Raw), ("indexed", Format::Indexed), ("text", Format::Text)] {
        let bytes = generated(format, 1);
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(name, |bencher| bencher.iter(|| read_all(black_box(&bytes))));
    }
    group.finish();
    let mut group = criterion.benchmark_group("write");
    group.throughput(Throughput::Elements(FUNCTIONS.into()));
    group.bench_function("raw", |bencher| bencher.iter(|| raw_bytes(black_box(&profile))));
    for (name, format) in formats() {
        group.bench_function(name, |bencher| bencher.iter(|| encoded(black_box(&profile), format)));
    }
    group.finish();
}

/// Shows one indexed file with all counts, and converts it to text without a merge.
fn one_file(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (input, output) = (folder.path().join("in.profdata"), folder.path().join("out.proftext"));
    std::fs::write(&input, generated(Format::Indexed, 1)).expect("file can be written");
    let mut group = criterion.benchmark_group("one file");
    group.throughput(Throughput::Elements(FUNCTIONS.into()));
    let mut show = profbridge::instr::show::ShowOptions::default();
    (show.all_functions, show.counts) = (true, true);
    group.bench_function("show counts", |bencher| {
        let read = ReadOptions::default();
        bencher.iter(|| families::show_file(&input, &read, &show, &mut std::io::sink()).expect("the file is good"));
    });
    let mut merge = families::MergeOptions::default();
    merge.read = ReadOptions::new(profbridge::Compat::Llvm22);
    let mut write = families::WriteOptions::default();
    (write.compat, write.format) = (profbridge::Compat::Llvm22, formats()[1].1);
    let inputs = [WeightedInput::new(&input)];
    group.bench_function("text of one file", |bencher| {
        bencher.iter(|| {
            let report = families::leave_in_file(black_box(&inputs), &merge, &write, None).expect("the file is plain");
            report.write_file(&write, &output).expect("the output can be written");
        });
    });
    group.finish();
}

fn merging(criterion: &mut Criterion) {
    let (first, second) = (generated(Format::Raw, 1), generated(Format::Raw, 2));
    let options = ReadOptions::default();
    let open = |data| families::open_reader(data, &options).expect("the file is good");
    let mut group = criterion.benchmark_group("merge");
    group.throughput(Throughput::Elements(FUNCTIONS.into()));
    group.bench_function("first input", |bencher| {
        bencher.iter(|| {
            let mut merger = Merger::new(MergeOptions::default());
            merge_into(&mut merger, open(black_box(&first)).as_mut());
            merger
        });
    });
    group.bench_function("second input", |bencher| {
        let with_first = || {
            let mut merger = Merger::new(MergeOptions::default());
            merge_into(&mut merger, open(&first).as_mut());
            merger
        };
        let add = |mut merger: Merger| {
            merge_into(&mut merger, open(black_box(&second)).as_mut());
            merger
        };
        bencher.iter_batched(with_first, add, BatchSize::LargeInput);
    });
    group.finish();
}

fn whole_runs(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |run: u32| {
        let path = folder.path().join(format!("{run}.profraw"));
        std::fs::write(&path, generated(Format::Raw, run)).expect("file can be written");
        WeightedInput::new(path)
    };
    let inputs: Vec<WeightedInput> = (1..=FILES).map(write).collect();
    let mut group = criterion.benchmark_group("pipeline");
    group.sample_size(10);
    group.throughput(Throughput::Elements(FILES.into()));
    group.bench_function("raw files of one program", |bencher| {
        let options = families::MergeOptions::default();
        bencher.iter(|| families::merge_files(black_box(&inputs), &options, &mut |_, _| {}).expect("good files"));
    });
    group.finish();
}

/// Returns an iprof of 20,000 calls, and fewer branches and samples.
fn iprof_document() -> Document {
    let mut request = Request::new(Format::Iprof);
    (request.functions, request.contexts) = (4_000, Some(20_000));
    let file = Generator::new(&request).and_then(|generator| generator.file(1)).expect("the request is possible");
    Reader::from_bytes(&file.bytes, &iprof_read_options()).read().expect("a good file").0
}

fn iprof_write_options() -> iprof::WriteOptions {
    let mut options = iprof::WriteOptions::default();
    options.threads = Some(NonZeroUsize::MIN);
    options
}

fn iprof_read_options() -> iprof::ReadOptions {
    let mut options = iprof::ReadOptions::default();
    options.threads = Some(NonZeroUsize::MIN);
    options
}

fn iprof_files(criterion: &mut Criterion) {
    let (read, write) = (iprof_read_options(), iprof_write_options());
    let document = iprof_document();
    let bytes = iprof::Writer::new(&write).to_bytes(&document);
    let mut samples = document.clone();
    samples.remove_section(iprof::SectionKind::CallCount);
    samples.remove_section(iprof::SectionKind::Conditional);
    let deep = iprof::Writer::new(&write).to_bytes(&samples);
    let mut group = criterion.benchmark_group("iprof");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("read", |bencher| {
        bencher.iter(|| Reader::from_bytes(black_box(&bytes), &read).read().expect("a good file"))
    });
    group.bench_function("check", |bencher| bencher.iter(|| Reader::new(black_box(&bytes[..]), &read).check()));
    group.bench_function("statistics", |bencher| {
        let mut options = StatisticsOptions::default();
        options.read = read.clone();
        bencher.iter(|| statistics_from(black_box(&bytes[..]), &options).expect("a good file"));
    });
    group.bench_function("write", |bencher| bencher.iter(|| iprof::Writer::new(&write).to_bytes(black_box(&document))));
    // This file mostly consists of contexts.
    group.throughput(Throughput::Bytes(deep.len() as u64));
    group.bench_function("contexts read", |bencher| bencher.iter(|| Reader::new(black_box(&deep[..]), &read).check()));
    group.bench_function("contexts written", |bencher| {
        bencher.iter(|| iprof::Writer::new(&write).to_bytes(black_box(&samples)))
    });
    group.finish();
}

fn iprof_merging(criterion: &mut Criterion) {
    let (read, write) = (iprof_read_options(), iprof_write_options());
    let mut document = iprof_document();
    let bytes = iprof::Writer::new(&write).to_bytes(&document);
    let sections = &mut document.sections;
    for entries in [&mut sections.call_counts, &mut sections.samples] {
        let third = entries.len() / 3;
        entries.rotate_left(third);
    }
    let turned = iprof::Writer::new(&write).to_bytes(&document);
    let merged = |inputs: &[&[u8]]| {
        let mut merger = iprof::Merger::new(iprof::MergeOptions::default());
        for input in inputs {
            merger.add_from(Reader::new(black_box(*input), &read), 1).expect("a good file");
        }
        merger
    };
    let mut group = criterion.benchmark_group("iprof merge");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("first input", |bencher| bencher.iter(|| merged(&[&bytes])));
    for (name, second) in [("in the same order", &bytes), ("in another order", &turned)] {
        let add = |mut merger: iprof::Merger| {
            merger.add_from(Reader::new(black_box(&second[..]), &read), 1).expect("a good file");
            merger
        };
        group.bench_function(format!("second input {name}"), |bencher| {
            bencher.iter_batched(|| merged(&[&bytes]), add, BatchSize::LargeInput);
        });
    }
    group.finish();
}

criterion_group!(parts, reading_and_writing, one_file, merging, whole_runs, iprof_files, iprof_merging);
criterion_main!(parts);
