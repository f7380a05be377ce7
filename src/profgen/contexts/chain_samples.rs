//! Samples that have a call chain in addition to branch records.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// A call chain with the branches before it, and how often it was sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::profgen) struct ChainSample {
    /// The target of the newest branch, then the calls that lead to it, innermost first.
    pub(in crate::profgen) chain: Box<[u64]>,
    /// Source and target, newest first.
    pub(in crate::profgen) branches: Box<[(u64, u64)]>,
    /// The number of samples.
    pub(in crate::profgen) times: u64,
}

/// Distinct samples with call chains, in the order in which they were first seen.
#[derive(Debug, Clone, Default)]
pub struct ChainSamples {
    samples: Vec<ChainSample>,
    index: HashTable<u32>,
    hasher: RandomState,
    /// Samples that were left out, because they have more frames and branches than the limit.
    pub(in crate::profgen) too_deep: u64,
}

impl ChainSamples {
    /// Adds a sample. One with more than `most` frames and branches is only counted.
    pub(in crate::profgen) fn add(&mut self, chain: &[u64], branches: &[(u64, u64)], times: u64, most: u32) {
        if chain.len() + branches.len() > most as usize || self.samples.len() >= u32::MAX as usize {
            self.too_deep = self.too_deep.saturating_add(times);
            return;
        }
        let (samples, hasher) = (&mut self.samples, &self.hasher);
        let hash = hasher.hash_one((chain, branches));
        let is_same = |at: &u32| {
            let known = &samples[*at as usize];
            *known.chain == *chain && *known.branches == *branches
        };
        if let Some(at) = self.index.find(hash, is_same) {
            let known = &mut samples[*at as usize].times;
            *known = known.wrapping_add(times);
            return;
        }
        let at = samples.len() as u32;
        samples.push(ChainSample { chain: chain.into(), branches: branches.into(), times });
        let rehash = |at: &u32| {
            let known = &samples[*at as usize];
            hasher.hash_one((&*known.chain, &*known.branches))
        };
        self.index.insert_unique(hash, at, rehash);
    }

    /// Adds other samples of the same program, multiplied by a weight.
    pub(in crate::profgen) fn add_all(&mut self, other: &Self, weight: u64) {
        for sample in &other.samples {
            self.add(&sample.chain, &sample.branches, sample.times.saturating_mul(weight), u32::MAX);
        }
        self.too_deep = self.too_deep.saturating_add(other.too_deep.saturating_mul(weight));
    }

    /// The number of distinct samples.
    pub(in crate::profgen) fn len(&self) -> usize {
        self.samples.len()
    }

    /// Returns true if there is nothing to make a profile of.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// The samples, in the order in which they were first seen.
    pub(in crate::profgen) fn iter(&self) -> impl ExactSizeIterator<Item = &ChainSample> {
        self.samples.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_samples_add_up_and_deep_ones_are_counted() {
        let mut samples = ChainSamples::default();
        samples.add(&[9, 4], &[(1, 9)], 2, 10);
        samples.add(&[9, 5], &[(1, 9)], 1, 10);
        samples.add(&[9, 4], &[(1, 9)], 3, 10);
        samples.add(&[9, 4, 4, 4], &[(1, 9)], 7, 4);
        let found: Vec<(u64, u64)> = samples.iter().map(|sample| (sample.chain[1], sample.times)).collect();
        assert_eq!((found, samples.too_deep), (vec![(4, 5), (5, 1)], 7));

        let once = samples.clone();
        samples.add_all(&once, 3);
        let found: Vec<u64> = samples.iter().map(|sample| sample.times).collect();
        assert_eq!((found, samples.too_deep), (vec![20, 4], 28));
    }
}
