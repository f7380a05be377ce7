//! Sorting the values of one site by words of eight bytes.
//!
//! A word holds what is sorted by and, in its lowest byte, the place where the
//! value stands: half as much to move as a value with its count, and no two
//! words are equal.

use crate::model::ValueCount;

/// Places that fit in the lowest byte of a word.
pub(super) const PLACES: usize = 1 << 8;

/// Puts values, at most [`PLACES`], into the order of what `word_of` says of
/// them, the lowest byte of which does not count.
pub(super) fn arrange(values: &mut [ValueCount], word_of: impl Fn(&ValueCount) -> u64) {
    let (mut words, mut before) = ([0; PLACES], [ValueCount::default(); PLACES]);
    let (words, before) = (&mut words[..values.len()], &mut before[..values.len()]);
    before.copy_from_slice(values);
    for (at, (word, v)) in words.iter_mut().zip(&*before).enumerate() {
        *word = word_of(v) & !0xff | at as u64;
    }
    words.sort_unstable();
    values.iter_mut().zip(words).for_each(|(v, word)| *v = before[usize::from(*word as u8)]);
}
