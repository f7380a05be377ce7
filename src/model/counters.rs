//! The counters of one record, in any width and storage, and the uniformity of GPU waves.

use std::borrow::Cow;
use std::fmt;
use std::ptr;
use std::slice::Iter;

/// Execution counts of a record, in the order of the profile.
///
/// Most counts fit into 32 bits. A table stores them like this until something is added to them, which saves half of
/// the memory. Those of an indexed file may be its bytes. The representation only affects the speed.
///
/// ```
/// use profbridge::instr::{Counters, FunctionRecord};
///
/// let record = FunctionRecord::new(7, vec![5, 0, 2]);
/// let counters: Counters<'_> = record.view().counters;
/// assert_eq!((counters.len(), counters.get(2)), (3, Some(2)));
/// assert_eq!(counters.iter().sum::<u64>(), 7);
/// assert_eq!(counters, [5, 0, 2]);
/// ```
#[derive(Clone, Copy)]
pub struct Counters<'a>(pub(super) Width<'a>);

/// Counters of 64 or 32 bits, or the bytes of a file.
#[derive(Clone, Copy)]
pub(super) enum Width<'a> {
    Wide(&'a [u64]),
    Narrow(&'a [u32]),
    /// Little-endian, with any alignment.
    Stored(&'a [[u8; 8]]),
}

/// The maximum number of counters in a chunk. Most records have fewer than a few dozen.
const PIECE: usize = 64;

impl<'a> Counters<'a> {
    /// Little-endian counters in a file.
    #[inline]
    pub(crate) fn stored(counters: &'a [[u8; 8]]) -> Self {
        Self(Width::Stored(counters))
    }

    /// Returns the number of counters.
    #[inline]
    pub fn len(self) -> usize {
        match self.0 {
            Width::Wide(counters) => counters.len(),
            Width::Narrow(counters) => counters.len(),
            Width::Stored(counters) => counters.len(),
        }
    }

    /// Returns true if there are no counters.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the counter at `index`, from 0, if it exists.
    #[inline]
    pub fn get(self, index: usize) -> Option<u64> {
        match self.0 {
            Width::Wide(counters) => counters.get(index).copied(),
            Width::Narrow(counters) => counters.get(index).copied().map(u64::from),
            Width::Stored(counters) => counters.get(index).copied().map(u64::from_le_bytes),
        }
    }

    /// Returns the first counter, which is the number of calls of a function.
    #[inline]
    pub fn first(self) -> Option<u64> {
        self.get(0)
    }

    /// Returns all counters in order.
    #[inline]
    pub fn iter(self) -> CountersIter<'a> {
        CountersIter(match self.0 {
            Width::Wide(counters) => WidthIter::Wide(counters.iter()),
            Width::Narrow(counters) => WidthIter::Narrow(counters.iter()),
            Width::Stored(counters) => WidthIter::Stored(counters.iter()),
        })
    }

    /// Returns the counters without the first ones.
    pub(crate) fn skip(self, count: usize) -> Self {
        Self(match self.0 {
            Width::Wide(counters) => Width::Wide(counters.get(count..).unwrap_or_default()),
            Width::Narrow(counters) => Width::Narrow(counters.get(count..).unwrap_or_default()),
            Width::Stored(counters) => Width::Stored(counters.get(count..).unwrap_or_default()),
        })
    }

    /// Returns the counters as 64-bit numbers, borrowed if they are stored like this.
    pub fn to_words(self) -> Cow<'a, [u64]> {
        match self.0 {
            Width::Wide(counters) => Cow::Borrowed(counters),
            Width::Narrow(_) | Width::Stored(_) => Cow::Owned(self.to_vec()),
        }
    }

    /// Returns the counters as a slice, if they are stored with 64 bits. This is the case for every profile that was
    /// read or merged in memory.
    #[inline]
    pub fn as_words(self) -> Option<&'a [u64]> {
        match self.0 {
            Width::Wide(counters) => Some(counters),
            Width::Narrow(_) | Width::Stored(_) => None,
        }
    }

    /// Passes all counters to `each`, in order, in a few chunks of 64-bit numbers.
    #[inline]
    pub(crate) fn for_each_piece(self, mut each: impl FnMut(&[u64])) {
        let mut wide = [0; PIECE];
        let mut each_widened = |piece: Self| {
            let wide = &mut wide[..piece.len()];
            piece.copy_to(wide);
            each(wide);
        };
        match self.0 {
            Width::Wide(counters) => each(counters),
            Width::Narrow(counters) => {
                counters.chunks(PIECE).for_each(|piece| each_widened(Self(Width::Narrow(piece))))
            }
            Width::Stored(counters) => {
                counters.chunks(PIECE).for_each(|piece| each_widened(Self(Width::Stored(piece))))
            }
        }
    }

    /// Passes each counter to `each`, together with the counter at the same position of `others`, which has the same
    /// length.
    #[inline]
    pub(crate) fn zip_with(self, others: &mut [u64], mut each: impl FnMut(&mut u64, u64)) {
        // One loop per representation, not one decision per counter.
        match self.0 {
            Width::Wide(counters) => others.iter_mut().zip(counters).for_each(|(other, counter)| each(other, *counter)),
            Width::Narrow(counters) => {
                others.iter_mut().zip(counters).for_each(|(other, counter)| each(other, u64::from(*counter)))
            }
            Width::Stored(counters) => {
                others.iter_mut().zip(counters).for_each(|(other, bytes)| each(other, u64::from_le_bytes(*bytes)))
            }
        }
    }

    /// Copies all counters to a slice of the same length.
    pub(super) fn copy_to(self, target: &mut [u64]) {
        match self.0 {
            Width::Wide(counters) => target.copy_from_slice(counters),
            _ => self.zip_with(target, |to, counter| *to = counter),
        }
    }

    /// Copies all counters, which must fit, to a slice of 32-bit numbers with the same length.
    pub(super) fn copy_narrow(self, target: &mut [u32]) {
        match self.0 {
            Width::Wide(counters) => target.iter_mut().zip(counters).for_each(|(to, counter)| *to = *counter as u32),
            Width::Narrow(counters) => target.copy_from_slice(counters),
            Width::Stored(counters) => {
                target.iter_mut().zip(counters).for_each(|(to, bytes)| *to = u64::from_le_bytes(*bytes) as u32)
            }
        }
    }

    /// Returns a copy of all counters.
    pub fn to_vec(self) -> Vec<u64> {
        let mut all = Vec::new();
        self.append_to(&mut all);
        all
    }

    /// Appends all counters to a list.
    pub fn append_to(self, list: &mut Vec<u64>) {
        match self.0 {
            Width::Wide(counters) => list.extend_from_slice(counters),
            Width::Narrow(counters) => list.extend(counters.iter().map(|counter| u64::from(*counter))),
            Width::Stored(counters) => list.extend(counters.iter().map(|bytes| u64::from_le_bytes(*bytes))),
        }
    }
}

impl<'a> From<&'a [u64]> for Counters<'a> {
    #[inline]
    fn from(counters: &'a [u64]) -> Self {
        Self(Width::Wide(counters))
    }
}

impl<'a> From<&'a Vec<u64>> for Counters<'a> {
    #[inline]
    fn from(counters: &'a Vec<u64>) -> Self {
        Self(Width::Wide(counters))
    }
}

impl<'a> IntoIterator for Counters<'a> {
    type Item = u64;
    type IntoIter = CountersIter<'a>;

    #[inline]
    fn into_iter(self) -> CountersIter<'a> {
        self.iter()
    }
}

/// Prints a list of numbers.
impl fmt::Debug for Counters<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Compares the numbers.
impl PartialEq for Counters<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self.0, other.0) {
            (Width::Wide(ours), Width::Wide(theirs)) => ptr::eq(ours, theirs) || ours == theirs,
            (Width::Narrow(ours), Width::Narrow(theirs)) => ours == theirs,
            // A partial merge and its profile often share the counters of one file.
            (Width::Stored(ours), Width::Stored(theirs)) => ptr::eq(ours, theirs) || ours == theirs,
            _ => self.iter().eq(other.iter()),
        }
    }
}

impl<T: AsRef<[u64]> + ?Sized> PartialEq<T> for Counters<'_> {
    fn eq(&self, other: &T) -> bool {
        *self == Counters::from(other.as_ref())
    }
}

/// Iterates over the counters of a record: [`Counters::iter`].
#[derive(Debug, Clone)]
pub struct CountersIter<'a>(WidthIter<'a>);

#[derive(Debug, Clone)]
enum WidthIter<'a> {
    Wide(Iter<'a, u64>),
    Narrow(Iter<'a, u32>),
    Stored(Iter<'a, [u8; 8]>),
}

impl Iterator for CountersIter<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        match &mut self.0 {
            WidthIter::Wide(wide) => wide.next().copied(),
            WidthIter::Narrow(narrow) => narrow.next().copied().map(u64::from),
            WidthIter::Stored(stored) => stored.next().copied().map(u64::from_le_bytes),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.0 {
            WidthIter::Wide(wide) => wide.size_hint(),
            WidthIter::Narrow(narrow) => narrow.size_hint(),
            WidthIter::Stored(stored) => stored.size_hint(),
        }
    }

    /// One loop per representation, not one decision per counter.
    #[inline]
    fn fold<B, F: FnMut(B, u64) -> B>(self, start: B, mut add: F) -> B {
        match self.0 {
            WidthIter::Wide(wide) => wide.fold(start, |so_far, counter| add(so_far, *counter)),
            WidthIter::Narrow(narrow) => narrow.fold(start, |so_far, counter| add(so_far, u64::from(*counter))),
            WidthIter::Stored(stored) => stored.fold(start, |so_far, bytes| add(so_far, u64::from_le_bytes(*bytes))),
        }
    }
}

impl DoubleEndedIterator for CountersIter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<u64> {
        match &mut self.0 {
            WidthIter::Wide(wide) => wide.next_back().copied(),
            WidthIter::Narrow(narrow) => narrow.next_back().copied().map(u64::from),
            WidthIter::Stored(stored) => stored.next_back().copied().map(u64::from_le_bytes),
        }
    }
}

impl ExactSizeIterator for CountersIter<'_> {}

/// For one record: the number of uniform entries per block, or the bits that files store. Programs of a host have
/// neither (LLVM 23 and later).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Uniformity {
    /// For each counter, the number of times that all lanes of the wave entered the block. Only raw files have them.
    pub counts: Vec<u64>,
    /// One bit per counter, the lowest bit of a byte first. It is set if most waves enter the block with all lanes.
    /// Only indexed files have them.
    pub bits: Vec<u8>,
}

pub(super) static NO_UNIFORMITY: Uniformity = Uniformity { counts: Vec::new(), bits: Vec::new() };

impl Uniformity {
    /// Returns true if there is no uniformity data.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty() && self.bits.is_empty()
    }

    /// Removes all data, but keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.counts.clear();
        self.bits.clear();
    }

    /// Returns the bits for the counts of a record with these counters: a block is uniform if at most a tenth of its
    /// entries, rounded down, are not. Empty if the numbers of counts differ, as with the timestamps of temporal
    /// profiles.
    ///
    /// Bits after the last counter are set, as LLVM writes them.
    ///
    /// ```
    /// use profbridge::instr::Uniformity;
    ///
    /// let uniformity = Uniformity { counts: vec![90, 89, 0], bits: vec![] };
    /// assert_eq!(uniformity.derived_bits(&[100, 100, 0]), [0b1111_1101]);
    /// ```
    #[must_use]
    pub fn derived_bits(&self, counters: &[u64]) -> Vec<u8> {
        if self.counts.len() != counters.len() {
            return Vec::new();
        }
        let mut bits = vec![0xff; counters.len().div_ceil(8)];
        for (at, (uniform, count)) in self.counts.iter().zip(counters).enumerate() {
            if *uniform < count - count / 10 {
                bits[at / 8] &= !(1 << (at % 8));
            }
        }
        bits
    }

    /// Returns whether the block of a counter is uniform. True after the last bit; `None` if there are no bits.
    pub fn is_uniform(&self, counter: usize) -> Option<bool> {
        let byte = self.bits.get(counter / 8).copied().unwrap_or(0xff);
        (!self.bits.is_empty()).then_some(byte >> (counter % 8) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_widths_are_the_same_numbers() {
        let narrow: Vec<u32> = (0..300).map(|number| number * number).chain([u32::MAX]).collect();
        let wide: Vec<u64> = narrow.iter().map(|counter| u64::from(*counter)).collect();
        let stored: Vec<[u8; 8]> = wide.iter().map(|counter| counter.to_le_bytes()).collect();
        let all = [Counters(Width::Narrow(&narrow)), Counters::stored(&stored), Counters::from(&wide)];
        for counters in all {
            assert_eq!(
                (counters.len(), counters.first(), counters.get(300)),
                (301, Some(0), Some(u64::from(u32::MAX)))
            );
            assert_eq!((counters.get(301), counters.is_empty()), (None, false));
            assert!(counters.iter().eq(wide.iter().copied()) && counters.iter().rev().eq(wide.iter().rev().copied()));
            assert_eq!((counters.iter().len(), counters.iter().sum::<u64>()), (301, wide.iter().sum()));
            let mut pieces = Vec::new();
            counters.for_each_piece(|piece| pieces.extend_from_slice(piece));
            assert_eq!(
                (pieces, counters.to_vec(), counters.to_words().into_owned()),
                (wide.clone(), wide.clone(), wide.clone())
            );
            assert_eq!(format!("{counters:?}"), format!("{wide:?}"));
            assert!(counters == wide && counters != wide[1..] && counters.skip(1) == wide[1..]);
            assert!(counters.skip(301).is_empty() && counters.skip(302).is_empty());
            let mut sums = vec![1; wide.len()];
            counters.zip_with(&mut sums, |sum, counter| *sum += counter);
            assert!(sums.iter().zip(&wide).all(|(sum, counter)| *sum == counter + 1));
            let mut copied = vec![0; narrow.len()];
            counters.copy_narrow(&mut copied);
            assert_eq!(copied, narrow);
            assert!(all.iter().all(|other| *other == counters));
        }
        assert_eq!(all.map(|counters| counters.as_words().is_some()), [false, false, true]);
    }
}

#[cfg(test)]
mod uniformity_tests {
    use crate::model::counters::*;

    #[test]
    fn a_tenth_of_the_entries_may_diverge() {
        let cases = [(100, 90, true), (100, 89, false), (9, 9, true), (9, 8, false), (19, 18, true), (0, 0, true)];
        for (count, uniform, expected) in cases {
            let mut uniformity = Uniformity { counts: vec![uniform], bits: Vec::new() };
            uniformity.bits = uniformity.derived_bits(&[count]);
            assert_eq!(uniformity.is_uniform(0), Some(expected), "{uniform} of {count}");
        }
        let largest = Uniformity { counts: vec![u64::MAX - u64::MAX / 10], bits: Vec::new() };
        assert_eq!(largest.derived_bits(&[u64::MAX]), [0xff]);
    }

    #[test]
    fn bits_are_stored_lowest_first_and_padded_with_ones() {
        // U U D U D D U U D
        let counts = [10, 10, 0, 10, 0, 0, 10, 10, 0];
        let mut uniformity = Uniformity { counts: counts.to_vec(), bits: Vec::new() };
        uniformity.bits = uniformity.derived_bits(&[10; 9]);
        assert_eq!(uniformity.bits, [0xcb, 0xfe]);
        assert_eq!((uniformity.is_uniform(8), uniformity.is_uniform(9)), (Some(false), Some(true)));
        assert_eq!(uniformity.is_uniform(1000), Some(true));
        assert_eq!(Uniformity::default().is_uniform(0), None);
    }

    #[test]
    fn other_numbers_of_counts_are_not_uniformity() {
        let uniformity = Uniformity { counts: vec![1, 2], bits: Vec::new() };
        assert!(uniformity.derived_bits(&[1]).is_empty());
    }
}
