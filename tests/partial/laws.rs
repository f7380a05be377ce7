//! Random inputs, splits and merge trees.

use crate::generate::{Knows, profile};
use crate::gpu;
use profbridge::Limits;
use profbridge::families::{
    self, FailureMode, InputOutcome, MergeOptions, MergeReport, OutputFormat, ReadOptions, WriteOptions,
};
use profbridge::generate::Random;
use profbridge::input::{Input, WeightedInput};
use profbridge::instr::Release;
use profbridge::instr::partial::PartialMerge;
use profbridge::instr::{FunctionFilter, SoftError};
use std::collections::HashSet;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

/// Returns all results of a merge: output, outcomes of the inputs, and soft errors.
fn outcome(report: MergeReport, options: &MergeOptions) -> (Vec<u8>, Vec<String>, Vec<String>) {
    let mut write = WriteOptions::default();
    write.format = OutputFormat::for_release(options.release);
    write.filter = options.filter.clone().without(report.left_out.clone());
    let bytes = families::encode(&report.profile, &write).expect("a merged profile can be written").bytes;
    let inputs = report.inputs.iter().map(|input| {
        let outcome = match &input.outcome {
            InputOutcome::Used => "used".to_string(),
            InputOutcome::Empty => "empty".to_string(),
            InputOutcome::Failed(error) => format!("failed: {error} {:?}", error.hint()),
            _ => "?".to_string(),
        };
        // If the header of a file is damaged, some ways of merging know less about it.
        let known = (outcome == "used").then_some((input.version, input.kind));
        format!("{} {outcome} {known:?}", input.input.path.display())
    });
    let soft = report.soft_errors.iter().map(|soft| {
        let (input, function) = (&report.inputs[soft.input].input, soft.function.escape_ascii());
        format!("{} x{}: {function}: {} {}", input.path.display(), input.weight, soft.error, soft.is_first)
    });
    (bytes, inputs.collect(), soft.collect())
}

fn in_one(inputs: &[WeightedInput], options: &MergeOptions) -> (Vec<u8>, Vec<String>, Vec<String>) {
    let report = families::merge_files(inputs, options, &mut |_, _| {}).expect("bad inputs are reported");
    outcome(report, options)
}

/// Merges in parts that are written to files, along a random tree.
fn in_parts(inputs: &[WeightedInput], options: &MergeOptions, random: &mut Random, folder: &Path) -> PathBuf {
    let name = folder.join(format!("part-{}", random.next_number()));
    let mut parts = Vec::new();
    let mut rest = inputs;
    while !rest.is_empty() {
        let (run, later) = rest.split_at(1 + random.below(rest.len() as u64) as usize);
        if run.len() == 1 || run.len() == inputs.len() || random.chance(30) {
            parts.extend_from_slice(run);
        } else {
            parts.push(WeightedInput::new(in_parts(run, options, random, folder)));
        }
        rest = later;
    }
    let sums = families::partial::merge_partially(&parts, options, &mut |_, _| {}).expect("valid parts");
    let again = PartialMerge::decode(&sums.encode().unwrap(), &Limits::default()).expect("what was written is read");
    assert_eq!(again.encode().unwrap(), sums.encode().unwrap());
    let report = families::partial::finish(&sums, options).expect("valid sums");
    let mut write = WriteOptions::default();
    write.format = OutputFormat::for_release(options.release);
    write.filter = options.filter.clone().without(report.left_out.clone());
    families::partial::write_file(sums, &report.profile, &write, &name).expect("the folder takes files");
    name
}

/// Returns the messages that can be compared. For functions whose counts did not reach the maximum individually, a
/// merge of sums does not know the input that caused the overflow, and reports each record once.
fn comparable(said: &[String], other: &[String]) -> Vec<String> {
    let overflow = SoftError::CounterOverflow.to_string();
    let function = |line: &str| line.split(": ").nth(1).unwrap_or_default().to_string();
    let overflowed: HashSet<String> =
        said.iter().chain(other).filter(|line| line.contains(&overflow)).map(|line| function(line)).collect();
    let mut seen = HashSet::new();
    let lines = said.iter().map(|line| line.trim_end_matches(" true").trim_end_matches(" false").to_string());
    lines.filter(|line| !overflowed.contains(&function(line)) && seen.insert(line.clone())).collect()
}

fn compare(inputs: &[WeightedInput], options: &MergeOptions, random: &mut Random, what: &str) {
    let folder = tempfile::tempdir().expect("there is room for files");
    let part = in_parts(inputs, options, random, folder.path());
    let (bytes, became, said) = in_one(&[WeightedInput::new(part)], options);
    let (expected_bytes, expected_became, expected_said) = in_one(inputs, options);
    assert_eq!(became, expected_became, "{what}");
    let (said, expected_said) = (comparable(&said, &expected_said), comparable(&expected_said, &said));
    let differs = said.iter().zip(&expected_said).find(|(ours, expected)| ours != expected);
    // A merge that must exclude a damaged input starts again and repeats its messages.
    let has_failed = became.iter().any(|input| input.contains("failed"));
    assert!(
        has_failed || said == expected_said,
        "{what}: {} and {} messages, {differs:#?}",
        said.len(),
        expected_said.len()
    );
    if bytes != expected_bytes {
        let text = |bytes: &[u8]| {
            let input = Input::from_bytes("written", bytes.to_vec());
            let read = profbridge::Profile::open(input, &ReadOptions::default()).expect("what was written is read");
            let text = read.value.to_bytes(OutputFormat::Text { release: options.release }).expect("text");
            String::from_utf8_lossy(&text.bytes).into_owned()
        };
        let (ours, expected) = (text(&bytes), text(&expected_bytes));
        let at = ours.lines().zip(expected.lines()).position(|(a, b)| a != b);
        let near =
            |text: &str| text.lines().skip(at.unwrap_or(0).saturating_sub(12)).take(30).collect::<Vec<_>>().join("\n");
        panic!("{what}: the bytes differ from line {at:?}:\n{}\n--- instead of\n{}", near(&ours), near(&expected));
    }
}

fn weighted(path: PathBuf, weight: u64) -> WeightedInput {
    WeightedInput::with_weight(path, NonZeroU64::new(weight).expect("a weight is 1 at least"))
}

#[test]
fn random_texts_give_the_same_in_any_parts() {
    let folder = tempfile::tempdir().expect("there is room for files");
    for seed in 0..24 {
        let mut random = Random::new(seed * 31 + 5);
        let release = [14, 16, 19, 22, 23][random.below(5) as usize];
        let knows = Knows { sampled_traces: true, equal_values: true, ..Knows::of(release) };
        let inputs: Vec<WeightedInput> = (0..2 + random.below(7))
            .map(|number| {
                let path = folder.path().join(format!("{seed}-{number}.proftext"));
                let text = match random.below(12) {
                    0 => String::new(),
                    1 => "main\n1\nx\n".to_string(),
                    _ => profile(random.next_number(), seed, knows),
                };
                std::fs::write(&path, text).expect("the folder takes files");
                weighted(path, 1 + random.below(3))
            })
            .collect();
        let mut options = MergeOptions::default();
        options.release = Release(release);
        options.failure_mode = FailureMode::Warn;
        options.trace_reservoir_size = Some(1 + random.below(20));
        options.salvage = random.chance(30);
        options.keep_vtable_names = random.chance(50);
        if random.chance(25) {
            options.filter = FunctionFilter::new(Some("[0-4]"), None).expect("a sound pattern");
        }
        compare(&inputs, &options, &mut random, &format!("seed {seed}, release {release}"));
    }
}

/// A memory profile: a few functions that allocate along short stacks.
fn memory_document(random: &mut Random) -> String {
    let mut text = "---\nHeapProfileRecords:\n".to_string();
    for function in 0..1 + random.below(4) {
        text += &format!("- GUID: f{function}\n  AllocSites:\n");
        for _ in 0..1 + random.below(3) {
            let frame = |random: &mut Random| {
                let (function, line) = (random.below(3), random.below(3));
                format!("{{ Function: f{function}, LineOffset: {line}, Column: 1, IsInlineFrame: false }}")
            };
            let frames: Vec<String> = (0..random.below(4)).map(|_| frame(random)).collect();
            let [count, size] = [9, 1000].map(|limit| 1 + random.below(limit));
            text += &format!("  - Callstack: [ {} ]\n", frames.join(", "));
            text += &format!("    MemInfoBlock: {{ AllocCount: {count}, TotalSize: {size}, MinSize: {size} }}\n");
        }
    }
    text
}

/// Counters, value sites, traces, bitmaps, conflicting kinds, uniformity and memory, in one list of inputs.
#[test]
fn random_profiles_of_all_kinds_give_the_same_in_any_parts() {
    for seed in 0..100 {
        let mut random = Random::new(seed * 17 + 3);
        let release = [16, 22, 23][random.below(3) as usize];
        let knows = Knows { sampled_traces: true, equal_values: true, ..Knows::of(release) };
        let has_marks = random.chance(20);
        let inputs: Vec<WeightedInput> = (0..2 + random.below(9))
            .map(|number| {
                let (bytes, extension) = match random.below(8) {
                    0..=2 => {
                        let text = profile(random.next_number(), seed, knows);
                        let mark = if has_marks { [":fe\n", "", ":ir\n"][random.below(3) as usize] } else { ":ir\n" };
                        (text.replacen(":ir\n", mark, 1).into_bytes(), "proftext")
                    }
                    3 => (memory_document(&mut random).into_bytes(), "memprofyaml"),
                    _ => gpu::file(random.next_number(), seed),
                };
                let weight = NonZeroU64::new(1 + random.below(3)).expect("a weight is 1 at least");
                let mut input = WeightedInput::from_bytes(format!("{number}.{extension}"), bytes);
                input.weight = weight;
                input
            })
            .collect();
        let mut options = MergeOptions::default();
        options.release = Release(release);
        options.failure_mode = FailureMode::Warn;
        options.trace_reservoir_size = Some(1 + random.below(20));
        options.keep_vtable_names = random.chance(50);
        compare(&inputs, &options, &mut random, &format!("seed {seed}, release {release}"));
    }
}

#[test]
fn real_dumps_of_all_kinds_give_the_same_in_any_parts() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut files: Vec<PathBuf> = ["merge/clang-14", "merge/clang-19", "merge/clang-22", "raw", "bad", "memprof"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(testdata.join(folder)).expect("testdata is there"))
        .map(|entry| entry.expect("testdata is readable").path())
        .filter(|path| {
            path.extension().is_some_and(|end| end == "profraw" || end == "profdata" || end == "memprofyaml")
        })
        .collect();
    files.sort();
    assert!(files.len() > 60, "{} files", files.len());
    for seed in 0..30 {
        let mut random = Random::new(seed);
        let inputs: Vec<WeightedInput> = (0..2 + random.below(9))
            .map(|_| weighted(files[random.below(files.len() as u64) as usize].clone(), 1 + random.below(2)))
            .collect();
        let mut options = MergeOptions::default();
        options.release = Release([16, 22, 23][random.below(3) as usize]);
        options.failure_mode = FailureMode::Warn;
        options.keep_vtable_names = random.chance(50);
        // The same raw profile may be in several partial merges.
        options.allow_duplicates = true;
        compare(&inputs, &options, &mut random, &format!("seed {seed}: {inputs:?}"));
    }
}
