//! Mutations that keep the structure of a format valid: checksums, lengths, offsets and compressed streams are correct
//! in every mutant, so that fuzzing reaches the code after these checks.
//!
//! A mutation parses the file, changes one part, often with the fuzzer's own byte mutations, and assembles the file
//! again.

pub mod partials;
pub mod samples;

use profbridge::generate::Random;

/// libFuzzer's own mutation: changes the first `size` bytes of a buffer into at most `most` bytes.
pub type Change = fn(&mut [u8], usize, usize) -> usize;

/// Random choices for one mutation, and the fuzzer's own byte mutations.
pub struct Dice {
    random: Random,
    change: Change,
    most: usize,
}

impl Dice {
    /// Creates the random choices for a seed. `most` is the maximum size of the mutant.
    pub fn new(seed: u32, change: Change, most: usize) -> Self {
        Self { random: Random::new(u64::from(seed)), change, most }
    }

    /// Returns a number below `limit`, which must not be 0.
    fn below(&mut self, limit: usize) -> usize {
        self.random.below(limit as u64) as usize
    }

    /// Returns an item of a list, which must not be empty.
    fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// Changes bytes with the fuzzer's own mutations.
    fn change(&mut self, bytes: &mut Vec<u8>) {
        let len = bytes.len();
        // Let the mutant grow.
        let most = (len + len / 4 + 64).min(self.most.max(1)).max(len);
        bytes.resize(most, 0);
        let changed = (self.change)(bytes, len, most);
        bytes.truncate(changed);
    }

    /// Changes ULEB128 numbers, strings with a length prefix, or other bytes.
    fn change_numbers(&mut self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() || self.below(2) == 0 {
            return self.change(bytes);
        }
        let mut start = self.below(bytes.len());
        // Go back to the possible start of a number.
        while start > 0 && bytes[start - 1] >= 0x80 {
            start -= 1;
        }
        let end = bytes[start..].iter().position(|byte| *byte < 0x80).map_or(bytes.len(), |last| start + last + 1);
        let found = bytes[start..end].iter().rev().fold(0u64, |value, byte| value << 7 | u64::from(byte & 0x7f));
        let text_end = usize::try_from(found).ok().and_then(|len| end.checked_add(len)).unwrap_or(usize::MAX);
        if text_end <= bytes.len() && self.below(2) == 0 {
            let mut text = bytes[end..text_end].to_vec();
            self.change(&mut text);
            let grown = [uleb(text.len() as u64), text].concat();
            bytes.splice(start..text_end, grown);
            return;
        }
        const MARKED: [u64; 8] = [0, 1, 2, 127, 1 << 16, u32::MAX as u64, i64::MAX as u64, u64::MAX];
        let number = match self.below(4) {
            0 => self.one_of(&MARKED),
            1 => found.wrapping_add(1),
            2 => found.wrapping_sub(1),
            _ => self.below(bytes.len() + 1) as u64,
        };
        bytes.splice(start..end, uleb(number));
    }
}

/// Encodes a number as ULEB128.
fn uleb(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// Creates a mutant. Returns `None` if the bytes do not have the format.
pub type Mutate = fn(&[u8], &mut Dice) -> Option<Vec<u8>>;

/// The custom mutator of libFuzzer: replaces the first `size` bytes with a mutant. Bytes of other formats, and
/// sometimes valid files, get libFuzzer's own mutations.
#[allow(dead_code)] // Called by the targets, and not where the bodies are replayed.
pub fn mutate_in_place(mutate: Mutate, change: Change, data: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let mut dice = Dice::new(seed, change, most);
    let mutant = if dice.below(16) == 0 { None } else { mutate(&data[..size], &mut dice) };
    match mutant.filter(|mutant| mutant.len() <= most) {
        Some(mutant) => {
            data[..mutant.len()].copy_from_slice(&mutant);
            mutant.len()
        }
        None => change(data, size, most),
    }
}
