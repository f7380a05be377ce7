//! Tests that the mutators create files with valid headers and structures.

use super::bodies::mutants::{Dice, Mutate, partials, samples};
use super::{bodies, files_below, root};
use profbridge::Limits;
use profbridge::partial::Frame;
use profbridge::sampleprof::{self, Encoding, ReadOptions};
use std::path::Path;

/// A replacement for libFuzzer: changes a byte, truncates, or appends.
fn change(bytes: &mut [u8], len: usize, most: usize) -> usize {
    let word =
        bytes[..len].iter().fold(len as u64, |word, byte| (word ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    match word % 4 {
        0 if len > 0 => len - 1,
        1 if len < most => {
            bytes[len] = word as u8;
            len + 1
        }
        _ => {
            if len > 0 {
                bytes[word as usize % len] ^= 1 << (word >> 32 & 7);
            }
            len
        }
    }
}

/// Returns mutants of mutants of each seed.
fn mutants(mutate: Mutate, seeds: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for (number, seed) in seeds.iter().enumerate() {
        let mut last = seed.clone();
        for step in 0..40 {
            let mut dice = Dice::new(number as u32 * 1000 + step, change, 1 << 16);
            let Some(mutant) = mutate(&last, &mut dice) else { break };
            // Restart sometimes, because removed sections do not come back.
            last = if step % 8 == 7 { seed.clone() } else { mutant.clone() };
            found.push(mutant);
        }
    }
    found
}

/// Returns the valid files of a directory. Damaged files have their own directory.
fn seeds(folder: &str, extension: &str) -> Vec<Vec<u8>> {
    let files = files_below(&root().join(folder));
    let is_sound = |path: &Path| path.components().all(|part| part.as_os_str() != "bad");
    let fits = files.iter().filter(|path| is_sound(path) && path.extension().is_some_and(|found| found == extension));
    fits.map(|path| std::fs::read(path).expect("file is readable")).collect()
}

#[test]
fn mutants_of_partial_merges_have_valid_frames() {
    let seeds = seeds("testdata/partial", "partial");
    let mutants = mutants(partials::mutate, &seeds);
    assert_eq!(mutants.len(), seeds.len() * 40);
    let mut states = std::collections::BTreeSet::new();
    for mutant in &mutants {
        let frame = Frame::find(mutant, &Limits::default()).expect("checksums and lengths are right");
        states.insert(frame.expect("the frame is there").state);
        bodies::run("read_partial", mutant);
    }
    assert!(states.len() > mutants.len() / 4, "{} states in {} mutants", states.len(), mutants.len());
}

#[test]
fn mutants_of_extensible_binaries_have_valid_tables() {
    let mut options = ReadOptions::default();
    options.every_release = true;
    let mutants = mutants(samples::mutate, &seeds("testdata/sampleprof", "ext"));
    assert!(mutants.len() > 200, "{} mutants", mutants.len());
    let mut valid = 0;
    for mutant in &mutants {
        assert_eq!(sampleprof::detect(mutant), Some(Encoding::ExtBinary));
        sampleprof::describe_sections(mutant, &options).expect("the table is whole");
        if let Err(error) = sampleprof::read(mutant, &options) {
            let text = error.to_string();
            assert!(!text.contains("cannot decompress") && !text.contains("a section:"), "{text}");
        } else {
            valid += 1;
        }
        bodies::run("read_sampleprof", mutant);
    }
    assert!(valid > mutants.len() / 8 && valid < mutants.len(), "{valid} of {} can be read", mutants.len());
    let after = seeds("testdata/sampleprof", "ext").into_iter().map(|file| [vec![0x41], file].concat());
    for mutant in super::mutants::mutants(samples::mutate_after_a_byte, &after.collect::<Vec<_>>()) {
        assert_eq!(sampleprof::detect(&mutant[1..]), Some(Encoding::ExtBinary));
        bodies::run("write_sampleprof", &mutant);
    }
}
