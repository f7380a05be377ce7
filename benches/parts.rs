//! The parts of a merge, each on a made-up program of 20,000 functions.
//!
//! `cargo bench --bench parts`; whole runs against llvm-profdata are in
//! `benches/compare.sh`.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use profbridge::bytes::{Encoding, Endian, PointerWidth};
use profbridge::input::WeightedInput;
use profbridge::merge::{MergeOptions, Merger};
use profbridge::model::{FunctionRecord, Profile, ProfileKind, ProfileReader, Release, ValueCount, ValueKind};
use profbridge::pipeline::{self, OutputFormat, ReadOptions};
use profbridge::raw;
use std::hint::black_box;

const FUNCTIONS: u64 = 20_000;
const COUNTERS: u64 = 12;
/// Every so many functions call through a pointer.
const CALLERS: u64 = 8;
/// Raw files of one program in the bench of the pipeline.
const FILES: u64 = 20;

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// A third are 0; the others are small more often than large.
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
                let callee = profbridge::model::name_ref(&name(numbers.next() % FUNCTIONS));
                ValueCount { value: callee, count: numbers.next() }
            };
            let site: Vec<ValueCount> = (0..4).map(|_| target()).collect();
            record.sites_mut(ValueKind::IndirectCallTarget).push_site(&site);
        }
        let function = profile.functions.intern(&name(index));
        profile.functions.push_record(function, record);
    }
    profile
}

fn raw_bytes(profile: &Profile) -> Vec<u8> {
    let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version: 10 };
    raw::write(profile, &raw::WriteOptions::new(encoding)).expect("the profile fits")
}

fn encoded(profile: &Profile, format: OutputFormat) -> Vec<u8> {
    let mut options = pipeline::WriteOptions::default();
    options.format = format;
    pipeline::encode(profile, &options).expect("the profile fits").bytes
}

/// Reads every record and returns the sum of the first counters.
fn read_all(data: &[u8]) -> u64 {
    let options = ReadOptions::default();
    let mut reader = pipeline::open_reader(data, &options).expect("the file is good");
    let mut sum = 0u64;
    while let Some(found) = reader.next_record().expect("the file is good") {
        sum = sum.wrapping_add(found.record.counters.first().copied().unwrap_or(0));
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

fn merging(criterion: &mut Criterion) {
    let (first, second) = (raw_bytes(&program(1)), raw_bytes(&program(2)));
    let options = ReadOptions::default();
    let open = |data| pipeline::open_reader(data, &options).expect("the file is good");
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
        let options = pipeline::MergeOptions::default();
        bencher
            .iter(|| pipeline::merge_files(black_box(&inputs), &options, &mut pipeline::Silent).expect("good files"));
    });
    group.finish();
}

criterion_group!(parts, reading_and_writing, merging, whole_runs);
criterion_main!(parts);
