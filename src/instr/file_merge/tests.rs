//! Merges with and without shortcuts, and with any number of threads, give the same bytes and reports.

use crate::bytes::{Encoding, Endian, PointerWidth};
use crate::compat::Compat;
use crate::driver::{self, Attempt, InputReport, InputTurn, Merge, MergeJob, Merged, run_once};
use crate::driver::{FailureMode, InputOutcome, Minimums};
use crate::error::{ErrorKind, Result};
use crate::input::{Input, WeightedInput};
use crate::instr::SoftError;
use crate::instr::encode::{WriteOptions, encode, write_file};
use crate::instr::file_merge::input_merge::MANY_RECORDS;
use crate::instr::file_merge::state::{Sums, Worker};
use crate::instr::file_merge::{FileMerge, MergedFiles, state};
use crate::instr::file_merge::{MergeOptions, merge_files};
use crate::limits::Limits;
use crate::model::{FunctionRecord, Profile, ProfileKind, ValueCount, ValueKind};
use crate::raw;
use crate::threads::refusal;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::Cell;
use std::io::Write;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns files of one image under several load addresses, files of other images and releases, with values, bitmaps,
/// byte counters and traces, and damaged files.
fn files() -> Vec<PathBuf> {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let list = |folder: &str| {
        let entries = std::fs::read_dir(testdata.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|e| e == "profraw")).collect();
        files.sort();
        files
    };
    let folders = ["merge/clang-14", "merge/clang-19", "merge/clang-22", "raw", "bad"];
    folders.into_iter().flat_map(list).collect()
}

/// Merges without shortcuts, or with them and with the given threads and memory for images; `None` if a shortcut
/// failed.
fn run_attempt(
    inputs: &[WeightedInput],
    options: &MergeOptions,
    attempt: Attempt,
    workers: usize,
    image_bytes: usize,
) -> Option<Merged<MergedFiles>> {
    let threads_per_input = crate::threads::wanted(options.threads).get() / workers;
    let job = MergeJob { inputs, attempt, workers, threads_per_input: threads_per_input.max(1) };
    let mut merge = FileMerge::new(&job, options);
    if let Some(images) = &mut merge.images {
        *images = std::sync::Mutex::new(state::Images::new(image_bytes));
    }
    run_once(merge, inputs, &options.run(), workers, &mut |_, _| {}).unwrap()
}

fn run_exact(inputs: &[WeightedInput], options: &MergeOptions) -> Merged<MergedFiles> {
    run_attempt(inputs, options, Attempt::Exact, 1, 0).expect("an exact merge does not restart")
}

fn run_fast(
    inputs: &[WeightedInput],
    options: &MergeOptions,
    threads: usize,
    image_bytes: usize,
) -> Option<Merged<MergedFiles>> {
    run_attempt(inputs, options, Attempt::Fast, threads, image_bytes)
}

/// A merge that counts how often each input is read.
struct Counting<'a>(FileMerge<'a>, &'a [AtomicUsize]);

impl Merge for Counting<'_> {
    type Merger = Sums;
    type Worker = Worker;
    type Output = MergedFiles;

    fn merger(&self) -> Sums {
        self.0.merger()
    }

    fn add_input(
        &self,
        worker: &mut Worker,
        input: &Input,
        turn: &mut InputTurn<'_, Sums>,
        report: &mut InputReport,
    ) -> Result<()> {
        self.1[turn.place()].fetch_add(1, Ordering::Relaxed);
        self.0.add_input(worker, input, turn, report)
    }

    fn needs_restart(&self, sums: &Sums) -> Result<bool> {
        self.0.needs_restart(sums)
    }

    fn finish(self, sums: Sums) -> Result<MergedFiles> {
        self.0.finish(sums)
    }
}

/// Returns the bytes of the result and the outcome of each input.
fn outcome(run: Merged<MergedFiles>) -> (Vec<u8>, Vec<String>) {
    let reports = run
        .inputs
        .iter()
        .map(|report| match &report.outcome {
            InputOutcome::Used => format!("used {} {:?}", report.records, report.warnings),
            InputOutcome::Empty => "empty".to_string(),
            InputOutcome::NotAProfile => "skipped".to_string(),
            InputOutcome::NotReached => "skipped".to_string(),
            InputOutcome::Failed(error) => format!("failed {} {error}", report.records),
        })
        .collect();
    (encode(&run.output.merger.into_profile(), &WriteOptions::default()).unwrap().bytes, reports)
}

#[test]
fn an_input_that_grows_during_the_merge_gets_a_warning() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b":ir\nmain\n1\n1\n5\n").unwrap();
    let (inputs, options) = ([WeightedInput::new(file.path())], MergeOptions::default());
    let job = MergeJob { inputs: &inputs, attempt: Attempt::Fast, workers: 1, threads_per_input: 1 };
    let merge = FileMerge::new(&job, &options);
    file.write_all(b"\nlate\n1\n1\n5\n").unwrap();
    let merged = run_once(merge, &inputs, &options.run(), 1, &mut |_, _| {}).unwrap().unwrap();
    let warnings = &merged.inputs[0].warnings;
    assert!(warnings.len() == 1 && warnings[0].message.contains("another process may be writing it"), "{warnings:?}");
}

#[test]
fn fast_and_exact_merges_give_the_same() {
    const CASES: u32 = 60;
    let strategy = (
        prop::collection::vec((any::<prop::sample::Index>(), 1u64..4), 1..24),
        any::<bool>(),
        any::<bool>(),
        1usize..5,
        prop::sample::select(vec![0, 20_000, state::MOST_BYTES]),
    );
    let (all, fast_ones) = (files(), Cell::new(0));
    let test = |(picks, neighbours, llvm, threads, image_bytes): (Vec<(prop::sample::Index, u64)>, _, _, _, _)| {
        // Runs of one image use sums per image.
        let all = if neighbours { &all[..12] } else { &all[..] };
        let inputs: Vec<WeightedInput> = picks
            .iter()
            .map(|(pick, weight)| WeightedInput::with_weight(pick.get(all), NonZeroU64::new(*weight).unwrap()))
            .collect();
        let mut options = MergeOptions::default();
        options.read.compat = if llvm { Compat::Llvm22 } else { Compat::Profbridge };
        let exact = outcome(run_exact(&inputs, &options));
        // A shortcut may always give up, but its result must be the same.
        if let Some(fast) = run_fast(&inputs, &options, threads, image_bytes) {
            fast_ones.set(fast_ones.get() + 1);
            prop_assert_eq!(outcome(fast), exact);
        }
        Ok(())
    };
    TestRunner::new(ProptestConfig::with_cases(CASES)).run(&strategy, test).unwrap();
    // Half of the cases are neighbours, and few of them give up.
    assert!(fast_ones.get() >= CASES / 4, "only {} of {CASES} merges took shortcuts", fast_ones.get());
}

#[test]
fn raw_profiles_of_one_program_never_need_an_exact_merge() {
    let inputs: Vec<WeightedInput> = files()[8..12].iter().cycle().take(23).map(WeightedInput::new).collect();
    let options = MergeOptions::default();
    let exact = outcome(run_exact(&inputs, &options));
    for threads in 1..=6 {
        let fast = run_fast(&inputs, &options, threads, state::MOST_BYTES).expect("nothing depends on the order here");
        assert_eq!(outcome(fast), exact, "{threads} threads");
    }
}

/// Returns a raw file with enough records for several threads.
fn large_raw() -> Vec<u8> {
    let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
    for at in 0..MANY_RECORDS as u64 + 1000 {
        let function = profile.functions.intern(format!("a_function_with_number_{at}").as_bytes());
        let counters = (0..25).map(|counter| (at * 31 + counter * counter) % 9000).collect();
        profile.functions.push_record(function, &FunctionRecord::new(at % 7, counters));
    }
    let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version: 10 };
    raw::write(&profile, &raw::WriteOptions::new(encoding)).unwrap()
}

#[test]
fn a_large_file_gives_the_same_whether_one_thread_reads_it_or_several() {
    let folder = tempfile::tempdir().unwrap();
    let (valid, damaged) = (folder.path().join("sound"), folder.path().join("damaged"));
    let mut bytes = large_raw();
    std::fs::write(&valid, &bytes).unwrap();
    // The counters of a late record are outside the section.
    let record = 16 * 8 + 64 * (MANY_RECORDS - 7);
    bytes[record + 16..record + 24].fill(0x7f);
    std::fs::write(&damaged, &bytes).unwrap();
    for path in [&valid, &damaged] {
        for compat in [Compat::Profbridge, Compat::Llvm22] {
            let inputs = [WeightedInput::with_weight(path, NonZeroU64::new(3).unwrap())];
            let mut options = MergeOptions::default();
            options.read.compat = compat;
            let exact = run_exact(&inputs, &options);
            let used = matches!(exact.inputs[0].outcome, InputOutcome::Used);
            assert_eq!(used, path == &valid);
            let exact = outcome(exact);
            for threads in [1, 2, 5] {
                options.threads = NonZeroUsize::new(threads);
                let fast = run_fast(&inputs, &options, 1, state::MOST_BYTES);
                assert!(outcome(fast.unwrap()) == exact, "{threads} threads");
            }
        }
    }
}

#[test]
fn a_large_profile_is_written_the_same_by_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("input"), folder.path().join("output"));
    std::fs::write(&input, large_raw()).unwrap();
    let report = merge_files(&[WeightedInput::new(&input)], &MergeOptions::default(), &mut |_, _| {}).unwrap();
    let mut options = WriteOptions { threads: NonZeroUsize::new(1), ..WriteOptions::default() };
    let expected = encode(&report.profile, &options).unwrap().bytes;
    assert!(expected.len() > 4 << 20);
    for threads in [1, 2, 5] {
        options.threads = NonZeroUsize::new(threads);
        write_file(&report.profile, &options, &output).unwrap();
        assert!(std::fs::read(&output).unwrap() == expected, "{threads} threads");
    }
}

#[test]
fn counters_stay_in_every_form_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let (path, packed) = (folder.path().join("input"), folder.path().join("input.gz"));
    let little = large_raw();
    std::fs::write(&path, &little).unwrap();
    let merged = |input: Input| merge_files(&[input], &MergeOptions::default(), &mut |_, _| {}).unwrap().profile;
    let bytes = |profile: &Profile| encode(profile, &WriteOptions::default()).unwrap().bytes;
    let expected = merged(Input::new(&path));
    let encoding = Encoding { endian: Endian::Big, pointer: PointerWidth::Bits64, version: 10 };
    let big = raw::write(&expected, &raw::WriteOptions::new(encoding)).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(std::fs::File::create(&packed).unwrap(), flate2::Compression::fast());
    gzip.write_all(&big).unwrap();
    gzip.finish().unwrap();
    std::fs::write(&path, &big).unwrap();
    for input in
        [Input::new(&path), Input::new(&packed), Input::from_bytes("pipe", little), Input::from_bytes("pipe", big)]
    {
        assert!(bytes(&merged(input)) == bytes(&expected));
    }
}

#[test]
fn a_cancelled_merge_ends_after_the_next_input() {
    let inputs: Vec<WeightedInput> = files().into_iter().map(WeightedInput::new).collect();
    for threads in [1, 2, 5] {
        let mut options = MergeOptions::default();
        options.threads = NonZeroUsize::new(threads);
        let (cancel, mut last) = (options.cancel.clone(), 0);
        let mut progress = |done, _| {
            last = done;
            if done >= 3 {
                cancel.cancel();
            }
        };
        let error = merge_files(&inputs, &options, &mut progress).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Cancelled), "{error}");
        // A thread can finish the input that it started.
        assert!((3..=3 + threads).contains(&last), "{last} inputs, {threads} threads");
    }
}

#[test]
fn soft_errors_come_once_and_name_their_input_whatever_the_threads() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, counters: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!(":ir\nf\n7\n{counters}\n")).unwrap();
        WeightedInput::new(path)
    };
    let mut inputs = vec![write("a", "2\n1\n2"), write("b", "2\n1\n2"), write("c", "1\n5"), write("d", "2\n1\n1")];
    inputs.push(write("e", "1\n9"));
    for threads in [1, 2, 3] {
        let mut options = MergeOptions::default();
        options.threads = NonZeroUsize::new(threads);
        let report = merge_files(&inputs, &options, &mut |_, _| {}).unwrap();
        let name = |input: usize| inputs[input].path.file_name().unwrap().to_string_lossy().into_owned();
        let seen: Vec<_> =
            report.soft_errors.iter().map(|soft| (name(soft.input), soft.error, soft.is_first)).collect();
        let expected =
            [("c".to_string(), SoftError::CountMismatch, true), ("e".to_string(), SoftError::CountMismatch, false)];
        assert_eq!(seen, expected);
        let f = report.profile.functions.find(b"f").unwrap();
        assert_eq!(f.records().next().unwrap().counters, [3, 5]);
    }
}

#[test]
fn a_bad_input_leaves_nothing_behind_unless_its_good_records_are_asked_for() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.proftext");
    std::fs::write(&bad, ":ir\ngood\n1\n1\n5\n\nbroken\n2\n3\n1\n").unwrap();
    let good = WeightedInput::new(testdata.join("merge/clang-22/run-1.profraw"));
    let inputs = [good, WeightedInput::new(bad)];
    for salvage in [false, true] {
        let mut options = MergeOptions::default();
        options.failure_mode = FailureMode::Warn;
        options.salvage = salvage;
        let report = merge_files(&inputs, &options, &mut |_, _| {}).unwrap();
        assert_eq!(report.profile.functions.find(b"good").is_some(), salvage);
        assert!(matches!(report.inputs[1].outcome, InputOutcome::Failed(_)));
        assert_eq!(report.failures().count(), 1);
        assert!(report.verdict(&options).is_ok());
    }
}

#[test]
fn floors_refuse_a_result_that_is_too_thin() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let inputs = [WeightedInput::new(testdata.join("merge/clang-22/run-1.profraw"))];
    let report = merge_files(&inputs, &MergeOptions::default(), &mut |_, _| {}).unwrap();
    let refused = |minimums: Minimums| {
        let facts = report.facts(&WriteOptions::default(), &Limits::default(), minimums.wanted()).unwrap();
        minimums.check(&facts).map_or_else(|error| error.to_string(), |()| String::new())
    };
    assert_eq!(refused(Minimums::new(1, 9, 1)), "");
    assert_eq!(refused(Minimums::new(2, 0, 0)), "the number of inputs used is 1, below 2");
    assert_eq!(refused(Minimums::new(0, 1000, 0)), "the number of functions is 9, below 1000");
    assert!(refused(Minimums::new(0, 0, u64::MAX)).contains("the total count is "));
}

/// Returns how often each input was read, and the outcome.
fn readings(inputs: &[WeightedInput], options: &MergeOptions) -> (Vec<usize>, (Vec<u8>, Vec<String>)) {
    let readings: Vec<AtomicUsize> = inputs.iter().map(|_| AtomicUsize::new(0)).collect();
    let start = |job: &MergeJob<'_>| Counting(FileMerge::new(job, options), &readings);
    let done = outcome(driver::merge(inputs, &options.run(), start, &mut |_, _| {}).unwrap());
    (readings.into_iter().map(AtomicUsize::into_inner).collect(), done)
}

#[test]
fn neither_a_mismatching_record_nor_a_bad_file_makes_a_merge_read_anything_again() {
    let folder = tempfile::tempdir().unwrap();
    for compat in [Compat::Profbridge, Compat::Llvm22] {
        for (irregular, text) in [
            ("a mismatching record", ":ir\nf\n7\n1\n5\n\nlast\n1\n1\n5\n"),
            ("a bad file", ":ir\nf\n7\n2\n5\n6\n\nlast\n1\n1\nx\n"),
            ("a bitmap that sticks", ":ir\nf\n7\n2\n5\n6\n$1\n1\n\nlast\n1\n1\n5\n"),
        ] {
            for place in [0, 4] {
                let write = |at: usize| {
                    let path = folder.path().join(format!("{at}.proftext"));
                    let regular = format!(":ir\nf\n7\n2\n{at}\n2\n\ng{}\n1\n1\n5\n", at % 3);
                    std::fs::write(&path, if at == place { text } else { &regular }).unwrap();
                    WeightedInput::new(path)
                };
                let inputs: Vec<WeightedInput> = (0..9).map(write).collect();
                let mut options = MergeOptions::default();
                (options.read.compat, options.failure_mode) = (compat, FailureMode::Warn);
                let results: Vec<_> = [1, 2, 4]
                    .map(|threads| {
                        options.threads = NonZeroUsize::new(threads);
                        let (readings, done) = readings(&inputs, &options);
                        assert_eq!(readings, [1; 9], "{irregular} at {place}, {threads} threads");
                        done
                    })
                    .into();
                assert!(results[1..].iter().all(|other| *other == results[0]), "{irregular} at {place}");
            }
        }
    }
}

#[test]
fn counts_near_the_largest_cost_one_more_reading() {
    let folder = tempfile::tempdir().unwrap();
    let (raw, text) = (folder.path().join("raw"), folder.path().join("text"));
    let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
    let function = profile.functions.intern(b"f");
    profile.functions.push_record(function, &FunctionRecord::new(7, vec![5]));
    let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version: 10 };
    std::fs::write(&raw, raw::write(&profile, &raw::WriteOptions::new(encoding)).unwrap()).unwrap();
    std::fs::write(&text, format!(":ir\nf\n7\n1\n{}\n", u64::MAX - 10)).unwrap();
    let inputs: Vec<WeightedInput> = [&raw, &raw, &raw, &text, &raw].into_iter().map(WeightedInput::new).collect();
    let report = merge_files(&inputs, &MergeOptions::default(), &mut |_, _| {}).unwrap();
    // The error names an earlier input, although its sum was added with those before.
    let soft = &report.soft_errors[0];
    assert_eq!((&inputs[soft.input].path, soft.error, soft.is_first), (&text, SoftError::CounterOverflow, true));
    assert_eq!(report.profile.functions.find(b"f").unwrap().records().next().unwrap().counters, [u64::MAX - 2]);
    let (readings, _) = readings(&inputs, &MergeOptions::default());
    assert!(readings.iter().all(|readings| *readings <= 2), "{readings:?}");
}

/// Returns a run of one program: 60 functions with two sites of up to 200 values each, some of them duplicates.
fn run_with_many_values(run: u64) -> Vec<u8> {
    let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
    for at in 0..60 {
        let function = profile.functions.intern(format!("function{at}").as_bytes());
        let mut record = FunctionRecord::new(at, vec![run, at]);
        for site in 0..2 {
            let value = |place: u64| {
                let mixed = (place * 7919 + run * 104_729 + at * 31 + site).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                ValueCount { value: mixed % if at % 3 == 0 { 400 } else { 90 }, count: mixed % 50 }
            };
            let values: Vec<ValueCount> = (0..if at % 5 == 4 { 3 } else { 200 }).map(value).collect();
            record.sites_mut(ValueKind::MemOpSize).push_site(&values);
        }
        profile.functions.push_record(function, &record);
    }
    let encoding = Encoding { endian: Endian::Little, pointer: PointerWidth::Bits64, version: 10 };
    raw::write(&profile, &raw::WriteOptions::new(encoding)).unwrap()
}

#[test]
fn sites_of_more_than_255_values_are_merged_alike_by_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let mut inputs: Vec<WeightedInput> = (0..14)
        .map(|run| {
            let path = folder.path().join(format!("{run}.profraw"));
            std::fs::write(&path, run_with_many_values(run)).unwrap();
            WeightedInput::with_weight(path, NonZeroU64::new(1 + run % 2).unwrap())
        })
        .collect();
    // Another image and a text with sites of the same functions come in between.
    let text = folder.path().join("text");
    std::fs::write(&text, ":ir\nfunction3\n3\n2\n1\n1\n1\n1\n2\n2\n5:3\n5:1\n0\n").unwrap();
    inputs.insert(9, WeightedInput::new(text));
    inputs.insert(5, WeightedInput::new(files()[8].clone()));
    for (compat, release) in [(Compat::Llvm22, 22), (Compat::Profbridge, 22), (Compat::Profbridge, 16)] {
        let mut options = MergeOptions::default();
        (options.read.compat, options.release) = (compat, crate::model::Release(release));
        let exact = outcome(run_exact(&inputs, &options));
        for threads in [1, 2, 5] {
            let fast = run_fast(&inputs, &options, threads, state::MOST_BYTES).unwrap();
            assert!(outcome(fast) == exact, "release {release}, {threads} threads");
        }
        let fast = refusal::after(1, || run_fast(&inputs, &options, 4, state::MOST_BYTES));
        assert!(outcome(fast.unwrap()) == exact, "two of four threads");
    }
}
