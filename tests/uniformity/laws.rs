//! Laws of all merges.

use crate::files::{Shape, difference, merged, merged_profile, random_inputs};
use crate::generate::{ENCODINGS, Knows, indexed_file, profile, raw_file};
use profbridge::input::WeightedInput;
use profbridge::instr::{FunctionRecord, Profile, ProfileKind};
use std::path::Path;

#[test]
fn threads_change_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for seed in 0..20 {
        // Inputs of several families, so that some functions are not in all of them.
        let inputs: Vec<WeightedInput> = (0..3)
            .flat_map(|part| random_inputs(folder.path(), seed * 3 + part))
            .chain(random_inputs(folder.path(), seed))
            .collect();
        let one = merged(&inputs, Shape::Indexed, 1);
        for threads in [2, 3, 4, 7] {
            let several = merged(&inputs, Shape::Indexed, threads);
            assert!(several == one, "case {seed}, {threads} threads: {}", difference(&several, &one));
        }
    }
}

/// Returns a profile with one function, with the counts and uniform counts of its blocks.
fn one_function(counters: &[u64], uniform: &[u64]) -> Profile {
    let mut profile = Profile { kind: ProfileKind::IR, ..Profile::default() };
    let function = profile.functions.intern(b"kernel");
    let mut record = FunctionRecord::new(1, counters.to_vec());
    record.uniformity.counts = uniform.to_vec();
    profile.functions.push_record(function, &record);
    profile
}

fn write(folder: &Path, name: &str, bytes: &[u8], weight: u64) -> WeightedInput {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("file can be written");
    WeightedInput::with_weight(path, weight.try_into().expect("weights are not zero"))
}

fn bits(inputs: &[WeightedInput], threads: usize) -> Vec<u8> {
    let merged = merged_profile(inputs, threads);
    let kernel = merged.functions.find(b"kernel").expect("the inputs have it");
    kernel.records().next().expect("it has a record").uniformity.bits.clone()
}

#[test]
fn raw_files_add_up_evidence_and_indexed_ones_lose_bits() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let form = ENCODINGS[0];
    let raw = |name: &str, counters: &[u64], uniform: &[u64], weight| {
        write(folder.path(), name, &raw_file(&one_function(counters, uniform), form), weight)
    };
    // The first alone has the bits U D, the second D U; together 189 and 96 of 200.
    let first = raw("first.profraw", &[100, 100], &[100, 5], 1);
    let second = raw("second.profraw", &[100, 100], &[89, 91], 1);
    assert_eq!(bits(std::slice::from_ref(&first), 1), [0b1111_1101]);
    assert_eq!(bits(std::slice::from_ref(&second), 1), [0b1111_1110]);
    let heavy = WeightedInput::with_weight(&second.path, 1000.try_into().expect("not zero"));
    let indexed_first =
        write(folder.path(), "first.profdata", &merged(std::slice::from_ref(&first), Shape::Indexed, 1), 1);
    let text = write(folder.path(), "text.proftext", b":ir\nkernel\n1\n2\n5\n5\n", 1);
    for threads in [1, 2, 3] {
        assert_eq!(bits(&[first.clone(), second.clone()], threads), [0b1111_1101]);
        assert_eq!(bits(&[first.clone(), heavy.clone()], threads), [0b1111_1110]);
        assert_eq!(bits(&[indexed_first.clone(), second.clone()], threads), [0b1111_1100]);
        assert_eq!(bits(&[first.clone(), text.clone()], threads), [0b1111_1101]);
        assert_eq!(bits(&[text.clone(), first.clone()], threads), [0b1111_1101]);
        // After the text, the uniform counts are no longer added.
        assert_eq!(bits(&[first.clone(), text.clone(), second.clone()], threads), [0b1111_1100]);
        assert_eq!(bits(&[first.clone(), second.clone(), text.clone()], threads), [0b1111_1101]);
    }
}

#[test]
fn many_files_of_one_image_add_up_their_uniform_counts() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let inputs: Vec<WeightedInput> = (0..12u64)
        .map(|run| {
            // Of 100 entries 84 to 95 are uniform, on average 89.5; for the other block 95 to 106 of 110.
            let profile = one_function(&[100, 110], &[84 + run, 95 + run]);
            write(folder.path(), &format!("{run}.profraw"), &raw_file(&profile, ENCODINGS[0]), 1)
        })
        .collect();
    for threads in [1, 2, 5] {
        assert_eq!(bits(&inputs, threads), [0b1111_1110], "{threads} threads");
        assert_eq!(bits(&inputs[2..], threads), [0b1111_1111], "{threads} threads");
    }
}

#[test]
fn all_forms_of_raw_files_give_the_same() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for seed in 0..10 {
        let profile = profile(seed, seed, Knows::Counts);
        let outputs = ENCODINGS.map(|form| {
            let input = write(folder.path(), "in.profraw", &raw_file(&profile, form), 1);
            merged(&[input], Shape::Indexed, 1)
        });
        assert!(outputs.iter().all(|output| *output == outputs[0]), "case {seed}");
    }
}

#[test]
fn indexed_files_round_trip() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for seed in 0..20 {
        let written = indexed_file(&profile(seed, seed, Knows::Bits));
        let input = write(folder.path(), "in.profdata", &written, 1);
        let once = merged(&[input], Shape::Indexed, 1);
        let input = write(folder.path(), "once.profdata", &once, 1);
        let twice = merged(&[input.clone(), WeightedInput::new(input.path)], Shape::Indexed, 2);
        assert_eq!(bits_of_all(&once), bits_of_all(&twice), "case {seed}");
        assert_eq!(bits_of_all(&written), bits_of_all(&once), "case {seed}");
    }
}

/// Returns name, hash and bits of every record, sorted.
fn bits_of_all(file: &[u8]) -> Vec<(Vec<u8>, u64, Vec<u8>)> {
    use profbridge::indexed::{IndexedReader, ReadOptions};
    use profbridge::instr::ProfileReader;
    let mut reader = IndexedReader::new(file, ReadOptions::default()).expect("the file was just written");
    let mut all = Vec::new();
    while let Some(found) = reader.next_record().expect("the file was just written") {
        all.push((found.name.to_vec(), found.record.func_hash, found.record.uniformity.bits.clone()));
    }
    all.sort();
    all
}
