//! Random files in a directory, merged by the library.

use crate::generate::file;
use profbridge::Compat;
use profbridge::families::{self, MergeOptions, OutputFormat, WriteOptions};
use profbridge::generate::Random;
use profbridge::input::WeightedInput;
use profbridge::instr::{Profile, Release};
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::Path;

/// The shape of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Indexed,
    Sparse,
    Text,
    Previous,
}

impl Shape {
    pub const ALL: [Self; 4] = [Self::Indexed, Self::Sparse, Self::Text, Self::Previous];
}

/// Writes random inputs of one family.
pub fn random_inputs(folder: &Path, seed: u64) -> Vec<WeightedInput> {
    let mut random = Random::new(seed);
    let family = random.next_number();
    let count = 1 + random.below(5);
    let mut write = |number: u64| {
        let (bytes, extension) = file(seed * 1000 + number, family);
        let path = folder.join(format!("in-{seed}-{number}.{extension}"));
        std::fs::write(&path, bytes).expect("file can be written");
        let weight = if random.chance(30) { [2, 7, 1 << 40][random.below(3) as usize] } else { 1 };
        WeightedInput::with_weight(path, NonZeroU64::new(weight).expect("weights are not zero"))
    };
    (0..count).map(&mut write).collect()
}

/// Merges inputs with the rules of LLVM 23.
pub fn merged_profile(inputs: &[WeightedInput], threads: usize) -> Profile {
    let mut merge = MergeOptions::default();
    merge.release = Release(23);
    merge.threads = NonZeroUsize::new(threads);
    let report = families::merge_files(inputs, &merge, &mut |_, _| {}).expect("the inputs can be merged");
    if let Some((input, error)) = report.failures().next() {
        panic!("{}: {error}", input.input.path.display());
    }
    report.profile
}

/// Like [`merged_profile`], but returns a file of LLVM 23.
pub fn merged(inputs: &[WeightedInput], shape: Shape, threads: usize) -> Vec<u8> {
    let release = Release(23);
    let mut write = WriteOptions::default();
    // The text must equal LLVM's text.
    write.compat = Compat::Llvm22;
    write.sparse = shape == Shape::Sparse;
    write.format = match shape {
        Shape::Text => OutputFormat::Text { release },
        Shape::Previous => OutputFormat::Indexed { release, version: 11 },
        _ => OutputFormat::Indexed { release, version: 14 },
    };
    families::encode(&merged_profile(inputs, threads), &write).expect("the profile can be written").bytes
}

/// Describes the first difference between two byte strings.
pub fn difference(ours: &[u8], theirs: &[u8]) -> String {
    let at = ours.iter().zip(theirs).position(|(a, b)| a != b).unwrap_or(ours.len().min(theirs.len()));
    let around = |bytes: &[u8]| bytes[at.saturating_sub(40).min(bytes.len())..bytes.len().min(at + 40)].to_vec();
    let (ours_there, theirs_there) = (around(ours), around(theirs));
    format!(
        "{} and {} bytes, first difference at {at:#x}\n{}\n{}",
        ours.len(),
        theirs.len(),
        ours_there.escape_ascii(),
        theirs_there.escape_ascii()
    )
}
