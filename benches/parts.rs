//! Benchmarks of the steps of a merge, on a generated program of 20,000 functions or an iprof with 20,000 calls,
//! branches and samples, with one thread.
//!
//! Run with `cargo bench --bench parts`. `benches/compare.sh` compares whole runs with llvm-profdata.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use profbridge::bytes::{Encoding, Endian, PointerWidth};
use profbridge::families::{self, OutputFormat, ReadOptions};
use profbridge::input::WeightedInput;
use profbridge::instr::{FunctionRecord, Profile, ProfileKind, ProfileReader, Release, ValueCount, ValueKind};
use profbridge::instr::{MergeOptions, Merger};
use profbridge::iprof::statistics::{StatisticsOptions, statistics_from};
use profbridge::iprof::{self, BranchRow, CountEntry, Document, Frame, MethodHandle, Reader};
use profbridge::raw;
use std::hint::black_box;
use std::num::NonZeroUsize;

const FUNCTIONS: u64 = 20_000;
const COUNTERS: u64 = 12;
/// The interval of functions that call through a pointer.
const CALLERS: u64 = 8;
/// Raw files of one program in the benchmark of a whole merge.
const FILES: u64 = 20;

/// Random numbers that are equal in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// A third of the counts are 0, and small counts are more frequent than large ones.
    fn count(&mut self) -> u64 {
        let number = self.next();
        if number.is_multiple_of(3) { 0 } else { self.next() >> (number % 31) }
    }
}

fn name(index: u64) -> Vec<u8> {
    format!("_ZN7example6module{}8function{index}Ev", index % 997).into_bytes()
}

fn program(seed: u64) -> Profile {
    let mut numbers = Numbers(seed);
    let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
    for index in 0..FUNCTIONS {
        let counters = (0..COUNTERS).map(|_| numbers.count()).collect();
        let mut record = FunctionRecord::new(index + 1, counters);
        if index.is_multiple_of(CALLERS) {
            let mut target = || {
                let callee = profbridge::instr::name_ref(&name(numbers.next() % FUNCTIONS));
                ValueCount { value: callee, count: numbers.next() }
            };
            let site: Vec<ValueCount> = (0..4).map(|_| target()).collect();
            record.sites_mut(ValueKind::IndirectCallTarget).push_site(&site);
        }
        let function = profile.functions.intern(&name(index));
        profile.functions.push_record(function, &record);
    }
    profile
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
    let profile = program(1);
    let mut group = criterion.benchmark_group("read");
    for (name, bytes) in [("raw", raw_bytes(&profile))]
        .into_iter()
        .chain(formats().map(|(name, format)| (name, encoded(&profile, format))))
    {
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(name, |bencher| bencher.iter(|| read_all(black_box(&bytes))));
    }
    group.finish();
    let mut group = criterion.benchmark_group("write");
    group.throughput(Throughput::Elements(FUNCTIONS));
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
    std::fs::write(&input, encoded(&program(1), formats()[0].1)).expect("file can be written");
    let mut group = criterion.benchmark_group("one file");
    group.throughput(Throughput::Elements(FUNCTIONS));
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
            let report = families::merge_for_output(black_box(&inputs), &merge, &write, None, &mut |_, _| {});
            report.and_then(|report| report.write_file(&write, &output)).expect("the output can be written");
        });
    });
    group.finish();
}

fn merging(criterion: &mut Criterion) {
    let (first, second) = (raw_bytes(&program(1)), raw_bytes(&program(2)));
    let options = ReadOptions::default();
    let open = |data| families::open_reader(data, &options).expect("the file is good");
    let mut group = criterion.benchmark_group("merge");
    group.throughput(Throughput::Elements(FUNCTIONS));
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
    let write = |run: u64| {
        let path = folder.path().join(format!("{run}.profraw"));
        std::fs::write(&path, raw_bytes(&program(run))).expect("file can be written");
        WeightedInput::new(path)
    };
    let inputs: Vec<WeightedInput> = (0..FILES).map(write).collect();
    let mut group = criterion.benchmark_group("pipeline");
    group.sample_size(10);
    group.throughput(Throughput::Elements(FILES));
    group.bench_function("raw files of one program", |bencher| {
        let options = families::MergeOptions::default();
        bencher.iter(|| families::merge_files(black_box(&inputs), &options, &mut |_, _| {}).expect("good files"));
    });
    group.finish();
}

/// Entries of each section of an iprof.
const ENTRIES: usize = 20_000;
/// The maximum number of frames of a call or branch, and of a sample.
const DEPTHS: (u64, u64) = (6, 60);

/// Returns an iprof whose sections have a different order for each `turn`.
fn iprof_document(turn: usize) -> Document {
    let mut numbers = Numbers(3);
    let mut document = Document::new();
    let types: Vec<_> = (0..500).map(|at| document.add_type(format!("org.example.Class{at}").as_bytes())).collect();
    let method = |at: usize| (format!("method{at}").into_bytes(), [types[at % types.len()], types[at % 7]]);
    let methods: Vec<MethodHandle> =
        (0..4_000).map(method).map(|(name, signature)| document.add_method(&name, &signature)).collect();
    let mut contexts = |deepest: u64, leaf: Option<i32>| -> Vec<_> {
        let mut context = |_| {
            let mut frame = |_| Frame {
                method: methods[numbers.next() as usize % methods.len()],
                bci: (numbers.next() % 400) as i32,
            };
            let mut frames: Vec<Frame> = (0..=frame(0).bci as u64 % deepest).map(&mut frame).collect();
            frames[0].bci = leaf.unwrap_or(frames[0].bci);
            document.add_context(&frames)
        };
        let mut contexts: Vec<_> = (0..ENTRIES).map(&mut context).collect();
        contexts.rotate_left(turn);
        contexts
    };
    let [calls, branches, samples] =
        [(DEPTHS.0, Some(0)), (DEPTHS.0, None), (DEPTHS.1, None)].map(|(deepest, leaf)| contexts(deepest, leaf));
    let entry = |(context, count)| CountEntry { context, count };
    document.sections.call_counts = calls.into_iter().zip(1..).map(entry).collect();
    document.sections.samples = samples.into_iter().zip(1..).map(entry).collect();
    for (context, count) in branches.into_iter().zip(1..) {
        let row = |index, bci| BranchRow { index, bci, count };
        document.sections.conditionals.push(context, &[row(0, 7), row(1, 20)]);
    }
    document
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
    let document = iprof_document(0);
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
    let [bytes, turned] = [0, ENTRIES / 3].map(|turn| iprof::Writer::new(&write).to_bytes(&iprof_document(turn)));
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
